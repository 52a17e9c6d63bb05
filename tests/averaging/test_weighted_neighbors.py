"""Bagged nearest neighbours of rows with weights, against repeated rows and explicit draws."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsRegressor, sort_graph_by_row_values

from sklearn_ensemble_theory import AdaBoostClassifier, BaggingRegressor
from sklearn_ensemble_theory import BaggedNearestNeighborsClassifier as Classifier
from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor as Regressor
from sklearn_ensemble_theory.averaging import Bernoulli, _neighbors
from sklearn_ensemble_theory.averaging._neighbor_search import WeightedBlock
from sklearn_ensemble_theory.averaging._neighbor_weights import RANK_LAWS

from .neighbor_data import regression, schemes

ANY_WEIGHT = pytest.mark.parametrize(
    ("size", "k", "bootstrap"), [(7, 1, True), (9, 3, True), (0.3, 1, "bernoulli")]
)


def counts_and_repeats(n, seed=0):
    counts = np.random.default_rng(seed).integers(0, 4, n)
    return counts, np.repeat(np.arange(n), counts)


# --- whole numbers ----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*copies of an earlier row:UserWarning")
@pytest.mark.parametrize("tied", [False, True])
@schemes
def test_whole_numbers_are_repeated_rows(size, k, bootstrap, tied):
    X, y = regression(40)
    if tied:
        X = np.round(2 * X)
    counts, repeated = counts_and_repeats(40)
    queries = np.vstack([regression(15, seed=1)[0], X[:5]])
    for max_samples in (size, "rate", "loo"):
        model = Regressor(k, max_samples=max_samples, bootstrap=bootstrap)
        Y = np.column_stack([y, y**2])
        # Rows with weights are left out with all that they stand for, as groups are.
        expected = model.fit(X[repeated], Y[repeated], groups=repeated).predict(queries)
        path = getattr(model, "cv_results_", None)
        model.fit(X, Y, sample_weight=counts)
        np.testing.assert_allclose(model.predict(queries), expected, rtol=1e-9, atol=1e-11)
        if path is not None:
            np.testing.assert_array_equal(model.cv_results_["max_samples"], path["max_samples"])
            np.testing.assert_allclose(
                model.cv_results_["mean_score"], path["mean_score"], rtol=1e-9
            )


@pytest.mark.filterwarnings("ignore:The leave-one-out error is smallest:UserWarning")
@pytest.mark.parametrize("most", [5, 1000])
def test_rows_that_count_as_several_do_not_predict_themselves(most):
    """Of noise alone no size is better than the mean, whatever the numbers of the rows."""
    X, y = np.random.default_rng(0).standard_normal((2, 200))
    counts = np.random.default_rng(1).integers(1, most, 200)
    model = Regressor(max_samples="loo").fit(X[:, None], y, sample_weight=counts)
    about = np.average((y - np.average(y, weights=counts)) ** 2, weights=counts)
    assert model.cv_results_["mean_score"].min() > 0.9 * about


def test_many_numbers_of_copies_share_their_weights_by_rank(monkeypatch):
    X, y = regression(150)
    counts = np.random.default_rng(1).integers(1, 150, 150)
    model = Regressor(max_samples="loo").fit(X, y, sample_weight=counts)
    found = model.cv_results_["mean_score"]
    monkeypatch.setattr(_neighbors, "MOST_COUNTS", 1000)
    exact = model.fit(X, y, sample_weight=counts).cv_results_["mean_score"]
    assert not np.array_equal(found, exact)
    np.testing.assert_allclose(found, exact, rtol=1e-3)


@pytest.mark.parametrize("form", ["sparse", "precomputed", "graph", "brute"])
def test_every_form_of_X(form):
    X, y = regression(60)
    labels = np.digitize(y, [-0.3, 0.5])
    counts, repeated = counts_and_repeats(60)
    queries = regression(20, seed=1)[0]
    params = {"n_neighbors": 2, "max_samples": 20}
    reference = Classifier(**params).fit(X[repeated], labels[repeated])
    expected = reference.predict_proba(queries)
    if form == "sparse":
        model = Classifier(**params).fit(sp.csr_array(X), labels, counts)
    elif form == "brute":
        model = Classifier(algorithm="brute", **params).fit(X, labels, counts)
    else:
        model = Classifier(metric="precomputed", **params)
        model.fit(pairwise_distances(X), labels, counts)
        queries = pairwise_distances(queries, X)
        if form == "graph":
            queries = sort_graph_by_row_values(sp.csr_matrix(queries), warn_when_not_sorted=False)
    np.testing.assert_array_equal(model.classes_, reference.classes_)
    np.testing.assert_allclose(model.predict_proba(queries), expected, atol=1e-11)


def test_rows_of_weight_zero_and_equal_weights():
    X, y = regression(40)
    queries = regression(15, seed=1)[0]
    weight = np.zeros(40)
    weight[:25] = 1
    for scale in (1.0, 0.3, 1e-300):
        for model in (Regressor(2, max_samples="loo"), Regressor(max_samples=0.4, bootstrap=True)):
            expected = model.fit(X[:25], y[:25]).predict(queries)
            assert model.n_samples_fit_ == 25
            found = model.fit(X, y, sample_weight=scale * weight).predict(queries)
            np.testing.assert_array_equal(found, expected)


def test_a_class_without_weight_is_unknown():
    X, _ = regression(30)
    labels = np.repeat(list("abc"), 10)
    weight = np.repeat([2, 1, 0], 10)
    model = Classifier().fit(X, labels, weight)
    assert model.classes_.tolist() == ["a", "b"]


# --- any weights ------------------------------------------------------------------------------


def expected_by_all_draws(weight, y, size, k, bootstrap):
    """The mean over all draws; the rows are in order of distance."""
    n, total = len(y), 0.0
    p = weight / weight.sum()
    if bootstrap is True:
        for draws in itertools.product(range(n), repeat=size):
            total += np.prod(p[list(draws)]) * np.mean(y[sorted(draws)[:k]])
        return total
    drawn = 1 - (1 - size) ** (weight / weight.mean())
    for members in itertools.product([False, True], repeat=n):
        inside = np.array(members)
        probability = np.prod(np.where(inside, drawn, 1 - drawn))
        total += probability * (y[inside][0] if inside.any() else p @ y)
    return total


@pytest.mark.parametrize(
    ("size", "k", "bootstrap"),
    [(1, 1, True), (4, 1, True), (4, 3, True), (5, 5, True), (0.3, 1, Bernoulli("mean"))],
)
def test_any_weights_are_the_mean_over_all_draws(size, k, bootstrap):
    rng = np.random.default_rng(0)
    X, y = np.arange(5.0)[:, None], rng.standard_normal(5)
    weight = rng.gamma(0.7, size=5) + 0.05
    expected = expected_by_all_draws(weight, y, size, k, bootstrap)
    for factor in (1.0, 1e-200, 1e200):
        model = Regressor(k, max_samples=size, bootstrap=bootstrap)
        model.fit(X, y, sample_weight=factor * weight)
        assert model.predict([[-1.0]])[0] == pytest.approx(expected, abs=1e-12)


@ANY_WEIGHT
def test_any_weights_are_the_mean_over_random_draws(size, k, bootstrap):
    """Within 3 standard errors of 20,000 draws, for several queries."""
    n, replications = 30, 20_000
    X, y = regression(n)
    rng = np.random.default_rng(1)
    weight = rng.gamma(1.0, size=n)
    model = Regressor(k, max_samples=size, bootstrap=bootstrap).fit(X, y, weight)
    if bootstrap is True:
        counts = rng.multinomial(size, weight / weight.sum(), size=replications)
    else:
        drawn = 1 - (1 - size) ** (weight / weight.mean())
        counts = (rng.random((replications, n)) < drawn).astype(int)
    for query in rng.uniform(-1, 1, size=(4, 2)):
        order = np.argsort(np.linalg.norm(X - query, axis=1))
        nearer = np.cumsum(counts[:, order], axis=1) - counts[:, order]
        used = np.clip(k - nearer, 0, counts[:, order])
        values = used @ y[order] / np.maximum(used.sum(axis=1), 1)
        values[used.sum(axis=1) == 0] = weight @ y / weight.sum()
        error = values.std() / np.sqrt(replications)
        assert abs(model.predict([query])[0] - values.mean()) < 3 * error


@pytest.mark.parametrize("k", [1, 3])
def test_bagging_with_the_same_weights_converges_to_it(k):
    X, y = regression(40)
    weight = np.random.default_rng(2).gamma(1.0, size=40)
    queries = regression(30, seed=1)[0]
    limit = Regressor(k, max_samples=15, bootstrap=True).fit(X, y, weight).predict(queries)
    unweighted = Regressor(k, max_samples=15, bootstrap=True).fit(X, y).predict(queries)
    bagging = BaggingRegressor(
        KNeighborsRegressor(k), 150, max_samples=15, bootstrap=True, random_state=0
    )
    found = bagging.fit(X, y, sample_weight=weight).predict(queries)
    assert np.sqrt(np.mean((found - limit) ** 2)) < 0.06
    assert np.sqrt(np.mean((found - unweighted) ** 2)) > 0.09


@ANY_WEIGHT
@pytest.mark.parametrize("tied", [False, True])
def test_leave_one_out_errors_are_those_of_refits(size, k, bootstrap, tied):
    n = 25
    X, y = regression(n)
    if tied:
        X = np.round(2 * X)
    weight = np.random.default_rng(3).gamma(1.0, size=n)
    weight /= weight.mean()
    grid = [size] if bootstrap == "bernoulli" else [k + 1, size, n]
    model = Regressor(k, max_samples=grid, bootstrap=bootstrap)
    model.fit(X, y, sample_weight=weight)
    for size_, error in zip(grid, model.cv_results_["mean_score"]):
        squares = np.zeros(n)
        for i in range(n):
            rest = np.arange(n) != i
            left = size_ if bootstrap == "bernoulli" else max(k, round(size_ * (n - 1) / n))
            if bootstrap == "bernoulli":  # the weights are divided by their mean again
                left = 1 - (1 - size_) ** weight[rest].mean()
            refit = Regressor(k, max_samples=left, bootstrap=bootstrap)
            squares[i] = (refit.fit(X[rest], y[rest], weight[rest]).predict(X[[i]])[0] - y[i]) ** 2
        assert error == pytest.approx(weight @ squares / weight.sum(), rel=1e-9)


@pytest.mark.filterwarnings("ignore:.*copies of an earlier row:UserWarning")
@pytest.mark.parametrize("decimals", [9, 1])
@pytest.mark.parametrize("bootstrap", [True, "bernoulli"])
def test_each_size_uses_the_neighbours_that_have_its_weight(decimals, bootstrap, monkeypatch):
    """A large size needs few of the neighbours that the smallest one needs."""
    n = 300
    X, y = regression(n)
    X = X.round(decimals)
    weight = np.random.default_rng(3).gamma(1.0, size=n)
    law, numbers = RANK_LAWS[bootstrap], []
    share = law.filled_share

    def counted(self, mass, total):
        numbers.append(np.size(mass))
        return share(self, mass, total)

    monkeypatch.setattr(law, "filled_share", counted)
    sizes = [20, 75, 150, 300] if bootstrap is True else [0.1, 0.3, 0.6, 0.9]
    model = Regressor(max_samples=sizes, bootstrap=bootstrap)
    errors = model.fit(X, y, sample_weight=weight).cv_results_["mean_score"]
    n_used = sum(numbers)
    numbers.clear()
    some = WeightedBlock.filled
    monkeypatch.setattr(
        WeightedBlock, "filled", lambda block, share, total, enough: some(block, share, total)
    )
    model.fit(X, y, sample_weight=weight)
    n_all = sum(numbers)
    assert n_used < 0.6 * n_all
    np.testing.assert_allclose(errors, model.cv_results_["mean_score"], rtol=1e-10)


def test_tied_rows_share_by_their_weights():
    X, y = np.zeros((4, 1)), np.array([0.0, 1.0, 2.0, 3.0])
    weight = np.array([0.5, 0.25, 1.5, 1.75])
    model = Regressor(max_samples=3, bootstrap=True).fit(X, y, weight)
    assert model.predict([[1.0]])[0] == pytest.approx(np.average(y, weights=weight), rel=1e-12)
    angles = Regressor(max_samples=3, bootstrap=True, metric="cosine")
    angles.fit(np.arange(1.0, 5.0)[:, None] * [[1.0, 1.0]], y, weight)
    assert angles.predict([[1.0, 0.0]])[0] == pytest.approx(np.average(y, weights=weight))


@pytest.mark.parametrize(("k", "bootstrap"), [(1, False), (3, False), (2, "bernoulli")])
def test_parts_of_rows_that_cannot_be_drawn(k, bootstrap):
    X, y = regression(20)
    weight = np.linspace(0.5, 1.6, 20)
    model = Regressor(k, max_samples=0.5, bootstrap=bootstrap)
    with pytest.raises(ValueError, match=f"sample_weight must be whole.*bootstrap={bootstrap!r}"):
        model.fit(X, y, sample_weight=weight)


def test_members_of_adaboost():
    X, y = regression(60)
    labels = y > np.median(y)
    for member, resample in [
        (Classifier(max_samples=20, bootstrap=True), "auto"),
        (Classifier(max_samples=20), True),
    ]:
        boosted = AdaBoostClassifier(member, n_estimators=3, resample=resample, random_state=0)
        assert boosted.fit(X, labels).score(X, labels) > 0.8
    with pytest.raises(ValueError, match="sample_weight must be whole numbers"):
        AdaBoostClassifier(Classifier(max_samples=20), n_estimators=3).fit(X, labels)


def test_errors_name_the_weights():
    X, y = regression(20)
    for weight, message in [
        (np.zeros(20), "[Ss]ample.weight"),
        (-np.ones(20), "[Nn]egative values"),
        (np.eye(20)[0], "n_neighbors=3 must be at most n_samples=1, as many"),
    ]:
        with pytest.raises(ValueError, match=message):
            Regressor(3, max_samples=5).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="metric='seuclidean' with sample_weight"):
        Regressor(metric="seuclidean").fit(X, y, np.arange(20))
    model = Regressor(metric="precomputed", max_samples=2)
    model.fit(pairwise_distances(X), y, np.arange(20))
    few = sp.csr_matrix((np.arange(1.0, 4.0), [0, 1, 2], [0, 3]), shape=(1, 20))
    with pytest.raises(ValueError, match="only 3 precomputed neighbors"):
        model.predict(few)


@pytest.mark.parametrize("size", [1.0, [1.0]])
def test_a_row_that_is_always_drawn_has_all_of_the_weight(size):
    X, y = regression(40)
    weight = np.random.default_rng(0).uniform(0.1, 1, 40)
    model = Regressor(max_samples=size, bootstrap="bernoulli")
    model.fit(X, y, weight)
    queries = regression(20, seed=1)[0]
    nearest = KNeighborsRegressor(1).fit(X, y)
    np.testing.assert_allclose(model.predict(queries), nearest.predict(queries), rtol=1e-12)
