"""The options of `categorical_features`: an object for the wish that no list of columns can say."""

from typing import Literal

from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._compat import StrOptions
from sklearn_ensemble_theory._features import CategoryOptions
from sklearn_ensemble_theory._typing import ArrayLike


class Categories(CategoryOptions, BaseEstimator):
    """Options of categorical features in trees, such as where to send unseen categories.

    ``categorical_features=["shop"]`` is short for ``categorical_features=Categories(["shop"])``. A
    search reaches the options by names such as ``categorical_features__unseen``. Binned trees,
    gradient boosting and forests take this object.

    Parameters
    ----------
    columns : array-like, "from_dtype" or None, default="from_dtype"
        The categorical features, as `categorical_features` names them.
    unseen : {"missing", "mean"}, default="missing"
        Where a node that splits the categories of a feature sends rows whose category was not seen
        in `fit`. With "missing" they go where missing values go: to one child. With "mean" they go
        to both children, and count in each with its share of the training weight in the node: the
        tree predicts the mean over both children. All other rows, and missing values, have the same
        predictions with either value.

    Notes
    -----
    Choose "mean" if new categories arrive after the fit: new shops, customers or devices. Unseen
    categories that go with missing values all get the prediction of missing values. If `fit` had no
    missing value in a node, they go to the child with more rows, which may be far from the mean
    over the categories.

    The mean is taken in each tree, over the predictions of its leaves, and weighted by the rows of
    the nodes. In gradient boosting the rows are weighted by the second derivatives if the trees are
    fitted to these. A row with unseen categories takes as long as the leaves that it reaches. What
    is defined by the leaf of a row (`apply`, quantiles of forests) has the one where missing values
    go; see :ref:`new-categories` in the user guide.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory.trees import BinnedTreeRegressor, Categories
    >>> X = np.array([["a"], ["a"], ["a"], ["b"]], dtype=object)
    >>> y = [0.0, 0.0, 0.0, 8.0]
    >>> for unseen in ("missing", "mean"):
    ...     columns = Categories([0], unseen=unseen)
    ...     tree = BinnedTreeRegressor(categorical_features=columns).fit(X, y)
    ...     print(tree.predict(np.array([["c"]], dtype=object)))
    [0.]
    [2.]
    """

    _parameter_constraints = {
        "columns": ["array-like", StrOptions({"from_dtype"}), None],
        "unseen": [StrOptions({"missing", "mean"})],
    }

    def __init__(
        self,
        columns: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        *,
        unseen: Literal["missing", "mean"] = "missing",
    ) -> None:
        self.columns = columns
        self.unseen = unseen
