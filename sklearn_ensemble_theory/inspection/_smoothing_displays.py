"""Figures of linear L2-boosting: errors along time, and the spectrum behind them."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory.smoothing import LinearL2BoostingRegressor

__all__ = ["BoostingPathDisplay", "SmootherSpectrumDisplay"]


def _pyplot(name):
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{name} needs matplotlib: pip install 'sklearn-ensemble-theory[plot]'."
        ) from error
    return plt


def _checked(estimator):
    if not isinstance(estimator, LinearL2BoostingRegressor):
        raise TypeError(
            f"estimator must be a LinearL2BoostingRegressor, not {type(estimator).__name__}."
        )
    check_is_fitted(estimator)
    return estimator


class BoostingPathDisplay:
    """Training, test and expected error of linear L2-boosting against log time (002, figure 2).

    Use `from_estimator`; the constructor only keeps what it is given.

    Parameters
    ----------
    times : ndarray of shape (n_times,)
        Positive times.
    errors : dict of str to ndarray of shape (n_times,)
        Curves to draw, by label.
    chosen_time : float, default=None
        Marked by a vertical line, where positive.

    Attributes
    ----------
    ax_, figure_ : the axes and the figure, after `plot`
    lines_ : dict of str to the line of each curve

    See Also
    --------
    LinearL2BoostingRegressor : the model drawn.

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

    def __init__(self, times, errors, chosen_time=None):
        self.times = times
        self.errors = errors
        self.chosen_time = chosen_time

    @classmethod
    def from_estimator(
        cls, estimator, X_test=None, y_test=None, *, f=None, sigma=None, times=None, ax=None
    ):
        """Compute the curves and draw them.

        Parameters
        ----------
        estimator : fitted LinearL2BoostingRegressor
        X_test, y_test : array-like, default=None
            Adds the mean squared error on these rows.
        f : callable or array-like, default=None
            The regression function: with `sigma`, adds the expected test error on the training
            points (002, proposition 2.13); see `LinearL2BoostingRegressor.bias_variance`.
        sigma : float, default=None
            Standard deviation of the noise.
        times : array-like, default=None
            200 times from 0.1 to 1,000 by default.
        ax : matplotlib axes, default=None

        Returns
        -------
        display : BoostingPathDisplay

        Raises
        ------
        ValueError
            If one of `X_test` and `y_test`, or of `f` and `sigma`, comes without the other.
        """
        estimator = _checked(estimator)
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test come together.")
        if (f is None) != (sigma is None):
            raise ValueError("f and sigma come together.")
        times = np.geomspace(0.1, 1000.0, 200) if times is None else np.asarray(times, dtype=float)
        errors = {"training": estimator.training_error(times)}
        if X_test is not None:
            path = estimator.predict_path(X_test, times)
            errors["test"] = ((np.asarray(y_test)[:, None] - path) ** 2).mean(axis=0)
        if f is not None:
            errors["expected test"] = estimator.bias_variance(f, sigma, times).test
        return cls(times, errors, estimator.time_).plot(ax)

    def plot(self, ax=None):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            A new figure by default.

        Returns
        -------
        self
        """
        plt = _pyplot(type(self).__name__)
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.lines_ = {
            label: ax.plot(self.times, values, label=label)[0]
            for label, values in self.errors.items()
        }
        if self.chosen_time is not None and self.chosen_time > 0:
            ax.axvline(self.chosen_time, color="0.5", linestyle=":", label="chosen time")
        ax.set(xscale="log", xlabel="time", ylabel="mean squared error")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


class SmootherSpectrumDisplay:
    """Eigenvalues, smoothed projection and eigenvectors of a linear learner (002, figures 3 to 6).

    Four panels: the eigenvalues mu on a logarithmic scale; the coefficients 1 - exp(-mu t) of the
    boosting operator at several times (with a learning rate, 1 - (1 - lambda mu)^m); the first and
    the last eigenvectors, against the feature where there is one and against the row otherwise.

    Use `from_estimator`; the constructor only keeps what it is given.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n_eigenvalues,)
        Largest first.
    times : sequence of float
    coefficients : ndarray of shape (n_eigenvalues, n_times)
    x : ndarray of shape (n_rows,)
        Abscissa of the eigenvectors.
    first, last : dict of int to ndarray of shape (n_rows,)
        Eigenvectors by their index from 1.

    Attributes
    ----------
    axes_, figure_ : the four axes and the figure, after `plot`

    See Also
    --------
    LinearL2BoostingRegressor : the model drawn.

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

    def __init__(self, eigenvalues, times, coefficients, x, first, last):
        self.eigenvalues = eigenvalues
        self.times = times
        self.coefficients = coefficients
        self.x = x
        self.first = first
        self.last = last

    @classmethod
    def from_estimator(cls, estimator, *, times=(1, 10, 100, 1000), n_vectors=3, axes=None):
        """Take the spectrum from a fitted model and draw it.

        Parameters
        ----------
        estimator : fitted LinearL2BoostingRegressor
        times : sequence of float, default=(1, 10, 100, 1000)
        n_vectors : int, default=3
            How many of the first and of the last eigenvectors.
        axes : sequence of four matplotlib axes, default=None

        Returns
        -------
        display : SmootherSpectrumDisplay

        Raises
        ------
        ValueError
            If the learner's matrix has no basis of eigenvectors, or the model kept no rows.
        """
        estimator = _checked(estimator)
        dynamics = estimator._dynamics_
        mu = np.asarray(dynamics.eigenvalues)
        live = int(np.count_nonzero(np.abs(mu) > 1e-14 * np.abs(mu).max()))
        k = min(n_vectors, live)
        indices = np.r_[np.arange(k), np.arange(live - k, live)]
        X, U = dynamics.eigenvectors(indices)
        if X.shape[1] == 1:
            order = np.argsort(X[:, 0], kind="stable")
            x, U = X[order, 0], U[order]
        else:
            x = np.arange(len(X))
        coefficients = dynamics.coefficients(times)
        return cls(
            mu,
            list(times),
            coefficients,
            x,
            {int(i) + 1: U[:, j] for j, i in enumerate(indices[:k])},
            {int(i) + 1: U[:, k + j] for j, i in enumerate(indices[k:])},
        ).plot(axes)

    def plot(self, axes=None):
        """Draw the four panels.

        Parameters
        ----------
        axes : sequence of four matplotlib axes, default=None
            A new figure by default.

        Returns
        -------
        self
        """
        plt = _pyplot(type(self).__name__)
        if axes is None:
            _, axes = plt.subplots(2, 2, figsize=(9.5, 7), layout="constrained")
        axes = np.asarray(axes, dtype=object).ravel()
        if len(axes) != 4:
            raise ValueError(f"axes: four are needed, {len(axes)} given.")
        rank = np.arange(1, len(self.eigenvalues) + 1)
        mu = np.asarray(self.eigenvalues).real
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
