"""`HistGradientBoosting*` are settings of `GradientBoosting*`; scores, l2 and draws of both."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn import ensemble
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ensemble_theory import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

from ..trees.reference_growth import reference_trees

DIABETES = load_diabetes(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)
SAME = {"max_depth": None, "max_leaf_nodes": 31, "min_samples_leaf": 20, "n_estimators": 12}
L2_TREE = BinnedTreeRegressor(max_leaf_nodes=31, min_samples_leaf=20, l2_regularization=2.0)


def counts(seed=0, n=300):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, rng.poisson(np.exp(X[:, 0])).astype(float)


# --- settings of gradient boosting ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "settings", "same"),
    [
        (DIABETES, {}, {}),
        (DIABETES, {"l2_regularization": 2.0}, {"estimator": L2_TREE}),
        (DIABETES, {"loss": "absolute_error"}, {"loss": "absolute_error"}),
        (DIABETES, {"loss": "quantile", "quantile": 0.8}, {"loss": "quantile", "alpha": 0.8}),
        (counts(), {"loss": "poisson"}, {"loss": "poisson", "step": "newton"}),
        (CANCER, {"class_weight": "balanced"}, {"class_weight": "balanced", "step": "newton"}),
        (IRIS, {"max_features": 0.5}, {"max_features": 0.5, "step": "newton"}),
    ],
    ids=["squared", "l2", "absolute", "quantile", "poisson", "two classes", "three classes"],
)
def test_is_gradient_boosting_with_these_settings(data, settings, same):
    X, y = data
    is_class = y.dtype.kind == "i"
    ours = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
    theirs = GradientBoostingClassifier if is_class else GradientBoostingRegressor
    model = ours(max_iter=12, random_state=3, **settings)
    default = {"n_estimators": 12} if "estimator" in same else SAME
    other = theirs(random_state=3, **{**default, **same})
    model.fit(X, y), other.fit(X, y)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    np.testing.assert_array_equal(model.steps_, other.steps_)
    assert (model.n_iter_, model.n_trees_per_iteration_) == other.estimators_.shape
    assert not model.do_early_stopping_
    assert not len(model.train_score_)
    assert not len(model.validation_score_)


@pytest.mark.parametrize("ours", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
def test_parameters_attributes_and_methods_are_those_of_scikit_learn(ours):
    name = ours.__name__
    theirs = getattr(ensemble, name)
    X, y = CANCER if name.endswith("Classifier") else DIABETES
    assert ours().get_params() == theirs().get_params()
    fitted = [cls(max_iter=2).fit(X[:100], y[:100]) for cls in (ours, theirs)]
    public = [{one for one in dir(model) if one[0] != "_"} for model in fitted]
    assert public[0] >= public[1]


def test_losses_by_name():
    X, y = counts()
    for loss in ("gamma", "poisson"):
        model = HistGradientBoostingRegressor(loss=loss, max_iter=15).fit(X, y + (loss == "gamma"))
        theirs = ensemble.HistGradientBoostingRegressor(loss=loss, max_iter=15)
        theirs.fit(X, y + (loss == "gamma"))
        assert (model.predict(X) > 0).all()
        # Of the order of the differences between two releases of scikit-learn's.
        assert np.abs(np.log(model.predict(X) / theirs.predict(X))).mean() < 0.06
    with pytest.raises(ValueError, match="quantile, between 0 and 1"):
        HistGradientBoostingRegressor(loss="quantile").fit(X, y)
    with pytest.raises(ValueError, match="strictly positive"):
        HistGradientBoostingRegressor(loss="gamma").fit(X, y)


def test_infinite_values_are_the_largest_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    X[:60, 0], X[60:120, 0] = -np.inf, np.inf
    X[:5, 1] = np.nan
    y = np.sign(np.clip(X[:, 0], -9, 9)) * (np.abs(X[:, 0]) > 9)
    model = HistGradientBoostingRegressor(learning_rate=1, max_iter=3).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)
    finite = HistGradientBoostingRegressor(learning_rate=1, max_iter=3)
    finite.fit(np.clip(X, -1e6, 1e6), y)
    np.testing.assert_array_equal(model.predict(X), finite.predict(np.clip(X, -1e6, 1e6)))


def test_categories_are_found_by_dtype():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": rng.standard_normal(400), "b": pd.Categorical(rng.choice(list("pqrstu"), 400))}
    )
    y = X["b"].isin(["p", "r", "t"]).to_numpy().astype(int)
    model = HistGradientBoostingClassifier(max_depth=1, max_iter=1, learning_rate=1).fit(X, y)
    assert model.score(X, y) == 1  # one split parts the sets
    assert model.is_categorical_.tolist() == [False, True]
    assert HistGradientBoostingClassifier(max_iter=1).fit(X[["a"]], y).is_categorical_ is None


def test_weights_are_repeated_rows_and_warm_starts_one_fit():
    X, y = IRIS
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    options = {"min_samples_leaf": 1, "max_iter": 10}
    model = HistGradientBoostingClassifier(**options).fit(X, y, weight)
    other = HistGradientBoostingClassifier(**options)
    other.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-9)

    options = {"early_stopping": True, "scoring": "accuracy", "n_iter_no_change": 20}
    model = HistGradientBoostingClassifier(**options, warm_start=True, random_state=0)
    other = HistGradientBoostingClassifier(**options, max_iter=9, random_state=0).fit(X, y)
    model.set_params(max_iter=4).fit(X, y).set_params(max_iter=9).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))
    np.testing.assert_array_equal(model.train_score_, other.train_score_)
    np.testing.assert_array_equal(model.validation_score_, other.validation_score_)


def test_fits_in_pipelines_and_searches_and_routes_weights():
    X, y = IRIS
    pipeline = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=3))
    grid = {"histgradientboostingclassifier__max_leaf_nodes": [2, 31]}
    search = GridSearchCV(pipeline.set_output(transform="pandas"), grid, cv=2).fit(X, y)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))

    model = HistGradientBoostingClassifier(max_iter=3)
    theirs = ensemble.HistGradientBoostingClassifier().get_metadata_routing()
    ours = model.get_metadata_routing()
    assert set(theirs.fit.requests) <= set(ours.fit.requests)
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        weight = np.ones(len(y))
        weight[::3] = 0
        found = cross_validate(model, X, y, cv=2, params={"sample_weight": weight})
    assert (found["test_score"] > 0.7).all()


# --- early stopping -------------------------------------------------------------------------------


def validation_rows(X, y, seed, stratify):
    """The rows that scikit-learn's class holds out."""
    from sklearn.model_selection import train_test_split

    seed = np.random.RandomState(seed).randint(np.iinfo(np.uint32).max, dtype="u8")
    return train_test_split(X, y, test_size=0.1, random_state=seed, stratify=stratify)


@pytest.mark.parametrize("scoring", ["loss", "roc_auc", None])
def test_scores_are_those_of_the_stages(scoring):
    X, y = CANCER
    options = {"early_stopping": True, "scoring": scoring, "max_iter": 8, "random_state": 5}
    model = HistGradientBoostingClassifier(**options).fit(X, y)
    theirs = ensemble.HistGradientBoostingClassifier(**options).fit(X, y)
    X_train, X_held, y_train, y_held = validation_rows(X, y, 5, y)
    score = {
        "loss": lambda p, y: -log_loss(y, p),
        "roc_auc": lambda p, y: roc_auc_score(y, p[:, 1]),
        None: lambda p, y: np.mean((p[:, 1] > 0.5) == y),
    }[scoring]
    for found, other, rows, labels in (
        (model.train_score_, theirs.train_score_, X_train, y_train),
        (model.validation_score_, theirs.validation_score_, X_held, y_held),
    ):
        stages = [score(p, labels) for p in model.staged_predict_proba(rows)]
        np.testing.assert_allclose(found[1:], stages)
        assert found[0] == pytest.approx(other[0])  # before the first round
    assert not hasattr(model, "validation_scores_")  # scikit-learn's attributes


def test_scores_of_many_training_rows_are_those_of_a_sample():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((13_000, 1))
    y = X[:, 0] + rng.standard_normal(13_000)
    model = HistGradientBoostingRegressor(scoring="r2", max_iter=2, random_state=0).fit(X, y)
    assert model.do_early_stopping_
    X_train, _, y_train, _ = validation_rows(X, y, 0, None)
    own = [1 - np.mean((p - y_train) ** 2) / y_train.var() for p in model.staged_predict(X_train)]
    np.testing.assert_allclose(model.train_score_[1:], own, atol=0.01)
    assert not np.allclose(model.train_score_[1:], own, atol=1e-6)
    assert (
        not HistGradientBoostingRegressor(max_iter=1).fit(X[:10_000], y[:10_000]).do_early_stopping_
    )


def test_rounds_end_where_nothing_improves():
    X, y = DIABETES
    options = {"learning_rate": 0.5, "n_iter_no_change": 4, "random_state": 0}
    for validation_fraction in (0.2, 60, None):
        model = HistGradientBoostingRegressor(
            early_stopping=True,
            validation_fraction=validation_fraction,
            tol=1e-3,
            max_iter=300,
            **options,
        ).fit(X, y)
        scores = model.validation_score_ if validation_fraction else model.train_score_
        gain = -2e-3 * scores[0]  # of the constant, whose deviance is twice its loss
        ends = [
            t for t in range(5, len(scores) + 1) if max(scores[t - 4 : t]) <= scores[t - 5] + gain
        ]
        assert ends == [len(scores)]
        assert model.stop_reason_ == "early stopping"
        assert len(scores) == model.n_iter_ + 1
    assert not len(model.validation_score_)


def test_given_validation_rows_decide():
    X, y = DIABETES
    model = HistGradientBoostingRegressor(max_iter=60, random_state=0)
    model.fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert model.do_early_stopping_
    stages = [np.mean((p - y[300:]) ** 2) for p in model.staged_predict(X[300:])]
    np.testing.assert_allclose(-2 * model.validation_score_[1:], stages)
    with pytest.raises(ValueError, match="early_stopping is False"):
        HistGradientBoostingRegressor(early_stopping=False).fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="X_val is provided, but y_val"):
        HistGradientBoostingRegressor().fit(X, y, X_val=X)
    groups = np.repeat(np.arange(13), 34)
    model = HistGradientBoostingRegressor(early_stopping=True, max_iter=2, random_state=0)
    model.fit(X, y, groups=groups)
    assert len(model.validation_score_) == 3


def test_gradient_boosting_stops_by_a_metric():
    X, y = DIABETES
    X = pd.DataFrame(X, columns=[f"f{j}" for j in range(10)])
    options = {"n_estimators": 60, "learning_rate": 0.5, "random_state": 0}
    seen = []

    def scorer(model, X, y):
        seen.append((X, model.predict(X), model.predict(X.iloc[:5])))
        return -np.mean(np.abs(y - seen[-1][1]))

    found = []
    for scoring in ("neg_mean_absolute_error", scorer):
        model = GradientBoostingRegressor(
            **options, n_iter_no_change=3, tol=0.1, validation_fraction=0.3, scoring=scoring
        )
        found.append(model.fit(X, y).validation_scores_)
    np.testing.assert_allclose(found[0], found[1])
    rows, last, first = seen[-1]
    assert rows.columns.tolist() == X.columns.tolist()
    np.testing.assert_allclose(last, model.predict(rows))  # from the scores of the round
    np.testing.assert_allclose(first, last[:5])  # by all trees
    expected = get_scorer("neg_mean_absolute_error")
    assert found[0][-1] == pytest.approx(expected(model, rows, y[rows.index]))
    losses, ends = (-found[0]).tolist(), []
    for t in range(4, len(losses) + 1):
        if losses[t - 1] + 0.1 >= max(losses[t - 4 : t - 1]):
            ends.append(t)
    assert ends == [len(losses)]
    assert model.stop_reason_ == "early stopping"
    with pytest.raises(ValueError, match="scoring"):
        GradientBoostingRegressor(scoring="no such score").fit(X, y)


# --- trees: l2, least weights, features drawn for each --------------------------------------------


@pytest.mark.parametrize("second_order", [False, True])
def test_l2_regularization_shrinks_newton_steps(second_order):
    X, y = CANCER
    tree = BinnedTreeRegressor(max_depth=2, l2_regularization=3.0)
    step = "newton" if second_order else "fixed"
    model = GradientBoostingClassifier(tree, n_estimators=1, learning_rate=1, step=step).fit(X, y)
    share = np.mean(y)
    leaf = model.apply(X)[:, 0]
    leaf = leaf[:, 0] if leaf.ndim == 2 else leaf
    values = model.decision_function(X) - np.log(share / (1 - share))
    for one in np.unique(leaf):
        rows = leaf == one
        g, h = np.sum(y[rows] - share), rows.sum() * share * (1 - share)
        # Of the first order the weight of a leaf is that of its rows.
        newton = g / (h + 3.0) if second_order else g / h * rows.sum() / (rows.sum() + 3.0)
        np.testing.assert_allclose(values[rows], newton, rtol=0.02 if not second_order else 1e-9)


def test_min_weight_leaf_bounds_every_leaf():
    X, y = CANCER
    for second_order, least in ((False, 60.0), (True, 5.0)):
        tree = BinnedTreeRegressor(max_depth=3, min_weight_leaf=least)
        step = "newton" if second_order else "fixed"
        model = GradientBoostingClassifier(tree, n_estimators=4, step=step).fit(X, y)
        scores = [np.full(len(y), model.initial_scores_), *model.staged_decision_function(X)]
        smallest = np.inf
        for t, u in enumerate(scores[:-1]):
            p = 1 / (1 + np.exp(-u))
            weight = p * (1 - p) if second_order else np.ones(len(y))
            leaf = model.apply(X)[:, t].ravel()
            sums = np.bincount(leaf, weight)
            smallest = min(smallest, sums[sums > 0].min())
        assert least <= smallest < 2 * least
    single = BinnedTreeRegressor(min_weight_leaf=60).fit(X, y)
    assert 60 <= np.unique(single.apply(X), return_counts=True)[1].min() < 120


@pytest.mark.parametrize(
    "options", [{}, {"max_features": 2}, {"max_leaf_nodes": 600, "max_depth": None}], ids=str
)
def test_features_are_drawn_for_each_tree(options):
    X, y = DIABETES
    options = {"max_depth": 3, **options}

    def boosted(**given):
        tree = BinnedTreeRegressor(**options, **given)
        return GradientBoostingRegressor(tree, n_estimators=12, random_state=0).fit(X, y)

    model, share = boosted(features_per_tree=3), boosted(features_per_tree=0.37)
    np.testing.assert_array_equal(model.predict(X), share.predict(X))
    used = [set(np.unique(m.tree_.feature).tolist()) - {-2} for m in model.estimators_.ravel()]
    assert all(1 <= len(features) <= 3 for features in used)
    assert len(set().union(*used)) > 6
    with reference_trees():
        other = boosted(features_per_tree=3)
    assert used == [
        set(np.unique(m.tree_.feature).tolist()) - {-2} for m in other.estimators_.ravel()
    ]
    np.testing.assert_allclose(other.predict(X), model.predict(X))
    every, without = boosted(features_per_tree=10), boosted()
    np.testing.assert_array_equal(every.predict(X), without.predict(X))


def test_a_tree_of_drawn_features_is_that_of_their_columns():
    X, y = DIABETES
    signs = [1, 0, -1, 0, 0, 0, 0, 0, 0, 1]
    one = {"n_estimators": 1, "learning_rate": 1}
    options = {"max_depth": 3, "interaction_cst": "pairwise"}
    for seed in range(3):
        tree = BinnedTreeRegressor(features_per_tree=4, monotonic_cst=signs, **options)
        model = GradientBoostingRegressor(tree, random_state=seed, **one).fit(X, y)
        used = np.unique(model.estimators_[0, 0].tree_.feature)
        used = used[used >= 0]
        alone = BinnedTreeRegressor(monotonic_cst=np.array(signs)[used], **options)
        alone = GradientBoostingRegressor(alone, **one).fit(X[:, used], y)
        np.testing.assert_allclose(alone.predict(X[:, used]), model.predict(X))


def test_a_single_tree_draws_its_features_too():
    X, y = DIABETES
    used = []
    for seed in range(8):
        tree = BinnedTreeRegressor(features_per_tree=2, max_depth=4, random_state=seed).fit(X, y)
        used.append(set(tree.tree_.feature.tolist()) - {-2})
        alone = BinnedTreeRegressor(max_depth=4).fit(X[:, sorted(used[-1])], y)
        np.testing.assert_allclose(alone.predict(X[:, sorted(used[-1])]), tree.predict(X))
    assert all(1 <= len(features) <= 2 for features in used)
    assert len(set().union(*used)) > 4


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"estimator": BinnedTreeRegressor(features_per_tree=11)},
            "features_per_tree=11 is more than the 10 features",
        ),
        (
            {"interaction_cst": "pairwise", "max_bins": None},
            "interaction_cst requires trees in bins",
        ),
        ({"max_bins": 16, "estimator": BinnedTreeRegressor()}, "max_bins=16 describes"),
    ],
)
def test_what_other_trees_do_not_have_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(**params).fit(*DIABETES)


@pytest.mark.parametrize("scoring", ["neg_max_error", lambda model, X, y: 1.0], ids=["name", "own"])
def test_metrics_without_weights_are_refused_where_rows_have_them(scoring):
    X, y = DIABETES
    weight = np.arange(1.0, len(y) + 1)
    for model in (
        HistGradientBoostingRegressor(scoring=scoring, early_stopping=True, max_iter=3),
        GradientBoostingRegressor(scoring=scoring, n_iter_no_change=2, n_estimators=3),
    ):
        assert clone(model).fit(X, y).score(X, y) > 0
        with pytest.raises(TypeError, match=r"scoring=.* takes no sample_weight"):
            model.fit(X, y, weight)


@pytest.mark.parametrize(
    ("ours", "theirs", "data"),
    [
        (HistGradientBoostingRegressor, GradientBoostingRegressor, DIABETES),
        (HistGradientBoostingClassifier, GradientBoostingClassifier, IRIS),
    ],
)
def test_methods_that_need_held_out_name_the_estimator_that_has_them(ours, theirs, data):
    settings = {**SAME, "n_estimators": 5}
    kept = theirs(n_estimators=5, held_out=3).fit(*data)
    plain = theirs(n_estimators=5).fit(*data)
    needed = {name for name in dir(kept) if hasattr(kept, name) and not hasattr(plain, name)}
    needed = {name for name in needed if not name.startswith("_")}
    assert {"standard_error", "confidence_interval", "forget_training_rows"} < needed
    model = ours(max_iter=5).fit(*data)
    for name in needed:
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=rf"{name}.*{theirs.__name__}\(.*held_out=10\)"):
            getattr(model, name)
    with pytest.raises(AttributeError, match=r"no attribute 'unknown'$"):
        model.unknown  # noqa: B018
    assert pickle.loads(pickle.dumps(model)).n_iter_ == 5
    # The advice is the same model.
    step = {"step": "newton"} if ours is HistGradientBoostingClassifier else {}
    same = theirs(**settings, **step, held_out=10, random_state=0).fit(*data)
    again = ours(max_iter=5, random_state=0).fit(*data)
    np.testing.assert_array_equal(same.predict(data[0]), again.predict(data[0]))
