"""Tables that find bins, and the sort by digits, against NumPy; what does not fit is refused."""

import numpy as np
import pytest

from .loops import EdgeTable, are_told_apart, sorted_floats


def kinds_of_edges(n_edges):
    """Even, crowded around the centre, in a cell, at the end, neighbours, at any distance."""
    rng = np.random.default_rng(n_edges)
    yield np.arange(n_edges) / 7.0
    yield np.sort(rng.normal(size=n_edges)) ** 3
    yield np.append(np.arange(n_edges - 1.0), 1e12) if n_edges else np.empty(0)
    yield 1.0 + np.finfo(np.float32).eps * np.arange(n_edges)
    yield np.sort(rng.normal(size=n_edges) * np.exp(20 * rng.random(n_edges)))
    for n_last in (2, 3) if n_edges > 3 else ():  # several edges in the last cell
        for end in (1 / 3, 3.0, 7.0, 1e12):
            last = [end]
            for _ in range(n_last - 1):
                last.append(np.nextafter(last[-1], np.inf))
            yield np.append(np.linspace(-end, end / 2, n_edges - n_last), last)
    if n_edges == 2:
        yield np.array([-1.5e308, 1.5e308])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("code_type", [np.uint8, np.uint16])
@pytest.mark.parametrize("n_edges", [0, 1, 2, 3, 4, 5, 8, 9, 254, 255, 256, 300, 5000, 65_535])
def test_the_bin_is_the_number_of_edges_below(dtype, code_type, n_edges):
    if n_edges > 255 and code_type == np.uint8:
        pytest.skip("codes of two bytes")
    for edges in kinds_of_edges(n_edges):
        with np.errstate(over="ignore"):  # of single precision
            beside = [edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)]
            x = np.concatenate([*beside, edges - 0.01, [np.inf, -np.inf, 0.0, -0.0, 1e30]])
            x = x.astype(dtype)
        missing = max(n_edges, 255)
        codes = np.empty(len(x), dtype=code_type)
        EdgeTable(edges, missing).code(x, codes)
        np.testing.assert_array_equal(codes, np.searchsorted(edges, x.astype(float)))
        EdgeTable(edges, missing).code(np.full(3, np.nan, dtype), codes[:3])
        assert (codes[:3] == missing).all()


@pytest.mark.parametrize("n", [0, 1, 511, 512, 513, 1023, 1024, 1025])
def test_values_are_coded_in_blocks_of_512(n):
    rng = np.random.default_rng(n)
    edges, x = np.sort(rng.normal(size=40)), rng.normal(size=n)
    x[rng.random(n) < 0.1] = np.nan
    codes = np.full(n + 1, 77, dtype=np.uint8)
    EdgeTable(edges, 99).code(x, codes[:-1])
    expected = np.where(np.isnan(x), 99, np.searchsorted(edges, x))
    np.testing.assert_array_equal(codes, np.append(expected, 77))


def test_edges_and_codes_that_do_not_fit():
    for n_edges, missing in ((2**16, 0), (3, -1), (3, 2**16)):
        with pytest.raises(ValueError):
            EdgeTable(np.arange(float(n_edges)), missing)
    with pytest.raises(ValueError):
        EdgeTable(np.arange(3), 0)  # of another type
    x = np.zeros(5)
    with pytest.raises(ValueError):
        EdgeTable(np.arange(3.0), 0).code(x, np.empty(4, np.uint8))
    for table in (EdgeTable(np.arange(3.0), 256), EdgeTable(np.arange(256.0), 0)):
        table.code(x, np.empty(5, np.uint16))
        with pytest.raises(ValueError):
            table.code(x, np.empty(5, np.uint8))


@pytest.mark.parametrize("n", [0, 1, 7, 3000, 70_000])
def test_values_are_sorted_as_numpy_sorts_them(n):
    rng = np.random.default_rng(n)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-45, -1e-45, 3.4e38, -3.4e38]
    for x in (
        rng.standard_normal(n) * 10.0 ** rng.uniform(-40, 38, n),
        rng.choice(special, n),
        rng.integers(-3, 4, n),
    ):
        x = x.astype(np.float32)
        found = np.empty_like(x)
        sorted_floats(x, found)
        np.testing.assert_array_equal(found, np.sort(x))
    with pytest.raises(ValueError):
        sorted_floats(x, np.empty(n + 1, np.float32))


@pytest.mark.parametrize("n", [0, 1, 40, 3000])
@pytest.mark.parametrize("step", [1, 3])
def test_numbers_that_stand_for_one_value(n, step):
    """Against the distinct values of each number of single precision."""
    rng = np.random.default_rng(n)
    outcomes = set()
    for unit in (1e-9, 2.0**-24, 0.1, 1e-50, 1e37):
        x = np.repeat((unit * rng.integers(-40, 60, n) + (unit < 0.1)), step)[::step]
        x[rng.random(n) < 0.1] = rng.choice([np.nan, -0.0, 0.0])
        with np.errstate(over="ignore"):
            single = x.astype(np.float32)
        known = ~np.isnan(x)
        different = {s: len(np.unique(x[single == s])) for s in single[known]}
        for chosen in (np.unique(single[known]), single[known][: n // 3]):
            expected = all(different[s] == 1 for s in chosen)
            assert are_told_apart(x, chosen) == expected
            outcomes.add(expected)
    assert outcomes == ({True, False} if n >= 40 else {True})
