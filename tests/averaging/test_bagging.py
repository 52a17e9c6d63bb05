"""Bagging against explicit loops, and what its attributes document."""

import numpy as np
import pytest
import sklearn
import sklearn.ensemble
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.averaging import PACMembers

BEFORE_1_9 = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)
needs_callbacks = pytest.mark.skipif(BEFORE_1_9, reason="scikit-learn has callbacks since 1.9")


class Recorder(RegressorMixin, BaseEstimator):
    """Stores the data of `fit`; accepts weights."""

    def fit(self, X, y, sample_weight=None):
        self.X_, self.y_, self.weight_ = X, y, sample_weight
        return self

    def predict(self, X):
        return np.zeros(len(X))


class RowsOnly(Recorder):
    """The same without weights."""

    def fit(self, X, y):
        return super().fit(X, y)


# ------------------------------------------------------------------- data of the base learner


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("max_samples", [10, 0.8])
def test_weights_are_probabilities_and_reach_the_learner_as_counts(routing, max_samples):
    """Replaces scikit-learn's test of the same, where learners get rows of weight 0."""
    X, y = np.arange(100.0).reshape(-1, 1), np.repeat([0.0, 1.0], 50)
    weight = np.zeros(100)
    weight[[4, 5]] = [4, 8]
    size = 10 if max_samples == 10 else int(0.8 * weight.sum())
    warns = size < 10
    with config_context(enable_metadata_routing=routing):
        learner = Recorder()
        if routing:
            learner.set_fit_request(sample_weight=True)
        bag = BaggingRegressor(learner, 4, max_samples=max_samples, random_state=0)
        if warns:
            with pytest.warns(UserWarning, match="low number"):
                bag.fit(X, y, sample_weight=weight)
        else:
            bag.fit(X, y, sample_weight=weight)
    for member, rows in zip(bag.estimators_, bag.estimators_samples_):
        assert len(rows) == size
        assert set(rows) <= {4, 5}
        distinct, counts = np.unique(rows, return_counts=True)
        np.testing.assert_array_equal(member.X_[:, 0], distinct)
        np.testing.assert_array_equal(member.weight_, counts)


def test_learner_without_weights_sees_rows_as_often_as_drawn(regression):
    X, y = regression
    for scheme in (True, False, "bernoulli", "poisson"):
        bag = BaggingRegressor(RowsOnly(), 3, bootstrap=scheme, max_samples=0.5, random_state=0)
        for member, rows in zip(bag.fit(X, y).estimators_, bag.estimators_samples_):
            np.testing.assert_array_equal(member.X_, X[rows])
            np.testing.assert_array_equal(member.y_, y[rows])


def test_rows_of_weight_zero_are_left_out(regression):
    X, y = regression
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    for scheme in (True, "bernoulli", "bayesian", "poisson"):
        bag = BaggingRegressor(Recorder(), 3, bootstrap=scheme, random_state=0)
        for member in bag.fit(X, y, sample_weight=weight).estimators_:
            assert np.isin(member.y_, y[weight > 0]).all()
            assert member.weight_ is None or (member.weight_ > 0).all()
            assert len(np.unique(member.X_, axis=0)) == len(member.X_)


def test_real_weights_need_a_learner_that_takes_them(regression):
    X, y = regression
    bag = BaggingRegressor(KNeighborsRegressor(), bootstrap="bayesian")
    with pytest.raises(ValueError, match=r"KNeighborsRegressor\.fit does not accept sample_weight"):
        bag.fit(X, y)
    assert not hasattr(bag, "estimators_")
    bag = BaggingRegressor(KNeighborsRegressor(), bootstrap="bernoulli")
    with pytest.raises(ValueError, match="bootstrap='bernoulli'"):
        bag.fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize("scheme", [True, False, "bernoulli", "bayesian", "poisson"])
def test_prediction_is_the_mean_of_an_explicit_loop(regression, scheme):
    X, y = regression
    bag = BaggingRegressor(
        LinearRegression(), 6, bootstrap=scheme, max_samples=0.7, max_features=4, random_state=1
    ).fit(X, y)
    total = np.zeros(len(y))
    for seed, features in zip(bag.ensemble_.seeds, bag.estimators_features_):
        columns, rows, v = bag.ensemble_.draws.draw(seed)
        np.testing.assert_array_equal(columns, features)
        member = LinearRegression().fit(X[rows][:, columns], y[rows], sample_weight=v)
        total += member.predict(X[:, columns])
    np.testing.assert_allclose(bag.predict(X), total / 6)


def test_members_may_be_stopped_by_their_bag_holding_one_class():
    X, y = np.arange(8.0).reshape(-1, 1), np.array([0, 0, 0, 0, 0, 0, 0, 1])
    bag = BaggingClassifier(
        LogisticRegression(), 20, max_samples=3, bootstrap=False, random_state=0
    )
    proba = bag.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    one_class = [len(np.unique(y[rows])) == 1 for rows in bag.estimators_samples_]
    assert any(one_class)
    assert not all(one_class)
    with pytest.raises(ValueError, match="decision_function cannot be averaged"):
        bag.decision_function(X)
    with pytest.raises(ValueError, match="NaN"):  # errors of the base learner are raised
        bag.fit(np.where(X == 7, np.nan, X), y)


# ---------------------------------------------------------------------------------- classifiers


def test_soft_and_hard_voting(classification):
    X, y = classification
    for learner in (GaussianNB(), DecisionTreeClassifier(max_depth=3), LinearSVC()):
        soft = BaggingClassifier(learner, 7, random_state=0).fit(X, y)
        hard = BaggingClassifier(learner, 7, voting="hard", random_state=0).fit(X, y)
        votes = np.stack([member.predict(X) for member in hard.estimators_])
        shares = (votes[:, :, None] == np.arange(3)).mean(axis=0)
        np.testing.assert_allclose(hard.predict_proba(X), shares)
        np.testing.assert_array_equal(hard.predict(X), shares.argmax(axis=1))
        if hasattr(learner, "predict_proba"):
            mean = np.mean([member.predict_proba(X) for member in soft.estimators_], axis=0)
        else:
            mean = shares
        np.testing.assert_allclose(soft.predict_proba(X), mean)
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(soft.predict_log_proba(X), np.log(mean), atol=1e-9)


@pytest.mark.slow
def test_majority_vote_errs_at_most_twice_as_often_as_a_member():
    """P(vote = a) <= 2 P(member = a), step 3.1 in the proof of [Ghoshdastidar, theorem En.1]."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 1))
    x, wrong = np.array([[0.1]]), 0
    single = vote = 0
    for seed in range(40):
        y = (rng.random(200) < np.where(X[:, 0] > 0, 0.8, 0.2)).astype(int)
        bag = BaggingClassifier(
            KNeighborsClassifier(1), 9, voting="hard", max_samples=0.2, random_state=seed
        ).fit(X, y)
        single += np.mean([member.predict(x)[0] == wrong for member in bag.estimators_])
        vote += bag.predict(x)[0] == wrong
    assert vote <= 2 * single
    assert vote < single  # and in fact the vote helps


def test_decision_function_exists_where_the_learner_has_one(classification):
    X, y = classification
    bag = BaggingClassifier(LinearSVC(), 3, random_state=0).fit(X, y)
    mean = np.mean([member.decision_function(X) for member in bag.estimators_], axis=0)
    np.testing.assert_allclose(bag.decision_function(X), mean)
    assert not hasattr(BaggingClassifier(GaussianNB()), "decision_function")


def test_tiny_probabilities_keep_their_logarithms():
    X = np.r_[np.random.default_rng(0).normal(0, 1, 40), 1e3 + np.arange(40)].reshape(-1, 1)
    y = np.repeat([0, 1], 40)
    bag = BaggingClassifier(GaussianNB(), 3, random_state=0).fit(X, y)
    log_proba = bag.predict_log_proba([[1e4]])
    assert -np.inf < log_proba[0, 0] < -700


# ------------------------------------------------------------------------------- other properties


def test_number_of_members_of_theorem_en3(classification):
    X, y = classification
    bag = BaggingClassifier(GaussianNB(), PACMembers(0.1), random_state=0).fit(X, y)
    assert len(bag) == np.ceil(18 * np.log(2 * len(y) / 0.1))


def test_feature_importances_are_a_mean_over_members(regression):
    X, y = regression
    bag = BaggingRegressor(n_estimators=6, max_features=3, random_state=0).fit(X, y)
    mean = np.zeros(X.shape[1])
    for member, columns in zip(bag.estimators_, bag.estimators_features_):
        mean[columns] += member.feature_importances_ / 6
    np.testing.assert_allclose(bag.feature_importances_, mean)
    assert not hasattr(BaggingRegressor(LinearRegression()).fit(X, y), "feature_importances_")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"max_features": 0.4, "min_samples_leaf": 0.03, "min_samples_split": 0.1},
        {"max_samples": 0.5},
        {"bootstrap": False, "max_features": 2},
        {"criterion": "absolute_error", "max_depth": 3},
    ],
)
def test_forest_regressor_is_scikit_learns(regression, params, weighted):
    X, y = regression
    weight = np.random.default_rng(0).integers(0, 3, len(y)) if weighted else None
    if weighted and BEFORE_1_9:
        pytest.skip("weights became probabilities of rows in scikit-learn's forests later")
    ours = RandomForestRegressor(8, random_state=1, **params).fit(X, y, weight)
    theirs = sklearn.ensemble.RandomForestRegressor(8, random_state=1, **params).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_)
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))
    paths, pointers = ours.decision_path(X)
    expected, expected_pointers = theirs.decision_path(X)
    np.testing.assert_array_equal(paths.toarray(), expected.toarray())
    np.testing.assert_array_equal(pointers, expected_pointers)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"class_weight": "balanced_subsample"},
        {"class_weight": "balanced", "bootstrap": False},
        {"class_weight": {0: 1, 1: 5, 2: 0.2}, "bootstrap": False},
    ],
)
def test_forest_classifier_is_scikit_learns(classification, params):
    X, y = classification
    ours = RandomForestClassifier(8, random_state=1, **params).fit(X, y)
    theirs = sklearn.ensemble.RandomForestClassifier(8, random_state=1, **params).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)


@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
def test_trees_take_missing_values_and_several_outputs(regression):
    X, y = regression
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    Y = np.column_stack([y, -y])
    for cls in (BaggingRegressor, RandomForestRegressor):
        model = cls(n_estimators=20, oob_score=True, random_state=0).fit(X, Y)
        prediction = model.predict(X)
        assert prediction.shape == Y.shape
        assert r2_score(Y, prediction) > 0.8
        assert model.oob_prediction_.shape == Y.shape
        assert model.standard_error(X[:4]).shape == (4, 2)


def test_metadata_is_routed_to_the_members(regression):
    X, y = regression

    class Routed(RowsOnly):
        def fit(self, X, y, group=None):
            self.group_ = group
            return super().fit(X, y)

    with config_context(enable_metadata_routing=True):
        learner = Routed().set_fit_request(group=True)
        bag = BaggingRegressor(learner, 3, random_state=0).fit(X, y, group=np.arange(len(y)))
        for member, rows in zip(bag.estimators_, bag.estimators_samples_):
            np.testing.assert_array_equal(member.group_, rows)
    with pytest.raises(ValueError, match="group"):
        BaggingRegressor(Routed()).fit(X, y, group=np.arange(len(y)))


def test_progress_is_printed(regression, capsys):
    X, y = regression
    BaggingRegressor(n_estimators=3, verbose=2, random_state=0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "BaggingRegressor: 3/3 members" in lines[-1]
    BaggingRegressor(n_estimators=3, random_state=0).fit(X, y)
    assert capsys.readouterr().out == ""


@needs_callbacks
def test_callbacks_see_every_member_and_may_stop(regression):
    from sklearn.callback import ScoringMonitor

    X, y = regression
    monitor = ScoringMonitor(scoring="r2")
    whole = BaggingRegressor(n_estimators=4, random_state=0).set_callbacks(monitor).fit(X, y)
    scores = [entry["r2"] for entry in monitor.get_logs().data]
    assert len(scores) >= 4
    assert scores[-1] == pytest.approx(whole.score(X, y))

    class StopAfterTwo:
        seen = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            if context.task_name == "member":
                self.seen += 1
            return self.seen >= 2

    short = BaggingRegressor(n_estimators=50, random_state=0).set_callbacks(StopAfterTwo())
    assert len(short.fit(X, y)) == 2
    expected = BaggingRegressor(n_estimators=2, random_state=0).fit(X, y)
    assert len(expected) == 2
    assert np.isfinite(short.predict(X)).all()


class Odd(ClassifierMixin, BaseEstimator):
    """A classifier whose labels come back as floats."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), float(self.classes_[0]))


def test_votes_of_a_classifier_with_plain_predictions(classification):
    X, y = classification
    proba = BaggingClassifier(Odd(), 3, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(proba[:, 0], 1)


@pytest.mark.parametrize(
    ("params", "weight", "message"),
    [
        ({"max_features": 50}, None, "max_features=50 must be <= n_features=10"),
        (
            {"bootstrap": False, "max_samples": 500},
            None,
            "max_samples=500 must be <= n_samples=120",
        ),
        ({"bootstrap": "bernoulli", "max_samples": 500}, None, "max_samples=500"),
        ({}, np.zeros(120), "[Ss]ample.weight"),
        ({}, -np.ones(120), "weight"),
    ],
)
def test_what_does_not_fit_the_data_is_named(regression, params, weight, message):
    X, y = regression
    bag = BaggingRegressor(**params)
    with pytest.raises(ValueError, match=message):
        bag.fit(X, y, sample_weight=weight)
    assert not hasattr(bag, "estimators_")


def test_forest_without_bootstrap_refuses_weights_that_are_all_zero(classification):
    X, y = classification
    forest = RandomForestClassifier(2, bootstrap=False, class_weight=dict.fromkeys(range(3), 0))
    with pytest.raises(ValueError, match="be positive for a class of y"):
        forest.fit(X, y)


def test_warning_of_a_low_number_of_rows_points_at_the_call_of_fit(regression):
    X, y = regression
    for model in (BaggingRegressor(max_samples=0.05), RandomForestRegressor(2, max_samples=0.05)):
        with pytest.warns(UserWarning, match="low number") as caught:
            model.fit(X, y)
        assert {warning.filename for warning in caught} == {__file__}


def test_tree_members_are_plain_trees(regression):
    X, y = regression
    bag = BaggingRegressor(DecisionTreeRegressor(max_depth=2), 3, random_state=0).fit(X, y)
    assert all(type(member) is DecisionTreeRegressor for member in bag)
    assert bag[0].get_depth() == 2


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("unit", [2.0**-30, 2.0**-150, 2.0**-300])
def test_small_targets_are_fitted_as_others(criterion, unit):
    """scikit-learn's trees split no node whose impurity is below 2e-16, whatever the unit is."""
    rng = np.random.default_rng(0)
    X = rng.random((80, 3))
    y = np.round(X[:, 0] + 0.1 * rng.random(80), 3)
    tree = DecisionTreeRegressor(criterion=criterion)
    ordinary, small = (BaggingRegressor(tree, 5, random_state=0).fit(X, c * y) for c in (1.0, unit))
    np.testing.assert_array_equal(small.predict(X) / unit, ordinary.predict(X))
    np.testing.assert_allclose(small.feature_importances_, ordinary.feature_importances_)
    if unit > 2.0**-200:
        impurity = unit if criterion == "absolute_error" else unit**2
        pair = zip(small.estimators_, ordinary.estimators_)
        for found, expected in ((a.tree_.impurity, b.tree_.impurity) for a, b in pair):
            np.testing.assert_allclose(found, impurity * expected, rtol=1e-9)
    # What is in units of the impurities stays, as in scikit-learn.
    pruned = DecisionTreeRegressor(min_impurity_decrease=1e-30)
    bag = BaggingRegressor(pruned, 1, random_state=0).fit(X, 1e-9 * y)
    assert bag.estimators_[0].tree_.node_count == 1
