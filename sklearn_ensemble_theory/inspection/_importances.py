"""Figures of importances: of features, of an additive model's terms, and of its terms for a row."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier

from sklearn_ensemble_theory._typing import ArrayLike

from .._compat import check_feature_names_in
from ._additive_terms import (
    check_additive,
    check_max_terms,
    column_of,
    features_of_terms,
    names_of_terms,
    number_of_class,
    scores_of_classes,
    unit_of_terms,
)
from ._plotting import (
    COLORS,
    GREY,
    NEGATIVE,
    POSITIVE,
    decimals_of,
    number,
    pyplot,
    shortened,
)

NAME_LENGTH = 36


class ImportanceDisplay:
    """Importances of features as bars, with standard errors where they are known.

    Use `from_estimator` to create a display; the constructor stores its arguments.

    Parameters
    ----------
    importances : ndarray of shape (n_features,)
        Importances.
    feature_names : list of str
        Names of the features.
    standard_error : ndarray of shape (n_features,), default=None
        Their standard errors.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, after `plot`.
    figure_ : matplotlib.figure.Figure
        The figure, after `plot`.
    bars_ : matplotlib.container.BarContainer
        The bars, from the top, after `plot`.

    See Also
    --------
    RandomForestRegressor : A forest with importances by out-of-bag rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import ImportanceDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(50, random_state=0).fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(forest, max_features=3)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['bmi', 's5', 'bp']
    """

    def __init__(
        self,
        importances: np.ndarray,
        feature_names: Sequence[str],
        standard_error: np.ndarray | None = None,
    ) -> None:
        self.importances = importances
        self.feature_names = feature_names
        self.standard_error = standard_error

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        importances: str | ArrayLike | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        max_features: int | None = None,
        ax: Any = None,
    ) -> "ImportanceDisplay":
        """Take the importances from a fitted estimator and draw them.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator.
        importances : str, Bunch or array-like of shape (n_features,), default=None
            The name of an attribute; or the result of `oob_permutation_importances`, with its
            standard errors, or of `mdi_plus_importances`; or numbers. By default
            `unbiased_feature_importances_`.
        feature_names : list of str, default=None
            Names of the features; those seen by `fit` by default.
        max_features : int, default=None
            How many of the most important features to draw; all by default.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : ImportanceDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If the importances or names are not one for each feature.
        """
        importances = "unbiased_feature_importances_" if importances is None else importances
        # A `Bunch` of permutation importances brings its errors along.
        error = getattr(importances, "standard_error", None)
        label = "increase of the loss" if error is not None else "importance"
        if isinstance(importances, str):
            label = importances.strip("_").replace("_", " ")
            importances = getattr(estimator, importances)
        values = np.asarray(getattr(importances, "importances_mean", importances), dtype=float)
        p = estimator.n_features_in_
        if feature_names is None:
            feature_names = list(check_feature_names_in(estimator, None))
        if values.shape != (p,) or len(feature_names) != p:
            raise ValueError(
                f"importances and feature_names must have {p} entries, one for each feature; got "
                f"{values.shape} and {len(feature_names)}."
            )
        display = cls(values, [str(name) for name in feature_names], error)
        return display.plot(ax, max_features=max_features, label=label)

    def plot(
        self, ax: Any = None, *, max_features: int | None = None, label: str = "importance"
    ) -> "ImportanceDisplay":
        """Draw the bars, the most important feature at the top.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.
        max_features : int, default=None
            How many features to draw; all by default.
        label : str, default="importance"
            Label of the axis.

        Returns
        -------
        display : ImportanceDisplay
            The display.
        """
        plt = pyplot("ImportanceDisplay")
        order = np.argsort(-self.importances, kind="stable")[:max_features]
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 0.3 * len(order) + 1), layout="constrained")
        at = np.arange(len(order))
        error = None if self.standard_error is None else self.standard_error[order]
        self.bars_ = ax.barh(at, self.importances[order], xerr=error, color="C0", alpha=0.7)
        ax.axvline(0, color="k", lw=0.8)
        ax.set_yticks(at, [self.feature_names[j] for j in order])
        # matplotlib counts upwards: the first bar belongs at the top.
        ax.invert_yaxis()
        ax.set_xlabel(label)
        self.ax_, self.figure_ = ax, ax.figure
        return self


# --- the terms of an additive model ---------------------------------------------------------------


def _own_axes(display, ax, labels: Sequence[str]) -> Any:
    """Return the given axes, or those of a new figure with space for these labels of bars."""
    plt = pyplot(type(display).__name__)
    if ax is None:
        # The labels are left of the bars and take their width from them.
        width = 5.0 + 0.08 * max(map(len, labels))
        _, ax = plt.subplots(figsize=(width, 0.32 * len(labels) + 1.3), layout="constrained")
    return ax


class TermImportanceDisplay:
    """The terms of an additive model by the size of what they contribute, as horizontal bars.

    The size of a term is the mean of its absolute value over the training rows, in the unit of the
    prediction, of the log-odds (two classes) or of the scores (several classes). It describes the
    model; what the target depends on is another question where features are correlated.

    Use `from_estimator` to create a display; the constructor stores its arguments.

    Parameters
    ----------
    names : sequence of str
        The names of the terms.
    importances : ndarray of shape (n_terms,)
        Their sizes.
    is_pair : ndarray of bool of shape (n_terms,)
        Which of them are functions of two features.
    unit : str, default="prediction"
        What the terms add to, for the label.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, after `plot`.
    figure_ : matplotlib.figure.Figure
        The figure, after `plot`.
    bars_ : matplotlib.container.BarContainer
        The bars from the largest to the smallest, after `plot`.

    See Also
    --------
    ShapeFunctionDisplay : The terms themselves.
    LocalExplanationDisplay : The terms of one row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.inspection import TermImportanceDisplay
    >>> sizes, is_pair = np.array([0.2, 1.5]), np.array([False, False])
    >>> display = TermImportanceDisplay(["age", "bmi"], sizes, is_pair).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['bmi', 'age']
    """

    def __init__(
        self,
        names: Sequence[str],
        importances: np.ndarray,
        is_pair: np.ndarray,
        unit: str = "prediction",
    ) -> None:
        self.names = names
        self.importances = importances
        self.is_pair = is_pair
        self.unit = unit

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, max_terms: int = 20, ax: Any = None
    ) -> "TermImportanceDisplay":
        """Draw the importances of a fitted additive model.

        Parameters
        ----------
        estimator : estimator
            A fitted additive model, such as :class:`L2BoostingRegressor`.
        max_terms : int, default=20
            Largest number of terms to draw.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : TermImportanceDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator is not an additive model.
        """
        check_additive(estimator)
        is_pair = np.array([len(f) == 2 for f in features_of_terms(estimator)])
        sizes = getattr(estimator, "term_importances_", None)
        if sizes is None:
            raise TypeError(f"{type(estimator).__name__} does not have term_importances_.")
        unit = unit_of_terms(estimator)
        display = cls(names_of_terms(estimator), np.asarray(sizes, dtype=float), is_pair, unit)
        return display.plot(ax, max_terms=max_terms)

    def plot(self, ax: Any = None, *, max_terms: int = 20) -> "TermImportanceDisplay":
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.
        max_terms : int, default=20
            Largest number of terms to draw.

        Returns
        -------
        self : TermImportanceDisplay
            The display, drawn.
        """
        check_max_terms(max_terms)
        sizes = np.asarray(self.importances, dtype=float)
        order = np.argsort(-sizes, kind="stable")[:max_terms]
        names = [shortened(self.names[t], NAME_LENGTH) for t in order]
        ax = _own_axes(self, ax, names)
        places, pairs = np.arange(len(order)), np.asarray(self.is_pair)[order]
        colors = [COLORS[int(pair)] for pair in pairs]
        self.bars_ = ax.barh(places, sizes[order], height=0.7, color=colors)
        texts = [number(x, decimals_of(sizes)) for x in sizes[order]]
        ax.bar_label(self.bars_, texts, padding=3, fontsize="small")
        if pairs.any() and not pairs.all():
            from matplotlib.patches import Patch

            keys = [Patch(color=COLORS[0]), Patch(color=COLORS[1])]
            ax.legend(keys, ["one feature", "pair of features"], loc="lower right")
        ax.set_yticks(places, names)
        ax.tick_params(axis="y", length=0)
        # Downwards, as a list is read.
        ax.set_ylim(len(order) - 0.4, -0.6)
        # Room for the numbers beside the bars.
        ax.set_xlim(0, 1.15 * (float(np.max(sizes)) or 1.0))
        few = f"Importance of the terms, {len(order)} of {len(sizes)}"
        ax.set_title("Importance of the terms" if len(order) == len(sizes) else few)
        ax.set_xlabel(f"mean absolute contribution to the {self.unit}")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class LocalExplanationDisplay:
    """The prediction of an additive model for one row, as the sum that it is.

    From top to bottom: the intercept, the terms from the largest to the smallest with the values of
    their features, and the prediction. Each bar begins where the one above ends. No approximation
    is involved: the bars are the terms of the model.

    Use `from_estimator` to create a display; the constructor stores its arguments.

    Parameters
    ----------
    names : sequence of str
        The labels of the terms, with the values of their features.
    contributions : ndarray of shape (n_terms,)
        The terms of the row.
    intercept : float
        The constant of the model. Prediction and terms differ by it.
    unit : str, default="prediction"
        What the terms add to, for the labels.
    probability : float, default=None
        The probability of the class, for classifiers.
    response : float, default=None
        The prediction, of a regressor whose terms add to its logarithm.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, after `plot`.
    figure_ : matplotlib.figure.Figure
        The figure, after `plot`.
    bars_ : matplotlib.container.BarContainer
        The bars from the largest to the smallest, after `plot`; the last one is the sum of the
        terms without a bar of their own, if there are any.

    See Also
    --------
    ShapeFunctionDisplay : The terms for all values of the features.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import L2BoostingRegressor
    >>> from sklearn_ensemble_theory.inspection import LocalExplanationDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = L2BoostingRegressor(500).fit(X, y)
    >>> display = LocalExplanationDisplay.from_estimator(model, X.iloc[[3]], max_terms=3)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['intercept', 's5 = 4.89', 'bmi = 25.3', 'bp = 84', '7 other terms', 'prediction']
    """

    def __init__(
        self,
        names: Sequence[str],
        contributions: np.ndarray,
        intercept: float,
        unit: str = "prediction",
        probability: float | None = None,
        response: float | None = None,
    ) -> None:
        self.names = names
        self.contributions = contributions
        self.intercept = intercept
        self.unit = unit
        self.probability = probability
        self.response = response

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        target: Any = None,
        max_terms: int = 10,
        kind: Literal["waterfall", "bar"] = "waterfall",
        ax: Any = None,
    ) -> "LocalExplanationDisplay":
        """Draw the terms of one row.

        Parameters
        ----------
        estimator : estimator
            A fitted additive model, such as :class:`L2BoostingRegressor`.
        X : array-like of shape (1, n_features)
            The row.
        target : label, default=None
            The class whose score is explained, for a model of three or more classes; by default the
            predicted one.
        max_terms : int, default=10
            Largest number of terms with a bar of their own. The others have one for their sum.
        kind : {"waterfall", "bar"}, default="waterfall"
            Whether each bar begins where the one before ends, or all of them at 0.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : LocalExplanationDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator is not an additive model.
        ValueError
            If X does not have one row.
        """
        check_additive(estimator)
        n_rows = np.shape(X)[0] if np.ndim(X) else 0
        if n_rows != 1:
            raise ValueError(f"X must have one row; got {n_rows}.")
        if target is None and len(scores_of_classes(estimator)) > 1:
            # Of several classes the predicted one is explained by default.
            target = estimator.predict(X)[0]
        k = number_of_class(estimator, target)
        terms = np.asarray(estimator.predict_terms(X))[0]
        probability = response = None
        if getattr(estimator, "_link", "identity") == "log":
            response = float(estimator.predict(X)[0])
        if is_classifier(estimator):
            probability = float(estimator.predict_proba(X)[0, 1 if k is None else k])
        # A regressor and two classes have a single score, with one intercept.
        intercept = np.ravel(estimator.intercept_)[k or 0]
        row = [_written(np.asarray(column_of(X, j))[0]) for j in range(estimator.n_features_in_)]
        labels = [
            f"{shortened(name, NAME_LENGTH)} = {', '.join(row[j] for j in features)}"
            for name, features in zip(names_of_terms(estimator), features_of_terms(estimator))
        ]
        unit = unit_of_terms(estimator, k)
        terms = terms if k is None else terms[:, k]
        display = cls(labels, terms, intercept, unit, probability, response)
        return display.plot(ax, max_terms=max_terms, kind=kind)

    def plot(
        self,
        ax: Any = None,
        *,
        max_terms: int = 10,
        kind: Literal["waterfall", "bar"] = "waterfall",
    ) -> "LocalExplanationDisplay":
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.
        max_terms : int, default=10
            Largest number of terms with a bar of their own. The others have one for their sum.
        kind : {"waterfall", "bar"}, default="waterfall"
            Whether each bar begins where the one before ends, or all of them at 0.

        Returns
        -------
        self : LocalExplanationDisplay
            The display, drawn.
        """
        check_max_terms(max_terms)
        if kind not in ("waterfall", "bar"):
            raise ValueError(f"kind must be 'waterfall' or 'bar'; got {kind!r}.")
        sizes = np.asarray(self.contributions, dtype=float)
        # Terms that add nothing come last, and have no bar of their own.
        order = np.argsort(-np.abs(sizes), kind="stable")[: np.count_nonzero(sizes)]
        # A bar for the sum of a single term would not be shorter than that term's own.
        own = order if len(order) == len(sizes) <= max_terms + 1 else order[:max_terms]
        steps, names = sizes[own], [self.names[t] for t in own]
        if len(own) < len(sizes):
            n_others = len(sizes) - len(own)
            steps = np.append(steps, np.delete(sizes, own).sum())
            names.append(f"{n_others} other term{'s' * (n_others > 1)}")
        ax = _own_axes(self, ax, ["", *names, ""])
        # One number of decimals for all steps, so that they add up as printed, up to the last
        # digit.
        decimals = decimals_of(steps)
        total = self.intercept + sizes.sum()
        if kind == "waterfall":
            self._waterfall(ax, steps, names, total, decimals)
        else:
            self._bars_from(ax, np.zeros(len(steps)), steps, 0, decimals)
            ax.axvline(0, color=GREY, linewidth=0.8)
            ax.set_yticks(np.arange(len(names)), names)
            ax.set_xlabel(f"added to the {self.unit}")
        # The limits are widened for the numbers, which matplotlib does not count as data, by about
        # their length: that of a character is a twelfth of an inch. Labels narrow the axes.
        width = ax.get_position().width * ax.figure.get_figwidth() / 0.775
        inside = max(width - (max(map(len, names)) + 6) / 12, 0.3 * width)
        longest = (3 + max(len(number(float(x), decimals, signed=True)) for x in steps)) / 14
        extra = np.clip(longest / max(inside - 2 * longest, 0.1), 0.14, 0.6)
        low, high = ax.get_xlim()
        ax.set_xlim(low - extra * (high - low), high + extra * (high - low))
        ax.set_ylim(len(ax.get_yticks()) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        parts = [number(float(x), decimals) for x in (self.intercept, sizes.sum(), total)]
        # In two lines: beside another panel there is no room for one.
        title = f"intercept {parts[0]} + terms {parts[1]}\n= {self.unit} {parts[2]}"
        if self.probability is not None:
            title += f", probability {_probability(self.probability)}"
        if self.response is not None:
            title += f", prediction {number(self.response)}"
        # Over the labels too: the axes may be narrow.
        ax.set_title(title, fontsize="medium", loc="right")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _bars_from(self, ax, starts, steps, first, decimals):
        places = first + np.arange(len(steps))
        colors = np.where(steps < 0, NEGATIVE, POSITIVE)
        self.bars_ = ax.barh(places, steps, left=starts, height=0.7, color=colors, zorder=2)
        for end, place, x in zip(starts + steps, places, steps):  # outside, beside the end
            side = {"ha": "right", "xytext": (-3, 0)} if x < 0 else {"ha": "left", "xytext": (3, 0)}
            look = {"textcoords": "offset points", "va": "center", "fontsize": "small"}
            ax.annotate(number(x, decimals, signed=True), (end, place), **look, **side)

    def _waterfall(self, ax, steps, names, total, decimals):
        # Each bar begins where the one above it ended.
        starts = self.intercept + np.concatenate([[0.0], np.cumsum(steps)[:-1]])
        self._bars_from(ax, starts, steps, 1, decimals)
        ends, n = np.append(starts, total), len(steps)
        for i, x in enumerate(ends):  # from the row above to the one below
            ax.plot([x, x], [i - 0.35 * (i > 0), i + 1 + 0.35 * (i < n)], color=GREY, lw=0.8)
        look = {"fontweight": "bold", "va": "center", "textcoords": "offset points"}
        # The numbers of the two ends are written towards the middle, where there is room.
        middle = 0.5 * (ends.min() + ends.max())
        for place, x in ((0, self.intercept), (n + 1, total)):
            ax.plot([x], [place], "D", color="0.2", markersize=5, zorder=3)
            side = {"ha": "left", "xytext": (7, 0)}
            if x > middle:  # inside the axes, on the longer side
                side = {"ha": "right", "xytext": (-7, 0)}
            ax.annotate(number(x, decimals), (x, place), **side, **look)
        ax.set_yticks(np.arange(n + 2), ["intercept", *names, self.unit])
        ax.set_xlabel(self.unit)


def _probability(p: float) -> str:
    """Three decimals, and not 0 or 1 by rounding."""
    if p < 0.001 or p > 0.999:
        return "below 0.001" if p < 0.5 else "above 0.999"
    return f"{p:.3f}"


def _written(value) -> str:
    """Return a value of a feature for a label."""
    try:
        missing = value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        missing = True
    if missing:
        return "missing"
    is_number = isinstance(value, (float, np.floating))
    return number(float(value)) if is_number else shortened(value)
