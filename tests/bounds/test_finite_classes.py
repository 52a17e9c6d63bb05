"""The bound for finite classes: its proof's equation, and its constant by exact probabilities."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

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
