"""The sharper forms, `method="sharp"`: below those of the sources, and against their events.

An event that a bound is for is simulated at least a thousand times, or its probability is exact.
"""

import inspect
from itertools import product

import numpy as np
import pytest
from scipy.special import xlogy
from scipy.stats import binom

from sklearn_ensemble_theory import bounds

from .table import TABLE
from .test_every_bound import function_of


def standard_errors_above(events, probability):
    """By how many standard errors the share of events exceeds a probability."""
    return (np.mean(events) - probability) / np.sqrt(probability * (1 - probability) / len(events))


SHARP = [row for row in TABLE if TABLE[row].valid.get("method") == "sharp"]


def test_every_function_with_a_sharp_form_has_a_row():
    named = {
        name
        for name in bounds.__all__
        if inspect.signature(getattr(bounds, name)).parameters.get("method", inspect.Parameter)
        is not inspect.Parameter
        and inspect.signature(getattr(bounds, name)).parameters["method"].default == "source"
    }
    assert named == {row.partition(":")[0] for row in SHARP}
    assert len(named) == 41


@pytest.mark.parametrize("row", SHARP)
def test_the_sharp_form_is_better_and_another_method_is_refused(row):
    function, valid = function_of(row), TABLE[row].valid
    source = {key: value for key, value in valid.items() if key not in ("method", "training_error")}
    sharp, coarse = function(**valid), function(**source)
    if "edge_bound" in row:  # a lower bound
        sharp, coarse = coarse, sharp
    # The minimiser of a bound is not comparable.
    assert sharp < coarse or "optimal" in row
    assert function(**{**source, "method": "source"}) == function(**source)
    with pytest.raises(ValueError, match="method must be one of 'source', 'sharp'"):
        function(**{**valid, "method": "tight"})


@pytest.mark.parametrize("two_sided", [False, True])
def test_tails_hold_for_all_binomial_variables(two_sided):
    """Exact, for 1,000 cases: n, the probability and the deviation."""
    for n, p in product((1, 2, 5, 20, 200), (0.01, 0.1, 0.3, 0.5, 0.8)):
        k = np.arange(n + 1)
        t = np.abs(k / n - p)[k > n * p if not two_sided else k >= 0]
        t = np.unique(t[t > 1e-9])
        upper = binom.sf(np.ceil(n * (p + t) - 1e-9) - 1, n, p)
        lower = binom.cdf(np.floor(n * (p - t) + 1e-9), n, p)
        exact = upper + lower if two_sided else upper
        calls = {
            "hoeffding_tail": bounds.hoeffding_tail(t, n, two_sided=two_sided, method="sharp"),
            "mcdiarmid_tail": bounds.mcdiarmid_tail(
                t, np.full(n, 1 / n), two_sided=two_sided, method="sharp"
            ),
            "azuma_hoeffding_tail": bounds.azuma_hoeffding_tail(
                n * t, np.ones(n), two_sided=two_sided, method="sharp"
            ),
            "sub_gaussian_tail": bounds.sub_gaussian_tail(
                t, 0.5 / np.sqrt(n), two_sided=two_sided, method="sharp"
            ),
        }
        for name, bound in calls.items():
            assert np.all(exact <= bound * (1 + 1e-9)), (name, n, p)
        np.testing.assert_allclose(calls["mcdiarmid_tail"], calls["hoeffding_tail"], rtol=1e-9)
        source = bounds.hoeffding_tail(t, n, two_sided=two_sided)
        assert np.all(calls["hoeffding_tail"] <= source * (1 + 1e-12))


def test_deviations_are_inverses():
    n, delta = np.array([[1.0], [3.0], [30.0], [1e4]]), np.array([0.9, 0.3, 0.05, 1e-9])
    for two_sided in (False, True):
        t = bounds.hoeffding_deviation(n, delta, 0, 2, two_sided=two_sided, method="sharp")
        tail = bounds.hoeffding_tail(t * (1 + 1e-9), n, 0, 2, two_sided=two_sided, method="sharp")
        assert np.all(tail <= delta)
        # It is delta itself, but where the deviation is as large as the interval.
        tail = bounds.hoeffding_tail(t * (1 - 1e-6), n, 0, 2, two_sided=two_sided, method="sharp")
        assert np.all((tail >= delta) | (t >= 2 - 1e-6))
        found = bounds.hoeffding_n_samples(t, delta, 0, 2, two_sided=two_sided, method="sharp")
        assert np.all(np.abs(found - n) <= 1)
        found = bounds.mcdiarmid_deviation(np.ones(30), delta, two_sided=two_sided, method="sharp")
        np.testing.assert_allclose(found / 15, t[2], rtol=1e-9)


def test_azuma_holds_for_two_values_that_depend_on_the_past():
    rng = np.random.default_rng(0)
    sums = np.zeros(20_000)
    for i in range(12):
        length = 1.0 + i % 2
        p = np.where(sums > 0, 0.2, 0.6)
        sums = sums + np.where(rng.random(len(sums)) < p, length * (1 - p), -length * p)
    lengths = [1.0 + i % 2 for i in range(12)]
    for t in (1.0, 3.0, 6.0):
        bound = bounds.azuma_hoeffding_tail(t, lengths, method="sharp")
        assert standard_errors_above(sums >= t, bound) < 3


def test_expected_maxima_of_two_and_three_variables():
    signs = np.array([[1, -1], [-1, 1]])
    assert signs.max(axis=1).mean() == bounds.sub_gaussian_maximum_bound(2, 1.0, method="sharp")
    # Three, of mean 0 and variance 1 in each draw: two values of the same kind, and one other.
    rng = np.random.default_rng(1)
    for share in (0.1, 0.5, 0.9):
        upper = rng.random((4000, 1)) < share
        values = np.where(upper, [[2, -1, -1]], [[1, 1, -2]]) / np.sqrt(2)
        values = rng.permuted(values, axis=1)
        bound = bounds.sub_gaussian_maximum_bound(3, 1.0, method="sharp")
        assert values.max(axis=1).mean() <= bound + 1e-12


def test_complexities_of_thousands_of_classes():
    """Of 1 to 2^n behaviours, exactly."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5):
        all_signs = np.array(list(product((-1.0, 1.0), repeat=n)))
        for size in range(1, len(all_signs) + 1):
            bound = bounds.finite_behaviours_rademacher_bound(n, np.log(size), method="sharp")
            for _ in range(25):
                rows = all_signs[rng.permutation(len(all_signs))[:size]]
                exact = (all_signs @ rows.T).max(axis=1).mean() / n
                assert exact <= bound + 1e-9
        assert exact == pytest.approx(1) == bound


def test_complexities_of_random_values_of_root_mean_square_1():
    rng = np.random.default_rng(0)
    for size in (2, 3, 10, 100):
        bound = bounds.finite_behaviours_rademacher_bound(8, np.log(size), method="sharp")
        for _ in range(250):
            rows = rng.standard_normal((size, 8)) ** 3
            rows /= np.sqrt((rows**2).mean(axis=1, keepdims=True))
            assert bounds.empirical_rademacher_complexity(rows) <= bound + 1e-9


def test_complexities_of_balls_of_few_features():
    rng = np.random.default_rng(0)
    for p in (1, 2, 3, 6):
        bound = bounds.ball_rademacher_bound(6, n_features=p, norm="l1", method="sharp")
        for _ in range(250):
            X = rng.choice([-1.0, 1.0], (6, p))
            assert bounds.ball_rademacher_complexity(X, norm="l1") <= bound + 1e-9


def draws_of_a_finite_class(n, n_functions, excess, n_draws, seed):
    """The excess risk of the minimiser: one function errs with 0.4, the others with more."""
    rng = np.random.default_rng(seed)
    risks = np.full(n_functions, 0.4 + excess)
    risks[0] = 0.4
    errors = rng.binomial(n, risks, (n_draws, n_functions))
    return risks[errors.argmin(axis=1)] - 0.4, risks, errors / n


def test_excess_of_the_minimiser_over_a_finite_class():
    for n, size, delta in [(20, 2, 0.3), (20, 10, 0.2), (200, 50, 0.1)]:
        bound = bounds.finite_class_bound(n, np.log(size), delta, method="sharp")
        assert bounds.cross_validation_oracle_bound(size, n, delta, method="sharp") == bound
        for share in (0.3, 0.99, 1.01):
            excess = min(share * bound, 0.6)
            found = draws_of_a_finite_class(n, size, excess, 4000, seed=0)[0]
            assert standard_errors_above(found > bound, delta) < 3
    # Two opposite classifiers of error 1/2 -+ x/2: the worse one wins with at most (1 - x²)^(n/2).
    for n, x in product((1, 4, 15, 100), (0.05, 0.2, 0.7)):
        wins = binom.cdf(n // 2, n, (1 + x) / 2)
        assert wins <= (1 - x**2) ** (n / 2) + 1e-12
        delta = (1 - x**2) ** (n / 2)
        found = bounds.finite_class_bound(n, np.log(2), delta, method="sharp")
        assert found == pytest.approx(x, rel=1e-9)


def test_several_splits_of_a_finite_class():
    rng = np.random.default_rng(0)
    risks, sizes = np.linspace(0.1, 0.5, 5), [8, 12]
    held_out = sum(rng.binomial(n, risks, (4000, 5)) for n in sizes)
    found = risks[held_out.argmin(axis=1)] - risks[0]
    bound = bounds.cross_validation_oracle_bound(5, sizes, 0.2, method="sharp")
    assert standard_errors_above(found > bound, 0.2) < 3


def stumps_of_one_feature(n, n_draws, seed, noise):
    """x, y in {-1, 1} in the order of x, for labels sign(x - 1/2) of which a share is wrong."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random((n_draws, n)), axis=1)
    y = np.where(x > 0.5, 1.0, -1.0) * np.where(rng.random(x.shape) < noise, -1, 1)
    return x, y


def risks_of_stumps(x, y, noise):
    """Empirical and true risks of all stumps that are +1 right or left of a cut of the rows."""
    n = x.shape[1]
    left = np.cumsum(np.insert(y, 0, 0, axis=1), axis=1)  # sums of the labels before each cut
    agreement = left[:, -1:] - 2 * left  # of the stump that is +1 on the right
    empirical = (1 - agreement / n) / 2
    cuts = np.insert(x, 0, 0.0, axis=1)
    wrong = np.abs(cuts - 0.5)
    true = noise + (1 - 2 * noise) * wrong
    return np.concatenate([empirical, 1 - empirical], axis=1), np.concatenate(
        [true, 1 - true], axis=1
    )


def test_deviations_and_excesses_of_stumps():
    """The largest deviation over all stumps, and the excess of that with the fewest errors."""
    n, noise, delta = 60, 0.2, 0.2
    x, y = stumps_of_one_feature(n, 2000, seed=0, noise=noise)
    empirical, true = risks_of_stumps(x, y, noise)
    largest = (true - empirical).max(axis=1)
    chosen = np.take_along_axis(true, empirical.argmin(axis=1)[:, None], axis=1)[:, 0]
    excess = chosen - noise
    losses = bounds.finite_behaviours_rademacher_bound(n, np.log(2 * n), 0.5, method="sharp")
    sharp = {"method": "sharp"}
    for bound in (
        bounds.uniform_deviation_bound(losses, n, delta, **sharp),
        bounds.stump_generalization_bound(n, 1, delta=delta, **sharp),
        bounds.voting_generalization_bound(n, [2], delta, **sharp),
        bounds.weighted_voting_generalization_bound(n, 1, 2, delta, **sharp),
    ):
        assert standard_errors_above(largest > bound, delta) < 3
    for bound in (
        bounds.rademacher_excess_risk_bound(losses, n, delta, **sharp),
        bounds.vc_excess_risk_bound(n, 2, delta, **sharp),
    ):
        assert standard_errors_above(excess > bound, delta) < 3
    # The empirical complexity of the same rows: without ties it is the same for all of them.
    known = bounds.stump_rademacher_complexity(x[0][:, None], random_state=0) / 2
    bound = bounds.uniform_deviation_bound(known, n, delta, empirical=True, **sharp)
    assert standard_errors_above(largest > bound, delta) < 3


def test_stumps_without_training_errors():
    delta = 0.2
    for n in (30, 100):
        x, y = stumps_of_one_feature(n, 2000, seed=1, noise=0.0)
        empirical, true = risks_of_stumps(x, y, 0.0)
        worst = np.where(empirical == 0, true, 0).max(axis=1)
        sharp = {"method": "sharp", "training_error": 0.0}
        for bound in (
            bounds.stump_generalization_bound(n, 1, delta=delta, **sharp),
            bounds.voting_generalization_bound(n, [2], delta, **sharp),
            bounds.weighted_voting_generalization_bound(n, 1, 2, delta, **sharp),
        ):
            assert standard_errors_above(worst > bound, delta) < 3
    n = bounds.pac_n_samples_upper_bound(2, 0.3, delta, method="sharp")
    assert n == bounds.weak_learning_n_samples(2, 0.2, delta, method="sharp")
    x, y = stumps_of_one_feature(n, 2000, seed=2, noise=0.0)
    empirical, true = risks_of_stumps(x, y, 0.0)
    assert standard_errors_above((true > 0.3)[empirical == 0], delta) < 3
    worst = np.where(empirical == 0, true, 0).max(axis=1)
    assert standard_errors_above(worst > 0.3, delta) < 3


def test_votes_of_few_training_errors():
    """For a training error of at most e: relative deviations."""
    n, noise, delta = 3000, 0.001, 0.2
    x, y = stumps_of_one_feature(n, 1000, seed=3, noise=noise)
    empirical, true = risks_of_stumps(x, y, noise)
    e = 0.002
    bound = bounds.stump_generalization_bound(n, 1, delta=delta, method="sharp", training_error=e)
    assert bound < bounds.stump_generalization_bound(n, 1, delta=delta, method="sharp")
    worst = np.where(empirical <= e, true - empirical, 0).max(axis=1)
    assert standard_errors_above(worst > e + bound, delta) < 3
    with pytest.raises(ValueError, match="training_error is for"):
        bounds.stump_generalization_bound(n, 1, training_error=e)


def test_edge_of_the_stump_found_for_an_interval():
    """Labels of (1/3, 2/3): the stump with the fewest errors, on new rows."""
    n, delta = 1500, 0.2
    rng = np.random.default_rng(0)
    x = np.sort(rng.random((1000, n)), axis=1)
    y = np.where(np.abs(x - 0.5) < 1 / 6, 1.0, -1.0)
    left = np.cumsum(np.insert(y, 0, 0, axis=1), axis=1)
    agreement = left[:, -1:] - 2 * left
    cut = np.insert(x, 0, 0.0, axis=1)
    # The error on new rows of the stump that is +1 on the right.
    inside = np.clip(cut, 1 / 3, 2 / 3) - 1 / 3
    error = inside + (1 - cut) - (1 / 3 - inside)
    best = np.abs(agreement).argmax(axis=1)[:, None]
    sign = np.take_along_axis(agreement, best, axis=1) > 0
    found = np.take_along_axis(error, best, axis=1)
    edge = 0.5 - np.where(sign, found, 1 - found)[:, 0]
    bound = bounds.interval_stump_edge_bound(n, delta, method="sharp")
    assert bound > 0
    assert standard_errors_above(edge < bound, delta) < 3
    needed = bounds.weak_learning_n_samples(2, 0.05, delta, best_error=1 / 3, method="sharp")
    assert bounds.vc_excess_risk_bound(needed, 2, delta, method="sharp") <= 1 / 6 - 0.05
    assert bounds.vc_excess_risk_bound(needed - 1, 2, delta, method="sharp") > 1 / 6 - 0.05


def test_excess_of_a_vote_is_at_most_twice_that_of_its_members():
    """1,000 problems of finitely many points: infinitely many copies vote."""
    rng = np.random.default_rng(0)
    for _ in range(1000):
        p = rng.dirichlet(np.ones(5))
        q = rng.random(5) / 2  # of the Bayes classifier
        a = rng.random(5) ** rng.choice([0.2, 1, 5])  # a copy differs from it
        error = p @ (q + (1 - 2 * q) * a)
        vote = p @ np.where(a >= 0.5, 1 - q, q)
        assert vote <= bounds.voting_error_bound(error, bayes_error=p @ q) + 1e-12
    # One point, and copies that differ with probability 1/2.
    assert bounds.voting_error_bound(0.2 + 0.6 * 0.5, bayes_error=0.2) == pytest.approx(0.8)
    # A share of 1/4 of the points in which they do.
    found = bounds.voting_error_bound(0.2 + 0.6 * 0.125, bayes_error=0.2)
    assert found == pytest.approx(0.75 * 0.2 + 0.25 * 0.8)
    with pytest.raises(ValueError, match="bayes_error must be at most"):
        bounds.voting_error_bound(0.1, bayes_error=0.2)


def test_held_out_votes():
    """The event of the mean error of members, with equal and with unequal weights."""
    rng = np.random.default_rng(0)
    for weight in (None, np.repeat([1.0, 3.0], 15)):
        shares = 1 - rng.choice([0, 1 / 3], (1000, 30), p=[0.7, 0.3]).astype(float)
        found = [
            bounds.held_out_voting_error_bound(row, weight, 0.2, method="sharp") for row in shares
        ]
        assert standard_errors_above(np.array(found) < 0.2, 0.2) < 3


def test_projected_distances_and_their_dimension():
    rng = np.random.default_rng(0)
    s = bounds.johnson_lindenstrauss_dimension(6, 0.45, 0.2, method="sharp")
    X = rng.standard_normal((6, 10))
    events = []
    for _ in range(1000):
        Z = X @ rng.standard_normal((10, s)) / np.sqrt(s)
        events.append(bounds.johnson_lindenstrauss_distortion(X, Z) > 0.45)
    assert standard_errors_above(np.array(events), 0.2) < 3
    # One distance: the probability itself.
    lengths = rng.chisquare(30, 20_000) / 30
    exact = bounds.johnson_lindenstrauss_tail_bound(30, 0.3, method="sharp")
    assert np.mean(np.abs(lengths - 1) >= 0.3) == pytest.approx(exact, abs=0.01)
    assert bounds.johnson_lindenstrauss_dimension(20, 0.4, 0.1, method="sharp") == 166


def test_projection_bounds_are_the_largest_bias_bounds():
    """Over 1,000 matrices and coefficients; one direction attains it."""
    rng = np.random.default_rng(0)
    for kind, s in product(("gaussian", "coordinate"), (1, 2, 5, 20)):
        for _ in range(125):
            columns = rng.standard_normal((4, 3)) * rng.exponential(size=3) ** 2
            gram, theta = columns.T @ columns, rng.standard_normal(3)
            moments = bounds.projection_moments(gram, s, projection=kind)
            size = np.trace(gram) if kind == "gaussian" else 3 * np.diag(gram).max()
            found = bounds.projection_bias_bound(gram, theta, *moments, 4)
            bound = bounds.projection_risk_bound(
                4, s, size, theta @ theta, 0.0, projection=kind, method="sharp"
            )
            assert found <= bound * (1 + 1e-9)
    gram = np.diag([1.0, 0.0])
    found = bounds.projection_bias_bound(gram, [1, 0], *bounds.projection_moments(gram, 3), 4)
    assert found == pytest.approx(bounds.projection_risk_bound(4, 3, 1, 1, 0.0, method="sharp"))


def test_random_features_of_signs():
    """Features sign(x'v): the risk of one and of many draws stays below the sharp bound."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    for s in (2, 5):
        features = np.sign(rng.standard_normal((1000, s, 3)) @ X.T).transpose(0, 2, 1)
        K = 1 - 2 / np.pi * np.arccos(
            np.clip(X @ X.T / np.outer(*[np.linalg.norm(X, axis=1)] * 2), -1, 1)
        )
        f = K @ rng.standard_normal(12)
        norm = f @ np.linalg.solve(K, f)
        hats = features @ np.linalg.pinv(features)
        left = f - hats @ f
        bias = np.mean(left**2)
        bound = bounds.random_features_bound(12, s, 1.0, norm, 0.0, method="sharp")
        assert bias <= bound <= bounds.random_features_bound(12, s, 1.0, norm, 0.0)


def test_best_size_of_subsamples_by_search():
    for n, d in [(50, 2), (300, 3), (40, 5)]:
        values = [
            bounds.bagged_neighbors_risk_bound(n, s, d, noise_variance=4.0, method="sharp")
            for s in range(1, n + 1)
        ]
        found = bounds.bagged_neighbors_optimal_max_samples(
            n, d, noise_variance=4.0, method="sharp"
        )
        assert found == 1 + int(np.argmin(values))


def test_stones_constants_of_one_and_two_dimensions():
    """How often a point is among the k nearest ones of others, in 1,000 draws."""
    rng = np.random.default_rng(0)
    most = {1: 0, 2: 0}
    for d in most:
        for k, _ in product((1, 2), range(500)):
            X = np.concatenate([np.zeros((1, d)), rng.standard_normal((12, d))])
            distances = np.linalg.norm(X[:, None] - X[None], axis=2)
            np.fill_diagonal(distances, np.inf)
            nearest = np.argsort(distances[1:], axis=1)[:, :k]
            most[d] = max(most[d], (nearest == 0).sum() / k)
    assert most[1] <= 2 == bounds.stone_lemma_constant(1, method="sharp")
    assert 4 <= most[2] <= 6 == bounds.stone_lemma_constant(2, method="sharp")
    assert bounds.stone_lemma_constant(3, method="sharp") == bounds.stone_lemma_constant(3)


def test_rounds_and_risks_of_adaboost():
    for n, edge in product((1, 2, 8, 1000), (0.01, 0.1, 0.3, 0.49, 0.5)):
        T = bounds.adaboost_n_rounds(n, edge, method="sharp")
        risk = bounds.adaboost_exponential_risk(np.full(T, edge))
        assert risk[-1] < 1 / n
        assert T == 1 or risk[-2] >= 1 / n - 1e-12
    # From the rounds on after which there is no training error, the bound is that of the votes.
    n, edge = 10**5, 0.4
    T = bounds.adaboost_n_rounds(n, edge, method="sharp")
    found = bounds.adaboost_generalization_bound(n, T, 2, edge, method="sharp")
    votes = bounds.weighted_voting_generalization_bound(n, T, 2, method="sharp", training_error=0.0)
    assert found == votes < 0.05
    # A round before, one row may be wrong.
    found = bounds.adaboost_generalization_bound(n, T - 1, 2, edge, method="sharp")
    votes = bounds.weighted_voting_generalization_bound(
        n, T - 1, 2, method="sharp", training_error=1 / n
    )
    assert found == 1 / n + votes


def test_smooth_boosting_ends_in_time():
    """The lemma of the proof on a grid, and 1,000 runs with the least edge."""
    for gamma in (0.05, 0.2, 0.35, 0.5):
        c, theta = -np.log1p(-gamma) / 2, gamma / (2 + gamma)
        start, step = np.meshgrid(np.linspace(-3, 30, 331), np.linspace(-1 - theta, 1 - theta, 101))

        end = start + step
        # The integral of the measure, which is 1 left of 0.
        integral = [-np.expm1(-c * np.maximum(s, 0)) / c + np.minimum(s, 0) for s in (start, end)]
        gain = integral[1] - integral[0]
        measure = np.minimum(1, np.exp(-c * np.maximum(start, 0)))
        assert np.all(gain >= measure * (step - gamma * np.abs(step) / 2) - 1e-12)
    rng, kappa, gamma, n = np.random.default_rng(0), 0.1, 0.2, 20
    c, theta = -np.log1p(-gamma) / 2, gamma / (2 + gamma)
    sums, ended = np.zeros((1000, n)), np.zeros(1000)
    most = bounds.smooth_boosting_n_rounds(kappa, gamma, method="sharp")
    for t in range(int(most) + 1):
        measure = np.minimum(1, np.exp(-c * np.maximum(sums, 0)))
        ended = np.where((measure.mean(axis=1) < kappa) & (ended == 0), t, ended)
        # y h in [-1, 1], whose mean under the measure is 2 gamma.
        agreement = rng.choice([-1.0, 1.0], sums.shape)
        mean = (measure * agreement).sum(axis=1, keepdims=True) / measure.sum(axis=1, keepdims=True)
        share = np.where(mean < 2 * gamma, (2 * gamma - mean) / (1 - mean + 1e-15), 0)
        agreement = agreement + share * (1 - agreement)
        over = np.where(mean > 2 * gamma, (mean - 2 * gamma) / (1 + mean + 1e-15), 0)
        agreement = agreement - over * (1 + agreement)
        sums = sums + agreement - theta
    assert ended.min() > 0
    assert ended.max() <= most


def test_gradient_descent_attains_the_sharp_bound():
    """Huber's function with a threshold that depends on the number of steps."""
    for t in (1, 3, 20):
        threshold = 1 / (2 * t + 1)
        u = 1.0
        for _ in range(t):
            u -= np.clip(u, -threshold, threshold)
        value = threshold * (abs(u) - threshold / 2)
        found = bounds.gradient_descent_bound(t, 1.0, 1.0, method="sharp")
        assert value == pytest.approx(found, rel=1e-12)


def test_quadratic_boosting_holds_along_runs():
    rng = np.random.default_rng(0)
    rounds = np.arange(30)
    for _ in range(1000):
        atoms = rng.standard_normal((3, 5))
        atoms /= np.linalg.norm(atoms, axis=0)
        coefficients = rng.exponential(size=5) ** 3
        residual = atoms @ coefficients
        bound = bounds.quadratic_boosting_bound(rounds, 1.0, coefficients.sum(), method="sharp")
        for t in rounds:
            assert residual @ residual / 2 <= bound[t]
            products = atoms.T @ residual
            j = np.abs(products).argmax()
            residual = residual - products[j] * atoms[:, j]


def test_greedy_boosting_of_smooth_risks_holds_along_runs():
    """1,000 runs on the logistic risk of twelve rows, against the best of random combinations."""
    rng = np.random.default_rng(0)
    rounds = np.arange(40)
    for _ in range(1000):
        outputs = rng.choice([-1.0, 1.0], (12, 4))  # of four weak learners, times the labels

        def risk(coefficients):
            return np.mean(np.logaddexp(0, -outputs @ coefficients))  # noqa: B023

        v = rng.exponential(size=4) * rng.choice([0, 1, 3], 4)
        bound = bounds.greedy_boosting_bound(
            rounds, 0.25, np.abs(v).sum(), risk(np.zeros(4)) - risk(v), method="sharp"
        )
        u = np.zeros(4)
        for t in rounds:
            assert risk(u) - risk(v) <= bound[t] + 1e-12
            slopes = -outputs.T @ (1 / (1 + np.exp(outputs @ u))) / 12
            j = np.abs(slopes).argmax()
            u[j] -= 4 * slopes[j]  # the constant is 1/4


def test_the_divergence_of_signs():
    """What the complexity of finitely many behaviours solves, by its formula."""
    for x in (0.1, 0.5, 0.999):
        mean = (xlogy(1 + x, 1 + x) + xlogy(1 - x, 1 - x)) / 2
        found = bounds.finite_behaviours_rademacher_bound(1000, 1000 * mean, method="sharp")
        assert found == pytest.approx(x, rel=1e-9)


def test_weighted_means_and_their_effective_numbers():
    """Exact, over all values of ten weighted rows."""
    rng = np.random.default_rng(0)
    values = np.array(list(product((0.0, 1.0), repeat=10)))
    for power, p in product((0.5, 1.0, 3.0), (0.01, 0.2, 0.5, 0.8)):
        w = rng.exponential(size=10) ** power
        w /= w.sum()
        chances = np.prod(np.where(values == 1, p, 1 - p), axis=1)
        means = values @ w
        for t in (0.05, 0.2, 0.4, 0.7):
            exact = chances[means >= p + t - 1e-12].sum()
            assert exact <= bounds.hoeffding_tail(t, 1 / (w @ w), method="sharp") + 1e-12
        # The worse of two opposite classifiers, of error p: its weighted errors are half or less.
        x = abs(2 * p - 1)
        wrong = chances[means <= 0.5] if p > 0.5 else chances[means >= 0.5]
        delta = min(wrong.sum(), 1.0)
        bound = bounds.finite_class_bound(1 / w.max(), np.log(2), delta, method="sharp")
        assert x <= bound + 1e-9
