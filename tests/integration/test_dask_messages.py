"""What is wrong with a chunk is said as in memory: the column, the number of the chunk, a cure."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.linear_model import Ridge

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    BaggingRegressor,
    BallConstrainedClassifier,
    DivideAndConquerRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistogramClassifier,
    L2BoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)

from ..estimators import estimator_classes, make_for_chunks

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N, CHUNK = 60, 20
CHUNKED = [cls for cls in estimator_classes() if getattr(cls, "_fit_chunks", None) is not None]
FORESTS = (BaggingRegressor, RandomForestRegressor, DivideAndConquerRegressor)
every_estimator = pytest.mark.parametrize("cls", CHUNKED, ids=lambda c: c.__name__)


def rows(cls):
    p = 1 if cls.__name__ == "SmoothingSplineRegressor" else 3
    X = np.random.default_rng(0).standard_normal((N, p))
    return X, (X[:, 0] > 0).astype(int) if is_classifier(make_for_chunks(cls)) else X[:, 0].copy()


def chunks(array):
    return da.from_array(array, chunks=(CHUNK, *array.shape[1:]))


def only_in(number, function):
    """A function of chunks that changes the one with this number."""

    def changed(block, block_info=None):
        here = block_info is not None and block_info[0]["chunk-location"][0] == number
        return function(block) if here else block

    return changed


def set_to(value):
    def changed(block):
        block = block.astype(object if isinstance(value, str) else float)
        block[3, 0] = value
        return block

    return changed


def fails(error, text):
    def read(block):
        raise error(text)

    return read


def to_none(block):
    return None


CASES = {
    "dates": (lambda b: b.astype("M8[s]"), "X has dates or times; make numbers.*in chunk 1"),
    "text": (set_to("red"), "Feature 0: could not convert.*'red'; .*in chunk 1"),
    "no chunk": (to_none, "two dimensions in each chunk; got NoneType .in chunk 1"),
    "infinite": (set_to(np.inf), "X contains infinity.*in chunk 1"),
    "damaged file": (
        fails(OSError, "magic bytes"),
        "magic bytes .in chunk 1 of.*not read; compute",
    ),
    "bad line": (fails(ValueError, "line 7"), "line 7 .in chunk 1 of.*could not read; compute"),
}


@every_estimator
@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_with_one_chunk_names_it(cls, case):
    function, message = CASES[case]
    X, y = rows(cls)
    odd = chunks(X).map_blocks(only_in(1, function), dtype=float, meta=np.empty((0, 0)))
    with dask.config.set(scheduler="synchronous"), pytest.raises(Exception, match=message) as found:
        make_for_chunks(cls).fit(odd, chunks(y))
    assert isinstance(found.value, OSError | TypeError | ValueError)


def test_missing_and_infinite_values_name_their_column():
    frame = pd.DataFrame(rows(AdaBoostClassifier)[0], columns=list("abc"))
    y = dd.from_pandas(pd.Series((frame["a"] > 0).astype(int)), npartitions=3)
    for value, cure in ((np.nan, "feature 'b'; impute"), (np.inf, "feature 'b'; replace")):
        frame.loc[30, "b"] = value
        with pytest.raises(ValueError, match=f"{cure}.*in chunk 1"):
            AdaBoostClassifier().fit(dd.from_pandas(frame, npartitions=3), y)


def test_an_error_of_reading_keeps_its_class_and_reads_few_chunks_again():
    X, y = rows(L2BoostingRegressor)
    for error in (FileNotFoundError, KeyError, UnicodeError):
        odd = chunks(X).map_blocks(only_in(2, fails(error, "part.5")), dtype=float)
        with dask.config.set(scheduler="threads"), pytest.raises(error) as found:
            L2BoostingRegressor(5).fit(odd, chunks(y))
        words = [str(found.value), *getattr(found.value, "__notes__", [])]
        assert any("in chunk 2 of the rows" in each for each in words)
        assert isinstance(found.value, error)


def test_errors_of_parameters_read_no_chunk_again():
    X, y = rows(L2BoostingRegressor)
    odd = chunks(X).map_blocks(fails(AssertionError, "was read"), dtype=float, meta=X[:0])
    with pytest.raises(ValueError, match="oob_score"):
        RandomForestRegressor(5, oob_score=True).fit(odd, chunks(y))


@every_estimator
def test_one_number_is_the_weight_of_all_rows(cls):
    X, y = rows(cls)
    with dask.config.set(scheduler="synchronous"):
        found = make_for_chunks(cls).fit(chunks(X), chunks(y), 2.0).predict(X)
        expected = (
            make_for_chunks(cls).fit(chunks(X), chunks(y), chunks(np.full(N, 2.0))).predict(X)
        )
        np.testing.assert_array_equal(found, expected)
        for wrong in (-1.0, 0.0, np.nan, np.inf):
            with pytest.raises(ValueError, match=r"weight"):
                make_for_chunks(cls).fit(chunks(X), chunks(y), wrong)


@pytest.mark.parametrize("given", ["w", {0: 1.0}, None.__class__, da.ones(())], ids=str)
def test_weights_that_are_no_numbers_of_rows(given):
    X, y = rows(L2BoostingRegressor)
    with pytest.raises(ValueError, match="sample_weight must have a value for each row of X; got"):
        L2BoostingRegressor(5).fit(chunks(X), chunks(y), given)


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("make_sparse", [sp.csr_matrix, sp.csc_array])
def test_bagging_and_forests_take_sparse_chunks(cls, make_sparse):
    X, y = rows(cls)
    X = np.where(np.abs(X) < 0.8, 0.0, X)
    lazy = chunks(X)
    sparse = lazy.map_blocks(make_sparse, dtype=float, meta=make_sparse((0, 0)))
    # scikit-learn's trees break ties of a sparse X in another way than those of a dense one.
    learner = {"estimator": Ridge()} if cls is DivideAndConquerRegressor else {}
    model = make_for_chunks(cls, **learner).fit(sparse, chunks(y))
    expected = make_for_chunks(cls, **learner).fit(lazy, chunks(y)).predict(X)
    np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.predict(sparse).compute(), expected, rtol=0, atol=1e-12)


def test_sparse_chunks_have_a_cure_elsewhere():
    X, y = rows(L2BoostingRegressor)
    sparse = chunks(X).map_blocks(sp.csr_matrix, dtype=float)
    message = "sparse chunk.*toarray.*in chunk"
    with pytest.raises(TypeError, match=message):
        L2BoostingRegressor(5).fit(sparse, chunks(y))
    dense = sparse.map_blocks(lambda chunk: chunk.toarray(), dtype=sparse.dtype)
    assert L2BoostingRegressor(5).fit(dense, chunks(y)).score(X, y) > 0.5
    with pytest.raises(ValueError, match=r"sparse multilabel.*toarray.*in chunk"):
        L2BoostingRegressor(5).fit(
            chunks(X), chunks(y[:, None]).map_blocks(sp.csr_matrix, dtype=float)
        )


@pytest.mark.parametrize(
    "cls",
    [
        AdaBoostClassifier,
        BallConstrainedClassifier,
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistogramClassifier,
        LogitBoostClassifier,
    ],
)
def test_numbers_in_one_chunk_and_strings_in_another_are_no_labels(cls):
    X, y = rows(cls)
    mixed = chunks(y).map_blocks(only_in(1, lambda b: b.astype(str)), dtype=object)
    with pytest.raises(ValueError, match=r"both strings and numbers as labels.*cast y"):
        make_for_chunks(cls).fit(chunks(X), mixed)


OTHERS = {
    "a series": (lambda X: dd.from_pandas(pd.Series(X[:, 0]), npartitions=3), "X.to_frame()"),
    "a vector": (lambda X: chunks(X[:, 0]), r"shape .60,.; use X\[:, None\]"),
    "a bag": (
        lambda X: pytest.importorskip("dask.bag").from_sequence(X.tolist(), npartitions=3),
        "got a Bag of Dask. Make one by",
    ),
    "delayed": (lambda X: dask.delayed(X), "got a Delayed.* of Dask. Make one by"),
    "lists": (lambda X: X.tolist(), "got list. Make one by dask.array.from_array"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_table_says_how_to_make_one(kind):
    make_odd, message = OTHERS[kind]
    X, y = rows(L2BoostingRegressor)
    with pytest.raises((TypeError, ValueError), match=message):
        L2BoostingRegressor(5).fit(make_odd(X), chunks(y))


def test_targets_in_memory_beside_chunks_of_unknown_lengths():
    X, y = rows(L2BoostingRegressor)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)
    with pytest.raises(TypeError, match=r"lengths of the chunks of X are not known.*lengths=True"):
        L2BoostingRegressor(5).fit(frame, y)
    model = L2BoostingRegressor(5).fit(frame.to_dask_array(lengths=True), y)
    assert model.score(X, y) > 0.5


BAD_LABELS = {
    "label": (lambda y, w: y.__setitem__(33, np.nan), "y.* NaN"),
    "none": (lambda y, w: y.__setitem__(33, None), "missing values"),
    "mixed": (lambda y, w: y.__setitem__(33, 5), "both strings and numbers"),
    "weight": (lambda y, w: w.__setitem__(33, np.nan), "sample_weight contains NaN"),
    "infinite": (lambda y, w: w.__setitem__(33, np.inf), "sample_weight contains infinity"),
    "negative": (lambda y, w: w.__setitem__(33, -1.0), "[Nn]egative values"),
    "text": (lambda y, w: w.__setitem__(33, "heavy"), "sample_weight must have a number"),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_weights_of_classes_are_asked_for_after_the_checks_of_a_chunk(case):
    """Their sums over all chunks come before the other checks."""
    X = np.random.default_rng(0).standard_normal((N, 2))
    labels, weight = np.array(["a", "b"] * (N // 2), dtype=object), np.ones(N)
    weight = weight.astype(object) if case == "text" else weight
    change, text = BAD_LABELS[case]
    change(labels, weight)
    model = HistGradientBoostingClassifier(max_iter=1, class_weight="balanced")
    with pytest.raises((TypeError, ValueError), match=f"{text}.*in chunk 1 of the rows"):
        model.fit(chunks(X), chunks(labels), chunks(weight))
    assert not hasattr(model, "classes_")


def test_no_warning_of_many_classes_in_small_chunks():
    """Twenty classes of 600 rows are few, and more than half of the rows of a chunk."""
    rng = np.random.default_rng(0)
    X, y = rng.random((600, 3)), rng.integers(0, 20, 600)
    X, y = da.from_array(X, chunks=(25, 3)), da.from_array(y, chunks=25)
    forest = RandomForestClassifier(2, bootstrap="poisson", random_state=0)
    boosting = HistGradientBoostingClassifier(max_iter=1)
    for model in (
        forest,
        boosting,
        AdaBoostClassifier(n_estimators=1),
        LogitBoostClassifier(n_estimators=1),
        VotingClassifier([("boosting", boosting)]),
        HistogramClassifier(n_bins=2),
    ):
        with warnings.catch_warnings(), dask.config.set(scheduler="synchronous"):
            warnings.simplefilter("error", UserWarning)
            model.fit(X, y)
        assert len(model.classes_) == 20
