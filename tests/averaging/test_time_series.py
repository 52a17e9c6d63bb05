"""Intervals of time series against their definition, and their coverage by simulation."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggingRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.averaging import SeriesIntervals
from sklearn_ensemble_theory.ensembles._time_series import narrowest_ends
from sklearn_ensemble_theory.inspection import forget_training_rows, shrink

from ..conformal import conformal_rank


def series(n, rng, noise=1.0, correlation=0.6):
    """Smooth functions of two features plus autoregressive errors of variance noise²."""
    X = rng.random((n, 2))
    shocks, error = rng.standard_normal(n), np.zeros(n)
    for t in range(n):
        error[t] = correlation * error[t - 1] + np.sqrt(1 - correlation**2) * shocks[t]
    return X, np.sin(6 * X[:, 0]) + 2 * X[:, 1] + noise * error


def test_other_models_are_refused():
    for model in (LinearRegression(), GradientBoostingRegressor()):
        with pytest.raises(TypeError, match=r"such as RandomForest.*got \w+\..*BaggingRegressor"):
            SeriesIntervals(model)


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
    intervals = SeriesIntervals(model)
    errors = y[:100] - model.oob_prediction_
    new = X[100:110]
    for window, batch in ((None, (100, 120)), (None, (120, 125)), (40, (125, 150))):
        mean = model.predict(new)
        k = conformal_rank(len(errors), 0.8)
        half = np.sort(np.abs(errors))[k - 1]
        np.testing.assert_allclose(
            intervals.predict_interval(new, 0.8, "symmetric"),
            np.column_stack([mean - half, mean + half]),
        )
        low, high = narrowest_ends(errors, 0.8)
        np.testing.assert_allclose(
            intervals.predict_interval(new, 0.8), np.column_stack([mean + low, mean + high])
        )
        upper = intervals.predict_interval(new, 0.8, side="upper")
        np.testing.assert_allclose(upper[:, 1], mean + np.sort(errors)[k - 1])
        lower = intervals.predict_interval(new, 0.8, side="lower")
        np.testing.assert_allclose(lower[:, 0], mean + np.sort(errors)[-k])
        assert np.isinf(np.concatenate([upper[:, 0], lower[:, 1]])).all()
        # The oldest residuals go.
        part = slice(*batch)
        length = len(errors) if window is None else window
        errors = np.append(errors, y[part] - model.predict(X[part]))[-length:]
        earlier, intervals = intervals, intervals.update(X[part], y[part], window)
        np.testing.assert_allclose(intervals.residuals_, errors)
        assert not np.array_equal(earlier.residuals_, intervals.residuals_)
    again = pickle.loads(pickle.dumps(intervals))
    np.testing.assert_array_equal(again.predict_interval(new), intervals.predict_interval(new))
    with pytest.warns(UserWarning, match=r"coverage=0\.99 needs at least 199 residuals.* are 40"):
        assert np.isinf(intervals.predict_interval(new, 0.99)).all()
    few = SeriesIntervals(model, errors[:9])
    assert np.isfinite(few.predict_interval(new, 0.8)).all()
    few = SeriesIntervals(model, errors[:8])
    with pytest.warns(UserWarning, match="needs at least 9 residuals, and there are 8"):
        assert np.isinf(few.predict_interval(new, 0.8)).all()
    assert np.isfinite(few.predict_interval(new, 0.8, "symmetric")).all()
    # The model does not know of the window.
    begun = SeriesIntervals(fitted(X[:100], y[:100])).predict_interval(new)
    np.testing.assert_array_equal(SeriesIntervals(model).predict_interval(new), begun)


def test_a_shrunk_forest_has_residuals_of_its_own(data):
    X, y = data
    shrunk = shrink(fitted(X[:100], y[:100]), 5.0)
    errors = y[:100] - shrunk.oob_prediction_
    np.testing.assert_allclose(SeriesIntervals(shrunk).residuals_, errors)


def test_a_bad_update_changes_nothing(data):
    X, y = data
    intervals = SeriesIntervals(fitted(X[:100], y[:100])).update(X[100:110], y[100:110])
    before = intervals.residuals_.copy()
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
            intervals.update(rows, target, window)
        np.testing.assert_array_equal(intervals.residuals_, before)


@pytest.mark.parametrize("unit", [2.0**-996, 2.0**-498, 2.0**498, 2.0**1020])
def test_units_of_y(data, unit):
    X, y = data
    found = []
    for c in (1.0, unit):
        intervals = SeriesIntervals(fitted(X[:100], c * y[:100], max_bins=None))
        intervals = intervals.update(X[100:130], c * y[100:130])
        found.append(intervals.predict_interval(X[130:], 0.8) / c)
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
    half = np.diff(SeriesIntervals(few).predict_interval(X[:1], 0.8, "symmetric"))[0, 0] / 2
    known = np.sort(np.abs(errors[~np.isnan(errors)]))
    assert half == pytest.approx(known[conformal_rank(len(known), 0.8) - 1])
    weighted = RandomForestRegressor(25, oob_score=True, random_state=0)
    weighted.fit(X, y, sample_weight=1.0 * (np.arange(150) > 9))
    errors = (y - weighted.oob_prediction_)[10:]
    np.testing.assert_allclose(SeriesIntervals(weighted).residuals_, errors[~np.isnan(errors)])
    grouped = RandomForestRegressor(9).fit(X, y, groups=np.arange(150) // 5)
    with pytest.raises(ValueError, match="fitted without groups"):
        SeriesIntervals(grouped)
    with pytest.raises(ValueError, match="not drawn for every member"):
        SeriesIntervals(RandomForestRegressor(5, bootstrap=False).fit(X, y))
    with pytest.raises(ValueError, match="single output"):
        SeriesIntervals(RandomForestRegressor(5).fit(X, np.column_stack([y, y])))
    with pytest.raises(ValueError, match="trees only"):
        SeriesIntervals(BaggingRegressor(LinearRegression()).fit(X, y))
    with pytest.raises(ValueError, match="which were removed"):
        SeriesIntervals(forget_training_rows(fitted(X, y)))
    with pytest.raises(ValueError, match="coverage must be"):
        SeriesIntervals(fitted(X, y)).predict_interval(X, 1)
    with pytest.raises(ValueError, match="method must be"):
        SeriesIntervals(fitted(X, y)).predict_interval(X, method="enbpi")


def test_coverage_of_a_series():
    """Errors that are correlated, and noise that doubles: only updates follow it."""
    shares = []
    for r in range(20):
        rng = np.random.default_rng(r)
        X, y = series(300, rng)
        intervals = SeriesIntervals(fitted(X, y, random_state=r, oob_score=False))
        row = []
        for noise in (1.0, 2.5):
            new, target = series(500, rng, noise)
            for batch in np.split(np.arange(500), 10):
                for method in ("narrowest", "symmetric"):
                    low, high = intervals.predict_interval(new[batch], 0.8, method).T
                    row.append(np.mean((low <= target[batch]) & (target[batch] <= high)))
                # The noise of the second half is followed by updates in half of the data sets.
                if noise == 1.0 or r % 2:
                    intervals = intervals.update(new[batch], target[batch], 200)
        shares.append(row)
    table = np.reshape(shares, (20, 2, 10, 2))
    before = table[:, 0].mean(axis=(0, 1))
    np.testing.assert_allclose(before, 0.8, atol=0.025)
    after = table[1::2, 1, 5:].mean(axis=(0, 1)), table[::2, 1, 5:].mean(axis=(0, 1))
    np.testing.assert_allclose(after[0], 0.8, atol=0.045)
    assert np.all(after[1] < 0.5)
