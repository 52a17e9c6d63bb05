"""The single column of X that fits best, as a regressor and as a weak learner."""

from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import StrOptions
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import ReadsOnce, fit_context
from sklearn_ensemble_theory._learners import Task, register
from sklearn_ensemble_theory._rows import (
    finite_predictions,
    kept_rows,
    normalised_weights,
    validate_data,
)
from sklearn_ensemble_theory._scaling import largest_magnitude, mean_from_first
from sklearn_ensemble_theory._scores import RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike

# A column whose root mean square about its mean is below this share of the mean is constant.
SMALLEST_SPREAD = 1e-13
BLOCK_VALUES = 2**16  # worked on at a time, where there are more than
SMALL_VALUES = 2**21  # which are copied


class ColumnRounds:
    """Columns in units of their largest values and centred, for many searches or for a single one.

    The weak learner of a boosting round (see `_learners.PreparedRounds`). A large X is copied only
    where the searches are many.
    """

    is_exact = True

    def __init__(
        self,
        X: np.ndarray,
        weight: np.ndarray | None,
        criterion: str,
        fit_intercept: bool,
        *,
        for_many: bool = True,
    ) -> None:
        self.has_scale, self.fit_intercept = criterion == "inner_product", fit_intercept
        # In units of the largest values: squares neither overflow nor vanish.
        X = np.asarray(X, dtype=np.float64, order="C")  # one order of summation
        sizes = np.maximum(X.max(axis=0), -X.min(axis=0))
        self.sizes = np.where(sizes > 0, sizes, 1.0)
        copies = for_many or X.size <= SMALL_VALUES
        self.X, self.columns = X, X / self.sizes if copies else None
        self.weight = normalised_weights(weight, len(X))
        self.means = np.zeros(len(sizes))
        if fit_intercept:
            columns, unit = (X, self.sizes) if self.columns is None else (self.columns, 1.0)
            self.means = self.weight @ columns / unit
        if self.columns is not None:
            self.columns -= self.means
        squares = np.zeros(len(sizes))
        for rows, block in self._blocks():
            squares += self.weight[rows] @ block**2
        # A centred column below this is rounding.
        self.usable = np.sqrt(squares) > SMALLEST_SPREAD * np.abs(self.means)
        self.squares = np.where(self.usable, squares, 0.0)
        if self.columns is not None:
            self.columns[:, ~self.usable] = 0.0

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows and the centred columns there, a cache's worth of values at a time."""
        step = max(1, BLOCK_VALUES // len(self.sizes))
        for start in range(0, len(self.X), step):
            rows = slice(start, start + step)
            if self.columns is not None:
                yield rows, self.columns[rows]
            else:
                block = self.X[rows] / self.sizes
                block -= self.means
                yield rows, block

    @property
    def outputs_bound(self) -> float | None:
        """The largest root mean square of a column."""
        if not self.has_scale:
            return None
        bound = float(np.max(self.sizes * np.sqrt(self.squares)))
        return bound if bound > 0 else 1.0

    def search(self, target: np.ndarray) -> tuple[int, float, float]:
        """The feature, the coefficient and the intercept of the best column. O(n p)."""
        size = largest_magnitude(target)
        target = target / size
        mean = 0.0
        if self.fit_intercept and not self.has_scale:
            mean = float(mean_from_first(target, self.weight))
        values = self.weight * (target - mean)
        if self.columns is not None:
            products = values @ self.columns
        else:
            products = np.zeros(len(self.sizes))
            for rows, block in self._blocks():
                products += values[rows] @ block
        products = products * self.usable
        if self.has_scale:
            j = int(np.argmax(np.abs(products) * self.sizes))
            sign = -1.0 if products[j] < 0 else 1.0
            return j, sign, -sign * float(self.means[j]) * float(self.sizes[j])
        # Column j lowers the weighted squares by (inner product)² / (its own square).
        squares = self.squares
        inverse = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0)
        j = int(np.argmax(products**2 * inverse))
        slope = float(products[j] * inverse[j])
        # Python's floats overflow without a warning.
        coef = slope * float(size) / float(self.sizes[j])
        intercept = (mean - slope * float(self.means[j])) * float(size)
        if not (np.isfinite(coef) and np.isfinite(intercept)):
            raise ValueError(
                "X is so small, or y so large, that the coefficient overflows; scale them."
            )
        return j, coef, intercept

    def best(
        self, target: np.ndarray, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple["BestColumnRegressor", np.ndarray]:
        """The best column as a fitted member, and its outputs."""
        member = BestColumnRegressor()
        member.n_features_in_ = len(self.sizes)
        j, coef, intercept = self.search(target)
        member.feature_, member.coef_, member.intercept_ = j, coef, intercept
        slope = coef * float(self.sizes[j])
        assert self.columns is not None
        outputs = slope * self.columns[:, j]
        outputs += intercept + slope * float(self.means[j])
        return member, outputs


@documented()
class BestColumnRegressor(RegressorMixin, ReadsOnce, BaseEstimator):
    """Least-squares line on the single best column of X: a base learner for boosting linear models.

    The fit is the exact weighted least-squares fit over all functions a + b x_j. As the base
    learner of gradient boosting it gives a linear model for any loss, one coefficient in each
    round. This is boosting over the finite dictionary of the columns [Bach, §10.3.1]. With the
    squared loss it is matching pursuit.

    Parameters
    ----------
    criterion : {"squared_error", "inner_product"}, default="squared_error"
        "inner_product" is the weak learner of the theory [Bach, §10.3.1]: the column ±x_j, with
        coefficient -1 or +1, that has the largest inner product with the targets. It depends on the
        units of the features, which should be scaled first.
    fit_intercept : bool, default=True
        Whether columns are centred at their weighted means and "squared_error" fits the constant a.
        False: functions b x_j through the origin.

    Attributes
    ----------
    feature_ : int
        The column j.
    coef_ : float
        The coefficient b, in units of y over units of the feature; 0 if no column is correlated
        with y.
    intercept_ : float
        The constant a, in units of y.
    %(names_in_fit)s

    See Also
    --------
    GradientBoostingRegressor : With this as `estimator`, and ``step="smooth"``, the greedy
        algorithm of [Bach, eq. (10.9)].
    MatchingPursuitRegressor : The same for the squared loss, with rounds of cost O(p).
    FrankWolfeRegressor : A bound on the l1 norm instead of a number of rounds.

    Notes
    -----
    A fit costs O(n p), and makes no copy of a large X. A round of boosting costs the same, but
    boosting keeps a copy of X for its rounds. Ties go to the first column.

    %(references_Bach)s

    Examples
    --------
    >>> from sklearn_ensemble_theory import BestColumnRegressor
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 2.0]], [1.0, 4.0, 7.0]
    >>> column = BestColumnRegressor().fit(X, y)
    >>> column.feature_, column.coef_, column.intercept_
    (1, 3.0, 1.0)

    Logistic regression by the greedy algorithm of [Bach, eq. (10.9)]:

    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sklearn_ensemble_theory import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> model = GradientBoostingClassifier(
    ...     BestColumnRegressor("inner_product"), step="smooth", learning_rate=1.0, n_estimators=50
    ... ).fit(X, y)
    >>> coef = np.zeros(30)
    >>> for step, member in zip(model.steps_, model.estimators_[:, 0]):
    ...     coef[member.feature_] += step * member.coef_
    >>> bool(np.allclose(model.decision_function(X) - X @ coef, model.decision_function(0 * X)))
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "criterion": [StrOptions({"squared_error", "inner_product"})],
        "fit_intercept": ["boolean"],
    }

    n_features_in_: int
    feature_: int
    coef_: float
    intercept_: float

    def __init__(self, criterion: str = "squared_error", *, fit_intercept: bool = True) -> None:
        self.criterion = criterion
        self.fit_intercept = fit_intercept

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the best column.

        %(fit_targets)s
        """
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        rows = kept_rows(X, y, sample_weight)
        weight, criterion = rows.weights(), self.criterion
        rounds = ColumnRounds(rows.X, weight, criterion, self.fit_intercept, for_many=False)
        self.feature_, self.coef_, self.intercept_ = rounds.search(rows.y)
        return self

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the linear function of the column.

        %(rows_to_predict)s

        %(returns_predictions)s
        """
        check_is_fitted(self)
        return column_values(self, validate_data(self, X, dtype=np.float64, reset=False))

    @property
    def _has_scale(self) -> bool:
        return self.criterion == "inner_product"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # One column does not reach the scores that scikit-learn's checks require.
        tags.regressor_tags.poor_score = True
        return tags


def column_values(model: BestColumnRegressor, X: np.ndarray) -> np.ndarray:
    """The fitted function of the column."""
    return model.intercept_ + model.coef_ * np.asarray(X[:, model.feature_], dtype=np.float64)


def rounds_of_columns(
    learner: BestColumnRegressor, X: np.ndarray, weight: np.ndarray | None, task: Task
) -> ColumnRounds | None:
    """Columns for real targets."""
    if task.kind != "least_squares" or sp.issparse(X):
        return None
    return ColumnRounds(X, weight, learner.criterion, learner.fit_intercept)


register(BestColumnRegressor, prepare_rounds=rounds_of_columns, predict_validated=column_values)
