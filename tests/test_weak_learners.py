"""The contract of weak learners: who has a fast path, who does not, and one written from it."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier
from sklearn.linear_model import LinearRegression

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    FrankWolfeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ReLUUnitRegressor,
)
from sklearn_ensemble_theory.boosting import losses

from .boosting.engine import EmpiricalRisk, weak_learner
from .estimators import estimator_classes, make
from .surroundings import (
    ClassTask,
    JointTask,
    LeastSquaresTask,
    SignTask,
    fast_path,
    has_fast_path,
    outputs_have_scale,
    predict_codes,
    predict_validated,
    prepare_rounds,
    register,
)


def data(n=60, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.standard_normal(n), rng.uniform(0.5, 2, n)


class Column(RegressorMixin, BaseEstimator):
    """Least squares on one column through the origin, the best one; counts its fits."""

    fits = prepared = 0

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        w = np.ones(len(y)) if sample_weight is None else sample_weight
        self._set(*ColumnRounds(X).search(y, w))
        return self

    def _set(self, j, coef):
        self.j_, self.coef_ = j, coef
        return self

    def predict(self, X):
        return self.coef_ * np.asarray(X)[:, self.j_]


def rounds_of_columns(learner, X, weight, task):
    Column.prepared += 1
    return ColumnRounds(X) if task.kind == "least_squares" else None


register(Column, prepare_rounds=rounds_of_columns)


class ColumnRounds:
    """Written from the contract alone."""

    is_exact, has_scale = True, False

    def __init__(self, X):
        self.X = X

    def search(self, target, weight):
        moment, square = (weight * target) @ self.X, weight @ self.X**2
        j = int(np.argmax(moment**2 / square))
        return j, moment[j] / square[j]

    def best(self, target, weight, scores=None):
        member = Column()._set(*self.search(target, weight))
        return member, member.predict(self.X)


class SlowColumn(Column):
    """Inherits the fast path's method, and so has none."""


@pytest.mark.parametrize(
    "cls",
    [cls for cls in estimator_classes() if has_fast_path(make(cls))],
    ids=lambda c: c.__name__,
)
def test_a_round_finds_what_a_fit_finds(cls):
    """All public learners with a fast path: one round against a fit to the same targets."""
    X, y, w = data()
    learner = make(cls)
    task = SignTask() if is_classifier(learner) else LeastSquaresTask()
    rounds = prepare_rounds(learner, X, w, task)
    for target in (y, np.sin(3 * X[:, 1]) - 0.5):  # what is prepared serves several rounds
        given = np.sign(target) if is_classifier(learner) else target
        member, outputs = rounds.best(given, w)
        outputs = np.asarray(outputs)
        np.testing.assert_allclose(outputs, learner.fit(X, given, w).predict(X), rtol=1e-10)
        np.testing.assert_allclose(member.predict(X), outputs, rtol=1e-10)


@pytest.mark.parametrize(
    "ensemble",
    [
        GradientBoostingRegressor(n_estimators=5, random_state=0),
        FrankWolfeRegressor(radius=2.0, n_estimators=5),
    ],
    ids=lambda e: type(e).__name__,
)
def test_a_learner_written_from_the_contract(ensemble):
    """Prepared once and never fitted; the same model as clones of its subclass."""
    X, y, w = data()
    Column.fits = Column.prepared = SlowColumn.fits = SlowColumn.prepared = 0
    fast = ensemble.set_params(estimator=Column()).fit(X, y, w).predict(X)
    assert (Column.fits, Column.prepared) == (0, 1)
    slow = ensemble.set_params(estimator=SlowColumn()).fit(X, y, w).predict(X)
    assert SlowColumn.fits >= 5  # Frank-Wolfe fits one more for the gap at the end
    assert SlowColumn.prepared == 0
    np.testing.assert_allclose(fast, slow, rtol=1e-10)


def test_several_scores_take_a_member_each():
    X, y, w = data()
    labels = np.searchsorted([0.3, 1.5], y)
    Column.fits = SlowColumn.fits = 0
    model = GradientBoostingClassifier(Column(), n_estimators=4, random_state=0)
    fast = model.fit(X, labels, w)
    assert Column.fits == 0
    assert fast.estimators_.shape == (4, 3)
    slow = GradientBoostingClassifier(SlowColumn(), n_estimators=4, random_state=0)
    np.testing.assert_allclose(
        fast.decision_function(X), slow.fit(X, labels, w).decision_function(X), rtol=1e-10
    )
    assert SlowColumn.fits == 12


def test_rows_that_are_drawn_anew_are_fitted_by_clones():
    X, y, _ = data()
    Column.fits = 0
    GradientBoostingRegressor(Column(), n_estimators=3, subsample=0.5, random_state=0).fit(X, y)
    assert Column.fits == 3


def test_a_task_without_a_fast_path_is_served_by_clones():
    X, y, _ = data()
    Column.fits = Column.prepared = 0
    model = AdaBoostClassifier(Column(), variant="gentle", n_estimators=3).fit(X, y > 1)
    assert Column.prepared == 1
    assert Column.fits == len(model.estimators_) == 3
    with pytest.raises(ValueError, match="Column is not a classifier"):
        AdaBoostClassifier(Column()).fit(X, y > 1)


@pytest.mark.parametrize(
    "cls", [DecisionStumpClassifier, DecisionStumpRegressor, ReLUUnitRegressor]
)
def test_a_subclass_does_not_inherit_the_fast_path(cls):
    class Sub(cls):
        pass

    class Declared(cls):
        pass

    register(Declared, prepare_rounds=fast_path(cls()).prepare_rounds)
    X, _, w = data()
    task = LeastSquaresTask()
    assert has_fast_path(cls())
    assert prepare_rounds(cls(), X, w, task) is not None
    assert not has_fast_path(Sub())
    assert prepare_rounds(Sub(), X, w, task) is None
    assert prepare_rounds(Declared(), X, w, task) is not None


def test_a_subclass_that_overrides_fit_is_fitted():
    class First(DecisionStumpRegressor):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X * [1, 0, 0], y, sample_weight)

    X, y, _ = data()
    model = GradientBoostingRegressor(First(), n_estimators=5).fit(X, y)
    assert {member.feature_ for member in model.estimators_[:, 0]} == {0}
    assert all(type(member) is First for member in model.estimators_[:, 0])


def test_which_tasks_have_a_fast_path():
    X, y, w = data()
    codes = (y > 1).astype(int)
    tasks = [
        LeastSquaresTask(),
        SignTask(),
        *(ClassTask(codes, np.arange(2), c) for c in ("error", "log_odds", "least_squares")),
    ]
    for stump in (DecisionStumpClassifier(), DecisionStumpRegressor()):
        for task in tasks:
            rounds = prepare_rounds(stump, X, w, task)
            assert rounds.is_exact
            assert rounds.has_scale == (task.kind != "least_squares")
            bounded = task.kind in ("signs", "class_error")
            assert rounds.outputs_bound == (1.0 if bounded else None)
    units = prepare_rounds(ReLUUnitRegressor("inner_product"), X, w, tasks[0])
    assert units.outputs_bound == np.ptp(X, axis=0).max() > 1
    assert prepare_rounds(ReLUUnitRegressor(), X, w, tasks[0]).outputs_bound is None
    assert prepare_rounds(ReLUUnitRegressor(direction="oblique"), X, w, tasks[0]) is None
    assert prepare_rounds(ReLUUnitRegressor(), X, w, tasks[1]) is None
    assert not has_fast_path(LinearRegression())
    assert [outputs_have_scale(e) for e in (LinearRegression(), ReLUUnitRegressor())] == [False] * 2
    assert outputs_have_scale(ReLUUnitRegressor("inner_product", direction="oblique"))
    assert outputs_have_scale(DecisionStumpClassifier())
    with pytest.raises(ValueError, match="LinearRegression has no search"):
        weak_learner(LinearRegression(), X, w, JointTask(EmpiricalRisk(losses.SquaredLoss(), y)))


def test_predictions_of_a_validated_X_are_those_of_predict():
    X, y, _ = data()
    labels = np.array(["low", "high"])[(y > 1).astype(int)]
    stump = DecisionStumpClassifier().fit(X, labels)
    codes = predict_codes(stump, X, stump.classes_)
    np.testing.assert_array_equal(stump.classes_[codes], stump.predict(X))

    class Other(DecisionStumpClassifier):
        def predict(self, X):
            return np.full(len(X), "low")

    other = Other().fit(X, labels)
    assert predict_codes(other, X, other.classes_).tolist() == [1] * len(X)
    for member in (DecisionStumpRegressor().fit(X, y), LinearRegression().fit(X, y)):
        np.testing.assert_array_equal(predict_validated(member, X), member.predict(X))


@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_votes_of_classes_are_the_coding_of_samme(n_classes):
    """Y'g/K for Y = e_k - (1 - e_k)/(K-1), by hand."""
    task = ClassTask(np.zeros(3, dtype=int), np.arange(n_classes))
    K = max(n_classes, 2)
    coding = np.full((K, K), -1 / (K - 1)) + np.eye(K) * (1 + 1 / (K - 1))
    right, wrong = task.vote_values
    assert right == pytest.approx(coding[0] @ coding[0] / K)
    assert wrong == pytest.approx(coding[0] @ coding[1] / K)
