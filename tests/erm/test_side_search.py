"""The search for stumps of two sides against brute force and against the other searches."""

import numpy as np
import pytest

from sklearn_ensemble_theory import DecisionStumpClassifier
from sklearn_ensemble_theory.erm._stumps import split_search
from sklearn_ensemble_theory.erm._stumps.split_search import SideIndex

from ..native.loops import SideSearch
from ..surroundings import ClassTask, SignTask, prepare_rounds
from .stump_search import without_side_search

KINDS = ("normal", "ties", "heavy tails", "sorted", "constant", "huge", "single precision")


def columns(kind, n, p, seed):
    """X with columns that are hard to put into bins."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if kind == "ties":
        X = np.round(X * np.array([0.3, 2.0, 40.0])[np.arange(p) % 3])
    elif kind == "heavy tails":
        X = np.sign(X) * np.exp(np.abs(4 * X))
    elif kind == "sorted":
        X.sort(axis=0)
    elif kind == "constant":
        X[:, 0] = 3.0
        X[:, 1] = np.where(X[:, 1] > 1, X[:, 1], 0.0)
    elif kind == "huge":
        X[:, 0] *= 1e307
        X[:, 1] *= 1e-310
        X[:4, 2] = [1.7e308, -1.7e308, 1e-320, 0.0]
    elif kind == "single precision":
        X = X.astype(np.float32)
    return X


def problem(kind, n, p, seed):
    X = columns(kind, n, p, seed)
    rng = np.random.default_rng(seed + 100)
    side = (X[:, 1] > np.quantile(X[:, 1], 0.3)) ^ (rng.random(n) < 0.3)
    weight = rng.exponential(size=n) * (rng.random(n) < 0.9)
    return X, side, weight / weight.sum()


def brute_force(X, side, weight, edges=None):
    """The largest |S_left| + |S_right| and the first (feature, threshold) that reaches it."""
    moment = np.where(side, weight, -weight)
    total = moment.sum()
    best = (abs(total), 0, np.inf)
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])[:-1].astype(float) if edges is None else edges[j]
        below = np.searchsorted(np.sort(X[:, j]), values, side="right")
        sums = np.concatenate([[0.0], np.cumsum(moment[np.argsort(X[:, j])])])[below]
        gains = np.abs(sums) + np.abs(total - sums)
        if len(gains) and gains.max() > best[0] + 1e-12:
            best = (gains.max(), j, values[gains >= gains.max() - 1e-12][0])
    return best


def check_split(split, left, X, side, weight, expected):
    """The gain is that of the threshold and the masses are those of its two sides."""
    gain, j, value = expected
    assert split.gain == pytest.approx(gain, abs=1e-13)
    assert split.feature == j
    if value == np.inf:
        assert split.threshold == np.inf
    else:
        assert np.array_equal(X[:, j] <= split.threshold, X[:, j] <= value)
    assert np.array_equal(left, X[:, split.feature] <= np.array([split.threshold]))
    for masses, rows in ((split.left, left), (split.right, ~left)):
        expected = np.bincount(side[rows], weight[rows], 2)
        assert masses == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("n_bins", [2, 7, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_exact_search_against_brute_force(kind, n_bins, monkeypatch):
    monkeypatch.setattr(split_search, "MAX_SIDE_BINS", n_bins)
    monkeypatch.setattr(split_search, "SIDE_BIN_ROWS", 2)
    for seed, n in enumerate((4, 40, 400)):
        X, side, weight = problem(kind, n, 3, seed)
        index = SideIndex(X, side)
        for _ in range(4):  # bins stay sorted from search to search
            split = index.best(weight)
            left = index.is_left(split)
            check_split(split, left, X, side, weight, brute_force(X, side, weight))
            wrong = np.where(left, side != (split.left[1] > split.left[0]), 0)
            weight = weight * np.where(wrong, 1.7, 1.0)
            weight /= weight.sum()


@pytest.mark.parametrize("max_bins", [2, 9, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_binned_search_against_brute_force(kind, max_bins):
    X, side, weight = problem(kind, 500, 3, 5)
    index = SideIndex(X, side, max_bins)
    split = index.best(weight)
    expected = brute_force(X, side, weight, index.edges)
    check_split(split, index.is_left(split), X, side, weight, expected)


def test_sides_can_change():
    X, side, weight = problem("normal", 300, 3, 1)
    index = SideIndex(X, np.zeros(300, dtype=bool))
    assert index.best(weight).threshold == np.inf
    index.set_sides(side)
    split = index.best(weight)
    check_split(split, index.is_left(split), X, side, weight, brute_force(X, side, weight))


def test_the_constant_is_best_where_no_threshold_is_better():
    rng = np.random.default_rng(0)
    X, side = rng.normal(size=(200, 2)), rng.random(200) < 0.9
    side[np.argsort(X[:, 0])[[0, -1]]] = side[np.argsort(X[:, 1])[[0, -1]]] = True
    weight = np.where(side, 1.0, 1e-3)
    split = SideIndex(X, side).best(weight / weight.sum())
    assert split.threshold == np.inf
    assert split.feature == 0
    assert np.all(split.right == 0)


def test_any_layout_of_the_rows_in_memory():
    X, side, weight = problem("normal", 500, 4, 2)
    wide = np.zeros((500, 8))
    wide[:, ::2] = X
    expected = SideIndex(X, side).best(weight)
    for same in (np.asfortranarray(X), wide[:, ::2], np.flip(np.flip(X, 0).copy(), 0)):
        split = SideIndex(same, side).best(weight)
        assert split[:2] == expected[:2]


@pytest.mark.parametrize("p", [2, 3])
def test_more_rows_than_are_summed_at_a_time(p):
    X, side, weight = problem("normal", 2**14 + 7, p, p)
    index = SideIndex(X, side)
    split = index.best(weight)
    expected = brute_force(X, side, weight)
    check_split(split, index.is_left(split), X, side, weight, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_those_of_a_search(kind):
    x = columns(kind, 300, 3, 3)[:, 1].astype(float)
    for n_edges in (1, 2, 50):
        edges = np.unique(np.quantile(x, np.arange(1, n_edges + 1) / (n_edges + 1), method="lower"))
        search, is_left = SideSearch(300, 1, len(edges) + 1), np.empty(300, dtype=np.uint8)
        search.code_column(0, x, edges, np.zeros(300, dtype=np.uint8))
        for c in range(len(edges) + 1):
            search.rows_left(0, c, -1, is_left)
            assert np.array_equal(is_left, np.searchsorted(edges, x) <= c)


# --- the weak learners ---------------------------------------------------------------------------


@pytest.mark.parametrize("max_bins", [None, 32])
@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_stumps_are_those_of_the_other_searches(kind, max_bins, monkeypatch):
    X, side, weight = problem(kind, 3000, 4, 4)
    weight = weight + 1e-5
    weight /= weight.sum()
    stump = DecisionStumpClassifier(max_bins=max_bins)
    target = np.where(side, 1.0, -1.0) * np.random.default_rng(0).random(3000)
    for task in (ClassTask(side.astype(int), np.array(["no", "yes"])), SignTask()):
        by_sides = prepare_rounds(stump, X, None, task)
        with monkeypatch.context() as patch:
            without_side_search(patch)
            by_masses = prepare_rounds(stump, X, None, task)
        assert by_sides.index.by_sides
        assert not by_masses.index.by_sides
        member, outputs = by_sides.best(target, weight)
        other, others = by_masses.best(target, weight)
        assert vars(member).keys() == vars(other).keys()
        for name, value in vars(member).items():
            if name == "max_bins" or name == "classes_":
                continue
            assert value == pytest.approx(getattr(other, name), abs=1e-12), name
        assert np.array_equal(outputs, others)


def test_more_bins_than_the_search_has():
    X, side, _ = problem("normal", 50, 3, 0)
    task = ClassTask(side.astype(int), np.array(["no", "yes"]))
    for max_bins, by_sides in ((2**15, True), (2**15 + 1, False)):
        found = prepare_rounds(DecisionStumpClassifier(max_bins=max_bins), X, None, task)
        assert found.index.by_sides == by_sides
