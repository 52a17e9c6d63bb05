"""The gauge of a finite dictionary, its polar, and the constant of matching pursuit.

gamma(u), the least l1 norm of coefficients that give u, is the norm in which greedy methods measure
what they are compared with [Bach, §10.3.1]; its polar is the largest product with an atom.
"""

from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.utils import Bunch

from sklearn_ensemble_theory._typing import ArrayLike

from ._arguments import check_number, checked_numbers, in_floats

# HiGHS takes costs above 1e20 as infinite; below it they lose accuracy.
MAX_RATIO_OF_SIZES = 1e15
# 2^(d-1) sign vectors are enumerated for the exact constant of d independent columns.
MAX_SIGN_VECTORS = 12


def gauge(dictionary: ArrayLike, target: ArrayLike, *, tol: float = 1e-9) -> Bunch:
    """Gauge of a target over a dictionary: the least l1 norm of coefficients that give it.

    For atoms d_1, ..., d_m, the columns of the dictionary, and their negatives,

        gamma(u) = min { sum_j |c_j| : sum_j c_j d_j = u },

    the gauge function of the convex hull of the atoms and their negatives, also called the
    variation norm or atomic norm of u [Bach, §10.3.1]. It is the number in the rates of matching
    pursuit, gradient boosting and Frank-Wolfe, and the least radius of the ball of the variation
    norm that contains u.

    Parameters
    ----------
    dictionary : array-like of shape (n, m)
        The atoms as columns, in any units. `erm.stump_dictionary` gives those of stumps.
    target : array-like of shape (n,)
        The target u.
    tol : float, default=1e-9
        The gauge is infinite if the part of u that is orthogonal to the span of the atoms is larger
        than this share of u, in Euclidean norm. Smaller parts are left out.

    Returns
    -------
    Bunch
        `value`, gamma(u) in units of u divided by units of the atoms; inf outside the span.
        `coefficients`, of shape (m,): those with the least l1 norm, or None if there are none.
        `certificate`, of shape (n,): a vector g with gamma°(g) <= 1 (see `polar_gauge`) and <u, g>
        = gamma(u), which proves that no coefficients have a smaller l1 norm. If the value is inf, g
        is the part of u outside the span, for which <u, g> > 0 and gamma°(g) = 0.

    Raises
    ------
    ValueError
        If the arguments are not finite or their shapes do not fit.
    RuntimeError
        If the linear program could not be solved.

    See Also
    --------
    polar_gauge : The dual norm.
    matching_pursuit_bound, greedy_boosting_bound, frank_wolfe_bound : Rates with this number.

    Notes
    -----
    By duality of linear programs, gamma(u) = max { <u, g> : gamma°(g) <= 1 }. The program has 2 m
    variables and as many equations as the rank r of the dictionary, and is solved by HiGHS. The
    atoms are scaled to the same size before; the span is found by a singular value decomposition,
    O(n m min(n, m)). Dictionaries of a few thousand rows and columns take seconds.

    Examples
    --------
    Three atoms in the plane; the third is a shorter way to (1, 1) than the other two:

    >>> from sklearn_ensemble_theory.bounds import gauge, polar_gauge
    >>> atoms = [[1.0, 0.0, 0.8], [0.0, 1.0, 0.8]]
    >>> found = gauge(atoms, [1.0, 1.0])
    >>> round(found.value, 6), found.coefficients.round(6) + 0.0
    (1.25, array([0.  , 0.  , 1.25]))
    >>> bool(polar_gauge(atoms, found.certificate) <= 1 + 1e-9)
    True
    >>> round(float(found.certificate @ [1.0, 1.0]), 6)
    1.25
    """
    atoms, u = _checked_atoms(dictionary, target, "target")
    check_number("tol", tol, 0, 1)
    m = atoms.shape[1]
    # Units of the atoms and of u: HiGHS has absolute tolerances.
    sizes = np.abs(atoms).max(axis=0, initial=0.0)
    used = np.flatnonzero(sizes > 0)
    unit = float(np.abs(u).max(initial=0.0))
    if unit == 0:
        return Bunch(value=0.0, coefficients=np.zeros(m), certificate=np.zeros(len(u)))
    v = u / unit
    scaled = atoms[:, used] / sizes[used]
    # Coordinates in the span of the atoms: there the equations have full rank, and what is left of
    # v outside is a certificate that no coefficients give it.
    basis = _basis_of_span(scaled)
    inside = basis.T @ v
    outside = v - basis @ inside
    if np.linalg.norm(outside) > tol * np.linalg.norm(v):
        outside -= basis @ (basis.T @ outside)
        return Bunch(value=np.inf, coefficients=None, certificate=unit * outside)
    # |c_j| costs 1/size_j for atoms of size 1; divided by the least cost.
    largest, smallest = sizes[used].max(), sizes[used].min()
    if smallest < largest / MAX_RATIO_OF_SIZES:
        raise ValueError("dictionary: the sizes of the atoms differ too much; scale them.")
    cost = largest / sizes[used]
    # The least sum of c+ + c- with atoms (c+ - c-) = v and c+, c- >= 0; its dual variables are the
    # certificate.
    system = basis.T @ scaled
    found = linprog(
        np.concatenate([cost, cost]),
        A_eq=np.hstack([system, -system]),
        b_eq=inside,
        bounds=(0, None),
        method="highs",
    )
    if found.status != 0:
        raise RuntimeError(f"The linear program of the gauge was not solved: {found.message}")
    coefficients = np.zeros(m)
    k = len(used)
    with np.errstate(over="ignore"):
        coefficients[used] = (found.x[:k] - found.x[k:]) / sizes[used] * unit
    if not np.isfinite(coefficients).all():
        raise ValueError(
            "The atoms are so small, or the target so large, that coefficients overflow."
        )
    certificate = basis @ found.eqlin.marginals / largest
    # Rounding may leave it outside the polar ball by 1e-9 or so.
    certificate /= max(1.0, float(np.abs(certificate @ atoms).max()))
    return Bunch(
        value=float(np.abs(coefficients).sum()), coefficients=coefficients, certificate=certificate
    )


@in_floats
def polar_gauge(dictionary: ArrayLike, direction: ArrayLike) -> float:
    """Polar of the gauge: the largest absolute inner product with an atom.

    For atoms d_1, ..., d_m, the columns of the dictionary, and their negatives,

        gamma°(g) = max_j |<d_j, g>|,

    so that <u, g> <= gamma(u) gamma°(g) for all u and g [Bach, §10.3.1]. It is the dual norm of
    `gauge`; a weak learner that finds the best atom computes it for the negative gradient.

    Parameters
    ----------
    dictionary : array-like of shape (n, m)
        The atoms as columns.
    direction : array-like of shape (n,)
        The vector g.

    Returns
    -------
    value : float
        gamma°(g), in units of the atoms times units of g.

    Raises
    ------
    ValueError
        If the arguments are not finite or their shapes do not fit.

    Notes
    -----
    The inner product is the sum over the n entries, not their mean. The cost is O(n m).

    Examples
    --------
    >>> from sklearn_ensemble_theory.bounds import polar_gauge
    >>> polar_gauge([[1.0, 0.0, 0.8], [0.0, 1.0, 0.8]], [1.0, -2.0])
    2.0
    """
    atoms, g = _checked_atoms(dictionary, direction, "direction")
    return float(np.abs(g @ atoms).max())


def _checked_atoms(
    dictionary: ArrayLike, vector: ArrayLike, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays of floats; a ValueError unless they fit together and are finite."""
    arrays: dict[str, Any] = {}
    for key, value, ndim in (("dictionary", dictionary, 2), (name, vector, 1)):
        array = checked_numbers(key, value)
        if array.ndim != ndim or array.size == 0:
            raise ValueError(
                f"{key} must be a non-empty array with {ndim} dimension(s), got shape "
                f"{array.shape}."
            )
        arrays[key] = array
    atoms, array = arrays["dictionary"], arrays[name]
    if len(atoms) != len(array):
        raise ValueError(
            f"{name} has {len(array)} entries and the dictionary {len(atoms)} rows; they must be "
            "as many."
        )
    return atoms, array


def _basis_of_span(atoms: np.ndarray) -> np.ndarray:
    """Orthonormal columns with the same span; the unit vectors where that is all of R^n."""
    n, m = atoms.shape
    if m == 0:
        return np.zeros((n, 0))
    left, singular, _ = np.linalg.svd(atoms, full_matrices=False)
    rank = int(np.sum(singular > max(n, m) * np.finfo(float).eps * singular[0]))
    return np.eye(n) if rank == n else left[:, :rank]


def matching_pursuit_kappa(gram: ArrayLike) -> float:
    """The constant kappa of the exponential rate (1 - kappa²)^t [Bach, §10.3.3].

    kappa |v| <= max_j |psi_j'v| for every v in the span of the columns, in the norm of mean
    squares, for columns of mean square 1. The value returned is at most 1/sqrt(r), where r is the
    rank of the columns; it is less than the largest possible kappa where the notes say so.

    Parameters
    ----------
    gram : array-like of shape (d, d)
        Mean products of the columns.

    Returns
    -------
    kappa : float
        The constant; 0 if all columns are 0.

    Raises
    ------
    ValueError
        If `gram` is not a square matrix of finite numbers.

    Notes
    -----
    For at most 12 linearly independent columns this is the largest kappa: 1/kappa² is the largest
    s'G^-1 s over sign vectors s, whose mean over all s is the trace of G^-1, at least d. So kappa
    is at most 1/sqrt(d), and r = d.

    Otherwise it is computed from the eigenvalues: kappa² = lambda/d with lambda the smallest
    positive eigenvalue, which is at most d/r. That is a valid constant but not always the largest:
    many columns in few dimensions can have a kappa close to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import matching_pursuit_kappa
    >>> round(matching_pursuit_kappa(np.eye(4)), 6)  # orthonormal: 1/sqrt(rank)
    0.5
    >>> round(matching_pursuit_kappa(np.kron(np.eye(4), np.ones((2, 2)))), 6)  # each column twice
    0.5
    """
    gram = checked_numbers("gram", gram)
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise ValueError(f"gram must be a square matrix, got shape {gram.shape}.")
    gram = gram[:, np.diag(gram) > 0][np.diag(gram) > 0]
    d = len(gram)
    if d == 0:
        return 0.0
    values, vectors = np.linalg.eigh(gram)
    positive = values > d * np.finfo(float).eps * values[-1]
    if d <= MAX_SIGN_VECTORS and positive.all():
        signs = np.array([(1.0, *s) for s in product((-1.0, 1.0), repeat=d - 1)])
        return float(1 / np.sqrt(np.max(((signs @ vectors) ** 2) @ (1 / values))))
    return float(np.sqrt(values[positive][0] / d))
