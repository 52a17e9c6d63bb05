"""Importances of features and terms, and the terms of an additive model for one row."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._offsets import at_offset_zero
from sklearn_ensemble_theory._typing import AdditiveEstimator, ArrayLike, FittedPredictor
from sklearn_ensemble_theory.ensembles._ensemble import Ensemble
from sklearn_ensemble_theory.ensembles._out_of_bag_importances import unbiased_importances

from .._compat import check_feature_names_in
from ._additive_terms import (
    check_additive,
    check_number_of,
    column_of,
    features_of_terms,
    names_of_terms,
    number_of_class,
    scores_of_classes,
    unit_of_terms,
)
from ._plotting import (
    AXES,
    COLORS,
    GREY,
    NEGATIVE,
    POSITIVE,
    decimals_of,
    documented,
    number,
    own_axes,
    shortened,
)

NAME_LENGTH = 36


TEXTS = {
    **AXES,
    "max_terms": """
        max_terms : int, default=10
            Largest number of terms with a bar of their own. The others have one for their sum.
        """,
    "style": """
        style : {"waterfall", "bar"}, default="waterfall"
            Whether each bar begins where the one before ends, or all of them at 0.
        """,
}


@documented(TEXTS)
@dataclass(eq=False, repr=False)
class ImportanceDisplay:
    """Importances of features, or of the terms of an additive model, as horizontal bars.

    The bars have standard errors if they are known. The importance of a term is the mean of its
    absolute value over the training rows. Its unit is that of the prediction, the log-odds (two
    classes) or the scores (several classes). It describes the model; what the target depends on is
    another question if features are correlated.

    %(use_from_estimator)s

    Parameters
    ----------
    importances : ndarray of shape (n_bars,)
        Importances.
    names : list of str
        Names of the features or terms.
    standard_error : ndarray of shape (n_bars,), default=None
        Their standard errors.
    is_pair : ndarray of bool of shape (n_bars,), default=None
        Which of them are terms of two features, which have a colour of their own.

    Attributes
    ----------
    bars_ : matplotlib.container.BarContainer
        The bars from the largest to the smallest, after `plot`.
    %(drawn)s

    See Also
    --------
    ShapeFunctionDisplay : The terms themselves.
    LocalExplanationDisplay : The terms of one row.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import ImportanceDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(50, random_state=0).fit(X, y)
    >>> display = ImportanceDisplay.from_estimator(forest, max_bars=3)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['bmi', 's5', 'bp']
    """

    importances: np.ndarray
    names: Sequence[str]
    standard_error: np.ndarray | None = None
    is_pair: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: FittedPredictor,
        importances: str | ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        max_bars: int = 20,
        ax: Any = None,
    ) -> "ImportanceDisplay":
        """Take the importances from a fitted estimator and draw them.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator.
        importances : str, Bunch or array-like of shape (n_features,), default=None
            The name of an attribute; or the result of out-of-bag permutations, with its standard
            errors, or of MDI+; or numbers. By default the terms of an additive model; of a forest
            the importances by out-of-bag rows, at which an irrelevant feature has the mean 0; of
            any other model its `feature_importances_`.
        names : list of str, default=None
            Names of the features; those seen by `fit` by default.
        max_bars : int, default=20
            How many of the most important features or terms to draw.
        %(ax)s

        %(returns_display)s

        Raises
        ------
        TypeError
            If the estimator has no importances.
        ValueError
            If the importances or names are not one for each feature.
        """
        if importances is None and hasattr(estimator, "predict_terms"):
            additive = check_additive(estimator)
            sizes = getattr(estimator, "term_importances_", None)
            if sizes is None:
                raise TypeError(f"{type(estimator).__name__} does not have term_importances_.")
            is_pair = np.array([len(f) == 2 for f in features_of_terms(additive)])
            names = names_of_terms(additive) if names is None else names
            label = f"mean absolute contribution to the {unit_of_terms(additive)}"
            display = cls(np.asarray(sizes, dtype=float), names, None, is_pair)
            return display.plot(ax, max_bars=max_bars, label=label)
        label = "importance"
        check_is_fitted(estimator)
        if importances is None:
            importances, label = importances_of(estimator)
        # A `Bunch` of permutation importances brings its errors along.
        error = getattr(importances, "standard_error", None)
        label = "increase of the loss" if error is not None else label
        if isinstance(importances, str):
            label = importances.strip("_").replace("_", " ")
            importances = getattr(estimator, importances)
        values = np.asarray(getattr(importances, "importances_mean", importances), dtype=float)
        p = estimator.n_features_in_
        if names is None:
            names = list(check_feature_names_in(estimator, None))
        if values.shape != (p,) or len(names) != p:
            raise ValueError(
                f"importances and names must have {p} entries, one for each feature; got "
                f"{values.shape} and {len(names)}."
            )
        display = cls(values, [str(name) for name in names], error)
        return display.plot(ax, max_bars=max_bars, label=label)

    def plot(
        self, ax: Any = None, *, max_bars: int = 20, label: str = "importance"
    ) -> "ImportanceDisplay":
        """Draw the bars, the most important one at the top.

        Parameters
        ----------
        %(ax)s
        max_bars : int, default=20
            How many bars to draw.
        label : str, default="importance"
            Label of the axis.

        %(returns_display)s
        """
        check_number_of("max_bars", max_bars)
        sizes = np.asarray(self.importances, dtype=float)
        order = np.argsort(-sizes, kind="stable")[:max_bars]
        names = [shortened(self.names[t], NAME_LENGTH) for t in order]
        ax = axes_of_bars(self, ax, names)
        places = np.arange(len(order))
        are_terms = self.is_pair is not None
        pairs = np.asarray(self.is_pair)[order] if are_terms else np.zeros(len(order), dtype=bool)
        error = None if self.standard_error is None else self.standard_error[order]
        self.bars_ = ax.barh(
            places, sizes[order], xerr=error, height=0.7, color=[COLORS[int(p)] for p in pairs]
        )
        if error is None:
            texts = [number(x, decimals_of(sizes)) for x in sizes[order]]
            texts = ax.bar_label(self.bars_, texts, padding=3, fontsize="small")
            for text, x in zip(texts, sizes[order]):
                if x < 0:  # on the free side: on the other one are the names
                    text.xy = (0.0, text.xy[1])
                    text.set(x=3, horizontalalignment="left")
            # Room for the numbers beside the bars.
            low, high = min(float(np.min(sizes)), 0.0), float(np.max(sizes)) or 1.0
            ax.set_xlim(1.15 * low, 1.15 * high if high > 0 else 0.0)
        if pairs.any() and not pairs.all():
            from matplotlib.patches import Patch

            keys = [Patch(color=COLORS[0]), Patch(color=COLORS[1])]
            ax.legend(keys, ["one feature", "pair of features"], loc="lower right")
        ax.axvline(0, color="k", lw=0.8)
        ax.set_yticks(places, names)
        ax.tick_params(axis="y", length=0)
        # Downwards, as a list is read.
        ax.set_ylim(len(order) - 0.4, -0.6)
        title = f"Importance of the {'terms' if are_terms else 'features'}"
        few = f"{title}, {len(order)} of {len(sizes)}"
        ax.set_title(title if len(order) == len(sizes) else few)
        ax.set_xlabel(label)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def importances_of(estimator: FittedPredictor) -> tuple[np.ndarray, str]:
    """The importances that an estimator has by default, and what they are."""
    check_is_fitted(estimator)
    ensemble: Ensemble | None = getattr(estimator, "ensemble_", None)
    if ensemble is not None:
        with suppress(ValueError):  # members that are no trees, or no out-of-bag rows
            return unbiased_importances(ensemble), "unbiased feature importances"
    found = getattr(estimator, "feature_importances_", None)
    if found is None:
        raise TypeError(
            f"{type(estimator).__name__} has no importances: pass them as `importances`, for "
            "example those of sklearn.inspection.permutation_importance."
        )
    return found, "feature importances"


def axes_of_bars(display: Any, ax: Any, labels: Sequence[str]) -> Any:
    """The given axes, or those of a new figure with space for these labels of bars."""
    # The labels are left of the bars and take their width from them.
    width = 5.0 + 0.08 * max(map(len, labels))
    return own_axes(display, ax, figsize=(width, 0.32 * len(labels) + 1.3))


@documented(TEXTS)
@dataclass(eq=False, repr=False)
class LocalExplanationDisplay:
    """The prediction of an additive model for one row, as a sum of its terms.

    From top to bottom: the intercept, the terms from the largest to the smallest with the values of
    their features, and the prediction. Each bar begins where the one above ends. No approximation
    is involved: the bars are the terms of the model.

    %(use_from_estimator)s

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

    %(attributes_drawn)s
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
    ['intercept', 's5 = 4.89', 'age = 24', 'bp = 84', '8 other terms', 'prediction']
    """

    names: Sequence[str]
    contributions: np.ndarray
    intercept: float
    unit: str = "prediction"
    probability: float | None = None
    response: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: AdditiveEstimator,
        X: ArrayLike,
        *,
        target: Any = None,
        max_terms: int = 10,
        style: Literal["waterfall", "bar"] = "waterfall",
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
        %(max_terms)s
        %(style)s
        %(ax)s

        %(returns_display)s

        Raises
        ------
        TypeError
            If the estimator is not an additive model.
        ValueError
            If X does not have one row.
        """
        estimator = at_offset_zero(check_additive(estimator))
        n_rows = np.shape(X)[0] if np.ndim(X) else 0
        if n_rows != 1:
            raise ValueError(f"X must have one row; got {n_rows}.")
        if target is None and len(scores_of_classes(estimator)) > 1:
            # Of several classes the predicted one is explained by default.
            target = estimator.predict(X)[0]
        k = number_of_class(estimator, target)
        terms = np.asarray(estimator.predict_terms(X))[0]
        probability = response = None
        if getattr(estimator, "link_", "identity") == "log":
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
        return display.plot(ax, max_terms=max_terms, style=style)

    def plot(
        self,
        ax: Any = None,
        *,
        max_terms: int = 10,
        style: Literal["waterfall", "bar"] = "waterfall",
    ) -> "LocalExplanationDisplay":
        """Draw the bars.

        Parameters
        ----------
        %(ax)s
        %(max_terms)s
        %(style)s

        %(returns_display)s
        """
        check_number_of("max_terms", max_terms)
        if style not in ("waterfall", "bar"):
            raise ValueError(f"style must be 'waterfall' or 'bar'; got {style!r}.")
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
        ax = axes_of_bars(self, ax, ["", *names, ""])
        # One number of decimals for all steps, so that they add up as printed, up to the last
        # digit.
        decimals = decimals_of(steps)
        total = self.intercept + sizes.sum()
        if style == "waterfall":
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
