"""Is boosting a linear learner stable? (002, definition 2.9 and proposition 2.11)"""

import numpy as np
import scipy.linalg

__all__ = ["stability"]


def stability(S, mu, symmetric, learning_rate=0.0, tol=1e-6):
    """Whether the fitted values stay bounded for every y as time grows.

    In the limit: no eigenvalue has a negative real part, and those with real part zero have Jordan
    blocks of size one. With learning rate lambda: the same of |1 - lambda mu| <= 1.

    The proposition's proof would bound the weights w_t as well; with an eigenvalue zero they grow
    like t while the fitted values do not move. What is decided here is the fitted values.

    Parameters
    ----------
    S : ndarray of shape (n, n)
        Unused when `symmetric`.
    mu : ndarray of its eigenvalues
    symmetric : bool
        Whether S is similar to a symmetric matrix, so that all blocks have size one.
    tol : float
        In units of the largest |mu|: real parts above -tol count as zero unless S is symmetric,
        where -1e-10 is the limit; eigenvalues closer than sqrt(tol) to each other count as one,
        and couplings above tol between them as a Jordan block.

    Returns
    -------
    stable : bool
    reason : str
        Empty when stable.
    """
    scale = np.abs(mu).max() if len(mu) else 0.0
    if scale == 0.0:
        scale = np.abs(S).max() if S is not None else 0.0
        if scale == 0.0:
            return True, ""
    slack = (1e-10 if symmetric else tol) * scale
    if learning_rate == 0:
        margin = mu.real
    else:
        margin = (1.0 - np.abs(1.0 - learning_rate * mu)) / learning_rate
    worst = int(np.argmin(margin))
    if margin[worst] < -slack:
        what = "a negative real part" if learning_rate == 0 else "|1 - learning_rate * mu| > 1"
        return False, f"the eigenvalue {_written(mu[worst])} has {what}"
    if symmetric:
        return True, ""
    critical = np.flatnonzero(margin <= slack)
    while len(critical):
        centre = mu[critical[0]]
        radius = np.sqrt(tol) * scale
        coupled = _coupling(S, centre, radius)
        if coupled > tol * scale:
            return False, (
                f"the eigenvalue {_written(centre)} is on the boundary and has a Jordan block of "
                "size above one"
            )
        critical = critical[np.abs(mu[critical] - centre) > radius]
    return True, ""


def _coupling(S, centre, radius):
    """Largest entry above the diagonal of the Schur form's block of eigenvalues near `centre`."""
    T, _, size = scipy.linalg.schur(
        S.astype(np.complex128), output="complex", sort=lambda z: abs(z - centre) <= radius
    )
    return np.abs(np.triu(T[:size, :size], 1)).max() if size > 1 else 0.0


def _written(mu):
    return f"{mu.real:.3g}" if abs(mu.imag) <= 1e-12 * abs(mu) else f"{mu:.3g}"
