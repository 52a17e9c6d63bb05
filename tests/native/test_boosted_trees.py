"""The growth of boosted trees refuses arrays that do not fit (tests/trees has the trees)."""

import signal

import numpy as np
import pytest

from ..trees.engine import GrowthOptions, WeightUnits, weight_units
from .loops import BoostedTrees, Loss

OPTIONS = GrowthOptions(criterion="squared_error", max_depth=2)
N, P = 50, 3


def columns(**others):
    codes = np.random.default_rng(0).integers(0, 9, (P, N)).astype(np.uint8)
    return {
        "codes": codes,
        "n_bins": np.full(P, 9),
        "options": OPTIONS,
        "n_threads": 2,
        **others,
    }


def rows(**others):
    return {
        "gradient": np.arange(N) / N,
        "weight": None,
        "rows": None,
        "rank": None,
        "options": OPTIONS,
        "units": weight_units(None, N, OPTIONS),
        **others,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"codes": np.zeros((P, N))},
        {"codes": np.zeros((N, P), np.uint8).T},
        {"codes": np.zeros((P, 0), np.uint8)},
        {"codes": np.zeros((0, N), np.uint8), "n_bins": np.zeros(0, int)},
        {"n_bins": np.full(P + 1, 9)},
        {"n_bins": np.full(P, 256)},
        {"n_bins": np.zeros(P, int)},
        {"categorical": np.zeros(P + 1, np.uint8)},
        {"options": GrowthOptions(criterion="squared_error", monotonic_cst=np.zeros(P + 1))},
    ],
)
def test_columns_that_do_not_fit(wrong):
    with pytest.raises(ValueError):
        BoostedTrees(**columns(**wrong))


def test_more_leaves_than_a_leaf_number_holds():
    codes = np.zeros((1, 2**16), np.uint8)
    with pytest.raises(ValueError):
        BoostedTrees(codes, np.ones(1, int), GrowthOptions(criterion="squared_error"), 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"gradient": np.zeros(N - 1)},
        {"gradient": np.zeros(N, np.float32)},
        {"gradient": np.zeros(2 * N)[::2]},
        {"weight": np.ones(N + 1)},
        {"rows": np.zeros(0, int)},
        {"rows": np.array([-1, 3])},
        {"rows": np.array([3, N])},
        {"rows": np.array([3, 3])},
        {"rows": np.array([4, 3, 5])},
        {"rank": np.arange(P + 1)},
        {"options": GrowthOptions(criterion="squared_error", max_depth=3)},
        {"options": GrowthOptions(criterion="squared_error", max_leaf_nodes=5)},
        {"units": WeightUnits(False, 6, 1.0, N)},  # without weights
        {"units": WeightUnits(True, 0, 1.0, N)},
        {"units": WeightUnits(True, 62, 1.0, N)},
    ],
)
def test_rows_that_do_not_fit(wrong):
    trees = BoostedTrees(**columns())
    fields, leaf = trees.grow(**rows())
    with pytest.raises(ValueError):
        trees.grow(**rows(**wrong))
    again, same = trees.grow(**rows())  # the next tree is grown as if nothing had been
    np.testing.assert_array_equal(leaf, same)
    for name, field in fields.items():
        np.testing.assert_array_equal(field, again[name])


def rounds(**others):
    y = np.arange(N) / N
    return {
        "loss": Loss("logistic"),
        "y": np.where(y > 0.4, 1.0, -1.0),
        "loss_weight": np.full(1, 1 / N),
        "scores": np.zeros(N),
        "target": np.where(y > 0.4, 0.5, -0.5),
        "weight": None,
        "rank": np.tile(np.arange(P), (4, 1, 1)),
        "length": 0.5,
        "rate": 0.5,
        "longest": 5.0,
        "stop_at": 1e100,
        "reoptimises": True,
        "options": OPTIONS,
        "units": weight_units(None, N, OPTIONS),
        **others,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"y": np.ones(N - 1)},
        {"y": np.ones(N, int)},
        {"loss_weight": np.ones(N + 1)},
        {"loss_weight": np.ones(0)},
        {"scores": np.zeros(N - 1)},
        {"target": np.zeros(2 * N)},
        {"weight": np.ones(N + 1)},
        {"rank": np.zeros((0, 1, P), int)},
        {"rank": np.zeros((4, 0, P), int)},
        {"rank": np.zeros((4, 1, P + 1), int)},
        {"rank": np.zeros((4, 2, P), int)},
        {"rank": np.zeros((4, 2, P), int), "scores": np.zeros(2 * N), "target": np.zeros(2 * N)},
        {"options": GrowthOptions(criterion="squared_error", max_depth=3)},
        {"units": WeightUnits(False, 6, 1.0, N)},
    ],
)
def test_rounds_that_do_not_fit(wrong):
    trees = BoostedTrees(**columns())
    fields, sizes, risks, _ = trees.boost(**rounds())
    assert len(risks) == len(sizes) == 4
    assert (np.diff(risks) < 0).all()
    with pytest.raises(ValueError):
        trees.boost(**rounds(**wrong))
    again, _, same, _ = trees.boost(**rounds())
    assert risks == same
    np.testing.assert_array_equal(fields["value"], again["value"])
    first = trees.boost(**rounds(stop_at=0.0))
    assert first[2] == risks[:1]
    assert len(first[0]["left"]) == sizes[0][0]


def test_rounds_of_classes_check_the_codes():
    y = np.arange(N) % 3
    given = {"scores": np.zeros(3 * N), "target": np.ones(3 * N), "loss": Loss("multinomial")}
    given["rank"] = np.zeros((2, 3, P), int)
    _, sizes, _, leaf = BoostedTrees(**columns()).boost(**rounds(**given, y=y))
    assert len(sizes) == 6
    assert leaf.shape == (3, N)
    for wrong in (y + 1, y - 1):
        with pytest.raises(ValueError):
            BoostedTrees(**columns()).boost(**rounds(**given, y=wrong))


def test_no_array_is_missing():
    with pytest.raises(TypeError):
        BoostedTrees(**columns(codes=None))
    with pytest.raises(TypeError):
        BoostedTrees(**columns()).grow(**rows(gradient=None))
    for name in ("loss", "y", "loss_weight", "scores", "target", "rank"):
        with pytest.raises((TypeError, ValueError)):
            BoostedTrees(**columns()).boost(**rounds(**{name: None}))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer")
def test_an_interrupted_tree_leaves_nothing_behind():
    trees = BoostedTrees(**columns())
    trees.least_shared = trees.checked = 0  # looked at before every cut
    fields, leaf = trees.grow(**rows())
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for _ in range(20):
            with pytest.raises(KeyboardInterrupt):  # noqa: PT012
                signal.setitimer(signal.ITIMER_REAL, 1e-3)
                while True:
                    trees.grow(**rows())
            again, same = trees.grow(**rows())
            np.testing.assert_array_equal(leaf, same)
            np.testing.assert_array_equal(fields["value"], again["value"])
    finally:
        signal.signal(signal.SIGALRM, before)
