"""The generators draw from the distributions that they document."""

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from sklearn_ensemble_theory.datasets import make_polynomial, make_sine_regression, make_tent


def test_sine_regression_has_its_mean_and_noise():
    X, y, mean = make_sine_regression(
        20_000, periods=2.0, noise=0.5, return_mean=True, random_state=0
    )
    np.testing.assert_allclose(mean, np.sin(4 * np.pi * X[:, 0]))
    assert np.std(y - mean) == pytest.approx(0.5, rel=0.02)
    assert np.corrcoef(y - mean, mean)[0, 1] == pytest.approx(0, abs=0.03)
    assert (np.diff(X[:, 0]) >= 0).all()
    np.testing.assert_allclose(np.quantile(X, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.01)


def test_sine_regression_is_repeatable():
    for a, b in zip(make_sine_regression(random_state=3), make_sine_regression(random_state=3)):
        np.testing.assert_array_equal(a, b)


BAD = [{"n_samples": 0}, {"n_samples": 2.5}, {"noise": -1.0}, {"noise": np.nan}]


@pytest.mark.parametrize("params", BAD)
@pytest.mark.parametrize("make", [make_polynomial, make_sine_regression, make_tent])
def test_bad_arguments_are_named(make, params):
    with pytest.raises(ValueError, match=next(iter(params))):
        make(**params)


def test_infinitely_many_periods_are_refused():
    with pytest.raises(ValueError, match="periods"):
        make_sine_regression(periods=np.inf)


def test_tent_has_its_mean_and_noise():
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


def test_polynomial_has_its_degree_mean_and_noise():
    X, y, mean = make_polynomial(3_000, 4, degree=3, noise=0.5, return_mean=True, random_state=0)
    assert X.shape == (3_000, 4)
    assert np.abs(X).max() <= 1
    assert mean.mean() == pytest.approx(0, abs=1e-12)
    assert mean.std() == pytest.approx(1)
    assert np.std(y - mean) == pytest.approx(0.5, rel=0.05)
    for degree, exact in [(2, False), (3, True)]:
        columns = PolynomialFeatures(degree).fit_transform(X)
        residual = mean - columns @ np.linalg.lstsq(columns, mean, rcond=None)[0]
        assert (np.abs(residual).max() < 1e-9) == exact
    one = make_polynomial(1, random_state=0)
    assert np.isfinite(one[1]).all()
    for name in ("n_features", "degree"):
        with pytest.raises(ValueError, match=name):
            make_polynomial(**{name: 0})
