"""Rectified linear units as empirical risk minimisers [Bach, §10.3.1]."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import ReadsOnce, fit_context
from sklearn_ensemble_theory._learners import Task, register
from sklearn_ensemble_theory._rows import finite_predictions, kept_rows, validate_data
from sklearn_ensemble_theory._scaling import largest_magnitude, power_of_two
from sklearn_ensemble_theory._scores import RegressorMixin
from sklearn_ensemble_theory._typing import ArrayLike

from ._hinges import Hinge, HingeIndex, best_of_columns

# An ascent ends when a step gains less than this share.
SMALLEST_GAIN = 1e-6
MAX_HALVINGS = 20
# In standard deviations, or for the inner product in units of the largest deviation.
GRID = 2.0**-22


class ReLUNetwork(NamedTuple):
    """A network with one hidden layer of rectified linear units.

    x -> output_bias + sum_k output_weights[k] * (hidden_weights[k]'x + hidden_biases[k])+

    Attributes
    ----------
    hidden_weights : ndarray of shape (n_units, n_features)
        Weights of the inputs of each unit.
    hidden_biases : ndarray of shape (n_units,)
        Biases of the units.
    output_weights : ndarray of shape (n_units,)
        Weights of the units in the output.
    output_bias : float
        Bias of the output.
    """

    hidden_weights: np.ndarray
    hidden_biases: np.ndarray
    output_weights: np.ndarray
    output_bias: float

    def __call__(self, X: ArrayLike) -> np.ndarray:
        """Return the output of the network, an array of shape (n_samples,)."""
        hidden = np.maximum(np.asarray(X) @ self.hidden_weights.T + self.hidden_biases, 0.0)
        return hidden @ self.output_weights + self.output_bias

    @classmethod
    def of_units(
        cls,
        units: Sequence["ReLUUnitRegressor"],
        steps: ArrayLike | None = None,
        bias: float = 0.0,
    ) -> Self:
        """Return the network of ``bias + sum steps[k] units[k](x)`` for fitted units.

        Parameters
        ----------
        units : sequence of fitted `ReLUUnitRegressor`
            The units to sum.
        steps : array-like of shape (n_units,), default=None
            The coefficients of the units. If None, each is 1.
        bias : float, default=0.0
            The bias of the output.

        Returns
        -------
        network : ReLUNetwork
            The network.
        """
        outputs = np.array([unit.output_weight_ for unit in units])
        return cls(
            np.array([unit.hidden_weights_ for unit in units]),
            np.array([unit.hidden_bias_ for unit in units]),
            outputs if steps is None else outputs * np.asarray(steps),
            float(bias),
        )


@documented()
class ReLUUnitRegressor(RegressorMixin, ReadsOnce, BaseEstimator):
    """Hinge function a (±(x_j - c))+ with the least squared error: a base learner for networks.

    The fit is the exact weighted least-squares fit over all features j, both signs, all knots c
    and all coefficients a. The constant is the unit with weights 0 and bias 1, and is chosen if no
    other unit is better. As the weak learner of boosting, the unit builds a network with one
    hidden layer one unit at a time, without gradient descent on its weights.

    Parameters
    ----------
    criterion : {"squared_error", "inner_product"}, default="squared_error"
        "inner_product" is the weak learner of the theory [Bach, §10.3.1]: the unit
        ±(±(x_j - c))+, with coefficient -1 or +1, that has the largest inner product with the
        targets. It depends on the units of the features, which should be scaled first.
    direction : {"axis", "oblique"}, default="axis"
        "oblique" searches for ±(w'x + b)+ over all directions w of Euclidean norm 1. This problem
        is not convex. Gradient ascent on the sphere starts from the best axis, from the direction
        of X'y and from `n_starts` random directions. Along each direction the best knot is found
        exactly. The result is approximate, and at least as good as the best axis.
    n_starts : int, default=3
        Number of random starts of the oblique search.
    max_steps : int, default=30
        Maximum number of ascent steps from each start of the oblique search.
    random_state : int, RandomState instance or None, default=None
        Seed of the random starts of the oblique search.

    Attributes
    ----------
    hidden_weights_ : ndarray of shape (n_features,)
        The weights w of the unit a (w'x + b)+. For an axis unit, ±1 at one feature and 0 elsewhere;
        for a constant, 0.
    hidden_bias_ : float
        The bias b of the unit.
    output_weight_ : float
        The coefficient a of the unit, in units of y over units of the feature.
    feature_ : int or None
        The feature of an axis unit; None for a constant and for an oblique unit.
    knot_ : float or None
        The knot c, a value of the feature; None where `feature_` is None.
    %(names_in_fit)s

    See Also
    --------
    DecisionStumpRegressor : The step function with the smallest squared error.
    FrankWolfeRegressor : With this as `estimator`, a network of bounded variation norm.

    Notes
    -----
    Knots lie between the smallest and the largest value of a feature among rows of positive
    weight. A unit whose knot is the smallest value is a straight line on the data.

    Sorting takes O(n p log n) operations, and boosting sorts once. A search takes O(n p): sums over
    bins in one pass, then a search of the rows in the few bins that can contain the best knot. The
    knot need not be a value of the data: between two neighbouring values the best knot has a closed
    form. Ties go to (x_j - c)+ before (c - x_j)+, then to the first feature.

    %(references_Bach)s

    Examples
    --------
    >>> from sklearn_ensemble_theory import ReLUUnitRegressor
    >>> unit = ReLUUnitRegressor().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 3.0])
    >>> round(unit.knot_, 6), round(unit.output_weight_, 6)
    (1.5, 2.0)
    >>> unit.predict([[2.5]])
    array([2.])
    """

    _parameter_constraints: ClassVar[dict] = {
        "criterion": [StrOptions({"squared_error", "inner_product"})],
        "direction": [StrOptions({"axis", "oblique"})],
        "n_starts": [Interval(Integral, 0, None, closed="left")],
        "max_steps": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    n_features_in_: int
    hidden_weights_: np.ndarray
    hidden_bias_: float
    output_weight_: float
    feature_: int | None
    knot_: float | None

    def __init__(
        self,
        criterion: str = "squared_error",
        *,
        direction: str = "axis",
        n_starts: int = 3,
        max_steps: int = 30,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.criterion = criterion
        self.direction = direction
        self.n_starts = n_starts
        self.max_steps = max_steps
        self.random_state = random_state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "output_weight_")

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the best unit.

        %(fit_targets)s
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        rows = kept_rows(X, y, sample_weight)
        X, y, weight = rows.X, rows.y, rows.shares()
        size = largest_magnitude(y)
        target = y / size
        hinge = best_of_columns(X, target, weight, self.criterion)
        # The gain does not depend on the units of y; with a free coefficient, that does.
        factor = size if self.criterion == "squared_error" else 1.0
        if self.direction == "axis":
            set_hinge(self, replace(hinge, coef=_finite(hinge.coef, factor)))
            return self
        rng = check_random_state(self.random_state)
        starts = self.n_starts, self.max_steps
        found = best_oblique_hinge(X, target, weight, hinge, self.criterion, *starts, rng)
        self.hidden_weights_, self.hidden_bias_ = found[0], float(found[1])
        self.output_weight_ = _finite(found[2], factor)
        self.feature_ = self.knot_ = None
        return self

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the output of the unit.

        %(rows_to_predict)s

        %(returns_predictions)s
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        if self.feature_ is not None and self.knot_ is not None:
            column = X[:, self.feature_].astype(np.float64, copy=False)
            sign = self.hidden_weights_[self.feature_]
            return Hinge(self.feature_, sign, self.knot_, self.output_weight_, 0.0).outputs(column)
        hidden = X @ self.hidden_weights_ + self.hidden_bias_
        return self.output_weight_ * np.maximum(hidden, 0.0)

    @property
    def _has_scale(self) -> bool:
        return self.criterion == "inner_product"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # One unit does not reach the scores that scikit-learn's checks require.
        tags.regressor_tags.poor_score = True
        return tags


class ReLURounds:
    """Units along the axes over columns sorted once: the weak learner of boosting rounds.

    See `_learners.PreparedRounds`.
    """

    is_exact = True

    def __init__(self, X: np.ndarray, criterion: str) -> None:
        self.X, self.criterion = X, criterion
        self.has_scale = criterion == "inner_product"
        self.index = HingeIndex(X)

    @property
    def outputs_bound(self) -> float | None:
        """No unit with coefficient 1 exceeds the largest span of a feature, nor the constant 1."""
        return max(1.0, float(2 * self.index.half_span.max())) if self.has_scale else None

    def best(
        self, target: np.ndarray, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[ReLUUnitRegressor, np.ndarray]:
        """The best unit as a fitted member, and its outputs."""
        size = largest_magnitude(target)
        hinge = self.index.best(target / size, weight, self.criterion)
        if not self.has_scale:
            hinge = replace(hinge, coef=hinge.coef * size)
        unit = ReLUUnitRegressor()
        unit.n_features_in_ = self.X.shape[1]
        set_hinge(unit, hinge)
        return unit, hinge.outputs(self.X[:, hinge.feature])


def set_hinge(unit: ReLUUnitRegressor, hinge: Hinge) -> None:
    """Make the unit that of a search along the axes."""
    weights = np.zeros(unit.n_features_in_)
    if hinge.sign == 0:
        unit.feature_, unit.knot_, unit.hidden_bias_ = None, None, 1.0
    else:
        weights[hinge.feature] = hinge.sign
        unit.feature_, unit.knot_ = hinge.feature, hinge.knot
        unit.hidden_bias_ = -hinge.sign * hinge.knot
    unit.hidden_weights_, unit.output_weight_ = weights, float(hinge.coef)


# --- all directions -------------------------------------------------------------------------------


def best_oblique_hinge(
    X: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    axis_hinge: Hinge,
    criterion: str,
    n_starts: int,
    max_steps: int,
    random_state: np.random.RandomState,
) -> tuple[np.ndarray, float, float]:
    """Weights, bias and coefficient of the best unit found: ascent on the sphere of directions.

    The knot along each direction is exact. The result is no worse than the best hinge along an
    axis, which is given. The weights have norm 1, or are zeros for a constant.
    """
    p = X.shape[1]
    Z, centre, scale = _standardised(X, weight, criterion)
    # The ascents see Z on a grid, so that they do not depend on the rounding of X: one that takes
    # another turn may end elsewhere. The unit that is returned is fitted to Z itself.
    rounded = np.round(Z / GRID) * GRID
    starts = [
        rounded.T @ (weight * (target - weight @ target)),
        *random_state.standard_normal((n_starts, p)),
    ]
    if axis_hinge.sign != 0:
        starts.insert(0, np.eye(p)[axis_hinge.feature])
    best = None
    for start in starts:
        norm = np.linalg.norm(start)
        if norm > 0:
            found = _ascend(rounded, target, weight, start / norm, criterion, max_steps)
            # A start that ends at the same unit must not replace it by rounding.
            if best is None or found[1].gain > best[1].gain * (1 + SMALLEST_GAIN):
                best = found
    if best is not None:
        best = best[0], _along(Z, target, weight, best[0], criterion)
    factor = 1.0 if criterion == "squared_error" else scale[0]
    if best is None or best[1].sign == 0 or not best[1].gain * factor > axis_hinge.gain:
        if axis_hinge.sign == 0:
            return np.zeros(p), 1.0, axis_hinge.coef
        axis = axis_hinge.sign * np.eye(p)[axis_hinge.feature]
        return axis, -axis_hinge.sign * axis_hinge.knot, axis_hinge.coef
    direction, hinge = best
    # Lengths by way of the smallest scale: no square overflows or vanishes.
    weights = hinge.sign * direction * (scale.min() / scale)
    length = np.linalg.norm(weights)
    weights /= length
    with np.errstate(over="ignore", invalid="ignore"):
        coef = hinge.coef if criterion == "inner_product" else hinge.coef * length / scale.min()
        bias = -hinge.sign * hinge.knot * (scale.min() / length) - weights @ centre
    if not np.isfinite([coef, bias]).all():
        raise ValueError("X is so large or small, or y so large, that coefficients overflow.")
    return weights, bias, coef


def _standardised(
    X: np.ndarray, weight: np.ndarray, criterion: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Z = (X - centre) / scale in C order, whatever the order of X, its origin and its units.

    The fit does not depend on the units of the columns. The inner product does: there all columns
    have one scale.
    """
    # Powers of two are exact: no square overflows or vanishes.
    unit = np.array([power_of_two(largest_magnitude(column)) for column in X.T])
    Z = np.array(X / unit, dtype=np.float64, order="C")
    first = Z[0].copy()
    Z -= first
    mean = weight @ Z
    Z -= mean
    spread = np.sqrt(weight @ Z**2)
    spread[spread <= 1e-14] = 1.0
    centre = (first + mean) * unit
    if criterion == "squared_error":
        Z /= spread
        return Z, centre, unit * spread
    top = (unit * np.abs(Z).max(axis=0)).max() or 1.0
    Z *= unit / top
    return Z, centre, np.full(len(unit), top)


def _ascend(
    Z: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    direction: np.ndarray,
    criterion: str,
    max_steps: int,
) -> tuple[np.ndarray, Hinge]:
    """Gradient ascent of the gain over the sphere; gives (direction, hinge)."""
    hinge = _along(Z, target, weight, direction, criterion)
    step = 1.0
    # The step doubles after a success and halves until one: its length suits the curvature.
    for _ in range(max_steps):
        slope = _gradient(Z, target, weight, direction, hinge, criterion)
        rounding = 1e-14 * np.linalg.norm(slope)
        slope -= (slope @ direction) * direction
        length = np.linalg.norm(slope)
        if not length > rounding:
            break
        slope /= length
        for _ in range(MAX_HALVINGS):
            trial = direction + step * slope
            trial /= np.linalg.norm(trial)
            found = _along(Z, target, weight, trial, criterion)
            if found.gain > hinge.gain * (1 + SMALLEST_GAIN):
                break
            step /= 2
        else:
            break
        direction, hinge, step = trial, found, 2 * step
    return direction, hinge


def _along(
    Z: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    direction: np.ndarray,
    criterion: str,
) -> Hinge:
    """The best hinge of the scores Z w."""
    return HingeIndex((Z @ direction)[:, None]).best(target, weight, criterion)


def _gradient(
    Z: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    direction: np.ndarray,
    hinge: Hinge,
    criterion: str,
) -> np.ndarray:
    """Derivative in the direction, at a fixed knot, of N²/D or |N|."""
    if hinge.sign == 0:
        return np.zeros(Z.shape[1])
    z = Z @ direction
    active = hinge.sign * (z - hinge.knot) > 0
    along = hinge.sign * ((weight * target * active) @ Z)
    if criterion == "inner_product":
        return hinge.coef * along
    heights = np.where(active, z - hinge.knot, 0.0)
    # The gain at the best coefficient a: its derivative is that of 2 a N - a² D at fixed a.
    return 2 * hinge.coef * along - 2 * hinge.coef**2 * ((weight * heights) @ Z)


def _finite(coef: float, factor: float) -> float:
    """coef * factor; a ValueError where X is too small for it to be a number."""
    value = float(coef) * float(factor)  # Python's floats overflow without a warning
    if not np.isfinite(value):
        raise ValueError(
            "X is so small, or y so large, that the coefficient overflows; scale them."
        )
    return value


def rounds_of_units(
    learner: ReLUUnitRegressor, X: np.ndarray, weight: np.ndarray | None, task: Task
) -> ReLURounds | None:
    """Units along the axes, for real targets; the oblique search has no fast path."""
    if task.kind != "least_squares" or learner.direction != "axis":
        return None
    return ReLURounds(X, learner.criterion)


register(ReLUUnitRegressor, prepare_rounds=rounds_of_units)
