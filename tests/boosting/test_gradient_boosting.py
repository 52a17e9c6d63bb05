"""Gradient boosting: against scikit-learn's, against loops by hand, and every pair of parts."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import GradientBoostingClassifier as SklearnClassifier
from sklearn.ensemble import GradientBoostingRegressor as SklearnRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    DecisionStumpRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting import CVRounds, losses

from ..estimators import SKLEARN_VERSION, parse_version
from ..surroundings import register
from .gradient_boosting_data import BestColumn
from .loss_cases import BINARY, BY_NAME, REGRESSION

# scikit-learn's own default where it has one criterion only; before 1.9 it has to be asked for.
CRITERION = {} if parse_version("1.9") <= SKLEARN_VERSION else {"criterion": "squared_error"}
# Leaves of many rows: in small ones two features often split alike, and the order in which a tree
# looks at them decides.
TREE = DecisionTreeRegressor(max_depth=2, min_samples_leaf=20)
SAME = {"max_depth": 2, "min_samples_leaf": 20, "random_state": 0, **CRITERION}


@pytest.mark.parametrize("weighted", [False, True])
def test_regressor_equals_scikit_learn(regression, weighted):
    X, y, X_new, _ = regression
    w = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    ours = GradientBoostingRegressor(TREE, n_estimators=20, random_state=0).fit(X, y, w)
    theirs = SklearnRegressor(n_estimators=20, **SAME)
    theirs.fit(X, y, w)
    np.testing.assert_allclose(ours.predict(X_new), theirs.predict(X_new), rtol=1e-7)
    np.testing.assert_allclose(2 * ours.train_scores_, theirs.train_score_, rtol=1e-7)
    np.testing.assert_allclose(
        ours.feature_importances_, theirs.feature_importances_, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
@pytest.mark.parametrize("weighted", [False, True])
def test_binary_classifier_equals_scikit_learn(binary, loss, weighted):
    X, y, X_new, _ = binary
    w = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    settings = {"loss": loss, "n_estimators": 20}
    ours = GradientBoostingClassifier(TREE, random_state=0, **settings).fit(X, y, w)
    theirs = SklearnClassifier(**settings, **SAME).fit(X, y, w)
    np.testing.assert_allclose(ours.predict_proba(X_new), theirs.predict_proba(X_new), rtol=1e-6)
    np.testing.assert_allclose(
        ours.decision_function(X_new), theirs.decision_function(X_new), rtol=1e-6, atol=1e-8
    )


def test_multi_class_equals_scikit_learn():
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    w = np.random.default_rng(0).uniform(0.5, 2, 300)  # with equal weights many splits tie
    ours = GradientBoostingClassifier(TREE, n_estimators=10, random_state=0).fit(X, y, w)
    theirs = SklearnClassifier(n_estimators=10, **SAME).fit(X, y, w)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6)
    assert ours.estimators_.shape == (10, 3)


def test_absolute_error_is_as_good_as_scikit_learn_s(regression):
    """The medians differ: ours is the middle of two for an even number of rows."""
    X, y, *_ = regression
    ours = GradientBoostingRegressor(TREE, loss="absolute_error", n_estimators=40, random_state=0)
    theirs = SklearnRegressor(loss="absolute_error", n_estimators=40, **SAME)
    errors = [np.abs(y - model.fit(X, y).predict(X)).mean() for model in (ours, theirs)]
    assert errors[0] < 1.02 * errors[1]


@pytest.mark.parametrize("loss", REGRESSION)
@pytest.mark.parametrize(
    "estimator",
    [None, DecisionStumpRegressor(), Ridge(alpha=1e-3), KNeighborsRegressor(20)],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("step", ["fixed", "line_search", "quadratic_bound"])
def test_every_loss_with_every_learner_and_step(regression, loss, estimator, step):
    X, y, *_ = regression
    y = y / y.max() if loss == "binomial" else y
    # With the same delta in all rounds, so that their risks can be compared.
    fixed = losses.HuberLoss() if loss == "huber" else loss
    model = GradientBoostingRegressor(
        estimator, loss=fixed, step=step, n_estimators=10, learning_rate=0.2, random_state=0
    )
    if step == "quadratic_bound" and not np.isfinite(BY_NAME[loss].smoothness):
        with pytest.raises(ValueError, match="step='quadratic_bound' requires a loss"):
            model.fit(X, y)
        return
    model.fit(X, y)
    start = model.loss_.risk(y, np.full(len(y), model.loss_.optimal_constant(y)))
    risks = np.r_[start, model.train_scores_]
    # These losses of exact predictions are not 0.
    exact = model.loss_.risk(y, model.loss_.scores_from(y))
    size = start - exact if loss in ("gamma", "tweedie", "binomial") else np.abs(start)
    if step == "fixed":
        assert start - risks[-1] > 0.03 * size
    else:
        assert (np.diff(risks) <= 1e-12).all()
        assert start - risks[-1] > 0.01 * size
    u = model.loss_.scores_from(model.predict(X))
    assert model.loss_.risk(y, u) == pytest.approx(risks[-1], rel=1e-9)
    assert (model.predict(X) > 0).all() or loss not in ("poisson", "gamma", "tweedie", "binomial")


@pytest.mark.parametrize("loss", BINARY)
@pytest.mark.parametrize(
    "estimator", [None, DecisionStumpRegressor(), Ridge()], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("step", ["fixed", "line_search", "quadratic_bound"])
def test_every_classification_loss(binary, loss, estimator, step):
    X, y, X_new, y_new = binary
    model = GradientBoostingClassifier(
        estimator, loss=loss, step=step, n_estimators=25, learning_rate=0.5, random_state=0
    )
    if step == "quadratic_bound" and not np.isfinite(BY_NAME[loss].smoothness):
        with pytest.raises(ValueError, match="step='quadratic_bound' requires a loss"):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert model.score(X_new, y_new) > 0.65
    if step != "fixed":
        assert (np.diff(model.train_scores_) <= 1e-12).all()
    if not BY_NAME[loss].probability:
        assert not hasattr(model, "predict_proba")
    else:
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_a_loss_and_a_learner_of_one_s_own(regression):
    class LogCosh:
        def value(self, y, u):
            return np.logaddexp(u - y, y - u) - np.log(2)

        def gradient(self, y, u):
            return np.tanh(u - y)

    class Slope(LinearRegression):
        """A line in the one best column."""

        def fit(self, X, y):
            self.column_ = np.argmax(np.abs(np.corrcoef(X.T, y)[-1, :-1]))
            return super().fit(X[:, [self.column_]], y)

        def predict(self, X):
            return super().predict(X[:, [self.column_]])

    X, y, X_new, y_new = regression
    for step in ("fixed", "line_search"):
        model = GradientBoostingRegressor(Slope(), loss=LogCosh(), step=step, n_estimators=30)
        assert model.fit(X, y).score(X_new, y_new) > 0.4
    trees = GradientBoostingRegressor(loss=LogCosh(), random_state=0).fit(X, y)
    assert trees.train_scores_[-1] < 0.4 * trees.train_scores_[0]


def test_parameters_of_a_loss_are_searched_by_name(regression):
    X, y, *_ = regression
    model = GradientBoostingRegressor(loss=losses.HuberLoss(), n_estimators=5, random_state=0)
    search = GridSearchCV(model, {"loss__delta": [0.1, 1.0]}, cv=2).fit(X, y)
    assert search.best_params_["loss__delta"] in (0.1, 1.0)
    for q in (0.1, 0.9):
        model.set_params(loss=losses.QuantileLoss(q), n_estimators=50)
        assert np.mean(y <= model.fit(X, y).predict(X)) == pytest.approx(q, abs=0.06)


def test_init(regression, binary):
    X, y, *_ = regression
    zero = GradientBoostingRegressor(init="zero", n_estimators=1, learning_rate=1e-9)
    np.testing.assert_allclose(zero.fit(X, y).predict(X), 0, atol=1e-6)
    ridge = GradientBoostingRegressor(init=Ridge(), n_estimators=30, random_state=0).fit(X, y)
    np.testing.assert_allclose(ridge.init_.predict(X), Ridge().fit(X, y).predict(X), rtol=1e-5)
    assert ridge.score(X, y) > Ridge().fit(X, y).score(X, y)
    X, y, *_ = binary
    logistic = GradientBoostingClassifier(
        init=LogisticRegression(), n_estimators=1, learning_rate=1e-9
    ).fit(X, y)
    np.testing.assert_allclose(
        logistic.predict_proba(X), LogisticRegression().fit(X, y).predict_proba(X), rtol=1e-4
    )
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=2)
    model = GradientBoostingClassifier(init=tree, n_estimators=5, random_state=0).fit(X, y)
    assert model.score(X, y) > tree.fit(X, y).score(X, y)
    with pytest.raises(ValueError, match="init: HingeLoss gives no probabilities"):
        GradientBoostingClassifier(init=LogisticRegression(), loss="hinge").fit(*binary[:2])
    with pytest.raises(ValueError, match=r"init=KNeighborsRegressor.*does not support"):
        GradientBoostingRegressor(init=KNeighborsRegressor()).fit(
            *regression[:2], np.ones(len(regression[1]))
        )


def test_learning_rate_of_the_round(regression):
    X, y, *_ = regression
    model = GradientBoostingRegressor(learning_rate=lambda t: 1 / (t + 2), n_estimators=4)
    np.testing.assert_allclose(model.fit(X, y).steps_, [1 / 2, 1 / 3, 1 / 4, 1 / 5])


@pytest.mark.parametrize("cls", [GradientBoostingRegressor, GradientBoostingClassifier])
def test_staged_methods_end_at_the_unstaged(cls, regression, binary):
    X, y, *_ = regression if cls is GradientBoostingRegressor else binary
    model = cls(n_estimators=6, random_state=0).fit(X, y)
    pairs = [(model.staged_predict(X), model.predict(X))]
    if cls is GradientBoostingClassifier:
        pairs += [
            (model.staged_decision_function(X), model.decision_function(X)),
            (model.staged_predict_proba(X), model.predict_proba(X)),
        ]
    for staged, whole in pairs:
        stages = list(staged)
        assert len(stages) == 6
        np.testing.assert_array_equal(stages[-1], whole)
        assert np.any(stages[0] != stages[-1])


def test_sparse_rows_equal_dense_ones(binary):
    X, y, X_new, _ = binary
    X, X_new = np.where(np.abs(X) > 0.7, X, 0), np.where(np.abs(X_new) > 0.7, X_new, 0)
    exact = DecisionTreeRegressor(max_depth=3)
    model = GradientBoostingClassifier(exact, n_estimators=5, subsample=0.8, random_state=0)
    dense = model.fit(X, y).decision_function(X_new)
    for container in (sp.csr_matrix, sp.csc_matrix):
        sparse = model.fit(container(X), y).decision_function(container(X_new))
        np.testing.assert_allclose(sparse, dense, rtol=1e-6, atol=1e-8)


def test_metadata_is_routed_to_the_learner(regression):
    class Asks(Ridge):
        def fit(self, X, y, sample_weight=None, colour=None):
            self.colour_ = colour
            return super().fit(X, y, sample_weight)

    X, y, *_ = regression
    with config_context(enable_metadata_routing=True):
        learner = Asks().set_fit_request(colour=True, sample_weight=True)
        model = GradientBoostingRegressor(learner, n_estimators=3).fit(X, y, colour="red")
        assert {member.colour_ for member in model.estimators_.ravel()} == {"red"}
    with pytest.raises(ValueError, match="colour"):
        GradientBoostingRegressor(Asks()).fit(X, y, colour="red")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"subsample": 0.5},
        {"n_iter_no_change": 2},
        {"n_estimators": CVRounds(max_estimators=2), "subsample": 0.5},
    ],
    ids=str,
)
def test_metadata_of_rows_go_with_the_rows_that_are_fitted(regression, given):
    class Asks(Ridge):
        def fit(self, X, y, sample_weight=None, first=None):
            np.testing.assert_array_equal(first, X[:, 0])
            return super().fit(X, y, sample_weight)

    X, y, *_ = regression
    weight = np.arange(len(y)) % 3
    with config_context(enable_metadata_routing=True):
        learner = Asks().set_fit_request(first=True, sample_weight=True)
        model = GradientBoostingRegressor(learner, **{"n_estimators": 3, **given})
        model.fit(X, y, sample_weight=weight, first=X[:, 0])
    assert len(model) > 0


def test_verbose_and_callbacks(regression, capsys):
    X, y, *_ = regression
    GradientBoostingRegressor(n_estimators=3, verbose=2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "3/3 rounds" in lines[-1]
    assert "risk" in lines[-1]
    GradientBoostingRegressor(n_iter_no_change=1, tol=1e9, verbose=1, random_state=0).fit(X, y)
    assert capsys.readouterr().out.splitlines()[-1].endswith("early stopping")
    if parse_version("1.9") > SKLEARN_VERSION:
        return

    class Stop:
        """Ends the fit after the second round."""

        rounds = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **kwargs):
            pass

        def on_fit_task_end(self, estimator, context, **kwargs):
            self.rounds += context.task_name == "round"
            return self.rounds == 2

    model = GradientBoostingRegressor(n_estimators=10)
    model.set_callbacks(Stop())
    assert model.fit(X, y).stop_reason_ == "callback"
    assert model.n_estimators_ == 2


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GradientBoostingRegressor(DecisionTreeClassifier()), "got DecisionTreeClassifier"),
        (GradientBoostingRegressor(loss=losses.LogisticLoss()), r"-1 or \+1"),
        (GradientBoostingRegressor(loss=losses.HuberLoss(delta=-1)), "delta"),
        (GradientBoostingRegressor(loss="mean"), "loss"),
        (GradientBoostingRegressor(loss="poisson", init="zero"), None),
    ],
)
def test_wrong_parts_fail_by_name(regression, model, message):
    X, y, *_ = regression
    if message is None:
        model.set_params(n_estimators=2).fit(X, y)
        with pytest.raises(ValueError, match="non-negative"):
            model.fit(X, -y)
        return
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_other_bad_input_is_refused_by_name(regression):
    X, y, *_ = regression
    with pytest.raises(ValueError, match="estimator=KNeighborsRegressor doesn't support"):
        GradientBoostingRegressor(KNeighborsRegressor()).fit(X, y, np.ones(len(y)))
    with pytest.raises(ValueError, match="cannot be squared"):
        GradientBoostingRegressor().fit(X, 1e200 * y)
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="two classes, but y has 3 classes"):
        GradientBoostingClassifier(loss="exponential").fit(X, y)
    with pytest.raises(ValueError, match="1 class"):
        GradientBoostingClassifier().fit(X, np.zeros(150))


def test_weights_of_one_size_do_not_matter(regression):
    X, y, *_ = regression
    plain = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y).predict(X)
    weighted = GradientBoostingRegressor(n_estimators=5, random_state=0)
    np.testing.assert_allclose(weighted.fit(X, y, np.full(300, 4.0)).predict(X), plain, rtol=1e-12)


def test_separable_classes_keep_finite_scores():
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
    for loss in BINARY:
        for step in ("fixed", "line_search"):
            model = GradientBoostingClassifier(
                loss=loss, step=step, n_estimators=100, learning_rate=1.0
            ).fit(X, y)
            assert np.isfinite(model.decision_function(X)).all(), (loss, step)
            assert model.score(X, y) == 1
    assert sys.float_info.max > np.abs(model.train_scores_).max()


@pytest.mark.parametrize("n_rounds", [0, 3])
def test_rounds_end_where_the_weak_learner_has_nothing_to_offer(regression, n_rounds):
    class Tired(BestColumn):
        pass

    def prepare(learner, X, weight, task):
        left = iter(range(n_rounds))

        class Rounds:
            is_exact = has_scale = True

            def best(self, target, weight, scores=None):
                if next(left, None) is None:
                    return None
                member = clone(learner).fit(X, target)
                return member, member.predict(X)

        return Rounds()

    register(Tired, prepare_rounds=prepare)
    X, y, *_ = regression
    model = GradientBoostingRegressor(Tired(), n_estimators=10).fit(X, y)
    assert model.stop_reason_ == "weak learner"
    assert model.estimators_.shape == (n_rounds, 1)
    assert model.n_estimators_ == len(model.train_scores_) == n_rounds
    assert model.predict(X).shape == y.shape
