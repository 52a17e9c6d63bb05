"""Generalised cross-validation over the size of subsamples, by loops and against the true risk."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from sklearn_ensemble_theory import BaggingRegressor
from sklearn_ensemble_theory.averaging import bagged_ridge_gcv


def rows(n, p, seed, noise=1.0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, p))
    coefficients = rng.standard_normal(p) / np.sqrt(p)
    return X, X @ coefficients + noise * rng.standard_normal(n), coefficients


def learner(alpha, fit_intercept):
    if alpha == 0:
        return LinearRegression(fit_intercept=fit_intercept)
    return Ridge(alpha, fit_intercept=fit_intercept)


@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_estimates_by_a_loop(alpha, fit_intercept):
    """Fits of scikit-learn to the same draws, and traces by the predictions of unit vectors."""
    n, p, m = 30, 8, 4
    X, y, _ = rows(n, p, seed=0)
    y += 3
    found = bagged_ridge_gcv(
        X, y, [6, 20], alpha=alpha, n_estimators=m, fit_intercept=fit_intercept, random_state=5
    )
    rng = np.random.RandomState(5)
    orders = [rng.permutation(n) for _ in range(m)]
    for i, k in enumerate((6, 20)):
        predicted, traces = [], []
        for order in orders:
            A = X[order[:k]]
            model = learner(alpha, fit_intercept).fit(A, y[order[:k]])
            predicted.append(model.predict(X))
            traces.append(np.trace(model.fit(A, np.eye(k)).predict(A)))
        df, predicted = np.mean(traces), np.array(predicted)
        single = np.mean((y - predicted) ** 2) / ((k / n) * (1 - df / k) ** 2 + (n - k) / n)
        if alpha == 0 and k < p:  # a fit through all of its rows
            assert df == pytest.approx(k)
        naive = np.mean((y - predicted.mean(axis=0)) ** 2) / (1 - df / n) ** 2
        # T of m fits is T of infinitely many, plus 1/m of the difference to that of one.
        of_single = (1 - 2 * df / n + df**2 / (k * n)) / (1 - df / n) ** 2
        expected = naive - single * (of_single - 1) / m
        assert found.degrees_of_freedom[i] == pytest.approx(df)
        assert found.risk[i] == pytest.approx(expected)
        assert found.limit_risk[i] == pytest.approx((m * expected - single) / (m - 1))
    assert found.best_max_samples == [6, 20][np.argmin(found.risk)]


def test_all_rows_give_the_usual_criterion():
    X, y, _ = rows(40, 5, seed=1)
    found = bagged_ridge_gcv(X, y, 40, alpha=2.0)
    model = Ridge(2.0).fit(X, y)
    trace = np.trace(Ridge(2.0).fit(X, np.eye(40)).predict(X))
    expected = np.mean((y - model.predict(X)) ** 2) / (1 - trace / 40) ** 2
    assert found.risk == pytest.approx(expected)
    assert found.limit_risk == found.risk
    # Through all rows: it says nothing.
    X, y, _ = rows(20, 30, seed=1)
    assert bagged_ridge_gcv(X, y, 20).risk == np.inf


def test_estimates_are_close_to_the_true_risk():
    """Many features: few and many members, over 60 data sets."""
    n, p, sizes = 120, 80, [20, 50, 70, 100]
    for m in (1, 3, 20):
        estimates, risks = [], []
        for seed in range(60 if m < 20 else 12):
            X, y, coefficients = rows(n, p, seed)
            found = bagged_ridge_gcv(
                X, y, sizes, n_estimators=m, fit_intercept=False, random_state=seed
            )
            estimates.append(found.risk)
            rng = np.random.RandomState(seed)
            orders = [rng.permutation(n) for _ in range(m)]
            risks.append([])
            for k in sizes:
                fits = [np.linalg.lstsq(X[o[:k]], y[o[:k]], rcond=None)[0] for o in orders]
                error = np.mean(fits, axis=0) - coefficients
                risks[-1].append(1 + error @ error)
        np.testing.assert_allclose(np.mean(estimates, axis=0), np.mean(risks, axis=0), rtol=0.12)


def test_the_chosen_size_is_as_good_as_the_best_penalty():
    """The mean risk of the choice, beside that of the best ridge regression of each data set."""
    n, p = 120, 100
    chosen, penalised, all_rows = [], [], []
    for seed in range(10):
        X, y, coefficients = rows(n, p, seed)
        k = bagged_ridge_gcv(
            X, y, [5, 10, 20, 30, 45, 60, 120], n_estimators=40, random_state=seed
        ).best_max_samples
        model = BaggingRegressor(
            LinearRegression(), n_estimators=40, max_samples=k, bootstrap=False, random_state=seed
        ).fit(X, y)
        coef = np.mean([member.coef_ for member in model.estimators_], axis=0)
        chosen.append(np.sum((coef - coefficients) ** 2))
        penalised.append(
            min(
                np.sum((Ridge(alpha).fit(X, y).coef_ - coefficients) ** 2)
                for alpha in np.logspace(0, 4, 15)
            )
        )
        all_rows.append(np.sum((LinearRegression().fit(X, y).coef_ - coefficients) ** 2))
    # The noise is 1.
    assert 1 + np.mean(chosen) < 1.05 * (1 + np.mean(penalised))
    assert 1 + np.mean(chosen) < 0.4 * (1 + np.mean(all_rows))


def test_shares_of_the_rows():
    X, y, _ = rows(30, 5, seed=0)
    by_share = bagged_ridge_gcv(X, y, [0.5, 1.0], random_state=0)
    by_number = bagged_ridge_gcv(X, y, [15, 30], random_state=0)
    np.testing.assert_array_equal(by_share.risk, by_number.risk)
    assert by_share.max_samples.tolist() == [15, 30]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_samples": 31}, "max_samples must be integers from 1 to the number of rows 30"),
        ({"max_samples": 0}, "max_samples must be integers"),
        ({"max_samples": 1.5}, "max_samples must be finite and in"),
        ({"max_samples": []}, "max_samples must be at least one number"),
        ({"max_samples": "all"}, "max_samples must be integers"),
        ({"max_samples": 5, "alpha": -1.0}, "alpha must be finite"),
        ({"max_samples": 5, "n_estimators": 0}, "n_estimators must be finite"),
    ],
)
def test_arguments_out_of_range_are_named(arguments, message):
    X, y, _ = rows(30, 5, seed=0)
    with pytest.raises(ValueError, match=message):
        bagged_ridge_gcv(X, y, **arguments)
