"""Bands along a feature are the methods of the estimator at rows that a user would write."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from scipy.sparse import csr_matrix
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ensemble_theory import (
    BaggingRegressor,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.inspection import PredictionBandDisplay

QUARTERS = {"max_samples": 0.25, "bootstrap": False, "random_state": 0}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def mixed_frame(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "kind": pd.Categorical(rng.choice(["one", "two", "two", "three"], n)),
            "dose": rng.normal(size=n),
        }
    )
    return X, X.age / 20 + (X.kind == "two") + X.dose + rng.normal(size=n)


def test_intervals_have_parameters_of_their_own():
    X, y = mixed_frame()
    forest = RandomForestRegressor(30, categorical_features="from_dtype", **QUARTERS).fit(X, y)
    given = {"method": "normalized", "side": "upper"}
    display = PredictionBandDisplay.from_estimator(
        forest, X, ["dose"], methods="interval", coverage=0.8, interval_params=given
    )
    rows = X.iloc[[0] * 100].assign(
        age=np.median(X.age), kind=X.kind.mode()[0], dose=display.panels[0].values
    )
    rows["kind"] = rows["kind"].astype(X.kind.dtype)
    expected = forest.predict_interval(rows, 0.8, **given)
    np.testing.assert_allclose(display.panels[0].bands["interval"], expected)
    # The end that there is, of numbers and of categories.
    display = PredictionBandDisplay.from_estimator(
        forest, X, ["dose", "kind"], methods="interval", interval_params={"side": "lower"}
    )
    for axis, panel in zip(display.axes_, display.panels):
        line = axis.get_lines()[0]
        np.testing.assert_array_equal(line.get_ydata(), panel.bands["interval"][:, 0])
        assert line.get_label() == "end of the 90 % prediction interval"
    with pytest.raises(ValueError, match="interval_params must not have 'coverage'"):
        PredictionBandDisplay.from_estimator(forest, X, interval_params={"coverage": 0.5})


def test_bands_are_the_methods_at_the_reference_row():
    X, y = mixed_frame()
    forest = RandomForestRegressor(
        60, categorical_features="from_dtype", min_samples_leaf=5, **QUARTERS
    ).fit(X, y)
    display = PredictionBandDisplay.from_estimator(
        forest, X, ["dose", "kind"], coverage=0.8, grid_resolution=9, y=y
    )
    assert display.reference == {"age": np.median(X.age), "kind": "two", "dose": np.median(X.dose)}
    dose, kind = display.panels
    np.testing.assert_allclose(dose.values, np.linspace(*np.quantile(X.dose, [0.01, 0.99]), 9))
    rows = pd.DataFrame(
        {
            "age": np.full(9, np.median(X.age)),
            "kind": pd.Categorical(["two"] * 9, categories=X.kind.cat.categories),
            "dose": dose.values,
        }
    )
    np.testing.assert_allclose(dose.prediction, forest.predict(rows))
    np.testing.assert_allclose(dose.bands["interval"], forest.predict_interval(rows, 0.8))
    half = stats.norm.ppf(0.9) * forest.standard_error(rows)
    expected = forest.predict(rows)[:, None] + np.outer(half, [-1, 1])
    np.testing.assert_allclose(dose.bands["standard_error"], expected)
    assert kind.values.tolist() == ["one", "three", "two"]
    rows = rows.iloc[:3].assign(
        dose=np.median(X.dose),
        kind=pd.Categorical(["one", "three", "two"], categories=X.kind.cat.categories),
    )
    np.testing.assert_allclose(kind.prediction, forest.predict(rows))
    # What is drawn: the ends of the band, a bar for each category, the points.
    fill = display.axes_[0].collections[1].get_paths()[0].vertices
    assert fill[:, 1].min() == pytest.approx(dose.bands["interval"][:, 0].min())
    bars = display.axes_[1].patches[:3]
    assert [bar.get_y() for bar in bars] == pytest.approx(kind.bands["interval"][:, 0])
    np.testing.assert_allclose(
        display.axes_[0].collections[0].get_offsets(), np.column_stack([X.dose, y])
    )


def test_given_values_of_the_reference_row():
    X, y = mixed_frame()
    forest = RandomForestRegressor(30, categorical_features="from_dtype", **QUARTERS).fit(X, y)
    found = PredictionBandDisplay.from_estimator(
        forest, X, "dose", methods="interval", at={"kind": "one", 0: 33}, grid_resolution=3
    )
    assert (found.reference["kind"], found.reference["age"]) == ("one", 33.0)
    kind = pd.Categorical(["one"] * 3, categories=X.kind.cat.categories)
    rows = pd.DataFrame({"age": 33.0, "kind": kind, "dose": found.panels[0].values})
    np.testing.assert_allclose(found.panels[0].prediction, forest.predict(rows))
    assert list(found.panels[0].bands) == ["interval"]
    with pytest.raises(ValueError, match="at has 'four' for kind, which is not in X"):
        PredictionBandDisplay.from_estimator(forest, X, "dose", at={"kind": "four"})


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_arrays_of_one_and_several_features(dtype):
    rng = np.random.default_rng(0)
    X = (10 * rng.normal(size=(120, 2))).astype(dtype)
    y = X[:, 0] + rng.normal(size=120)
    bag = BaggingRegressor(n_estimators=30, **QUARTERS).fit(X, y)
    display = PredictionBandDisplay.from_estimator(bag, X, grid_resolution=200)
    assert [panel.name for panel in display.panels] == ["x0", "x1"]
    np.testing.assert_array_equal(display.panels[0].values, np.unique(X[:, 0]))
    rows = np.column_stack(
        [np.unique(X[:, 0]), np.full(len(np.unique(X[:, 0])), np.median(X[:, 1]))]
    )
    np.testing.assert_allclose(display.panels[0].prediction, bag.predict(rows))
    assert display.axes_.shape == (2,)
    _, axes = plt.subplots(1, 2)
    assert display.plot(axes).axes_[1] is axes[1]
    one = BaggingRegressor(n_estimators=30, **QUARTERS).fit(X[:, :1], y)
    found = PredictionBandDisplay.from_estimator(one, X[:, :1], y=y)
    assert found.ax_ is found.axes_[0]


def test_data_frames_of_polars():
    X, y = mixed_frame()
    X = X.drop(columns="kind")
    forest = RandomForestRegressor(20, **QUARTERS).fit(pl.DataFrame(X.to_dict("list")), y)
    same = RandomForestRegressor(20, **QUARTERS).fit(X, y)
    one = PredictionBandDisplay.from_estimator(forest, pl.DataFrame(X.to_dict("list")), "dose")
    two = PredictionBandDisplay.from_estimator(same, X, "dose")
    np.testing.assert_array_equal(one.panels[0].prediction, two.panels[0].prediction)


def test_missing_values_take_no_part_in_medians_and_ends():
    X, y = mixed_frame()
    X.loc[:20, "dose"] = np.nan
    forest = RandomForestRegressor(20, categorical_features="from_dtype", **QUARTERS).fit(X, y)
    display = PredictionBandDisplay.from_estimator(forest, X, "dose", methods="interval")
    assert display.reference["dose"] == np.median(X.dose.dropna())
    assert np.isfinite(display.panels[0].values).all()


def test_infinite_intervals_are_left_out():
    X = np.arange(12.0)[:, None]
    forest = RandomForestRegressor(30, random_state=0).fit(X, np.arange(12.0) % 5)
    with pytest.warns(UserWarning, match="needs at least 99 held-out rows, and there are 12"):
        display = PredictionBandDisplay.from_estimator(
            forest, X, methods=["interval"], coverage=0.99
        )
    assert np.isinf(display.panels[0].bands["interval"]).all()
    assert np.isfinite(display.ax_.get_ylim()).all()


class WithItsOwnBand(LinearRegression):
    def confidence_interval(self, X, coverage):
        return self.predict(X)[:, None] + np.array([-coverage, coverage])


def test_a_pipeline_and_a_transformed_target():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (80, 2))
    y = np.exp(X[:, 0] + 0.1 * rng.standard_normal(80))
    forest = RandomForestRegressor(60, min_samples_leaf=5, random_state=0)
    pipeline = make_pipeline(StandardScaler(), forest).fit(X, y)
    panel = PredictionBandDisplay.from_estimator(pipeline, X, [0], methods=["interval"]).panels[0]
    rows = np.column_stack([panel.values, np.full(len(panel.values), np.median(X[:, 1]))])
    expected = pipeline[-1].predict_interval(pipeline[0].transform(rows))
    np.testing.assert_array_equal(panel.bands["interval"], expected)
    logs = TransformedTargetRegressor(forest, func=np.log, inverse_func=np.exp).fit(X, y)
    panel = PredictionBandDisplay.from_estimator(logs, X, [0]).panels[0]
    assert list(panel.bands) == ["interval"]  # a standard error has no other scale
    expected = np.exp(logs.regressor_.predict_interval(rows))
    np.testing.assert_allclose(panel.bands["interval"], expected)
    with pytest.raises(TypeError, match="must have the method standard_error"):
        PredictionBandDisplay.from_estimator(logs, X, [0], methods=["standard_error"])


def test_confidence_interval_of_the_estimator():
    X, y = np.arange(10.0)[:, None], np.arange(10.0)
    display = PredictionBandDisplay.from_estimator(WithItsOwnBand().fit(X, y), X, coverage=0.7)
    band = display.panels[0].bands["standard_error"]
    np.testing.assert_allclose(band - display.panels[0].prediction[:, None], [[-0.7, 0.7]] * 10)


def test_the_offset_of_the_reference_row():
    rng = np.random.default_rng(0)
    X, exposure = rng.random((120, 2)), rng.uniform(0.5, 2.0, 120)
    counts = rng.poisson(exposure * np.exp(1 + X[:, 0])).astype(float)
    model = GradientBoostingRegressor(
        loss="poisson", n_estimators=5, held_out=10, random_state=0
    ).fit(X, counts, offset=np.log(exposure))
    options = {"features": 0, "grid_resolution": 7, "methods": ["interval"]}
    display = PredictionBandDisplay.from_estimator(model, X, offset=np.log(2), **options)
    (panel,) = display.panels
    rows = np.column_stack([panel.values, np.full(7, np.median(X[:, 1]))])
    twice = np.full(7, np.log(2))
    np.testing.assert_allclose(panel.prediction, 2 * model.predict(rows, offset=0))
    np.testing.assert_allclose(panel.bands["interval"], model.predict_interval(rows, offset=twice))
    plain = PredictionBandDisplay.from_estimator(model, X, offset=0, **options).panels[0]
    np.testing.assert_allclose(plain.prediction, model.predict(rows, offset=0))
    with pytest.raises(ValueError, match="offset must be a number or None"):
        PredictionBandDisplay.from_estimator(model, X, offset=twice, **options)
    forest = RandomForestRegressor(10, **QUARTERS).fit(X, counts)
    with pytest.raises(TypeError, match="predict of RandomForestRegressor takes no offset"):
        PredictionBandDisplay.from_estimator(forest, X, offset=0.5)


def test_intervals_of_an_additive_model():
    X, y = mixed_frame()
    model = L2BoostingRegressor(CVRounds(max_estimators=50), learning_rate=0.1, held_out="cv")
    model.fit(X, y)
    display = PredictionBandDisplay.from_estimator(model, X, "dose", grid_resolution=9)
    assert list(display.panels[0].bands) == ["interval"]
    low, high = display.panels[0].bands["interval"].T
    assert ((low < display.panels[0].prediction) & (display.panels[0].prediction < high)).all()


def test_bad_input():
    X, y = mixed_frame()
    numbers = X[["age", "dose"]]
    forest = RandomForestRegressor(10, **QUARTERS).fit(numbers, y)
    draw = PredictionBandDisplay.from_estimator
    with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
        draw(forest, numbers, coverage=90)
    with pytest.raises(ValueError, match="grid_resolution must be an int of at least 2"):
        draw(forest, numbers, grid_resolution=1)
    with pytest.raises(ValueError, match=r"methods must be of .* got 'quantiles'"):
        draw(forest, numbers, methods=["quantiles"])
    with pytest.raises(ValueError, match="features has the name 'weight'"):
        draw(forest, numbers, "weight")
    with pytest.raises(ValueError, match="features has 2, which is no feature of the 2"):
        draw(forest, numbers, [2])
    wide = np.zeros((99, 7)) + np.arange(99.0)[:, None]
    of_seven = RandomForestRegressor(5, **QUARTERS).fit(wide, np.arange(99.0))
    with pytest.raises(ValueError, match="features must be given: X has 7"):
        draw(of_seven, wide)
    with pytest.raises(ValueError, match="y must have a number for each of the 150 rows"):
        draw(forest, numbers, y=y[:10])
    with pytest.raises(TypeError, match="X must be dense"):
        draw(forest, csr_matrix(numbers))
    with pytest.raises(TypeError, match="RandomForestClassifier is a classifier"):
        draw(RandomForestClassifier(5, random_state=0).fit(numbers, y > 0), numbers)
    linear = LinearRegression().fit(numbers, y)
    with pytest.raises(TypeError, match="predict_interval or standard_error; LinearRegression"):
        draw(linear, numbers)
    with pytest.raises(TypeError, match=r"'interval', for which .* predict_interval; LinearReg"):
        draw(linear, numbers, methods=["interval"])
