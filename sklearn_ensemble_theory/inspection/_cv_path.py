"""The scores of the folds by the number of rounds, and the numbers that two rules choose."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..boosting._gradient_boosting.folds import rounds_of_rules, standard_errors
from ._plotting import COLORS, GREY, pyplot


class CVPathDisplay:
    """The path of ``n_estimators="cv"``: scores of the folds after 1, 2, ... rounds.

    The mean of the folds with a band of one standard error, and two numbers of rounds: that of the
    best mean, and the fewest whose mean is at most one standard error of the best one behind it
    [Hastie, Tibshirani and Friedman, 2009, section 7.10]. The folds share most of their training
    rows and differ in level rather than in form. The standard error is that of the level: numbers
    of rounds within the band may be clearly worse than the best one on the same folds.

    Use `from_estimator` to create a display; the constructor stores its arguments.

    Parameters
    ----------
    path : ndarray of shape (n_rounds + 1, n_folds)
        The score of each fold after 0, 1, ... rounds.
    shares : ndarray of shape (n_folds,)
        The weights of the folds in the mean, which sum to 1.
    n_chosen : int, default=None
        The number of rounds of the model.
    greater_is_better : bool, default=False
        Whether the scores are metrics of scikit-learn, in the place of losses.

    Attributes
    ----------
    mean_ : ndarray of shape (n_rounds + 1,)
        The mean of the folds.
    standard_error_ : ndarray of shape (n_rounds + 1,)
        Of the mean, as if the folds were independent.
    n_best_ : int
        The number of rounds of the best mean.
    n_one_standard_error_ : int
        The fewest rounds within one standard error of it.
    ax_ : matplotlib.axes.Axes
        The axes, after `plot`.
    figure_ : matplotlib.figure.Figure
        The figure, after `plot`.

    See Also
    --------
    GradientBoostingRegressor : Chooses by `cv_rule`.
    L2BoostingRegressor : Chooses the best mean.

    References
    ----------
    T. Hastie, R. Tibshirani and J. Friedman (2009). *The Elements of Statistical Learning*, second
    edition. Springer.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import GradientBoostingRegressor
    >>> from sklearn_ensemble_theory.inspection import CVPathDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(n_estimators="cv", random_state=0).fit(X, y)
    >>> display = CVPathDisplay.from_estimator(model)
    >>> display.n_best_ == model.n_estimators_, display.n_one_standard_error_ < display.n_best_
    (True, True)
    """

    def __init__(
        self,
        path: np.ndarray,
        shares: np.ndarray,
        n_chosen: int | None = None,
        greater_is_better: bool = False,
    ) -> None:
        self.path = path
        self.shares = shares
        self.n_chosen = n_chosen
        self.greater_is_better = greater_is_better

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, show_folds: bool = True, ax: Any = None
    ) -> "CVPathDisplay":
        """Draw the path of a fitted model.

        Parameters
        ----------
        estimator : estimator
            `GradientBoosting*`, `L2BoostingRegressor` or `LogitBoostClassifier`, fitted with
            ``n_estimators="cv"``.
        show_folds : bool, default=True
            Whether to draw the path of each fold too.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : CVPathDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator has no `cv_path_`.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "cv_path_"):
            raise TypeError(
                'estimator must have cv_path_, which a fit with n_estimators="cv" makes; '
                f"{type(estimator).__name__} has none."
            )
        path = np.asarray(estimator.cv_path_)
        # Additive models repeat the last row up to `max_estimators`.
        changes = np.flatnonzero((path[1:] != path[:-1]).any(axis=1))
        n_rounds = int(changes[-1]) + 1 if len(changes) else 1
        n_folds = path.shape[1]
        shares = getattr(estimator, "_fold_shares", np.full(n_folds, 1 / n_folds))
        n_chosen = int(getattr(estimator, "n_rounds_", estimator.n_estimators_))
        path = path[: max(n_rounds, n_chosen) + 1]
        of_metric = getattr(estimator, "scoring", "loss") != "loss"
        return cls(path, shares, n_chosen, of_metric).plot(ax, show_folds=show_folds)

    def plot(self, ax: Any = None, *, show_folds: bool = True) -> "CVPathDisplay":
        """Draw the path.

        The vertical axis begins with what is drawn after a quarter of the rounds chosen: the first
        rounds are far from all others.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.
        show_folds : bool, default=True
            Whether to draw the path of each fold too.

        Returns
        -------
        self : CVPathDisplay
            The display, drawn.
        """
        plt = pyplot(type(self).__name__)
        path, shares = self.path, self.shares
        self.mean_, self.standard_error_ = path @ shares, standard_errors(path, shares)
        sign = -1.0 if self.greater_is_better else 1.0
        self.n_best_, self.n_one_standard_error_ = rounds_of_rules(path, shares, sign)
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        rounds, mean, color = np.arange(len(path)), self.mean_, COLORS[0]
        low, high = mean - self.standard_error_, mean + self.standard_error_
        if show_folds:
            ax.plot(rounds, path, color=GREY, linewidth=0.7)
            ax.plot([], [], color=GREY, linewidth=0.7, label="folds")
        band = {"color": color, "alpha": 0.25, "linewidth": 0}
        ax.fill_between(rounds, low, high, label="one standard error", **band)
        ax.plot(rounds, mean, color=color, linewidth=2, label="mean of the folds")
        rules = [
            (self.n_one_standard_error_, "s", COLORS[2], "one-standard-error rule"),
            (self.n_best_, "o", COLORS[1], "maximum" if self.greater_is_better else "minimum"),
        ]
        for n, marker, its_color, name in rules:
            ax.plot(n, mean[n], marker, color=its_color, ls="", label=f"{name}: {n}", zorder=3)
        n_chosen = self.n_best_ if self.n_chosen is None else self.n_chosen
        ax.axvline(n_chosen, color=GREY, linestyle=":", linewidth=1, zorder=0)
        drawn = np.column_stack([low, high, path] if show_folds else [low, high])[n_chosen // 4 :]
        gap = 0.05 * np.ptp(drawn) or 1.0
        ax.set(xlim=(0, len(path) - 1), ylim=(drawn.min() - gap, drawn.max() + gap))
        ax.set_xlabel("rounds")
        ax.set_ylabel("score of held-out rows" if self.greater_is_better else "loss, held out")
        ax.legend(fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
