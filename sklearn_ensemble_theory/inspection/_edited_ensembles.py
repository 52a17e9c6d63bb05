"""Copies of a fitted ensemble with other trees of the same splits, or without training rows."""

from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from sklearn_ensemble_theory._typing import FittedPredictor

from .._documentation import documented
from .._learners import is_tree
from .._typing import ArrayLike
from ..ensembles._ensemble import HasEnsemble
from ..ensembles._hierarchical_shrinkage import Shrinkage, shrunk_members
from ..trees._compact import with_compact_tree
from ..trees._shrinkage import REG_PARAMS, checked_reg_params
from ..trees._tree_arrays import gives_nodes
from ._ensembles import MODELS, ensemble_of


class Replaceable(HasEnsemble, FittedPredictor, Protocol):
    """A fitted ensemble that makes copies of itself with other members."""

    def __replace__(
        self,
        *,
        members: Sequence[Any] | None = None,
        keeps_rows: bool = True,
        shrinkage: Shrinkage | None = None,
    ) -> Self: ...


Model = TypeVar("Model", bound=Replaceable)


def _check_own(model: FittedPredictor) -> None:
    ensemble_of(model)
    if not hasattr(model, "ensemble_"):
        raise TypeError(
            "model must be a forest or bagging of this package, "
            f"got {type(model).__module__.split('.')[0]}'s {type(model).__name__}."
        )


@documented(MODELS)
def shrink(
    model: Model, reg_param: float | str = "cv", *, reg_params: ArrayLike = REG_PARAMS
) -> Model:
    """Shrink the values in the trees towards those of their ancestors: hierarchical shrinkage.

    Let t_0, ..., t_l be the nodes that a row passes from the root of a tree to its leaf. Let N(t)
    be the weight of the tree's rows in t (for an honest tree, the rows in the leaves), and E(t)
    their mean of y or their shares of the classes. The shrunk tree predicts [Agarwal et al., 2022]

        E(t_0) + sum_k (E(t_k) - E(t_{k-1})) / (1 + lambda / N(t_{k-1})).

    Splits stay where they are.

    %(of_model)s
    reg_param : float or "cv", default="cv"
        lambda, in units of the weights with which trees are fitted, for example the numbers of rows
        of a bootstrap sample. At lambda = N(t), half of the effect of a split of the node t is
        left; 0 changes nothing. "cv" takes from `reg_params` the one of the smallest loss by
        out-of-bag rows, without any fit.
    reg_params : array-like of float, default=(0, 0.1, 0.3, 1, 3, 10, 30, 100, 300)
        What "cv" compares.

    Returns
    -------
    shrunk : object
        A fitted copy of the model, with the attribute `shrinkage_`, the parameter. After "cv" also
        `shrinkage_path_`, a dict with the arrays `reg_param` and `loss`. The loss is 1 - R², or the
        Brier score (the sum of the squared errors of the probabilities), as means over the outputs.

    Raises
    ------
    ValueError
        If `reg_param` or one of `reg_params` is negative. If members are not trees or have nodes of
        quantiles, or after `compact` or `shrink`. For "cv" also if there are no out-of-bag rows, or
        after `forget_training_rows` or a fit of Dask collections.

    Notes
    -----
    A shrunk tree is ridge regression on its splits [Agarwal et al., 2022, theorem 1]. Single trees,
    ensembles of few trees and targets with much noise gain most. Trees with `monotonic_cst` stay
    monotonic. The loss of "cv" is the loss of the mean of all members.

    Predictions, standard errors, intervals and sets come from the shrunk trees. Out-of-bag
    predictions and scores are computed again (removed, after `forget_training_rows`).
    `predict_quantiles`, `training_weights` and what follows from them, and importances are as
    before. A parameter by "cv" has seen all rows: guarantees of intervals hold approximately then,
    `stability` is not defined, and `error_bound` from out-of-bag rows holds for all `reg_params` at
    once. See :ref:`shrinking-trees` in the user guide.

    Cost: O(nodes). "cv" finds the leaves of the out-of-bag rows once for all parameters, about the
    cost of an out-of-bag score.

    References
    ----------
    A. Agarwal, Y. S. Tan, O. Ronen, C. Singh and B. Yu (2022). "Hierarchical shrinkage:
    improving the accuracy and interpretability of tree-based models". *Proceedings of the 39th
    International Conference on Machine Learning*.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import shrink
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(n_estimators=20, oob_score=True, random_state=0)
    >>> forest = forest.fit(X, y)
    >>> shrunk = shrink(forest, "cv")
    >>> shrunk.shrinkage_ > 1
    True
    >>> shrunk.oob_score_ > forest.oob_score_ + 0.05
    True
    """
    _check_own(model)
    grid = checked_reg_params(model, reg_param, reg_params)
    return model.__replace__(shrinkage=shrunk_members(model.ensemble_, reg_param, grid))


@documented(MODELS)
def compact(model: Model, dtype: type = np.float64) -> Model:
    """Make a fitted ensemble of trees smaller: remove all that predictions do not need.

    Values in inner nodes, impurities and numbers of rows are removed. Thresholds keep the precision
    in which trees read X, and integers take as few bytes as they can. All predictions stay the same
    to the last bit, with them `apply`, intervals, quantiles, sets, standard errors,
    `feature_importances_` and importances of out-of-bag rows.

    %(of_model)s
    dtype : {np.float64, np.float32}, default=np.float64
        Of the values in the leaves. Single precision takes less, and changes predictions by
        relative 6e-8 at most, except where values are beyond its range: these keep theirs.

    Returns
    -------
    compacted : object
        A copy of the model.

    Raises
    ------
    ValueError
        If the members are not scikit-learn's trees or trees on bins, or `dtype` is another one.

    Notes
    -----
    Until the next fit you lose partial dependence by recursion and drawings of a tree. In
    `export.sklearn`, impurities, weights and importances are NaN; its predictions are the same.
    Trees that a warm start adds are as usual until the next call.

    The training rows are kept; `forget_training_rows` removes them. The first prediction lays
    out the trees, O(nodes), also for a single row. Sparse X and `apply` need scikit-learn's
    `Tree`, which each call makes again, O(nodes). Cost: O(m log m) for a tree with m leaves.

    Examples
    --------
    >>> import pickle
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import compact
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(random_state=0).fit(X, y)
    >>> before, size = forest.predict(X), len(pickle.dumps(forest))
    >>> len(pickle.dumps(compact(forest))) < 0.25 * size
    True
    >>> bool((compact(forest).predict(X) == before).all())
    True
    """
    _check_own(model)
    if dtype is not np.float64 and dtype is not np.float32:
        raise ValueError(f"dtype must be np.float64 or np.float32, got {dtype!r}.")
    members = model.ensemble_.members
    for member in members:
        if not is_tree(member) and not gives_nodes(member):
            name = type(member).__name__
            raise ValueError(f"estimator: compact requires members that are trees, got {name}.")
    return model.__replace__(members=[with_compact_tree(member, dtype) for member in members])


@documented(MODELS)
def forget_training_rows(model: Model) -> Model:
    """Remove the training rows that a fitted ensemble keeps.

    An ensemble of trees keeps X in single precision, and any ensemble keeps y; they are part of its
    pickle. Without them `predict_quantiles`, `predict_interval`, `predict_set` and importances of
    out-of-bag rows are not available, and standard errors of few members are larger. Everything
    else is as before.

    %(of_model)s

    Returns
    -------
    smaller : object
        A copy of the model, which shares its members.

    Examples
    --------
    >>> import pickle
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ensemble_theory import RandomForestRegressor
    >>> from sklearn_ensemble_theory.inspection import forget_training_rows
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(10, random_state=0).fit(X, y)
    >>> len(pickle.dumps(forget_training_rows(forest))) < len(pickle.dumps(forest))
    True
    """
    _check_own(model)
    return model.__replace__(keeps_rows=False)
