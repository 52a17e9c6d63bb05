"""Divide and conquer on Dask collections: the members of the same blocks in memory."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import DivideAndConquerClassifier, DivideAndConquerRegressor

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")

# Chunks without some classes or categories are meant.
pytestmark = pytest.mark.filterwarnings("ignore:The chunks are no random samples")

CHUNKS = {"even": (50,) * 6, "uneven": (1, 0, 40, 200, 59)}
WEIGHTINGS = ["size", "uniform", "risk"]


def data(seed=0, n=300):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, y, rng.integers(0, 4, n).astype(float)


def lazily(chunks, *arrays):
    return [a if a is None else da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in arrays]


def in_blocks(monkeypatch, model, chunks, X, y, weight=None):
    """The fit in memory to blocks that are the chunks."""
    block = np.repeat(np.arange(len(chunks)), chunks)
    kept = np.full(len(y), True) if weight is None else weight > 0
    number = np.unique(block[kept], return_inverse=True)[1]
    block = np.full(len(y), -1)
    block[kept] = number
    with monkeypatch.context() as patch:
        patch.setattr(type(model), "_number_of_blocks", lambda *args: int(block.max()) + 1)
        patch.setattr(type(model), "_cut", lambda *args: block)
        return model.fit(X, y, weight)


def check_same(model, expected, X):
    assert model.n_blocks_ == expected.n_blocks_ == len(model.estimators_)
    assert not hasattr(model, "blocks_")
    for name in ("block_weights_", "block_risks_"):
        assert hasattr(model, name) == hasattr(expected, name)
        if hasattr(model, name):
            np.testing.assert_allclose(getattr(model, name), getattr(expected, name), rtol=1e-10)
    for one, other in zip(model.estimators_, expected.estimators_):
        np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-10)


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("weighted", [False, True])
def test_regressor_in_memory(monkeypatch, chunks, weighting, weighted):
    X, y, weight = data()
    weight = weight if weighted else None
    tree = DecisionTreeRegressor(max_features=1, max_depth=4)  # with randomness of its own
    model = DivideAndConquerRegressor(tree, weighting=weighting, random_state=3)
    expected = in_blocks(monkeypatch, model.set_params(n_blocks="rate"), chunks, X, y, weight)
    expected = pickle.loads(pickle.dumps(expected))
    lazy = lazily(chunks, X, y, weight)
    check_same(model.fit(*lazy), expected, X)
    np.testing.assert_allclose(model.predict(lazy[0]).compute(), expected.predict(X), atol=1e-10)


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_classifier_in_memory_with_classes_missing_in_chunks(
    monkeypatch, chunks, weighting, voting
):
    X, y, weight = data(1)
    labels = np.array(["low", "medium", "top"])[np.digitize(y, [-1, 1])]
    labels[:45][labels[:45] == "medium"] = "low"
    labels[-59:][labels[-59:] == "low"] = "top"
    model = DivideAndConquerClassifier(
        DecisionTreeClassifier(max_depth=3, max_features=1),
        weighting=weighting,
        voting=voting,
        random_state=0,
    )
    expected = pickle.loads(pickle.dumps(in_blocks(monkeypatch, model, chunks, X, labels, weight)))
    X_lazy, y_lazy, weight_lazy = lazily(chunks, X, labels, weight)
    model.fit(X_lazy, y_lazy, weight_lazy)
    assert model.classes_.tolist() == ["low", "medium", "top"]
    assert [len(one.classes_) for one in model.estimators_] == [
        len(one.classes_) for one in expected.estimators_
    ]
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba, expected.predict_proba(X), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    np.testing.assert_array_equal(model.predict(X_lazy).compute(), expected.predict(X))


def test_equal_chunks_are_the_consecutive_blocks_in_memory():
    X, y, _ = data()
    model = DivideAndConquerRegressor(
        KernelRidge(kernel="rbf"), 6, shuffle=False, random_state=0, weighting="risk"
    )
    expected = pickle.loads(pickle.dumps(model.fit(X, y)))
    check_same(model.fit(*lazily(CHUNKS["even"], X, y)), expected, X)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_blocks_of_one_class_and_of_weight_zero(scheduler):
    X, y, _ = data()
    labels = (y > 0).astype(int)
    labels[:50] = 7  # a class of one chunk only, whose learner rejects it
    weight = np.ones(300)
    weight[50:100] = 0
    with dask.config.set(scheduler=scheduler):
        model = DivideAndConquerClassifier(SVC(), 5)
        model.fit(*lazily(CHUNKS["even"], X, labels, weight))
        assert model.classes_.tolist() == [0, 1, 7]
        assert (model.estimators_[0].predict(X) == 2).all()
        np.testing.assert_allclose(model.predict_proba(X)[:, 2], 0.2)


def test_data_frames_and_several_targets():
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=list("abc"))
    lazy = dd.from_pandas(frame, npartitions=3)
    model = DivideAndConquerRegressor(Ridge(), weighting="risk")
    model.fit(lazy, dd.from_pandas(pd.Series(y), npartitions=3))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    lengths = tuple(lazy.map_partitions(len).compute())
    again = DivideAndConquerRegressor(Ridge(), weighting="risk").fit(*lazily(lengths, X, y))
    np.testing.assert_allclose(model.predict(lazy).compute(), again.predict(X), atol=1e-12)
    both = np.column_stack([y, 2 * y])
    model.fit(*lazily(CHUNKS["even"], X, both))
    assert model.n_outputs_ == 2
    np.testing.assert_allclose(model.predict(X)[:, 1], 2 * model.predict(X)[:, 0])


def test_names_of_what_is_refused():
    X, y, weight = data()
    lazy = lazily(CHUNKS["even"], X, y)
    with pytest.raises(ValueError, match="n_blocks=7"):
        DivideAndConquerRegressor(n_blocks=7).fit(*lazy)
    with pytest.raises(ValueError, match="n_blocks=4"):
        DivideAndConquerRegressor(n_blocks=4).fit(*lazy)
    with pytest.raises(ValueError, match="stratify=True"):
        DivideAndConquerRegressor(stratify=True).fit(*lazy)
    with pytest.raises(TypeError, match="groups"):
        DivideAndConquerRegressor().fit(*lazy, groups=np.arange(300))
    with pytest.raises(ValueError, match="doesn't support sample_weight"):
        DivideAndConquerRegressor(KNeighborsRegressor()).fit(*lazy, da.from_array(weight, 50))
    with pytest.raises(ValueError, match="sample_weight must be positive"):
        DivideAndConquerRegressor().fit(*lazy, da.zeros(300, chunks=50))
    with pytest.raises(ValueError, match="in chunk"):
        DivideAndConquerClassifier(LogisticRegression()).fit(*lazy)


def test_a_fit_replaces_the_attributes_of_an_earlier_one():
    X, y, _ = data()
    model = DivideAndConquerRegressor(n_blocks=6, weighting="risk").fit(X, y)
    model.set_params(weighting="size").fit(*lazily(CHUNKS["even"], X, y))
    assert not hasattr(model, "blocks_")
    assert not hasattr(model, "block_risks_")
