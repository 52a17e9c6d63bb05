"""Votes and means: what goes beyond scikit-learn's classes, and the bounds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import (
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn_ensemble_theory.bounds import (
    cross_validation_oracle_bound,
    voting_generalization_bound,
    voting_vc_dimension_bound,
)


def members(seed=0):
    return [
        ("bayes", GaussianNB()),
        ("tree", DecisionTreeClassifier(max_depth=2, random_state=seed)),
        ("stump", DecisionStumpClassifier()),
    ]


@pytest.fixture
def iris():
    X, codes = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).standard_normal(X.shape)
    return X, np.array(["a", "b", "c"])[codes]


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", [None, [1, 2, 0.5]])
def test_prefit_equals_fit(iris, voting, weights):
    X, y = iris
    fitted = [(name, member.fit(X, y)) for name, member in members()]
    expected = VotingClassifier(members(), voting=voting, weights=weights).fit(X, y)
    model = VotingClassifier(fitted, voting=voting, weights=weights, held_out="prefit").fit(
        X[:5], y[::30]
    )
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    np.testing.assert_allclose(model.transform(X), expected.transform(X))
    assert model.estimators_ == [member for _, member in fitted]


def test_prefit_member_of_fewer_classes(iris):
    X, y = iris
    two = y != "b"
    fitted = [("two", GaussianNB().fit(X[two], y[two])), ("all", GaussianNB().fit(X, y))]
    model = VotingClassifier(fitted, voting="soft", held_out="prefit").fit(X, y)
    assert (model.predict_proba(X)[:, 1] <= 0.5).all()
    hard = model.set_params(voting="hard")
    assert set(hard.predict(X)) <= set("abc")
    with pytest.raises(ValueError, match=r"\['b'\] of the fitted member 'all'"):
        model.fit(X[two], y[two])


def test_votes_by_hand():
    """Ties go to the first class; weights are read at prediction."""
    X = np.zeros((2, 1))
    constant = [
        (f"m{k}", KNeighborsClassifier(1).fit(X, [label] * 2)) for k, label in enumerate("cbb")
    ]
    vote = VotingClassifier(constant, held_out="prefit").fit(X, ["b", "c"])
    assert set(vote.predict(X)) == {"b"}
    assert set(vote.set_params(weights=[3, 1, 1]).predict(X)) == {"c"}
    assert set(vote.set_params(weights=[2, 1, 1]).predict(X)) == {"b"}


@pytest.mark.parametrize("bad", [[1, np.nan, 1], [0, 0, 0], [1, -1, 0]])
def test_bad_weights(iris, bad):
    with pytest.raises(ValueError, match="weights must be finite"):
        VotingClassifier(members(), weights=bad).fit(*iris)


def test_rows_of_weight_zero_are_left_out(iris):
    X, y = iris
    w = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = VotingClassifier(members(), voting="soft").fit(frame, pd.Series(y), w)
    repeated = VotingClassifier(members(), voting="soft")
    repeated.fit(np.repeat(X, w.astype(int), axis=0), np.repeat(y, w.astype(int)))
    np.testing.assert_allclose(
        model.predict_proba(frame), repeated.predict_proba(X), rtol=1e-6, atol=1e-9
    )


def test_several_outputs():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    Y = X[:, :2] + 0.1 * rng.standard_normal((60, 2))
    pairs = [("linear", LinearRegression()), ("near", KNeighborsRegressor(3))]
    model = VotingRegressor(pairs, weights=[1, 3]).fit(X, Y)
    parts = [member.fit(X, Y).predict(X) for _, member in pairs]
    np.testing.assert_allclose(model.predict(X), (parts[0] + 3 * parts[1]) / 4)
    np.testing.assert_allclose(model.transform(X), np.hstack(parts))
    names = model.get_feature_names_out()
    assert list(names) == [f"votingregressor_{m}{k}" for m in ("linear", "near") for k in (0, 1)]


def test_an_error_names_the_member(iris):
    X, y = iris
    broken = [("good", GaussianNB()), ("bad", KNeighborsClassifier(-3))]
    with pytest.raises(ValueError) as info:
        VotingClassifier(broken).fit(X, y)
    assert "'bad'" in "".join(info.value.__notes__)
    with pytest.raises(TypeError, match=r"KNeighborsClassifier does not support.*'bad'"):
        VotingClassifier([("bad", KNeighborsClassifier())]).fit(X, y, np.ones(len(y)))


def test_names_of_members():
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    stump = DecisionStumpRegressor()
    for pairs, message in [
        ([("a", stump), ("a", stump)], "not unique"),
        ([("weights", stump)], "conflict with constructor"),
        ([("a__b", stump)], "must not contain __"),
        ([("a", LogisticRegression())], "should be a regressor"),
    ]:
        with pytest.raises(ValueError, match=message):
            VotingRegressor(pairs).fit(X, y)


# The bounds


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", [None, [1, 3, 2]])
def test_error_bound_is_twice_the_mean_error(iris, voting, weights):
    X, y = iris
    model = VotingClassifier(members(), voting=voting, weights=weights).fit(X, y)
    share = np.average(
        [
            m.predict_proba(X) if voting == "soft" else np.eye(3)[m.predict(X)]
            for m in model.estimators_
        ],
        axis=0,
        weights=weights,
    )
    codes = np.searchsorted(model.classes_, y)
    gibbs = 1 - share[np.arange(len(y)), codes].mean()
    assert model.error_bound(X, y) == pytest.approx(2 * gibbs)
    assert 1 - model.score(X, y) <= model.error_bound(X, y)
    with_delta = model.error_bound(X, y, delta=0.1)
    assert with_delta == pytest.approx(2 * (gibbs + np.sqrt(np.log(10) / 2 / len(y))))


def test_error_bound_with_probability():
    """On new rows of a known distribution it fails with probability at most delta."""
    rng = np.random.default_rng(0)
    # Three thresholds of one uniform feature with 10 % of the labels turned.
    grid = np.linspace(0, 1, 2001)[:, None]
    cuts = [0.3, 0.5, 0.6]
    labels = [(grid[:, 0] > cut).astype(int) for cut in cuts]
    fitted = [
        (f"m{k}", DecisionStumpClassifier().fit(grid, label)) for k, label in enumerate(labels)
    ]
    vote = VotingClassifier(fitted, held_out="prefit").fit([[0.0], [1.0]], [0, 1])
    truth = 0.1  # the vote is the threshold 0.5 itself
    mean_error = 0.1 + 0.8 * (0.2 + 0.0 + 0.1) / 3
    missed = []
    for _ in range(300):
        X = rng.random((50, 1))
        y = (X[:, 0] > 0.5).astype(int) ^ (rng.random(50) < 0.1)
        bound = vote.error_bound(X, y, delta=0.2)
        assert bound >= truth
        missed.append(bound < 2 * mean_error)
    assert np.mean(missed) <= 0.2


def test_vc_dimension_of_votes():
    # One class: its own dimension. The definition, by whole numbers.
    from math import comb, prod

    for dimensions in ([1], [7], [1, 1, 1], [3, 3, 3], [2, 5, 9, 1]):
        bound = voting_vc_dimension_bound(dimensions)
        n = np.arange(1, 3 * bound + 10)
        holds = [
            prod(sum(comb(int(m), i) for i in range(d + 1)) for d in dimensions) >= 2 ** int(m)
            for m in n
        ]
        assert bound == n[holds].max()
    # O(d T log2(d T)) with a constant of at most 2.
    for d, n_members in [(1, 3), (3, 11), (10, 31)]:
        size = d * n_members
        assert voting_vc_dimension_bound([d] * n_members) <= 2 * size * np.log2(2 * size)
    for bad in ([], [0], [1.5], "a"):
        with pytest.raises(ValueError, match="vc_dimensions"):
            voting_vc_dimension_bound(bad)


def test_vc_error_bound_holds():
    """Thresholds have VC dimension 1; the error of a vote of them is known."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.random((400, 1))
        y = (X[:, 0] > 0.5).astype(int) ^ (rng.random(400) < 0.2)
        fitted = [
            ("stump", DecisionStumpClassifier()),
            ("tree", DecisionTreeClassifier(max_depth=1)),
        ]
        vote = VotingClassifier(fitted).fit(X, y)
        bound = vote.error_bound(X, y, delta=0.05, method="vc", vc_dimensions=1)
        gap = voting_generalization_bound(400, [1, 1], 0.05)
        assert bound == pytest.approx(1 - vote.score(X, y) + gap)
        grid = np.linspace(0, 1, 1001)[:, None]
        error = 0.2 + 0.6 * np.mean(vote.predict(grid) != (grid[:, 0] > 0.5))
        assert error <= bound
    for given in ({"delta": 0.05}, {"vc_dimensions": 1}, {"delta": 0.05, "vc_dimensions": [1] * 3}):
        with pytest.raises(ValueError, match='method="vc" needs'):
            vote.error_bound(X, y, method="vc", **given)
    with pytest.raises(ValueError, match='voting="hard"'):
        vote.set_params(voting="soft").error_bound(X, y, delta=0.05, method="vc", vc_dimensions=1)


def test_bound_of_one_threshold_by_hand():
    # Phi_1(N) = N + 1.
    expected = 2 * np.sqrt(2 * (2 * np.log(2001) + np.log(2 / 0.1)) / 1000)
    assert voting_generalization_bound(1000, [1, 1], 0.1) == pytest.approx(expected)


@pytest.mark.parametrize("n_folds", [1, 4])
def test_cross_validation_oracle_bound_holds(n_folds):
    """Bernoulli losses with known risks: the excess risk of the chosen candidate."""
    rng = np.random.default_rng(0)
    m, n, delta = 8, 60, 0.3
    sizes = [n // n_folds] * n_folds
    bound = cross_validation_oracle_bound(m, sizes, delta)
    excess = []
    for _ in range(2000):
        risks = rng.uniform(0.3, 0.7, m)
        chosen = np.argmin((rng.random((n, m)) < risks).mean(axis=0))
        excess.append(risks[chosen] - risks.min())
    assert np.mean(np.array(excess) > bound) <= delta
    if n_folds == 1:
        assert bound == pytest.approx(np.sqrt(2 * (np.log(m) + np.log(1 / delta)) / n))
    assert cross_validation_oracle_bound(1, sizes) == 0
    assert cross_validation_oracle_bound(m, sizes, delta, 5.0) == pytest.approx(5 * bound)


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_weights_that_change_after_the_fit_belong_to_the_members_of_the_fit(voting):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 2))
    y = (X[:, 0] + rng.standard_normal(90) > 0).astype(int)
    members = [
        ("a", LogisticRegression()),
        ("b", DecisionTreeClassifier(max_depth=3, random_state=0)),
        ("c", GaussianNB()),
    ]
    vote = VotingClassifier(members, voting=voting, weights=[1, 2, 5]).fit(X, y)
    labels, bound = vote.predict(X), vote.error_bound(X, y, delta=0.1, method="first-order")
    vote.set_params(b="drop")
    np.testing.assert_array_equal(vote.predict(X), labels)
    assert vote.error_bound(X, y, delta=0.1, method="first-order") == bound
    for weights, message in [
        ([1, 2], "got 2 weights, 3 estimators"),
        ([1, 2, 3, 4], "got 4 weights, 3 estimators"),
        ([1, np.nan, 1], "weights must be finite"),
        ([0, 0, 0], "positive, got"),
        (["a", 1, 1], "weights must be numbers"),
        ("tandem", "are learned by fit"),
    ]:
        with pytest.raises((ValueError, NotFittedError), match=message):
            vote.set_params(weights=weights).predict(X)
    dropped = VotingClassifier(members, voting=voting, weights=[1, 2, 5]).set_params(b="drop")
    dropped.fit(X, y).set_params(b=members[1][1], weights=[5, 9, 1])
    other = VotingClassifier(members[::2], voting=voting, weights=[5, 1]).fit(X, y)
    np.testing.assert_array_equal(dropped.predict(X), other.predict(X))
