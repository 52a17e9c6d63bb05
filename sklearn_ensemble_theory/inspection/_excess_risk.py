"""The parts of the excess risk over nested classes, by repeated draws: numbers and figure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch
from sklearn.utils.parallel import delayed

from sklearn_ensemble_theory._typing import FittedPredictor

from .._running import called, in_order
from .._typing import ArrayLike, RandomStateLike
from ._plotting import AXES, COLORS, documented, own_axes, places_of, set_value_axis
from ._repeated_fits import (
    LARGEST,
    check_arguments,
    clone_with,
    drawn,
    fitted_clone,
    parameter_values,
    seeds_of,
    stacked_draws,
)


def _squared(predictions: np.ndarray, y: np.ndarray, target: np.ndarray) -> np.ndarray:
    # The noise of y has the same effect on all risks, so that it need not be drawn.
    difference = predictions.astype(float) - target.astype(float)
    if not np.all(np.abs(difference) < LARGEST):
        raise ValueError(f"predictions and target must be finite and below {LARGEST:g}.")
    return np.asarray(difference**2)


def _zero_one(predictions: np.ndarray, y: np.ndarray, target: np.ndarray) -> np.ndarray:
    # Differences row by row: errors that the target makes too cancel, with their noise.
    return (predictions != y).astype(float) - (target != y)


# The loss of each row minus that of the target, from (predictions, y, target).
RISKS: dict[str, Callable[..., np.ndarray]] = {"squared": _squared, "zero_one": _zero_one}


def excess_risks(
    minimizers: Sequence[BaseEstimator],
    algorithms: Sequence[BaseEstimator] | None,
    make_data: Callable[..., Any],
    *,
    target: Callable[[Any], Any],
    loss: str,
    approximation: np.ndarray | None,
    n_reference: int,
    n_test: int,
    seeds: tuple[int, np.ndarray],
    n_jobs: int | None,
) -> Bunch:
    """Estimate the three errors of each class, with their standard errors.

    Each class has its empirical risk minimiser, and the algorithm that is used instead of it.
    `approximation` are excess risks of the best of each class, None to find them by a fit to many
    rows; the seeds are those of the test set and of R repetitions.
    """
    # One test set for all fits, so that its luck is the same for all classes.
    test_seed, repeated = seeds
    X_test, y_test = stacked_draws(make_data, n_test, test_seed)
    optimal = _targets(target, X_test)

    def excess(model: FittedPredictor) -> np.ndarray:
        predictions = np.asarray(model.predict(X_test))
        if predictions.shape != optimal.shape:
            raise ValueError(
                "estimator must predict one number or label for each row; got the shape "
                f"{predictions.shape}."
            )
        return RISKS[loss](predictions, y_test, optimal)

    approximation_error = np.zeros(len(minimizers))
    if approximation is None:
        X, y = stacked_draws(make_data, n_reference, test_seed + 1)
        # For the squared loss the best of the class is the same without noise.
        y = _targets(target, X) if loss == "squared" else y
        found = [excess(fitted_clone(m, X, y, test_seed)) for m in minimizers]
        approximation = np.array([losses.mean() for losses in found])
        # Only the test rows count as random: the many training rows stand for the distribution.
        scale = np.sqrt(len(y_test))
        approximation_error = np.array([losses.std() / scale for losses in found])
    # One training set serves all classes: differences between them vary less than each.
    tasks = (
        delayed(_risks_of_one_draw)(minimizers, algorithms, make_data, excess, tuple(pair))
        for pair in repeated.tolist()
    )
    risks = np.stack(list(in_order(tasks, n_jobs=n_jobs, prefer="threads")))  # (R, 2, n_classes)
    R = len(risks)
    # Differences within a training set, whose own luck cancels.
    gap = risks[:, 1] - risks[:, 0]
    return Bunch(
        approximation=approximation,
        estimation=risks[:, 0].mean(axis=0) - approximation,
        optimization=None if algorithms is None else gap.mean(axis=0),
        standard_error=Bunch(
            approximation=approximation_error,
            estimation=risks[:, 0].std(axis=0, ddof=1) / np.sqrt(R),
            optimization=None if algorithms is None else gap.std(axis=0, ddof=1) / np.sqrt(R),
            total=risks[:, 1].std(axis=0, ddof=1) / np.sqrt(R),
        ),
    )


def _targets(target: Callable[[Any], Any], X) -> np.ndarray:
    found = np.asarray(called("target", target, X))
    if found.shape != (len(X),):
        raise ValueError(f"target must return a value for each row of X; got {found.shape}.")
    return found


def _risks_of_one_draw(
    minimizers: Sequence[Any],
    algorithms: Sequence[Any] | None,
    make_data,
    excess: Callable[[Any], np.ndarray],
    seeds: tuple[int, int],
) -> np.ndarray:
    """Excess risks of the minimisers and of the algorithms, fitted to one training set."""
    X, y, _ = drawn(make_data, seeds[0])

    def of(models: Sequence[Any]) -> list[float]:
        return [float(excess(fitted_clone(m, X, y, seeds[1])).mean()) for m in models]

    # Without another algorithm the minimisers are the algorithms, and fits are not repeated.
    exact = of(minimizers)
    return np.array([exact, exact if algorithms is None else of(algorithms)])


# --- the figure -----------------------------------------------------------------------------------


@documented(AXES)
@dataclass(eq=False, repr=False)
class ExcessRiskDisplay:
    r"""Approximation, estimation and optimisation error over nested classes, as stacked areas.

    Let R be the risk, h* the function of least risk, h_H the best function of a class, ĥ the
    minimiser of the empirical risk in the class, and h̃ the function that an algorithm returns. The
    excess risk of h̃ is the sum of three errors [DS-GA 1003, lecture 8]:

    .. math:: R(\tilde h) - R(h^*) = \underbrace{R(\tilde h) - R(\hat h)}_{\text{optimisation}}
        + \underbrace{R(\hat h) - R(h_H)}_{\text{estimation}}
        + \underbrace{R(h_H) - R(h^*)}_{\text{approximation}} .

    The second and third do not depend on the algorithm. The approximation error decreases with the
    size of the class and the estimation error mostly increases. The optimisation error is measured
    by the risk and not by the empirical risk, so it can be negative: stopping before the minimum is
    a form of regularisation.

    Use `from_parameter` to create a display; the constructor stores its arguments.

    Parameters
    ----------
    values : sequence
        The size of each class: the values of the parameter.
    param_name : str
        The name of the parameter.
    approximation, estimation : ndarray of shape (n_classes,)
        Means of the errors over the training sets.
    optimization : ndarray of shape (n_classes,), default=None
        The same; None where the algorithm finds the minimiser.
    standard_error : Bunch of ndarray of shape (n_classes,), default=None
        Standard errors of `approximation`, `estimation`, `optimization` and of their sum, `total`.

    %(attributes_drawn)s

    See Also
    --------
    BiasVarianceDisplay : Bias and variance instead.

    %(references_DSGA)s

    Examples
    --------
    >>> import numpy as np
    >>> from functools import partial
    >>> from sklearn_ensemble_theory import HistogramRegressor
    >>> from sklearn_ensemble_theory.datasets import make_tent
    >>> from sklearn_ensemble_theory.inspection import ExcessRiskDisplay
    >>> display = ExcessRiskDisplay.from_parameter(
    ...     HistogramRegressor(),
    ...     partial(make_tent, 100),
    ...     target=lambda X: 1 - np.abs(2 * np.abs(X[:, 0]) - 1),
    ...     param_name="n_bins",
    ...     param_range=[4, 8, 16],
    ...     n_repetitions=10,
    ...     random_state=0,
    ... )
    >>> display.approximation.round(3), display.estimation.round(3)
    (array([0.084, 0.021, 0.005]), array([0.013, 0.023, 0.051]))
    """

    values: Sequence[Any]
    param_name: str
    approximation: np.ndarray
    estimation: np.ndarray
    optimization: np.ndarray | None = None
    standard_error: Bunch | None = None

    @classmethod
    def from_parameter(
        cls,
        minimizer: BaseEstimator,
        make_data: Callable[..., Any],
        *,
        target: Callable[[Any], ArrayLike],
        param_name: str,
        param_range: Sequence[Any],
        algorithm: BaseEstimator | None = None,
        loss: Literal["squared", "zero_one"] = "squared",
        approximation: ArrayLike | None = None,
        n_repetitions: int = 20,
        n_reference: int = 20,
        n_test: int = 50,
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        ax: Any = None,
    ) -> "ExcessRiskDisplay":
        """Estimate the errors by repeated draws of the training set and draw them.

        Parameters
        ----------
        minimizer : estimator
            An estimator that minimises the empirical risk in its class exactly, such as
            `HistogramRegressor` or `DecisionStumpClassifier`.
        make_data : callable
            ``make_data(random_state=seed)`` returns a training set ``X, y``: arrays of independent
            rows.
        target : callable
            The function of least risk: the regression function for the squared loss and the Bayes
            rule for the 0-1 loss, as a function of X.
        param_name : str
            The parameter of the minimiser, and of the algorithm, that is the size of the class.
        param_range : sequence
            Its values.
        algorithm : estimator, default=None
            An estimator that looks for the minimiser, such as one with fewer iterations. None if
            the minimiser itself is used: the optimisation error is then 0.
        loss : {"squared", "zero_one"}, default="squared"
            The loss of the risk.
        approximation : array-like of shape (n_values,), default=None
            The approximation error of each class in closed form. None finds the best function of
            the class by a fit to `n_reference` training sets together.
        n_repetitions : int, default=20
            Number of training sets, at least 2.
        n_reference : int, default=20
            Number of further training sets for the approximation error.
        n_test : int, default=50
            Number of further training sets that are the rows on which all risks are computed.
        n_jobs : int, default=None
            Number of threads for the repetitions.
        random_state : int, RandomState instance or None, default=None
            Seed.
        %(ax)s

        %(returns_display)s

        Raises
        ------
        TypeError
            If `make_data` or `target` is not a function.
        ValueError
            If an argument is outside its domain, `param_name` is not a parameter of the estimators,
            or shapes do not fit.

        Notes
        -----
        All estimators are fitted to the same training sets, and all risks are means over the same
        rows, of the loss minus that of `target`. For the squared loss that is the mean square of
        the difference to `target`, and the best function of the class is found without noise. For
        the 0-1 loss the fit to many rows has itself an estimation error, by which the approximation
        error is too large and the estimation error too small.

        Cost: a fit to all reference rows, and `n_repetitions` fits, for each class.
        """
        check_arguments(
            make_data,
            n_repetitions=(n_repetitions, 2),
            n_reference=(n_reference, 1),
            n_test=(n_test, 1),
        )
        if not callable(target):
            raise TypeError(f"target must be a function of X, got {type(target).__name__}.")
        if loss not in RISKS:
            raise ValueError(f"loss must be one of {sorted(RISKS)}, got {loss!r}.")
        values = parameter_values(minimizer, param_name, param_range)
        known = None if approximation is None else np.asarray(approximation, dtype=float)
        if known is not None and (known.shape != (len(values),) or not np.isfinite(known).all()):
            raise ValueError(
                f"approximation must have {len(values)} finite values, one for each of "
                f"param_range; got the shape {known.shape}."
            )
        # Both are cloned with the same values, so that a class and its algorithm belong together.
        algorithms = None
        if algorithm is not None:
            parameter_values(algorithm, param_name, values)
            algorithms = [clone_with(algorithm, param_name, value) for value in values]
        parts = excess_risks(
            [clone_with(minimizer, param_name, value) for value in values],
            algorithms,
            make_data,
            target=target,
            loss=loss,
            approximation=known,
            n_reference=n_reference,
            n_test=n_test,
            seeds=seeds_of(n_repetitions, random_state),
            n_jobs=n_jobs,
        )
        return cls(values, param_name, **parts).plot(ax)

    def plot(self, ax: Any = None) -> "ExcessRiskDisplay":
        """Draw the areas, with bars of one standard error of the sum.

        %(of_plot)s
        """
        ax = own_axes(self, ax)
        at = places_of(self.values)
        parts = {
            "approximation error": self.approximation,
            "estimation error": self.estimation,
            "optimisation error": self.optimization,
        }
        # The areas are stacked from the approximation error up: the top is the excess risk.
        level = np.zeros(len(at))
        for (label, values), color in zip(parts.items(), COLORS):
            if values is None:
                continue
            ax.fill_between(at, level, level + values, color=color, alpha=0.55, lw=0, label=label)
            level = level + values
            ax.plot(at, level, color=color, linewidth=1.0)
        error = None if self.standard_error is None else self.standard_error.total
        ax.errorbar(at, level, error, fmt=".", color="k", capsize=3, label="excess risk")
        ax.axhline(0.0, color="k", linewidth=0.8)
        ax.set_ylabel("risk minus the least possible risk")
        set_value_axis(ax, self.values, self.param_name)
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
