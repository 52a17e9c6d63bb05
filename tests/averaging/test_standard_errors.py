"""Standard errors and the decomposition of the variance: against fresh data, and of weights."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.averaging import StandardErrorWarning
from sklearn_ensemble_theory.ensembles._jackknife import (
    Jackknife,
    SquaredInfluences,
    corrected,
    covariance_vectors,
    decompose,
    infinitesimal_jackknife,
    jackknife_variance,
    left_out_vectors,
    positive_posterior,
    variances_at,
)
from sklearn_ensemble_theory.inspection import (
    ensemble_std,
    forget_training_rows,
    variance_decomposition,
)

from .test_sampling import SCHEMES, dense_draws

POINTS = np.linspace(0.1, 0.9, 15)[:, None]


def fresh_data_sets(leaf, n_sets, n=80, n_estimators=100, seed=0, **params):
    """Bags of trees on fresh samples of a noisy sine: fitted, and their members' predictions."""
    rng = np.random.default_rng(seed)
    for r in range(n_sets):
        X = rng.random((n, 1))
        y = np.sin(6 * X[:, 0]) + 0.5 * rng.standard_normal(n)
        bag = BaggingRegressor(
            DecisionTreeRegressor(min_samples_leaf=leaf), n_estimators, random_state=r, **params
        ).fit(X, y)
        yield bag, np.stack([tree.predict(POINTS) for tree in bag.estimators_])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")  # at a few points, of 100 members
@pytest.mark.parametrize(
    ("leaf", "params"),
    [
        (10, {"bootstrap": True}),
        (3, {"bootstrap": False, "max_samples": 20}),
    ],
)
def test_standard_error_and_decomposition_against_fresh_data(leaf, params):
    bags = list(fresh_data_sets(leaf, n_sets=30, seed=1, **params))
    answers = np.stack([members for _, members in bags])  # (sets, B, points)
    B = answers.shape[1]
    within = answers.var(axis=1, ddof=1).mean()
    of_the_mean = answers.mean(axis=1).var(axis=0, ddof=1).mean()
    of_infinitely_many = of_the_mean - within / B

    jackknife = np.mean([bag.standard_error(POINTS) ** 2 for bag, _ in bags])
    assert np.sqrt(jackknife) == pytest.approx(np.sqrt(of_infinitely_many), rel=0.15)

    parts = [variance_decomposition(bag, POINTS) for bag, _ in bags]
    sigma2 = np.mean([p.sigma2 for p in parts])
    rho = np.mean([p.rho * p.sigma2 for p in parts]) / sigma2
    true_sigma2 = within + of_infinitely_many
    assert sigma2 == pytest.approx(true_sigma2, rel=0.1)
    assert rho == pytest.approx(of_infinitely_many / true_sigma2, rel=0.25)
    variance = np.mean([p.variance for p in parts])
    assert np.sqrt(variance) == pytest.approx(np.sqrt(of_the_mean), rel=0.15)
    # The spread of the members is another thing than the error of their mean.
    spread = np.mean([ensemble_std(bag, POINTS) ** 2 for bag, _ in bags])
    assert spread == pytest.approx(within)
    assert spread > 1.5 * jackknife


@pytest.mark.slow
def test_true_correlation_of_two_members():
    """rho as in [Shah, §4.5], from pairs of trees on the same data, against rho sigma² above."""
    n_sets = 100
    sets = fresh_data_sets(10, n_sets=n_sets, n_estimators=10, seed=5)
    answers = np.stack([members for _, members in sets])
    first, second = answers[:, :5].mean(axis=1), answers[:, 5:].mean(axis=1)
    covariance = (
        np.mean((first - first.mean(0)) * (second - second.mean(0))) * n_sets / (n_sets - 1)
    )
    between = answers.mean(axis=1).var(axis=0, ddof=1).mean()
    between -= answers.var(axis=1, ddof=1).mean() / 10
    assert covariance == pytest.approx(between, rel=0.05)
    sigma2 = answers.reshape(-1, len(POINTS)).var(axis=0).mean()
    B = 10
    mean_variance = answers.mean(axis=1).var(axis=0, ddof=1).mean()
    rho = covariance / sigma2
    assert rho * sigma2 + (1 - rho) * sigma2 / B == pytest.approx(mean_variance, rel=0.05)


@pytest.mark.slow
def test_noise_of_few_members_is_taken_out():
    """Without the correction the estimate from 60 members would be several times too large."""
    rng = np.random.default_rng(0)
    X = rng.random((100, 1))
    y = np.sin(6 * X[:, 0]) + 0.5 * rng.standard_normal(100)
    tree = DecisionTreeRegressor(min_samples_leaf=5)
    many = BaggingRegressor(tree, 1000, random_state=0).fit(X, y)
    reference = jackknife_variance(many.ensemble_, POINTS)[0].mean()
    few = [
        jackknife_variance(BaggingRegressor(tree, 60, random_state=s).fit(X, y).ensemble_, POINTS)[
            0
        ].mean()
        for s in range(1, 31)
    ]
    assert np.mean(few) == pytest.approx(reference, rel=0.1)
    draws, spread = many.ensemble_.draws.scheme.noise / 60, np.mean(ensemble_std(many, POINTS) ** 2)
    assert draws * spread > 2 * reference


def test_jackknife_is_the_sum_of_squared_covariances():
    rng = np.random.default_rng(0)
    weights, answers = rng.poisson(1, (7, 5)).astype(float), rng.standard_normal((7, 2))
    by_hand = np.zeros(2)
    covariances = np.array([[np.cov(w, t, ddof=0)[0, 1] for t in answers.T] for w in weights.T])
    by_hand = ((covariances - covariances.mean(axis=0)) ** 2).sum(axis=0)
    got = infinitesimal_jackknife(weights, answers, scale=2.0, noise=3.0)
    np.testing.assert_allclose(got, 2 * (by_hand - 3.0 * answers.var(axis=0) / 7))


def test_decomposition_of_equal_and_of_independent_members():
    parts = decompose(np.array([2.0, 0.0, 0.0]), np.array([0.0, 3.0, 0.0]), n_members=6)
    np.testing.assert_allclose(parts.rho, [1, 0, 0])
    np.testing.assert_allclose(parts.sigma2, [2, 3, 0])
    np.testing.assert_allclose(parts.variance, [2, 0.5, 0])


def test_too_few_members_warn_and_give_a_positive_number():
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 2)), rng.standard_normal(300)
    bag = BaggingRegressor(n_estimators=3, random_state=0).fit(X, y)
    with pytest.warns(StandardErrorWarning, match="more members than n_estimators=3"):
        error = bag.standard_error(rng.random((50, 2)))
    assert np.isfinite(error).all()
    # Few members are too large an error, not too small a one; 0 only where all three agree.
    assert np.median(error) > 0.3
    assert (error[ensemble_std(bag, X[:50]) > 0] >= 0).all()


def test_no_standard_error_is_an_error_with_its_reason():
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 2)), rng.standard_normal(30)
    with pytest.raises(ValueError, match="n_estimators >= 2"):
        ensemble_std(BaggingRegressor(n_estimators=1).fit(X, y), X)
    with pytest.raises(ValueError, match="fitted to every row with the same weight"):
        RandomForestRegressor(5, bootstrap=False).fit(X, y).standard_error(X)


@pytest.mark.parametrize("cls", [BaggingClassifier, RandomForestClassifier])
def test_standard_errors_of_probabilities(cls):
    rng = np.random.default_rng(0)
    X = rng.random((80, 2))
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 80)]
    model = cls(n_estimators=200, max_samples=0.5, random_state=0).fit(X, y)
    assert model.standard_error(X[:6]).shape == (6, 3)
    assert ensemble_std(model, X[:6]).shape == (6, 3)
    assert variance_decomposition(model, X[:6]).rho.max() <= 1


@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
def test_chunks_do_not_change_the_answer(monkeypatch):
    from sklearn_ensemble_theory.ensembles import _predictions

    rng = np.random.default_rng(0)
    X, y = rng.random((50, 2)), rng.standard_normal(50)
    bag = BaggingRegressor(n_estimators=60, max_samples=0.5, random_state=0).fit(X, y)
    whole = bag.standard_error(X), ensemble_std(bag, X)
    monkeypatch.setattr(_predictions, "PREDICTIONS", 60 * 7)
    np.testing.assert_allclose(bag.standard_error(X), whole[0], rtol=1e-12)
    np.testing.assert_allclose(ensemble_std(bag, X), whole[1], rtol=1e-12)


# Weighted rows, and the jackknife after bootstrap


@pytest.mark.parametrize("B", [12, 60])  # fewer members than rows, and more
def test_both_estimates_are_those_of_their_definitions(B):
    rng = np.random.default_rng(0)
    n = 25
    v = rng.poisson(1, (B, n)).astype(float)
    v[:, 3], v[:, 4] = 0, 1  # a row of no member, and one of all
    t, shares = rng.standard_normal((B, 3)), rng.dirichlet(np.ones(n))
    spread = t.var(axis=0)
    for p in (None, shares):
        of = np.full(n, 1 / n) if p is None else p
        covariance = np.array([[np.cov(w, s, ddof=0)[0, 1] for s in t.T] for w in v.T])
        covariance -= of[:, None] * covariance.sum(axis=0)
        squares = SquaredInfluences(covariance_vectors(sparse(v), p), n)
        expected = (covariance**2).sum(axis=0)
        np.testing.assert_allclose(squares.of(t - t.mean(axis=0)), expected, rtol=1e-10)
        expected = 2 * (expected - 0.3 * spread)  # spread with B, as the noise of a covariance
        np.testing.assert_allclose(corrected(squares, t, scale=2.0, noise=0.3), expected)

        squares = SquaredInfluences(left_out_vectors(sparse(v), p), n)
        total = noise = 0.0
        for i in range(n):
            outside = v[:, i] == 0
            if outside.any():
                difference = t[outside].mean(axis=0) - t.mean(axis=0)
                total = total + (1 - of[i]) * difference**2
                noise += (1 - of[i]) * (1 / outside.sum() - 1 / B)
        assert squares.noise == pytest.approx(noise)
        # The noise of these very weights is that of predictions of variance B / (B - 1) spread.
        expected = total - noise * t.var(axis=0, ddof=1)
        np.testing.assert_allclose(corrected(squares, t), expected, rtol=1e-10)


def sparse(v):
    import scipy.sparse as sp

    return sp.csr_array(v)


def test_noise_of_the_bootstrap_is_the_published_correction():
    """(e - 1) n / B² times the sum of squares [Wager, Hastie and Efron, 2014]."""
    v = dense_draws(SCHEMES[True](300, 300), 2_000)
    noise = SquaredInfluences(left_out_vectors(sparse(v)), 300).noise
    assert noise == pytest.approx((np.e - 1) * 300 / 2_000, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["infinitesimal", "jackknife"])
@pytest.mark.parametrize(
    ("scheme", "size"), [(True, 40), ("poisson", 40), ("bernoulli", 0.5), ("bayesian", 40)]
)
def test_error_of_a_weighted_mean(method, scheme, size):
    """The mean is linear in the shares p of the weights: Var = sum p_i² (y_i - mean)²."""
    if method == "jackknife" and scheme == "bayesian":
        pytest.skip("no rows are left out")
    rng = np.random.default_rng(1)
    y, weight = 3 * rng.standard_normal(40), rng.random(40) + 0.2
    p = weight / weight.sum()
    resampling = SCHEMES[scheme].of(40, size, 2 * weight if scheme == "bayesian" else weight)
    v = dense_draws(resampling, 20_000)
    means = (v @ y / v.sum(axis=1))[:, None]
    if method == "jackknife":
        squares, scale = SquaredInfluences(left_out_vectors(sparse(v), p), 40), 1.0
    else:
        vectors = covariance_vectors(resampling.influence_draws(sparse(v)), p)
        squares, scale = SquaredInfluences(vectors, 40), resampling.jackknife_scale
    expected = np.sum(p**2 * (y - p @ y) ** 2)
    tolerance = {True: 0.05, "bayesian": 0.05}.get(scheme, 0.12)
    np.testing.assert_allclose(corrected(squares, means, scale=scale), expected, rtol=tolerance)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
def test_weighted_errors_against_fresh_data():
    points = np.linspace(0.1, 0.9, 15)[:, None]
    rng, means, found = np.random.default_rng(0), [], {"infinitesimal": [], "jackknife": []}
    spread = []
    for r in range(40):
        X = rng.random((80, 1))
        y = np.sin(6 * X[:, 0]) + 0.5 * rng.standard_normal(80)
        bag = BaggingRegressor(
            DecisionTreeRegressor(min_samples_leaf=10), 100, random_state=r, n_jobs=1
        ).fit(X, y, sample_weight=np.where(X[:, 0] > 0.5, 3.0, 1.0))
        means.append(bag.predict(points))
        spread.append(ensemble_std(bag, points) ** 2 / 100)
        for method, squares in found.items():
            squares.append(bag.standard_error(points, method=method) ** 2)
    true = np.var(means, axis=0, ddof=1).mean() - np.mean(spread)
    assert np.sqrt(np.mean(found["infinitesimal"])) == pytest.approx(np.sqrt(true), rel=0.15)
    # The jackknife is biased upwards [Efron and Stein, 1981].
    assert 1 < np.sqrt(np.mean(found["jackknife"]) / true) < 1.5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
def test_errors_do_not_depend_on_the_scale_of_the_weights(regression):
    X, y = regression
    weight = np.random.default_rng(0).random(len(y))
    for method in ("infinitesimal", "jackknife"):
        errors = [
            RandomForestRegressor(200, max_depth=3, random_state=0)
            .fit(X, y, sample_weight=c * weight)
            .standard_error(X, method=method)
            for c in (1.0, 1024.0)
        ]
        np.testing.assert_allclose(errors[0], errors[1], rtol=1e-9)


@pytest.mark.slow
def test_errors_with_class_weights(classification):
    X, y = classification
    forest = RandomForestClassifier(300, max_depth=3, class_weight="balanced", random_state=0)
    errors = forest.fit(X, y).standard_error(X[:10])
    assert errors.shape == (10, 3)
    assert (errors > 0).mean() > 0.9
    # A row of weight 0 has no influence: leaving it out changes the draws, not what is estimated.
    weight = np.ones(len(y))
    weight[:30] = 0
    bag = BaggingRegressor(DecisionTreeRegressor(max_depth=2), 400, random_state=0)
    whole = bag.fit(X, y, sample_weight=weight).standard_error(X).mean()
    part = bag.fit(X[30:], y[30:]).standard_error(X).mean()
    assert whole == pytest.approx(part, rel=0.15)


# Shrinkage towards the mean ratio of the variances


@pytest.mark.filterwarnings("ignore:Monte Carlo noise", "ignore:Members that reproduce")
@pytest.mark.parametrize("method", ["auto", "infinitesimal", "jackknife"])
def test_negative_variances_become_positive_and_other_points_do_not_matter(regression, method):
    X, y = regression
    forest = RandomForestRegressor(60, max_depth=3, random_state=0).fit(X, y)
    assert (jackknife_variance(forest.ensemble_, X, method)[0] < 0).any()
    whole = forest.standard_error(X, method=method)
    assert (whole > 0).all()
    one_by_one = [forest.standard_error(X[i : i + 1], method=method)[0] for i in range(20)]
    np.testing.assert_allclose(one_by_one, whole[:20], rtol=1e-10)
    again = pickle.loads(pickle.dumps(forest)).standard_error(X, method=method)
    np.testing.assert_array_equal(again, whole)


def test_the_mean_of_both_jackknives():
    rng = np.random.default_rng(0)
    X, y = rng.random((50, 2)), rng.standard_normal(50)
    bag = BaggingRegressor(n_estimators=40, random_state=0).fit(X, y)
    both, one, other = (
        jackknife_variance(bag.ensemble_, X, method)[0]
        for method in ("auto", "infinitesimal", "jackknife")
    )
    # Beside that the noise of the weights is taken from the draws, as it is for the second.
    np.testing.assert_allclose(both, (one + other) / 2, atol=0.02 * np.abs(other).max())
    bag.set_params(bootstrap=False, max_samples=0.5).fit(X, y)
    np.testing.assert_array_equal(
        jackknife_variance(bag.ensemble_, X, "auto")[0],
        jackknife_variance(bag.ensemble_, X, "infinitesimal")[0],
    )


@pytest.mark.parametrize("B", [40, 150])  # fewer members than rows, and more
def test_noise_of_the_ratio_is_its_variance_over_predictions(B):
    """Normal predictions that depend on the weights with ratio 0, and with a known ratio."""
    n, rng = 80, np.random.default_rng(0)
    v = rng.poisson(1, (B, n)).astype(float)
    jackknife = Jackknife(SquaredInfluences(covariance_vectors(sparse(v)), n))
    t = rng.standard_normal((B, 20_000))
    variance, spread, _ = variances_at(jackknife, iter([t]))
    assert np.var(variance / spread) == pytest.approx(jackknife.noise_of_ratio(B, 0.0), rel=0.05)
    found = []
    for _ in range(60):
        v = rng.poisson(1, (B, n)).astype(float)
        effects = rng.standard_normal((n, 40))
        effects *= 0.5 / np.sqrt(np.sum((effects - effects.mean(axis=0)) ** 2, axis=0))
        t = v @ effects + np.sqrt(0.75) * rng.standard_normal((B, 40))
        jackknife = Jackknife(SquaredInfluences(covariance_vectors(sparse(v)), n))
        variance, spread, _ = variances_at(jackknife, iter([t]))
        found.append(variance / spread)
    assert np.mean(found) == pytest.approx(0.25, rel=0.1)
    assert np.var(found) == pytest.approx(jackknife.noise_of_ratio(B, 0.25), rel=0.25)


def test_law_of_ratios_of_rows_is_that_of_the_members_outside():
    """Against the definition, and against many rows of known ratios."""
    n, B, rng = 60, 50, np.random.default_rng(0)
    v = rng.multinomial(n, np.full(n, 1 / n), size=B).astype(float)
    jackknife = Jackknife(SquaredInfluences(covariance_vectors(sparse(v)), n))
    outside, t = (v == 0).astype(float), rng.standard_normal((B, n))
    ratios, counts = [], outside.sum(axis=0)
    for i in range(n):
        own = outside[:, i] == 1
        u = v[own] - v[own].mean(axis=0)
        u -= u.mean(axis=1, keepdims=True)
        u = u / own.sum()
        spread = t[own, i].var(ddof=1)
        ratios.append((np.sum((u.T @ t[own, i]) ** 2) - np.sum(u**2) * spread) / spread)
    mean, _ = jackknife.law_of_ratios(t, outside)
    assert mean == pytest.approx(np.average(ratios, weights=counts**2), rel=1e-9)
    # Where rows do not differ in their ratio, nothing is left but the error of the mean.
    laws = []
    for _ in range(150):
        effects = rng.standard_normal((n, n))
        effects *= 0.5 / np.sqrt(np.sum((effects - effects.mean(axis=0)) ** 2, axis=0))
        t = v @ effects + np.sqrt(0.75) * rng.standard_normal((B, n))
        laws.append(jackknife.law_of_ratios(t, outside))
    means, variances = np.transpose(laws)
    assert means.mean() == pytest.approx(0.25, rel=0.15)
    assert np.median(variances) == pytest.approx(means.var(), rel=0.5)


def test_posterior_of_a_positive_number_by_quadrature():
    estimate, mean = np.array([-0.4, 0.1, 3.0]), np.array([0.2])
    for noise, variance in [(0.09, 0.01), (0.01, 0.09), (0.04, np.inf)]:
        found, error = positive_posterior(estimate, np.array([noise]), mean, np.array([variance]))
        grid = np.linspace(0, 6, 200_001)[:, None]
        law = -((grid - estimate) ** 2) / (2 * noise)
        law = law if np.isinf(variance) else law - (grid - mean) ** 2 / (2 * variance)
        law = np.exp(law - law.max(axis=0))
        np.testing.assert_allclose(found, (grid * law).sum(axis=0) / law.sum(axis=0), rtol=1e-3)
        assert error[0] ** -2 == pytest.approx(1 / noise + 1 / variance)
    # Without noise it is the estimate, without a variance the mean.
    np.testing.assert_allclose(positive_posterior(np.array([0.3]), 0.0, mean, mean)[0], 0.3)
    np.testing.assert_allclose(positive_posterior(np.array([0.3]), 0.1, mean, np.zeros(1))[0], 0.2)
    # Noise that rounding makes negative is none.
    np.testing.assert_allclose(positive_posterior(np.array([0.3]), -1e-20, mean, mean)[0], 0.3)


@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
def test_without_training_rows_errors_are_positive_too():
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 3)), rng.standard_normal(200)
    forest = RandomForestRegressor(100, random_state=0).fit(X, y)
    shrunk = forest.standard_error(X)
    forest = forget_training_rows(forest)
    plain = forest.standard_error(X)
    assert (plain > 0).all()
    assert np.mean(plain**2) > np.mean(shrunk**2)
    learner = BaggingRegressor(LinearRegression(), 60, random_state=0).fit(X, y)
    assert (learner.standard_error(X) > 0).all()
    learner.set_params(oob_score=True).fit(X, y)
    assert (learner.standard_error(X) > 0).all()


@pytest.mark.slow
def test_two_standard_errors_cover_the_mean_over_training_sets():
    """100 trees on 150 rows: the share of points was .6 to .7 before ratios were shrunk."""
    rng, points = np.random.default_rng(0), np.random.default_rng(1).random((40, 4))
    for params, least in [({"bootstrap": False, "max_samples": 0.25}, 0.88), ({}, 0.85)]:
        means, errors, spreads = [], [], []
        for r in range(25):
            X = rng.random((150, 4))
            y = 4 * X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.standard_normal(150)
            forest = RandomForestRegressor(100, random_state=r, **{"bootstrap": True, **params})
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StandardErrorWarning)
                errors.append(forest.fit(X, y).standard_error(points))
            means.append(forest.predict(points))
            spreads.append(ensemble_std(forest, points) ** 2 / 100)
        true = np.sqrt(np.var(means, axis=0, ddof=1) - np.mean(spreads, axis=0))
        assert np.mean(errors) == pytest.approx(true.mean(), rel=0.12)
        assert np.mean(np.abs(means - np.mean(means, axis=0)) <= 2 * np.array(errors)) > least


@pytest.mark.slow
def test_small_leaves_and_repeated_rows_warn_with_the_cure(regression):
    X, y = regression
    forest = RandomForestRegressor(300, random_state=0).fit(X, y)
    with pytest.warns(StandardErrorWarning, match='or method="auto"'):
        forest.standard_error(X, method="infinitesimal")
    forest.set_params(bootstrap="bayesian").fit(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Monte Carlo noise exceeds")
        with pytest.warns(StandardErrorWarning, match="or bootstrap=True if"):
            forest.standard_error(X)
    # No warning, which would be an error here.
    forest.set_params(bootstrap=True, min_samples_leaf=8).fit(X, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Monte Carlo noise exceeds")
        forest.standard_error(X, method="infinitesimal")
        forest.set_params(bootstrap="bernoulli", max_samples=0.3, min_samples_leaf=1).fit(X, y)
        forest.standard_error(X, method="infinitesimal")


@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
def test_errors_of_methods_and_schemes(regression):
    X, y = regression
    weight = np.arange(1.0, len(y) + 1)
    forest = RandomForestRegressor(20, max_depth=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"method must be one of \['auto', "):
        forest.standard_error(X, method="bootstrap")
    bag = RandomForestRegressor(100, max_depth=3, bootstrap=False, max_samples=0.3, random_state=0)
    bag.fit(X, y, sample_weight=weight / weight.sum() * len(y))
    with pytest.raises(ValueError, match='use method="jackknife"'):
        bag.standard_error(X)
    assert (bag.standard_error(X, method="jackknife") > 0).any()
    with pytest.raises(ValueError, match="require rows that are not drawn for every member"):
        RandomForestRegressor(5, bootstrap="bayesian").fit(X, y).standard_error(X, "jackknife")
