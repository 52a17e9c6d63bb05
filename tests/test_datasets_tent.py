"""The generator of two tents."""

import numpy as np
import pytest

from sklearn_ensemble_theory.datasets import make_tent


def test_tent():
    X, y = make_tent(200_000, random_state=0)
    assert X.shape == (200_000, 1)
    assert X.min() > -1
    assert X.max() < 1
    f = 1 - np.abs(2 * np.abs(X[:, 0]) - 1)
    residual = y - f
    assert residual.std() == pytest.approx(0.5, rel=0.01)
    assert np.corrcoef(X[:, 0], residual)[0, 1] == pytest.approx(0, abs=0.01)
    np.testing.assert_array_equal(make_tent(5, random_state=3)[1], make_tent(5, random_state=3)[1])
    for x, value in [(-1, 0), (-0.5, 1), (0, 0), (0.5, 1), (1, 0)]:
        assert 1 - abs(2 * abs(x) - 1) == value
    exact, target = make_tent(10, noise=0, random_state=0)
    np.testing.assert_allclose(target, 1 - np.abs(2 * np.abs(exact[:, 0]) - 1))


def test_bad_arguments():
    with pytest.raises(ValueError, match="n_samples=0"):
        make_tent(0)
    with pytest.raises(ValueError, match="noise=-1"):
        make_tent(5, noise=-1)
