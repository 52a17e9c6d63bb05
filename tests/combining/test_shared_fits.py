"""A learner that is several candidates, or a part of them, is fitted once to the same rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)


class CountsFits(Ridge):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


def test_the_same_learner_is_fitted_once(data):
    X, y = data
    for pairs, n_learners in [
        ([("a", CountsFits(random_state=0)), ("b", CountsFits(random_state=0))], 1),
        ([("a", CountsFits(random_state=0)), ("b", CountsFits(2.0, random_state=0))], 2),
        ([("a", CountsFits()), ("b", CountsFits())], 2),  # may differ: random_state=None
        ([("a", shared := CountsFits()), ("b", shared)], 1),
    ]:
        CountsFits.fits = 0
        model = StackingRegressor(pairs, cv=3, final_estimator="simplex").fit(X, y)
        assert CountsFits.fits == 4 * n_learners
        clone(model)


def nested(kind):
    inner = [("a", CountsFits(random_state=0)), ("c", CountsFits(3.0, random_state=0))]
    if kind == "vote":
        return VotingRegressor(inner)
    return StackingRegressor(inner, cv=2, final_estimator="nnls")


@pytest.mark.parametrize(
    ("kind", "n_fits"),
    # Three learners, to all rows and to three splits; stacked members also to their own two splits.
    [("vote", 3 * 4), ("stack", 3 * 4 + 2 * 2 * 4)],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", [1, -1])
def test_a_member_of_a_nested_candidate_is_fitted_once(data, kind, n_fits, weighted, order):
    X, y = data
    w = np.random.default_rng(0).random(120) if weighted else None
    alone = [(name, CountsFits(alpha, random_state=0)) for name, alpha in [("a", 1.0), ("b", 2.0)]]
    pairs = [*alone, ("nested", nested(kind))][::order]
    CountsFits.fits = 0
    model = StackingRegressor(pairs, cv=3, final_estimator="simplex").fit(X, y, w)
    assert CountsFits.fits == n_fits
    inside = model.named_estimators_["nested"]
    assert inside.named_estimators_["a"] is model.named_estimators_["a"]
    expected = nested(kind).fit(X, y, w)
    np.testing.assert_array_equal(inside.predict(X), expected.predict(X))
    # Learners that are not the same one.
    other = [(name, Ridge(alpha)) for name, alpha in [("a", 1.0), ("b", 2.0)]]
    separate = StackingRegressor(
        [*other, ("nested", nested(kind))][::order], cv=3, final_estimator="simplex"
    )
    separate.fit(X, y, w)
    np.testing.assert_array_equal(
        model.cv_results_["mean_score"], separate.cv_results_["mean_score"]
    )


def test_members_of_votes_that_know_other_classes(iris):
    """A split without class 1 has other codes in the vote than alone: nothing is shared."""
    X, y = iris
    splits = [(np.flatnonzero(y != 1), np.flatnonzero(y == 1)), (np.arange(90), np.arange(90, 150))]
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    vote = VotingClassifier([("tree", clone(tree)), ("bayes", GaussianNB())], voting="soft")
    pairs = [("tree", tree), ("vote", vote)]
    model = StackingClassifier(pairs, cv=splits, final_estimator="simplex").fit(X, y)
    assert model.estimators_[1].estimators_[0] is model.estimators_[0]
    for j, (_, member) in enumerate(pairs):
        alone = StackingClassifier([("m", member)], cv=splits, final_estimator="simplex").fit(X, y)
        assert model.cv_results_["mean_score"][j] == pytest.approx(
            alone.cv_results_["mean_score"][0], rel=1e-12
        )
