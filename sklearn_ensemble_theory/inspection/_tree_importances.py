"""Importances of the features for the trees of a fitted ensemble."""

import numpy as np
from sklearn.utils import Bunch

from sklearn_ensemble_theory._typing import FittedPredictor

from .._documentation import documented
from .._typing import ArrayLike, RandomStateLike
from ..ensembles._mdi_plus import POSITIVE_REG_PARAMS, mdi_plus
from ..ensembles._out_of_bag_importances import permutation_importances, unbiased_importances
from ._ensembles import MODELS, ensemble_of


@documented(MODELS)
def unbiased_feature_importances(model: FittedPredictor) -> np.ndarray:
    """Compute unbiased importances from out-of-bag rows: 0 on average for an irrelevant feature.

    For an ensemble of trees, `feature_importances_` are the mean decreases of the squared error or
    the Gini index at the splits. They are computed from the rows that the tree was fitted to. They
    are positive for any feature, and larger for a feature with many values. Here one of the two
    means in each product is the mean of the out-of-bag rows [Zhou and Hooker, 2021].

    %(of_model)s

    Returns
    -------
    importances : ndarray of shape (n_features,)
        Not divided by their sum; in units of y squared, or of the Gini index. They may be negative.

    Raises
    ------
    ValueError
        If the members are not trees, X is sparse, y has several columns, there are no out-of-bag
        rows, or after `forget_training_rows`.

    Notes
    -----
    Cost: O(n depth) a tree, once.

    References
    ----------
    Z. Zhou and G. Hooker (2021). "Unbiased measurement of feature importance in tree-based
    methods". *ACM Transactions on Knowledge Discovery from Data* 15.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import unbiased_feature_importances
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    >>> X.columns[unbiased_feature_importances(forest).argmax()] in ("bmi", "s5")
    True
    """
    return unbiased_importances(ensemble_of(model))


@documented(MODELS)
def oob_permutation_importances(
    model: FittedPredictor, n_repeats: int = 1, random_state: RandomStateLike = None
) -> Bunch:
    """Compute permutation importances from the out-of-bag rows of each tree.

    For each tree and feature, the values of the feature are permuted among the rows that the tree
    is not fitted to. The importance is the increase of the tree's loss at these rows: the squared
    error, or the share of wrong classes [Breiman, 2001]. The importance of the feature is the mean
    over the rows of the mean increase over the trees that are not fitted to the row.

    %(of_model)s
    n_repeats : int, default=1
        Number of permutations for each tree and feature.
    random_state : int, RandomState instance or None, default=None
        Seed of the permutations.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch`
        With the arrays of shape (n_features,) `importances_mean` and `standard_error`. The standard
        error of the mean is over the rows, their groups or blocks: it tells what other rows would
        change, not another training set.

    Raises
    ------
    ValueError
        If the members are not trees, X is sparse, y has several columns, there are no
        out-of-bag rows, or `n_repeats` is not a positive integer.

    Notes
    -----
    A feature that is strongly correlated with others gets little where they can replace it in
    other trees, but not in the trees that split on it. Cost: for each tree the predictions of
    its out-of-bag rows, once for each feature that it splits on.

    References
    ----------
    L. Breiman (2001). "Random forests". *Machine Learning* 45.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import oob_permutation_importances
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(100, min_samples_leaf=5, random_state=0).fit(X, y)
    >>> found = oob_permutation_importances(forest, random_state=0)
    >>> int(found.importances_mean.argmax())
    2
    """
    return permutation_importances(ensemble_of(model), n_repeats, random_state)


@documented(MODELS)
def mdi_plus_importances(
    model: FittedPredictor, reg_params: ArrayLike = POSITIVE_REG_PARAMS
) -> Bunch:
    """Compute MDI+ importances: how much of y each feature explains in a regression on the splits.

    A tree is least squares on a feature for each of its splits. The mean decrease of impurity of a
    column is the R² of the features of its splits, at the rows of the fit. MDI+ [Agarwal et al.,
    2023] fits ridge regression to the splits and the columns themselves, in units of their standard
    deviation. Its importance of a column is how much the column and the splits on it alone decrease
    the squared error, as a share of the error of the mean. The error is taken at rows that are left
    out of the regression, so the importance of an irrelevant column has a mean of about 0.

    %(of_model)s
    reg_params : array-like of float, default=(0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
        Penalties, in units of the weights of rows; each tree takes the one of the smallest
        leave-one-out error.

    Returns
    -------
    result : :class:`~sklearn.utils.Bunch`
        With the arrays `importances_mean` of shape (n_features,), means over the trees, and
        `reg_params` of shape (n_estimators,), the chosen penalties.

    Raises
    ------
    ValueError
        If the members are not trees, X is sparse, y has several columns, one of `reg_params` is
        not positive, or after `forget_training_rows`.

    Notes
    -----
    Every row is left out of every tree's regression, by its leverage. The splits are not chosen
    again without the row, so irrelevant columns keep a small positive mean. Values of different
    columns do not add up to the R² of the forest. For classes, the regression is of their
    indicators, and its error is the Brier score. Missing values count as the mean of their column;
    categorical features have their splits only. See :ref:`mdi-plus` in the user guide.

    Cost: for each tree and penalty O(n p depth + n p² + p³), with p columns; no fit.

    References
    ----------
    A. Agarwal, A. M. Kenney, Y. S. Tan, T. M. Tang and B. Yu (2023). "MDI+: a flexible random
    forest-based feature importance framework". arXiv:2307.01932.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import mdi_plus_importances
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X, y)
    >>> importances = mdi_plus_importances(forest).importances_mean
    >>> sorted(X.columns[importances > 0.2])
    ['bmi', 's5']
    """
    return mdi_plus(ensemble_of(model), reg_params)
