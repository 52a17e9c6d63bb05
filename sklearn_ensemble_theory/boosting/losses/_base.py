"""The base class of the losses, with numerical defaults; losses of the user completed to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._native.losses import add_group_sums
from sklearn_ensemble_theory._roots import group_sums, root_of_increasing
from sklearn_ensemble_theory._typing import LossLike

from ..._documentation import documented
from ..._typing import ArrayLike

Array = NDArray[Any]

# exp(700) = 1e304: a weighted mean of such numbers is still finite.
MAX_EXPONENT = 700.0
# Below so many rows NumPy sums groups as fast as a compiled loop.
MANY_ROWS = 2000
# Probabilities are kept this far from 0 and 1, where links are infinite.
SMALLEST_PROBABILITY = float(np.finfo(float).eps)

# Fewer expected events than this are none: near the end of the range exp(u) has lost its digits.
SMALLEST_RATE = 1e-290

# A loss that changes by this share of its size may have fallen.
ROUNDING = 16 * float(np.finfo(float).eps)
# A loss falls by so much, at least and at most, of what the parabola promises whose minimum is
# Newton's step. Of another parabola: where its curvature is within a quarter of that. With a half,
# a hundred rounds of the gamma deviance end 1.1 % short of those of exact leaves; with a tenth, a
# power of four has the time of exact leaves.
LEAST_OF_PROMISE, MOST_OF_PROMISE = 0.75, 1.25
# A step is lengthened where the loss falls by this share more, and by no more than this factor.
NEGLIGIBLE_EXCESS, LONGEST_FACTOR = 0.02, 1.5

# Texts of several methods (see `_documentation`).
TEXTS = {
    "of_targets": """
        Parameters
        ----------
        y : ndarray of shape (n,)
            Targets.
        """,
    "of_scores": """
        Parameters
        ----------
        u : ndarray of shape (n,) or (n, K)
            Scores.
        """,
    "at_scores": """
        %(of_targets)s
        u : ndarray of shape (n,) or (n, K)
            Scores.
        """,
    "sample_weight": """
        sample_weight : ndarray of shape (n,), default=None
            Weights of the rows; equal weights by default.
        """,
    "weight": """
        weight : ndarray of shape (n,)
            Weights of the rows.
        """,
}


def bounded_exp(z: Array) -> Array:
    """exp(z), kept finite."""
    return np.exp(np.minimum(z, MAX_EXPONENT))


@documented(TEXTS)
class Loss(BaseEstimator):
    """Base class of the losses, with numerical defaults except for `value` and `gradient`.

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
        Whether `inverse_link` returns probabilities: P(y = +1), or those of all classes.
    differentiable : bool
        Whether the gradient exists everywhere, as required by Frank-Wolfe.
    is_quadratic : bool
        Whether the loss is (y - u)²/2, so that the inner products of the columns determine the
        risk.
    link_domain : tuple of two floats
        Predictions are clipped to this interval before `link` is applied to them.
    support : tuple of two floats
        The least and the largest value that a target can have. Ends of intervals are inside.
    """

    smoothness: float = np.inf
    lipschitz: float = np.inf
    margin: bool = False
    probability: bool = False
    differentiable: bool = True
    is_quadratic: bool = False
    link_domain: tuple[float, float] = (-np.inf, np.inf)
    support: tuple[float, float] = (-np.inf, np.inf)
    # Whether the third derivative in each score is at most the second one, as for exponentials
    # (see `safe_length`). Not inherited, like the loops.
    _is_self_concordant: bool = False
    # Whether the mean of the targets determines the optimal constant.
    constant_of_mean: bool = False
    # scikit-learn's gradient boosting reports this multiple of the risk.
    deviance_factor: float = 1.0

    @classmethod
    def _of_parameters(cls, **parameters: float) -> Loss:
        """The loss that users name, by the parameters of an estimator that it reads."""
        return cls()

    def value(self, y: Array, u: Array) -> Array:
        """Return the loss of each row.

        %(at_scores)s

        Returns
        -------
        loss : ndarray of shape (n,)
            The losses.
        """
        raise NotImplementedError(f"{type(self).__name__} must define the method value(y, u).")

    def gradient(self, y: Array, u: Array) -> Array:
        """Return the derivative in u of the loss of each row.

        %(at_scores)s

        Returns
        -------
        gradient : ndarray of the shape of u
            The derivatives.
        """
        raise NotImplementedError(f"{type(self).__name__} must define the method gradient(y, u).")

    def hessian(self, y: Array, u: Array) -> Array | None:
        """Return the second derivative in u of the loss of each row.

        %(at_scores)s

        Returns
        -------
        ndarray of the shape of u, or None
            For several scores the diagonal; None if the loss has no second derivative.
        """
        return None

    def check_target(self, y: Array) -> None:
        """Raise a ValueError if a target or a parameter is outside the loss's domain.

        %(of_targets)s
        """
        return

    def n_scores(self, n_classes: int) -> int:
        """Return the number of scores for each row.

        Parameters
        ----------
        n_classes : int
            The number of classes; 0 for a real target.

        Returns
        -------
        n_scores : int
            The number of scores.
        """
        return 1

    def inverse_link(self, u: Array) -> Array:
        """Return the prediction for a score: a mean, or P(y = +1).

        %(of_scores)s

        Returns
        -------
        prediction : ndarray of the shape of u
            The predictions.
        """
        return u

    def link(self, mean: Array) -> Array:
        """Return the score for a prediction; the inverse of `inverse_link`.

        Parameters
        ----------
        mean : ndarray of shape (n,) or (n, K)
            Predictions: means or probabilities.

        Returns
        -------
        u : ndarray of the shape of `mean`
            The scores.
        """
        return mean

    def deviation(self, mean: Array) -> Array:
        """Return the standard deviation of a target with this mean, up to a common factor.

        Prediction intervals compare residuals in its units.

        Parameters
        ----------
        mean : ndarray of any shape
            Predictions, as returned by `inverse_link`.

        Returns
        -------
        deviation : ndarray of the shape of `mean`
            Positive numbers; ones unless the loss is the likelihood of another distribution.
        """
        return np.ones(np.shape(mean))

    def scores_from(self, prediction: ArrayLike) -> Array:
        """Return the scores for the predictions of another estimator.

        Parameters
        ----------
        prediction : array-like of shape (n,) or (n, K)
            Means or probabilities, as returned by `inverse_link`. They are clipped to
            `link_domain`, because for instance a mean of 0 has no logarithm.

        Returns
        -------
        u : ndarray of the shape of `prediction`
            The scores.
        """
        low, high = self.link_domain
        prediction = np.asarray(prediction, dtype=float)
        if low > -np.inf or high < np.inf:
            prediction = np.clip(prediction, low, high)
        return np.array(self.link(prediction), dtype=float)

    def class_probabilities(self, u: Array) -> Array:
        """Return the probabilities of all classes, for a loss with `probability=True`.

        %(of_scores)s

        Returns
        -------
        proba : ndarray of shape (n, 2) or (n, K)
            Class probabilities, one column for each class.
        """
        p = self.inverse_link(u)
        return np.column_stack([1 - p, p]) if p.ndim == 1 else p

    def risk(self, y: Array, u: Array, sample_weight: Array | None = None) -> float:
        """Return the risk F(u), the weighted mean of the losses.

        %(at_scores)s
        %(sample_weight)s

        Returns
        -------
        risk : float
            The risk.
        """
        return float(np.average(self.value(y, u), weights=sample_weight))

    def adapted(self, y: Array, u: Array, sample_weight: Array | None = None) -> Loss:
        """Return the loss for a round that starts from the scores u.

        %(at_scores)s
        %(sample_weight)s

        Returns
        -------
        loss : Loss
            The loss itself, except where a parameter follows the scores, as in `HuberLoss`.
        """
        return self

    def line_search(
        self,
        y: Array,
        u: Array,
        psi: Array,
        weight: Array,
        group: Array | None = None,
        n_groups: int = 1,
    ) -> Array:
        """Minimise the sum of weight * l(y, u + b psi) over b, in each group of rows.

        %(of_targets)s
        u, psi : ndarrays of shape (n,) or (n, K)
            Scores, and the outputs along which to search.
        %(weight)s
        group : int ndarray of shape (n,), default=None
            The group of each row. If None, all rows are one group.
        n_groups : int, default=1
            Number of groups.

        Returns
        -------
        b : ndarray of shape (n_groups,)
            The minimiser in each group. If the infimum is at infinity, the point at which the slope
            is 1e-8 of its value at 0.
        """
        direction = psi if psi.ndim == 1 else None
        totals = group_totals(weight, group, n_groups)

        def slope(b: Array) -> Array:
            at = b[0] if group is None else b[group]
            if direction is None:
                at = np.asarray(at).reshape(-1, 1)
            each = self.gradient(y, u + at * psi) * psi
            each = each if direction is not None else each.sum(axis=1)
            return totals(each)

        size = np.max(np.abs(psi), initial=0.0)
        if size == 0:
            return np.zeros(n_groups)
        # The first length that is tried moves the largest score by 1 or by the largest gradient,
        # whichever is smaller: for y of the order of 1e-150 a start at 1 would be too large.
        reach = np.max(np.abs(self.gradient(y, u)), initial=0.0)
        first = min(1.0, reach) / size if reach > 0 else 1.0 / size
        return root_of_increasing(slope, n_groups, first=first)

    def optimal_constant(self, y: Array, sample_weight: Array | None = None) -> Any:
        """Return the constant score with the smallest risk.

        %(of_targets)s
        %(sample_weight)s

        Returns
        -------
        u : float, or ndarray of shape (K,) for several scores
            The scores.
        """
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        return float(self.line_search(y, np.zeros(len(y)), np.ones(len(y)), weight)[0])

    def initial_scores(self, y: Array, sample_weight: Array | None, n_classes: int) -> Any:
        """Return `optimal_constant`, also if some classes are absent from y.

        %(of_targets)s
        sample_weight : ndarray of shape (n,) or None
            Weights of the rows; equal weights by default.
        n_classes : int
            0 for a real target.

        Returns
        -------
        u : float, or ndarray of shape (K,) for several scores
            The scores.
        """
        return self.optimal_constant(y, sample_weight)

    def optimal_shift(self, y: Array, u: Array, sample_weight: Array | None = None) -> float:
        """Return the number that has to be added to all scores for the smallest risk.

        %(of_targets)s
        u : ndarray of shape (n,)
            Scores, such as an offset.
        %(sample_weight)s

        Returns
        -------
        shift : float
            The number; `optimal_constant` for scores of 0.
        """
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        return float(self.line_search(y, u, np.ones(len(y)), weight)[0])

    def leaf_values(
        self,
        y: Array,
        u: Array,
        weight: Array,
        leaf: Array,
        n_leaves: int,
        score: int | None = None,
    ) -> Array:
        """Compute the step for the scores of each leaf: a Newton step, or the exact minimum.

        If the loss has a second derivative, it is one Newton step (Friedman 2001, TreeBoost),
        because the exact minimum in a pure leaf is infinite for the logistic loss. Where that would
        raise the loss of the leaf, or the curvature has vanished and the gradient has not, and for
        a loss without second derivative, it is the exact minimum in the leaf.

        %(at_scores)s
        %(weight)s
        leaf : int ndarray of shape (n,)
            The leaf of each row.
        n_leaves : int
            Number of leaves.
        score : int, default=None
            Index of the score to which the leaves belong, for a loss with several scores.

        Returns
        -------
        steps : ndarray of shape (n_leaves,)
            The steps.
        """
        if np.ndim(u) == 2 and score is None:
            name = type(self).__name__
            raise ValueError(f"{name}.leaf_values needs `score`, the index of a class.")
        column = ... if score is None else np.s_[:, score]
        second = self.hessian(y, u)
        if second is None:
            psi = np.zeros(np.shape(u))
            psi[column] = 1.0
            return self.line_search(y, u, psi, weight, leaf, n_leaves)
        first = self.gradient(y, u)[column]
        return newton_leaves(self, y, u, weight, leaf, n_leaves, score, first, second[column])

    def newton_share(self, u: Array) -> float:
        """What is taken of the Newton step of a score."""
        return 1.0

    def leaf_terms(self, y: Array, u: Array, score: int | None = None) -> tuple | None:
        """Compute two terms of each row whose weighted sums determine the steps of leaves.

        The arguments are those of `leaf_values`; None if that is no function of such sums.
        """
        second = self.hessian(y[:1], u[:1])
        own = "leaf_values" in vars(self) or type(self).leaf_values is not Loss.leaf_values
        if own or second is None:
            return None
        column = ... if score is None else np.s_[:, score]
        return -self.gradient(y, u)[column], np.asarray(self.hessian(y, u))[column]

    def leaf_steps(self, first: Array, second: Array, total: Array) -> Array:
        """Compute the steps of leaves from the sums of `leaf_terms` and of the weights."""
        return newton_steps(first, second, total)


def group_totals(weight: Array, group: Array | None, n_groups: int) -> Callable[[Array], Array]:
    """The function ``totals(values)``: the sum of weight * values in each group."""
    if group is None or len(group) < MANY_ROWS:
        return lambda values: group_sums(weight * values, group, n_groups)
    codes = leaf_codes(group)
    weight = np.ascontiguousarray(weight, dtype=np.float64)

    def totals(values: Array) -> Array:
        sums = np.zeros(n_groups)
        add_group_sums(np.ascontiguousarray(values, dtype=np.float64), weight, codes, sums)
        return sums

    return totals


def leaf_codes(leaf: Array) -> Array:
    """Leaves in the type of the compiled loops."""
    return np.ascontiguousarray(leaf, dtype=np.int32)


def share_taken(learning_rate: Any, n_scores: int) -> float:
    """Of the steps of leaves, 1 for a learning rate that changes; K times as much of K scores.

    The risk is convex: steps of K scores do not raise it together if none does K times as long.
    """
    return min(n_scores * float(learning_rate), 1.0) if isinstance(learning_rate, Real) else 1.0


def safe_length(loss: Loss, rate: float) -> float:
    """The length up to which no Newton step of a leaf raises its loss; 0 where it is not known.

    A leaf with the gradient -G and the curvature H takes the share `rate` of the step t = G / H.
    Where the third derivative is at most the second one, a step x raises the loss by at most
    H (exp|x| - 1 - |x|) - G x (Bach 2010, proposition 1): not at all for x = rate t up to the root
    of exp(x) = 1 + x + x²/rate, and for the minimum of this bound, sign(t) log(1 + |t|).
    """
    if loss.is_quadratic or rate == 0:
        return np.inf
    return _root_of_bound(rate) if vars(type(loss)).get("_is_self_concordant") else 0.0


@lru_cache
def _root_of_bound(rate: float) -> float:
    x = 1.0
    for _ in range(100):  # from below
        x = math.log1p(x + x * x / rate)
    return x / rate


def newton_leaves(
    loss: Loss,
    y: Array,
    u: Array,
    weight: Array,
    leaf: Array,
    n_leaves: int,
    score: int | None,
    gradient: Array,
    hessian: Array,
    **options: Any,
) -> Array:
    """-sum(w g) / sum(w h) in each leaf, or what `lowering_steps` makes of it."""
    totals, share = group_totals(weight, leaf, n_leaves), loss.newton_share(u)
    first, second, total = -totals(gradient), totals(hessian), totals(np.ones(len(leaf)))
    steps = share * newton_steps(first, second, total)
    return lowering_steps(loss, y, u, weight, leaf, steps, score, first, share=share, **options)


def lowering_steps(
    loss: Loss,
    y: Array,
    u: Array,
    weight: Array,
    leaf: Array,
    steps: Array,
    score: int | None,
    first: Array,
    rate: float = 1.0,
    is_whole: bool = True,
    before: Array | None = None,
    share: float = 1.0,
) -> Array:
    """Newton steps of leaves; others where they would raise the loss of the leaf.

    For a loss with a bound (see `safe_length`) that is its minimum. For others it is the exact
    minimum, also where the loss does not fall by about as much as the parabola promises that has
    its minimum at the step: then the second derivative is wrong, has vanished, or holds nearby
    only. Where it falls by somewhat more, the step is lengthened to the minimum of a cubic, if that
    is lower. O(n), and a search in the leaves whose steps are replaced. The first arguments are
    those of `Loss.leaf_values`.

    - first: the weighted sums of negative gradients in the leaves.
    - rate: the share of the steps that is taken.
    - is_whole: the steps are not regularised, so that a larger fall tells of too short a step.
    - before: the losses of the rows at u, where they are known.
    - share: what the steps are of those of Newton; see `Loss.newton_share`.
    """
    asked = may_rise(loss, steps, first, rate)
    if not asked.any():
        return steps
    if not asked.all():
        seen = np.flatnonzero(asked.take(leaf))
        y, u, weight, leaf = y[seen], u[seen], weight[seen], leaf[seen]
        before = None if before is None else before[seen]
    tried = steps_to_try(loss, steps, rate)
    falls = leaf_falls(loss, y, u, weight, leaf, tried, score, before)
    wrong = asked & is_wrong(loss, steps, first, falls, is_whole, share)
    if safe_length(loss, rate) > 0:
        return np.where(wrong, bounded_steps(steps), steps)
    if is_whole:
        longer = longer_steps(steps, first, falls[0], share)
        seen = np.flatnonzero((longer != steps).take(leaf))
        if len(seen):
            own = None if before is None else before[seen]
            more = leaf_falls(loss, y[seen], u[seen], weight[seen], leaf[seen], longer, score, own)
            steps = np.where(more[0] > falls[0], longer, steps)
    seen = np.flatnonzero(wrong.take(leaf))
    if not len(seen):
        return steps
    psi = np.zeros(np.shape(u[seen]))
    psi[... if score is None else np.s_[:, score]] = 1.0
    found = loss.line_search(y[seen], u[seen], psi, weight[seen], leaf[seen], len(steps))
    return np.where(wrong, found, steps)


def may_rise(loss: Loss, steps: Array, first: Array, rate: float) -> Array:
    """The leaves whose losses have to be looked at."""
    safe = safe_length(loss, rate)
    return ~(np.abs(steps) <= safe) if safe > 0 else first != 0  # nan is long


def steps_to_try(loss: Loss, steps: Array, rate: float) -> Array:
    """After which the losses are looked at: with a bound what is taken of the steps, or these."""
    return rate * steps if safe_length(loss, rate) > 0 else steps


def leaf_falls(
    loss: Loss,
    y: Array,
    u: Array,
    weight: Array,
    leaf: Array,
    steps: Array,
    score: int | None,
    before: Array | None = None,
) -> Array:
    """By how much the steps lower the loss of each leaf, and how exact that is: (2, n_leaves)."""
    moved = np.array(u, dtype=float)
    with np.errstate(all="ignore"):  # wherever the steps lead
        moved[... if score is None else np.s_[:, score]] += steps.take(leaf)
        before = loss.value(y, u) if before is None else before
        after = loss.value(y, moved)
        size = ROUNDING * (np.abs(after) + np.abs(before))
        return np.stack(
            [group_sums(weight * each, leaf, len(steps)) for each in (before - after, size)]
        )


def is_wrong(
    loss: Loss, steps: Array, first: Array, falls: Array, is_whole: bool, share: float
) -> Array:
    """The leaves whose steps are to be replaced; see `lowering_steps`."""
    fall, noise = falls
    with np.errstate(all="ignore"):
        if safe_length(loss, 1.0) > 0:
            return ~(fall >= -noise)
        promise = (1 - share / 2) * first * steps
        is_right = np.isfinite(fall) & (fall >= LEAST_OF_PROMISE * promise - noise)
        if is_whole:
            is_right &= fall <= MOST_OF_PROMISE * promise + noise
    return ~is_right | (steps == 0)


def longer_steps(steps: Array, first: Array, falls: Array, share: float) -> Array:
    """To the minimum of the cubic of these falls, where Newton's parabola promises too little.

    With the derivatives -G and H at 0, and H + T x in place of H, the loss falls at the step s by
    d = 1 - fall / promise less than promised; T follows, and the minimum from a quadratic equation.
    At most by half, so that a leaf of one class, which has no minimum, has steps like Newton's.
    """
    with np.errstate(all="ignore"):
        excess = falls / ((1 - share / 2) * first * steps) - 1
        root = np.sqrt(np.maximum(share**2 - 12 * excess * (1 - share / 2), 0))
        factor = np.minimum(2 * share / (share + root), LONGEST_FACTOR)
        short = (excess > NEGLIGIBLE_EXCESS) & (excess <= MOST_OF_PROMISE - 1)
    return np.where(short, factor * steps, steps)


def bounded_steps(steps: Array) -> Array:
    """The minima of the bounds whose curvature and gradient have these ratios."""
    return np.copysign(np.log1p(np.abs(steps)), steps)


def newton_steps(first: Array, second: Array, total: Array) -> Array:
    """first / second for sums of negative gradients, second derivatives and weights."""
    # A curvature that has vanished beside the weights says nothing of the length of a step.
    flat = second <= 1e-150 * total
    return np.where(flat, 0.0, first / np.where(flat, 1.0, second))


def log_ratio_steps(events: Array, expected: Array) -> Array:
    """log(events / expected), exact for a logarithmic link; Newton's -1 for no events."""
    present = expected > SMALLEST_RATE
    known = (events > 0) & present
    events, expected = np.where(known, events, 1.0), np.where(known, expected, 1.0)
    with np.errstate(over="ignore", divide="ignore"):
        steps = np.log(events / expected)
    # The quotient may be no float where its logarithm is one.
    steps = np.where(np.isfinite(steps), steps, np.log(events) - np.log(expected))
    return np.where(known, steps, np.where(present, -1.0, 0.0))


# --- losses of the user ---------------------------------------------------------------------------

# What a `UserLoss` takes from the object as it is.
FROM_THE_OBJECT = (
    "check_target",
    "class_probabilities",
    "deviation",
    "differentiable",
    "initial_scores",
    "is_quadratic",
    "leaf_values",
    "line_search",
    "lipschitz",
    "margin",
    "n_scores",
    "probability",
    "risk",
    "scores_from",
    "smoothness",
    "support",
)


class UserLoss(Loss):
    """An object with ``value(y, u)`` and ``gradient(y, u)``, completed by the numerical defaults.

    Other attributes and methods of the object with a name of `Loss` replace the defaults.
    """

    def __init__(self, loss: LossLike) -> None:
        self.loss = loss
        for name in FROM_THE_OBJECT:
            own = getattr(loss, name, None)
            if own is not None:
                setattr(self, name, own)

    def _checked(self, name: str, y: Array, u: Array, shape: tuple[int, ...]) -> Array:
        # Arrays of ours and of the user's, which the object must not change.
        y, u = np.asarray(y).view(), np.asarray(u).view()
        y.flags.writeable = u.flags.writeable = False
        try:
            result = np.asarray(getattr(self.loss, name)(y, u), dtype=float)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"loss: {type(self.loss).__name__}.{name}(y, u): {error}") from error
        if result.shape != shape:
            raise ValueError(
                f"loss: {type(self.loss).__name__}.{name}(y, u) must have shape "
                f"{shape}, got {result.shape}."
            )
        return result

    def value(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self._checked("value", y, u, (len(y),))

    def gradient(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self._checked("gradient", y, u, np.shape(u))

    def hessian(self, y: np.ndarray, u: np.ndarray) -> np.ndarray | None:
        if getattr(self.loss, "hessian", None) is None:
            return None
        return self._checked("hessian", y, u, np.shape(u))

    def optimal_constant(
        self, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float | np.ndarray:
        own = getattr(self.loss, "optimal_constant", None) or super().optimal_constant
        constant = own(y, sample_weight)
        return float(constant) if np.ndim(constant) == 0 else np.asarray(constant, dtype=float)

    def inverse_link(self, u: np.ndarray) -> np.ndarray:
        own = getattr(self.loss, "inverse_link", None)
        return u if own is None else np.asarray(own(u))

    def link(self, mean: np.ndarray) -> np.ndarray:
        own = getattr(self.loss, "link", None)
        if own is None and getattr(self.loss, "inverse_link", None) is not None:
            raise ValueError(
                f"loss: {type(self.loss).__name__} needs a method link(mean), the inverse of its "
                "inverse_link(u), to start from the predictions of an estimator."
            )
        return mean if own is None else own(mean)

    @property
    def link_domain(self) -> tuple[float, float]:  # type: ignore[override]
        inside = (SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
        own = getattr(self.loss, "link_domain", None)
        return own or (inside if self.probability else Loss.link_domain)


def as_loss(loss: Any) -> Loss:
    """A `Loss`: itself, or any object with `value` and `gradient` completed to one."""
    if isinstance(loss, type):
        raise TypeError(f"loss must be an object, such as {loss.__name__}(), not the class.")
    if not all(callable(getattr(loss, method, None)) for method in ("value", "gradient")):
        raise TypeError(f"loss must have the methods value(y, u) and gradient(y, u), got {loss!r}.")
    own_link = getattr(type(loss), "inverse_link", None) is not Loss.inverse_link
    if getattr(loss, "probability", False) and not (
        own_link and callable(getattr(loss, "inverse_link", None))
    ):
        raise TypeError(
            f"loss: {type(loss).__name__} has probability=True, so it needs a method "
            "inverse_link(u), which returns the probability of the second class."
        )
    return loss if isinstance(loss, Loss) else UserLoss(loss)


def loss_name(loss: Any) -> str:
    """The name of the user's loss; of several targets they have the same."""
    loss = getattr(loss, "losses", [loss])[0]
    return type(getattr(loss, "loss", loss)).__name__
