"""The training rows of a fitted ensemble, and the members that each of them is left out of.

Intervals, sets and importances rest on predictions for rows that a member was not fitted to. The
draws of the members are repeated from their seeds; only X (for trees) and y are kept.
"""

import operator
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._learners import reads_single_precision
from sklearn_ensemble_theory._scaling import range_exponent, shifted_by
from sklearn_ensemble_theory.ensembles._members import FittedEnsemble, each_prediction
from sklearn_ensemble_theory.trees._sklearn_trees import single_precision_if_finite

Derived = TypeVar("Derived")
Ensemble = TypeVar("Ensemble", bound=FittedEnsemble)


class TrainingRows:
    """The rows that an ensemble was fitted to; derived arrays are kept, but not pickled.

    X is None where only the targets are kept; y is as the members are fitted to it; the window has
    the residuals of a time series, None before there were rows after those of the fit.
    """

    def __init__(
        self,
        X: np.ndarray | sp.csr_array | None,
        y: np.ndarray,
        window: np.ndarray | None = None,
    ) -> None:
        self.X, self.y, self.window = X, y, window
        self._members: list = []
        self._derived: dict = {}

    @classmethod
    def of(cls, estimator: BaseEstimator, X, y: np.ndarray, is_fresh: bool = False) -> Self:
        """Keep the targets, and X for trees: 4 bytes a value, where a tree takes some 80 for a row.

        X is not copied where it `is_fresh`: made in this fit, in single precision.
        """
        y = np.array(y)
        if not reads_single_precision(estimator):
            return cls(None, y)
        # Trees read single precision: what they can read takes half the memory.
        rows = single_precision_if_finite(X)
        if rows is None or (not is_fresh and np.may_share_memory(rows, X)):
            rows = X.copy()
        return cls(rows, y)

    def are_those_of(self, other: "TrainingRows") -> bool:
        """Whether these are the same rows, X as far as both have it."""
        if not np.array_equal(self.y, other.y):
            return False
        X: Any = self.X
        Z: Any = other.X
        if X is None or Z is None or X is Z:
            return True
        if X.shape != Z.shape or sp.issparse(X) != sp.issparse(Z):
            return False
        if sp.issparse(X):
            X, Z = X.tocsr(), Z.tocsr()
            same = np.array_equal(X.indptr, Z.indptr) and np.array_equal(X.indices, Z.indices)
            return same and np.array_equal(X.data, Z.data)
        return np.array_equal(X, Z, equal_nan=X.dtype.kind == "f")

    def __getstate__(self) -> dict:
        # What is derived can be made again, and would make pickles large.
        return {"X": self.X, "y": self.y, "window": self.window}

    def __setstate__(self, state: dict) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def derived(self, name: str, members: Sequence, make: Callable[[], Derived]) -> Derived:
        """Return what `make()` returns, made once for the same members."""
        # By identity: another fit, or a longer warm start, has other members.
        same = len(self._members) == len(members) and all(map(operator.is_, self._members, members))
        if not same:
            self._members, self._derived = list(members), {}
        if name not in self._derived:
            self._derived[name] = make()
        return self._derived[name]


def forget_training_rows(self: Ensemble) -> Ensemble:
    """Remove the training rows that the fitted ensemble keeps.

    An ensemble of trees keeps X in single precision, and any ensemble keeps y; they are part
    of its pickle. Without them `predict_quantiles`, `predict_interval`, `predict_set` and
    importances of out-of-bag rows are not available until the next fit, and standard errors of
    few members are larger. Everything else is as before.

    Returns
    -------
    self : object
        The ensemble.
    """
    self._training = None
    return self


# --- checks, whose errors say what was asked for --------------------------------------------------


def kept_rows(ensemble: FittedEnsemble, what: str) -> TrainingRows:
    """Return the training rows, or raise an error after `forget_training_rows`."""
    rows = getattr(ensemble, "_training", None)
    if rows is None:
        raise ValueError(f"{what} requires the training rows, which were removed; fit again.")
    return rows


def kept_X(
    ensemble: FittedEnsemble, what: str, instead: str = "use members that are trees"
) -> np.ndarray | sp.csr_array:
    """Return the training X, or raise an error for members that are no trees."""
    X = kept_rows(ensemble, what).X
    if X is None:
        name = type(ensemble.estimator_).__name__
        raise ValueError(
            f"{what} requires the training rows, which are kept for members that are trees only, "
            f"got {name}; {instead}."
        )
    return X


def check_one_output(ensemble: FittedEnsemble, what: str) -> None:
    """Raise an error if y had several columns."""
    y = kept_rows(ensemble, what).y
    if y.ndim > 1:
        raise ValueError(f"{what} requires a single output; y had {y.shape[1]}.")


def check_rows_outside(ensemble: FittedEnsemble, what: str) -> None:
    """Raise an error if every member is fitted to every row."""
    scheme = ensemble._member_spec.scheme
    if not scheme.leaves_rows_out:
        raise ValueError(
            f"{what} require rows that are not drawn for every member; with bootstrap="
            f"{scheme.bootstrap!r} and max_samples={ensemble.max_samples} every member is fitted "
            "to every row. Fit with bootstrap=True, or with fewer rows for each member."
        )


def exchangeable_rows(ensemble: FittedEnsemble, what: str) -> np.ndarray | None:
    """Return the rows of positive weight, None for all; an error where their weights differ."""
    kept_rows(ensemble, what)
    check_rows_outside(ensemble, what)
    weight = ensemble._member_spec.scheme.sample_weight
    if weight is None:
        return None
    rows = np.flatnonzero(weight)
    if np.ptp(weight[rows]) > 0:
        raise unequal_weights(what)
    return rows if len(rows) < len(weight) else None


def unequal_weights(what: str) -> ValueError:
    """The error of what needs exchangeable rows."""
    return ValueError(
        f"{what} are defined for rows of equal weight; this model was fitted with sample_weight or "
        "class_weight."
    )


# --- which members are outside of which rows ------------------------------------------------------


class OutsideMasks:
    """Which members are not fitted to which rows, as bits.

    The n rows, or other units that are drawn, are `draws` for each of the B members.
    """

    def __init__(self, n: int, draws: list[np.ndarray]) -> None:
        self.n_members = len(draws)
        self.bits = np.zeros((n, -(-len(draws) // 8)), dtype=np.uint8)
        self.counts = np.zeros(n)
        # Eight members at a time: the dense mask of all of them would take eight times the memory.
        for byte in range(self.bits.shape[1]):
            block = draws[8 * byte : 8 * byte + 8]
            outside = np.ones((n, len(block)), dtype=bool)
            for b, drawn in enumerate(block):
                outside[drawn, b] = False
            self.bits[:, byte] = np.packbits(outside, axis=1)[:, 0]
            self.counts += outside.sum(axis=1)

    def __len__(self) -> int:
        return len(self.bits)

    def of_rows(self, rows: np.ndarray) -> Self:
        """The masks of some of the rows."""
        some = copy(self)
        some.bits, some.counts = self.bits[rows], self.counts[rows]
        return some

    def numbers(self, rows: slice | np.ndarray, dtype: type = np.float64) -> np.ndarray:
        """Return the mask of these rows, of shape (rows, B)."""
        return np.unpackbits(self.bits[rows], axis=1, count=self.n_members).astype(dtype)


def outside_masks(ensemble: FittedEnsemble, rows: np.ndarray | None) -> OutsideMasks:
    """Return the masks of these training rows, those of all rows made once."""
    spec = ensemble._member_spec

    def make() -> OutsideMasks:
        outside = (spec.scheme.is_outside(spec.draw(seed)[1]) for seed in ensemble._seeds)
        inside = [np.flatnonzero(~each) for each in outside]
        return OutsideMasks(spec.scheme.n_samples, inside)

    masks = kept_rows(ensemble, "This method").derived("masks", ensemble.estimators_, make)
    return masks if rows is None or len(rows) == len(masks) else masks.of_rows(rows)


def outside_group_masks(ensemble: FittedEnsemble) -> OutsideMasks:
    """Return the masks of the groups that were drawn, made once."""
    spec = ensemble._member_spec

    def make() -> OutsideMasks:
        drawn = [spec.draw_units(seed)[0] for seed in ensemble._seeds]
        return OutsideMasks(spec.scheme.n_units, drawn)

    return kept_rows(ensemble, "This method").derived("group masks", ensemble.estimators_, make)


def groups_of(ensemble: FittedEnsemble, rows: np.ndarray | None) -> np.ndarray | None:
    """Return the groups of these rows; None where rows were drawn by themselves."""
    groups = ensemble._member_spec.scheme.unit_of_row
    return groups if groups is None or rows is None else groups[rows]


def out_of_bag_mean(ensemble: FittedEnsemble, method: str) -> np.ndarray:
    """Average the predictions of each training row by the members outside; nan without any."""
    for name in ("oob_prediction_", "oob_decision_function_"):
        # A fit with `oob_score=True` has them already.
        known = getattr(ensemble, name, None)
        if known is not None:
            return known

    def make() -> np.ndarray:
        X = kept_X(ensemble, "This method", "fit with oob_score=True")
        spec = ensemble._member_spec
        drawn = [spec.draw(seed)[1] for seed in ensemble._seeds]
        width = () if method == "predict" else (max(1, spec.n_classes),)
        total = np.zeros((X.shape[0], *width))
        counts = np.zeros(X.shape[0])
        exponent = 0 if spec.n_classes else range_exponent(kept_rows(ensemble, method).y)
        # A member's predictions at a time, as those of all members would take B times the memory.
        for rows, predictions in zip(drawn, each_prediction(ensemble, X, method)):
            outside = spec.scheme.is_outside(rows)
            total[outside] += np.ldexp(predictions[outside], -exponent)
            counts += outside
        counts = counts.reshape(-1, *[1] * len(width))
        mean = np.divide(total, counts, out=np.full_like(total, np.nan), where=counts > 0)
        return shifted_by(mean, exponent)

    rows = kept_rows(ensemble, "This method")
    return rows.derived(f"mean of {method}", ensemble.estimators_, make)
