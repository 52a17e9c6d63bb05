"""What members predict for rows that they have not seen, by their one fit and by a loop of fits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, TimeSeriesSplit, cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    BaggedNearestNeighborsClassifier,
    BaggedNearestNeighborsRegressor,
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
)
from sklearn_ensemble_theory.boosting import CVRounds

ROUNDS = CVRounds(max_estimators=60, prediction="mean")


def table(of_classes, n=120):
    X, y = load_iris(return_X_y=True) if of_classes else load_diabetes(return_X_y=True)
    rng = np.random.RandomState(0)
    rows = rng.permutation(len(y))[:n]
    splitter = (StratifiedKFold if of_classes else KFold)(4, shuffle=True, random_state=1)
    X, y = X[rows], y[rows]
    return X, y, list(splitter.split(X, y))


@pytest.mark.parametrize(
    "learner",
    [
        GradientBoostingRegressor(n_estimators=ROUNDS, random_state=0),
        GradientBoostingClassifier(n_estimators=ROUNDS, random_state=0),
        GradientBoostingRegressor(
            n_estimators=ROUNDS, max_leaf_nodes=7, max_depth=None, step="newton", random_state=0
        ),
    ],
)
def test_boosting_predicts_by_the_models_of_the_folds(learner):
    X, y, splits = table(hasattr(learner, "predict_proba"))
    model = clone(learner)
    found = model.__held_out_predictions__(X, y, splits)
    fixed = clone(learner).set_params(n_estimators=model.n_estimators_)
    for train, test in splits:
        fold = clone(fixed).fit(X[train], y[train])
        expected = getattr(fold, "predict_proba", fold.predict)(X[test])
        # Equally good splits are drawn by another generator in the folds.
        is_same = np.isclose(found[test], expected, rtol=1e-9, atol=1e-12)
        assert is_same.mean() > 0.4
        assert np.corrcoef(found[test].ravel(), expected.ravel())[0, 1] > 0.97
    assert repr(model.get_params()) == repr(learner.get_params())
    plain = clone(learner).set_params(n_estimators=clone(ROUNDS).set_params(cv=splits)).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X))


@pytest.mark.parametrize(
    "learner",
    [
        RandomForestRegressor(30, random_state=0),
        RandomForestClassifier(30, random_state=0),
        ExtraTreesRegressor(30, bootstrap=True, random_state=0),
        BaggingRegressor(DecisionTreeRegressor(max_depth=4), n_estimators=30, random_state=0),
        BaggingRegressor(LinearRegression(), n_estimators=30, random_state=0),
        BaggingClassifier(n_estimators=30, random_state=0),
    ],
)
def test_bags_predict_out_of_bag(learner):
    X, y, splits = table(hasattr(learner, "predict_proba"))
    model = clone(learner)
    found = model.__held_out_predictions__(X, y, splits)
    total, count = np.zeros_like(found), np.zeros(len(y))
    for member, rows in zip(model.estimators_, model.estimators_samples_):
        outside = np.setdiff1d(np.arange(len(y)), rows)
        total[outside] += getattr(member, "predict_proba", member.predict)(X[outside])
        count[outside] += 1
    expected = total / count.reshape(-1, *[1] * (found.ndim - 1))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert repr(model.get_params()) == repr(learner.get_params())


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("of_classes", [False, True])
def test_neighbours_leave_out_each_row(of_classes, bootstrap):
    X, y, splits = table(of_classes, n=40)
    kind = BaggedNearestNeighborsClassifier if of_classes else BaggedNearestNeighborsRegressor
    model = kind(max_samples=12, bootstrap=bootstrap)
    found = model.__held_out_predictions__(X, y, splits)
    for i in range(len(y)):
        others = np.delete(np.arange(len(y)), i)
        alone = kind(max_samples=12, bootstrap=bootstrap).fit(X[others], y[others])
        expected = getattr(alone, "predict_proba", alone.predict)(X[[i]])[0]
        np.testing.assert_allclose(found[i], expected, rtol=1e-9)


@pytest.mark.parametrize("learner", [L2BoostingRegressor(), LogitBoostClassifier()])
def test_additive_models_predict_by_the_models_of_the_folds(learner):
    X, y, splits = table(hasattr(learner, "predict_proba"))
    model = clone(learner)
    found = model.__held_out_predictions__(X, y, splits)
    # Bins, rounds and pairs are chosen for all rows: close to fits of the folds, and not equal.
    method = "predict_proba" if hasattr(learner, "predict_proba") else "predict"
    refitted = cross_val_predict(learner, X, y, cv=splits, method=method)
    size = np.abs(refitted - refitted.mean(axis=0)).mean()
    assert np.abs(found - refitted).mean() < 0.4 * size
    inside = getattr(model, method)(X)
    assert np.abs(found - inside).mean() > 0.02 * size
    assert repr(model.get_params()) == repr(learner.get_params())


@pytest.mark.parametrize(
    "learner",
    [
        GradientBoostingRegressor(n_estimators=ROUNDS, random_state=0),
        RandomForestRegressor(50, random_state=0),
        L2BoostingRegressor(),
        BaggedNearestNeighborsRegressor(max_samples="loo"),
    ],
)
def test_noise_is_not_predicted(learner):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))
    found = clone(learner).__held_out_predictions__(X, y, splits)
    assert np.corrcoef(found, y)[0, 1] < 0.15
    assert ((found - y) ** 2).mean() > 0.95 * y.var()


def test_offsets_enter_the_held_out_predictions():
    rng = np.random.RandomState(0)
    X, exposure = rng.normal(size=(400, 3)), rng.choice([0.1, 10.0], 400)
    y = rng.poisson(exposure * np.exp(0.4 * X[:, 0]))
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))
    for learner in (
        GradientBoostingRegressor(loss="poisson", n_estimators=ROUNDS),
        AdditiveBoostingRegressor(loss="poisson"),
    ):
        found = learner.__held_out_predictions__(X, y, splits, offset=np.log(exposure))
        rate = found / exposure
        assert 0.9 < rate.mean() / np.exp(0.4 * X[:, 0]).mean() < 1.1
        assert abs(np.corrcoef(rate, exposure)[0, 1]) < 0.2


@pytest.mark.parametrize(
    ("learner", "why"),
    [
        (GradientBoostingRegressor(n_estimators=5), "a number of rounds has no folds"),
        (ExtraTreesRegressor(5), "every tree sees every row"),
        (BaggedNearestNeighborsRegressor(metric="precomputed"), "distances are of all rows"),
    ],
)
def test_who_cannot_tell_says_so(learner, why):
    X, y, splits = table(False)
    if getattr(learner, "metric", "") == "precomputed":
        X = np.abs(X[:, :1] - X[:, 0])
    assert clone(learner).__held_out_predictions__(X, y, splits) is None, why


@pytest.mark.parametrize(
    "learner",
    [
        GradientBoostingRegressor(n_estimators=ROUNDS, random_state=0),
        GradientBoostingClassifier(n_estimators=ROUNDS, random_state=0),
        L2BoostingRegressor(),
        LogitBoostClassifier(),
    ],
)
def test_rows_that_no_fold_tests_on_are_in_all_fits(learner):
    X, y, splits = table(hasattr(learner, "predict_proba"))
    never = np.arange(0, len(y), 7)
    parts = [
        (np.union1d(train, np.intersect1d(test, never)), np.setdiff1d(test, never))
        for train, test in splits
    ]
    model = clone(learner)
    found = model.__held_out_predictions__(X, y, parts)
    is_known = np.isfinite(found.reshape(len(y), -1)).all(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(~is_known), never)
    method = "predict_proba" if hasattr(learner, "predict_proba") else "predict"
    refitted = np.zeros_like(found)
    for train, test in parts:
        refitted[test] = getattr(clone(learner).fit(X[train], y[train]), method)(X[test])
    size = np.abs(refitted - refitted[is_known].mean(axis=0))[is_known].mean()
    assert np.abs(found - refitted)[is_known].mean() < 0.4 * size
    assert repr(model.get_params()) == repr(learner.get_params())
    getattr(model, method)(X)
    if isinstance(learner.n_estimators, CVRounds):  # for intervals each row has to be in a fold
        model.set_params(n_estimators=CVRounds(cv=parts), held_out="cv")
        assert model.__held_out_predictions__(X, y, parts) is None
        with pytest.raises(ValueError, match="test on each row once"):
            model.fit(X, y)


def test_splits_that_are_no_folds_are_for_fits():
    X, y, _ = table(False)
    splits = list(TimeSeriesSplit(3).split(X))
    learner = GradientBoostingRegressor(n_estimators=ROUNDS)
    assert learner.__held_out_predictions__(X, y, splits) is None
    assert L2BoostingRegressor().__held_out_predictions__(X, y, splits) is None


# --- stacks ---------------------------------------------------------------------------------------


class Counted(RandomForestRegressor):
    """A forest that counts its fits."""

    fits = 0

    def fit(self, *args, **kwargs):
        type(self).fits += 1
        return super().fit(*args, **kwargs)


def test_a_stack_fits_a_forest_once():
    X, y, splits = table(False)
    members = [("forest", Counted(20, random_state=0)), ("linear", LinearRegression())]
    Counted.fits = 0
    stack = StackingRegressor(members, "simplex", cv=splits, reuse_fits=True).fit(X, y)
    assert Counted.fits == 1
    refitted = StackingRegressor(members, "simplex", cv=splits).fit(X, y)
    assert Counted.fits == 1 + 1 + len(splits)
    forest = clone(members[0][1])
    own = forest.__held_out_predictions__(X, y, splits)
    losses = dict(zip(stack.cv_results_["name"], stack.cv_results_["mean_score"]))
    assert losses["forest"] == pytest.approx(((own - y) ** 2).mean())
    assert losses["linear"] == pytest.approx(refitted.cv_results_["mean_score"][1])
    np.testing.assert_allclose(stack.estimators_[0].predict(X), forest.predict(X))


def test_a_stack_of_classes_with_final_estimator_and_sets():
    X, y = load_breast_cancer(return_X_y=True)
    members = [
        ("forest", RandomForestClassifier(40, random_state=0)),
        ("boosting", GradientBoostingClassifier(n_estimators=ROUNDS, random_state=0)),
    ]
    stack = StackingClassifier(members, reuse_fits=True, held_out="cv").fit(X[::2], y[::2])
    assert stack.score(X[1::2], y[1::2]) > 0.93
    assert 0.8 < stack.predict_set(X[1::2])[np.arange(284), y[1::2]].mean() <= 1


def test_rows_that_every_tree_has_seen_are_left_out():
    X, y, _ = table(False)
    members = [("forest", RandomForestRegressor(2, random_state=0)), ("line", LinearRegression())]
    stack = StackingRegressor(members, "simplex", cv=4, reuse_fits=True, held_out="cv").fit(X, y)
    own = clone(members[0][1]).__held_out_predictions__(X, y, [])
    assert 0 < np.isnan(own).sum() < len(y)
    np.testing.assert_array_equal(stack.held_out_.rows, np.flatnonzero(~np.isnan(own)))
    assert np.isfinite(stack.predict(X)).all()


# --- votes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_a_vote_learns_its_weights_from_members_that_are_fitted_once(voting):
    X, y, splits = table(True)
    members = [
        ("forest", RandomForestClassifier(30, random_state=0)),
        ("boosting", GradientBoostingClassifier(n_estimators=ROUNDS, random_state=0)),
        ("neighbors", BaggedNearestNeighborsClassifier(max_samples=12)),
        ("linear", LogisticRegression(max_iter=1000)),
    ]
    labels = np.array(["a", "b", "c"])[y]
    vote = VotingClassifier(
        members, voting=voting, weights="tandem", held_out=splits, reuse_fits=True
    ).fit(X, labels)
    for (name, learner), found in zip(members, vote.held_out_.predictions):
        if name == "linear":
            P = cross_val_predict(learner, X, y, cv=splits, method="predict_proba")
        else:
            P = clone(learner).__held_out_predictions__(X, y, splits)
        np.testing.assert_allclose(found, P if voting == "soft" else P.argmax(axis=1))
    # The weights are those of votes whose members are fitted and predict these values.
    again = clone(vote).set_params(reuse_fits=False).fit(X, labels)
    assert np.abs(vote.weights_ - again.weights_).max() < 0.5
    assert vote.weights_.sum() == pytest.approx(1)
    np.testing.assert_array_equal(vote.estimators_[0].predict(X), again.estimators_[0].predict(X))


def test_a_vote_of_numbers_fits_a_forest_once():
    X, y, splits = table(False)
    members = [("forest", Counted(40, random_state=0)), ("line", LinearRegression())]
    Counted.fits = 0
    vote = VotingRegressor(members, held_out=splits, reuse_fits=True).fit(X, y)
    assert Counted.fits == 1
    own = clone(members[0][1]).__held_out_predictions__(X, y, splits)
    np.testing.assert_allclose(vote.held_out_.predictions[0], own)
    ends = vote.predict_interval(X)
    inside = ((ends[:, 0] <= y) & (y <= ends[:, 1])).mean()
    assert 0.85 < inside <= 1


def test_a_stack_of_labels_that_some_trees_have_all_seen():
    X, y, _ = table(True)
    members = [("forest", RandomForestClassifier(2, random_state=0))]
    stack = StackingClassifier(members, stack_method="predict", reuse_fits=True, cv=4).fit(X, y)
    assert stack.score(X, y) > 0.8
    vote = VotingClassifier(members, held_out=4, reuse_fits=True).fit(X, y)
    assert vote.held_out_.predictions[0].dtype.kind == "i"
    assert 0 < len(vote.held_out_.rows) < len(y)
