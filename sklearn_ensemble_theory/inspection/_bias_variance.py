"""Bias and variance of an estimator, by repeated draws of the training set: numbers and figure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch
from sklearn.utils.parallel import delayed

from sklearn_ensemble_theory._typing import Predictor
from sklearn_ensemble_theory.bounds._arguments import checked_generator

from .._running import called, in_order
from .._typing import ArrayLike, RandomStateLike
from ._plotting import AXES, COLORS, documented, own_axes, places_of, set_value_axis
from ._repeated_fits import (
    LARGEST,
    MAX_SEED,
    check_arguments,
    clone_with,
    drawn,
    fitted_clone,
    jackknife_error,
    parameter_values,
    seeds_of,
    variance_over_draws,
)

TEXTS = {
    **AXES,
    "make_data": """
        make_data : callable
            Draws a training set; see `bias_variance_decomposition`, as for the other arguments.
        """,
    "settings": """
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
        """,
}


def bias_variance_decomposition(
    estimator: Predictor,
    make_data: Callable[..., Any],
    *,
    X_test: ArrayLike | None = None,
    target: Callable[[Any], ArrayLike] | ArrayLike | None = None,
    noise: float | ArrayLike | Callable[[Any], ArrayLike] | None = None,
    loss: Literal["squared", "zero_one"] = "squared",
    n_repetitions: int = 100,
    n_jobs: int | None = None,
    random_state: RandomStateLike = None,
) -> Bunch:
    r"""Decompose the expected error into noise, bias and variance by repeated sampling.

    The estimator is fitted to R training sets, drawn independently, and predicts the same test
    points. With h(x) its prediction, f(x) the regression function and y = f(x) + noise of variance
    sigma²(x), the expected squared error is

    .. math:: E (y - h(x))^2 = \sigma^2(x) + (E h(x) - f(x))^2 + Var\, h(x),

    and all are averaged over the test points. For the 0-1 loss the decomposition is that of
    [Domingos, 2000]. The main prediction is the most frequent one. The bias is 1 where it differs
    from the optimal class, and 0 elsewhere. The net variance is the probability of a prediction
    other than the main one where the bias is 0, minus the probability of the optimal class where it
    is 1.

    Parameters
    ----------
    estimator : estimator
        A regressor for the squared loss, a classifier for the 0-1 loss. In each repetition a clone
        is fitted whose `random_state` parameters get new values: the variance includes the
        estimator's own draws.
    make_data : callable
        ``make_data(random_state=seed)`` returns a training set ``X, y``, or ``X, y, target`` with
        the noise-free targets of its rows.
    X_test : array-like of shape (n_test, n_features), default=None
        Test points. None for one more draw of `make_data`.
    target : callable or array-like of shape (n_test,), default=None
        The regression function, or the Bayes rule for the 0-1 loss, as a function of X, or its
        values at `X_test`. None for the third result of `make_data`, without `X_test`.
    noise : float, array-like or callable, default=None
        For the squared loss the variance of y given x, in the units of y²: a number, one for each
        test point, or a function of X. None estimates it from the drawn training sets, by the mean
        square of y minus `target`. For the 0-1 loss the probability that y is not `target`, with
        all other classes equally likely. Or the probabilities of all classes in their sorted order,
        of shape (n_test, n_classes). None is possible without `X_test`: the labels drawn with the
        test points then stand for their distribution.
    loss : {"squared", "zero_one"}, default="squared"
        The loss.
    n_repetitions : int, default=100
        R, at least 3.
    n_jobs : int, default=None
        Number of repetitions in parallel.
    random_state : int, RandomState instance or None, default=None
        Seed of the training sets, of the test set and of the fits.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch`
        With these attributes:

        error, noise, bias, variance : float
            The expected error and its parts, whose sum it is. For the squared loss `bias` is the
            square of the bias. It is unbiased for any R, and can be slightly negative. For the
            0-1 loss `noise` is c₁(x) times the probability that y is not the target, and
            `variance` the net variance.
        standard_error : Bunch of float
            Standard errors of the four over the draws of the training sets, given the test points:
            by the jackknife for the squared loss, and by resampling the repetitions for the parts
            of the 0-1 loss. That of `noise` is 0 for the squared loss if it is given.
        pointwise : Bunch of ndarray of shape (n_test,)
            `target`, `main_prediction` (the mean or the most frequent one), `bias`, `variance` and
            `noise` at the test points.
        variance_unbiased, variance_biased : float
            For the 0-1 loss the two parts of the net variance, their difference.
        bayes_error : float
            For the 0-1 loss the mean probability that y is not the target.

    Raises
    ------
    TypeError
        If `make_data` is not a function.
    ValueError
        If an argument is outside its domain, shapes do not fit, or `target` or `noise` is needed
        and not given.

    See Also
    --------
    BiasVarianceDisplay : A figure for several estimators or values of a parameter.

    Notes
    -----
    The squared bias is the squared bias of the mean of the R predictions, less the variance of this
    mean. The sum of bias and variance is the mean square of h - f over the sample, without a
    remainder. For the 0-1 loss the sum is exact too. The main prediction is the main prediction of
    the sample: if two classes are predicted about equally often, infinitely many repetitions may
    have another one. Of equally frequent classes the first is taken. The formulas are in
    :ref:`bias-and-variance` in the user guide.

    Cost: R fits and predictions of n_test rows, and O(R n_test) numbers in memory.

    References
    ----------
    P. Domingos (2000). "A unified bias-variance decomposition and its applications". *Proceedings
    of the 17th International Conference on Machine Learning*, 231-238.

    *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
    University.

    Examples
    --------
    >>> from functools import partial
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from sklearn_ensemble_theory.datasets import make_sine_regression
    >>> from sklearn_ensemble_theory.inspection import bias_variance_decomposition
    >>> make_data = partial(make_sine_regression, 100, return_mean=True)
    >>> for depth in (1, 8):
    ...     tree = DecisionTreeRegressor(max_depth=depth)
    ...     parts = bias_variance_decomposition(tree, make_data, noise=0.09, random_state=0)
    ...     print(round(parts.bias, 2), round(parts.variance, 2), round(parts.error, 2))
    0.26 0.11 0.46
    0.0 0.09 0.18
    """
    check_arguments(make_data, n_repetitions=(n_repetitions, 3))
    if not (isinstance(loss, str) and loss in PARTS):
        raise ValueError(f"loss must be one of {sorted(PARTS)}, got {loss!r}.")
    if X_test is not None and target is None:
        raise ValueError("target must be given with X_test.")
    if X_test is None and target is not None and not callable(target):
        raise ValueError("target must be a function of X, or None, without X_test.")
    if X_test is not None and noise is None and loss == "zero_one":
        raise ValueError("noise must be given with X_test for the 0-1 loss.")
    # What has a shape may have no length, as sparse rows.
    if X_test is not None and not getattr(X_test, "shape", hasattr(X_test, "__len__")):
        raise ValueError(f"X_test must have rows; got {X_test!r:.100}.")
    # All seeds are drawn before any fit: results do not depend on the number of jobs.
    test_seed, seeds = seeds_of(n_repetitions, random_state)
    y_test = None
    points: Any = X_test
    values: Any = target
    if callable(target) and X_test is not None:
        values = called("target", target, X_test)
    if X_test is None:
        points, y_test, values = drawn(make_data, test_seed)
        if callable(target):
            values = called("target", target, points)
        elif values is None:
            raise ValueError(
                "target must be given where make_data does not return noise-free targets."
            )
    n_test = points.shape[0] if hasattr(points, "shape") else len(points)
    values = np.asarray(values)
    if values.shape != (n_test,):
        raise ValueError(f"target must have {n_test} values at X_test; got {values.shape}.")
    given = _at_points(noise, points, n_test, loss)
    # All fits predict the same points: their spread at a point is the variance there.
    tasks = (
        delayed(_repetition)(estimator, make_data, points, target, loss, tuple(pair))
        for pair in seeds.tolist()
    )
    repetitions = list(in_order(tasks, n_jobs=n_jobs))
    return PARTS[loss](repetitions, values, given, y_test, test_seed)


def _at_points(noise, X_test, n_test: int, loss: str) -> np.ndarray | None:
    """The noise at the test points, of shape (n_test,) or of probabilities (n_test, n_classes)."""
    if noise is None:
        return None
    if callable(noise):
        noise = called("noise", noise, X_test)
    found = np.asarray(noise, dtype=float)
    # One number is the same noise at all points.
    found = np.full(n_test, float(found)) if found.ndim == 0 else found
    is_table = loss == "zero_one" and found.ndim == 2
    if len(found) != n_test or (found.ndim != 1 and not is_table):
        raise ValueError(f"noise must have {n_test} values, one for each test point.")
    most = 1.0 if loss == "zero_one" else np.finfo(float).max
    if not np.all((found >= 0) & (found <= most)):
        domain = "in [0, 1]" if loss == "zero_one" else "non-negative and finite"
        raise ValueError(f"noise must be {domain}.")
    if is_table and not np.allclose(found.sum(axis=1), 1.0):
        raise ValueError("noise must have rows of sum 1, the probabilities of the classes.")
    return found


def _repetition(
    estimator: Predictor, make_data, X_test, target, loss: str, seeds: tuple[int, int]
) -> tuple[np.ndarray, Any]:
    """(predictions, what one training set says of the noise: its mean square, or its labels)."""
    # The set and the fit have seeds of their own: two estimators see the same sets.
    X, y, values = drawn(make_data, seeds[0])
    predictions = np.asarray(fitted_clone(estimator, X, y, seeds[1]).predict(X_test))
    if loss == "zero_one":
        return predictions, np.unique(y)
    if callable(target):
        values = np.asarray(called("target", target, X))
    if values is None:
        return predictions, None
    # The noise of the training rows has the distribution of that of the test rows, and there are
    # more of them.
    residuals = np.asarray(y, dtype=float) - np.asarray(values, dtype=float)
    if not np.all(np.abs(residuals) < LARGEST):
        raise ValueError(f"make_data must return finite targets below {LARGEST:g}.")
    return predictions, float(np.mean(residuals**2))


def _squared_parts(
    repetitions: list[Any], target: np.ndarray, noise: np.ndarray | None, y_test, seed: int
) -> Bunch:
    P = np.stack([predictions for predictions, _ in repetitions]).astype(float)
    f = target.astype(float)
    if P.shape[1:] != f.shape:
        raise ValueError(
            f"estimator must predict one number for each row; got the shape {P.shape[1:]}."
        )
    if not (np.all(np.abs(P) < LARGEST) and np.all(np.abs(f) < LARGEST)):
        raise ValueError(f"predictions and target must be finite and below {LARGEST:g}.")
    R, mean = len(P), P.mean(axis=0)
    drawn_noise = np.zeros(R)
    if noise is None:
        if repetitions[0][1] is None:
            raise ValueError("noise must be given where target is known at X_test only.")
        drawn_noise = np.array([found for _, found in repetitions])
        noise = np.full(len(f), drawn_noise.mean())
    squares = ((P - f) ** 2).mean(axis=1)
    variance, variance_without = variance_over_draws(P)
    # The mean of R predictions varies itself by s² / R, which would count as bias.
    bias = (mean - f) ** 2 - variance / R
    # The squared bias is the squared error less the variance, also without each draw in turn.
    squares_without = (squares.sum() - squares) / (R - 1)
    return Bunch(
        error=float(noise.mean() + squares.mean()),
        noise=float(noise.mean()),
        bias=float(bias.mean()),
        variance=float(variance.mean()),
        standard_error=Bunch(
            error=float(np.std(squares + drawn_noise, ddof=1) / np.sqrt(R)),
            noise=float(np.std(drawn_noise, ddof=1) / np.sqrt(R)),
            bias=jackknife_error(squares_without - variance_without),
            variance=jackknife_error(variance_without),
        ),
        pointwise=Bunch(target=f, main_prediction=mean, bias=bias, variance=variance, noise=noise),
    )


# --- the 0-1 loss [Domingos, 2000], from counts of predictions ------------------------------------


N_RESAMPLES = 200  # of the bootstrap: the standard errors have a relative error of 5 %


def zero_one_parts(
    repetitions: list[Any],
    target: np.ndarray,
    noise: np.ndarray | None,
    y_test,
    seed: int,
) -> Bunch:
    """Decompose the 0-1 loss by the predictions of all repetitions.

    Each repetition has the labels predicted at the m test points and those drawn for training.
    `noise` has probabilities of another class than the target, (m,), or of all classes, (m, K);
    without it `y_test` are labels drawn at the test points. `seed` is of the resamples for standard
    errors.
    """
    # A class may occur in some training sets only, or in none of the predictions.
    labels = [found for pair in repetitions for found in pair] + [target]
    classes = np.unique(np.concatenate([np.unique(x) for x in labels if x is not None]))
    if y_test is not None:
        classes = np.union1d(classes, y_test)
    R, m, K = len(repetitions), len(target), len(classes)
    rows = np.arange(m)
    predicted = np.stack([np.searchsorted(classes, p) for p, _ in repetitions])
    optimal = np.searchsorted(classes, target)
    truth = _class_probabilities(noise, y_test, optimal, classes)
    # A cell for each point and class, so that one count gives the shares of all predictions.
    cells = (rows * K + predicted).ravel()

    def parts_of(weight: np.ndarray) -> Bunch:
        share = np.bincount(cells, np.repeat(weight, m), minlength=m * K) / R
        return _pointwise(share.reshape(m, K), optimal, truth)

    found = parts_of(np.ones(R))
    # The jackknife does not estimate the variance of the most frequent prediction consistently.
    rng = np.random.RandomState(seed)
    resampled = [parts_of(weight) for weight in rng.multinomial(R, np.full(R, 1 / R), N_RESAMPLES)]
    errors = {
        name: float(np.std([parts[name].mean() for parts in resampled], ddof=1))
        for name in ("noise", "bias", "variance")
    }
    # The chance of an error given the prediction: labels of the test points are not drawn again.
    wrong = 1.0 - truth[rows, predicted].mean(axis=1)
    biased = found.bias == 1
    spread = np.abs(found.variance)
    main = found.main
    return Bunch(
        error=float(wrong.mean()),
        noise=float(found.noise.mean()),
        bias=float(found.bias.mean()),
        variance=float(found.variance.mean()),
        variance_unbiased=float(np.where(biased, 0.0, spread).mean()),
        variance_biased=float(np.where(biased, spread, 0.0).mean()),
        bayes_error=float(1.0 - truth[rows, optimal].mean()),
        standard_error=Bunch(error=float(np.std(wrong, ddof=1) / np.sqrt(R)), **errors),
        pointwise=Bunch(
            target=target,
            main_prediction=classes[main],
            bias=found.bias,
            variance=found.variance,
            noise=found.noise,
        ),
    )


def _class_probabilities(
    noise: np.ndarray | None, y_test, optimal: np.ndarray, classes: np.ndarray
) -> np.ndarray:
    """P(y = k) at the test points, of shape (m, K)."""
    m, K = len(optimal), len(classes)
    rows = np.arange(m)
    if noise is None:
        return np.asarray(classes == np.asarray(y_test)[:, None], dtype=float)
    if noise.ndim == 2:
        if noise.shape[1] != K:
            raise ValueError(
                f"noise must have a column for each of the {K} classes; got {noise.shape[1]}."
            )
        return noise
    if K == 1:
        return np.ones((m, 1))
    # One number for the noise says nothing of the other classes, which share it equally.
    truth = np.repeat(noise[:, None] / (K - 1), K, axis=1)
    truth[rows, optimal] = 1.0 - noise
    return truth


def _pointwise(share: np.ndarray, optimal: np.ndarray, truth: np.ndarray) -> Bunch:
    """Noise, bias and net variance at each point, from the shares of the predictions (m, K)."""
    rows = np.arange(len(optimal))
    # The main prediction of the 0-1 loss is the most frequent one, of ties the first class.
    main = share.argmax(axis=1)
    right = share[rows, optimal]
    bias = (main != optimal).astype(float)
    # P(h = k) P(y = k) over the classes other than the target.
    agreement = np.einsum("mk,mk->m", share, truth) - right * truth[rows, optimal]
    return Bunch(
        main=main,
        bias=bias,
        variance=(1.0 - right) - bias,
        noise=right * (1.0 - truth[rows, optimal]) - agreement,
    )


# The parts of the expected error for each loss.
PARTS: dict[str, Callable[..., Bunch]] = {"squared": _squared_parts, "zero_one": zero_one_parts}


# --- the figure -----------------------------------------------------------------------------------


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


def _decompositions(
    estimators: Iterable[Any],
    make_data: Callable[..., Any],
    random_state: RandomStateLike,
    **options,
) -> list[Bunch]:
    """Return the decompositions of several estimators, fitted to the same training sets."""
    # One seed for all: differences between estimators are then free of the draws of the data.
    seed = int(checked_generator(random_state).randint(MAX_SEED))
    return [
        bias_variance_decomposition(one, make_data, random_state=seed, **options)
        for one in estimators
    ]


@documented(TEXTS)
@dataclass(eq=False, repr=False)
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

    %(attributes_drawn)s

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

    results: Sequence[Bunch]
    values: Sequence[Any]
    param_name: str | None = None
    loss: Literal["squared", "zero_one"] = "squared"

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
        %(make_data)s
        %(settings)s
        %(ax)s

        %(returns_display)s

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
        results = _decompositions(
            estimators.values(),
            make_data,
            random_state,
            X_test=X_test,
            target=target,
            noise=noise,
            loss=loss,
            n_repetitions=n_repetitions,
            n_jobs=n_jobs,
        )
        return cls(results, list(estimators), None, loss).plot(ax)

    @classmethod
    def from_parameter(
        cls,
        estimator: Predictor,
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
        %(make_data)s
        param_name : str
            The name of a parameter of the estimator.
        param_range : sequence
            Its values.
        %(settings)s
        %(ax)s

        %(returns_display)s

        Raises
        ------
        TypeError
            If `make_data` is not a function.
        ValueError
            If `param_name` is not a parameter of the estimator, `param_range` is empty, and as in
            `bias_variance_decomposition`.
        """
        values = parameter_values(estimator, param_name, param_range)
        results = _decompositions(
            [clone_with(estimator, param_name, value) for value in values],
            make_data,
            random_state,
            X_test=X_test,
            target=target,
            noise=noise,
            loss=loss,
            n_repetitions=n_repetitions,
            n_jobs=n_jobs,
        )
        return cls(results, values, param_name, loss).plot(ax)

    def plot(self, ax: Any = None) -> "BiasVarianceDisplay":
        """Draw the parts.

        %(of_plot)s
        """
        ax = own_axes(self, ax)
        draw = self._bars if self.param_name is None else self._curves
        draw(ax)
        ax.axhline(0.0, color="k", linewidth=0.8)
        ax.set_ylabel(LABELS[self.loss]["error"])
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _part(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of a part and their standard errors, for all results."""
        values = np.array([result[name] for result in self.results])
        return values, np.array([result.standard_error[name] for result in self.results])

    def _bars(self, ax) -> None:
        at = np.arange(len(self.results))
        top, bottom = np.zeros(len(at)), np.zeros(len(at))
        for name, color in STACK.items():
            values, _ = self._part(name)
            # Parts below 0 hang from the axis: they must not hide those above it.
            start = np.where(values >= 0, top, bottom)
            label = LABELS[self.loss][name]
            ax.bar(at, values, 0.6, bottom=start, color=color, alpha=0.8, label=label)
            top, bottom = top + np.maximum(values, 0), bottom + np.minimum(values, 0)
        values, error = self._part("error")
        label = LABELS[self.loss]["error"]
        ax.errorbar(at, values, error, fmt="o", color="k", capsize=4, label=label)
        ax.set_xticks(at, [str(name) for name in self.values])

    def _curves(self, ax) -> None:
        at = places_of(self.values)
        for name, color in {**STACK, "error": "k"}.items():
            values, error = self._part(name)
            color = "0.5" if name == "noise" else color
            ax.plot(at, values, ".-", color=color, label=LABELS[self.loss][name])
            ax.fill_between(at, values - error, values + error, color=color, alpha=0.2, lw=0)
        set_value_axis(ax, self.values, str(self.param_name))
