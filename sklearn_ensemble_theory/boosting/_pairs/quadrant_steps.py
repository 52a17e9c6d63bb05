"""Steps on the table of a pair of features: four constants, one for each quadrant of a cut.

A cut (i, j) divides the cells into the four quadrants ``a <= i`` or not, ``b <= j`` or not. Least
squares on the residuals by a constant in each of them is the learner of FAST [Lou et al. 2013].
Two kinds of steps are made of it:

- ``"best"``: the cut that lowers the squares most, as in boosting of trees with two levels.
- ``"averaged"``: the mean of the fits over all cuts, that is the expected step by a random cut. It
  is linear in the residuals, and smoother than any single fit.

The first kind follows jumps, the second smooth functions with less variance. Both cost O(A B) on a
table of A x B cells, whatever the number of rows.

References
----------
Y. Lou, R. Caruana, J. Gehrke, G. Hooker (2013). "Accurate intelligible models with pairwise
interactions". KDD.

W. D. Fisher (1958). "On grouping for maximum homogeneity". *Journal of the American Statistical
Association* 53.
"""

import numpy as np

from sklearn_ensemble_theory._hot_loops.compilation import uses_numba

# A quadrant below this share of the weight is not fitted.
MIN_SHARE = 1e-4
# The fits of one cut are projections; so their mean has eigenvalues between 0 and 1, and steps by
# all of it do not overshoot.
LEARNING_RATES = {"averaged": 1.0, "best": 0.1}


def inverse_weights(weight: np.ndarray, min_share: float = MIN_SHARE) -> np.ndarray:
    """One over the weight of the four quadrants of each cut: (4, A - 1, B - 1).

    0 for cuts with a quadrant below `min_share` of all weight. The quadrants are: before the cut in
    both directions, before it along the first only, along the second only, and in neither.
    """
    quadrants = quadrant_sums(weight)
    smallest = np.min(quadrants, axis=0, initial=np.inf)
    valid = (smallest > 0) & (smallest >= min_share * weight.sum())
    return np.where(valid, 1 / np.where(valid, quadrants, 1.0), 0.0)


def quadrant_sums(sums: np.ndarray) -> np.ndarray:
    """Sums over the four quadrants of each cut, of tables (..., A, B): (4, ..., A - 1, B - 1)."""
    cumulated = sums.cumsum(axis=-1).cumsum(axis=-2)
    a = cumulated[..., :-1, :-1]
    row, column = cumulated[..., :-1, -1:], cumulated[..., -1:, :-1]
    everything = cumulated[..., -1:, -1:]
    return np.stack([a, row - a, column - a, everything - row - column + a])


def quadrant_steps(kind, sums, weight, inverse, n_steps, rate=None):
    """The sum of `n_steps` steps on the residuals of a table.

    Parameters
    ----------
    kind : {"averaged", "best"}
    sums : ndarray of shape (A, B)
        Weighted sums of the residuals in the cells.
    weight : ndarray of shape (A, B)
        Weights of the cells.
    inverse : ndarray of shape (4, A - 1, B - 1)
        From `inverse_weights`.
    n_steps : int
    rate : float, default=None
        Share of each fit that is added; by default that of `LEARNING_RATES`.

    Returns
    -------
    added : ndarray of shape (A, B)
    """
    rate = LEARNING_RATES[kind] if rate is None else rate
    added = np.zeros(sums.shape)
    if not inverse.any():
        return added
    sums = sums.copy()
    if uses_numba():
        from sklearn_ensemble_theory._hot_loops._pairs import quadrant_loops as loops
    else:
        loops = _ArraySteps
    steps = {"averaged": loops.averaged_steps, "best": loops.best_steps}[kind]
    steps(sums, weight, inverse, rate, n_steps, added)
    return added


class _ArraySteps:
    """The other route of `quadrant_loops`."""

    @staticmethod
    def averaged_steps(sums, weight, inverse, rate, n_steps, added):
        share = rate / np.count_nonzero(inverse[0])
        for _ in range(n_steps):
            a, b, c, d = quadrant_sums(sums) * inverse
            step = np.full(sums.shape, d.sum())
            step[:-1] += _from_the_end((b - d).sum(axis=1), 0)[:, None]
            step[:, :-1] += _from_the_end((c - d).sum(axis=0), 0)
            step[:-1, :-1] += _from_the_end(_from_the_end(a - b - c + d, 1), 0)
            step *= share
            added += step
            sums -= weight * step

    @staticmethod
    def best_steps(sums, weight, inverse, rate, n_steps, added):
        for _ in range(n_steps):
            quadrants = quadrant_sums(sums)
            a, b, c, d = quadrants * quadrants * inverse
            gains = a + b + c + d
            i, j = np.unravel_index(gains.argmax(), gains.shape)
            if not gains[i, j] > 0:
                return
            values = rate * quadrants[:, i, j] * inverse[:, i, j]
            first, second = np.arange(len(sums)) > i, np.arange(sums.shape[1]) > j
            step = values.reshape(2, 2)[first.astype(int)[:, None], second.astype(int)]
            added += step
            sums -= weight * step


def _from_the_end(values, axis):
    """Cumulative sums that begin at the end of an axis."""
    return np.flip(np.flip(values, axis).cumsum(axis), axis)


def ordered_bins(sums, weight, unordered):
    """The order of the bins of both axes in which cuts are made.

    Categories have no order; for one axis, the best one for a cut is that of the mean residuals
    [Fisher 1958]. But the residuals of an interaction have mean zero along each axis: here the
    order is that of the functions in the best product f(a) g(b), the first singular vectors of the
    residuals.

    Parameters
    ----------
    sums : ndarray of shape (A, B)
        Weighted sums of the residuals in the cells.
    weight : ndarray of shape (A, B)
        Weights of the cells.
    unordered : sequence of two bool
        Axes whose bins are categories. The others keep their order.

    Returns
    -------
    list of two int ndarrays
    """
    orders = [np.arange(n) for n in sums.shape]
    if any(unordered):
        masses = [weight.sum(axis=1), weight.sum(axis=0)]
        units = [np.where(m > 0, 1 / np.sqrt(np.where(m > 0, m, 1.0)), 0.0) for m in masses]
        u, _, vt = np.linalg.svd(units[0][:, None] * sums * units[1], full_matrices=False)
        for axis, vector in enumerate([u[:, 0], vt[0]]):
            if unordered[axis]:
                orders[axis] = np.argsort(vector * units[axis], kind="stable")
    return orders
