"""Rules of odd inputs, one test for each kind, which walks over all estimators."""

import inspect
import resource
import warnings
from contextlib import contextmanager
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory.inspection import (
    oob_permutation_importances,
    unbiased_feature_importances,
)

from ..estimators import estimator_classes, make
from .fuzzing import STATM, is_named, needed, read_everything
from .odd_data import ends, no_tables, polars
from .odd_inputs import WITHOUT_WEIGHTS

CLASSES = estimator_classes()
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
every_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)

X = np.random.default_rng(0).standard_normal((40, 3))
Y = X[:, 0] + 0.1 * X[:, 1]
# Rounds that are asked for are run, and their number needs no memory of its own.
ROUNDS = (
    *("rounds", "iter", "iterations", "estimators", "subsamples", "refinements", "starts", "steps"),
    *("bags", "selections", "jobs"),
)


def target(model, y=Y):
    return (y > 0).astype(int) if is_classifier(model) else y


@contextmanager
def little_memory(room=2**30):
    """MemoryError beyond so many bytes more than the process has."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    if STATM.exists():
        top = int(STATM.read_text().split()[0]) * resource.getpagesize() + room
        resource.setrlimit(resource.RLIMIT_AS, (top, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


# --- parameters beyond any array ------------------------------------------------------------------


@every_class
def test_parameters_beyond_any_array_are_told_at_fit_by_name(cls):
    for name, constraints in cls._parameter_constraints.items():
        kinds = {c.type.__name__ for c in constraints if isinstance(c, Interval)}
        values = [1e18, 1e300] if "Real" in kinds else []
        if "Integral" in kinds:
            values += [1e18, 10**18, *([] if name.endswith(ROUNDS) else [2**31 - 1])]
        for value in values:
            model = make(cls, **{name: value})
            try:
                with little_memory():
                    model.fit(X, target(model))
            except (ValueError, TypeError, MemoryError) as error:
                assert name in str(error), error
            else:
                assert len(model.predict(X)) == len(X)


# --- learners without weights ---------------------------------------------------------------------

LEARNERS = ("estimator", "final_estimator", "init")


@pytest.mark.parametrize(
    ("cls", "name"),
    [(c, name) for c in CLASSES for name in LEARNERS if name in c._parameter_constraints],
)
def test_learners_without_weights_are_fitted_without_them_or_refused_by_name(cls, name):
    for learner in WITHOUT_WEIGHTS:
        for weight in (None, np.linspace(1, 2, len(X))):
            model = make(cls, **{name: learner})
            if is_classifier(learner) is not is_classifier(model) and name != "estimator":
                continue  # another error
            y = target(model)
            if is_classifier(learner) and not is_classifier(model):
                y = np.rint(y)  # labels for a classifier
            try:
                model.fit(X, y, sample_weight=weight)
            except (ValueError, TypeError) as error:
                text = str(error)
                assert name in text, text
                assert type(learner).__name__ in text
            else:
                assert len(model.predict(X)) == len(X)


# --- what learners predict ------------------------------------------------------------------------

# What a learner returns for n rows, from what would be right.
ODD_OUTPUTS = {
    "for one row more": lambda right: np.append(right, right[:1]),
    "for one row less": lambda right: right[1:],
    "a number": lambda right: right[0],
    "nothing": lambda right: None,
    "a row": lambda right: right[None],
    "complex numbers": lambda right: right + 1j,
}


class OddOutputs(BaseEstimator):
    """A learner that returns something else than its predictions, and whose fit returns nothing."""

    def __init__(self, kind):
        self.kind = kind

    def fit(self, X, y, sample_weight=None):
        self.y_, self.classes_ = np.asarray(y), np.unique(y)

    def predict(self, X):
        return ODD_OUTPUTS[self.kind](np.resize(self.y_, len(X)))


class OddRegressor(RegressorMixin, OddOutputs):
    pass


class OddClassifier(ClassifierMixin, OddOutputs):
    pass


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (c, name)
        for c in CLASSES
        for name in ("estimator", "estimators", "final_estimator", "init")
        if name in c._parameter_constraints
    ],
)
def test_learners_predict_one_value_for_each_row(cls, name):
    of_classes = is_classifier(make(cls))
    for kind in ODD_OUTPUTS:
        learner = (OddClassifier if of_classes and name != "init" else OddRegressor)(kind)
        if cls is package.GradientBoostingClassifier:
            learner = OddRegressor(kind)
        model = make(cls)
        if name == "estimators":
            model.set_params(estimators=[*model.estimators, ("odd", learner)])
            if hasattr(model, "final_estimator"):
                model.set_params(final_estimator=None)
        else:
            model.set_params(**{name: learner})
        with pytest.raises((ValueError, TypeError)) as info:
            model.fit(X, target(model)).predict(X)
        assert is_named(info.value, model), info.value


# --- what fit takes, predict takes ----------------------------------------------------------------

CONTAINERS = {
    "strings": lambda X: X.astype(str),
    "frame of strings": lambda X: pd.DataFrame(X.astype(str)).astype("string"),
    "polars of strings": lambda X: polars(X.astype(str)),
    "nullable": lambda X: pd.DataFrame(X).astype("Float64"),
    "categories": lambda X: pd.DataFrame(np.rint(X)).astype("category"),
}


def takers():
    for cls in CLASSES:
        learner = LogisticRegression() if is_classifier(make(cls)) else LinearRegression()
        yield make(cls)
        if "estimators" in cls._parameter_constraints:
            yield make(cls, estimators=[("a", learner), ("b", clone(learner))])
        elif "Bagging" in cls.__name__:
            yield make(cls, estimator=learner)


@pytest.mark.parametrize("model", list(takers()), ids=lambda m: type(m).__name__)
def test_what_fit_takes_predict_takes(model):
    y = target(model)
    expected = clone(model).fit(X, y).predict(X)
    for name, make_container in CONTAINERS.items():
        rows = make_container(X)
        try:
            model.fit(rows, y)
        except (ValueError, TypeError) as error:
            assert is_named(error, model), error
            continue
        found = model.predict(rows)
        if name != "categories":
            np.testing.assert_allclose(found, expected, err_msg=name)


@every_class
def test_targets_and_weights_in_frames(cls):
    model = make(cls)
    y, weight = target(model), np.arange(len(X)) % 3 + 1
    expected = model.fit(X, y, sample_weight=weight).predict(X)
    found = model.fit(X, polars(y), sample_weight=polars(weight)).predict(X)
    np.testing.assert_array_equal(found, expected)
    several = np.column_stack([y, target(model, -Y)])
    outcomes = []
    for container in (np.asarray, pd.DataFrame, polars):
        try:
            outcomes.append(model.fit(X, container(several)).predict(X))
        except ValueError as error:
            assert "y" in str(error).split()
            outcomes.append(str(error)[:20])
    for outcome in outcomes:
        if isinstance(outcome, str):
            assert outcome == outcomes[0]
        else:  # in another order of memory
            np.testing.assert_allclose(outcome, outcomes[0], rtol=1e-9)


@every_class
def test_a_column_of_targets_warns_once_at_the_users_line_or_not_at_all(cls):
    model = make(cls)
    y = target(model)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X, y[:, None])
    found = [w for w in seen if issubclass(w.category, DataConversionWarning)]
    assert [w.filename for w in found] in ([], [__file__])
    assert found or get_tags(model).target_tags.multi_output


@pytest.mark.parametrize("cls", [package.VotingClassifier, package.VotingRegressor])
def test_weights_of_a_vote_may_be_strings_of_numbers(cls):
    model = make(cls)
    y = target(model)
    expected = model.set_params(weights=[1, 2.5]).fit(X, y).predict(X)
    for weights in (["1", "2.5"], np.array(["1", "2.5"])):
        np.testing.assert_array_equal(
            model.set_params(weights=weights).fit(X, y).predict(X), expected
        )
    for weights in (["1", "a"], [1, None], [1, 10**400], [1, 1j]):
        with pytest.raises(ValueError, match="weights"):
            model.set_params(weights=weights).fit(X, y)


# --- methods and attributes that a setting does not have ------------------------------------------


@every_class
def test_all_of_a_fitted_model_can_be_read(cls):
    model = make(cls)
    read_everything(model.fit(X, target(model)), X)


def test_blocks_have_no_intervals():
    for cls in (package.DivideAndConquerRegressor, package.DivideAndConquerClassifier):
        for name in (
            "predict_quantiles",
            "predict_interval",
            "predict_set",
            "forget_training_rows",
        ):
            assert not hasattr(cls, name)


# --- what is no table -----------------------------------------------------------------------------


@every_class
def test_what_is_no_table_is_told_by_its_type(cls):
    """By fit and by every method of X; NumPy and SciPy name neither X nor what was given."""
    model = make(cls)
    odd = list(no_tables(X).values())
    for value in odd:
        with pytest.raises((TypeError, ValueError)) as info:
            clone(model).fit(value, target(model))
        assert is_named(info.value, model), info.value
    model.fit(X, target(model))
    for name in dir(model):
        if name.startswith(("predict", "decision", "apply", "transform", "score_")):
            method = getattr(model, name, None)
            for value in odd if callable(method) and needed(method) == {"X"} else []:
                with pytest.raises((TypeError, ValueError)) as info:
                    method(value)
                assert is_named(info.value, model), (name, info.value)


# --- labels of rows that are not those of the fit -------------------------------------------------


def all_stages(method, *args, **given):
    return np.array(list(method(*args, **given)))


@every_class
def test_methods_of_labels_name_y(cls):
    """Bounds and margins: labels of another kind are errors of them all, or are refused."""
    model = make(cls)
    names = [
        name
        for name in ("error_bound", "margins", "staged_score")
        if hasattr(cls, name)
        # Some bounds know all that they need of the rows from the fit.
        and "y" in (parameters := inspect.signature(getattr(cls, name)).parameters)
        and parameters["y"].default is not None
    ]
    if not names or not is_classifier(model):
        return
    model.set_params(**({"variant": "discrete"} if "variant" in model.get_params() else {}))
    if cls is package.VotingClassifier:
        model.set_params(voting="hard")
    model.fit(X, target(model))
    methods = [(name, getattr(model, name)) for name in names]
    by_vc_dimension = {
        package.VotingClassifier: {"method": "vc", "delta": 0.05, "vc_dimensions": 2},
        package.AdaBoostClassifier: {"method": "vc"},
    }
    if cls in by_vc_dimension:
        methods.append(("error_bound", partial(model.error_bound, **by_vc_dimension[cls])))
    for name, method in methods:
        weighted = "sample_weight" in inspect.signature(method).parameters
        odd = [
            {"y": target(model)[:-1]},
            {"y": np.array([None] * len(X))},
            {"y": pd.Series(["a"] * len(X), dtype="category")},
            *([{"y": target(model), "sample_weight": w} for w in ({1}, [10**400] * 40)] * weighted),
        ]
        if name == "staged_score":
            method = partial(
                lambda score, *args, **kw: np.asarray(list(score(*args, **kw))), method
            )
        assert np.isfinite(method(X, target(model))).all()
        for given in odd:
            with pytest.raises((TypeError, ValueError)) as info:
                method(X, **given)
            assert is_named(info.value, model), (name, info.value)
        unknown = np.full(len(X), 7)
        if name == "staged_score":
            assert (method(X, unknown) == 0.0).all()
        elif method in (getattr(model, "margins", None), getattr(model, "error_bound", None)) and (
            cls is package.AdaBoostClassifier
        ):  # rows of other classes have no margins
            with pytest.raises(ValueError, match="y must contain one of `classes_`"):
                method(X, unknown)
        elif name != "margins":
            assert method(X, unknown) >= 1.0


@pytest.mark.parametrize("name", ["HistogramClassifier", "LogitBoostClassifier"])
def test_announced_classes_can_be_compared(name):
    model = make(getattr(package, name))
    with pytest.raises(TypeError, match="classes must be labels that can be compared"):
        model.partial_fit(X, target(model), classes=[0, "a", None])


# --- the ends of types ----------------------------------------------------------------------------


@every_class
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_ends_of_types(cls, dtype):
    """Predictions or an error of y or the weights; all of the model can be read."""
    model = make(cls)
    y, weight = target(model), np.abs(ends(X[:, 1], dtype)).astype(dtype)
    cases = [(y, weight), (y, np.full(len(X), weight.max()))]
    cases += [] if is_classifier(model) else [(ends(Y, dtype), None)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for values, given in cases:
            try:
                model.fit(X, values, sample_weight=given)
                read_everything(model, X)
                found = model.predict(X)
            except ValueError as error:
                assert is_named(error, model), error
            else:
                assert np.isfinite(found).all()


@pytest.mark.parametrize("size", [1e155, 1.7e308])
def test_importances_beyond_the_largest_float(size):
    y = Y / np.abs(Y).max()
    for name in ("RandomForestRegressor", "BaggingRegressor"):
        model = make(getattr(package, name), n_estimators=20).fit(X, y * size)
        read_everything(model, X)  # dir among others
        with pytest.raises(ValueError, match="y is so large"):
            unbiased_feature_importances(model)
        with pytest.raises(ValueError, match="y is so large"):
            oob_permutation_importances(model, random_state=0)


@pytest.mark.parametrize("size", [2.0**500, 2.0**-500, 2.0**-530])
def test_importances_are_in_units_of_the_target_squared(size):
    models = [make(package.BaggingRegressor, n_estimators=20).fit(X, y) for y in (Y, Y * size)]
    for read in (
        lambda m: unbiased_feature_importances(m),
        lambda m: oob_permutation_importances(m, random_state=0).importances_mean,
    ):
        small, large = (read(model) for model in models)
        np.testing.assert_allclose(small * size * size, large, rtol=1e-9)


def test_arguments_of_simulations_and_rates_are_told_by_name():
    sketched = package.SketchedLinearRegression().fit(X, Y)
    projected, pursuit = package.RandomProjectionRegressor(), package.MatchingPursuitRegressor(2)
    pursuit.fit(X, Y)
    for n_draws in (0, 2.5, "many", True, 2**62):
        for simulate in (sketched.excess_risk, projected.expected_projection):
            with pytest.raises(ValueError, match=r"n_draws must be .*an integer"):
                simulate(X=X, n_draws=n_draws)
    for random_state in ("a", 1.5, -1, 2**62, [0.5]):
        for method in (
            partial(sketched.excess_risk, X=X),
            partial(oob_permutation_importances, make(package.RandomForestRegressor).fit(X, Y)),
        ):
            with pytest.raises(ValueError, match="random_state"):
                method(random_state=random_state)
    for number in (None, "a", [1.0, 2.0], pd.NA, -1, np.inf):
        with pytest.raises(ValueError, match=r"sigma must be .*a number"):
            sketched.excess_risk(sigma=number)
        with pytest.raises(ValueError, match=r"sigma must be .*a number"):
            projected.fit(X, Y).error_bound(1.0, sigma=number)
    with pytest.raises(ValueError, match="theta must be a number or an array"):
        projected.error_bound(pd.NA)
    ball = make(package.BallConstrainedClassifier)
    ball.fit(X, target(ball))
    for name in ("feature_bound", "intercept_bound"):
        for number in ("a", [1.0], pd.NA, -1, np.inf):
            with pytest.raises(ValueError, match=rf"{name} must be .*a number"):
                ball.error_bound(**{name: number})
    boosted = make(package.LinearL2BoostingRegressor).fit(X, Y)
    for j in ([1], "a", 3, -1, 0.5):
        with pytest.raises(ValueError, match=r"j must be .*an integer"):
            boosted.component(j, X[:, 0])
    with pytest.raises(ValueError, match="f must be a number or an array"):
        boosted.bias_variance("a", 1.0, [1.0])
    for gauge_y in (-1, np.nan, "one"):
        with pytest.raises(ValueError, match=r"gauge_y must be .*a number"):
            pursuit.error_bound(gauge_y=gauge_y)
    dates = pd.DataFrame({"day": pd.date_range("2020", periods=len(X))})
    with pytest.raises(TypeError, match="'day' has dates"):
        projected.expected_projection(dates)


@pytest.mark.parametrize("cls", [package.L2BoostingRegressor, package.LogitBoostClassifier])
def test_flags_of_partial_fit_are_bools(cls):
    model = make(cls)
    given = {} if cls is package.L2BoostingRegressor else {"classes": [0, 1]}
    for refit in (pd.NA, None, pd.Series([1.0, 2.0])):
        with pytest.raises(TypeError, match="refit must be a bool"):
            model.partial_fit(X, target(model), refit=refit, **given)


def test_scores_and_intervals_at_the_ends_of_their_ranges():
    model = make(package.AdaBoostRegressor).fit(X, Y)
    for far in (1e200 * np.sign(Y), 1e308 * np.tanh(Y)):
        assert np.isfinite(list(model.staged_score(X, far))).all()
    with pytest.raises(ValueError, match="y should be a 1d array"):
        next(model.staged_score(X, np.column_stack([Y, Y])))
    forest = make(package.RandomForestRegressor, n_estimators=20).fit(X, Y)
    for coverage in (10**400, -(10**400), np.nan, 1.0, True, "a"):
        with pytest.raises(ValueError, match="coverage must be"):
            forest.predict_interval(X, coverage=coverage)
    tree = make(package.trees.BinnedTreeRegressor).fit(X, Y)
    for flag in (pd.NA, pd.Series([1.0, 2.0]), "a"):
        with pytest.raises(TypeError, match="check_input must be True or False"):
            tree.predict(X, check_input=flag)
    widths = [np.ptp(forest.predict_interval(X, coverage=c), axis=1) for c in (1e-300, 0.01, 0.9)]
    assert (widths[0] <= widths[1]).all()
    assert (widths[1] < widths[2]).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for method in (forest.apply, forest.predict_quantiles):  # beyond single precision
            np.testing.assert_array_equal(method(X * 1e155), method(X * 1e9))


def test_metrics_return_numbers_and_splitters_are_instances():
    for value in (None, "a", [1.0, 2.0]):
        for cls in (package.RandomForestClassifier, package.BaggingRegressor):
            model = make(cls, oob_score=lambda y, mean, value=value: value, bootstrap=True)
            with pytest.raises(ValueError, match="oob_score must return a number"):
                model.fit(X, target(model))
    for cls in CLASSES:
        if "cv" in cls._parameter_constraints:
            with pytest.raises((TypeError, ValueError), match="cv"):
                make(cls, cv=KFold).fit(X, target(make(cls)))


def test_learners_without_parameters_are_named():
    class Plain:
        def fit(self, X, y): ...

        def predict(self, X): ...

    for name in ("BaggingRegressor", "DivideAndConquerClassifier", "StackingRegressor"):
        cls = getattr(package, name)
        given = {"estimators": [("a", Plain())]} if "Stacking" in name else {"estimator": Plain()}
        with pytest.raises((TypeError, ValueError), match=r"estimators?\b.*Plain"):
            make(cls, **given).fit(X, target(make(cls)))


@pytest.mark.parametrize("name", ["RandomForest", "GradientBoosting", "BaggedNearestNeighbors"])
@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
def test_weights_of_scores_are_those_that_fits_take(name, kind):
    model = make(getattr(package, name + kind))
    y = target(model)
    model.fit(X, y)
    assert model.score(X, y, sample_weight=2.0) == pytest.approx(model.score(X, y))
    for wrong in (-np.ones(len(X)), np.full(len(X), np.nan), [1.0], ["a"] * len(X)):
        with pytest.raises(ValueError, match="sample_weight"):
            model.score(X, y, sample_weight=wrong)
    if kind == "Regressor":
        for wrong in (None, y[:3], np.full(len(X), np.nan), ["a"] * len(X)):
            with pytest.raises((TypeError, ValueError), match="y must have a finite number"):
                model.score(X, wrong)
