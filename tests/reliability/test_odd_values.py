"""What odd inputs have found, one test for each kind: values at the ends of floats, odd types."""

import inspect
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from scipy import sparse
from sklearn.base import is_classifier

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import bounds, datasets
from sklearn_ensemble_theory import inspection as room
from sklearn_ensemble_theory.boosting._additive.fitted_terms import centred, results_of_folds
from sklearn_ensemble_theory.erm import project_l2_ball
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

from ..estimators import estimator_classes, make
from . import dresses, odd_calls

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
CLASSES = estimator_classes()
every_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)

X = np.random.default_rng(0).standard_normal((40, 3))
Y = X[:, 0] + X[:, 1] ** 2
FAR = X + 1e150 * (np.arange(40) < 2)[:, None]  # of columns that trees read in double precision


def target(model):
    return (Y > 0).astype(int) if is_classifier(model) else Y


# --- the ends of floats ---------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [X, FAR])
@pytest.mark.parametrize("power", [-600, 470, 520, 1010])
def test_importances_do_not_depend_on_the_units_of_the_target(rows, power):
    for options in (
        {},
        {"criterion": "quantile", "quantile": 0.3},
        {"criterion": "absolute_error"},
    ):
        tree = BinnedTreeRegressor(max_depth=4, random_state=0, **options)
        expected = tree.fit(rows, Y / 8).feature_importances_
        found = tree.fit(rows, np.ldexp(Y / 8, power)).feature_importances_
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert abs(found.sum() - 1) < 1e-9


@pytest.mark.parametrize("cls", [package.RandomForestRegressor, package.ExtraTreesRegressor])
@pytest.mark.parametrize("honesty", [False, 0.5])
def test_importances_of_forests_do_not_depend_on_the_units_of_the_target(cls, honesty):
    forest = cls(5, honesty=honesty, max_depth=3, random_state=0)
    expected = forest.fit(FAR, Y).feature_importances_
    found = forest.fit(FAR, np.ldexp(Y, 600)).feature_importances_
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_means_of_tables_near_the_largest_float():
    weight, largest = np.array([3.0, 4.0, 5.0]), np.finfo(float).max
    for table in (np.full(3, largest), largest * np.array([-0.5, 0.5, 0.25])):
        centre, mean = centred(table, weight, False)
        exact = sum(int(w) * int(v) for w, v in zip(weight, table)) / 12
        assert abs(mean / exact - 1) < 1e-12
        assert np.isfinite(centre).all()


def test_means_of_losses_near_the_largest_float():
    path = np.array([[1.0, 0.5], [0.5, 0.25]])
    expected, found = results_of_folds("n", path), results_of_folds("n", np.ldexp(path, 1023))
    for name in ("mean_score", "standard_error"):
        np.testing.assert_allclose(found[name], np.ldexp(expected[name], 1023), rtol=1e-14)


def test_the_projection_of_a_subnormal_point_is_the_point():
    v = np.array([5e-324, -1e-323, 0.0])
    assert np.array_equal(project_l2_ball(v, 2.0), v)


@pytest.mark.parametrize("cls", [package.LogitBoostClassifier, package.L2BoostingRegressor])
def test_a_fold_with_nearly_all_of_the_weight(cls):
    weight = np.ones(len(X))
    weight[0] = 1e300
    model = make(cls, n_estimators=5, interactions="cv", cv=3)
    model.fit(X, target(model), sample_weight=weight)
    assert np.isfinite(model.predict(X).astype(float)).all()


# --- draws of one class ---------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [package.RandomForestClassifier, package.ExtraTreesClassifier])
def test_members_of_one_class_have_nothing_to_constrain(cls):
    rows, labels = X[:5], np.array([0, 0, 0, 0, 1])  # a draw in three has no row of class 1
    for max_bins in (None, 15):
        model = cls(30, monotonic_cst=[1, 0, 0], max_bins=max_bins, random_state=0)
        proba = model.fit(rows, labels).predict_proba(rows)
        assert np.all(abs(proba.sum(axis=1) - 1) < 1e-12)


# --- odd types ------------------------------------------------------------------------------------


@every_class
def test_arrays_without_dimensions_are_refused_by_name(cls):
    for name, value in make(cls).get_params(deep=False).items():
        for odd in (np.array("a"), np.array(value), np.ma.masked):
            with pytest.raises((TypeError, ValueError), match=name):
                make(cls, **{name: odd}).fit(X, target(make(cls)))


@pytest.mark.parametrize("name", ["BaggingRegressor", "StackingClassifier", "L2BoostingRegressor"])
def test_sets_are_no_labels_of_groups(name):
    cls = getattr(package, name)
    groups = [frozenset({i % 5}) for i in range(len(X))]
    with pytest.raises(ValueError, match="groups must not have sets"):
        make(cls).fit(X, target(make(cls)), groups=groups)


def test_sets_are_no_classes():
    labels = [frozenset({i % 2}) for i in range(len(X))]
    for cls in CLASSES:
        if is_classifier(make(cls)):
            with pytest.raises(ValueError, match="y must not have sets"):
                make(cls).fit(X, labels)


def test_records_are_no_classes():
    labels = dresses.OF_NUMBERS["structured"]((Y > 0).astype(int))
    for cls in CLASSES:
        if is_classifier(make(cls)):
            with pytest.raises(TypeError, match="y must hold labels; got records"):
                make(cls).fit(X, labels)


@pytest.mark.parametrize("state", [-1, 2**32, 10**59, np.int64(-5), np.uint64(2**64 - 1)])
def test_seeds_of_functions_and_methods_are_named(state):
    model = make(package.StackingClassifier, held_out="cv").fit(X, Y > 0)
    for call in (
        lambda: datasets.make_tent(5, random_state=state),
        lambda: model.predict_set(X, 0.5, random_state=state),
    ):
        with pytest.raises(ValueError, match="random_state must be from 0"):
            call()


def test_counts_of_methods_in_types_of_numpy_are_limited_too():
    model = make(package.GradientBoostingRegressor, held_out=3).fit(X, Y)
    for n_pairs in (2**64 - 1, np.uint64(2**64 - 1)):
        with pytest.raises(ValueError, match=r"n_pairs must be below 2\*\*31"):
            model.confidence_interval(X, n_pairs=n_pairs)


# --- the user's functions -------------------------------------------------------------------------


def failing(*_, **__):
    raise KeyError("a")


FUNCTIONS = {
    "target": lambda f: room.bias_variance_decomposition(
        BinnedTreeRegressor(), datasets.make_tent, n_repetitions=3, X_test=X[:, :1], target=f
    ),
    "noise": lambda f: room.bias_variance_decomposition(
        BinnedTreeRegressor(),
        lambda random_state: (X, Y),
        n_repetitions=3,
        X_test=X,
        target=Y,
        noise=f,
    ),
    "make_data": lambda f: room.bias_variance_decomposition(
        BinnedTreeRegressor(), f, n_repetitions=3, X_test=X, target=Y
    ),
    "log_mgf": lambda f: bounds.chernoff_tail(1.0, f),
    "phi": lambda f: bounds.conditional_surrogate_risk(f, 0.5, 1.0),
    "eta": lambda f: datasets.add_massart_noise(X, Y > 0, f),
    "step_size": lambda f: package.erm.projected_gradient_descent(abs, [1.0], f, n_iter=2),
    "gradient": lambda f: package.erm.projected_gradient_descent(f, [1.0], 0.1, n_iter=2),
    "f": lambda f: (
        package.LinearL2BoostingRegressor(package.SmoothingSplineRegressor(5))
        .fit(X[:, :1], Y)
        .bias_variance(f, 1.0, [1.0])
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_of_functions_that_were_given_say_which(name):
    with pytest.raises(KeyError) as found:
        FUNCTIONS[name](failing)
    assert found.value.__notes__ == [f"Raised by {name}, the function failing that was given."]


# --- partial dependence ---------------------------------------------------------------------------


def test_options_of_partial_dependence_are_refused_by_name():
    model = make(package.RandomForestRegressor).fit(X, Y)
    for name in ("kind", "method", "response_method"):
        for odd in (pd.Series(["average"]), ["auto"], None, 3):
            with pytest.raises(ValueError, match=f"{name} must be"):
                room.partial_dependence(model, X, 0, **{name: odd})
    for odd in ([[]], [[0, 1]], [None], 0.5):
        with pytest.raises(ValueError, match="features must be"):
            room.partial_dependence(model, X, odd)


def test_partial_dependence_beyond_single_precision():
    model = make(package.RandomForestRegressor).fit(X, Y)
    far = room.partial_dependence(model, X * 1e76, 0, grid_resolution=5)
    near = room.partial_dependence(model, X * 1e30, 0, grid_resolution=5)
    np.testing.assert_allclose(far.average, near.average)  # beyond all thresholds


def test_times_that_are_text_are_those_numbers():
    call = odd_calls.functions()["inspection.SmootherSpectrumDisplay.from_estimator"]
    for times in (np.array(["1.0", "2.0"], dtype="T"), np.array([1, 2]), [1.0, 2.0]):
        assert call(odd_calls.smoother(), times=times).times == [1.0, 2.0]
    pyplot.close("all")


def test_integers_beyond_floats_are_named_by_the_score():
    model = make(package.RandomForestRegressor).fit(X, Y)
    with pytest.raises(ValueError, match="y must hold numbers that are floats"):
        model.score(X, [10**400] * len(X))
    assert model.score(X, Y.astype(object)) == model.score(X, Y)


def test_functions_of_rows_return_a_number_for_each():
    with pytest.raises(ValueError, match="f must return a number for each row"):
        odd_calls.smoother().bias_variance(lambda rows: rows, 1.0, [1.0])


def test_texts_have_no_grid_in_trees():
    model = make(package.RandomForestRegressor).fit(X, Y)
    with pytest.raises(ValueError, match="X must have numbers"):
        room.partial_dependence(model, pd.DataFrame(X.astype(str)), 0)


@pytest.mark.parametrize(
    "cls",
    [cls for cls in estimator_classes() if is_classifier(make(cls))],
    ids=lambda c: c.__name__,
)
def test_labels_that_cannot_be_compared_are_named_by_the_score(cls):
    model = make(cls)
    model.fit(X, target(model))
    for odd in (np.array(["a", 0] * 20, dtype=object), dresses.OF_NUMBERS["structured"](Y)):
        with pytest.raises((TypeError, ValueError), match=r"\by\b|label"):
            model.score(X, odd)


def test_integers_beyond_floats_are_named_by_scores_of_distributions():
    with pytest.raises(ValueError, match="y must have numbers"):
        package.metrics.crps([10**400], odd_calls.normal(1))


# --- the machinery --------------------------------------------------------------------------------


def test_dresses_hold_the_same_values():
    numbers = X[:, 0]
    for label in ("objects of Decimal", "list of Fraction", "negative strides", "unaligned"):
        found = np.array(list(dresses.OF_NUMBERS[label](numbers)), dtype=float)
        assert np.array_equal(found, numbers)
    for label, make_rows in dresses.OF_ROWS.items():
        rows = make_rows(X)
        if label.startswith("sparse"):
            assert np.array_equal(rows.toarray().real, X)
        elif isinstance(rows, np.ndarray | pd.DataFrame) and label != "structured":
            assert np.allclose(np.asarray(rows).astype(complex).real, X)


def test_equal_results():
    assert dresses.same({"a": [1.0, np.nan]}, {"a": [1.0 + 1e-12, np.nan]})
    assert not dresses.same({"a": [1.0, 2.0]}, {"a": [1.0, 2.1]})
    assert not dresses.same(np.ones(2), np.ones(3))
    assert dresses.same(SimpleNamespace(), SimpleNamespace())


# --- displays -------------------------------------------------------------------------------------

DISPLAYS = [name for name in odd_calls.CALLS if "Display." in name]


@pytest.mark.filterwarnings("ignore::sklearn_ensemble_theory.averaging.StandardErrorWarning")
@pytest.mark.parametrize("name", DISPLAYS)
def test_displays_refuse_what_are_no_axes(name):
    function, arguments = odd_calls.functions()[name], odd_calls.CALLS[name]()
    axes = "axes" if "axes" in inspect.signature(function).parameters else "ax"
    for odd in (3.0, "a", [1, 2], object(), pyplot.figure()):
        with pytest.raises((TypeError, ValueError), match=f"{axes} must"):
            function(**arguments, **{axes: odd})
    pyplot.close("all")


ODD_OPTIONS = {
    "inspection.PredictionBandDisplay.from_estimator": {
        "features": 0.5,
        "methods": 1e300,
        "interval_params": 0.5,
    },
    "inspection.MarginDisplay.from_estimator": {
        "response_method": np.zeros(2),
        "y": pd.Series(pd.to_datetime([0] * 40)),
        "rounds": 3,
    },
    "inspection.BiasVarianceDisplay.from_parameter": {
        "estimator": 1j,
        "X_test": np.array(1),
    },
    "inspection.SmootherSpectrumDisplay.from_estimator": {"times": np.array([1j]), "n_vectors": ""},
    "inspection.ReliabilityDisplay.from_estimator": {
        "method": ["mean"],
        "levels": 0.5,
        "estimator": X,
    },
    "inspection.ImportanceDisplay.from_estimator": {"estimator": None, "names": np.array(3)},
    "inspection.BoostingPathDisplay.from_estimator": {"y_test": sparse.csr_array(np.ones((6, 1)))},
    "smoothing.bagged_smoother": {"X_new": 10**400},
    "export.json": {"indent": 2**31 - 1},
    "bounds.stochastic_boosting_moments": {"learning_rate": 5e-324},
}


@pytest.mark.parametrize("name", ODD_OPTIONS)
def test_options_of_other_types_are_refused_by_name(name):
    function = odd_calls.functions()[name]
    call = next(call for call in odd_calls.CALLS if call.partition(":")[0] == name)
    for option, value in ODD_OPTIONS[name].items():
        with pytest.raises((TypeError, ValueError), match=option):
            function(**{**odd_calls.CALLS[call](), option: value})
