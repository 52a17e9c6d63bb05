"""Figures of linear L2-boosting: errors against time, and the spectrum of the learner."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._typing import ArrayLike

from ..bounds._arguments import checked_numbers
from ..smoothing import LinearL2BoostingRegressor
from ..smoothing._criteria import checked_times
from ._plotting import AXES, as_axes, documented, own_axes, pyplot

TEXTS = {
    **AXES,
    "estimator": """
        estimator : LinearL2BoostingRegressor
            A fitted model.
        """,
    "of_estimator": """
        Parameters
        ----------
        %(estimator)s
        """,
    "axes": """
        axes : sequence of four matplotlib.axes.Axes, default=None
            Axes to draw on; a new figure by default.
        """,
    "of_axes": """
        Parameters
        ----------
        %(axes)s
        """,
}


def _checked(estimator: LinearL2BoostingRegressor) -> LinearL2BoostingRegressor:
    if not isinstance(estimator, LinearL2BoostingRegressor):
        raise TypeError(
            f"estimator must be a LinearL2BoostingRegressor; got {type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    return estimator


@documented(TEXTS)
@dataclass(eq=False, repr=False)
class BoostingPathDisplay:
    """Training, test and expected error of linear L2-boosting against the logarithm of time.

    As in [Dombry and Esstafa, figure 2]. Use `from_estimator` to create a display; the constructor
    stores its arguments.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
        Positive times.
    errors : dict of str to ndarray of shape (n_times,)
        Curves to draw, by label.
    chosen_time : float, default=None
        A time to mark with a vertical line, if positive.

    %(attributes_drawn)s
    lines_ : dict of str to matplotlib.lines.Line2D
        The line of each curve, after `plot`.

    See Also
    --------
    LinearL2BoostingRegressor : The model that is displayed.
    SmootherSpectrumDisplay : The spectrum of its learner.

    %(references_Dombry)s

    Examples
    --------
    >>> from sklearn_ensemble_theory import LinearL2BoostingRegressor
    >>> from sklearn_ensemble_theory.datasets import make_tent
    >>> from sklearn_ensemble_theory.inspection import BoostingPathDisplay
    >>> X, y = make_tent(random_state=0)
    >>> model = LinearL2BoostingRegressor().fit(X, y)
    >>> display = BoostingPathDisplay.from_estimator(model, *make_tent(random_state=1))
    >>> sorted(display.errors)
    ['test', 'training']
    """

    times: np.ndarray
    errors: Mapping[str, np.ndarray]
    chosen_time: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: LinearL2BoostingRegressor,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        *,
        f: Callable[[np.ndarray], ArrayLike] | ArrayLike | None = None,
        sigma: float | None = None,
        times: ArrayLike | None = None,
        ax: Any = None,
    ) -> "BoostingPathDisplay":
        """Compute the curves and draw them.

        %(of_estimator)s
        X_test : array-like of shape (n_test, n_features), default=None
            Rows for a curve of the mean squared error; `y_test` is required with it.
        y_test : array-like of shape (n_test,), default=None
            Targets of `X_test`.
        f : callable or array-like of shape (n_samples,), default=None
            The regression function, for a curve of the expected test error at the training rows
            [Dombry and Esstafa, proposition 2.13]; see `LinearL2BoostingRegressor.bias_variance`.
            `sigma` is required with it.
        sigma : float, default=None
            Standard deviation of the noise.
        times : array-like of shape (n_times,), default=None
            Times of the curves; 200 times from 0.1 to 1,000 by default, or to the last round with
            `variant="best_feature"`.
        %(ax)s

        %(returns_display)s

        Raises
        ------
        ValueError
            If one of `X_test` and `y_test`, or of `f` and `sigma`, is given without the other.
        """
        estimator = _checked(estimator)
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test must be given together.")
        if (f is None) != (sigma is None):
            raise ValueError("f and sigma must be given together.")
        if times is None:
            # The errors change by factors of time; rounds of the best feature end where they were
            # run.
            times = np.geomspace(0.1, min(1000.0, estimator._path.last_time), 200)
        times = checked_times(times)
        errors = {"training": estimator.training_error(times)}
        if X_test is not None and y_test is not None:
            path = estimator.predict_path(X_test, times)
            # All times by one prediction: the path has the model at each of them.
            y_test = checked_numbers("y_test", y_test)
            if y_test.shape != (len(path),):
                raise ValueError(
                    f"y_test must have a number for each of the {len(path)} rows of X_test; "
                    f"got the shape {y_test.shape}."
                )
            errors["test"] = ((y_test[:, None] - path) ** 2).mean(axis=0)
        if f is not None and sigma is not None:
            errors["expected test"] = estimator.bias_variance(f, sigma, times).test
        return cls(times, errors, estimator.time_).plot(ax)

    def plot(self, ax: Any = None) -> "BoostingPathDisplay":
        """Draw the curves.

        %(of_plot)s
        """
        ax = own_axes(self, ax)
        self.lines_ = {
            label: ax.plot(self.times, values, label=label)[0]
            for label, values in self.errors.items()
        }
        # Time 0 has no place on a logarithmic axis.
        if self.chosen_time is not None and self.chosen_time > 0:
            ax.axvline(self.chosen_time, color="0.5", linestyle=":", label="chosen time")
        ax.set(xscale="log", xlabel="time", ylabel="mean squared error")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


@documented(TEXTS)
@dataclass(eq=False, repr=False)
class SmootherSpectrumDisplay:
    """Eigenvalues, smoothed projection and eigenvectors of a linear learner.

    Four panels, as in [Dombry and Esstafa, figures 3 to 6]: the eigenvalues mu on a logarithmic
    scale, the coefficients of the boosting operator at several times, and the first and the last
    eigenvectors. Eigenvectors are drawn against the feature if there is only one, and else against
    the row.

    The coefficients are 1 - exp(-mu t), with a learning rate 1 - (1 - lambda mu)^m, and 1 for the
    constant where boosting starts from the mean [Dombry and Esstafa, eq. (27)]; they sum to the
    degrees of freedom. If the constant is not an eigenvector of the learner's matrix (a kernel
    ridge, say), the operator is not diagonal in the basis of eigenvectors. The coefficients are
    then its diagonal in that basis, which sums to the degrees of freedom too.

    %(use_from_estimator)s

    Parameters
    ----------
    eigenvalues : ndarray of shape (n_eigenvalues,)
        Eigenvalues in decreasing order of the real parts.
    times : sequence of float
        Times of the coefficients.
    coefficients : ndarray of shape (n_eigenvalues, n_times)
        Diagonal of the boosting operator at each time.
    x : ndarray of shape (n_rows,)
        Abscissa of the eigenvectors.
    first : dict of int to ndarray of shape (n_rows,)
        The first eigenvectors by their index, starting at 1.
    last : dict of int to ndarray of shape (n_rows,)
        The last eigenvectors by their index.

    Attributes
    ----------
    axes_ : ndarray of matplotlib.axes.Axes of shape (4,)
        The axes, after `plot`.
    %(figure_)s

    See Also
    --------
    LinearL2BoostingRegressor : The model that is displayed.
    BoostingPathDisplay : Its errors against time.

    %(references_Dombry)s

    Examples
    --------
    >>> from sklearn_ensemble_theory import LinearL2BoostingRegressor
    >>> from sklearn_ensemble_theory.datasets import make_tent
    >>> from sklearn_ensemble_theory.inspection import SmootherSpectrumDisplay
    >>> model = LinearL2BoostingRegressor().fit(*make_tent(random_state=0))
    >>> display = SmootherSpectrumDisplay.from_estimator(model, times=[1, 10])
    >>> display.coefficients.shape
    (100, 2)
    """

    eigenvalues: np.ndarray
    times: Sequence[float]
    coefficients: np.ndarray
    x: np.ndarray
    first: Mapping[int, np.ndarray]
    last: Mapping[int, np.ndarray]

    @classmethod
    def from_estimator(
        cls,
        estimator: LinearL2BoostingRegressor,
        *,
        times: Sequence[float] = (1, 10, 100, 1000),
        n_vectors: int = 3,
        axes: Sequence[Any] | None = None,
    ) -> "SmootherSpectrumDisplay":
        """Compute the spectrum of a fitted model and draw it.

        %(of_estimator)s
        times : sequence of float, default=(1, 10, 100, 1000)
            Times of the coefficients.
        n_vectors : int, default=3
            Number of first and of last eigenvectors to draw.
        %(axes)s

        %(returns_display)s

        Raises
        ------
        ValueError
            If the learner's matrix has no basis of eigenvectors, with `variant="best_feature"`, or
            if the model was fitted to more than 100,000 rows, which are not stored.
        """
        estimator = _checked(estimator)
        path = estimator._path
        checked = checked_times(times)
        coefficients = path.coefficients(checked)
        mu = np.asarray(path.eigenvalues)
        # Eigenvectors of rounded zeros are arbitrary: the last ones shown are of the last
        # eigenvalues that are not.
        live = int(np.count_nonzero(np.abs(mu) > 1e-14 * np.abs(mu).max()))
        k = min(n_vectors, live)
        indices = np.r_[np.arange(k), np.arange(live - k, live)]
        X, U = path.eigenvectors(indices)
        # Functions of a single feature are drawn against it, others by the number of the row.
        if X.shape[1] == 1:
            order = np.argsort(X[:, 0], kind="stable")
            x, U = X[order, 0], U[order]
        else:
            x = np.arange(len(X))
        return cls(
            mu,
            checked.tolist(),
            coefficients,
            x,
            {int(i) + 1: U[:, j] for j, i in enumerate(indices[:k])},
            {int(i) + 1: U[:, k + j] for j, i in enumerate(indices[k:])},
        ).plot(axes)

    def plot(self, axes: Sequence[Any] | None = None) -> "SmootherSpectrumDisplay":
        """Draw the four panels.

        %(of_axes)s

        %(returns_display)s
        """
        plt = pyplot(type(self).__name__)
        if axes is None:
            _, axes = plt.subplots(2, 2, figsize=(9.5, 7), layout="constrained")
        axes = as_axes(axes, 4, "axes")
        rank = np.arange(1, len(self.eigenvalues) + 1)
        mu = np.asarray(self.eigenvalues).real
        # The axis is logarithmic; the eigenvalues left out are 0 up to rounding, or make boosting
        # unstable.
        positive = mu > 0
        axes[0].semilogy(rank[positive], mu[positive], ".")
        axes[0].set(xlabel="index", ylabel="eigenvalue")
        for t, column in zip(self.times, self.coefficients.T):
            axes[1].plot(rank, column.real, label=f"t = {t:g}")
        axes[1].set(xlabel="index", ylabel="coefficient of the projection")
        axes[1].legend()
        for axis, vectors, title in (
            (axes[2], self.first, "first eigenvectors"),
            (axes[3], self.last, "last eigenvectors"),
        ):
            for index, vector in vectors.items():
                axis.plot(self.x, vector, label=f"{index}", linewidth=1.0)
            axis.set(title=title, xlabel="x" if self.x.dtype.kind == "f" else "row")
            axis.legend()
        self.axes_, self.figure_ = axes, axes[0].figure
        return self
