"""Bounds on empirical risk minimisation over finitely many functions [Shah, §2.2]."""

import math

from sklearn_ensemble_theory.bounds._arguments import check_number, in_floats

__all__ = ["finite_class_bound", "histogram_class_bound"]


@in_floats
def finite_class_bound(
    n_samples: float, log_n_hypotheses: float, delta: float = 0.05, *, loss_bound: float = 1.0
) -> float:
    """Bound on the excess risk of empirical risk minimisation over a finite class.

    With probability at least 1 - delta, the risk of the function of H with the least empirical
    risk exceeds the least risk in H by at most

        M sqrt(2 (log |H| + log(1/delta)) / n)

    for losses in [0, M], by Hoeffding's inequality and a union bound.

    Parameters
    ----------
    n_samples : float
        Number n of independent rows. For weighted empirical risks, the square of the sum of the
        weights divided by the sum of their squares.

    log_n_hypotheses : float
        Natural logarithm of the number |H| of functions.

    delta : float, default=0.05
        Probability that the bound does not hold, above 0 and at most 1.

    loss_bound : float, default=1.0
        Bound M on the loss; 1 for the misclassification loss.

    Returns
    -------
    bound : float
        The bound, in units of the loss.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    Notes
    -----
    [Shah, theorem 6]. The class H must not depend on the rows. The constant cannot be improved: for
    two constant classifiers and small delta, the probability that the worse one is chosen is almost
    as large as the bound allows.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    The histogram classifier with 10 x 10 cells:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import finite_class_bound
    >>> round(finite_class_bound(10_000, 100 * np.log(2)), 4)
    0.1203
    """
    check_number("n_samples", n_samples, 0, open_low=True)
    check_number("log_n_hypotheses", log_n_hypotheses, 0)
    check_number("delta", delta, 0, 1, open_low=True)
    check_number("loss_bound", loss_bound, 0)
    return loss_bound * math.sqrt(2 * (log_n_hypotheses + math.log(1 / delta)) / n_samples)


@in_floats
def histogram_class_bound(
    n_samples: float,
    n_intervals: int,
    n_features: int = 2,
    delta: float = 0.05,
    *,
    n_classes: int = 2,
) -> float:
    """Bound on the excess error of the histogram classifier.

    A box is divided into m^p cells, m intervals of each of p features, and each cell predicts its
    most frequent class. This is empirical risk minimisation over K^(m^p) classifiers, so that with
    probability at least 1 - delta its error exceeds that of the best labels of the cells by at most

        sqrt(2 (m^p log K + log(1/delta)) / n)

    by [Shah, theorem 6], whose example has p = 2 and K = 2 [Shah, §2.2].

    Parameters
    ----------
    n_samples : float
        Number n of independent rows, above 0.

    n_intervals : int
        Number m of intervals of each feature, at least 1.

    n_features : int, default=2
        Number p of features, at least 1.

    delta : float, default=0.05
        Probability that the bound does not hold, above 0 and at most 1.

    n_classes : int, default=2
        Number K of classes, at least 2.

    Returns
    -------
    bound : float
        The bound; it says nothing where it is 1 or more.

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    See Also
    --------
    sklearn_ensemble_theory.HistogramClassifier : The classifier.

    References
    ----------
    R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import histogram_class_bound
    >>> round(histogram_class_bound(10_000, 10), 4)
    0.1203
    """
    check_number("n_intervals", n_intervals, 1, integral=True)
    check_number("n_features", n_features, 1, integral=True)
    check_number("n_classes", n_classes, 2, integral=True)
    n_cells = float(n_intervals) ** n_features
    return finite_class_bound(n_samples, n_cells * math.log(n_classes), delta)
