"""Least squares on Gaussian sketches of the rows."""

import math

from sklearn_ensemble_theory.bounds._arguments import check_number

__all__ = ["gaussian_sketch_n_estimators", "gaussian_sketch_risk"]


def gaussian_sketch_risk(
    n_samples: int,
    n_features: int,
    sketch_size: int,
    n_estimators: int = 1,
    noise_variance: float = 1.0,
) -> float:
    """Expected excess risk of averaged least squares on Gaussian sketches, exactly.

    sigma^2 d/n + sigma^2 d (n-d) / (n m (s-d-1)) for y = X w + noise with n fixed rows of rank d,
    no intercept, and the average of m least-squares fits to S X and S y, where S has s rows of
    independent normal elements. It is the mean squared error of the predictions of these n rows.

    Parameters
    ----------
    n_samples : int
        Number n of rows.

    n_features : int
        Number d of features, or the rank of X if it is smaller; at most n.

    sketch_size : int
        Number s of rows of a sketch, at least d.

    n_estimators : int, default=1
        Number m of sketches.

    noise_variance : float, default=1.0
        Variance sigma^2 of the noise.

    Returns
    -------
    risk : float
        In units of y squared; inf for s = d and s = d + 1 if d < n.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    gaussian_sketch_n_estimators : The number of sketches for a risk near that of least squares.

    Notes
    -----
    [Bach, §10.2.1]. It is at most twice the risk of least squares, sigma^2 d/n, from
    m = (n-d) / (s-d-1) sketches on.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import gaussian_sketch_risk
    >>> gaussian_sketch_risk(1000, 10, 101, n_estimators=11)
    0.02
    """
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("n_features", n_features, 1, n_samples, integral=True)
    check_number("sketch_size", sketch_size, n_features, integral=True)
    check_number("n_estimators", n_estimators, 1, integral=True)
    check_number("noise_variance", noise_variance, 0)
    n, d, s = n_samples, n_features, sketch_size
    least_squares = noise_variance * d / n
    if n == d or noise_variance == 0:
        return float(least_squares)
    if s <= d + 1:
        return math.inf
    return float(least_squares * (1 + (n - d) / (n_estimators * (s - d - 1))))


def gaussian_sketch_n_estimators(
    n_samples: int, n_features: int, sketch_size: int, excess: float = 1.0
) -> int:
    """Smallest number of Gaussian sketches with a risk near that of least squares.

    The smallest m for which :func:`~sklearn_ensemble_theory.bounds.gaussian_sketch_risk` is at most
    1 + `excess` times the risk of least squares, sigma^2 d/n: (n-d) / (excess (s-d-1)), rounded up.

    Parameters
    ----------
    n_samples : int
        Number n of rows.

    n_features : int
        Number d of features, or the rank of X if it is smaller; at most n.

    sketch_size : int
        Number s of rows of a sketch, at least d + 2.

    excess : float, default=1.0
        Relative excess over the risk of least squares, positive. With 1 the risk is at most twice
        that of least squares.

    Returns
    -------
    n_estimators : int
        m, at least 1.

    Raises
    ------
    ValueError
        If a parameter is outside its range; for s = d and s = d + 1 the risk is infinite for every
        m.

    Notes
    -----
    [Bach, §10.2.1] has m = (n-d) / (s-d-1), about n/s, for a factor of 2.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import gaussian_sketch_n_estimators
    >>> gaussian_sketch_n_estimators(1000, 10, 101)
    11
    """
    check_number("n_samples", n_samples, 1, integral=True)
    check_number("n_features", n_features, 1, n_samples, integral=True)
    check_number("sketch_size", sketch_size, n_features + 2, integral=True)
    check_number("excess", excess, 0, open_low=True)
    needed = (n_samples - n_features) / (sketch_size - n_features - 1) / float(excess)
    if needed == math.inf:
        raise ValueError(f"excess is too small, got {excess!r}.")
    # 90 / 9 / 0.1 may be above 100 by rounding only.
    return max(1, math.ceil(needed * (1 - 1e-12)))
