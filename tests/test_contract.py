"""The contract of every public estimator: what a user of scikit-learn may rely on."""

import pickle
import re
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils._param_validation import generate_invalid_param_val, make_constraint
from sklearn.utils.estimator_checks import check_estimator, check_param_validation
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory import DivideAndConquerRegressor

from .estimators import (
    POLARS_IS_READ,
    checked_estimators,
    defective_checks,
    estimator_classes,
    expected_failed_checks,
    make,
    target_for,
)

PACKAGE = "sklearn_ensemble_theory"
CLASSES = estimator_classes()
every_estimator = pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)


@pytest.fixture
def data():
    """60 rows, 4 features, a binary and a real target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.standard_normal(60)
    return X, (score > np.median(score)).astype(int), score


def fitted(cls, data, **params):
    X, y_classes, y_real = data
    estimator = make(cls, **params)
    return estimator.fit(X, target_for(estimator, y_classes, y_real))


@pytest.mark.parametrize("estimator", checked_estimators(), ids=lambda e: type(e).__name__)
def test_check_estimator(estimator):
    """As a user calls it. What fails may fail for scikit-learn's own class of the name."""
    defects = defective_checks(estimator)
    expected = expected_failed_checks(estimator) | defects
    results = check_estimator(estimator, expected_failed_checks=expected, on_skip=None)
    run = {result["check_name"] for result in results}
    failed = {result["check_name"] for result in results if result["status"] == "xfail"}
    # The page names all exceptions, and no other.
    page = (Path(__file__).parents[1] / "docs" / "scikit_learn_tests.md").read_text("utf-8")
    rows = re.findall(r"^\| `(check_\w+)` \| (.+) \|$", page, re.MULTILINE)
    named = {check for check, classes in rows if f"`{type(estimator).__name__}`" in classes}
    assert failed - set(defects) == named & run


@every_estimator
def test_names_of_parameters_belong_to_each_class(cls):
    """They may be read once a class; what a subclass does with them stays with it."""

    class Subclass(cls):
        def __init__(self, extra=1):
            self.extra = extra

    names = cls._get_param_names()
    cls._get_param_names().clear()
    assert cls._get_param_names() == names
    assert Subclass._get_param_names() == ["extra"]


@every_estimator
def test_param_validation(cls):
    check_param_validation(cls.__name__, make(cls))


@every_estimator
def test_is_classifier_or_regressor(cls):
    estimator = make(cls)
    assert is_classifier(estimator) != is_regressor(estimator)


@every_estimator
def test_bad_parameter_leaves_the_estimator_unfitted(cls, data):
    X, y_classes, y_real = data
    reference = make(cls)
    y = target_for(reference, y_classes, y_real)
    for name, constraints in cls._parameter_constraints.items():
        if constraints == "no_validation":
            continue
        bad_values = [object()]
        for constraint in constraints:
            try:
                bad_values.append(generate_invalid_param_val(make_constraint(constraint)))
            except NotImplementedError:
                continue
        for value in bad_values:
            estimator = clone(reference).set_params(**{name: value})
            with pytest.raises((ValueError, TypeError), match=name):
                estimator.fit(X, y)
            with pytest.raises(NotFittedError):
                check_is_fitted(estimator)


@every_estimator
@pytest.mark.parametrize("frame", [False, True])
def test_bad_data_leaves_the_estimator_unfitted(cls, data, frame):
    X, y_classes, y_real = data
    estimator = make(cls)
    y = target_for(estimator, y_classes, y_real)
    if frame:
        X = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimator.fit(X, y[:-1])
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)
    with pytest.raises(NotFittedError):
        estimator.predict(X)


@every_estimator
def test_pipeline_grid_search_and_cross_validation(cls, data):
    X, y_classes, y_real = data
    estimator = make(cls)
    y = target_for(estimator, y_classes, y_real)
    pipeline = make_pipeline(StandardScaler(), estimator)
    step = pipeline.steps[-1][0]
    name, values = next(
        (name, values)
        for name, values in [
            ("n_estimators", [2, 3]),
            ("n_neighbors", [1, 3]),
            ("n_blocks", [2, 3]),
            ("max_samples", [5, 10]),
            ("max_bins", [8, 16]),
            ("n_bins", [2, 3]),
            ("bandwidth", [0.5, 1.0]),
            ("df", [3.0, 5.0]),
            ("time", [1.0, 2.0]),
            ("n_starts", [1, 2]),
            ("cv", [2, 3]),
            ("weights", [[1, 2], [2, 1]]),
            ("radius", [0.5, 1.0]),
            ("fit_intercept", [False, True]),
        ]
        if name in estimator.get_params(deep=False)
    )
    search = GridSearchCV(pipeline, {f"{step}__{name}": values}, cv=3).fit(X, y)
    assert search.best_params_[f"{step}__{name}"] in values
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.isfinite(cross_val_score(pipeline, X, y, cv=3)).all()


@every_estimator
def test_clone_pickle_and_skops(cls, data):
    import skops.io

    X, *_ = data
    estimator = fitted(cls, data)
    expected = estimator.predict(X)
    with pytest.raises(NotFittedError):
        check_is_fitted(clone(estimator))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(estimator)).predict(X), expected)
    dumped = skops.io.dumps(estimator)
    trusted = skops.io.get_untrusted_types(data=dumped)
    # A user has to trust the package's own classes and two of scikit-learn's, nothing of NumPy,
    # SciPy or Python, and nothing that is not importable by name (a lambda, a local function).
    foreign = {name for name in trusted if not name.startswith(f"{PACKAGE}.")}
    assert foreign <= {"sklearn.tree._tree.Tree", "sklearn.utils._bunch.Bunch"}, trusted
    restored = skops.io.loads(dumped, trusted=trusted)
    np.testing.assert_array_equal(restored.predict(X), expected)


@every_estimator
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_and_feature_names(cls, data, library):
    X, y_classes, y_real = data
    if library == "polars" and not POLARS_IS_READ:
        pytest.skip("this scikit-learn does not see the column names of this polars")
    names = ["age", "bmi", "pressure", "sugar"]
    make_frame = {
        "pandas": lambda A, cols: pd.DataFrame(A, columns=cols),
        "polars": lambda A, cols: pl.DataFrame(A, schema=cols),
    }[library]
    estimator = make(cls)
    y = target_for(estimator, y_classes, y_real)
    frame = make_frame(X, names)
    from_frame = estimator.fit(frame, y)
    np.testing.assert_array_equal(from_frame.feature_names_in_, names)
    np.testing.assert_array_equal(from_frame.predict(frame), fitted(cls, data).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        from_frame.predict(make_frame(X, names[::-1]))


@every_estimator
def test_float32_read_only_and_memory_mapped(cls, data, tmp_path):
    X, y_classes, y_real = data
    X = X.astype(np.float32)  # so that both precisions hold the same numbers
    estimator = make(cls)
    y = target_for(estimator, y_classes, y_real)
    expected = clone(estimator).fit(X.astype(float), y).predict(X.astype(float))
    in_single = clone(estimator).fit(X, y).predict(X)
    if is_classifier(estimator):
        np.testing.assert_array_equal(in_single, expected)
    else:
        np.testing.assert_allclose(in_single, expected, rtol=1e-4, atol=1e-4)
    expected = clone(estimator).fit(X, y).predict(X)
    read_only = X.copy()
    read_only.setflags(write=False)
    np.testing.assert_array_equal(clone(estimator).fit(read_only, y).predict(read_only), expected)
    joblib.dump((X, y), tmp_path / "data")
    X_map, y_map = joblib.load(tmp_path / "data", mmap_mode="r")
    np.testing.assert_array_equal(clone(estimator).fit(X_map, y_map).predict(X_map), expected)
    del X_map, y_map  # Windows cannot remove a mapped file


@every_estimator
def test_one_row_predict_equals_its_row_in_a_batch(cls, data):
    X, *_ = data
    estimator = fitted(cls, data)
    one_by_one = np.concatenate([estimator.predict(X[i : i + 1]) for i in range(5)])
    batch = estimator.predict(X)[:5]
    if is_classifier(estimator):
        np.testing.assert_array_equal(one_by_one, batch)
    else:
        np.testing.assert_allclose(one_by_one, batch, rtol=1e-10, atol=1e-12)


@every_estimator
def test_single_feature(cls, data):
    X, y_classes, y_real = data
    estimator = make(cls)
    y = target_for(estimator, y_classes, y_real)
    prediction = estimator.fit(X[:, :1], y).predict(X[:, :1])
    assert prediction.shape == y.shape


@every_estimator
def test_constant_target(cls, data):
    X, *_ = data
    estimator = make(cls)
    if is_classifier(estimator):
        y = np.full(len(X), "only")
        try:
            estimator.fit(X, y)
        except ValueError as error:
            assert "class" in str(error)  # refused, by naming the property of the data
            return
        np.testing.assert_array_equal(estimator.predict(X), y)
    else:
        y = np.full(len(X), 3.25)
        np.testing.assert_allclose(estimator.fit(X, y).predict(X), y, rtol=1e-9)


@every_estimator
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array])
def test_sparse_input_is_taken_or_refused(cls, data, container):
    X, y_classes, y_real = data
    estimator = make(cls)
    if cls is DivideAndConquerRegressor:  # full trees on 20 rows have many ties
        estimator.set_params(estimator=DecisionTreeRegressor(min_samples_leaf=5))
    # The sums of such targets are exact in any order, so that equally good splits of trees tie.
    y = target_for(estimator, y_classes, np.round(8 * y_real) / 8)
    thin = np.where(np.abs(X) > 0.5, X, 0.0)
    try:
        sparse = clone(estimator).fit(container(thin), y).predict(container(thin))
    except TypeError as error:
        assert "parse" in str(error)
        assert not get_tags(estimator).input_tags.sparse
        return
    dense = clone(estimator).fit(thin, y).predict(thin)
    if is_classifier(estimator):
        np.testing.assert_array_equal(sparse, dense)
    else:
        # scikit-learn's sparse and dense trees may break a tie between two splits differently.
        assert np.mean(np.isclose(sparse, dense, rtol=1e-7, atol=1e-9)) > 0.9
        np.testing.assert_allclose(sparse, dense, atol=0.1)


@every_estimator
@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "c"], [-1, 1], [7, 30, 400]], ids=str)
def test_any_labels(cls, data, labels):
    estimator = make(cls)
    if not is_classifier(estimator):
        return
    X, _, score = data
    codes = np.searchsorted(np.quantile(score, np.linspace(0, 1, len(labels) + 1)[1:-1]), score)
    y = np.asarray(labels)[codes]
    if len(labels) > 2 and not get_tags(estimator).classifier_tags.multi_class:
        with pytest.raises(ValueError, match=r"[Oo]nly binary classification"):
            estimator.fit(X, y)
        return
    estimator.fit(X, y)
    np.testing.assert_array_equal(estimator.classes_, np.unique(y))
    assert estimator.score(X, y) > 1.2 / len(labels)
    if hasattr(estimator, "predict_proba"):
        proba = estimator.predict_proba(X)
        assert proba.shape == (len(X), len(labels))
        np.testing.assert_allclose(proba.sum(axis=1), 1)


@every_estimator
def test_same_seed_same_model_for_any_n_jobs(cls, data):
    if "n_jobs" not in make(cls).get_params(deep=False):
        return
    X, *_ = data
    one, two = fitted(cls, data, n_jobs=1), fitted(cls, data, n_jobs=2)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    if hasattr(one, "predict_proba"):
        np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@every_estimator
def test_huge_and_tiny_numbers_warn_nobody(cls, data):
    """1e150 squares to infinity, 1e-150 to nothing: right or refused in words, no NumPy warning."""
    X, y_classes, y_real = data
    estimator = make(cls)
    y = target_for(estimator, y_classes, y_real)
    for scale in (1e-150, 1e150):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            # It says that the optimum was not reached.
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                prediction = clone(estimator).fit(X * scale, y).predict(X * scale)
            except ValueError as error:
                assert str(error)
                continue
        if is_regressor(estimator):
            assert np.isfinite(prediction).all()
