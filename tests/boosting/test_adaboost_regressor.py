"""AdaBoost.R2: scikit-learn's results, the algorithm by hand, and what is added."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.ensemble
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import AdaBoostRegressor
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

LOSSES = ["linear", "square", "exponential"]


@pytest.fixture(scope="module")
def regression():
    return make_friedman1(150, noise=1.0, random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"learning_rate": 0.4},
        {"estimator": DecisionTreeRegressor(max_depth=2, max_features=2)},
        {"estimator": DecisionTreeRegressor(criterion="poisson", max_depth=2)},
        {"estimator": KNeighborsRegressor(3)},
        {"estimator": Ridge()},
    ],
    ids=str,
)
def test_the_results_of_scikit_learn(loss, params, regression):
    X, y = regression
    y = y - min(y.min(), 0.0)
    args = {"n_estimators": 12, "loss": loss, "random_state": 3, **params}
    ours = AdaBoostRegressor(**args).fit(X[:100], y[:100])
    expected = sklearn.ensemble.AdaBoostRegressor(**args).fit(X[:100], y[:100])
    n_rounds = len(expected.estimators_)
    assert len(ours.estimators_) == n_rounds
    np.testing.assert_array_equal(ours.predict(X), expected.predict(X))
    for a, b in zip(ours.staged_predict(X), expected.staged_predict(X), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(ours.staged_score(X, y), expected.staged_score(X, y), strict=True):
        assert a == pytest.approx(b)
    if n_rounds > 1:
        for name in ("estimator_weights_", "estimator_errors_"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(expected, name)[:n_rounds])
    if hasattr(ours.estimators_[0], "feature_importances_"):
        np.testing.assert_allclose(ours.feature_importances_, expected.feature_importances_)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_small_targets_are_fitted_as_others(container, regression):
    X, y = regression
    ordinary, small = (
        AdaBoostRegressor(n_estimators=8, random_state=0).fit(container(X), c * y)
        for c in (1.0, 2.0**-40)
    )
    np.testing.assert_array_equal(small.predict(X) * 2.0**40, ordinary.predict(X))


def test_initial_weights_as_in_scikit_learn(regression):
    X, y = regression
    weight = np.random.default_rng(0).exponential(size=len(y))
    ours = AdaBoostRegressor(random_state=0).fit(X, y, weight)
    expected = sklearn.ensemble.AdaBoostRegressor(random_state=0).fit(X, y, weight)
    np.testing.assert_array_equal(ours.predict(X), expected.predict(X))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_algorithm_by_hand(loss, regression):
    """Drucker's steps, with the rows drawn by inverting the distribution function."""
    X, y = regression
    model = AdaBoostRegressor(n_estimators=6, loss=loss, random_state=5).fit(X, y)
    rng = np.random.RandomState(5)
    weight = np.full(len(y), 1 / len(y))
    for member, alpha, mean in zip(
        model.estimators_, model.estimator_weights_, model.estimator_errors_
    ):
        seed = rng.randint(np.iinfo(np.int32).max)
        rows = np.searchsorted(np.cumsum(weight), rng.random_sample(len(y)), side="right")
        tree = DecisionTreeRegressor(max_depth=3, random_state=seed).fit(X[rows], y[rows])
        np.testing.assert_allclose(tree.predict(X), member.predict(X))
        error = np.abs(tree.predict(X) - y)
        error /= error.max()
        value = {"linear": error, "square": error**2, "exponential": 1 - np.exp(-error)}[loss]
        assert mean == pytest.approx(weight @ value)
        beta = mean / (1 - mean)
        assert alpha == pytest.approx(-np.log(beta))
        weight = weight * beta ** (1 - value)
        weight /= weight.sum()


class Column(LinearRegression):
    """A member that predicts one column of X."""

    def __init__(self, j):
        self.j = j

    def predict(self, X):
        return X[:, self.j]


def fitted_by_hand(weights, n_rounds=None):
    """A fitted model whose members are the columns of X, with these coefficients."""
    X = np.zeros((len(weights), len(weights)))
    model = AdaBoostRegressor(n_estimators=1, random_state=0).fit(X, np.zeros(len(X)))
    model.estimator_ = Column(0)
    model.estimators_ = [Column(j) for j in range(len(weights))][:n_rounds]
    model.estimator_weights_ = weights[:n_rounds]
    return model


def test_weighted_medians_against_a_search():
    rng = np.random.default_rng(1)
    predictions, weights = rng.standard_normal((40, 7)), rng.random(7)
    model = fitted_by_hand(weights)
    for row, median in zip(predictions, model.predict(predictions)):
        # The smallest value up to which at least half of the weight is.
        reaching = [v for v in row if weights[row <= v].sum() >= 0.5 * weights.sum()]
        assert median == min(reaching)
        # It minimises the weighted sum of absolute differences.
        losses = [weights @ np.abs(row - v) for v in row]
        assert weights @ np.abs(row - median) == pytest.approx(min(losses))
    stages = list(model.staged_predict(predictions))
    assert len(stages) == 7
    for t, stage in enumerate(stages, 1):
        first = fitted_by_hand(weights, t)
        np.testing.assert_array_equal(stage, first.predict(predictions))


def test_rows_are_drawn_by_their_weights(regression):
    """Of 2,000 rows of which some have three times the weight; 5 % more would be noticed."""
    X = np.arange(2_000.0)[:, None]
    weight = np.where(np.arange(2_000) < 1_000, 3.0, 1.0)
    shares = []

    class Counts(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            shares.append(np.mean(X < 1_000))
            return super().fit(X, y, sample_weight)

    for seed in range(20):
        AdaBoostRegressor(Counts(), n_estimators=1, random_state=seed).fit(X, X[:, 0] % 7, weight)
    assert np.mean(shares) == pytest.approx(0.75, abs=5 * np.sqrt(0.75 * 0.25 / 40_000))


def test_a_row_of_weight_zero_is_left_out(regression):
    X, y = regression
    weight = np.ones(len(y))
    weight[::5] = 0.0
    wild = np.where(weight > 0, y, 1e9)
    model = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, wild, weight)
    kept = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(model.predict(X), kept.predict(X))


def test_why_it_stops(regression):
    X, y = regression
    perfect = AdaBoostRegressor(LinearRegression(), random_state=0).fit(X, np.zeros(len(y)))
    assert perfect.stop_reason_ == "perfect"
    assert perfect.estimator_errors_.tolist() == [0.0]

    class Wrong(LinearRegression):
        def predict(self, X):
            return np.full(len(X), 1e3)

    worst = AdaBoostRegressor(Wrong(), random_state=0).fit(X, y)
    assert worst.stop_reason_ == "no edge"
    assert len(worst.estimators_) == 1
    assert (worst.predict(X) == 1e3).all()
    few = AdaBoostRegressor(n_estimators=2, random_state=0).fit(X, y)
    assert few.stop_reason_ == "n_estimators"

    class Broken(LinearRegression):
        def predict(self, X):
            return np.full(len(X), np.nan)

    with pytest.raises(ValueError, match="Broken predicts values that are not finite"):
        AdaBoostRegressor(Broken()).fit(X, y)
    with pytest.raises(ValueError, match="y is so large"):
        AdaBoostRegressor().fit(X, np.full(len(y), 1e308))


def test_binned_trees_by_their_own_fit(regression):
    X, y = np.round(regression[0], 1), regression[1]
    tree = BinnedTreeRegressor(max_depth=3)  # every distinct value has a bin
    model = AdaBoostRegressor(tree, n_estimators=8, random_state=0).fit(X, y)

    class OneByOne(BinnedTreeRegressor):  # a subclass has no shared bins
        pass

    slow = AdaBoostRegressor(OneByOne(max_depth=3), n_estimators=1, random_state=0).fit(X, y)
    first = model.estimators_[0]
    np.testing.assert_allclose(first.tree_.impurity[0], slow.estimators_[0].tree_.impurity[0])
    np.testing.assert_allclose(first.tree_.value[:3], slow.estimators_[0].tree_.value[:3])


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_matrix])
def test_sparse_rows(container, regression, monkeypatch):
    """As dense rows, or as in scikit-learn where they would be too large."""
    X, y = np.where(regression[0] > 0.4, regression[0], 0.0), regression[1]
    ours = AdaBoostRegressor(n_estimators=6, random_state=0).fit(container(X), y)
    dense = AdaBoostRegressor(n_estimators=6, random_state=0).fit(X, y)
    np.testing.assert_array_equal(ours.predict(container(X)), dense.predict(X))
    name = "sklearn_ensemble_theory.boosting._reweighting.adaboost_regressor.MOST_DENSE_VALUES"
    monkeypatch.setattr(name, 100)
    large = AdaBoostRegressor(n_estimators=6, random_state=0).fit(container(X), y)
    expected = sklearn.ensemble.AdaBoostRegressor(n_estimators=6, random_state=0)
    expected.fit(container(X), y)
    np.testing.assert_array_equal(large.predict(container(X)), expected.predict(container(X)))
