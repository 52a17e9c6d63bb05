"""Parameters are judged before any work, and the error names them; work is bounded."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import ClassifierMixin
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils._param_validation import Interval

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import (
    BaggingRegressor,
    FrankWolfeRegressor,
    GradientBoostingRegressor,
    HistogramRegressor,
    L2BoostingRegressor,
    LinearL2BoostingRegressor,
    MatchingPursuitRegressor,
    NadarayaWatsonRegressor,
    SmoothingSplineRegressor,
    StackingRegressor,
    VotingClassifier,
)
from sklearn_ensemble_theory.boosting import CVChoice

from ..estimators import estimator_classes, make, named
from .odd_inputs import InPlaceLoss

X = np.random.default_rng(0).standard_normal((30, 2))
Y = X[:, 0] + 0.1 * X[:, 1]
CLASSES = (Y > 0).astype(int)


def refused(model, name, error=ValueError):
    y = CLASSES if isinstance(model, ClassifierMixin) else Y
    before = dict(vars(model))
    with pytest.raises(error, match=name):
        model.fit(X, y)
    assert vars(model) == before


def with_numbers():
    """(class, name) of the parameters that may be integers or real numbers."""
    for cls in estimator_classes():
        for name, constraints in cls._parameter_constraints.items():
            if isinstance(constraints, list) and any(isinstance(c, Interval) for c in constraints):
                yield cls, name


@pytest.mark.parametrize(("cls", "name"), list(with_numbers()))
def test_huge_integers_name_the_parameter(cls, name):
    refused(make(cls, **{name: 10**400}), name)
    refused(make(cls, **{name: 2**63}), name)


@pytest.mark.parametrize("name", ["n_estimators", "n_jobs", "max_bins"])
@pytest.mark.parametrize("value", [2**31, np.int64(2**31)])
def test_counts_are_below_two_billion(name, value):
    for cls in estimator_classes():
        if name in cls._parameter_constraints:
            refused(make(cls, **{name: value}), name)


def test_real_numbers_may_be_large_integers():
    FrankWolfeRegressor(radius=2**40).fit(X, Y)


LEARNERS = [
    (cls, name)
    for cls in estimator_classes()
    for name in ("estimator", "final_estimator", "init")
    if name in cls._parameter_constraints
]


@pytest.mark.parametrize(("cls", "name"), LEARNERS)
def test_learners_are_no_classes(cls, name):
    learner = DecisionTreeClassifier if issubclass(cls, ClassifierMixin) else DecisionTreeRegressor
    refused(make(cls, **{name: learner}), name, (TypeError, ValueError))


def test_members_are_no_classes():
    refused(StackingRegressor([("a", LinearRegression)]), "estimators", TypeError)
    refused(VotingClassifier([("a", DecisionTreeClassifier)]), "estimators", TypeError)


@pytest.mark.parametrize(
    "cls", [c for c in estimator_classes() if "cv" in c._parameter_constraints]
)
@pytest.mark.parametrize("cv", [np.array([1, 2, 3]), [1, 2], {0: 1}, b"ab"])
def test_cv_has_pairs(cls, cv):
    y = CLASSES if issubclass(cls, ClassifierMixin) else Y
    with pytest.raises(ValueError, match="cv"):
        make(cls, cv=cv).fit(X, y)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (package.trees.BinnedTreeRegressor(monotonic_cst={}), "monotonic_cst"),
        (package.RandomForestRegressor(2, monotonic_cst={}), "monotonic_cst"),
        (LinearL2BoostingRegressor(time=CVChoice({})), "values"),
        (LinearL2BoostingRegressor(time=[None]), "time"),
        (SmoothingSplineRegressor(order=True), "order"),
        (FrankWolfeRegressor(radius=[None]), "radius"),
        (FrankWolfeRegressor(radius=CVChoice(["a"])), "radius"),
        (NadarayaWatsonRegressor(bandwidth={}), "bandwidth"),
        (NadarayaWatsonRegressor(bandwidth=[None, 1]), "bandwidth"),
        (HistogramRegressor(box=()), "box"),
        (HistogramRegressor(box=set()), "box"),
        (HistogramRegressor(n_bins=2**31 - 1), "n_bins"),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_arrays_in_parameters(model, name):
    refused(model, name, (TypeError, ValueError))


# Work.


@pytest.mark.parametrize(
    "params",
    [
        {"subsample": 0.5},
        {"variant": "random_feature"},
        {"variant": "best_feature"},
    ],
    ids=str,
)
def test_rounds_of_linear_boosting_are_bounded(params):
    model = LinearL2BoostingRegressor(learning_rate=1e-10, time=1.0, random_state=0, **params)
    if "subsample" in params:
        model.set_params(n_subsamples=2)
    start = time.process_time()
    with pytest.raises(ValueError, match=r"learning_rate=1e-10 and time=1 make 1e\+10 rounds"):
        model.fit(X[:12], Y[:12])
    assert time.process_time() - start < 2


def test_small_rates_of_all_coordinates_are_closed_forms():
    fast = LinearL2BoostingRegressor(learning_rate=1e-10, time=1.0).fit(X, Y)
    limit = LinearL2BoostingRegressor(learning_rate=0, time=1.0).fit(X, Y)
    np.testing.assert_allclose(fast.predict(X), limit.predict(X), rtol=1e-6)


def test_bernoulli_draws_of_tiny_probability_end():
    model = BaggingRegressor(
        DecisionTreeRegressor(), 3, max_samples=1e-9, bootstrap="bernoulli", random_state=0
    ).fit(X, Y)
    assert all(len(rows) == 1 for rows in model.estimators_samples_)


@pytest.mark.slow
def test_the_law_of_bernoulli_draws_without_the_empty_one():
    # Chi-squared test of the size, given that it is positive; P(> 0) is about 1 - exp(-1.2).
    n, q = 12, 0.1
    model = BaggingRegressor(
        DummyRegressor(), 4000, max_samples=q, bootstrap="bernoulli", random_state=0
    ).fit(X[:n], Y[:n])
    sizes = np.array([len(rows) for rows in model.estimators_samples_])
    law = stats.binom.pmf(np.arange(1, 6), n, q) / (1 - (1 - q) ** n)
    law = np.r_[law, 1 - law.sum()]
    counts = np.bincount(np.minimum(sizes, 6), minlength=7)[1:]
    assert stats.chisquare(counts, 4000 * law).pvalue > 0.01


def test_numbers_of_draws_are_bounded():
    heavy = np.full(30, 1e15)
    for bootstrap in (True, "poisson"):
        model = BaggingRegressor(DecisionTreeRegressor(), max_samples=0.5, bootstrap=bootstrap)
        with pytest.raises(ValueError, match=r"max_samples=0\.5"):
            model.fit(X, Y, sample_weight=heavy)


def test_learning_rates_near_zero():
    L2BoostingRegressor(5, learning_rate=1e-300).fit(X, Y)
    refused(L2BoostingRegressor(5, learning_rate=5e-324), "learning_rate")
    MatchingPursuitRegressor(tol=1e300).fit(X, Y)
    GradientBoostingRegressor(n_estimators=2, learning_rate=5e-324).fit(X, Y)


# What random inputs found.


@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesRegressor"])
@pytest.mark.parametrize("value", [np.array(1.0), np.ones((2, 2)), {1}, {}])
def test_constraints_have_one_dimension(name, value):
    refused(make(named(name), monotonic_cst=value), "monotonic_cst")


@pytest.mark.parametrize("value", [np.array(1.0), np.ones((2, 2)), np.ones((2, 1))])
def test_weights_of_a_vote_have_one_dimension(value):
    refused(make(VotingClassifier, weights=value), "weights")
    refused(make(package.VotingRegressor, weights=value), "weights")


def test_truth_values_as_counts_are_one():
    models = [
        package.RandomProjectionRegressor(2, n_components=count, random_state=0)
        for count in (True, 1)
    ]
    first, second = (model.fit(X, Y).predict(X) for model in models)
    assert (first == second).all()


def test_smallest_gamma():
    tiny = np.finfo(float).tiny
    refused(package.SmoothBoostClassifier(edge=5e-324), "edge")
    package.SmoothBoostClassifier(n_estimators=3, edge=tiny).fit(X, CLASSES)


def test_class_weights_that_leave_no_row():
    for weight in ({0: 0.0, 1: 0.0}, {0: -1.0, 1: 1.0}):
        refused(package.trees.BinnedTreeClassifier(class_weight=weight), "class_weight")


def test_small_numpy_integers_do_not_overflow():
    for count in (np.int8(100), 100):
        model = package.trees.BinnedTreeRegressor(min_samples_leaf=count)
        assert model.fit(X, Y).get_n_leaves() == 1


@pytest.mark.parametrize("name", ["AgnosticBoostClassifier", "GradientBoostingRegressor"])
def test_validation_fractions_that_leave_no_row(name):
    cls = named(name)
    refused(make(cls, n_iter_no_change=2, validation_fraction=1 - 2.0**-53), "validation_fraction")


def test_groups_that_cannot_be_compared():
    for groups in ([0, "a"] * 15, [0, None] * 15, [0, np.nan] * 15):
        labels = np.array(groups, dtype=object)
        for name in ("DivideAndConquerRegressor", "BaggingRegressor"):
            with pytest.raises(ValueError, match="groups"):
                make(named(name)).fit(X, Y, groups=labels)


def test_dates_are_no_weights():
    dates = np.arange(30).astype("datetime64[D]")
    for name in ("BinnedTreeRegressor", "VotingRegressor", "StackingRegressor"):
        with pytest.raises(ValueError, match="sample_weight"):
            make(named(name)).fit(X, Y, sample_weight=dates)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_one_weight_for_all_rows_is_finite(value):
    for name in ("ExtraTreesRegressor", "AdaBoostClassifier", "GradientBoostingRegressor"):
        cls = named(name)
        with pytest.raises(ValueError, match="sample_weight"):
            make(cls).fit(X, CLASSES, sample_weight=value)


def test_an_impurity_decrease_beyond_all_numbers_in_the_units_of_tiny_targets():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = GradientBoostingRegressor(min_impurity_decrease=10.0, n_estimators=2)
        model.fit(X, Y * 1e-300)
    assert [tree.tree_.node_count for tree in model.estimators_[:, 0]] == [1, 1]


def test_votes_on_several_outputs():
    # As scikit-learn's, and an error of the data.
    for error in (NotImplementedError, ValueError):
        with pytest.raises(error, match="y must have one column"):
            make(VotingClassifier).fit(X, np.column_stack([CLASSES, CLASSES]))


@pytest.mark.filterwarnings("ignore:Boosting SmoothingSplineRegressor is unstable")
def test_powers_that_overflow_are_refused():
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((30, 3)), np.ones(30)
    weight[3] = 1e300
    model = package.LinearL2BoostingRegressor(subsample=0.5, random_state=0)
    try:
        assert np.isfinite(model.fit(X, X[:, 0], weight).predict(X)).all()
    except ValueError as error:
        assert "sample_weight" in str(error)


def test_numbers_of_other_types():
    X, y = np.random.default_rng(0).standard_normal((30, 3)), np.arange(30) % 2
    package.GradientBoostingClassifier(n_estimators=2, learning_rate=np.float16(0.5)).fit(X, y)
    package.SketchedLinearRegression(n_estimators=True, random_state=0).fit(X, y)
    package.GradientBoostingClassifier(n_estimators=9, n_iter_no_change=np.uint8(3)).fit(X, y)
    package.RandomProjectionRegressor(n_estimators=True, n_components=2).fit(X, y)


def test_calls_of_users_that_cannot_be_right():
    bagging = make(package.BaggingClassifier, oob_score=len)
    with pytest.raises(ValueError, match="oob_score must be a bool or a function of y and of"):
        bagging.fit(X, CLASSES)
    neighbors = make(package.BaggedNearestNeighborsRegressor, metric="pyfunc")
    with pytest.raises(ValueError, match="metric='pyfunc' cannot be used"):
        neighbors.fit(X, Y)
    stacking = make(package.StackingClassifier, cv=pd.Series([1.0, 2.0]))
    with pytest.raises(ValueError, match="cv must yield pairs of row indices"):
        stacking.fit(X, CLASSES)


@pytest.mark.parametrize("rate", [None, "a", [0.1], 1j, 10**400, -1.0, np.nan, np.inf])
def test_a_function_of_the_round_returns_a_learning_rate(rate):
    model = make(package.GradientBoostingRegressor, learning_rate=lambda t: rate if t else 0.1)
    with pytest.raises((TypeError, ValueError), match=r"learning_rate\(1\)"):
        model.fit(X, Y)


def test_losses_of_users_cannot_change_the_target():
    y = Y.copy()
    for name in ("value", "gradient"):
        model = make(package.GradientBoostingRegressor, loss=InPlaceLoss(name))
        with pytest.raises(ValueError, match=rf"loss: InPlaceLoss.{name}\(y, u\).*read-only"):
            model.fit(X, y)
        np.testing.assert_array_equal(y, Y)


def test_arguments_of_a_boosting_fit():
    model = make(package.GradientBoostingRegressor)
    with pytest.raises(TypeError, match="monitor must be callable, got int"):
        model.fit(X, Y, monitor=3)
    with pytest.raises(ValueError, match="sample_weight_val is provided, but X_val"):
        model.fit(X, Y, sample_weight_val=np.ones(len(Y)))


@pytest.mark.parametrize("name", ["Voting", "Stacking"])
def test_members_have_a_fit(name):
    for kind in ("Classifier", "Regressor"):
        model = make(getattr(package, name + kind), estimators=[("a", None)])
        with pytest.raises(ValueError, match="'a' of estimators"):
            model.fit(X, CLASSES if kind == "Classifier" else Y)


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("SmoothingSplineRegressor", "order", np.uint8(3)),
        ("MatchingPursuitRegressor", "learning_rate", np.float16(0.25)),
        ("SketchedLinearRegression", "alpha", np.float32(0.5)),
        ("RandomForestRegressor", "max_samples", np.float32(0.5)),
        ("GradientBoostingRegressor", "max_depth", np.int8(2)),
    ],
)
def test_scalars_of_numpy_are_numbers_of_python_during_a_fit(name, parameter, value):
    X, y = np.random.default_rng(0).standard_normal((60, 3)), np.arange(60) % 7
    model = make(named(name), **{parameter: value}).fit(X, y)
    assert getattr(model, parameter) is value
    expected = make(named(name), **{parameter: value.item()}).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
