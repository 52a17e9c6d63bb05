"""Intervals of time series against their definition, and their coverage by simulation."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import BaggingRegressor, RandomForestRegressor
from sklearn_ensemble_theory.ensembles._intervals import conformal_rank
from sklearn_ensemble_theory.ensembles._time_series import narrowest_ends, window_interval


def series(n, rng, noise=1.0, correlation=0.6):
    """Smooth functions of two features plus autoregressive errors of variance noise²."""
    X = rng.random((n, 2))
    shocks, error = rng.standard_normal(n), np.zeros(n)
    for t in range(n):
        error[t] = correlation * error[t - 1] + np.sqrt(1 - correlation**2) * shocks[t]
    return X, np.sin(6 * X[:, 0]) + 2 * X[:, 1] + noise * error


@pytest.fixture(scope="module")
def data():
    return series(150, np.random.default_rng(0))


def fitted(X, y, **params):
    model = RandomForestRegressor(
        20, bootstrap="moving_block", min_samples_leaf=5, oob_score=True, random_state=0
    )
    return model.set_params(**params).fit(X, y)


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11, 60])
def test_narrowest_ends_by_trying_all(n):
    rng = np.random.default_rng(n)
    for coverage in (0.3, 0.8, 0.9):
        errors = rng.gamma(1.0, size=n)
        rank, ordered = conformal_rank(n, coverage), np.sort(errors)
        pairs = [(ordered[i], ordered[i + rank]) for i in range(n - rank)]
        expected = min(pairs, key=lambda ends: ends[1] - ends[0], default=(-np.inf, np.inf))
        assert narrowest_ends(errors, coverage) == expected


def test_intervals_and_updates_by_definition(data):
    X, y = data
    model = fitted(X[:100], y[:100])
    errors = y[:100] - model.oob_prediction_
    new = X[100:110]
    for window, batch in ((None, (100, 120)), (None, (120, 125)), (40, (125, 150))):
        mean = model.predict(new)
        k = conformal_rank(len(errors), 0.8)
        half = np.sort(np.abs(errors))[k - 1]
        np.testing.assert_allclose(
            model.predict_interval(new, 0.8, "enbpi-symmetric"),
            np.column_stack([mean - half, mean + half]),
        )
        low, high = narrowest_ends(errors, 0.8)
        np.testing.assert_allclose(
            model.predict_interval(new, 0.8, "enbpi"), np.column_stack([mean + low, mean + high])
        )
        upper = window_interval(model, new, 0.8, "enbpi", "upper")
        np.testing.assert_allclose(upper[:, 1], mean + np.sort(errors)[k - 1])
        lower = window_interval(model, new, 0.8, "enbpi", "lower")
        np.testing.assert_allclose(lower[:, 0], mean + np.sort(errors)[-k])
        assert np.isinf(np.concatenate([upper[:, 0], lower[:, 1]])).all()
        # The oldest residuals go.
        part = slice(*batch)
        length = len(errors) if window is None else window
        errors = np.append(errors, y[part] - model.predict(X[part]))[-length:]
        assert model.update_residuals(X[part], y[part], window) is model
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.predict_interval(new, method="enbpi"), model.predict_interval(new, method="enbpi")
    )
    assert np.isinf(model.predict_interval(new, 0.99, "enbpi")).all()
    # A new fit begins anew, and other methods do not know of the window.
    fresh = fitted(X[:100], y[:100])
    np.testing.assert_array_equal(model.predict_interval(new), fresh.predict_interval(new))
    model.fit(X[:100], y[:100])
    np.testing.assert_array_equal(
        model.predict_interval(new, method="enbpi"), fresh.predict_interval(new, method="enbpi")
    )


def test_a_shrunk_forest_has_residuals_of_its_own(data):
    X, y = data
    model = fitted(X[:100], y[:100])
    expected = model.shrink(5.0).predict_interval(X[100:], method="enbpi")
    model.update_residuals(X[100:], 100 * y[100:])
    found = model.shrink(5.0).predict_interval(X[100:], method="enbpi")
    np.testing.assert_array_equal(found, expected)


def test_a_bad_update_changes_nothing(data):
    X, y = data
    model = fitted(X[:100], y[:100])
    model.update_residuals(X[100:110], y[100:110])
    before = model._training.window.copy()
    inputs = [
        (X[110:120], y[110:119], None, "inconsistent numbers"),
        (X[110:120, :1], y[110:120], None, "1 features"),
        (X[110:111], 1.0, None, "y should be a 1d array"),
        (X[110:120], np.where(np.arange(10) == 3, np.nan, y[110:120]), None, "y contains NaN"),
        (X[110:120], y[110:120], 0, "window must be"),
        (X[110:120], y[110:120], 2.5, "window must be"),
        (X[110:120], y[110:120], True, "window must be"),
        (np.full((1, 2), np.inf), y[:1], None, "infinity"),
    ]
    for rows, target, window, message in inputs:
        with pytest.raises(ValueError, match=message):
            model.update_residuals(rows, target, window)
        np.testing.assert_array_equal(model._training.window, before)


@pytest.mark.parametrize("unit", [2.0**-996, 2.0**-498, 2.0**498, 2.0**1020])
def test_units_of_y(data, unit):
    X, y = data
    found = []
    for c in (1.0, unit):
        model = fitted(X[:100], c * y[:100], max_bins=None)
        model.update_residuals(X[100:130], c * y[100:130])
        found.append(model.predict_interval(X[130:], 0.8, "enbpi") / c)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_rows_in_all_bags_and_errors(data):
    X, y = data
    tree = DecisionTreeRegressor(max_depth=2)
    few = BaggingRegressor(tree, 2, random_state=0, oob_score=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # some rows have no out-of-bag score
        few.fit(X, y)
    errors = y - few.oob_prediction_
    assert np.isnan(errors).any()
    half = np.diff(few.predict_interval(X[:1], 0.8, "enbpi-symmetric"))[0, 0] / 2
    known = np.sort(np.abs(errors[~np.isnan(errors)]))
    assert half == pytest.approx(known[conformal_rank(len(known), 0.8) - 1])
    weighted = RandomForestRegressor(5).fit(X, y, sample_weight=1.0 + (np.arange(150) > 9))
    with pytest.raises(ValueError, match="rows of equal weight"):
        weighted.predict_interval(X, method="enbpi")
    grouped = RandomForestRegressor(9).fit(X, y, groups=np.arange(150) // 5)
    with pytest.raises(ValueError, match="fitted without groups"):
        grouped.update_residuals(X, y)
    with pytest.raises(ValueError, match="not drawn for every member"):
        RandomForestRegressor(5, bootstrap=False).fit(X, y).update_residuals(X, y)
    with pytest.raises(ValueError, match="single output"):
        RandomForestRegressor(5).fit(X, np.column_stack([y, y])).update_residuals(X, y)
    with pytest.raises(ValueError, match="trees only"):
        BaggingRegressor(LinearRegression()).fit(X, y).update_residuals(X, y)
    with pytest.raises(ValueError, match="which were removed"):
        fitted(X, y).forget_training_rows().predict_interval(X, method="enbpi")
    with pytest.raises(ValueError, match="coverage must be"):
        fitted(X, y).predict_interval(X, 1, "enbpi")


def test_coverage_of_a_series():
    """Errors that are correlated, and noise that doubles: only updates follow it."""
    shares = []
    for r in range(20):
        rng = np.random.default_rng(r)
        X, y = series(300, rng)
        model = fitted(X, y, random_state=r, oob_score=False)
        row = []
        for noise in (1.0, 2.5):
            new, target = series(500, rng, noise)
            for batch in np.split(np.arange(500), 10):
                for method in ("enbpi", "enbpi-symmetric"):
                    low, high = model.predict_interval(new[batch], 0.8, method).T
                    row.append(np.mean((low <= target[batch]) & (target[batch] <= high)))
                # The noise of the second half is followed by updates in half of the data sets.
                if noise == 1.0 or r % 2:
                    model.update_residuals(new[batch], target[batch], 200)
        shares.append(row)
    table = np.reshape(shares, (20, 2, 10, 2))
    before = table[:, 0].mean(axis=(0, 1))
    np.testing.assert_allclose(before, 0.8, atol=0.025)
    after = table[1::2, 1, 5:].mean(axis=(0, 1)), table[::2, 1, 5:].mean(axis=(0, 1))
    np.testing.assert_allclose(after[0], 0.8, atol=0.045)
    assert np.all(after[1] < 0.5)
