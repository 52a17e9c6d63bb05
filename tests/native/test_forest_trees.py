"""The growth of forest trees refuses arrays that do not fit (tests/trees has the trees)."""

from dataclasses import replace

import numpy as np
import pytest

from ..trees.engine import GrowthOptions
from .loops import grow_tree

NUMBERS = GrowthOptions(criterion="squared_error")
CLASSES = GrowthOptions(criterion="gini", n_classes=3)
N, P, MISSING = 100, 3, 255


def arguments(**others):
    codes = np.random.default_rng(0).integers(0, 9, (P, N)).astype(np.uint16)
    return {
        "by_column": codes,
        "by_row": np.ascontiguousarray(codes.T),
        "missing": MISSING,
        "n_bins": 9,
        "rows": None,
        "target": codes[0] * 1.0,
        "classes": None,
        "weight": None,
        "options": NUMBERS,
        **others,
    }


def of_classes(**others):
    return arguments(**{"target": None, "classes": np.arange(N) % 3, "options": CLASSES, **others})


def grown(arguments):
    return grow_tree(**arguments)


WRONG_CODES = np.full((P, N), MISSING + 1, np.uint16)


@pytest.mark.parametrize(
    "wrong",
    [
        arguments(by_column=np.zeros((P, N))),
        arguments(by_column=np.zeros((N, P), np.uint16).T),
        arguments(by_column=np.zeros((P, N + 1), np.uint16)),
        arguments(by_column=WRONG_CODES),
        arguments(by_row=np.zeros((P, N), np.uint16)),
        arguments(by_column=np.zeros((0, N), np.uint16), by_row=np.zeros((N, 0), np.uint16)),
        arguments(categorical=np.zeros(P + 1, np.uint8)),
        arguments(
            by_column=np.full((P, N), 255, np.uint16),
            missing=300,
            n_bins=256,
            categorical=np.ones(P, np.uint8),
        ),
        arguments(n_bins=0),
        arguments(n_bins=MISSING + 1),
        arguments(missing=2**16),
        arguments(rows=np.zeros(N, int)),
        arguments(rows=np.full(N, N, np.int32)),
        arguments(rows=np.full(N, -1, np.int32)),
        arguments(rows=np.zeros(0, np.int32), target=np.zeros(0)),
        arguments(target=np.zeros(N - 1)),
        arguments(target=np.zeros(N, np.float32)),
        arguments(target=None),
        arguments(classes=np.zeros(N, int)),
        arguments(weight=np.ones(N + 1)),
        arguments(weight=np.zeros(N)),
        arguments(weight=np.full(N, np.nan)),
        arguments(options=replace(NUMBERS, monotonic_cst=np.zeros(P + 1, np.int8))),
        arguments(options=replace(NUMBERS, min_samples_leaf=0)),
        arguments(options=replace(NUMBERS, max_depth=-1)),
        arguments(options=replace(NUMBERS, criterion="gini")),
        arguments(options=replace(NUMBERS, criterion="friedman_mse")),
        of_classes(classes=np.arange(N)),
        of_classes(classes=np.full(N, -1)),
        of_classes(classes=None),
        of_classes(target=np.zeros(N)),
        of_classes(options=replace(CLASSES, criterion="poisson")),
        of_classes(options=replace(CLASSES, monotonic_cst=np.zeros(P, np.int8))),
    ],
)
def test_arrays_that_do_not_fit(wrong):
    with pytest.raises(ValueError):
        grown(wrong)


def test_a_tree():
    tree = grown(arguments())
    inner = tree["left"] >= 0
    assert inner.sum() == 8
    assert (tree["feature"][inner] == 0).all()
    assert (tree["impurity"][~inner] == 0).all()
    np.testing.assert_array_equal(np.sort(tree["value"][~inner, 0]), np.arange(9.0))
    assert tree["n_rows"][0] == tree["weight"][0] == N


def test_nothing_is_written_and_the_result_owns_its_memory():
    given = of_classes(rows=np.arange(0, N, 2, dtype=np.int32), classes=np.arange(N // 2) % 3)
    for array in given.values():
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    tree = grown(given)
    assert len({len(field) for name, field in tree.items() if name != "depth"}) == 1
    assert all(field.flags.owndata for name, field in tree.items() if name != "depth")


@pytest.mark.parametrize(
    "options",
    [
        NUMBERS,
        replace(NUMBERS, max_leaf_nodes=7),
        replace(NUMBERS, max_features=1),
        replace(NUMBERS, random_splits=True),
        GrowthOptions(criterion="log_loss", n_classes=5),
        GrowthOptions(criterion="gini", n_classes=1),
    ],
)
@pytest.mark.parametrize("n", [1, 2, 50, 3000])
def test_codes_up_to_the_largest(options, n):
    """Every code of two bytes, missing values among them."""
    rng = np.random.default_rng(n)
    codes = rng.integers(0, 2**16, (P, n)).astype(np.uint16)
    codes[rng.random(codes.shape) < 0.1] = 2**16 - 1
    some = of_classes if options.n_classes else arguments
    target = {"classes": rng.integers(0, options.n_classes, n)} if options.n_classes else {}
    if not options.n_classes:
        target = {"target": rng.normal(size=n)}
    tree = grown(
        some(
            by_column=codes,
            by_row=np.ascontiguousarray(codes.T),
            missing=2**16 - 1,
            n_bins=2**16 - 1,
            options=options,
            **target,
        )
    )
    leaf = tree["left"] < 0
    assert tree["n_rows"][leaf].sum() == n
    assert len(leaf) == 2 * leaf.sum() - 1
