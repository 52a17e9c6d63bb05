"""Certificates of weighted votes: moments by enumeration, events by simulation, values by roots."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import binom

from sklearn_ensemble_theory import bounds


def kl(q, p):
    """The divergence of two Bernoulli variables, as it is written on paper."""
    first = q * math.log(q / p) if q else 0.0
    return first + ((1 - q) * math.log((1 - q) / (1 - p)) if q < 1 else 0.0)


def upper(q, epsilon):
    return brentq(lambda p: kl(q, p) - epsilon, max(q, 1e-15), 1 - 1e-15, xtol=1e-15)


def lower(q, epsilon):
    return brentq(lambda p: kl(q, p) - epsilon, 1e-15, q, xtol=1e-15)


# --- inverses -------------------------------------------------------------------------------------


def test_inverse_of_kl_by_roots():
    for q, epsilon in [(0.1, 0.01), (0.4, 0.3), (0.9, 0.02), (1e-3, 1e-5)]:
        assert bounds.kl_inverse(q, epsilon) == pytest.approx(upper(q, epsilon), rel=1e-9)
        found = bounds.kl_inverse(q, epsilon, lower=True)
        assert found == pytest.approx(lower(q, epsilon), rel=1e-9)
        assert bounds.kl_inverse(q, epsilon) < q + math.sqrt(epsilon / 2)
    # In closed form at the ends, and nothing is added for a divergence of 0.
    assert bounds.kl_inverse(0.0, 0.1) == pytest.approx(1 - math.exp(-0.1))
    assert bounds.kl_inverse(1.0, 0.1, lower=True) == pytest.approx(math.exp(-0.1))
    np.testing.assert_array_equal(bounds.kl_inverse([0.0, 0.3, 1.0], 0.0), [0.0, 0.3, 1.0])
    assert bounds.kl_inverse(1.0, 5.0) == 1.0
    assert bounds.kl_inverse(0.0, 5.0, lower=True) == 0.0


def test_moment_of_kl_by_all_counts():
    """E exp(m kl) <= 2 sqrt(m) for means of n >= m rows: the constant of all bounds here."""
    for n in [*range(1, 30), 100, 400]:
        k = np.arange(n + 1)
        for p in (0.01, 0.2, 0.5):
            chance = binom.logpmf(k, n, p)
            values = np.array([kl(i / n, p) for i in k])
            for m in sorted({1, n // 2, n} - {0}):
                assert logsumexp(chance + m * values) <= math.log(2 * math.sqrt(m)) + 1e-9
    # The constant is no multiple of what is needed.
    assert logsumexp(chance + n * values) > math.log(1.2 * math.sqrt(n))


def test_limit_of_held_out_errors_is_exact():
    """By binomial sums: of all p the limit is below p with the probability delta at most."""
    n, delta = 30, 0.1
    limits = bounds.held_out_error_bound(np.arange(n + 1), n, delta)
    assert limits[0] == pytest.approx(1 - delta ** (1 / n))
    assert limits[-1] == 1.0
    for k in (3, 17):
        assert binom.cdf(k, n, limits[k]) == pytest.approx(delta)
    for p in np.linspace(0.01, 0.99, 99):
        assert binom.pmf(np.arange(n + 1), n, p)[limits < p].sum() <= delta + 1e-12
    with pytest.raises(ValueError, match="n_errors must be at most n_samples"):
        bounds.held_out_error_bound(5, 4)


@pytest.mark.parametrize("delta", [1e-3, 1e-7, 1e-14, 1e-17])
def test_binomial_limit_of_a_small_probability_of_failure(delta):
    limits = bounds.held_out_error_bound([0, 3, 10], 100, delta)
    np.testing.assert_allclose(binom.cdf([0, 3, 10], 100, limits), delta, rtol=1e-8)


# --- values ---------------------------------------------------------------------------------------

LOSSES, N = [0.1, 0.2, 0.15], [400, 500, 450]
PAIRS = np.array([[0.1, 0.03, 0.02], [0.03, 0.2, 0.05], [0.02, 0.05, 0.15]])
N_PAIRS = np.full((3, 3), 200) + np.diag([200, 300, 250])
RHO = np.array([0.5, 0.25, 0.25])
KL = math.log(3) + 0.5 * math.log(0.5) + 0.5 * math.log(0.25)


def test_first_order_bound_by_hand():
    epsilon = (KL + math.log(2 * math.sqrt(400) / 0.05)) / 400
    found = bounds.majority_vote_bound(
        LOSSES, N, weights=[2, 1, 1], delta=0.05, method="first-order"
    )
    assert found == pytest.approx(2 * upper(0.1375, epsilon))
    equal = bounds.majority_vote_bound(LOSSES, 400, delta=0.05, method="first-order")
    epsilon = math.log(2 * math.sqrt(400) / 0.05) / 400
    assert equal == pytest.approx(2 * upper(0.15, epsilon))
    assert bounds.majority_vote_bound(
        LOSSES, N, weights=[2, 1, 1], method="first-order"
    ) == pytest.approx(0.275)


def test_tandem_bound_by_hand():
    epsilon = (2 * KL + math.log(2 * math.sqrt(200) / 0.05)) / 200
    mean = RHO @ PAIRS @ RHO
    found = bounds.majority_vote_bound(
        tandem_losses=PAIRS, n_pair_samples=N_PAIRS, weights=[2, 1, 1], delta=0.05, method="tandem"
    )
    assert found == pytest.approx(4 * upper(mean, epsilon))
    assert bounds.majority_vote_bound(
        tandem_losses=PAIRS, n_pair_samples=N_PAIRS, weights=[2, 1, 1], method="tandem"
    ) == pytest.approx(4 * mean)


def test_c_bound_by_hand():
    differ = np.array(LOSSES)[:, None] + LOSSES - 2 * PAIRS
    np.fill_diagonal(differ, 0.0)
    r = upper(0.1375, (KL + math.log(2 * math.sqrt(400) / 0.025)) / 400)
    d = lower(RHO @ differ @ RHO, (2 * KL + math.log(2 * math.sqrt(200) / 0.025)) / 200)
    found = bounds.majority_vote_bound(
        LOSSES,
        N,
        disagreements=differ,
        n_pair_samples=N_PAIRS,
        weights=RHO,
        delta=0.05,
        method="c-bound",
    )
    assert found == pytest.approx(1 - (1 - 2 * r) ** 2 / (1 - 2 * d))
    assert (
        bounds.majority_vote_bound(
            [0.5, 0.6], 10, disagreements=np.zeros((2, 2)), n_pair_samples=10, method="c-bound"
        )
        == 1.0
    )


def test_chebyshev_cantelli_bound_by_hand():
    """Against a search over mu, in each of the three cases of its sign."""
    for losses, pairs, n in [(LOSSES, PAIRS, 20_000), (LOSSES, PAIRS, 300), ([0.4] * 3, 0.16, 900)]:
        pairs = np.broadcast_to(pairs, (3, 3))
        q, t = RHO @ losses, RHO @ pairs @ RHO
        epsilon = (KL + math.log(2 * math.sqrt(n) / 0.025)) / n
        low, high = lower(q, epsilon), upper(q, epsilon)
        t = upper(t, (2 * KL + math.log(2 * math.sqrt(n) / 0.025)) / n)
        mu = np.linspace(-3, 0.49, 200_001)
        r = np.where(mu > 0, low, high)
        best = ((t - 2 * mu * r + mu**2) / (0.5 - mu) ** 2).min()
        found = bounds.majority_vote_bound(
            losses,
            n,
            tandem_losses=pairs,
            n_pair_samples=n,
            weights=RHO,
            delta=0.05,
            method="chebyshev-cantelli",
        )
        assert found == pytest.approx(min(best, 1.0), rel=1e-5)
        assert found <= 4 * t + 1e-12


# --- the inequalities for given moments -----------------------------------------------------------


def moments(errors, chance):
    """Losses, tandem losses and disagreements of members with errors (points, B)."""
    losses, tandem = chance @ errors, errors.T @ (chance[:, None] * errors)
    differ = np.clip(losses[:, None] + losses - 2 * tandem, 0, 1)
    return losses, tandem, differ


def four(losses, tandem, differ, n, n_pairs, rho=None, delta=None):
    return np.array(
        [
            bounds.majority_vote_bound(losses, n, weights=rho, delta=delta, method="first-order"),
            bounds.majority_vote_bound(
                tandem_losses=tandem,
                n_pair_samples=n_pairs,
                weights=rho,
                delta=delta,
                method="tandem",
            ),
            bounds.majority_vote_bound(
                losses,
                n,
                disagreements=differ,
                n_pair_samples=n_pairs,
                weights=rho,
                delta=delta,
                method="c-bound",
            ),
            bounds.majority_vote_bound(
                losses,
                n,
                tandem_losses=tandem,
                n_pair_samples=n_pairs,
                weights=rho,
                delta=delta,
                method="chebyshev-cantelli",
            ),
        ]
    )


def test_votes_err_at_most_as_often_as_the_moments_say():
    """Votes over random points, by sums over them; of several classes, and of probabilities."""
    rng = np.random.default_rng(0)
    for b in range(200):
        chance = rng.dirichlet(np.ones(12))
        errors = (rng.random((12, 5)) < rng.uniform(0.1, 0.6)).astype(float)
        if b % 2:  # 1 - probability
            errors *= rng.random(errors.shape)
        rho = rng.dirichlet(np.ones(5))
        error = chance @ (errors @ rho >= 0.5)
        found = four(*moments(errors, chance), 10, 10, rho)
        assert (error <= found + 1e-12).all()
        # The two forms of Cantelli's inequality are one.
        assert found[2] == pytest.approx(found[3], abs=1e-9)
        assert found[3] <= found[1] + 1e-12


def test_where_the_inequalities_are_attained():
    # At points where half of the members err: Markov's, also for the square.
    errors = np.array([[1.0, 0.0], [0.0, 0.0]])
    chance = np.array([0.3, 0.7])
    first, tandem, *_ = four(*moments(errors + errors[:, ::-1] * 0, chance), 10, 10)
    assert first == pytest.approx(0.3)
    assert tandem == pytest.approx(0.3)
    # Two values of the mean loss, one of them 1/2: Cantelli's.
    errors = np.array([[1.0, 0, 1, 0, 0, 1, 0, 1, 0, 1], [1.0, 1, 0, 0, 0, 0, 0, 0, 0, 0]])
    *_, c, cantelli = four(*moments(errors, np.array([0.2, 0.8])), 10, 10)
    assert c == pytest.approx(0.2)
    assert cantelli == pytest.approx(0.2)


def test_order_of_the_bounds():
    # Members that err together: the tandem loss is the loss.
    loss = np.full(4, 0.2)
    together = four(loss, np.full((4, 4), 0.2), np.zeros((4, 4)), 1000, 1000)
    assert together[1] == pytest.approx(2 * together[0])
    # Independent ones: 4 L² + 4 (L - L²) / B, which is small for large B.
    B = 50
    tandem = np.full((B, B), 0.04) + np.diag(np.full(B, 0.16))
    loss, differ = np.full(B, 0.2), np.full((B, B), 0.32) - np.diag(np.full(B, 0.32))
    apart = four(loss, tandem, differ, 1000, 1000)
    assert apart[3] < apart[1] < apart[0]
    assert apart[1] == pytest.approx(4 * (0.04 + 0.16 / B))
    # More rows, a larger delta and equal weights give smaller bounds.
    less = four(loss, tandem, differ, 1000, 1000, delta=0.05)
    assert (four(loss, tandem, differ, 4000, 4000, delta=0.05) < less).all()
    assert (four(loss, tandem, differ, 1000, 1000, delta=0.2) < less).all()
    uneven = np.arange(1, B + 1)
    uneven = bounds.majority_vote_bound(
        loss, 1000, weights=uneven, delta=0.05, method="first-order"
    )
    assert uneven > bounds.majority_vote_bound(loss, 1000, delta=0.05, method="first-order")


# --- the events -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_sets", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_bounds_hold_for_weights_that_are_chosen_by_the_losses(n_sets):
    """Many draws of rows; each member has rows of its own, and the vote those with few errors."""
    rng, delta, B, n = np.random.default_rng(0), 0.2, 6, 120
    errors = (rng.random((500, B)) < rng.uniform(0.2, 0.45, B)).astype(float)
    draws = rng.integers(0, 500, (n_sets, n))
    outside = rng.random((n, B)) < 0.6
    joint = outside.T.astype(float) @ outside
    failures, moment_failures = np.zeros(4), np.zeros(2)
    for rows in draws:
        seen = errors[rows] * outside
        losses = seen.sum(axis=0) / np.diag(joint)
        tandem = seen.T @ seen / joint
        first = seen.T @ outside / joint
        differ = np.clip(first + first.T - 2 * tandem, 0, 1)
        rho = np.exp(-8 * losses)
        rho /= rho.sum()
        error = np.mean(errors @ rho >= 0.5)
        found = four(losses, tandem, differ, np.diag(joint), joint, rho, delta)
        failures += error > found
        # The factors of Markov's inequality aside: the moments themselves.
        moment_failures[0] += 2 * errors.mean(axis=0) @ rho > found[0]
        moment_failures[1] += 4 * np.mean((errors @ rho) ** 2) > found[1]
    assert (failures <= delta * n_sets).all()
    assert (moment_failures <= delta * n_sets).all()
    # With the empirical means in place of the bounds they would fail, as the members were chosen.
    assert np.mean([np.mean(errors[r, 0]) < errors[:, 0].mean() for r in draws]) > 0.3


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.kl_inverse(1.5, 0.1), "mean"),
        (lambda: bounds.kl_inverse(0.5, -0.1), "divergence"),
        (
            lambda: bounds.majority_vote_bound([], 5, method="first-order"),
            "losses must have one number",
        ),
        (lambda: bounds.majority_vote_bound([0.1], 0, method="first-order"), "n_samples"),
        (
            lambda: bounds.majority_vote_bound([0.1, 0.2], [5, 5, 5], method="first-order"),
            "one for each member",
        ),
        (
            lambda: bounds.majority_vote_bound([0.1], 5, weights=[0.0], method="first-order"),
            "weights must be positive",
        ),
        (
            lambda: bounds.majority_vote_bound([0.1], 5, weights=[1.0, 2.0], method="first-order"),
            "weights must have one",
        ),
        (lambda: bounds.majority_vote_bound([0.1], 5, delta=0.0, method="first-order"), "delta"),
        (
            lambda: bounds.majority_vote_bound(
                tandem_losses=[0.1, 0.2], n_pair_samples=5, method="tandem"
            ),
            "tandem_losses",
        ),
        (
            lambda: bounds.majority_vote_bound(
                tandem_losses=[[0.1]], n_pair_samples=[5, 5], method="tandem"
            ),
            "n_pair_samples",
        ),
        (
            lambda: bounds.majority_vote_bound(
                [0.1, 0.2], 5, disagreements=[[0.0]], n_pair_samples=5, method="c-bound"
            ),
            "disagreements",
        ),
        (
            lambda: bounds.majority_vote_bound(
                [0.1], 5, disagreements=[[0.0]], n_pair_samples=[5], method="c-bound"
            ),
            "n_pair_samples",
        ),
        (
            lambda: bounds.majority_vote_bound(
                [0.1], 5, tandem_losses=[[0.1]], n_pair_samples=0, method="chebyshev-cantelli"
            ),
            "n_pair_samples",
        ),
        (lambda: bounds.majority_vote_bound([0.1], 5, method="tandem"), "needs tandem_losses"),
        (lambda: bounds.majority_vote_bound([0.1], method="first-order"), "needs n_samples"),
        (lambda: bounds.majority_vote_bound([0.1], 5, method="gibbs"), "method must be one of"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
