"""The columns of X as a dictionary: centred, scaled, and their products as they are asked for.

Greedy algorithms for the squared loss over a finite dictionary psi_1 ... psi_d need the products
psi_j'W(y - u) only, and a step along psi_k changes them by a row of the Gram matrix. Such rows are
computed when they are first needed, together with those of the columns that are likely to come
next; when many have been asked for, all the others follow at once. So a greedy step costs O(d),
and no more products are computed than twice what the cheapest plan would have been.
"""

import numpy as np
import scipy.sparse as sp

# Rows computed together: enough that the product runs from the processor's cache.
BLOCK = 64
# Once this share of the rows was needed, the rest is computed in one go.
SHARE_BEFORE_ALL = 0.25
# Memory for rows, where X itself is smaller (bytes).
MIN_MEMORY = 2**28
# Rows of X centred at a time.
CHUNK_BYTES = 2**20
# A column whose root mean square is below this share of its largest value is rounding.
SMALLEST_SPREAD = 1e-13


class ColumnDictionary:
    """psi_j = (x_j - offset_j) / scale_j under weights that sum to 1; nothing of X is copied.

    Parameters
    ----------
    X : float64 array or sparse matrix of shape (n, d)
    weight : array of shape (n,)
    centre : bool
        Subtract the weighted means.
    scale : float array of shape (d,), default=None
        None for the root mean squares, so that every psi_j has mean square 1.

    Attributes
    ----------
    usable : bool array of shape (d,)
        False for columns that are zero, or constant when centred: their psi is 0.
    """

    def __init__(self, X, weight, centre, scale=None):
        self.sparse = sp.issparse(X)
        self.X = X.tocsc() if self.sparse else X
        self.weight = weight
        self.n, self.d = X.shape
        self.offset = np.asarray(self.X.T @ weight) if centre else np.zeros(self.d)
        spread = self._spread()
        self.usable = (spread > SMALLEST_SPREAD * np.abs(self.offset)) & (spread > 1e-300)
        self.scale = np.where(self.usable, spread if scale is None else scale, 1.0)

    def _chunks(self):
        rows = max(1, CHUNK_BYTES // (8 * max(self.d, 1)))
        for first in range(0, self.n, rows):
            yield slice(first, first + rows)

    def _spread(self):
        """Root mean squares about the offsets."""
        with np.errstate(over="ignore", under="ignore"):
            squares = self._squares(np.ones(self.d))
        rough = ~((squares > 1e-200) & (squares < 1e200))
        if not rough.any():
            return np.sqrt(squares)
        # Constant columns, or numbers whose squares overflow or vanish: divide them first.
        largest = self._largest()
        return largest * np.sqrt(self._squares(largest))

    def _largest(self):
        if self.sparse:
            largest = abs(self.X).max(axis=0).toarray().ravel()
        else:
            largest = np.maximum(self.X.max(axis=0), -self.X.min(axis=0))
        return np.where(largest > 1e-300, largest, 1.0)

    def _squares(self, size):
        """Weighted mean squares about the offsets of the columns divided by `size`."""
        offset = self.offset / size
        if self.sparse:
            scaled = self.X.multiply(1 / size).tocsc()
            scaled.data = scaled.data**2
            return np.maximum(scaled.T @ self.weight - offset**2, 0.0)
        squares, rescale = np.zeros(self.d), (size != 1).any()
        for rows in self._chunks():
            block = self.X[rows] / size if rescale else self.X[rows] - offset
            if rescale:
                block -= offset
            np.square(block, out=block)
            squares += self.weight[rows] @ block
        return squares

    def columns(self, chosen, X=None):
        """psi of the chosen columns, as rows: (k, n); of other rows where X is given."""
        X = self.X if X is None else X
        block = X[:, chosen].toarray().T if sp.issparse(X) else X[:, chosen].T
        block = block - self.offset[chosen, None]
        block /= self.scale[chosen, None]
        block[~self.usable[chosen]] = 0.0
        return block

    def products(self, values):
        """psi_j'W v for all j: (d,) for v of shape (n,), (k, d) for shape (k, n)."""
        weighted = values * self.weight
        sums = weighted.sum(axis=-1)
        products = np.asarray(self.X.T @ weighted.T).T - np.multiply.outer(sums, self.offset)
        return np.where(self.usable, products / self.scale, 0.0)

    def gram(self):
        """Psi'W Psi: (d, d). O(n d²), a chunk of rows at a time."""
        if self.sparse:
            blocks = np.array_split(np.arange(self.d), max(1, self.d // BLOCK))
            return np.concatenate([self.products(self.columns(block)) for block in blocks])
        factor = np.where(self.usable, 1 / self.scale, 0.0)
        root = np.sqrt(self.weight)
        gram = np.zeros((self.d, self.d))
        for rows in self._chunks():
            block = self.X[rows] - self.offset
            block *= factor
            block *= root[rows, None]
            gram += block.T @ block
        return gram


class GramRows:
    """Rows of the Gram matrix by number: ``rows.get(j, c)``, kept once computed.

    Parameters
    ----------
    dictionary : ColumnDictionary
    block : int, default=BLOCK
        Rows computed together; fewer where fewer will ever be needed.
    """

    def __init__(self, dictionary, block=BLOCK):
        self.dictionary = dictionary
        self.block = min(block, BLOCK, dictionary.d)
        d = dictionary.d
        memory = max(MIN_MEMORY, 8 * dictionary.n * d)
        self.all_fit = 8 * d * d <= memory
        self.most = max(2 * BLOCK, memory // (8 * d))
        self.kept = {}
        self.everything = None

    def get(self, j, correlations):
        """Row j; `correlations` tell which columns are likely to be asked for next."""
        row = self.kept.get(j)
        if row is None:
            self._load(j, correlations)
            row = self.kept[j]
        return row

    def _load(self, j, correlations):
        d = self.dictionary.d
        if self.all_fit and len(self.kept) >= SHARE_BEFORE_ALL * d:
            self.everything = self.dictionary.gram()
            self.kept = dict(enumerate(self.everything))
            return
        size = np.abs(correlations)
        size[list(self.kept)] = -1.0
        size[j] = np.inf
        likely = np.argpartition(-size, self.block - 1)[: self.block]
        likely = np.sort(likely[size[likely] > 0])
        while len(self.kept) + len(likely) > self.most:
            del self.kept[next(iter(self.kept))]
        block = self.dictionary.products(self.dictionary.columns(likely))
        self.kept.update(zip(likely.tolist(), block))


def coefficients_in_units(coefficients, scale):
    """coefficients / scale, or a ValueError where that has no finite value."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = coefficients / scale
    if not np.isfinite(found).all():
        raise ValueError("X is so small, or y so large, that coefficients overflow; scale them.")
    return found
