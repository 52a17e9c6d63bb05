"""Edges against their definition, codes against a plain search."""

import warnings

import numpy as np
import pytest

from .surroundings import _bins as _binning
from .surroundings import (
    bin_codes,
    bin_codes_by_blocks,
    bin_edges_from_quantiles,
    check_bin_edges,
    sum_of_tables,
)


def searched_codes(X, edges):
    return np.column_stack([np.searchsorted(e, x, side="left") for e, x in zip(edges, X.T)])


def columns(n, rng):
    """Columns of the kinds that are hard to bin."""
    normal = rng.standard_normal(n)
    return {
        "normal": normal,
        "rounded": np.round(normal, 1),
        "ninth power": normal**9,
        "lognormal": np.exp(3 * normal),
        "cauchy": rng.standard_cauchy(n),
        "constant": np.full(n, 3.0),
        "binary": (normal > 0).astype(float),
        "three values": rng.choice([-1.0, 0.0, 2.0], n),
        "mostly zero": np.where(rng.random(n) < 0.9, 0.0, normal),
        "huge": np.sign(normal) * 1.7e308 * rng.random(n),
        "tiny": 1e-310 * np.round(10 * normal),
        "neighbouring floats": 1.0 + np.finfo(float).eps * rng.integers(0, 50, n),
        "two clusters": np.where(normal > 0, 1e9, 0.0) + 1e-3 * rng.standard_normal(n),
        "signed zeros": rng.choice([-0.0, 0.0, 1.0], n),
    }


@pytest.mark.parametrize("max_bins", [2, 3, 17, 64, 255, 300, 5000])
def test_codes_are_those_of_a_search(max_bins):
    X = np.column_stack(list(columns(4000, np.random.default_rng(0)).values()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        edges = bin_edges_from_quantiles(X, max_bins)
        codes = bin_codes(X, edges)
    assert codes.flags.f_contiguous
    assert codes.dtype == (np.uint8 if max(map(len, edges)) < 256 else np.uint16)
    assert all(len(e) < max_bins and (np.diff(e) > 0).all() for e in edges)
    np.testing.assert_array_equal(codes, searched_codes(X, edges))
    # Other rows than those that made the edges, on the edges themselves and beside them.
    for j, e in enumerate(edges):
        with np.errstate(over="ignore"):  # beyond the largest float
            near = np.concatenate([e, np.nextafter(e, -np.inf), np.nextafter(e, np.inf), -e, [0.0]])
        probe = np.tile(near[:, None], (1, X.shape[1]))
        expected = np.searchsorted(e, near)
        np.testing.assert_array_equal(bin_codes(probe, edges)[:, j], expected)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_layouts_types_and_blocks(order, dtype, monkeypatch):
    monkeypatch.setattr(_binning, "_BLOCK_VALUES", 100)
    monkeypatch.setattr(_binning, "_MIN_BLOCK_ROWS", 7)
    rng = np.random.default_rng(1)
    X = np.asarray(50 * rng.standard_normal((250, 6)), dtype=dtype, order=order)
    edges = bin_edges_from_quantiles(X, 10)
    as_double = bin_edges_from_quantiles(np.ascontiguousarray(X, dtype=float), 10)
    np.testing.assert_equal(edges, as_double)
    codes = searched_codes(X.astype(float), edges)
    np.testing.assert_array_equal(bin_codes(X, edges), codes)
    tables = [rng.standard_normal(10) if j != 3 else None for j in range(6)]
    expected = sum(t[codes[:, j]] for j, t in enumerate(tables) if t is not None)
    np.testing.assert_allclose(sum_of_tables(X, edges, tables), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("max_bins", [64, 5000])
def test_missing_values_and_blocks_of_rows(missing, max_bins):
    X = np.column_stack(list(columns(3000, np.random.default_rng(3)).values()))
    edges = bin_edges_from_quantiles(X, max_bins)
    if missing:
        X[::7] = np.nan
    expected = searched_codes(X, edges)
    if missing:
        expected[::7] = [len(e) + 1 for e in edges]
    np.testing.assert_array_equal(bin_codes(X, edges, missing), expected)
    found = [(rows, codes.copy()) for rows, codes in bin_codes_by_blocks(X, edges, 700, missing)]
    assert [rows.start for rows, _ in found] == [0, 700, 1400, 2100, 2800]
    np.testing.assert_array_equal(np.concatenate([codes for _, codes in found]), expected)


def test_one_bin_a_value_where_there_are_few():
    x = np.array([5.0, 1.0, 1.0, 2.0, 5.0])[:, None]
    np.testing.assert_array_equal(bin_edges_from_quantiles(x, 3)[0], [1.5, 3.5])
    np.testing.assert_array_equal(bin_edges_from_quantiles(x, 255)[0], [1.5, 3.5])
    assert len(bin_edges_from_quantiles(x[:1], 3)[0]) == 0


@pytest.mark.parametrize("max_bins", [2, 7, 64])
def test_bins_have_about_the_same_weight(max_bins):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((5000, 2))
    counts = np.bincount(bin_codes(X, bin_edges_from_quantiles(X, max_bins))[:, 0])
    assert len(counts) == max_bins
    assert counts.max() - counts.min() <= 1
    weight = rng.exponential(size=len(X))
    codes = bin_codes(X, bin_edges_from_quantiles(X, max_bins, weight))
    mass = np.bincount(codes[:, 1], weights=weight)
    assert np.abs(mass - weight.sum() / max_bins).max() <= weight.max()


@pytest.mark.parametrize("max_bins", [2, 3, 16, 64, 255])
def test_heavy_values_leave_bins_to_the_others(max_bins):
    rng = np.random.default_rng(4)
    x = rng.standard_normal(20_000)
    x[rng.random(20_000) < 0.8] = 0.0
    x[rng.random(20_000) < 0.1] = 1.5
    x[rng.random(20_000) < 0.05] = -9.0
    x = x[:, None]
    (edges,) = bin_edges_from_quantiles(x, max_bins)
    assert max_bins // 2 <= len(edges) < max_bins
    counts = np.bincount(bin_codes(x, [edges])[:, 0])
    if max_bins >= 16:
        heavy = np.searchsorted(edges, [-9.0, 0.0, 1.5])
        np.testing.assert_array_equal(counts[heavy], [(x == v).sum() for v in (-9.0, 0.0, 1.5)])
        assert np.delete(counts, heavy).max() < 1.5 * (x != 0).sum() / max_bins


@pytest.mark.parametrize("max_bins", [2, 5, 16, 64])
@pytest.mark.parametrize("decimals", [1, 6])
def test_weights_are_repetitions(max_bins, decimals):
    rng = np.random.default_rng(3)
    X = np.round(rng.standard_normal((300, 4)), decimals)
    weight = rng.integers(0, 5, len(X))
    repeated = bin_edges_from_quantiles(np.repeat(X, weight, axis=0), max_bins)
    for scale in (1.0, 0.1, 1e-290, 1e290):
        weighted = bin_edges_from_quantiles(X, max_bins, scale * weight)
        np.testing.assert_equal(weighted, repeated)


@pytest.mark.parametrize(
    ("bin_edges", "message"),
    [
        (3, "or a sequence"),
        ([[1.0]], "edges for 1 features, but X has 2"),
        ([[1.0, 0.5], []], r"max_bins\[0\] must be finite and strictly increasing"),
        ([[], [1.0, 1.0]], r"max_bins\[1\] must be finite and strictly increasing"),
        ([[], [np.nan]], r"max_bins\[1\] must be finite"),
        ([[], ["a"]], r"max_bins\[1\] must be a sequence of numbers"),
        ([[], 1.0], r"max_bins\[1\] must be finite and strictly increasing"),
        ([[], np.arange(2.0**16)], "more than 65536 bins"),
    ],
)
def test_bad_edges_are_refused(bin_edges, message):
    with pytest.raises((ValueError, TypeError), match=message):
        check_bin_edges(bin_edges, 2)


def test_given_edges_are_copied():
    given = np.array([1, 2, 3])
    (edges,) = check_bin_edges([given], 1)
    assert edges.dtype == np.float64
    assert not np.shares_memory(edges, given)
