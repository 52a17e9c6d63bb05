"""Intervals and stumps, gradient descent and Frank-Wolfe beside greedy boosting, equalities."""

import numpy as np
import pytest
from scipy.special import expit

from sklearn_ensemble_theory import AdaBoostClassifier, DecisionStumpClassifier, bounds
from sklearn_ensemble_theory.boosting.losses import LogisticLoss, SquaredLoss

from .test_adaboost_rounds import stumps_of
from .test_greedy import gauge, greedy_run

# Intervals and stumps


def test_best_stump_for_an_interval_errs_on_the_least_part():
    """Against the search over all stumps, for random weights of 30 rows and random intervals."""
    rng = np.random.default_rng(0)
    x = np.arange(30)
    for _ in range(40):
        s, t = np.sort(rng.choice(31, 2, replace=False))
        inside = (x >= s) & (x < t)
        y = np.where(inside, 1, -1) * rng.choice([-1, 1])
        w = rng.exponential(size=30)
        found = bounds.interval_stump_error(w[x < s].sum(), w[inside].sum(), w[x >= t].sum())
        by_search = (w * (stumps_of(30) != y)).sum(axis=1).min() / w.sum()
        assert found == pytest.approx(by_search, rel=1e-10, abs=1e-15)
        if len(set(y)) == 2:
            stump = DecisionStumpClassifier().fit(x[:, None], y, sample_weight=w)
            fitted = w @ (stump.predict(x[:, None]) != y) / w.sum()
            assert found == pytest.approx(fitted, rel=1e-10, abs=1e-15)
    assert bounds.interval_stump_error(1.0, 1.0, 1.0) == pytest.approx(1 / 3)
    assert bounds.interval_stump_error([0.5, 0.0], 0.3, 0.2).tolist() == [0.2, 0.0]


def test_a_third_is_the_most_and_three_stumps_are_the_interval():
    rng = np.random.default_rng(1)
    parts = rng.dirichlet(np.ones(3), size=2000)
    error = bounds.interval_stump_error(*parts.T)
    assert error.max() <= 1 / 3
    assert error.max() > 1 / 3 - 0.02
    x, s, t = np.linspace(-1, 1, 401), -0.2, 0.5
    for b in (-1, 1):
        vote = np.sign(x - s) - np.sign(x - t) - 1  # two stumps and a constant, of both signs
        inside = (x > s) & (x < t)
        ends = (x != s) & (x != t)
        np.testing.assert_array_equal(np.sign(b * vote)[ends], np.where(inside, b, -b)[ends])


def test_the_edge_of_the_stump_found_on_a_sample():
    """1000 samples of the law with the least edge, a third in each part."""
    n, delta, cells = 40_000, 0.5, 12
    rng = np.random.default_rng(2)
    counts = rng.multinomial(n, np.full(cells, 1 / cells), size=1000)
    y = np.where((np.arange(cells) >= 4) & (np.arange(cells) < 8), 1, -1)
    wrong = stumps_of(cells) != y
    chosen = np.argmin(counts @ wrong.T, axis=1)
    edge = 0.5 - wrong.mean(axis=1)[chosen]
    bound = bounds.interval_stump_edge_bound(n, delta)
    assert 0 < bound < 1 / 6
    assert np.mean(edge >= bound) >= 1 - delta
    # As n grows it tends to 1/6 - 0; with a hundred times the rows the difference is about a tenth.
    gaps = 1 / 6 - np.array([bounds.interval_stump_edge_bound(m, 0.05) for m in (10**6, 10**8)])
    assert 0.1 < gaps[1] / gaps[0] < 0.13
    # By hand, n = 800 and delta = 1: Phi_2(1600) = 1 + 1600 + 1600 1599 / 2.
    growth = np.log(1 + 1600 + 800 * 1599)
    by_hand = 1 / 6 - 2 * np.sqrt((growth + np.log(4)) / 400) - np.sqrt(np.log(2) / 1600)
    assert bounds.interval_stump_edge_bound(800, 1.0) == pytest.approx(by_hand)


def test_rows_of_a_weak_learner():
    """m(1/2 - gamma, delta): the least n of its inequality, and enough for stumps on intervals."""
    n = bounds.weak_learning_n_samples(2, 1 / 12, 0.05, best_error=1 / 3)
    edges = [bounds.interval_stump_edge_bound(int(m)) for m in (n, n - 1)]
    assert edges[0] >= 1 / 12 > edges[1]
    for d, gamma, delta in [(1, 0.05, 0.1), (7, 0.4, 0.5)]:
        least = bounds.weak_learning_n_samples(d, gamma, delta)
        assert least == bounds.pac_n_samples_upper_bound(d, 0.5 - gamma, delta)
    rng = np.random.default_rng(0)
    counts = rng.multinomial(n, np.full(12, 1 / 12), size=200)
    wrong = stumps_of(12) != np.where((np.arange(12) >= 4) & (np.arange(12) < 8), 1, -1)
    chosen = np.argmin(counts @ wrong.T, axis=1)
    assert np.mean(wrong.mean(axis=1)[chosen] <= 1 / 2 - 1 / 12) >= 0.95
    with pytest.raises(ValueError, match="best_error"):
        bounds.weak_learning_n_samples(2, 0.25, best_error=0.25)


def test_boosted_stumps_keep_the_edge_of_intervals():
    """AdaBoost on the rows of an interval: 1/2 - the least weight of a part in every round."""
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(size=120))
    y = np.where((x > 0.3) & (x < 0.7), 1, -1)
    model = AdaBoostClassifier(n_estimators=60).fit(x[:, None], y)
    weight = np.full(120, 1 / 120)
    for t, member in enumerate(model.estimators_):
        parts = [weight[x <= 0.3].sum(), weight[y == 1].sum(), weight[x >= 0.7].sum()]
        error = bounds.interval_stump_error(*parts)
        assert model.estimator_errors_[t] == pytest.approx(error, abs=1e-10)
        assert model.edges_[t] >= 1 / 6 - 1e-10
        weight = bounds.adaboost_weights(weight, member.predict(x[:, None]) != y)


# Gradient descent and Frank-Wolfe beside greedy boosting


@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss()], ids=str)
def test_gradient_descent_is_below_its_bound_and_the_gauge_form(loss):
    """1000 targets at once; for the logistic loss any competitor may stand for the minimiser."""
    rng = np.random.default_rng(0)
    n, runs = 10, 1000
    y = rng.choice([-1.0, 1.0], (runs, n))
    best = y * rng.uniform(0.5, 3, (runs, n)) if loss.smoothness < 1 else y
    L = loss.smoothness / n
    u = np.zeros((runs, n))

    def risk(u):
        return loss.value(y, u).mean(axis=1)

    for t in range(1, 41):
        u = u - loss.gradient(y, u) / n / L
        distance = np.sqrt((best**2).sum(axis=1))
        right = bounds.gradient_descent_bound(t, L, distance)
        assert (risk(u) - risk(best) <= right + 1e-12).all()
    # In units of the gauge of a dictionary with |psi| <= C: at least as large.
    psi = rng.choice([-1.0, 1.0], (n, 25))
    for target in y[:5]:
        g = gauge(psi, target)
        assert np.sqrt(target @ target) <= np.sqrt(n) * g * (1 + 1e-9)
        euclidean = bounds.gradient_descent_bound(3, L, np.sqrt(target @ target))
        assert euclidean <= bounds.gradient_descent_bound(3, L * n, g) * (1 + 1e-9)


def test_gradient_descent_limits():
    assert bounds.gradient_descent_bound(0, 1.0, 1.0) == 0.5
    assert bounds.gradient_descent_bound([1, 2], 3.0, 2.0).tolist() == [6.0, 3.0]
    # Huber's function at a large distance d: the gradient is 1 on the way, F(u_t) = d - t - 1/2.
    # At t = d/2 the bound is 1/(2t) d² = d, twice what is attained.
    d = 1000.0
    assert (d - d / 2 - 0.5) / bounds.gradient_descent_bound(d / 2, 1.0, d) > 0.49


def test_simplified_bound_of_greedy_boosting():
    """With F(u_0) - F(u*) <= L |u_0 - u*|²/2 proposition 10.1 gives L C² gamma² / t^(1/5)."""
    rng = np.random.default_rng(1)
    for seed in range(10):
        psi = rng.choice([-1.0, 1.0], (8, 20))
        y = psi @ (rng.standard_normal(20) * (rng.random(20) < 0.2))
        risks, _, curvature = greedy_run(SquaredLoss(), psi, y, 100)
        g = gauge(psi, y)
        assert risks[0] <= curvature * g**2 / 2 * (1 + 1e-9), seed
        t = np.arange(1, 101)
        right = bounds.greedy_boosting_bound(t, curvature, g, excess=curvature * g**2 / 2)
        assert (risks[1:] <= right).all()
        assert (right <= curvature * g**2 / t**0.2).all()
        printed = curvature * g**2 * np.minimum(0.5, (1 / (8 * t)) ** 0.2)
        np.testing.assert_allclose(right, printed, rtol=1e-12)


def test_frank_wolfe_bound_holds_along_runs_and_by_hand():
    """1000 targets at once, quadratic F over the l1 ball, open-loop steps 2/(t + 2)."""
    rng = np.random.default_rng(2)
    n, d, D = 8, 12, 1.5
    psi = rng.standard_normal((n, d))
    psi /= np.sqrt((psi**2).sum(axis=0))
    inside = rng.dirichlet(np.ones(d), 1000) * rng.choice([-1.0, 1.0], (1000, d))
    y = D * inside @ psi.T  # so that min F = 0
    u = np.zeros_like(y)
    for t in range(60):
        products = (y - u) @ psi
        j = np.argmax(np.abs(products), axis=1)
        atom = np.sign(products[np.arange(1000), j])[:, None] * psi.T[j]
        step = 2 / (t + 2)
        u = (1 - step) * u + step * D * atom
        risk = 0.5 * ((u - y) ** 2).sum(axis=1)
        assert (risk <= bounds.frank_wolfe_bound(t + 1, 1.0, D)).all()
    # One round from 0 towards the one atom psi, with y = -D psi: u = D psi, F = (2 D)²/2 = 2 D².
    assert bounds.frank_wolfe_bound(2, 1.0, D) == 2 * D**2


def test_expected_risk_of_frank_wolfe_is_below_its_bound():
    """Logistic regression in an l1 ball: 1000 samples at once, their mean risk on the law."""
    rng = np.random.default_rng(3)
    n, d, D, runs, rounds = 60, 4, 3.0, 1000, 40
    theta = np.array([2.0, -1.0, 0.0, 0.0])
    loss = LogisticLoss()
    X = rng.choice([-1.0, 1.0], (runs, n, d))
    y = np.where(rng.random((runs, n)) < expit(X @ theta), 1.0, -1.0)
    coef = np.zeros((runs, d))
    for t in range(rounds):
        u = np.einsum("rnd,rd->rn", X, coef)
        gradient = np.einsum("rn,rnd->rd", loss.gradient(y, u), X)
        j = np.argmax(np.abs(gradient), axis=1)
        vertex = np.zeros((runs, d))
        vertex[np.arange(runs), j] = -D * np.sign(gradient[np.arange(runs), j])
        coef += 2 / (t + 2) * (vertex - coef)
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * d)).reshape(d, -1)
    p = expit(corners.T @ theta)

    def risk(coef):
        scores = coef @ corners
        return (p * np.logaddexp(0, -scores) + (1 - p) * np.logaddexp(0, scores)).mean(axis=-1)

    signs = rng.choice([-1.0, 1.0], (4000, n))
    features = rng.choice([-1.0, 1.0], (n, d))
    rho = np.abs(signs @ features / n).max(axis=1).mean() * np.sqrt(n)
    bound = bounds.frank_wolfe_risk_bound(rounds, n, D, rademacher=rho)
    excess = risk(coef) - risk(theta)
    assert excess.mean() + 3 * excess.std() / np.sqrt(runs) < bound
    assert excess.mean() > 0
    # By hand: G1 = rho = R D = 1, G2 = 1/4, n = 100, t = 8: 0.2 + 0.2.
    assert bounds.frank_wolfe_risk_bound(8, 100, 1.0) == pytest.approx(0.4)


def test_number_of_rounds_at_which_both_errors_of_frank_wolfe_are_equal():
    for n, D, rho in [(10**4, 5.0, 1.0), (10**6, 2.0, 0.5), (500, 40.0, 2.0)]:
        t = bounds.frank_wolfe_n_rounds(n, D, rademacher=rho)
        estimation = bounds.frank_wolfe_risk_bound(1e15, n, D, rademacher=rho)
        total = bounds.frank_wolfe_risk_bound(t, n, D, rademacher=rho)
        assert total == pytest.approx(2 * estimation, rel=1e-10)
    assert bounds.frank_wolfe_n_rounds(10_000, 5.0) == pytest.approx(5 * 100 - 2)
    assert bounds.frank_wolfe_n_rounds(1, 0.1) == 1


def test_rates_of_early_stopping_and_of_the_ball():
    """(R gamma / sqrt(n))^(2/7) for boosting at its best t, R gamma / sqrt(n) in the ball."""
    n = np.array([10**10, 10**14])
    boosting, ball = [], []
    for m in n.tolist():
        t = bounds.greedy_boosting_best_n_rounds(m, 1.0)
        boosting.append(bounds.greedy_boosting_risk_bound(t, m, 1.0))
        ball.append(bounds.frank_wolfe_risk_bound(bounds.frank_wolfe_n_rounds(m, 1.0), m, 1.0))
    decades = np.log(n[1] / n[0])
    assert np.log(boosting[0] / boosting[1]) / decades == pytest.approx(1 / 7, rel=0.01)
    assert np.log(ball[0] / ball[1]) / decades == pytest.approx(1 / 2, rel=0.01)
    assert ball[0] < boosting[0]


def test_complexity_of_functions_of_the_distance():
    """sigma(d) = max(1 - d, 0) on the unit interval; the supremum over a fine grid of w."""
    rng = np.random.default_rng(4)
    n = 200
    w = np.linspace(0, 1, 401)
    features = np.maximum(1 - np.abs(rng.uniform(size=(n, 1)) - w), 0)
    signs = rng.choice([-1.0, 1.0], (1000, n))
    suprema = np.abs(signs @ features / n).max(axis=1)
    k = np.arange(1, 500)
    bound = bounds.distance_features_rademacher_bound(
        n, 1.0, 0.5 / k, np.log(k), value_bound=1.0
    ).min()
    assert suprema.mean() + 3 * suprema.std() / np.sqrt(1000) < bound


# Equalities of functions that have bounds beside them


def test_kappa_of_orthogonal_and_of_equally_correlated_columns():
    """By hand: 1/sqrt(d), and for a common product r the least s'G s^-1 form over signs s."""
    for d in (1, 3, 8):
        assert bounds.matching_pursuit_kappa(np.eye(d)) == pytest.approx(1 / np.sqrt(d))
    d, r = 4, 0.3
    gram = np.full((d, d), r) + (1 - r) * np.eye(d)
    # s'G^-1 s is largest where the signs sum to 0: d / (1 - r).
    assert bounds.matching_pursuit_kappa(gram) == pytest.approx(np.sqrt((1 - r) / d))


def test_surrogate_risk_is_the_mean_loss():
    rng = np.random.default_rng(5)
    y, u = rng.choice([-1.0, 1.0], 60), rng.standard_normal(60)
    for name, values in [
        ("exponential", np.exp(-y * u)),
        ("logistic", np.log1p(np.exp(-y * u))),
        ("hinge", np.maximum(1 - y * u, 0)),
    ]:
        assert bounds.surrogate_risk(name, y, u) == pytest.approx(values.mean(), rel=1e-10)


def test_noise_under_the_measure_of_massart_boosting_at_the_threshold():
    """At |G(x)| = s the weighted noise is exactly 1/2 - alpha, for a row with noise eta."""
    for eta, alpha in [(0.1, 0.05), (0.3, 0.15), (0.45, 0.01)]:
        s = bounds.massart_confidence_threshold(eta, alpha)
        # The label is right with weight exp(-s) and wrong with weight 1.
        noise = eta / (eta + (1 - eta) * np.exp(-s))
        assert noise == pytest.approx(0.5 - alpha, rel=1e-10)
    assert bounds.massart_confidence_threshold(0.2, 0.0) == pytest.approx(np.log(4))


def test_massart_bound_in_its_other_form():
    """1/(1 + e^s) = eta (1 + 2 alpha)/(1 - 2 alpha (1 - 2 eta)); at alpha = 0 it is eta."""
    for eta in (0.1, 0.4):
        assert bounds.massart_boosting_error_bound(eta, 0.0) == pytest.approx(eta)
        for alpha in (0.01, 0.05):
            other = eta * (1 + 2 * alpha) / (1 - 2 * alpha * (1 - 2 * eta))
            assert bounds.massart_boosting_error_bound(eta, alpha) == pytest.approx(other)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: bounds.interval_stump_error(-0.1, 0.5, 0.6), "left"),
        (lambda: bounds.interval_stump_error(0.0, 0.0, 0.0), "all be 0"),
        (lambda: bounds.interval_stump_edge_bound(0), "n_samples"),
        (lambda: bounds.interval_stump_edge_bound(10, 1.5), "delta"),
        (lambda: bounds.gradient_descent_bound(-1, 1.0, 1.0), "n_rounds"),
        (lambda: bounds.gradient_descent_bound(1, -1.0, 1.0), "smoothness"),
        (lambda: bounds.gradient_descent_bound(1, 1.0, np.inf), "distance"),
        (lambda: bounds.frank_wolfe_bound(0, 1.0, 1.0), "n_rounds"),
        (lambda: bounds.frank_wolfe_bound(1, 1.0, -1.0), "radius"),
        (lambda: bounds.frank_wolfe_risk_bound(1, 10, 1.0, smoothness=-1.0), "smoothness"),
        (lambda: bounds.frank_wolfe_n_rounds(10, 1.0, rademacher=0.0), "rademacher"),
        (lambda: bounds.frank_wolfe_n_rounds(0, 1.0), "n_samples"),
        (lambda: bounds.matching_pursuit_bound(-1, 1.0), "n_rounds"),
        (lambda: bounds.matching_pursuit_bound(1, 1.0, learning_rate=2.0), "learning_rate"),
        (lambda: bounds.matching_pursuit_bound(1, 1.0, weakness=0.0), "weakness"),
        (lambda: bounds.orthogonal_matching_pursuit_bound(1, -1.0), "gauge"),
        (lambda: bounds.matching_pursuit_kappa(np.ones((2, 3))), "square"),
        (lambda: bounds.greedy_boosting_bound(1, -1.0, 1.0, 1.0), "curvature"),
        (lambda: bounds.greedy_boosting_gauge_bound(1, 0.0, 1.0), "curvature"),
        (lambda: bounds.quadratic_boosting_bound([1, np.nan], 1.0, 1.0), "n_rounds"),
        (lambda: bounds.greedy_boosting_risk_bound(1, 10, 1.0, smoothness=0.0), "smoothness"),
        (lambda: bounds.greedy_boosting_best_n_rounds(10, 1.0, loss_at_zero=0.0), "loss_at_zero"),
        (lambda: bounds.agnostic_boosting_error_bound(0), "n_rounds"),
        (lambda: bounds.agnostic_boosting_error_bound(10, slack=-1.0), "slack"),
        (lambda: bounds.massart_boosting_error_bound(0.2, 0.1, smoothness=2.0), "smoothness"),
        (lambda: bounds.massart_boosting_n_rounds(0.2, 0.05, 0.1, 0.2, 0.0), "tol"),
        (lambda: bounds.massart_confidence_threshold(0.6, 0.0), "noise_rate"),
        (lambda: bounds.smooth_boosting_n_rounds(0.1, 0.9), "edge"),
    ],
)
def test_arguments_outside_the_assumptions(call, match):
    with pytest.raises(ValueError, match=match):
        call()
