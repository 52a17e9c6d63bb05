"""Bagged nearest neighbours against explicit resampling, a plain reference and explicit refits."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsRegressor, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory import BaggedNearestNeighborsClassifier as Classifier
from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor as Regressor
from sklearn_ensemble_theory import bagged_nearest_neighbors_weights as weights
from sklearn_ensemble_theory.datasets import make_sine_regression

from .neighbor_data import SCHEMES, regression, schemes

# --- the limit of bagging ---------------------------------------------------------------------


def resampled_shares(n, size, k, bootstrap, order, replications, rng):
    """For each replication and each of n rows: its share in the mean of the k nearest rows drawn.

    Where no more than M < k rows are drawn, the M of them; the shares of an empty draw are 1/n.
    """
    if bootstrap == "bernoulli":
        counts = (rng.random((replications, n)) < size).astype(int)
    elif bootstrap:
        counts = rng.multinomial(size, np.full(n, 1 / n), size=replications)
    else:
        counts = (rng.random((replications, n)).argsort(axis=1) < size).astype(int)
    counts = counts[:, order]
    nearer = np.cumsum(counts, axis=1) - counts
    used = np.clip(k - nearer, 0, counts)
    total = used.sum(axis=1, keepdims=True)
    shares = np.empty((replications, n))
    shares[:, order] = np.where(total > 0, used / np.maximum(total, 1), 1 / n)
    return shares


@schemes
def test_prediction_is_the_average_over_20000_resamples(size, k, bootstrap):
    n, replications = 40, 20_000
    X, y = regression(n)
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-0.3, 0.5])]
    rng = np.random.default_rng(1)
    queries = rng.uniform(-1, 1, size=(4, 2))
    params = {"n_neighbors": k, "max_samples": size, "bootstrap": bootstrap}
    regressor = Regressor(**params).fit(X, y)
    classifier = Classifier(**params).fit(X, labels)
    onehot = labels[:, None] == classifier.classes_
    for query in queries:
        order = np.argsort(np.linalg.norm(X - query, axis=1))
        shares = resampled_shares(n, size, k, bootstrap, order, replications, rng)
        for ours, draws in [
            (regressor.predict([query])[0], shares @ y),
            (classifier.predict_proba([query])[0], shares @ onehot),
        ]:
            error = draws.std(axis=0) / math.sqrt(replications)
            assert (np.abs(draws.mean(axis=0) - ours) <= 4 * error + 1e-5).all()
            assert np.max(error) < 0.01


@pytest.mark.parametrize(("size", "k", "bootstrap"), SCHEMES[:4])
def test_scikit_learns_bagging_converges_to_ours(size, k, bootstrap):
    """The root mean square distance falls as one over the root of the number of replications."""
    X, y = regression(60)
    queries = regression(200, seed=1)[0]
    limit = Regressor(k, max_samples=size, bootstrap=bootstrap).fit(X, y).predict(queries)
    distances = []
    for replications in (10, 40, 160):
        bagging = BaggingRegressor(
            KNeighborsRegressor(k),
            n_estimators=replications,
            max_samples=size,
            bootstrap=bootstrap,
            random_state=0,
        )
        gap = bagging.fit(X, y).predict(queries) - limit
        distances.append(math.sqrt(np.mean(gap**2)))
    assert 1.5 < distances[0] / distances[1] < 2.7
    assert 1.5 < distances[1] / distances[2] < 2.7


def test_averaged_nearest_neighbor_is_consistent_where_one_neighbor_is_not():
    """[Ghoshdastidar, theorem En.2]: error rates 0.2 (Bayes) against 2 x 0.2 x 0.8 = 0.32."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(6_000, 1))
    y = (rng.random(6_000) < np.where(X[:, 0] > 0, 0.8, 0.2)).astype(int)
    train, test = slice(0, 4_000), slice(4_000, None)
    errors = [
        1 - Classifier(max_samples=s, bootstrap=b).fit(X[train], y[train]).score(X[test], y[test])
        for s, b in [(1.0, False), (100, False), (100, True), (100, "bernoulli")]
    ]
    assert errors[0] > 0.29
    assert max(errors[1:]) < 0.225


def test_test_error_along_the_subsampling_ratio():
    """[Bach, figure 10.1]: 1-NN at n/s = 1, the best in between, underfitting at the end.

    The limit is better than m = 20 subsamples, in the mean over their draws.
    """
    X, y = make_sine_regression(200, random_state=0)
    X_test, y_test = make_sine_regression(1_000, random_state=1)

    def error(model):
        return np.mean((model.fit(X, y).predict(X_test) - y_test) ** 2)

    limit = [error(Regressor(max_samples=200 // ratio)) for ratio in (1, 2, 5, 10, 20, 50)]
    assert limit[0] == pytest.approx(error(KNeighborsRegressor(1)), rel=1e-10)
    assert np.argmin(limit) in (2, 3)
    assert 1.4 * min(limit) < limit[0] < limit[-1]
    draws = [
        error(
            BaggingRegressor(
                KNeighborsRegressor(1), 20, max_samples=40, bootstrap=False, random_state=seed
            )
        )
        for seed in range(5)
    ]
    assert 1.02 * limit[2] < np.mean(draws) < 1.2 * limit[2]


def test_all_rows_are_plain_neighbors_and_one_row_is_the_mean():
    X, y = regression(50)
    queries = regression(30, seed=1)[0]
    for k in (1, 5):
        plain = KNeighborsRegressor(k).fit(X, y).predict(queries)
        ours = Regressor(k, max_samples=1.0).fit(X, y).predict(queries)
        np.testing.assert_allclose(ours, plain, rtol=1e-12)
    ours = Regressor(max_samples=1).fit(X, y).predict(queries)
    np.testing.assert_allclose(ours, y.mean(), rtol=1e-12)


# --- targets, input, errors -------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.2, "loo"])
def test_several_outputs(size):
    X, y = regression(60)
    queries = regression(15, seed=1)[0]
    Y = np.column_stack([y, -2 * y])
    both = Regressor(max_samples=size).fit(X, Y).predict(queries)
    assert both.shape == (15, 2)
    one = Regressor(max_samples=size).fit(X, y).predict(queries)
    np.testing.assert_allclose(both, np.column_stack([one, -2 * one]), rtol=1e-12)
    assert Regressor().fit(X, y[:, None]).predict(queries).shape == (15, 1)

    labels = np.array(["a", "b", "c"])[np.digitize(y, [0, 0.5])]
    pairs = np.column_stack([labels, np.where(y > 0.3, "up", "down")])
    model = Classifier(max_samples=0.2).fit(X, pairs)
    for j, (classes, proba) in enumerate(zip(model.classes_, model.predict_proba(queries))):
        single = Classifier(max_samples=0.2).fit(X, pairs[:, j])
        np.testing.assert_array_equal(classes, single.classes_)
        np.testing.assert_allclose(proba, single.predict_proba(queries), rtol=1e-12)
        np.testing.assert_array_equal(model.predict(queries)[:, j], single.predict(queries))
    assert Classifier(max_samples="loo").fit(X, pairs).loo_path_["error"].ndim == 1
    with pytest.warns(DataConversionWarning, match="column-vector") as caught:
        Classifier().fit(X, labels[:, None])
    assert caught[0].filename == __file__


def test_a_tie_between_classes_goes_to_the_first_whatever_the_rounding():
    X = np.array([[-1.0], [1.0], [-2.0], [2.0], [-3.0], [3.0]])
    y = np.array([1, 0, 1, 0, 1, 0])
    for order in itertools.islice(itertools.permutations(range(6)), 0, 720, 17):
        model = Classifier(max_samples=2).fit(X[list(order)], y[list(order)])
        assert model.predict([[0.0]])[0] == 0


@pytest.mark.parametrize("bootstrap", [False, True, "bernoulli"])
def test_precomputed_distances(bootstrap):
    X, y = regression(80)
    queries = regression(12, seed=1)[0]
    params = {"max_samples": 20, "bootstrap": bootstrap}
    expected = Regressor(**params).fit(X, y).predict(queries)
    dense = Regressor(metric="precomputed", **params).fit(pairwise_distances(X), y)
    found = dense.predict(pairwise_distances(queries, X))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    graph = make_pipeline(
        KNeighborsTransformer(n_neighbors=79, mode="distance"),
        Regressor(metric="precomputed", **params),
    )
    np.testing.assert_allclose(graph.fit(X, y).predict(queries), expected, rtol=1e-9)


@pytest.mark.parametrize("extra", [0, 1, 5])
def test_precomputed_graph_with_just_enough_neighbors(extra):
    X, y = regression(80)
    queries = regression(12, seed=1)[0]
    n_ranks = len(weights(80, 40))
    transformer = KNeighborsTransformer(n_neighbors=n_ranks - 1 + extra, mode="distance").fit(X)
    model = Regressor(max_samples=40, metric="precomputed").fit(transformer.transform(X), y)
    expected = Regressor(max_samples=40).fit(X, y).predict(queries)
    found = model.predict(transformer.transform(queries))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_precomputed_graph_with_too_few_neighbors_is_refused():
    X, y = regression(80)
    graph = KNeighborsTransformer(n_neighbors=5, mode="distance").fit_transform(X)
    model = Regressor(max_samples=20, metric="precomputed").fit(graph, y)
    with pytest.raises(ValueError, match="only 6 precomputed neighbors"):
        model.predict(graph)
    with pytest.raises(ValueError, match="only 6 precomputed neighbors"):
        Regressor(max_samples="loo", metric="precomputed").fit(graph, y)


@pytest.mark.parametrize("graph", [False, True])
def test_leave_one_out_of_precomputed_distances(graph):
    X, y = regression(60)
    X[7] = X[3]  # equal rows: neither may be taken for the other
    expected = Regressor(max_samples="loo", max_samples_grid=[5, 15, 60]).fit(X, y)
    model = Regressor(max_samples="loo", max_samples_grid=[5, 15, 60], metric="precomputed")
    distances = pairwise_distances(X)
    if graph:
        distances = KNeighborsTransformer(n_neighbors=59, mode="distance").fit_transform(X)
    found = model.fit(distances, y).loo_path_["error"]
    np.testing.assert_allclose(found, expected.loo_path_["error"], rtol=1e-9)


def test_rate_of_precomputed_distances_is_refused():
    with pytest.raises(ValueError, match="max_samples='rate'"):
        Regressor(metric="precomputed").fit(pairwise_distances(np.eye(5)), np.arange(5.0))


def test_sparse_queries_of_a_dense_fit():
    X, y = regression(200)
    queries = regression(10, seed=1)[0]
    model = Regressor(max_samples=50).fit(X, y)
    np.testing.assert_array_equal(model.predict(sp.csr_array(queries)), model.predict(queries))


def test_rate():
    for n, d, k, expected in [(100, 1, 1, 4), (100, 1, 9, 9), (1_000, 2, 1, 31), (3, 5, 2, 2)]:
        X = np.random.default_rng(0).standard_normal((n, d))
        assert Regressor(k).fit(X, X[:, 0]).max_samples_ == expected
        q = Regressor(k, bootstrap="bernoulli").fit(X, X[:, 0]).max_samples_
        assert q == pytest.approx(expected / n)


@pytest.mark.parametrize("scale", [1e-290, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("size", [0.2, "loo"])
def test_scale_of_the_features_does_not_matter(scale, size):
    X, y = regression(60)
    expected = Regressor(max_samples=size).fit(X, y).predict(X[:9] + 0.01)
    found = Regressor(max_samples=size).fit(X * scale, y).predict((X[:9] + 0.01) * scale)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_scale_of_the_targets_does_not_matter(scale):
    X, y = regression(60)
    X = np.round(3 * X)
    plain = Regressor(max_samples="loo").fit(X, y)
    scaled = Regressor(max_samples="loo").fit(X, y * scale)
    assert scaled.max_samples_ == plain.max_samples_
    np.testing.assert_allclose(scaled.predict(X) / scale, plain.predict(X), rtol=1e-9)


def test_distances_that_overflow_are_refused_in_words():
    X, y = regression(60)
    for algorithm in ("auto", "kd_tree", "ball_tree", "brute"):
        model = Regressor(algorithm=algorithm).fit(X, y)
        with pytest.raises(ValueError, match="overflow or are not numbers: rescale X"):
            model.predict(X * 1e300)
    # In the units of these rows the others are infinite.
    with pytest.raises(ValueError, match=r"overflow or are not numbers|contains infinity"):
        Regressor().fit(X * 1e-300, y).predict(X * 1e300)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": 31}, "n_neighbors=31 must be at most n_samples=30"),
        ({"n_neighbors": 6, "max_samples": 5}, "n_neighbors=6 must be at most the number of rows"),
        ({"max_samples": 31}, "max_samples=31 must be at most n_samples=30"),
        ({"max_samples": 31, "bootstrap": "bernoulli"}, "max_samples=31"),
        ({"max_samples": "loo", "n_neighbors": 30}, "max_samples='loo'"),
        ({"max_samples": "loo", "max_samples_grid": [40]}, "max_samples_grid: max_samples=40"),
        ({"max_samples": "loo", "max_samples_grid": []}, "max_samples_grid"),
        ({"max_samples": "loo", "max_samples_grid": [[1]]}, "max_samples_grid"),
        ({"max_samples": "loo", "max_samples_grid": [0.5, 1.5]}, "max_samples_grid"),
        ({"max_samples": "loo", "max_samples_grid": ["a"]}, "max_samples_grid"),
        ({"metric": "haversine", "algorithm": "kd_tree"}, "haversine"),
    ],
)
@pytest.mark.parametrize("cls", [Regressor, Classifier])
def test_bad_combinations_are_named_and_leave_the_estimator_unfitted(cls, params, message):
    X, y = regression(30)
    model = cls(**params)
    with pytest.raises(ValueError, match=message):
        model.fit(X, (y > 0).astype(int))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


def test_more_draws_than_rows_with_replacement():
    X, y = regression(30)
    model = Regressor(max_samples=300, bootstrap=True).fit(X, y)
    assert model.weights_[0] == pytest.approx(1 - (1 - 1 / 30) ** 300)


def test_weights_that_are_cut_leave_their_mass_to_the_mean():
    X, y = regression(100)
    model = Regressor(max_samples=20, weight_tol=1e-2).fit(X, y)
    assert 1e-3 < model.mean_weight_ <= 1e-2
    assert model.mean_weight_ == pytest.approx(1 - model.weights_.sum())
    exact = Regressor(max_samples=20, weight_tol=0).fit(X, y).predict(X)
    assert np.abs(model.predict(X) - exact).max() <= 1e-2 * np.ptp(y)


def test_registry_of_laws_is_what_the_parameter_takes():
    X, y = regression(30)
    constraint = Regressor._parameter_constraints["bootstrap"][1]
    with pytest.raises(ValueError, match="bootstrap must be one of") as caught:
        weights(9, 3, bootstrap="none")
    assert str((False, True, *constraint.options)) in str(caught.value)
    for bootstrap in (True, False):
        expected = Regressor(max_samples=5, bootstrap=bootstrap).fit(X, y)
        found = Regressor(max_samples=5, bootstrap=np.bool_(bootstrap)).fit(X, y)
        np.testing.assert_array_equal(found.weights_, expected.weights_)
