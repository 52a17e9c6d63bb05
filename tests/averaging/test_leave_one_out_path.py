"""The leave-one-out path of bagged nearest neighbours against explicit refits."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_ensemble_theory import BaggedNearestNeighborsClassifier as Classifier
from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor as Regressor
from sklearn_ensemble_theory.averaging import _neighbors as neighbors

from .neighbor_data import regression, schemes


def refitted_error(model, X, Y, size):
    """Mean over the rows of the squared error of a model refitted without the row."""
    n, errors = len(X), []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        refit = clone(model).set_params(max_samples=size).fit(X[rest], Y[rest])
        if isinstance(model, Classifier):
            proba = refit.predict_proba(X[[i]])[0]
            errors.append(np.sum((proba - (refit.classes_ == Y[i])) ** 2))
        else:
            errors.append(np.sum((refit.predict(X[[i]])[0] - Y[i]) ** 2))
    return np.mean(errors)


@pytest.mark.slow
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("cls", [Regressor, Classifier])
@schemes
def test_leave_one_out_errors_are_those_of_explicit_refits(cls, size, k, bootstrap, tied):
    n = 40
    X, y = regression(n)
    if tied:
        X = np.round(2 * X)
    Y = np.digitize(y, [-0.2, 0.6]) if cls is Classifier else np.column_stack([y, y**2])
    model = cls(k, bootstrap=bootstrap, max_samples="loo").fit(X, Y)
    sizes, errors = model.cv_results_["max_samples"], model.cv_results_["mean_score"]
    assert sizes[-1] == (1.0 if bootstrap == "bernoulli" else n)
    assert len(sizes) == len(errors) > 8
    for j in [0, 3, len(sizes) // 2, len(sizes) - 1]:
        left = sizes[j]
        if bootstrap != "bernoulli":
            left = max(k, round(int(left) * (n - 1) / n))  # the same share of n-1 rows
            assert abs(left - sizes[j]) <= 1
        expected = refitted_error(model, X, Y, left)
        assert errors[j] == pytest.approx(expected, rel=1e-9)
    assert model.max_samples_ == sizes[np.argmin(errors)]
    fixed = clone(model).set_params(max_samples=model.max_samples_).fit(X, Y)
    np.testing.assert_array_equal(fixed.predict(X), model.predict(X))
    assert not hasattr(fixed, "cv_results_")


def test_leave_one_out_finds_a_good_size():
    """Its test error is within 5 % of the best size's, and a quarter below plain neighbours'."""
    X, y = regression(600, noise=0.5)
    X_test, y_test = regression(1_000, seed=1, noise=0.0)
    model = Regressor(max_samples="loo").fit(X, y)

    def risk(size):
        prediction = Regressor(max_samples=size).fit(X, y).predict(X_test)
        return 0.25 + np.mean((prediction - y_test) ** 2)

    risks = {int(size): risk(int(size)) for size in model.cv_results_["max_samples"][1::2]}
    chosen = risk(model.max_samples_)
    assert chosen < 1.05 * min(risks.values())
    assert chosen < 0.75 * risk(600)


def test_users_grid():
    X, y = regression(50)
    model = Regressor(max_samples=[20, 5, 5, 10]).fit(X, y)
    np.testing.assert_array_equal(model.cv_results_["max_samples"], [5, 10, 20])
    shares = Regressor(max_samples=[0.4, 0.1, 0.2]).fit(X, y)
    np.testing.assert_array_equal(shares.cv_results_["max_samples"], [5, 10, 20])
    np.testing.assert_array_equal(shares.cv_results_["mean_score"], model.cv_results_["mean_score"])
    grid = Regressor(max_samples=[5, 0.5])
    with pytest.raises(ValueError, match="max_samples must have ints"):
        grid.fit(X, y)


@pytest.mark.parametrize("bootstrap", [False, True, "bernoulli"])
def test_default_grid_of_many_rows_starts_where_a_thousand_neighbors_suffice(bootstrap):
    n, k, tol = 10**6, 2, 1e-12
    law = neighbors.RANK_LAWS[bootstrap]
    sizes, truncated = neighbors.default_grid(law, n, k, tol, n_features=12)
    scale = n if bootstrap == "bernoulli" else 1
    assert truncated
    assert 30 <= len(sizes) <= 33
    assert sizes[-1] * scale == n
    rate = int(n ** (12 / 14))
    assert any(round(size * scale) == rate for size in sizes)
    start = round(sizes[0] * scale)
    for s, enough in ((start, True), (start - 1, False)):
        assert (neighbors.count_ranks(law(n - 1, s / scale, k), tol) <= 1000) == enough
    few, truncated = neighbors.default_grid(law, 900, k, tol)
    assert not truncated
    assert round(few[0] * (900 if bootstrap == "bernoulli" else 1)) == k


def test_smallest_size_of_a_truncated_grid_warns(monkeypatch):
    monkeypatch.setattr(neighbors, "GRID_RANKS", 30)
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((80, 2)), rng.standard_normal(80)
    with pytest.warns(
        UserWarning, match="Pass a list with smaller values as max_samples"
    ) as caught:
        Regressor(max_samples="loo").fit(X, noise)
    assert caught[0].filename == __file__
    Regressor(max_samples=[1, 2]).fit(X, noise)  # asked for: no warning


def test_choice_prefers_the_smaller_size_where_errors_agree_up_to_rounding():
    assert neighbors.best_size(np.array([2.0, 1.0 + 1e-14, 1.0, 1.5])) == 1
