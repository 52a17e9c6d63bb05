"""The loops of additive models against their definitions; arrays that do not fit."""

import numpy as np
import pytest

from sklearn_ensemble_theory.boosting._additive import rounds
from sklearn_ensemble_theory.boosting._additive.risk import SquaredError
from sklearn_ensemble_theory.boosting._additive.rounds import BinnedRows, TableStumps
from sklearn_ensemble_theory.boosting._additive.sums import CutLayout

from . import reference_additive as reference
from .loops import (
    RowResiduals,
    TableResiduals,
    add_entries,
    add_pair_tables,
    add_stump_sums,
    add_tables,
    additive,
    boost_stumps,
    change_of_squares,
    count_cut,
    cumulate_tables,
    largest_gains,
    scale_cut_products,
    smooth,
    subtract_cells,
    sum_cells,
    tabulate_cuts,
)

N, N_BINS = 40_000, np.array([3, 1, 5, 40, 2, 7])  # several blocks of rows; columns by fours


def rows(dtype=np.uint8, n=N):
    rng = np.random.default_rng(0)
    codes = np.array([rng.integers(b, size=n) for b in N_BINS]).astype(dtype)
    return codes, rng.standard_normal(n), rng.exponential(size=n), rng.integers(3, size=n)


def refused(function, arguments, wrongs):
    function(**arguments)
    for wrong in wrongs:
        with pytest.raises((ValueError, TypeError)):
            function(**{**arguments, **wrong})


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
def test_tables_of_two_columns(kind, dtype):
    codes, _, weight, folds = rows(dtype)
    first, others = folds.astype(np.uint32), np.array([3, 0, 1])
    found = np.ones(3 * N_BINS[others].sum(), kind)
    weight = weight if kind == np.float64 else None
    expected = found.copy()
    add_tables(first, 3, codes, others, N_BINS, weight, found)
    reference.add_tables(first, 3, codes, others, N_BINS, weight, expected)
    np.testing.assert_array_equal(found, expected)


def test_tables_that_do_not_fit():
    codes, _, weight, folds = rows(n=30)
    arguments = {
        "first": folds.astype(np.uint32),
        "n_first": 3,
        "codes": codes,
        "others": np.array([0, 3]),
        "n_bins": N_BINS,
        "weight": weight,
        "tables": np.zeros(129),
    }
    wrongs = [
        {"n_first": 2},
        {"n_first": 0},
        {"n_first": -1},
        {"codes": codes + 1},
        {"codes": codes[:, :29]},
        {"codes": np.asfortranarray(codes)},
        {"codes": codes.astype(np.int64)},
        {"others": np.array([0, 6])},
        {"others": np.array([0, -3])},
        {"n_bins": N_BINS[:4]},
        {"n_bins": -N_BINS},
        {"weight": weight[:29]},
        {"tables": np.zeros(128)},
        {"tables": np.zeros(130)},
        {"tables": np.zeros(129, np.int64)},
    ]
    refused(add_tables, arguments, wrongs)


def sums_of_stumps(kind, folded):
    """Arrays for `add_stump_sums`, with something in them."""
    used, n_folds = N_BINS[N_BINS > 1], 3 if folded else 1
    n_pairs = (used.sum() ** 2 - (used**2).sum()) // 2
    moments, targets = np.full((3, n_folds), 2.0), np.ones(n_folds * used.sum())
    return {"moments": moments, "targets": targets, "tables": np.ones(n_folds * n_pairs, kind)}


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
def test_sums_of_stumps(kind, folded, dtype):
    codes, y, weight, folds = rows(dtype)
    fold = folds.astype(np.uint32) if folded else None
    given = codes, N_BINS, y, weight if kind == np.float64 else None, fold
    found, expected = sums_of_stumps(kind, folded), sums_of_stumps(kind, folded)
    add_stump_sums(*given, **found)
    reference.add_stump_sums(*given, **expected)
    for name, sums in found.items():
        np.testing.assert_array_equal(sums, expected[name], err_msg=name)


def test_no_rows_and_no_columns_add_nothing():
    """The sanitized build refuses the address of what an empty array does not have."""
    codes, y, _, folds = rows(n=0)
    found = sums_of_stumps(np.int32, True)
    add_stump_sums(codes, N_BINS, y, None, folds.astype(np.uint32), **found)
    assert all((sums == sums.ravel()[0]).all() for sums in found.values())
    first, none, n_bins = np.zeros(0, np.uint32), np.empty(0, np.intp), np.ones(2, np.intp)
    add_tables(first, 3, codes, np.array([1]), N_BINS, None, table := np.zeros(3, np.int32))
    assert not table.any()
    codes, y, *_ = rows(n=30)
    add_tables(np.ones(30, np.uint32), 3, codes, none, N_BINS, None, np.zeros(0))
    moments = np.zeros((3, 1))
    add_stump_sums(codes[1:2], n_bins[:1], y, None, None, moments, np.zeros(0), np.zeros(0))
    np.testing.assert_allclose(moments[:, 0], [30, y.sum(), y @ y])
    sums = np.zeros((1, 2, 0))
    cumulate_tables(np.ones(4), 2, True, np.arange(2), np.zeros(3, np.intp), n_bins == 0, sums)


def test_sums_of_stumps_that_do_not_fit():
    codes, y, weight, folds = rows(n=30)
    used = N_BINS[N_BINS > 1]
    n_pairs = (used.sum() ** 2 - (used**2).sum()) // 2
    arguments = {
        "codes": codes,
        "n_bins": N_BINS,
        "y": y,
        "weight": weight,
        "fold": folds.astype(np.uint32),
        "moments": np.zeros((3, 3)),
        "targets": np.zeros(3 * used.sum()),
        "tables": np.zeros(3 * n_pairs),
    }
    wrongs = [
        {"fold": None},
        {"fold": folds[:29].astype(np.uint32)},
        {"fold": folds.astype(np.uint32) + 1},
        {"moments": np.zeros((2, 3))},
        {"moments": np.zeros((3, 2))},
        {"moments": np.zeros((3, 0))},
        {"codes": codes + 1},
        {"codes": codes[:5]},
        {"y": y[:29]},
        {"weight": weight[:29]},
        {"targets": np.zeros(3 * used.sum() - 1)},
        {"tables": np.zeros(3 * n_pairs + 1)},
        {"tables": np.zeros(3 * n_pairs, np.int32)},
    ]
    refused(add_stump_sums, arguments, wrongs)


# --- cuts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["thresholds", "categories", "one"])
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64])
def test_tables_cumulated_over_cuts(kind, rows):
    rng = np.random.default_rng(0)
    n_rows, n_kept = (1, 1) if rows == "one" else (5, 4)
    offsets, others = np.concatenate([[0], np.cumsum(N_BINS - 1)]), np.array([3, 0, 1, 5])
    numbers = rng.integers(1000, size=3 * n_rows * N_BINS[others].sum())
    arguments = {
        "tables": (numbers * (0.1 if kind == np.float64 else 1)).astype(kind),
        "n_rows": n_rows,
        "cumulate_rows": rows == "thresholds",
        "others": others,
        "offsets": offsets,
        "categorical": np.arange(6) == 5,
        "sums": np.full((3, n_kept, offsets[-1]), -1.0),
    }
    expected = arguments["sums"].copy()
    cumulate_tables(**arguments)
    reference.cumulate_tables(**{**arguments, "sums": expected})
    np.testing.assert_allclose(arguments["sums"], expected, rtol=1e-13)
    left = np.isin(np.repeat(np.arange(6), N_BINS - 1), others)
    assert ((expected == -1) == ~left).all()  # the cuts of other columns stay
    nothing = {"tables": np.zeros(0, kind), "others": others[:0]}
    cumulate_tables(**{**arguments, **nothing})
    wrongs = [
        {"tables": arguments["tables"][:-1]},
        {"tables": arguments["tables"].astype(np.float32)},
        {"n_rows": n_rows + 1},
        {"n_rows": 0},
        {"n_rows": -1},
        {"n_rows": 2**62},
        {"others": np.array([3, 0, 1, 6])},
        {"others": np.array([3, 0, 1, -1])},
        {"offsets": offsets[:-1]},
        {"offsets": offsets + 1},
        {"offsets": -offsets},
        {"categorical": np.zeros(5, bool)},
        {"sums": np.zeros((2, n_kept, offsets[-1]))},
        {"sums": np.zeros((3, n_rows + 1, offsets[-1]))},
        {"sums": np.zeros((3, n_kept, offsets[-1] - 1))},
    ]
    refused(cumulate_tables, arguments, wrongs)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_products_of_one_cut(grouped, weighted, dtype):
    codes, _, weight, folds = rows(dtype, n=700)
    offsets = np.concatenate([[0], np.cumsum(N_BINS - 1)])
    arguments = {
        "codes": codes,
        "column": 3,
        "code": 17,
        "group": folds.astype(np.uint16) if grouped else None,
        "weight": weight if weighted else None,
        "offsets": offsets,
        "categorical": np.arange(6) >= 4,
    }
    size = 3 if grouped else 1, offsets[-1]
    for column, code in ((0, 1), (2, 0), (3, 0), (3, 17), (3, 38), (4, 0), (5, 0), (5, 5)):
        arguments.update(column=column, code=code)
        expected, found = np.full(size, np.nan), np.full(size, np.nan)
        reference.count_cut(**arguments, left_weight=None, sums=expected)
        own = slice(offsets[column], offsets[column + 1])
        left_weight = np.full(size, np.nan)
        for b in range(own.stop - own.start):  # the weight left of both of a cut and itself
            both = np.empty(size)
            reference.count_cut(**{**arguments, "code": b}, left_weight=None, sums=both)
            left_weight[:, own.start + b] = both[:, own.start + b]
        count_cut(**arguments, left_weight=left_weight, sums=found)
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    arguments.update(left_weight=np.ones(size), sums=found)
    count_cut(**arguments)
    none = {**arguments, "codes": codes[:, :0].copy()}
    none.update(group=none["group"] if none["group"] is None else none["group"][:0], weight=None)
    count_cut(**none)
    own = slice(offsets[5], offsets[6])
    assert not np.delete(found, np.r_[own], axis=1).any()
    wrongs = [
        {"codes": codes + dtype(1)},
        {"codes": codes[:5]},
        {"codes": np.asfortranarray(codes)},
        {"column": 6},
        {"column": -1},
        {"column": 1},  # which has no cut
        {"code": 6},
        {"code": -1},
        {"group": folds[:699].astype(np.uint16)},
        {"group": folds.astype(np.uint16) + np.uint16(1)},
        {"weight": weight[:699]},
        {"offsets": offsets + 1},
        {"offsets": offsets[::-1].copy()},
        {"offsets": offsets[:6].copy()},
        {"categorical": np.zeros(5, bool)},
        {"left_weight": np.ones((size[0], size[1] - 1))},
        {"left_weight": np.ones((size[0] + 1, size[1]))},
        {"sums": np.ones((size[0], size[1] + 1))},
        {"sums": np.ones((0, size[1])), "left_weight": np.ones((0, size[1]))},
    ]
    if grouped:
        wrongs.append({"group": None})
    refused(count_cut, arguments, wrongs)


@pytest.mark.parametrize("held", [False, True])
def test_scaled_products_of_cuts(held):
    rng = np.random.default_rng(0)
    u, w = (rng.random((60, 11)) < 0.4).astype(float), rng.exponential(size=60)
    train = rng.random(60) < 0.7 if held else np.ones(60, bool)
    scale, own = rng.random(11), slice(5, 9)
    left, held_left = w[train] @ u[train], w[~train] @ u[~train]
    total = np.ascontiguousarray((u.T * w) @ u)[own]
    of_held = np.ascontiguousarray((u[~train].T * w[~train]) @ u[~train])[own]
    arguments = {
        "total": total,
        "held": of_held if held else None,
        "weight": w[train].sum(),
        "held_weight": w[~train].sum(),
        "left": left,
        "scale": scale,
        "held_left": held_left if held else None,
        "first": own.start,
        "out": np.zeros((4, 22 if held else 11)),
    }
    scale_cut_products(**arguments)
    z = scale * (u - left / w[train].sum())
    for part, found in zip((train, ~train), np.split(arguments["out"], 1 + held, axis=1)):
        expected = (z[part, own].T * w[part]) @ z[part]
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    wrongs = [
        {"total": total[:, :10]},
        {"held": of_held[:3]},
        {"left": left[:10].copy()},
        {"scale": scale[:10].copy()},
        {"first": -1},
        {"first": 8},
        {"out": np.zeros((4, 12))},
    ]
    if held:
        wrongs += [{"held": None}, {"held_left": None}, {"held_left": held_left[:10].copy()}]
    refused(scale_cut_products, arguments, wrongs)


def columns(seed=0):
    """Arrays of all cuts, for columns of every kind: a few cuts are used by no row."""
    rng = np.random.default_rng(seed)
    n_cuts = (N_BINS - 1).sum()
    categorical, missing = np.arange(6) >= 4, np.isin(np.arange(6), [2, 3, 5])
    offsets = np.concatenate([[0], np.cumsum(N_BINS - 1)])
    kind = np.repeat(missing & ~categorical, N_BINS - 1)
    kind[offsets[3:5] - 1] = False
    return {
        "scale": rng.random(n_cuts) * (rng.random(n_cuts) < 0.9),
        "share": np.where(kind, 0.0, rng.random(n_cuts)),
        "valid_share": np.where(kind, rng.random(n_cuts), 0.0),
        "offsets": offsets,
        "categorical": categorical,
        "missing": missing,
    }


WRONG_COLUMNS = [
    {"scale": np.ones(51)},
    {"share": np.ones(51)},
    {"valid_share": np.ones(51)},
    {"offsets": columns()["offsets"][::-1].copy()},
    {"offsets": columns()["offsets"] + 1},
    {"offsets": columns()["offsets"][:6].copy()},
    {"categorical": np.zeros(5, bool)},
    {"missing": np.zeros(5, bool)},
]


def test_tables_of_cuts():
    found, expected = np.full((2, 58), np.nan)
    coefficients = np.random.default_rng(1).standard_normal(52)
    coefficients[2:6] = 0.0  # a column of which none is used
    tabulate_cuts(coefficients, **columns(), tables=found)
    reference.tabulate_cuts(coefficients, **columns(), tables=expected)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    wrongs = [*WRONG_COLUMNS, {"coefficients": np.ones(51)}, {"tables": np.zeros(57)}]
    arguments = {"coefficients": coefficients, **columns(), "tables": found}
    refused(tabulate_cuts, arguments, wrongs)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("used", [[], [3], [5, 0], [0, 1, 2, 3, 5]])
def test_entries_of_rows(used, dtype):
    codes, values, *_ = rows(dtype, n=700)
    starts, used = np.concatenate([[0], np.cumsum(N_BINS)]), np.array(used, np.intp)
    tables = np.random.default_rng(1).standard_normal(58)
    scores = np.column_stack([values, values])
    arguments = {"codes": codes, "tables": tables, "starts": starts, "used": used}
    add_entries(**arguments, values=scores[:, 1])
    expected = values.copy()
    for j in used:
        expected += tables[starts[j] + codes[j]]
    np.testing.assert_array_equal(scores, np.column_stack([values, expected]))
    nothing = {**arguments, "codes": codes[:, :0].copy(), "values": np.zeros(0)}
    add_entries(**nothing)
    arguments["values"] = values
    wrongs = [
        {"codes": codes[:, :699]},
        {"codes": np.asfortranarray(codes)},
        {"codes": codes[:5]},
        {"starts": starts[:6]},
        {"values": values[:699]},
        {"used": np.array([0, 6])},
        {"used": np.array([-1])},
    ]
    if len(used):
        wrongs += [
            {"codes": codes + dtype(1)},
            {"tables": tables[:3].copy()},
            {"starts": -starts},
            {"starts": starts[::-1].copy()},
        ]
    refused(add_entries, arguments, wrongs)


# --- rounds ---------------------------------------------------------------------------------------


def residuals(grouped, dtype=np.uint8, tie=0.0):
    """The arguments of `RowResiduals`, and the columns at the rows."""
    codes, residual, weight, folds = rows(dtype, n=500)
    is_held = (grouped & (folds == 1)).astype(np.uint8)
    residual -= np.average(residual, weights=weight * (is_held == 0))
    of_columns, train = columns(), weight * (is_held == 0)
    # Columns of mean 0 and length 1 over the training rows, some of them 0.
    ones, zeros = np.ones(52), np.zeros(52)
    rest = [of_columns[name] for name in ("offsets", "categorical", "missing")]
    sums = train @ reference.columns_of_cuts(codes, ones, zeros, zeros, *rest)
    last = np.repeat(of_columns["offsets"][1:] - 1, N_BINS - 1)
    is_shared = of_columns["valid_share"] > 0
    of_columns["valid_share"] = np.where(is_shared, sums / sums[last], 0.0)
    of_columns["share"] = np.where(is_shared, 0.0, sums / train.sum())
    shares = of_columns["share"], of_columns["valid_share"]
    length = np.sqrt(train @ reference.columns_of_cuts(codes, ones, *shares, *rest) ** 2)
    of_columns["scale"] = (of_columns["scale"] > 0) / length
    arguments = {
        "values": np.full(52 * (1 + grouped), np.nan),
        "codes": codes,
        "residual": residual,
        "weight": weight,
        "is_held": is_held,
        "preference": 1 - tie * np.arange(52),
        **of_columns,
    }
    return arguments, reference.columns_of_cuts(codes, **of_columns)


def candidates(factor=1.0):
    rng, offsets = np.random.default_rng(3), columns()["offsets"]
    # columns by thresholds, two single cuts, categories
    starts = np.array([offsets[0], offsets[2], offsets[3], 3, 30, offsets[4], offsets[5]])
    features = np.array([0, 2, 3, 2, 3, 4, 5])
    widths = np.array([2, 3, 38, 1, 1, 1, 6])
    return {
        "starts": starts,
        "features": features,
        "offsets": np.concatenate([[0], np.cumsum(widths)]),
        "gain": rng.random(widths.sum()) / np.repeat(widths, widths),
        "rate": factor * rng.random(widths.sum()) / np.repeat(widths, widths),
        "floor": 1e-10,
    }


def results(n_rounds):
    return {
        "chosen": np.full(n_rounds, -1, np.int32),
        "steps": np.zeros(38 * n_rounds),
        "falls": np.zeros(n_rounds),
        "held": np.zeros(n_rounds),
        "coefficients": np.zeros(52),
    }


@pytest.mark.parametrize("kind", ["rows", "codes of 16 bits", "table"])
@pytest.mark.parametrize("grouped", [False, True])
def test_smoothing_rounds(grouped, kind):
    dtype = np.uint16 if kind == "codes of 16 bits" else np.uint8
    given, at_rows = residuals(grouped, dtype)
    names = "residual", "weight", "is_held", "preference"
    plain = reference.Residuals(at_rows, *(given[name] for name in names))
    if kind == "table":
        given["values"][:] = plain.values
        products = [(at_rows[own].T * given["weight"][own]) @ at_rows[own] for own in plain.groups]
        products[0] = products[0] * given["preference"]
        products, offsets = np.concatenate(products, axis=1), given["offsets"]
        found = TableResiduals(
            given["values"],
            offsets,
            lambda k: products[k],
            lambda j: products[offsets[j] : offsets[j + 1]],
        )
    else:
        for tie in (0.01, 0.0):
            given, _ = residuals(grouped, dtype, tie)
            plain.preference = given["preference"]
            found = RowResiduals(**given)
            np.testing.assert_allclose(given["values"], plain.values, atol=1e-10)
    one, other = results(60), results(60)
    assert smooth(found, **candidates(), **one) == 60
    assert reference.smooth(plain, **candidates(), **other) == 60
    for name, expected in other.items():
        np.testing.assert_allclose(one[name], expected, atol=1e-9, err_msg=name)
    kinds = {"ordered": {0, 1, 2}, "single": {3, 4, 5}, "categories": {6}}
    assert all(own & set(one["chosen"]) for own in kinds.values())
    np.testing.assert_allclose(given["values"], plain.values, atol=1e-9)
    # Nothing is above the floor; no room for a round.
    before = given["values"].copy()
    assert smooth(found, **{**candidates(), "floor": 1e9}, **results(3)) == 0
    assert smooth(found, **candidates(), **results(0)) == 0
    np.testing.assert_array_equal(given["values"], before)


def test_smoothing_that_does_not_fit():
    given, _ = residuals(True)
    wrongs = [
        *WRONG_COLUMNS,
        {"values": np.ones(51)},
        {"values": np.ones(52)},  # held-out rows without values
        {"codes": given["codes"] + np.uint8(1)},
        {"codes": given["codes"][:, :499]},
        {"codes": given["codes"][:5]},
        {"codes": np.asfortranarray(given["codes"])},
        {"residual": given["residual"][:499]},
        {"weight": given["weight"][:499]},
        {"is_held": given["is_held"][:499]},
        {"is_held": 2 * given["is_held"]},
        {"preference": np.ones(51)},
    ]
    refused(RowResiduals, given, wrongs)
    found = RowResiduals(**given)
    arguments = {"residuals": found, **candidates(), **results(3)}
    starts = arguments["starts"]
    wrongs = [
        {"residuals": None},
        {"starts": starts[:6]},
        {"starts": starts + 1},
        {"starts": starts - 1},
        {"features": np.array([0, 2, 3, 2, 3, 4, 6])},
        {"features": np.array([-1, 2, 3, 2, 3, 4, 5])},
        {"offsets": arguments["offsets"][:7]},
        {"offsets": arguments["offsets"][::-1].copy()},
        {"gain": np.ones(51)},
        {"rate": np.ones(51)},
        {"steps": np.zeros(3 * 38 - 1)},
        {"falls": np.zeros(2)},
        {"held": np.zeros(4)},
        {"coefficients": np.zeros(51)},
    ]
    refused(smooth, arguments, wrongs)
    rows = np.zeros((51, 52))
    arguments.update(residuals=TableResiduals(np.ones(52), given["offsets"], *[lambda k: rows] * 2))
    with pytest.raises(ValueError, match="fit together"):
        smooth(**arguments)


def rounds_of_stumps(with_sets):
    rng = np.random.default_rng(0)
    codes = np.asfortranarray(rng.integers(0, [9, 70, 6, 3], (300, 4)).astype(np.uint8))
    layout = CutLayout([9, 70, 6, 3], categorical=[False, False, with_sets, with_sets])
    y, folds = rng.standard_normal(300) + codes[:, 1] / 30, rng.integers(3, size=300)
    rows = BinnedRows(codes, layout, y, None, folds, 3)
    risk = SquaredError.of_rows(rows, 1024)
    state = risk.open(risk.start()).states[2][0]
    signs = np.array([-1, 0, 0, 0]) if with_sets else None
    return TableStumps(state, 0.3, signs, row_weight=0.25)


@pytest.mark.parametrize("with_sets", [False, True])
def test_stumps_are_the_best_of_all(with_sets, monkeypatch):
    found, expected = rounds_of_stumps(with_sets), rounds_of_stumps(with_sets)
    found.run(150)
    monkeypatch.setattr(rounds, "boost_stumps", reference.boost_stumps)
    expected.run(150)
    for name in ("chosen", "steps", "held"):
        one, other = getattr(found.path, name), getattr(expected.path, name)
        np.testing.assert_allclose(one, other, rtol=1e-9, err_msg=name)
    assert len(found.path.sets) == len(expected.path.sets)
    assert len(found.path.sets) > 2 or not with_sets


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n", [5, 64, 65, 200])
def test_the_first_of_the_largest_products(n, signed):
    """Of equal sizes; what is not a number is none."""
    signs = np.array([np.ones(n), -np.ones(n)]) if signed else None
    for special, expected in (
        ({1: -3.0, n - 1: 3.0}, 1),
        ({0: np.nan, 2: 3.0, 3: -np.nan}, 2),
        ({1: 5.0, 3: -np.inf, n - 1: np.inf}, 3),
        ({n - 1: 2.5}, n - 1),
    ):
        values, chosen = np.linspace(-1, 1, n), np.empty(1, np.int32)
        values[list(special)] = list(special.values())
        rows = [np.zeros(n)] * n
        given = values, rows, None, np.full(n + 1, 0.5), signs, None, 0.0
        steps = np.empty(1)
        assert boost_stumps(*given, chosen, steps, np.empty(1)) == 1
        assert chosen[0] == expected
        assert steps[0] == 0.5 * special[expected]
    values = np.zeros(n)
    given = values, rows, None, np.full(n + 1, 0.5), signs, None, 0.0
    assert boost_stumps(*given, chosen, steps, np.empty(1)) == 0


def test_stumps_that_do_not_fit():
    rows = np.random.default_rng(0).standard_normal((5, 10))
    sets = rounds_of_stumps(True).sets
    arguments = {
        "values": np.ones(10),
        "views": [None] * 5,
        "rows": lambda k: rows[k],
        "rate": np.full(6, 0.1),
        "signs": np.ones((2, 5)),
        "sets": None,
        "floor": 0.0,
        "chosen": np.zeros(4, np.int32),
        "steps": np.zeros(4),
        "held": np.zeros(4),
    }
    wrongs = [
        {"values": np.ones(9)},
        {"values": np.ones(20)},
        {"rows": lambda k: rows[k, :9]},
        {"rows": lambda k: rows[k, ::2]},
        {"views": [None] * 4},
        {"views": list(rows[:, :9].copy())},
        {"views": None},
        {"rate": np.ones(5)},
        {"rate": np.ones(1)},
        {"signs": np.ones((1, 5))},
        {"signs": np.ones((2, 4))},
        {"sets": sets},  # of cuts that there are not
        {"steps": np.zeros(3)},
        {"held": np.zeros(3)},
    ]
    refused(boost_stumps, arguments, wrongs)


# --- pairs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_tables_of_pairs(dtype):
    codes, *values, _ = rows(dtype)
    values = [*values, values[0] * values[1]]
    n_bins = np.array([2, 1, 3, 5, 2, 4])
    maps = np.array([np.arange(40) % b for b in n_bins]).astype(np.uint16)
    pairs = np.array([[3, 0], [1, 2], [3, 5]])
    cells = n_bins[pairs].prod(axis=1)
    arguments = {
        "codes": codes,
        "maps": maps,
        "n_bins": n_bins,
        "pairs": pairs,
        **dict(zip("uvw", values)),
        "tables": np.zeros((cells.sum(), 3)),
    }
    expected = np.zeros_like(arguments["tables"])
    add_pair_tables(**arguments)
    reference.add_pair_tables(**{**arguments, "tables": expected})
    np.testing.assert_array_equal(arguments["tables"], expected)
    wrongs = [
        {"codes": codes[:, 1:]},
        {"codes": np.asfortranarray(codes)},
        {"codes": codes[:5]},
        {"maps": maps[:, :39].copy()},
        {"maps": maps + np.uint16(1)},
        {"maps": maps[:5]},
        {"n_bins": n_bins - 1},
        {"n_bins": n_bins[:5]},
        {"pairs": np.array([[3, 0], [1, 2], [3, 6]])},
        {"pairs": np.array([[3, 0], [1, 2], [3, -1]])},
        {"pairs": pairs[:2]},
        {"u": values[0][1:]},
        {"v": values[0][1:]},
        {"w": values[0][1:]},
        {"tables": np.zeros((cells.sum() - 1, 3))},
        {"tables": np.zeros((cells.sum(), 2))},
    ]
    refused(add_pair_tables, arguments, wrongs)


@pytest.mark.parametrize("b_type", [np.uint8, np.uint16])
@pytest.mark.parametrize("a_type", [np.uint8, np.uint16])
def test_cells_of_a_pair(a_type, b_type):
    codes, values, weight, folds = rows(n=3000)
    a, b, is_held = codes[0].astype(a_type), codes[3].astype(b_type), folds == 2
    shape = 3, 40
    cell = (is_held * 3 + codes[0]) * 40 + codes[3]
    for w in (None, weight):
        sums = np.zeros((2, *shape))
        sum_cells(values, w, is_held, a, b, sums)
        weighted = values if w is None else values * w
        np.testing.assert_array_equal(sums.ravel(), np.bincount(cell, weighted, 240))
    left, table = values.copy(), sums[0]
    subtract_cells(left, a, b, table)
    np.testing.assert_array_equal(left, values - table[codes[0], codes[3]])
    arguments = {"values": left, "a": a, "b": b, "table": table}
    wrongs = [
        {"values": left[1:]},
        {"a": a[1:]},
        {"b": b[1:]},
        {"a": a + a_type(1)},
        {"b": b + b_type(1)},
        {"table": table[:2]},
        {"table": table[:, :39].copy()},
    ]
    refused(subtract_cells, arguments, wrongs)
    del arguments["table"]
    arguments.update({"weight": weight, "is_held": is_held, "sums": sums})
    wrongs[-2:] = [
        {"sums": sums[:, :2].copy()},
        {"sums": sums[:, :, :39].copy()},
        {"sums": sums[:1]},
        {"weight": weight[1:]},
        {"is_held": is_held[1:]},
        {"is_held": (2 * is_held).astype(np.uint8)},
    ]
    refused(sum_cells, arguments, wrongs)


@pytest.mark.parametrize("shape", [(4, 5), (1, 1), (30, 31), (0, 3)])
def test_change_of_squares(shape):
    rng = np.random.default_rng(0)
    table, weight, sums = rng.standard_normal((3, *shape))
    found = change_of_squares(table, weight, sums)
    assert found == pytest.approx(np.sum(table * (weight * table - 2 * sums)), abs=1e-11)
    arguments = {"table": table, "weight": weight, "sums": sums}
    wrongs = [{"weight": np.zeros((5, 5))}, {"sums": np.zeros((4, 4))}, {"sums": None}]
    refused(change_of_squares, arguments, wrongs)


@pytest.mark.parametrize("n_weights", [1, 6])
@pytest.mark.parametrize("shape", [(4, 5), (1, 5), (5, 1), (2, 2), (9, 20)])
def test_largest_gains(shape, n_weights):
    rng = np.random.default_rng(0)
    sums, weight = rng.standard_normal((6, *shape)), rng.exponential(size=(n_weights, *shape)) ** 2
    arguments = {"sums": sums, "weight": weight, "min_share": 0.02, "gains": np.full(6, np.nan)}
    largest_gains(**arguments)
    expected = []
    for table, own in zip(sums, np.broadcast_to(weight, sums.shape)):
        gains = [0.0]
        for x, y in np.ndindex(shape[0] - 1, shape[1] - 1):
            before = np.arange(shape[0])[:, None] <= x, np.arange(shape[1]) <= y
            quadrants = [a & b for a in (before[0], ~before[0]) for b in (before[1], ~before[1])]
            masses = np.array([own[quadrant].sum() for quadrant in quadrants])
            if masses.min() >= 0.02 * own.sum():
                gains.append(table[quadrants[0]].sum() ** 2 * (1 / masses).sum())
        expected.append(max(gains))
    np.testing.assert_allclose(arguments["gains"], expected, rtol=1e-10)
    wrongs = [
        {"gains": np.zeros(5)},
        {"weight": np.zeros((2, *shape))},
        {"weight": np.zeros((6, shape[0] + 1, shape[1]))},
        {"weight": np.zeros((6, shape[0], shape[1] + 1))},
        {"sums": np.zeros((6, 0, 0)), "weight": np.zeros((6, 0, 0))},
    ]
    refused(largest_gains, arguments, wrongs)
    largest_gains(**{**arguments, "weight": np.zeros((1, *shape))})
    assert not arguments["gains"].any()


@pytest.mark.parametrize("name", ["averaged_steps", "best_steps"])
def test_quadrants_that_do_not_fit(name):
    """What the steps are is tested in tests/boosting/test_pair_rounds.py."""
    rng = np.random.default_rng(0)
    sums, weight = rng.random((2, 4, 5))
    inverse = rng.random((4, 3, 4))
    arguments = {
        "sums": sums,
        "weight": weight,
        "inverse": inverse,
        "rate": 0.1,
        "n_steps": 2,
        "added": np.zeros((4, 5)),
    }
    wrongs = [
        {"sums": sums[:3]},
        {"sums": np.zeros((0, 5)), "weight": np.zeros((0, 5)), "added": np.zeros((0, 5))},
        {"weight": weight[:, :4].copy()},
        {"inverse": inverse[:3]},
        {"inverse": inverse[:, :2].copy()},
        {"inverse": inverse[:, :, :3].copy()},
        {"added": np.zeros((5, 5))},
    ]
    refused(getattr(additive, name), arguments, wrongs)
