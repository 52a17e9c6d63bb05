"""The super learner: its weights by other routes, what it keeps, and what it refuses."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_friedman1
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, TimeSeriesSplit, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from sklearn_ensemble_theory import (
    RandomForestRegressor,
    SuperLearnerClassifier,
    SuperLearnerRegressor,
    export,
)
from sklearn_ensemble_theory._folds import training_on_each_class
from sklearn_ensemble_theory.combining import WeightedMean
from sklearn_ensemble_theory.combining._super_learning import best_temperature, tempered

pd = pytest.importorskip("pandas")

FAST = ["linear", "neighbors", "forest"]


def halves(load, **options):
    X, y = load(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    half = len(y) // 2
    return X[order[:half]], y[order[:half]], X[order[half:]], y[order[half:]]


# --- weights and temperature by other routes ------------------------------------------------------


def on_simplex(risk, k):
    """The minimum over weights of sum 1 by a general method."""
    best = None
    for start in (np.full(k, 1 / k), *np.eye(k) * 0.9 + 0.1 / k):
        found = minimize(
            risk,
            start,
            bounds=[(0, 1)] * k,
            constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        if best is None or found.fun < best.fun:
            best = found
    return best


@pytest.mark.parametrize("prior_rows", [0.5, 1.0, 20.0])
def test_weights_under_the_prior_are_the_mode_of_the_posterior(prior_rows):
    rng = np.random.RandomState(0)
    n, k = 40, 3
    P = rng.dirichlet([1, 1, 1, 1], size=(n, k))
    y = rng.randint(4, size=n)
    own = P[np.arange(n), :, y]

    def posterior(v):
        v = np.maximum(v, 1e-300)
        return -np.log(own @ v).sum() - prior_rows / k * np.log(v).sum()

    rule = WeightedMean(loss="log_loss", prior_rows=prior_rows).fit(P, y)
    best = on_simplex(posterior, k)
    assert posterior(rule.estimator_weights_) <= best.fun + 1e-6
    np.testing.assert_allclose(rule.estimator_weights_, best.x, atol=2e-3)
    assert rule.kkt_violation_ < 1e-6


def test_weights_of_squares_under_the_prior():
    rng = np.random.RandomState(0)
    n, k = 30, 4
    y = rng.normal(size=n) * 1e6
    P = y[:, None] + rng.normal(size=(n, k)) * [1e6, 1e6, 2e6, 3e6]
    smallest = ((P - y[:, None]) ** 2).mean(axis=0).min()

    def penalised(v):
        return ((P @ v - y) ** 2).sum() / smallest + k * ((v - 1 / k) ** 2).sum()

    rule = WeightedMean(loss="squared_error", prior_rows=1.0).fit(P, y)
    best = on_simplex(penalised, k)
    assert penalised(rule.estimator_weights_) <= best.fun * (1 + 1e-9)
    much = WeightedMean(loss="squared_error", prior_rows=1e9).fit(P, y)
    np.testing.assert_allclose(much.estimator_weights_, 1 / k, atol=1e-6)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_weights_of_counts_and_amounts(loss):
    rng = np.random.RandomState(1)
    n, k = 200, 4
    mean = np.exp(rng.normal(size=n))
    y = rng.poisson(mean) if loss == "poisson" else rng.gamma(2, mean / 2) + 1e-3
    P = mean[:, None] * np.exp(rng.normal(size=(n, k)) * [0.3, 0.5, 0.7, 1.0])

    def risk(v):
        m = P @ v
        if loss == "gamma":
            return (y / m + np.log(m)).mean()
        return (m - y * np.log(m)).mean()

    rule = WeightedMean(loss=loss).fit(P, y)
    best = on_simplex(risk, k)
    assert risk(rule.estimator_weights_) <= best.fun + 1e-7
    assert rule.kkt_violation_ < 1e-6


def test_weights_of_a_member_that_predicts_no_count():
    y = np.array([0.0, 1.0, 2.0, 0.0])
    P = np.column_stack([np.zeros(4), np.full(4, 0.75)])
    rule = WeightedMean(loss="poisson").fit(P, y)
    np.testing.assert_allclose(rule.estimator_weights_, [0, 1], atol=1e-6)
    assert np.isfinite(rule.cv_results_["mean_score"]).all()


def test_prior_needs_its_set_and_loss():
    P, y = np.ones((4, 2)), np.arange(4.0)
    with pytest.raises(ValueError, match="prior_rows=1"):
        WeightedMean("nnls", prior_rows=1).fit(P, y)
    with pytest.raises(ValueError, match="prior_rows=1"):
        WeightedMean(loss="absolute_error", prior_rows=1).fit(P, y)


def test_temperature_is_the_best_of_a_grid():
    rng = np.random.RandomState(0)
    true = rng.dirichlet([1, 1, 1], size=2000)
    y = np.array([rng.choice(3, p=p) for p in true])
    for power in (0.6, 1.0, 1.5):
        P = tempered(true, 1 / power)
        found = best_temperature(P, y, np.full(2000, 1 / 2000), np.full(3, 1 / 3), 2000)
        assert found == pytest.approx(power, rel=0.08)
    few = best_temperature(tempered(true[:8], 0.5), y[:8], np.full(8, 1 / 8), np.full(3, 1 / 3), 8)
    assert 0.7 < few < 1.4  # eight rows move it little


def test_a_class_without_votes_does_not_decide_the_temperature():
    rng = np.random.RandomState(0)
    true = rng.dirichlet([1, 1, 1], size=400)
    y = np.array([rng.choice(3, p=p) for p in true])
    given = np.full(400, 1 / 400), np.full(3, 1 / 3), 400
    without = best_temperature(true, y, *given)
    votes = true.copy()
    votes[0, y[0]] = 0.0
    votes[0] /= votes[0].sum()
    assert best_temperature(votes, y, *given) == pytest.approx(without, rel=0.1)
    # The temperature of the smallest log-loss of what is predicted, by a grid.
    grid = np.exp(np.linspace(-1, 1, 2001))
    losses = []
    for t in grid:
        P = np.maximum(votes, np.finfo(np.float64).tiny) ** (1 / t)
        P = (400 * P / P.sum(axis=1, keepdims=True) + 0.05 / 3) / 400.05
        losses.append(-np.log(P[np.arange(400), y]).sum() + 0.5 * (np.log(t) / 0.2) ** 2)
    best = grid[np.argmin(losses)]
    assert best_temperature(votes, y, *given) == pytest.approx(best, rel=2e-3)


def test_a_forest_alone_is_tempered_as_with_others():
    X, y = load_iris(return_X_y=True)
    for seed in (1, 2):  # a row out of bag has no vote for its class
        order = np.random.RandomState(seed).permutation(len(y))[:75]
        model = SuperLearnerClassifier(["forest"], random_state=seed).fit(X[order], y[order])
        assert model.temperature_ < 1.5


# --- what it is for -------------------------------------------------------------------------------


def test_it_is_as_good_as_its_best_member():
    X, y, X_new, y_new = halves(load_diabetes)
    model = SuperLearnerRegressor(random_state=0).fit(X, y)
    losses = {
        name: ((member.predict(X_new) - y_new) ** 2).mean()
        for name, member in model.members_.items()
    }
    assert ((model.predict(X_new) - y_new) ** 2).mean() < 1.06 * min(losses.values())
    board = model.leaderboard_
    assert sorted(board["name"]) == sorted(model.members_)
    assert (np.diff(board["loss"]) >= 0).all()
    assert board["weight"].sum() == pytest.approx(1)
    assert model.held_out_loss_ <= 1.01 * board["loss"][0]
    assert (board["seconds"] > 0).all()


def test_probabilities_are_better_than_those_of_members():
    X, y, X_new, y_new = halves(load_breast_cancer)
    model = SuperLearnerClassifier(random_state=0).fit(X, y)

    def loss(P):
        return -np.log(np.maximum(P[np.arange(len(y_new)), y_new], 1e-15)).mean()

    own = [loss(member.predict_proba(X_new)) for member in model.members_.values()]
    assert loss(model.predict_proba(X_new)) < 1.25 * min(own)
    P = model.predict_proba(X_new)
    assert P.min() > 0
    assert P.max() < 1
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_log_proba(X_new), np.log(P))


def test_intervals_and_sets_cover():
    rng = np.random.RandomState(0)
    covered, sets = [], []
    for seed in range(6):
        X, y = make_friedman1(400, noise=2.0, random_state=seed)
        model = SuperLearnerRegressor(FAST, random_state=0).fit(X[:200], y[:200])
        ends = model.predict_interval(X[200:], 0.9)
        covered.append(((ends[:, 0] <= y[200:]) & (y[200:] <= ends[:, 1])).mean())
        X, y = load_iris(return_X_y=True)
        order = rng.permutation(len(y))
        own, new = order[:75], order[75:]
        classifier = SuperLearnerClassifier(FAST, random_state=0).fit(X[own][:, :2], y[own])
        found = classifier.predict_set(X[new][:, :2], 0.9, empty=False)
        sets.append(found[np.arange(75), y[new]].mean())
    assert 0.86 < np.mean(covered) < 0.96
    assert 0.85 < np.mean(sets) < 0.98


def test_counts_with_exposures():
    rng = np.random.RandomState(0)
    n = 1200
    X, exposure = rng.normal(size=(n, 3)), rng.choice([0.1, 10.0], n)
    mean = exposure * np.exp(0.5 * X[:, 0])
    y = rng.poisson(mean)
    own, new = slice(0, 600), slice(600, n)
    model = SuperLearnerRegressor(loss="poisson", random_state=0)
    model.fit(X[own], y[own], offset=np.log(exposure[own]))
    assert set(model.members_) == {"boosting", "additive", "boosting_31_leaves"}
    found = model.predict(X[new], offset=np.log(exposure[new]))
    assert np.abs(np.log(found / mean[new])).mean() < 0.25
    ends = model.predict_interval(X[new], offset=np.log(exposure[new]))
    inside = (ends[:, 0] <= y[new]) & (y[new] <= ends[:, 1])
    assert ends.min() >= 0
    for value in (0.1, 10.0):
        assert inside[exposure[new] == value].mean() > 0.84
    with pytest.raises(ValueError, match="score needs the offset"):
        model.score(X[new], y[new])
    with pytest.warns(UserWarning, match="fitted with an offset"):
        model.predict(X[new])
    with pytest.raises(ValueError, match="'forest' has no offset"):
        SuperLearnerRegressor(["forest"], loss="poisson").fit(X, y, offset=np.log(exposure))


def test_only_the_model_warns_of_an_offset_that_is_missing():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(120, 2))
    y, offset = rng.poisson(2, 120), np.full(120, 0.5)
    model = SuperLearnerRegressor(["boosting", "additive"], loss="poisson", random_state=0)
    model.fit(X, y, offset=offset)
    with pytest.warns(UserWarning, match="fitted with an offset") as found:
        rates = model.predict(X)
    assert len(found) == 1
    assert "SuperLearnerRegressor" in str(found[0].message)
    np.testing.assert_allclose(rates, model.predict(X, offset=offset) * np.exp(-0.5))
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict(X, offset=0), model.predict(X))
    with pytest.raises(ValueError, match="fitted without an offset"):
        model.predict(X, offset=offset)


def test_targets_of_rows_of_weight_0_are_not_looked_at():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(60, 2)), rng.gamma(2, size=60)
    weight = np.where(np.arange(60) < 5, 0.0, 1.0)
    for loss in ("poisson", "gamma"):
        model = SuperLearnerRegressor(["linear"], loss=loss, random_state=0)
        few = clone(model).fit(X[5:], y[5:])
        found = clone(model).fit(X, np.where(weight > 0, y, -1.0), sample_weight=weight)
        np.testing.assert_allclose(found.predict(X), few.predict(X))


def test_counts_of_which_a_fold_has_none():
    X = np.random.RandomState(0).normal(size=(120, 4))
    y = (np.arange(120) == 5) * 1.0
    model = SuperLearnerRegressor(["linear", "neighbors", "additive"], loss="poisson")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    assert model.predict_interval(X).max() < 1


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson", "gamma"])
def test_the_default_library_takes_each_loss(loss):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(110, 2)), rng.gamma(2, size=110)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SuperLearnerRegressor(loss=loss, random_state=0).fit(X, y)
    assert len(model.members_) == 7


def test_huge_targets_of_absolute_errors_do_not_warn():
    P = np.array([[1e308, -1e308], [-1e308, 1e308], [-1e308, 1e308]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rule = WeightedMean(loss="absolute_error").fit(P, np.array([-1e308, 1e308, 1e308]))
    assert np.isinf(rule.cv_results_["mean_score"]).any()


def test_amounts_and_counts_without_offset():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 3))
    mean = np.exp(X[:, 0])
    for loss, y in (("poisson", rng.poisson(mean)), ("gamma", rng.gamma(3, mean / 3) + 1e-6)):
        model = SuperLearnerRegressor(loss=loss, random_state=0).fit(X, y)
        assert np.abs(np.log(model.predict(X) / mean)).mean() < 0.5
        assert model.predict(X).min() > 0
    with pytest.raises(ValueError, match="values below 0"):
        SuperLearnerRegressor(loss="poisson").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="not above 0"):
        SuperLearnerRegressor(loss="gamma").fit(X, rng.poisson(mean))


def test_errors_on_new_rows_are_below_their_bound():
    X, y, X_new, y_new = halves(load_breast_cancer)
    model = SuperLearnerClassifier(FAST, random_state=0).fit(X, y)
    wrong = int((model.predict(X_new) != y_new).sum())
    assert model.error_bound(X_new, y_new) == pytest.approx(
        stats.beta.ppf(0.95, wrong + 1, len(y_new) - wrong)
    )
    held = model.held_out_
    k = int((held.predictions.argmax(axis=1) != held.y).sum())
    own = model.error_bound(delta=0.01)
    assert own == pytest.approx(stats.beta.ppf(0.99, k + 1, len(held.y) - k))
    assert own > wrong / len(y_new)
    with pytest.raises(ValueError, match="needs both X and y"):
        model.error_bound(X_new)
    with pytest.raises(ValueError, match="drop_unused"):
        model.drop_unused().error_bound()


# --- what it takes --------------------------------------------------------------------------------


def frame(n=200):
    rng = np.random.RandomState(0)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": rng.choice(["a", "b", "c"], n),
            "age": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.normal(size=n)),
            "none": np.nan,
            "one": 1.0,
        }
    )
    X["kind"] = X["kind"].astype("category")
    y = X["size"] + (X["kind"] == "b") + 0.1 * rng.normal(size=n)
    return X, y


def test_frames_with_categories_and_missing_values():
    X, y = frame()
    model = SuperLearnerRegressor(random_state=0).fit(X[:150], y[:150])
    assert model.score(X[150:], y[150:]) > 0.9
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert set(model.members_) == {
        "linear",
        "neighbors",
        "extra_trees",
        "forest",
        "boosting",
        "additive",
        "boosting_31_leaves",
    }
    new = X[150:].assign(kind=pd.Categorical(["zebra"] * 50))
    assert np.isfinite(model.predict(new)).all()
    labels = np.where(y > 0.3, "high", "low")
    classifier = SuperLearnerClassifier(random_state=0).fit(X, labels)
    assert classifier.classes_.tolist() == ["high", "low"]
    assert classifier.score(X, labels) > 0.9


@pytest.mark.parametrize("kind", ["pandas", "polars", "object"])
def test_columns_of_text_are_categories(kind):
    X, y = frame()
    X = X.drop(columns="none")
    text = X.assign(
        kind=np.asarray(X["kind"], dtype=object), more=pd.array(np.arange(200) % 5, "Int64")
    )
    text.loc[3, "more"] = pd.NA
    by_dtype = text.assign(kind=X["kind"])
    if kind == "object":
        text["kind"] = text["kind"].astype(object)
    if kind == "polars":
        polars = pytest.importorskip("polars")
        text = polars.DataFrame(
            {name: text[name].tolist() for name in ("size", "kind", "age", "one")}
        )
        by_dtype = by_dtype.drop(columns="more")
    given = ["linear", "neighbors", "boosting"]
    found = SuperLearnerRegressor(given, random_state=0).fit(text, y)
    same = SuperLearnerRegressor(given, random_state=0).fit(by_dtype, y)
    np.testing.assert_array_equal(found.predict(text), same.predict(by_dtype))
    weight = np.where(np.arange(200) < 20, 0.0, 1.0)
    weighted = SuperLearnerClassifier(given).fit(text, np.where(y > 0, "a", "b"), weight)
    assert weighted.score(text, np.where(y > 0, "a", "b")) > 0.8


def test_super_learners_of_categories_have_no_form_in_onnx():
    X, y = frame()
    model = SuperLearnerRegressor(["linear"]).fit(X, y)
    with pytest.raises(ValueError, match="Feature 'kind' is categorical"):
        export.onnx(model)
    with pytest.raises(ValueError, match="with_terms=True needs an additive model"):
        export.onnx(model, with_terms=True)


@pytest.mark.parametrize("kind", ["text", "category"])
def test_columns_of_many_categories_are_named(kind):
    rng = np.random.RandomState(0)
    city = np.array([f"c{i}" for i in rng.randint(300, size=1500)], dtype=object)
    n = len(np.unique(city))
    X = pd.DataFrame({"size": rng.normal(size=1500), "city": city})
    if kind == "category":
        X["city"] = X["city"].astype("category")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        SuperLearnerRegressor(["linear", "forest", "boosting"]).fit(X, X["size"])
    assert [str(each.message) for each in found] == [
        f"Feature 'city' has {n} categories, of which the {n - 254} of the fewest rows are one to "
        "forests and boosting: these have 255 bins."
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SuperLearnerRegressor(["linear"]).fit(X, X["size"])


def test_frames_are_refused_by_column():
    X, y = frame()
    model = SuperLearnerRegressor(["linear", "boosting"], random_state=0)
    days = X.assign(day=pd.date_range("2020-01-01", periods=200))
    with pytest.raises(TypeError, match="Feature 'day' has dates"):
        model.fit(days, y)
    with pytest.raises(ValueError, match="Feature 'day' holds dates as text"):
        model.fit(X.assign(day=days["day"].astype(str)), y)
    with pytest.raises(TypeError, match="Feature 'mixed' is categorical and has both text"):
        model.fit(X.assign(mixed=pd.Series([1, "a"] * 100, dtype=object)), y)
    with pytest.raises(ValueError, match="feature 'size' has complex numbers"):
        model.fit(X.assign(size=1j), y)
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.fit(X.assign(size=np.inf), y)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        model.fit(X, y.where(y > 0))
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X, None)
    with pytest.raises(ValueError, match=r"0 feature.s. .*required by SuperLearnerRegressor"):
        model.fit(X[[]], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    model.fit(X, y)
    with pytest.raises(TypeError, match="Feature 'size' had numbers in fit, and has text now"):
        model.predict(X.assign(size="large"))
    with pytest.raises(ValueError, match="Input X contains infinity"):
        model.predict(X.assign(size=np.inf))


def test_frames_of_other_members_are_theirs():
    X, y = frame()
    X = X[["size", "kind"]].assign(day=pd.date_range("2020-01-01", periods=200))
    X["kind"] = np.asarray(X["kind"], dtype=object)
    columns = [("kind", OneHotEncoder(), ["kind"]), ("size", "passthrough", ["size"])]
    own = make_pipeline(ColumnTransformer(columns), Ridge())
    model = SuperLearnerRegressor([own]).fit(X, y)
    assert model.score(X, y) > 0.9


def test_sparse_rows_are_those_of_an_array():
    rng = np.random.RandomState(0)
    X = rng.poisson(0.3, size=(150, 8)).astype(float)
    y = X[:, 0] + rng.normal(size=150)
    given = ["forest", "boosting"]
    dense = SuperLearnerRegressor(given, random_state=0).fit(X, y)
    sparse = SuperLearnerRegressor(given, random_state=0).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), atol=0.05)
    everything = SuperLearnerRegressor(random_state=0).fit(sp.csr_array(X), y)
    assert len(everything.members_) == 7


def test_weights_and_groups():
    X, y, X_new, y_new = halves(load_diabetes)
    weight = np.where(np.arange(len(y)) < 100, 1.0, 0.0)
    some = SuperLearnerRegressor(["linear", "boosting"], random_state=0)
    weighted = clone(some).fit(X, y, sample_weight=weight)
    few = clone(some).fit(X[:100], y[:100])
    np.testing.assert_allclose(weighted.predict(X_new), few.predict(X_new))
    # Each row five times: folds that divide the copies see the answers.
    X5, y5, groups = np.repeat(X, 5, axis=0), np.repeat(y, 5), np.repeat(np.arange(len(y)), 5)
    model = SuperLearnerRegressor(FAST, random_state=0).fit(X5, y5, groups=groups)
    truth = ((model.predict(X_new) - y_new) ** 2).mean()
    assert 0.7 < model.held_out_loss_ / truth < 1.4
    with pytest.warns(UserWarning, match="groups"):
        blind = SuperLearnerRegressor(FAST, random_state=0).fit(X5, y5)
    assert blind.held_out_loss_ < 0.5 * model.held_out_loss_


def test_other_estimators_and_splitters():
    X, y, X_new, y_new = halves(load_diabetes)
    scaled = make_pipeline(StandardScaler(), KNeighborsRegressor(15))
    given = ["linear", scaled, ("own", Ridge()), Ridge(10), Ridge(100)]
    model = SuperLearnerRegressor(given, cv=KFold(4, shuffle=True, random_state=0)).fit(X, y)
    assert list(model.members_) == ["linear", "pipeline", "own", "ridge", "ridge-2"]
    assert model.score(X_new, y_new) > 0.3
    by_time = SuperLearnerRegressor(FAST, cv=TimeSeriesSplit(4), random_state=0).fit(X, y)
    assert by_time.held_out_.rows.min() > 0


def test_it_composes():
    X, y, X_new, y_new = halves(load_diabetes)
    model = SuperLearnerRegressor(["linear", "forest"], random_state=0)
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=3).mean() > 0.3
    search = GridSearchCV(model, {"members": [["linear"], ["linear", "forest"]]}, cv=2).fit(X, y)
    assert search.best_params_["members"][0] == "linear"
    fitted = clone(model).fit(X, y)
    importance = permutation_importance(fitted, X_new, y_new, random_state=0)
    assert importance.importances_mean.argmax() in (2, 8)
    same = clone(model).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(same.predict(X_new), fitted.predict(X_new))


def test_unused_members_are_dropped():
    X, y, X_new, _ = halves(load_breast_cancer)
    model = SuperLearnerClassifier(random_state=0).fit(X, y)
    small = model.drop_unused()
    np.testing.assert_array_equal(small.predict_proba(X_new), model.predict_proba(X_new))
    assert len(small.members_) <= len(model.members_)
    assert min(small.member_weights_.values()) > 0
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(again.predict_proba(X_new), model.predict_proba(X_new))
    assert len(pickle.dumps(small)) < len(pickle.dumps(model))
    model.predict_set(X_new)
    with pytest.raises(ValueError, match="drop_unused"):
        small.predict_set(X_new)


# --- what fails -----------------------------------------------------------------------------------


class Failing(RegressorMixin, BaseEstimator):
    """A regressor that cannot be fitted."""

    def fit(self, X, y):
        raise RuntimeError("no licence")

    def predict(self, X):
        return X


class Pairs(RegressorMixin, BaseEstimator):
    """A regressor of two numbers a row."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros((len(X), 2))


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are none."""

    def __init__(self, row=(5.0, 5.0)):
        self.row = row

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile(self.row, (len(X), 1))


class Votes(ClassifierMixin, BaseEstimator):
    """A classifier without probabilities."""

    def fit(self, X, y):
        return self


def test_a_member_that_fails_is_left_out():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(UserWarning, match="'failing' is left out, because its fit failed: no lic"):
        model = SuperLearnerRegressor(["linear", Failing()]).fit(X, y)
    assert list(model.members_) == ["linear"]
    with pytest.raises(RuntimeError, match="no licence"):
        SuperLearnerRegressor([Failing()]).fit(X, y)


class InPlace(RegressorMixin, BaseEstimator):
    """Least squares that centres and scales everything that it is given, in place."""

    def fit(self, X, y, sample_weight):
        X *= 0.5
        y -= 0.5
        sample_weight *= 2.0
        self.coef_ = np.linalg.lstsq(X * sample_weight[:, None], y * sample_weight)[0]
        return self

    def predict(self, X):
        X *= 0.5
        return X @ self.coef_ + 0.5


class OnCopies(InPlace):
    """The same, on copies."""

    def fit(self, X, y, sample_weight):
        return super().fit(X.copy(), y.copy(), sample_weight.copy())

    def predict(self, X):
        return super().predict(X.copy())


@pytest.mark.parametrize("make", [np.array, pd.DataFrame])
def test_members_that_change_their_rows_change_their_own(make):
    X, y, X_new, _ = halves(load_diabetes)
    given = make(X), y, np.ones(len(y))
    new, found = make(X_new), []
    before = pickle.dumps((given, new))
    for member in (InPlace(), OnCopies()):
        model = SuperLearnerRegressor([("own", member), Ridge()], random_state=0).fit(*given)
        found.append((model.predict(new), model.leaderboard_["loss"]))
        assert pickle.dumps((given, new)) == before
    for own, same in zip(*found):
        np.testing.assert_array_equal(own, same)


def test_sparse_rows_that_a_member_scales_in_place():
    X, y = load_diabetes(return_X_y=True)
    X = sp.csr_array(X)
    before = X.toarray()
    own = make_pipeline(StandardScaler(copy=False, with_mean=False), Ridge())
    model = SuperLearnerRegressor([own, Ridge()]).fit(X, y)
    model.predict(X)
    np.testing.assert_array_equal(X.toarray(), before)


def test_members_that_predict_something_else_are_left_out():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(UserWarning, match="'pairs' is left out.*2 numbers for a row"):
        model = SuperLearnerRegressor(["linear", Pairs()]).fit(X, y)
    assert list(model.members_) == ["linear"]
    X, y = load_breast_cancer(return_X_y=True)
    for row in ((5.0, 5.0), (-1.0, 2.0)):
        with pytest.warns(UserWarning, match="'scores' is left out.*not probabilities"):
            model = SuperLearnerClassifier(["linear", Scores(row)]).fit(X, y)
        assert list(model.members_) == ["linear"]
    SuperLearnerClassifier([Scores((0.5, 0.5))]).fit(X, y)


def test_rows_without_any_value():
    X, y = np.full((60, 2), np.nan), np.arange(60.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SuperLearnerRegressor(["linear", "neighbors"], random_state=0).fit(X, y)
        classifier = SuperLearnerClassifier(["linear", "neighbors"]).fit(X, y % 2)
    np.testing.assert_allclose(model.members_["linear"].predict(X), y.mean())
    np.testing.assert_allclose(classifier.predict_proba(X), 0.5, atol=0.1)


def test_names_that_are_made_are_free():
    X, y = load_diabetes(return_X_y=True)
    given = [("ridge-2", Ridge()), Ridge(), Ridge(10)]
    assert list(SuperLearnerRegressor(given).fit(X, y).members_) == ["ridge-2", "ridge", "ridge-3"]


def test_the_default_library_takes_weights_of_any_size():
    X, y = load_diabetes(return_X_y=True)
    model = SuperLearnerRegressor(random_state=0, time_limit=1e-6)
    rng = np.random.RandomState(0)
    weights = (rng.uniform(size=len(y)), rng.randint(1, 4, len(y)), np.full(len(y), 0.3))
    for weight, is_member in zip(weights, (False, True, True)):
        with pytest.warns(UserWarning, match="time_limit") as found:
            model.fit(X, y, sample_weight=weight)
        named = [*model.members_, *str(found[0].message).split("'")]
        assert ("neighbors" in named) == is_member
        assert len(found) == 1


def test_neighbors_count_copies_of_rows():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:150], y[:150]
    copies = np.random.RandomState(0).randint(1, 4, 150)
    model = SuperLearnerRegressor(["neighbors"], random_state=0)
    repeated = np.repeat(np.arange(150), copies)
    many = clone(model).fit(X[repeated], y[repeated], groups=repeated)
    for unit in (1.0, 0.1, 7.0):
        found = clone(model).fit(X, y, sample_weight=unit * copies)
        np.testing.assert_allclose(found.predict(X), many.predict(X), rtol=1e-9)


def test_time_that_is_too_short_leaves_the_linear_model():
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(UserWarning, match=r"time_limit=1e-06 leaves no time for .*'neighbors'"):
        model = SuperLearnerRegressor(time_limit=1e-6, random_state=0).fit(X, y)
    assert list(model.members_) == ["linear"]
    enough = SuperLearnerRegressor(FAST, time_limit=1e6, random_state=0).fit(X, y)
    plain = SuperLearnerRegressor(FAST, random_state=0).fit(X, y)
    np.testing.assert_array_equal(enough.predict(X), plain.predict(X))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (["linear", "trees"], "'trees', which is none of linear"),
        ([], "at least one member"),
        (["linear", "linear"], "'linear' twice"),
        ([RandomForestRegressor], "members must have an estimator, not a class"),
        ([LogisticRegression()], "neither a name of the library nor a regressor with fit"),
        ([3], "neither a name of the library nor a regressor with fit"),
        ([("linear", Ridge()), "linear"], "'linear' twice"),
        ([(1, Ridge())], "not a string"),
    ],
)
def test_members_that_are_none(members, message):
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises((ValueError, TypeError), match=message):
        SuperLearnerRegressor(members).fit(X, y)


def test_few_rows_and_rare_classes():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(4, 2)), np.arange(4.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert np.isfinite(SuperLearnerRegressor(random_state=0).fit(X, y).predict(X)).all()
        with pytest.raises(ValueError, match="at least two rows"):
            SuperLearnerRegressor().fit(X[:1], y[:1])
        X, y = rng.normal(size=(30, 2)), np.array(["a"] * 15 + ["b"] * 14 + ["rare"])
        model = SuperLearnerClassifier(random_state=0).fit(X, y)
        with pytest.raises(ValueError, match="a single row of each of its 30 classes"):
            SuperLearnerClassifier().fit(X, np.arange(30))
    assert model.classes_.tolist() == ["a", "b", "rare"]
    assert model.predict_proba(X).min() > 0
    with pytest.raises(ValueError, match="at least two classes"):
        SuperLearnerClassifier().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="'votes' has no predict_proba"):
        SuperLearnerClassifier(["linear", Votes()]).fit(X, y)
    with pytest.raises(ValueError, match="at least two groups"):
        SuperLearnerRegressor([LinearRegression()]).fit(X, X[:, 0], groups=np.zeros(30))


def test_a_class_of_a_single_row_is_trained_on_in_every_fold():
    X, y = load_iris(return_X_y=True)
    rows = np.r_[0:40, 50:90, 100]
    given = ["linear", "neighbors", "boosting", "additive", "boosting_31_leaves"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SuperLearnerClassifier(given, random_state=0).fit(X[rows], y[rows])
    assert list(model.members_) == given
    np.testing.assert_array_equal(model.held_out_.rows, np.arange(80))
    assert model.predict(X[[100]]) == [2]
    assert 0 < model.predict_proba(X[:40])[:, 2].max() < 0.1
    with pytest.warns(UserWarning, match="1 of 3 classes have too few rows and are in all sets"):
        assert model.predict_set(X[:2], per_class=True)[:, 2].all()
    # The rows of a class that is a single group stay together.
    rows = np.r_[0:40, 50:90, 100:102]
    groups = np.r_[np.arange(80) // 4, 20, 20]
    model.set_params(members=["linear", "additive"]).fit(X[rows], y[rows], groups=groups)
    np.testing.assert_array_equal(model.held_out_.rows, np.arange(80))
    with pytest.raises(ValueError, match="rows of each class in two groups"):
        model.fit(X[rows], y[rows], groups=y[rows])


@pytest.mark.parametrize("grouped", [False, True])
def test_splits_train_on_each_class(grouped):
    rng = np.random.RandomState(0)
    y, folds = rng.randint(6, size=60), rng.randint(5, size=60)
    y[:4] = [6, 7, 8, 8]
    folds[2:4] = 1
    groups = np.where(np.arange(60) < 20, np.arange(60) // 2, 100 + folds) if grouped else None
    if grouped:
        folds[:20:2] = folds[1:20:2]
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(5)]
    found = training_on_each_class(splits, y, groups)
    for (train, test), (_, given) in zip(found, splits):
        assert set(y[train]) == set(y)
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(60))
        lost = np.setdiff1d(given, test)
        alone = [i for i in given if set(np.flatnonzero(y == y[i])) <= set(given)]
        if not grouped:
            np.testing.assert_array_equal(lost, alone)
        else:
            np.testing.assert_array_equal(lost, given[np.isin(groups[given], groups[alone])])
            assert not set(groups[train]) & set(groups[test])


def test_few_rows_take_few_rounds():
    X, y = load_iris(return_X_y=True)
    model = SuperLearnerClassifier(["boosting_31_leaves"], random_state=0).fit(X[45:55], y[45:55])
    assert model.members_["boosting_31_leaves"].n_estimators_ <= 100


def test_progress_names_the_members(capsys):
    X, y = load_diabetes(return_X_y=True)
    SuperLearnerRegressor(["linear", "forest"], random_state=0, verbose=1).fit(X, y)
    printed = capsys.readouterr().out
    assert "1/2 members" in printed
    assert "linear" in printed
    assert "forest" in printed


def test_rows_are_checked_before_their_offsets():
    X, y = load_diabetes(return_X_y=True)
    model = SuperLearnerRegressor(["linear"], random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="2D array"):
        model.predict(np.array(0.5), offset=[0.5, 0.7])


def test_neighbors_are_never_certain():
    """Of n rows, all of which their neighbours tell rightly, the loss is that of one row more."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 0.1, (40, 2)), rng.normal(3, 0.1, (60, 2))])
    y = np.repeat(["a", "b"], [40, 60])
    options = {"members": ["neighbors", "linear"], "random_state": 0}
    model = SuperLearnerClassifier(**options).fit(X, y)
    neighbors = model.members_["neighbors"]
    proba = neighbors.predict_proba(np.array([[0.0, 0.0], [3.0, 3.0]]))
    np.testing.assert_allclose(proba, [[100.4 / 101, 0.6 / 101], [0.4 / 101, 100.6 / 101]])
    known = dict(zip(model.leaderboard_["name"], model.leaderboard_["loss"]))
    assert known["neighbors"] == pytest.approx(
        -0.4 * np.log(100.4 / 101) - 0.6 * np.log(100.6 / 101)
    )
    # Weights that count rows count here too.
    weight = np.repeat([2.0, 1.0], [40, 60])
    counted = SuperLearnerClassifier(**options).fit(X, y, sample_weight=weight)
    shares = counted.members_["neighbors"].predict_proba([[0.0, 0.0]])
    np.testing.assert_allclose(shares, [[(140 + 4 / 7) / 141, 3 / 7 / 141]])


@pytest.mark.parametrize("most", [4, 300])
def test_rows_that_count_as_several_are_held_out_as_a_whole(most):
    """A member that sees copies of a row is no better for it, and the loss is that of new rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((250, 3))
    y = X[:, 0] * X[:, 1] + rng.standard_normal(250)
    counts = rng.integers(1, most, 250).astype(float)
    model = SuperLearnerRegressor(["linear", "neighbors"]).fit(X, y, sample_weight=counts)
    again = SuperLearnerRegressor(["linear", "neighbors"])
    again.fit(X, y, sample_weight=counts, groups=np.arange(250))
    assert model.held_out_loss_ > 1.0  # the variance of the noise
    assert model.held_out_loss_ == pytest.approx(again.held_out_loss_, rel=0.1)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e290])
def test_features_of_any_size(form, scale):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:150, [2, 8]] * 10, y[:150]
    model = SuperLearnerRegressor(["linear", "neighbors"])
    expected = model.fit(form(X), y).predict(form(X))
    found = model.fit(form(scale * X), y).predict(form(scale * X))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
