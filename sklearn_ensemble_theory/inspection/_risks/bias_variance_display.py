"""A figure of bias and variance, of several estimators or along a parameter."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from sklearn_ensemble_theory._typing import RandomStateLike
from sklearn_ensemble_theory.inspection._plotting import COLORS, pyplot
from sklearn_ensemble_theory.inspection._risks.bias_variance import bias_variance_decomposition
from sklearn_ensemble_theory.inspection._risks.repeated_fits import (
    clone_with,
    one_seed,
    parameter_values,
)
from sklearn_ensemble_theory.inspection._risks.value_axis import places_of, set_value_axis

# The parts from below, and their colours.
STACK = {"noise": "0.75", "bias": COLORS[0], "variance": COLORS[1]}
LABELS = {
    "squared": {
        "noise": "noise",
        "bias": "squared bias",
        "variance": "variance",
        "error": "expected squared error",
    },
    "zero_one": {
        "noise": "noise",
        "bias": "bias",
        "variance": "net variance",
        "error": "expected 0-1 loss",
    },
}


class BiasVarianceDisplay:
    """Noise, bias and variance of estimators: stacked bars, or curves along a parameter.

    Bars have the sum of the parts as their height, except for negative parts, such as a net
    variance below 0, which go down from 0. Points are the expected errors. All have bars or bands
    of one standard error.

    Use `from_estimators` or `from_parameter` to create a display; the constructor stores its
    arguments.

    Parameters
    ----------
    results : sequence of Bunch
        Results of `bias_variance_decomposition`.
    values : sequence
        The names of the estimators, or the values of the parameter.
    param_name : str, default=None
        The name of the parameter; None for a figure of several estimators.
    loss : {"squared", "zero_one"}, default="squared"
        The loss.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes, after `plot`.
    figure_ : matplotlib.figure.Figure
        The figure, after `plot`.

    See Also
    --------
    bias_variance_decomposition : The numbers that are drawn.
    ExcessRiskDisplay : Approximation, estimation and optimisation error.

    References
    ----------
    P. Domingos (2000). "A unified bias-variance decomposition and its applications". *Proceedings
    of the 17th International Conference on Machine Learning*, 231-238.

    Examples
    --------
    >>> from functools import partial
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from sklearn_ensemble_theory.datasets import make_sine_regression
    >>> from sklearn_ensemble_theory.inspection import BiasVarianceDisplay
    >>> display = BiasVarianceDisplay.from_parameter(
    ...     DecisionTreeRegressor(),
    ...     partial(make_sine_regression, 100, return_mean=True),
    ...     param_name="max_depth",
    ...     param_range=[1, 3, 8],
    ...     n_repetitions=20,
    ...     random_state=0,
    ... )
    >>> [round(parts.variance, 2) for parts in display.results]
    [0.1, 0.05, 0.08]
    """

    def __init__(
        self,
        results: Sequence[Bunch],
        values: Sequence[Any],
        param_name: str | None = None,
        loss: Literal["squared", "zero_one"] = "squared",
    ) -> None:
        self.results = results
        self.values = values
        self.param_name = param_name
        self.loss = loss

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, BaseEstimator],
        make_data: Callable[..., Any],
        *,
        X_test: ArrayLike | None = None,
        target: Callable[[Any], ArrayLike] | ArrayLike | None = None,
        noise: float | ArrayLike | Callable[[Any], ArrayLike] | None = None,
        loss: Literal["squared", "zero_one"] = "squared",
        n_repetitions: int = 100,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        ax: Any = None,
    ) -> "BiasVarianceDisplay":
        """Decompose the errors of several estimators and draw them as bars.

        All are fitted to the same training sets and predict the same test points.

        Parameters
        ----------
        estimators : dict of str to estimator
            The estimators, by name.
        make_data : callable
            Draws a training set; see `bias_variance_decomposition`, as for the other arguments.
        X_test : array-like of shape (n_test, n_features), default=None
            Test points.
        target : callable or array-like of shape (n_test,), default=None
            The regression function or Bayes rule.
        noise : float, array-like or callable, default=None
            The variance of the noise, or the probability of another class.
        loss : {"squared", "zero_one"}, default="squared"
            The loss.
        n_repetitions : int, default=100
            Number of training sets.
        n_jobs : int, default=None
            Number of repetitions in parallel.
        random_state : int, RandomState instance or None, default=None
            Seed.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : BiasVarianceDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If `estimators` is not a dict, or `make_data` not a function.
        ValueError
            If there are no estimators, and as in `bias_variance_decomposition`.
        """
        if not isinstance(estimators, Mapping):
            raise TypeError(
                f"estimators must be a dict of estimators, got {type(estimators).__name__}."
            )
        if not estimators:
            raise ValueError("estimators must have at least one estimator.")
        seed = one_seed(random_state)
        results = [
            bias_variance_decomposition(
                estimator,
                make_data,
                X_test=X_test,
                target=target,
                noise=noise,
                loss=loss,
                n_repetitions=n_repetitions,
                n_jobs=n_jobs,
                random_state=seed,
            )
            for estimator in estimators.values()
        ]
        return cls(results, list(estimators), None, loss).plot(ax)

    @classmethod
    def from_parameter(
        cls,
        estimator: BaseEstimator,
        make_data: Callable[..., Any],
        *,
        param_name: str,
        param_range: Sequence[Any],
        X_test: ArrayLike | None = None,
        target: Callable[[Any], ArrayLike] | ArrayLike | None = None,
        noise: float | ArrayLike | Callable[[Any], ArrayLike] | None = None,
        loss: Literal["squared", "zero_one"] = "squared",
        n_repetitions: int = 100,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        ax: Any = None,
    ) -> "BiasVarianceDisplay":
        """Decompose the error for several values of a parameter and draw the parts as curves.

        All values are fitted to the same training sets and predict the same test points.

        Parameters
        ----------
        estimator : estimator
            The estimator.
        make_data : callable
            Draws a training set; see `bias_variance_decomposition`, as for the other arguments.
        param_name : str
            The name of a parameter of the estimator.
        param_range : sequence
            Its values.
        X_test : array-like of shape (n_test, n_features), default=None
            Test points.
        target : callable or array-like of shape (n_test,), default=None
            The regression function or Bayes rule.
        noise : float, array-like or callable, default=None
            The variance of the noise, or the probability of another class.
        loss : {"squared", "zero_one"}, default="squared"
            The loss.
        n_repetitions : int, default=100
            Number of training sets.
        n_jobs : int, default=None
            Number of repetitions in parallel.
        random_state : int, RandomState instance or None, default=None
            Seed.
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        display : BiasVarianceDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If `make_data` is not a function.
        ValueError
            If `param_name` is not a parameter of the estimator, `param_range` is empty, and as in
            `bias_variance_decomposition`.
        """
        values = parameter_values(estimator, param_name, param_range)
        seed = one_seed(random_state)
        results = [
            bias_variance_decomposition(
                clone_with(estimator, param_name, value),
                make_data,
                X_test=X_test,
                target=target,
                noise=noise,
                loss=loss,
                n_repetitions=n_repetitions,
                n_jobs=n_jobs,
                random_state=seed,
            )
            for value in values
        ]
        return cls(results, values, param_name, loss).plot(ax)

    def plot(self, ax: Any = None) -> "BiasVarianceDisplay":
        """Draw the parts.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.

        Returns
        -------
        self : BiasVarianceDisplay
            The display, drawn.
        """
        plt = pyplot(type(self).__name__)
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        draw = self._bars if self.param_name is None else self._curves
        draw(ax)
        ax.axhline(0.0, color="k", linewidth=0.8)
        ax.set_ylabel(LABELS[self.loss]["error"])
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _part(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of a part and their standard errors, for all results."""
        values = np.array([result[name] for result in self.results])
        return values, np.array([result.standard_error[name] for result in self.results])

    def _bars(self, ax: Any) -> None:
        at = np.arange(len(self.results))
        top, bottom = np.zeros(len(at)), np.zeros(len(at))
        for name, color in STACK.items():
            values, _ = self._part(name)
            start = np.where(values >= 0, top, bottom)
            label = LABELS[self.loss][name]
            ax.bar(at, values, 0.6, bottom=start, color=color, alpha=0.8, label=label)
            top, bottom = top + np.maximum(values, 0), bottom + np.minimum(values, 0)
        values, error = self._part("error")
        label = LABELS[self.loss]["error"]
        ax.errorbar(at, values, error, fmt="o", color="k", capsize=4, label=label)
        ax.set_xticks(at, [str(name) for name in self.values])

    def _curves(self, ax: Any) -> None:
        at = places_of(self.values)
        for name, color in {**STACK, "error": "k"}.items():
            values, error = self._part(name)
            color = "0.5" if name == "noise" else color
            ax.plot(at, values, ".-", color=color, label=LABELS[self.loss][name])
            ax.fill_between(at, values - error, values + error, color=color, alpha=0.2, lw=0)
        set_value_axis(ax, self.values, str(self.param_name))
