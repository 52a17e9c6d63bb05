"""Weak learners of all ensembles: an estimator's fast path, or clones fitted in each round.

`weak_learner` takes the estimator's fast path (`_learners.prepare_rounds`), or else clones: there
is a class of them for each kind of task, in `CLONES`.
"""

from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._compat import check_constraints, check_method_params, safe_indexing
from sklearn_ensemble_theory._features import Features
from sklearn_ensemble_theory._learners import (
    BinnedTree,
    ClassTask,
    Estimator,
    LeastSquaresTask,
    PreparedRounds,
    SignTask,
    Task,
    grows_leaves,
    half_log_odds,
    is_tree,
    numbers_of,
    outputs_have_scale,
    predictions_of,
    prepare_rounds,
    probabilities_of,
    takes_weights,
    without_weights,
)
from sklearn_ensemble_theory._rows import check_single_precision
from sklearn_ensemble_theory._running import random_state_names
from sklearn_ensemble_theory._typing import TreeLearner
from sklearn_ensemble_theory.trees._columns import scikit_learn_merges
from sklearn_ensemble_theory.trees._isotonic import monotonic_values
from sklearn_ensemble_theory.trees._ranks import RankedRows, columns_for
from sklearn_ensemble_theory.trees._sklearn_trees import (
    check_counts,
    grow_unchecked,
    on_grid,
    single_precision,
)
from sklearn_ensemble_theory.trees._tree_arrays import member_nodes
from sklearn_ensemble_theory.trees._weak_learners import category_flags, drawn_rows


def weak_learner(
    estimator: Estimator,
    X: Any,
    sample_weight: np.ndarray | None,
    task: Task,
    fit_params: dict | None = None,
) -> PreparedRounds:
    """The fastest learner that does what fitting `estimator` in each round does.

    With more than one score, `best` takes a target of shape (n, K) and returns a list of K members
    and their outputs of shape (n, K). A ValueError if there is no fast path for a task that has no
    clones.

    - X: validated. For trees and a task with a risk it holds what a tree stores, numbers of single
      precision, and no `fit` or `predict` of a tree checks it again.
    - sample_weight: as the user gave it: a ridge penalty must not depend on how the risk normalises
      weights.
    - fit_params: passed to every `fit`; clones are used where there are any.
    """
    rounds = None if fit_params else prepare_rounds(estimator, X, sample_weight, task)
    if rounds is None:
        return clone_learner(estimator, X, sample_weight, task, fit_params)
    if getattr(task, "n_scores", 1) == 1 or getattr(rounds, "takes_columns", False):
        return rounds
    return MemberPerScore(rounds)


def clone_learner(
    estimator: Estimator,
    X: Any,
    sample_weight: np.ndarray | None,
    task: Task,
    fit_params: dict | None = None,
    resample: bool = False,
) -> PreparedRounds:
    """A learner that fits clones of the estimator, whether or not it has a fast path."""
    if type(task) not in CLONES:
        raise ValueError(
            f"estimator: {type(estimator).__name__} has no search that minimises the risk jointly "
            "over the learner and its coefficient."
        )
    if is_tree(estimator):
        check_single_precision(X)
    kind = CLONES[type(task)]
    # A tree of ours has the methods of scikit-learn's.
    if grows_leaves(estimator) and getattr(task, "risk", None) is not None:
        kind = TreeClones
    return kind(estimator, X, sample_weight, task, fit_params, resample)


class MemberPerScore:
    """Prepared rounds for several scores: a member for each column of the target."""

    def __init__(self, rounds: PreparedRounds) -> None:
        self.rounds = rounds
        self.is_exact, self.has_scale = rounds.is_exact, rounds.has_scale

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[list, np.ndarray] | None:
        # The members of a round belong together: where one score has none, boosting ends.
        weights = weight.T if weight.ndim == 2 else [weight] * target.shape[1]
        found = [self.rounds.best(column, w, scores) for column, w in zip(target.T, weights)]
        members = [one[0] for one in found if one is not None]
        outputs = [one[1] for one in found if one is not None]
        return (members, np.column_stack(outputs)) if len(members) == len(found) else None


# --- clones --------------------------------------------------------------------------------------


class Clones:
    """Clones of an estimator, seeded and fitted in each round; subclasses have `best`.

    The task's `random_state` seeds the clones, and draws rows. With `resample` classifiers, and
    regressors of labels, are fitted to n rows drawn with replacement by the weights of the round,
    instead of under these weights.
    """

    is_exact = False

    def __init__(
        self,
        estimator: Estimator,
        X: Any,
        sample_weight: np.ndarray | None,
        task: Any,
        fit_params: dict | None = None,
        resample: bool = False,
    ) -> None:
        self.estimator, self.X, self.sample_weight = estimator, X, sample_weight
        self.task, self.fit_params, self.resample = task, fit_params or {}, resample
        self.random_state = check_random_state(task.random_state)
        self.has_scale = outputs_have_scale(estimator)
        self.ranks = None
        if not self.fit_params and is_tree(estimator) and isinstance(X, np.ndarray):
            check_constraints(estimator)
            self.ranks = columns_for(estimator, X)

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        raise NotImplementedError

    def fitted(self, rows: Any, y: np.ndarray, **options: Any) -> Any:
        """A new clone, fitted to some of the rows, or to all of them (None)."""
        return self.fit(seeded_clone(self.estimator, self.random_state), rows, y, options)

    def fit(self, member: Any, rows: Any, y: np.ndarray, options: dict) -> Any:
        if self.ranks is not None:
            X = RankedRows(self.ranks, rows if isinstance(rows, np.ndarray) else None)
            grow_unchecked(member, X, y, options.get("sample_weight"))
            return member
        X = self.X if rows is None else safe_indexing(self.X, rows)
        member.fit(X, y, **{**self.fit_params, **options})
        return member  # a user's `fit` may return nothing

    def fitted_under(self, weight: np.ndarray, y: np.ndarray) -> Any:
        """A new clone, fitted to all rows under weights, or to rows drawn by them."""
        if not self.resample:
            return self.fitted(None, y, sample_weight=weight)
        n = len(weight)
        rows = np.sort(self.random_state.choice(n, n, p=weight / weight.sum()))
        X, y = self.X[rows], y[rows]
        if is_classifier(self.estimator) and np.all(y == y[0]):  # few classifiers accept one class
            return DummyClassifier(strategy="most_frequent").fit(X, y)
        member = seeded_clone(self.estimator, self.random_state)
        member.fit(X, y, **check_method_params(self.X, self.fit_params, indices=rows))
        return member


class RegressorClones(Clones):
    """Regressors of real targets, one for each column of the target."""

    # The rows that the last round was fitted to, where they are drawn.
    rows: np.ndarray | None = None

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        n, rows = self.X.shape[0], None
        n_drawn = self.task.n_drawn(n)
        if n_drawn < n:
            rows = self.rows = drawn_rows(self.random_state, n, n_drawn)
        reweighted = self.task.reweighted
        given = weight if reweighted else self.sample_weight
        if target.ndim == 1:
            return self.fit_one(target, given, scores, rows, None)
        found = []
        for k in range(target.shape[1]):
            own = weight[:, k] if reweighted else given
            found.append(self.fit_one(target[:, k], own, scores, rows, k))
        return [member for member, _ in found], np.column_stack([psi for _, psi in found])

    def fit_one(
        self,
        target: np.ndarray,
        weight: np.ndarray | None,
        scores: Any,
        rows: np.ndarray | None,
        k: int | None,
    ) -> tuple[Any, np.ndarray]:
        """One member and its outputs on all rows; `k` is the column of several scores."""
        member = self.fitted_to(target, weight, rows)
        return member, numbers_of(member.predict(self.X), member, self.X).astype(float)

    def fitted_to(
        self, target: np.ndarray, weight: np.ndarray | None, rows: np.ndarray | None, **options: Any
    ) -> Any:
        """A clone fitted to the drawn rows, or to all of them (None)."""
        if rows is not None:
            target = target[rows]
            options |= check_method_params(self.X, self.fit_params, indices=rows)
        if weight is not None:
            options["sample_weight"] = weight if rows is None else weight[rows]
        return self.fitted(rows, target, **options)


class TreeClones(RegressorClones):
    """Trees, whose leaf values are re-optimised for the risk (Friedman 2001)."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        if is_tree(self.estimator) or sp.issparse(self.X) or not scikit_learn_merges(self.X):
            self.X = single_precision(self.X)
        # Without its check of X a tree does not look for missing values.
        checks = sp.issparse(self.X) or not np.isfinite(np.sum(self.X))
        self.checked = {} if checks else {"check_input": False}

    def fitted(self, rows: Any, y: np.ndarray, **options: Any) -> Any:
        if self.task.shares_generator:
            member = clone(self.estimator).set_params(random_state=self.random_state)
        else:
            member = seeded_clone(self.estimator, self.random_state)
        if self.task.min_weight_leaf and getattr(member, "min_weight_leaf", None) is None:
            # scikit-learn's parameter is a share, of the weights of this round.
            weight = options.get("sample_weight")
            total = len(y) if weight is None else float(weight.sum())
            share = self.task.min_weight_leaf / total
            if share > 0.5:
                member.min_samples_split = len(y) + 1
            elif share > member.min_weight_fraction_leaf:
                member.min_weight_fraction_leaf = share
        return self.fit(member, rows, y, options)

    def fit_one(
        self,
        target: np.ndarray,
        weight: np.ndarray | None,
        scores: Any,
        rows: np.ndarray | None,
        k: int | None,
    ) -> tuple[Any, np.ndarray]:
        # Under weights that are no integers, sums are not exact on any grid.
        target = target if self.task.reweighted else on_grid(target)
        check_counts(cast(TreeLearner, self.estimator), target)
        member = self.fitted_to(target, weight, rows, **self.checked)
        leaf = member.apply(self.X, check_input=False)
        values = member.tree_.value[:, 0, 0]
        if self.task.exact_leaves and self.task.reweighted:
            new = self.task.risk.minimising_values(scores, leaf, len(values))
        elif self.task.reoptimise_leaves:
            new = self.task.risk.leaf_values(scores, target, leaf, len(values), rows, k)
        elif self.task.reweighted:
            new = self.task.risk.lowering_values(scores, target, weight, leaf, values, rows, k)
        else:
            return member, values.take(leaf)
        if getattr(self.estimator, "monotonic_cst", None) is not None:
            new = self.in_order(member, new)
        values = np.where(member.tree_.children_left < 0, new, values)
        member.tree_.value[:, 0, 0] = values
        return member, values.take(leaf)

    def in_order(self, member: Any, values: np.ndarray) -> np.ndarray:
        """The values of leaves, moved so that the tree is monotonic."""
        signs = Features(self.X.shape[1]).signs(getattr(self.estimator, "monotonic_cst", None))
        if signs is None:
            return values
        (nodes,) = member_nodes([member])  # type: ignore[misc]
        return monotonic_values(values, member.tree_.weighted_n_node_samples, nodes, signs)


class SignClones(Clones):
    """Classifiers of the signs of the targets under the weights |target|: outputs -1 and +1."""

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        signs = np.where(target > 0, 1, -1)
        mass = weight * np.abs(target)
        rows = np.flatnonzero(mass > 0)
        if len(np.unique(signs[rows])) < 2:
            member = DummyClassifier(strategy="most_frequent").fit(self.X, signs)
        else:
            mass = mass[rows] / mass[rows].mean()
            member = self.fitted(rows, signs[rows], sample_weight=mass)
        return member, numbers_of(member.predict(self.X), member, self.X).astype(float)


class ClassClones(Clones):
    """Members of AdaBoost under the weights of the round; outputs are margins (see `ClassTask`)."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.y, self.signs = self.task.classes.take(self.task.codes), self.task.signs
        takes_categories = isinstance(self.estimator, BinnedTree)
        flags = category_flags(self.estimator, self.X.shape[1]) if takes_categories else None
        self.counts_rows = flags is not None

    def best(
        self, target: Any, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray]:
        task = self.task
        if self.counts_rows:  # `cat_smooth` does, and the weights sum to 1
            weight = weight / weight.mean()
        if task.criterion == "least_squares":  # gentle: regressors of -1 and +1
            member = self.fitted_under(weight, self.signs)
            return member, self.signs * numbers_of(member.predict(self.X), member, self.X)
        member = self.fitted_under(weight, self.y)
        if task.criterion == "log_odds":  # real: classifiers with probabilities
            return member, self.signs * probability_score(member, self.X, task.classes)
        right, wrong = task.vote_values
        return member, np.where(predictions_of(member, self.X) == self.y, right, wrong)


CLONES: dict[type, type[Clones]] = {
    LeastSquaresTask: RegressorClones,
    SignTask: SignClones,
    ClassTask: ClassClones,
}


def probability_score(member: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """Half the log-odds that a classifier gives to the second class."""
    proba = probabilities_of(member, X)
    known = np.flatnonzero(np.unique(member.classes_) == classes[-1])
    return half_log_odds(proba[:, known[0]] if len(known) else np.zeros(len(proba)))


def seeded_clone(estimator: Estimator, random_state: np.random.RandomState) -> Any:
    """A clone whose every `random_state` parameter is drawn from `random_state`."""
    member: Any = clone(estimator)
    largest = np.iinfo(np.int32).max
    seeds = {name: random_state.randint(largest) for name in random_state_names(member)}
    return member.set_params(**seeds) if seeds else member


def check_takes_weights(
    estimator: Estimator, parameter: str, because: str = "sample_weight"
) -> None:
    """Raise a ValueError where an estimator's `fit` takes no `sample_weight`."""
    if not takes_weights(estimator):
        raise ValueError(f"{because}: {parameter}={without_weights(estimator)}")
