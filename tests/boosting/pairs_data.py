"""Data of the tests of pairs of features."""

from contextlib import nullcontext

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import numba_disabled

ROUTES = {"compiled": nullcontext, "arrays": numba_disabled}


def uniform_codes(n, p, n_bins=16, seed=0):
    rng = np.random.default_rng(seed)
    return np.asfortranarray(rng.integers(n_bins, size=(n, p)).astype(np.uint8))


def product_data(n, p=6, strength=1.0, n_bins=16, seed=0):
    """Codes, and residuals with a product of the first two features; noise of variance 1."""
    codes = uniform_codes(n, p, n_bins, seed)
    centred = codes - (n_bins - 1) / 2
    product = centred[:, 0] * centred[:, 1]
    noise = np.random.default_rng(seed + 1000).standard_normal(n)
    return codes, noise + strength * product / product.std()


def correlated_weight(shape=(7, 5), seed=0):
    """Weights of cells in which rows and columns are correlated, some of them 0."""
    rng = np.random.default_rng(seed)
    a, b = np.arange(shape[0])[:, None] / shape[0], np.arange(shape[1]) / shape[1]
    return rng.poisson(20 * np.exp(-20 * (a - b) ** 2)).astype(float)
