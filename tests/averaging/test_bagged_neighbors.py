"""Bagged nearest neighbours against explicit resampling, a plain reference and explicit refits."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingRegressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsRegressor, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory import BaggedNearestNeighborsClassifier as Classifier
from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor as Regressor
from sklearn_ensemble_theory import BaggingClassifier as OwnBaggingClassifier
from sklearn_ensemble_theory import BaggingRegressor as OwnBaggingRegressor
from sklearn_ensemble_theory import (
    DivideAndConquerClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn_ensemble_theory.averaging import Bernoulli
from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights as weights
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
    assert Classifier(max_samples="loo").fit(X, pairs).cv_results_["mean_score"].ndim == 1
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
    expected = Regressor(max_samples=[5, 15, 60]).fit(X, y)
    model = Regressor(max_samples=[5, 15, 60], metric="precomputed")
    distances = pairwise_distances(X)
    if graph:
        distances = KNeighborsTransformer(n_neighbors=59, mode="distance").fit_transform(X)
    found = model.fit(distances, y).cv_results_["mean_score"]
    np.testing.assert_allclose(found, expected.cv_results_["mean_score"], rtol=1e-9)


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
        ({"max_samples": [40]}, "cannot be compared: max_samples=40"),
        ({"max_samples": []}, "max_samples must be a number"),
        ({"max_samples": [[1]]}, "max_samples must be a number"),
        ({"max_samples": [0.5, 1.5]}, "max_samples must have"),
        ({"max_samples": ["a"]}, "max_samples must be a number"),
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
    """Neighbours after which the weights sum to 1e-12 are not looked for."""
    X, y = regression(100)
    model = Regressor(max_samples=60).fit(X, y)
    exact = weights(100, 60, weight_tol=0)
    n_ranks = len(model.weights_)
    assert n_ranks < len(exact)
    assert exact[n_ranks:].sum() <= 1e-12 < exact[n_ranks - 1 :].sum()
    assert 0 <= model.mean_weight_ <= 1e-12
    order = np.argsort(pairwise_distances(X), axis=1)[:, : len(exact)]
    np.testing.assert_allclose(model.predict(X), y[order] @ exact, atol=1e-11 * np.ptp(y))


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


# --- draws of no rows, and ties ------------------------------------------------------------------

EMPTY = ["mean", "zero", "redraw"]


def twelve(rng):
    return rng.permutation(12).astype(float)[:, None], np.array(
        [1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 0]
    )


def drawn_again(counts, empty):
    return counts[counts.any(axis=1)] if empty == "redraw" else counts


@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize("k", [1, 2])
def test_draws_of_no_rows_against_simulation(empty, k):
    """[Ghoshdastidar, theorem En.2] has 0; for k = 2 a single row is averaged alone."""
    rng = np.random.default_rng(0)
    X, y = twelve(rng)
    q, at = 0.15, 3.2
    order = np.argsort(np.abs(X[:, 0] - at))
    counts = drawn_again((rng.random((200_000, 12)) < q)[:, order], empty)
    used = counts & (np.cumsum(counts, axis=1) <= k)
    total = used.sum(axis=1)
    means = used @ y[order] / np.maximum(total, 1)
    means[total == 0] = {"mean": y.mean(), "zero": 0.0, "redraw": np.nan}[empty]
    error = 4 * means.std() / np.sqrt(len(means))
    for cls in (Regressor, Classifier):
        model = cls(k, max_samples=q, bootstrap=Bernoulli(empty)).fit(X, y)
        found = model.predict([[at]]) if cls is Regressor else model.predict_proba([[at]])[:, 1]
        assert found == pytest.approx(means.mean(), abs=error)
        total = model.weights_.sum() + model.mean_weight_
        assert total == pytest.approx(1 - (0.85**12 if empty == "zero" else 0))


def test_the_three_predictions_of_no_rows():
    """They are of 12 rows, 5 of them of class 1, drawn with probability .15."""
    y = np.array([1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0])
    X = np.arange(12.0)[:, None]
    base = 0.15 * 0.85 ** np.arange(12) @ y
    none = 0.85**12
    expected = {"mean": base + none * 5 / 12, "zero": base, "redraw": base / (1 - none)}
    assert [round(value, 3) for value in expected.values()] == [0.520, 0.461, 0.537]
    for empty, value in expected.items():
        model = Classifier(max_samples=0.15, bootstrap=Bernoulli(empty)).fit(X, y)
        assert model.predict_proba([[-1.0]])[0, 1] == pytest.approx(value, rel=1e-9)
        assert model.predict([[-1.0]])[0] == int(value > 0.5)  # the convention decides
    model.set_params(bootstrap="bernoulli").fit(X, y)  # draws again
    assert model.predict_proba([[-1.0]])[0, 1] == pytest.approx(expected["redraw"], rel=1e-9)


class NearestRow(BaseEstimator):
    """One nearest neighbour in one column."""

    def fit(self, X, y):
        self.X_, self.y_ = X[:, 0], y
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.y_[np.abs(X - self.X_).argmin(axis=1)]


class NearestRegressor(RegressorMixin, NearestRow):
    pass


class NearestClassifier(ClassifierMixin, NearestRow):
    def predict_proba(self, X):
        return (self.predict(X)[:, None] == self.classes_).astype(float)


@pytest.mark.parametrize("empty", EMPTY)
@pytest.mark.parametrize(
    ("closed", "bagging", "learner"),
    [
        (Regressor, OwnBaggingRegressor, NearestRegressor()),
        (Classifier, OwnBaggingClassifier, NearestClassifier()),
    ],
    ids=["regression", "classification"],
)
def test_draws_of_no_rows_in_bagging(empty, closed, bagging, learner):
    X, y = twelve(np.random.default_rng(0))
    B, draws = 1500, Bernoulli(empty)
    bag = bagging(learner, B, max_samples=0.15, bootstrap=draws, random_state=1).fit(X, y)
    at = np.array([[0.1], [3.2], [11.5]])
    limit = closed(max_samples=0.15, bootstrap=Bernoulli(empty)).fit(X, y)
    if closed is Regressor:
        found, expected = bag.predict(at), limit.predict(at)
    else:
        found, expected = bag.predict_proba(at)[:, 1], limit.predict_proba(at)[:, 1]
    np.testing.assert_allclose(found, expected, atol=3.5 * 0.5 / np.sqrt(B))
    empties = np.array([len(rows) == 0 for rows in bag.estimators_samples_])
    share = 0.0 if empty == "redraw" else 0.85**12
    assert empties.mean() == pytest.approx(share, abs=4 * np.sqrt(share / B))
    constants = [bag.estimators_[i] for i in np.flatnonzero(empties)]
    if empty != "redraw":
        assert {type(m).__name__[:5] for m in constants} == {"Dummy"}
        own = constants[0]
        number = own.predict(at)[0]
        if closed is Classifier and empty == "mean":
            number = own.predict_proba(at)[0, 1]
        assert number == pytest.approx(5 / 12 if empty == "mean" else 0)


def test_draws_of_no_groups_and_what_trees_cannot_do():
    X, y = twelve(np.random.default_rng(0))
    settings = {"max_samples": 0.2, "bootstrap": Bernoulli("zero"), "random_state": 0}
    bag = OwnBaggingRegressor(None, 60, oob_score=True, **settings)
    bag.fit(X, y.astype(float) + 1, groups=np.arange(12) // 3)
    none = np.array([len(rows) == 0 for rows in bag.estimators_samples_])
    assert none.mean() == pytest.approx(0.8**4, abs=0.2)
    assert (bag.predict(X) < 1.9).all()  # about 0.6 of the targets
    assert bag.feature_importances_.tolist() == [1.0]
    assert np.isfinite(bag.standard_error(X)).all()
    with pytest.raises(ValueError, match=r"members that are trees.*use Bernoulli\('redraw'\)"):
        bag.predict_quantiles(X)
    both = np.column_stack([y, 2 * y]).astype(float)
    found = OwnBaggingRegressor(KNeighborsRegressor(1), 20, **settings).fit(X, both).predict(X)
    np.testing.assert_allclose(found[:, 1], 2 * found[:, 0])


@pytest.mark.parametrize("empty", ["zero", "redraw"])
@pytest.mark.parametrize("kind", ["none", "whole", "real"])
@pytest.mark.parametrize("cls", [Regressor, Classifier])
def test_leave_one_out_with_draws_of_no_rows(empty, kind, cls):
    rng = np.random.default_rng(3)
    X, y = twelve(rng)
    w = {"none": None, "whole": rng.integers(1, 4, 12), "real": rng.uniform(0.5, 2, 12)}[kind]
    settings = {"bootstrap": Bernoulli(empty)}
    model = cls(max_samples=[0.1, 0.4], **settings).fit(X, y, w)
    errors = np.zeros(2)
    weight = np.ones(12) if w is None else w / w.mean() if kind == "real" else w
    for i in range(12):
        left = weight.astype(float).copy()
        left[i] = 0.0
        for j, q in enumerate([0.1, 0.4]):
            if kind == "real":
                # In the units of all rows, a row of weight v is drawn with 1 - (1 - q)^v.
                order = np.argsort(np.abs(X[:, 0] - X[i, 0]), kind="stable")
                filled = 1 - (1 - q) ** np.cumsum(left[order])
                part = np.diff(np.concatenate([[0.0], filled]))
                if np.ptp(np.abs(X[:, 0] - X[i, 0])) == 0:
                    continue
                # Rows at equal distance share their weight.
                distance = np.abs(X[order, 0] - X[i, 0])
                p = 0.0
                for d in np.unique(distance):
                    same = distance == d
                    mass = left[order][same]
                    mean = mass @ y[order][same] / mass.sum() if mass.sum() > 0 else 0.0
                    p += part[same].sum() * mean
                if empty == "redraw":
                    p /= filled[-1]
            else:
                kept = left > 0
                one = cls(max_samples=q, **settings).fit(X[kept], y[kept], left[kept])
                at = X[i : i + 1]
                p = one.predict(at)[0] if cls is Regressor else one.predict_proba(at)[0, 1]
            errors[j] += weight[i] * (p - y[i]) ** 2
    factor = 1 if cls is Regressor else 2  # Brier's score has both classes
    np.testing.assert_allclose(
        model.cv_results_["mean_score"], factor * errors / weight.sum(), rtol=1e-9, atol=1e-12
    )


def test_ties_of_bagged_neighbours():
    X, y = np.array([[-1.0], [1.0]]), np.array(["a", "b"])
    labels = [Classifier(max_samples=2, ties=ties).fit(X, y).predict([[0.0]])[0] for ties in TIES]
    assert labels == ["a", "b"]
    both = np.column_stack([y, y[::-1]])
    found = Classifier(max_samples=2, ties="last").fit(X, both).predict([[0.0]])
    assert found.tolist() == [["b", "b"]]


TIES = ["first", "last"]


@pytest.mark.parametrize("ties", TIES)
def test_ties_of_votes(ties):
    """Two constant members, one for each label: of two classes "last" is 1{mean >= 1/2}."""
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["a", "b", "a", "b"])
    last = {"first": "a", "last": "b"}[ties]
    members = [(c, DummyClassifier(strategy="constant", constant=k)) for k, c in enumerate("ab")]
    for voting in ("hard", "soft"):
        vote = VotingClassifier(members, voting=voting, ties=ties).fit(X, y)
        assert vote.predict([[1.5]])[0] == last
    # Seeds with as many bootstrap votes for either class at 1.5.
    tied = 0
    for model in (
        OwnBaggingClassifier(None, 4, voting="hard", ties=ties, random_state=0),
        RandomForestClassifier(4, voting="hard", ties=ties, random_state=0),
        ExtraTreesClassifier(4, voting="hard", ties=ties, random_state=0),
        DivideAndConquerClassifier(n_blocks=2, voting="hard", ties=ties, random_state=0),
    ):
        at = np.linspace(-1, 4, 60)[:, None]
        model.fit(X, y)
        share = model.predict_proba(at)[:, 1]
        expected = np.where(share == 0.5, last, np.where(share > 0.5, "b", "a"))
        np.testing.assert_array_equal(model.predict(at), expected)
        tied += np.sum(share == 0.5)
    assert tied > 0


@pytest.mark.parametrize("q", [1e-300, 1e-17, 1e-10, 1e-6, 1 - 1e-6])
def test_redrawn_samples_of_any_share(q):
    X, y = regression(40, 2)
    labels = (y > np.median(y)).astype(int) + (y > np.quantile(y, 0.8))
    regressor = Regressor(bootstrap="bernoulli", max_samples=q).fit(X, y)
    # A small draw is of one row; a large one is nearly all rows.
    expected = np.full(40, y.mean()) if q < 0.5 else y
    np.testing.assert_allclose(regressor.predict(X), expected, atol=1e-4)
    assert regressor.weights_.sum() + regressor.mean_weight_ == pytest.approx(1, abs=1e-9)
    classifier = Classifier(bootstrap="bernoulli", max_samples=q).fit(X, labels)
    probabilities = classifier.predict_proba(X)
    assert probabilities.min() >= 0
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
