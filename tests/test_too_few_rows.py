"""One rule for intervals and sets of too few rows: all that is possible, with one warning."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
    uncertainty,
)

N = 40
rng = np.random.default_rng(0)
X = rng.random((N, 2))
Y = X[:, 0] + 0.3 * rng.standard_normal(N)
LABELS = (Y > 0.5).astype(int)
BY_FOLDS = {"n_estimators": "cv", "held_out": "cv", "interactions": 0}

REGRESSORS = [
    AdditiveBoostingRegressor(loss="huber", **BY_FOLDS),
    BaggingRegressor(n_estimators=60, random_state=0),
    ExtraTreesRegressor(60, bootstrap=True, random_state=0),
    GradientBoostingRegressor(n_estimators=3, held_out=4),
    L2BoostingRegressor(**BY_FOLDS),
    RandomForestRegressor(60, random_state=0),
    StackingRegressor([("ridge", Ridge())], held_out="cv"),
    VotingRegressor([("ridge", Ridge())], held_out=4),
]
CLASSIFIERS = [
    BaggingClassifier(n_estimators=60, random_state=0),
    GradientBoostingClassifier(n_estimators=3, held_out=4),
    LogitBoostClassifier(**BY_FOLDS),
    RandomForestClassifier(60, random_state=0),
    StackingClassifier([("linear", LogisticRegression())], held_out="cv"),
    VotingClassifier([("linear", LogisticRegression())], voting="soft", held_out=4),
]


def named(model):
    return type(model).__name__


def asked(ask):
    """What it returns, and the messages of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ask()
    return found, [(each.category, str(each.message)) for each in caught]


@pytest.mark.parametrize("side", ["both", "lower", "upper"])
@pytest.mark.parametrize("model", REGRESSORS, ids=named)
def test_intervals_are_infinite_with_one_warning(model, side):
    model = make_pipeline(StandardScaler(), model).fit(X, Y)
    # 40 rows are enough for a coverage of 40/41.
    enough, told = asked(lambda: uncertainty.predict_interval(model, X[:3], 0.97, side=side))
    assert np.isfinite(enough).sum() == (6 if side == "both" else 3)
    assert told == []
    found, told = asked(lambda: uncertainty.predict_interval(model, X[:3], 0.98, side=side))
    np.testing.assert_array_equal(found, [[-np.inf, np.inf]] * 3)
    ((category, message),) = told
    assert category is UserWarning
    assert message == (
        "coverage=0.98 needs at least 49 held-out rows, and there are 40: the intervals are "
        "infinite."
    )


@pytest.mark.parametrize("method", ["lac", "aps", "raps"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=named)
def test_sets_have_all_classes_with_one_warning(model, method):
    model.fit(X, LABELS)
    found, told = asked(lambda: model.predict_set(X, 0.98, method=method))
    assert found.all()
    ((category, message),) = told
    assert category is UserWarning
    assert message.endswith("49 held-out rows, and there are 40: the sets have all classes.")
    n_first = np.count_nonzero(LABELS == 0)
    found, told = asked(lambda: model.predict_set(X, 0.96, method=method, per_class=True))
    assert found.all()
    ((_, message),) = told
    assert f"24 held-out rows, and there are {n_first}: 2 of 2 classes" in message
    assert asked(lambda: model.predict_set(X, 0.98, method=method, randomized=True))[1] == []


@pytest.mark.parametrize("model", CLASSIFIERS, ids=named)
def test_sets_that_would_be_empty_get_the_likeliest_class(model):
    model.fit(X, LABELS)
    coverage = 0.3  # below the accuracy
    sets = model.predict_set(X, coverage)
    full = model.predict_set(X, coverage, empty=False)
    is_empty = ~sets.any(axis=1)
    assert is_empty.any()
    np.testing.assert_array_equal(full[~is_empty], sets[~is_empty])
    assert (full[is_empty].sum(axis=1) == 1).all()
    # By one model, that of `predict`; the models of folds may differ where it is unsure.
    probability = model.predict_proba(X)
    is_sure = np.abs(probability[:, 0] - 0.5) > (0.1 if "Boost" in named(model) else 1e-9)
    rows = is_empty & is_sure
    assert rows.any()
    np.testing.assert_array_equal(full[rows].argmax(axis=1), probability[rows].argmax(axis=1))
    through = uncertainty.predict_set(make_pipeline(model), X, coverage, empty=False)
    np.testing.assert_array_equal(through, full)
    for wrong in (None, 1, "no"):
        with pytest.raises(ValueError, match="empty must be True or False"):
            model.predict_set(X, empty=wrong)


@pytest.mark.parametrize("side", ["both", "lower", "upper"])
@pytest.mark.parametrize(("loss", "high"), [("poisson", np.inf), ("binomial", 1.0)])
def test_ends_of_too_few_rows_are_values_that_a_target_can_have(loss, high, side):
    expected = [-np.inf if side == "upper" else 0.0, np.inf if side == "lower" else high]
    for model in (
        GradientBoostingRegressor(loss=loss, n_estimators=2, held_out=2),
        AdditiveBoostingRegressor(loss=loss, **BY_FOLDS),
    ):
        model.fit(X[:8], LABELS[:8])
        with pytest.warns(UserWarning, match="have all values that a target can have"):
            ends = model.predict_interval(X[:3], 0.95, side=side)
        np.testing.assert_allclose(ends, [expected] * 3, atol=1e-12)
