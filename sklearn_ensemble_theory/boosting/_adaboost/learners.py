"""Weak learners of AdaBoost: what each algorithm fits under the weights, in margin coordinates.

AdaBoost's rows all have target +1 here: a learner's outputs psi are its margins, positive where the
row's own class is voted for. With K classes a vote is worth 1/(K-1) for the right class and
-1/(K-1)² for a wrong one, the values of SAMME's coding Y'g/K (Zhu et al. 2009); for K = 2 that is
+1 and -1.
"""

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._numerics.hot_loops import choose
from sklearn_ensemble_theory.boosting._core.risk import inner
from sklearn_ensemble_theory.erm._stumps.estimators import (
    ClassStumps,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
)

# Shares of a class below this count as this: log-odds stay within 4.6 of 0 however pure a side is.
SMALLEST_SHARE = 1e-4


def vote_values(n_classes):
    """Margin of a right vote and of a wrong one."""
    K = max(n_classes, 2)
    return 1.0 / (K - 1), -1.0 / (K - 1) ** 2


def half_log_odds(share):
    share = np.clip(share, SMALLEST_SHARE, 1 - SMALLEST_SHARE)
    return 0.5 * (np.log(share) - np.log1p(-share))


class LabelStumps:
    """Discrete AdaBoost over stumps: the least weighted 0-1 error, exactly."""

    is_exact = True

    def __init__(self, X, codes, classes, max_bins, sample_weight):
        self.classes, self.codes = classes, codes
        self.stumps = ClassStumps(X, codes, len(classes), max_bins, sample_weight)
        self.right, self.wrong = vote_values(len(classes))
        self.second = codes == 1

    def best(self, target, weight):
        split, left, right = self.stumps.best_labels(weight)
        on_left = self.stumps.index.is_left(split)
        if len(self.classes) == 2 and left != right:
            correct = np.equal(on_left, self.second if left else ~self.second)
        else:
            correct = np.where(on_left, self.codes == left, self.codes == right)
        psi = choose(correct, self.right, self.wrong)
        if len(self.classes) == 2:
            mass, moments = inner(weight, on_left), (split.left[0], split.right[0])
            whole = 0.5 * (1 + sum(moments))
            shares = [
                _two_shares(0.5 * (m + s) / m if m > 0 else whole)
                for m, s in zip((mass, 1.0 - mass), moments)
            ]
        else:
            sides = split.left, np.maximum(split.right, 0.0)
            shares = [s / s.sum() if s.sum() > 0 else sum(sides) for s in sides]
        stump = DecisionStumpClassifier._of_labels(
            self.classes,
            self.stumps.index.p,
            split,
            left,
            right,
            *shares,
            inner(weight, ~correct),
        )
        return stump, psi


def _two_shares(second):
    second = min(max(float(second), 0.0), 1.0)
    return np.array([1.0 - second, second])


class ConfidenceStumps:
    """Real AdaBoost over stumps: minimises Z, answers half the log-odds of each side.

    Gentle AdaBoost over stumps (`gentle=True`): least squares, answers the mean of -1 and +1.
    """

    is_exact = True

    def __init__(self, X, codes, max_bins, sample_weight, gentle):
        self.stumps = ClassStumps(X, codes, 2, max_bins, sample_weight)
        self.signs, self.gentle = 2.0 * codes - 1.0, gentle

    def best(self, target, weight):
        search = self.stumps.best_squares if self.gentle else self.stumps.best_confidences
        split, *sides = search(weight)
        values = []
        for minus, plus in sides:
            mass = minus + plus
            share = plus / mass if mass > 0 else 0.5
            values.append(2 * share - 1 if self.gentle else float(half_log_odds(share)))
        index = self.stumps.index
        stump = DecisionStumpRegressor._of_values(index.p, split, *values)
        outputs = choose(index.is_left(split), stump.left_value_, stump.right_value_)
        return stump, self.signs * outputs


class _Fitted:
    """Clones of any estimator, seeded and fitted under the round's weights."""

    is_exact = False

    def __init__(self, estimator, X, y, random_state, fit_params):
        self.estimator, self.X, self.y = estimator, X, y
        self.random_state, self.fit_params = check_random_state(random_state), fit_params

    def fitted(self, y, weight):
        member = seeded_clone(self.estimator, self.random_state)
        return member.fit(self.X, y, sample_weight=weight, **self.fit_params)


class LabelEstimators(_Fitted):
    """Discrete AdaBoost over any classifier."""

    def __init__(self, estimator, X, y, n_classes, random_state, fit_params):
        super().__init__(estimator, X, y, random_state, fit_params)
        self.right, self.wrong = vote_values(n_classes)

    def best(self, target, weight):
        member = self.fitted(self.y, weight)
        return member, np.where(member.predict(self.X) == self.y, self.right, self.wrong)


class ProbabilityEstimators(_Fitted):
    """Real AdaBoost over any classifier with probabilities (Friedman et al. 2000, algorithm 2)."""

    def __init__(self, estimator, X, y, codes, classes, random_state, fit_params):
        super().__init__(estimator, X, y, random_state, fit_params)
        self.signs, self.classes = 2.0 * codes - 1.0, classes

    def best(self, target, weight):
        member = self.fitted(self.y, weight)
        return member, self.signs * probability_score(member, self.X, self.classes)


class MeanEstimators(_Fitted):
    """Gentle AdaBoost over any regressor of -1 and +1 (Friedman et al. 2000, algorithm 4)."""

    def __init__(self, estimator, X, codes, random_state, fit_params):
        super().__init__(estimator, X, 2.0 * codes - 1.0, random_state, fit_params)

    def best(self, target, weight):
        member = self.fitted(self.y, weight)
        return member, self.y * member.predict(self.X)


def probability_score(member, X, classes):
    """Half the log-odds that a classifier gives to the second class."""
    proba = member.predict_proba(X)
    known = np.flatnonzero(member.classes_ == classes[1])
    return half_log_odds(proba[:, known[0]] if len(known) else np.zeros(len(proba)))


def seeded_clone(estimator, random_state):
    """A clone whose every `random_state` parameter is drawn from `random_state`."""
    member = clone(estimator)
    seeds = {
        name: random_state.randint(np.iinfo(np.int32).max)
        for name in sorted(member.get_params(deep=True))
        if name == "random_state" or name.endswith("__random_state")
    }
    return member.set_params(**seeds) if seeds else member
