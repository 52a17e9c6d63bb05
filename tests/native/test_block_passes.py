"""Passes over a block of rows against loops in Python; they refuse arrays that do not fit."""

import numpy as np
import pytest

from ..trees.engine import MISSING, after_splits, goes_left
from .loops import Loss, RowTargets, add_in_columns, follow_splits

P = 5
PACKED_TARGETS, PACKED_WEIGHTS, TARGETS, WEIGHTS = range(4)


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 40, (P, n)).astype(np.uint8)
    codes[rng.random((P, n)) < 0.1] = MISSING
    return rng, codes


def integers(target, weight, whole):
    if weight is None:
        return np.rint(target * 2.0**20)
    return np.rint(target * 2.0**20) * weight if whole else np.rint(target * 2.0**20 * weight)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("nodes", [[0], [3, 1], [*range(4, 34)]])
@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("n", [1, 700, 9000])
def test_sums_in_bins_are_those_of_a_loop(n, some, nodes, kind):
    rng, codes = table(n)
    places = None
    if some:
        places = np.flatnonzero(rng.random(n) < 0.7).astype(np.int32)
    m = n if places is None else len(places)
    node = rng.integers(0, 34, m).astype(kind)
    target, own = rng.standard_normal(m), codes if places is None else codes[:, places]
    for weight, whole in [
        (None, False),
        (rng.random(m), False),
        (rng.integers(0, 5, m).astype(np.int8), True),
        (rng.random(m).astype(np.float32), False),
    ]:
        slot = np.full(256 ** np.dtype(kind).itemsize, -1, np.int16)
        slot[nodes] = range(len(nodes))
        moments = integers(target, weight, whole).astype(np.int64)
        masses = np.ones(m, int)
        if weight is not None:
            masses = np.rint(weight * 2.0**10).astype(np.int64)
        expected = np.zeros((3, len(nodes), P, 256), np.int64)
        for i, s in enumerate(slot[node].tolist()):
            for j in range(P) if s >= 0 else ():
                expected[:, s, j, own[j, i]] += moments[i], 1, masses[i]
        rows = RowTargets(None, None, None, target, weight)
        bits, given = m.bit_length(), (codes, places, node, slot, 2.0**20, 2.0**10, whole)
        for mode in range(4) if weight is not None else (PACKED_TARGETS, TARGETS):
            found = np.empty((len(nodes), P, 256, 1 + (mode != PACKED_TARGETS)), np.int64)
            assert rows.count(*given, mode, bits, found)
            first, last = found[..., 0], found[..., -1]
            if mode == PACKED_TARGETS:
                assert np.array_equal(last >> bits, expected[0])
                assert np.array_equal(last & (2**bits - 1), expected[1])
            elif mode == PACKED_WEIGHTS:
                assert np.array_equal(first, expected[0])
                assert np.array_equal(last >> bits, expected[2])
                assert np.array_equal(last & (2**bits - 1), expected[1])
            else:
                assert np.array_equal(first, expected[0 if mode == TARGETS else 2])
                assert np.array_equal(last, expected[1])


def test_sums_beyond_62_bits_are_not_packed():
    _, codes = table(8)
    slot = np.full(256, -1, np.int16)
    slot[0] = 0
    rows = RowTargets(None, None, None, np.ones(8), np.ones(8))
    given = codes, None, np.zeros(8, np.uint8), slot, 2.0**56, 2.0**56, False
    assert not rows.count(*given, PACKED_TARGETS, 4, np.empty((1, P, 256, 1), np.int64))
    assert not rows.count(*given, PACKED_WEIGHTS, 4, np.empty((1, P, 256, 2), np.int64))
    for mode in (TARGETS, WEIGHTS):
        found = np.empty((1, P, 256, 2), np.int64)
        assert rows.count(*given, mode, 0, found)
        assert (found.sum(axis=2) == (2**59, 8)).all()


@pytest.mark.parametrize("name", ["squared", "binomial", "poisson", "huber", "kink"])
@pytest.mark.parametrize("kind", [np.int8, np.float32, np.float64])
def test_targets_are_the_negative_gradients_of_the_loss(name, kind):
    rng, codes = table(1500)
    y = rng.integers(0, 2, 1500).astype(kind)
    y = 2 * y - 1 if name == "binomial" else y
    u, expected = rng.standard_normal(1500), np.empty(1500)
    options = {"huber": {"delta": 0.5}, "kink": {"above": (-0.2, 0.8), "below": (-0.2, 0.8)}}
    loss = Loss(name, **options.get(name, {}))
    loss.value(y.astype(float), u, np.ones(1), expected, 1)
    node, sums = rng.integers(0, 7, 1500).astype(np.uint8), np.empty((8, 3))
    slot = np.where(np.arange(256) == 3, 0, -1).astype(np.int16)
    found = []
    for rows in (
        RowTargets(loss, y, u, None, None),
        RowTargets(None, None, None, expected, None),
    ):
        found.append(np.empty((1, P, 256, 1), np.int64))
        rows.count(codes, None, node, slot, 2.0**30, 1.0, False, 0, 11, found[-1])
    np.testing.assert_array_equal(*found)
    weight = rng.random(1500)
    terms = np.column_stack([weight, weight * expected, weight * expected**2])
    by_hand = [terms[node == i].sum(axis=0) for i in range(8)]
    for leaf in (node, node.astype(np.uint16)):
        RowTargets(loss, y, u, None, weight).sum_leaves(leaf, sums)
        np.testing.assert_allclose(sums, by_hand, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("n_splits", [1, 7, 40])
def test_rows_follow_splits_as_in_a_loop(n_splits, some, kind):
    rng, codes = table(5000)
    places = None
    if some:
        places = np.flatnonzero(rng.random(5000) < 0.7).astype(np.int32)
    own = codes if places is None else codes[:, places]
    splits = []
    for s in range(n_splits):
        code = int(rng.choice([-1, 0, 10, 39, 254]))
        if s % 5 == 4:
            code = rng.random(256) < 0.5
        splits.append((s, s % P, code, bool(rng.integers(2)), 2 * s + 1, 2 * s + 2))
    node = rng.integers(0, 3, own.shape[1]).astype(kind)
    expected = node.copy()
    for i, j, code, missing_left, left, right in splits:
        chosen = np.flatnonzero(expected == i)
        goes = goes_left(own[j][chosen], code, missing_left, MISSING)
        expected[chosen] = np.where(goes, left, right)
    before = node.copy()
    found = after_splits(codes.T, node, splits, places)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(node, before)
    assert found.dtype == kind


@pytest.mark.parametrize("n_splits", [2, 40])
def test_children_go_back_to_their_parent(n_splits):
    _, codes = table(5000)
    splits = [(s, s % P, 10, False, 2 * s + 1, 2 * s + 2) for s in range(n_splits)]
    expected = after_splits(codes.T, np.zeros(5000, np.uint8), splits[:-1])
    back = [(child, 0, 255, True, n_splits - 1, n_splits - 1) for child in splits[-1][4:]]
    found = after_splits(codes.T, np.zeros(5000, np.uint8), splits + back)
    np.testing.assert_array_equal(found, expected)


def test_more_nodes_than_a_byte_holds():
    codes = np.zeros((1, 3), np.uint8)
    found = after_splits(codes.T, np.array([254, 0, 1], np.uint8), [(254, 0, 0, True, 255, 256)])
    assert found.tolist() == [255, 0, 1]
    splits = [(0, 0, -1, False, 255, 256)]
    assert after_splits(codes.T, np.zeros(3, np.uint8), splits).tolist() == [256] * 3


def splits(**others):
    return {
        "codes": np.zeros((P, 4), np.uint8),
        "places": None,
        "node": np.zeros(4, np.uint8),
        "parent": np.zeros(1, np.uint16),
        "feature": np.zeros(1, np.int32),
        "goes": np.zeros((1, 256), np.uint8),
        "children": np.array([[1, 2]], np.uint16),
        **others,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"codes": np.zeros((P, 5), np.uint8)},
        {"codes": np.zeros((4, P), np.uint8).T},
        {"places": np.zeros(3, np.int32)},
        {"places": np.array([0, 1, 2, 4], np.int32)},
        {"places": np.array([0, 1, 2, -1], np.int32)},
        {"node": np.zeros(4, np.uint32)},
        {"node": np.zeros(4, np.int64)},
        {"parent": np.zeros(2, np.uint16)},
        {"parent": np.full(1, 256, np.uint16)},
        {"feature": np.full(1, P, np.int32)},
        {"feature": np.full(1, -1, np.int32)},
        {"goes": np.zeros((1, 255), np.uint8)},
        {"goes": np.full((1, 256), 2, np.uint8)},
        {"children": np.array([[1, 256]], np.uint16)},
        {"children": np.array([[1, 2, 3]], np.uint16)},
    ],
)
def test_splits_that_do_not_fit(wrong):
    follow_splits(**splits())
    with pytest.raises(ValueError):
        follow_splits(**splits(**wrong))


@pytest.mark.parametrize("missing", ["codes", "node", "parent", "feature", "goes", "children"])
def test_no_array_is_missing(missing):
    with pytest.raises(TypeError):
        follow_splits(**splits(**{missing: None}))


def counted(**others):
    return {
        "codes": np.zeros((P, 4), np.uint8),
        "places": None,
        "node": np.zeros(4, np.uint8),
        "slot": np.zeros(256, np.int16),
        "scale": 1.0,
        "weight_scale": 1.0,
        "whole": False,
        "mode": 0,
        "bits": 3,
        "tables": np.zeros((1, P, 256, 1), np.int64),
        **others,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"codes": np.zeros((P, 5), np.uint8)},
        {"places": np.array([0, 1, 2, 4], np.int32)},
        {"node": np.zeros(5, np.uint8)},
        {"slot": np.zeros(255, np.int16)},
        {"slot": np.ones(256, np.int16)},
        {"slot": np.full(256, -2, np.int16)},
        {"mode": 1},
        {"mode": 4},
        {"mode": -1},
        {"bits": 62},
        {"bits": -1},
        {"tables": np.zeros((0, P, 256, 1), np.int64)},
        {"tables": np.zeros((1, P - 1, 256, 1), np.int64)},
        {"tables": np.zeros((1, P, 255, 1), np.int64)},
    ],
)
def test_sums_that_do_not_fit(wrong):
    rows = RowTargets(None, None, None, np.ones(4), None)
    assert rows.count(**counted())
    with pytest.raises(ValueError):
        rows.count(**counted(**wrong))


def test_leaves_and_rows_that_do_not_fit():
    rows, node = RowTargets(None, None, None, np.ones(4), None), np.zeros(4, np.uint8)
    for wrong in [
        (node, np.zeros((2, 2))),
        (node[:3], np.zeros((2, 3))),
        (node + 2, np.zeros((2, 3))),
        (np.full(4, 2, np.uint16), np.zeros((2, 3))),
    ]:
        with pytest.raises(ValueError):
            rows.sum_leaves(*wrong)
    loss, one = Loss("squared"), np.ones(4)
    for wrong in [
        (None, None, None, one, one[:3]),
        (None, None, None, one[::2], None),
        (None, one, one, one, None),
        (None, None, None, one.astype(int), None),
        (loss, one, one[:3], None, None),
        (loss, one, one.astype(np.float32), None, None),
        (loss, one, None, None, None),
        (loss, one, one, one, None),
        (Loss("multinomial"), one, one, None, None),
    ]:
        with pytest.raises((TypeError, ValueError)):
            RowTargets(*wrong)


@pytest.mark.parametrize("n_kinds", [1, 2])
@pytest.mark.parametrize("n_groups", [None, 3])
def test_integers_in_some_columns(n_kinds, n_groups):
    rng = np.random.default_rng(0)
    codes, rows = rng.integers(0, 256, (5, 40), np.uint8), rng.integers(0, 40, 100, np.int32)
    values = rng.integers(-(2**40), 2**40, (100, n_kinds))
    group = None if n_groups is None else rng.integers(0, n_groups, 100, np.int32)
    features = np.array([3, 0, 3], np.int32)
    table = np.zeros((3, n_groups or 1, 256, n_kinds), np.int64)
    add_in_columns(codes, rows, group, values, features, table)
    expected = np.zeros_like(table)
    own = np.zeros(100, int) if group is None else group
    for k, j in enumerate(features):
        np.add.at(expected[k], (own, codes[j, rows]), values)
    np.testing.assert_array_equal(table, expected)
    for wrong in (rows + np.int32(40), rows - np.int32(40)):
        with pytest.raises(ValueError):
            add_in_columns(codes, wrong, group, values, features, table)
    with pytest.raises(ValueError):
        add_in_columns(codes, rows, group, values, features + np.int32(2), table)
