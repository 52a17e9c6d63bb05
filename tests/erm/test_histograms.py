"""Histograms against a loop over the rows, and the parts of a fit in two ways."""

from collections import defaultdict

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import KBinsDiscretizer

from sklearn_ensemble_theory import HistogramClassifier, HistogramRegressor

BOTH = pytest.mark.parametrize("cls", [HistogramClassifier, HistogramRegressor])


def by_loop(X, y, weight, X_new, box, m):
    """{cell: weighted mean of y}, and the predictions for new rows, by dictionaries."""

    def cell_of(x):
        bins = []
        for value, (low, high) in zip(x, box):
            edges = [low * (1 - r / m) + high * (r / m) for r in range(m + 1)]
            r = m - 1
            while r > 0 and value < edges[r]:
                r -= 1
            bins.append(r)
        return tuple(bins)

    cells = defaultdict(list)
    for i, x in enumerate(X):
        cells[cell_of(x)].append(i)
    means = {c: np.average(y[i], weights=weight[i], axis=0) for c, i in cells.items()}
    overall = np.average(y, weights=weight, axis=0)
    return means, np.array([means.get(cell_of(x), overall) for x in X_new])


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    X[:, 2] = np.round(X[:, 2])  # values at the edges of intervals
    return X, rng.standard_normal((150, 2)), rng.uniform(0.1, 2, 150), 2 * rng.random((80, 3)) - 1


@pytest.mark.parametrize("given", [True, False], ids=["box given", "box of the data"])
def test_regression_is_that_of_a_loop(data, given):
    X, y, weight, X_new = data
    box = np.array([(-1, 1), (-2, 2), (-1.5, 2.5)]) if given else np.c_[X.min(0), X.max(0)]
    model = HistogramRegressor(n_bins=4, box=box if given else None).fit(X, y, weight)
    means, expected = by_loop(X, y, weight, X_new, box, 4)
    np.testing.assert_allclose(model.predict(X_new), expected, rtol=1e-12)
    assert list(map(tuple, model.cells_)) == sorted(means)
    np.testing.assert_allclose(model.cell_values_, [means[c] for c in sorted(means)])
    np.testing.assert_allclose(model.mean_, np.average(y, weights=weight, axis=0))
    one = clone(model).fit(X, y[:, 0], weight)
    np.testing.assert_allclose(one.predict(X_new), expected[:, 0], rtol=1e-12)
    assert one.n_outputs_ == 1
    assert model.predict(X_new).shape == (80, 2)


def test_means_of_cells_are_the_best_function_of_the_cell(data):
    """[Shah, eq. (1.1) and (1.2)] for the distribution of the training rows."""
    X, y, weight, _ = data
    z, total = y[:, 0], weight.sum()
    model = HistogramRegressor(3).fit(X, z, weight)
    mean = model.predict(X)
    values = dict(zip(mean.tolist(), np.random.default_rng(1).standard_normal(len(mean))))
    g = np.array([values[value] for value in mean.tolist()])  # another function of the cell
    parts = weight @ (z - mean) ** 2 + weight @ (mean - g) ** 2
    assert weight @ (z - g) ** 2 / total == pytest.approx(parts / total, rel=1e-12)


def test_classification_is_that_of_a_loop(data):
    X, y, weight, X_new = data
    labels = np.digitize(y[:, 0], [-0.5, 0.5])
    one_hot = (labels[:, None] == np.arange(3)).astype(float)
    _, expected = by_loop(X, one_hot, weight, X_new, [(-2, 2)] * 3, 3)
    names = np.array(["a", "b", "c"])
    model = HistogramClassifier(n_bins=3, box=(-2, 2)).fit(X, names[labels], weight)
    np.testing.assert_allclose(model.predict_proba(X_new), expected, rtol=1e-12)
    majority = names[expected.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X_new), majority)
    wrong = model.predict(X) != model.classes_[labels]
    assert model.training_error_ == pytest.approx(np.average(wrong, weights=weight))
    shares = np.bincount(model.apply(X), weight) / weight.sum()
    np.testing.assert_allclose(model.cell_shares_, shares)
    # No labels of the occupied cells have fewer errors.
    for k in range(3):
        assert (model.cell_proba_.max(axis=1) >= model.cell_proba_[:, k]).all()


def test_intervals_are_those_of_k_bins_discretizer(data):
    X = data[0]
    peer = KBinsDiscretizer(7, encode="ordinal", strategy="uniform", dtype=np.float64)
    codes = peer.fit_transform(X)
    model = HistogramRegressor(n_bins=7).fit(X, X[:, 0])
    for j in range(3):
        np.testing.assert_allclose(model.bin_edges_[j], peer.bin_edges_[j])
    np.testing.assert_array_equal(model.cells_[model.apply(X)][:, :2], codes[:, :2])


def test_ties_and_empty_cells():
    """A tie goes to the first class, an empty cell to the most frequent class or the mean."""
    X, y = [[0.1], [0.2], [0.9], [0.9]], ["b", "a", "b", "b"]
    model = HistogramClassifier(n_bins=3, box=(0, 1)).fit(X, y)
    new = [[0.0], [0.5], [1.0], [-5.0], [5.0]]
    assert model.predict(new).tolist() == ["a", "b", "b", "a", "b"]
    np.testing.assert_array_equal(model.apply(new), [0, -1, 1, 0, 1])
    np.testing.assert_allclose(model.predict_proba(new)[1], [0.25, 0.75])
    regressor = HistogramRegressor(n_bins=3, box=(0, 1)).fit(X, [1.0, 3.0, 4.0, 8.0])
    np.testing.assert_allclose(regressor.predict(new), [2, 4, 6, 2, 6])


@pytest.mark.parametrize(
    ("n", "p", "m"),
    [(1000, 2, 10), (1001, 2, 11), (999, 2, 10), (1, 2, 1), (2, 50, 2), (10**4, 1, 100)]
    + [(17, 300, 2), (8, 2, 2), (9, 2, 3), (27, 2, 3), (28, 2, 4)],
)
def test_rate(n, p, m):
    X = np.random.default_rng(0).random((n, p))
    assert HistogramRegressor().fit(X, X[:, 0]).n_bins_ == m


def test_rate_has_the_effective_number_of_rows(data):
    X, y, weight, _ = data
    model = HistogramRegressor().fit(X[:, :1], y, weight)
    n = weight.sum() ** 2 / (weight**2).sum()
    assert model.effective_n_samples_ == pytest.approx(n)
    assert model.n_bins_ == int(np.ceil(n**0.5))
    again = clone(model).fit(X[:, :1], y, 1e-200 * weight)
    np.testing.assert_allclose(again.cell_values_, model.cell_values_)


@BOTH
@pytest.mark.parametrize(
    ("p", "m"), [(3, 4), (5, 1), (2, 300), (70, 3), (40, 4), (31, 4), (25, 300)]
)
def test_numbers_of_cells_in_stages(cls, p, m):
    """3^70 cells exceed 63 bits, and 300^25 do three times: the search has several stages."""
    rng = np.random.default_rng(0)
    numbers = np.repeat(rng.integers(0, m, (40, p)), 2, axis=0)
    numbers[::2, :-2] = numbers[0, :-2]
    model = cls(n_bins=m, box=(0, m)).fit(numbers + 0.5, np.arange(80) % 3)
    cells, cell = np.unique(numbers, axis=0, return_inverse=True)
    np.testing.assert_array_equal(model.cells_, cells)
    np.testing.assert_array_equal(model.apply(numbers + 0.5), cell.ravel())
    new = np.concatenate([cells, rng.integers(0, m, (50, p))])
    known = {tuple(row): i for i, row in enumerate(cells)}
    np.testing.assert_array_equal(
        model.apply(new + 0.5), [known.get(tuple(row), -1) for row in new]
    )


@BOTH
@pytest.mark.parametrize("box", [(-1.0, 1.0), None])
def test_partial_fit_is_one_fit(data, cls, box):
    X, y, weight, X_new = data
    y = (y[:, 0] > 0).astype(int) if cls is HistogramClassifier else y
    X[0], X[1] = X.min(axis=0), X.max(axis=0)  # the first part has the box of all
    once = cls(n_bins=4, box=box).fit(X, y, weight)
    parts = cls(n_bins=4, box=box)
    options = {"classes": [0, 1]} if cls is HistogramClassifier else {}
    for rows in np.split(np.arange(150), [2, 5, 60, 61]):
        parts.partial_fit(X[rows], y[rows], sample_weight=weight[rows], **options)
        options = {}
    np.testing.assert_array_equal(parts.cells_, once.cells_)
    np.testing.assert_allclose(parts.predict(X_new), once.predict(X_new), rtol=1e-12)
    np.testing.assert_allclose(parts.cell_shares_, once.cell_shares_)
    assert parts.n_samples_seen_ == 150
    assert parts.effective_n_samples_ == pytest.approx(once.effective_n_samples_)
    if cls is HistogramClassifier:
        np.testing.assert_allclose(parts.predict_proba(X_new), once.predict_proba(X_new))
        assert parts.training_error_ == pytest.approx(once.training_error_)
    else:
        np.testing.assert_allclose(parts.mean_, once.mean_)


@BOTH
def test_integer_weights_are_repeated_rows(data, cls):
    X, y, _, X_new = data
    y = (y[:, 0] > 0).astype(int) if cls is HistogramClassifier else y
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = cls(n_bins=3).fit(X, y, counts)
    repeated = cls(n_bins=3).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0))
    np.testing.assert_array_equal(weighted.cells_, repeated.cells_)
    np.testing.assert_allclose(weighted.predict(X_new), repeated.predict(X_new), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_extreme_numbers(data, scale):
    X, y, weight, X_new = data
    X, X_new = X / 4, X_new / 4
    y = y / np.abs(y).max()
    plain = HistogramRegressor(n_bins=4).fit(X, y, weight)
    model = HistogramRegressor(n_bins=4).fit(X * scale, y * scale, weight * scale)
    assert len(model.cells_) == len(plain.cells_)
    np.testing.assert_allclose(
        model.predict(X_new * scale) / scale, plain.predict(X_new), rtol=1e-9, atol=1e-12
    )
    many = HistogramClassifier(n_bins=1).fit(X, y[:, 0] > 0, np.full(150, 1.7e308))
    np.testing.assert_allclose(many.class_prior_, [np.mean(y[:, 0] <= 0), np.mean(y[:, 0] > 0)])


def test_constant_features_have_one_interval():
    X, y = np.c_[[0.0, 1.0, 2.0], np.full(3, 0.1)], [1.0, 2.0, 3.0]
    model = HistogramRegressor(n_bins=3).fit(X, y)
    assert model.bin_edges_[1].tolist() == [-np.inf, np.inf, np.inf, np.inf]
    np.testing.assert_array_equal(model.predict([[0, -7.0], [2, 1e300]]), [1, 3])
    one_row = HistogramClassifier(n_bins=5).fit([[1.0, 2.0]], ["x"])
    assert one_row.predict([[-3.0, 8.0]]).tolist() == ["x"]


@BOTH
@pytest.mark.parametrize(
    ("box", "message"),
    [
        ([0, 1, 2], r"box must have the shape \(2,\), or \(3, 2\)"),
        ([[0, 1]] * 2, r"box must have the shape"),
        ((1, 1), "box must have lower ends"),
        ([(0, 1), (0, 1), (2, 1)], "box must have lower ends"),
        ((0, np.inf), "box contains infinity"),
        (("a", "b"), "could not convert|convert"),
    ],
    ids=str,
)
def test_bad_boxes(data, cls, box, message):
    X, y, *_ = data
    with pytest.raises(ValueError, match=message):
        cls(box=box).fit(X, y[:, 0] > 0)


def test_bad_calls_of_partial_fit(data):
    X, y, weight, _ = data
    labels = np.where(y[:, 0] > 0, "yes", "no")
    model = HistogramClassifier(n_bins=2)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, labels)
    with pytest.raises(ValueError, match=r"y has the labels \['yes'\]"):
        model.partial_fit(X, labels, classes=["no", "perhaps"])
    assert not hasattr(model, "classes_")
    model.partial_fit(X, labels, classes=["yes", "no"])
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="must be the same as in the first call"):
        model.partial_fit(X, labels, classes=["a", "b"])
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(X[:, :2], labels)
    with pytest.raises(ValueError, match="sample_weight must not be more than 1e150 times"):
        model.partial_fit(X, labels, sample_weight=1e200 * weight)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    regressor = HistogramRegressor().partial_fit(X, y)
    with pytest.raises(ValueError, match="number of outputs of the first call, 2"):
        regressor.partial_fit(X, y[:, 0])


def test_number_of_all_cells_may_be_huge(data):
    """200 features, 5^200 cells: as many cells are stored as hold rows."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 200))
    model = HistogramClassifier(n_bins=5, box=(0, 1)).fit(X, X[:, 0] > 0.5)
    assert len(model.cells_) == 300
    assert model.cells_.dtype == np.uint8
    assert model.score(X, X[:, 0] > 0.5) == 1.0
    assert (model.apply(rng.random((50, 200))) == -1).all()
    assert model.error_bound() == 1.0  # 5^100 sqrt(2 log 2 / 300) without the bound by 1
    model = HistogramClassifier(n_bins=300, box=(0, 1)).fit(X, X[:, 0] > 0.5)
    assert model.error_bound() == 1.0
