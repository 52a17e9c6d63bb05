"""Predictions along one feature, with bands of how sure they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import ndtri
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._features import Features, column_of, is_frame
from sklearn_ensemble_theory._rows import rows_of
from sklearn_ensemble_theory._typing import ArrayLike, FittedPredictor
from sklearn_ensemble_theory.uncertainty import (
    can_ask,
    confidence_interval,
    predict_interval,
    standard_error,
)

from ._plotting import (
    AXES,
    COLORS,
    GREY,
    as_axes,
    documented,
    few_ticks,
    pyplot,
    rows_of_panels,
    shortened,
)

KINDS = ("interval", "standard_error")


TEXTS = {
    **AXES,
    "ax": """
        ax : matplotlib.axes.Axes or array of them, default=None
            One axes for each feature; a new figure by default.
        """,
}


@dataclass(frozen=True)
class BandPanel:
    """Predictions along one feature, with bands (n_values, 2), at numbers or at categories."""

    name: str
    values: np.ndarray
    prediction: np.ndarray
    bands: dict[str, np.ndarray]
    x: np.ndarray | None

    @property
    def is_categorical(self) -> bool:
        """Whether the values are categories, without distances."""
        return self.values.dtype.kind not in "iuf"


@documented(TEXTS)
@dataclass(eq=False, repr=False)
class PredictionBandDisplay:
    """Predictions along one feature, with prediction intervals and bands of standard errors.

    The other features have the values of one reference row: the median of a numeric feature, the
    most frequent category of another one, or what is given. The outer band is a prediction interval
    for a new target. The inner band shows how much the prediction itself varies between training
    sets. It is plus and minus standard errors, times the normal quantile of the same coverage, or
    the `confidence_interval` of the estimator. Both are pointwise.

    %(use_from_estimator)s

    Parameters
    ----------
    panels : list of BandPanel
        The predictions and bands along each feature.
    coverage : float, default=0.9
        The coverage of the bands.
    y : ndarray of shape (n_samples,), default=None
        Targets to draw as points.
    reference : dict of str to value, default=None
        The reference row, by the names of the features.

    %(drawn_panels)s

    See Also
    --------
    ShapeFunctionDisplay : The terms of an additive model, with standard errors.
    partial_dependence : Means over the other features in the place of a reference row.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import PredictionBandDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> forest = RandomForestRegressor(
    ...     200, max_samples=0.25, bootstrap=False, random_state=0
    ... ).fit(X, y)
    >>> display = PredictionBandDisplay.from_estimator(forest, X, ["bmi", "bp"])
    >>> panel = display.panels[0]
    >>> {kind: band.shape for kind, band in panel.bands.items()}
    {'interval': (100, 2), 'standard_error': (100, 2)}
    >>> display.reference["age"]
    50.0
    """

    panels: Sequence[BandPanel]
    coverage: float = 0.9
    y: np.ndarray | None = None
    reference: Mapping[str, Any] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: FittedPredictor,
        X: ArrayLike,
        features: Any = None,
        *,
        y: ArrayLike | None = None,
        methods: Sequence[str] | None = None,
        coverage: float = 0.9,
        at: Mapping[Any, Any] | None = None,
        offset: float | None = None,
        interval_params: Mapping[str, Any] | None = None,
        grid_resolution: int = 100,
        n_cols: int = 3,
        ax: Any = None,
    ) -> "PredictionBandDisplay":
        """Compute predictions and bands along features, and draw them.

        Parameters
        ----------
        estimator : regressor
            A fitted regressor with `predict_interval` or `standard_error`, such as a forest,
            bagging, gradient boosting with `held_out`, or L2-boosting with
            ``n_estimators="cv"``; or a pipeline, a search or a `TransformedTargetRegressor` of one.
        X : {array-like, data frame} of shape (n_samples, n_features)
            Rows that determine the values of the features: the curves go from their 1 % to their
            99 % quantile, and medians and most frequent categories are the reference row.
        features : int, str or sequence of them, default=None
            The features, one panel for each; by default all of them if there are at most six.
        y : array-like of shape (n_samples,), default=None
            Targets of the rows of X, to be drawn as points. The other features of a row are its
            own, not those of the reference row: the points vary more than the interval says, unless
            there is one feature.
        methods : sequence of {"interval", "standard_error"}, default=None
            The bands; by default all for which the estimator has a method.
        coverage : float, default=0.9
            The coverage of the two bands.
        at : dict, default=None
            Values of features in the reference row, by their names or numbers.
        offset : float, default=None
            The offset of the reference row, which is added to all scores, of an estimator whose
            methods have one, such as `GradientBoostingRegressor`. With counts whose offset was the
            logarithm of the exposure, None and 0 are an exposure of 1.
        interval_params : dict, default=None
            Further arguments of `predict_interval`, such as ``{"method": "normalized"}``. An
            interval with ``{"side": "upper"}`` or "lower" is drawn as a line at its end.
        grid_resolution : int, default=100
            Number of values of a numeric feature; fewer distinct values are taken themselves.
        %(n_cols)s
        %(ax)s

        %(returns_display)s

        Raises
        ------
        TypeError
            If the estimator is a classifier, lacks the methods or takes no `offset` though one is
            given, or X is sparse.
        ValueError
            If a parameter is outside its range, a feature is not in X, or X has more than six
            features and none is given.

        Notes
        -----
        Cost: the two methods for `grid_resolution` rows and each feature, in one call.
        """
        check_is_fitted(estimator)
        drawn = _methods_of(estimator, methods)
        if offset is not None:
            _check_offset(estimator, offset)
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        if "coverage" in (interval_params or {}):
            raise ValueError("interval_params must not have 'coverage', which is a parameter.")
        if not isinstance(grid_resolution, Integral) or grid_resolution < 2:
            raise ValueError(
                f"grid_resolution must be an int of at least 2, got {grid_resolution!r}."
            )
        if issparse(X):
            raise TypeError("X must be dense; use X.toarray().")
        rows: Any = X if hasattr(X, "shape") else np.asarray(X)
        table = _Reference(rows, at or {}, getattr(estimator, "categorical_features", None))
        numbers = table.chosen(features)
        targets = None if y is None else np.asarray(y, dtype=float)
        if targets is not None and targets.shape != (rows.shape[0],):
            raise ValueError(
                f"y must have a number for each of the {rows.shape[0]} rows of X; got the shape "
                f"{targets.shape}."
            )
        values = [table.values_of(j, grid_resolution) for j in numbers]
        # One call for all panels, as intervals may have a cost of their own for each call.
        moved = table.rows(list(zip(numbers, values)))
        options = {} if offset is None else {"offset": np.full(sum(map(len, values)), offset)}
        prediction = np.asarray(estimator.predict(moved, **options))
        if prediction.ndim != 1:
            raise TypeError("estimator must predict one target.")
        params = {"interval": {**options, **(interval_params or {})}}
        bands = {
            kind: _band(
                estimator,
                moved,
                prediction,
                kind,
                coverage,
                params.get(kind, options),
            )
            for kind in drawn
        }
        ends = np.cumsum([len(v) for v in values])[:-1]
        parts = {kind: np.split(band, ends) for kind, band in bands.items()}
        panels = [
            BandPanel(
                table.names[j],
                values[k],
                part,
                {kind: found[k] for kind, found in parts.items()},
                None if targets is None else np.asarray(column_of(rows, j)),
            )
            for k, (j, part) in enumerate(zip(numbers, np.split(prediction, ends)))
        ]
        return cls(panels, coverage, targets, table.row).plot(ax, n_cols=n_cols)

    def plot(self, ax: Any = None, *, n_cols: int = 3) -> "PredictionBandDisplay":
        """Draw the panels.

        %(of_panels)s

        %(returns_display)s
        """
        plt = pyplot(type(self).__name__)
        if not isinstance(n_cols, Integral) or n_cols < 1:
            raise ValueError(f"n_cols must be a positive int, got {n_cols!r}.")
        n = len(self.panels)
        n_rows, n_cols = rows_of_panels(n, n_cols)
        if ax is None:
            size = (6.4, 4.8) if n == 1 else (3.6 * n_cols + 0.8, 3.1 * n_rows + 0.4)
            figure, grid = plt.subplots(
                n_rows, n_cols, figsize=size, sharey=True, squeeze=False, layout="constrained"
            )
            axes = grid.ravel()
            for empty in axes[n:]:
                figure.delaxes(empty)
            axes = axes[:n]
        else:
            axes = as_axes(ax, n, "ax")
        for axis, panel in zip(axes, self.panels):
            _draw(axis, panel, self.coverage, self.y)
        for k in range(n):
            if ax is not None or k % n_cols == 0:
                axes[k].set_ylabel("prediction")
        handles, labels = axes[0].get_legend_handles_labels()
        if ax is None:
            loc = {"loc": "outside upper center", "ncols": len(labels) if n_cols > 2 else 2}
            axes[0].figure.legend(handles, labels, fontsize="small", **loc)
            if self.reference is not None and len(self.reference) > 1:
                text = "other features as in the reference row"
                axes[0].figure.supxlabel(text, fontsize="small", color="0.3")
        else:
            axes[0].legend(fontsize="small")
        self.axes_ = as_axes(axes, n, "ax")
        self.ax_, self.figure_ = axes[0], axes[0].figure
        return self


# --- numbers --------------------------------------------------------------------------------------


def _methods_of(estimator: FittedPredictor, methods: Sequence[str] | None) -> list[str]:
    """The bands to draw, outer ones first."""
    name = type(estimator).__name__
    if is_classifier(estimator):
        raise TypeError(f"estimator must be a regressor; {name} is a classifier.")
    known = {
        "interval": ("predict_interval",),
        "standard_error": ("confidence_interval", "standard_error"),
    }
    there = [k for k in KINDS if any(can_ask(estimator, method) for method in known[k])]
    if methods is None:
        if not there:
            raise TypeError(
                "estimator must have the method predict_interval or standard_error; "
                f"{name} does not."
            )
        return there
    given = [methods] if isinstance(methods, str) else list(methods)
    for kind in given:
        if kind not in KINDS:
            raise ValueError(f"methods must be of {list(KINDS)}, got {kind!r}.")
        if kind not in there:
            raise TypeError(
                f"methods has {kind!r}, for which estimator must have the method "
                f"{known[kind][-1]}; {name} does not."
            )
    return [kind for kind in KINDS if kind in given]


def _check_offset(estimator: FittedPredictor, offset: Any) -> None:
    is_number = isinstance(offset, Real) and not isinstance(offset, bool)
    if not (is_number and np.isfinite(float(offset))):
        raise ValueError(f"offset must be a finite number, got {offset!r}.")
    if "offset" not in signature(estimator.predict).parameters:
        raise TypeError(
            f"offset is given, but predict of {type(estimator).__name__} takes no offset."
        )


def _band(
    estimator: FittedPredictor,
    X: Any,
    prediction: np.ndarray,
    kind: str,
    coverage: float,
    options: dict[str, Any],
) -> np.ndarray:
    if kind == "interval":
        return np.asarray(predict_interval(estimator, X, coverage, **options))
    if can_ask(estimator, "confidence_interval"):
        return np.asarray(confidence_interval(estimator, X, coverage, **options))
    half = ndtri((1 + coverage) / 2) * standard_error(estimator, X, **options)
    return np.column_stack([prediction - half, prediction + half])


class _Reference:
    """The reference row of X, and rows that differ from it in one feature."""

    def __init__(self, X: Any, at: Mapping[Any, Any], categorical_features: Any) -> None:
        if len(X.shape) != 2 or not X.shape[0]:
            raise ValueError(f"X must have two dimensions and a row; got the shape {X.shape}.")
        self.X, self.features = X, Features.of(X)
        p = self.features.n
        self.names = list(self.features.names or (f"x{j}" for j in range(p)))
        declared = self.features.flags("from_dtype", X)
        if categorical_features is not None:
            declared = declared | self.features.flags(categorical_features, X)
        columns = [np.asarray(column_of(X, j)) for j in range(p)]
        self.numeric = [c.dtype.kind in "iuf" and not d for c, d in zip(columns, declared)]
        given = {self.number(name, "at"): value for name, value in at.items()}
        self.values: list[Any] = []
        self.row: dict[str, Any] = {}
        for j, column in enumerate(columns):
            if self.numeric[j]:
                finite = column[np.isfinite(column)]
                median = float(np.median(finite)) if len(finite) else np.nan
                self.values.append(float(given.get(j, median)))
                self.row[self.names[j]] = self.values[j]
            else:
                values, first, counts = _occurring(column)
                value = given.get(j, values[np.argmax(counts)])
                place = np.flatnonzero([v == value for v in values])
                if not len(place):
                    raise ValueError(f"at has {value!r} for {self.names[j]}, which is not in X.")
                self.values.append(int(first[place[0]]))  # the number of a row that has it
                self.row[self.names[j]] = value

    def number(self, name: Any, parameter: str) -> int:
        if isinstance(name, str):
            return self.features.number(name, parameter)
        p = self.features.n
        if not isinstance(name, Integral) or int(name) not in range(-p, p):
            raise ValueError(
                f"{parameter} has {name!r}, which is no feature of the {self.features.n} of X."
            )
        return int(name) % self.features.n

    def chosen(self, features: Any) -> list[int]:
        """The numbers of the features, all of few by default."""
        if features is None:
            if self.features.n > 6:
                raise ValueError(
                    f"features must be given: X has {self.features.n} of them, and at most six "
                    "are drawn by default."
                )
            return list(range(self.features.n))
        given: list[Any] = [features]
        if not isinstance(features, str | Integral):
            if np.ndim(features) == 0 or not hasattr(features, "__iter__"):
                raise TypeError(
                    f"features must be a number or name, or a list; got {features!r:.100}."
                )
            given = list(features)
        if not given:
            raise ValueError("features must have at least one element.")
        return [self.number(name, "features") for name in given]

    def values_of(self, j: int, grid_resolution: int) -> np.ndarray:
        """The values along a feature: numbers between its quantiles, or all categories."""
        column = np.asarray(column_of(self.X, j))
        if not self.numeric[j]:
            return _occurring(column)[0]
        finite = np.unique(column[np.isfinite(column)]).astype(float)
        if not len(finite):
            raise ValueError(f"X has no number in the feature {self.names[j]}.")
        if len(finite) <= grid_resolution:
            return finite
        low, high = np.nanquantile(column.astype(float), [0.01, 0.99])
        return np.linspace(low, high, grid_resolution)

    def rows(self, moved: Sequence[tuple[int, np.ndarray]]) -> Any:
        """The reference row with each of the values of each of some features, below each other."""
        total = sum(len(values) for _, values in moved)
        columns: list[Any] = []
        for j in range(self.features.n):
            column: Any = column_of(self.X, j)
            if self.numeric[j]:
                found: Any = np.full(total, self.values[j])
            else:  # rows that have the categories, whose type stays
                found = np.full(total, self.values[j], dtype=np.intp)
                first = _occurring(np.asarray(column))[1]
            start = 0
            for i, values in moved:
                if i == j:
                    found[start : start + len(values)] = values if self.numeric[j] else first
                start += len(values)
            if not self.numeric[j]:
                found = rows_of(column, found)
                found = found.reset_index(drop=True) if hasattr(found, "reset_index") else found
            columns.append(found)
        if is_frame(self.X):
            return type(self.X)(dict(zip(self.X.columns, columns)))
        dtype = self.X.dtype if self.X.dtype.kind not in "iu" else float  # medians
        return np.column_stack([np.asarray(c, dtype=object) for c in columns]).astype(dtype)


def _occurring(column: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The categories of a column as objects, their first rows, and their numbers of rows."""
    found: dict[Any, list[int]] = {}
    for i, value in enumerate(column.tolist()):
        if value is None or value != value:
            continue  # missing
        found.setdefault(value, [i, 0])[1] += 1
    if not found:
        raise ValueError("X has a column without any category.")
    try:
        categories = sorted(found)
    except TypeError:  # of several types, in the order of the rows
        categories = list(found)
    values = np.empty(len(found), dtype=object)
    values[:] = categories
    numbers = np.array([found[c] for c in categories], dtype=np.intp)
    return values, numbers[:, 0], numbers[:, 1]


# --- one panel ------------------------------------------------------------------------------------


def _draw(axis, panel: BandPanel, coverage: float, y: np.ndarray | None) -> None:
    percent = f"{100 * coverage:g} %"
    look = {
        "interval": (0.2, f"{percent} prediction interval"),
        "standard_error": (0.45, f"{percent} confidence band of the prediction"),
    }
    color, places = COLORS[0], panel.values
    if panel.is_categorical:
        places = np.arange(len(panel.values), dtype=float)
    if panel.x is not None and y is not None:
        x = panel.x
        if panel.is_categorical:
            place_of = {value: float(k) for k, value in enumerate(panel.values.tolist())}
            x = np.array([place_of.get(value, np.nan) for value in x.tolist()])
        dots = {"s": 8, "color": GREY, "alpha": 0.5, "linewidth": 0, "zorder": 1}
        axis.scatter(x, y, label="targets", **dots)
    for kind, band in panel.bands.items():
        alpha, label = look[kind]
        # Ends are infinite where there are too few rows for the coverage: nothing to draw.
        low, high = np.where(np.isfinite(band), band, np.nan).T
        if np.isfinite(band).any() and not np.isfinite(band).all(axis=1).any():  # of one side
            end = np.where(np.isnan(low), high, low)
            mark = "_" if panel.is_categorical else "--"
            axis.plot(places, end, mark, color=color, ms=30, label=f"end of the {label}", zorder=2)
        elif panel.is_categorical:
            width = 0.35 if kind == "interval" else 0.25
            bar = {"color": color, "alpha": alpha, "linewidth": 0, "label": label, "zorder": 2}
            axis.bar(places, high - low, 2 * width, bottom=low, **bar)
        else:
            axis.fill_between(
                places, low, high, color=color, alpha=alpha, linewidth=0, label=label, zorder=2
            )
    if panel.is_categorical:
        axis.plot(places, panel.prediction, "_", color="k", ms=14, label="prediction", zorder=3)
        axis.set_xticks(places, [shortened(value, 14) for value in panel.values])
        if len(places) > 4 and max(len(str(value)) for value in panel.values) > 3:
            axis.tick_params(axis="x", rotation=45)
    else:
        axis.plot(places, panel.prediction, color=color, label="prediction", zorder=3)
        if len(places) > 1:
            gap = 0.02 * (places[-1] - places[0])
            axis.set_xlim(places[0] - gap, places[-1] + gap)
        few_ticks(axis, "x")
    axis.set_xlabel(panel.name)
