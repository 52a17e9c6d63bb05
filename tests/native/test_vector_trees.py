"""Trees of vectors cut once, against loops over all cuts; what does not fit is refused."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import xlogy

from ..trees.engine import FeatureDraws, GrowthOptions
from .loops import grow_vectors

N, P, BINS, D, Q = 50, 3, 9, 8, 4


def grow(**others):
    """A tree of equal columns unless they are given, of depth 1 unless options are."""
    n, own = N, others.pop("options", {})
    if "values" in others:
        n = len(others["values"])
    q = others["target"].shape[1] if "target" in others else Q
    rng = np.random.default_rng(0)
    codes = others.get("codes", rng.integers(0, BINS, (P, n)).astype(np.uint8))
    values = others.get("values", np.ones((n, D)))
    given = {
        "n_bins": BINS,
        "has_missing": False,
        "missing": 255,
        "categorical": None,
        "rows": np.arange(n, dtype=np.int32),
        "weighs_targets": False,
        "least_weight": 0.0,
        "target": rng.random((n, q)),
        "sizes": np.ones(q),
        "leaf_values": values,
        "squares": np.ones(n),
        "options": GrowthOptions(**{"criterion": "squared_error", "max_depth": 1, **own}),
        "least_gain": -np.inf,
        "order": np.arange(len(codes)),
        "draws_ties": False,
        "few_rows": np.inf,
        "n_threads": 1,
        **others,
        "codes": codes,
        "values": values,
    }
    return grow_vectors(**given)


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


class Rules(NamedTuple):
    """What a cut has to leave on both sides, and how it is scored."""

    l2: float
    least_weight: float
    least_rows: int
    cat_smooth: float
    by_entropy: bool  # of indicators


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


def place_of(fields, column, order):
    """The place of the cut of the root among those of `cuts`; None where it has none."""
    if fields["left"][0] == -1:
        return None
    goes_left, is_missing_left = None, bool(fields["missing_left"][0])
    if order is None:
        after = np.searchsorted(column.bins, fields["code"][0], side="right")
        place = column.bins[after - 1]
        if after < len(column.bins):
            assert fields["code"][0] == (place + column.bins[after]) // 2
        goes_left = column.bins <= place
    else:
        members = np.unpackbits(fields["left_bins"][0], bitorder="little").astype(bool)
        after = np.count_nonzero(members[order])
        assert members[order[:after]].all()
        others = np.delete(np.arange(256), order)
        assert (members[others] == is_missing_left).all()
        place, goes_left = after - 1, members[column.bins]
    if not column.missing[1]:  # it goes where most rows go
        n_left = column.cells[column.bins[goes_left], 1].sum()
        assert is_missing_left == (2 * n_left > column.total[1])
        return place
    return place + is_missing_left * (len(column.cells) - 1)


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
        n_rows = (700, 513, 300, few)[seed % 4]
        rows = np.sort(rng.choice(700, n_rows, replace=False)).astype(np.int32)
        rules = Rules(
            l2=0.0 if by_entropy else float(seed % 3),
            least_weight=(1e-9, 2.5)[seed % 2],
            least_rows=(1, 3)[seed % 2],
            cat_smooth=cat_smooth or 0.0,
            by_entropy=by_entropy,
        )
        given = {
            "n_bins": n_bins,
            "has_missing": True,
            "values": values,
            "weighs_targets": weighing == "of each target",
            "least_weight": rules.least_weight,
            "target": np.ascontiguousarray(values[:, 2 : 2 + n_targets]),
            "n_threads": 1 + seed % 2,
            "options": {
                "criterion": "log_loss" if by_entropy else "squared_error",
                "min_samples_leaf": rules.least_rows,
                "l2_regularization": rules.l2,
                "cat_smooth": rules.cat_smooth,
                "random_splits": draws,
                "seed": seed,
            },
        }
        of_all, columns = [], []
        for one in codes:
            cells = cells_of(one[rows], n_bins, values[rows])
            column = Column(cells, rules, n_targets, given["weighs_targets"])
            order = None if cat_smooth is None else column.order()
            cuts = list(column.cuts(order))
            if draws:
                of_generator = FeatureDraws(seed, 1, 1)
                u, v = (of_generator.next() / 2.0**31 for _ in range(2))
                at = column.drawn(order, u, v)
                cuts = [cut for cut in cuts if cut[1] == at]
            best = max(cuts, key=lambda cut: cut[0], default=(-np.inf, None))
            flags = None if cat_smooth is None else np.ones(1, np.uint8)
            for few_rows in (0, 1000):
                found = grow(
                    **{**given, "options": dict(given["options"])},
                    codes=np.ascontiguousarray(one[None]),
                    rows=rows.copy(),
                    categorical=flags,
                    few_rows=few_rows,
                )
                np.testing.assert_allclose(found["sums"][0], column.total, rtol=1e-12)
                assert place_of(found["fields"], column, order) == best[1]
            of_all.append(best[0])
            columns.append(column)
        if draws:
            continue
        flags = None if cat_smooth is None else np.ones(3, np.uint8)
        for few_rows in (0, 1000):
            fields = grow(
                **{**given, "options": dict(given["options"])},
                codes=codes,
                rows=rows.copy(),
                categorical=flags,
                few_rows=few_rows,
            )["fields"]
            if max(of_all) == -np.inf:
                assert fields["left"][0] == -1
            else:
                assert of_all[fields["feature"][0]] == pytest.approx(max(of_all), rel=1e-9)


@pytest.mark.parametrize(
    ("codes", "target", "code"),
    [
        ([0, 1, 2, 3], [1, -1, -1, 1], 0),  # after 0 and after 2
        ([0, 1, 255, 255], [1, -1, 0, 0], 0),  # missing values on either side
        ([0, 255, 255, 255], [1, -1, -1, -1], 254),  # one cut only
    ],
)
def test_ties_go_to_the_lowest_code_and_to_missing_values_on_the_right(codes, target, code):
    codes = np.repeat(np.array([codes], np.uint8), 10, axis=1)
    values = np.zeros((40, 4))
    values[:, :2], values[:, 2] = 1.0, np.repeat(target, 10)
    target = np.ascontiguousarray(values[:, 2:3])
    fields = grow(codes=codes, n_bins=4, has_missing=True, values=values, target=target)["fields"]
    assert (fields["code"][0], fields["missing_left"][0]) == (code, 0)


# --- what does not fit ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "others",
    [
        {"n_bins": 0},
        {"n_bins": 256},
        {"n_bins": 255, "missing": 254},
        {"n_bins": 255, "missing": 256},
        {"values": np.ones((N, 6))},
        {"rows": np.array([0, N], dtype=np.int32)},
        {"rows": np.array([-1, 2], dtype=np.int32)},
        {"rows": np.empty(0, dtype=np.int32)},
        {"codes": np.zeros((0, N), np.uint8)},
        {"codes": np.zeros((P, N - 1), np.uint8)},
        {"categorical": np.ones(P - 1, dtype=np.uint8)},
        {"target": np.ones((N, 7)), "sizes": np.ones(7)},
        {"weighs_targets": True},
        {"target": np.ones((N - 1, Q))},
        {"sizes": np.ones(Q + 1)},
        {"squares": np.ones(N - 1)},
        {"leaf_values": np.ones((N - 1, D))},
        {"leaf_values": np.ones((N, D - 1))},
        {"order": np.arange(P - 1)},
        {"order": np.arange(1, P + 1)},
        {"n_threads": 0},
    ],
    ids=str,
)
def test_what_does_not_fit(others):
    with pytest.raises(ValueError, match="do not fit together"):
        grow(**others)
