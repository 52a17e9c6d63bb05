"""The scores of the held-out rows by the value of a parameter, and the values that are chosen."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._typing import Fitted

from ._plotting import AXES, COLORS, GREY, documented, own_axes, set_value_axis

NOT_OF_VALUES = ("mean_score", "standard_error")


TEXTS = {
    **AXES,
    "show_folds": """
        show_folds : bool, default=True
            Whether to draw the scores of each fold too.
        """,
}


def results_of(estimator: Fitted) -> Mapping[str, np.ndarray]:
    """`cv_results_` of a fitted model, without rounds at the end in which nothing changes."""
    results = getattr(estimator, "cv_results_", None)
    if results is None:
        raise TypeError(
            "estimator must have cv_results_, which a fit makes that chooses a parameter by "
            f'cross-validation, such as n_estimators="cv"; {type(estimator).__name__} has none.'
        )
    if "name" in results:
        raise TypeError(
            f"cv_results_ of {type(estimator).__name__} is a table of its members: use "
            "LeaderboardDisplay."
        )
    changes = np.flatnonzero(np.diff(np.asarray(results["mean_score"])))
    if "n_estimators" in results and len(changes):
        # Additive models repeat the last row up to the largest number of rounds.
        n = max(int(changes[-1]) + 2, int(getattr(estimator, "n_estimators_", 0)))
        results = {name: values[:n] for name, values in results.items()}
    return results


@documented(TEXTS)
@dataclass(eq=False, repr=False)
class CVPathDisplay:
    """Held-out scores against a parameter that the fit has chosen by cross-validation.

    The mean of the folds with a band of one standard error, and the value of the best mean. For
    numbers of rounds the display also shows the fewest rounds whose mean is at most one standard
    error behind the best one [Hastie, Tibshirani and Friedman, 2009, section 7.10]. The folds share
    most of their training rows and differ in level rather than in form. The standard error is for
    the level: values within the band may be clearly worse than the best value on the same folds.

    %(use_from_estimator)s

    Parameters
    ----------
    results : dict of ndarray
        `cv_results_`: under the name of the parameter its values; "mean_score", "standard_error"
        and, for each fold, "split0_score", ... Only the first two are required.
    chosen : float, default=None
        The value of the model.
    greater_is_better : bool, default=False
        Whether the scores are metrics of scikit-learn instead of losses.

    Attributes
    ----------
    parameter_ : str
        The name of the parameter.
    best_ : float
        The value of the best mean.
    one_standard_error_ : float or None
        The fewest rounds within one standard error of it; None for other parameters.
    %(drawn)s

    See Also
    --------
    CVRounds : The options of ``n_estimators="cv"``.

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
    >>> display.best_ == model.n_estimators_, display.one_standard_error_ < display.best_
    (True, True)
    """

    results: Mapping[str, np.ndarray]
    chosen: float | None = None
    greater_is_better: bool = False

    @classmethod
    def from_estimator(
        cls, estimator: Fitted, *, show_folds: bool = True, ax: Any = None
    ) -> "CVPathDisplay":
        """Draw the choice of a fitted model.

        Parameters
        ----------
        estimator : estimator
            Any fitted model with `cv_results_`, such as gradient boosting or an additive model
            with ``n_estimators="cv"``.
        %(show_folds)s
        %(ax)s

        %(returns_display)s

        Raises
        ------
        TypeError
            If the estimator has no `cv_results_`.
        """
        check_is_fitted(estimator)
        results = results_of(estimator)
        name = parameter_of(results)
        # Of a mean of the folds' models the rounds chosen are fewer than its members.
        chosen = getattr(estimator, "n_rounds_", None) if name == "n_estimators" else None
        chosen = getattr(estimator, f"{name}_", None) if chosen is None else chosen
        options: Any = getattr(estimator, name, None)
        owner = options if hasattr(options, "scoring") else estimator
        scoring = getattr(owner, "scoring", "loss")
        return cls(results, chosen, scoring != "loss").plot(ax, show_folds=show_folds)

    def plot(self, ax: Any = None, *, show_folds: bool = True) -> "CVPathDisplay":
        """Draw the scores.

        The vertical axis of rounds begins with what is drawn after a quarter of the rounds chosen:
        the first rounds are far from all others.

        Parameters
        ----------
        %(ax)s
        %(show_folds)s

        %(returns_display)s
        """
        name = self.parameter_ = parameter_of(self.results)
        values, mean = (np.asarray(self.results[key]) for key in (name, "mean_score"))
        error = np.asarray(self.results.get("standard_error", np.full(len(mean), np.nan)))
        folds = [self.results[key] for key in self.results if key.startswith("split")]
        are_rounds = name == "n_estimators"
        signed = -mean if self.greater_is_better else mean
        best = int(np.nanargmin(signed))
        self.best_, self.one_standard_error_ = values[best].item(), None
        points = [(best, "o", COLORS[1], "maximum" if self.greater_is_better else "minimum")]
        if are_rounds and np.isfinite(error[best]):
            fewest = int(np.argmax(signed <= signed[best] + error[best]))
            self.one_standard_error_ = values[fewest].item()
            points.insert(0, (fewest, "s", COLORS[2], "one-standard-error rule"))
        ax = own_axes(self, ax)
        color = COLORS[0]
        low, high = mean - error, mean + error
        if show_folds and folds:
            ax.plot(values, np.transpose(folds), color=GREY, linewidth=0.7)
            ax.plot([], [], color=GREY, linewidth=0.7, label="folds")
        if np.isfinite(error).any():
            band = {"color": color, "alpha": 0.25, "linewidth": 0}
            ax.fill_between(values, low, high, label="one standard error", **band)
        ax.plot(values, mean, color=color, linewidth=2, label="mean of the folds")
        for at, marker, its_color, rule in points:
            label = f"{rule}: {values[at]:.6g}"
            ax.plot(values[at], mean[at], marker, color=its_color, ls="", label=label, zorder=3)
        chosen = self.best_ if self.chosen is None else self.chosen
        if np.ndim(chosen) == 0:
            ax.axvline(chosen, color=GREY, linestyle=":", linewidth=1, zorder=0)
        if are_rounds:
            drawn = np.stack([low, high, mean, *(folds if show_folds else ())])
            drawn = drawn[:, values >= chosen // 4]
            gap = 0.05 * (np.nanmax(drawn) - np.nanmin(drawn)) or 1.0
            ends = np.nanmin(drawn) - gap, np.nanmax(drawn) + gap
            ax.set(xlim=(0, values[-1]), ylim=ends, xlabel="rounds")
        else:
            set_value_axis(ax, values.tolist(), name)
        ax.set_ylabel("score of held-out rows" if self.greater_is_better else "loss, held out")
        ax.legend(fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def parameter_of(results: Mapping[str, np.ndarray]) -> str:
    """The name under which `cv_results_` has the values of the parameter."""
    names = [key for key in results if key not in NOT_OF_VALUES and not key.startswith("split")]
    if not names or "mean_score" not in results:
        raise ValueError(
            "results must have the values of a parameter under its name, and mean_score; got "
            f"{sorted(results)}."
        )
    return names[0]
