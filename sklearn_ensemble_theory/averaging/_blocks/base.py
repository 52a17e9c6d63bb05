"""The fit to disjoint blocks of the rows."""

from abc import ABCMeta, abstractmethod
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import column_or_1d

from sklearn_ensemble_theory._compat import (
    HasMethods,
    Interval,
    StrOptions,
    check_method_params,
    raise_for_params,
)
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._parallel import in_order
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    PositiveRows,
    rows_of_positive_weight,
    validate_data,
)
from sklearn_ensemble_theory._scaling import largest_magnitude, within_range
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, RandomStateLike
from sklearn_ensemble_theory.averaging._blocks.block_cuts import block_of_rows, weights_by_risk
from sklearn_ensemble_theory.averaging._blocks.block_fits import (
    ROW_CHECKS,
    check_takes_weight,
    fit_block,
    fit_chunks_as_blocks,
)
from sklearn_ensemble_theory.averaging._blocks.block_rows import block_predictions, other_rows
from sklearn_ensemble_theory.averaging._members import MAX_SEED, member_params, member_router
from sklearn_ensemble_theory.averaging._sampling import group_codes
from sklearn_ensemble_theory.bounds import divide_and_conquer_n_blocks
from sklearn_ensemble_theory.ensembles._members import member_predictions


class BaseDivideAndConquer(MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the averages over blocks; not for direct use."""

    estimator: BaseEstimator | None
    n_blocks: int | Literal["rate"]
    weighting: Literal["risk", "size", "uniform"]
    shuffle: bool
    stratify: bool
    n_jobs: int | None
    random_state: RandomStateLike

    _parameter_constraints: dict = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_blocks": [Interval(Integral, 1, None, closed="left"), StrOptions({"rate"})],
        "weighting": [StrOptions({"risk", "size", "uniform"})],
        "shuffle": ["boolean"],
        "stratify": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def _get_estimator(self) -> BaseEstimator:
        """The learner; the default where the user gave none."""

    @abstractmethod
    def _check_learner(self, estimator: BaseEstimator) -> None:
        """Raise an error if its predictions are not what is averaged."""

    @abstractmethod
    def _encode_y(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        """(y as the members are fitted to it, the fitted attributes that describe it)."""

    @abstractmethod
    def _prediction_method(self, estimator: BaseEstimator) -> str:
        """The method of a member whose results are averaged; "vote" for the class predicted."""

    @abstractmethod
    def _squared_errors(self, y: np.ndarray, predictions: np.ndarray, size: float) -> np.ndarray:
        """Squared errors of the rows; `size` is the largest magnitude of all encoded targets."""

    def _validate_X(self, X: MatrixLike) -> Any:
        return validate_data(self, X, reset=False, **ROW_CHECKS)

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Cut the rows into blocks, and fit a clone of the estimator to each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or a Dask collection. Sparse, missing and infinite values are accepted
            where the estimator accepts them.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, or a Dask collection.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, passed to the estimator. Rows of weight 0 are left out. May be a
            Dask collection.

        groups : array-like of shape (n_samples,), default=None
            Rows of the same group are put into the same block, for rows that are not independent.
            Blocks then have different sizes, and `stratify` is not used.

        **fit_params : dict
            Routed to the estimator's `fit` where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted ensemble.

        Raises
        ------
        ValueError
            If there are more blocks than rows (of positive weight) or groups, or the estimator does
            not accept sample weights.

        Notes
        -----
        Cost: m fits to n/m rows, O(n log n) for the blocks, and for `weighting="risk"` the
        prediction of n rows by every member.

        The blocks of Dask collections are the chunks that have rows of positive weight, and each
        member is fitted where its chunk is. `n_blocks` must be "rate" or their number, and
        `shuffle`, `stratify` and `groups` cannot be used: the rows of a chunk should be a random
        sample of all rows. The rows are read twice, and once more for `weighting="risk"`. The
        model is that of the same blocks in memory with ``shuffle=False``; `blocks_` is not set.
        """
        raise_for_params(fit_params, self, "fit")
        estimator: Any = self._get_estimator()
        self._check_learner(estimator)
        X, y = validate_data(self, X, y, multi_output=True, **ROW_CHECKS)
        y, description = self._encode_y(y)
        X = X.tocsr() if hasattr(X, "tocsr") else X
        kept = None if sample_weight is None else rows_of_positive_weight(sample_weight, X)
        if kept is not None:
            check_takes_weight(estimator)
        params = member_params(self, fit_params, "fit")
        rng = check_random_state(self.random_state)
        block = self._cut(X, y, kept, groups, rng)
        n_blocks = int(block.max()) + 1
        rows_of = [np.flatnonzero(block == b) for b in range(n_blocks)]
        seeds = rng.randint(MAX_SEED, size=n_blocks)
        weight = None
        if kept is not None:
            weight = np.zeros(len(y))
            weight[kept.rows] = kept.weight
        n_classes = description.get("n_classes_", 0)
        # Workers get their rows only; one process takes them when a member is fitted.
        is_alone = effective_n_jobs(self.n_jobs) == 1
        tasks = (
            delayed(fit_block)(
                estimator,
                int(seed),
                X if is_alone else X[rows],
                y if is_alone else y[rows],
                weight if is_alone or weight is None else weight[rows],
                check_method_params(X, params=params, indices=rows),
                n_classes=n_classes,
                rows=rows if is_alone else None,
            )
            for seed, rows in zip(seeds, rows_of)
        )
        members = list(in_order(tasks, n_jobs=self.n_jobs))
        row_weight = np.ones(len(y)) if weight is None else weight / weight.max()
        risks = None
        if self.weighting == "risk" and n_blocks > 1:
            risks = self._risks(members, X, y, row_weight, block, description)
        if risks is not None:
            shares = weights_by_risk(risks)
        elif self.weighting == "size":
            shares = np.array([row_weight[rows].sum() for rows in rows_of])
        else:
            shares = np.ones(n_blocks)

        # Everything has been fitted: from here on nothing fails.
        for name, value in description.items():
            setattr(self, name, value)
        self.estimator_ = estimator
        self.estimators_ = members
        self.n_blocks_ = n_blocks
        self.blocks_ = block
        self.block_weights_ = shares / shares.sum()
        self.__dict__.pop("block_risks_", None)
        if risks is not None:
            self.block_risks_ = risks
        return self

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of rows in chunks, which are the blocks."""
        learned = fit_chunks_as_blocks(self, rows)
        for name in ("blocks_", "block_risks_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.__dict__.update(learned)

    def _cut(
        self,
        X: Any,
        y: np.ndarray,
        kept: PositiveRows | None,
        groups: ArrayLike | None,
        rng: np.random.RandomState,
    ) -> np.ndarray:
        """The block of every row; -1 for rows of weight 0."""
        rows = np.arange(len(y)) if kept is None else np.arange(len(y))[kept.rows]
        n = len(rows)
        m = self.n_blocks
        if m == "rate":
            m = divide_and_conquer_n_blocks(n, X.shape[1])
        if m > n:
            what = "rows" if kept is None else "rows of positive weight"
            raise ValueError(f"n_blocks={m} is larger than the number of {what}, n_samples = {n}.")
        strata = None
        if groups is not None:
            groups = group_codes(column_or_1d(groups), X)[rows]
        elif self.stratify:
            if y.ndim > 1:
                raise ValueError("stratify=True requires a single output y.")
            strata = y[rows]
        block = np.full(len(y), -1, dtype=np.intp)
        block[rows] = block_of_rows(
            n, int(m), rng if self.shuffle else None, strata=strata, groups=groups
        )
        return block

    def _risks(
        self,
        members: list[Any],
        X: Any,
        y: np.ndarray,
        weight: np.ndarray,
        block: np.ndarray,
        description: dict[str, Any],
    ) -> np.ndarray:
        """The mean squared error of each member on the rows of the other blocks."""
        method, size = self._prediction_method(members[0]), largest_magnitude(y)
        n_classes = description.get("n_classes_", 0)
        tasks = (
            delayed(block_predictions)(member, method, X, block, b, n_classes=n_classes)
            for b, member in enumerate(members)
        )
        risks = []
        for b, predicted in enumerate(in_order(tasks, n_jobs=self.n_jobs)):
            rows = other_rows(block, b)
            errors = self._squared_errors(y[rows], predicted, size)
            risks.append(np.average(errors, weights=weight[rows]))
        return np.array(risks)

    def _mean_prediction(self, X: Any, method: str, params: dict[str, Any]) -> np.ndarray:
        """The weighted mean of the members' predictions, added up one after the other.

        Of log-probabilities the logarithm of the mean.
        """
        n_classes = getattr(self, "n_classes_", 0)
        X = X.tocsr() if hasattr(X, "tocsr") else X
        tasks = (
            delayed(member_predictions)(member, method, X, n_classes=n_classes, params=params)
            for member in self.estimators_
        )
        logs = method == "predict_log_proba"
        total: Any = None
        for share, part in zip(
            self.block_weights_, in_order(tasks, n_jobs=self.n_jobs, prefer="threads")
        ):
            part = part + np.log(share) if logs else share * part
            if total is None:
                total = part
            elif logs:
                total = np.logaddexp(total, part)
            else:
                with np.errstate(over="ignore"):  # by rounding, where all are the largest float
                    np.add(total, part, out=total)
        return within_range(total) if method == "predict" else total

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata routing: to the base learner's method that serves each of ours.

        Returns
        -------
        routing : MetadataRouter
            Routing information of the ensemble.
        """
        return member_router(self, self)

    def __len__(self) -> int:
        """Number of fitted members."""
        return len(self.estimators_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        try:
            base = get_tags(self._get_estimator()).input_tags
        except (AttributeError, TypeError):
            return tags  # not an estimator, which the parameter check of `fit` reports
        tags.input_tags.sparse = base.sparse
        tags.input_tags.allow_nan = base.allow_nan
        return tags
