"""Stacking: the drop-in parts that go beyond scikit-learn's, and the learned weights in fits."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import StackingRegressor as ScikitStackingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_ensemble_theory import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn_ensemble_theory.bounds import cross_validation_oracle_bound
from sklearn_ensemble_theory.combining import BestMember, GreedySelection, WeightedMean
from sklearn_ensemble_theory.combining._member_weights import SHORTHANDS

RULES = ["nnls", "simplex", "l1", "l2", "best", "greedy", "uniform"]


def test_every_short_form_is_tested():
    assert set(RULES) == set(SHORTHANDS)


def members():
    return [
        ("linear", LinearRegression()),
        ("tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
        ("mean", DummyRegressor()),
        ("near", KNeighborsRegressor(5)),
    ]


def classifiers():
    return [
        ("bayes", GaussianNB()),
        ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
        ("prior", DummyClassifier()),
    ]


@parametrize_with_checks(
    [
        StackingRegressor(
            [
                ("tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
                ("stump", DecisionTreeRegressor(max_depth=1, random_state=0)),
            ],
            cv=3,
            final_estimator="nnls",
        ),
    ]
)
def test_scikit_learn_checks_with_weights(estimator, check):
    """The contract runs those of a classifier with learned weights, and of a final estimator."""
    check(estimator)


def held_out(X, y, cv):
    return np.column_stack([cross_val_predict(m, X, y, cv=cv) for _, m in members()])


@pytest.mark.parametrize("weights", RULES)
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_weights_of_regressors(data, weights, loss):
    X, y = data
    if weights in ("best", "greedy"):
        rule = {"best": BestMember, "greedy": GreedySelection}[weights](loss)
    else:
        rule = WeightedMean(weights, loss=loss, radius=0.8)
    if (weights, loss) == ("l2", "absolute_error"):
        with pytest.raises(ValueError, match="weights='l2' cannot be learned"):
            StackingRegressor(members(), rule).fit(X, y)
        return
    model = StackingRegressor(members(), rule).fit(X, y)
    v = model.estimator_weights_
    parts = np.column_stack([m.fit(X, y).predict(X) for _, m in members()])
    np.testing.assert_allclose(model.predict(X), parts @ v)
    np.testing.assert_allclose(model.transform(X), parts)
    P = held_out(X, y, 5)
    losses = (P - y[:, None]) ** 2 if loss == "squared_error" else np.abs(P - y[:, None])
    table = pd.DataFrame(model.cv_results_)
    np.testing.assert_allclose(table["mean_score"], losses.mean(axis=0))
    np.testing.assert_allclose(table["standard_error"], losses.std(axis=0, ddof=1) / np.sqrt(120))
    np.testing.assert_allclose(table["split1_score"], losses[24:48].mean(axis=0))
    assert list(table["name"]) == [name for name, _ in members()]
    if weights in ("nnls", "simplex", "greedy", "best"):
        residual = y - P @ v
        risk = np.mean(residual**2 if loss == "squared_error" else np.abs(residual))
        assert risk <= losses.mean(axis=0).min() * (1 + 1e-9)
    if weights in ("nnls", "simplex", "l1", "l2"):
        assert model.kkt_violation_ < 1e-9
    if weights == "best":
        assert np.argmax(v) == np.argmin(losses.mean(axis=0))


@pytest.mark.parametrize("weights", RULES)
def test_weights_of_classifiers(iris, weights):
    X, y = iris
    names = np.array(["a", "b", "c"])
    model = StackingClassifier(classifiers(), final_estimator=weights).fit(X, names[y])
    fitted = [m.fit(X, y) for _, m in classifiers()]
    mixed = np.tensordot(model.estimator_weights_, [m.predict_proba(X) for m in fitted], 1)
    expected = mixed / mixed.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    np.testing.assert_array_equal(model.predict(X), names[expected.argmax(axis=1)])
    assert not hasattr(model, "decision_function")
    if weights == "simplex":
        P = [cross_val_predict(m, X, y, cv=5, method="predict_proba") for _, m in classifiers()]
        risks = [log_loss(y, p) for p in P]
        np.testing.assert_allclose(model.cv_results_["mean_score"], risks, rtol=1e-6)
        mixed = np.tensordot(model.estimator_weights_, P, 1)
        assert log_loss(y, mixed) <= min(risks) + 1e-9


# The loss of a margin, and the probability that it has for a score.
MARGINS = {
    "logistic": (lambda m: np.logaddexp(0, -m), expit),
    "exponential": (lambda m: np.exp(-m), lambda s: expit(2 * s)),
    "hinge": (lambda m: np.maximum(1 - m, 0), None),
}


@pytest.mark.parametrize("loss", MARGINS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_for_functions_of_the_margin(iris, loss, n_classes):
    """The risk of the held-out rows is at most that of every member, and of other weights."""
    X, y = iris
    X, y = X[y > 2 - n_classes], y[y > 2 - n_classes]
    X = X[:, :2]
    w = np.random.default_rng(0).uniform(0.5, 2, len(y))
    phi, probability = MARGINS[loss]
    model = StackingClassifier(classifiers(), WeightedMean("nnls", loss=loss)).fit(X, y, w)
    P = np.array(
        [
            cross_val_predict(m, X, y, cv=5, method="predict_proba", params={"sample_weight": w})
            for _, m in classifiers()
        ]
    )
    signs = np.where(y[:, None] == model.classes_, 1.0, -1.0)

    def risk(v):
        losses = phi(signs * np.tensordot(v, 2 * P - 1, 1))
        return np.average(losses[:, 1] if n_classes == 2 else losses.sum(axis=1), weights=w)

    v = model.estimator_weights_
    assert model.kkt_violation_ <= 1e-9
    members_alone = [risk(u) for u in np.eye(3)]
    np.testing.assert_allclose(model.cv_results_["mean_score"], members_alone)
    assert risk(v) <= min(members_alone)
    for u in np.random.default_rng(1).dirichlet(np.ones(3), 50):
        assert risk(v) <= risk(3 * u)
    # Probabilities are those of the loss for the scores, where it has any.
    proba = [m.fit(X, y, w).predict_proba(X) for _, m in classifiers()]
    table = np.tensordot(v, proba, 1)
    if probability is not None:
        table = probability(2 * table - v.sum())
    expected = table / table.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])
    if n_classes == 2 and loss == "logistic":
        held_out = expit(np.tensordot(v, P[:, :, 1] - P[:, :, 0], 1))
        assert risk(v) == pytest.approx(log_loss(y, held_out, sample_weight=w))


def test_votes_of_members_without_probabilities(iris):
    X, y = iris
    model = StackingClassifier(
        classifiers(), WeightedMean("nnls", loss="squared_error"), stack_method="predict"
    ).fit(X, y)
    votes = np.tensordot(
        model.estimator_weights_, [np.eye(3)[m.predict(X)] for m in model.estimators_], 1
    )
    np.testing.assert_array_equal(model.predict(X), votes.argmax(axis=1))


# "best" is the choice of GridSearchCV


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "r2", None])
def test_best_is_the_choice_of_grid_search(data, seed, scoring):
    X, y = data
    candidates = [(f"k{k}", KNeighborsRegressor(k)) for k in (2, 4, 6, 8, 11)]
    cv = KFold(4, shuffle=True, random_state=seed)
    search = GridSearchCV(
        Pipeline([("model", LinearRegression())]),
        {"model": [m for _, m in candidates]},
        cv=cv,
        scoring=scoring or "neg_mean_squared_error",
    ).fit(X, y)
    model = StackingRegressor(candidates, BestMember(scoring or "loss"), cv=cv).fit(X, y)
    if scoring:
        expected = search.cv_results_["mean_test_score"]
        np.testing.assert_allclose(model.cv_results_["mean_score"], expected)
    assert np.argmax(model.estimator_weights_) == search.best_index_
    assert model.estimator_weights_.sum() == 1
    np.testing.assert_array_equal(model.predict(X), search.predict(X))


def test_cross_validation_estimates_the_risk_of_fewer_rows():
    """[Shah, eq. (4.3) and (4.4)]: the mean of m rows of variance 1 has the risk 1 + 1/m.

    Exact: the estimate is a quadratic form of y, with the expectation of its trace.
    """
    for n_folds, m in ((5, 16), (2, 10), (20, 19)):
        model = StackingRegressor(
            [("mean", DummyRegressor())], cv=KFold(n_folds), final_estimator="best"
        )
        risks = [model.fit(np.zeros((20, 1)), e).cv_results_["mean_score"][0] for e in np.eye(20)]
        assert sum(risks) == pytest.approx(1 + 1 / m, rel=1e-12)


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc_ovr", "neg_log_loss"])
def test_best_classifier_by_scores(iris, scoring):
    X, y = iris
    candidates = [(f"k{k}", KNeighborsClassifier(k)) for k in (3, 9, 25)]
    grid = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3, 9, 25]}, scoring=scoring).fit(
        X, y
    )
    model = StackingClassifier(candidates, BestMember(scoring)).fit(X, y)
    assert np.argmax(model.estimator_weights_) == grid.best_index_
    greedy = StackingClassifier(candidates, GreedySelection(scoring, n_selections=5))
    assert greedy.fit(X, y).estimator_weights_.sum() == pytest.approx(1)


def test_greedy_selection_by_a_score(data):
    """Against a loop over all candidates with scikit-learn's metric."""
    X, y = data
    y = (y > 0.7).astype(int)
    candidates = [(f"k{k}", KNeighborsClassifier(k)) for k in (3, 9, 25)]
    P = [cross_val_predict(m, X, y, method="predict_proba")[:, 1] for _, m in candidates]
    chosen, best, kept = [], -np.inf, None
    for _ in range(6):
        values = [roc_auc_score(y, np.mean([P[i] for i in [*chosen, j]], axis=0)) for j in range(3)]
        chosen.append(int(np.argmax(values)))
        if max(values) > best + 1e-12:
            best, kept = max(values), list(chosen)
    model = StackingClassifier(candidates, GreedySelection("roc_auc", n_selections=6))
    expected = np.bincount(kept, minlength=3) / len(kept)
    np.testing.assert_allclose(model.fit(X, y).estimator_weights_, expected)


def test_uniform_weights_are_those_of_a_vote(data, iris):
    X, y = data
    model = StackingRegressor(members(), final_estimator="uniform").fit(X, y)
    np.testing.assert_array_equal(model.estimator_weights_, np.full(4, 0.25))
    np.testing.assert_allclose(model.predict(X), VotingRegressor(members()).fit(X, y).predict(X))
    X, y = iris
    model = StackingClassifier(classifiers(), final_estimator="uniform").fit(X, y)
    vote = VotingClassifier(classifiers(), voting="soft").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), vote.predict_proba(X))


def test_oracle_bound(data):
    X, y = data
    model = StackingRegressor(members(), cv=4, final_estimator="best").fit(X, y)
    expected = cross_validation_oracle_bound(4, [30] * 4, 0.1, 7.0)
    assert model.error_bound(delta=0.1, loss_bound=7.0) == pytest.approx(expected)
    largest = ((held_out(X, y, 4) - y[:, None]) ** 2).max()
    assert model.error_bound(delta=0.1) == pytest.approx(expected * largest / 7)
    classes = StackingClassifier(classifiers(), final_estimator="best", cv=3).fit(X, y > 0.7)
    expected = cross_validation_oracle_bound(3, [40] * 3, 0.05, -np.log(np.finfo(float).eps))
    assert classes.error_bound() == pytest.approx(expected)
    repeated = StackingRegressor(members(), cv=RepeatedKFold(n_repeats=2), final_estimator="best")
    with pytest.raises(ValueError, match="no row several times"):
        repeated.fit(X, y).error_bound()
    for other in ("nnls", BestMember("r2"), None):
        assert not hasattr(StackingRegressor(members(), other).fit(X, y), "error_bound")
    with pytest.raises(AttributeError, match="no attribute 'error_bound'") as info:
        _ = StackingRegressor(members(), "nnls").error_bound
    assert 'set final_estimator="best"' in str(info.value.__cause__)
    with pytest.raises(ValueError, match='method must be "oracle"'):
        model.error_bound(method="markov")


# Splitters


def test_splits_that_leave_rows_out(data):
    X, y = data
    cv = TimeSeriesSplit(4)
    model = StackingRegressor(members(), cv=cv, final_estimator="simplex").fit(X, y)
    P, target = [], []
    for train, test in cv.split(X):
        P.append(
            np.column_stack([m.fit(X[train], y[train]).predict(X[test]) for _, m in members()])
        )
        target.append(y[test])
    P, target = np.concatenate(P), np.concatenate(target)
    np.testing.assert_allclose(
        model.cv_results_["mean_score"], ((P - target[:, None]) ** 2).mean(axis=0)
    )
    final = StackingRegressor(members(), LinearRegression(), cv=cv, passthrough=True).fit(X, y)
    rows = np.concatenate([test for _, test in cv.split(X)])
    expected = LinearRegression().fit(np.hstack([P, X[rows]]), target)
    np.testing.assert_allclose(final.final_estimator_.coef_, expected.coef_, rtol=1e-6)


def test_rows_held_out_several_times(data):
    X, y = data
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    model = StackingRegressor(members(), cv=cv, final_estimator="simplex").fit(X, y)
    losses = np.zeros((120, 4))
    for train, test in cv.split(X):
        P = np.column_stack([m.fit(X[train], y[train]).predict(X[test]) for _, m in members()])
        losses[test] += (P - y[test][:, None]) ** 2 / 2
    np.testing.assert_allclose(model.cv_results_["mean_score"], losses.mean(axis=0))
    error = losses.std(axis=0, ddof=1) / np.sqrt(120)
    np.testing.assert_allclose(model.cv_results_["standard_error"], error)


@config_context(enable_metadata_routing=True)
def test_groups_are_routed_to_the_splitter(data):
    X, y = data
    groups = np.arange(120) % 7
    cv = GroupKFold(3)
    model = StackingRegressor(members(), cv=cv, final_estimator="simplex").fit(X, y, groups=groups)
    splits = list(cv.split(X, y, groups))
    expected = StackingRegressor(members(), cv=splits, final_estimator="simplex").fit(X, y)
    np.testing.assert_allclose(model.estimator_weights_, expected.estimator_weights_)


def test_same_as_scikit_learn_with_a_final_estimator(data):
    X, y = data
    for final in (None, KNeighborsRegressor(3)):
        ours = StackingRegressor(members(), final, passthrough=True).fit(X, y)
        theirs = ScikitStackingRegressor(members(), final, passthrough=True).fit(X, y)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_prefit(data):
    X, y = data
    fitted = [(name, m.fit(X[:60], y[:60])) for name, m in members()]
    model = StackingRegressor(fitted, cv="prefit", final_estimator="nnls").fit(X[60:], y[60:])
    one_split = StackingRegressor(
        members(), cv=[(np.arange(60), np.arange(60, 120))], final_estimator="nnls"
    ).fit(X, y)
    np.testing.assert_allclose(model.estimator_weights_, one_split.estimator_weights_)
    labels = np.where(y > 0.7, "yes", "no")
    fitted = [(name, m.fit(X[:60], labels[:60])) for name, m in classifiers()]
    for method in ("auto", "predict"):
        model = StackingClassifier(
            fitted, cv="prefit", final_estimator="simplex", stack_method=method
        )
        assert set(model.fit(X[60:], labels[60:]).predict(X)) == {"no", "yes"}


# Weights of the rows


@pytest.mark.parametrize("weights", [None, "simplex", "best"])
def test_row_weights(data, weights):
    X, y = data
    w = np.random.default_rng(0).integers(0, 3, 120).astype(float)
    splits = list(ShuffleSplit(3, random_state=0).split(X))
    pairs = members()[:3]
    model = StackingRegressor(pairs, cv=splits, final_estimator=weights)
    model.fit(pd.DataFrame(X, columns=list("abc")), pd.Series(y), w)
    repeat = np.repeat(np.arange(120), w.astype(int))
    repeated = [tuple(np.flatnonzero(np.isin(repeat, rows)) for rows in split) for split in splits]
    expected = StackingRegressor(pairs, cv=repeated, final_estimator=weights).fit(
        X[repeat], y[repeat]
    )
    np.testing.assert_allclose(
        model.predict(pd.DataFrame(X, columns=list("abc"))), expected.predict(X), rtol=1e-6
    )
    if weights:
        np.testing.assert_allclose(
            model.cv_results_["mean_score"], expected.cv_results_["mean_score"], rtol=1e-9
        )


@pytest.mark.parametrize("weights", ["l2", "simplex", "best"])
def test_row_weights_of_classifiers(iris, weights):
    X, y = iris
    w = np.random.default_rng(0).integers(0, 3, 150).astype(float)
    splits = list(ShuffleSplit(3, random_state=0).split(X))
    model = StackingClassifier(classifiers()[1:], cv=splits, final_estimator=weights).fit(X, y, w)
    repeat = np.repeat(np.arange(150), w.astype(int))
    repeated = [tuple(np.flatnonzero(np.isin(repeat, rows)) for rows in split) for split in splits]
    expected = StackingClassifier(classifiers()[1:], cv=repeated, final_estimator=weights)
    expected.fit(X[repeat], y[repeat])
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(
        model.cv_results_["mean_score"], expected.cv_results_["mean_score"], rtol=1e-9
    )


# Several outputs


def test_several_outputs(data):
    X, y = data
    pairs = [members()[0], *members()[2:]]  # a tree of two outputs is not two trees
    Y = np.column_stack([y, 100 * X[:, 1] ** 2])
    model = StackingRegressor(pairs, final_estimator="simplex").fit(X, Y)
    assert model.estimator_weights_.shape == (2, 3)
    for o in range(2):
        one = StackingRegressor(pairs, final_estimator="simplex").fit(X, Y[:, o])
        np.testing.assert_allclose(model.estimator_weights_[o], one.estimator_weights_, atol=1e-9)
        np.testing.assert_allclose(model.predict(X)[:, o], one.predict(X))
    assert set(model.cv_results_["output"]) == {0, 1}
    final = StackingRegressor(pairs).fit(X, Y)
    assert final.predict(X).shape == (120, 2)
    assert len(final.get_feature_names_out()) == final.transform(X).shape[1] == 6


def test_several_labels():
    X, Y = make_multilabel_classification(80, n_classes=3, random_state=0)
    pairs = [("near", KNeighborsClassifier(5)), ("tree", DecisionTreeClassifier(max_depth=3))]
    model = StackingClassifier(pairs, final_estimator="simplex").fit(X, Y)
    assert model.estimator_weights_.shape == (3, 2)
    assert model.predict(X).shape == Y.shape
    assert np.mean(model.predict(X) == Y) > 0.7


# Hard candidates


class FailsInAFold(RegressorMixin, BaseEstimator):
    """Fails where row 0 is held out."""

    def __init__(self, value=0.0):
        self.value = value

    def fit(self, X, y):
        if X[0, 0] != self.value:
            raise ValueError("no first row")
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_an_error_names_the_member_and_the_split(data):
    X, y = data
    pairs = [("good", LinearRegression()), ("bad", FailsInAFold(X[0, 0]))]
    for n_jobs in (1, 2):
        model = StackingRegressor(pairs, cv=KFold(4), final_estimator="nnls", n_jobs=n_jobs)
        with pytest.raises(ValueError, match="member 'bad' failed in split 0 of cv: no first row"):
            model.fit(X, y)
        assert not hasattr(model, "estimators_")


@pytest.mark.parametrize("weights", RULES)
def test_one_candidate_identical_ones_and_a_constant(data, weights):
    X, y = data
    one = StackingRegressor([("a", LinearRegression())], final_estimator=weights).fit(X, y)
    assert one.estimator_weights_.shape == (1,)
    if weights not in ("nnls", "l1", "l2"):
        assert one.estimator_weights_[0] == 1
    pairs = [("a", LinearRegression()), ("b", LinearRegression()), ("mean", DummyRegressor())]
    two = StackingRegressor(pairs, final_estimator=weights).fit(X, y)
    single = StackingRegressor([pairs[0], pairs[2]], final_estimator=weights).fit(X, y)
    if weights in ("nnls", "simplex", "l1"):
        np.testing.assert_allclose(two.predict(X), single.predict(X), rtol=1e-8)
    assert two.estimators_[0] is two.estimators_[1]


def test_all_weights_can_be_zero(data):
    X, y = data
    pairs = [("bad", DummyRegressor(strategy="constant", constant=-1.0))]
    model = StackingRegressor(pairs, final_estimator="nnls").fit(X, np.abs(y))
    assert model.estimator_weights_ == [0.0]
    np.testing.assert_array_equal(model.predict(X), np.zeros(120))


def test_a_class_that_a_split_does_not_train_on(iris):
    X, y = iris
    rare = np.flatnonzero(y == 2)[:3]
    rows = np.concatenate([rare, np.flatnonzero(y < 2)])
    splits = [(rows[3:], rare), (rows[:-20], rows[-20:])]
    for params in ({"final_estimator": "simplex"}, {"stack_method": "predict_proba"}):
        model = StackingClassifier(classifiers()[:2], cv=splits, **params).fit(X, y)
        assert model.predict_proba(X).shape == (150, 3)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"final_estimator": "nnls", "passthrough": True}, "passthrough=True needs a final_esti"),
        ({"final_estimator": WeightedMean(loss="log_loss")}, "is not a loss of numbers"),
        ({"final_estimator": BestMember("hinge")}, "loss='hinge' is not a loss of numbers"),
        ({"final_estimator": WeightedMean(radius=-1)}, "'radius' parameter of WeightedMean"),
        ({"final_estimator": "ridge"}, "'final_estimator' parameter of StackingRegressor"),
    ],
)
def test_combinations_without_a_meaning(data, params, message):
    """They are refused before any fit."""
    with pytest.raises(ValueError, match=message):
        StackingRegressor([("fails", FailsInAFold())], **params).fit(*data)


def test_weights_of_classifiers_need_probabilities(iris):
    X, y = iris
    rule = WeightedMean("l1", loss="log_loss", positive=False)
    with pytest.raises(ValueError, match="loss='log_loss' needs positive=True"):
        StackingClassifier(classifiers(), rule).fit(X, y)
    with pytest.raises(ValueError, match="'absolute_error' is not a loss of probabilities"):
        StackingClassifier(classifiers(), WeightedMean(loss="absolute_error")).fit(X, y)
    with pytest.raises(ValueError, match="'ridge' is none"):
        StackingClassifier([("ridge", Ridge())], final_estimator="simplex").fit(X, y)
    with pytest.raises(ValueError, match="decision_function"):
        StackingClassifier(
            classifiers(), final_estimator="simplex", stack_method="decision_function"
        ).fit(X, y)


@pytest.mark.parametrize("labels", [["a", "b", "c"], [0, 1, 2], [-1, 0, 1], [0, 1, -1]])
def test_a_fitted_member_with_a_label_that_is_not_in_y_is_named(labels):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = np.repeat(labels, 20)
    X[:, 0] += 9 * (y == labels[1]) - 9 * (y == labels[0])
    member = DecisionTreeClassifier(random_state=0).fit(X, y)
    stack = StackingClassifier([("tree", member)], cv="prefit", stack_method="predict")
    stack.fit(X, y)
    two = y != labels[2]
    stack.fit(X[two], y[two])
    with pytest.raises(ValueError, match="predicts labels that are not among the cl"):
        stack.predict(X)


def test_rows_in_a_memoryview():
    X, y = np.random.default_rng(0).random((30, 2)), np.arange(30) % 2
    members = [("tree", DecisionTreeClassifier(random_state=0)), ("bayes", GaussianNB())]
    found = StackingClassifier(members, cv=2).fit(memoryview(X), y)
    expected = StackingClassifier(members, cv=2).fit(X, y)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
