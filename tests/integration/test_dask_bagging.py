"""Bagging and forests on Dask collections: members of one chunk each."""

import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    DivideAndConquerClassifier,
    DivideAndConquerRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    L2BoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    export,
)
from sklearn_ensemble_theory.averaging import MovingBlock
from sklearn_ensemble_theory.inspection import (
    ensemble_std,
    impute,
    kneighbors,
    mdi_plus_importances,
    oob_permutation_importances,
    proximity,
    shrink,
    training_weights,
    unbiased_feature_importances,
    variance_decomposition,
)
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from ..surroundings import fitted_categories

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")

# Chunks without some classes or categories are meant.
pytestmark = pytest.mark.filterwarnings("ignore:The chunks are no random samples")

UNEVEN = (1, 0, 40, 200, 59)
REGRESSORS = [BaggingRegressor, RandomForestRegressor, ExtraTreesRegressor]
CLASSIFIERS = [BaggingClassifier, RandomForestClassifier, ExtraTreesClassifier]


def data(seed=0, n=300):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, y, rng.integers(0, 4, n).astype(float)


def lazily(chunks, *arrays):
    return [a if a is None else da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in arrays]


def check_same(model, expected, X):
    """To the last bit."""
    assert len(model.estimators_) == len(expected.estimators_)
    np.testing.assert_array_equal(model.ensemble_.seeds, expected.ensemble_.seeds)
    for one, other in zip(model.estimators_features_, expected.estimators_features_):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(model.estimators_, expected.estimators_):
        if hasattr(one, "tree_"):
            np.testing.assert_array_equal(one.tree_.threshold, other.tree_.threshold)
            np.testing.assert_array_equal(one.tree_.value, other.tree_.value)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    if hasattr(expected.estimators_[0], "feature_importances_"):
        np.testing.assert_array_equal(model.feature_importances_, expected.feature_importances_)


@pytest.mark.parametrize("kind", REGRESSORS + CLASSIFIERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chunks", [(300,), (0, 300, 0)])
def test_one_chunk_is_the_fit_in_memory(kind, weighted, chunks):
    X, y, weight = data()
    y = np.array(["low", "top"])[(y > 0).astype(int)] if kind in CLASSIFIERS else y
    weight = weight if weighted else None
    model = kind(n_estimators=4, bootstrap=True, random_state=1)
    expected = kind(n_estimators=4, bootstrap=True, random_state=1).fit(X, y, weight)
    check_same(model.fit(*lazily(chunks, X, y, weight)), expected, X)


@pytest.mark.parametrize(
    "options",
    [
        {"bootstrap": "bernoulli", "max_samples": 0.5},
        {"bootstrap": "poisson"},
        {"bootstrap": "bayesian"},
        {"bootstrap": "stratified"},
        {"bootstrap": MovingBlock(5)},
        {"bootstrap": False, "max_samples": 40},
        {"bootstrap": "disjoint"},
        {"max_bins": 16},
        {"class_weight": "balanced"},
        {"class_weight": "balanced_subsample"},
        {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}},
        {"min_samples_leaf": 0.05},
    ],
)
def test_schemes_and_parameters(options):
    X, y, _ = data()
    y = np.digitize(y, [-1, 1])
    model = RandomForestClassifier(3, random_state=1, **options)
    expected = RandomForestClassifier(3, random_state=1, **options).fit(X, y)
    check_same(model.fit(*lazily((300,), X, y)), expected, X)
    y[:45][y[:45] == 1] = 0  # a class that the first chunks lack
    model.fit(*lazily((40, 200, 60), X, y))
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict_proba(X).shape == (300, 3)


@pytest.mark.parametrize("options", [{"max_features": 2}, {"bootstrap_features": True}])
@pytest.mark.parametrize("learner", [None, make_pipeline(StandardScaler(), LogisticRegression())])
def test_features_and_learners(options, learner):
    X, y, _ = data()
    y = (y > 0).astype(int)
    model = BaggingClassifier(learner, 5, random_state=0, **options)
    expected = BaggingClassifier(learner, 5, random_state=0, **options).fit(X, y)
    check_same(model.fit(*lazily((300,), X, y)), expected, X)


@pytest.mark.parametrize("kind", [BaggingRegressor, RandomForestRegressor])
def test_member_b_is_drawn_from_chunk_b_modulo_their_number(kind):
    """Each of the members is one that a fit in memory to its chunk has for its seed."""
    X, y, weight = data()
    weight[:1], weight[1:41] = 1, 0  # the third chunk has no rows of positive weight
    model = kind(n_estimators=8, random_state=5).fit(*lazily(UNEVEN, X, y, weight))
    chunks = [slice(0, 1), slice(41, 241), slice(241, 300)]
    for b in range(8):
        rows = chunks[b % 3]
        alone = kind(n_estimators=8, random_state=5).fit(X[rows], y[rows], weight[rows])
        expected = alone.estimators_[b]
        np.testing.assert_array_equal(model.estimators_[b].predict(X), expected.predict(X))


def test_same_model_whatever_the_scheduler_and_lazy_predictions():
    X, y, weight = data()
    labels = np.array(["low", "medium", "top"])[np.digitize(y, [-1, 1])]
    labels[:41][labels[:41] == "low"] = "top"
    lazy = lazily(UNEVEN, X, labels, weight)
    models = []
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            models.append(RandomForestClassifier(9, random_state=0).fit(*lazy))
    check_same(*models, X)
    model = models[0]
    assert model.classes_.tolist() == ["low", "medium", "top"]
    assert len(model.estimators_[1].classes_) == 2
    proba = model.predict_proba(lazy[0])
    assert isinstance(proba, da.Array)
    np.testing.assert_allclose(proba.compute(), model.predict_proba(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(lazy[0]).compute(), model.predict(X))
    check_same(pickle.loads(pickle.dumps(model)), model, X)
    np.testing.assert_array_equal(export.sklearn(model).predict(X), model.predict(X))


def test_several_outputs_of_classes():
    X, y, _ = data()
    both = np.column_stack([np.digitize(y, [-1, 1]), (X[:, 2] > 0) + 5])
    both[:60, 0] = 2
    model = RandomForestClassifier(6, random_state=0).fit(*lazily((60, 120, 120), X, both))
    assert [labels.tolist() for labels in model.classes_] == [[0, 1, 2], [5, 6]]
    assert (model.predict(X) == both).mean() > 0.85
    alone = RandomForestClassifier(6, random_state=0).fit(X[60:180], both[60:180])
    for one, other in zip(
        model.estimators_[1].predict_proba(X), alone.estimators_[1].predict_proba(X)
    ):
        np.testing.assert_array_equal(one, other)


def test_error_on_chunks_of_random_rows_is_near_that_in_memory():
    X, y, _ = data(n=4000)
    X_test, y_test, _ = data(1, 2000)
    options = {"n_estimators": 40, "min_samples_leaf": 3, "random_state": 0}
    whole = RandomForestRegressor(**options).fit(X, y)
    cut = RandomForestRegressor(**options).fit(*lazily((500,) * 8, X, y))
    errors = [np.mean((model.predict(X_test) - y_test) ** 2) for model in (whole, cut)]
    assert 0.09 < errors[0] < errors[1] < 1.15 * errors[0]


def test_bins_are_chosen_by_the_largest_chunk(monkeypatch):
    monkeypatch.setattr("sklearn_ensemble_theory.averaging._bags.AUTO_ROWS", 150)
    X, y, _ = data()
    model = RandomForestRegressor(6, random_state=0).fit(*lazily((100, 200), X, y))
    assert len({type(member) for member in model.estimators_}) == 1
    whole = RandomForestRegressor(6, random_state=0).fit(X, y)
    assert type(model.estimators_[0]) is type(whole.estimators_[0])
    assert np.isfinite(model.predict(X)).all()


def test_data_frames_with_names_for_the_members():
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=list("abc"))
    lazy, y_lazy = dd.from_pandas(frame, npartitions=1), dd.from_pandas(pd.Series(y), npartitions=1)
    model = BaggingRegressor(make_pipeline(StandardScaler(), Ridge()), 3, random_state=0)
    expected = pickle.loads(pickle.dumps(model.fit(frame, y)))
    model.fit(lazy, y_lazy)
    assert model.estimators_[0].feature_names_in_.tolist() == ["a", "b", "c"]
    # The order in memory of a data frame's columns, and so of sums, is Dask's.
    np.testing.assert_allclose(model.predict(frame), expected.predict(frame), rtol=1e-10)
    np.testing.assert_allclose(model.predict(lazy).compute(), expected.predict(frame))


def test_what_is_refused_before_the_rows_are_read():
    def unread(block):
        raise AssertionError("rows were read")

    X, y, _ = data()
    lazy, y_lazy = lazily((100,) * 3, X, y)
    lazy = lazy.map_blocks(unread, dtype=float, meta=X[:0])
    for options in ({"oob_score": True}, {"warm_start": True}, {"n_estimators": "pac"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            BaggingRegressor(**options).fit(lazy, y_lazy)
    with pytest.raises(TypeError, match="groups"):
        BaggingRegressor().fit(lazy, y_lazy, groups=np.arange(300))


def test_errors_in_a_chunk_name_it_and_leave_the_model():
    X, y, _ = data()
    lazy = lazily(UNEVEN, X, y)
    model = BaggingRegressor(max_samples=50, bootstrap=False, random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match=r"max_samples=50 .*in chunk"):
        model.fit(*lazy)
    np.testing.assert_array_equal(model.predict(X), before)
    assert len(model.estimators_samples_) == 10
    with pytest.raises(ValueError, match="sample_weight must be positive"):
        model.fit(*lazy, da.zeros(300, chunks=(UNEVEN,)))


def test_fewer_members_than_chunks():
    X, y, _ = data()
    with pytest.warns(UserWarning, match="n_estimators=2 .* rows of 2 chunks") as found:
        model = BaggingRegressor(n_estimators=2).fit(*lazily(UNEVEN, X, y))
    assert found[0].filename == __file__
    assert len(model.estimators_) == 2


@pytest.mark.parametrize(
    "method",
    [
        *("standard_error", "predict_interval", "predict_quantiles"),
        *(variance_decomposition, training_weights, proximity, kneighbors, impute),
    ],
    ids=lambda method: getattr(method, "__name__", method),
)
def test_methods_that_need_the_training_rows(method):
    X, y, _ = data()
    model = RandomForestRegressor(6, random_state=0).fit(X, y)
    model.fit(*lazily((150, 150), X, y))
    arguments = ([0.5],) if method == "predict_quantiles" else ()
    with pytest.raises(ValueError, match="Dask collections"):
        (partial(method, model) if callable(method) else getattr(model, method))(X, *arguments)
    assert not hasattr(model, "estimators_samples_")
    assert ensemble_std(model, X).shape == (300,)
    with pytest.raises(ValueError, match="Dask collections"):
        model.set_params(warm_start=True, n_estimators=8).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(warm_start=False).fit(X, y)
    assert len(model.estimators_samples_) == 8


def test_prediction_sets_and_importances_of_training_rows():
    X, y, _ = data()
    model = RandomForestClassifier(6, random_state=0)
    model.fit(*lazily((150, 150), X, (y > 0).astype(int)))
    with pytest.raises(ValueError, match="Dask collections"):
        model.predict_set(X)
    with pytest.raises(ValueError, match="Dask collections"):
        oob_permutation_importances(model)
    with pytest.raises(ValueError, match="Dask collections"):
        mdi_plus_importances(model)
    with pytest.raises(ValueError, match="Dask collections"):
        shrink(model, "cv")
    # A given parameter needs no rows.
    shrunk = shrink(model, 1e12)
    assert np.ptp(shrunk.predict_proba(X)[:, 0]) < 1e-6 < np.ptp(model.predict_proba(X)[:, 0])
    with pytest.raises(AttributeError, match="Dask collections"):
        unbiased_feature_importances(model)


# --- categories ------------------------------------------------------------------------------


def kinds(n=300, by_dtype=True):
    """A column of text, whose last label is in the last rows only, one of numbers, and targets."""
    rng = np.random.default_rng(3)
    labels = np.array([*"abcdefgh"])[rng.integers(0, 8, n)]
    labels[-5:] = "z"
    X = pd.DataFrame({"kind": labels, "x": rng.standard_normal(n)})
    X["kind"] = X["kind"].astype("category" if by_dtype else object)
    return X, pd.Series(X["x"].to_numpy() + 3.0 * np.isin(labels, [*"adg"]) > 1.0).astype(int)


def models_of_categories(given):
    tree = BinnedTreeRegressor(min_samples_leaf=3, **given)
    classifier = BinnedTreeClassifier(min_samples_leaf=3, **given)
    return [
        RandomForestRegressor(6, random_state=0, **given),
        ExtraTreesClassifier(6, random_state=0, **given),
        BaggingRegressor(tree, n_estimators=6, random_state=0),
        BaggingClassifier(classifier, n_estimators=6, random_state=0),
        DivideAndConquerRegressor(tree, shuffle=False),
        DivideAndConquerClassifier(classifier, shuffle=False, stratify=False, weighting="size"),
    ]


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("by_dtype", [True, False])
def test_one_chunk_with_categories_is_a_fit_in_memory(number, by_dtype):
    X, y = kinds(by_dtype=by_dtype)
    given = {} if by_dtype else {"categorical_features": ["kind"]}
    model, expected = (models_of_categories(given)[number] for _ in range(2))
    if hasattr(model, "n_blocks"):
        expected.set_params(n_blocks=1)
    expected.fit(X, y)
    model.fit(dd.from_pandas(X, npartitions=1), dd.from_pandas(y, npartitions=1))
    new = X.iloc[:40].assign(kind=pd.Series(["q", *[*"abc"] * 13], index=X.index[:40]))
    for rows in (X, new):
        np.testing.assert_array_equal(model.predict(rows), expected.predict(rows))
    assert (
        fitted_categories(model)[0].tolist()
        == fitted_categories(expected)[0].tolist()
        == [*"abcdefghz"]
    )
    lazy = model.predict(dd.from_pandas(X, npartitions=2))
    np.testing.assert_array_equal(lazy.compute(), expected.predict(X))


@pytest.mark.parametrize("number", range(6))
def test_chunks_have_the_same_numbers_of_categories(number):
    """Members of a chunk that has only some of the categories know the numbers of all."""
    X, y = kinds()
    X, y = X.sort_values("kind"), y.loc[X.sort_values("kind").index]
    y.iloc[::7] = 1 - y.iloc[::7]  # both classes in each chunk
    X, y = X.reset_index(drop=True), y.reset_index(drop=True)
    model = models_of_categories({})[number]
    lazy = dd.from_pandas(X, npartitions=3), dd.from_pandas(y, npartitions=3)
    model.fit(*lazy)
    assert fitted_categories(model)[0].tolist() == [*"abcdefghz"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if hasattr(model, "n_blocks"):
        sizes = [len(part) for part in lazy[0].partitions]
        starts = np.cumsum([0, *sizes])
        encoded = np.column_stack([X["kind"].cat.codes, X["x"]]).astype(float)
        tree = clone(model.estimator).set_params(categorical_features=[0])
        for b, member in enumerate(model.estimators_):
            part = slice(starts[b], starts[b + 1])
            alone = clone(tree).fit(encoded[part], y[part])
            np.testing.assert_array_equal(member.predict(encoded), alone.predict(encoded))
    # Nothing of the encoder is left after a fit to numbers.
    model.fit(lazy[0].assign(kind=1.0), lazy[1])
    assert fitted_categories(model) == [None, None]


CATEGORICAL = [
    RandomForestRegressor(2, random_state=0),
    HistGradientBoostingRegressor(max_iter=2),
    L2BoostingRegressor(n_estimators=3),
]


@pytest.mark.parametrize("model", CATEGORICAL)
def test_lazy_predictions_for_categories_that_dask_has_not_read(model):
    """Dask makes up text for them, and numbers for objects in arrays."""
    X = pd.DataFrame({"x": np.arange(40.0), "code": np.arange(40) % 4, "kind": [*"abcd"] * 10})
    y = X["code"] % 2 + X["x"] / 40
    as_categories = X.astype({"code": "category", "kind": "category"})
    lazy = dd.from_pandas(X, npartitions=2).astype({"code": "category", "kind": "category"})
    fitted = clone(model).set_params(categorical_features="from_dtype").fit(as_categories, y)
    np.testing.assert_array_equal(fitted.predict(lazy).compute(), fitted.predict(as_categories))
    rows = X.to_numpy(dtype=object)
    fitted = clone(model).set_params(categorical_features=[1, 2]).fit(rows, y)
    lazy = da.from_array(rows, chunks=(20, 3))
    np.testing.assert_array_equal(fitted.predict(lazy).compute(), fitted.predict(rows))
