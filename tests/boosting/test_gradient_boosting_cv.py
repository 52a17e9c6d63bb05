"""The number of rounds by cross-validation, against fits of each fold by hand."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state

from sklearn_ensemble_theory import GradientBoostingClassifier, GradientBoostingRegressor, export
from sklearn_ensemble_theory.boosting import CVRounds

from ..surroundings import fold_numbers
from .gradient_boosting_data import fold_scores

X, Y = make_friedman1(150, 6, noise=1.0, random_state=0)
X_CLASSES, LABELS = make_classification(
    150, 6, n_informative=4, n_classes=3, flip_y=0.2, random_state=0
)
RATE = {"learning_rate": 0.3, "random_state": 0}


def rounds(most):
    return CVRounds(max_estimators=most)


def by_hand(model, X, y, splits, n_rounds, score, weight=None):
    """The scores of each fold after 1, 2, ... rounds, from fits with the seeds of the folds."""
    rng, path = check_random_state(0), []
    for train, test in splits:
        seed = np.random.RandomState(rng.randint(np.iinfo(np.int32).max))
        one = clone(model).set_params(n_estimators=n_rounds, random_state=seed)
        given = {} if weight is None else {"sample_weight": weight[train]}
        one.fit(X[train], y[train], **given)
        staged = one.staged_predict_proba if is_classifier(one) else one.staged_predict
        given = {} if weight is None else {"sample_weight": weight[test]}
        path.append([score(y[test], p, **given) for p in staged(X[test])])
    return np.array(path).T


def drawn(y, classifier):
    folds, k = fold_numbers(5, y[:, None], y, classifier=classifier)
    return [(np.flatnonzero(folds != i), np.flatnonzero(folds == i)) for i in range(k)]


@pytest.mark.parametrize("weighted", [False, True])
def test_paths_are_those_of_fits_to_each_fold(weighted):
    model = GradientBoostingRegressor(n_estimators="cv", **RATE)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(Y)) if weighted else None
    model.fit(X, Y, sample_weight=weight)
    splits = drawn(Y, False)
    path = by_hand(model, X, Y, splits, len(fold_scores(model)), mean_squared_error, weight)
    # The loss of this package is half the squared error.
    np.testing.assert_allclose(2 * fold_scores(model), path, rtol=1e-10)
    total = [len(test) if weight is None else weight[test].sum() for _, test in splits]
    mean = path @ total
    assert model.n_estimators_ == 1 + np.argmin(mean)
    best = model.n_estimators_
    assert len(path) >= min(best + 20 + 0.2 * best, 10_000)
    # The number, passed back, gives the model: what follows is a fit of so many rounds to all rows.
    whole = clone(model).set_params(n_estimators=best)
    whole.fit(X, Y, sample_weight=weight)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scoring", ["loss", "roc_auc_ovr"])
def test_classes_and_metrics(n_classes, scoring):
    y = np.array([*"abc"])[np.minimum(LABELS, n_classes - 1)]
    model = GradientBoostingClassifier(n_estimators=CVRounds(scoring=scoring), **RATE)
    model.fit(X_CLASSES, y)

    def score(y, shares):
        if scoring == "loss":
            return log_loss(y, shares)
        return roc_auc_score(y, shares[:, 1] if n_classes == 2 else shares, multi_class="ovr")

    splits = drawn(y, True)
    path = by_hand(model, X_CLASSES, y, splits, len(fold_scores(model)), score)
    np.testing.assert_allclose(fold_scores(model), path, rtol=1e-9)
    mean = path @ [len(test) for _, test in splits]
    assert model.n_estimators_ == 1 + (np.argmin(mean) if scoring == "loss" else np.argmax(mean))


@pytest.mark.parametrize(
    "params",
    [
        {"subsample": 0.5},
        {"loss": "huber"},
        {"loss": "absolute_error", "max_leaf_nodes": 40, "max_depth": None},
        {"estimator": DecisionTreeRegressor(max_depth=2), "step": "line_search"},
        {"step": "newton"},
    ],
)
def test_threads_and_the_order_of_folds_do_not_matter(params):
    models = [
        GradientBoostingRegressor(n_estimators=rounds(60), n_jobs=n, **RATE, **params)
        for n in (1, 3)
    ]
    for model in models:
        model.fit(X, Y)
    one, other = models
    np.testing.assert_array_equal(fold_scores(one), fold_scores(other))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.n_estimators_ == len(one.estimators_) <= len(fold_scores(one))


def test_splitters_groups_and_rows_of_weight_0():
    model = GradientBoostingRegressor(n_estimators=rounds(30), **RATE)
    groups = np.arange(len(Y)) // 10
    by_groups = clone(model).set_params(n_estimators__cv=3).fit(X, Y, groups=groups)
    splits = list(GroupKFold(3).split(X, Y, groups))
    path = by_hand(model, X, Y, splits, 30, mean_squared_error)
    np.testing.assert_allclose(2 * fold_scores(by_groups), path, rtol=1e-10)
    splitter = KFold(4, shuffle=True, random_state=1)
    for cv in (splitter, list(splitter.split(X))):
        one = clone(model).set_params(n_estimators__cv=cv).fit(X, Y)
        path = by_hand(model, X, Y, splitter.split(X), 30, mean_squared_error)
        np.testing.assert_allclose(2 * fold_scores(one), path, rtol=1e-10)
    weight = np.ones(len(Y))
    weight[:30] = 0.0
    one = clone(model).fit(X, Y, sample_weight=weight)
    other = clone(model).fit(X[30:], Y[30:])
    np.testing.assert_allclose(fold_scores(one), fold_scores(other), rtol=1e-12)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-12)


def test_errors_of_huge_targets():
    huge = 2.0**465
    model = GradientBoostingRegressor(n_estimators=rounds(20), **RATE)
    errors = [clone(model).fit(X, y).cv_results_["standard_error"] for y in (Y, huge * Y)]
    np.testing.assert_allclose(errors[1] / huge**2, errors[0], rtol=1e-9)


def test_searches_conversion_and_later_fits():
    model = GradientBoostingRegressor(n_estimators=rounds(40), **RATE)
    search = GridSearchCV(model, {"learning_rate": [0.1, 0.3]}, cv=2).fit(X, Y)
    best = search.best_estimator_
    assert best.get_params()["n_estimators__max_estimators"] == 40
    theirs = export.sklearn(best)
    assert theirs.n_estimators == best.n_estimators_
    np.testing.assert_allclose(theirs.predict(X), best.predict(X), rtol=1e-12)
    best.set_params(n_estimators=5).fit(X, Y)
    assert not hasattr(best, "cv_results_")


@pytest.mark.slow
def test_its_error_is_near_that_of_the_best_number_of_rounds():
    ratios = {"cv": [], "early stopping": [], "100 rounds": []}
    for seed in range(8):
        X, y = make_friedman1(500, noise=1.0, random_state=seed)
        new, truth = make_friedman1(3000, noise=0.0, random_state=1000 + seed)
        model = GradientBoostingRegressor(n_estimators=1000, random_state=seed)
        best = min(np.mean((p - truth) ** 2) for p in model.fit(X, y).staged_predict(new))
        for name, params in {
            "cv": {"n_estimators": "cv"},
            "early stopping": {"n_iter_no_change": 20},
            "100 rounds": {"n_estimators": 100},
        }.items():
            found = clone(model).set_params(**params).fit(X, y).predict(new)
            ratios[name].append(np.mean((found - truth) ** 2) / best)
    mean = {name: np.mean(values) for name, values in ratios.items()}
    assert mean["cv"] < 1.03
    assert mean["early stopping"] > 1.08
    assert mean["100 rounds"] > 1.1


@pytest.mark.parametrize("n", [5, 10])
def test_rounds_end_where_few_rows_are_fitted_exactly(n):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=n)
    model = GradientBoostingRegressor(n_estimators="cv", random_state=0)
    scores = 2 * fold_scores(clone(model).fit(X, y)).mean(axis=1)
    assert len(scores) < 500
    score = by_hand(model, X, y, drawn(y, False), 2000, mean_squared_error).mean(axis=1)
    assert score.min() == pytest.approx(scores.min(), abs=1e-8 * (np.var(y) - score.min()))


def test_it_says_how_far_it_is(capsys):
    GradientBoostingRegressor(n_estimators=rounds(40), verbose=2, **RATE).fit(X, Y)
    printed = capsys.readouterr().out
    assert "20/40 rounds of all folds" in printed
    assert "mean validation score" in printed


def test_refusals():
    model = GradientBoostingRegressor(n_estimators="cv")
    with pytest.raises(ValueError, match=r"warm_start=True cannot be used with n_estimators=\"cv"):
        clone(model).set_params(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="n_iter_no_change=3 cannot be used with n_estimators"):
        clone(model).set_params(n_iter_no_change=3).fit(X, Y)
    with pytest.raises(ValueError, match="n_splits=200 greater than the number of samples"):
        clone(model).set_params(n_estimators=CVRounds(200)).fit(X, Y)
    labels = np.repeat([0, 1, 2], 50)
    with pytest.raises(ValueError, match="no row of the class 0, which has 50 rows: give"):
        GradientBoostingClassifier(n_estimators=CVRounds(KFold(3))).fit(X, labels)
    counts, splits = np.repeat([0.0, 1.0], [50, 100]), [(range(50), range(50, 150))]
    with pytest.raises(ValueError, match="rows of cv: split 0: loss='poisson'"):
        clone(model).set_params(loss="poisson", n_estimators=CVRounds(splits)).fit(X, counts)


@pytest.mark.filterwarnings("ignore:The least populated class")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_class_of_a_single_row_is_named(n_classes):
    X = np.random.default_rng(0).random((60, 2))
    labels = np.resize(["a", "c"][: n_classes - 1], 60)
    labels[7] = "b"
    for rounds in ("cv", CVRounds(2), CVRounds(prediction="mean")):
        with pytest.raises(ValueError, match="no row of the class b, which has one row: no splits"):
            GradientBoostingClassifier(n_estimators=rounds).fit(X, labels)
    with pytest.raises(ValueError, match=r"validation_fraction=0\.1: .*\. The class b has one row"):
        GradientBoostingClassifier(n_iter_no_change=2).fit(X, labels)
    others = labels != "b"
    if n_classes > 2:
        GradientBoostingClassifier(n_estimators=CVRounds(max_estimators=3)).fit(
            X[others], labels[others]
        )
