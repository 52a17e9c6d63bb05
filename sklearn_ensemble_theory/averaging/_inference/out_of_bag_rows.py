"""The training rows that members are not fitted to: which they are, and their predictions."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory.averaging._inference.order_statistics import OutsideMasks
from sklearn_ensemble_theory.averaging._inference.training_rows import TrainingRows
from sklearn_ensemble_theory.trees._packed import add_in_threads, each_tree

# Numbers of predictions that are held at once: 64 MB.
CHUNK = 2**23


class OutOfBagRowsMixin:
    """What intervals, sets and importances need of the training rows."""

    estimator_: BaseEstimator
    estimators_: list[Any]
    n_jobs: int | None
    max_samples: int | float | None
    _seeds: np.ndarray
    _member_spec: Any
    _training: Any  # TrainingRows, or None after `forget_training_rows`

    # The methods of the ensemble that are used.
    _validate_X: Any
    _mean_prediction: Any
    _prediction_method: Any
    _features_or_all: Any
    _tree_sums: Any
    _tree_input: Any
    _each_prediction: Any

    def forget_training_rows(self) -> Any:
        """Remove the training rows that the fitted ensemble keeps.

        An ensemble of trees keeps X in single precision, and any ensemble keeps y; they are part
        of its pickle. Without them `predict_quantiles`, `predict_interval`, `predict_set` and
        importances of out-of-bag rows are not available until the next fit. Everything else is.

        Returns
        -------
        self : object
            The ensemble.
        """
        self._training = None
        return self

    def _kept(self, what: str) -> TrainingRows:
        rows: TrainingRows | None = getattr(self, "_training", None)
        if rows is None:
            raise ValueError(f"{what} requires the training rows, which were removed; fit again.")
        return rows

    def _training_X(self, what: str) -> Any:
        X = self._kept(what).X
        if X is None:
            raise ValueError(
                f"{what} requires training rows, which are kept for members that are trees only; "
                "for other members fit with oob_score=True."
            )
        return X

    def _check_one_output(self, what: str) -> None:
        if self._kept(what).y.ndim > 1:
            raise ValueError(f"{what} requires a single output; y had {self._training.y.shape[1]}.")

    def _check_rows_outside(self, what: str) -> None:
        scheme = self._member_spec.scheme
        if not scheme.leaves_rows_out:
            raise ValueError(
                f"{what} require rows that are not drawn for every member; with bootstrap="
                f"{scheme.bootstrap!r} and max_samples={self.max_samples} every member is fitted "
                "to every row."
            )

    def _exchangeable_rows(self, what: str) -> np.ndarray | None:
        """The rows of positive weight, None for all; an error where their weights differ."""
        self._kept(what)
        self._check_rows_outside(what)
        weight = self._member_spec.scheme.sample_weight
        if weight is None:
            return None
        rows = np.flatnonzero(weight)
        if np.ptp(weight[rows]) > 0:
            raise ValueError(
                f"{what} are defined for rows of equal weight; this ensemble was fitted with "
                "sample_weight or class_weight."
            )
        return rows if len(rows) < len(weight) else None

    def _outside_masks(self, rows: np.ndarray | None) -> OutsideMasks:
        def make() -> OutsideMasks:
            drawn = [self._member_spec.draw(seed)[1] for seed in self._seeds]
            return OutsideMasks(self._member_spec.scheme.n_samples, drawn, rows)

        return self._kept("This method").derived("masks", self.estimators_, make)

    def _groups_of(self, rows: np.ndarray | None) -> np.ndarray | None:
        """The groups of these rows; None where rows were drawn by themselves."""
        groups = self._member_spec.scheme.unit_of_row
        return groups if groups is None or rows is None else groups[rows]

    def _outside_group_masks(self) -> OutsideMasks:
        def make() -> OutsideMasks:
            drawn = [self._member_spec.draw_units(seed)[0] for seed in self._seeds]
            return OutsideMasks(self._member_spec.scheme.n_units, drawn)

        return self._kept("This method").derived("group masks", self.estimators_, make)

    def _out_of_bag_mean(self, method: str) -> np.ndarray:
        """Mean predictions of the training rows by the members outside; nan where there is none."""
        for name in ("oob_prediction_", "oob_decision_function_"):
            known = getattr(self, name, None)
            if known is not None:
                return known

        def make() -> np.ndarray:
            return self._new_out_of_bag_mean(method)

        return self._kept("This method").derived(f"mean of {method}", self.estimators_, make)

    def _new_out_of_bag_mean(self, method: str) -> np.ndarray:
        X = self._training_X("This method")
        n = X.shape[0]
        drawn = [self._member_spec.draw(seed)[1] for seed in self._seeds]
        width = () if method == "predict" else (max(1, self._member_spec.n_classes),)
        total = np.zeros((n, *width))
        counts = np.zeros(n)
        for rows, predictions in zip(drawn, self._each_prediction(X, method)):
            outside = self._member_spec.scheme.is_outside(rows)
            total[outside] += predictions[outside]
            counts += outside
        counts = counts.reshape(n, *[1] * len(width))
        mean = np.full_like(total, np.nan)
        return np.divide(total, counts, out=mean, where=counts > 0)

    def _predictions_of_members(self, X: Any) -> np.ndarray:
        """The predictions of all members at X, of shape (m, B)."""
        trees = self._tree_sums(X, "predict")
        if trees is not None:
            out = np.zeros((X.shape[0], len(self.estimators_)))
            return add_in_threads(each_tree(trees), X, out, self.n_jobs)
        found = [np.array(p) for p in self._each_prediction(X, "predict")]
        return np.column_stack(found)
