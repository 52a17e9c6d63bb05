"""Pictures of shape functions: what they draw is what the model contains."""

import sys
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_rgb
from matplotlib.patches import StepPatch
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from sklearn_ensemble_theory import AdditiveBoostingRegressor, L2BoostingRegressor
from sklearn_ensemble_theory.inspection import ShapeFunctionDisplay

from .additive_models import TableClassifier, TableRegressor
from .mixed_data import mixed_rows, mixed_terms

draw = ShapeFunctionDisplay.from_estimator


def errors(values):
    return 0.05 + 0.1 * np.abs(values)


@pytest.fixture(scope="module")
def rows():
    return mixed_rows()


@pytest.fixture(scope="module")
def model(rows):
    return TableRegressor(*mixed_terms(rows), 3.0).fit(rows, errors=errors)


@pytest.fixture(scope="module")
def three_classes(rows):
    y = np.random.default_rng(0).choice(["a", "b", "c"], len(rows))
    terms, categories = mixed_terms(rows, 3)
    return TableClassifier(terms, categories, np.zeros(3)).fit(rows, y, errors=errors)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def stairs(ax, fill):
    """(values, edges, baseline) of the step patches of an axes; grey ones are left out."""
    patches = [p for p in ax.patches if isinstance(p, StepPatch) and p.get_fill() == fill]
    colors = [to_rgb(p.get_facecolor() if fill else p.get_edgecolor()) for p in patches]
    return [p.get_data() for p, color in zip(patches, colors) if color != to_rgb("0.55")]


def density(ax):
    """(shares, edges) of the histogram, and the height of the bar of missing values."""
    grey = [p for p in ax.patches if isinstance(p, StepPatch) and p.get_fill()]
    grey = [p.get_data() for p in grey if to_rgb(p.get_facecolor()) == to_rgb("0.55")]
    return grey[0][0], grey[0][1], [float(more[0][0]) for more in grey[1:]]


def test_steps_bands_and_missing_values(model, rows):
    ax = draw(model, ["age"], X=rows).ax_
    edges, values = model.shape_functions_[0]
    (steps, bounds, _), (missing, apart, _) = stairs(ax, fill=False)
    np.testing.assert_array_equal(steps, values[:-1])
    np.testing.assert_array_equal(bounds[1:-1], edges)
    assert (bounds[0], bounds[-1]) == (rows["age"].min(), rows["age"].max())
    assert missing == [values[-1]]
    assert apart[0] > bounds[-1]
    (upper, _, lower), (upper_missing, _, lower_missing) = stairs(ax, fill=True)
    half = 2 * errors(values)
    np.testing.assert_allclose(np.append(upper, upper_missing), values + half)
    np.testing.assert_allclose(np.append(lower, lower_missing), values - half)
    low, high = ax.get_ylim()
    assert low < (values - half).min()
    assert high > (values + half).max()
    assert ax.get_title() == ax.get_xlabel() == "age"
    assert ax.get_ylabel() == "added to the prediction"
    assert [text.get_text() for text in ax.texts] == ["missing"]


def test_wide_bands_do_not_hide_the_curves():
    X = np.arange(4.0)[:, None]
    terms = [((0,), np.array([0.5, 1.5, 2.5]), np.array([-1.0, 0.0, 0.5, 1.0]))]
    model = TableRegressor(terms).fit(X, errors=lambda v: np.array([0.1, 0.1, 0.2, 50.0]))
    low, high = draw(model).ax_.get_ylim()
    assert high == pytest.approx(2 + 0.06 * 4)  # half the range of the curve above and below it
    assert low + (high - low) * 0.14 == pytest.approx(-2 - 0.06 * 4)  # over the histogram
    model.shape_standard_errors_ = [np.full(4, 0.1)]
    assert draw(model).ax_.get_ylim()[1] == pytest.approx(1.2 + 0.06 * 2.4)  # the whole band


def test_histogram_is_the_distribution_of_the_rows(model, rows):
    shares, cells, (missing,) = density(draw(model, ["age"], X=rows).ax_)
    age = rows["age"].to_numpy()
    known = age[~np.isnan(age)]
    assert missing / shares.sum() == pytest.approx(np.isnan(age).sum() / len(known))
    # The distribution function at the cells, from 32 bins: within one bin of that of the rows.
    below = np.append(0, np.cumsum(shares)) / shares.sum()
    exact = np.searchsorted(np.sort(known), cells, side="right") / len(known)
    assert np.abs(below - exact).max() < 1 / 32
    assert np.abs(below - np.linspace(0, 1, 41)).max() > 0.1  # which is not the uniform one
    assert max(shares.max(), missing) < 0.15


def test_first_and_last_bin_without_rows(model):
    bounds = stairs(draw(model, ["income"]).ax_, fill=False)[0][1]
    widths = np.diff(bounds)
    assert widths[0] == pytest.approx(widths[1])
    assert widths[-1] == pytest.approx(widths[-2])
    np.testing.assert_array_equal(stairs(draw(model, ["sex"]).ax_, False)[0][1], [0, 0.5, 1])
    (axis,) = draw(model, ["income"]).shapes[0].axes
    one_bin = replace(axis, edges=np.array([]), missing=False, limits=None)
    np.testing.assert_array_equal(one_bin.bounds(), [0, 1])


def test_categories_in_the_order_of_their_effects(model):
    ax = draw(model, ["city"]).ax_
    categories, values = model.shape_functions_[1]
    order = np.argsort(values[:-1])
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == "missing or unseen"
    assert names[1:] == [
        c if len(c) < 25 else "a city with a very long…" for c in categories[order]
    ]
    widths = [bar.get_width() for bar in ax.containers[0]]
    np.testing.assert_allclose(widths, values[[6, *order]])
    colors = [to_rgb(bar.get_facecolor()) for bar in ax.containers[0]]
    assert colors == [to_rgb("#D55E00" if v > 0 else "#0072B2") for v in values[[6, *order]]]
    (segments,) = [c.get_segments() for c in ax.collections]
    half = [(s[1, 0] - s[0, 0]) / 2 for s in segments]
    np.testing.assert_allclose(half, 2 * errors(values[[6, *order]]))
    shares = np.array([bar.get_width() for bar in ax.containers[-1]])
    weights = model.bin_weights_[1][[6, *order]]
    np.testing.assert_allclose(shares / shares.sum(), weights / weights.sum())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("added to the prediction", "city")


def test_rare_categories_are_counted(model):
    ax = draw(model, ["city"], max_categories=2).ax_
    names = {label.get_text() for label in ax.get_yticklabels()}
    heaviest = np.argsort(-model.bin_weights_[1][:-1])[:2]
    assert names == {"missing or unseen", *model.categories_[1][heaviest]}
    assert ax.get_ylabel() == "city (4 rare categories not shown)"


def test_a_pair_is_a_map_with_white_at_zero(model):
    display = draw(model, [("income", "age")])  # either order
    ax = display.ax_
    values, weights = model.shape_functions_[4][1], model.bin_weights_[4]
    mesh = next(m for m in ax.collections if isinstance(m, QuadMesh))
    drawn = mesh.get_array().reshape(8, 10)  # the rows are incomes; a gap before missing ages
    assert np.ma.getmaskarray(drawn)[:, 8].all()
    bins = [0, 1, 2, 3, 4, 5, 6, 7, 9]
    np.testing.assert_array_equal(np.ma.getmaskarray(drawn)[:, bins], weights.T == 0)
    np.testing.assert_allclose(drawn[:, bins].filled(0), np.where(weights == 0, 0, values).T)
    assert mesh.norm.vmin == -mesh.norm.vmax == pytest.approx(-np.abs(values).max())
    np.testing.assert_allclose(mesh.cmap(mesh.norm(0.0))[:3], 0.97, atol=0.01)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "income")
    bar = display.figure_.axes[-1]
    assert bar.get_ylabel() == "added to the prediction"


def test_cells_without_rows_are_grey():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    cut = np.array([0.5])
    values = np.array([[1.0, 9.0], [-9.0, -1.0]])
    model = TableRegressor([((0, 1), (cut, cut), values)]).fit(X)
    mesh, blank, *_ = (m.get_array() for m in draw(model).ax_.collections)
    np.testing.assert_array_equal(mesh.mask, [[False, True], [True, False]])
    np.testing.assert_array_equal(blank.mask, ~mesh.mask)


def test_terms_by_index_name_and_pair(model):
    for given in (4, "age & income", (0, 2), (2, 0), ("income", "age"), ["age", 2]):
        assert [s.name for s in draw(model, [given]).shapes] == ["age & income"]
    assert [s.name for s in draw(model, [3, "age"]).shapes] == ["sex", "age"]
    order = np.argsort(-model.term_importances_)
    assert [s.name for s in draw(model).shapes] == [model.term_names_[t] for t in order[:6]]
    assert len(draw(model, max_terms=2).axes_) == 2


def test_terms_that_are_zero_are_left_out():
    X = np.arange(6.0).reshape(3, 2)
    cut = np.array([2.5])
    terms = [((0,), cut, np.zeros(2)), ((1,), cut, np.array([-1.0, 1.0]))]
    model = TableRegressor(terms).fit(X)
    assert [s.name for s in draw(model).shapes] == ["x1"]
    empty = TableRegressor(terms[:1]).fit(X)
    display = draw(empty)
    assert [s.name for s in display.shapes] == ["x0"]  # and not an empty figure
    assert [text.get_text() for text in display.ax_.texts] == ["0 for all values"]


def test_limits_are_shared_unless_told(model):
    terms = ["age", "income", "city", ("age", "income"), ("city", "sex")]
    shared = draw(model, terms)
    assert shared.axes_[0].get_ylim() == shared.axes_[1].get_ylim() == shared.axes_[2].get_xlim()
    norms = [ax.collections[0].norm.vmax for ax in shared.axes_[3:]]
    largest = [np.abs(model.shape_functions_[t][1]).max() for t in (4, 6)]
    assert norms == [max(largest)] * 2
    own = draw(model, terms, share_limits=False)
    assert own.axes_[0].get_ylim() != own.axes_[1].get_ylim()
    assert [ax.collections[0].norm.vmax for ax in own.axes_[3:]] == largest


@pytest.mark.parametrize("target", [None, "b"])
def test_several_classes(three_classes, target):
    display = draw(three_classes, ["age", "city"], target=target)
    values = three_classes.shape_functions_[0][1]
    drawn = [v for v, _, _ in stairs(display.axes_[0], fill=False)][::2]
    expected = values[:-1] if target is None else values[:-1, [1]]
    np.testing.assert_array_equal(np.transpose(drawn), expected)
    unit = "score of each class" if target is None else "score of b"
    assert display.axes_[0].get_ylabel() == f"added to the {unit}"
    legend = [t.get_text() for box in display.figure_.legends for t in box.get_texts()]
    assert legend == (["a", "b", "c"] if target is None else [])


def test_pairs_of_several_classes_have_a_map_for_each(three_classes):
    display = draw(three_classes, ["age & income", "sex"])
    titles = [f"age & income, {c}" for c in "abc"]
    assert [ax.get_title() for ax in display.axes_] == [*titles, "sex"]
    values, weights = three_classes.shape_functions_[4][1], three_classes.bin_weights_[4]
    for c, ax in enumerate(display.axes_[:3]):
        drawn = ax.collections[0].get_array()[:, [0, 1, 2, 3, 4, 5, 6, 7, 9]]
        np.testing.assert_allclose(drawn.filled(0), np.where(weights == 0, 0, values[..., c]).T)
    legend = [t.get_text() for box in display.figure_.legends for t in box.get_texts()]
    assert legend == ["a", "b", "c"]
    (mesh, *_) = draw(three_classes, ["city & sex"], target="c").ax_.collections
    np.testing.assert_allclose(mesh.get_array(), three_classes.shape_functions_[6][1][:6, :, 2].T)
    _, ax = plt.subplots()
    assert draw(three_classes, ["sex"], ax=ax).ax_.get_legend() is not None


def test_two_classes(rows):
    model = TableClassifier(*mixed_terms(rows), 0.1).fit(rows, np.arange(len(rows)) % 2 == 1)
    assert draw(model, ["age"]).ax_.get_ylabel() == "added to the log-odds of True"
    assert draw(model, ["age"], target=True).unit == "log-odds of True"
    with pytest.raises(ValueError, match="log-odds of"):
        draw(model, target=False)


def test_rows_that_are_given_are_marked(model, rows):
    ages = rows["age"].to_numpy()
    (marks,) = draw(model, ["age"], X=rows).ax_.collections
    drawn = [segment[0, 0] for segment in marks.get_segments()]
    np.testing.assert_array_equal(drawn, np.sort(ages[~np.isnan(ages)]))
    assert not draw(model, ["age"]).ax_.collections
    many = type(rows)(np.repeat(rows.to_numpy(), 10, axis=0), columns=rows.columns)
    (marks,) = draw(model, ["age"], X=many).ax_.collections
    assert len(marks.get_segments()) <= 500


def test_maps_have_the_distributions_of_both_features(model):
    ax = draw(model, [("city", "sex")]).ax_
    weights = model.bin_weights_[6]
    patches = [p for p in ax.patches if isinstance(p, StepPatch)]
    cities = patches[0].get_data().values
    np.testing.assert_allclose(cities / cities[0], weights.sum(axis=1)[:6] / weights.sum(axis=1)[0])
    by_side = [p.orientation for p in patches]
    assert by_side == sorted(by_side, reverse=True)
    assert {"vertical", "horizontal"} == set(by_side)


def test_names_that_are_long_or_look_like_formulas():
    X = np.random.default_rng(0).uniform(size=(60, 3)) * [1e6, 1, 1e-5]
    names = ["cost in $ of $\\frac{", "_a name that goes on and on and on, and then on", "<b>&amp;"]
    terms = [
        ((j,), np.array([0.5 * scale]), np.array([-1.0, 1.0]))
        for j, scale in enumerate((1e6, 1, 1e-5))
    ]
    terms.append(((0, 1), (np.array([5e5]), np.array([0.5])), np.ones((2, 2))))
    frame = pytest.importorskip("pandas").DataFrame(X, columns=names)
    display = draw(TableRegressor(terms).fit(frame), X=frame)
    display.figure_.draw_without_rendering()  # no error in a formula, no warning
    assert display.axes_[0].get_xlabel() == r"cost in \$ of \$\frac{ ($\times 10^{5}$)"
    assert all(len(line) < 32 for ax in display.axes_ for line in ax.get_title().split("\n"))
    low, high = display.axes_[0].get_xlim()
    assert all(low <= x <= high for x in display.axes_[0].get_xticks())


def test_axes(model):
    _, axes = plt.subplots(1, 3)
    display = draw(model, [0, 1, 2], ax=axes)
    assert list(display.axes_) == list(axes)
    assert display.ax_ is axes[0]
    figure, ax = plt.subplots()
    divided = draw(model, [0, 1, 2], ax=ax)
    assert divided.figure_ is figure
    assert len(divided.axes_) == 3
    assert not ax.axison
    with pytest.raises(ValueError, match="ax must have 2 elements"):
        draw(model, [0, 1], ax=axes)


@pytest.mark.slow
@pytest.mark.parametrize("n_terms", [1, 4, 10])
def test_grid(n_terms):
    X = np.random.default_rng(0).normal(size=(50, n_terms))
    terms = [((j,), np.array([0.0, 1.0]), np.array([-1.0, 0.5, j])) for j in range(n_terms)]
    display = draw(TableRegressor(terms).fit(X), max_terms=n_terms)
    display.figure_.draw_without_rendering()  # no warning
    assert len(display.axes_) == n_terms
    assert display.axes_[0].get_subplotspec().get_gridspec().ncols == {1: 1, 4: 2}.get(n_terms, 3)


def test_l2_boosting():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 3))
    model = L2BoostingRegressor(100, learning_rate=0.1).fit(X, X[:, 1] + X[:, 0] ** 2)
    display = draw(model, X=X)
    assert [s.name for s in display.shapes][:2] == ["x1", "x0"]
    steps = stairs(display.ax_, fill=False)[0]
    np.testing.assert_array_equal(steps[0], model.shape_functions_[1][1])


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"terms": "age"}, TypeError, "terms must be a list"),
        ({"terms": 3}, TypeError, "terms must be a list"),
        ({"terms": []}, ValueError, "terms must not be empty"),
        ({"terms": ["weight"]}, ValueError, "'weight', which is not the name of a term"),
        ({"terms": [7]}, ValueError, "the model has the terms 0 to 6"),
        ({"terms": [("age", "sex")]}, ValueError, "not a term of the model"),
        ({"terms": [("age", "weight")]}, ValueError, "no index, name or pair"),
        ({"terms": [None]}, ValueError, "no index, name or pair"),
        ({"target": 1}, ValueError, "target is for classifiers"),
        ({"max_terms": 0}, ValueError, "max_terms"),
        ({"n_cols": 0}, ValueError, "n_cols"),
    ],
)
def test_refusals(model, options, error, match):
    with pytest.raises(error, match=match):
        draw(model, **options)


def test_refusals_of_estimators(three_classes):
    with pytest.raises(TypeError, match="additive model"):
        draw(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]))
    with pytest.raises(NotFittedError):
        draw(L2BoostingRegressor())
    with pytest.raises(ValueError, match="one of the classes"):
        draw(three_classes, target="d")


def test_matplotlib_is_needed(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"ShapeFunctionDisplay requires matplotlib.*\[plot\]"):
        draw(model)


def test_labels_beside_a_panel_are_no_longer_than_the_panel():
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    y = rng.poisson(np.exp(X[:, 0]))
    model = AdditiveBoostingRegressor(10, loss="poisson", interactions=0).fit(X, y)
    display = ShapeFunctionDisplay.from_estimator(model, X=X)
    label = display.axes_[0].yaxis.label
    assert label.get_text() == "added to the logarithm of the\nprediction"
    display.figure_.canvas.draw()
    assert label.get_window_extent().height < display.axes_[0].get_window_extent().height * 1.3
    plt.close(display.figure_)
