"""Fits with exposures: what asks for their offset, and intervals that follow them."""

import re

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    export,
)
from sklearn_ensemble_theory.boosting import CVRounds, losses, merge_additive_models
from sklearn_ensemble_theory.inspection import (
    LocalExplanationDisplay,
    partial_dependence,
    report_html,
)

REGRESSORS = [
    GradientBoostingRegressor(loss="poisson", n_estimators=5, random_state=0),
    HistGradientBoostingRegressor(loss="poisson", max_iter=5, early_stopping=False),
    AdditiveBoostingRegressor(5, loss="poisson", interactions=0),
    L2BoostingRegressor(5, interactions=0),
]
CLASSIFIERS = [
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    HistGradientBoostingClassifier(max_iter=5, early_stopping=False),
    LogitBoostClassifier(5, interactions=0),
]
MODELS = [*REGRESSORS, *CLASSIFIERS]
WITHOUT = "was fitted with an offset, and X is predicted without one"
NAMES = {"argvalues": MODELS, "ids": lambda model: type(model).__name__}


def rows(seed=1, n=600):
    """Counts whose exposures are long where their rates are low."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    exposure = rng.uniform(0.1, 4, n) * np.exp(-0.9 * X[:, 0])
    return X, exposure, rng.poisson(exposure * np.exp(0.4 * X[:, 0]))


X, EXPOSURE, COUNTS = rows()
OFFSET = np.log(EXPOSURE)


def targets(model):
    return COUNTS if model in REGRESSORS else COUNTS > 0


# --- scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", **NAMES)
def test_scores_need_the_offset_of_the_fit(model):
    y = targets(model)
    model.fit(X, y, offset=OFFSET)
    message = r"score\(X, y, offset=\.\.\.\).*set_score_request\(offset=True\)"
    with pytest.raises(ValueError, match=message):
        model.score(X, y)
    metric = r2_score if model in REGRESSORS else accuracy_score
    assert model.score(X, y, offset=OFFSET) == metric(y, model.predict(X, offset=OFFSET))
    assert model.score(X, y, offset=0) == metric(y, model.predict(X, offset=0))
    # The next fit has none.
    assert model.fit(X, y).score(X, y) == metric(y, model.predict(X))


GRID = {"n_estimators": [1, 20, 100, 300]}


def test_a_search_chooses_by_scores_with_exposures():
    """Scores of rates, which are not what was counted, choose one round."""

    class OfRates(GradientBoostingRegressor):
        def score(self, X, y, sample_weight=None, offset=None):
            return super().score(X, y, sample_weight, 0 if offset is None else offset)

    model = GradientBoostingRegressor(loss="poisson", random_state=0)
    of_rates = OfRates(loss="poisson", random_state=0)
    search = GridSearchCV(of_rates, GRID, cv=3).fit(X, COUNTS, offset=OFFSET)
    assert search.best_params_ == {"n_estimators": 1}
    assert search.best_score_ < 0
    search = GridSearchCV(model, GRID, cv=3, error_score="raise")
    with pytest.raises(ValueError, match="score needs the offset"):
        search.fit(X, COUNTS, offset=OFFSET)
    with config_context(enable_metadata_routing=True):
        asked = GradientBoostingRegressor(loss="poisson", random_state=0)
        asked.set_fit_request(offset=True).set_score_request(offset=True)
        search = GridSearchCV(asked, GRID, cv=3).fit(X, COUNTS, offset=OFFSET)
        assert search.best_params_ == {"n_estimators": 20}
        assert search.best_score_ > 0.4
        for k, (train, test) in enumerate(KFold(3).split(X)):
            own = GradientBoostingRegressor(n_estimators=20, loss="poisson", random_state=0)
            own.fit(X[train], COUNTS[train], offset=OFFSET[train])
            score = own.score(X[test], COUNTS[test], offset=OFFSET[test])
            assert search.cv_results_[f"split{k}_test_score"][1] == score


def test_rounds_by_folds_know_the_exposures():
    """The risk of the folds is that of counts; a warm start and early stopping score by it too."""
    model = GradientBoostingRegressor(
        n_estimators=CVRounds(KFold(3)), loss="poisson", random_state=0
    )
    model.fit(X, COUNTS, offset=OFFSET)
    own = GradientBoostingRegressor(n_estimators=3, loss="poisson", random_state=0)
    for k, (train, test) in enumerate(KFold(3).split(X)):
        own.fit(X[train], COUNTS[train], offset=OFFSET[train])
        means = own.staged_predict(X[test], offset=OFFSET[test])
        risks = [np.mean(mean - COUNTS[test] * np.log(mean)) for mean in means]
        np.testing.assert_allclose(model.cv_results_[f"split{k}_score"][:3], risks, rtol=1e-9)
    model = HistGradientBoostingRegressor(
        loss="poisson", max_iter=3, warm_start=True, early_stopping=True, scoring="r2"
    )
    model.fit(X, COUNTS, offset=OFFSET).set_params(max_iter=6).fit(X, COUNTS, offset=OFFSET)
    # The metric of rows whose scores are known has their offset.
    assert model.validation_score_[-1] > model.validation_score_[0]
    with pytest.raises(ValueError, match="score needs the offset"):
        model.score(X, COUNTS)


def test_permutation_importances():
    model = GradientBoostingRegressor(n_estimators=20, loss="poisson", random_state=0)
    model.fit(X, COUNTS, offset=OFFSET)
    with pytest.raises(ValueError, match="score needs the offset"):
        permutation_importance(model, X, COUNTS, n_repeats=2, random_state=0)

    def score(model, X, y):
        return model.score(X, y, offset=OFFSET)

    found = permutation_importance(model, X, COUNTS, scoring=score, n_repeats=2, random_state=0)
    assert found.importances_mean.argmax() == 0


# --- predictions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", **NAMES)
def test_predictions_without_an_offset_warn_once_with_the_cure(model):
    model.fit(X, targets(model), offset=OFFSET)
    names = ["predict", "predict_proba", "predict_log_proba", "decision_function"]
    for name in [*names, "staged_predict"]:
        if not hasattr(model, name):
            continue

        def call(*offset, name=name):
            found = getattr(model, name)(X, *offset)
            return list(found) if name.startswith("staged") else found

        with pytest.warns(UserWarning, match=WITHOUT) as caught:
            without = call()
        (warning,) = caught
        assert warning.filename == __file__
        assert re.search("or offset=0 if you want these rates", str(warning.message))
        np.testing.assert_array_equal(call(0), without)
        np.testing.assert_array_equal(call(np.zeros(len(X))), without)
    model.fit(X, targets(model)).predict(X)


@pytest.mark.parametrize("model", **NAMES)
def test_a_fit_of_text_does_not_warn(model):
    """It predicts a row of text to see whether `predict` takes it."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": X[:, 0], "place": np.where(X[:, 1] > 0, "here", "there")})
    coded = clone(model).set_params(categorical_features=["place"])
    coded.fit(frame, targets(model), offset=OFFSET)
    assert len(coded.predict(frame[:3], offset=0)) == 3


def test_uncertainty_without_an_offset_warns():
    model = GradientBoostingRegressor(
        loss="poisson", n_estimators=5, random_state=0, held_out=3, max_depth=1
    ).fit(X, COUNTS, offset=OFFSET)
    additive = AdditiveBoostingRegressor(5, loss="poisson", held_out=3, interactions=0)
    for ask in (
        model.predict_interval,
        model.predict_quantiles,
        model.predict_distribution,
        lambda X: model.standard_error(X, n_pairs=2),
        additive.fit(X, COUNTS, offset=OFFSET).predict_interval,
        lambda X: additive.predict_path(X, [1, 2]),
    ):
        with pytest.warns(UserWarning, match=WITHOUT):
            ask(X[:3])


def test_models_that_are_made_of_others():
    """An edit, an average and a document of a fit with an offset ask for it too."""
    model = AdditiveBoostingRegressor(5, loss="poisson", interactions=0, max_bins=[[0.0]] * 3)
    plain = model.fit(X, COUNTS)
    assert not plain.model_.has_offset
    refitted = plain.refit(X, COUNTS, ["x0"], offset=OFFSET)
    text = export.json(plain)
    assert "has_offset" not in text
    export.from_json(text).predict(X)
    model = AdditiveBoostingRegressor(5, loss="poisson", interactions=0, max_bins=[[0.0]] * 3)
    model.fit(X, COUNTS, offset=OFFSET)
    for made in (
        refitted,
        model.remove_terms(["x1"]),
        model.refit(X, COUNTS, ["x0"]),
        merge_additive_models([plain, model]),
        export.from_json(export.json(model)),
    ):
        with pytest.warns(UserWarning, match=WITHOUT):
            made.predict(X)
        with pytest.raises(ValueError, match="score needs the offset"):
            made.score(X, COUNTS)
    document = export.json(model).replace('"has_offset": true', '"has_offset": 1')
    with pytest.raises(ValueError, match="has_offset must be true or false"):
        export.from_json(document)


@pytest.mark.parametrize("model", **NAMES)
def test_partial_dependence_is_of_rates(model):
    model.fit(X, targets(model), offset=OFFSET)
    found = partial_dependence(model, X, [0], grid_resolution=3, method="brute")
    expected = []
    for value in found.grid_values[0]:
        moved = X.copy()
        moved[:, 0] = value
        ask = model.predict if model in REGRESSORS else model.predict_proba
        expected.append(np.mean(ask(moved, offset=0).reshape(len(X), -1)[:, -1]))
    if isinstance(model, AdditiveBoostingRegressor):  # in closed form, of scores
        expected = np.log(expected) if model.link_ == "log" else expected
        expected -= expected[0] - found.average[0, 0]
    np.testing.assert_allclose(found.average[0], expected, rtol=1e-10)


def test_displays_of_single_rows_are_of_rates():
    pytest.importorskip("matplotlib")
    model = AdditiveBoostingRegressor(5, loss="poisson", interactions=0)
    model.fit(X, COUNTS, offset=OFFSET)
    display = LocalExplanationDisplay.from_estimator(model, X[:1])
    assert display.response == model.predict(X[:1], offset=0)[0]
    assert "Predictions of single rows" in report_html(model, X[:50])
    assert "R²" in report_html(model, X, COUNTS, offset=OFFSET)
    with pytest.warns(UserWarning, match=WITHOUT):
        report_html(model, X, COUNTS)


# --- intervals ------------------------------------------------------------------------------------


def amounts(rng, mean):
    return rng.gamma(2, mean / 2)


def claims(rng, mean):
    """Of Tweedie's distribution of the power 1.5 and the dispersion 1."""
    numbers = rng.poisson(2 * np.sqrt(mean))
    return rng.gamma(np.maximum(numbers, 1e-300), np.sqrt(mean) / 2)


def counts(rng, mean):
    return rng.poisson(mean).astype(float)


def of_short_and_long(draw, rng, n):
    """Rows, logarithms of exposures of .1 and 10, and targets of these exposures."""
    X, exposure = rng.standard_normal((n, 3)), rng.choice([0.1, 10], n)
    return X, np.log(exposure), draw(rng, exposure * np.exp(0.4 * X[:, 0]))


def share_inside(ends, y, rows):
    return np.mean(((ends[:, 0] <= y) & (y <= ends[:, 1]))[rows])


@pytest.mark.parametrize(
    ("loss", "draw"), [("poisson", counts), ("gamma", amounts), ("tweedie", claims)]
)
def test_intervals_cover_short_and_long_exposures(loss, draw):
    """Each group as often as asked, with intervals no wider than the distributions say."""
    found, widths = {}, {}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, offset, y = of_short_and_long(draw, rng, 600)
        new, at, target = of_short_and_long(draw, rng, 3000)
        boosted = GradientBoostingRegressor(
            loss=loss, n_estimators=25, max_depth=2, held_out=10, random_state=0
        ).fit(X, y, offset=offset)
        additive = AdditiveBoostingRegressor(loss=loss, interactions=0, held_out="cv")
        additive.fit(X, y, offset=offset)
        law = boosted.predict_distribution(new, offset=at)
        for name, ends in {
            "cv+": boosted.predict_interval(new, 0.9, offset=at),
            "normalized": boosted.predict_interval(new, 0.9, "normalized", offset=at),
            "additive": additive.predict_interval(new, 0.9, offset=at),
            "quantiles": boosted.predict_quantiles(new, [0.05, 0.95], offset=at),
            "law": np.column_stack(law.interval(0.9)),
        }.items():
            if name != "law":
                assert ends.min() >= 0
            covered = [share_inside(ends, target, at > 0), share_inside(ends, target, at < 0)]
            found.setdefault(name, []).append(covered)
            widths.setdefault(name, []).append(np.mean(ends[:, 1] - ends[:, 0]))
    for name in ("cv+", "normalized", "additive"):
        of_each = np.mean(found[name], axis=0)
        assert (of_each > 0.87).all(), name
        assert (of_each < 0.94).all(), name
        assert np.mean(widths[name]) < np.mean(widths["law"])
    assert (np.abs(np.mean(found["quantiles"], axis=0) - 0.9) < 0.07).all()


def test_ends_of_one_side_are_inside_of_the_support():
    X, offset, y = of_short_and_long(counts, np.random.default_rng(0), 200)
    boosted = GradientBoostingRegressor(
        loss="poisson", n_estimators=10, held_out=5, random_state=0
    ).fit(X, y, offset=offset)
    additive = AdditiveBoostingRegressor(20, loss="poisson", interactions=0, held_out=5)
    additive.fit(X, y, offset=offset)
    for ask in (
        lambda side: boosted.predict_interval(X, side=side, offset=offset),
        lambda side: boosted.predict_interval(X, method="normalized", side=side, offset=offset),
        lambda side: additive.predict_interval(X, side=side, offset=offset),
    ):
        lower, upper = ask("lower"), ask("upper")
        assert lower[:, 0].min() == 0
        assert (lower[:, 1] == np.inf).all()
        assert (upper[:, 0] == -np.inf).all()
        assert upper[:, 1].min() > 0
    shares = GradientBoostingRegressor(loss="binomial", n_estimators=10, held_out=5)
    shares.fit(X, y / (1 + y), offset=offset)
    ends = shares.predict_interval(X, 0.99, offset=offset)
    assert ends.min() >= 0
    assert ends.max() <= 1


class Counts(losses.Loss):
    """The likelihood of a Poisson distribution, by a user."""

    def value(self, y, u):
        return np.exp(u) - y * u

    def gradient(self, y, u):
        return np.exp(u) - y

    def inverse_link(self, u):
        return np.exp(u)


class CountsWithDeviation(Counts):
    support = (0.0, np.inf)

    def deviation(self, mean):
        return np.sqrt(mean)


class Plain:
    """The same, as an object that is no `Loss`."""

    support = (0.0, np.inf)
    value, gradient = Counts.value, Counts.gradient
    inverse_link, deviation = Counts.inverse_link, CountsWithDeviation.deviation


def test_losses_of_users_have_units_and_supports():
    X, offset, y = of_short_and_long(counts, np.random.default_rng(0), 600)
    short, long = offset < 0, offset > 0
    for make in (
        lambda loss: GradientBoostingRegressor(
            loss=loss, n_estimators=20, max_depth=2, held_out=5, random_state=0
        ),
        lambda loss: AdditiveBoostingRegressor(
            50, loss=loss, learning_rate=0.05, interactions=0, held_out=5
        ),
    ):
        widths = {}
        for loss in (Counts(), CountsWithDeviation(), Plain()):
            ends = make(loss).fit(X, y, offset=offset).predict_interval(X, offset=offset)
            width = ends[:, 1] - ends[:, 0]
            widths[type(loss).__name__] = width[long].mean() / width[short].mean()
            assert (ends.min() >= 0) == (type(loss) is not Counts)
        assert widths["Counts"] < 1.5
        assert widths["CountsWithDeviation"] > 8
        assert widths["Plain"] == pytest.approx(widths["CountsWithDeviation"], rel=0.01)


@pytest.mark.parametrize(
    "loss",
    [
        losses.SquaredLoss(),
        losses.PoissonLoss(),
        losses.GammaLoss(),
        losses.TweedieLoss(1.3),
        losses.BinomialLoss(),
    ],
    ids=lambda loss: type(loss).__name__,
)
def test_the_deviation_is_that_of_the_likelihood(loss):
    """The second derivative of the loss in the mean is one over the variance there."""
    mean = np.array([0.1, 0.3, 0.8])
    step = 1e-4 * mean
    values = [loss.value(mean, loss.link(mean + k * step)) for k in (-1, 0, 1)]
    curvature = (values[0] - 2 * values[1] + values[2]) / step**2
    np.testing.assert_allclose(loss.deviation(mean) ** -2, curvature, rtol=1e-3)
    assert np.isfinite(loss.deviation(np.array([0.0]))).all()
    assert (loss.deviation(np.array([0.0])) > 0).all()


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_intervals_of_amounts_of_any_size(scale):
    X, offset, y = of_short_and_long(amounts, np.random.default_rng(0), 200)
    model = GradientBoostingRegressor(loss="gamma", n_estimators=5, held_out=5, random_state=0)
    additive = AdditiveBoostingRegressor(5, loss="gamma", interactions=0, held_out=5)
    for ask in (
        lambda y: model.fit(X, y, offset=offset).predict_interval(X, offset=offset),
        lambda y: model.fit(X, y, offset=offset).predict_quantiles(X, offset=offset),
        lambda y: additive.fit(X, y, offset=offset).predict_interval(X, offset=offset),
    ):
        np.testing.assert_allclose(ask(scale * y) / scale, ask(y), rtol=1e-6)


def test_counts_that_vary_more_have_a_larger_power():
    """With the variance mean + mean² the power is above that of the Poisson distribution."""

    def overdispersed(rng, mean):
        return rng.poisson(mean * rng.exponential(size=len(mean))).astype(float)

    powers = []
    for draw in (counts, overdispersed):
        rng = np.random.default_rng(0)
        X, _, _ = of_short_and_long(draw, rng, 2000)
        offset = rng.uniform(1, 6, 2000)
        y = draw(rng, np.exp(offset + 0.4 * X[:, 0]))
        model = AdditiveBoostingRegressor(loss="poisson", interactions=0, held_out="cv")
        powers.append(model.fit(X, y, offset=offset).model_.folds.rows.power / 2)
    assert 0.5 <= powers[0] < 0.6
    assert 0.85 < powers[1] <= 1


def test_quantile_regression_names_the_method_that_follows_the_exposure():
    X, offset, y = of_short_and_long(counts, np.random.default_rng(0), 200)
    model = GradientBoostingRegressor(
        loss="poisson", n_estimators=10, held_out=5, random_state=0
    ).fit(X, y, offset=offset)
    with pytest.raises(ValueError, match=r"method='cqr' fits quantiles.*use method='normalized'"):
        model.predict_interval(X, method="cqr", offset=offset)
    ends = model.fit(X, y).predict_interval(X, method="cqr")
    assert ends.min() >= 0
