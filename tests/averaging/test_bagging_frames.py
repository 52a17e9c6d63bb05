"""Data frames and missing values in bagging: base learners get them as they are."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_ensemble_theory import BaggingClassifier, BaggingRegressor, GradientBoostingRegressor
from sklearn_ensemble_theory.inspection import ensemble_std

from ..estimators import POLARS_IS_READ


def columns():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 90))
    kind = rng.choice(["x", "y", "z"], 90)
    y = a + (kind == "x") + 0.1 * rng.standard_normal(90)
    b[::7] = np.nan
    return {"a": a.tolist(), "kind": kind.tolist(), "b": b.tolist()}, y


def by_name(final):
    """A pipeline that needs the names of the columns."""
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(sparse_output=False), ["kind"]), (SimpleImputer(), ["a", "b"])
        ),
        final,
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Monte Carlo noise exceeds")
@pytest.mark.parametrize(
    "library",
    [pd, pytest.param(pl, marks=pytest.mark.skipif(not POLARS_IS_READ, reason="polars 2"))],
)
def test_a_pipeline_that_selects_columns_by_name(library):
    data, y = columns()
    frame = library.DataFrame(data)
    groups = np.arange(90) // 2
    bags = [
        BaggingRegressor(by_name(Ridge()), 25, oob_score=True, n_jobs=n_jobs, random_state=0)
        for n_jobs in (1, 2)
    ]
    first, second = (bag.fit(frame, y, groups=groups) for bag in bags)
    np.testing.assert_array_equal(first.predict(frame), second.predict(frame))
    np.testing.assert_allclose(first.oob_prediction_, second.oob_prediction_)
    assert first.oob_score_ > 0.95
    member, rows = first.estimators_[3], first.estimators_samples_[3]
    taken = frame[rows.tolist()] if library is pl else frame.iloc[rows]
    by_hand = by_name(Ridge()).fit(taken, y[rows])
    np.testing.assert_allclose(member.predict(frame), by_hand.predict(frame))
    np.testing.assert_array_equal(first.feature_names_in_, ["a", "kind", "b"])
    points = frame[:4]
    mean = np.mean([m.predict(points) for m in first.estimators_], axis=0)
    np.testing.assert_allclose(first.predict(points), mean)
    spread = np.std([m.predict(points) for m in first.estimators_], axis=0, ddof=1)
    np.testing.assert_allclose(ensemble_std(first, points), spread)
    assert (first.standard_error(points, method="jackknife") > 0).all()
    interval = first.predict_interval(points, 0.8)
    assert (interval[:, 0] < interval[:, 1]).all()


def test_classifiers_and_their_sets():
    data, y = columns()
    frame = pd.DataFrame(data)
    bag = BaggingClassifier(
        by_name(LogisticRegression()), 15, voting="hard", oob_score=True, random_state=0
    ).fit(frame, y > 0)
    assert bag.score(frame, y > 0) > 0.9
    assert bag.predict_set(frame, 0.9).shape == (90, 2)
    assert bag.decision_function(frame).shape == (90,)


@pytest.mark.parametrize("max_features", [2, 3])
def test_numbers_are_those_of_arrays_and_names_those_of_the_columns(max_features):
    data, y = columns()
    X = np.column_stack([data["a"], np.nan_to_num(data["b"]), y**2])
    frame = pd.DataFrame(X, columns=["a", "b", "square"])
    bag = BaggingRegressor(Ridge(), 8, max_features=max_features, random_state=0)
    arrays = bag.fit(X, y)
    expected, error = arrays.predict(X), ensemble_std(arrays, X)
    names = [frame.columns[columns] for columns in arrays.estimators_features_]
    bag.fit(frame, y)
    np.testing.assert_allclose(bag.predict(frame), expected, rtol=1e-12)
    np.testing.assert_allclose(ensemble_std(bag, frame), error, rtol=1e-12)
    for member, own in zip(bag.estimators_, names):
        if max_features == 2:
            np.testing.assert_array_equal(member.feature_names_in_, own)
    # Without names there is one warning, that of the ensemble.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.testing.assert_allclose(bag.predict(X), expected, rtol=1e-12)
        ensemble_std(bag, X)
    assert [str(w.message).count("BaggingRegressor") for w in caught] == [1, 1]
    with pytest.raises(ValueError, match="feature names should match"):
        bag.predict(frame[["b", "a", "square"]])
    # After a fit to arrays the members get arrays.
    with pytest.warns(UserWarning, match="X has feature names") as caught:
        np.testing.assert_allclose(bag.fit(X, y).predict(frame), expected, rtol=1e-12)
    assert len(caught) == 1


def test_columns_drawn_twice_lists_and_sparse_matrices():
    data, y = columns()
    X = np.column_stack([data["a"], y**2])
    frame = pd.DataFrame(X, columns=["a", "square"])
    bag = BaggingRegressor(Ridge(), 6, bootstrap_features=True, random_state=0)
    expected = bag.fit(X, y).predict(X)
    np.testing.assert_array_equal(bag.fit(frame, y).predict(frame), expected)
    np.testing.assert_array_equal(bag.fit(X.tolist(), y.tolist()).predict(X.tolist()), expected)
    matrix = sparse.csr_matrix(X)
    np.testing.assert_allclose(bag.fit(matrix, y).predict(matrix), expected, rtol=1e-3)


def test_warm_start_keeps_what_the_members_were_fitted_to():
    data, y = columns()
    X = np.column_stack([data["a"], y**2])
    frame = pd.DataFrame(X, columns=["a", "square"])
    bag = BaggingRegressor(Ridge(), 3, warm_start=True, random_state=0).fit(X, y)
    bag.set_params(n_estimators=6).fit(frame, y)
    expected = BaggingRegressor(Ridge(), 6, random_state=0).fit(X, y).predict(X)
    np.testing.assert_allclose(bag.predict(frame), expected, rtol=1e-12)


def test_set_output_and_gradient_boosting_share_the_way():
    data, y = columns()
    frame = pd.DataFrame(data)
    X = frame[["a"]].assign(square=y**2)
    scaled = make_pipeline(
        StandardScaler().set_output(transform="pandas"), BaggingRegressor(Ridge(), 4)
    ).fit(X, y)
    np.testing.assert_array_equal(scaled[-1].estimators_[0].feature_names_in_, X.columns)
    boosted = GradientBoostingRegressor(estimator=by_name(Ridge()), n_estimators=3, subsample=0.8)
    assert boosted.fit(frame, y).score(frame, y) > 0
