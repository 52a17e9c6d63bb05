"""Rectified linear units as empirical risk minimisers, neuron by neuron (000 section 10.3.1)."""

from numbers import Integral
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_ensemble_theory._compat import Interval, StrOptions, fit_context
from sklearn_ensemble_theory._numerics.scaling import largest_magnitude
from sklearn_ensemble_theory._weights import rows_of_positive_weight
from sklearn_ensemble_theory.erm._relu.hinge_search import HingeIndex, hinge_values
from sklearn_ensemble_theory.erm._relu.oblique import best_oblique_hinge
from sklearn_ensemble_theory.erm._relu.rounds import ReLURounds


class ReLUNetwork(NamedTuple):
    """A network with one hidden layer of rectified linear units.

    x -> output_bias + sum_k output_weights[k] * (hidden_weights[k]'x + hidden_biases[k])+

    Attributes
    ----------
    hidden_weights : ndarray of shape (n_units, n_features)
    hidden_biases : ndarray of shape (n_units,)
    output_weights : ndarray of shape (n_units,)
    output_bias : float
    """

    hidden_weights: np.ndarray
    hidden_biases: np.ndarray
    output_weights: np.ndarray
    output_bias: float

    def __call__(self, X):
        """The network's output: array of shape (n_samples,)."""
        hidden = np.maximum(np.asarray(X) @ self.hidden_weights.T + self.hidden_biases, 0.0)
        return hidden @ self.output_weights + self.output_bias

    @classmethod
    def of_units(cls, units, steps=None, bias=0.0):
        """The network of a weighted sum of fitted units, ``bias + sum steps[k] units[k](x)``.

        Parameters
        ----------
        units : sequence of fitted `ReLUUnitRegressor`
        steps : array-like of shape (n_units,), default=None
            None for 1 each.
        bias : float, default=0.0

        Returns
        -------
        ReLUNetwork
        """
        outputs = np.array([unit.output_weight_ for unit in units])
        return cls(
            np.array([unit.hidden_weights_ for unit in units]),
            np.array([unit.hidden_bias_ for unit in units]),
            outputs if steps is None else outputs * np.asarray(steps),
            float(bias),
        )


class ReLUUnitRegressor(RegressorMixin, BaseEstimator):
    """The rectified linear unit a (±(x_j - c))+ that fits a target best.

    Over all features j, both signs, all knots c and all coefficients a, this is the weighted least
    squares fit, found exactly; the constant belongs to the class (it is the unit with weights 0
    and bias 1) and is chosen where no other is better. As the weak learner of boosting it grows a
    network with one hidden layer unit by unit, without gradient descent on its weights.

    Parameters
    ----------
    criterion : {"squared_error", "inner_product"}, default="squared_error"
        "inner_product" is the weak learner of the theory: the unit ±(±(x_j - c))+, with coefficient
        -1 or +1, whose inner product with the targets is largest. It depends on the units of the
        features: scale them first.
    direction : {"axis", "oblique"}, default="axis"
        "oblique" looks for ±(w'x + b)+ with any direction w of Euclidean norm 1. This problem is
        not convex: gradient ascent on the sphere starts from the best axis, from the direction of
        X'y and from `n_starts` random ones, with the best knot along each direction found
        exactly. The result is no worse than the best axis, and approximate.
    n_starts : int, default=3
        Random starts of the oblique search.
    max_steps : int, default=30
        Ascent steps a start of the oblique search.
    random_state : int, RandomState instance or None, default=None
        Draws the random starts.

    Attributes
    ----------
    hidden_weights_ : ndarray of shape (n_features,)
        w of the unit a (w'x + b)+: 0 but for ±1 at one feature, 0 for a constant.
    hidden_bias_ : float
        b.
    output_weight_ : float
        a, in units of y over units of the feature.
    feature_ : int or None
        The feature of an axis unit; None for a constant and for an oblique unit.
    knot_ : float or None
        Where the unit begins to rise, in units of the feature; None without `feature_`.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    DecisionStumpRegressor : The step function that fits best.
    FrankWolfeRegressor : With this as `estimator`, a network of bounded variation norm.

    Notes
    -----
    Knots lie between the least and the largest value of a feature (weighted rows only). A unit
    that rises from the least value on is a straight line on the data.

    O(n p log n) for the sort, which boosting does once, and O(n p) for a search: sums over bins by
    one pass, then a row-by-row look into the few bins that can hold the best knot. The knot need
    not be a value of the data: between two neighbours the best one is known in closed form. Ties
    go to (x_j - c)+ before (c - x_j)+, then to the first feature.

    References
    ----------
    000 section 10.3.1: the weak learners ±(w'x + b)+ "along a single coordinate".

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
        criterion="squared_error",
        *,
        direction="axis",
        n_starts=3,
        max_steps=30,
        random_state=None,
    ):
        self.criterion = criterion
        self.direction = direction
        self.n_starts = n_starts
        self.max_steps = max_steps
        self.random_state = random_state

    def __sklearn_is_fitted__(self):
        return hasattr(self, "output_weight_")

    @classmethod
    def _of_hinge(cls, n_features, hinge):
        """A fitted unit from a search that is already done."""
        unit = cls()
        unit.n_features_in_ = n_features
        unit._set_hinge(hinge)
        return unit

    def _set_hinge(self, hinge):
        weights = np.zeros(self.n_features_in_)
        if hinge.sign == 0:
            self.feature_, self.knot_, self.hidden_bias_ = None, None, 1.0
        else:
            weights[hinge.feature] = hinge.sign
            self.feature_, self.knot_ = hinge.feature, hinge.knot
            self.hidden_bias_ = -hinge.sign * hinge.knot
        self.hidden_weights_, self.output_weight_ = weights, float(hinge.coef)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Find the best unit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Not negative. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        kept = rows_of_positive_weight(sample_weight, X)
        (X, y), weight = kept.take(X, y), kept.normalised
        size = largest_magnitude(y)
        target = y / size
        hinge = HingeIndex(X).best(target, weight, self.criterion)
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

    def predict(self, X):
        """The unit's output: array of shape (n_samples,)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        if self.feature_ is not None:
            column = X[:, self.feature_].astype(np.float64, copy=False)
            sign = self.hidden_weights_[self.feature_]
            return hinge_values(column, sign, self.knot_, self.output_weight_)
        hidden = X @ self.hidden_weights_ + self.hidden_bias_
        return self.output_weight_ * np.maximum(hidden, 0.0)

    @property
    def _has_scale(self):
        return self.criterion == "inner_product"

    def _prepare_rounds(self, X, weight, task):
        """Units along the axes, for real targets; an oblique search begins anew in each round."""
        if task.kind != "least_squares" or self.direction != "axis":
            return None
        return ReLURounds(X, self.criterion, ReLUUnitRegressor._of_hinge)

    def to_network(self):
        """The unit as a `ReLUNetwork` with one hidden unit."""
        check_is_fitted(self)
        return ReLUNetwork.of_units([self])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # One unit does not reach the scores that scikit-learn's checks ask for.
        tags.regressor_tags.poor_score = True
        return tags


def _finite(coef, factor):
    """coef * factor; a ValueError where X is too small for it to be a number."""
    value = float(coef) * float(factor)  # Python's floats overflow without a warning
    if not np.isfinite(value):
        raise ValueError(
            "X is so small, or y so large, that the coefficient overflows; scale them."
        )
    return value
