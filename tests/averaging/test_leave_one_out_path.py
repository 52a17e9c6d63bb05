"""The leave-one-out path of bagged nearest neighbours against explicit refits."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer, sort_graph_by_row_values

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


def error_without_groups(model, size, n_rows, X, Y, weight, groups):
    """The mean squared error of rows that models refitted without their groups predict."""
    total = 0.0
    for group in np.unique(groups):
        out, rest = groups == group, groups != group
        left = size
        if model.bootstrap != "bernoulli":  # the same share of the rows that are left
            left = max(model.n_neighbors, round(size * n_rows(weight[rest]) / n_rows(weight)))
        elif n_rows is len:  # the weights are divided by their mean again
            left = 1 - (1 - size) ** (weight[rest].mean() / weight.mean())
        refit = clone(model).set_params(max_samples=left).fit(X[rest], Y[rest], weight[rest])
        if isinstance(model, Classifier):
            found, wanted = refit.predict_proba(X[out]), Y[out, None] == refit.classes_
        else:
            found, wanted = refit.predict(X[out]), Y[out]
        total += weight[out] @ ((found - wanted) ** 2).sum(axis=1)
    return total / weight.sum()


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("weights", ["none", "whole", "any"])
@pytest.mark.parametrize("cls", [Regressor, Classifier])
@schemes
def test_rows_are_left_out_with_their_groups(cls, size, k, bootstrap, weights, tied):
    n, rng = 40, np.random.default_rng(0)
    X, y = regression(n)
    if tied:
        X = np.round(2 * X)
    groups = rng.permutation(np.repeat(list("abcdefghij"), [1, 1, 1, 2, 3, 3, 5, 6, 8, 10]))
    Y = np.digitize(y, [0.1]) if cls is Classifier else np.column_stack([y, y**2])
    if weights == "any" and not neighbors.RANK_LAWS[bootstrap].splits_rows(k):
        pytest.skip("a part of a row cannot be drawn")
    weight = np.ones(n)
    if weights != "none":
        weight = rng.integers(0, 4, n) * 1.0 if weights == "whole" else rng.gamma(1.0, size=n)
    n_rows = len if weights == "any" else np.sum
    grid = [size] if bootstrap == "bernoulli" else sorted([size, 20])
    model = cls(k, bootstrap=bootstrap, max_samples=grid)
    model.fit(X, Y, None if weights == "none" else weight, groups=groups)
    for each, error in zip(grid, model.cv_results_["mean_score"]):
        expected = error_without_groups(model, each, n_rows, X, Y, weight, groups)
        assert error == pytest.approx(expected, rel=1e-9)
    alone = clone(model).fit(X, Y, groups=np.arange(n)).cv_results_["mean_score"]
    np.testing.assert_allclose(clone(model).fit(X, Y).cv_results_["mean_score"], alone, rtol=1e-9)


@pytest.mark.parametrize("weights", [None, "whole"])
def test_groups_with_every_form_of_X(weights):
    X, y = regression(60)
    rng = np.random.default_rng(0)
    groups, w = rng.integers(0, 12, 60), rng.integers(1, 4, 60) if weights else None
    grid, distances = [5, 20, 40], pairwise_distances(X)
    expected = Regressor(2, max_samples=grid).fit(X, y, w, groups=groups).cv_results_["mean_score"]
    graph = sort_graph_by_row_values(sp.csr_matrix(distances + 1.0), warn_when_not_sorted=False)
    graph.data -= 1.0
    forms = {"minkowski": sp.csr_array(X), "precomputed": distances}
    for metric, form in [*forms.items(), ("precomputed", graph)]:
        model = Regressor(2, max_samples=grid, metric=metric).fit(form, y, w, groups=groups)
        np.testing.assert_allclose(model.cv_results_["mean_score"], expected, rtol=1e-9)
    nearest = KNeighborsTransformer(n_neighbors=15).fit_transform(X)
    with pytest.raises(ValueError, match="Store more neighbors"):
        Regressor(2, max_samples=[20], metric="precomputed").fit(nearest, y, w, groups=groups)


def test_groups_of_copies_choose_the_size_that_new_rows_need():
    """Every row twice: without groups each is predicted by its copy."""
    X, y = regression(300)
    X_test, y_test = regression(1_000, seed=1, noise=0.0)
    twice = np.tile(np.arange(300), 2)

    def error(model):
        return np.mean((model.predict(X_test) - y_test) ** 2)

    once = Regressor(max_samples="loo").fit(X, y)
    model = Regressor(max_samples="loo").fit(X[twice], y[twice], groups=twice)
    assert error(model) < 1.05 * error(once)
    weights = Regressor(max_samples="loo").fit(X, y, np.full(300, 2), groups=np.arange(300))
    np.testing.assert_allclose(
        model.cv_results_["mean_score"], weights.cv_results_["mean_score"], rtol=1e-9
    )


def test_groups_that_leave_too_few_rows_are_refused():
    X, y = regression(20)
    with pytest.raises(ValueError, match="groups has a group of 20 of 20 rows"):
        Regressor(max_samples="loo").fit(X, y, groups=np.zeros(20))
    with pytest.raises(ValueError, match="groups has a group of 18 of 20 rows"):
        Regressor(3, max_samples="loo").fit(X, y, groups=np.arange(20) < 18)
    with pytest.raises(ValueError, match="groups must have a label for each row"):
        Regressor(max_samples="loo").fit(X, y, groups=np.zeros(19))
    Regressor(3, max_samples=4).fit(X, y, groups=np.zeros(20))


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
