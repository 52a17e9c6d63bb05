"""Functions of a model inside of another: each against the method on the transformed rows."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PowerTransformer, StandardScaler

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    LogitBoostClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
    VotingRegressor,
    uncertainty,
)
from sklearn_ensemble_theory.uncertainty import (
    confidence_interval,
    predict_distribution,
    predict_interval,
    predict_quantiles,
    predict_set,
    standard_error,
)

from .estimators import estimator_classes


def rows(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(1, 3, (n, 3))
    y = X[:, 0] * X[:, 1] + 0.2 * rng.standard_normal(n)
    return X, y


X, Y = rows()
X_NEW = rows(9, seed=1)[0]
LABELS = (Y > 4).astype(int) + (Y > 5)
FOREST = RandomForestRegressor(40, min_samples_leaf=3, random_state=0)
BOOSTING = GradientBoostingRegressor(n_estimators=8, held_out=3, random_state=0)
FUNCTIONS = {name: getattr(uncertainty, name) for name in uncertainty.__all__}


def scaled(model):
    """The model behind two transformers and a step that does nothing."""
    steps = [("logs", FunctionTransformer(np.log)), ("nothing", "passthrough")]
    return Pipeline([*steps, ("scale", StandardScaler()), ("last", clone(model))])


def values(found):
    """Numbers of a distribution; arrays as they are."""
    return found.cdf(4.0) if hasattr(found, "cdf") else found


CASES = [
    ("standard_error", FOREST, Y, {}),
    ("standard_error", BOOSTING, Y, {"n_pairs": 3}),
    ("confidence_interval", BOOSTING, Y, {"coverage": 0.8, "n_pairs": 3}),
    ("predict_interval", FOREST, Y, {"method": "normalized", "side": "upper"}),
    ("predict_interval", BOOSTING, Y, {"coverage": 0.7, "offset": np.linspace(0, 1, len(X_NEW))}),
    ("predict_interval", AdditiveBoostingRegressor(9, interactions=0, held_out="cv"), Y, None),
    ("predict_interval", VotingRegressor([("a", Ridge())], held_out=3), Y, {}),
    ("predict_quantiles", FOREST, Y, {"quantiles": 0.3}),
    ("predict_quantiles", BOOSTING, Y, {"quantiles": [0.9, 0.2]}),
    ("predict_distribution", FOREST, Y, {}),
    ("predict_distribution", BOOSTING, Y, {"family": "laplace"}),
    ("predict_set", RandomForestClassifier(40, random_state=0), LABELS, {"method": "aps"}),
    (
        "predict_set",
        GradientBoostingClassifier(n_estimators=5, held_out=3),
        LABELS,
        {"coverage": 0.7},
    ),
]


@pytest.mark.parametrize(("name", "model", "y", "options"), CASES)
def test_through_pipelines_and_searches(name, model, y, options):
    if options is None:  # rounds by cross-validation, which keep the folds
        model, options = model.set_params(n_estimators="cv"), {}
    pipeline = scaled(model).fit(X, y)
    direct = getattr(pipeline[-1], name)(pipeline[:-1].transform(X_NEW), **options)
    ask = FUNCTIONS[name]
    np.testing.assert_array_equal(values(ask(pipeline, X_NEW, **options)), values(direct))
    fitted = pipeline[-1]
    of_fitted = getattr(fitted, name)(X_NEW, **options)
    np.testing.assert_array_equal(values(ask(fitted, X_NEW, **options)), values(of_fitted))
    nested = make_pipeline(FrozenEstimator(pipeline))
    np.testing.assert_array_equal(values(ask(nested, X_NEW, **options)), values(direct))


@pytest.mark.parametrize("Search", [GridSearchCV, RandomizedSearchCV])
def test_a_search_asks_its_best_estimator(Search):
    options = {"n_iter": 2, "random_state": 0} if Search is RandomizedSearchCV else {}
    search = Search(scaled(FOREST), {"last__min_samples_leaf": [2, 9]}, cv=2, **options).fit(X, Y)
    best = search.best_estimator_
    direct = best[-1].predict_interval(best[:-1].transform(X_NEW))
    np.testing.assert_array_equal(predict_interval(search, X_NEW), direct)
    # A search that is the last step of a pipeline.
    boosting = clone(BOOSTING)
    outer = make_pipeline(
        StandardScaler(), Search(boosting, {"max_depth": [2, 3]}, cv=2, **options)
    )
    outer.fit(X, Y)
    best, Z = outer[-1].best_estimator_, outer[:-1].transform(X_NEW)
    np.testing.assert_array_equal(standard_error(outer, X_NEW), best.standard_error(Z))
    without = Search(FOREST, {"max_depth": [2, 3]}, cv=2, refit=False, **options).fit(X, Y)
    with pytest.raises(TypeError, match="SearchCV does not with refit=False"):
        predict_interval(without, X_NEW)


# --- transformed targets --------------------------------------------------------------------------

INCREASING = {"func": np.log, "inverse_func": np.exp}
DECREASING = {"func": np.reciprocal, "inverse_func": np.reciprocal}


@pytest.mark.parametrize("model", [FOREST, BOOSTING], ids=["forest", "boosting"])
@pytest.mark.parametrize("side", ["both", "lower", "upper"])
def test_ends_through_an_increasing_inverse(model, side):
    whole = TransformedTargetRegressor(scaled(model), **INCREASING).fit(X, Y)
    inside = whole.regressor_
    Z = inside[:-1].transform(X_NEW)
    ends = inside[-1].predict_interval(Z, coverage=0.8, side=side)
    expected = np.where(np.isinf(ends), ends, np.exp(ends))
    found = predict_interval(whole, X_NEW, coverage=0.8, side=side)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    levels = [0.7, 0.1]
    np.testing.assert_allclose(
        predict_quantiles(whole, X_NEW, levels),
        np.exp(inside[-1].predict_quantiles(Z, levels)),
        rtol=1e-14,
    )


@pytest.mark.parametrize("side", ["both", "lower", "upper"])
def test_ends_through_a_decreasing_inverse_are_swapped(side):
    whole = TransformedTargetRegressor(FOREST, **DECREASING).fit(X, Y)
    other = {"lower": "upper", "upper": "lower"}.get(side, side)
    ends = whole.regressor_.predict_interval(X_NEW, coverage=0.8, side=other)[:, ::-1]
    expected = np.where(np.isinf(ends), -ends, 1 / ends)
    found = predict_interval(whole, X_NEW, coverage=0.8, side=side)
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert (found[:, 0] < found[:, 1]).all()
    # One row alone has one end, which has no direction by itself.
    one = predict_interval(whole, X_NEW[:1], coverage=0.8, side=side)
    np.testing.assert_allclose(one, expected[:1], rtol=1e-14)


def test_quantiles_through_a_decreasing_inverse_are_those_of_the_other_levels():
    whole = TransformedTargetRegressor(FOREST, **DECREASING).fit(X, Y)
    inside = whole.regressor_
    expected = 1 / inside.predict_quantiles(X_NEW, [0.9, 0.5, 0.2])
    np.testing.assert_allclose(predict_quantiles(whole, X_NEW, [0.1, 0.5, 0.8]), expected)
    assert (np.diff(predict_quantiles(whole, X_NEW, [0.1, 0.5, 0.8])) >= 0).all()
    single = predict_quantiles(whole, X_NEW[:1], 0.25)
    np.testing.assert_allclose(single, 1 / inside.predict_quantiles(X_NEW[:1], 0.75))


@pytest.mark.parametrize("sign", [1, -1], ids=["increasing", "decreasing"])
def test_intervals_of_transformed_targets_cover(sign):
    """Without a second route: new targets of skewed noise, in their own units."""
    levels = np.array([0.2, 0.8])
    covered, below = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0, 1, (600, 2))
        y = np.exp(X[:, 0] + 0.4 * rng.standard_normal(600))
        log = {"func": lambda y: sign * np.log(y), "inverse_func": lambda z: np.exp(sign * z)}
        model = TransformedTargetRegressor(FOREST, **log).fit(X[:300], y[:300])
        new, y_new = X[300:], y[300:]
        low, high = predict_interval(model, new, coverage=0.8).T
        covered.append((low <= y_new) & (y_new <= high))
        below.append(y_new[:, None] <= predict_quantiles(model, new, levels))
    assert abs(np.mean(covered) - 0.8) < 0.06
    assert (np.abs(np.mean(below, axis=(0, 1)) - levels) < 0.06).all()


def test_confidence_intervals_and_nested_transformations():
    inner = TransformedTargetRegressor(BOOSTING, **INCREASING)
    outer = TransformedTargetRegressor(make_pipeline(StandardScaler(), inner), **DECREASING)
    outer.fit(X, Y)
    Z = outer.regressor_[0].transform(X_NEW)
    model = outer.regressor_[1].regressor_
    ends = model.confidence_interval(Z, n_pairs=3)
    expected = 1 / np.exp(ends)[:, ::-1]
    found = confidence_interval(outer, X_NEW, n_pairs=3)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_infinite_ends_and_ends_outside_of_the_domain():
    # A scaler of scikit-learn's refuses infinite values.
    whole = TransformedTargetRegressor(FOREST, transformer=StandardScaler()).fit(X, Y)
    scaler = whole.transformer_
    ends = whole.regressor_.predict_interval(X_NEW, side="upper")
    found = predict_interval(whole, X_NEW, side="upper")
    assert (found[:, 0] == -np.inf).all()
    np.testing.assert_allclose(found[:, 1], ends[:, 1] * scaler.scale_[0] + scaler.mean_[0])
    # The Box-Cox transform of a positive number is above -1/lambda; some lower ends are not.
    box_cox = PowerTransformer(method="box-cox", standardize=False)
    y = np.random.default_rng(0).uniform(0.01, 1, len(Y))
    whole = TransformedTargetRegressor(FOREST, transformer=box_cox).fit(X, y)
    power = whole.transformer_.lambdas_[0]
    ends = whole.regressor_.predict_interval(X_NEW, coverage=0.98)
    assert power > 0
    assert (1 + power * ends[:, 0] < 0).any()
    found = predict_interval(whole, X_NEW, coverage=0.98)
    base = 1 + power * ends
    expected = np.where(base < 0, -np.inf, np.abs(base) ** (1 / power))
    np.testing.assert_allclose(found, expected)


def test_an_inverse_that_is_not_monotone_is_refused():
    folded = {"func": np.sqrt, "inverse_func": np.abs, "check_inverse": False}
    whole = TransformedTargetRegressor(FOREST, **folded).fit(X, Y)
    whole.regressor_ = RandomForestRegressor(40, random_state=0).fit(X, Y - 4)
    for ask in (predict_interval, predict_quantiles):
        with pytest.raises(ValueError, match=r"monotone inverse.*FunctionTransformer"):
            ask(whole, X_NEW)


def test_what_a_transformed_target_does_not_have():
    whole = TransformedTargetRegressor(FOREST, **INCREASING).fit(X, Y)
    with pytest.raises(TypeError, match="Use confidence_interval or predict_interval"):
        standard_error(whole, X_NEW)
    with pytest.raises(TypeError, match="Use predict_quantiles"):
        predict_distribution(make_pipeline(StandardScaler(), whole).fit(X, Y), X_NEW)
    direct = whole.regressor_.standard_error(X_NEW)
    np.testing.assert_array_equal(standard_error(whole.regressor_, X_NEW), direct)


def test_columns_of_a_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    columns = ColumnTransformer([("keep", "passthrough", ["b", "a"])])
    model = make_pipeline(columns, clone(FOREST)).fit(frame, Y)
    new = pd.DataFrame(X_NEW, columns=["a", "b", "c"])
    direct = model[-1].predict_interval(X_NEW[:, [1, 0]])
    np.testing.assert_array_equal(predict_interval(model, new), direct)


# --- errors ---------------------------------------------------------------------------------------


def has_star(text):
    """Names of classes that a list with stars stands for: both kinds, or one."""
    kinds = ("Classifier", "Regressor")
    kinds = tuple(kind for kind in kinds if f"({kind.lower()}s)" in text) or kinds
    names = re.sub(r" \(\w+\)", "", text).split(", ")
    return {each.replace("*", kind) for each in names for kind in kinds}


@pytest.mark.parametrize("name", uncertainty.ESTIMATORS)
def test_the_message_names_the_classes_that_have_the_method(name):
    having = {cls.__name__ for cls in estimator_classes() if hasattr(cls, name)}
    assert has_star(uncertainty.ESTIMATORS[name]) == having
    other = LogisticRegression() if name == "predict_set" else Ridge()
    model = make_pipeline(StandardScaler(), other).fit(X, LABELS)
    kind = type(other).__name__
    with pytest.raises(TypeError, match=rf"method {name}; {kind} does not. These.*Boosting"):
        FUNCTIONS[name](model, X_NEW)


def test_all_functions_are_methods_and_all_methods_functions():
    assert sorted(uncertainty.ESTIMATORS) == sorted(uncertainty.__all__)


@pytest.mark.parametrize("ask", FUNCTIONS.values(), ids=FUNCTIONS)
def test_models_without_an_estimator_inside(ask):
    for last in ("passthrough", None):
        with pytest.raises(TypeError, match=f"last step of a pipeline, which is {last!r}"):
            ask(Pipeline([("scale", StandardScaler().fit(X)), ("last", last)]), X_NEW)
    with pytest.raises(TypeError, match="last step of a pipeline, which is None"):
        ask(Pipeline([]), X_NEW)
    with pytest.raises(TypeError, match="estimator instance"):
        ask("forest", X_NEW)
    with pytest.raises(TypeError, match="is a class, not an instance"):
        ask(RandomForestRegressor, X_NEW)


@pytest.mark.parametrize(
    "model",
    [
        FOREST,
        scaled(FOREST),
        GridSearchCV(FOREST, {"max_depth": [2]}),
        TransformedTargetRegressor(FOREST),
        make_pipeline(StandardScaler(), TransformedTargetRegressor(FOREST)),
    ],
    ids=["forest", "pipeline", "search", "target", "nested"],
)
def test_unfitted_models(model):
    for ask in (predict_interval, standard_error, predict_quantiles, predict_distribution):
        with pytest.raises(NotFittedError):
            ask(model, X_NEW)


def test_a_class_that_has_the_method_only_with_an_option():
    model = make_pipeline(StandardScaler(), GradientBoostingRegressor(n_estimators=3)).fit(X, Y)
    with pytest.raises(TypeError, match=r"GradientBoostingRegressor does not: .*set held_out"):
        predict_interval(model, X_NEW)
    stack = StackingRegressor([("a", Ridge())], cv=3).fit(X, Y)
    with pytest.raises(TypeError, match="StackingRegressor does not"):
        predict_interval(stack, X_NEW)
    boost = LogitBoostClassifier(5, interactions=0).fit(X, LABELS > 0)
    with pytest.raises(TypeError, match="LogitBoostClassifier does not"):
        predict_set(boost, X_NEW)


def test_options_that_the_method_does_not_have():
    model = make_pipeline(StandardScaler(), clone(FOREST)).fit(X, Y)
    with pytest.raises(TypeError, match="offset"):
        predict_interval(model, X_NEW, offset=np.zeros(len(X_NEW)))


@pytest.mark.parametrize(
    "Boosting", [HistGradientBoostingRegressor, HistGradientBoostingClassifier]
)
def test_histogram_boosting_shows_no_method_that_it_does_not_have(Boosting):
    model = Boosting(max_iter=2).fit(X, LABELS)
    shown = [name for name in uncertainty.ESTIMATORS if name in dir(model) or hasattr(model, name)]
    assert shown == []
