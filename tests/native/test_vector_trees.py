"""The compiled sums of vectors refuse arrays that do not fit (tests/trees compares the trees)."""

import numpy as np
import pytest

from sklearn_ensemble_theory.trees._vector_growth import CutRules

from ..routes import uses_native

pytestmark = pytest.mark.skipif(not uses_native(), reason="nothing is compiled")

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
    from sklearn_ensemble_theory._native.vector_trees import count_vectors

    given = {"table": np.empty((P, BINS, D)), **of_rows(), **others}
    count_vectors(**given)
    return given["table"]


def search(**others):
    from sklearn_ensemble_theory._native.vector_trees import best_cuts

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
