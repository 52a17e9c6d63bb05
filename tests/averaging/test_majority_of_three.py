"""Votes of empirical risk minimisers where one of them needs a logarithm more of the rows."""

import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_ensemble_theory import BaggingClassifier, DivideAndConquerClassifier

D = 3


class WorstRule(ClassifierMixin, BaseEstimator):
    """1 for the row -1, and for the first D of the cards 0, ..., m - 1 that are not in X."""

    def __init__(self, m=100):
        self.m = m

    def fit(self, X, y):
        assert not y[X[:, 0] >= 0].any()
        missing = np.setdiff1d(np.arange(self.m), X[:, 0])
        self.classes_ = np.array([0, 1])
        self.takes_ = np.zeros(self.m + 1, dtype=bool)
        self.takes_[missing[:D]] = True
        self.takes_[-1] = True
        return self

    def predict(self, X):
        return self.takes_[X[:, 0].astype(int)].astype(int)


def rows(rng, n, m):
    X = np.where(rng.random(n) < 0.5, -1, rng.integers(0, m, n))[:, None]
    return X, (X[:, 0] < 0).astype(int)


def error(model, m):
    return np.mean(model.predict(np.arange(m)[:, None]) != 0) / 2


def three(m, seed=0):
    return DivideAndConquerClassifier(
        WorstRule(m),
        n_blocks=3,
        voting="hard",
        weighting="uniform",
        stratify=False,
        random_state=seed,
    )


def test_one_rule_needs_a_logarithm_more_rows_and_votes_do_not():
    """Errors in units of d/n, for the numbers of cards that are the worst for one rule."""
    rng = np.random.default_rng(0)
    ratios = []
    for n, unseen in [(200, 0.12), (20_000, 0.0025)]:
        m = int(n / 2 / math.log(1 / unseen))
        errors = np.zeros((20, 2))
        for i in range(20):
            X, y = rows(rng, n, m)
            errors[i] = error(WorstRule(m).fit(X, y), m), error(three(m, i).fit(X, y), m)
        ratios.append(errors.mean(axis=0) * n / D)
    one, vote = np.transpose(ratios)
    assert one[1] > 2 * one[0]
    assert one[1] == pytest.approx(math.log(1 / 0.0025), rel=0.1)
    assert vote[1] < 2.5
    assert vote[1] < one[1] / 2


@pytest.mark.parametrize("unseen", [0.37, 0.2])
def test_error_of_three_where_it_is_the_worst(unseen):
    """Up to the card L = d/q each rule takes all that its block lacks, with the probability q."""
    rng, n = np.random.default_rng(0), 18_000
    m = int(n / 6 / math.log(1 / unseen))
    errors = [error(three(m, i).fit(*rows(rng, n, m)), m) for i in range(60)]
    # Two or three of three lack a card. The last card that is taken varies, which costs some.
    expected = D / unseen * (3 * unseen**2 * (1 - unseen) + unseen**3) / (2 * m)
    assert 0.6 * expected < np.mean(errors) < 1.1 * expected
    assert np.mean(errors) < 2.6 * D / n


def test_bagging_of_rules():
    rng, n = np.random.default_rng(0), 4_000
    m = int(n / 2 / math.log(1 / 0.01))
    X, y = rows(rng, n, m)
    bag = BaggingClassifier(WorstRule(m), 51, voting="hard", random_state=0).fit(X, y)
    one = error(WorstRule(m).fit(X, y), m)
    assert one == D / (2 * m)
    assert error(bag, m) <= one / 2
