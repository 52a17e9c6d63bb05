"""The fit of a bagged ensemble: the law of its draws, its members one by one, and what is kept.

An estimator makes a `BaggingPlan` of its parameters and a `BaggingProblem` of its rows. `begin`
checks one against the other and returns a `BagFit`, which is iterated for the members and whose
`bag` is the result. A warm start begins with the bag of the fit before (`continued`).

A member is determined by its seed, however members are spread over workers, so that the draws need
not be kept: a fitted ensemble repeats them. A learner that takes weights gets the distinct rows
with their weights, s' <= s of them; one that does not gets its rows as drawn. Rows of weight 0 are
left out in both.
"""

import math
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils import check_random_state
from sklearn.utils.parallel import delayed
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import has_fit_parameter

from sklearn_ensemble_theory._categories import MOST_DENSE_VALUES
from sklearn_ensemble_theory._compat import (
    check_constraints,
    check_method_params,
    routing_enabled,
)
from sklearn_ensemble_theory._copies import share_of_copies, warn_of_share
from sklearn_ensemble_theory._learners import (
    PreparedMembers,
    is_tree,
    one_column_only,
    prepare_members,
    reads_numbers,
    reads_single_precision,
    refuses_one_class,
    requests,
    takes_columns,
)
from sklearn_ensemble_theory._rows import (
    LabelTotals,
    check_single_precision,
    columns_of,
    is_frame,
    rows_of,
)
from sklearn_ensemble_theory._running import (
    MAX_SEED,
    in_order,
    random_state_names,
    seeded,
    warn_user,
)
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory._typing import Estimator, Predictor
from sklearn_ensemble_theory.averaging._draw_options import PACMembers, StableSamples, counted
from sklearn_ensemble_theory.averaging._honesty import drawn_for_leaves, estimate_leaves
from sklearn_ensemble_theory.averaging._learner_blocks import (
    LearnerBlock,
    RowsInChunks,
    RowsOfSeveralFits,
    naming_chunk,
    recoded,
)
from sklearn_ensemble_theory.averaging._out_of_bag import (
    OutOfBag,
    Score,
    first_codes,
    out_of_bag_score,
)
from sklearn_ensemble_theory.averaging._sampling import (
    Draws,
    SamplingDesign,
    SamplingScheme,
    same_law,
    scheme_of_rows,
)
from sklearn_ensemble_theory.bounds._stability import LAWS_BY_ROWS
from sklearn_ensemble_theory.ensembles._ensemble_stability import weighs_by_all_rows
from sklearn_ensemble_theory.ensembles._predictions import member_predictions
from sklearn_ensemble_theory.ensembles._training_rows import TrainingRows
from sklearn_ensemble_theory.trees._binned_tree import (
    BaseBinnedTree,
    binned_equivalent,
    told_apart,
)
from sklearn_ensemble_theory.trees._fit_to_bins import takes_targets
from sklearn_ensemble_theory.trees._sklearn_trees import (
    add_to_outputs,
    check_counts,
    fitted_in_units,
    member_input,
    target_offset,
)
from sklearn_ensemble_theory.trees._tree_arrays import read_by, reads_double

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

# --- what is fitted, and to what ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class BaggingPlan:
    """What the parameters of a bagged ensemble ask for.

    - name: the class of the ensemble, for messages.
    - learner: the base learner, with all that depends on the columns of X.
    - draws: the sampling scheme.
    - max_features: columns drawn for each member; None for trees that draw them at every split.
    - random_cuts: the cuts of trees are drawn, in bins uniformly over the bins.
    - is_binned: the learner is a tree in bins already.
    - by_column: columns have meanings of their own, as categories and interactions have.
    - dense: a small sparse X becomes dense.
    - counts_of_all_rows: fractions in the tree's parameters are of all rows, not of the tree's.
    - method: how members predict.
    - ties: which of equal classes is predicted.
    - weighs_classes: `class_weight` is still to be multiplied into the weights of the rows.
    - balanced: the classes weigh the same among the rows of each member.
    - follows_weight: there is a warning where draws do not follow the weights.
    - honest: share of the rows drawn that are in the leaves; 0 for all of them.
    """

    name: str
    learner: Any
    n_estimators: int | str | Callable
    draws: Draws
    max_samples: int | float | str | Callable | None
    max_features: int | float | None = None
    bootstrap_features: bool = False
    max_bins: int | Literal["auto"] | None = "auto"
    random_cuts: bool = False
    is_binned: bool = False
    by_column: bool = False
    dense: bool = False
    counts_of_all_rows: bool = False
    method: str = "predict"
    oob_score: bool | Callable = False
    ties: str = "first"
    class_weight: Any = None
    weighs_classes: bool = False
    balanced: bool = False
    follows_weight: bool = False
    honest: float = 0.0
    random_state: Any = None
    n_jobs: int | None = None

    def n_members(self, n_samples: int, n_features: int) -> int:
        given: Any = PACMembers() if self.n_estimators == "pac" else self.n_estimators
        return counted("n_estimators", given, n_samples, n_features) if callable(given) else given

    def draw_seeds(self, n_members: int) -> np.ndarray:
        """Independent seeds, from which a scheme makes those of the members."""
        return check_random_state(self.random_state).randint(MAX_SEED, size=n_members)


@dataclass(frozen=True, kw_only=True)
class BaggingProblem:
    """The checked rows of a fit.

    - y: targets, or codes of classes; of several outputs, those of each follow the one before.
    - target: the fitted attributes of the targets, such as `classes_`.
    - frames: members get X as the data frame that it is.
    - routed: metadata for the members' `fit`.
    """

    X: Any
    y: np.ndarray
    target: dict
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None
    frames: bool = False
    routed: dict = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Bag:
    """What is kept of a fit.

    - learner: what the members are clones of.
    - spec: the law of the draws, without data.
    - rows: the training rows, or what stands for rows that cannot be used.
    - out_of_bag: where they were asked for.
    - has_score: whether the fit before had out-of-bag scores.
    """

    learner: Any
    members: list
    features: list[np.ndarray]
    seeds: np.ndarray
    spec: "MemberSpec"
    rows: Any
    target: dict
    out_of_bag: OutOfBag | None = None
    has_score: bool = False


def takes_frames(X: Any, learner: BaseEstimator, drawn_twice: bool) -> bool:
    """Whether members get X as the data frame that it is."""
    return is_frame(X) and not drawn_twice and not reads_numbers(learner, "prepare_members")


# --- the law of the draws -------------------------------------------------------------------------


def sampling_scheme(plan: BaggingPlan, problem: BaggingProblem) -> SamplingScheme:
    scheme, y, groups = plan.draws.scheme, problem.y, problem.groups
    weight, classes = problem.weight, problem.target.get("classes_")
    if plan.weighs_classes:
        if plan.class_weight is not None and not plan.balanced:
            weight = weighted_by_class(plan, problem)
    elif (
        plan.follows_weight
        and weight is not None
        and groups is None
        and not scheme.mean_follows_weight
    ):
        warn_user(
            f"When fitting {plan.name} with sample_weight "
            f"it is recommended to use bootstrap=True, got {scheme.bootstrap}."
        )
    strata = None
    if classes is not None:
        strata = y if y.ndim == 1 else np.unique(y, axis=0, return_inverse=True)[1].ravel()
    unit = "samples" if groups is None else "groups"
    design = SamplingDesign(groups, strata, plan.draws.block_length, unit)
    size: Any = StableSamples() if plan.max_samples == "stable" else plan.max_samples
    if callable(size):
        units = np.arange(len(y)) if groups is None else groups
        n_units = len(np.unique(units if weight is None else units[weight > 0]))
        if isinstance(size, StableSamples):
            check_stability(plan, scheme, weight, groups is not None, n_units, unit)
            size = size(n_units, problem.X.shape[1], bootstrap=scheme.bootstrap)
            if scheme.bootstrap == "bernoulli" and groups is None:
                size = size / n_units  # of the rows of positive weight, the probability
        else:
            size = counted("max_samples", size, n_units, problem.X.shape[1])
    return scheme_of_rows(scheme, len(y), size, weight, design)


def check_stability(
    plan: BaggingPlan,
    scheme: type[SamplingScheme],
    weight: np.ndarray | None,
    is_grouped: bool,
    n_units: int,
    unit: str,
) -> None:
    """Refuse draws for which no size is known to be stable."""
    if scheme.bootstrap not in LAWS_BY_ROWS or (
        not is_grouped and weight is not None and len(np.unique(weight[weight > 0])) > 1
    ):
        raise ValueError(
            f"max_samples='stable' requires one of bootstrap={list(LAWS_BY_ROWS)} and rows "
            f"of equal weight; got bootstrap={scheme.bootstrap!r}"
            f"{'' if weight is None else ' and weights'}."
        )
    if weighs_by_all_rows(plan.class_weight):
        raise ValueError(
            "max_samples='stable' requires class_weight to be no function of all rows, as "
            "'balanced' is; give the weights as a dict."
        )
    if n_units < 2:
        raise ValueError(f"max_samples='stable' requires at least 2 {unit}, got {n_units}.")


def weighted_by_class(plan: BaggingPlan, problem: BaggingProblem) -> np.ndarray:
    given, y, sample_weight = plan.class_weight, problem.y, problem.weight
    if isinstance(given, str):
        weight = balanced_weights(y, sample_weight)
    else:
        # A dict for each output; the weights of a row are multiplied over its outputs.
        classes: Any = problem.target["classes_"]
        outputs = classes if isinstance(classes, list) else [classes]
        codes = y.reshape(len(y), -1) - first_codes(outputs)
        given = given if isinstance(given, list) else [given]
        if len(given) != len(outputs):
            raise ValueError(
                f"class_weight has weights for {len(given)} outputs, and y has {len(outputs)} "
                "outputs; give a list with a dict for each of them."
            )
        by_output = [
            LabelTotals(labels, np.bincount(column)).factors(weights)[column]
            for weights, labels, column in zip(given, outputs, codes.T)
        ]
        weight = np.prod(by_output, axis=0)
    return weight if sample_weight is None else sample_weight * weight


# --- what the members share -----------------------------------------------------------------------


def can_be_binned(X, y: np.ndarray) -> bool:
    """Whether X is a dense array of numbers, and y one output."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and y.ndim == 1


def takes_bins(estimator: Predictor, X, y: np.ndarray) -> bool:
    """The same, where y may have several outputs if the tree in bins has them."""
    several = False
    if isinstance(estimator, BaseBinnedTree):
        several = y.ndim > 1 and takes_targets(estimator)
    if sp.issparse(X) and (isinstance(estimator, BaseBinnedTree) or is_tree(estimator)):
        X = np.empty(0, dtype=X.dtype)  # as the same array
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


@dataclass(frozen=True, kw_only=True)
class MemberSpec:
    """What all members of one fit share; it is sent to the workers.

    - estimator: the base learner, not fitted; None in a fitted ensemble, which only repeats draws.
    - scheme: the law of the rows' weights; `RowsInChunks` where it stayed with the rows.
    - max_features: columns drawn for each member; None for all of them, in their order.
    - bootstrap_features: columns are drawn with replacement.
    - random_states: the parameters, as `random_state_names` returns them, that are drawn from the
      member's seed; None where the seed is the `random_state`, as for the trees of a forest.
    - balanced: all classes weigh the same among the rows of a member.
    - frames: members are fitted to data frames, as the user gave them.
    - checked: X has been through `member_input`, so that a tree need not check it again.
    - weighted: the base learner's `fit` accepts `sample_weight`.
    - plain: no parameter of the base learner is an estimator or changed by a fit, so that a shallow
      copy is as good as a clone, at a twentieth of the time.
    - prepared: what fits members on columns that are prepared once, where the base learner has it.
    - out_of_bag: the method that predicts the rows left out; None if no predictions are needed.
    - n_classes: 0 for regression.
    - n_outputs: columns of y.
    - empty: what a member without rows predicts: the "mean" of y, or "zero", the first class.
    - fit_params: metadata for the base learner's `fit`.
    - offset: subtracted from y before trees are grown (see `trees._sklearn_trees.target_offset`).
    - honest: share of the rows drawn that are in the leaves of a tree, which the others grow; 0
      where all of them are both.
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
    n_outputs: int = 1
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


def balanced_weights(codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Weights that give all classes the same total; for several outputs their product."""
    product = np.ones(len(codes))
    for column in codes.reshape(len(codes), -1).T:
        totals = np.bincount(column, weights=weights).astype(float)
        occurs = totals > 0
        share = np.divide(
            totals.sum(), occurs.sum() * totals, out=np.zeros_like(totals), where=occurs
        )
        product *= share[column]
    return product


def prepared(
    plan: BaggingPlan, problem: BaggingProblem, scheme: SamplingScheme, largest: int = 0
) -> tuple[Any, MemberSpec, Any, np.ndarray]:
    """(the learner, what members share, X, y); bins are chosen by `largest`, the largest block."""
    learner, X, y, target = plan.learner, problem.X, problem.y, problem.target
    if plan.dense and sp.issparse(X) and np.prod(X.shape) <= MOST_DENSE_VALUES:
        X = X.toarray()
    if not plan.is_binned:
        n_rows = max(largest, X.shape[0])
        learner = with_bins(
            learner, X, y, plan.max_bins, random_cuts=plan.random_cuts, n_rows=n_rows
        )
    if not problem.routed:
        learner = told_apart(learner, X, y, plan.random_cuts)
    is_real, n_features = "classes_" not in target, X.shape[1]
    if reads_single_precision(learner):
        check_constraints(learner)
        check_counts(learner, y)
    # Columns are binned, or converted to single precision, once for all members.
    columns, checked = None, False
    if not problem.routed and (plan.is_binned or takes_bins(learner, X, y)):
        columns = prepare_members(learner, X, scheme.sample_weight, plan.n_jobs)
    if columns is None and not isinstance(learner, BaseBinnedTree):
        X, checked = member_input(learner, X)
    if columns is not None and is_real:
        y = y.astype(np.float64, copy=False)
    plain = columns is not None or is_tree(learner)
    own = clone(learner) if plain else learner
    weighted = columns is not None or takes_sample_weight(learner)
    max_features = plan.max_features
    if max_features is not None:
        if not isinstance(max_features, Integral):  # a share of them
            max_features = max(1, int(max_features * n_features))
        max_features = int(max_features)
        if max_features > n_features:
            raise ValueError(f"max_features={max_features} must be <= n_features={n_features}.")
    if plan.counts_of_all_rows:
        for name, least in [("min_samples_split", 2), ("min_samples_leaf", 1)]:
            fraction = getattr(own, name)
            if not isinstance(fraction, Integral):
                own.set_params(**{name: max(least, math.ceil(fraction * scheme.n_samples))})
    spec = MemberSpec(
        estimator=own,
        scheme=scheme,
        n_features=n_features,
        max_features=max_features,
        bootstrap_features=plan.bootstrap_features,
        random_states=None if plan.max_features is None else random_state_names(own),
        balanced=plan.balanced,
        frames=problem.frames,
        checked=checked,
        weighted=weighted,
        plain=plain,
        prepared=columns,
        out_of_bag=plan.method if plan.oob_score else None,
        n_classes=int(np.sum(target.get("n_classes_", 0))),
        n_outputs=target.get("n_outputs_", 1),
        empty=plan.draws.empty,
        fit_params=problem.routed,
        offset=target_offset(learner, y) if is_real else 0.0,
        honest=plan.honest,
    )
    if not weighted and not scheme.draws_counts:
        raise ValueError(
            f"bootstrap={scheme.bootstrap!r} draws weights that are not integers, or rows with "
            f"weights of their own, and {type(own).__name__}.fit does not accept "
            "sample_weight; use for instance bootstrap=True, without groups and sample_weight "
            "together."
        )
    if plan.oob_score and not scheme.leaves_rows_out:
        raise ValueError(
            "Out of bag estimation only available if bootstrap=True or some rows are not drawn "
            f"otherwise; with bootstrap={scheme.bootstrap!r} and max_samples="
            f"{plan.max_samples} every member is fitted to every row."
        )
    return learner, spec, X, y


# --- one member -----------------------------------------------------------------------------------


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
    return [fit_member(spec, X, y, seed) for seed in seeds]


def fit_member(spec: MemberSpec, X, y: np.ndarray, seed: int) -> tuple:
    """The member, its features, and (rows, predictions) of the rows left out, or None."""
    # Its own random states begin with its seed, and so, anew, does the draw of its rows.
    member = copy(spec.estimator) if spec.plain else clone(spec.estimator)
    if spec.random_states is None:
        member.random_state = int(seed)
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
            except ValueError as error:
                # A small draw may hold rows of one class by chance; a member that refuses them then
                # predicts that class. What a tree refuses is X.
                refused = spec.n_classes > 1 and refuses_one_class(error, y_rows)
                if not refused or reads_single_precision(member):
                    if y_rows.ndim > 1 and not takes_columns(member):
                        raise one_column_only(member, y_rows.shape[1]) from error
                    raise
                member = DummyClassifier(strategy="prior").fit(X_rows, y_rows)
    if in_leaves is not None:
        rows, weights = in_leaves
        y_rows = y[rows] - spec.offset if is_far else y[rows]
        X_rows = read_by(member, rows_of(X, rows))
        estimate_leaves(member, X_rows, y_rows, spec.fit_weights(weights, y[rows]))
    if is_far:
        add_to_outputs(member, spec.offset)
    return member, features, outside_predictions(spec, member, X, drawn, features)


def member_without_rows(spec: MemberSpec, y: np.ndarray, n_features: int) -> BaseEstimator:
    """What stands for a draw of no rows: a constant, as `spec.empty` says."""
    zero: Any = 0 if y.ndim == 1 else np.zeros(y.shape[1])
    if y.ndim > 1 and spec.n_classes:  # the first code of each output
        zero = y.min(axis=0)
    given = {"strategy": "constant", "constant": zero}
    if spec.n_classes:
        dummy = DummyClassifier(**({"strategy": "prior"} if spec.empty == "mean" else given))
    else:
        dummy = DummyRegressor(**({} if spec.empty == "mean" else given))
    return dummy.fit(np.zeros((len(y), n_features)), y, spec.scheme.sample_weight)


def outside_predictions(
    spec: MemberSpec, member: BaseEstimator, X, rows: np.ndarray, features: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """The rows that a member is not fitted to, and its predictions; None if none are needed."""
    if spec.out_of_bag is None:
        return None
    outside = np.flatnonzero(spec.scheme.is_outside(rows))
    if not len(outside):
        return None
    X_outside, checked = rows_of(X, outside), spec.checked
    if spec.prepared is not None and len(rows):
        X_outside, checked = member_input(member, X_outside, [member])
    predictions = member_predictions(
        member,
        spec.out_of_bag,
        X_outside,
        features=None if spec.all_features else features,
        n_classes=spec.n_classes,
        n_outputs=spec.n_outputs,
        checked=checked,
    )
    return outside, predictions


# --- all members ----------------------------------------------------------------------------------


@dataclass(kw_only=True)
class BagFit:
    """A fit under way; iterated, it fits a member at each step."""

    learner: Any
    spec: MemberSpec
    X: Any
    y: np.ndarray
    target: dict
    seeds: np.ndarray
    n_jobs: int | None
    is_fresh: bool
    before: Bag | None
    rows: TrainingRows | None
    share_of_copies: float
    is_mixed: bool
    out_of_bag: OutOfBag | None
    members: list = field(default_factory=list)
    features: list[np.ndarray] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.seeds)

    def __iter__(self) -> Iterator[None]:
        # Members come in the order of their seeds, whichever worker is first: an ensemble that is
        # ended early is the beginning of the whole one.
        for member, columns, outside in fit_members(
            self.spec, self.X, self.y, self.seeds, self.n_jobs
        ):
            self.members.append(member)
            # Equal columns are kept once.
            is_one = self.spec.max_features is None and self.features
            self.features.append(self.features[0] if is_one else columns)
            if self.out_of_bag is not None:
                self.out_of_bag.add(outside)
            yield

    def bag(self) -> Bag:
        """All members so far, those of the fit before first, and the rows."""
        members, features, seeds = self.members, self.features, self.seeds
        if self.before is not None:
            members, features = self.before.members + members, self.before.features + features
            seeds = np.concatenate([self.before.seeds, seeds])
        # Columns in bins are freed before the rows are kept.
        spec = self.spec = self.spec.without_data()
        rows: Any = self.rows or TrainingRows.of(
            self.learner,
            self.X,
            self.y,
            self.is_fresh,
            reads_double(members),
            self.share_of_copies,
        )
        if self.is_mixed:
            rows, spec = RowsOfSeveralFits(rows), replace(spec, scheme=RowsOfSeveralFits())
        return Bag(
            learner=self.learner,
            members=members,
            features=features,
            seeds=seeds[: len(members)].astype(int),  # the fit may have been ended early
            spec=spec,
            rows=rows,
            target=self.target,
            out_of_bag=self.out_of_bag,
        )


def begin(plan: BaggingPlan, problem: BaggingProblem, before: Bag | None = None) -> BagFit:
    """All of a fit but its members; errors name the parameter."""
    scheme = sampling_scheme(plan, problem)
    if before is not None:
        check_same_groups(before.spec.scheme, scheme)
    learner, spec, X, y = prepared(plan, problem, scheme)
    if plan.by_column and spec.prepared is None and not spec.all_features:
        raise ValueError(
            "max_features must be 1.0 if the base learner has categorical features or "
            "interaction_cst and parameters are passed to its fit."
        )
    if not spec.checked and spec.prepared is None and reads_single_precision(learner):
        check_single_precision(X)  # rows that no member draws may be far ones
    is_fresh = spec.checked and not np.may_share_memory(X, problem.X)
    target, classes = problem.target, problem.target.get("classes_")
    del problem

    # Groups hold copies together, and no rows are judged where every member has all of them.
    is_judged = scheme.unit_of_row is None and np.isfinite(scheme.jackknife_scale)
    copied = share_of_copies(X, y) if is_judged else 0.0
    if copied and plan.oob_score:
        warn_of_share(copied, "out of bag")
    n_members, n_known = plan.n_members(len(y), spec.n_features), 0
    rows, same_rows, is_mixed = None, True, False
    if before is not None:
        in_double = reads_double(before.members) or getattr(spec.prepared, "reads_double", False)
        rows = TrainingRows.of(learner, X, y, is_fresh, in_double, copied)
        n_known = len(before.members)
        same_rows, is_mixed = continued(before, spec, rows, n_members)
        if n_members > n_known or plan.oob_score:
            check_same_targets(before.target, target)
    out_of_bag = None
    if plan.oob_score and (n_members > n_known or not (before and before.has_score)):
        score = out_of_bag_score(plan.oob_score, y, classes, plan.ties)
        out_of_bag = out_of_bag_of(before, spec, X, y, score, classes is None, same_rows)
    seeds = plan.draw_seeds(n_members)
    if before is not None:
        seeds[:n_known] = before.seeds
    return BagFit(
        learner=learner,
        spec=spec,
        X=X,
        y=y,
        target=target,
        seeds=scheme.seeds_of_members(seeds)[n_known:],
        n_jobs=plan.n_jobs,
        is_fresh=is_fresh,
        before=before,
        rows=rows,
        is_mixed=is_mixed,
        out_of_bag=out_of_bag,
        share_of_copies=copied,
    )


# --- warm starts ----------------------------------------------------------------------------------


def continued(
    before: Bag, spec: MemberSpec, rows: TrainingRows, n_members: int
) -> tuple[bool, bool]:
    """(whether the rows are those of the fit before, whether members have different laws).

    The known members are kept, and their seeds repeat their draws if all draws were made in one
    way.
    """
    kept = before.rows
    if isinstance(kept, RowsOfSeveralFits):
        kept = kept.rows
    same_rows = not isinstance(kept, TrainingRows) or rows.are_those_of(kept)  # as far as is known
    is_mixed = isinstance(before.spec.scheme, RowsOfSeveralFits)
    is_mixed = is_mixed or not (same_rows and spec.draws_as(before.spec))
    if n_members < len(before.members):
        raise ValueError(
            f"n_estimators={n_members} must be larger or equal to "
            f"len(estimators_)={len(before.members)} when warm_start==True"
        )
    return same_rows, is_mixed


def check_same_groups(before: SamplingScheme | RowsInChunks, now: SamplingScheme) -> None:
    if isinstance(before, RowsOfSeveralFits):
        return
    one, other = before.unit_of_row, now.unit_of_row
    either = one is not None or other is not None
    if either and (one is None or other is None or not np.array_equal(one, other)):
        raise ValueError(
            "groups must be the same as in the previous fit with warm_start=True, or None in both."
        )


def check_same_targets(before: dict, target: dict) -> None:
    """Refuse other classes, or another number of outputs, than those of the previous fit."""
    n_before, n_now = before.get("n_outputs_", 1), target.get("n_outputs_", 1)
    if n_before != n_now:
        raise ValueError(
            f"y must have as many columns as in the previous fit with warm_start=True, "
            f"{n_before}, got {n_now}."
        )
    known, now = before.get("classes_", []), target.get("classes_", [])
    if not isinstance(now, list):
        known, now = [known], [now]
    if not all(map(np.array_equal, known, now)):
        raise ValueError(
            "y must have the classes of the previous fit with warm_start=True, "
            f"{[list(each) for each in known]}, got {[list(each) for each in now]}."
        )


def out_of_bag_of(
    known: Bag | None,
    spec: MemberSpec,
    X: Any,
    y: np.ndarray,
    score: Score,
    is_real: bool,
    same_rows: bool = True,
) -> OutOfBag:
    """The out-of-bag estimates by the known members, to which others can be added."""
    if known is not None:
        sums = known.out_of_bag
        n_samples = known.spec.scheme.n_samples if sums is None else len(sums.n_predictions)
        if n_samples != len(y) or not same_rows:
            raise ValueError(
                "oob_score requires the out-of-bag predictions of all members, but those of "
                f"the previous fit were fitted to {n_samples} other rows. Use "
                "warm_start=False."
            )
        if sums is not None:
            return sums.continued(score)
    columns = y.shape[1:] if is_real else (spec.n_classes,)
    # Sums of targets near the largest float are taken in units of a power of two.
    out_of_bag = OutOfBag((len(y), *columns), score, range_exponent(y) if is_real else 0)
    if known is not None:  # the previous fit was one without oob_score
        for member, features, seed in zip(known.members, known.features, known.seeds):
            rows = known.spec.indices(seed)[1]
            out_of_bag.add(outside_predictions(spec, member, X, rows, features))
    return out_of_bag


# --- rows in blocks -------------------------------------------------------------------------------


def members_of_block(
    block: LearnerBlock,
    plan: BaggingPlan,
    seeds: dict[int, np.ndarray],
    target: dict,
    largest: int,
) -> Bag:
    with naming_chunk(block.block):
        problem = BaggingProblem(
            X=block.X,
            y=recoded(block.y, block.target, target),
            target=target,
            weight=block.weight,
            frames=takes_frames(block.X, plan.learner, plan.bootstrap_features),
        )
        scheme = sampling_scheme(plan, problem)
        plan = replace(plan, learner=clone(plan.learner))
        learner, spec, X, y = prepared(plan, problem, scheme, largest)
        own = scheme.seeds_of_members(seeds[block.block])
        results = list(fit_members(spec, X, y, own, plan.n_jobs))
    return Bag(
        learner=learner,
        members=[found[0] for found in results],
        features=[found[1] for found in results],
        seeds=own,
        # The scheme has the weights and classes of all rows, which stay here.
        spec=replace(spec.without_data(), scheme=RowsInChunks()),
        rows=RowsInChunks(),
        target=target,
    )
