"""Bias and variance by repeated draws: closed forms, brute force and identities."""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import binom
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import AdaBoostClassifier, DecisionStumpClassifier
from sklearn_ensemble_theory.datasets import (
    make_sine_regression,
    make_twonorm,
    twonorm_bayes_error,
    twonorm_bayes_rule,
)
from sklearn_ensemble_theory.inspection import BiasVarianceDisplay, bias_variance_decomposition

from .repeated_draws import FixedDesign, LinearSmoother, Script, Scripted, ridge_matrix

PARTS = ("noise", "bias", "variance", "error")
X_LINE = np.linspace(-1, 1, 25)
DESIGN = FixedDesign(X_LINE, np.sin(4 * X_LINE), 0.5)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_squared_loss_by_hand():
    """Predictions 1, 2 and 6 of f = 2: mean 3, variance 7, squared bias 1 - 7/3."""
    values = iter([0.0, 1.0, 2.0, 6.0])  # the first draw is the test set

    def make_data(random_state):
        return np.zeros((4, 1)), np.full(4, next(values)), np.full(4, 2.0)

    found = bias_variance_decomposition(DummyRegressor(), make_data, noise=0.5, n_repetitions=3)
    assert found.variance == pytest.approx(7)
    assert found.bias == pytest.approx(1 - 7 / 3)
    assert found.noise == 0.5
    assert found.error == pytest.approx(0.5 + (1 + 0 + 16) / 3)
    # Without one of them: variances 8, 12.5 and 0.5, squared errors 8, 8.5 and 0.5.
    jackknife = np.sqrt(2 / 3 * np.sum((np.array([8, 12.5, 0.5]) - 7) ** 2))
    assert found.standard_error.variance == pytest.approx(jackknife)
    without = np.array([8, 8.5, 0.5]) - [8, 12.5, 0.5]
    jackknife = np.sqrt(2 / 3 * np.sum((without - without.mean()) ** 2))
    assert found.standard_error.bias == pytest.approx(jackknife)
    assert found.standard_error.error == pytest.approx(np.std([1, 0, 16], ddof=1) / np.sqrt(3))
    assert found.standard_error.noise == 0


@pytest.mark.parametrize("penalty", [0.01, 5.0])
def test_linear_smoother_in_closed_form(penalty):
    """Bias S f - f and variance sigma² diag(S S'), within 3 standard errors of the simulation."""
    S = ridge_matrix(X_LINE, penalty)
    found = bias_variance_decomposition(
        LinearSmoother(S), DESIGN, n_repetitions=800, random_state=0
    )
    exact = {
        "noise": 0.25,
        "bias": np.mean((S @ DESIGN.f - DESIGN.f) ** 2),
        "variance": 0.25 * np.trace(S @ S.T) / len(S),
    }
    exact["error"] = sum(exact.values())
    for name in PARTS:
        error = found.standard_error[name]
        assert abs(found[name] - exact[name]) < 3 * error
        assert error < 0.1 * max(exact[name], 0.05)  # so that an error of 30 % is noticed at least
    at = found.pointwise
    np.testing.assert_allclose(at.main_prediction, S @ DESIGN.f, atol=0.08)
    np.testing.assert_allclose(at.variance, 0.25 * np.diag(S @ S.T), rtol=0.25)


@pytest.mark.slow
def test_parts_are_unbiased_and_standard_errors_right_for_few_repetitions():
    """Means over 150 decompositions with R = 10; without the correction the bias would be off."""
    S, R = ridge_matrix(X_LINE, 5.0), 10
    runs = [
        bias_variance_decomposition(LinearSmoother(S), DESIGN, n_repetitions=R, random_state=seed)
        for seed in range(150)
    ]
    exact = {
        "bias": np.mean((S @ DESIGN.f - DESIGN.f) ** 2),
        "variance": 0.25 * np.trace(S @ S.T) / len(S),
    }
    for name, value in exact.items():
        found = np.array([run[name] for run in runs])
        error = found.std(ddof=1) / np.sqrt(len(found))
        assert abs(found.mean() - value) < 3 * error
        told = np.array([run.standard_error[name] for run in runs])
        # The jackknife estimate of a variance is too large rather than too small.
        assert 0.75 < np.mean(told**2) / found.var(ddof=1) < 1.5
    # The bias without the correction is larger by the variance over R: many standard errors.
    assert exact["variance"] / R > 4 * np.std([run.bias for run in runs]) / np.sqrt(150)


def test_identity_of_the_squared_loss():
    make_data = partial(make_sine_regression, 60, return_mean=True)
    tree = DecisionTreeRegressor(max_features=1, splitter="random")
    for noise in (None, 0.3, lambda X: 0.1 + X[:, 0]):
        found = bias_variance_decomposition(
            tree, make_data, noise=noise, n_repetitions=7, random_state=3
        )
        assert abs(found.noise + found.bias + found.variance - found.error) < 1e-10
        at = found.pointwise
        for name in ("noise", "bias", "variance"):
            assert at[name].mean() == pytest.approx(found[name], abs=1e-14)
    with parallel_config(backend="threading"):
        again = bias_variance_decomposition(
            tree, make_data, noise=noise, n_repetitions=7, n_jobs=2, random_state=3
        )
    assert again.error == found.error
    # Targets by a function and test points of one's own.
    X_test = np.linspace(0, 1, 11)[:, None]
    options = {"X_test": X_test, "n_repetitions": 5, "random_state": 0}
    f = lambda X: np.sin(3 * np.pi * X[:, 0])  # noqa: E731
    one = bias_variance_decomposition(tree, make_data, target=f, **options)
    two = bias_variance_decomposition(tree, make_data, target=f(X_test), noise=one.noise, **options)
    assert one.bias == two.bias
    assert one.noise == pytest.approx(0.09, rel=0.3)
    assert one.standard_error.noise > 0


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("kind", ["drawn", "rate", "table"])
def test_zero_one_loss_against_brute_force(K, kind):
    rng = np.random.default_rng(K)
    m, R = 40, 9
    labels = np.array(["a", "b", "c"])[:K]
    script = Script(rng.dirichlet(np.ones(K), m), labels)
    target = labels[rng.integers(K, size=m)]
    target[0] = labels[-1]
    table = rng.dirichlet(np.ones(K), m)
    rate = rng.uniform(0, 0.5, m)
    options = {"n_repetitions": R, "random_state": 0, "loss": "zero_one"}
    if kind == "drawn":
        options["target"] = lambda X: target
    else:
        options |= {
            "X_test": np.zeros((m, 1)),
            "target": target,
            "noise": rate if kind == "rate" else table,
        }
    found = bias_variance_decomposition(Scripted(), script, **options)
    predictions = np.array(script.seen[-R:])
    if kind == "drawn":
        table = (script.seen[0][:, None] == labels).astype(float)
    elif kind == "rate":
        table = np.repeat(rate[:, None] / (K - 1), K, axis=1)
        table[target[:, None] == labels] = 1 - rate
    # The expected loss over all pairs of a prediction and a class.
    loss = [
        np.mean([table[i, k] * (h[i] != labels[k]) for i in range(m) for k in range(K)]) * K
        for h in predictions
    ]
    assert found.error == pytest.approx(np.mean(loss), abs=1e-12)
    assert found.standard_error.error == pytest.approx(np.std(loss, ddof=1) / np.sqrt(R))
    assert abs(found.noise + found.bias + found.variance - found.error) < 1e-10
    # [Domingos, 2000]: c1, c2 and the parts at each point.
    parts = {"noise": [], "bias": [], "variance": []}
    biased, unbiased = [], []
    for i in range(m):
        h, t = predictions[:, i], target[i]
        main = max(labels, key=lambda k: np.mean(h == k))
        right = np.mean(h == t)
        N = 1 - table[i, labels == t].sum()
        agree = sum(np.mean(h == k) * table[i, j] for j, k in enumerate(labels) if k != t)
        V = np.mean(h != main)
        if main == t:
            c2 = 1.0
        else:
            c2 = -np.mean(h[h != main] == t) if (h != main).any() else -1.0
        parts["noise"].append(right * N - agree)
        parts["bias"].append(float(main != t))
        parts["variance"].append(c2 * V)
        unbiased.append(V if main == t else 0.0)
        biased.append(0.0 if main == t else -c2 * V)
        if K == 2:
            assert parts["noise"][-1] == pytest.approx((2 * right - 1) * N)
            assert main == t or c2 == -1
    for name, values in parts.items():
        assert found[name] == pytest.approx(np.mean(values), abs=1e-12)
        np.testing.assert_allclose(found.pointwise[name], values, atol=1e-12)
    assert found.variance_unbiased == pytest.approx(np.mean(unbiased))
    assert found.variance_biased == pytest.approx(np.mean(biased))


@pytest.mark.slow
def test_standard_errors_of_the_zero_one_loss():
    """Against the spread of the parts over independent decompositions."""
    rng = np.random.default_rng(0)
    script = Script(rng.dirichlet(np.ones(3), 60), np.arange(3))
    args = {"X_test": np.zeros((60, 1)), "target": np.arange(60) % 3, "noise": 0.2}
    runs = [
        bias_variance_decomposition(
            Scripted(), script, n_repetitions=10, loss="zero_one", random_state=seed, **args
        )
        for seed in range(50)
    ]
    for name in PARTS:
        spread = np.std([run[name] for run in runs], ddof=1)
        told = np.sqrt(np.mean([run.standard_error[name] ** 2 for run in runs]))
        assert 0.75 < told / spread < 1.4
    one, two = (
        bias_variance_decomposition(
            Scripted(), script, n_repetitions=5, loss="zero_one", random_state=1, **args
        )
        for _ in range(2)
    )
    assert one.standard_error == two.standard_error


def test_majority_vote_in_closed_form():
    """The most frequent of 5 labels: right with a binomial probability."""

    def make_data(random_state):
        y = np.random.RandomState(random_state).uniform(size=5) < 0.7
        return np.zeros((5, 1)), y.astype(int)

    right = binom.sf(2, 5, 0.7)
    for optimal, rate in [(1, 0.3), (0, 0.7)]:  # with the wrong target the bias is 1
        found = bias_variance_decomposition(
            DummyClassifier(),
            make_data,
            X_test=np.zeros((1, 1)),
            target=[optimal],
            noise=rate,
            loss="zero_one",
            n_repetitions=300,
            random_state=0,
        )
        assert found.bias == 1 - optimal
        c1 = 2 * (right if optimal else 1 - right) - 1
        exact = {
            "noise": c1 * rate,
            "variance": 1 - right if optimal else -(1 - right),
            "error": right * 0.3 + (1 - right) * 0.7,
        }
        for name, value in exact.items():
            assert abs(found[name] - value) < 3 * found.standard_error[name]
        assert found.bayes_error == pytest.approx(rate)


def test_known_bayes_rule():
    make_data = partial(make_twonorm, 100)
    found = bias_variance_decomposition(
        DecisionStumpClassifier(),
        lambda random_state: make_data(random_state=random_state),
        target=twonorm_bayes_rule,
        loss="zero_one",
        n_repetitions=20,
        random_state=0,
    )
    assert found.bayes_error == pytest.approx(twonorm_bayes_error(), abs=0.05)
    assert abs(found.noise + found.bias + found.variance - found.error) < 1e-10
    assert found.variance == pytest.approx(found.variance_unbiased - found.variance_biased)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"make_data": 3}, TypeError, "make_data must be a function"),
        ({"make_data": lambda random_state: 3}, ValueError, "make_data must return X and y"),
        (
            {"make_data": lambda random_state: (np.zeros((3, 1)), np.zeros(4))},
            ValueError,
            "make_data must return one target",
        ),
        ({"n_repetitions": 2}, ValueError, "n_repetitions must be an int of at least 3"),
        ({"n_repetitions": True}, ValueError, "n_repetitions"),
        ({"loss": "hinge"}, ValueError, "loss must be one of"),
        ({"X_test": X_LINE[:, None]}, ValueError, "target must be given with X_test"),
        ({"target": np.ones(25)}, ValueError, "target must be a function"),
        ({"target": np.mean}, ValueError, "target must have 25 values"),
        ({"noise": -1.0}, ValueError, "noise must be non-negative"),
        ({"noise": np.nan}, ValueError, "noise must be non-negative"),
        ({"noise": np.ones(3)}, ValueError, "noise must have 25 values"),
        ({"noise": np.ones((25, 2))}, ValueError, "noise must have 25 values"),
        ({"noise": 1.2, "loss": "zero_one"}, ValueError, r"noise must be in \[0, 1\]"),
        ({"noise": np.ones((25, 2)), "loss": "zero_one"}, ValueError, "noise must have rows of"),
        (
            {"X_test": X_LINE[:, None], "target": np.ones(25), "loss": "zero_one"},
            ValueError,
            "noise must be given with X_test",
        ),
    ],
)
def test_refusals(options, error, message):
    options = {"make_data": DESIGN, "n_repetitions": 3, **options}
    make_data = options.pop("make_data")
    with pytest.raises(error, match=message):
        bias_variance_decomposition(LinearSmoother(np.eye(25)), make_data, **options)


def test_refusals_that_need_a_fit():
    script = Script(np.ones((25, 2)) / 2, np.array([0, 1]))
    with pytest.raises(ValueError, match="target must be given where make_data"):
        bias_variance_decomposition(Scripted(), script, n_repetitions=3)
    table = np.ones((25, 4)) / 4
    args = {"X_test": np.zeros((25, 1)), "target": np.zeros(25, int), "n_repetitions": 3}
    with pytest.raises(ValueError, match="column for each of the 2 classes"):
        bias_variance_decomposition(Scripted(), script, noise=table, loss="zero_one", **args)
    with pytest.raises(ValueError, match="noise must be given where target"):
        bias_variance_decomposition(Scripted(), script, **args)
    huge = FixedDesign(X_LINE, 1e200 * X_LINE, 1.0)
    with pytest.raises(ValueError, match="below 1e\\+150"):
        bias_variance_decomposition(LinearSmoother(np.eye(25)), huge, n_repetitions=3)


def test_display_of_estimators():
    smoothers = {str(a): LinearSmoother(ridge_matrix(X_LINE, a)) for a in (0.1, 10.0)}
    args = {"n_repetitions": 12, "random_state": 5}
    display = BiasVarianceDisplay.from_estimators(smoothers, DESIGN, **args)
    labels = [t.get_text() for t in display.ax_.get_xticklabels()]
    assert labels == ["0.1", "10.0"]
    heights = np.array([[bar.get_height() for bar in bars] for bars in display.ax_.containers[:3]])
    expected = [[r[name] for r in display.results] for name in PARTS[:3]]
    np.testing.assert_allclose(heights, expected)
    # All estimators see the same training sets.
    assert display.results[0].noise == display.results[1].noise
    assert (heights > 0).all()
    np.testing.assert_allclose(heights.sum(axis=0), [r.error for r in display.results])
    with pytest.raises(TypeError, match="estimators must be a dict"):
        BiasVarianceDisplay.from_estimators(list(smoothers.values()), DESIGN)
    with pytest.raises(ValueError, match="estimators must have at least one"):
        BiasVarianceDisplay.from_estimators({}, DESIGN)


def test_display_along_a_parameter():
    _, ax = plt.subplots()
    display = BiasVarianceDisplay.from_parameter(
        AdaBoostClassifier(),
        lambda random_state: make_twonorm(60, random_state=random_state),
        target=twonorm_bayes_rule,
        loss="zero_one",
        param_name="n_estimators",
        param_range=[1, 4, 20],
        n_repetitions=6,
        random_state=0,
        ax=ax,
    )
    assert display.ax_ is ax
    assert ax.get_xscale() == "log"
    assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "4", "20"]
    for line, name in zip(ax.lines, PARTS):
        np.testing.assert_array_equal(line.get_xdata(), [1, 4, 20])
        np.testing.assert_array_equal(line.get_ydata(), [r[name] for r in display.results])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        "noise",
        "bias",
        "net variance",
        "expected 0-1 loss",
    ]
    display = BiasVarianceDisplay.from_parameter(
        DecisionTreeClassifier(),
        lambda random_state: make_twonorm(30, random_state=random_state),
        target=twonorm_bayes_rule,
        loss="zero_one",
        param_name="max_depth",
        param_range=[1, 2, None],
        n_repetitions=3,
        random_state=0,
    )
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["1", "2", "None"]
    with pytest.raises(ValueError, match="param_name must be a parameter of LinearSmoother"):
        BiasVarianceDisplay.from_parameter(
            LinearSmoother(), DESIGN, param_name="depth", param_range=[1]
        )
    with pytest.raises(ValueError, match="param_range must have at least one"):
        BiasVarianceDisplay.from_parameter(LinearSmoother(), DESIGN, param_name="S", param_range=[])
