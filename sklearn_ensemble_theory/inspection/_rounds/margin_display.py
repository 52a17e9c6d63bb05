"""A figure of the margins of classified rows."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sklearn_ensemble_theory._typing import MatrixLike
from sklearn_ensemble_theory.inspection._plotting import GREY, pyplot
from sklearn_ensemble_theory.inspection._rounds.staged_margins import (
    METHODS,
    check_rounds,
    checked_weight,
    codes_of,
    margins_after,
    n_rows_of,
    staged_scores,
)


class MarginDisplay:
    """Distribution functions of the margins of a vote after chosen rounds.

    The margin of a row of two classes -1 and +1 is y f(x) / sum |alpha|, where f is the weighted
    sum of the votes and the alpha are their coefficients. For more classes it is the score of the
    true class minus the largest score of another class. It is in [-1, 1], and negative where the
    row is misclassified. The curve at 0 is therefore the error, up to ties.

    Use `from_estimator` to create a display; the constructor stores its arguments.

    Parameters
    ----------
    margins : dict of int to ndarray of shape (n_samples,)
        The margins of the rows after each of the chosen rounds.
    weight : ndarray of shape (n_samples,), default=None
        Weights of the rows; equal weights by default.
    is_normalized : bool, default=True
        Whether the margins are in [-1, 1].

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, after `plot`.
    figure_ : matplotlib.figure.Figure
        The figure, after `plot`.
    lines_ : dict of int to matplotlib.lines.Line2D
        The curve of each round, after `plot`.

    See Also
    --------
    AdaBoostClassifier : Its method `margins` returns the margins after the last round.
    EdgeDisplay : The edges of the weak learners.

    References
    ----------
    R. E. Schapire, Y. Freund, P. Bartlett and W. S. Lee (1998). "Boosting the margin: a new
    explanation for the effectiveness of voting methods". *The Annals of Statistics* 26, 1651-1686.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ensemble_theory import AdaBoostClassifier
    >>> from sklearn_ensemble_theory.inspection import MarginDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=50).fit(X, y)
    >>> display = MarginDisplay.from_estimator(model, X, y, rounds=[5, 50])
    >>> {t: round(float(margin.min()), 2) for t, margin in display.margins.items()}
    {5: -0.35, 50: 0.07}
    """

    def __init__(
        self,
        margins: Mapping[int, np.ndarray],
        weight: np.ndarray | None = None,
        is_normalized: bool = True,
    ) -> None:
        self.margins = margins
        self.weight = weight
        self.is_normalized = is_normalized

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: MatrixLike,
        y: ArrayLike,
        *,
        rounds: Sequence[int] | None = None,
        response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
    ) -> "MarginDisplay":
        """Compute the margins of a fitted classifier and draw them.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier. AdaBoost, `SmoothBoostClassifier`, `AgnosticBoostClassifier`,
            `MassartBoostClassifier`, bagging and forests have the scores of every round, or of
            their first members; `FrankWolfeClassifier` and `VotingClassifier` those of the last.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their classes.
        rounds : sequence of int, default=None
            The rounds (or numbers of members) to draw; the powers of 10 and the last by default.
            Without scores of every round there is one curve, and its round is 1.
        response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
            The scores of the classes. "auto" takes the votes divided by the sum of their
            coefficients, where the estimator has them, otherwise its probabilities and last its
            decision function. Margins by a decision function are not divided by anything.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; equal weights by default.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : MarginDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator is no classifier of one output, or lacks the method.
        ValueError
            If `y` or `sample_weight` do not fit to X, a label is unknown, there are not as many
            rounds, or the estimator knows one class only.

        Notes
        -----
        The cost is that of the predictions after each round up to the last one drawn. For
        `FrankWolfeClassifier` the intercept counts as the coefficient of the constant 1, and
        margins are in [-1, 1] where the outputs of the members are.
        """
        if response_method not in METHODS:
            raise ValueError(
                f"response_method must be one of {sorted(METHODS)}, got {response_method!r}."
            )
        chosen = check_rounds(rounds)
        n = n_rows_of(X)
        weight = checked_weight(sample_weight, n)
        codes = codes_of(estimator, y, n)
        stages, is_normalized = staged_scores(estimator, X, response_method)
        return cls(margins_after(stages, codes, chosen), weight, is_normalized).plot(ax)

    def plot(self, ax: Any = None) -> "MarginDisplay":
        """Draw the distribution functions.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        self : MarginDisplay
            The display, drawn.
        """
        plt = pyplot(type(self).__name__)
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        shades = plt.get_cmap("viridis_r")(np.linspace(1.0, 0.15, len(self.margins))[::-1])
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        self.lines_ = {}
        for (t, margins), color in zip(self.margins.items(), shades):
            order = np.argsort(margins, kind="stable")
            weight = np.ones(len(order)) if self.weight is None else self.weight[order]
            share = np.cumsum(weight) / weight.sum()
            (self.lines_[t],) = ax.plot(
                np.r_[margins[order[:1]], margins[order]],
                np.r_[0.0, share],
                drawstyle="steps-post",
                color=color,
                label=f"{t:,} round" + "s" * (t != 1),
            )
        ax.set(xlabel="margin", ylabel="share of rows with at most this margin", ylim=(0.0, 1.02))
        if self.is_normalized:
            ax.set_xlim(-1.02, 1.02)
        else:
            ax.set_xlabel("margin, not normalised")
        if len(self.margins) > 1:
            ax.legend(loc="upper left")
        self.ax_, self.figure_ = ax, ax.figure
        return self
