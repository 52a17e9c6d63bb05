"""Gradient boosting: subsamples, warm starts, early stopping and validation rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    DecisionStumpRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting.losses import HuberLoss


@pytest.mark.parametrize("estimator", [None, DecisionStumpRegressor(), Ridge()])
def test_subsample(regression, estimator):
    X, y, *_ = regression
    settings = {"subsample": 0.5, "n_estimators": 20, "random_state": 0}
    model = GradientBoostingRegressor(estimator, **settings).fit(X, y)
    again = GradientBoostingRegressor(estimator, **settings).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    whole = GradientBoostingRegressor(estimator, n_estimators=20, random_state=0).fit(X, y)
    assert np.abs(model.predict(X) - whole.predict(X)).max() > 1e-3
    assert model.score(X, y) > 0.3


def test_leaves_of_a_subsample_come_from_its_rows():
    X, y = np.arange(8.0)[:, None], np.array([0.0, 0, 0, 0, 1, 1, 1, 9])
    model = GradientBoostingRegressor(
        DecisionTreeRegressor(max_depth=1),
        subsample=0.75,
        n_estimators=1,
        learning_rate=1.0,
        init="zero",
        random_state=1,
    ).fit(X, y)
    tree = model.estimators_[0, 0].tree_
    assert tree.n_node_samples[0] == 6
    leaves = tree.children_left < 0
    assert leaves.sum() == 2
    # The root's value is not re-optimised: it is still the mean of the rows that were drawn.
    weighted = tree.n_node_samples[leaves] @ tree.value[leaves, 0, 0]
    assert weighted == pytest.approx(6 * tree.value[0, 0, 0])


@pytest.mark.parametrize("subsample", [1.0, 0.6])
@pytest.mark.parametrize("early", [None, 1000])
def test_warm_start_equals_one_fit(regression, subsample, early):
    X, y, *_ = regression
    settings = {"subsample": subsample, "random_state": 0, "n_iter_no_change": early}
    whole = GradientBoostingRegressor(n_estimators=12, **settings).fit(X, y)
    parts = GradientBoostingRegressor(n_estimators=5, warm_start=True, **settings).fit(X, y)
    first = parts.estimators_[0, 0]
    parts.set_params(n_estimators=12).fit(X, y)
    assert parts.estimators_[0, 0] is first
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-10)
    np.testing.assert_allclose(parts.train_scores_, whole.train_scores_, rtol=1e-10)
    with pytest.raises(ValueError, match="n_estimators=3 is less than the 12"):
        parts.set_params(n_estimators=3).fit(X, y)


def test_warm_start_refuses_other_classes(binary):
    X, y, *_ = binary
    model = GradientBoostingClassifier(n_estimators=2, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="other classes"):
        model.set_params(n_estimators=4).fit(X, y + 1)


def test_early_stopping_on_rows_of_one_s_own(binary):
    X, y, X_val, y_val = binary
    model = GradientBoostingClassifier(
        n_estimators=300, learning_rate=0.5, n_iter_no_change=5, tol=0, random_state=0
    ).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.stop_reason_ == "early stopping"
    scores, n = model.validation_scores_, model.n_estimators_
    by_hand = [model.loss_.risk(2.0 * y_val - 1, u) for u in model.staged_decision_function(X_val)]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-10)
    followed = GradientBoostingClassifier(n_estimators=300, learning_rate=0.5, random_state=0)
    followed.fit(X, y, X_val=X_val, y_val=y_val)
    assert followed.n_estimators_ == 300  # recorded only
    path = followed.validation_scores_
    stop = next(t for t in range(5, 300) if path[t] >= max(path[t - 5 : t]))
    assert n == 1 + np.argmin(path[: stop + 1]) < stop
    np.testing.assert_allclose(scores, path[:n], rtol=1e-12)
    w = np.random.default_rng(0).uniform(size=len(y_val))
    followed.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=w)
    assert followed.validation_scores_[-1] == pytest.approx(
        followed.loss_.risk(2.0 * y_val - 1, followed.decision_function(X_val), w)
    )


@pytest.mark.parametrize("subsample", [1.0, 0.6])
@pytest.mark.parametrize("scoring", ["loss", "neg_mean_absolute_error"])
@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_the_rounds_of_the_best_score_are_those_of_a_fit_of_as_many(
    regression, subsample, scoring, loss
):
    X, y, *rows = regression
    given = dict(zip(("X_val", "y_val"), rows))
    options = {"loss": loss, "learning_rate": 0.5, "subsample": subsample, "scoring": scoring}
    model = GradientBoostingRegressor(
        **options, n_estimators=200, n_iter_no_change=8, tol=0, random_state=0
    ).fit(X, y, **given)
    n = model.n_estimators_
    sign = 1 if scoring == "loss" else -1
    assert np.argmin(sign * model.validation_scores_) == n - 1
    assert model.stop_reason_ == "early stopping"
    first = GradientBoostingRegressor(**options, n_estimators=n, random_state=0)
    first.fit(X, y, **given)
    for name in ("steps_", "train_scores_", "train_score_", "validation_scores_"):
        np.testing.assert_allclose(getattr(model, name), getattr(first, name), rtol=1e-12)
    assert vars(model.loss_) == vars(first.loss_)
    np.testing.assert_allclose(model.predict(X), first.predict(X), rtol=1e-10)
    assert model.estimators_.shape == (n, 1)
    if subsample < 1:
        np.testing.assert_allclose(model.oob_scores_, first.oob_scores_, rtol=1e-12)
        np.testing.assert_allclose(model.oob_improvement_, first.oob_improvement_, rtol=1e-12)


def test_a_warm_start_continues_after_the_rounds_that_were_kept(regression):
    X, y, *rows = regression
    given = dict(zip(("X_val", "y_val"), rows))
    model = GradientBoostingRegressor(
        n_estimators=200, learning_rate=0.1, n_iter_no_change=4, warm_start=True, random_state=0
    ).fit(X, y, **given)
    n, scores = model.n_estimators_, model.validation_scores_
    model.fit(X, y, **given)
    assert model.n_estimators_ >= n
    np.testing.assert_array_equal(model.validation_scores_[:n], scores)
    model.set_params(n_estimators=n + 30, n_iter_no_change=None).fit(X, y, **given)
    assert model.n_estimators_ == len(model.validation_scores_) == n + 30
    by_hand = [model.loss_.risk(rows[1], p) for p in model.staged_predict(rows[0])]
    np.testing.assert_allclose(model.validation_scores_, by_hand, rtol=1e-10)
    # The first rounds may have been made without validation rows.
    model.set_params(n_estimators=3, warm_start=False).fit(X, y)
    model.set_params(n_estimators=200, warm_start=True, n_iter_no_change=4).fit(X, y, **given)
    assert model.n_estimators_ == n
    np.testing.assert_allclose(model.validation_scores_, scores[3:], rtol=1e-10)


# --- units of y -----------------------------------------------------------------------------------

REGRESSORS = [
    GradientBoostingRegressor(n_iter_no_change=5, n_estimators=300, random_state=0),
    GradientBoostingRegressor(
        n_iter_no_change=5, n_estimators=300, random_state=0, loss="absolute_error"
    ),
    GradientBoostingRegressor(n_iter_no_change=5, n_estimators=300, random_state=0, loss="huber"),
    GradientBoostingRegressor(n_iter_no_change=5, n_estimators=300, random_state=0, subsample=0.5),
    GradientBoostingRegressor(
        n_iter_no_change=5, n_estimators=300, random_state=0, init=Ridge(alpha=1e-6)
    ),
    HistGradientBoostingRegressor(early_stopping=True, max_iter=300, tol=1e-3, random_state=0),
    HistGradientBoostingRegressor(
        early_stopping=True, validation_fraction=None, max_iter=300, tol=1e-3, random_state=0
    ),
    HistGradientBoostingRegressor(
        early_stopping=True, scoring=None, max_iter=300, tol=1e-3, random_state=0
    ),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
def test_early_stopping_is_free_of_the_units_of_y(model):
    rng = np.random.default_rng(0)
    X = rng.random((800, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(800)
    expected = clone(model).fit(X, y)
    n = len(expected)
    assert 15 < n < 300
    exact = not isinstance(model.get_params().get("init"), Ridge)  # LAPACK may scale
    for scale in (2.0**-14, 2.0**14):
        found = clone(model).fit(X, y * scale)
        assert len(found) == n
        if exact:
            np.testing.assert_array_equal(found.predict(X), scale * expected.predict(X))
    for scale in (1e-4, 1e4):
        found = clone(model).fit(X, y * scale)
        assert len(found) == n
        # Sums of integers are rounded at other places: equally good cuts aside, 1e-12 a round.
        np.testing.assert_allclose(found.predict(X), scale * expected.predict(X), rtol=1e-6)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_early_stopping_is_free_of_the_units_of_amounts(loss):
    """Their losses have no zero: the deviance is what is left above those of y itself."""
    rng = np.random.default_rng(0)
    X = rng.random((800, 3))
    mean = np.exp(np.sin(6 * X[:, 0]) + X[:, 1])
    y = rng.gamma(3, mean / 3) if loss == "gamma" else rng.poisson(mean).astype(float)
    model = GradientBoostingRegressor(
        loss=loss, n_iter_no_change=5, n_estimators=300, random_state=0
    )
    expected = clone(model).fit(X, y)
    assert 15 < len(expected) < 300
    for scale in (1e-4, 2.0**14):
        found = clone(model).fit(X, y * scale)
        assert len(found) == len(expected)
        np.testing.assert_allclose(found.predict(X), scale * expected.predict(X), rtol=1e-6)


def test_daily_returns_in_hundredths():
    """With the tolerance in units of y² the fit of the second ended after 11 rounds."""
    X, y = make_friedman1(2000, noise=0.3, random_state=0)
    y = (y - y.mean()) / y.std()
    model = GradientBoostingRegressor(n_estimators=1000, n_iter_no_change=10, random_state=0)
    for scale in (1, 0.01):
        model.fit(X[:1500], scale * y[:1500])
        assert model.n_estimators_ > 100
        assert model.score(X[1500:], scale * y[1500:]) > 0.95
    X, y = make_friedman1(12_000, noise=0.3, random_state=0)
    hist = HistGradientBoostingRegressor(random_state=0).fit(X, 1e-4 * y)
    assert hist.do_early_stopping_
    assert hist.n_iter_ == 100


@pytest.mark.parametrize("tol", [0.1, 1e-2, 1e-3])
def test_for_a_target_of_variance_1_the_tolerance_is_scikit_learn_s(tol):
    X, y = make_friedman1(1000, noise=1.0, random_state=0)
    rows = np.arange(1000)
    held = train_test_split(rows, test_size=0.1, random_state=0)[1]
    y = (y - y[held].mean()) / y[held].std()  # of the rows that decide
    options = {"n_estimators": 500, "n_iter_no_change": 5, "tol": tol, "random_state": 0}
    ours = GradientBoostingRegressor(max_bins=None, init="zero", **options).fit(X, y)
    theirs = ensemble.GradientBoostingRegressor(init="zero", **options).fit(X, y)
    assert ours.n_estimators_ == theirs.n_estimators_ < 500
    # In other units it is scikit-learn's with a tolerance in these units.
    other = GradientBoostingRegressor(max_bins=None, init="zero", **options).fit(X, 8 * y)
    options["tol"] *= 64
    theirs = ensemble.GradientBoostingRegressor(init="zero", **options).fit(X, 8 * y)
    assert other.n_estimators_ == theirs.n_estimators_ == ours.n_estimators_


def test_the_tolerance_of_rare_classes_and_of_losses_of_the_user(binary):
    """The risk of the constant, however small, is the unit; that of a loss of the user as it is."""
    X, y, *_ = binary

    class Half:
        def value(self, y, u):
            return 8 * (y - u) ** 2

        def gradient(self, y, u):
            return 16 * (u - y)

    options = {"n_iter_no_change": 4, "n_estimators": 300, "tol": 1e-2, "random_state": 0}
    target = X[:, 0] + 0.1 * np.sign(X[:, 1])
    plain = GradientBoostingRegressor(**options).fit(X, target)
    assert plain.n_estimators_ < 300
    own = GradientBoostingRegressor(loss=Half(), **options).fit(X, target)
    assert own.n_estimators_ == plain.n_estimators_
    # For classes the unit is twice the entropy.
    model = GradientBoostingClassifier(**options).fit(X, y)
    risk = model.validation_scores_
    part, held = train_test_split(np.arange(len(y)), test_size=0.1, random_state=0, stratify=y)
    p = y[part].mean()
    unit = log_loss(y[held], np.full(len(held), p), labels=[0, 1])
    ends = [t for t in range(4, len(risk)) if risk[t] + 1e-2 * unit >= max(risk[t - 4 : t])]
    assert ends == [len(risk) - 1]


def test_early_stopping_on_a_fraction(regression, binary):
    X, y, *_ = regression
    model = GradientBoostingRegressor(
        n_estimators=500, learning_rate=0.5, n_iter_no_change=3, random_state=0
    ).fit(X, y)
    assert model.stop_reason_ == "early stopping"
    assert len(model.validation_scores_) == model.n_estimators_ < 500
    X, y, *_ = binary
    stopped = GradientBoostingClassifier(n_iter_no_change=2, tol=1.0, random_state=0).fit(X, y)
    assert stopped.n_estimators_ == 3


def test_validation_rows_are_checked(regression, binary):
    X, y, X_val, y_val = regression
    model = GradientBoostingRegressor(n_estimators=2)
    with pytest.raises(ValueError, match="X_val is provided, but y_val was not"):
        model.fit(X, y, X_val=X_val)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y, X_val=X_val, y_val=y_val[:-1])
    with pytest.raises(ValueError, match="y_val"):
        model.fit(X, y, X_val=X_val, y_val=np.full(len(y_val), np.nan))
    with pytest.raises(ValueError, match="sample_weight_val: "):
        model.fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=np.ones(len(y)))
    poisson = GradientBoostingRegressor(loss="poisson")
    with pytest.raises(ValueError, match="y_val: loss='poisson' requires non-negative y"):
        poisson.fit(X, np.abs(y), X_val=X_val, y_val=-np.abs(y_val))
    X, y, X_val, y_val = binary
    with pytest.raises(ValueError, match="y_val has classes"):
        GradientBoostingClassifier().fit(X, y, X_val=X_val, y_val=y_val + 5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rounds_beyond_an_early_stop_leave_no_draws(n_classes):
    """Rounds are made ahead where nobody looks at them; a monitor looks at each of them."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.integers(0, 4, (300, 2)), 3, axis=1)  # ties, which draws decide
    y = np.minimum(X[:, 0] + (rng.random(300) < 0.4), n_classes - 1)
    fits = []
    for monitor in (None, lambda *seen: False):
        random_state = np.random.RandomState(0)
        model = GradientBoostingClassifier(
            n_estimators=200, learning_rate=0.5, n_iter_no_change=7, random_state=random_state
        ).fit(X, y, monitor=monitor)
        fits.append((len(model), random_state.randint(2**31 - 1)))
    assert fits[0] == fits[1]
    assert fits[0][0] < 200


@pytest.mark.parametrize("loss", ["poisson", "tweedie"])
def test_validation_counts_may_all_be_zero(loss, regression):
    """As in folds and in rows that are drawn: the risk is the sum of what is expected."""
    X, y, X_val, y_val = regression
    model = GradientBoostingRegressor(loss=loss, n_estimators=3)
    model.fit(X, np.abs(y), X_val=X_val, y_val=np.zeros(len(y_val)))
    power = 1.0 if loss == "poisson" else 1.5
    by_hand = [np.mean(p ** (2 - power)) / (2 - power) for p in model.staged_predict(X_val)]
    np.testing.assert_allclose(model.validation_scores_, by_hand)


def test_targets_that_a_loss_cannot_be_fitted_to_after_the_split():
    X, y = np.zeros((20, 1)), np.zeros(20)
    y[-1] = 1.0
    found = []
    for seed in range(12):
        model = GradientBoostingRegressor(
            loss="poisson", n_estimators=2, n_iter_no_change=2, random_state=seed
        )
        try:
            model.fit(X, y)
        except ValueError as error:
            found.append(str(error))
    assert found
    assert all("after the early stopping split: loss='poisson' requires" in text for text in found)


def test_a_column_of_validation_targets_is_one_target():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 2)), rng.standard_normal(50)
    model = GradientBoostingRegressor(n_estimators=3, random_state=0)
    expected = model.fit(X, y, X_val=X[:9], y_val=y[:9]).validation_scores_
    with pytest.warns(UserWarning, match="A column-vector y was passed"):
        model.fit(X, y, X_val=X[:9], y_val=y[:9, None])
    np.testing.assert_array_equal(model.validation_scores_, expected)


def test_rounds_by_the_loss_of_huber_are_compared_by_one_delta():
    """Its delta falls with the residuals of the training rows, and risks by it fall for ever."""
    rng = np.random.default_rng(0)
    X, noise = rng.random((400, 4)), rng.standard_t(3, 400)
    y = 3 * np.sin(6 * X[:, 0]) + noise
    train, held = slice(0, 200), {"X_val": X[200:], "y_val": y[200:]}
    model = GradientBoostingRegressor(
        loss="huber", n_estimators=300, learning_rate=0.3, n_iter_no_change=10, random_state=0
    ).fit(X[train], y[train], **held)
    assert model.stop_reason_ == "early stopping"
    n = model.n_estimators_
    start = np.median(y[train])
    delta = np.quantile(np.abs(y[200:] - start), 0.9, method="inverted_cdf")
    one = HuberLoss(delta=delta)
    expected = [one.value(y[200:], u).mean() for u in model.staged_predict(X[200:])]
    np.testing.assert_allclose(model.validation_scores_, expected, rtol=1e-10)
    # The same delta where the fit is continued.
    again = GradientBoostingRegressor(
        loss="huber", n_estimators=5, learning_rate=0.3, warm_start=True, random_state=0
    ).fit(X[train], y[train], **held)
    again.set_params(n_estimators=n).fit(X[train], y[train], **held)
    np.testing.assert_allclose(again.validation_scores_, expected, rtol=1e-10)


@pytest.mark.parametrize("cls", [GradientBoostingRegressor, HistGradientBoostingRegressor])
def test_errors_of_validation_rows_name_them(cls, regression):
    X, y, X_val, y_val = regression
    frame, known = (pd.DataFrame(rows).add_prefix("x") for rows in (X, X_val))
    for rows, targets, message in [
        (known[known.columns[::-1]], y_val, "X_val: The feature names"),
        (known.iloc[:0], y_val[:0], "X_val: Found array with 0 sample"),
        (known.assign(x0="a"), y_val, "X_val: X must hold numbers. Feature 'x0'"),
        (known, y_val[:3], "y_val must have a target for each row of X_val"),
    ]:
        with pytest.raises(ValueError, match=message):
            cls().fit(frame, y, X_val=rows, y_val=targets)


def test_errors_of_a_metric_have_a_note_of_scoring(regression):
    X, y, *_ = regression
    model = GradientBoostingRegressor(n_iter_no_change=2, scoring="roc_auc")
    with pytest.raises(AttributeError) as caught:  # as in scikit-learn
        model.fit(X, y)
    assert caught.value.__notes__ == ["Raised by the metric of scoring='roc_auc'."]
