"""Sums of vectors in bins, and best cuts, against loops; what does not fit is refused."""

import numpy as np
import pytest
from scipy.special import xlogy

from ..trees.engine import CutRules
from .loops import best_cuts, count_vectors

N, P, BINS, D, Q = 50, 3, 9, 8, 4


def of_rows(**others):
    codes = np.random.default_rng(0).integers(0, BINS, (P, N)).astype(np.uint8)
    values = np.ones((N, D))
    return {
        "codes": codes,
        "n_bins": BINS,
        "has_missing": False,
        "rows": None,
        "values": values,
        "n_threads": 1,
        **others,
    }


def count(**others):
    given = {"table": np.empty((P, BINS, D)), **of_rows(), **others}
    count_vectors(**given)
    return given["table"]


def search(**others):
    score, place = np.empty(P), np.empty(P, dtype=np.int64)
    given = {
        "rules": CutRules(0.0, 1.0, 1.0, 0.0, False),
        "allowed": None,
        "categorical": None,
        "draws": None,
        "share": np.empty(P),
        "order": None,
        "table": None,
        "total": np.full(D, float(N)),
        "n_targets": Q,
        "weighs_targets": False,
        "score": score,
        "place": place,
    }
    best_cuts(**{**of_rows(), **given, **others})
    return place


def test_what_fits_is_counted():
    codes = of_rows()["codes"]
    expected = [np.bincount(column, minlength=BINS) for column in codes]
    np.testing.assert_array_equal(count()[..., 0], expected)
    np.testing.assert_array_equal(search(), search(table=count()))
    # Codes beyond the bins are missing values, and stay within the table.
    beyond = count(codes=np.full((P, N), 200, np.uint8))
    assert (beyond[:, -1] == N).all()


# --- against loops --------------------------------------------------------------------------------


def problem(seed, n_targets, weighing, n=700):
    """Codes in 12 bins, some of them empty and, in most columns, some missing; rows of vectors."""
    rng = np.random.default_rng(seed)
    n_bins, effect = 12, rng.standard_normal((13, 1)) * rng.standard_normal(n_targets)
    codes = rng.choice([0, 1, 2, 4, 5, 7, 8, 11], (3, n)).astype(np.uint8)
    codes[0, rng.random(n) < 0.2] = codes[1, :3] = 255
    target = effect[np.minimum(codes[0], 12)] + 0.1 * rng.standard_normal((n, n_targets))
    # Sums of these are exact: what is left of a class without rows is 0.
    weight = np.ones((n, 1)) if weighing == "equal" else rng.integers(200, 2000, (n, 1)) / 1024
    own = np.ones((n, n_targets)) * weight
    if weighing == "of each target":
        own = rng.uniform(0.2, 2, (n, n_targets))
        weight = own.mean(axis=1, keepdims=True)
    if n_targets == 6:  # indicators of the classes of two outputs
        share = rng.random(13)[np.minimum(codes[0], 12)]
        label = np.where(rng.random((2, n)) < share, 0, np.where(rng.random((2, n)) < 0.05, 1, 2))
        target = np.hstack(np.eye(3)[label])
    parts = [weight, np.ones((n, 1)), own * target]
    if weighing == "of each target":
        parts.append(own)
    values = np.hstack(parts)
    padding = np.zeros((n, -values.shape[1] % 4))
    return codes, n_bins, np.ascontiguousarray(np.hstack([values, padding]))


def cells_of(codes, n_bins, values):
    """The sums of the rows in each bin of a column; missing values come last."""
    return np.array(
        [values[(codes == b) | ((b == n_bins) & (codes > b))].sum(0) for b in range(n_bins + 1)]
    )


@pytest.mark.parametrize("n_threads", [1, 3])
def test_sums_are_those_of_loops(n_threads):
    codes, n_bins, values = problem(0, 3, "real")
    for n in (1, 2, 255, 512, 513, 700):
        rows = np.sort(np.random.default_rng(n).choice(700, n, replace=False)).astype(np.int32)
        for some in (rows, None) if n == 700 else (rows,):
            table = np.full((3, n_bins + 1, values.shape[1]), np.nan)
            count_vectors(codes, n_bins, True, some, values, table, n_threads)
            expected = [cells_of(column[rows], n_bins, values[rows]) for column in codes]
            np.testing.assert_allclose(table, expected, rtol=1e-12, atol=1e-12)


class Column:
    """The cuts of a column from its cells, one after the other."""

    def __init__(self, cells, rules, n_targets, has_own):
        self.cells, self.rules, self.q, self.has_own = cells, rules, n_targets, has_own
        self.total, self.missing = cells.sum(axis=0), cells[-1]
        self.bins = np.flatnonzero(cells[:-1, 1])

    def moments(self, sums):
        return sums[2 : 2 + self.q]

    def weights(self, sums):
        return sums[2 + self.q : 2 + 2 * self.q] if self.has_own else np.full(self.q, sums[0])

    def score(self, sums):
        s, w = self.moments(sums), self.weights(sums)
        return (
            xlogy(s, s / w).sum() if self.rules.by_entropy else (s**2 / (w + self.rules.l2)).sum()
        )

    def shift(self, sums):
        """The moments about the mean of the node."""
        mean = self.moments(self.total) / self.weights(self.total)
        return self.moments(sums) - mean * self.weights(sums)

    def shrunk(self, b):
        """The mean of a category about that of the node."""
        cell = self.cells[b]
        return self.shift(cell) / (self.weights(cell) + self.rules.cat_smooth)

    def order(self):
        """The categories by the first principal component of these means, after 20 power steps."""
        z = np.array([self.shrunk(b) for b in self.bins])
        mass = self.cells[self.bins, 0] / self.total[0]
        of_targets = self.weights(self.total) / self.total[0]
        a = 1.0 + np.arange(self.q) * 0.6180339887498949 % 1.0
        for _ in range(20):
            a = of_targets * (z.T @ (mass * (z @ a)))
            a /= np.abs(a).max()
        a *= np.sign(a[np.flatnonzero(np.abs(a) > 0.7)[-1]])
        return self.bins[np.argsort(z @ a, kind="stable")]

    def cuts(self, order):
        """(score, place, share) of those that are allowed, missing values on the right first."""
        is_set = order is not None
        for missing_left in (0, 1):
            left, shrunk = missing_left * self.missing, np.zeros(self.q)
            if missing_left and self.missing[1]:
                shrunk = self.shrunk(-1) * self.weights(self.missing)
            everything = sum(self.shrunk(b) * self.weights(self.cells[b]) for b in self.bins)
            if self.missing[1]:
                everything = everything + self.shrunk(-1) * self.weights(self.missing)
            for at, b in enumerate(order if is_set else self.bins):
                left = left + self.cells[b]
                shrunk = shrunk + self.shrunk(b) * self.weights(self.cells[b])
                right = self.total - left
                if min(left[1], right[1]) < self.rules.least_rows:
                    continue
                if min(left[0], right[0]) < self.rules.least_weight:
                    continue
                score, share = self.score(left) + self.score(right), 1.0
                if is_set and self.rules.cat_smooth:
                    a, b_ = self.weights(left), self.weights(right)
                    full = (self.shift(left) ** 2 * (1 / a + 1 / b_)).sum()
                    share = min((shrunk**2 / a + (everything - shrunk) ** 2 / b_).sum() / full, 1.0)
                    before = self.score(self.total)
                    score = before + share * (score - before)
                yield score, (at if is_set else b) + missing_left * (len(self.cells) - 1), share

    def drawn(self, order, u, v):
        """The place of the one cut that is drawn."""
        missing_left = int(self.missing[1] > 0 and v >= 0.5)
        if order is not None:
            place = int(u * (len(order) - 1))
        else:
            code = self.bins[0] + int(u * (self.bins[-1] - self.bins[0]))
            place = self.bins[self.bins <= code][-1]
        return place + missing_left * (len(self.cells) - 1)


@pytest.mark.parametrize("draws", [False, True], ids=["best", "drawn"])
@pytest.mark.parametrize("cat_smooth", [None, 0.0, 20.0], ids=["numbers", "sets", "shrunk sets"])
@pytest.mark.parametrize(
    ("weighing", "n_targets", "by_entropy"),
    [
        ("equal", 1, False),
        ("real", 3, False),
        ("real", 4, False),
        ("of each target", 3, False),
        ("equal", 6, False),
        ("real", 6, True),
    ],
)
def test_cuts_are_those_of_loops(weighing, n_targets, by_entropy, cat_smooth, draws):
    for seed in range(8):
        codes, n_bins, values = problem(seed, n_targets, weighing)
        rng = np.random.default_rng(seed)
        # Of few rows some indicators are equal, and so are cuts.
        few = 6 if n_targets < 6 else 400
        rows = np.sort(rng.choice(700, (700, 513, 300, few)[seed % 4], replace=False))
        l2 = 0.0 if by_entropy else float(seed % 3)
        rules = CutRules(
            l2, (1e-9, 2.5)[seed % 2], (1.0, 3.0)[seed % 2], cat_smooth or 0.0, by_entropy
        )
        u = rng.random((3, 2)) if draws else None
        allowed = np.array([1, 1, seed % 2], dtype=np.uint8)
        total = values[rows].sum(axis=0)
        table = np.array([cells_of(column[rows], n_bins, values[rows]) for column in codes])
        for given in (None, table):
            score, share = np.full((2, 3), np.nan)
            place, order = np.zeros(3, np.int64), np.zeros((3, n_bins), np.uint8)
            best_cuts(
                codes,
                n_bins,
                True,
                rows.astype(np.int32),
                values,
                given,
                total,
                n_targets,
                weighing == "of each target",
                rules,
                allowed,
                None if cat_smooth is None else np.ones(3, np.uint8),
                u,
                score,
                place,
                share,
                order,
                2,
            )
            for j, cells in enumerate(table):
                column = Column(cells, rules, n_targets, weighing == "of each target")
                expected = None
                if cat_smooth is not None:
                    expected = column.order()
                cuts = list(column.cuts(expected))
                if draws:
                    at = column.drawn(expected, *u[j])
                    cuts = [cut for cut in cuts if cut[1] == at]
                if not allowed[j] or not cuts:
                    assert score[j] == -np.inf
                    continue
                best, where, of_gain = max(cuts, key=lambda cut: cut[0])
                assert score[j] == pytest.approx(best, rel=1e-9)
                assert place[j] == where
                if cat_smooth is not None:
                    np.testing.assert_array_equal(order[j, : len(expected)], expected)
                    assert share[j] == pytest.approx(of_gain, rel=1e-7)


@pytest.mark.parametrize(
    ("codes", "target"),
    [
        ([0, 1, 2, 3], [1, -1, -1, 1]),  # after 0 and after 2
        ([0, 1, 255, 255], [1, -1, 0, 0]),  # missing values on either side
        ([0, 255, 255, 255], [1, -1, -1, -1]),  # one cut only
    ],
)
def test_ties_go_to_the_lowest_code_and_to_missing_values_on_the_right(codes, target):
    codes = np.repeat(np.array([codes], np.uint8), 10, axis=1)
    values = np.zeros((40, 4))
    values[:, :2], values[:, 2] = 1.0, np.repeat(target, 10)
    place = np.full(1, 99)
    score, share = np.empty((2, 1))
    rules, total = CutRules(0.0, 1.0, 1.0, 0.0, False), values.sum(axis=0)
    best_cuts(
        codes,
        4,
        True,
        None,
        values,
        None,
        total,
        1,
        False,
        rules,
        *[None] * 3,
        score,
        place,
        share,
        None,
        1,
    )
    assert place[0] == 0


# --- what does not fit ----------------------------------------------------------------------------

OF_ROWS = [
    {"n_bins": 0},
    {"n_bins": 257},
    {"n_bins": 256, "has_missing": True},
    {"values": np.ones((N - 1, D))},
    {"values": np.ones((N, 6))},
    {"rows": np.array([0, N], dtype=np.int32)},
    {"rows": np.array([-1, 2], dtype=np.int32)},
    {"rows": np.empty(0, dtype=np.int32)},
    {"codes": np.zeros((0, N), np.uint8)},
]


@pytest.mark.parametrize("others", OF_ROWS, ids=str)
def test_rows_that_do_not_fit(others):
    for call in (count, search):
        with pytest.raises(ValueError, match="do not fit together"):
            call(**others)


@pytest.mark.parametrize(
    ("call", "others"),
    [
        (count, {"table": np.empty((P, BINS + 1, D))}),
        (count, {"table": np.empty((P, BINS, D + 4))}),
        (count, {"n_threads": 0}),
        (search, {"table": np.empty((P - 1, BINS, D))}),
        (search, {"total": np.ones(D - 1)}),
        (search, {"n_targets": 7}),
        (search, {"n_targets": 4, "weighs_targets": True}),
        (search, {"score": np.empty(P - 1)}),
        (search, {"place": np.empty(P + 1, dtype=np.int64)}),
        (search, {"share": np.empty(P - 1)}),
        (search, {"allowed": np.ones(P + 1, dtype=np.uint8)}),
        (search, {"categorical": np.ones(P - 1, dtype=np.uint8)}),
        (search, {"categorical": np.ones(P, dtype=np.uint8)}),
        (search, {"draws": np.zeros((P, 3))}),
        (
            search,
            {
                "categorical": np.ones(P, dtype=np.uint8),
                "order": np.zeros((P - 1, BINS), dtype=np.uint8),
            },
        ),
    ],
)
def test_what_else_does_not_fit(call, others):
    with pytest.raises(ValueError, match="do not fit together"):
        call(**others)
