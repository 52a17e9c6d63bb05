"""Missing values in ensembles of given learners: boosted votes, AdaBoost.R2, votes and stacks.

A tree that tries missing values on both sides of every cut has the splits of each column with a
constant above its values in their place, and of the column with one below: a model on both
columns without missing values is the reference.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from .estimators import (
    POLARS_IS_READ,
    TREES_TRY_BOTH_SIDES,
    boosted_votes,
    make,
)

VOTES = [cls for cls in boosted_votes() if hasattr(cls, "staged_decision_function")]
TREES = [BinnedTreeClassifier(max_depth=2), DecisionTreeClassifier(max_depth=2)]
VALUES = [BinnedTreeRegressor(max_depth=2), DecisionTreeRegressor(max_depth=2)]


@pytest.fixture(scope="module")
def data():
    """Rows with missing values, more of them where the value is large; classes and real targets."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    score = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.standard_normal(len(X))
    X[(rng.random(X.shape) < 0.1) | (rng.random(X.shape) < 0.2 * X)] = np.nan
    return X, (score > 0.8).astype(int), score


def without_missing(X):
    """Each column with a constant above its values, and with one below."""
    return np.column_stack([np.where(np.isnan(X), constant, X) for constant in (9.0, -9.0)])


def cases():
    for cls in VOTES:
        for tree in TREES:
            yield make(cls, estimator=tree)
    for variant, learners in (("real", TREES), ("gentle", VALUES)):
        for learner in learners:
            yield make(AdaBoostClassifier, estimator=learner, variant=variant)
    for learner in (None, *VALUES):
        yield make(AdaBoostRegressor, estimator=learner)


@pytest.mark.parametrize("model", cases(), ids=str)
def test_as_constants_beyond_the_values_on_either_side(data, model):
    has_our_tree = type(model.estimator).__module__.startswith("sklearn_ensemble_theory.")
    if not has_our_tree and not TREES_TRY_BOTH_SIDES:
        pytest.skip("scikit-learn's trees leave out some of the splits")
    X, classes, score = data
    y = classes if is_classifier(model) else score
    weight = np.random.default_rng(1).uniform(0.5, 1.5, len(y))  # no two splits are equally good
    assert get_tags(model).input_tags.allow_nan
    method = "decision_function" if is_classifier(model) else "predict"
    filled = without_missing(X)
    expected = getattr(model.fit(filled, y, weight), method)(filled)
    found = getattr(model.fit(X, y, weight), method)(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert len(np.unique(found)) > 1
    # Every method; also rows whose missing values are in columns that had none.
    for rows in (X, np.where(np.arange(3) == 2, np.nan, filled[:, :3])):
        np.testing.assert_allclose(
            list(getattr(model, f"staged_{method}")(rows))[-1], getattr(model, method)(rows)
        )
        assert np.isfinite(model.score(rows, y))
        assert list(model.staged_score(rows, y))[-1] == pytest.approx(model.score(rows, y))
    if hasattr(model, "margins"):
        assert np.abs(model.margins(X, classes)).max() <= 1
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
        assert list(model.staged_predict_proba(X))[-1] == pytest.approx(model.predict_proba(X))


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_votes_of_rows_with_missing_values_are_those_of_the_members(data, tree):
    X, classes, _ = data
    model = AdaBoostClassifier(tree, n_estimators=20).fit(np.nan_to_num(X), classes)
    votes = [np.where(member.predict(X) == 1, 1.0, -1.0) for member in model.estimators_]
    alphas = model.estimator_weights_
    np.testing.assert_allclose(model.decision_function(X), 2 * alphas @ votes / alphas.sum())
    assert model.error_bound(X, classes, method="vc", vc_dimension=10) > 1 - model.score(X, classes)


@pytest.mark.parametrize("model", [make(cls, estimator=TREES[0]) for cls in VOTES], ids=str)
def test_several_classes_and_rows_held_out(data, model):
    X, _, score = data
    if "n_iter_no_change" in model.get_params():
        model.set_params(n_iter_no_change=2)
    y = np.digitize(score, [0.3, 1.2])
    assert model.fit(X, y).decision_function(X).shape == (len(X), 3)
    assert model.score(X, y) > 0.6


def frames(X):
    frame = pd.DataFrame(X, columns=list("abc"))
    found = [frame, frame.convert_dtypes()]
    if POLARS_IS_READ:
        found.append(pl.DataFrame({name: frame[name].tolist() for name in frame}).fill_nan(None))
    return found


@pytest.mark.parametrize(
    "model",
    [
        *(make(cls, estimator=TREES[0]) for cls in VOTES),
        make(AdaBoostRegressor),
        make(AdaBoostClassifier, estimator=make_pipeline(SimpleImputer(), GaussianNB())),
        make(AdaBoostClassifier, estimator=HistGradientBoostingClassifier(max_iter=2)),
        StackingRegressor(
            [("a", VALUES[0])], HistGradientBoostingRegressor(max_iter=2), passthrough=True
        ),
    ],
    ids=str,
)
def test_data_frames_with_missing_values(data, model):
    X, classes, score = data
    y = classes if is_classifier(model) else score
    expected = model.fit(X, y).predict(X)
    for frame in frames(X):
        np.testing.assert_allclose(model.fit(frame, y).predict(frame), expected)


# What is refused


@pytest.mark.parametrize("cls", [*VOTES, AdaBoostRegressor, GradientBoostingClassifier])
def test_learners_that_take_none_are_named(data, cls):
    X, classes, _ = data
    learner, cure = GaussianNB(), "GaussianNB"
    if cls is AdaBoostRegressor or cls is GradientBoostingClassifier:
        learner, cure = LinearRegression(), "LinearRegression"
    model = make(cls, estimator=learner)
    assert not get_tags(model).input_tags.allow_nan
    with pytest.raises(ValueError, match=f"NaN(.|\n)*{cure}"):
        model.fit(X, classes)
    model.fit(np.nan_to_num(X), classes)
    with pytest.raises(ValueError, match=f"NaN(.|\n)*{cure}"):
        model.predict(X)


@pytest.mark.parametrize("cls", VOTES)
def test_exact_stumps_take_none(data, cls):
    X, classes, _ = data
    model = make(cls)
    assert not get_tags(model).input_tags.allow_nan
    match = "not accepted by DecisionStumpClassifier. Use .*BinnedTreeClassifier.*SimpleImputer"
    with pytest.raises(ValueError, match=match):
        model.fit(X, classes)
    model.fit(np.nan_to_num(X), classes)
    with pytest.raises(ValueError, match=match):
        model.predict(X)


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_infinite_values_are_refused_and_missing_ones_of_sparse_matrices(data, tree):
    """Binned trees take these."""
    X, classes, _ = data
    model = AdaBoostClassifier(tree, n_estimators=3, random_state=0)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X > 1, np.inf, X), classes)
    model.fit(X, classes)
    far = model.predict(np.where(X > 1, 1e39, X))  # beyond single precision
    np.testing.assert_array_equal(far, model.predict(np.where(X > 1, 1e9, X)))
    rows, expected = sparse.csr_matrix(X), model.predict(X)
    if isinstance(tree, BinnedTreeClassifier):
        np.testing.assert_array_equal(model.predict(rows), expected)
        np.testing.assert_array_equal(model.fit(rows, classes).predict(X), expected)
        return
    for method in (lambda: model.predict(rows), lambda: model.fit(rows, classes)):
        with pytest.raises(ValueError, match=r"NaN.* not accepted in a sparse X"):
            method()


# Votes and stacks


@pytest.mark.parametrize(
    ("ensemble", "of_classes"),
    [
        (VotingClassifier, True),
        (StackingClassifier, True),
        (VotingRegressor, False),
        (StackingRegressor, False),
    ],
)
def test_votes_and_stacks_where_all_members_do(data, ensemble, of_classes):
    X, classes, score = data
    hist = HistGradientBoostingClassifier if of_classes else HistGradientBoostingRegressor
    members = list(zip("abc", [*(TREES if of_classes else VALUES), hist(max_iter=2)]))
    y = classes if of_classes else score
    model = ensemble(members)
    assert get_tags(model).input_tags.allow_nan
    assert model.fit(X, y).score(X, y) > 0.2
    linear = LogisticRegression() if of_classes else LinearRegression()
    model = ensemble([*members, ("d", linear)])
    assert not get_tags(model).input_tags.allow_nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, y)
    if "passthrough" in model.get_params():  # X goes to the final estimator too
        model = ensemble(members, passthrough=True)
        assert not get_tags(model).input_tags.allow_nan
        model = ensemble(members, hist(max_iter=2), passthrough=True)
        assert get_tags(model).input_tags.allow_nan
        assert np.isfinite(model.fit(X, y).score(X, y))


@parametrize_with_checks(
    [make(cls, estimator=TREES[0]) for cls in VOTES]
    + [make(AdaBoostRegressor, estimator=VALUES[0])]
)
def test_scikit_learn_checks(estimator, check):
    # Real weights decide ties of binned trees.
    if "sample_weight_equivalence" not in check.func.__name__:
        check(estimator)
