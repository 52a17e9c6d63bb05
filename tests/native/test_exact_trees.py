"""The growth of exact trees refuses arrays that do not fit (tests/trees has the trees)."""

from dataclasses import replace

import numpy as np
import pytest

from ..trees.engine import GrowthOptions
from .loops import Keys, Ranks, Stored, grow_exact, keys_of, rank_values

N, P = 20, 2
CODES = np.array([np.arange(N) % 5, np.arange(N) % 4], dtype=np.uint16)
NO_BITS = np.zeros(0, np.uint64)
NUMBERS = GrowthOptions(criterion="squared_error")


def ranks(**others):
    given = {
        "by_column": CODES.copy(),
        "values": np.concatenate([np.arange(5), np.arange(4)]).astype(np.float32),
        "first": np.array([0, 5, 9]),
        "near": NO_BITS,
        "near_at": np.array([-1, -1]),
        **others,
    }
    return Ranks(*given.values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"by_column": CODES.astype(np.int32)},
        {"by_column": CODES + np.uint16(1)},
        {"by_column": CODES[:, ::2]},
        {"by_column": CODES[:1].copy()},
        {"values": np.arange(8, dtype=np.float32)},
        {"values": np.arange(9.0)},
        {"first": np.array([0, 4, 9])},
        {"first": np.array([0, 9])},
        {"near_at": np.array([-1])},
        {"near_at": np.array([-1, 0])},
    ],
)
def test_ranks_refuse_arrays_that_do_not_fit(wrong):
    with pytest.raises(ValueError):
        ranks(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0},
        {"n": 3},
        {"first": np.array([0, 3, 2])},
        {"first": np.array([1, 2, 3])},
        {"first": np.array([0, 3])},
        {"first": np.array([0, 4, 3])},
        {"row": np.array([3, 3, 0], np.int32)},
        {"row": np.array([-1, 3, 0], np.int32)},
        {"row": np.array([1, 3], np.int32)},
        {"value": np.array([2, 1, 1], np.float32)},
        {"value": np.array([1, 2, 0], np.float32)},
        {"value": np.array([1, 2, np.nan], np.float32)},
        {"value": np.array([1, np.inf, 1], np.float32)},
    ],
)
def test_stored_values_refuse_arrays_that_do_not_fit(wrong):
    row, value = np.array([1, 3, 0], np.int32), np.array([1, 2, 1], np.float32)
    given = {"n": 4, "first": np.array([0, 2, 3]), "row": row, "value": value}
    stored = Stored(*given.values())
    assert stored.shape == (4, 2)
    with pytest.raises(ValueError):
        Stored(*{**given, **wrong}.values())
    plan = replace(NUMBERS, max_depth=2)
    fields, _, _ = grow_exact(stored, None, False, np.arange(4.0), None, None, plan, 15, False, 0.0)
    assert fields["n_node_samples"][0] == 4
    with pytest.raises(ValueError):
        grow_exact(stored, row, True, np.arange(3.0), None, None, plan, 15, False, 0.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": np.array([0, 0], np.int32)},
        {"rows": np.array([0, N], np.int32)},
        {"rows": np.zeros(0, np.int32)},
        {"y": np.zeros(N + 1)},
        {"y": None},
        {"codes": np.zeros(N, np.int64)},
        {"weight": np.zeros(N)},
        {"weight": np.full(N, np.inf)},
        {"options": GrowthOptions(criterion="poisson")},
        {"options": GrowthOptions(criterion="gini", n_classes=2)},
        {
            "y": None,
            "codes": np.full(N, 2),
            "options": GrowthOptions(criterion="gini", n_classes=2),
        },
        {"few_keys": 16},
        {"options": replace(NUMBERS, random_splits=True)},
    ],
)
def test_growth_refuses_arrays_that_do_not_fit(wrong):
    given = {
        "rows": None,
        "are_drawn": False,
        "y": np.arange(1.0 * N),
        "codes": None,
        "weight": None,
    }
    given |= {"options": NUMBERS, "few_keys": 15, "natural": False, "least_gap": 0.0}
    grow_exact(ranks(), *given.values())
    with pytest.raises(ValueError):
        grow_exact(ranks(), *{**given, **wrong}.values())


def test_keys_and_room():
    assert Keys(np.zeros((1, 2), np.uint32)).shape == (2, 1)
    with pytest.raises(ValueError):
        Keys(np.zeros((1, 0), np.uint32))
    with pytest.raises(ValueError):
        keys_of(np.zeros(3, np.float32), np.zeros(2, np.uint32))
    with pytest.raises(ValueError):
        rank_values(
            np.zeros(3, np.float32),
            np.zeros(3, np.int32),
            np.zeros(3, np.float32),
            np.zeros(9, np.uint8),
        )
