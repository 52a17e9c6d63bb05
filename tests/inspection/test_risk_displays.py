"""Parts of the excess risk, and variances by number of members: closed forms and simulations."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor as PeerForest
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    HistogramRegressor,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.bounds import conditional_surrogate_risk
from sklearn_ensemble_theory.inspection import (
    ConditionalRiskDisplay,
    ExcessRiskDisplay,
    VarianceDecompositionDisplay,
    variance_decomposition,
)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


W, N, SIGMA = np.array([2.0, 1.0, 1.0]), 40, 0.5


def linear_data(random_state, n=N):
    rng = np.random.RandomState(random_state)
    X = rng.standard_normal((n, 3))
    return X, X @ W + SIGMA * rng.standard_normal(n)


def linear_target(X):
    return X @ W


class FirstColumns(RegressorMixin, BaseEstimator):
    """Least squares on the first k columns; `share` of the way to the minimum from 0."""

    def __init__(self, k=1, share=1.0):
        self.k = k
        self.share = share

    def fit(self, X, y):
        self.coef_ = self.share * np.linalg.lstsq(X[:, : self.k], y, rcond=None)[0]
        return self

    def predict(self, X):
        return X[:, : self.k] @ self.coef_


def test_parts_of_nested_linear_models():
    """Isotropic Gaussian X: approximation |w of the other columns|², estimation in closed form."""
    k = np.array([1, 2, 3])
    beyond = np.array([2.0, 1.0, 0.0])
    display = ExcessRiskDisplay.from_parameter(
        FirstColumns(),
        linear_data,
        target=linear_target,
        param_name="k",
        param_range=list(k),
        algorithm=FirstColumns(share=0.8),
        n_repetitions=300,
        n_reference=100,
        n_test=250,
        random_state=0,
    )
    np.testing.assert_allclose(display.approximation, beyond, atol=0.06)
    # With noise of variance s² (that of the other columns included): s² k / (n - k - 1).
    estimation = (SIGMA**2 + beyond) * k / (N - k - 1)
    error = display.standard_error.estimation + 0.02 * estimation + 1e-3
    assert (np.abs(display.estimation - estimation) < 3 * error).all()
    # 0.8 of the minimiser: the risk of a vector c is |c - w|² plus the approximation error.
    squares = np.array([np.sum(W[:j] ** 2) for j in k])
    expected = 0.04 * squares - (1 - 0.64) * estimation
    error = display.standard_error.optimization + 0.03 * np.abs(expected) + 1e-3
    assert (np.abs(display.optimization - expected) < 3 * error).all()
    assert display.standard_error.total.shape == (3,)
    # The upper curve is the sum of the three.
    total = display.approximation + display.estimation + display.optimization
    np.testing.assert_allclose(display.ax_.lines[2].get_ydata(), total)
    known = ExcessRiskDisplay.from_parameter(
        FirstColumns(),
        linear_data,
        target=linear_target,
        param_name="k",
        param_range=list(k),
        approximation=beyond,
        n_repetitions=3,
        random_state=0,
    )
    assert known.optimization is None
    np.testing.assert_array_equal(known.approximation, beyond)
    assert (known.standard_error.approximation == 0).all()


class Below(BaseEstimator):
    """The class x > threshold, whatever the data are."""

    def __init__(self, threshold=0.0):
        self.threshold = threshold

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.where(X[:, 0] > self.threshold, 1, -1)


def test_zero_one_risks_of_thresholds():
    """y = sign(x) with x standard normal and 20 % noise: 0.6 P(x between 0 and the threshold)."""

    def make_data(random_state):
        rng = np.random.RandomState(random_state)
        X = rng.standard_normal((200, 1))
        y = np.where(X[:, 0] > 0, 1, -1) * np.where(rng.uniform(size=200) < 0.2, -1, 1)
        return X, y

    values = [0.0, 0.5, 1.0]
    display = ExcessRiskDisplay.from_parameter(
        Below(),
        make_data,
        target=lambda X: np.where(X[:, 0] > 0, 1, -1),
        param_name="threshold",
        param_range=values,
        loss="zero_one",
        n_repetitions=2,
        n_test=300,
        random_state=0,
    )
    exact = 0.6 * (norm.cdf(values) - 0.5)
    error = display.standard_error.approximation
    assert (np.abs(display.approximation - exact) <= 3 * error).all()
    np.testing.assert_array_equal(display.estimation, 0)


def test_histograms_of_a_line():
    """k cells of [0, 1] and f(x) = x: approximation 1/(12 k²), estimation about sigma² k / n."""

    def make_data(random_state):
        rng = np.random.RandomState(random_state)
        X = np.r_[0.0, rng.uniform(size=398), 1.0][:, None]
        return X, X[:, 0] + 0.2 * rng.standard_normal(400)

    k = np.array([1, 2, 4, 8])
    display = ExcessRiskDisplay.from_parameter(
        HistogramRegressor(),
        make_data,
        target=lambda X: X[:, 0],
        param_name="n_bins",
        param_range=list(k),
        n_repetitions=60,
        random_state=0,
    )
    np.testing.assert_allclose(display.approximation, 1 / (12 * k**2), rtol=0.05)
    estimation = (0.04 + 1 / (12 * k**2)) * k / 400
    np.testing.assert_array_less(
        np.abs(display.estimation - estimation),
        3 * display.standard_error.estimation + 0.02 * estimation,
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"make_data": 1}, TypeError, "make_data must be a function"),
        ({"target": np.ones(3)}, TypeError, "target must be a function"),
        ({"target": np.sum}, ValueError, "target must return a value for each row"),
        ({"loss": "hinge"}, ValueError, "loss must be one of"),
        ({"n_repetitions": 1}, ValueError, "n_repetitions must be an int of at least 2"),
        ({"n_test": 0}, ValueError, "n_test must be"),
        ({"n_reference": 0.5}, ValueError, "n_reference must be"),
        ({"param_name": "j"}, ValueError, "param_name must be a parameter of FirstColumns"),
        ({"param_range": []}, ValueError, "param_range must have at least one"),
        ({"algorithm": Below()}, ValueError, "param_name must be a parameter of Below"),
        ({"approximation": [1.0, 2.0]}, ValueError, "approximation must have 1 finite"),
    ],
)
def test_refusals_of_excess_risks(options, error, message):
    options = {
        "make_data": linear_data,
        "target": linear_target,
        "param_name": "k",
        "param_range": [1],
        **options,
    }
    with pytest.raises(error, match=message):
        ExcessRiskDisplay.from_parameter(FirstColumns(), **options)


class MeanOfOne(RegressorMixin, BaseEstimator):
    """The mean of the rows that it is fitted to: bagging it has known rho and sigma²."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def normal_targets(random_state):
    return np.zeros((20, 1)), np.random.RandomState(random_state).standard_normal(20)


@pytest.mark.slow
def test_variances_by_draws_in_closed_form():
    """Means of m of n rows: sigma² = 1/m, and two of them have the covariance 1/n."""
    bag = BaggingRegressor(MeanOfOne(), 10, bootstrap=False)
    display = VarianceDecompositionDisplay.from_parameter(
        bag,
        normal_targets,
        param_name="max_samples",
        param_range=[5, 10],
        X_test=np.zeros((1, 1)),
        n_repetitions=250,
        random_state=0,
    )
    for parts, m in zip(display.results, (5, 10)):
        exact = 1 / 20 + (1 / m - 1 / 20) / parts.n_members
        assert (np.abs(parts.variance - exact) < 3 * parts.standard_error).all()
        assert parts.sigma2 == pytest.approx(1 / m, rel=0.15)
        assert parts.rho == pytest.approx(m / 20, rel=0.15)
        np.testing.assert_array_equal(parts.n_members, [1, 2, 5, 10])
    # The curve is the formula, and goes through the last measured point.
    curve = display.axes_[0].lines[0]
    parts = display.results[0]
    B, value = curve.get_xdata(), curve.get_ydata()
    np.testing.assert_allclose(value, parts.sigma2 * (parts.rho + (1 - parts.rho) / B))
    assert value[-1] == pytest.approx(parts.variance[-1])
    np.testing.assert_allclose(display.axes_[2].lines[0].get_ydata()[1], display.results[1].rho)


def test_variances_of_one_fit():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, 3))
    y = X.sum(axis=1) + 0.3 * rng.standard_normal(120)
    bag = BaggingRegressor(DecisionTreeRegressor(max_depth=3), 240, random_state=0).fit(X, y)
    display = VarianceDecompositionDisplay.from_estimator(bag, X[:30])
    (parts,) = display.results
    found = variance_decomposition(bag, X[:30])
    assert parts.sigma2 == pytest.approx(found.sigma2.mean())
    assert parts.rho == pytest.approx((found.rho * found.sigma2).mean() / found.sigma2.mean())
    np.testing.assert_array_equal(parts.n_members, [1, 2, 5, 10, 20, 50])
    members = np.array([m.predict(X[:30]) for m in bag.estimators_])
    groups = members.reshape(24, 10, 30).mean(axis=1)
    limit = parts.rho * parts.sigma2
    assert parts.variance[3] - limit == pytest.approx(groups.var(axis=0, ddof=1).mean())
    assert parts.variance[0] == pytest.approx(parts.sigma2)
    exact = limit + (parts.sigma2 - limit) / parts.n_members
    assert (np.abs(parts.variance - exact) < 3 * parts.standard_error + 1e-12).all()
    assert len(display.axes_) == 1


def test_variances_of_classifiers_and_of_several_ensembles():
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(80, 2))
    y = (X[:, 0] + 0.3 * rng.standard_normal(80) > 0.5).astype(int)
    bags = {
        size: BaggingClassifier(n_estimators=40, max_samples=size, random_state=0).fit(X, y)
        for size in (0.2, 0.8)
    }
    display = VarianceDecompositionDisplay.from_estimators(bags, X[:9])
    assert [line.get_label() for line in display.axes_[0].lines if "0." in line.get_label()] == [
        "0.2",
        "0.8",
    ]
    np.testing.assert_array_equal(display.axes_[1].lines[0].get_xdata(), [0.2, 0.8])
    assert display.results[1].rho > display.results[0].rho


@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
def test_refusals_of_variances():
    X, y = normal_targets(0)
    X = np.arange(20.0)[:, None]
    draw = VarianceDecompositionDisplay.from_estimator
    with pytest.raises(TypeError, match="estimator must be a bagging ensemble or a forest"):
        draw(PeerForest(3).fit(X, y), X)
    with pytest.raises(ValueError, match="estimator must have at least 4 members"):
        draw(RandomForestRegressor(3, random_state=0).fit(X, y), X)
    with pytest.raises(TypeError, match="estimators must be a dict"):
        VarianceDecompositionDisplay.from_estimators([], X)
    with pytest.raises(ValueError, match="estimators must have at least one"):
        VarianceDecompositionDisplay.from_estimators({}, X)
    forest = RandomForestRegressor(8, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="axes must have 1 elements"):
        draw(forest, X, axes=list(plt.subplots(1, 2)[1]))
    from_parameter = VarianceDecompositionDisplay.from_parameter
    with pytest.raises(ValueError, match="n_repetitions"):
        from_parameter(forest, normal_targets, param_range=[1], n_repetitions=2)
    with pytest.raises(ValueError, match="param_name must be a parameter"):
        from_parameter(forest, normal_targets, param_name="p", param_range=[1])
    with pytest.raises(TypeError, match="make_data must be a function"):
        from_parameter(forest, None, param_range=[1])


def test_conditional_risk_display_shows_calibration():
    """The wrong sign costs something for a calibrated loss, and nothing for the perceptron's."""
    p = np.array([0.1, 0.4, 0.5, 0.9])
    display = ConditionalRiskDisplay.from_loss("logistic", eta=p, max_score=6.0)
    np.testing.assert_allclose(display.best_scores, np.log(p / (1 - p)), atol=0.011)
    entropy = -p * np.log(p) - (1 - p) * np.log(1 - p)
    np.testing.assert_allclose(display.least_risks, entropy, atol=1e-4)
    gap = display.wrong_sign_risks - display.least_risks
    np.testing.assert_allclose(gap, np.log(2) - entropy, atol=1e-4)
    lines = [line for line in display.ax_.lines if len(line.get_xdata()) > 2]
    for k in range(4):
        x, value = lines[2 * k].get_data()  # then the wrong sign
        np.testing.assert_allclose(value, conditional_surrogate_risk("logistic", p[k], x))
    flat = ConditionalRiskDisplay.from_loss(lambda m: np.maximum(-m, 0.0), eta=[0.3, 0.8])
    np.testing.assert_array_equal(flat.best_scores, 0.0)
    np.testing.assert_array_equal(flat.wrong_sign_risks, flat.least_risks)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"eta": []}, "eta"),
        ({"eta": [1.5]}, "eta"),
        ({"eta": "a"}, "eta"),
        ({"max_score": 0.0}, "max_score"),
        ({"max_score": None}, "max_score"),
        ({"phi": "squared"}, "phi"),
    ],
)
def test_conditional_risk_display_refuses(options, match):
    with pytest.raises(ValueError, match=match):
        ConditionalRiskDisplay.from_loss(**{"phi": "hinge", **options})
