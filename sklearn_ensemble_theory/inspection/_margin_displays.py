"""The rounds of a boosted vote: margins of classified rows, and edges of weak learners.

An ensemble that knows the scale of its votes has the method `_staged_margin_scores(X)`: an iterator
over the scores after each round, of shape (n,) for two classes or (n, K), scaled such that two
scores of a row (or the score of two classes itself) differ by at most 1. Others are asked for
probabilities or scores by their public methods.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, cast

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._typing import FittedClassifier, StagedClassifier

from .._typing import ArrayLike, MatrixLike
from ..boosting import AdaBoostClassifier
from ._plotting import AXES, COLORS, GREY, as_axes, documented, number, own_axes, pyplot

# The public methods that give scores, for each response method, and whether they are staged.
METHODS = {
    "auto": [
        ("_staged_margin_scores", True),
        ("staged_predict_proba", True),
        ("predict_proba", False),
        ("staged_decision_function", True),
        ("decision_function", False),
    ],
    "predict_proba": [("staged_predict_proba", True), ("predict_proba", False)],
    "decision_function": [("staged_decision_function", True), ("decision_function", False)],
}
# Margins by these methods are not divided by the largest possible one.
OF_ANY_SCALE = ("staged_decision_function", "decision_function")


TEXTS = {
    **AXES,
    "axes": """
        axes : sequence of matplotlib.axes.Axes, default=None
            Axes to draw on, one for each panel; a new figure by default.
        """,
    "of_axes": """
        Parameters
        ----------
        %(axes)s
        """,
}


def training_error_bounds(estimator: FittedClassifier) -> dict[str, np.ndarray]:
    """Bounds on the training error of AdaBoost after each round, by their names; {} of others."""
    if not isinstance(estimator, AdaBoostClassifier):
        return {}
    K, are_votes = estimator.n_classes_, estimator.variant_ in ("discrete", "mh")
    if K == 1 or (K > 2 and estimator.variant_ == "discrete"):
        return {}
    # For more than two classes the risk bounds the Hamming loss.
    factor = 1.0 if K == 2 else np.sqrt(K - 1.0)
    bound = factor * estimator.training_error_bounds_
    if not are_votes or estimator.learning_rate != 1:
        return {"exponential risk": bound}
    bounds = {"product of 2 sqrt(eps (1 - eps))": bound}
    least = float(estimator.edges_.min())
    if least > 0:
        rounds = np.arange(1, len(estimator.edges_) + 1)
        bounds["exp(-2 gamma² T)"] = factor * np.exp(-2.0 * least**2 * rounds)
    return bounds


def check_rounds(rounds: Sequence[int] | None) -> list[int] | None:
    """Return the rounds in increasing order, each once; ValueError for other than positive ints."""
    if rounds is None:
        return None
    found = list(np.atleast_1d(np.asarray(rounds, dtype=object)))
    for t in found:
        # `dtype=object` above has kept Python's types: True would otherwise pass for 1.
        if not isinstance(t, Integral) or isinstance(t, bool) or t < 1:
            raise ValueError(f"rounds must be positive ints, got {t!r}.")
    if not found:
        raise ValueError("rounds must have at least one element.")
    return sorted({int(t) for t in found})


def n_rows_of(X) -> int:
    """Return the number of rows of an array, a sparse matrix, a data frame or a list."""
    if getattr(X, "shape", None) == () or (not hasattr(X, "shape") and not hasattr(X, "__len__")):
        raise TypeError(f"X must have rows; got {X!r:.100}.")
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def checked_weight(sample_weight, n_rows: int) -> np.ndarray | None:
    """Return the weights of the rows as floats, or None."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=float)
    if weight.shape != (n_rows,) or not np.all(weight >= 0) or not 0 < weight.sum() < np.inf:
        raise ValueError(
            f"sample_weight must have {n_rows} non-negative finite entries that are not all 0."
        )
    return weight


def codes_of(estimator: FittedClassifier, y, n_rows: int) -> np.ndarray:
    """Return the places of the labels y in the classes of a fitted classifier."""
    check_is_fitted(estimator)
    classes = getattr(estimator, "classes_", None)
    if classes is None or isinstance(classes, list):
        raise TypeError(
            f"estimator must be a fitted classifier of one output; got {type(estimator).__name__}."
        )
    if len(classes) < 2:
        raise ValueError("estimator was fitted to one class, for which there are no margins.")
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(f"y must have {n_rows} entries, one for each row of X; got {y.shape}.")
    try:
        codes = np.searchsorted(classes, y)
    except TypeError as error:
        raise TypeError(f"y must have labels like those of the fit: {error}.") from error
    # `searchsorted` gives a place to unknown labels too: the class there must be the label itself.
    known = codes < len(classes)
    if not known.all() or np.any(classes[np.minimum(codes, len(classes) - 1)] != y):
        raise ValueError("y must contain classes that the estimator was fitted to.")
    return codes


def staged_scores(
    estimator: FittedClassifier, X, response_method: str
) -> tuple[Iterator[np.ndarray], bool]:
    """(the scores after each round, whether margins by them are in [-1, 1])."""
    for name, is_staged in METHODS[response_method]:
        # The first of the methods that the estimator has: staged ones come before those of the
        # whole.
        method = getattr(estimator, name, None)
        if method is not None:
            found = method(X) if is_staged else iter([method(X)])
            return found, name not in OF_ANY_SCALE
    raise TypeError(
        f"estimator must have the method {METHODS[response_method][-1][0]}; "
        f"{type(estimator).__name__} does not."
    )


def margins_of(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """y f(x) for one column of scores; else the score of the class minus the best other's."""
    if scores.ndim == 1:
        # The codes 0 and 1 stand for the labels -1 and +1.
        return (2.0 * codes - 1.0) * scores
    rows = np.arange(len(codes))
    others = np.array(scores, dtype=float)
    others[rows, codes] = -np.inf  # the best of the other classes is what counts
    return np.asarray(scores[rows, codes] - others.max(axis=1))


def margins_after(
    stages: Iterator[np.ndarray], codes: np.ndarray, rounds: list[int] | None
) -> dict[int, np.ndarray]:
    """Return the margins after each of the rounds; None for the powers of 10 and the last round."""
    found: dict[int, np.ndarray] = {}
    # Without rounds every stage may be the last one, which is kept beside the powers of 10.
    power, t, last = 1, 0, None
    for t, scores in enumerate(stages, 1):
        if rounds is None:
            last = margins_of(scores, codes)
            if t == power:
                found[t] = last
                power *= 10
        elif t in rounds:
            found[t] = margins_of(scores, codes)
            # The stages are a generator: later ones are never computed.
            if t == rounds[-1]:
                break
    if rounds is not None and len(found) < len(rounds):
        raise ValueError(f"rounds must be at most {t}, the number of rounds; got {rounds[-1]}.")
    if last is not None:
        found[t] = last
    return found


# --- figures --------------------------------------------------------------------------------------


@documented(TEXTS)
@dataclass(eq=False, repr=False)
class MarginDisplay:
    """Distribution functions of the margins of a vote after chosen rounds.

    The margin of a row of two classes -1 and +1 is y f(x) / sum |alpha|, where f is the weighted
    sum of the votes and the alpha are their coefficients. For more classes it is the score of the
    true class minus the largest score of another class. It is in [-1, 1], and negative where the
    row is misclassified. The curve at 0 is therefore the error, up to ties.

    %(use_from_estimator)s

    Parameters
    ----------
    margins : dict of int to ndarray of shape (n_samples,)
        The margins of the rows after each of the chosen rounds.
    weight : ndarray of shape (n_samples,), default=None
        Weights of the rows; equal weights by default.
    is_normalized : bool, default=True
        Whether the margins are in [-1, 1].

    %(attributes_drawn)s
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

    margins: Mapping[int, np.ndarray]
    weight: np.ndarray | None = None
    is_normalized: bool = True

    @classmethod
    def from_estimator(
        cls,
        estimator: FittedClassifier,
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
            coefficients, if the estimator has them. If not, it takes the probabilities, and last
            the decision function. Margins by a decision function are not divided by anything.
        %(weights_or_equal)s
        %(ax)s

        %(returns_display)s

        Raises
        ------
        TypeError
            If the estimator is no classifier of one output, or lacks the method.
        ValueError
            If `y` or `sample_weight` do not fit to X, a label is unknown, there are not as many
            rounds, or the estimator has only one class.

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

        %(of_plot)s
        """
        plt = pyplot(type(self).__name__)
        ax = own_axes(self, ax)
        # Later rounds are darker.
        shades = plt.get_cmap("viridis_r")(np.linspace(1.0, 0.15, len(self.margins))[::-1])
        ax.axvline(0.0, color=GREY, linewidth=0.8)
        self.lines_ = {}
        for (t, margins), color in zip(self.margins.items(), shades):
            order = np.argsort(margins, kind="stable")
            weight = np.ones(len(order)) if self.weight is None else self.weight[order]
            # A distribution function with a step at each row, not a histogram, whose bins would
            # hide the smallest margins.
            share = np.cumsum(weight) / weight.sum()
            (self.lines_[t],) = ax.plot(
                # The first margin twice: the steps rise from 0 there.
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


@documented(TEXTS)
@dataclass(eq=False, repr=False)
class EdgeDisplay:
    """Edges of the weak learners by round, and the training error with its bounds.

    The edge of round t is gamma_t = 1/2 - eps_t, where eps_t is the weighted error of its weak
    learner. The training error of AdaBoost is at most the product of 2 sqrt(eps_t (1 - eps_t)), and
    at most exp(-2 gamma² T) if all edges are at least gamma [Ghoshdastidar, theorem En.4].

    %(use_from_estimator)s

    Parameters
    ----------
    edges : dict of str to ndarray of shape (n_rounds,)
        The edges, by the name of their curve; nan for rounds without a weak learner.
    training_error : ndarray of shape (n_rounds,), default=None
        The training error after each round.
    bounds : dict of str to ndarray of shape (n_rounds,), default=None
        Bounds on the training error after each round, by their names.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes of shape (1,) or (2,)
        The axes, after `plot`. The second one is for the training error and its bounds, and only
        there if one of them is known.
    %(figure_)s
    smallest_edge_ : float
        The smallest edge, after `plot`.

    See Also
    --------
    AdaBoostClassifier : Boosting with a bound on the training error by the edges.
    MarginDisplay : The margins of the rows.

    %(references_Ghoshdastidar)s

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import AdaBoostClassifier
    >>> from sklearn_ensemble_theory.inspection import EdgeDisplay
    >>> X = np.arange(9.0)[:, None]
    >>> y = np.array([0, 0, 0, 1, 1, 1, 0, 0, 0])
    >>> model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    >>> display = EdgeDisplay.from_estimator(model, X, y)
    >>> round(display.smallest_edge_, 3), display.training_error.round(3)
    (0.167, array([0.333, 0.333, 0.   ]))
    """

    edges: Mapping[str, np.ndarray]
    training_error: np.ndarray | None = None
    bounds: Mapping[str, np.ndarray] | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: FittedClassifier,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        axes: Any = None,
    ) -> "EdgeDisplay":
        """Take the edges of a fitted classifier and draw them.

        Parameters
        ----------
        estimator : classifier
            A fitted classifier with the attribute `edges_`, such as `AdaBoostClassifier` or
            `SmoothBoostClassifier`. Bounds are drawn for `AdaBoostClassifier`; for more than two
            classes and `variant="discrete"` there are none.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            The training rows, for a curve of the training error; `y` is required with it.
        y : array-like of shape (n_samples,), default=None
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights that the estimator was fitted with.
        %(axes)s

        %(returns_display)s

        Raises
        ------
        TypeError
            If the estimator has no `edges_`.
        ValueError
            If one of `X` and `y` is given without the other, `sample_weight` without them, or
            their lengths differ.

        Notes
        -----
        The cost is the predictions after each round.
        """
        check_is_fitted(estimator)
        edges = getattr(estimator, "edges_", None)
        if edges is None:
            raise TypeError(
                f"estimator must have the attribute edges_; {type(estimator).__name__} does not."
            )
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together.")
        if X is None and sample_weight is not None:
            raise ValueError("sample_weight must be given with X and y.")
        error = None
        if X is not None and y is not None:
            n = n_rows_of(X)
            weight = checked_weight(sample_weight, n)
            labels = estimator.classes_[codes_of(estimator, y, n)]
            error = np.array(
                [
                    1.0 - accuracy_score(labels, found, sample_weight=weight)
                    for found in cast(StagedClassifier, estimator).staged_predict(X)
                ]
            )
        if isinstance(edges, list):  # one problem for each class
            curves = {f"class {label}": g for label, g in zip(estimator.classes_, edges)}
        else:
            curves = {"edge": np.asarray(edges)}
        bounds = training_error_bounds(estimator)
        return cls(curves, error, bounds).plot(axes)

    def plot(self, axes: Any = None) -> "EdgeDisplay":
        """Draw the edges, and the training error with its bounds.

        %(of_axes)s

        %(returns_display)s

        Raises
        ------
        ValueError
            If there are not as many axes as panels.
        """
        plt = pyplot(type(self).__name__)
        curves = dict(self.bounds or {})
        # The error and its bounds share a panel; without both there is one panel only.
        n_panels = 1 + (self.training_error is not None or bool(curves))
        if axes is None:
            _, axes = plt.subplots(
                1, n_panels, figsize=(5.5 * n_panels, 4.0), layout="constrained", squeeze=False
            )
        axes = as_axes(axes, n_panels, "axes")
        self.smallest_edge_ = float(min(np.nanmin(edges) for edges in self.edges.values()))
        for (label, edges), color in zip(self.edges.items(), COLORS * len(self.edges)):
            rounds = np.arange(1, len(edges) + 1)
            axes[0].plot(rounds, edges, ".-", linewidth=0.8, markersize=3, color=color, label=label)
        # The smallest edge is what the exponential bound on the training error needs.
        least = f"smallest, {number(self.smallest_edge_)}"
        axes[0].axhline(self.smallest_edge_, color=GREY, linestyle=":", label=least)
        axes[0].set(xlabel="round", ylabel="edge 1/2 - eps")
        axes[0].set_ylim(bottom=min(0.0, self.smallest_edge_))
        axes[0].legend()
        if n_panels == 2:
            styles = ["-", ":", "--"]
            if self.training_error is not None:
                rounds = np.arange(1, len(self.training_error) + 1)
                axes[1].plot(rounds, self.training_error, color=COLORS[1], label="training error")
            for (label, bound), style in zip(curves.items(), styles):
                rounds = np.arange(1, len(bound) + 1)
                axes[1].plot(rounds, bound, style, color="k", linewidth=1.0, label=label)
            axes[1].set(xlabel="round", ylabel="error", ylim=(0.0, None))
            axes[1].legend()
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
