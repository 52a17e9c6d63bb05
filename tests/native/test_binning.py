"""The tables that find bins refuse what does not fit (tests/test_binning.py compares the codes)."""

import numpy as np
import pytest

from ..routes import uses_native

pytestmark = pytest.mark.skipif(not uses_native(), reason="nothing is compiled")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("code_type", [np.uint8, np.uint16])
@pytest.mark.parametrize("n_edges", [0, 1, 2, 255])
@pytest.mark.parametrize("spread", [0.0, 20.0])
def test_the_bin_is_the_number_of_edges_below(dtype, code_type, n_edges, spread):
    """Also where most edges are in one cell of the grid."""
    from sklearn_ensemble_theory._native.binning import EdgeTable

    rng = np.random.default_rng(n_edges)
    edges = np.sort(rng.normal(size=n_edges) * np.exp(spread * rng.random(n_edges)))
    beside = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
    x = np.concatenate([beside, rng.normal(size=1000), [np.inf, -np.inf, 0.0]]).astype(dtype)
    codes = np.empty(len(x), dtype=code_type)
    EdgeTable(edges, 255).code(x, codes)
    np.testing.assert_array_equal(codes, np.searchsorted(edges, x.astype(float)))
    EdgeTable(edges, 255).code(np.full(3, np.nan, dtype), codes[:3])
    assert (codes[:3] == 255).all()


def test_edges_and_codes_that_do_not_fit():
    from sklearn_ensemble_theory._native.binning import EdgeTable

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
    from sklearn_ensemble_theory._native.binning import sorted_floats

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
