"""Additive models for any loss: against closed forms, certificates, and the models of one loss."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.special import expit, logit
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
)
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.boosting.losses import (
    GammaLoss,
    HuberLoss,
    PoissonLoss,
    QuantileLoss,
    TweedieLoss,
)

from .additive_data import cv_path, fold_scores
from .l2_boosting_data import PLAIN

N_GROUPS = 6
OFFSETS = np.log(np.random.default_rng(1).uniform(0.1, 1, size=600))


@pytest.fixture(scope="module")
def table():
    """A feature of six values, and means that depend on it."""
    rng = np.random.default_rng(0)
    group = rng.integers(N_GROUPS, size=600)
    return group, group[:, None].astype(float), np.exp(0.3 * group - 1)


@pytest.fixture(scope="module")
def smooth():
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(400, 3))
    return X, np.sin(6 * X[:, 0]) + X[:, 1]


def whole(loss, **params):
    """Rounds with full steps, until nothing is left."""
    return AdditiveBoostingRegressor(
        loss=loss, n_estimators=2000, learning_rate=1.0, **params, **PLAIN
    )


def by_group(values, group):
    return np.bincount(group, values, N_GROUPS)


# --- optima ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_a_table_with_offsets_has_the_rates_of_its_groups(table, p):
    # The score equations of exp(offset + u) in a group: sum m^(1-p) (y - m) = 0.
    group, X, mean = table
    rng, factor = np.random.default_rng(3), np.exp(OFFSETS)
    y = rng.poisson(factor * mean) if p == 1 else rng.gamma(2, factor * mean)
    loss = {1.0: "poisson", 1.5: "tweedie", 2.0: "gamma"}[p]
    model = whole(loss).fit(X, y, offset=OFFSETS)
    rates = by_group(y * factor ** (1 - p), group) / by_group(factor ** (2 - p), group)
    np.testing.assert_allclose(model.predict(X, 0), rates[group], rtol=1e-10)
    np.testing.assert_allclose(model.predict(X, offset=OFFSETS), factor * rates[group], rtol=1e-10)


def test_log_odds_with_offsets(table):
    group, X, mean = table
    y = np.random.default_rng(4).uniform(size=len(X)) < expit(OFFSETS + mean)
    model = LogitBoostClassifier(2000, learning_rate=1.0).fit(X, y, offset=OFFSETS)
    same = whole("binomial").fit(X, y, offset=OFFSETS)
    p = model.predict_proba(X, offset=OFFSETS)[:, 1]
    np.testing.assert_allclose(by_group(y - p, group), 0, atol=1e-8)
    np.testing.assert_allclose(same.predict(X, offset=OFFSETS), p, rtol=1e-9)
    np.testing.assert_allclose(logit(p) - OFFSETS, model.decision_function(X, 0), atol=1e-9)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantiles_of_groups(table, q):
    group, X, mean = table
    y = np.random.default_rng(5).standard_normal(len(X)) * mean
    loss = "absolute_error" if q == 0.5 else QuantileLoss(q)
    model = AdditiveBoostingRegressor(loss=loss, n_estimators=4000, learning_rate=0.1)
    values = model.fit(X, y).predict(X)
    for k in range(N_GROUPS):
        own, n = np.sort(y[group == k]), np.sum(group == k)
        # The subgradient contains 0, but for the rows nearest to the quantile.
        below = np.searchsorted(own, values[group == k][0])
        assert abs(below - q * n) <= 3


def test_minimum_of_hubers_loss(table):
    group, X, mean = table
    y = mean + np.random.default_rng(6).standard_t(2, size=len(X))
    model = whole(HuberLoss(0.7)).fit(X, y)
    left = by_group(np.clip(y - model.predict(X), -0.7, 0.7), group)
    np.testing.assert_allclose(left, 0, atol=1e-7)
    found = whole(HuberLoss(quantile=0.5)).fit(X, y)
    assert found.loss_.delta == np.partition(abs(y - np.median(y)), 299)[299]


def test_exposures_are_weights_of_rates(smooth):
    X, mean = smooth
    rng, exposure = np.random.default_rng(7), np.exp(OFFSETS[:400])
    y = rng.poisson(exposure * np.exp(mean))
    model = AdditiveBoostingRegressor(loss="poisson", n_estimators=200, **PLAIN)
    offset = model.fit(X, y, offset=OFFSETS[:400]).predict(X, offset=0)
    np.testing.assert_allclose(
        model.fit(X, y / exposure, sample_weight=exposure).predict(X), offset, rtol=1e-9
    )


# --- one loss by several ways ---------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [50, "cv"])
def test_the_squared_error_is_l2_boosting(smooth, rounds):
    X, mean = smooth
    y = mean + 0.3 * np.random.default_rng(8).standard_normal(len(X))
    cv = KFold(3)  # folds are drawn in the order of y otherwise
    model = AdditiveBoostingRegressor(n_estimators=CVRounds(cv)).fit(X, y, offset=X[:, 2])
    other = L2BoostingRegressor(CVRounds(cv)).fit(X, y - X[:, 2])
    np.testing.assert_array_equal(model.predict(X, 0), other.predict(X))
    np.testing.assert_array_equal(model.predict(X, offset=X[:, 2]), other.predict(X) + X[:, 2])
    shifted = L2BoostingRegressor(CVRounds(cv)).fit(X, y, offset=X[:, 2])
    np.testing.assert_array_equal(shifted.predict(X, 0), other.predict(X))


class _Own:
    """A loss of a user that has some of the methods of another one."""

    def __init__(self, loss, *names):
        self.loss, self.names = loss, names

    def __getattr__(self, name):
        if name in ("loss", "names") or name not in self.names:
            raise AttributeError(name)
        return getattr(self.loss, name)

    def value(self, y, u):
        return self.loss.value(y, u)

    def gradient(self, y, u):
        return self.loss.gradient(y, u)


def test_losses_of_the_user(smooth):
    X, mean = smooth
    y = np.random.default_rng(9).poisson(np.exp(mean))
    known = AdditiveBoostingRegressor(loss="poisson").fit(X, y)
    own = AdditiveBoostingRegressor(loss=_Own(PoissonLoss(), "hessian", "inverse_link")).fit(X, y)
    np.testing.assert_allclose(own.predict(X), known.predict(X), rtol=1e-6)
    assert own.link_ == "other"
    # Without second derivatives the way is another one, and the model nearly the same.
    rough = AdditiveBoostingRegressor(loss=_Own(PoissonLoss(), "inverse_link")).fit(X, y)
    assert mean_poisson_deviance(known.predict(X), rough.predict(X)) < 0.003
    residuals = AdditiveBoostingRegressor(loss=_Own(HuberLoss(0.5), "smoothness")).fit(X, y)
    assert residuals.link_ == "identity"
    other = AdditiveBoostingRegressor(loss=HuberLoss(0.5)).fit(X, y)
    assert np.abs(residuals.predict(X) - other.predict(X)).mean() < 0.05 * y.std()


@pytest.mark.parametrize("loss", ["absolute_error", "huber", "quantile"])
def test_losses_of_residuals_follow_units(smooth, loss):
    X, mean = smooth
    y = mean + 0.3 * np.random.default_rng(10).standard_normal(len(X))
    model = AdditiveBoostingRegressor(loss=loss).fit(X, y)
    other = AdditiveBoostingRegressor(loss=loss).fit(X, 1024 * y)
    np.testing.assert_allclose(other.predict(X), 1024 * model.predict(X), rtol=1e-9)
    ratio = cv_path(other) / cv_path(model)
    np.testing.assert_allclose(ratio, 1024.0 ** (2 if loss == "huber" else 1), rtol=1e-9)


@pytest.mark.parametrize(
    "loss", [PoissonLoss(), GammaLoss(), TweedieLoss(1.2), QuantileLoss(0.3), HuberLoss(0.4)]
)
def test_paths_are_mean_losses(smooth, loss):
    X, mean = smooth
    y = np.random.default_rng(11).gamma(3, np.exp(mean) / 3)
    fold = np.arange(len(X)) % 4
    model = AdditiveBoostingRegressor(
        n_estimators=CVRounds([(fold != k, fold == k) for k in range(4)]),
        loss=loss,
        held_out="cv",
    )
    model.fit(X, y)
    rounds = list(model.staged_predict(X))
    if rounds:
        np.testing.assert_allclose(rounds[-1], model.predict(X), rtol=1e-12)
    # Of the model of all rows, and of those that leave out a fold; the quadratic is not the loss.
    u = loss.link(model.predict(X))
    assert model.train_scores_[-1] == pytest.approx(loss.risk(y, u), abs=2e-3)
    folds = model.model_.folds
    scores = folds.scale * fold_scores(model, X) + folds.mean
    for k in range(4):
        risk = loss.risk(y[fold == k], scores[fold == k, k])
        assert cv_path(model)[model.n_estimators_, k] == pytest.approx(risk, abs=4e-3)


# --- what additive models offer -------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(12)
    n = 1500
    X = pd.DataFrame(rng.uniform(-1, 1, size=(n, 3)), columns=["a", "b", "c"])
    X["d"] = pd.Categorical(rng.choice(["u", "v", "w"], size=n))
    X.loc[rng.uniform(size=n) < 0.1, "b"] = np.nan
    score = X["a"] + X["a"] * X["c"] * 2 + (X["d"] == "u") + X["b"].isna()
    return X, rng.poisson(np.exp(score)), score


def test_pairs_categories_missing_values_and_constraints(mixed):
    X, y, score = mixed
    model = AdditiveBoostingRegressor(loss="poisson", interactions=1, monotonic_cst={"c": 1})
    model.fit(X, y)
    assert model.term_features_[-1] == (0, 2)
    at = X.iloc[np.repeat(np.arange(20), 50)].copy()
    at["c"] = np.tile(np.linspace(-1.2, 1.2, 50), 20)
    steps = np.diff(model.predict(at).reshape(20, 50), axis=1)
    assert steps.min() > -1e-12
    free = AdditiveBoostingRegressor(loss="poisson", interactions="auto").fit(X, y)
    deviance = mean_poisson_deviance(np.exp(score), free.predict(X))
    alone = AdditiveBoostingRegressor(loss="poisson", interactions=0).fit(X, y)
    assert deviance < 0.1 < mean_poisson_deviance(np.exp(score), alone.predict(X))
    # By default the folds decide.
    default = AdditiveBoostingRegressor(loss="poisson").fit(X, y)
    np.testing.assert_array_equal(default.predict(X), free.predict(X))
    terms = free.predict_terms(X).sum(axis=1) + free.intercept_
    np.testing.assert_allclose(np.exp(terms), free.predict(X))
    assert all(
        error.shape == value.shape
        for error, (_, value) in zip(
            free.shape_standard_errors_, free.shape_functions_, strict=True
        )
    )


def test_quantiles_lose_little(smooth):
    rng = np.random.default_rng(13)
    X = rng.uniform(size=(4000, 3))
    scale = 0.3 + X[:, 2]
    y = np.sin(6 * X[:, 0]) + scale * rng.standard_normal(4000)
    best = np.sin(6 * X[:, 0]) + 1.2815515655 * scale
    model = AdditiveBoostingRegressor(loss=QuantileLoss(0.9)).fit(X, y)
    at, exact = ({"y_true": y, "y_pred": p, "alpha": 0.9} for p in (model.predict(X), best))
    assert abs(mean_pinball_loss(**at) - mean_pinball_loss(**exact)) < 0.004
    assert np.abs(model.predict(X) - best).mean() < 0.1


def test_intervals(smooth):
    X, mean = smooth
    y = mean + 0.3 * np.random.default_rng(14).standard_t(2, size=len(X))
    model = AdditiveBoostingRegressor(loss="absolute_error", held_out="cv")
    model.fit(X[::2], y[::2], offset=X[::2, 2])
    low, high = model.predict_interval(X[1::2], 0.8, offset=X[1::2, 2]).T
    assert 0.7 < np.mean((low <= y[1::2]) & (y[1::2] <= high)) < 0.9


def test_offsets_are_routed(smooth):
    X, mean = smooth
    offset = OFFSETS[:400]
    y = np.random.default_rng(15).poisson(np.exp(mean + offset))
    with sklearn.config_context(enable_metadata_routing=True):
        model = AdditiveBoostingRegressor(loss="poisson", n_estimators=50, **PLAIN)
        model.set_fit_request(offset=True).set_predict_request(offset=True)
        model.set_score_request(offset=True)
        found = cross_val_score(model, X, y, cv=KFold(3), params={"offset": offset})
        search = GridSearchCV(model, {"learning_rate": [0.01, 0.1]}, cv=3)
        assert search.fit(X, y, offset=offset).best_params_ == {"learning_rate": 0.1}
    for score, (train, test) in zip(found, KFold(3).split(X), strict=True):
        model.fit(X[train], y[train], offset=offset[train])
        assert score == r2_score(y[test], model.predict(X[test], offset=offset[test]))


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        ("poisson", [-1.0, 2, 3], "loss='poisson' requires non-negative y"),
        ("gamma", [0.0, 2, 3], "loss='gamma' requires strictly positive y"),
        ("tweedie", [0.0, 0, 0], "loss='tweedie' requires non-negative y and sum"),
        ("binomial", [0.0, 2, 0], "loss='binomial' requires y between 0 and 1"),
    ],
)
def test_targets_outside_the_domain(loss, y, message):
    with pytest.raises(ValueError, match=message):
        AdditiveBoostingRegressor(loss=loss, n_estimators=5).fit(np.arange(3)[:, None], y)


def test_wrong_offsets(smooth):
    X, y = smooth
    model = AdditiveBoostingRegressor(loss="huber", n_estimators=5)
    for wrong in (np.ones(3), np.full(400, np.nan), [["a"]] * 400):
        with pytest.raises(ValueError, match="offset must have"):
            model.fit(X, y, offset=wrong)
        with pytest.raises(ValueError, match="offset must have"):
            model.fit(X, y).predict(X, offset=wrong)
    classes = LogitBoostClassifier(5).fit(X, y > 0)
    with pytest.raises(ValueError, match="offset must have"):
        classes.predict_proba(X, offset=np.ones(3))
    with pytest.raises(ValueError, match="offset requires two classes; here are 3"):
        classes.fit(X, np.arange(400) % 3, offset=y)


# --- folds and stages that go far -----------------------------------------------------------------


def test_models_of_folds_do_not_diverge():
    # Categories of three rows, of which a fold may leave out those that have most of the curvature.
    rng = np.random.default_rng(1)
    X, y = (np.arange(60) // 3)[:, None], rng.poisson(0.5, 60)
    model = AdditiveBoostingRegressor(
        n_estimators=CVRounds(2, max_estimators=300),
        loss="poisson",
        learning_rate=0.5,
        smoothing_rounds=0,
        categorical_features=[0],
        held_out="cv",
    ).fit(X, y)
    # The least mean loss is that of the models of the folds which are kept.
    left_out = model.model_.folds.rows
    mean = np.exp(fold_scores(model, X))[np.arange(60), left_out.fold]
    np.testing.assert_allclose(left_out.scores * mean ** (left_out.power / 2), y - mean)
    losses = mean - y * np.log(mean)
    found = np.mean([losses[left_out.fold == k].mean() for k in range(2)])
    assert found == pytest.approx(cv_path(model).mean(axis=1).min(), rel=0.01)
    assert cv_path(model).max() < 2


@pytest.mark.parametrize("with_offset", [False, True])
@pytest.mark.parametrize(
    ("loss", "usual"), [("poisson", 0), ("tweedie", 0), ("binomial", 0), ("binomial", 1)]
)
def test_folds_without_events_start_as_all_rows(loss, usual, with_offset):
    # The best constant of such a fold is infinite.
    X, y = np.zeros((50, 1)), np.full(50, float(usual))
    y[3] = 1 - usual
    offset = np.full(50, 2.0) if with_offset else None
    cv = [(np.delete(np.arange(50), fold), fold) for fold in (np.arange(25), np.arange(25, 50))]
    model = AdditiveBoostingRegressor(n_estimators=CVRounds(cv), loss=loss).fit(X, y, offset=offset)
    mean = np.full(25, 0.02 if usual == 0 else 0.98)
    u = model.loss_.link(mean)
    assert model.predict(X[:25], None if offset is None else offset[:25]) == pytest.approx(mean)
    assert cv_path(model)[0, 0] == pytest.approx(model.loss_.risk(y[:25], u))


@pytest.mark.parametrize("loss", ["poisson", "binomial", "absolute_error"])
def test_stages_without_rounds_belong_to_the_last_one(loss):
    # A constraint leaves nothing to stumps while the intercept still moves.
    rng = np.random.default_rng(6)
    X, offset = rng.normal(size=(12, 1)), 3 * rng.normal(size=12)
    y = rng.uniform(size=12).round(1)
    model = AdditiveBoostingRegressor(
        loss=loss, n_estimators=200, learning_rate=1.0, monotonic_cst=[1], **PLAIN
    ).fit(X, y, offset=offset)
    *_, last = model.staged_predict(X, offset)
    assert model.n_estimators_ < 200
    assert last == pytest.approx(model.predict(X, offset), rel=1e-12)
    risk = model.loss_.risk(y, model._scores(X, offset))
    assert risk == pytest.approx(model.train_scores_[-1], rel=1e-6)
    if loss != "absolute_error":
        assert y.sum() == pytest.approx(model.predict(X, offset).sum(), rel=1e-6)


@pytest.mark.parametrize("q", [0.1, 0.97])
def test_no_rounds_are_the_quantile(q):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(41, 1)), rng.exponential(size=41)
    model = AdditiveBoostingRegressor(
        n_estimators=CVRounds(3), loss=QuantileLoss(q), smoothing_rounds=0
    ).fit(X, y)
    assert model.n_estimators_ == 0
    assert model.predict(X) == pytest.approx(np.quantile(y, q, method="inverted_cdf"), rel=1e-12)
    assert model.train_scores_[0] == pytest.approx(mean_pinball_loss(y, model.predict(X), alpha=q))


def test_pairs_of_few_rows():
    model = AdditiveBoostingRegressor(n_estimators=3, interactions=1)
    with pytest.raises(ValueError, match="interactions require at least two rows"):
        model.fit(np.eye(4), np.arange(4), sample_weight=[0, 1, 0, 0])
    assert len(model.fit(np.eye(4), np.arange(4)).term_names_) == 5


# --- losses of the user that are hard -------------------------------------------------------------


class Events:
    """The Poisson likelihood, with the logarithm of the mean as its prediction."""

    def value(self, y, u):
        return np.exp(np.minimum(u, 300)) - y * u

    def gradient(self, y, u):
        return np.exp(np.minimum(u, 300)) - y

    def hessian(self, y, u):
        return np.exp(np.minimum(u, 300))


def test_scores_of_a_loss_in_other_units_than_targets(table):
    group, X, mean = table
    y = np.random.default_rng(8).poisson(100 * mean)
    u = whole(Events()).fit(X, y).predict(X)
    assert by_group(np.exp(u), group) == pytest.approx(by_group(y, group))


class WithoutCurvature(Events):
    def hessian(self, y, u):
        return np.zeros(len(u))


class NotANumber(Events):
    def value(self, y, u):
        return np.full(len(u), np.nan)


def test_second_derivatives_of_zero(table):
    _, X, mean = table
    model = AdditiveBoostingRegressor(
        loss=WithoutCurvature(), n_estimators=100, learning_rate=1.0, **PLAIN
    )
    model.fit(X, mean)
    assert model.train_scores_[-1] < model.train_scores_[0]


def test_losses_that_are_refused(smooth):
    model = AdditiveBoostingRegressor(loss=NotANumber(), n_estimators=3)
    with pytest.raises(ValueError, match=r"loss: NotANumber\.value\(y, u\) returns NaN for y="):
        model.fit(*smooth)
    assert not hasattr(model, "shape_functions_")
    with pytest.raises(TypeError, match=r"loss: PoissonLoss is a class; pass an instance"):
        model.set_params(loss=PoissonLoss).fit(*smooth)


@pytest.mark.parametrize("n_estimators", [20, "cv"])
def test_offsets_over_hundreds_of_decades(smooth, n_estimators):
    X, _ = smooth
    offset = np.linspace(-900, 900, len(X))
    y = np.random.default_rng(9).poisson(1.0, size=len(X))
    model = AdditiveBoostingRegressor(loss="poisson", n_estimators=CVRounds(max_estimators=50))
    assert np.isfinite(model.fit(X, y, offset=offset).predict(X, offset)).all()


# --- pairs of losses that bend --------------------------------------------------------------------


@pytest.mark.parametrize("q", [0.45, 0.6])
def test_pairs_of_quantiles_do_not_overshoot(q):
    # Cells in the corners have all their rows on one side of the kink, and far from it.
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=3000)
    settings = PLAIN | {"loss": QuantileLoss(q), "n_estimators": 100, "learning_rate": 0.1}
    plain = AdditiveBoostingRegressor(**settings).fit(X, y)
    settings["interactions"] = [(1, 2)]
    model = AdditiveBoostingRegressor(**settings).fit(X, y)
    assert model.train_scores_[-1] < 0.8 * plain.train_scores_[-1]
    assert np.abs(model.shape_functions_[3][1]).max() < 2 * np.abs(X[:, 1] * X[:, 2]).max()


def test_a_cell_of_many_times_the_expected_events():
    rng = np.random.default_rng(0)
    X = rng.integers(20, size=(4000, 2))
    cell = (X[:, 0] == 3) & (X[:, 1] == 7)
    y = rng.poisson(np.where(cell, 300, 0.05))
    model = AdditiveBoostingRegressor(
        loss="poisson", n_estimators=300, learning_rate=0.1, interactions=[(0, 1)]
    ).fit(X, y)
    assert model.predict(X[cell]).mean() == pytest.approx(y[cell].mean(), rel=0.1)
    assert model.predict(X[~cell]).mean() == pytest.approx(y[~cell].mean(), rel=0.2)


def test_weights_of_many_decades_end_soon():
    """Steps that no share of helps are not halved again and again."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 2))
    y = np.abs(rng.normal(size=20)) + 0.1
    X[:, 1] = rng.random(20) < 0.2
    weight = 10.0 ** rng.uniform(-8, 8, 20)
    model = AdditiveBoostingRegressor(loss="quantile").fit(X, y, sample_weight=weight)
    assert model.n_refreshes_ < 200
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    "cls", [AdditiveBoostingRegressor, L2BoostingRegressor, LogitBoostClassifier]
)
def test_folds_by_name_are_those_of_the_choice_of_rounds(cls):
    """scikit-learn's checks and searches set the splits by the parameter `cv`."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 2))
    y = X[:, 0] + 0.3 * rng.standard_normal(80)
    y = y > 0 if cls is LogitBoostClassifier else y
    options = {"learning_rate": 0.3, "held_out": "cv"}
    model = cls(CVRounds(max_estimators=40), cv=3, **options).fit(X, y)
    other = cls(CVRounds(3, max_estimators=40), **options).fit(X, y)
    assert sum(name.startswith("split") for name in model.cv_results_) == 3
    np.testing.assert_array_equal(model.predict_terms(X), other.predict_terms(X))
    splits = [(np.arange(40, 80), np.arange(40)), (np.arange(40), np.arange(40, 80))]
    given = cls(CVRounds(max_estimators=40), cv=splits, **options).fit(X, y)
    assert sum(name.startswith("split") for name in given.cv_results_) == 2
