"""Standard errors, intervals and sets of gradient boosting against fits to each part by hand."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1
from sklearn.linear_model import LinearRegression

from sklearn_ensemble_theory import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    export,
)
from sklearn_ensemble_theory._scaling import calibrated_power
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.boosting._gradient_boosting.memory import SEEDS
from sklearn_ensemble_theory.ensembles._intervals import FoldScores, interval_by_folds

from ..conformal import conformal_rank, end_of_groups
from .gradient_boosting_data import fold_scores

X, Y = make_friedman1(121, 5, noise=1.0, random_state=0)
NEW = make_friedman1(40, 5, random_state=1)[0]
FAST = {"n_estimators": 8, "learning_rate": 0.3, "random_state": 0}
KEPT = GradientBoostingRegressor(held_out=10, **FAST)
MEAN = CVRounds(prediction="mean")


def fitted_by_hand(model, parts, X=X, y=Y, n_rounds=None):
    """Fits to parts of the rows with the seeds that the model gives them."""
    resampling = model._resampling
    seeds = np.random.RandomState(resampling.seed).randint(SEEDS, size=len(parts))
    found = []
    for part, seed in zip(parts, seeds):
        one = clone(model).set_params(
            n_estimators=n_rounds or model.n_estimators_,
            random_state=np.random.RandomState(seed),
            held_out=None,
        )
        found.append(one.fit(X[part], y[part]))
    return found


def folds_by_hand(model, X=X, y=Y, **options):
    """The folds, the fits to the others, and the predictions out of fold."""
    fold = model._resampling.fold
    trains = [np.flatnonzero(fold != k) for k in range(fold.max() + 1)]
    models = fitted_by_hand(model, trains, X, y, **options)
    own = np.array([models[k].predict(X[i : i + 1])[0] for i, k in enumerate(fold)])
    return fold, models, own


# --- halves ---------------------------------------------------------------------------------------


def test_standard_errors_are_those_of_fits_to_halves():
    model = clone(KEPT).fit(X, Y)
    errors = {
        method: model.standard_error(NEW, method, 4)
        for method in ("single", "unbiased", "conservative")
    }
    models, ratio = model._resampling.made["halves", 4]
    assert len(models) == 8
    # The halves are drawn from the seed of the fits; of 121 rows one is in neither of a pair.
    rng = np.random.RandomState(model._resampling.seed)
    halves = []
    for _ in range(4):
        order = rng.permutation(121)
        halves += [np.sort(order[:60]), np.sort(order[-60:])]
    f = np.array([one.predict(NEW) for one in fitted_by_hand(model, halves)]).reshape(4, 2, -1)
    d = ((f[:, 0] - f[:, 1]) ** 2 / 4).mean(axis=0)
    np.testing.assert_allclose(errors["conservative"] ** 2, d, rtol=1e-10)
    np.testing.assert_allclose(errors["single"], f.reshape(8, -1).std(axis=0, ddof=1), rtol=1e-10)
    # V of all points together is the ratio at others, whose features are of different rows.
    v = d - (1 - 1 / 4) * f.mean(axis=1).var(axis=0, ddof=1)
    np.testing.assert_allclose(errors["unbiased"] ** 2, ratio * d, rtol=1e-10)
    assert v.sum() / d.sum() == pytest.approx(ratio, abs=0.1)


def test_the_mean_of_the_targets_has_their_standard_error():
    # A tree without cuts predicts the mean; D of a split is then (difference of the means of the
    # halves)²/4, whose mean over all splits is s²/n, and Z is the same in all of them.
    model = GradientBoostingRegressor(
        n_estimators=1, min_samples_split=1.0, max_depth=1, min_samples_leaf=100,
        held_out=10, random_state=0,
    ).fit(X[:120], Y[:120])  # fmt: skip
    error = model.standard_error(NEW[:3], "conservative", 150)
    expected = Y[:120].std(ddof=1) / np.sqrt(120)
    np.testing.assert_allclose(error, expected, rtol=0.15)
    np.testing.assert_allclose(model.standard_error(NEW[:3], "unbiased", 150), error, rtol=1e-6)


def test_variances_over_training_sets():
    """V of the mean of halves and the spread of halves of one fit, against many training sets."""
    points = np.random.default_rng(9).random((40, 5))
    found = []
    for seed in range(40):
        rows, y = make_friedman1(200, 5, noise=1.0, random_state=seed)
        model = GradientBoostingRegressor(
            n_estimators=15, max_bins=32, held_out=10, n_jobs=1, random_state=0
        ).fit(rows, y)
        resampling, at = model._resampling, model._rows_with(points, None)
        mean, v = resampling.variance(at, "unbiased", 5)
        _, d = resampling.variance(at, "conservative", 5)
        _, single = resampling.variance(at, "single", 5)
        found.append((mean, v, d, single, model.predict(points)))
    mean, v, d, single, one = np.array(found).transpose(1, 0, 2)
    ratio = np.sqrt(v.mean() / mean.var(axis=0, ddof=1).mean())
    assert 0.88 < ratio < 1.12
    assert np.sqrt(d.mean() / mean.var(axis=0, ddof=1).mean()) > 1.08
    assert 0.88 < np.sqrt(single.mean() / one.var(axis=0, ddof=1).mean()) < 1.15


@pytest.mark.slow
def test_the_mean_of_the_folds_varies_less_than_a_fit():
    points = make_friedman1(40, 5, random_state=99)[0]
    predictions, single, conservative = [], [], []
    for seed in range(40):
        rows, y = make_friedman1(200, 5, noise=2.0, random_state=seed)
        model = GradientBoostingRegressor(
            n_estimators=MEAN, learning_rate=0.2, max_bins=32, held_out="cv",
            random_state=0,
        ).fit(rows, y)  # fmt: skip
        predictions.append(model.predict(points))
        if seed < 12:
            single.append(model.standard_error(points, n_pairs=8))
            conservative.append(model.standard_error(points, "conservative", n_pairs=8))
    variance = np.var(predictions, axis=0, ddof=1).mean()
    assert 1.1 < np.sqrt(np.mean(np.square(single)) / variance) < 1.45
    assert 0.85 < np.sqrt(np.mean(np.square(conservative)) / variance) < 1.15


def test_confidence_intervals_are_centred_where_their_error_is():
    model = clone(KEPT).fit(X, Y)
    error = model.standard_error(NEW, n_pairs=3)
    interval = model.confidence_interval(NEW, 0.9, n_pairs=3)
    np.testing.assert_allclose(interval.mean(axis=1), model.predict(NEW))
    np.testing.assert_allclose(np.ptp(interval, axis=1), 2 * 1.6448536 * error, rtol=1e-6)
    of_mean = model.confidence_interval(NEW, 0.9, "conservative", 3)
    at = model._rows_with(NEW, None)
    mean, _ = model._resampling.variance(at, "conservative", 3)
    np.testing.assert_allclose(of_mean.mean(axis=1), mean)


def test_halves_of_groups_and_of_classes():
    groups = np.repeat(np.arange(11), 11)
    model = clone(KEPT).fit(X, Y, groups=groups)
    assert np.isfinite(model.standard_error(NEW, n_pairs=2)).all()
    labels = np.where(np.quantile(Y, 0.95) < Y, "rare", "often")
    classifier = GradientBoostingClassifier(held_out=10, **FAST).fit(X, labels)
    error = classifier.standard_error(NEW, n_pairs=3)
    assert error.shape == (40, 2)
    np.testing.assert_allclose(error[:, 0], error[:, 1])  # of p and 1 - p
    labels[:] = "often"
    labels[0] = "rare"
    with pytest.raises(ValueError, match="two rows of each class; rare has only one"):
        classifier.fit(X, labels)


# --- folds ----------------------------------------------------------------------------------------


def ends_by_sorting(low, high, below, above, fold, scale, coverage):
    """The order statistics of all n numbers of each row."""
    rank = conformal_rank(len(fold), coverage)
    s = 1.0 if scale is None else scale[:, fold]
    lower = np.sort(low[:, fold] - s * below, axis=1)[:, -rank]
    upper = np.sort(high[:, fold] + s * above, axis=1)[:, rank - 1]
    return np.column_stack([lower, upper])


@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95])
def test_cv_plus_by_sorting(coverage):
    model = clone(KEPT).fit(X, Y)
    fold, models, own = folds_by_hand(model)
    assert np.bincount(fold).tolist() == [13] + [12] * 9
    at = np.column_stack([one.predict(NEW) for one in models])
    size = np.abs(Y - own)
    expected = ends_by_sorting(at, at, size, size, fold, None, coverage)
    np.testing.assert_allclose(model.predict_interval(NEW, coverage), expected, rtol=1e-10)
    # A single end has residuals with their sign.
    expected = ends_by_sorting(at, at, own - Y, Y - own, fold, None, coverage)
    for side, other in [("lower", np.inf), ("upper", -np.inf)]:
        found = model.predict_interval(NEW, coverage, side=side)
        column = int(side == "upper")
        np.testing.assert_allclose(found[:, column], expected[:, column], rtol=1e-10)
        assert (found[:, 1 - column] == other).all()


def test_normalized_and_quantile_intervals_by_sorting():
    model = clone(KEPT).fit(X, Y)
    found = model.predict_interval(NEW, 0.8, "normalized")
    fold, models, own = folds_by_hand(model)
    at = np.column_stack([one.predict(NEW) for one in models])
    scales, z = model._resampling.scales()
    np.testing.assert_allclose(z, (Y - own) / scales.out_of_fold, rtol=1e-8)
    size = np.abs(z)
    expected = ends_by_sorting(
        at, at, size, size, fold, scales.at(model._rows_with(NEW, None)), 0.8
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # Two models of each fold by the quantile loss, and the larger of both distances.
    found = model.predict_interval(NEW, 0.8, "cqr")
    ends = []
    for level in (0.1, 0.9):
        quantile = clone(model).set_params(loss="quantile", alpha=level).fit(X, Y)
        quantile._resampling.seed = model._resampling.seed
        ends.append(folds_by_hand(quantile))
    (fold, lower, own_low), (_, upper, own_high) = ends
    low, high = (np.column_stack([m.predict(NEW) for m in some]) for some in (lower, upper))
    off = np.maximum(own_low - Y, Y - own_high)
    expected = ends_by_sorting(low, high, off, off, fold, None, 0.8)
    np.testing.assert_allclose(found, np.sort(expected, axis=1), rtol=1e-9)


def test_the_power_of_the_scales_is_the_likeliest():
    rng = np.random.default_rng(0)
    scale, weight = np.exp(0.5 * rng.normal(size=4000)), rng.random(4000)
    size = 3 * scale**1.4 * rng.exponential(size=4000)  # mean log s + size / s is its likelihood
    c, power = calibrated_power(size, scale, weight)
    assert power == pytest.approx(1.4, abs=0.1)
    assert c == pytest.approx(np.log(3), abs=0.1)

    def risk(c, b):
        return np.average(c + b * np.log(scale) + size / (np.exp(c) * scale**b), weights=weight)

    around = [risk(c + d, power + e) for d in (-0.01, 0, 0.01) for e in (-0.01, 0, 0.01)]
    assert np.argmin(around) == 4
    # Sizes that differ less than the scales say, or not at all, leave these as they are.
    assert calibrated_power(np.sqrt(scale), scale, None) == (0.0, 1.0)
    assert calibrated_power(size, np.ones(4000), None) == (0.0, 1.0)


def test_scales_keep_their_mean_and_are_those_of_the_models():
    model = clone(KEPT).fit(X, Y)
    scales, z = model._resampling.scales()
    assert np.abs(z).mean() == pytest.approx(1, rel=0.05)
    rows = model._resampling.problem.rows
    for k in range(3):
        own = scales.fold == k
        at = scales.at(rows)[own, k]
        np.testing.assert_allclose(at, scales.out_of_fold[own], rtol=1e-12)


def test_ends_of_groups_are_weighted_order_statistics():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), rng.integers(1, 6, 30))
    fold, n = groups % 5, len(groups)
    scores, centre = rng.exponential(size=n), rng.normal(size=(7, 5))
    found = FoldScores(scores, fold, groups).upper_ends(centre, None, 0.8)
    expected = [end_of_groups(c[fold] + scores, groups, 0.8) for c in centre]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    off, at = (scores, scores), (centre, centre)
    with pytest.warns(UserWarning, match="at least 99 groups of held-out rows, and there are 30"):
        ends = interval_by_folds(off, fold, groups, at, None, 0.99, "both")
    assert np.isinf(ends).all()


@pytest.mark.parametrize("n_folds", [1, 5])
@pytest.mark.parametrize("largest", [1e12, 1e75, np.inf])
def test_a_huge_score_does_not_change_the_other_ends(n_folds, largest):
    rng = np.random.default_rng(0)
    fold, scores = np.arange(100) % n_folds, rng.exponential(size=100)
    centre, scale = rng.normal(size=(7, n_folds)), rng.uniform(0.5, 2, size=(7, n_folds))
    scores[scores.argmax()] = largest
    found = FoldScores(scores, fold, None).upper_ends(centre, scale, 0.8)
    sums = np.sort(centre[:, fold] + scale[:, fold] * scores, axis=1)
    np.testing.assert_allclose(found, sums[:, 80], rtol=1e-12)  # the 81st of 100, ceil(.8 * 101)


def test_intervals_cover():
    """Targets of new rows, with noise that grows with a feature."""
    inside = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = rng.random((700, 3))
        scale = 0.2 + 2 * x[:, 1]
        y = 3 * x[:, 0] + scale * (rng.gamma(1.0, size=700) - 1)
        model = GradientBoostingRegressor(n_estimators=20, held_out=10, random_state=0).fit(
            x[:300], y[:300]
        )
        new, target = x[300:], y[300:]
        quiet = new[:, 1] < 0.2
        for method in ("cv+", "normalized"):
            low, high = model.predict_interval(new, 0.8, method).T
            hits = (low <= target) & (target <= high)
            inside.append((hits.mean(), hits[quiet].mean(), hits[new[:, 1] > 0.8].mean()))
    mean = np.array(inside).reshape(8, 2, 3).mean(axis=0)
    assert np.all((mean[:, 0] > 0.77) & (mean[:, 0] < 0.86)), mean
    # The width of the CV+ is the same everywhere; the normalised one follows the noise.
    assert mean[0, 1] - mean[0, 2] > 0.2
    assert abs(mean[1, 1] - mean[1, 2]) < 0.15


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sets_of_classes_by_counting(n_classes):
    x, y = make_classification(
        120, 5, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.2, random_state=0
    )
    labels = np.array([*"abc"])[y]
    model = GradientBoostingClassifier(held_out=10, **FAST).fit(x, labels)
    found = model.predict_set(x[:30] + 0.1, 0.8)
    fold = model._resampling.fold
    trains = [np.flatnonzero(fold != k) for k in range(10)]
    models = fitted_by_hand(model, trains, x, labels)
    own = np.array([models[k].predict_proba(x[i : i + 1])[0, y[i]] for i, k in enumerate(fold)])
    at = np.array([one.predict_proba(x[:30] + 0.1) for one in models])
    below = (1 - own[:, None, None] < 1 - at[fold] - 1e-12).sum(axis=0)
    np.testing.assert_array_equal(found, below < 0.8 * 121 - 1e-9)


# --- the mean of the folds ------------------------------------------------------------------------


def test_the_mean_of_the_folds_is_the_mean_of_their_fits():
    model = GradientBoostingRegressor(
        n_estimators=MEAN, held_out="cv",
        learning_rate=0.3, random_state=0,
    ).fit(X, Y)  # fmt: skip
    folds = model._resampling.folds()
    assert len(model.estimators_) == 5 * model.n_estimators_
    np.testing.assert_allclose(
        model.predict(NEW), folds.at(model._rows_with(NEW, None)).mean(axis=1), rtol=1e-12
    )
    *_, last = model.staged_predict(X)
    np.testing.assert_allclose(model.train_scores_[-1], np.mean((Y - last) ** 2) / 2, rtol=1e-10)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_interval(NEW), model.predict_interval(NEW))
    np.testing.assert_allclose(export.sklearn(model).predict(NEW), model.predict(NEW), rtol=1e-6)
    # The intervals are those of the folds that have chosen the rounds.
    own = folds.out_of_fold
    expected = ends_by_sorting(
        folds.at(model._rows_with(NEW, None)),
        folds.at(model._rows_with(NEW, None)),
        abs(Y - own),
        abs(Y - own),
        folds.fold,
        None,
        0.9,
    )
    np.testing.assert_allclose(model.predict_interval(NEW), expected, rtol=1e-10)


def test_mean_of_classes():
    labels = np.digitize(Y, [12, 16])
    model = GradientBoostingClassifier(n_estimators=MEAN, learning_rate=0.3, random_state=0).fit(
        X, labels
    )
    assert model.estimators_.shape == (5 * model.n_estimators_, 3)
    assert model.score(X, labels) > 0.8
    np.testing.assert_allclose(model.predict_proba(NEW).sum(axis=1), 1)


def test_the_rule_of_one_standard_error():
    plain = GradientBoostingRegressor(n_estimators="cv", learning_rate=0.3, random_state=0)
    model = clone(plain).set_params(n_estimators=CVRounds(rule="one_standard_error")).fit(X, Y)
    plain.fit(X, Y)
    scores = fold_scores(plain)
    np.testing.assert_array_equal(scores, fold_scores(model))
    folds = np.array([25, 24, 24, 24, 24]) / 121
    mean = scores @ folds
    best = np.argmin(mean)
    deviations = scores[best] - mean[best]
    error = np.sqrt((folds**2 * deviations**2).sum() * 5 / 4)
    assert (
        model.n_estimators_
        == 1 + np.flatnonzero(mean <= mean[best] + error)[0]
        < plain.n_estimators_
    )
    results = plain.cv_results_
    assert results["n_estimators"][best] == plain.n_estimators_
    np.testing.assert_allclose(results["mean_score"], mean)
    np.testing.assert_allclose(results["standard_error"][best], error)
    np.testing.assert_array_equal(results["split4_score"], scores[:, 4])


def test_folds_of_the_loss_of_huber_have_a_minimum():
    # Its delta goes to 0 with the residuals of training rows; risks have to be of one loss.
    model = GradientBoostingRegressor(
        n_estimators=CVRounds(max_estimators=400), loss="huber", learning_rate=0.3, random_state=0
    ).fit(X, Y)
    scores = fold_scores(model)
    assert model.n_estimators_ < len(scores) < 400
    other = clone(model).fit(X, 1024 * Y)
    np.testing.assert_allclose(fold_scores(other), 1024**2 * scores, rtol=1e-6)


# --- what is refused ------------------------------------------------------------------------------


def test_refusals():
    model = GradientBoostingRegressor(**FAST).fit(X, Y)
    for method in ("standard_error", "predict_interval", "predict_quantiles"):
        assert not hasattr(model, method)
        with pytest.raises(AttributeError) as error:
            getattr(model, method)(NEW)
        assert "set held_out to a number of folds" in str(error.value.__cause__)
        with pytest.raises(ValueError, match=f"{method} needs a fit with held_out=3"):
            getattr(clone(model).fit(X, Y).set_params(held_out=3), method)(NEW)
    assert not hasattr(HistGradientBoostingRegressor(), "predict_distribution")
    model = clone(KEPT).fit(X, Y)
    for arguments, message in [
        ({"coverage": 1.2}, "coverage must be"),
        ({"method": "jackknife"}, "method must be one of"),
        ({"side": "left"}, "side must be one of"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.predict_interval(NEW, **arguments)
    for method in ("cv+", "normalized"):
        with pytest.warns(UserWarning, match=r"coverage=0\.995 needs at least 199 held-out rows"):
            assert np.isinf(model.predict_interval(NEW, 0.995, method)).all()
    with pytest.raises(ValueError, match="n_pairs must be an integer of at least 2"):
        model.standard_error(NEW, n_pairs=1)
    with pytest.raises(ValueError, match="method must be one of"):
        model.standard_error(NEW, "double")
    with pytest.raises(ValueError, match="X has 4 features"):
        model.predict_interval(NEW[:, :4])
    weighted = clone(KEPT).fit(X, Y, sample_weight=np.linspace(1, 2, 121))
    assert np.isfinite(weighted.standard_error(NEW, n_pairs=2)).all()
    with pytest.raises(ValueError, match="held_out=10 must be a number of folds from 2 to 3"):
        clone(KEPT).fit(X[:3], Y[:3]).standard_error(NEW)
    several = clone(KEPT).fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="requires y of one column; it had 2"):
        several.predict_interval(NEW)
    assert several.forget_training_rows().predict(X).shape == (121, 2)
    with pytest.raises(ValueError, match="init must be None"):
        clone(KEPT).set_params(n_estimators=MEAN, init=LinearRegression()).fit(X, Y)
    with pytest.raises(ValueError, match="monitor cannot be used"):
        clone(KEPT).set_params(n_estimators=MEAN).fit(X, Y, monitor=lambda *a: False)


@pytest.mark.parametrize("others", [["b"] * 20, ["b"] * 10 + ["c"] * 10])
def test_folds_name_the_class_of_a_single_row(others):
    labels = ["rare", *others]
    with pytest.raises(ValueError, match="two rows of each class; rare has only one"):
        GradientBoostingClassifier(held_out=10, **FAST).fit(X[:21], labels)


def test_rows_are_forgotten():
    model = clone(KEPT).fit(X, Y)
    error = model.standard_error(NEW, n_pairs=2)
    size = len(pickle.dumps(model))
    small = model.forget_training_rows()
    assert len(pickle.dumps(small)) < size
    np.testing.assert_array_equal(small.standard_error(NEW, n_pairs=2), error)
    with pytest.raises(ValueError, match="which were removed"):
        small.standard_error(NEW, n_pairs=3)
    with pytest.raises(ValueError, match="which were removed"):
        small.predict_interval(NEW)
    assert np.isfinite(model.predict_interval(NEW)).all()  # the model itself keeps them
    # Fits are made again after the next one.
    assert not np.array_equal(model.fit(X, -2 * Y).standard_error(NEW, n_pairs=2), error)


def test_kept_rows_change_nothing_else():
    groups = np.arange(len(Y)) // 2
    rows, targets, offset, labels = X.copy(), Y.copy(), Y / 2, groups.copy()
    model = clone(KEPT).fit(rows, targets, offset=offset, groups=labels)
    rows[:], targets[:], offset[:], labels[:] = 0.0, 0.0, 0.0, 0
    again = clone(KEPT).fit(X, Y, offset=Y / 2, groups=groups)
    intervals = (each.predict_interval(NEW, offset=0) for each in (model, again))
    np.testing.assert_array_equal(*intervals)
    plain = GradientBoostingRegressor(subsample=0.5, **FAST).fit(X, Y)
    kept = GradientBoostingRegressor(subsample=0.5, held_out=10, **FAST).fit(X, Y)
    np.testing.assert_array_equal(plain.predict(NEW), kept.predict(NEW))
    # Parameters that change after the fit are those of the next one.
    first = clone(kept).fit(X, Y).standard_error(NEW, n_pairs=2)
    np.testing.assert_array_equal(
        kept.set_params(max_depth=1).standard_error(NEW, n_pairs=2), first
    )


def test_offsets_of_counts():
    """Rows of other exposures: intervals and negative binomial laws of rates times exposure."""
    rng = np.random.default_rng(0)
    exposure = rng.uniform(0.5, 2.0, 400)
    x = rng.random((400, 2))
    rate = np.exp(1 + x[:, 0])
    counts = rng.negative_binomial(3, 3 / (3 + exposure * rate)).astype(float)
    model = GradientBoostingRegressor(
        loss="poisson", n_estimators=20, held_out=10, random_state=0
    ).fit(x[:200], counts[:200], offset=np.log(exposure[:200]))
    new, offset = x[200:], np.log(exposure[200:])
    np.testing.assert_allclose(
        model.standard_error(new, n_pairs=2, offset=offset),
        model.standard_error(new, n_pairs=2, offset=0) * exposure[200:],
    )
    folds = model._resampling.folds()
    shares = folds.at(model._rows_with(new, 0)) * exposure[200:, None]
    np.testing.assert_allclose(folds.at(model._rows_with(new, offset)), shares)
    law = model.predict_distribution(new, "negative-binomial", offset=offset)
    np.testing.assert_allclose(law.mean(), shares.mean(axis=1))
    poisson = model.predict_distribution(new, "poisson", offset=offset)
    assert law.logpmf(counts[200:]).mean() > poisson.logpmf(counts[200:]).mean() + 0.02
    low, high = model.predict_interval(new, 0.8, "normalized", offset=offset).T
    assert 0.7 < np.mean((low <= counts[200:]) & (counts[200:] <= high)) < 0.95
    with pytest.raises(ValueError, match="'cqr' fits quantiles, which have no offset"):
        model.predict_interval(new, method="cqr", offset=offset)
    with pytest.raises(ValueError, match="family='gamma' is for targets that are positive"):
        model.predict_distribution(new, "gamma", offset=offset)


def test_distributions_are_of_the_folds():
    model = clone(KEPT).fit(X, Y)
    rows = model._rows_with(NEW, None)
    scales, z = model._resampling.scales()
    location = model._resampling.folds().at(rows).mean(axis=1)
    scale = scales.at(rows).mean(axis=1)
    normal = model.predict_distribution(NEW, "normal")
    np.testing.assert_allclose(normal.mean(), location)
    np.testing.assert_allclose(normal.std(), scale * np.sqrt(np.mean(z**2)))
    quantiles = model.predict_quantiles(NEW, [0.9, 0.1, 0.5])
    law = model.predict_distribution(NEW)
    np.testing.assert_allclose(quantiles, law.ppf([[0.9], [0.1], [0.5]]).T)
    np.testing.assert_array_equal(quantiles[:, 2], model.predict_quantiles(NEW, 0.5))
    assert (quantiles[:, 1] < quantiles[:, 2]).all()
    assert (quantiles[:, 2] < quantiles[:, 0]).all()
    logs = model.predict_distribution(NEW, "lognormal")
    # Of models of log y, whose median is exp of their mean.
    at = model._resampling.folds("log").at(rows).mean(axis=1)
    np.testing.assert_allclose(logs.median(), np.exp(at))
    with pytest.raises(ValueError, match=r"family='poisson' .*y has"):
        model.predict_distribution(NEW, "poisson")
    with pytest.raises(ValueError, match="family='gamma' requires predictions above 0"):
        model.predict_distribution(NEW, "gamma")
    with pytest.raises(ValueError, match="quantiles must be numbers between 0 and 1"):
        model.predict_quantiles(NEW, [0.5, 1.5])
    # Of Y = offset + f(X) the logarithm is none of log-offset + log f(X).
    shifted = clone(KEPT).fit(X, Y, offset=Y / 2)
    with pytest.raises(ValueError, match="family='lognormal' fits log y, whose offset"):
        shifted.predict_distribution(NEW, "lognormal", offset=0)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber"])
def test_constant_targets(loss):
    model = clone(KEPT).set_params(loss=loss).fit(X, np.full(121, 3.0))
    np.testing.assert_allclose(model.predict_interval(NEW), 3.0)
    np.testing.assert_allclose(model.predict_quantiles(NEW), 3.0, atol=1e-6)
    np.testing.assert_allclose(model.predict_distribution(NEW, "normal").mean(), 3.0)
    np.testing.assert_array_equal(model.standard_error(NEW, n_pairs=2), 0.0)


@pytest.mark.parametrize("unit", [1e-100, 1e-19, 1e100])
def test_units_of_y(unit):
    """Sizes of residuals, and the forms of distributions, have no unit of their own."""
    model, other = clone(KEPT).fit(X, Y), clone(KEPT).fit(X, Y * unit)
    for ask in (
        lambda model: model.predict_interval(NEW, method="normalized"),
        lambda model: model.predict_quantiles(NEW),
        lambda model: model.predict_distribution(NEW, "laplace").ppf(0.2),
    ):
        np.testing.assert_allclose(ask(other) / unit, ask(model), rtol=1e-8)
