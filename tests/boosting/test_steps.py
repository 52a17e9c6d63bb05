"""The objects of gradient boosting's options: parameters, copies, pickles, searches, refusals."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

from sklearn_ensemble_theory import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting import CVRounds, steps
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

X, Y = make_friedman1(150, 6, noise=1.0, random_state=0)
LABELS = np.where(np.median(Y) < Y, "b", "a")
FAST = {"n_estimators": 6, "learning_rate": 0.3, "random_state": 0}
RULES = [
    steps.FixedStep(reoptimize_leaves=False),
    steps.LineSearchStep(reoptimize_leaves=False),
    steps.NewtonStep(line_search=True),
    steps.JointStep(),
    steps.QuadraticBoundStep(),
    steps.SmoothStep(output_bound=5.0),
]


# --- steps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_rules_are_parameters_with_parameters(rule):
    assert clone(rule).get_params() == rule.get_params()
    assert type(rule)(**rule.get_params()).get_params() == rule.get_params()
    model = GradientBoostingClassifier(step=rule, **FAST)
    nested = {f"step__{name}": value for name, value in rule.get_params().items()}
    assert nested.items() <= model.get_params().items()
    model.fit(X, LABELS)
    assert rule.get_params() == clone(rule).get_params()  # a fit leaves it as it is
    assert set(vars(rule)) == set(rule.get_params())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(clone(again).fit(X, LABELS).steps_, model.steps_)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("fixed", steps.FixedStep()),
        ("line_search", steps.LineSearchStep()),
        ("newton", steps.NewtonStep()),
        ("joint", steps.JointStep()),
        ("quadratic_bound", steps.QuadraticBoundStep()),
    ],
)
def test_a_name_is_the_rule_with_its_defaults(name, rule):
    found = [GradientBoostingClassifier(step=s, **FAST).fit(X, LABELS) for s in (name, rule)]
    np.testing.assert_array_equal(*(model.decision_function(X) for model in found))


def test_options_are_searched_by_name():
    model = GradientBoostingRegressor(
        BinnedTreeRegressor(max_depth=2), step=steps.FixedStep(), loss="absolute_error", **FAST
    )
    grid = {"step__reoptimize_leaves": [True, False], "estimator__l2_regularization": [0.0, 9.0]}
    search = GridSearchCV(model, grid, cv=2).fit(X, Y)
    assert len(set(search.cv_results_["mean_test_score"])) == 4
    rounds = GradientBoostingRegressor(n_estimators=CVRounds(3, max_estimators=30), random_state=0)
    search = GridSearchCV(rounds, {"n_estimators__rule": ["minimum", "one_standard_error"]}, cv=2)
    assert search.fit(X, Y).best_estimator_.n_estimators_ <= 30


class Half(steps.Step):
    """Half of the step that minimises the quadratic bound."""

    def length(self, risk, u, psi, state, gain):
        return 0.5 * state.scale * gain / risk.curvature(psi)


def test_a_rule_of_the_user():
    options = {"learning_rate": 0.4, "n_estimators": 5, "random_state": 0}
    half = GradientBoostingRegressor(step=Half(), **options).fit(X, Y)
    bound = GradientBoostingRegressor(step="quadratic_bound", **options | {"learning_rate": 0.2})
    np.testing.assert_allclose(half.predict(X), bound.fit(X, Y).predict(X))
    assert isinstance(clone(half).step, Half)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("half", "'step' parameter of GradientBoostingRegressor must be a str among"),
        (steps.FixedStep, "'step' parameter of GradientBoostingRegressor must be"),
        (steps.SmoothStep(-1.0), "'output_bound' parameter of SmoothStep must be"),
        (steps.NewtonStep(line_search=3.0), "'line_search' parameter of NewtonStep must be"),
    ],
)
def test_wrong_rules_are_named(step, message):
    with pytest.raises((ValueError, TypeError), match=message):
        GradientBoostingRegressor(step=step).fit(X, Y)


# --- rounds by cross-validation -------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"subsample": 0.5}, {"max_features": 2}], ids=str)
def test_the_number_chosen_gives_the_model(options):
    given = {"random_state": 3, "learning_rate": 0.3, **options}
    chosen = GradientBoostingRegressor(n_estimators=CVRounds(max_estimators=40), **given).fit(X, Y)
    model = GradientBoostingRegressor(n_estimators=chosen.n_estimators_, **given).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), chosen.predict(X))
    assert chosen.n_estimators_ in chosen.cv_results_["n_estimators"]


def test_what_has_no_effect_with_cv_is_refused():
    model = GradientBoostingRegressor(n_estimators="cv")
    with pytest.raises(ValueError, match="X_val and y_val cannot be used with n_estimators"):
        model.fit(X, Y, X_val=X, y_val=Y)
    with pytest.raises(ValueError, match=r"use n_estimators=CVRounds\(scoring=\.\.\.\)"):
        clone(model).set_params(scoring="r2").fit(X, Y)
    with pytest.raises(ValueError, match="'rule' parameter of CVRounds must be"):
        clone(model).set_params(n_estimators=CVRounds(rule="best")).fit(X, Y)


# --- held_out -------------------------------------------------------------------------------------


def test_held_out_folds():
    fast = GradientBoostingRegressor(**FAST)
    three = clone(fast).set_params(held_out=KFold(3)).fit(X, Y)
    pairs = clone(fast).set_params(held_out=list(KFold(3).split(X))).fit(X, Y)
    np.testing.assert_array_equal(three.predict_interval(X[:9]), pairs.predict_interval(X[:9]))
    other = clone(fast).set_params(held_out=3).fit(X, Y)
    assert not np.array_equal(other.predict_interval(X[:9]), three.predict_interval(X[:9]))
    with pytest.raises(ValueError, match='held_out="cv" requires n_estimators="cv"'):
        clone(fast).set_params(held_out="cv").fit(X, Y)
    with pytest.raises(ValueError, match="splits that test on each row once"):
        clone(fast).set_params(held_out=ShuffleSplit(3, random_state=0)).fit(X, Y)


def test_methods_without_held_out_rows_are_hidden():
    methods = ("standard_error", "confidence_interval", "forget_training_rows")
    for cls, own in (
        (GradientBoostingRegressor, ("predict_interval", "predict_quantiles")),
        (GradientBoostingClassifier, ("predict_set",)),
    ):
        for name in methods + own:
            assert not hasattr(cls(), name)
            assert hasattr(cls(held_out=5), name)
    assert not hasattr(GradientBoostingClassifier(loss="hinge", held_out=5), "predict_set")
    for cls in (HistGradientBoostingRegressor, HistGradientBoostingClassifier):
        assert not any(hasattr(cls, name) for name in (*methods, "predict_set"))


# --- one tree for several targets -----------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"monotonic_cst": [1, 0, 0, 0, 0, 0]},
        {"interaction_cst": "no_interactions"},
        {"max_bins": None},
        {"estimator": LinearRegression()},
    ],
    ids=lambda options: "-".join(options),
)
def test_several_targets_by_default_with_what_one_tree_has_not(options):
    targets = np.column_stack([Y, X[:, 0]])
    model = GradientBoostingRegressor(**FAST, **options).fit(X, targets)
    separate = GradientBoostingRegressor(**FAST, **options, multi_output="separate")
    np.testing.assert_array_equal(separate.fit(X, targets).predict(X), model.predict(X))
    with pytest.raises(ValueError, match="multi_output='one_tree' requires trees"):
        model.set_params(multi_output="one_tree").fit(X, targets)


# --- HistGradientBoosting -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "y"), [(HistGradientBoostingRegressor, Y), (HistGradientBoostingClassifier, LABELS)]
)
def test_an_attribute_that_is_no_parameter_changes_nothing(cls, y):
    plain = cls(max_iter=5, min_samples_leaf=5, random_state=0).fit(X, y)
    further = set(GradientBoostingRegressor().get_params()) - set(plain.get_params())
    further |= {"second_order", "reoptimize_leaves", "cat_smooth", "min_weight_leaf"}
    values = {"subsample": 0.3, "step": "line_search", "n_estimators": 2, "ccp_alpha": 1.0}
    values |= {"estimator": LinearRegression(), "init": "zero", "held_out": 3}
    for name in sorted(further):
        model = clone(plain)
        setattr(model, name, values.get(name, 7))
        np.testing.assert_array_equal(model.fit(X, y).predict(X), plain.predict(X), err_msg=name)
        assert set(clone(model).get_params()) == set(plain.get_params())
    assert not isinstance(plain, GradientBoostingRegressor | GradientBoostingClassifier)
