"""One member of a bagged ensemble: drawing its rows, fitting it, asking it.

These functions run inside the workers. Nothing here depends on how the members are spread over
them: a member is known by its seed, and `member_blocks` cuts the ensemble in the same places for
any number of jobs, so sums of floating-point numbers come out the same to the last bit.
"""

import itertools
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import has_fit_parameter

from sklearn_ensemble_theory._compat import check_method_params, routing_enabled, safe_indexing
from sklearn_ensemble_theory.averaging._bagging.sampling import Resampling

MAX_SEED = np.iinfo(np.int32).max
# At most so many tasks a prediction: more would cost more to hand out than they save.
MAX_BLOCKS = 64
# Learners that release the interpreter lock and take input that needs no further check. A subclass
# may have changed `fit`, so it is treated as any other learner.


def random_state_names(estimator):
    """Its `random_state` parameters, nested ones too, in a fixed order."""
    names = sorted(estimator.get_params(deep=True))
    return [n for n in names if n == "random_state" or n.endswith("__random_state")]


def takes_sample_weight(estimator):
    if routing_enabled():
        return bool(get_routing_for_object(estimator).consumes("fit", ("sample_weight",)))
    return has_fit_parameter(estimator, "sample_weight")


def balanced_weights(codes, weights, n_classes):
    """Weights of the rows that give every class that occurs the same total."""
    totals = np.bincount(codes, weights=weights, minlength=n_classes)
    with np.errstate(divide="ignore"):
        return (totals.sum() / (n_classes * totals))[codes]


@dataclass(frozen=True)
class Plan:
    """What all members of one fit share; it travels to the workers."""

    estimator: object
    resampling: Resampling
    n_features: int
    max_features: int
    bootstrap_features: bool
    random_states: list  # see `random_state_names`
    # A forest's trees take the member's seed as their own, and all features.
    forest: bool = False
    # class_weight="balanced_subsample": the bag's classes get equal total weight.
    balance_classes: bool = False
    # Whether X went through `tree_input`, so that a tree need not check it again.
    checked: bool = False
    weighted: bool = False
    out_of_bag: str | None = None  # the method asked on the rows left out
    n_classes: int | None = None
    fit_params: dict = field(default_factory=dict)

    @property
    def all_features(self):
        return not self.bootstrap_features and self.max_features == self.n_features

    def features(self, rng):
        if self.forest:
            return np.arange(self.n_features)
        if self.bootstrap_features:
            return rng.randint(0, self.n_features, self.max_features)
        return sample_without_replacement(self.n_features, self.max_features, random_state=rng)

    def member(self, seed):
        member = clone(self.estimator)
        if self.forest:
            member.set_params(random_state=seed)
        elif self.random_states:
            rng = check_random_state(seed)
            member.set_params(**{name: rng.randint(MAX_SEED) for name in self.random_states})
        return member

    def draw(self, seed):
        """(features, rows, weights) of the member with this seed."""
        rng = check_random_state(seed)
        features = self.features(rng)
        return features, *self.resampling.draw(rng)

    def indices(self, seed):
        """(features, rows as drawn, repeated as often as drawn)."""
        rng = check_random_state(seed)
        features = self.features(rng)
        if self.resampling.scheme == "bayesian" or not self.resampling.draws_counts:
            return features, self.resampling.draw(rng)[0]
        return features, self.resampling.indices(rng)


def fit_member(plan, X, y, seed):
    """Fit one member; also ask it about the rows that it has not seen, where that is wanted.

    A learner that takes weights gets the distinct rows with their weights, s' <= s of them; one
    that does not gets its rows as drawn. Rows of weight 0 reach neither.
    """
    member = plan.member(seed)
    if plan.weighted:
        features, rows, weights = plan.draw(seed)
    else:
        features, rows = plan.indices(seed)
        weights = None
    params = check_method_params(X, params=plan.fit_params, indices=rows)
    y_rows = safe_indexing(y, rows)
    if plan.balance_classes:
        weights = weights * balanced_weights(y_rows, weights, plan.n_classes)
    if weights is not None and not (weights == 1).all():
        params["sample_weight"] = weights
    if plan.checked:
        params["check_input"] = False
    X_rows = safe_indexing(X, rows)
    if not plan.all_features:
        X_rows = X_rows[:, features]
    with np.errstate(all="ignore"):  # the base learner's arithmetic warns nobody
        try:
            member.fit(X_rows, y_rows, **params)
        except ValueError:
            # Many classifiers refuse rows of one class, which a small bag may hold by chance. What
            # such rows say is that class.
            if (plan.n_classes or 1) == 1 or (y_rows != y_rows[0]).any():
                raise
            member = DummyClassifier(strategy="prior").fit(X_rows, y_rows)
    if plan.out_of_bag is None:
        return member, features, None
    outside = np.ones(X.shape[0], dtype=bool)
    outside[rows] = False
    outside = np.flatnonzero(outside)
    if not len(outside):
        return member, features, None
    answer = ask(
        member,
        plan.out_of_bag,
        safe_indexing(X, outside),
        features=None if plan.all_features else features,
        n_classes=plan.n_classes,
        checked=plan.checked,
    )
    return member, features, (outside, answer)


def ask(member, method, X, *, features=None, n_classes=None, checked=False, params=None):
    """A member's answer on all classes of the ensemble, of shape (n,) or (n, n_outputs).

    `method` is a method of the member, or "vote": one for the class that it predicts.
    """
    if features is not None:
        X = X[:, features]
    params = dict(params or {})
    if checked:
        params["check_input"] = False
    with np.errstate(all="ignore"):
        if method == "vote":
            chosen = np.asarray(member.predict(X, **params), dtype=np.intp)
            return (chosen[:, None] == np.arange(n_classes)).astype(float)
        # Trees have no `check_input` here: their logarithm is of the probabilities below.
        if checked and method == "predict_log_proba":
            return np.log(ask(member, "predict_proba", X, n_classes=n_classes, checked=True))
        answer = getattr(member, method)(X, **params)
        if method in ("predict_proba", "predict_log_proba") and answer.shape[1] != n_classes:
            # A bag may miss a class; the member gives it probability 0.
            full = np.full((len(answer), n_classes), 0.0 if method == "predict_proba" else -np.inf)
            full[:, np.asarray(member.classes_, dtype=np.intp)] = answer
            answer = full
    return answer


def member_blocks(n_members):
    """Slices that cut the ensemble into at most MAX_BLOCKS parts, whatever n_jobs is."""
    bounds = np.linspace(0, n_members, min(n_members, MAX_BLOCKS) + 1).astype(int)
    return [slice(a, b) for a, b in itertools.pairwise(bounds)]


def sum_answers(members, features, method, X, **kwargs):
    """The sum of the members' answers, in their order; logarithms are summed as probabilities."""
    add = np.logaddexp if method == "predict_log_proba" else np.add
    total = None
    for member, columns in zip(members, features):
        answer = ask(member, method, X, features=columns, **kwargs)
        total = answer if total is None else add(total, answer)
    return total
