"""An ensemble of trees as a weighting of its training rows, and what follows from the weights.

At a query x the training row i has the weight w_i(x) of `_quantiles`, and the prediction is the
mean of the targets with these weights. Of a training row the trees count that it is out of bag
for, by which its weights are the proximities of [Rhodes, Cutler and Moon, 2023].

The public methods of bagged ensembles are functions here, with their docstrings.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._categories import fitted_encoder
from sklearn_ensemble_theory._door import LARGEST_COUNT
from sklearn_ensemble_theory._running import warn_user
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike
from sklearn_ensemble_theory.bounds._arguments import check_integer
from sklearn_ensemble_theory.ensembles._members import (
    FittedEnsemble,
    columns_of_members,
    tree_input,
)
from sklearn_ensemble_theory.ensembles._quantiles import (
    LeafFinder,
    check_trees,
    indicator_of_leaves,
    rows_of_leaves,
)
from sklearn_ensemble_theory.ensembles._training_rows import (
    check_rows_outside,
    kept_rows,
    kept_X,
    outside_masks,
)

Proximity = Literal["leaves", "out_of_bag", "geometry-preserving"]
PROXIMITIES = ("leaves", "out_of_bag", "geometry-preserving")
# Leaves of queries that are looked up at once, and pairs of rows whose trees are counted at once.
LEAVES, PAIRS = 2**21, 2**18
# Weights and proximities that are computed at once: 48 MB.
ENTRIES = 2**22
# Raw scores of outliers are equal if they differ by less, as a share.
ROUNDING = 1e-9
BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.int32)


# --- weights --------------------------------------------------------------------------------------


def training_weights(self: FittedEnsemble, X: MatrixLike | None = None) -> sp.csr_array:
    """Compute the weights of the training rows, of which the prediction is the weighted mean.

    With L_b(x) the leaf of x in tree b of B, and v_bi the weight with which training row i was
    fitted in it (how often it was drawn, times its sample weight where rows keep theirs), row i
    has at x the weight

        w_i(x) = 1/B sum_b v_bi 1{i in L_b(x)} / sum_{j in L_b(x)} v_bj.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows to weigh the training rows for. `None` is the training rows themselves, where the mean
        is over the trees that the row is out of bag for: a row has no weight in its own prediction.

    Returns
    -------
    weights : csr_array of shape (n_samples, n_training_rows)
        Non-negative, of sum 1 in each row. Without X a row that no tree leaves out has no weights
        at all, and there is a warning.

    Raises
    ------
    ValueError
        If the members are not trees, without X if every tree is fitted to every row, or after
        `forget_training_rows`.

    Notes
    -----
    Where a leaf predicts the mean of its rows, ``training_weights(X) @ y`` is the prediction, for
    one target or several; so it is of trees by the squared error or the Poisson deviance, without
    `monotonic_cst` and before `shrink`. Of classifiers with `voting="soft"` the product with
    indicators of the classes is `predict_proba`. ``training_weights() @ y`` is `oob_prediction_`,
    and the product with indicators `oob_decision_function_`. These are equal up to rounding. With
    `voting="hard"` and leaves of one class each the products are the shares of votes.

    Any weighted statistic of the targets at x follows: ``training_weights(X) @ g(y)`` is the
    conditional mean of g(y), also of columns that were not there when the forest was fitted.

    Cost: the first call assigns the training rows to leaves, O(n B depth), and keeps O(n B)
    numbers; then for a row O(B depth + K log K), with K the number of rows in its leaves.

    References
    ----------
    Y. Lin and Y. Jeon (2006). "Random forests and adaptive nearest neighbors". *Journal of the
    American Statistical Association* 101.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(50, random_state=0).fit(X[:400], y[:400])
    >>> weights = forest.training_weights(X[400:])
    >>> weights.shape
    (42, 400)
    >>> bool(np.allclose(weights @ y[:400], forest.predict(X[400:])))
    True
    """
    blocks = list(weight_blocks(self, X, "training_weights"))
    weights = sp.vstack(blocks, format="csr")
    if X is None:
        n_without = int(np.count_nonzero(np.diff(weights.indptr) == 0))
        if n_without:
            warn_user(
                f"{n_without} training rows were drawn for every tree and have no weights; more "
                f"trees than n_estimators={len(self.estimators_)} leave every row out once."
            )
    return weights


def weight_blocks(ensemble: FittedEnsemble, X, what: str) -> Iterator[sp.csr_array]:
    """The weights of blocks of queries, columns as the training rows; None is these themselves."""
    check_is_fitted(ensemble)
    leaf_rows = rows_of_leaves(ensemble, what)
    every = leaf_blocks(ensemble, leaf_rows.finder, X, what, out_of_bag=X is None)
    for leaves in blocks_of_entries(every, np.diff(leaf_rows.first), len(leaf_rows.order)):
        found = leaf_rows.weights(leaves)
        if X is None:  # the trees outside of a row count for the others
            n_outside = np.maximum((leaves >= 0).sum(axis=1), 1)
            found.data *= np.repeat(leaves.shape[1] / n_outside, np.diff(found.indptr))
        columns = leaf_rows.order[found.indices].astype(found.indices.dtype)
        found = sp.csr_array((found.data, columns, found.indptr), shape=found.shape)
        found.sort_indices()
        yield found


def leaf_blocks(
    ensemble: FittedEnsemble, finder: LeafFinder, X, what: str, out_of_bag: bool
) -> Iterator[np.ndarray]:
    """The leaves (m, T) of blocks of rows; -1 where a training row is not `out_of_bag`."""
    if X is None:
        X = kept_X(ensemble, what)
    else:
        X = ensemble._validate_X(X)
    if out_of_bag:
        check_rows_outside(ensemble, f"{what}: rows out of bag")
        masks = outside_masks(ensemble, None)
    X = tree_input(ensemble, X)
    step = max(1, LEAVES // len(ensemble.estimators_))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        leaves = finder.leaves(X[rows])
        if out_of_bag:
            leaves[masks.numbers(rows) == 0] = -1
        yield leaves


def blocks_of_entries(
    blocks: Iterator[np.ndarray], sizes: np.ndarray, n: int
) -> Iterator[np.ndarray]:
    """The blocks of leaves, cut where their rows have many others, of n, in their leaves.

    `sizes` are the numbers of rows in all leaves; the last one is 0, of what is no leaf.
    """
    for leaves in blocks:
        entries = np.cumsum(np.minimum(sizes[leaves].sum(axis=1), n))
        cuts = np.searchsorted(entries, np.arange(ENTRIES, entries[-1], ENTRIES))
        yield from np.split(leaves, np.unique(cuts[cuts > 0]))


# --- proximities ----------------------------------------------------------------------------------


def proximity(
    self: FittedEnsemble,
    X: MatrixLike | None = None,
    Z: MatrixLike | None = None,
    kind: Proximity = "leaves",
) -> sp.csr_array:
    """Compute how often the trees have two rows in one leaf.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows; `None` is the training rows.

    Z : {array-like, sparse matrix} of shape (n_others, n_features), default=None
        Rows to compare them with, for `kind="leaves"`; `None` is the training rows.

    kind : {"leaves", "out_of_bag", "geometry-preserving"}, default="leaves"
        What is counted:

        - `"leaves"`: the share of the trees in which both rows are in one leaf [Breiman, 2001].
          Symmetric, and 1 for a row and itself. Trees that were fitted to both rows had a part in
          separating them by their targets, so that training rows of one class look closer than
          new ones are.
        - `"out_of_bag"`: the same share among the trees that both rows are out of bag for, for
          training rows only; 0 where there is no such tree.
        - `"geometry-preserving"`: the weights of `training_weights` [Rhodes, Cutler and Moon,
          2023], not symmetric, of sum 1 in each row. Weighted votes, or means, are the prediction
          of the forest, out of bag for its training rows.

    Returns
    -------
    proximity : csr_array of shape (n_samples, n_others)
        From 0 to 1.

    Raises
    ------
    ValueError
        If the members are not trees, if X or Z is given where `kind` has none, if rows out of bag
        are needed and every tree is fitted to every row, or, unless both X and Z are given, after
        `forget_training_rows`.

    Notes
    -----
    The result is sparse: of full trees a row has at most B neighbours, but in trees of few leaves
    all n rows are neighbours of each other, and n² numbers are returned; `kneighbors` has blocks of
    them only. For clusters and embeddings, ``1 - proximity`` is a squared distance between vectors
    of leaves where `kind="leaves"`.

    Cost: a number for each pair of rows in one leaf, in each tree.

    References
    ----------
    L. Breiman (2001). "Random forests". *Machine Learning* 45.

    J. S. Rhodes, A. Cutler and K. R. Moon (2023). "Geometry- and accuracy-preserving random forest
    proximities". *IEEE Transactions on Pattern Analysis and Machine Intelligence* 45.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_ensemble_theory import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(200, random_state=0).fit(X, y)
    >>> near = forest.proximity(X[[0, 50, 100]], X[[0, 50, 100]]).toarray()
    >>> near.diagonal()
    array([1., 1., 1.])
    >>> bool(near[0, 1] < 0.1 and near[0, 2] < 0.1)
    True
    """
    return sp.vstack(list(proximity_blocks(self, X, Z, kind, "proximity")), format="csr")


def proximity_blocks(
    ensemble: FittedEnsemble, X, Z, kind: Proximity, what: str
) -> Iterator[sp.csr_array]:
    """The proximities of blocks of rows to all of Z."""
    check_is_fitted(ensemble)
    if not isinstance(kind, str) or kind not in PROXIMITIES:
        raise ValueError(f"kind must be one of {list(PROXIMITIES)}, got {kind!r}.")
    if kind != "leaves" and Z is not None:
        raise ValueError(f"Z must be None with kind={kind!r}, which compares with training rows.")
    if kind == "out_of_bag" and X is not None:
        raise ValueError("X must be None with kind='out_of_bag', which compares training rows.")
    if kind == "geometry-preserving":
        yield from weight_blocks(ensemble, X, what)
        return
    only_outside = kind == "out_of_bag"
    members = ensemble.estimators_
    if X is None or Z is None:
        finder = rows_of_leaves(ensemble, what).finder
    else:  # the training rows may have been removed
        check_trees(ensemble, what)
        finder = LeafFinder(members, columns_of_members(ensemble))

    def make() -> sp.csr_array:
        others = leaf_blocks(ensemble, finder, Z, what, only_outside)
        parts = [indicator_of_leaves(leaves, finder.n_nodes) for leaves in others]
        return sp.vstack(parts).T.tocsr()

    if Z is not None:
        by_leaf = make()
    else:  # the rows of all leaves are found once for training rows
        by_leaf = kept_rows(ensemble, what).derived(kind, members, make)
    start, sizes = 0, np.append(np.diff(by_leaf.indptr), 0)
    every = leaf_blocks(ensemble, finder, X, what, only_outside)
    for leaves in blocks_of_entries(every, sizes, by_leaf.shape[1]):
        found = (indicator_of_leaves(leaves, finder.n_nodes) @ by_leaf).tocsr()
        found.sort_indices()
        if only_outside:
            found.data /= n_trees_outside(ensemble, found, start)
        else:
            found.data /= len(members)
        yield found
        start += len(leaves)


def n_trees_outside(ensemble: FittedEnsemble, pairs: sp.csr_array, start: int) -> np.ndarray:
    """How many trees are fitted to neither row of each pair; rows of `pairs` begin at `start`."""
    bits = outside_masks(ensemble, None).bits
    first = start + np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
    counts = np.empty(pairs.nnz)
    for at in range(0, pairs.nnz, PAIRS):
        part = slice(at, at + PAIRS)
        counts[part] = BITS[bits[first[part]] & bits[pairs.indices[part]]].sum(axis=1)
    return counts


def kneighbors(
    self: FittedEnsemble,
    X: MatrixLike | None = None,
    n_neighbors: int = 5,
    return_distance: bool = True,
    kind: Proximity = "leaves",
) -> tuple[np.ndarray, np.ndarray] | np.ndarray:
    """Find the training rows that the trees have closest to each row.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows; `None` is the training rows, which are not their own neighbours.

    n_neighbors : int, default=5
        Number of training rows.

    return_distance : bool, default=True
        Whether to return the distances.

    kind : {"leaves", "out_of_bag", "geometry-preserving"}, default="leaves"
        The proximity, see `proximity`.

    Returns
    -------
    distances : ndarray of shape (n_samples, n_neighbors)
        1 - proximity, in increasing order; 1 where no tree has the row in a leaf with the other.
        Only if `return_distance`.

    indices : ndarray of shape (n_samples, n_neighbors)
        Numbers of the training rows. Of rows at one distance the lower number is first.

    Raises
    ------
    ValueError
        If there are fewer than `n_neighbors` rows, or as by `proximity`.

    Notes
    -----
    Cost: that of `proximity`, in blocks of rows, and O(K log K) for the K neighbours of a row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_ensemble_theory import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(200, random_state=0).fit(X[1:], y[1:])
    >>> y[1:][forest.kneighbors(X[:1], 3, return_distance=False)]
    array([[0, 0, 0]])
    """
    check_is_fitted(self)
    check_integer("n_neighbors", n_neighbors, 1, LARGEST_COUNT)
    n = len(kept_rows(self, "kneighbors").y)
    if n_neighbors > n - (X is None):
        raise ValueError(
            f"n_neighbors={n_neighbors} must be at most {n - (X is None)}, the number of other "
            "training rows."
        )
    distances: list[np.ndarray] = []
    indices: list[np.ndarray] = []
    for near in proximity_blocks(self, X, None, kind, "kneighbors"):
        for a, b in zip(near.indptr[:-1], near.indptr[1:]):
            number, share = near.indices[a:b], near.data[a:b]
            if X is None:
                is_other = number != len(indices)
                number, share = number[is_other], share[is_other]
            if len(share) > n_neighbors:
                # Those at the distance of the last one may be more than are returned.
                last = np.partition(share, -n_neighbors)[-n_neighbors]
                number, share = number[share >= last], share[share >= last]
            nearest = np.argsort(-share, kind="stable")[:n_neighbors]
            number, share = number[nearest], share[nearest]
            n_more = n_neighbors - len(number)
            if n_more:  # those of the lowest numbers that share no leaf
                taken = np.append(number, len(indices)) if X is None else number
                rest = np.setdiff1d(np.arange(n_neighbors + 1), taken)[:n_more]
                number, share = np.append(number, rest), np.append(share, np.zeros(n_more))
            indices.append(number)
            distances.append(1.0 - share)
    shape = len(indices), n_neighbors
    found = np.array(indices, dtype=np.intp).reshape(shape)
    if not return_distance:
        return found
    return np.clip(np.array(distances).reshape(shape), 0.0, 1.0), found


def outlier_scores(
    self: FittedEnsemble, kind: Literal["leaves", "out_of_bag"] = "leaves"
) -> np.ndarray:
    """Score how far each training row is from the others of its class.

    With p_ij the proximity of rows i and j, and n the number of rows, the raw score of row i is
    n / sum_j p_ij², over the rows j of its class, itself included. From it the median of the class
    is subtracted, and the difference is divided by the median absolute deviation
    [Breiman and Cutler, 2004].

    Parameters
    ----------
    kind : {"leaves", "out_of_bag"}, default="leaves"
        The proximity, see `proximity`.

    Returns
    -------
    scores : ndarray of shape (n_training_rows,)
        Scores above 10 are suspicious, by the rule of thumb of the authors. In regression all
        rows are one class; of several outputs rows of a class agree in all of them.

    Raises
    ------
    ValueError
        As by `proximity`.

    Notes
    -----
    Where more than half of a class has one raw score, the median absolute deviation is 0, and the
    mean absolute deviation takes its place. Cost: that of `proximity`, in blocks of rows.

    References
    ----------
    L. Breiman and A. Cutler (2004). *Random Forests*, section "Outliers".
    https://www.stat.berkeley.edu/~breiman/RandomForests/

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_ensemble_theory import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> y[0] = 2  # a mistake
    >>> forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> int(np.argmax(forest.outlier_scores()))
    0
    """
    check_is_fitted(self)
    if not isinstance(kind, str) or kind not in PROXIMITIES[:2]:
        raise ValueError(f"kind must be one of {list(PROXIMITIES[:2])}, got {kind!r}.")
    y = kept_rows(self, "outlier_scores").y
    label = np.zeros(len(y), dtype=np.intp)
    if is_classifier(self):
        label = np.unique(y.reshape(len(y), -1), axis=0, return_inverse=True)[1].ravel()
    total, start = np.zeros(len(y)), 0
    for near in proximity_blocks(self, None, None, kind, "outlier_scores"):
        row = np.repeat(np.arange(near.shape[0]), np.diff(near.indptr))
        same = label[start + row] == label[near.indices]
        sums = np.bincount(row, near.data**2 * same, minlength=near.shape[0])
        total[start : start + len(sums)] = sums
        start += len(sums)
    # A row that every tree is fitted to has no proximities out of bag, not even to itself.
    scores = np.divide(len(y), total, out=np.full(len(y), np.nan), where=total > 0)
    for k in range(label.max(initial=-1) + 1):
        own = (label == k) & (total > 0)
        if not own.any():
            continue
        median = np.median(scores[own])
        scores[own] -= median
        # The sums of equal rows differ by rounding, which is no spread.
        scores[own & (np.abs(scores) <= ROUNDING * median)] = 0.0
        spread = np.median(np.abs(scores[own])) or np.mean(np.abs(scores[own])) or 1.0
        scores[own] /= spread
    return scores


def impute(self: FittedEnsemble, X: MatrixLike | None = None) -> np.ndarray:
    """Fill in missing values by the weighted means of the training rows that have them.

    A missing value of feature j in a row x becomes sum_i w_i(x) x_ij / sum_i w_i(x), over the
    training rows i whose feature j is known, with the weights of `training_weights`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), default=None
        Rows, missing values as NaN. `None` is the training rows, by the trees that the row is out
        of bag for: its own target has no part in the values that are filled in.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows without missing values, in double precision; the training rows have single
        precision. Where no row with weight has a known value, the mean of all known ones is filled
        in, and a column without any stays NaN.

    Raises
    ------
    ValueError
        If X is sparse or has categorical features, if the members are not trees or refuse missing
        values, or as by `training_weights`.

    Notes
    -----
    Rows with missing values go down the trees as they are, so that there is no start from medians
    and nothing to repeat, unlike in [Breiman and Cutler, 2004]. The rows that share leaves with x
    are those with the same relation to y: features that are irrelevant for y are filled in little
    better than by their means. Cost: that of `training_weights`, and a product with X.

    References
    ----------
    L. Breiman and A. Cutler (2004). *Random Forests*, section "Missing value replacement for the
    training set". https://www.stat.berkeley.edu/~breiman/RandomForests/

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_ensemble_theory import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> known = X[:, 3].copy()
    >>> X[::5, 3] = np.nan
    >>> filled = RandomForestClassifier(200, random_state=0).fit(X, y).impute()
    >>> bool(np.abs(filled[::5, 3] - known[::5]).mean() < 0.3)
    True
    """
    check_is_fitted(self)
    rows_of_leaves(self, "impute")
    known = kept_X(self, "impute")
    if fitted_encoder(self) is not None:
        raise ValueError("impute requires features that are numbers; some of X are categorical.")
    rows = known if X is None else self._validate_X(X)
    if sp.issparse(known) or sp.issparse(rows):
        raise ValueError("impute requires a dense X.")
    filled = np.array(rows, dtype=np.float64)
    is_known = ~np.isnan(known)
    values = np.where(is_known, known, 0.0).astype(np.float64)
    n_known = is_known.sum(axis=0)
    mean = np.divide(
        values.sum(axis=0), n_known, out=np.full(len(n_known), np.nan), where=n_known > 0
    )
    start = 0
    for weights in weight_blocks(self, X, "impute"):
        part = filled[start : start + weights.shape[0]]
        total, share = weights @ values, weights @ is_known.astype(np.float64)
        means = np.tile(mean, (len(part), 1))
        np.divide(total, share, out=means, where=share > 0)
        part[:] = np.where(np.isnan(part), means, part)
        start += len(part)
    return filled


# --- functionals of the conditional distribution --------------------------------------------------


def predict_functional(
    self: FittedEnsemble, X: MatrixLike, function: Callable[[np.ndarray, np.ndarray], Any]
) -> np.ndarray:
    """Predict any functional of the conditional distribution of the targets.

    The distribution at x has the weight w_i(x) of `training_weights` at the targets of training
    row i, also of several targets together [Cevid, Michel, Näf, Bühlmann and Meinshausen, 2022].

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to predict.

    function : callable
        ``function(y, weights)`` of the targets of the training rows of positive weight, of shape
        (k,) or (k, n_outputs), and of their weights, of shape (k,) and sum 1. It returns a number,
        or an array of one shape for all rows.

    Returns
    -------
    values : ndarray of shape (n_samples, ...)
        What the function returned for each row.

    Raises
    ------
    ValueError
        If `function` is not callable, if the members are not trees, or after
        `forget_training_rows`.

    Notes
    -----
    Splits are chosen for the conditional means: a forest for which only another functional differs
    between rows has no reason to part them. Leaves need several rows, or trees need to be many,
    for more than a mean. A conditional mean of a function of y is faster as
    ``training_weights(X) @ g(y)``, quantiles are as `predict_quantiles`.

    Cost: that of `training_weights`, and a call of the function for each row.

    References
    ----------
    D. Cevid, L. Michel, J. Näf, P. Bühlmann and N. Meinshausen (2022). "Distributional random
    forests: heterogeneity adjustment and multivariate distributional regression". *Journal of
    Machine Learning Research* 23.

    Examples
    --------
    The correlation of two targets, which is the sign of a feature:

    >>> import numpy as np
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.uniform(-1, 1, (2000, 2)), rng.standard_normal((2000, 2))
    >>> y = np.column_stack([noise[:, 0], np.sign(X[:, 0]) * noise[:, 0] + 0.5 * noise[:, 1]])
    >>> y += 3 * X[:, :1]
    >>> forest = RandomForestRegressor(100, min_samples_leaf=20, random_state=0).fit(X, y)
    >>> def correlation(y, weights):
    ...     covariance = np.cov(y.T, aweights=weights, bias=True)
    ...     return covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    >>> low, high = forest.predict_functional([[-0.5, 0.0], [0.5, 0.0]], correlation)
    >>> bool(low < -0.6 and high > 0.6)
    True
    """
    check_is_fitted(self)
    if not callable(function):
        raise ValueError(f"function must be callable, got {function!r}.")
    rows_of_leaves(self, "predict_functional")
    if X is None:  # not the training rows, as elsewhere
        self._validate_X(X)
    y = np.asarray(kept_rows(self, "predict_functional").y, dtype=np.float64)
    found = []
    for weights in weight_blocks(self, X, "predict_functional"):
        for a, b in zip(weights.indptr[:-1], weights.indptr[1:]):
            found.append(function(y[weights.indices[a:b]], weights.data[a:b]))
    shapes = {np.shape(each) for each in found}
    if len(shapes) > 1:
        raise ValueError(
            "function must return an array of one shape for all rows, got the shapes "
            f"{sorted(shapes)}."
        )
    return np.asarray(found)


def predict_cdf(self: FittedEnsemble, X: MatrixLike, y: ArrayLike) -> np.ndarray:
    """Predict the conditional distribution function of the target at given values.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows to predict.

    y : float or array-like of shape (n_values,) or (n_values, n_outputs)
        Values of the target, in its units; of several targets a vector each.

    Returns
    -------
    cdf : ndarray of shape (n_samples, n_values) or (n_samples,)
        F(y | x) = sum_i w_i(x) 1{y_i <= y}, with the weights of `training_weights`; of several
        targets the joint distribution function, where all are at most the values. One dimension
        for a single number, or a single vector of several targets.

    Raises
    ------
    ValueError
        If y contains NaN or has another number of targets than the forest, if the members are not
        trees, or after `forget_training_rows`.

    Notes
    -----
    ``1 - predict_cdf(X, y)`` is the probability to exceed y. `predict_quantiles` is the inverse
    function. Cost: that of `training_weights`, and O(K n_values) for a row with K neighbours.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(200, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> forest.predict_cdf(X[:2], [0, 150, 400]).shape
    (2, 3)
    """
    check_is_fitted(self)
    rows_of_leaves(self, "predict_cdf")
    if X is None:  # not the training rows, as elsewhere
        self._validate_X(X)
    targets = kept_rows(self, "predict_cdf").y
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be numbers, got {y!r}.") from error
    one = values.ndim < targets.ndim
    values = values[None] if one else values
    if values.shape[1:] != targets.shape[1:] or np.isnan(values).any():
        shape = "(n_values,)" if targets.ndim == 1 else f"(n_values, {targets.shape[1]})"
        raise ValueError(f"y must be numbers other than NaN, of shape {shape}.")
    parts = []
    for weights in weight_blocks(self, X, "predict_cdf"):
        cdf = np.empty((weights.shape[0], len(values)))
        for j, value in enumerate(values):  # an indicator at a time: n numbers, not n k
            below = targets <= value
            cdf[:, j] = weights @ (below if below.ndim == 1 else below.all(axis=1)).astype(float)
        parts.append(cdf)
    found = np.clip(np.concatenate(parts), 0.0, 1.0)
    return found[:, 0] if one else found
