"""AdaBoost with rows drawn by their weights: for learners that take no weights, or on request."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import AdaBoostClassifier, DecisionStumpClassifier


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier without weights that keeps the rows it was fitted to, numbered by column 0."""

    def fit(self, X, y, colour=None):
        self.rows_, self.labels_, self.colour_ = X[:, 0].astype(int), y, colour
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 1] > 0).astype(int)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.standard_normal(300) > 0.7).astype(int)
    return X, y


@pytest.mark.slow
def test_rows_are_drawn_by_their_weights():
    """Over 1000 fits the counts of the rows have the means and variances of a multinomial."""
    rng = np.random.default_rng(0)
    n, repetitions = 40, 1000
    X = np.c_[np.arange(n), rng.choice([-1, 1], n)]
    y = (X[:, 1] > 0).astype(int)
    y[:7] = 1 - y[:7]
    weight = rng.uniform(0, 3, n)
    weight[5] = 0.0
    share = np.delete(weight / weight.sum(), 5)
    counts = []
    for seed in range(repetitions):
        model = AdaBoostClassifier(Recorder(), n_estimators=1, random_state=seed)
        member = model.fit(X, y, weight).estimators_[0]
        np.testing.assert_array_equal(member.labels_, y[member.rows_])
        counts.append(np.bincount(member.rows_, minlength=n))
    counts = np.delete(np.array(counts), 5, axis=1)
    assert (np.array(counts).sum(axis=1) == n - 1).all()  # the row of weight 0 is dropped
    expected = (n - 1) * share
    error = np.sqrt(expected * (1 - share) / repetitions)
    assert (np.abs(counts.mean(axis=0) - expected) < 4.5 * error).all()
    variance = expected * (1 - share)
    assert counts.var(axis=0).sum() == pytest.approx(variance.sum(), rel=0.03)


def test_errors_and_coefficients_are_those_on_all_rows(data):
    """The weights of round 2 follow from the votes of member 1 on all rows, as without drawing."""
    X, y = data
    learner = KNeighborsClassifier(30)
    model = AdaBoostClassifier(learner, n_estimators=4, random_state=0).fit(X, y)
    weight = np.full(len(y), 1 / len(y))
    for member, alpha, error in zip(
        model.estimators_, model.estimator_weights_, model.estimator_errors_
    ):
        wrong = member.predict(X) != y
        assert error == pytest.approx(weight[wrong].sum())
        assert alpha == pytest.approx(np.log((1 - error) / error))
        weight = weight * np.exp(alpha * wrong)
        weight /= weight.sum()


def test_with_many_rows_drawing_is_weighting():
    rng = np.random.default_rng(0)
    X = rng.random((8_000, 3))
    y = (X.sum(axis=1) + 0.3 * rng.standard_normal(8_000) > 1.5).astype(int)
    weighted = AdaBoostClassifier(n_estimators=5).fit(X, y)
    drawn = AdaBoostClassifier(n_estimators=5, resample=True, random_state=0).fit(X, y)
    assert isinstance(drawn.estimators_[0], DecisionStumpClassifier)
    np.testing.assert_allclose(drawn.estimator_errors_, weighted.estimator_errors_, atol=0.015)
    assert np.mean(drawn.predict(X) == weighted.predict(X)) > 0.9
    assert (drawn.estimator_errors_ != weighted.estimator_errors_).any()


def test_random_state(data):
    X, y = data

    def scores(seed, **params):
        model = AdaBoostClassifier(
            LinearDiscriminantAnalysis(), n_estimators=3, random_state=seed, **params
        )
        return model.fit(X, y).decision_function(X)

    np.testing.assert_array_equal(scores(0), scores(0))
    np.testing.assert_array_equal(scores(0), scores(0, resample=True))
    assert (scores(0) != scores(1)).any()


def test_learners_that_take_weights_are_weighted_by_default(data):
    X, y = data
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    models = [
        AdaBoostClassifier(tree, n_estimators=5, resample=resample, random_state=0).fit(X, y)
        for resample in ("auto", False, True)
    ]
    scores = [model.decision_function(X) for model in models]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert (scores[0] != scores[2]).any()
    assert models[2].score(X, y) > 0.8


@pytest.mark.parametrize("variant", ["real", "gentle"])
def test_confidences(data, variant):
    X, y = data
    learner = KNeighborsClassifier(40) if variant == "real" else KNeighborsRegressor(40)
    model = AdaBoostClassifier(learner, n_estimators=10, variant=variant, random_state=0)
    single = learner.fit(X, y).predict(X).round() == y
    assert model.fit(X, y).score(X, y) >= single.mean()
    assert (np.diff(model.training_error_bounds_[:4]) < 0).all()


def test_many_classes_and_sparse_data():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600], y[:600]
    learner = KNeighborsClassifier(60)
    model = AdaBoostClassifier(learner, n_estimators=4, random_state=0)
    dense = model.fit(X, y).predict_proba(X)
    assert model.variant_ == "discrete"
    assert model.score(X, y) > learner.fit(X, y).score(X, y)
    sparse = model.fit(sp.csc_matrix(X), y).predict_proba(sp.csr_matrix(X))
    # Distances of sparse and of dense rows have different rounding errors, and ties.
    assert np.mean(np.isclose(sparse, dense)) > 0.95


def test_a_draw_of_one_class():
    """Almost all weight on one row: a constant takes the place of the learner."""
    X, y = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    weight = np.r_[1.0, np.full(7, 1e-9)]
    for variant in ("discrete", "real"):
        model = AdaBoostClassifier(
            KNeighborsClassifier(1), n_estimators=1, variant=variant, random_state=0
        ).fit(X, y, weight)
        assert isinstance(model.estimators_[0], DummyClassifier)
        assert model.predict(X[:1]).tolist() == [0]


def test_errors(data):
    X, y = data
    learner = KNeighborsClassifier()
    with pytest.raises(ValueError, match="KNeighborsClassifier doesn't support sample_weight"):
        AdaBoostClassifier(learner, resample=False).fit(X, y)
    with pytest.raises(ValueError, match="resample"):
        AdaBoostClassifier(learner, resample="yes").fit(X, y)
    three = y + (X[:, 2] > 1)
    with pytest.raises(ValueError, match="no resampling; rows are drawn"):
        AdaBoostClassifier(variant="mh", resample=True).fit(X, three)
    assert AdaBoostClassifier(resample=True, random_state=0).fit(X, three).variant_ == "discrete"


def test_metadata_of_rows_is_drawn_with_them():
    n = 30
    X = np.c_[np.arange(n), np.tile([-1, 1], n // 2)]
    y = (X[:, 1] > 0).astype(int)
    y[0] = 1
    with sklearn.config_context(enable_metadata_routing=True):
        learner = Recorder().set_fit_request(colour=True)
        model = AdaBoostClassifier(learner, n_estimators=2, random_state=0)
        model.fit(X, y, colour=np.arange(n) * 10)
    for member in model.estimators_:
        np.testing.assert_array_equal(member.colour_, member.rows_ * 10)
