"""The members of a super learner by name, and how those that need numbers get them.

Each member is one that predicts rows which it has not seen from a single fit: boosting and additive
models by the models of their folds, forests out of bag, bagged neighbours without each row in
closed form. The linear model is fitted again for each fold, which costs little.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, RidgeCV
from sklearn.preprocessing import StandardScaler
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import has_fit_parameter

from sklearn_ensemble_theory._categories import MOST_CATEGORY_BINS, CategoricalColumns
from sklearn_ensemble_theory._folds import Split
from sklearn_ensemble_theory._rows import normalised_weights, number_of_rows
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._typing import Estimator
from sklearn_ensemble_theory.averaging import (
    BaggedNearestNeighborsClassifier,
    BaggedNearestNeighborsRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.boosting import (
    AdditiveBoostingRegressor,
    CVRounds,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
)

# --- numbers of like size -------------------------------------------------------------------------

# Of a column with more categories the rarest have no indicator.
MOST_INDICATORS = 50
# A column of less spread, as a share of its mean, is constant but for rounding.
LEAST_SCALE = 1e-12


class OnNumbers(MetaEstimatorMixin, BaseEstimator):
    """An estimator on columns of mean 0 and variance 1.

    Missing values become the mean, with a column that marks them; categories become indicators.
    Rows of a sparse X keep their zeros.
    """

    def __init__(self, estimator: Estimator, categories: Sequence[int] = ()) -> None:
        self.estimator = estimator
        self.categories = categories  # the columns whose numbers are categories

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        learner = clone(self.estimator)
        params = self._given(sample_weight=sample_weight, groups=groups)
        self.estimator_ = _quietly(learner.fit, self._learned(X, sample_weight), y, **params)
        return self

    def _given(self, sample_weight: Any = None, groups: Any = None) -> dict[str, Any]:
        """The arguments that are given and that the estimator takes; weights count rows."""
        found: dict[str, Any] = {}
        if sample_weight is not None:
            weight = np.asarray(sample_weight, dtype=np.float64)
            share = normalised_weights(weight, len(weight))
            counts = share * number_of_rows(weight)
            # Of copies of rows, which neighbours count, nothing is to be lost by rounding.
            found["sample_weight"] = np.rint(counts) if are_counts(weight) else counts
        if groups is not None and has_fit_parameter(self.estimator, "groups"):
            found["groups"] = groups
        return found

    def predict(self, X: Any) -> np.ndarray:
        return self.estimator_.predict(self._numbers(X))

    def __held_out_predictions__(
        self, X: Any, y: Any, splits: list[Split], **params: Any
    ) -> np.ndarray | None:
        """Those of the estimator; means and variances of the columns are those of all rows."""
        predictions_of = getattr(self.estimator, "__held_out_predictions__", None)
        if predictions_of is None:
            return None
        self.estimator_ = clone(self.estimator)
        given = self._learned(X, params.get("sample_weight")), y, splits
        params = self._given(**params)
        return _quietly(self.estimator_.__held_out_predictions__, *given, **params)

    def _learned(self, X: Any, sample_weight: Any) -> Any:
        """Learn the columns, and return the numbers of these rows."""
        share = normalised_weights(sample_weight, X.shape[0])
        self.is_sparse_ = issparse(X)
        if self.is_sparse_:
            X = X.astype(np.float64)
            ends = min_max_axis(X, axis=0, ignore_nan=True)
            units = _units(np.abs(ends).max(axis=0))
            self.scaler_ = StandardScaler(with_mean=False)
            self.scaler_.fit(X.multiply(1.0 / units).tocsr(), sample_weight=share)
            self.scaler_.scale_ *= units
            return self.scaler_.transform(X)
        X = self._encoded(X)
        is_category = np.isin(np.arange(X.shape[1]), self.categories)
        is_missing = np.isnan(X)
        is_number = ~is_category & ~is_missing.all(axis=0)
        self.numbers_ = np.flatnonzero(is_number)
        self.missing_ = np.flatnonzero(is_number & is_missing.any(axis=0))
        self.indicators_: list[tuple[int, np.ndarray]] = []
        for j in np.flatnonzero(is_category).tolist():
            codes, places = np.unique(X[~is_missing[:, j], j], return_inverse=True)
            size = np.bincount(places, share[~is_missing[:, j]], len(codes))
            most = np.argsort(-size, kind="stable")[:MOST_INDICATORS]
            self.indicators_.append((j, codes[most]))
        present = ~is_missing[:, self.numbers_]
        sums = share @ np.where(present, X[:, self.numbers_], 0.0)
        self.fill_ = sums / np.maximum(share @ present, np.finfo(np.float64).tiny)
        Z = self._filled(X)
        self.means_ = share @ Z
        units = _units(np.abs(Z - self.means_).max(axis=0))
        scale = units * np.sqrt(share @ ((Z - self.means_) / units) ** 2)
        self.scales_ = np.where(scale > LEAST_SCALE * np.abs(self.means_), scale, 1.0)
        return (Z - self.means_) / self.scales_

    def _encoded(self, X: Any) -> np.ndarray:
        return np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)

    def _filled(self, X: np.ndarray) -> np.ndarray:
        """Numbers, the mean where they are missing, with the columns that mark these, and the
        indicators of the categories."""
        numbers = X[:, self.numbers_]
        parts = [np.where(np.isnan(numbers), self.fill_, numbers), np.isnan(X[:, self.missing_])]
        parts += [X[:, [j]] == codes for j, codes in self.indicators_]
        found = np.hstack(parts)
        # Without any value in X there is one constant column, on which the mean is fitted.
        return found if found.shape[1] else np.zeros((len(X), 1))

    def _numbers(self, X: Any) -> Any:
        if self.is_sparse_:
            return self.scaler_.transform(X)
        return (self._filled(self._encoded(X)) - self.means_) / self.scales_


def _units(largest: np.ndarray) -> np.ndarray:
    """Powers of two of the size of these numbers: in such units their squares do not overflow."""
    exponents = np.frexp(np.where(np.isfinite(largest), largest, 1.0))[1]
    # Of a number below all others of full precision, the inverse of the unit would overflow.
    return np.ldexp(1.0, np.maximum(exponents - 1, -1022))


class RegressorOnNumbers(RegressorMixin, OnNumbers):
    """A regressor on such columns."""


class ClassifierOnNumbers(ClassifierMixin, OnNumbers):
    """A classifier on such columns."""

    @property
    def classes_(self) -> np.ndarray:
        return self.estimator_.classes_

    def predict_proba(self, X: Any) -> np.ndarray:
        return self.estimator_.predict_proba(self._numbers(X))


class NeighborsOnNumbers(ClassifierOnNumbers):
    """Neighbours, whose probabilities are drawn to the classes' shares by the weight of one row.

    Otherwise neighbours of one class make its probability 1, however few they are, and where no row
    is told wrongly by luck, no other member would have a weight.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        self._set_shares(y, sample_weight)
        return super().fit(X, y, sample_weight, groups)

    def _set_shares(self, y: Any, sample_weight: Any) -> None:
        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        n_rows, share = number_of_rows(weight), normalised_weights(weight, len(y))
        shares = np.bincount(np.unique(y, return_inverse=True)[1], share)
        self.added_shares_ = n_rows / (n_rows + 1), shares / (n_rows + 1)

    def _drawn(self, proba: np.ndarray) -> np.ndarray:
        share, added = self.added_shares_
        return share * proba + added

    def predict_proba(self, X: Any) -> np.ndarray:
        return self._drawn(super().predict_proba(X))

    def __held_out_predictions__(
        self, X: Any, y: Any, splits: list[Split], **params: Any
    ) -> np.ndarray | None:
        self._set_shares(y, params.get("sample_weight"))
        found = super().__held_out_predictions__(X, y, splits, **params)
        return None if found is None else self._drawn(found)


def _quietly(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call it; a fit that ends before it converges counts by what it predicts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return function(*args, **kwargs)


# --- the library ----------------------------------------------------------------------------------

# Rows that bagged neighbours are a default member for: their distances are those of all pairs.
MOST_NEIGHBORS = 20_000
PENALTIES = np.logspace(-3, 3, 13)
LEAVES: dict[str, Any] = {"max_depth": None, "max_leaf_nodes": 31}
ROWS_OF_LEAVES = 20
# The most rounds of boosting, up to those of `CVRounds`.
LEAST_ROUNDS, ROUNDS_A_ROW = 100, 10
# Of fewer rows the other members have the weight, and weights count rows exactly.
LEAST_ROWS_OF_FORESTS = 100


@dataclass(frozen=True)
class Library:
    """What decides how members are made.

    `n_rows` is the number that the weights of the rows stand for, and `categories` the columns
    whose numbers are categories.
    """

    loss: str
    of_classes: bool
    n_rows: float
    categories: list[int]
    seed: int

    @property
    def of_trees(self) -> dict[str, Any]:
        """Parameters that all members by trees have."""
        return {"categorical_features": self.categories or None, "random_state": self.seed}

    def boosting(self, **options: Any) -> Estimator:
        kind = GradientBoostingClassifier if self.of_classes else GradientBoostingRegressor
        loss = "log_loss" if self.of_classes else self.loss
        # The held-out loss of few rows that are told apart falls as long as there are rounds.
        most = int(min(max(LEAST_ROUNDS, ROUNDS_A_ROW * self.n_rows), CVRounds().max_estimators))
        rounds = CVRounds(max_estimators=most, prediction="mean")
        return kind(loss=loss, n_estimators=rounds, **self.of_trees, **options)

    def boosting_31_leaves(self) -> Estimator:
        # By weight, so that weights count rows in the leaves too.
        share = min(ROWS_OF_LEAVES / self.n_rows, 0.5)
        options = dict(LEAVES)
        if self.loss != "absolute_error":  # which has no second derivative
            options["step"] = "newton"  # as in LightGBM
        return self.boosting(min_weight_fraction_leaf=share, **options)

    def additive(self) -> Estimator:
        categories = self.categories or None
        if self.of_classes:
            return LogitBoostClassifier(categorical_features=categories)
        return AdditiveBoostingRegressor(loss=self.loss, categorical_features=categories)

    def forest(self) -> Estimator:
        if self.of_classes:
            return RandomForestClassifier(**self.of_trees)
        # A third of the features, as in R: all of them are bagging.
        return RandomForestRegressor(max_features=1 / 3, **self.of_trees)

    def extra_trees(self) -> Estimator:
        kind = ExtraTreesClassifier if self.of_classes else ExtraTreesRegressor
        return kind(bootstrap=True, **self.of_trees)

    def on_numbers(self, learner: Estimator) -> Estimator:
        kind = ClassifierOnNumbers if self.of_classes else RegressorOnNumbers
        return kind(learner, self.categories)

    def neighbors(self) -> Estimator:
        if self.of_classes:
            learner = BaggedNearestNeighborsClassifier(max_samples="loo")
            return NeighborsOnNumbers(learner, self.categories)
        return self.on_numbers(BaggedNearestNeighborsRegressor(max_samples="loo"))

    def linear(self) -> Estimator:
        if self.of_classes:
            return self.on_numbers(LogisticRegression(max_iter=300))
        of_loss = {"poisson": PoissonRegressor, "gamma": GammaRegressor}
        if self.loss in of_loss:
            return self.on_numbers(of_loss[self.loss](alpha=1e-3, max_iter=300))
        return self.on_numbers(RidgeCV(PENALTIES))


# In the order of their cost, the cheapest first.
MEMBERS: dict[str, Callable[[Library], Estimator]] = {
    "linear": Library.linear,
    "neighbors": Library.neighbors,
    "extra_trees": Library.extra_trees,
    "forest": Library.forest,
    "boosting": Library.boosting,
    "additive": Library.additive,
    "boosting_31_leaves": Library.boosting_31_leaves,
}


# Whose bins the rarest of many categories share.
ON_BINS = {"extra_trees", "forest", "boosting", "boosting_31_leaves"}


def warn_of_many_categories(columns: CategoricalColumns, names: set[str]) -> None:
    """Say which columns have more categories than the members of these names have bins.

    The members themselves know only the numbers of the columns.
    """
    if names.isdisjoint(ON_BINS):
        return
    for j, categories in enumerate(columns.categories):
        if categories is not None and len(categories) > MOST_CATEGORY_BINS:
            warn_user(
                f"Feature {columns.features.label(j)} has {len(categories)} categories, of which "
                f"the {len(categories) - MOST_CATEGORY_BINS + 1} of the fewest rows are one to "
                f"forests and boosting: these have {MOST_CATEGORY_BINS} bins."
            )


def are_counts(weight: np.ndarray) -> bool:
    """Whether weights are whole multiples of the smallest, as `number_of_rows` counts them."""
    counts = weight / weight.min()
    return bool((np.abs(counts - np.rint(counts)) <= 1e-9 * counts).all())


def default_members(n_rows: float, weight: np.ndarray | None, offset: bool) -> list[str]:
    """The names of the members for so many rows, whose fits take the weights and an offset."""
    if offset:
        return ["boosting", "additive", "boosting_31_leaves"]
    left_out = set()
    # Neighbours count rows: the next k of them need weights that are numbers of rows.
    if n_rows > MOST_NEIGHBORS or not (weight is None or are_counts(weight)):
        left_out.add("neighbors")
    if n_rows < LEAST_ROWS_OF_FORESTS:
        left_out |= {"forest", "extra_trees"}
    return [name for name in MEMBERS if name not in left_out]
