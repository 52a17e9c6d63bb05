"""Variance of an ensemble by its number of members: from one fit, or from repeated draws.

An ensemble answers by `variance_decomposition(model, X)`, its members by their predictions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.parallel import delayed

from sklearn_ensemble_theory._typing import FittedPredictor, Predictor

from .._running import in_order
from .._typing import MatrixLike, RandomStateLike
from ..ensembles._ensemble import Ensemble, HasEnsemble
from ..ensembles._jackknife import member_blocks
from ._plotting import AXES, COLORS, as_axes, documented, places_of, pyplot, set_value_axis
from ._repeated_fits import (
    check_arguments,
    clone_with,
    drawn,
    fitted_clone,
    jackknife_error,
    parameter_values,
    seeds_of,
    variance_over_draws,
)
from ._spread_of_members import variance_decomposition

TEXTS = {
    **AXES,
    "axes": """
        axes : sequence of matplotlib.axes.Axes, default=None
            Axes to draw on, three for several ensembles or values; a new figure by default.
        """,
    "of_axes": """
        Parameters
        ----------
        %(axes)s
        """,
    "points": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points over which variances are averaged.
        """,
}
# Groups of members, at least, whose means are compared.
LEAST_GROUPS = 4


def check_ensemble(candidate: object) -> None:
    """Raise a TypeError unless this is bagging or a forest of this package, fitted or not."""
    if not hasattr(type(candidate), "ensemble_"):
        raise TypeError(
            "estimator must be a bagging ensemble or a forest of this package, for "
            f"variance_decomposition; got {type(candidate).__name__}."
        )


def numbers_of_members(n_members: int) -> np.ndarray:
    """1, 2, 5, 10, 20, 50, ... and the number itself."""
    # About evenly spaced on the logarithmic axis of the figure.
    steps = [k * 10**e for e in range(len(str(n_members))) for k in (1, 2, 5)]
    return np.array([*(b for b in steps if b < n_members), n_members])


def member_predictions_at(ensemble: Ensemble, X: Any) -> np.ndarray:
    """Return the predictions of the members, of shape (B, rows times outputs or classes)."""
    # Outputs and classes count as further points: all that follows is averaged over them.
    chunks = member_blocks(ensemble, ensemble.check(X))
    return np.concatenate([part.reshape(len(part), -1) for part in chunks], axis=1)


class _Average(HasEnsemble, FittedPredictor, Protocol):
    """A fitted ensemble of this package whose mean predicts."""


def variance_of_one_fit(estimator: _Average, X: Any) -> Bunch:
    """sigma², rho and variances by number of members, from one fitted ensemble."""
    if len(getattr(estimator, "estimators_", range(LEAST_GROUPS))) < LEAST_GROUPS:
        raise ValueError(f"estimator must have at least {LEAST_GROUPS} members.")
    parts = variance_decomposition(estimator, X)
    # Means over the points before the ratio: correlations at points of small variance are noise.
    sigma2, limit = float(parts.sigma2.mean()), float((parts.rho * parts.sigma2).mean())
    predictions = member_predictions_at(estimator.ensemble_, X)
    numbers = numbers_of_members(len(predictions))
    # The variance between fewer groups would itself be mostly noise.
    numbers = numbers[numbers <= len(predictions) // LEAST_GROUPS]
    variance, errors = [], []
    # Means of disjoint groups of b members differ by what the draws of the members add.
    for b in numbers:
        groups = len(predictions) // b
        means = predictions[: groups * b].reshape(groups, b, -1).mean(axis=1)
        spread, without = variance_over_draws(means)
        variance.append(limit + spread.mean())
        errors.append(jackknife_error(without))
    return Bunch(
        sigma2=sigma2,
        rho=limit / sigma2 if sigma2 > 0 else 0.0,
        n_members=numbers,
        variance=np.array(variance),
        standard_error=np.array(errors),
        largest=len(predictions),
    )


def variance_by_draws(
    estimator: Predictor, make_data: Callable[..., Any], X_test, seeds: np.ndarray, n_jobs
) -> Bunch:
    """sigma², rho and variances by number of members, from fits to independent training sets.

    With the predictions of B members for each of R sets, the variance between the sets of the mean
    of the first b members is unbiased for rho sigma² + (1 - rho) sigma² / b, and the mean variance
    within the sets for (1 - rho) sigma².
    """
    tasks = (
        delayed(_means_of_one_draw)(estimator, make_data, X_test, tuple(pair))
        for pair in seeds.tolist()
    )
    found = list(in_order(tasks, n_jobs=n_jobs))
    numbers = found[0][0]
    by_number = np.stack([means for _, means, _ in found], axis=1)  # (numbers, R, m)
    within = float(np.mean([spread for *_, spread in found]))
    variance, errors = [], []
    for means in by_number:
        between, without = variance_over_draws(means)
        variance.append(between.mean())
        errors.append(jackknife_error(without))
    largest = int(numbers[-1])
    # What more members cannot remove is left of the variance of all of them.
    limit = float(variance[-1] - within / largest)
    sigma2 = limit + within
    return Bunch(
        sigma2=sigma2,
        rho=limit / sigma2 if sigma2 > 0 else 0.0,
        n_members=numbers,
        variance=np.array(variance),
        standard_error=np.array(errors),
        largest=largest,
    )


def _means_of_one_draw(
    estimator: Predictor, make_data, X_test, seeds: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, float]:
    """(numbers b, means of the first b members, mean variance between the members)."""
    X, y, _ = drawn(make_data, seeds[0])
    predictions = member_predictions_at(fitted_clone(estimator, X, y, seeds[1]).ensemble_, X_test)
    numbers = numbers_of_members(len(predictions))
    # The first b members, for all b at once.
    means = np.cumsum(predictions, axis=0)[numbers - 1] / numbers[:, None]
    return numbers, means, float(predictions.var(axis=0, ddof=1).mean())


# --- the figure -----------------------------------------------------------------------------------


@documented(TEXTS)
@dataclass(eq=False, repr=False)
class VarianceDecompositionDisplay:
    r"""Variance of the mean of B members against B, split into its two parts.

    Over fresh training sets a member has variance sigma², and two members fitted to one training
    set have correlation rho. The mean of B members has variance

    .. math:: \rho\,\sigma^2 + (1 - \rho)\,\sigma^2 / B

    [Shah, §4.5]. The curve is drawn with the measured variances as points and its limit
    rho sigma² as a dotted line. For several ensembles, two further panels show sigma² and rho.

    Use `from_estimator`, `from_estimators` or `from_parameter` to create a display; the constructor
    stores its arguments.

    Parameters
    ----------
    results : sequence of Bunch
        For each ensemble `sigma2` and `rho`, means over the points; `n_members`, `variance` and
        `standard_error`, the measured variances by number of members; and `largest`, the number of
        members that were fitted.
    values : sequence
        The names of the ensembles, or the values of the parameter.
    param_name : str, default=None
        The name of the parameter.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes of shape (1,) or (3,)
        The axes, after `plot`.
    %(figure_)s

    See Also
    --------
    variance_decomposition : The numbers at each point.
    BiasVarianceDisplay : Bias and variance of any estimator.

    %(references_Shah)s

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import VarianceDecompositionDisplay
    >>> X, y = make_friedman1(200, random_state=0)
    >>> forests = {
    ...     p: RandomForestRegressor(600, max_features=p, random_state=0).fit(X[:100], y[:100])
    ...     for p in (1, 10)
    ... }
    >>> display = VarianceDecompositionDisplay.from_estimators(forests, X[100:])
    >>> [round(parts.rho, 1) for parts in display.results]
    [0.0, 0.2]
    """

    results: Sequence[Bunch]
    values: Sequence[Any]
    param_name: str | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Predictor, X: MatrixLike, *, axes: Any = None
    ) -> "VarianceDecompositionDisplay":
        """Decompose the variance of one fitted ensemble and draw it.

        The estimates use one training set: the standard error for rho sigma², and the
        spread of the members for the rest. The measured points replace the second term of the
        formula by the variance between the means of disjoint groups of B members, up to a quarter
        of them.

        Parameters
        ----------
        estimator : estimator
            A fitted bagging ensemble or forest of this package.
        %(points)s
        axes : sequence of one matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        %(returns_display)s

        Raises
        ------
        TypeError
            If the estimator is no bagging or forest of this package.
        ValueError
            If it has fewer than 4 members, and as in `variance_decomposition`.
        """
        return cls.from_estimators({"": estimator}, X, axes=axes)

    @classmethod
    def from_estimators(
        cls, estimators: Mapping[Any, Any], X: MatrixLike, *, axes: Any = None
    ) -> "VarianceDecompositionDisplay":
        """Decompose the variances of several fitted ensembles and draw them.

        Parameters
        ----------
        estimators : dict
            Fitted ensembles, by name.
        %(points)s
        %(axes)s

        %(returns_display)s

        Raises
        ------
        TypeError
            If `estimators` is not a dict, or one of them is no bagging or forest of this package.
        ValueError
            If there are none, one has fewer than 4 members, and as in `variance_decomposition`.
        """
        if not isinstance(estimators, Mapping):
            raise TypeError(
                f"estimators must be a dict of estimators, got {type(estimators).__name__}."
            )
        if not estimators:
            raise ValueError("estimators must have at least one estimator.")
        for estimator in estimators.values():
            check_ensemble(estimator)
        results = [variance_of_one_fit(estimator, X) for estimator in estimators.values()]
        return cls(results, list(estimators)).plot(axes)

    @classmethod
    def from_parameter(
        cls,
        estimator: Predictor,
        make_data: Callable[..., Any],
        *,
        param_name: str = "max_features",
        param_range: Sequence[Any],
        X_test: MatrixLike | None = None,
        n_repetitions: int = 20,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        axes: Any = None,
    ) -> "VarianceDecompositionDisplay":
        """Measure the variances over repeated draws of the training set and draw them.

        Parameters
        ----------
        estimator : estimator
            A bagging ensemble or forest; clones are fitted whose `random_state` gets new values.
        make_data : callable
            ``make_data(random_state=seed)`` returns a training set ``X, y``.
        param_name : str, default="max_features"
            The name of a parameter.
        param_range : sequence
            Its values.
        X_test : array-like of shape (n_test, n_features), default=None
            Points over which variances are averaged. None for one more draw.
        n_repetitions : int, default=20
            Number of training sets, at least 3.
        n_jobs : int, default=None
            Number of repetitions in parallel.
        random_state : int, RandomState instance or None, default=None
            Seed.
        %(axes)s

        %(returns_display)s

        Raises
        ------
        TypeError
            If the estimator is no bagging or forest of this package, or `make_data` is no
            function.
        ValueError
            If an argument is outside its domain.

        Notes
        -----
        The variance between training sets of the mean of the first B members is unbiased for every
        B. This variance for all members, and the variance within training sets, give rho and
        sigma². All values are fitted to the same training sets. An estimated rho can be slightly
        negative.
        """
        check_arguments(make_data, n_repetitions=(n_repetitions, 3))
        check_ensemble(estimator)
        values = parameter_values(estimator, param_name, param_range)
        test_seed, seeds = seeds_of(n_repetitions, random_state)
        points = drawn(make_data, test_seed)[0] if X_test is None else X_test
        results = [
            variance_by_draws(
                clone_with(estimator, param_name, value), make_data, points, seeds, n_jobs
            )
            for value in values
        ]
        return cls(results, values, param_name).plot(axes)

    def plot(self, axes: Any = None) -> "VarianceDecompositionDisplay":
        """Draw the curves with the measured points.

        %(of_axes)s

        %(returns_display)s

        Raises
        ------
        ValueError
            If there are not as many axes as panels.
        """
        plt = pyplot(type(self).__name__)
        n_panels = 1 if len(self.results) == 1 else 3
        if axes is None:
            _, axes = plt.subplots(
                1, n_panels, figsize=(2.5 + 3.4 * n_panels, 4.0), layout="constrained"
            )
        axes = as_axes(axes, n_panels, "axes")
        name = "" if self.param_name is None else f"{self.param_name} = "
        colors = COLORS * (1 + len(self.results) // len(COLORS))
        for parts, value, color in zip(self.results, self.values, colors):
            # The curve is the formula for all numbers of members; the points are measured.
            B = np.geomspace(1, parts.largest, 200)
            limit = parts.rho * parts.sigma2
            label = f"{name}{value}" or r"$\rho\sigma^2 + (1-\rho)\sigma^2/B$"
            axes[0].plot(B, limit + (parts.sigma2 - limit) / B, color=color, label=label)
            axes[0].axhline(limit, color=color, linestyle=":", linewidth=1.0)
            axes[0].errorbar(
                parts.n_members, parts.variance, parts.standard_error, fmt="o", ms=4, color=color
            )
        axes[0].set(xscale="log", xlabel="number of members B", ylabel="variance of the mean")
        axes[0].set_ylim(bottom=min(0.0, min(parts.rho * parts.sigma2 for parts in self.results)))
        axes[0].legend()
        if n_panels == 3:
            at = places_of(self.values)
            for ax, key, title in [
                (axes[1], "sigma2", r"variance of one member, $\sigma^2$"),
                (axes[2], "rho", r"correlation of two members, $\rho$"),
            ]:
                ax.plot(at, [parts[key] for parts in self.results], "o-", color="k")
                ax.set_ylabel(title)
                ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
                set_value_axis(ax, self.values, self.param_name or "ensemble")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
