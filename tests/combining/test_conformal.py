"""Intervals and sets of stacks and votes: held-out predictions by hand, and their coverage."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn_ensemble_theory.combining import BestMember, WeightedMean

from ..conformal import conformal_rank, end_of_groups, sets_by_loops

REGRESSORS = [
    ("line", LinearRegression()),
    ("tree", DecisionTreeRegressor(max_depth=4, random_state=0)),
]
CLASSIFIERS = [
    ("bayes", GaussianNB()),
    ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
]


def targets(n, rng):
    X = rng.random((n, 3))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] + 0.4 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def numbers():
    return targets(150, np.random.default_rng(0))


@pytest.fixture(scope="module")
def labels():
    X, y = make_classification(
        150, 4, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1,
        flip_y=0.3, random_state=0,
    )  # fmt: skip
    return X, np.array(["a", "b", "c"])[y], y


def held_out(members, X, y, splits, method):
    """Predictions (n, ...) for each member by loops over the splits, each row held out once."""
    found = []
    for _, member in members:
        parts = {}
        for train, test in splits:
            values = getattr(clone(member).fit(X[train], y[train]), method)(X[test])
            parts.update(zip(test, values))
        found.append(np.array([parts[i] for i in range(len(y))]))
    return found


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("weights", [None, "simplex", "nnls"])
def test_intervals_of_a_stack_by_loops(numbers, weights, passthrough):
    if weights and passthrough:
        return
    X, y = numbers
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))
    final = weights or Ridge(0.1)
    stack = StackingRegressor(
        REGRESSORS, final, cv=splits, passthrough=passthrough, held_out="cv"
    ).fit(X, y)
    plain = clone(stack).set_params(held_out=None).fit(X, y)
    np.testing.assert_array_equal(stack.predict(X), plain.predict(X))
    columns = np.column_stack(held_out(REGRESSORS, X, y, splits, "predict"))
    features = np.hstack([columns, X]) if passthrough else columns
    expected = np.empty(len(y))
    for train, test in splits:
        if weights is None:
            model = clone(final).fit(features[train], y[train])
            expected[test] = model.predict(features[test])
        else:  # the weights of a stack whose members are these columns
            fitted = StackingRegressor(
                [(str(j), Column(j).fit(columns, y)) for j in range(2)], weights, cv="prefit"
            ).fit(columns[train], y[train])  # fmt: skip
            expected[test] = columns[test] @ fitted.estimator_weights_
    np.testing.assert_allclose(stack.held_out_.predictions, expected, rtol=1e-6, atol=1e-8)
    new, residual = X[:20] + 0.01, y - stack.held_out_.predictions
    k, mean = conformal_rank(150, 0.8), stack.predict(new)
    half = np.sort(np.abs(residual))[k - 1]
    found = stack.predict_interval(new, 0.8)
    np.testing.assert_allclose(found, np.column_stack([mean - half, mean + half]))
    upper = stack.predict_interval(new, 0.8, side="upper")
    np.testing.assert_allclose(upper[:, 1], mean + np.sort(residual)[k - 1])
    assert np.isneginf(upper[:, 0]).all()
    lower = stack.predict_interval(new, 0.8, side="lower")
    np.testing.assert_allclose(lower[:, 0], mean + np.sort(residual)[-k])
    again = pickle.loads(pickle.dumps(stack))
    np.testing.assert_array_equal(again.predict_interval(new, 0.8), found)


class Column(LinearRegression):
    """Predicts a column of X."""

    def __init__(self, j=0):
        super().__init__()
        self.j = j

    def predict(self, X):
        return X[:, self.j]


@pytest.mark.parametrize("weights", [None, "simplex", "nnls", "best"])
def test_sets_of_a_stack_by_loops(labels, weights):
    X, y, codes = labels
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))
    stack = StackingClassifier(CLASSIFIERS, cv=splits, final_estimator=weights, held_out="cv").fit(
        X, y
    )
    proba = held_out(CLASSIFIERS, X, y, splits, "predict_proba")
    expected = np.empty((150, 3))
    for train, test in splits:
        if weights is None:
            features = np.hstack(proba)
            model = LogisticRegression().fit(features[train], y[train])
            expected[test] = model.predict_proba(features[test])
        else:
            # The other splits' rows alone: the same held-out predictions.
            rule = BestMember() if weights == "best" else WeightedMean(weights)
            P = np.stack(proba, axis=1)
            expected[test] = rule.fit(P[train], y[train]).predict_proba(P[test])
    np.testing.assert_allclose(stack.held_out_.predictions, expected, rtol=1e-5, atol=1e-7)
    new, zero = X[:20] + 0.01, np.zeros(150, dtype=int)
    own, at = stack.held_out_.predictions, stack.predict_proba(new)[:, None]
    for coverage, rule in (
        (0.8, {}),
        (0.8, {"method": "aps", "per_class": True}),
        (0.7, {"method": "raps", "randomized": True, "random_state": 1}),
    ):
        by_hand = sets_by_loops(own, codes, zero, None, at, coverage, **rule)
        np.testing.assert_array_equal(stack.predict_set(new, coverage, **rule), by_hand)


@pytest.mark.parametrize("weights", [None, [1, 3]])
def test_votes_by_loops(numbers, labels, weights):
    X, y = numbers
    splits = list(KFold(4).split(X))
    vote = VotingRegressor(REGRESSORS, weights=weights, held_out=splits).fit(X, y)
    plain = VotingRegressor(REGRESSORS, weights=weights).fit(X, y)
    np.testing.assert_array_equal(vote.predict(X), plain.predict(X))
    parts = held_out(REGRESSORS, X, y, splits, "predict")
    residual = np.abs(y - np.average(parts, axis=0, weights=weights))
    half = np.sort(residual)[conformal_rank(150, 0.8) - 1]
    np.testing.assert_allclose(np.diff(vote.predict_interval(X[:9], 0.8))[:, 0], 2 * half)
    # Weights are read when they are used.
    vote.weights = [1, 0]
    half = np.sort(np.abs(y - parts[0]))[conformal_rank(150, 0.8) - 1]
    np.testing.assert_allclose(np.diff(vote.predict_interval(X[:9], 0.8))[:, 0], 2 * half)

    X, y, codes = labels
    new, zero = X[:20] + 0.01, np.zeros(150, dtype=int)
    for voting in ("soft", "hard"):
        vote = VotingClassifier(CLASSIFIERS, voting=voting, weights=weights, held_out=splits).fit(
            X, y
        )
        plain = clone(vote).set_params(held_out=None).fit(X, y)
        np.testing.assert_array_equal(vote.predict(X), plain.predict(X))
        if voting == "soft":
            parts = held_out(CLASSIFIERS, X, y, splits, "predict_proba")
            at = vote.predict_proba(new)
        else:
            parts = [np.eye(3)[p] for p in held_out(CLASSIFIERS, X, codes, splits, "predict")]
            at = [np.eye(3)[member.predict(new)] for member in vote.estimators_]
            at = np.average(at, axis=0, weights=weights)
        own = np.average(parts, axis=0, weights=weights)
        expected = sets_by_loops(own, codes, zero, None, at[:, None], 0.8, "aps")
        np.testing.assert_array_equal(vote.predict_set(new, 0.8, method="aps"), expected)


def test_fitted_members(numbers, labels):
    """The rows of `fit` are new to them; the final estimator is learned by five folds."""
    X, y = numbers
    members = [(name, clone(m).fit(X[:60], y[:60])) for name, m in REGRESSORS]
    vote = VotingRegressor(members, held_out="prefit").fit(X[60:], y[60:])
    residual = np.sort(np.abs(y[60:] - vote.predict(X[60:])))
    found = np.diff(vote.predict_interval(X[:3], 0.8))[:, 0]
    np.testing.assert_allclose(found, 2 * residual[conformal_rank(90, 0.8) - 1])
    stack = StackingRegressor(members, Ridge(), cv="prefit", held_out="cv").fit(X[60:], y[60:])
    columns, expected = stack.transform(X[60:]), np.empty(90)
    for train, test in KFold(5).split(columns):
        expected[test] = Ridge().fit(columns[train], y[60:][train]).predict(columns[test])
    np.testing.assert_allclose(stack.held_out_.predictions, expected)
    X, y, _ = labels
    members = [(name, clone(m).fit(X[:60], y[:60])) for name, m in CLASSIFIERS]
    for voting in ("soft", "hard"):
        vote = VotingClassifier(members, voting=voting, held_out="prefit")
        sets = vote.fit(X[60:], y[60:]).predict_set(X[60:], 0.8, method="aps")
        assert sets[np.arange(90), vote.le_.transform(y[60:])].mean() >= 0.8
    stack = StackingClassifier(members, cv="prefit", held_out="cv").fit(X[60:], y[60:])
    assert stack.predict_set(X[60:], 0.8).shape == (90, 3)


def test_groups_repeats_and_rows_left_out(numbers):
    X, y = numbers
    groups = np.random.default_rng(0).permutation(np.arange(150) // 5)
    weight = np.where(groups == 3, 0.0, 2.0)
    stack = StackingRegressor(REGRESSORS, cv=5, held_out="cv").fit(X, y, weight, groups=groups)
    rows = stack.held_out_
    assert (len(rows.y), rows.groups.max()) == (145, 28)
    size = np.abs(rows.y - rows.predictions)
    half = end_of_groups(size, rows.groups, 0.8)
    np.testing.assert_allclose(np.diff(stack.predict_interval(X[:2], 0.8))[:, 0], 2 * half)
    # A row that is held out twice counts once: two predictions of half its share.
    repeated = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    for model in (
        StackingRegressor(REGRESSORS, cv=repeated, held_out="cv"),
        VotingRegressor(REGRESSORS, held_out=repeated),
    ):
        rows = model.fit(X, y).held_out_
        np.testing.assert_array_equal(np.bincount(rows.groups), np.full(150, 2))
        with pytest.warns(UserWarning, match="needs at least 166 groups of held-out rows"):
            assert np.isinf(model.predict_interval(X, 0.994)).all()
        assert np.isfinite(model.predict_interval(X, 0.99)).all()
    stack = StackingRegressor(
        REGRESSORS, cv=TimeSeriesSplit(4), final_estimator="nnls", held_out="cv"
    )
    assert len(stack.fit(X, y).held_out_.y) == 120


@pytest.mark.parametrize("unit", [1e-100, 1e140])
def test_units_of_y(numbers, unit):
    X, y = numbers
    lines = [("line", LinearRegression()), ("ridge", Ridge())]
    for model in (
        StackingRegressor(lines, final_estimator="simplex", held_out="cv"),
        VotingRegressor(lines, held_out=5),
    ):
        expected = clone(model).fit(X, y).predict_interval(X[:5])
        np.testing.assert_allclose(
            model.fit(X, unit * y).predict_interval(X[:5]) / unit, expected, rtol=1e-6
        )


def test_coverage():
    """A level off by 5 % would be noticed."""
    shares = []
    for r in range(18):
        rng = np.random.default_rng(r)
        X, y = targets(600, rng)
        codes = np.digitize(y, [0.5, 1.2])
        row = []
        for model in (
            StackingRegressor(REGRESSORS, Ridge(), held_out="cv"),
            StackingRegressor(REGRESSORS, final_estimator="simplex", held_out="cv"),
            VotingRegressor(REGRESSORS, held_out=5),
        ):
            low, high = model.fit(X[:100], y[:100]).predict_interval(X[100:], 0.8).T
            row.append(np.mean((low <= y[100:]) & (y[100:] <= high)))
        for model in (
            StackingClassifier(CLASSIFIERS, held_out="cv"),
            VotingClassifier(CLASSIFIERS, voting="soft", held_out=5),
        ):
            model.fit(X[:100], codes[:100])
            for method in ("lac", "aps"):
                sets = model.predict_set(
                    X[100:], 0.8, method=method, randomized=True, random_state=r
                )
                row.append(sets[np.arange(500), codes[100:]].mean())
        shares.append(row)
    mean = np.mean(shares, axis=0)
    np.testing.assert_allclose(mean, 0.8, atol=0.035)


def test_coverage_of_fitted_members_is_exact():
    """Rows that are new to the members: 17 of 20 + 1 ranks, and with random numbers 0.8."""
    rng = np.random.default_rng(0)
    X, y = targets(60, rng)
    members = [(name, clone(member).fit(X, y)) for name, member in REGRESSORS]
    mean = VotingRegressor(members, held_out="prefit")
    fitted = [(name, clone(member).fit(X, y > 1)) for name, member in CLASSIFIERS]
    vote = VotingClassifier(fitted, voting="soft", held_out="prefit")
    hits = []
    for r in range(250):
        X, y = targets(60, rng)
        low, high = mean.fit(X[:20], y[:20]).predict_interval(X[20:], 0.8).T
        codes = (y > 1).astype(int)
        if len(np.unique(codes[:20])) < 2:
            continue
        sets = vote.fit(X[:20], codes[:20] == 1).predict_set(
            X[20:], 0.8, method="aps", randomized=True, random_state=r
        )
        own = sets[np.arange(40), codes[20:]]
        hits.append([np.mean((low <= y[20:]) & (y[20:] <= high)), own.mean()])
    np.testing.assert_allclose(np.mean(hits, axis=0), [17 / 21, 0.8], atol=0.02)


def test_what_is_refused(numbers, labels):
    X, y = numbers
    for model, advice in [
        (StackingRegressor(REGRESSORS), 'set held_out="cv"'),
        (VotingRegressor(REGRESSORS), "set held_out=5, a splitter"),
    ]:
        model.fit(X, y)
        assert not hasattr(model, "predict_interval")
        assert not hasattr(model, "held_out_")
        with pytest.raises(AttributeError, match="has no attribute 'predict_interval'") as info:
            model.predict_interval(X)
        assert advice in str(info.value.__cause__)
        with pytest.raises(ValueError, match="fitted with held_out=None; fit it again"):
            model.set_params(held_out="cv" if "Stack" in str(model) else 5).predict_interval(X)
    for model in (StackingClassifier(CLASSIFIERS), VotingClassifier(CLASSIFIERS)):
        assert not hasattr(model, "predict_set")
    stack = StackingRegressor(REGRESSORS, held_out="cv")
    for model in (stack, VotingRegressor(REGRESSORS, held_out=3)):
        with pytest.raises(ValueError, match="require a single output; y had 2"):
            model.fit(X, np.column_stack([y, y])).predict_interval(X)
        model.fit(X, y, np.full(len(y), 3.0))
        with pytest.raises(ValueError, match="coverage must be"):
            model.predict_interval(X, 1)
        with pytest.raises(ValueError, match="method must be"):
            model.predict_interval(X, method="cv+")
        with pytest.raises(ValueError, match="side must be"):
            model.predict_interval(X, side="left")
        with pytest.warns(UserWarning, match=r"coverage=0\.995 needs at least 199 held-out rows"):
            assert np.isinf(model.predict_interval(X, 0.995)).all()
    with pytest.raises(ValueError, match="splits hold out different rows"):
        stack.set_params(cv=[(np.arange(100), np.arange(100, 150))]).fit(X, y)
    with pytest.raises(NotFittedError):
        VotingRegressor(REGRESSORS, held_out="prefit").fit(X, y)
    for model in (StackingRegressor(REGRESSORS, held_out=5), VotingRegressor(REGRESSORS)):
        with pytest.raises(ValueError, match="held_out"):
            model.set_params(held_out={5} if model.held_out is None else 5).fit(X, y)
    X, y, _ = labels
    with pytest.raises(ValueError, match="final_estimator with predict_proba, which RidgeCl"):
        StackingClassifier(CLASSIFIERS, RidgeClassifier(), held_out="cv").fit(X, y)
    vote = VotingClassifier(CLASSIFIERS, held_out=ShuffleSplit(3, random_state=0)).fit(X, y)
    with pytest.raises(ValueError, match="method must be"):
        vote.predict_set(X, method="score")
