"""The errata of docs/errata.md on averaging, sketches and votes, continued."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2

from .errata_parts import within


def test_sketches_need_two_rows_more_than_variables():
    """[Bach, §10.2.1] prints s > d for the factor d/(s-d-1); at s = d + 1 the mean is infinite.

    At d = 1 the factor is the expectation of 1/(S_1'S_1), one over a chi-square variable.
    """

    def truncated(s, low):
        """E[1/y; y > low] for y with s degrees of freedom."""
        inside = quad(lambda t: chi2.pdf(np.exp(t), s), np.log(low), 0, limit=200)[0]
        return inside + quad(lambda y: chi2.pdf(y, s) / y, 1, np.inf)[0]

    rng = np.random.default_rng(0)
    assert within(1 / chi2.rvs(9, size=20_000, random_state=rng), 1 / (9 - 1 - 1))
    assert truncated(9, 1e-12) == pytest.approx(1 / 7)
    assert truncated(3, 1e-12) == pytest.approx(1, rel=1e-4)  # s = d + 2
    # s = d + 1: each factor of 1e-4 adds the same amount, without a limit.
    values = [truncated(2, low) for low in (1e-4, 1e-8, 1e-12)]
    np.testing.assert_allclose(np.diff(values), np.log(1e4) / 2, rtol=1e-3)


def test_projection_matrix_ends_with_a_transpose():
    """[Bach, §10.2.2] prints Phi S (S'Phi'Phi S)^-1 S'Phi; the last factor is Phi'."""
    rng = np.random.default_rng(0)
    for n, d, s in ((4, 7, 2), (5, 5, 3)):
        Phi, S = rng.standard_normal((n, d)), rng.standard_normal((d, s))
        factors = Phi @ S @ np.linalg.inv(S.T @ Phi.T @ Phi @ S) @ S.T
        corrected = factors @ Phi.T
        np.testing.assert_allclose(corrected @ corrected, corrected, atol=1e-10)
        np.testing.assert_allclose(corrected, corrected.T, atol=1e-10)
        if n != d:
            with pytest.raises(ValueError, match="matmul"):
                factors @ Phi
        else:
            printed = factors @ Phi
            assert np.abs(printed @ printed - printed).max() > 0.1


def test_a_tie_is_a_vote_for_one_class_only():
    """[Ghoshdastidar, theorem En.1] prints "if and only if" for a share of at least 1/2."""
    for T in (1, 2, 3, 4):
        for labels in itertools.product([0, 1], repeat=T):
            vote = int(np.mean(labels) >= 0.5)
            shares = np.mean(labels) <= 0.5, np.mean(labels) >= 0.5  # of 0 and of 1, at least 1/2
            assert shares[vote]  # what the proof uses
            assert shares[1 - vote] == (sum(labels) == T / 2)  # the other class, at a tie


def test_vc_dimension_of_a_vote_of_one_is_not_zero():
    """[Ghoshdastidar] prints O(dT log2(dT)), which is 0 at dT = 1; 2dT log2(3T) holds for all T.

    Thresholds on the line shatter one point and not two. The dimension of a vote of T is at most
    the largest N for which the members give 2^N labels, of at most sum_{i<=d} (N choose i) each.
    """
    x = np.array([1.0, 2.0])
    labels = {tuple(np.where(x > a, 1, -1)) for a in (0.5, 1.5, 2.5)}
    assert {pair[0] for pair in labels} == {-1, 1}  # d = 1
    assert len(labels) < 4
    d = T = 1
    assert d * T * math.log2(d * T) == 0
    for d, T in itertools.product((1, 2, 5, 20), (1, 2, 3, 10, 50)):
        limit = 2 * d * T * math.log2(3 * T)
        assert limit >= d  # the dimension of a member, whose votes these are at T = 1
        N = max(d, math.floor(limit) + 1)
        log = T * math.log2(sum(math.comb(N, i) for i in range(d + 1)))
        assert log < N  # not all labels of N points, nor of more
        if d * T > 1:
            assert limit <= 7 * d * T * math.log2(d * T)
