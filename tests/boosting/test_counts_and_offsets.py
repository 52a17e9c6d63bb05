"""Losses of counts, shares and claims, and offsets: each by another way to the same numbers."""

import re

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit
from sklearn import config_context
from sklearn.dummy import DummyRegressor
from sklearn.metrics import mean_tweedie_deviance, r2_score
from sklearn.model_selection import KFold, cross_validate

from sklearn_ensemble_theory import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting import CVRounds, losses
from sklearn_ensemble_theory.boosting.steps import NewtonStep

from ..trees.reference_growth import reference_trees
from .additive_data import cv_path
from .engine import compiled_loss, safe_length
from .loss_cases import OF_REALS, ROWS, targets

N = 600


def columns(n=N, seed=0):
    """Of few values, so that bins depend on no weights."""
    return np.random.default_rng(seed).integers(0, 100, (n, 3)) / 50 - 1


def claims(n=N, seed=0):
    """Rows, exposures, and compound Poisson-gamma amounts."""
    rng = np.random.default_rng(seed)
    X, exposure = columns(n, seed), rng.uniform(0.1, 3, n)
    counts = rng.poisson(exposure * np.exp(X[:, 0]))
    return X, exposure, rng.gamma(np.maximum(2 * counts, 1e-300), np.exp(X[:, 1]) / 2)


# --- the losses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [1.01, 1.3, 1.5, 1.9, 1.99])
def test_tweedie_is_half_the_deviance(power):
    _, w, y = claims()
    rng = np.random.default_rng(0)
    loss, u, v = losses.TweedieLoss(power=power), *rng.standard_normal((2, N))
    ours = loss.risk(y, u, w) - loss.risk(y, v, w)
    theirs = [
        mean_tweedie_deviance(y, np.exp(score), power=power, sample_weight=w) for score in (u, v)
    ]
    assert 2 * ours == pytest.approx(theirs[0] - theirs[1], rel=1e-10)


@pytest.mark.parametrize("step", ["fixed", "newton"])
@pytest.mark.parametrize(("power", "name"), [(1 + 1e-9, "poisson"), (2 - 1e-9, "gamma")])
def test_the_limits_of_tweedie(power, name, step):
    X, _, y = claims()
    y = y + 0.1 if name == "gamma" else y
    # In small leaves equally good cuts would be chosen by rounding.
    options = {"n_estimators": 10, "max_depth": 2, "min_samples_leaf": 20, "random_state": 0}
    options["step"] = step
    limit = GradientBoostingRegressor(loss=name, **options).fit(X, y).predict(X)
    model = GradientBoostingRegressor(loss=losses.TweedieLoss(power), **options).fit(X, y)
    np.testing.assert_allclose(model.predict(X), limit, rtol=1e-6)


def test_the_power_is_that_of_the_loss():
    X, _, y = claims()
    options = {"n_estimators": 5, "random_state": 0}
    by_name = GradientBoostingRegressor(loss="tweedie", **options).fit(X, y)
    by_object = GradientBoostingRegressor(loss=losses.TweedieLoss(1.5), **options).fit(X, y)
    np.testing.assert_array_equal(by_name.predict(X), by_object.predict(X))
    assert by_name.initial_scores_ == pytest.approx(np.log(y.mean()))
    by_object.set_params(loss__power=1.2).fit(X, y)
    assert by_object.loss_.power == 1.2
    for power in (1, 2, 1.0, 2.5):
        with pytest.raises(ValueError, match="power must be strictly between 1 and 2"):
            GradientBoostingRegressor(loss=losses.TweedieLoss(power)).fit(X, y)


@pytest.mark.parametrize(
    ("loss", "wrong", "message"),
    [
        ("tweedie", -1.0, "loss='tweedie' requires non-negative y"),
        ("binomial", -0.1, "loss='binomial' requires y between 0 and 1"),
        ("binomial", 2.0, "loss='binomial' requires y between 0 and 1"),
    ],
)
def test_targets_outside_the_domain(loss, wrong, message):
    y = np.r_[wrong, np.tile([0.0, 1.0], 10)]
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(loss=loss).fit(columns(21), y)


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [("tweedie", 0.0, "sum"), ("binomial", 0.0, "0 everywhere"), ("binomial", 1.0, "nor 1")],
)
def test_targets_without_a_finite_optimum(loss, y, message):
    y = np.full(20, y)
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(loss=loss).fit(columns(20), y)
    # Where weights of 0 leave no others.
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(loss=loss).fit(columns(20), np.r_[0.5, y[1:]], np.arange(20) > 0)


@pytest.mark.parametrize(
    "options",
    [{}, {"step": "newton"}, {"learning_rate": 1.0, "max_depth": 4, "n_estimators": 10}],
    ids=str,
)
def test_shares_of_trials_are_a_row_for_each_trial(options):
    X = columns(2000)
    rng = np.random.default_rng(0)
    trials = rng.integers(1, 6, len(X))
    successes = rng.binomial(trials, expit(2 * X[:, 0] - 1))
    each, y = np.repeat(X, 2, axis=0), np.tile([1, 0], len(X))
    counts = np.column_stack([successes, trials - successes]).ravel()
    options = {"n_estimators": 50, "random_state": 0, **options}
    ours = GradientBoostingRegressor(loss="binomial", **options)
    ours.fit(X, successes / trials, trials)
    theirs = GradientBoostingClassifier(**options).fit(each, y, counts)
    assert ours.initial_scores_ == pytest.approx(theirs.initial_scores_, rel=1e-12)
    np.testing.assert_allclose(ours.train_scores_, theirs.train_scores_, rtol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict_proba(X)[:, 1], rtol=1e-8)
    assert ours.predict(X).min() > 0
    assert ours.predict(X).max() < 1


@pytest.mark.parametrize("rate", [0.3, 1.0])
def test_rare_events_have_no_step_that_raises_the_loss(rate):
    """Newton steps in leaves of a few successes among thousands would be too long."""
    rng = np.random.default_rng(0)
    X, trials = rng.integers(0, 200, (3000, 2)), rng.integers(1, 1000, 3000)
    y = np.where(X[:, 0] > 196, 0.5, 0.0)
    model = GradientBoostingRegressor(
        loss="binomial", learning_rate=rate, n_estimators=30, max_depth=1, random_state=0
    ).fit(X, y, trials)
    assert (np.diff(model.train_scores_) <= 1e-12).all()
    with reference_trees():
        plain = GradientBoostingRegressor(**model.get_params()).fit(X, y, trials)
    np.testing.assert_allclose(plain.train_scores_, model.train_scores_, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), y, atol=0.02)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "loss", "kind"),
    [row for row in ROWS if row[2] in OF_REALS and row[0] != "binomial"],
    ids=lambda part: str(part),
)
def test_leaves_are_minima_by_brute_force(name, loss, kind, weighted):
    """Of a tree in the first round; the leaves of the binomial loss take Newton steps."""
    rng = np.random.default_rng(0)
    X, y = columns(200), targets(kind, 200, rng)
    w = rng.integers(1, 4, 200).astype(float) if weighted else np.ones(200)
    model = GradientBoostingRegressor(
        loss=loss, n_estimators=1, learning_rate=1.0, max_depth=2, random_state=0
    ).fit(X, y, w if weighted else None)
    leaf, start = model.apply(X)[:, 0], model.initial_scores_
    values = model.estimators_[0, 0].tree_.value.ravel()
    for k in np.unique(leaf):
        own = leaf == k

        def risk(b, own=own):
            return w[own] @ loss.value(y[own], np.full(own.sum(), start + b))

        places = np.r_[y[own] - start, np.linspace(-20, 20, 401)]
        best = places[np.argmin([risk(b) for b in places])]
        fine = minimize_scalar(risk, bounds=(best - 0.2, best + 0.2), method="bounded")
        least = min(risk(best), fine.fun)
        if y[own].max() == 0:  # no minimum: a step down
            assert risk(values[k]) < risk(0.0)
            continue
        assert risk(values[k]) <= least + 1e-7 * abs(least)
        if name in ("absolute_error", "quantile"):
            # The middle of the interval of minima.
            q = loss.quantile if name == "quantile" else 0.5
            repeated = np.repeat(y[own], w[own].astype(int))
            middle = np.quantile(repeated, q, method="averaged_inverted_cdf")
            assert values[k] + start == pytest.approx(middle, abs=1e-12)


# --- offsets --------------------------------------------------------------------------------------

EXPOSED = [
    {},
    {"subsample": 0.5},
    {"n_iter_no_change": 3, "n_estimators": 60},
    {"n_estimators": CVRounds(KFold(3), max_estimators=30)},
    {"step": NewtonStep(line_search=True)},
    {"max_bins": None},
]


@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
@pytest.mark.parametrize("options", EXPOSED, ids=str)
def test_an_exposure_is_a_weight_of_rates(options, loss):
    """Counts with log e as offset are counts / e with the weights e: first and second derivatives.

    For other powers the weights are e^(2 - p). With rounds of the second order these are all that
    enters; those of the first order divide the sums of gradients by other weights.
    """
    X, exposure, y = claims()
    y = np.ceil(y) if loss == "poisson" else y
    weight = exposure if loss == "poisson" else np.sqrt(exposure)
    # In small leaves equally good cuts would be chosen by rounding.
    settings = {"max_depth": 2, "min_samples_leaf": 20, "step": "newton", **options}
    settings = {"n_estimators": 30, "random_state": 0, **settings}
    with_offset = GradientBoostingRegressor(loss=loss, **settings)
    with_offset.fit(X, y, offset=np.log(exposure))
    # The held-out rows of the one count by their number, of the other by their weights.
    rounds = {"n_estimators": with_offset.n_estimators_}
    if "n_iter_no_change" in options:
        rounds["n_iter_no_change"] = 60
    of_rates = GradientBoostingRegressor(loss=loss, **{**settings, **rounds})
    of_rates.fit(X, y / exposure, weight)
    np.testing.assert_allclose(with_offset.predict(X, 0), of_rates.predict(X), rtol=1e-7)
    expected = exposure * of_rates.predict(X)
    np.testing.assert_allclose(with_offset.predict(X, np.log(exposure)), expected, rtol=1e-7)
    *_, last = with_offset.staged_predict(X, offset=np.log(exposure))
    np.testing.assert_allclose(last, expected, rtol=1e-7)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile", "huber"])
@pytest.mark.parametrize("options", [*EXPOSED[:4], {"step": "joint"}], ids=str)
def test_an_offset_of_a_difference_is_subtracted(options, loss):
    if loss != "squared_error" and options.get("step") == "joint":
        options = {**options, "learning_rate": 0.5}
    X, rng = columns(), np.random.default_rng(1)
    offset = rng.integers(-8, 9, N) / 4  # exact differences
    y = np.floor(8 * X[:, 0] ** 2 + rng.standard_normal(N)) + offset
    settings = {"n_estimators": 20, "random_state": 0, "loss": loss, **options}
    ours = GradientBoostingRegressor(**settings).fit(X, y, offset=offset)
    plain = GradientBoostingRegressor(**settings).fit(X, y - offset)
    np.testing.assert_allclose(ours.predict(X, 0), plain.predict(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.train_scores_, plain.train_scores_, rtol=1e-9)
    np.testing.assert_allclose(ours.predict(X, offset), plain.predict(X) + offset, rtol=1e-9)
    if "cv" in options:
        np.testing.assert_allclose(cv_path(ours), cv_path(plain), rtol=1e-9)
    if "n_iter_no_change" in options:
        np.testing.assert_allclose(ours.validation_scores_, plain.validation_scores_, rtol=1e-9)
    assert ours.score(X, y, offset=offset) == r2_score(y, ours.predict(X, offset))


@pytest.mark.parametrize(
    ("name", "loss", "kind"),
    [row for row in ROWS if row[2] in (*OF_REALS, "sign")],
    ids=lambda part: str(part),
)
def test_the_first_score_is_the_best_constant_beside_the_offset(name, loss, kind):
    rng = np.random.default_rng(2)
    y, offset, w = targets(kind, 80, rng), rng.standard_normal(80), rng.uniform(0.1, 2, 80)
    found = loss.optimal_shift(y, offset, w)
    slopes = [w @ loss.gradient(y, offset + found + d) for d in (-1e-6, 1e-6)]
    assert slopes[0] <= 1e-9
    assert slopes[1] >= -1e-9
    if loss.differentiable:
        root = brentq(lambda c: w @ loss.gradient(y, offset + c), -20, 20, xtol=1e-13)
        assert found == pytest.approx(root, rel=1e-7, abs=1e-9)
    zero = loss.optimal_shift(y, np.zeros(80), w)
    assert zero == pytest.approx(loss.optimal_constant(y, w), rel=1e-7, abs=1e-9)
    made = GradientBoostingClassifier if kind == "sign" else GradientBoostingRegressor
    model = made(loss=loss, n_estimators=1).fit(columns(80), y, w, offset=offset)
    assert model.initial_scores_ == pytest.approx(found, rel=1e-9)


@pytest.mark.parametrize("loss", ["log_loss", "exponential", "hinge"])
def test_two_classes(loss):
    """The offset of a fitted model goes on with it, as `init="zero"` starts from it alone."""
    X, rng = columns(), np.random.default_rng(0)
    y = np.where(rng.random(N) < expit(3 * X[:, 0]), "yes", "no")
    options = {"n_estimators": 5, "loss": loss, "random_state": 0}
    whole = GradientBoostingClassifier(**{**options, "n_estimators": 10}).fit(X, y)
    first = GradientBoostingClassifier(**options).fit(X, y)
    u = first.decision_function(X)
    more = GradientBoostingClassifier(init="zero", **options).fit(X, y, offset=u)
    assert more.train_scores_[-1] < first.train_scores_[-1]
    again = GradientBoostingClassifier(init="zero", **options).fit(X, y, offset=0 * u)
    zero = GradientBoostingClassifier(init="zero", **options).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X, 0), zero.decision_function(X))
    scores = more.decision_function(X, offset=u)
    np.testing.assert_allclose(scores, more.decision_function(X, 0) + u, rtol=1e-12)
    np.testing.assert_array_equal(more.predict(X, u), np.where(scores > 0, "yes", "no"))
    np.testing.assert_array_equal([*more.staged_predict(X, u)][-1], more.predict(X, u))
    np.testing.assert_allclose([*more.staged_decision_function(X, u)][-1], scores, rtol=1e-12)
    assert more.score(X, y, offset=u) == np.mean(more.predict(X, u) == y)
    assert more.train_scores_[-1] == pytest.approx(whole.train_scores_[-1], rel=0.05)
    if loss != "hinge":
        p = more.predict_proba(X, u)
        np.testing.assert_allclose(p, more.loss_.class_probabilities(scores))
        np.testing.assert_allclose(more.predict_log_proba(X, u), np.log(p))
        np.testing.assert_allclose([*more.staged_predict_proba(X, u)][-1], p)


def test_a_continued_fit_has_the_rounds_of_one_fit():
    X, exposure, y = claims()
    offset = np.log(exposure)
    options = {"loss": "tweedie", "random_state": 0, "subsample": 0.7}
    whole = GradientBoostingRegressor(n_estimators=12, **options).fit(X, y, offset=offset)
    model = GradientBoostingRegressor(n_estimators=5, warm_start=True, **options)
    model.fit(X, y, offset=offset).set_params(n_estimators=12).fit(X, y, offset=offset)
    np.testing.assert_allclose(model.predict(X, 0), whole.predict(X, 0), rtol=1e-9)
    np.testing.assert_allclose(model.train_scores_, whole.train_scores_, rtol=1e-9)


def test_rows_of_weight_0_take_no_part_with_their_offset():
    X, exposure, y = claims()
    offset, w = np.log(exposure), np.arange(N) % 3
    kept = w > 0
    offset[~kept] = 1e6
    options = {"loss": "poisson", "random_state": 0, "n_estimators": 10}
    some = GradientBoostingRegressor(**options).fit(X, y, w, offset=offset)
    left = GradientBoostingRegressor(**options).fit(X[kept], y[kept], w[kept], offset=offset[kept])
    np.testing.assert_array_equal(some.predict(X, 0), left.predict(X, 0))


def test_validation_rows_have_their_own():
    X, exposure, y = claims()
    train, held = slice(0, 400), slice(400, None)
    offset = np.log(exposure)
    options = {"loss": "poisson", "random_state": 0, "n_iter_no_change": 3, "n_estimators": 80}
    given = {"X_val": X[held], "y_val": y[held]}
    model = GradientBoostingRegressor(**options)
    model.fit(X[train], y[train], offset=offset[train], offset_val=offset[held], **given)
    scores = [
        model.loss_.risk(y[held], np.log(mean))
        for mean in model.staged_predict(X[held], offset=offset[held])
    ]
    np.testing.assert_allclose(model.validation_scores_, scores, rtol=1e-9)
    hist = HistGradientBoostingRegressor(loss="poisson", max_iter=20)
    hist.fit(X[train], y[train], offset=offset[train], offset_val=offset[held], **given)
    risk = model.loss_.risk(y[held], np.log(hist.predict(X[held], offset[held])))
    assert -hist.validation_score_[-1] == pytest.approx(risk, rel=1e-9)
    for metric in ("neg_mean_poisson_deviance", None):
        model.set_params(scoring=metric, n_iter_no_change=None, n_estimators=5)
        model.fit(X[train], y[train] + 0.1, offset=offset[train], offset_val=offset[held], **given)
        if metric is None:
            last = model.score(X[held], y[held], offset=offset[held])
        else:
            mean = model.predict(X[held], offset[held])
            last = -mean_tweedie_deviance(y[held], mean, power=1)
        assert model.validation_scores_[-1] == pytest.approx(last, rel=1e-9)


@config_context(enable_metadata_routing=True)
def test_offsets_are_routed():
    X, exposure, y = claims()
    offset = np.log(exposure)
    model = GradientBoostingRegressor(loss="poisson", n_estimators=5, random_state=0)
    model.set_fit_request(offset=True).set_score_request(offset=True)
    found = cross_validate(model, X, y, cv=KFold(2), params={"offset": offset})["test_score"]
    for (train, test), score in zip(KFold(2).split(X), found):
        own = GradientBoostingRegressor(loss="poisson", n_estimators=5, random_state=0)
        own.fit(X[train], y[train], offset=offset[train])
        assert score == own.score(X[test], y[test], offset=offset[test])


def test_frames_and_several_kinds_of_numbers():
    pandas = pytest.importorskip("pandas")
    X, exposure, y = claims()
    offset = np.log(exposure).round(1)
    model = GradientBoostingRegressor(loss="poisson", n_estimators=3, random_state=0)
    expected = model.fit(X, y, offset=offset).predict(X, offset)
    for given in (offset.tolist(), pandas.Series(offset, index=np.arange(N)[::-1])):
        np.testing.assert_array_equal(model.fit(X, y, offset=given).predict(X, given), expected)


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (np.zeros(N - 1), r"offset must have the shape \(600,\), of the rows; got \(599,\)"),
        (np.zeros((N, 2)), r"offset must have the shape \(600,\), of the rows; got \(600, 2\)"),
        (np.full(N, np.nan), "offset must have a finite number for each row.*NaN"),
        (np.log(np.arange(N) + 0.0, where=np.arange(N) > 0, out=np.full(N, -np.inf)), "exposure 0"),
        (np.full(N, 1e200), "offset must have no number above 1e[+]150"),
        (["a"] * N, "offset must have a finite number for each row"),
        (np.inf, "offset must have a finite number for each row.*infinity"),
        (True, "offset must have a finite number for each row"),
    ],
    ids=["short", "wide", "nan", "infinite", "large", "text", "number", "bool"],
)
def test_offsets_that_are_none(offset, message):
    X, _, y = claims()
    fitted = GradientBoostingRegressor(loss="poisson", n_estimators=1).fit(X, y)
    with pytest.raises(ValueError, match=message):
        fitted.predict(X, offset)
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(loss="poisson").fit(X, y, offset=offset)
    with pytest.raises(ValueError, match=message.replace("offset", "offset_val")):
        GradientBoostingRegressor(loss="poisson").fit(
            X, y, offset=np.zeros(N), X_val=X, y_val=y, offset_val=offset
        )


def test_what_offsets_do_not_go_with():
    X, _, y = claims()
    offset = np.zeros(N)
    with pytest.raises(ValueError, match=re.escape("init=DummyRegressor()")):
        GradientBoostingRegressor(init=DummyRegressor()).fit(X, y, offset=offset)
    several = np.column_stack([y, y])
    with pytest.raises(ValueError, match="offset requires one score for each row"):
        GradientBoostingRegressor().fit(X, several, offset=offset)
    with pytest.raises(ValueError, match="offset requires one score for each row"):
        GradientBoostingRegressor(n_estimators=1).fit(X, several).predict(X, offset)
    for kind in (GradientBoostingClassifier, HistGradientBoostingClassifier):
        with pytest.raises(ValueError, match="offset requires one score for each row"):
            kind().fit(X, np.arange(N) % 3, offset=offset)
    model = GradientBoostingRegressor()
    with pytest.raises(ValueError, match="offset_val is provided, but X_val and y_val were not"):
        model.fit(X, y, offset=offset, offset_val=offset)
    with pytest.raises(ValueError, match="offset is provided, but offset_val was not provided"):
        model.fit(X, y, offset=offset, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="offset_val is provided, but offset was not provided"):
        model.fit(X, y, X_val=X, y_val=y, offset_val=offset)


@pytest.mark.parametrize("loss", ["poisson", "tweedie", "gamma", "binomial"])
@pytest.mark.parametrize("size", [-1e5, -900.0, 900.0, 1e5])
def test_offsets_far_from_0(size, loss):
    """Exponentials of the offset alone are no floats; those of the scores are."""
    X, _, y = claims()
    y = y / y.max() if loss == "binomial" else y + 0.1
    offset = np.random.default_rng(0).standard_normal(N)
    options = {"loss": loss, "n_estimators": 5, "random_state": 0}
    near = GradientBoostingRegressor(**options).fit(X, y, offset=offset)
    far = GradientBoostingRegressor(**options).fit(X, y, offset=offset + size)
    assert far.initial_scores_ == pytest.approx(near.initial_scores_ - size, rel=1e-9)
    expected = near.predict(X, offset)
    np.testing.assert_allclose(far.predict(X, offset + size), expected, rtol=1e-7)


@pytest.mark.parametrize("loss", ["tweedie", "gamma", "poisson"])
@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100])
def test_amounts_of_any_size(scale, loss):
    X, _, y = claims()
    y = y + 0.1 if loss == "gamma" else y
    options = {"loss": loss, "n_estimators": 5, "random_state": 0}
    expected = GradientBoostingRegressor(**options).fit(X, y).predict(X)
    found = GradientBoostingRegressor(**options).fit(X, scale * y).predict(X)
    np.testing.assert_allclose(found / scale, expected, rtol=1e-10)


@pytest.mark.parametrize("width", [100.0, 1e6])
@pytest.mark.parametrize("loss", ["poisson", "tweedie", "gamma", "binomial"])
def test_offsets_that_differ_by_more_than_exponentials_do(width, loss):
    X, _, y = claims()
    y = y / y.max() if loss == "binomial" else y + 0.1
    offset = np.random.default_rng(0).uniform(-width, width, N)
    model = GradientBoostingRegressor(loss=loss, n_estimators=5)
    if width > 1000 and loss != "binomial":
        with pytest.raises(ValueError, match="offset differs too much between rows"):
            model.fit(X, y, offset=offset)
        return
    risks = model.fit(X, y, offset=offset).train_scores_
    assert np.isfinite(risks).all()
    assert (np.diff(risks) <= 1e-9 * np.abs(risks[1:])).all()


@pytest.mark.parametrize("parent", [losses.TweedieLoss, losses.BinomialLoss, losses.GammaLoss])
def test_subclasses_have_no_loops_and_no_bound(parent):
    own = type("Own", (parent,), {})()
    assert compiled_loss(own) is None
    assert safe_length(own, 0.1) == 0 < safe_length(parent(), 0.1)
    X, _, y = claims()
    y = (y + 0.1) / (1 + y.max())
    options = {"n_estimators": 5, "random_state": 0, "min_samples_leaf": 20}
    expected = GradientBoostingRegressor(loss=parent(), **options).fit(X, y)
    found = GradientBoostingRegressor(loss=own, **options).fit(X, y)
    assert (np.diff(found.train_scores_) < 0).all()
    if parent is not losses.BinomialLoss:  # whose short Newton steps are lengthened
        np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-9)


@pytest.mark.parametrize("loss", [losses.PoissonLoss(), losses.GammaLoss(), losses.TweedieLoss()])
def test_derivatives_far_from_0_are_finite(loss):
    y, u = (a.ravel() for a in np.meshgrid([1e-5, 1.0, 1e150], [-720.0, -705.0, 705.0, 720.0]))
    for part in (loss.gradient(y, u), loss.hessian(y, u)):  # any warning is an error
        assert np.isfinite(part).all()
