"""Bounds on the risk of averaged least squares on random projections."""

from sklearn_ensemble_theory.bounds._arguments import check_number, in_floats

__all__ = [
    "coordinate_projection_bound",
    "gaussian_projection_bound",
    "random_features_bound",
]


@in_floats
def gaussian_projection_bound(
    n_samples: float,
    n_components: int,
    trace: float,
    squared_norm: float,
    noise_variance: float = 1.0,
) -> float:
    """Bound on the excess risk of averaged least squares on Gaussian projections.

    For y = Phi theta + noise, fitted by least squares on the s columns of Phi S with independent
    standard Gaussian entries of S, the expected mean squared error of the fitted values is at most

        sigma^2 s/n + (2/n) tr(Phi'Phi) ||theta||^2 / (s + 1),

    for any number of averaged projections.

    Parameters
    ----------
    n_samples : float
        Number n of rows.

    n_components : int
        Number s of projected variables.

    trace : float
        The sum of squares of Phi, tr(Phi'Phi) = tr(K) with the kernel matrix K = Phi Phi'.

    squared_norm : float
        ||theta||^2; for kernels, f'K^{-1}f with the means f of the targets.

    noise_variance : float, default=1.0
        Variance sigma^2 of the noise.

    Returns
    -------
    bound : float
        The bound, in units of y squared.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    [Bach, eq. (10.1)], in the fixed design: the error at the training rows. The columns of Phi S
    are Gaussian with covariance K, so that this is also the bound for features drawn from N(0, K)
    [Bach, §10.2.2].

    For independent entries of mean 0, variance 1 and fourth moment q instead of 3, the bound
    holds with tr(Phi'Phi) + max(q - 3, 0) max_j ||Phi_j||^2 for the trace, where Phi_j are the
    columns.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import gaussian_projection_bound
    >>> round(gaussian_projection_bound(100, 19, trace=100.0, squared_norm=1.0), 4)
    0.29
    """
    _check_risk(n_samples, n_components, squared_norm, noise_variance)
    check_number("trace", trace, 0)
    noise = noise_variance * n_components / n_samples
    return float(noise + 2 * trace * squared_norm / (n_samples * (n_components + 1)))


@in_floats
def coordinate_projection_bound(
    n_samples: float,
    n_components: int,
    size: float,
    squared_norm: float,
    noise_variance: float = 1.0,
) -> float:
    """Bound on the excess risk of averaged least squares on random subsets of the variables.

    sigma^2 s/n + d max_j ||Phi_j||^2 ||theta||^2 / (n s), with the d columns Phi_j of Phi, of which
    s are drawn with or without replacement.

    Parameters
    ----------
    n_samples : float
        Number n of rows.

    n_components : int
        Number s of variables drawn.

    size : float
        d max_j ||Phi_j||^2: the number of variables times the largest sum of squares of one.

    squared_norm : float
        ||theta||^2.

    noise_variance : float, default=1.0
        Variance sigma^2 of the noise.

    Returns
    -------
    bound : float
        The bound, in units of y squared.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    [Bach, exercise 10.4], for draws with replacement. E[S S'] = (s/d) I and
    E[S S' G S S'] = s (s-1)/d^2 G + (s/d) diag(G) with G = Phi'Phi, so that a direction of
    eigenvalue a D, where D is `size`, has a bias of at most D a (1 - a) / (1 + (s-1) a) <= D/s.
    Draws without replacement span at least as much.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import coordinate_projection_bound
    >>> round(coordinate_projection_bound(100, 20, size=100.0, squared_norm=1.0), 4)
    0.25
    """
    _check_risk(n_samples, n_components, squared_norm, noise_variance)
    check_number("size", size, 0)
    noise = noise_variance * n_components / n_samples
    return float(noise + size * squared_norm / (n_samples * n_components))


@in_floats
def random_features_bound(
    n_samples: float,
    n_components: int,
    squared_radius: float,
    squared_norm: float,
    noise_variance: float = 1.0,
) -> float:
    """Bound on the excess risk of averaged least squares on random features of a kernel.

    sigma^2 s/n + R^2 f'K^{-1}f / s, for s features phi(x, v) with independent v,
    E[phi(x, v) phi(x', v)] = k(x, x') and |phi| <= R.

    Parameters
    ----------
    n_samples : float
        Number n of rows.

    n_components : int
        Number s of features.

    squared_radius : float
        R^2, the largest square of a feature at the rows; the largest mean square over the rows is
        enough.

    squared_norm : float
        f'K^{-1}f, with the means f of the targets and the kernel matrix K at the rows.

    noise_variance : float, default=1.0
        Variance sigma^2 of the noise.

    Returns
    -------
    bound : float
        The bound, in units of y squared.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    [Bach, §10.2.2]; the factor printed there, 2 R^2 / (n (s+1)), is too small by about n/2.

    References
    ----------
    F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import random_features_bound
    >>> round(random_features_bound(100, 20, squared_radius=2.0, squared_norm=1.0), 4)
    0.3
    """
    _check_risk(n_samples, n_components, squared_norm, noise_variance)
    check_number("squared_radius", squared_radius, 0)
    noise = noise_variance * n_components / n_samples
    return float(noise + squared_radius * squared_norm / n_components)


def _check_risk(
    n_samples: float, n_components: int, squared_norm: float, noise_variance: float
) -> None:
    check_number("n_samples", n_samples, 0, open_low=True)
    check_number("n_components", n_components, 1, integral=True)
    check_number("squared_norm", squared_norm, 0)
    check_number("noise_variance", noise_variance, 0)
