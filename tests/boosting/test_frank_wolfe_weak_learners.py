"""Frank-Wolfe over stumps, classifiers and any regressors."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
    ReLUUnitRegressor,
    export,
)
from sklearn_ensemble_theory.boosting import losses
from sklearn_ensemble_theory.erm import ReLUNetwork

from .frank_wolfe_data import labels, problem


def all_stumps(X):
    """Outputs -1 and +1 of every stump on the rows, as columns."""
    columns = [np.ones(len(X))]
    for x in X.T:
        columns += [np.where(x <= c, 1.0, -1.0) for c in np.unique(x)[:-1]]
    return np.array(columns).T


@pytest.mark.parametrize("margin", [False, True])
@pytest.mark.parametrize("corrective", [False, True])
def test_stumps_against_the_ball_of_all_stumps_as_columns(margin, corrective):
    """A finite dictionary: the loop with a search a round, and columns with away steps."""
    X, y, weight = problem(n=30, d=3)
    cls = FrankWolfeClassifier if margin else FrankWolfeRegressor
    y = labels(y) if margin else y
    columns = cls(radius=2.0, n_estimators=4000, tol=1e-9, variant="away")
    best = columns.fit(all_stumps(X), y, sample_weight=weight).train_scores_[-1]
    model = cls(
        DecisionStumpClassifier(),
        radius=2.0,
        n_estimators=300,
        tol=1e-5,
        variant="fully_corrective" if corrective else "plain",
    ).fit(X, y, sample_weight=weight)
    assert model.is_exact_
    assert (model.train_scores_ - best <= model.dual_gaps_ + 1e-8).all()
    assert model.train_scores_[-1] >= best - 1e-8
    assert model.train_scores_[-1] - best <= (2e-5 if corrective else 2e-2)
    assert np.abs(model.estimator_weights_).sum() <= 2.0 * (1 + 1e-12)
    if corrective:
        assert model.stop_reason_ == "tol"
        assert model.n_estimators_ < 100
    scores = model.predict(X) if not margin else model.decision_function(X)
    loss = losses.LogisticLoss() if margin else losses.SquaredLoss()
    assert loss.risk(y, scores, weight) == pytest.approx(model.train_scores_[-1], rel=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionStumpRegressor(),
        ReLUUnitRegressor(),
        ReLUUnitRegressor("inner_product"),
        DecisionTreeRegressor(max_depth=2, random_state=0),
        DecisionTreeClassifier(max_depth=2, random_state=0),
    ],
    ids=str,
)
@pytest.mark.parametrize("params", [{}, {"variant": "fully_corrective"}], ids=str)
@pytest.mark.parametrize("loss", [losses.SquaredLoss(), losses.LogisticLoss()], ids=str)
def test_any_weak_learner(estimator, params, loss):
    """Inside the ball, monotone, and the risk reported is that of the model."""
    X, y, weight = problem(n=80, d=3)
    y = labels(y) if loss.margin else y
    cls = FrankWolfeClassifier if loss.margin else FrankWolfeRegressor
    model = cls(estimator, radius=3.0, n_estimators=25, loss=loss, **params)
    model.fit(X, y, sample_weight=weight)
    scores = model.decision_function(X) if loss.margin else model.predict(X)
    assert loss.risk(y, scores, weight) == pytest.approx(model.train_scores_[-1], rel=1e-8)
    assert (np.diff(model.train_scores_) <= 1e-10).all()
    assert model.train_scores_[-1] < 0.8 * model.train_scores_[0]
    assert model.variation_norm_ <= 3.0
    # The norm is that of the normalised atoms.
    norm = 0.0
    for member, b in zip(model.estimators_, model.estimator_weights_):
        outputs = np.asarray(member.predict(X), dtype=float)
        raw = isinstance(estimator, ReLUUnitRegressor) and estimator.criterion == "inner_product"
        norm += abs(b) * (1.0 if raw else np.sqrt(weight @ outputs**2))
    assert norm == pytest.approx(model.variation_norm_, rel=1e-9)
    assert model.is_exact_ == (
        not isinstance(estimator, DecisionTreeRegressor | DecisionTreeClassifier)
    )


def test_a_network_of_bounded_norm():
    X, y, _ = problem(n=80, d=3)
    model = FrankWolfeRegressor(
        ReLUUnitRegressor("inner_product"), radius=5.0, n_estimators=40, variant="fully_corrective"
    ).fit(X, y)
    network = export.network(model)
    np.testing.assert_allclose(network(X), model.predict(X), atol=1e-12)
    assert np.abs(network.output_weights).sum() <= 5.0 * (1 + 1e-12)
    assert set(np.unique(np.abs(network.hidden_weights))) <= {0.0, 1.0}
    constant = FrankWolfeRegressor(ReLUUnitRegressor()).fit(X, np.full(80, 2.0))
    assert export.network(constant)(X) == pytest.approx(2.0)
    for estimator in (None, DecisionStumpRegressor()):
        model = FrankWolfeRegressor(estimator).fit(X, y)
        with pytest.raises(ValueError, match="not a sum of rectified linear units"):
            export.network(model)


class TrapezoidLearner(RegressorMixin, BaseEstimator):
    """A weak learner of another package that is a network of two units."""

    def fit(self, X, y, sample_weight=None):
        self.coef_ = float(np.sign(np.average(y * (X[:, 0] > 0), weights=sample_weight)) or 1.0)
        return self

    def predict(self, X):
        return network_of(self)(X)


@export.network.register
def network_of(learner: TrapezoidLearner):
    weights = np.zeros((2, 3))
    weights[:, 0] = 1.0
    return ReLUNetwork(weights, np.array([0.0, -1.0]), learner.coef_ * np.array([1.0, -1.0]), 0.25)


def test_any_learner_with_network_units_makes_a_network():
    X, y, _ = problem(n=80, d=3)
    model = FrankWolfeRegressor(TrapezoidLearner(), n_estimators=5).fit(X, y)
    assert model.estimators_
    np.testing.assert_allclose(export.network(model)(X), model.predict(X), atol=1e-12)


def test_classifier_probabilities_and_labels():
    X, y, _ = problem()
    names = np.where(labels(y) > 0, "yes", "no")
    model = FrankWolfeClassifier(radius=2.0).fit(X, names)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-model.decision_function(X))))
    np.testing.assert_array_equal(model.predict(X) == "yes", proba[:, 1] > 0.5)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(proba))


class ProbitLoss:
    """A user's loss with probabilities: -log Phi(y u)."""

    margin = True
    probability = True

    def value(self, y, u):
        return -norm.logcdf(y * u)

    def gradient(self, y, u):
        return -y * np.exp(norm.logpdf(u) - norm.logcdf(y * u))

    def inverse_link(self, u):
        return norm.cdf(u)


class SquaredMarginLoss:
    """A user's loss without probabilities: (1 - y u)²/2."""

    margin = True

    def value(self, y, u):
        return 0.5 * (1 - y * u) ** 2

    def gradient(self, y, u):
        return u - y


@pytest.mark.parametrize("estimator", [None, DecisionStumpClassifier()], ids=str)
def test_probabilities_of_a_users_loss(estimator):
    X, y, _ = problem()
    model = FrankWolfeClassifier(estimator, loss=ProbitLoss())
    assert hasattr(model, "predict_proba")
    proba = model.fit(X, labels(y)).predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], norm.cdf(model.decision_function(X)))
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    model = FrankWolfeClassifier(estimator, loss=SquaredMarginLoss())
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model.fit(X, labels(y)), "predict_proba")


def test_the_differentiable_losses_of_the_registry_by_name():
    X, y, _ = problem()
    for name, loss in [("poisson", losses.PoissonLoss()), ("huber", losses.HuberLoss())]:
        named = FrankWolfeRegressor(loss=name).fit(X, np.abs(y))
        given = FrankWolfeRegressor(loss=loss).fit(X, np.abs(y))
        np.testing.assert_array_equal(named.predict(X), given.predict(X))
    named = FrankWolfeClassifier(loss="exponential").fit(X, labels(y))
    given = FrankWolfeClassifier(loss=losses.ExponentialLoss()).fit(X, labels(y))
    np.testing.assert_array_equal(named.predict_proba(X), given.predict_proba(X))
    with pytest.raises(ValueError, match="loss"):
        FrankWolfeClassifier(loss="hinge").fit(X, labels(y))
