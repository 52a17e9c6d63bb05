"""A number that a fit has chosen, passed back, gives the same model: in every estimator."""

from numbers import Real

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    MatchingPursuitRegressor,
)
from sklearn_ensemble_theory.boosting import CVRounds, losses

from .estimators import estimator_classes, make

# What a parameter may be instead of a number.
CHOICES = ("cv", "gcv", "loo", "aicc", "rate", "scott", "auto")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 3))
Y = X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 1] * X[:, 2] + 0.3 * RNG.standard_normal(120)


def choices(cls):
    """The parameters of a class that may be chosen by data, each with every name of a choice."""
    for name, constraints in cls._parameter_constraints.items():
        for constraint in constraints:
            options = getattr(constraint, "options", ())
            yield from ((name, option) for option in CHOICES if option in options)


def rows_for(model):
    X_own = X[:, :1] if type(model).__name__ == "SmoothingSplineRegressor" else X
    return X_own, (Y > 0).astype(int) if is_classifier(model) else Y


def outputs(model, X):
    return getattr(model, "predict_proba", model.predict)(X)


@pytest.mark.parametrize("cls", [cls for cls in estimator_classes() if [*choices(cls)]])
def test_chosen_numbers_give_the_model(cls):
    for name, option in choices(cls):
        if name == "held_out":
            continue  # no number
        model = make(cls, **{name: option})
        X, y = rows_for(model)
        found = getattr(model.fit(X, y), f"{name}_", None)
        if isinstance(found, Real | np.ndarray):
            again = clone(model).set_params(**{name: found}).fit(X, y)
            np.testing.assert_allclose(outputs(again, X), outputs(model, X), atol=1e-12)


FAST = {"learning_rate": 0.1}
COUNTS = np.floor(np.exp(Y / 2))
CHOSEN_ROUNDS = {
    "pairs": (L2BoostingRegressor(interactions=2, **FAST), Y),
    "stumps alone": (L2BoostingRegressor(smoothing_rounds=0, interactions=0, **FAST), Y),
    "given smoothing rounds": (L2BoostingRegressor(smoothing_rounds=7, **FAST), Y),
    "constraints": (L2BoostingRegressor(monotonic_cst=[1, 0, 0], **FAST), Y),
    "other folds": (L2BoostingRegressor(cv=3, held_out="cv", **FAST), Y),
    "one standard error": (L2BoostingRegressor(CVRounds(rule="one_standard_error"), **FAST), Y),
    "few": (L2BoostingRegressor(CVRounds(max_estimators=20)), Y),
    "counts": (AdditiveBoostingRegressor(loss="poisson", **FAST), COUNTS),
    "stumps alone for counts": (
        AdditiveBoostingRegressor(loss="poisson", smoothing_rounds=0, interactions=0, **FAST),
        COUNTS,
    ),
    "quantile": (AdditiveBoostingRegressor(loss=losses.QuantileLoss(0.8), **FAST), Y),
    "two classes": (LogitBoostClassifier(interactions=1, **FAST), Y > 0),
    "three classes": (LogitBoostClassifier(**FAST), np.digitize(Y, [-0.5, 1])),
    "trees": (GradientBoostingRegressor(n_estimators=CVRounds(cv=3), random_state=0), Y),
    "pursuit": (MatchingPursuitRegressor(CVRounds(cv=3)), Y),
}


@pytest.mark.parametrize("kind", CHOSEN_ROUNDS)
def test_a_chosen_number_of_rounds_gives_the_model(kind):
    model, y = CHOSEN_ROUNDS[kind]
    model = clone(model).fit(X, y)
    again = clone(model).set_params(n_estimators=model.n_estimators_).fit(X, y)
    assert again.n_estimators_ == model.n_estimators_
    np.testing.assert_allclose(outputs(again, X), outputs(model, X), rtol=1e-9, atol=1e-9)


def test_refined_bins_do_not_depend_on_how_rounds_are_chosen():
    x = RNG.uniform(size=(10_000, 2))
    y = np.where(x[:, 0] > 0.3, 1.0, 0.0) + RNG.standard_normal(10_000)
    plain = L2BoostingRegressor(smoothing_rounds=0, interactions=0, learning_rate=0.3)
    chosen = clone(plain).fit(x, y)
    again = clone(plain).set_params(n_estimators=chosen.n_estimators_).fit(x, y)
    for one, other in zip(chosen.bin_edges_, again.bin_edges_):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(again.predict(x), chosen.predict(x), rtol=1e-9)


@pytest.mark.parametrize(
    "choice", [CVRounds(max_estimators=20), CVRounds(rule="one_standard_error")], ids=repr
)
@pytest.mark.parametrize("loss", [None, "huber", losses.QuantileLoss(0.8)], ids=repr)
def test_a_chosen_number_of_rounds_gives_the_pairs(choice, loss):
    random = np.random.RandomState(1)
    x = random.randn(120, 3)
    y = np.where(x[:, 0] > 0.2, 2, 0) + np.sign(x[:, 1]) * np.sign(x[:, 2])
    y = y + 0.3 * random.standard_t(2, 120)
    model = L2BoostingRegressor(choice, learning_rate=0.1)
    if loss is not None:
        model = AdditiveBoostingRegressor(choice, loss=loss, learning_rate=0.1)
    model.fit(x, y)
    again = clone(model).set_params(n_estimators=model.n_estimators_).fit(x, y)
    assert again.term_names_ == model.term_names_
    np.testing.assert_allclose(again.predict(x), model.predict(x), rtol=1e-9, atol=1e-9)


def test_the_last_loss_of_a_stage_is_that_of_a_longer_fit():
    # Every number of rounds, and so the ends of all stages.
    model = AdditiveBoostingRegressor(loss="huber", learning_rate=1.0, interactions=0).fit(X, Y)
    path = model.cv_results_["mean_score"]
    for n_rounds in range(len(path) - 1):
        again = clone(model).set_params(n_estimators=n_rounds).fit(X, Y)
        found = again.cv_results_["mean_score"]
        np.testing.assert_allclose(found, path[: len(found)], rtol=1e-9)
