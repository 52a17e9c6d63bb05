"""The stability of bagging: exact changes of unstable learners, simulated ones of few members."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import hypergeom

from sklearn_ensemble_theory import bounds


def test_bound_by_hand():
    """Halves of 101 rows: p = 50/101, and q = p (1 - p)/100."""
    p = 50 / 101
    by_hand = np.sqrt((p / (1 - p) + p / (1 - p) / 100) / (4 * 101 * 0.05))
    found = bounds.bagging_stability(101, 50, bootstrap=False)
    np.testing.assert_allclose(found, by_hand, rtol=1e-12)
    np.testing.assert_allclose(
        bounds.bagging_stability(101, 50, bootstrap=False, output_range=3), 3 * found
    )
    # Two draws of 3 rows: 5/9 that a row is drawn, and 2/9 that two are.
    p, q = 5 / 9, 25 / 81 - 2 / 9
    by_hand = np.sqrt((p / (1 - p) + q / (1 - p) ** 2) / (4 * 3 * 0.9))
    np.testing.assert_allclose(bounds.bagging_stability(3, 2, delta=0.9), by_hand, rtol=1e-12)


@pytest.mark.parametrize(
    ("bootstrap", "size"), [(True, 5), (True, 2), (False, 3), ("bernoulli", 0.3), ("poisson", 2)]
)
def test_chance_and_covariance_are_those_of_the_draws(bootstrap, size):
    """The bound from both moments of simulated draws, of which those of no rows are left out."""
    n, n_draws, rng = 6, 400_000, np.random.default_rng(0)
    if bootstrap is True:
        drawn = np.zeros((n_draws, n))
        np.put_along_axis(drawn, rng.integers(n, size=(n_draws, size)), 1.0, axis=1)
    elif bootstrap is False:
        drawn = (rng.random((n_draws, n)).argsort(axis=1) < size).astype(float)
    elif bootstrap == "poisson":
        drawn = (rng.poisson(size / n, (n_draws, n)) > 0).astype(float)
    else:
        drawn = (rng.random((n_draws, n)) < size).astype(float)
    drawn = drawn[drawn.any(axis=1)]
    p, q = drawn.mean(), -np.cov(drawn.T)[np.triu_indices(n, 1)].mean()
    expected = np.sqrt((p / (1 - p) + q / (1 - p) ** 2) / (4 * n * 0.5))
    found = bounds.bagging_stability(n, size, bootstrap=bootstrap, delta=0.5)
    assert found == pytest.approx(expected, rel=2e-3)
    without_covariance = np.sqrt(p / (1 - p) / (4 * n * 0.5))
    assert found > 1.004 * without_covariance


def test_no_function_of_a_subsample_changes_more_often():
    """All subsamples of few rows, 2,000 functions of them that lean on some rows, exactly."""
    n, size = 11, 5
    rng = np.random.default_rng(0)
    drawn = np.zeros((462, n))
    for row, chosen in zip(drawn, combinations(range(n), size)):
        row[list(chosen)] = 1
    largest = 0.0
    for _ in range(2000):
        signs = rng.choice([-1.0, 0.0, 1.0], n)
        scores = drawn @ signs + 1e-3 * rng.standard_normal(len(drawn))
        outputs = (scores > np.median(scores)).astype(float)
        without = 1 - drawn
        change = np.sort(np.abs(outputs @ without / without.sum(axis=0) - outputs.mean()))[::-1]
        for k in range(1, n):  # the k largest changes are at most the bound for the share k/n
            bound = bounds.bagging_stability(n, size, bootstrap=False, delta=k / n)
            largest = max(largest, change[k - 1] / bound)
    assert 0.75 < largest <= 1


def test_an_unstable_vote_comes_close_to_the_bound():
    """1{more ones are drawn than on average}: its sharp threshold makes the change of each one."""
    for n, n_ones, size in [(400, 20, 200), (1000, 50, 400), (2000, 20, 1500)]:
        # The threshold stays where it was, as the learner does not know of the row.
        threshold = np.floor(size * n_ones / n)
        f = hypergeom(n, n_ones, size).sf(threshold)
        change = abs(hypergeom(n - 1, n_ones - 1, size).sf(threshold) - f)
        bound = bounds.bagging_stability(n, size, bootstrap=False, delta=n_ones / n)
        assert 0.7 * bound < change <= bound


def test_few_members_change_by_more_at_a_share_of_the_rows():
    """Votes of B members, another fit for each row left out: 2,000 data sets."""
    n, size, B, delta = 40, 10, 200, 0.2
    rng = np.random.default_rng(1)
    bound = bounds.bagging_stability(n, size, B, bootstrap=False, delta=delta)
    n_ones = rng.integers(2, n - 1, 2000)
    threshold = np.floor(size * n_ones / n)
    full = rng.binomial(B, hypergeom(n, n_ones, size).sf(threshold)) / B
    # A row that is left out is a one, or a zero; the learner keeps its threshold.
    shares = []
    for k, f, at in zip(n_ones, full, threshold):
        chance = np.repeat(
            [hypergeom(n - 1, k - 1, size).sf(at), hypergeom(n - 1, k, size).sf(at)], [k, n - k]
        )
        shares.append(np.mean(np.abs(rng.binomial(B, chance) / B - f) > bound))
    assert np.mean(shares) <= delta
    # The part of the members alone: the bound is that of infinitely many, and what B add.
    endless = bounds.bagging_stability(n, size, bootstrap=False, delta=delta)
    assert endless < bound < endless + np.sqrt(np.log(200 / delta) / B) + 0.2
    many = bounds.bagging_stability(n, size, 10**9, bootstrap=False, delta=delta)
    np.testing.assert_allclose(many, endless, rtol=2e-3)


def test_members_add_the_deviation_of_hoeffding():
    """On a grid of shares of delta none is better than the one that is used."""
    n, size, B, delta = 500, 100, 300, 0.1
    share = np.linspace(0.001, 0.999, 9999)
    endless = bounds.bagging_stability(n, size, delta=0.5) * np.sqrt(0.5 / (delta * (1 - share)))
    total = endless + np.sqrt(np.log(2 / (delta * share)) / B)
    np.testing.assert_allclose(
        bounds.bagging_stability(n, size, B, delta=delta), total.min(), rtol=1e-6
    )


@pytest.mark.parametrize("bootstrap", [True, False, "bernoulli", "poisson"])
@pytest.mark.parametrize("n_estimators", [None, 5000])
def test_largest_number_of_rows(bootstrap, n_estimators):
    given = {"bootstrap": bootstrap, "delta": 0.1}
    size = bounds.bagging_stable_max_samples(300, 0.12, n_estimators, **given)
    assert bounds.bagging_stability(300, size, n_estimators, **given) <= 0.12
    assert size == 300 or bounds.bagging_stability(300, size + 1, n_estimators, **given) > 0.12
    # A range of 2 and twice the change are the same.
    given["output_range"] = 2
    assert size == bounds.bagging_stable_max_samples(300, 0.24, n_estimators, **given)


def test_largest_subsample_by_hand():
    """s/(n - s) <= 4 (n - 1) delta epsilon², without replacement."""
    c = 4 * 300 * 0.05 * 0.12**2
    found = bounds.bagging_stable_max_samples(301, 0.12, bootstrap=False)
    assert found == int(301 * c / (1 + c))


def test_all_rows_where_any_number_is_stable():
    assert bounds.bagging_stable_max_samples(50, 1.0) == 50
    assert bounds.bagging_stable_max_samples(50, 1.0, bootstrap=False) == 49


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.bagging_stability(1, 1), "n_samples"),
        (lambda: bounds.bagging_stability(10, 10, bootstrap=False), "all of them"),
        (lambda: bounds.bagging_stability(10, 1.0, bootstrap="bernoulli"), "all of them"),
        (
            lambda: bounds.bagging_stability(10, 5, bootstrap="stratified"),
            "bootstrap must be one of",
        ),
        (lambda: bounds.bagging_stability(10, 5, bootstrap=1), "bootstrap must be True or False"),
        (lambda: bounds.bagging_stability(10, 5, 0), "n_estimators"),
        (lambda: bounds.bagging_stability(10, 5, delta=1.0), "delta"),
        (lambda: bounds.bagging_stability(10, 5, delta=0.0), "delta"),
        (lambda: bounds.bagging_stable_max_samples(1000, 0.1, 5), "more members"),
        (lambda: bounds.bagging_stable_max_samples(10, 0.001), "more rows"),
    ],
)
def test_errors_say_what_to_change(call, message):
    with pytest.raises(ValueError, match=message):
        call()
