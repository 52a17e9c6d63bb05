"""Parameters that are objects, and what fitted ensembles return: copies, pickles, searches."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import BaggingClassifier, BaggingRegressor, RandomForestRegressor
from sklearn_ensemble_theory.averaging import (
    Bernoulli,
    MovingBlock,
    PACMembers,
    SeriesIntervals,
    StableSamples,
)

TREE = DecisionTreeRegressor(max_depth=2, random_state=0)
# The parameter, an object for it, and other values of its options.
OBJECTS = [
    ("n_estimators", PACMembers(0.9), {"delta": [0.5, 0.9]}),
    ("max_samples", StableSamples(0.5, 0.2), {"stability": [0.3, 0.5], "delta": [0.1, 0.2]}),
    ("bootstrap", MovingBlock(5), {"length": [None, 2, 5]}),
    ("bootstrap", Bernoulli("zero"), {"empty": ["redraw", "mean", "zero"]}),
]
IDS = [type(given).__name__ for _, given, _ in OBJECTS]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    return X, X[:, 0] + 0.3 * rng.standard_normal(60)


@pytest.mark.parametrize(("name", "given", "grid"), OBJECTS, ids=IDS)
def test_copies_have_the_options(name, given, grid):
    for copy in (clone(given), pickle.loads(pickle.dumps(given))):
        assert copy is not given
        assert copy.get_params() == given.get_params()
        assert repr(copy) == repr(given)
    model = BaggingRegressor(TREE, **{name: given})
    twin = clone(model)
    for option, values in grid.items():
        assert model.get_params()[f"{name}__{option}"] == getattr(given, option)
        twin.set_params(**{f"{name}__{option}": values[0]})
        assert getattr(getattr(twin, name), option) == values[0]
        assert getattr(given, option) != values[0]  # a clone shares nothing with the model
    with pytest.raises(ValueError, match="Invalid parameter"):
        given.set_params(options=1)


@pytest.mark.parametrize(("name", "given", "grid"), OBJECTS, ids=IDS)
def test_models_with_them_are_copied_and_searched(rows, name, given, grid):
    X, y = rows
    settings = {"n_estimators": 8, "max_samples": 0.5, "random_state": 0, name: given}
    model = BaggingRegressor(TREE, **settings).fit(X, y)
    expected = model.predict(X)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    before = given.get_params()
    nested = {f"{name}__{option}": values for option, values in grid.items()}
    search = GridSearchCV(BaggingRegressor(TREE, **settings), nested, cv=2).fit(X, y)
    assert given.get_params() == before  # a search leaves its estimator as it is
    assert len(search.cv_results_["params"]) == np.prod([len(v) for v in grid.values()])
    best = clone(model).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))


def test_options_change_the_fit(rows):
    X, y = rows
    model = BaggingClassifier(n_estimators=PACMembers(0.9), random_state=0)
    sizes = [len(model.set_params(n_estimators__delta=d).fit(X, y > 0)) for d in (0.9, 0.5)]
    assert sizes == [PACMembers(d)(60, 3) for d in (0.9, 0.5)]
    assert sizes[0] < sizes[1]
    model = BaggingRegressor(TREE, 2, max_samples=StableSamples(0.5), random_state=0)
    drawn = [
        len(model.set_params(max_samples__stability=s).fit(X, y).estimators_samples_[0])
        for s in (0.5, 0.3)
    ]
    assert drawn == [StableSamples(s)(60, 3) for s in (0.5, 0.3)]


@pytest.mark.parametrize(("name", "given", "grid"), OBJECTS, ids=IDS)
def test_a_class_instead_of_an_instance_is_refused(rows, name, given, grid):
    X, y = rows
    with pytest.raises((TypeError, ValueError), match=name):
        BaggingRegressor(TREE).set_params(**{name: type(given)}).fit(X, y)


@pytest.mark.parametrize("cls", [PACMembers, StableSamples])
@pytest.mark.parametrize("name", ["n_estimators", "max_samples"])
def test_the_message_about_a_class_says_what_to_pass(rows, cls, name):
    X, y = rows
    with pytest.raises(TypeError, match=rf"{name}: {cls.__name__} is a class; pass an instance"):
        BaggingRegressor(TREE).set_params(**{name: cls}).fit(X, y)


@pytest.mark.parametrize(
    ("name", "given", "own"),
    [
        ("n_estimators", StableSamples(0.5), "max_samples"),
        ("max_samples", PACMembers(0.9), "n_estimators"),
    ],
)
def test_a_number_of_something_else_is_refused(rows, name, given, own):
    X, y = rows
    with pytest.raises(ValueError, match=f"{name} must not be .* which is a value of {own}"):
        BaggingRegressor(TREE).set_params(**{name: given}).fit(X, y)


@pytest.mark.parametrize("empty", ["mean", "zero"])
def test_quantiles_need_members_that_have_rows(rows, empty):
    X, y = rows
    bag = BaggingRegressor(TREE, 50, max_samples=0.02, random_state=0)
    bag.set_params(bootstrap=Bernoulli(empty)).fit(X, y)
    with pytest.raises(ValueError, match=r"bootstrap: .*use Bernoulli\('redraw'\)"):
        bag.predict_quantiles(X)
    bag.set_params(bootstrap__empty="redraw").fit(X, y).predict_quantiles(X)


def test_intervals_of_series_and_distributions_are_pickled(rows):
    X, y = rows
    forest = RandomForestRegressor(10, min_samples_leaf=5, random_state=0).fit(X, y)
    series = SeriesIntervals(forest).update(X[:5], y[:5])
    again = pickle.loads(pickle.dumps(series))
    np.testing.assert_array_equal(again.residuals_, series.residuals_)
    np.testing.assert_array_equal(again.predict_interval(X), series.predict_interval(X))
    np.testing.assert_array_equal(
        again.update(X[5:9], y[5:9]).residuals_, series.update(X[5:9], y[5:9]).residuals_
    )
    at = forest.predict_distribution(X[:7])
    known = pickle.loads(pickle.dumps(at))
    assert len(known) == 7
    np.testing.assert_array_equal(known.cdf([0.0, 1.0]), at.cdf([0.0, 1.0]))
    np.testing.assert_array_equal(known.ppf([0.1, 0.9]), at.ppf([0.1, 0.9]))
    np.testing.assert_array_equal(known.expect(np.square), at.expect(np.square))
