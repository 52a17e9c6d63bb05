"""The options of `categorical_features`: an object for the wish that no list of columns can say."""

from typing import Literal

from sklearn.base import BaseEstimator

from sklearn_ensemble_theory._compat import StrOptions
from sklearn_ensemble_theory._features import CategoryOptions
from sklearn_ensemble_theory._typing import ArrayLike


class Categories(CategoryOptions, BaseEstimator):
    """Which features of trees are categorical, and where trees send unseen categories.

    ``categorical_features=["shop"]`` is short for ``categorical_features=Categories(["shop"])``. A
    search reaches the options by names such as ``categorical_features__unseen``. Binned trees,
    gradient boosting and forests take this object.

    Parameters
    ----------
    columns : array-like, "from_dtype" or None, default="from_dtype"
        The categorical features, as `categorical_features` names them.
    unseen : {"missing", "mean"}, default="missing"
        Where a node that splits the categories of a feature sends rows whose category did not
        occur in `fit`. With "missing" they go where missing values go: to one child. With "mean"
        they go to both children, and count in each with its share of the training weight in the
        node, so that the tree predicts the mean over both. All other rows, and missing values, have
        the same predictions with either value.

    Notes
    -----
    A node that missing values did not reach in `fit` sends them to the child with more rows.
    Unseen categories that go with them all get the prediction of the frequent categories, which
    may be far from the mean over the categories. Choose "mean" if new categories arrive after the
    fit: new shops, customers or devices.

    The mean is taken in each tree, of what its leaves predict: values, shares of classes, or for
    gradient boosting what they add to the score. A vote of a tree is that of the mean shares. What
    is defined by the leaf of a row (`apply`, `decision_path`, quantiles and weights of the training
    rows in forests) has one leaf for each row, the one where missing values go. In gradient
    boosting the weight of a node is that of its rows, times their second derivatives if the trees
    are fitted to these.

    A row with unseen categories takes as long as the leaves that it reaches; other rows take as
    long as before.

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
