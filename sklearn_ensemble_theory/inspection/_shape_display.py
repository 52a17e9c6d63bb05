"""The terms of an additive model as pictures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory.inspection._additive_terms import (
    TermShape,
    check_additive,
    check_tables,
    chosen_terms,
    number_of_class,
    scores_of_classes,
    shapes_of_terms,
    unit_of_terms,
)
from sklearn_ensemble_theory.inspection._plotting import as_axes, pyplot
from sklearn_ensemble_theory.inspection._term_panels import PanelStyle, draw_term, range_of


class ShapeFunctionDisplay:
    """The shape functions of an additive model, one panel for each term.

    A numeric feature is a step curve, a categorical one a bar for each category in the order of
    their effects, and a pair of features a map of colours in which 0 is white. A panel shows what
    the term adds to the prediction (regressors), to the log-odds of the second class (two classes)
    or to the score of a class (several classes). Bands and error bars are the value plus and minus
    two standard errors, where the model has them. The grey histogram on one side of a panel is the
    distribution of the training rows. Missing values have a place of their own, shaded in grey.
    Grey cells of a map contain no training rows: the value there is extrapolated.

    Use `from_estimator` to create a display; the constructor stores its arguments.

    Parameters
    ----------
    shapes : list of TermShape
        The terms: names, bins, values, weights and standard errors.
    unit : str, default="prediction"
        What the terms add to, for the labels.
    labels : sequence of str, default=("",)
        The label of each curve, if a panel has several, one for each class.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes of shape (n_terms,)
        The axes of the panels, after `plot`.
    ax_ : matplotlib.axes.Axes
        The first of them.
    figure_ : matplotlib.figure.Figure
        The figure, after `plot`.

    See Also
    --------
    TermImportanceDisplay : The sizes of all terms.
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

    def __init__(
        self,
        shapes: Sequence[TermShape],
        unit: str = "prediction",
        labels: Sequence[str] = ("",),
    ) -> None:
        self.shapes = shapes
        self.unit = unit
        self.labels = labels

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
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
            Rows that determine where the curves begin and end. The model knows its thresholds only;
            without X the first and the last bin are drawn as wide as the bins beside them.
        target : label, default=None
            The class whose score is drawn, for a model of three or more classes. By default a panel
            has one curve for each class, and pairs are drawn only with a target.
        max_terms : int, default=6
            Number of terms if `terms` is None. Terms that are zero are left out.
        n_cols : int, default=3
            Largest number of panels in a row.
        share_limits : bool, default=True
            Whether all panels have the same limits, and all maps the same colours, so that the
            sizes of terms can be compared.
        n_standard_errors : float, default=2.0
            Half the width of the bands, in standard errors.
        max_categories : int, default=15
            Largest number of categories in a panel: those of the largest weights.
        ax : matplotlib.axes.Axes or array of them, default=None
            One axes for each term, or a single one whose area is divided; a new figure by default.

        Returns
        -------
        display : ShapeFunctionDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator is not an additive model.
        ValueError
            If a term or the target is not in the model, or a pair is asked for without a target
            from a model of several classes.
        """
        check_additive(estimator)
        check_tables(estimator)
        k = number_of_class(estimator, target)
        scores = scores_of_classes(estimator)
        several = len(scores) > 1 and k is None
        indices = chosen_terms(estimator, terms, max_terms, only_main=several)
        shapes = shapes_of_terms(estimator, indices, k, X)
        pairs = [shape.name for shape in shapes if shape.is_pair]
        if several and pairs:
            raise ValueError(f"target must be one of {scores} to draw the pair {pairs[0]!r}.")
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

        Parameters
        ----------
        ax : matplotlib.axes.Axes or array of them, default=None
            One axes for each term, or a single one whose area is divided; a new figure by default.
        n_cols : int, default=3
            Largest number of panels in a row.
        share_limits : bool, default=True
            Whether all panels have the same limits, and all maps the same colours.
        n_standard_errors : float, default=2.0
            Half the width of the bands, in standard errors.
        max_categories : int, default=15
            Largest number of categories in a panel: those of the largest weights.

        Returns
        -------
        self : ShapeFunctionDisplay
            The display, drawn.
        """
        plt = pyplot(type(self).__name__)
        if n_cols < 1 or max_categories < 1:
            raise ValueError("n_cols and max_categories must be at least 1.")
        n = len(self.shapes)
        n_cols = min(n_cols, n) if n != 4 or n_cols != 3 else 2  # two by two, not three and one
        n_rows = -(-n // n_cols)
        if ax is None:
            figure = plt.figure(figsize=(3.6 * n_cols + 0.8, 3.1 * n_rows), layout="constrained")
            grid = figure.add_gridspec(n_rows, n_cols)
            axes = [figure.add_subplot(grid[i // n_cols, i % n_cols]) for i in range(n)]
        elif n > 1 and not hasattr(ax, "__len__"):
            ax.set_axis_off()
            grid = ax.get_subplotspec().subgridspec(n_rows, n_cols, wspace=0.4, hspace=0.5)
            axes = [ax.figure.add_subplot(grid[i // n_cols, i % n_cols]) for i in range(n)]
        else:
            axes = list(as_axes(ax, n, "ax"))
        style = self._style(share_limits, n_standard_errors, max_categories)
        for axis, shape in zip(axes, self.shapes):
            draw_term(axis, shape, style)
        if share_limits:  # one label for neighbours with the same scale
            curves = [not (s.is_pair or s.axes[0].categorical) for s in self.shapes]
            for i in range(1, n):
                if i % n_cols and curves[i] and curves[i - 1]:
                    axes[i].set_ylabel("")
        if len(self.labels) > 1:
            handles, names = axes[0].get_legend_handles_labels()
            if ax is None:
                loc = {"loc": "outside upper center", "ncols": min(len(names), 6)}
                axes[0].figure.legend(handles, names, title="class", **loc)
            else:
                axes[0].legend(handles, names, title="class", fontsize="small")
        self.axes_ = np.empty(n, dtype=object)
        self.axes_[:] = axes
        self.ax_, self.figure_ = axes[0], axes[0].figure
        return self

    def _style(self, share_limits, n_standard_errors, max_categories):
        limits = largest = None
        if share_limits:
            ranges = [range_of(s, n_standard_errors) for s in self.shapes if not s.is_pair]
            if ranges:
                limits = min(low for low, _ in ranges), max(high for _, high in ranges)
            sizes = [np.abs(s.values).max(initial=0.0) for s in self.shapes if s.is_pair]
            largest = float(max(sizes)) if sizes else None
        return PanelStyle(
            self.unit, self.labels, limits, largest, max_categories, n_standard_errors
        )
