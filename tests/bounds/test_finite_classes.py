"""Finite classes, and sample sizes for a given error: the proofs' equations, and worst cases."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from sklearn_ensemble_theory import bounds
from sklearn_ensemble_theory.bounds import finite_class_bound


@pytest.mark.parametrize("delta", [1e-6, 0.05, 1.0])
def test_bound_solves_the_equation_of_its_proof(delta):
    """delta = |H| exp(-n t^2 / (2 M^2)): Hoeffding for t/2, and a union bound."""
    n, size, M = 300, 17, 2.5
    t = finite_class_bound(n, np.log(size), delta, loss_bound=M)
    # 2 n (t/2)^2 / M^2 is the exponent of Hoeffding's inequality for a mean of n values in [0, M].
    assert size * np.exp(-2 * n * (t / 2) ** 2 / M**2) == pytest.approx(delta)


def test_constant_is_sharp():
    """Two constant classifiers, y = 1 with probability (1 - t)/2: the excess risk of label 1 is t.

    It is chosen if it has more votes. The smallest t for which this has probability at most delta
    is known exactly, and within 1 % of the bound.
    """
    n, delta = 100_001, 1e-200

    def log_excess(t):
        return binom.logsf(n // 2, n, (1 - t) / 2) - np.log(delta)

    exact = brentq(log_excess, 1e-3, 0.5)
    assert exact <= finite_class_bound(n, np.log(2), delta) < 1.01 * exact


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"n_samples": 0}, "n_samples"),
        ({"log_n_hypotheses": -1.0}, "log_n_hypotheses"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 2.0}, "delta"),
        ({"loss_bound": np.inf}, "loss_bound"),
    ],
)
def test_bad_arguments(arguments, name):
    with pytest.raises(ValueError, match=name):
        finite_class_bound(**{"n_samples": 10, "log_n_hypotheses": 1.0, **arguments})


def test_upper_sample_size_solves_the_inequality_of_its_proof():
    for d in (1, 2, 10, 100):
        for eps in (0.5, 0.1, 0.001):
            for delta in (0.5, 0.05, 1e-9):
                n = bounds.pac_n_samples_upper_bound(d, eps, delta)
                log_growth = bounds.sauer_shelah_bound(2 * n, d, log=True)
                failure = math.log(2) + log_growth - eps * n / 2 * math.log(2)
                assert failure <= math.log(delta)


def test_upper_sample_size_by_hand():
    # 4 log2(2^20) / (1/2) = 160 above 16 log2(26) = 75.2; and 8 log2(13) = 29.6.
    assert bounds.pac_n_samples_upper_bound(1, 0.5, 2.0**-19) == 160
    assert bounds.pac_n_samples_upper_bound(1, 1.0, 1.0) == 30


def test_upper_sample_size_suffices():
    """Worst threshold without training errors: its error is the gap around the true one."""
    rng = np.random.default_rng(0)
    n = bounds.pac_n_samples_upper_bound(1, 0.1, 0.05)
    x = rng.random((1000, n))
    gap = np.min(np.where(x > 0.5, x, 1), axis=1) - np.max(np.where(x <= 0.5, x, 0), axis=1)
    assert (gap <= 0.1).mean() >= 0.95
    # It is far from necessary here: a tenth of the rows also suffices.
    few = x[:, : n // 10]
    gap = np.min(np.where(few > 0.5, few, 1), axis=1) - np.max(np.where(few <= 0.5, few, 0), axis=1)
    assert (gap <= 0.1).mean() >= 0.95


def test_lower_sample_size_is_needed():
    """The two problems of its proof, with a row less: the error exceeds eps too often."""
    delta = 0.01
    for eps in (0.01, 0.1, 0.125):
        m = bounds.pac_n_samples_lower_bound(2, eps, delta) - 1
        # A rare point of probability eps is not drawn; its label is unknown.
        assert (1 - eps) ** m > delta
        larger = bounds.pac_n_samples_lower_bound(2, eps, delta / math.e**2)
        assert larger - m - 1 == pytest.approx(2 * (1 - eps) / eps, abs=1.01)
    rng = np.random.default_rng(0)
    d, eps, draws = 401, 0.125, 1000
    m = bounds.pac_n_samples_lower_bound(d, eps, delta)
    assert m == 100
    # d - 1 rare points share the probability 8 eps; labels that are not drawn are guessed.
    drawn = rng.integers(0, d - 1, (draws, m - 1))
    seen = np.zeros((draws, d - 1), dtype=bool)
    seen[np.arange(draws)[:, None], drawn] = True
    wrong = rng.binomial(d - 1 - seen.sum(axis=1), 0.5)
    assert (wrong * 8 * eps / (d - 1) > eps).mean() > delta


def test_the_two_sample_sizes():
    for d in (2, 20, 2000):
        for eps in (0.001, 0.1):
            low = bounds.pac_n_samples_lower_bound(d, eps, 0.01)
            assert low <= bounds.pac_n_samples_upper_bound(d, eps, 0.01)
    # Above the dimension (d - 1) / (32 eps) counts: exactly 10,000.
    assert bounds.pac_n_samples_lower_bound(3201, 0.01, 0.01) == 10_000


@pytest.mark.parametrize(
    ("name", "arguments", "parameter"),
    [
        ("pac_n_samples_upper_bound", (0, 0.1), "vc_dimension"),
        ("pac_n_samples_upper_bound", (1, 0.0), "eps"),
        ("pac_n_samples_upper_bound", (1, 0.1, 2.0), "delta"),
        ("pac_n_samples_lower_bound", (1, 0.1), "vc_dimension"),
        ("pac_n_samples_lower_bound", (2, 0.2), "eps"),
        ("pac_n_samples_lower_bound", (2, 1e-320), "eps"),
        ("pac_n_samples_upper_bound", (2, 1e-320, 5e-324), "eps"),
        ("pac_n_samples_lower_bound", (2, 0.1, 0.05), "delta"),
    ],
)
def test_arguments_out_of_range_are_named(name, arguments, parameter):
    with pytest.raises(ValueError, match=parameter):
        getattr(bounds, name)(*arguments)
