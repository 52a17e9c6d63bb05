"""Rectified linear units as empirical risk minimisers [Bach, §10.3.1]."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._compat import Interval, StrOptions
from sklearn_ensemble_theory._fitting import fit_context
from sklearn_ensemble_theory._learners import Task
from sklearn_ensemble_theory._rows import finite_predictions, rows_of_positive_weight, validate_data
from sklearn_ensemble_theory._scaling import largest_magnitude
from sklearn_ensemble_theory.erm._relu.hinge_index import best_of_columns
from sklearn_ensemble_theory.erm._relu.hinge_search import Hinge, hinge_values
from sklearn_ensemble_theory.erm._relu.oblique import best_oblique_hinge
from sklearn_ensemble_theory.erm._relu.relu_rounds import ReLURounds


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


class ReLUUnitRegressor(RegressorMixin, BaseEstimator):
    """Rectified linear unit a (±(x_j - c))+ with the smallest squared error.

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
        is not convex: gradient ascent on the sphere starts from the best axis, from the direction
        of X'y and from `n_starts` random directions; along each direction the best knot is found
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
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of features seen during `fit`, where they are all strings.

    See Also
    --------
    DecisionStumpRegressor : The step function with the smallest squared error.
    FrankWolfeRegressor : With this as `estimator`, a network of bounded variation norm.

    Notes
    -----
    Knots lie between the smallest and the largest value of a feature among rows of positive
    weight. A unit whose knot is the smallest value is a straight line on the data.

    Sorting takes O(n p log n) operations, and boosting does it once; a search takes O(n p): sums
    over bins in one pass, then a search of the rows in the few bins that can contain the best knot.
    The knot need not be a value of the data: between two neighbouring values the best one has a
    closed form. Ties go to (x_j - c)+ before (c - x_j)+, then to the first feature.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

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

    @classmethod
    def _of_hinge(cls, n_features: int, hinge: Hinge) -> Self:
        """A fitted unit from a search that is already done."""
        unit = cls()
        unit.n_features_in_ = n_features
        unit._set_hinge(hinge)
        return unit

    def _set_hinge(self, hinge: Hinge) -> None:
        weights = np.zeros(self.n_features_in_)
        if hinge.sign == 0:
            self.feature_, self.knot_, self.hidden_bias_ = None, None, 1.0
        else:
            weights[hinge.feature] = hinge.sign
            self.feature_, self.knot_ = hinge.feature, hinge.knot
            self.hidden_bias_ = -hinge.sign * hinge.knot
        self.hidden_weights_, self.output_weight_ = weights, float(hinge.coef)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the best unit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            The targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. Rows of weight 0 are ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        kept = rows_of_positive_weight(sample_weight, X)
        (X, y), weight = kept.take(X, y), kept.normalised
        size = largest_magnitude(y)
        target = y / size
        hinge = best_of_columns(X, target, weight, self.criterion)
        factor = size if self.criterion == "squared_error" else 1.0
        if self.direction == "axis":
            coef = _finite(hinge.coef, factor)
            self._set_hinge(hinge._replace(coef=coef))
            return self
        found = best_oblique_hinge(
            X,
            target,
            weight,
            hinge,
            self.criterion,
            self.n_starts,
            self.max_steps,
            check_random_state(self.random_state),
        )
        weights, bias, coef = found
        self.output_weight_ = _finite(coef, factor)
        self.hidden_weights_, self.hidden_bias_ = weights, float(bias)
        self.feature_ = self.knot_ = None
        return self

    @finite_predictions
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the output of the unit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        if self.feature_ is not None:
            column = X[:, self.feature_].astype(np.float64, copy=False)
            sign = self.hidden_weights_[self.feature_]
            return hinge_values(column, sign, self.knot_, self.output_weight_)
        hidden = X @ self.hidden_weights_ + self.hidden_bias_
        return self.output_weight_ * np.maximum(hidden, 0.0)

    @property
    def _has_scale(self) -> bool:
        return self.criterion == "inner_product"

    def _prepare_rounds(
        self, X: np.ndarray, weight: np.ndarray | None, task: Task
    ) -> ReLURounds | None:
        """Units along the axes, for real targets; the oblique search has no fast path."""
        if task.kind != "least_squares" or self.direction != "axis":
            return None
        return ReLURounds(X, self.criterion, ReLUUnitRegressor._of_hinge)

    def to_network(self) -> ReLUNetwork:
        """Return the fitted unit as a network with one hidden unit.

        Returns
        -------
        network : ReLUNetwork
            The network.
        """
        check_is_fitted(self)
        return ReLUNetwork.of_units([self])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # One unit does not reach the scores that scikit-learn's checks require.
        tags.regressor_tags.poor_score = True
        return tags


def _finite(coef: float, factor: float) -> float:
    """coef * factor; a ValueError where X is too small for it to be a number."""
    value = float(coef) * float(factor)  # Python's floats overflow without a warning
    if not np.isfinite(value):
        raise ValueError(
            "X is so small, or y so large, that the coefficient overflows; scale them."
        )
    return value
