"""Sets of classes, from probabilities out of bag or out of fold.

A class has a score at x that is small where the class is probable, and it is in the set unless the
scores of too many training rows, each by models that are not fitted to it, are smaller. With p_c
the probabilities at x:

- "lac": 1 - p_c [Sadinle, Lei and Wasserman, 2019];
- "aps": the sum of p_j over all j with p_j > p_c, plus U times that of p_j = p_c
  [Romano, Sesia and Candès, 2020];
- "raps": with a penalty for each class beyond the first k_reg [Angelopoulos, Bates, Jordan and
  Malik, 2021].

U is uniform on (0, 1). With it and with ties broken at random the rank of a new score is uniform,
and the coverage is exact. Without random numbers the scores of the training rows are replaced by
their distributions, as if each row were a group of many scores with an U each, and a new score by
its lowest value, U = 0.
"""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
    check_one_output,
    fitted_rows,
    groups_of,
    kept_rows,
)
from sklearn_ensemble_theory.ensembles._intervals import (
    checked_coverage,
    hierarchical_shares,
    one_of,
    too_few,
    warn_of_few,
)
from sklearn_ensemble_theory.ensembles._predictions import (
    mean_prediction,
    out_of_bag_mean,
)

# Probabilities are means in several orders: those and scores are equal if they differ by less.
ROUNDING = 1e-12
# Shares of 1 that fall short of the level by rounding reach it.
SHARE_ROUNDING = 1e-9
# A score that varies by less with U is a number, as densities of 1e12 would cancel.
SHORT = 1e-6
# Probabilities that are sorted at once, of which there are some ten arrays: 80 MB.
SORTED = 2**20


class ClassPlaces(NamedTuple):
    """Where classes stand among all classes of their row: arrays of one shape.

    `more` is the total probability, and `n_more` the number, of the classes that are more probable;
    `equal` is the probability of those that are as probable, itself included.
    """

    probability: np.ndarray
    more: np.ndarray
    equal: np.ndarray
    n_more: np.ndarray

    @classmethod
    def of(cls, probabilities: np.ndarray) -> Self:
        """Of all classes; the probabilities are of shape (..., n_classes)."""
        order = np.argsort(-probabilities, axis=-1, kind="stable")
        falling = np.take_along_axis(probabilities, order, axis=-1)
        # Classes that are as probable are a run: from its first place to its last.
        step = falling[..., :-1] - falling[..., 1:] > ROUNDING
        edge = np.ones((*step.shape[:-1], 1), dtype=bool)
        place = np.arange(falling.shape[-1])
        first = np.where(np.concatenate([edge, step], axis=-1), place, 0)
        first = np.maximum.accumulate(first, axis=-1)
        last = np.where(np.concatenate([step, edge], axis=-1), place, len(place) - 1)
        last = np.minimum.accumulate(last[..., ::-1], axis=-1)[..., ::-1]
        total = np.cumsum(falling, axis=-1)
        before = np.concatenate([np.zeros(edge.shape), total[..., :-1]], axis=-1)
        more = np.take_along_axis(before, first, axis=-1)
        equal = np.take_along_axis(total, last, axis=-1) - more
        back = np.argsort(order, axis=-1)
        placed = (np.take_along_axis(a, back, axis=-1) for a in (more, equal, first))
        return cls(probabilities, *placed)

    @classmethod
    def of_own(cls, probabilities: np.ndarray, codes: np.ndarray) -> Self:
        """Of one class of each row; the probabilities are of shape (n, n_classes)."""
        parts, step = [], max(1, SORTED // probabilities.shape[1])
        for start in range(0, len(codes), step):
            own = codes[start : start + step]
            of_all = cls.of(probabilities[start : start + step])
            parts.append([a[np.arange(len(own)), own] for a in of_all])
        return cls(*map(np.concatenate, zip(*parts)))


@dataclass(frozen=True)
class SetRule:
    """What is asked of a set, as in the parameters of `predict_set`; errors name them."""

    coverage: float
    method: str = "lac"
    per_class: bool = False
    randomized: bool = False
    penalty: float = 0.05
    k_reg: int = 1
    random_state: Any = None
    empty: bool = True

    def __post_init__(self) -> None:
        checked_coverage(self.coverage)
        one_of("method", self.method, ("lac", "aps", "raps"))
        for name in ("per_class", "randomized", "empty"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be a bool, got {getattr(self, name)!r}.")
        is_number = isinstance(self.penalty, Real) and not isinstance(self.penalty, bool)
        if not (is_number and 0 <= self.penalty < np.inf):
            raise ValueError(
                f"penalty must be a finite number of at least 0, got {self.penalty!r}."
            )
        is_integer = isinstance(self.k_reg, Integral) and not isinstance(self.k_reg, bool)
        if not (is_integer and self.k_reg >= 0):
            raise ValueError(f"k_reg must be an integer of at least 0, got {self.k_reg!r}.")
        check_random_state(self.random_state)

    def scores(self, places: ClassPlaces) -> tuple[np.ndarray, np.ndarray]:
        """The scores for U = 0, and how much larger they are for U = 1."""
        if self.method == "lac":
            return 1 - places.probability, np.zeros_like(places.probability)
        if self.method == "aps":
            return places.more, places.equal
        excess = np.maximum(places.n_more + 1 - self.k_reg, 0)
        return places.more + self.penalty * excess, places.equal


class ScoreShares:
    """The shares of rows whose score, uniform on an interval or a number, is below a value."""

    def __init__(
        self,
        start: np.ndarray,
        length: np.ndarray,
        shares: np.ndarray,
        fold: np.ndarray,
        n_folds: int,
    ) -> None:
        self.numbers: list[tuple[np.ndarray, np.ndarray]] = []
        self.spread: list[tuple[np.ndarray, np.ndarray]] = []
        is_short = length < SHORT
        for k in range(n_folds):
            own = np.flatnonzero((fold == k) & is_short)
            at = start[own] + length[own]
            order = np.argsort(at)
            self.numbers.append((at[order], np.append(0.0, np.cumsum(shares[own[order]]))))
            # The share below is piecewise linear: its slope changes at both ends of an interval.
            own = np.flatnonzero((fold == k) & ~is_short)
            knots = np.concatenate([start[own], start[own] + length[own]])
            change = shares[own] / length[own]
            order = np.argsort(knots)
            knots, slope = knots[order], np.cumsum(np.concatenate([change, -change])[order])
            heights = np.cumsum(np.append(0.0, slope[:-1] * np.diff(knots))[: len(knots)])
            self.spread.append((knots, heights))

    def below(self, values: np.ndarray, margin: float = -ROUNDING) -> np.ndarray:
        """Of the values for each fold, of shape (m, n_folds); up to them with a positive margin."""
        total = np.zeros(len(values))
        for k, ((numbers, reached), (knots, heights)) in enumerate(zip(self.numbers, self.spread)):
            total += reached[np.searchsorted(numbers, values[:, k] + margin)]
            if len(knots):
                total += np.interp(values[:, k], knots, heights)
        return total


def set_by_folds(
    own: ClassPlaces,
    codes: np.ndarray,
    fold: np.ndarray,
    groups: np.ndarray | None,
    probabilities: np.ndarray,
    rule: SetRule,
) -> np.ndarray:
    """Whether each class is in the set of the CV+, a bool array of shape (m, n_classes).

    With one fold it is the set of split conformal prediction. Where rows are too few for the
    coverage, of which a warning tells, and where probabilities are NaN, the sets have all classes.
    `own` is of the class of each training row out of fold, NaN where it is not known; `codes` are
    these classes, and `probabilities` (m, K, n_classes) those of all classes by the models of the K
    folds.
    """
    m, n_folds, n_classes = probabilities.shape
    start, length = rule.scores(own)
    unknown = np.isnan(own.probability)
    start, length = np.where(unknown, np.inf, start), np.where(unknown, 0.0, length)
    u, rank_among_ties = np.zeros(m), np.zeros(m)
    if rule.randomized:
        rng = check_random_state(rule.random_state)
        start, length = start + rng.uniform(size=len(start)) * length, np.zeros(len(start))
        u, rank_among_ties = rng.uniform(size=m), rng.uniform(size=m)
    # All classes are compared with the same rows, or each with the rows of the class.
    compared, few = [], []
    for c in range(n_classes if rule.per_class else 1):
        rows = np.flatnonzero(codes == c) if rule.per_class else np.arange(len(start))
        if groups is None:
            new = 1 / (len(rows) + 1)
            shares = np.full(len(rows), new)
        else:
            shares = hierarchical_shares(groups[rows])
            new = 1 / (len(np.unique(groups[rows])) + 1)
        own_groups = None if groups is None else groups[rows]
        few.append(too_few(~unknown[rows], own_groups, rule.coverage))
        compared.append((ScoreShares(start[rows], length[rows], shares, fold[rows], n_folds), new))
    lacking = [each for each in few if each is not None]
    if lacking and not rule.randomized:  # with random numbers the coverage is that of any n
        result = "the sets have all classes"
        if rule.per_class:
            result = f"{len(lacking)} of {n_classes} classes have too few rows and are in all sets"
        warn_of_few(lacking[0], rule.coverage, result)
    is_in_set = np.empty((m, n_classes), dtype=bool)
    step = max(1, SORTED // (n_folds * n_classes))
    for first in range(0, m, step):
        part = slice(first, first + step)
        at, at_length = rule.scores(ClassPlaces.of(probabilities[part]))
        at = at + u[part, None, None] * at_length
        for c in range(n_classes):
            scores, new = compared[c if rule.per_class else 0]
            share = scores.below(at[:, :, c])
            if rule.randomized:
                up_to = scores.below(at[:, :, c], ROUNDING)
                share += rank_among_ties[part] * (up_to - share + new)
            is_in_set[part, c] = share < rule.coverage - SHARE_ROUNDING
    # Nothing is known of a row whose probabilities are no numbers.
    is_in_set[np.isnan(probabilities).any(axis=(1, 2))] = True
    if not rule.empty:
        none = np.flatnonzero(~is_in_set.any(axis=1))
        is_in_set[none, probabilities[none].mean(axis=1).argmax(axis=1)] = True
    return is_in_set


def prediction_set(ensemble: Ensemble, X, rule: SetRule) -> np.ndarray:
    """Return whether each class is in the set of each row of X, a bool array of shape (m, K)."""
    check_one_output(ensemble, "predict_set")
    rows = fitted_rows(ensemble, "Prediction sets")
    method = ensemble.method
    mean = out_of_bag_mean(ensemble, method)
    y = kept_rows(ensemble, "predict_set").y
    if rows is not None:
        mean, y = mean[rows], y[rows]
    own, fold = ClassPlaces.of_own(mean, y), np.zeros(len(y), dtype=np.intp)
    probabilities = mean_prediction(ensemble, X, method)[:, None]
    return set_by_folds(own, y, fold, groups_of(ensemble, rows), probabilities, rule)


# What the docstrings of `predict_set` share.
SET_TEXTS = {
    "set_method": """
        method : {"lac", "aps", "raps"}, default="lac"
            The score s_c(x) of a class c, with p the probabilities at x:

            - ``"lac"``: 1 - p_c, for the smallest sets on average; rows that are hard to classify
              are covered less often than easy ones [Sadinle, Lei and Wasserman, 2019];
            - ``"aps"``: the total probability of the classes that are more probable than c, plus U
              times the probability of c and of the classes as probable as c. U is uniform on (0,
              1). Easy and hard rows then have similar coverage [Romano, Sesia and Candès, 2020];
            - ``"raps"``: the score of "aps" plus `penalty` for each class beyond the first `k_reg`,
              for smaller sets if there are many classes [Angelopoulos, Bates, Jordan and Malik,
              2021].
        per_class : bool, default=False
            Whether each class is compared with the held-out rows of this class only. Coverage then
            holds for each class. A class of too few rows, (n_c + 1) `coverage` > n_c, is in all
            sets.
        randomized : bool, default=False
            Whether U is drawn, and ties are broken at random. Coverage is then not larger than
            asked for either, but sets may be empty. If False, sets of "aps" and "raps" have at
            least one class: U is 0 at x, compared with the mean over U of the held-out rows, which
            covers more often.
        penalty : float, default=0.05
            Of "raps", at least 0.
        k_reg : int, default=1
            Of "raps", at least 0: the number of classes without a penalty.
        random_state : int, RandomState instance or None, default=None
            Seed of the numbers drawn with ``randomized=True``; of a Dask collection for each chunk.
        empty : bool, default=True
            Whether sets may be empty. With False an empty set gets the likeliest class, by the mean
            probabilities of the models that are asked; the sets then cover at least as often.
        """,
    "sets": """
        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Whether each class of `classes_` is in the set. A set of "lac" may be empty, if no class
            is probable enough and `empty` is True. It contains all classes, with a warning, if
            there are too few held-out rows: (n + 1) `coverage` > n.
        """,
    "references_of_sets": """
        References
        ----------
        M. Sadinle, J. Lei and L. Wasserman (2019). "Least ambiguous set-valued classifiers with
        bounded error levels". *Journal of the American Statistical Association* 114.

        Y. Romano, M. Sesia and E. J. Candès (2020). "Classification with valid and adaptive
        coverage". *Advances in Neural Information Processing Systems* 33.

        A. N. Angelopoulos, S. Bates, M. I. Jordan and J. Malik (2021). "Uncertainty sets for image
        classifiers using conformal prediction". *International Conference on Learning
        Representations*.
        """,
}
