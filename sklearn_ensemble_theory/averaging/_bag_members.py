"""The members of a bagged ensemble: drawing their rows and columns, and fitting them.

A member is determined by its seed, however members are spread over workers, so that the draws need
not be kept: a fitted ensemble repeats them. A learner that takes weights gets the distinct rows
with their weights, s' <= s of them; one that does not gets its rows as drawn. Rows of weight 0 are
left out in both.
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils.parallel import delayed
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import has_fit_parameter

from sklearn_ensemble_theory._compat import check_method_params, routing_enabled
from sklearn_ensemble_theory._learners import (
    PreparedMembers,
    reads_single_precision,
    requests,
)
from sklearn_ensemble_theory._rows import columns_of, rows_of
from sklearn_ensemble_theory._running import in_order, seeded
from sklearn_ensemble_theory._scaling import shifted_by
from sklearn_ensemble_theory._typing import Estimator, Predictor
from sklearn_ensemble_theory.averaging._honesty import drawn_for_leaves, estimate_leaves
from sklearn_ensemble_theory.averaging._learner_blocks import RowsInChunks
from sklearn_ensemble_theory.averaging._sampling import SamplingScheme, same_law
from sklearn_ensemble_theory.ensembles._predictions import member_input, member_predictions
from sklearn_ensemble_theory.trees._binned_tree import BaseBinnedTree, binned_equivalent
from sklearn_ensemble_theory.trees._fit_to_bins import takes_targets
from sklearn_ensemble_theory.trees._sklearn_trees import add_to_outputs, fitted_in_units

MAX_SEED = np.iinfo(np.int32).max
# max_bins="auto" bins the columns of data of more rows than this.
AUTO_ROWS = 10_000
# The same for medians at the best cuts, for which exact trees take several times as long.
MEDIAN_ROWS = 1_000
# Where full trees draw features, their test error is larger by 0.5 to 2.5 % with 255 bins: deep in
# a tree a feature that has been cut often has few codes left. More bins than this gain no more.
AUTO_BINS = 2047
# Small trees are fitted in tasks of several, of about so many rows in all, ...
ROWS_OF_A_TASK = 2**14
# ... but so that no thread waits long for the last one.
TASKS_OF_A_THREAD = 4

# --- what members share ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class MemberSpec:
    """What all members of one fit share; it is sent to the workers.

    Attributes
    ----------
    estimator : estimator
        The base learner, not fitted; None in a fitted ensemble, which only repeats draws.
    scheme : SamplingScheme
        The law of the rows' weights; `RowsInChunks` where it stayed with the rows.
    n_features : int
        Number of columns of X.
    max_features : int or None
        Number of columns drawn for each member; None for all of them, in their order.
    bootstrap_features : bool
        Whether columns are drawn with replacement.
    random_states : list of str or None
        The parameters, as `random_state_names` returns them, that are drawn from the member's seed;
        None where the seed itself is the `random_state`, as for the trees of a forest.
    balanced : bool
        Whether all classes weigh the same among the rows of a member.
    frames : bool
        Whether members are fitted to data frames, as the user gave them.
    checked : bool
        Whether X has been through `member_input`, so that a tree need not check it again.
    weighted : bool
        Whether the base learner's `fit` accepts `sample_weight`.
    plain : bool
        Whether no parameter of the base learner is an estimator or changed by a fit, so that a
        shallow copy is as good as a clone, at a twentieth of the time.
    prepared : PreparedMembers or None
        What fits members on columns that are prepared once, where the base learner has it.
    out_of_bag : str or None
        The method that predicts the rows left out; None where no predictions are needed.
    n_classes : int
        Number of classes of the ensemble; 0 for regression.
    empty : str
        What a member without rows predicts: the "mean" of y, or "zero", which is the first class.
    fit_params : dict
        Metadata for the base learner's `fit`.
    offset : float or ndarray of shape (n_outputs,)
        Subtracted from y before trees are grown (see `trees._sklearn_trees.target_offset`).
    honest : float
        Share of the rows drawn that are in the leaves of a tree, which the others grow; 0 where
        all of them are both.
    """

    estimator: Any
    scheme: SamplingScheme | RowsInChunks
    n_features: int
    max_features: int | None = None
    bootstrap_features: bool = False
    random_states: list[str] | None = None
    balanced: bool = False
    frames: bool = False
    checked: bool = False
    weighted: bool = False
    plain: bool = False
    prepared: PreparedMembers | None = None
    out_of_bag: str | None = None
    n_classes: int = 0
    empty: str = "redraw"
    fit_params: dict = field(default_factory=dict)
    offset: float | np.ndarray = 0.0
    honest: float = 0.0

    @property
    def all_features(self) -> bool:
        """Whether every member is fitted to all columns of X."""
        if self.max_features is None:
            return True
        return not self.bootstrap_features and self.max_features == self.n_features

    def draw_features(self, rng: np.random.RandomState) -> np.ndarray:
        """Draw the columns of X that a member is fitted to."""
        if self.max_features is None:
            return np.arange(self.n_features)
        if self.bootstrap_features:
            return rng.randint(0, self.n_features, self.max_features)
        return sample_without_replacement(self.n_features, self.max_features, random_state=rng)

    # Columns are drawn first, from the same generator: all draws below begin with them.

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(features, rows, weights of the rows) of the member with this seed."""
        rng = seeded(seed)
        features = self.draw_features(rng)
        scheme, rng = self.scheme.of_member(seed, rng)
        return features, *scheme.draw(rng)

    def draw_parts(self, seed: int) -> tuple[tuple, tuple]:
        """(rows, their weights) that a tree is grown of, and those that are in its leaves."""
        rng = seeded(seed)
        self.draw_features(rng)
        scheme, rng = self.scheme.of_member(seed, rng)
        rows, weights = scheme.draw(rng)
        if not self.honest:
            return (rows, weights), (rows, weights)
        in_leaves = drawn_for_leaves(rows, self.scheme.unit_of_row, self.honest, rng)
        grows = ~in_leaves if not in_leaves.all() else in_leaves
        return (rows[grows], weights[grows]), (rows[in_leaves], weights[in_leaves])

    def draw_units(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """(units, their weights) of the member with this seed."""
        rng = seeded(seed)
        self.draw_features(rng)
        scheme, rng = self.scheme.of_member(seed, rng)
        return scheme.draw_units(rng)

    def indices(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """(features, rows in the order drawn, repeated as often as drawn)."""
        rng = seeded(seed)
        features = self.draw_features(rng)
        scheme, rng = self.scheme.of_member(seed, rng)
        return features, scheme.indices(rng)

    def fit_weights(self, weights: np.ndarray, y_rows: np.ndarray) -> np.ndarray:
        """The weights with which a member is fitted, from the weights drawn for its rows."""
        return weights * balanced_weights(y_rows, weights) if self.balanced else weights

    def draws_as(self, other: Self) -> bool:
        """Whether members of both with the same seed have the same rows, weights and columns."""
        one, two = self.scheme, other.scheme
        if not (isinstance(one, SamplingScheme) and isinstance(two, SamplingScheme)):
            return False
        names = "n_features", "max_features", "bootstrap_features", "balanced", "empty", "honest"
        same = all(getattr(self, name) == getattr(other, name) for name in names)
        return same and same_law(one, two)

    def without_data(self) -> Self:
        """The same without what only a fit needs."""
        return replace(self, estimator=None, prepared=None, fit_params={})


def random_state_names(estimator: Predictor) -> list[str]:
    """Its `random_state` parameters, nested ones too, in a fixed order."""
    names = sorted(estimator.get_params(deep=True))
    return [n for n in names if n == "random_state" or n.endswith("__random_state")]


def balanced_weights(codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Weights of the rows that give every class that occurs the same total.

    For several outputs, codes of shape (n, k), the product over the outputs.
    """
    product = np.ones(len(codes))
    for column in codes.reshape(len(codes), -1).T:
        totals = np.bincount(column, weights=weights).astype(float)
        occurs = totals > 0
        share = np.divide(
            totals.sum(), occurs.sum() * totals, out=np.zeros_like(totals), where=occurs
        )
        product *= share[column]
    return product


# --- fits -----------------------------------------------------------------------------------------


def fit_members(
    spec: MemberSpec, X, y: np.ndarray, seeds: np.ndarray, n_jobs: int | None
) -> Iterator[tuple]:
    """Iterate over the results of `fit_member` for these seeds, in their order."""
    # A task is started in the time of a tree of 100 rows: small trees share one.
    size = 1
    if spec.plain:
        n_tasks = TASKS_OF_A_THREAD * effective_n_jobs(n_jobs)
        size = max(min(ROWS_OF_A_TASK // X.shape[0], len(seeds) // n_tasks), 1)
    starts = range(0, len(seeds), size)
    tasks = (delayed(fit_some)(spec, X, y, seeds[start : start + size]) for start in starts)
    # The parameters of a plain learner have been validated, once for all members.
    with config_context(skip_parameter_validation=spec.plain or None):
        found = in_order(tasks, n_jobs=n_jobs, prefer="threads" if spec.plain else None)
    return chain.from_iterable(found)


def fit_some(spec: MemberSpec, X, y: np.ndarray, seeds: np.ndarray) -> list[tuple]:
    """The results of `fit_member` for some of the seeds."""
    return [fit_member(spec, X, y, seed) for seed in seeds]


def fit_member(spec: MemberSpec, X, y: np.ndarray, seed: int) -> tuple:
    """Fit one member, and predict the rows that it is not fitted to where that is needed.

    Returns
    -------
    member : estimator
    features : ndarray of shape (n_member_features,)
    out_of_bag : tuple (rows, predictions) or None
    """
    # Its own random states begin with its seed, and so, anew, does the draw of its rows.
    member = copy(spec.estimator) if spec.plain else clone(spec.estimator)
    if spec.random_states is None:
        member.random_state = seed
    elif spec.random_states:
        rng = seeded(seed)
        states = {name: rng.randint(MAX_SEED) for name in spec.random_states}
        if spec.plain:
            vars(member).update(states)
        else:
            member.set_params(**states)

    weights = None
    if spec.weighted:
        features, rows, weights = spec.draw(seed)
    else:
        features, rows = spec.indices(seed)
    if not len(rows):
        member = member_without_rows(spec, y, len(features))
        return member, features, outside_predictions(spec, member, X, rows, features)
    drawn, in_leaves = rows, None
    if spec.honest:
        (rows, weights), in_leaves = spec.draw_parts(seed)
    y_rows = y[rows]
    if weights is not None:
        weights = spec.fit_weights(weights, y_rows)
        if (weights == 1).all():
            weights = None
    # Trees are grown about the offset, which goes back into their leaves below.
    is_far = np.any(spec.offset != 0)
    if is_far:
        y_rows = y_rows - spec.offset

    with np.errstate(all="ignore"):  # no warnings from the arithmetic of the base learner
        if spec.prepared is not None:
            columns = None if spec.all_features else features
            member = spec.prepared.fit(member, rows, y_rows, weights, columns)
        else:
            params = check_method_params(X, params=spec.fit_params, indices=rows)
            if weights is not None:
                params["sample_weight"] = weights
            if spec.checked:
                params["check_input"] = False
            # Distinct rows in increasing order: as many as there are, they are all of them.
            X_rows = X if spec.weighted and len(rows) == X.shape[0] else rows_of(X, rows)
            if not spec.all_features:
                X_rows = columns_of(X_rows, features)
            try:
                member = fitted_in_units(member, X_rows, y_rows, **params)
            except ValueError:
                # Many classifiers reject rows of one class, which a small draw may hold by chance.
                # The member then predicts that class. What a tree refuses is X.
                one_class = spec.n_classes > 1 and (y_rows == y_rows[0]).all()
                if not one_class or reads_single_precision(member):
                    raise
                member = DummyClassifier(strategy="prior").fit(X_rows, y_rows)
    if in_leaves is not None:
        rows, weights = in_leaves
        y_rows = y[rows] - spec.offset if is_far else y[rows]
        X_rows = rows_of(X, rows).astype(np.float32)
        estimate_leaves(member, X_rows, y_rows, spec.fit_weights(weights, y[rows]))
    if is_far:
        add_to_outputs(member, spec.offset)
    return member, features, outside_predictions(spec, member, X, drawn, features)


def member_without_rows(spec: MemberSpec, y: np.ndarray, n_features: int) -> BaseEstimator:
    """What stands for a draw of no rows: a constant, as `spec.empty` says."""
    zero: Any = 0 if y.ndim == 1 else np.zeros(y.shape[1])
    given = {"strategy": "constant", "constant": zero}
    if spec.n_classes:
        dummy = DummyClassifier(**({"strategy": "prior"} if spec.empty == "mean" else given))
    else:
        dummy = DummyRegressor(**({} if spec.empty == "mean" else given))
    return dummy.fit(np.zeros((len(y), n_features)), y, spec.scheme.sample_weight)


def outside_predictions(
    spec: MemberSpec, member: BaseEstimator, X, rows: np.ndarray, features: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """The rows that a member is not fitted to, and its predictions for them.

    None where no predictions are needed, or where there is no such row.
    """
    if spec.out_of_bag is None:
        return None
    outside = np.flatnonzero(spec.scheme.is_outside(rows))
    if not len(outside):
        return None
    X_outside, checked = rows_of(X, outside), spec.checked
    if spec.prepared is not None and len(rows):
        X_outside, checked = member_input(member, X_outside)
    predictions = member_predictions(
        member,
        spec.out_of_bag,
        X_outside,
        features=None if spec.all_features else features,
        n_classes=spec.n_classes,
        checked=checked,
    )
    return outside, predictions


class OutOfBag:
    """Running means of the members' predictions on the rows that they are not fitted to.

    The sums take one member at a time, so that the score of every smaller ensemble costs no more
    than scoring it.

    Parameters
    ----------
    shape : tuple
        Shape of the predictions on all training rows, (n,) or (n, k).
    score : callable
        `score(rows, predictions)`: the score on rows that have an estimate; NaN if None.
    exponent : int, default=0
        Sums are taken in units of this power of two.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        score: Callable[[np.ndarray, np.ndarray], float] | None,
        exponent: int = 0,
    ) -> None:
        self.total = np.zeros(shape)
        self.n_predictions = np.zeros(shape[0], dtype=np.intp)
        self.score = score
        self.exponent = exponent
        self.scores: list[float] = []

    def continued(self, score: Callable[[np.ndarray, np.ndarray], float] | None) -> Self:
        """A copy to add members to; the original stays as it is should the fit fail."""
        copy = type(self)(self.total.shape, score, self.exponent)
        copy.total[:] = self.total
        copy.n_predictions[:] = self.n_predictions
        copy.scores = list(self.scores)
        return copy

    def add(self, outside: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Add a member, then score: the rows that it is not fitted to, and its predictions on them.

        None for a member that is fitted to all rows.
        """
        if outside is not None:
            rows, predictions = outside
            self.total[rows] += np.ldexp(predictions, -self.exponent)
            self.n_predictions[rows] += 1
        known = np.flatnonzero(self.n_predictions)
        score = np.nan
        if self.score is not None and len(known):
            score = self.score(known, self.mean(known))
        self.scores.append(float(score))

    def mean(self, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Mean predictions; NaN for a row that all members are fitted to."""
        counts = self.n_predictions[rows].reshape(-1, *[1] * (self.total.ndim - 1))
        mean = np.full_like(self.total[rows], np.nan)
        np.divide(self.total[rows], counts, out=mean, where=counts > 0)
        return shifted_by(mean, self.exponent)


# --- what the base learner takes ------------------------------------------------------------------


def can_be_binned(X, y: np.ndarray) -> bool:
    """Whether X is a dense array of numbers, and y one output."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and y.ndim == 1


def takes_bins(estimator: Predictor, X, y: np.ndarray) -> bool:
    """The same, where y may have several outputs if the tree in bins has them."""
    several = y.ndim > 1 and isinstance(estimator, BaseBinnedTree) and takes_targets(estimator)
    return can_be_binned(X, y[:, 0] if several else y)


def with_bins(
    estimator: Predictor,
    X,
    y: np.ndarray,
    max_bins: int | Literal["auto"] | None,
    *,
    random_cuts: bool,
    n_rows: int,
) -> BaseEstimator:
    """The tree on binned columns that the parameter `max_bins` asks for, or the estimator itself.

    The answer depends on the parameters, on `n_rows`, by which "auto" is judged, and on the kind of
    the data: not on what is installed, and not on the number of jobs. `random_cuts` is as in
    `binned_equivalent`.

    Raises
    ------
    ValueError
        If `max_bins` is a number and the estimator or the data cannot be binned.
    """
    is_median = getattr(estimator, "criterion", "") == "absolute_error" and not random_cuts
    few_rows = MEDIAN_ROWS if is_median else AUTO_ROWS
    if max_bins is None or (max_bins == "auto" and n_rows <= few_rows):
        return estimator
    n_bins = AUTO_BINS if max_bins == "auto" else max_bins
    binned = binned_equivalent(estimator, n_bins, random_cuts)
    if binned is not None and can_be_binned(X, y):
        return binned
    if max_bins == "auto":
        return estimator
    if binned is None:
        raise ValueError(
            f"max_bins={max_bins} requires a decision tree of scikit-learn's with parameters that "
            f"trees on binned columns have; got {estimator!r}. Use max_bins=None."
        )
    raise ValueError(
        f"max_bins={max_bins} requires a dense X of numbers and a single output; use max_bins=None."
    )


def takes_sample_weight(estimator: Estimator) -> bool:
    """Whether its `fit` accepts `sample_weight`; with metadata routing, whether it requests it."""
    if routing_enabled():
        return requests(estimator, "sample_weight")
    return has_fit_parameter(estimator, "sample_weight")
