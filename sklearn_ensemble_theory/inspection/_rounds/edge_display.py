"""A figure of the edges of weak learners, and of what follows for the training error."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._typing import MatrixLike
from sklearn_ensemble_theory.inspection._plotting import COLORS, GREY, as_axes, number, pyplot
from sklearn_ensemble_theory.inspection._rounds.staged_margins import (
    checked_weight,
    codes_of,
    n_rows_of,
)


class EdgeDisplay:
    """Edges of the weak learners by round, and the training error with its bounds.

    The edge of round t is gamma_t = 1/2 - eps_t, where eps_t is the weighted error of its weak
    learner. The training error of AdaBoost is at most the product of 2 sqrt(eps_t (1 - eps_t)), and
    at most exp(-2 gamma² T) if all edges are at least gamma [Ghoshdastidar, theorem En.4].

    Use `from_estimator` to create a display; the constructor stores its arguments.

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
    figure_ : matplotlib.figure.Figure
        The figure, after `plot`.
    smallest_edge_ : float
        The smallest edge, after `plot`.

    See Also
    --------
    AdaBoostClassifier : Boosting with a bound on the training error by the edges.
    MarginDisplay : The margins of the rows.

    References
    ----------
    D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods". Technical
    University of Munich.

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

    def __init__(
        self,
        edges: Mapping[str, np.ndarray],
        training_error: np.ndarray | None = None,
        bounds: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.edges = edges
        self.training_error = training_error
        self.bounds = bounds

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
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
            classes and `algorithm="discrete"` there are none.
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            The training rows, for a curve of the training error; `y` is required with it.
        y : array-like of shape (n_samples,), default=None
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights that the estimator was fitted with.
        axes : sequence of matplotlib.axes.Axes, default=None
            Axes to draw on, one for each panel; a new figure by default.

        Returns
        -------
        display : EdgeDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If the estimator has no `edges_`.
        ValueError
            If one of `X` and `y` is given without the other, `sample_weight` without them, or
            their lengths differ.

        Notes
        -----
        The cost is that of the predictions after each round.
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
                    for found in estimator.staged_predict(X)
                ]
            )
        if isinstance(edges, list):  # one problem for each class
            curves = {f"class {label}": g for label, g in zip(estimator.classes_, edges)}
        else:
            curves = {"edge": np.asarray(edges)}
        bounds: dict[str, np.ndarray] = {}
        if hasattr(estimator, "_training_error_bounds"):
            bounds = estimator._training_error_bounds()
        return cls(curves, error, bounds).plot(axes)

    def plot(self, axes: Any = None) -> "EdgeDisplay":
        """Draw the edges, and the training error with its bounds.

        Parameters
        ----------
        axes : sequence of matplotlib.axes.Axes, default=None
            Axes to draw on, one for each panel; a new figure by default.

        Returns
        -------
        self : EdgeDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            If there are not as many axes as panels.
        """
        plt = pyplot(type(self).__name__)
        curves = dict(self.bounds or {})
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
