"""The members of a super learner or stack with their held-out losses and weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._typing import Fitted

from ._importances import NAME_LENGTH, axes_of_bars
from ._plotting import AXES, COLORS, GREY, decimals_of, documented, number, shortened

# Losses that differ by a larger factor are on a logarithmic axis.
LARGEST_RATIO = 5.0
# Where the columns of numbers end, in points to the right of the axes.
COLUMN_ENDS = (44, 92)


def table_of(estimator: Fitted) -> tuple[dict[str, np.ndarray], bool]:
    """The columns that are drawn, the best member first, and whether scores are metrics."""
    board = getattr(estimator, "leaderboard_", None)
    if board is not None:
        return dict(board), False
    results = getattr(estimator, "cv_results_", {})
    if "name" not in results or "weight" not in results:
        raise TypeError(
            "estimator must have a leaderboard_, as super learners have, or weights that are "
            "learned, as stacks have with final_estimator='simplex'; "
            f"{type(estimator).__name__} has neither."
        )
    if "output" in results:
        raise ValueError(
            f"{type(estimator).__name__} has several outputs, each with weights of its own: give "
            "LeaderboardDisplay the rows of export.frame of one of them."
        )
    scoring = getattr(getattr(estimator, "final_estimator_", None), "metric", None)
    greater_is_better = scoring is not None
    means = np.asarray(results["mean_score"])
    order = np.argsort(-means if greater_is_better else means, kind="stable")
    found = {"name": results["name"], "loss": means}
    found |= {key: results[key] for key in ("standard_error", "weight")}
    return {key: np.asarray(values)[order] for key, values in found.items()}, greater_is_better


@documented(AXES)
@dataclass(eq=False, repr=False)
class LeaderboardDisplay:
    """Leaderboard of the members of a super learner or stack, by their held-out loss.

    A point for each member, the best at the top, with one standard error on both sides. Beside it
    are the weight in the combination and the seconds of the fit. Members without a weight are grey.
    All losses are of the same rows, so the difference of two members is mostly more certain than
    their standard errors suggest. The loss of the combination is a little too small, because its
    weights are chosen for these rows.

    %(use_from_estimator)s

    Parameters
    ----------
    leaderboard : dict of arrays
        "name", "loss", "standard_error" and "weight" of each member, and "seconds" if they are
        known; a data frame will do too.
    held_out_loss : float, default=None
        The loss of the combination for the same rows, for a vertical line.
    greater_is_better : bool, default=False
        Whether "loss" is a metric of scikit-learn instead.

    Attributes
    ----------
    points_ : matplotlib.collections.PathCollection
        The points from the top to the bottom, after `plot`.
    errors_ : matplotlib.collections.LineCollection
        Their standard errors.
    %(drawn)s

    See Also
    --------
    sklearn_ensemble_theory.export.frame : The same as a data frame.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import SuperLearnerRegressor
    >>> from sklearn_ensemble_theory.inspection import LeaderboardDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SuperLearnerRegressor(["forest", "linear"], random_state=0).fit(X, y)
    >>> display = LeaderboardDisplay.from_estimator(model)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['linear', 'forest']
    """

    leaderboard: Mapping[str, Any]
    held_out_loss: float | None = None
    greater_is_better: bool = False

    @classmethod
    def from_estimator(cls, estimator: Fitted, *, ax: Any = None) -> "LeaderboardDisplay":
        """Draw the members of a fitted model.

        Parameters
        ----------
        estimator : estimator
            A fitted :class:`SuperLearnerRegressor` or :class:`SuperLearnerClassifier`, or a stack
            that learns weights, such as one with ``final_estimator="simplex"``.
        %(ax)s

        %(returns_display)s

        Raises
        ------
        TypeError
            If the estimator has no members with weights.
        ValueError
            If a stack has several outputs.
        """
        check_is_fitted(estimator)
        board, greater_is_better = table_of(estimator)
        own = getattr(estimator, "held_out_loss_", None)
        return cls(board, own, greater_is_better).plot(ax)

    def plot(self, ax: Any = None) -> "LeaderboardDisplay":
        """Draw the points, with their weights and seconds.

        %(of_plot)s

        Raises
        ------
        ValueError
            If a column of the leaderboard is missing.
        """
        missing = {"name", "loss", "standard_error", "weight"} - set(self.leaderboard)
        if missing:
            raise ValueError(
                "leaderboard must have name, loss, standard_error and weight of each member; it "
                f"has no {' and no '.join(sorted(missing))}."
            )
        names = [shortened(name, NAME_LENGTH) for name in self.leaderboard["name"]]
        loss, error, weight = (
            np.asarray(self.leaderboard[key], dtype=float)
            for key in ("loss", "standard_error", "weight")
        )
        ax = axes_of_bars(self, ax, names)
        places = np.arange(len(names))
        colors = [COLORS[0] if each != 0 else GREY for each in weight]
        self.points_ = ax.scatter(loss, places, color=colors, zorder=3)
        self.errors_ = ax.hlines(places, loss - error, loss + error, colors=colors, linewidth=2)
        combined = self.held_out_loss
        if combined is not None:
            ax.axvline(combined, color=COLORS[1], linestyle="--", label="combination")
            ax.annotate(
                "combination",
                (combined, 1.0),
                xytext=(0, 3),
                xycoords=ax.get_xaxis_transform(),
                textcoords="offset points",
                horizontalalignment="center",
                fontsize="small",
                color=COLORS[1],
            )
        drawn = [*loss] if combined is None else [*loss, combined]
        if min(drawn) > 0 and max(drawn) > LARGEST_RATIO * min(drawn):
            ax.set_xscale("log")
        columns = {"weight": [number(each, 2) for each in weight]}
        if "seconds" in self.leaderboard:
            seconds = np.asarray(self.leaderboard["seconds"], dtype=float)
            columns["seconds"] = [number(each, decimals_of(seconds)) for each in seconds]
        for end, (head, texts) in zip(COLUMN_ENDS, columns.items()):
            for place, text in [(-0.75, head), *zip(places, texts)]:
                ax.annotate(
                    text,
                    (1.0, place),
                    xytext=(end, 0),
                    xycoords=ax.get_yaxis_transform(),
                    textcoords="offset points",
                    horizontalalignment="right",
                    verticalalignment="center",
                    fontsize="small",
                    annotation_clip=False,
                )
        ax.set_yticks(places, names)
        ax.tick_params(axis="y", length=0)
        ax.grid(axis="y", color="0.9")
        ax.set_axisbelow(True)
        # Downwards, as a list is read.
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.set_title(self._title(names[0], float(loss[0])), loc="left", pad=18)
        what = "score" if self.greater_is_better else "loss"
        ax.set_xlabel(f"{what} of held-out rows, with one standard error")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _title(self, best: str, loss: float) -> str:
        """What the figure shows, in a sentence."""
        combined = self.held_out_loss
        if combined is None or not loss > 0:
            return f"The best member is {best}"
        gain = (loss - combined) / loss
        if gain < 0.0005:
            return f"The combination is about as good\nas its best member, {best}"
        share = f"{100 * gain:.1f} %" if gain < 0.1 else f"{100 * gain:.0f} %"
        return f"The combination loses {share} less\nthan its best member, {best}"
