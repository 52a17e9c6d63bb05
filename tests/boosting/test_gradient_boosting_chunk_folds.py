"""Rounds by cross-validation of rows in chunks: the folds of memory, in the passes of one fit."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, KFold

from sklearn_ensemble_theory import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting import CVRounds

from ..local_blocks import LocalBlocks, hashed_folds, rows_in_blocks
from .gradient_boosting_data import assert_same_rounds, fold_scores
from .loss_cases import LogCosh

N = 300
SLOW = {"learning_rate": 0.3, "random_state": 0}


def few_rounds(cv=5, max_estimators=25, **options):
    return {"n_estimators": CVRounds(cv, max_estimators=max_estimators, **options), **SLOW}


# Chunks of one row and of none.
CUTS = [0, 1, 1, 120]


def rows():
    """Columns of few values, of which each training part has all: the bins are the same."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (N, 3)).astype(float)
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] / 10 + rng.standard_normal(N)
    X[rng.random((N, 3)) < 0.1] = np.nan
    return X, y


def weights(kind):
    rng = np.random.default_rng(1)
    return {"none": None, "whole": rng.integers(0, 3, N) * 1.0, "real": rng.random(N)}[kind]


def labels(y, n_classes):
    return np.array([*"bac"])[np.digitize(y, [0.5, 1.5][: n_classes - 1])]


def in_chunks(model, X, y, weight=None, cuts=CUTS):
    model = clone(model)
    model._validate_params()
    of_classes = is_classifier(model)
    model._fit_chunks(rows_in_blocks(X, y, weight, cuts=cuts, is_classifier=of_classes))
    model.n_features_in_ = X.shape[1]
    return model


def splits_of(fold):
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in np.unique(fold)]


def in_memory(model, X, y, weight=None):
    """The same folds: rows of weight 0 have no number in chunks."""
    if weight is not None:
        X, y, weight = (a[weight > 0] for a in (X, y, weight))
    splits = splits_of(hashed_folds(len(y), model.n_estimators.cv))
    return clone(model).set_params(n_estimators__cv=splits).fit(X, y, sample_weight=weight)


def assert_same_choice(model, expected, atol=1e-10):
    assert model.n_estimators_ == expected.n_estimators_
    np.testing.assert_allclose(fold_scores(model), fold_scores(expected), rtol=1e-9, atol=atol)
    assert model.cv_results_.keys() == expected.cv_results_.keys()
    for name, values in model.cv_results_.items():
        np.testing.assert_allclose(values, expected.cv_results_[name], rtol=1e-7, atol=atol)


@pytest.mark.parametrize("weighted", ["none", "whole", "real"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        few_rounds(3, prediction="mean"),
        {"loss": "poisson", "min_samples_leaf": 0.05},
        {"loss": "gamma", "max_leaf_nodes": 5, "init": "zero"},
        few_rounds(rule="one_standard_error") | {"min_weight_fraction_leaf": 0.05, "max_depth": 2},
    ],
    ids=lambda p: "-".join(p) or "default",
)
def test_regression_in_memory(parameters, weighted):
    X, y = rows()
    y = np.exp(y) if "loss" in parameters else y
    y = y.round() if parameters.get("loss") == "poisson" else y
    model = GradientBoostingRegressor(**{**few_rounds(), **parameters})
    found, expected = (fit(model, X, y, weights(weighted)) for fit in (in_chunks, in_memory))
    assert_same_choice(found, expected)
    assert_same_rounds(found, expected)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("weighted", ["none", "real"])
@pytest.mark.parametrize("prediction", ["refit", "mean"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_in_memory(n_classes, prediction, weighted):
    X, y = rows()
    model = GradientBoostingClassifier(**few_rounds(3, prediction=prediction))
    given = X, labels(y, n_classes), weights(weighted)
    found, expected = in_chunks(model, *given), in_memory(model, *given)
    assert_same_choice(found, expected)
    assert_same_rounds(found, expected)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize("max_bins", [255, 4])
@pytest.mark.filterwarnings("ignore:Feature 2 has 6 categories:UserWarning")
def test_categories(max_bins):
    X, y = rows()
    text = np.array([*"abcdef", None], dtype=object)[np.nan_to_num(X[:, 2], nan=6.0).astype(int)]
    X = np.column_stack([X[:, :2].astype(object), text])
    model = GradientBoostingRegressor(**few_rounds(), categorical_features=[2], max_bins=max_bins)
    found, expected = in_chunks(model, X, y), in_memory(model, X, y)
    assert_same_choice(found, expected)
    assert_same_rounds(found, expected)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-10)


@pytest.mark.parametrize("share", [1.0, 0.01])
def test_steps_of_leaves_that_are_searched(share):
    """Their searches, of other numbers of steps in each fold, are answered together too."""
    X, y = rows()
    model = GradientBoostingRegressor(**few_rounds(3, 5), loss=LogCosh(share), init="zero")
    found, expected = in_chunks(model, X, 30 * y), in_memory(model, X, 30 * y)
    assert_same_choice(found, expected, atol=1e-6)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-8)


@pytest.mark.parametrize("constant", [False, True])
def test_trees_without_a_split(constant):
    X, y = rows()
    y = np.full(N, 2.5) if constant else y
    model = GradientBoostingRegressor(**few_rounds(), min_samples_leaf=N // 2)
    found, expected = in_chunks(model, X, y), in_memory(model, X, y)
    assert_same_choice(found, expected)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-12)
    assert found.estimators_[0, 0].tree_.node_count == 1


@pytest.mark.parametrize("n_classes", [0, 3])
def test_a_fold_is_the_fit_in_which_its_rows_have_no_weight(n_classes):
    """Shares of rows and of weights are those of the rows that are fitted."""
    X, y = rows()
    kind = GradientBoostingClassifier if n_classes else GradientBoostingRegressor
    y = labels(y, n_classes) if n_classes else y
    shares = {"min_samples_leaf": 0.03, "min_weight_fraction_leaf": 0.04}
    model = in_chunks(kind(**few_rounds(prediction="mean"), **shares), X, y)
    rng, fold = np.random.RandomState(0), hashed_folds(N, 5)
    scores = np.zeros(X.shape[:1] if n_classes == 0 else (N, 3))
    for k in range(5):
        seed = np.random.RandomState(rng.randint(np.iinfo(np.int32).max))
        single = clone(model).set_params(n_estimators=model.n_estimators_, random_state=seed)
        single = in_chunks(single, X, y, (fold != k) * 1.0)
        for one, other in zip(single.estimators_, model.estimators_[k::5], strict=True):
            for tree, same in zip(one, other):
                np.testing.assert_array_equal(tree.tree_.threshold, same.tree_.threshold)
                np.testing.assert_array_equal(tree.tree_.feature, same.tree_.feature)
                np.testing.assert_allclose(tree.tree_.value, same.tree_.value, atol=1e-12)
        scores += single._scores(X) / 5
        u, held = single._scores(X), fold == k
        codes = np.searchsorted(np.unique(y), y) if n_classes else y
        risk = single.loss_.value(codes[held], u[held]).mean()
        assert fold_scores(model)[model.n_estimators_ - 1, k] == pytest.approx(risk, rel=1e-12)
    np.testing.assert_allclose(model._scores(X), scores, atol=1e-12)
    losses = model.loss_.value(codes, scores)
    assert model.train_scores_[-1] == pytest.approx(losses.mean(), rel=1e-12)


@pytest.mark.parametrize("prediction", ["refit", "mean"])
@pytest.mark.parametrize("weighted", ["none", "whole", "real"])
def test_the_cut_of_the_rows_changes_nothing(weighted, prediction):
    X, y = rows()
    model = GradientBoostingRegressor(**few_rounds(5, 12, prediction=prediction), loss="poisson")
    given = X, np.exp(y).round(), weights(weighted)
    whole = in_chunks(model, *given, cuts=[])
    for cuts in (CUTS, [50, 100, 150, 250]):
        cut = in_chunks(model, *given, cuts=cuts)
        assert_same_choice(cut, whole)
        assert_same_rounds(cut, whole)


def test_all_folds_are_answered_by_the_passes_of_one_fit(monkeypatch):
    X, y = rows()
    asked = []
    add = LocalBlocks.sum

    def counted(self, function, *args):
        if function.__name__ == "answers_of_block":
            asked.append(len(args[-1]) - args[-1].count(None))
        return add(self, function, *args)

    monkeypatch.setattr(LocalBlocks, "sum", counted)
    in_chunks(GradientBoostingRegressor(n_estimators=10, random_state=0), X, y)
    # The units of the first round are one more, and the losses after the last one.
    assert asked == [1] * (4 * 10 + 2)
    asked.clear()
    model = GradientBoostingRegressor(**few_rounds(4, 10))
    model = in_chunks(model, X, y)
    n_passes = len(asked) - (4 * model.n_estimators_ + 2)
    # A sum may outgrow its units, in one fold and not in others; the rounds wait for nobody.
    assert 41 <= n_passes <= 45
    assert sum(asked[:n_passes]) >= 4 * 41
    assert np.mean(np.array(asked[:n_passes]) == 4) > 0.8


def test_best_first_trees_count_several_leaves_in_a_pass(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((3000, 3))
    y = np.sin(8 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.standard_normal(3000)
    n_passes, add = [], LocalBlocks.sum

    def counted(self, function, *args):
        n_passes.append(function.__name__ == "answers_of_block")
        return add(self, function, *args)

    monkeypatch.setattr(LocalBlocks, "sum", counted)
    model = HistGradientBoostingRegressor(max_iter=4, early_stopping=False)
    found = in_chunks(clone(model), X, y, cuts=[1000])
    assert sum(n_passes) < 4 * 22
    assert_same_rounds(found, model.fit(X, y))


def test_trees_of_more_nodes_than_a_byte_holds():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 3))
    y = np.sin(8 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.standard_normal(3000)
    options = {"max_iter": 2, "early_stopping": False, "min_samples_leaf": 1}
    model = HistGradientBoostingRegressor(max_leaf_nodes=300, **options)
    assert_same_rounds(in_chunks(clone(model), X, y, cuts=[1000]), model.fit(X, y))


def test_parameters_that_need_all_rows_are_refused():
    X, y = rows()
    model = GradientBoostingRegressor(n_estimators="cv")
    for name, value in {
        "n_estimators": CVRounds(scoring="r2"),
        "held_out": "cv",
    }.items():
        what = "scoring" if name == "n_estimators" else name
        with pytest.raises(ValueError, match=f"{what}=.* needs all rows in memory"):
            in_chunks(clone(model).set_params(**{name: value}), X, y)
    with pytest.raises(ValueError, match="warm_start=True cannot be used with n_estimators"):
        in_chunks(clone(model).set_params(warm_start=True), X, y)
    for cv in (KFold(5), KFold(5, shuffle=True), GroupKFold(3), [(range(9), range(9, 20))]):
        with pytest.raises(ValueError, match="cv must be an integer of at least 2 for rows in"):
            in_chunks(clone(model).set_params(n_estimators=CVRounds(cv)), X, y)


def test_folds_that_cannot_be_fitted():
    X, y = rows()
    model = GradientBoostingRegressor(n_estimators=CVRounds(400))
    with pytest.raises(ValueError, match=r"cv=400: split \d+ has no rows to test on"):
        in_chunks(model, X, y)
    with pytest.raises(ValueError, match="cv=5: split 0 has no rows to test on; use fewer folds"):
        in_chunks(clone(model).set_params(n_estimators=CVRounds(5)), X[:1], y[:1], cuts=[])
    only = hashed_folds(N, 5) == 2
    with pytest.raises(ValueError, match="cv: split 2 trains on no row of the class True"):
        in_chunks(GradientBoostingClassifier(n_estimators="cv"), X, only)
    counts = only * 1.0
    with pytest.raises(ValueError, match="the training rows of cv: split 2: loss='poisson'"):
        in_chunks(clone(model).set_params(n_estimators="cv", loss="poisson"), X, counts)


def test_later_fits_and_what_is_printed(capsys):
    X, y = rows()
    model = GradientBoostingRegressor(**few_rounds(3), verbose=2)
    model._fit_chunks(rows_in_blocks(X, y, cuts=CUTS))
    printed = capsys.readouterr().out
    assert "20/25 rounds of all folds" in printed
    assert "mean validation score" in printed
    model.set_params(n_estimators=3, verbose=0)
    model._fit_chunks(rows_in_blocks(X, y, cuts=CUTS))
    assert not hasattr(model, "cv_results_")
