"""The base class of the losses, with numerical defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._numerics.root_finding import group_sums, root_of_increasing

Array = NDArray[Any]

# exp(700) = 1e304: a weighted mean of such numbers is still finite.
MAX_EXPONENT = 700.0
# Probabilities are kept this far from 0 and 1, where links are infinite.
SMALLEST_PROBABILITY = float(np.finfo(float).eps)


def bounded_exp(z: Array) -> Array:
    """exp(z), kept finite."""
    return np.exp(np.minimum(z, MAX_EXPONENT))


class Loss(BaseEstimator):
    """Base class of the losses, with a numerical default for everything but value and gradient.

    Subclassing `BaseEstimator` gives parameters by name (``loss__delta`` in a grid search),
    `clone` and a readable representation.

    Attributes
    ----------
    smoothness : float
        G2, the largest second derivative in u; inf where there is none.
    lipschitz : float
        G1, the largest absolute (Euclidean, for several scores) derivative in u; inf where there
        is none.
    margin : bool
        Whether the targets are -1 and +1, and the sign of the score is the decision.
    probability : bool
        Whether `inverse_link` gives probabilities: P(y = +1), or those of all classes.
    differentiable : bool
        Whether the gradient exists everywhere, as Frank-Wolfe needs.
    is_quadratic : bool
        Whether the loss is (y - u)²/2, so that the inner products of the columns determine the
        risk.
    link_domain : tuple of two floats
        Predictions are clipped to this interval before `link` is applied to them.
    """

    smoothness: float = np.inf
    lipschitz: float = np.inf
    margin: bool = False
    probability: bool = False
    differentiable: bool = True
    is_quadratic: bool = False
    link_domain: tuple[float, float] = (-np.inf, np.inf)

    def value(self, y: Array, u: Array) -> Array:
        """The loss of each row.

        Parameters
        ----------
        y : ndarray of shape (n,)
            Targets.
        u : ndarray of shape (n,) or (n, K)
            Scores.

        Returns
        -------
        ndarray of shape (n,)
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method value(y, u).")

    def gradient(self, y: Array, u: Array) -> Array:
        """Derivative in u of the loss of each row.

        Parameters
        ----------
        y : ndarray of shape (n,)
        u : ndarray of shape (n,) or (n, K)

        Returns
        -------
        ndarray of the shape of u
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method gradient(y, u).")

    def hessian(self, y: Array, u: Array) -> Array | None:
        """Second derivative in u of the loss of each row.

        Parameters
        ----------
        y : ndarray of shape (n,)
        u : ndarray of shape (n,) or (n, K)

        Returns
        -------
        ndarray of the shape of u, or None
            The diagonal for several scores; None where the loss has no second derivative.
        """
        return None

    def check_target(self, y: Array) -> None:
        """Raise a ValueError if a target or a parameter is outside the loss's domain.

        Parameters
        ----------
        y : ndarray of shape (n,)
        """
        return

    def n_scores(self, n_classes: int) -> int:
        """The number of scores of a row.

        Parameters
        ----------
        n_classes : int
            The number of classes; 0 for a real target.

        Returns
        -------
        int
        """
        return 1

    def inverse_link(self, u: Array) -> Array:
        """The prediction that belongs to a score: a mean, or P(y = +1).

        Parameters
        ----------
        u : ndarray of shape (n,) or (n, K)

        Returns
        -------
        ndarray of the shape of u
        """
        return u

    def link(self, mean: Array) -> Array:
        """The score that belongs to a prediction: the inverse of `inverse_link`.

        Parameters
        ----------
        mean : ndarray of shape (n,) or (n, K)

        Returns
        -------
        ndarray of the shape of `mean`
        """
        return mean

    def scores_from(self, prediction: ArrayLike) -> Array:
        """The scores that belong to the predictions of another estimator.

        Parameters
        ----------
        prediction : array-like of shape (n,) or (n, K)
            What `inverse_link` would return: means, or probabilities. They are clipped to the
            domain of the link: a mean of 0 has no logarithm.

        Returns
        -------
        ndarray of the shape of `prediction`
        """
        low, high = self.link_domain
        prediction = np.asarray(prediction, dtype=float)
        if low > -np.inf or high < np.inf:
            prediction = np.clip(prediction, low, high)
        return np.array(self.link(prediction), dtype=float)

    def class_probabilities(self, u: Array) -> Array:
        """The probabilities of all classes, for a loss with `probability`.

        Parameters
        ----------
        u : ndarray of shape (n,) or (n, K)

        Returns
        -------
        ndarray of shape (n, 2) or (n, K)
        """
        p = self.inverse_link(u)
        return np.column_stack([1 - p, p]) if p.ndim == 1 else p

    def risk(self, y: Array, u: Array, sample_weight: Array | None = None) -> float:
        """F(u): the weighted mean of the values.

        Parameters
        ----------
        y : ndarray of shape (n,)
        u : ndarray of shape (n,) or (n, K)
        sample_weight : ndarray of shape (n,), default=None

        Returns
        -------
        float
        """
        return float(np.average(self.value(y, u), weights=sample_weight))

    def line_search(
        self,
        y: Array,
        u: Array,
        psi: Array,
        weight: Array,
        group: Array | None = None,
        n_groups: int = 1,
    ) -> Array:
        """The b that minimises the sum of weight * l(y, u + b psi), in each group of rows.

        Parameters
        ----------
        y : ndarray of shape (n,)
        u, psi : ndarrays of shape (n,) or (n, K)
        weight : ndarray of shape (n,)
        group : int ndarray of shape (n,), default=None
            None is one group of all the rows.
        n_groups : int, default=1

        Returns
        -------
        b : ndarray of shape (n_groups,)
            Where the infimum is at infinity, the point where the slope has fallen to 1e-8 of its
            value at 0.
        """
        direction = psi if psi.ndim == 1 else None

        def slope(b: Array) -> Array:
            at = b[0] if group is None else b[group]
            if direction is None:
                at = np.asarray(at).reshape(-1, 1)
            each = self.gradient(y, u + at * psi) * psi
            each = each if direction is not None else each.sum(axis=1)
            return group_sums(weight * each, group, n_groups)

        size = np.max(np.abs(psi), initial=0.0)
        if size == 0:
            return np.zeros(n_groups)
        # The first length that is tried moves the largest score by 1, or as far as the targets
        # themselves reach, whichever is smaller: y of 1e-150 must not be searched from 1 down.
        reach = np.max(np.abs(self.gradient(y, u)), initial=0.0)
        first = min(1.0, reach) / size if reach > 0 else 1.0 / size
        return root_of_increasing(slope, n_groups, first=first)

    def optimal_constant(self, y: Array, sample_weight: Array | None = None) -> Any:
        """The constant score with the least risk.

        Parameters
        ----------
        y : ndarray of shape (n,)
        sample_weight : ndarray of shape (n,), default=None

        Returns
        -------
        float, or ndarray of shape (K,) for several scores
        """
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        return float(self.line_search(y, np.zeros(len(y)), np.ones(len(y)), weight)[0])

    def initial_scores(self, y: Array, sample_weight: Array | None, n_classes: int) -> Any:
        """`optimal_constant`, for a target of which some classes may be absent.

        Parameters
        ----------
        y : ndarray of shape (n,)
        sample_weight : ndarray of shape (n,) or None
        n_classes : int
            0 for a real target.

        Returns
        -------
        float, or ndarray of shape (K,) for several scores
        """
        return self.optimal_constant(y, sample_weight)

    def leaf_values(
        self,
        y: Array,
        u: Array,
        weight: Array,
        leaf: Array,
        n_leaves: int,
        score: int | None = None,
    ) -> Array:
        """What to add to the scores of each leaf: one Newton step, or the exact minimum.

        One Newton step where there is a second derivative (Friedman 2001, TreeBoost): exact
        minima of pure leaves are infinite for the logistic loss. The exact minimum in the leaf
        otherwise.

        Parameters
        ----------
        y : ndarray of shape (n,)
        u : ndarray of shape (n,) or (n, K)
        weight : ndarray of shape (n,)
        leaf : int ndarray of shape (n,)
            The leaf of each row.
        n_leaves : int
        score : int, default=None
            The score that the leaves belong to, for a loss with several.

        Returns
        -------
        ndarray of shape (n_leaves,)
        """
        second = self.hessian(y, u)
        if second is None:
            return self.line_search(y, u, np.ones(len(u)), weight, leaf, n_leaves)
        return newton_leaves(self.gradient(y, u), second, weight, leaf, n_leaves)


def newton_leaves(
    gradient: Array, hessian: Array, weight: Array, leaf: Array, n_leaves: int
) -> Array:
    """-sum(w g) / sum(w h) in each leaf, 0 where the curvature has vanished."""
    first = group_sums(weight * gradient, leaf, n_leaves)
    second = group_sums(weight * hessian, leaf, n_leaves)
    total = group_sums(weight, leaf, n_leaves)
    flat = second <= 1e-150 * total
    return np.where(flat, 0.0, -first / np.where(flat, 1.0, second))
