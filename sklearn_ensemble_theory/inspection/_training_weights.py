"""A forest as a weighting of its training rows: neighbours, outliers and missing values."""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from sklearn_ensemble_theory._typing import FittedPredictor

from .._documentation import documented
from .._typing import MatrixLike
from ..ensembles import _forest_weights as forest_weights
from ..ensembles._ensemble import Ensemble
from ..ensembles._forest_weights import Proximity
from ._ensembles import MODELS, ensemble_of


def _checked(ensemble: Ensemble, X: Any) -> Any:
    """Rows as the trees take them; None stays None, which is the training rows."""
    return None if X is None else ensemble.check(X)


@documented(MODELS)
def training_weights(model: FittedPredictor, X: MatrixLike | None = None) -> sp.csr_array:
    """Compute the weights of the training rows whose weighted mean is the prediction.

    Let L_b(x) be the leaf of x in tree b of B, and v_bi the weight of training row i in tree b: how
    often it was drawn, times its sample weight. The weight of row i at x is

        w_i(x) = 1/B sum_b v_bi 1{i in L_b(x)} / sum_{j in L_b(x)} v_bj.

    %(of_model)s
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
    If a leaf predicts the mean of its rows, ``training_weights(model, X) @ y`` is the prediction,
    for one target or several. This holds for trees by the squared error or the Poisson deviance,
    without `monotonic_cst` and before `shrink`. Of classifiers with `voting="soft"` the product
    with indicators of the classes is `predict_proba`. ``training_weights(model) @ y`` is
    `oob_prediction_`, and the product with indicators `oob_decision_function_`. These are equal up
    to rounding.

    Any weighted statistic of the targets at x follows: ``training_weights(model, X) @ g(y)`` is the
    conditional mean of g(y), also of columns that were not there when the forest was fitted.

    Cost: the first call assigns the training rows to leaves, O(n B depth), and keeps O(n B)
    numbers. Each row then takes O(B depth + K log K), with K the number of training rows in its
    leaves.

    References
    ----------
    Y. Lin and Y. Jeon (2006). "Random forests and adaptive nearest neighbors". *Journal of the
    American Statistical Association* 101.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import training_weights
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(50, random_state=0).fit(X[:400], y[:400])
    >>> weights = training_weights(forest, X[400:])
    >>> weights.shape
    (42, 400)
    >>> bool(np.allclose(weights @ y[:400], forest.predict(X[400:])))
    True
    """
    found = ensemble_of(model)
    return forest_weights.training_weights(found, _checked(found, X))


@documented(MODELS)
def proximity(
    model: FittedPredictor,
    X: MatrixLike | None = None,
    Z: MatrixLike | None = None,
    method: Proximity = "leaves",
) -> sp.csr_array:
    """Compute how often two rows fall into the same leaf of the trees.

    Parameters
    ----------
    %(model_of_trees)s
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows; `None` is the training rows.
    Z : {array-like, sparse matrix} of shape (n_others, n_features), default=None
        Rows to compare them with, for `method="leaves"`; `None` is the training rows.
    method : {"leaves", "out_of_bag", "geometry-preserving"}, default="leaves"
        What is counted:

        - `"leaves"`: the share of the trees in which both rows are in one leaf [Breiman, 2001].
          Symmetric, and 1 for a row and itself. Trees that were fitted to both rows have separated
          them by their targets. Training rows of one class therefore look closer than new rows are.
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
        If the members are not trees. If X or Z is given and `method` has none. If out-of-bag rows
        are needed and every tree is fitted to every row. Unless both X and Z are given, also after
        `forget_training_rows`.

    Notes
    -----
    The result is sparse. In full trees a row has at most B neighbours, but in trees of few leaves
    all n rows are neighbours of each other, and n² numbers are returned. `kneighbors` computes them
    in blocks. For clusters and embeddings, ``1 - proximity`` is a squared distance between vectors
    of leaves where `method="leaves"`.

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
    >>> from sklearn_ensemble_theory.inspection import proximity
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(200, random_state=0).fit(X, y)
    >>> near = proximity(forest, X[[0, 50, 100]], X[[0, 50, 100]]).toarray()
    >>> near.diagonal()
    array([1., 1., 1.])
    >>> bool(near[0, 1] < 0.1 and near[0, 2] < 0.1)
    True
    """
    found = ensemble_of(model, averages=X is None or Z is None)
    return forest_weights.proximity(found, _checked(found, X), _checked(found, Z), method)


@documented(MODELS)
def kneighbors(
    model: FittedPredictor,
    X: MatrixLike | None = None,
    n_neighbors: int = 5,
    return_distance: bool = True,
    method: Proximity = "leaves",
) -> tuple[np.ndarray, np.ndarray] | np.ndarray:
    """Find the training rows that are closest to each row by the trees.

    %(of_model)s
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows; `None` is the training rows, which are not their own neighbours.
    n_neighbors : int, default=5
        Number of training rows.
    return_distance : bool, default=True
        Whether to return the distances.
    method : {"leaves", "out_of_bag", "geometry-preserving"}, default="leaves"
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
        If there are fewer than `n_neighbors` rows, or if `proximity` raises one.

    Notes
    -----
    Cost: O(s + n) for a row whose leaves hold s training rows, by a compiled loop. With other
    methods the cost is as for `proximity`, in blocks of rows, and O(K log K) for the K neighbours
    of a row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_ensemble_theory import RandomForestClassifier
    >>> from sklearn_ensemble_theory.inspection import kneighbors
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(200, random_state=0).fit(X[1:], y[1:])
    >>> y[1:][kneighbors(forest, X[:1], 3, return_distance=False)]
    array([[0, 0, 0]])
    """
    found = ensemble_of(model)
    rows = _checked(found, X)
    return forest_weights.kneighbors(found, rows, n_neighbors, return_distance, method)


@documented(MODELS)
def outlier_scores(
    model: FittedPredictor, method: Literal["leaves", "out_of_bag"] = "leaves"
) -> np.ndarray:
    """Score how far each training row is from the others of its class.

    Let p_ij be the proximity of rows i and j, and n the number of rows. The raw score of row i is n
    / sum_j p_ij², over the rows j of its class, itself included. From it the median of the class is
    subtracted, and the difference is divided by the median absolute deviation [Breiman and Cutler,
    2004].

    %(of_model)s
    method : {"leaves", "out_of_bag"}, default="leaves"
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
    If more than half of a class has the same raw score, the median absolute deviation is 0, and the
    mean absolute deviation is used instead. Cost: that of `proximity`, in blocks of rows.

    References
    ----------
    L. Breiman and A. Cutler (2004). *Random Forests*, section "Outliers".
    https://www.stat.berkeley.edu/~breiman/RandomForests/

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_ensemble_theory import RandomForestClassifier
    >>> from sklearn_ensemble_theory.inspection import outlier_scores
    >>> X, y = load_iris(return_X_y=True)
    >>> y[0] = 2  # a mistake
    >>> forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> int(np.argmax(outlier_scores(forest)))
    0
    """
    return forest_weights.outlier_scores(ensemble_of(model), method)


@documented(MODELS)
def impute(model: FittedPredictor, X: MatrixLike | None = None) -> np.ndarray:
    """Fill in missing values by the weighted means of the training rows that have them.

    A missing value of feature j in a row x becomes sum_i w_i(x) x_ij / sum_i w_i(x), with the
    weights of `training_weights`. The sums are over the training rows i whose feature j is known.

    %(of_model)s
    X : array-like of shape (n_samples, n_features), default=None
        Rows, missing values as NaN. `None` is the training rows, by the trees that the row is out
        of bag for: its own target has no part in the values that are filled in.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The rows without missing values, in double precision; the training rows have single
        precision. If no row with weight has a known value, the mean of all known values is filled
        in. A column without known values stays NaN.

    Raises
    ------
    ValueError
        If X is sparse or has categorical features, if the members are not trees or refuse missing
        values, or if `training_weights` raises one.

    Notes
    -----
    Rows with missing values go down the trees as they are. Unlike in [Breiman and Cutler, 2004],
    there is no start from medians and nothing to repeat. The rows that share leaves with x are
    those with the same relation to y: features that are irrelevant for y are filled in little
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
    >>> from sklearn_ensemble_theory.inspection import impute
    >>> X, y = load_iris(return_X_y=True)
    >>> known = X[:, 3].copy()
    >>> X[::5, 3] = np.nan
    >>> filled = impute(RandomForestClassifier(200, random_state=0).fit(X, y))
    >>> bool(np.abs(filled[::5, 3] - known[::5]).mean() < 0.3)
    True
    """
    found = ensemble_of(model)
    return forest_weights.impute(found, _checked(found, X))
