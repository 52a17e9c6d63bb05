"""A figure of the importances of features."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory._compat import check_feature_names_in
from sklearn_ensemble_theory.inspection._plotting import pyplot


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
            standard errors; or numbers. By default `unbiased_feature_importances_`.
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
        ax.invert_yaxis()
        ax.set_xlabel(label)
        self.ax_, self.figure_ = ax, ax.figure
        return self
