"""The terms of an additive model as pictures: a panel for each term.

A numeric feature is drawn as steps, a categorical one as bars, a pair of features as a map.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_ensemble_theory._typing import AdditiveEstimator, ArrayLike

from ._additive_terms import (
    MISSING,
    TermAxis,
    TermShape,
    check_additive,
    chosen_terms,
    number_of_class,
    scores_of_classes,
    shapes_of_terms,
    unit_of_terms,
)
from ._plotting import (
    AXES,
    COLORS,
    DIVERGING,
    GREY,
    NEGATIVE,
    POSITIVE,
    as_axes,
    checked_axes,
    documented,
    few_ticks,
    label_of_scale,
    pyplot,
    rows_of_panels,
    shortened,
    wrapped,
)

STRIP = 0.14  # share of the height, or width, of a panel for the density of the data
N_CELLS = 40  # of the histogram in the strip
TITLE = 28  # characters of a line of a title
SIDE = 36  # and of a line beside a panel
FEW_LABELS = 12  # categories on an axis of a map that all get a label


TEXTS = {
    **AXES,
    "n_standard_errors": """
        n_standard_errors : float, default=2.0
            Half the width of the bands, in standard errors.
        """,
    "max_categories": """
        max_categories : int, default=15
            Largest number of categories in a panel: those of the largest weights.
        """,
    "ax": """
        ax : matplotlib.axes.Axes or array of them, default=None
            One axes for each term, or a single one whose area is divided; a new figure by default.
        """,
}


@documented(TEXTS)
@dataclass(eq=False, repr=False)
class ShapeFunctionDisplay:
    """Shape functions of an additive model, one panel per term.

    A numeric feature is a step curve. A categorical feature has a bar for each category, in the
    order of their effects. A pair of features is a map of colours in which 0 is white. A panel
    shows what the term adds to the prediction (regressors), to the log-odds of the second class
    (two classes) or to the score of a class (several classes). Bands and error bars are the value
    plus and minus two standard errors, where the model has them: pointwise, for new training rows,
    as the line below the panels says. The grey histogram on one side of a panel (two sides of a
    map) is the distribution of the training rows, which the model keeps. If you give rows, they are
    marked below it. Missing values have a place of their own, shaded in grey. Grey cells of a map
    contain no training rows: the value there is extrapolated.

    %(use_from_estimator)s

    Parameters
    ----------
    shapes : list of TermShape
        The terms: names, bins, values, weights and standard errors.
    unit : str, default="prediction"
        What the terms add to, for the labels.
    labels : sequence of str, default=("",)
        The label of each curve, if a panel has several, one for each class.

    %(drawn_panels)s

    See Also
    --------
    ImportanceDisplay : The sizes of all terms.
    LocalExplanationDisplay : The terms of one row.
    L2BoostingRegressor : An additive model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor
    >>> from sklearn_ensemble_theory.inspection import ShapeFunctionDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = L2BoostingRegressor(500).fit(X, y)
    >>> display = ShapeFunctionDisplay.from_estimator(model, ["bmi", "s5"], X=X)
    >>> [ax.get_title() for ax in display.axes_]
    ['bmi', 's5']
    """

    shapes: Sequence[TermShape]
    unit: str = "prediction"
    labels: Sequence[str] = ("",)

    @classmethod
    def from_estimator(
        cls,
        estimator: AdditiveEstimator,
        terms: Sequence[Any] | None = None,
        *,
        X: ArrayLike | None = None,
        target: Any = None,
        max_terms: int = 6,
        n_cols: int = 3,
        share_limits: bool = True,
        n_standard_errors: float = 2.0,
        max_categories: int = 15,
        ax: Any = None,
    ) -> "ShapeFunctionDisplay":
        """Draw terms of a fitted additive model.

        Parameters
        ----------
        estimator : estimator
            A fitted additive model, such as :class:`L2BoostingRegressor`.
        terms : list of int, str or pair, default=None
            Terms by index, by name ("bmi" or "age & bmi"), or pairs of features by index or name.
            By default the `max_terms` terms of the largest importance.
        X : array-like of shape (n_samples, n_features), default=None
            Rows that determine where the curves begin and end, and are marked at the horizontal
            axis (500 of them at most). The model keeps only its thresholds; without X the first and
            the last bin are drawn as wide as their neighbours.
        target : label, default=None
            The class whose score is drawn, for a model of three or more classes. By default a panel
            has one curve for each class, and a pair one map for each class.
        max_terms : int, default=6
            Number of terms if `terms` is None. Terms that are zero are left out.
        %(n_cols)s
        share_limits : bool, default=True
            Whether all panels have the same limits, and all maps the same colours, to compare the
            sizes of terms.
        %(n_standard_errors)s
        %(max_categories)s
        %(ax)s

        %(returns_display)s

        Raises
        ------
        TypeError
            If the estimator is not an additive model.
        ValueError
            If a term or the target is not in the model.
        """
        check_additive(estimator)
        if not hasattr(estimator, "shape_functions_"):
            raise TypeError(
                f"{type(estimator).__name__} does not have shape_functions_; plot its "
                "predict_terms along each feature."
            )
        k = number_of_class(estimator, target)
        scores = scores_of_classes(estimator)
        several = len(scores) > 1 and k is None
        shapes = shapes_of_terms(estimator, chosen_terms(estimator, terms, max_terms), k, X)
        labels = scores if several else [""]
        return cls(shapes, unit_of_terms(estimator, k), labels).plot(
            ax,
            n_cols=n_cols,
            share_limits=share_limits,
            n_standard_errors=n_standard_errors,
            max_categories=max_categories,
        )

    def plot(
        self,
        ax: Any = None,
        *,
        n_cols: int = 3,
        share_limits: bool = True,
        n_standard_errors: float = 2.0,
        max_categories: int = 15,
    ) -> "ShapeFunctionDisplay":
        """Draw the panels.

        %(of_panels)s
        share_limits : bool, default=True
            Whether all panels have the same limits, and all maps the same colours.
        %(n_standard_errors)s
        %(max_categories)s

        %(returns_display)s
        """
        plt = pyplot(type(self).__name__)
        if n_cols < 1 or max_categories < 1:
            raise ValueError("n_cols and max_categories must be at least 1.")
        n = len(self.shapes)
        n_rows, n_cols = rows_of_panels(n, n_cols)
        if ax is None:
            figure = plt.figure(figsize=(3.6 * n_cols + 0.8, 3.1 * n_rows), layout="constrained")
            grid = figure.add_gridspec(n_rows, n_cols)
            axes = [figure.add_subplot(grid[i // n_cols, i % n_cols]) for i in range(n)]
        # The axes of a user are divided within their own place in a figure, which stays as it is.
        elif n > 1 and not hasattr(ax, "__len__"):
            checked_axes(ax, "ax").set_axis_off()
            grid = ax.get_subplotspec().subgridspec(n_rows, n_cols, wspace=0.4, hspace=0.5)
            axes = [ax.figure.add_subplot(grid[i // n_cols, i % n_cols]) for i in range(n)]
        else:
            axes = list(as_axes(ax, n, "ax"))
        scales = shared_scales(self.shapes, n_standard_errors) if share_limits else (None, None)
        style = PanelStyle(self.unit, self.labels, *scales, max_categories, n_standard_errors)
        for axis, shape in zip(axes, self.shapes):
            draw_term(axis, shape, style)
        if share_limits:  # one label for neighbours with the same scale
            curves = [not (s.is_pair or s.axes[0].categorical) for s in self.shapes]
            # A label between two panels of one row would repeat that on the left.
            for i in range(1, n):
                if i % n_cols and curves[i] and curves[i - 1]:
                    axes[i].set_ylabel("")
        curves_of = [i for i, s in enumerate(self.shapes) if not s.is_pair]
        if len(self.labels) > 1 and curves_of:
            # All panels have the same classes: one legend serves them.
            colors = [COLORS[c % len(COLORS)] for c in range(len(self.labels))]
            handles = [plt.Line2D([], [], color=color, linewidth=1.8) for color in colors]
            names = [shortened(label) for label in self.labels]
            if ax is None:
                loc = {"loc": "outside upper center", "ncols": min(len(names), 6)}
                axes[0].figure.legend(handles, names, title="class", **loc)
            else:
                axes[curves_of[0]].legend(handles, names, title="class", fontsize="small")
        if ax is None and any(s.errors is not None and not s.is_pair for s in self.shapes):
            text = f"bands: ± {n_standard_errors:g} standard errors, for new training rows"
            axes[0].figure.supxlabel(text, fontsize="small", color="0.3")
        self.axes_ = as_axes(axes, n, "ax")
        self.ax_, self.figure_ = axes[0], axes[0].figure
        return self


# --- one panel ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PanelStyle:
    """What all panels of a figure share."""

    unit: str
    labels: Sequence[str]  # one for each curve
    limits: tuple[float, float] | None  # of the contributions, without the strip; None: its own
    largest: float | None  # of the colours of pairs; None: its own
    max_categories: int
    n_errors: float  # half the width of a band in standard errors

    @property
    def contribution(self) -> str:
        return f"added to the {self.unit}"


def shared_scales(
    shapes: Sequence[TermShape], n_errors: float
) -> tuple[tuple[float, float] | None, float | None]:
    """The limits of all curves, and the largest value of all maps, on one scale; None for none."""
    ranges = [range_of(s, n_errors) for s in shapes if not s.is_pair]
    limits = (min(low for low, _ in ranges), max(high for _, high in ranges)) if ranges else None
    sizes = [float(np.abs(s.values).max(initial=0.0)) for s in shapes if s.is_pair]
    return limits, max(sizes, default=None)


def range_of(shape: TermShape, n_errors: float) -> tuple[float, float]:
    """Least and largest contribution that a panel shows: 0, the values, and their bands.

    A band ends with the panel where it is above or below the values by more than half their range:
    a few values without much data would otherwise flatten all curves.
    """
    values = shape.values
    least, most = min(0.0, float(np.min(values))), max(0.0, float(np.max(values)))
    if shape.errors is None:
        return least, most
    # Bands may leave the panel, the values never.
    half, extra = n_errors * shape.errors, 0.5 * (most - least)
    low, high = float(np.nanmin(values - half)), float(np.nanmax(values + half))
    return max(min(low, least), least - extra), min(max(high, most), most + extra)


def _with_strip(limits: tuple[float, float], strip: bool) -> tuple[float, float]:
    """Limits of an axis, with a margin, and at its beginning space for the density."""
    low, high = limits
    if high == low:  # of a term that is 0
        low, high = low - 0.5, high + 0.5
    span = high - low
    low, high = low - 0.06 * span, high + 0.06 * span
    return (low - (high - low) * STRIP / (1 - STRIP) if strip else low), high


def draw_term(ax, shape: TermShape, style: PanelStyle) -> None:
    """Draw a term in the form that fits its features."""
    if shape.is_pair:
        _draw_map(ax, shape, style)
    elif shape.axes[0].categorical:
        _draw_categories(ax, shape, style)
    else:
        _draw_steps(ax, shape, style)
    # The column of missing values is named above the map, where the title would be.
    above = shape.is_pair and shape.axes[0].missing and not shape.axes[0].categorical
    title = f"{shape.name}, {shape.of_class}" if shape.of_class else shape.name
    ax.set_title(wrapped(title, TITLE, 2), pad=14 if above else None)
    if not shape.values.any():
        where = {"transform": ax.transAxes, "ha": "center", "va": "center"}
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        ax.text(0.5, 0.75, "0 for all values", color="0.3", fontsize="small", bbox=box, **where)


def _draw_steps(ax, shape: TermShape, style: PanelStyle) -> None:
    axis = shape.axes[0]
    bounds, n = axis.bounds(), axis.n_bins
    # Terms are centred: 0 is the mean over the training rows, and the line to compare with.
    ax.axhline(0, color=GREY, linewidth=0.8, zorder=1)
    gap = 0.05 * (bounds[-1] - bounds[0])
    # The bin of missing values has a place of its own, right of the numbers.
    apart = np.array([bounds[-1] + gap, bounds[-1] + 3 * gap])
    for c in range(len(style.labels)):
        color, values = COLORS[c % len(COLORS)], shape.values[:, c]
        if shape.errors is not None:
            half = style.n_errors * shape.errors[:, c]
            band = {"fill": True, "color": color, "alpha": 0.25, "linewidth": 0, "zorder": 2}
            ax.stairs((values + half)[:n], bounds, baseline=(values - half)[:n], **band)
            if axis.missing:
                ax.stairs((values + half)[n:], apart, baseline=(values - half)[n:], **band)
        line = {"baseline": None, "color": color, "linewidth": 1.8, "zorder": 3}
        ax.stairs(values[:n], bounds, **line)
        if axis.missing:
            ax.stairs(values[n:], apart, **line)
    ax.set_xlim(bounds[0], (apart[-1] + 0.5 * gap) if axis.missing else bounds[-1])
    ax.set_ylim(
        _with_strip(style.limits or range_of(shape, style.n_errors), shape.weights is not None)
    )
    if axis.missing:
        ax.axvspan(bounds[-1] + 0.5 * gap, apart[-1] + 0.5 * gap, color="0.93", linewidth=0)
        where = {"transform": ax.get_xaxis_transform(), "rotation": 90, "fontsize": "small"}
        ax.text(apart.mean(), 0.97, axis.missing_label, ha="center", va="top", color="0.3", **where)
    if shape.weights is not None:
        _density_beside(ax, "x", axis, bounds, shape.weights, apart)
    if axis.rows is not None:
        known = axis.rows[(axis.rows >= bounds[0]) & (axis.rows <= bounds[-1])]
        look = {"color": "0.1", "linewidth": 0.6, "alpha": 0.5, "zorder": 2}
        look["rasterized"] = True  # not a path for each row in a file of paths
        ax.vlines(known, 0, 0.03, transform=ax.get_xaxis_transform(), **look)
    few_ticks(ax, "y")
    ax.set_ylabel(textwrap.fill(style.contribution, SIDE))
    _label_numbers(ax, "x", axis, bounds)


def _label_numbers(ax, side: str, axis: TermAxis, bounds: np.ndarray) -> None:
    """Name an axis of numbers, with ticks in the range of these and not beside it."""
    ticks = None
    if len(axis.edges) == 1 and float(axis.edges[0]) % 1 == 0.5:
        ticks = axis.edges[0] + np.array([-0.5, 0.5])  # two codes, such as 0 and 1
    label_of_scale(ax, side, shortened(axis.name, 30), (bounds[0], bounds[axis.n_bins]), ticks)


def _density_beside(ax, side: str, axis: TermAxis, bounds, weights, apart) -> None:
    """Draw a histogram with cells of equal width beside the panel: bins have equal weights."""
    total, n = weights.sum(), axis.n_bins
    if total <= 0:
        return
    # Within a bin the weight counts as evenly spread; a category has a cell of its own.
    cells = bounds if axis.categorical else np.linspace(bounds[0], bounds[-1], N_CELLS + 1)
    below = np.interp(cells, bounds, np.concatenate([[0.0], np.cumsum(weights[:n] / total)]))
    shares = np.diff(below)
    heights = np.append(shares, weights[n:] / total)
    # In shares of the panel, not in units of the contributions: the highest cell fills the strip.
    heights *= 0.9 * STRIP / max(heights.max(), np.finfo(float).tiny)
    along = ax.get_xaxis_transform() if side == "x" else ax.get_yaxis_transform()
    look = {"fill": True, "color": GREY, "linewidth": 0, "zorder": 1, "transform": along}
    look["orientation"] = "vertical" if side == "x" else "horizontal"
    ax.stairs(heights[: len(shares)], cells, **look)
    if len(heights) > len(shares) and weights[n:].any():
        ax.stairs(heights[len(shares) :], apart, **look)


def shown_categories(shape: TermShape, max_categories: int) -> tuple[np.ndarray, int]:
    """Bins of a categorical feature by increasing effect, and the number of those left out.

    Those of the largest weights are shown (of the largest effects where weights are unknown). The
    bin of missing and unseen values comes first, if it has weight or a value other than zero.
    """
    n = shape.axes[0].n_bins
    # Of several classes the last one decides on the order.
    effect = shape.values.mean(axis=1) if shape.values.shape[1] == 1 else shape.values[:, -1]
    size = np.abs(shape.values).max(axis=1) if shape.weights is None else shape.weights
    # Chosen by weight, then put in their own order, in which equal effects stay.
    kept = np.sort(np.argsort(-size[:n], kind="stable")[:max_categories])
    kept = kept[np.argsort(effect[kept], kind="stable")]
    others = np.arange(n, len(effect))
    heavy = others if shape.weights is None else others[shape.weights[others] > 0]
    others = others[np.isin(others, heavy) | shape.values[others].any(axis=1)]
    return np.concatenate([others, kept]).astype(int), n - len(kept)


def _draw_categories(ax, shape: TermShape, style: PanelStyle) -> None:
    axis = shape.axes[0]
    bins, n_left_out = shown_categories(shape, style.max_categories)
    is_missing = bins >= axis.n_bins
    # A gap sets the bin of missing values apart from the categories.
    place = np.arange(len(bins)) + np.where(is_missing, -0.5, 0.0)
    values = shape.values[bins]
    half = None if shape.errors is None else style.n_errors * shape.errors[bins]
    ax.axvline(0, color=GREY, linewidth=0.8, zorder=1)
    if len(style.labels) == 1:
        colors = np.where(values[:, 0] < 0, NEGATIVE, POSITIVE)
        ax.barh(place, values[:, 0], height=0.7, color=colors, zorder=2)
        if half is not None:
            look = {"fmt": "none", "ecolor": "0.2", "elinewidth": 1, "capsize": 2, "zorder": 3}
            ax.errorbar(values[:, 0], place, xerr=half[:, 0], **look)
    else:
        for c in range(len(style.labels)):
            # The points of the classes are side by side: their error bars would hide each other.
            shift = 0.6 * ((c + 0.5) / len(style.labels) - 0.5)
            color = COLORS[c % len(COLORS)]
            look = {"fmt": "o", "color": color, "markersize": 4, "elinewidth": 1}
            error = None if half is None else half[:, c]
            ax.errorbar(values[:, c], place - shift, xerr=error, **look)
    if is_missing.any():
        ax.axhspan(-1.2, 0.0, color="0.93", linewidth=0, zorder=0)
    ax.set_xlim(
        _with_strip(style.limits or range_of(shape, style.n_errors), shape.weights is not None)
    )
    if shape.weights is not None and shape.weights.sum() > 0:
        shares = shape.weights[bins]
        widths = 0.9 * STRIP * shares / max(shares.max(), np.finfo(float).tiny)
        ax.barh(place, widths, height=0.7, color=GREY, transform=ax.get_yaxis_transform(), zorder=1)
    names = [axis.missing_label if b >= axis.n_bins else str(axis.edges[b]) for b in bins]
    ax.set_yticks(place, [shortened(name) for name in names])
    ax.set_ylim(place[0] - 0.6, place[-1] + 0.6)
    name = shortened(axis.name)
    if n_left_out:
        space = " " if len(name) < 10 else "\n"
        name += f"{space}({n_left_out} rare categories not shown)"
    few_ticks(ax, "x")
    ax.set(ylabel=name, xlabel=style.contribution)
    ax.tick_params(axis="y", length=0, labelsize="small" if len(bins) > 8 else None)


def _cells_along(axis: TermAxis, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of the cells along an axis, and the bin of each: -1 for the gap before the missing."""
    bounds, bins = axis.bounds(), np.arange(axis.n_bins)
    if not axis.missing or (weights is not None and weights[-1] <= 0):
        return bounds, bins
    gap = 0.3 if axis.categorical else 0.03 * (bounds[-1] - bounds[0])
    width = 1.0 if axis.categorical else 3 * gap
    ends = bounds[-1] + gap, bounds[-1] + gap + width
    # The gap is a cell of its own, of which the colour is masked.
    return np.append(bounds, ends), np.append(bins, [-1, len(bins)])


def _draw_map(ax, shape: TermShape, style: PanelStyle) -> None:
    sides = [None if shape.weights is None else shape.weights.sum(axis=a) for a in (1, 0)]
    (x, x_bins), (y, y_bins) = (_cells_along(axis, side) for axis, side in zip(shape.axes, sides))
    values = shape.values[..., 0][np.ix_(x_bins, y_bins)].T
    gap = (x_bins < 0)[None, :] | (y_bins < 0)[:, None]
    empty = np.zeros_like(gap)
    if shape.weights is not None:
        empty = (shape.weights[np.ix_(x_bins, y_bins)].T <= 0) & ~gap
    # Symmetric about 0, so that white is no effect in every map.
    largest = style.largest or float(np.abs(values[~gap]).max(initial=0.0)) or 1.0
    look = {"cmap": DIVERGING, "vmin": -largest, "vmax": largest, "rasterized": True}
    mesh = ax.pcolormesh(x, y, np.ma.masked_array(values, gap | empty), **look)
    if empty.any():
        # Cells without training rows are grey: the value there is extrapolated.
        blank = np.ma.masked_array(np.ones_like(values), ~empty)
        ax.pcolormesh(x, y, blank, cmap="Greys", vmin=0, vmax=4, rasterized=True)
    unit = f"score of {shortened(shape.of_class)}" if shape.of_class else style.unit
    ax.figure.colorbar(mesh, ax=ax, label=textwrap.fill(f"added to the {unit}", SIDE))
    limits = (x[0], x[-1]), (y[0], y[-1])
    if shape.weights is not None:
        # Room for the distributions of both features, below and left of the map.
        limits = tuple((b - (b - a) / (1 - STRIP), b) for a, b in limits)
        for side, axis, own, ends in zip("xy", shape.axes, sides, (x, y)):
            _density_beside(ax, side, axis, ends[: axis.n_bins + 1], own, ends[-2:])
        ax.hlines(y[0], x[0], x[-1], color=GREY, linewidth=0.8)
        ax.vlines(x[0], y[0], y[-1], color=GREY, linewidth=0.8)
    ax.set(xlim=limits[0], ylim=limits[1])
    for side, axis, ends, bins in zip("xy", shape.axes, (x, y), (x_bins, y_bins)):
        _label_side(ax, side, axis, ends, bins)


def _label_side(ax, side: str, axis: TermAxis, bounds: np.ndarray, bins: np.ndarray) -> None:
    """Names of categories, and of the cell of missing values, along one side of a map."""
    middle = float(bounds[-2:].mean())
    has_missing = bins[-1] >= axis.n_bins
    if axis.categorical:
        step = -(-axis.n_bins // FEW_LABELS)
        places = [float(i) for i in range(0, axis.n_bins, step)]
        names = [shortened(axis.edges[int(i)], 14) for i in places]
        if has_missing:
            places.append(middle)
            names.append("other")
        turned = side == "x" and max(map(len, names)) > 3
        turn = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if turned else {}
        set_ticks = ax.set_xticks if side == "x" else ax.set_yticks
        set_ticks(places, names, fontsize="small", **turn)
        (ax.set_xlabel if side == "x" else ax.set_ylabel)(shortened(axis.name, 30))
        return
    _label_numbers(ax, side, axis, bounds)
    if has_missing and side == "x":
        top = {"xytext": (0, 2), "ha": "center", "va": "bottom"}
        _note(ax, (middle, 1), ax.get_xaxis_transform(), **top)
    elif has_missing:
        right = {"xytext": (2, 0), "ha": "left", "va": "center", "rotation": 90}
        _note(ax, (1, middle), ax.get_yaxis_transform(), **right)


def _note(ax, place: tuple[float, float], transform, **options) -> None:
    look = {"fontsize": "x-small", "color": "0.3", "textcoords": "offset points"}
    ax.annotate(MISSING[False], place, xycoords=transform, **look, **options)
