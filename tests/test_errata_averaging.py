"""The errata of docs/errata.md on averaging, sketches and votes, continued."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, multinomial

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


def test_nearest_neighbours_of_the_figure_are_regression():
    """[Bach, figure 10.1] has a "1-nearest neighbor classifier"; at s = n it is the regression."""
    rng = np.random.default_rng(0)
    x, x_new = rng.uniform(size=(2, 30))
    y = np.sin(6 * x) + 0.1 * rng.standard_normal(30)
    fits = []
    for _ in range(20):
        drawn = rng.choice(30, size=30, replace=False)  # n/s = 1
        fits.append(y[drawn][np.abs(x_new[:, None] - x[drawn]).argmin(axis=1)])
    bagged = np.mean(fits, axis=0)
    np.testing.assert_allclose(bagged, y[np.abs(x_new[:, None] - x).argmin(axis=1)])
    assert len(np.unique(bagged.round(9))) > 10  # a classifier has two values


def test_consistency_needs_no_pointwise_convergence():
    """[Ghoshdastidar, theorem En.1], part 1: "if and only if" with probability 1; "if" holds.

    Labels are 1 everywhere, x is uniform on [0, 1), and classifier m errs on an interval of length
    2^-k, the j-th one for m = 2^k + j. Its error tends to 0; every x is in an interval for each k.
    """
    errors, times_wrong = [], np.zeros(500, dtype=int)
    x = np.random.default_rng(0).uniform(size=500)
    for m in range(1, 2**10):
        k = m.bit_length() - 1
        j = m - 2**k
        errors.append(2.0**-k)
        times_wrong += (j <= x * 2**k) & (x * 2**k < j + 1)
    assert max(errors[511:]) == 2.0**-9
    # At each x there are errors for arbitrarily large m: one in each block, 2^k <= m < 2^(k+1).
    np.testing.assert_array_equal(times_wrong, 10)


def test_stones_second_condition_needs_a_near_neighbour():
    """[Ghoshdastidar, theorem En.2], exercise for (ii): the first inequality needs |x_k - x| <= a.

    Without it the left-hand side at m = 1 is q where x_1 is far, and the sum of nothing is 0.
    """
    rng = np.random.default_rng(0)
    a, draws = 0.1, 4000
    for m, q in ((1, 0.3), (1, 1.0), (20, 0.3), (400, 0.2)):
        k = math.ceil(math.sqrt(m / q))
        weights = q * (1 - q) ** np.arange(m)
        far = np.sort(np.abs(rng.uniform(size=(draws, m)) - rng.uniform(size=(draws, 1)))) > a
        left, beyond = far @ weights, weights[k:].sum()
        near = ~far[:, min(k, m) - 1]
        assert (left[near] <= beyond + 1e-12).all()
        assert beyond <= (1 - q) ** k + 1e-12
        # What the condition needs, in expectation: the k-th neighbour is far, or the weight is.
        assert left.mean() <= (~near).mean() + beyond + 1e-12
        if m == 1:
            assert beyond == 0
            np.testing.assert_allclose(left[~near], q)


def test_a_weak_learner_of_intervals_needs_the_rows_of_any_law():
    """[Ghoshdastidar]: stumps on labels of an interval, with the rows of m_H of realisable laws.

    43 rows are enough for an error of 1/12 with probability .95 if the labels are those of a stump:
    the threshold found is off by a part of mass 1/12 on either side. For an interval whose parts
    have few values, the stump with the fewest training errors errs on the part of the fewest rows.
    """
    eps, delta, m = 1 / 12, 0.05, 43
    assert 2 * (1 - eps) ** m <= delta
    # One row fewer is too few for a threshold in the middle of a uniform law.
    assert 2 * (1 - eps) ** (m - 1) - (1 - 2 * eps) ** (m - 1) > delta

    counts = np.array([(i, j, m - i - j) for i in range(m + 1) for j in range(m + 1 - i)])

    def probability_of_error_above(level, parts):
        """Even if ties go to the part of the least probability."""
        parts = np.array(parts)
        chosen = counts == counts.min(axis=1, keepdims=True)
        error = np.where(chosen, parts, 1).min(axis=1)
        return multinomial.pmf(counts, m, parts)[error > level].sum()

    parts = (0.2499, 0.375, 0.3751)
    assert probability_of_error_above(min(parts) + eps, parts) == pytest.approx(0.208, abs=5e-4)
    # The conclusion, an error of at most 5/12, fails too often for another interval.
    failing = probability_of_error_above(5 / 12, (0.29, 0.4167, 0.2933))
    assert failing == pytest.approx(0.0530, abs=5e-5)
    assert failing > delta


def test_weighted_risk_has_all_weights():
    """[Ghoshdastidar], box of AdaBoost: eps_t is the risk for the weights D, printed for D_i."""
    rng = np.random.default_rng(0)
    weight, wrong = rng.dirichlet(np.ones(8)), rng.random(8) < 0.4
    eps = weight @ wrong
    w = 0.5 * np.log(1 / eps - 1)
    after = weight * np.exp(np.where(wrong, w, -w))
    after /= after.sum()
    assert after @ wrong == pytest.approx(1 / 2)  # what w_t and the update are made for
    # The risk for one of the weights is another number for each i.
    assert np.abs(weight * wrong - eps).min() > 0.01


def test_histogram_of_half_open_squares_has_no_label_at_one():
    """[Shah, §2.2], example: [r/m, (r+1)/m), r < m, do not cover [0, 1]; the last is closed."""
    m, labels = 4, np.random.default_rng(0).choice([-1, 1], (4, 4))

    def histogram(x, closed):
        edges = np.arange(m + 1) / m
        inside = (edges[:-1] <= x[:, None]) & (x[:, None] < edges[1:])
        if closed:
            inside[:, -1] |= x == 1
        return inside[0] @ labels @ inside[1]

    for x in np.array([[0.3, 0.99], [0.0, 0.5], [1.0, 0.5], [0.2, 1.0], [1.0, 1.0]]):
        assert abs(histogram(x, closed=True)) == 1
        assert abs(histogram(x, closed=False)) == (x < 1).all()  # the value 0 is no label


def test_zero_is_in_the_hull_by_another_combination():
    """[Shah, §3.6]: beta as a combination of beta lambda/|beta|_1 and its negative is 0/0 at 0."""
    lam = 2.0
    for beta in ([0.5, -1.0], [0.0, 2.0]):
        norm = np.abs(beta).sum()
        end = lam / norm * np.array(beta)
        found = (lam + norm) / (2 * lam) * end - (lam - norm) / (2 * lam) * end
        np.testing.assert_allclose(found, beta)
    with np.errstate(invalid="ignore"):
        assert np.isnan(lam * np.zeros(2) / np.abs(np.zeros(2)).sum()).all()
    vertices = lam * np.array([[1.0, 0.0], [-1.0, 0.0]])
    np.testing.assert_array_equal([0.5, 0.5] @ vertices, 0)


def test_a_tree_has_at_most_as_many_regions_as_distinct_rows():
    """[Shah, §4.4], step 4 "until |R| = J" never ends where J exceeds the distinct rows."""
    x, y = np.array([0.0, 0.0, 1.0, 2.0]), np.array([1.0, 2.0, 0.0, 5.0])

    def rss(rows):
        return np.sum((y[rows] - y[rows].mean()) ** 2)

    def refine(regions):
        """Steps 2 and 3; None where no region has a mid-point."""
        splits = []
        for region in regions:
            values = np.unique(x[region])
            for s in (values[:-1] + values[1:]) / 2:
                parts = region[x[region] <= s], region[x[region] > s]
                splits.append((sum(map(rss, parts)) - rss(region), region, parts))
        if not splits:
            return None
        _, chosen, parts = min(splits, key=lambda split: split[0])
        return [region for region in regions if region is not chosen] + list(parts)

    regions = [np.arange(4)]
    while (refined := refine(regions)) is not None:  # the corrected step 4 stops here as well
        regions = refined
    assert len(regions) == len(np.unique(x)) == 3
    assert len(regions) < len(x)  # so that J = 4 is never reached, and J = 3 is


def test_the_variance_of_a_forest_grows_with_the_number_of_tried_predictors():
    """[Shah, §4.5] has it "decrease with m_try"; it decreases as m_try does, as rho.

    Forests of 30 stumps on six binary predictors, at the point 1, 1, ..., for 800 data sets.
    """
    rng = np.random.default_rng(0)
    sets, n, p, B = 800, 40, 6, 30
    variances, biases = [], []
    X = rng.integers(0, 2, (sets, n, p)).astype(float)
    y = 0.6 * X[:, :, 0] + rng.standard_normal((sets, n))
    for m_try in (1, 3, 6):
        forests = np.zeros(sets)
        for _ in range(B):
            rows = rng.integers(0, n, (sets, n))
            Z = np.take_along_axis(X, rows[:, :, None], axis=1)
            v = np.take_along_axis(y, rows, axis=1)[:, :, None]
            size = np.maximum(Z.sum(axis=1), 1), np.maximum((1 - Z).sum(axis=1), 1)
            sums = (Z * v).sum(axis=1), ((1 - Z) * v).sum(axis=1)
            gain = sums[0] ** 2 / size[0] + sums[1] ** 2 / size[1]
            tried = rng.random((sets, p)).argsort(axis=1) < m_try
            best = np.where(tried, gain, -np.inf).argmax(axis=1)
            forests += (sums[0] / size[0])[np.arange(sets), best] / B
        variances.append(forests.var())
        biases.append((forests.mean() - 0.6) ** 2)
    assert variances[0] < 0.9 * variances[1] < 0.9 * 0.9 * variances[2]
    assert biases[0] > biases[1] > biases[2]  # the other sentence, as printed
