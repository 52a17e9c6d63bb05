"""The gauge of a finite dictionary, its polar, and the constant of matching pursuit.

gamma(u), the least l1 norm of coefficients that give u, is the norm in which greedy methods measure
what they are compared with [Bach, §10.3.1]; its polar is the largest product with an atom.
"""

from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, QhullError
from sklearn.utils import Bunch

from sklearn_ensemble_theory._typing import ArrayLike, RandomStateLike

from ._arguments import check_integer, check_number, checked_generator, checked_numbers, in_floats

# HiGHS takes costs above 1e20 as infinite; below it they lose accuracy.
MAX_RATIO_OF_SIZES = 1e15
# The exact kappa: all signs of so many independent columns, in blocks of 2^14; or so many facets by
# the upper bound theorem, which is about 30 times their number for random columns.
MAX_SIGNED_COLUMNS, SIGN_BITS = 20, 14
MAX_FACETS = 1_500_000
# Weights of the columns for the bound on kappa from below: steps, and the power p of the criterion.
DESIGN_STEPS, DESIGN_POWER = 20, 8
# What rounding may change in a matrix of products, as a share of the largest one.
GRAM_TOL = 1e-6
EPS = float(np.finfo(np.float64).eps)


def gauge(dictionary: ArrayLike, target: ArrayLike, *, tol: float = 1e-9) -> Bunch:
    """Gauge of a target over a dictionary: the least l1 norm of coefficients that give it.

    For atoms d_1, ..., d_m, the columns of the dictionary, and their negatives,

        gamma(u) = min { sum_j |c_j| : sum_j c_j d_j = u },

    the gauge function of the convex hull of the atoms and their negatives, also called the
    variation norm or atomic norm of u [Bach, §10.3.1]. It is the number in the rates of matching
    pursuit, gradient boosting and Frank-Wolfe, and the least radius of the ball of the variation
    norm that contains u. By duality of linear programs, gamma(u) = max { <u, g> : gamma°(g) <= 1 }.
    The program has 2 m variables and as many equations as the rank r of the dictionary, and is
    solved by HiGHS. The atoms are scaled to the same size before; the span is found by a singular
    value decomposition, O(n m min(n, m)). Dictionaries of a few thousand rows and columns take
    seconds.

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
    `gauge`; a weak learner that finds the best atom computes it for the negative gradient. The
    inner product is the sum over the n entries, not their mean. The cost is O(n m).

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

    %(raises)s

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
    squares, for columns of mean square 1. The value returned is a valid constant: the largest one
    if it can be enumerated, and else one that is proved.

    %(of_columns)s

    Returns
    -------
    kappa : float
        The constant; 0 if all columns are 0.

    %(raises)s

    See Also
    --------
    matching_pursuit_kappa_bracket : Says whether it is the largest, and how much larger it can be.

    Notes
    -----
    The largest kappa is the radius of the largest ball around 0, in the span, in the convex hull of
    the columns and their negatives. For at most 20 independent columns it is found by all signs, in
    O(2^d d²). For d columns of a rank r < d it is found by the facets of the hull (Barber, Dobkin
    and Huhdanpaa 1996), if there are at most 1.5 million of them (McMullen 1970). This allows up to
    about 40 columns of rank 8, in a few seconds. Otherwise the constant is proved by weights of the
    columns (Silvey, Titterington and Torsney 1978), in O(d r² + r³), and is at most 1/sqrt(r). See
    :ref:`kappa-of-columns` in the user guide.

    References
    ----------
    C. B. Barber, D. P. Dobkin and H. Huhdanpaa (1996). "The Quickhull algorithm for convex hulls".
    *ACM Transactions on Mathematical Software* 22.

    P. McMullen (1970). "The maximum numbers of faces of a convex polytope". *Mathematika* 17.

    S. D. Silvey, D. M. Titterington and B. Torsney (1978). "An algorithm for optimal designs on a
    finite design space". *Communications in Statistics* 7.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import matching_pursuit_kappa
    >>> round(matching_pursuit_kappa(np.eye(4)), 6)  # orthonormal: 1/sqrt(rank)
    0.5
    >>> round(matching_pursuit_kappa(np.kron(np.eye(4), np.ones((2, 2)))), 6)  # each column twice
    0.5

    64 directions in the plane, evenly spaced over half a turn: cos(pi / 128).

    >>> angles = np.arange(64) * np.pi / 64
    >>> round(matching_pursuit_kappa(np.cos(angles[:, None] - angles)), 6)
    0.999699
    """
    columns = _whitened(gram)
    if columns is None:
        return 0.0
    vertex = _largest_vertex(columns)
    return _kappa_by_design(columns) if vertex is None else columns.ratio(vertex)


def matching_pursuit_kappa_bracket(
    gram: ArrayLike, *, n_starts: int = 10, random_state: RandomStateLike = 0
) -> Bunch:
    """Numbers between which the largest kappa of `matching_pursuit_kappa` lies [Bach, §10.3.3].

    %(of_columns)s
    n_starts : int, default=10
        Number of random directions from which the search starts; not used where kappa is exact.
    random_state : int, RandomState instance or None, default=0
        Seed of the directions.

    Returns
    -------
    Bunch
        `lower`, the value of `matching_pursuit_kappa`: a valid constant. `upper`: no valid constant
        is larger. `is_exact`: whether all vertices were enumerated, in which case both are the
        largest kappa. `coefficients`, of shape (d,): c such that v = sum_j c_j psi_j has max_j
        |psi_j'v| / |v| = ``abs(gram @ c).max() / sqrt(c @ gram @ c)`` = upper, which proves it. All
        are 0 if the columns are.

    %(raises)s

    Notes
    -----
    The search maximises |v| over the v with |psi_j'v| <= 1 for all j. As |v|² is convex, the z that
    maximises the linear function v'z over this set is at least as long as v. This linear program,
    the same as in `gauge`, is repeated from every start until the length does not increase, at a
    vertex. The longest vertex found need not be the longest of all. A program has r equations and
    2d variables.

    Examples
    --------
    40 columns of 8 random signs span their space; all facets of their hull are found:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory.bounds import matching_pursuit_kappa_bracket
    >>> psi = np.random.default_rng(0).choice([-1.0, 1.0], (8, 40))
    >>> found = matching_pursuit_kappa_bracket(psi.T @ psi / 8)
    >>> found.is_exact, round(found.lower, 4)
    (True, 0.3466)

    80 columns of 20 signs have too many facets:

    >>> psi = np.random.default_rng(0).choice([-1.0, 1.0], (20, 80))
    >>> found = matching_pursuit_kappa_bracket(psi.T @ psi / 20, n_starts=3)
    >>> found.is_exact, round(found.lower, 3), round(found.upper, 3)
    (False, 0.149, 0.198)
    """
    check_integer("n_starts", n_starts, 1)
    rng = checked_generator(random_state)
    columns = _whitened(gram)
    coefficients = np.zeros(np.shape(gram)[0])
    if columns is None:
        return Bunch(lower=0.0, upper=0.0, is_exact=True, coefficients=coefficients)
    vertex = _largest_vertex(columns)
    is_exact = vertex is not None
    if vertex is None:
        starts = rng.standard_normal((n_starts, len(columns.root)))
        vertex = max((_climbed(columns, w) for w in starts), key=columns.length)
    upper = columns.ratio(vertex)
    coefficients[columns.kept] = vertex / columns.root**2 @ columns.basis
    lower = upper if is_exact else _kappa_by_design(columns)
    return Bunch(lower=lower, upper=upper, is_exact=is_exact, coefficients=coefficients)


class _Columns(NamedTuple):
    """Columns psi = size (root * basis), whose basis has orthonormal rows in the span.

    For w = root * v the products psi'v are size basis'w, and |v| is |w / root|: the set of all w
    with products in [-1, 1] is as round as the columns allow, whatever the eigenvalues are.
    """

    size: float
    root: np.ndarray
    basis: np.ndarray
    kept: np.ndarray

    def length(self, w: np.ndarray) -> float:
        """|v|."""
        return float(np.linalg.norm(w / self.root))

    def ratio(self, w: np.ndarray) -> float:
        """max_j |psi_j'v| / |v|."""
        return self.size * float(np.abs(w @ self.basis).max()) / self.length(w)


def _whitened(gram: ArrayLike) -> _Columns | None:
    """The columns with these products, without multiples of others; None if all are 0."""
    G = checked_numbers("gram", gram)
    if G.ndim != 2 or G.shape[0] != G.shape[1]:
        raise ValueError(f"gram must be a square matrix, got shape {G.shape}.")
    unit = float(np.abs(G).max(initial=0.0))
    G = G / (unit or 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.all(np.abs(G - G.T) <= GRAM_TOL):
            raise ValueError("gram must be symmetric.")
    # Products are at most those of the lengths; a diagonal below 0 is found here also.
    lengths = np.sqrt(np.maximum(np.diag(G), 0.0))
    if not np.all(np.abs(G) <= np.outer(lengths, lengths) + GRAM_TOL):
        raise ValueError("gram must have no negative eigenvalues.")
    # The longest first, so that it stays of those that are parallel.
    order = np.argsort(-np.diag(G), kind="stable")
    order = order[np.diag(G)[order] > len(G) * EPS]
    if len(order) == 0:
        return None
    G = G[np.ix_(order, order)]
    lengths = np.sqrt(np.diag(G))
    parallel = np.abs(G / lengths[:, None] / lengths) >= 1 - 8 * EPS
    is_first = ~np.triu(parallel, 1).any(axis=0)
    G, order = G[np.ix_(is_first, is_first)], order[is_first]
    values, vectors = np.linalg.eigh(G)
    if values[0] < -GRAM_TOL * len(G):
        raise ValueError("gram must have no negative eigenvalues.")
    positive = values > len(G) * EPS * values[-1]
    root = np.sqrt(values[positive])
    return _Columns(float(np.sqrt(unit)), root, vectors[:, positive].T, order)


def _largest_vertex(columns: _Columns) -> np.ndarray | None:
    """The w of the largest v with products in [-1, 1]; None if there may be too many."""
    basis, root = columns.basis, columns.root
    r, d = basis.shape
    if r == d:
        if d > MAX_SIGNED_COLUMNS:
            return None
        # All products are -1 or 1, and the first one is 1: w = basis s.
        fast = min(d - 1, SIGN_BITS)
        bits = np.arange(2**fast)[:, None] >> np.arange(fast) & 1
        low = (2.0 * bits - 1) @ basis[:, 1 : 1 + fast].T
        largest, found = -np.inf, low[0]
        for code in range(2 ** (d - 1 - fast)):
            high = 2.0 * (code >> np.arange(d - 1 - fast) & 1) - 1
            w = low + (basis[:, 0] + basis[:, 1 + fast :] @ high)
            squares = np.sum((w / root) ** 2, axis=1)
            k = int(squares.argmax())
            if squares[k] > largest:
                largest, found = float(squares[k]), w[k]
        return found
    # Facets n'x = 1 of the hull of the columns of the basis and their negatives are vertices n.
    a, b = (r + 1) // 2, r // 2
    if comb(2 * d - a, b) + comb(2 * d - b - 1, a - 1) > MAX_FACETS:
        return None
    try:
        facets = ConvexHull(np.hstack([basis, -basis]).T).equations
    except QhullError:  # flat up to rounding
        return None
    vertices = facets[:, :-1] / -facets[:, -1:]
    return vertices[np.sum((vertices / root) ** 2, axis=1).argmax()]


def _climbed(columns: _Columns, w: np.ndarray) -> np.ndarray:
    """From a direction to a vertex of which no linear program finds a larger one."""
    largest = 0.0
    while True:
        # The z that maximises v'z in the polar ball is the certificate of the gauge of v.
        moved = gauge(columns.basis, w / columns.root**2).certificate
        length = columns.length(moved)
        if length <= largest * (1 + 1e-9):
            return w
        w, largest = moved, length


def _kappa_by_design(columns: _Columns) -> float:
    """The root of the largest of the smallest eigenvalues of sum_j w_j psi_j psi_j' that was found.

    The weights increase with the derivative of (tr M^-p)^(-1/p), which goes to that eigenvalue.
    """
    psi = columns.root[:, None] * columns.basis
    w = np.full(psi.shape[1], 1 / psi.shape[1])
    largest = 0.0
    for _ in range(DESIGN_STEPS):
        values, vectors = np.linalg.eigh((psi * w) @ psi.T)
        if values[0] <= 0:
            break
        largest = max(largest, float(values[0]))
        slope = (values[0] / values) ** (DESIGN_POWER + 1) @ (vectors.T @ psi) ** 2
        w = w * slope ** (1 / (DESIGN_POWER + 1))
        w /= w.sum()
    return columns.size * float(np.sqrt(largest))
