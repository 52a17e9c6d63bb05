"""The only file that imports a private scikit-learn name or compares versions.

Everything here has a public meaning in scikit-learn's developer guide but a private address, or
exists only in some of the supported releases.
"""

from functools import cache
from typing import Any, Protocol, cast

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.base import _fit_context as sklearn_fit_context
from sklearn.isotonic import isotonic_regression
from sklearn.tree import DecisionTreeRegressor
from sklearn.tree import _classes as tree_parts
from sklearn.utils import Bunch
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as openmp_threads
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    RealNotInt,
    StrOptions,
)
from sklearn.utils._user_interface import _print_elapsed_time as print_elapsed_time
from sklearn.utils.fixes import parse_version
from sklearn.utils.metadata_routing import _raise_for_params as raise_for_params
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.parallel import _get_threadpool_controller as threadpool_controller
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

from sklearn_ensemble_theory._typing import Estimator

try:  # the histograms of HistGradientBoosting; without them _arrays uses NumPy
    from sklearn.ensemble._hist_gradient_boosting.histogram import HistogramBuilder
except ImportError:
    HistogramBuilder = None

try:  # the draws of scikit-learn's gradient boosting; without them trees/_weak_learners has a loop
    from sklearn.ensemble._gradient_boosting import _random_sample_mask as random_sample_mask
except ImportError:
    random_sample_mask = None

try:  # pools in place, without checks
    from sklearn._isotonic import _inplace_contiguous_isotonic_regression as pool_in_place
except ImportError:
    pool_in_place = None

try:  # scikit-learn >= 1.8
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
except ImportError:
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock

__all__ = [
    "LEAST_GAP",
    "SKLEARN_VERSION",
    "TREE_SORT",
    "CallbackSupportMixin",
    "HasMethods",
    "HistogramBuilder",
    "Interval",
    "InvalidParameterError",
    "RealNotInt",
    "StrOptions",
    "VisualBlock",
    "check_columns_of_tree",
    "check_constraints",
    "check_feature_names_in",
    "check_method_params",
    "check_sample_weight",
    "constraints_of",
    "give_fitted_loss",
    "increasing_by_pooling",
    "make_tree",
    "openmp_threads",
    "own_requests",
    "parse_version",
    "print_elapsed_time",
    "prune_tree",
    "pruning_path",
    "raise_for_params",
    "random_sample_mask",
    "routing_enabled",
    "safe_indexing",
    "safe_split",
    "sklearn_fit_context",
    "threadpool_controller",
    "tree_constraints",
    "tree_parts",
    "tree_state",
]

SKLEARN_VERSION = parse_version(sklearn.__version__)

# The sort of scikit-learn's trees, which orders equal values: it inserts up to so many keys, and
# whether its depth is limited by the natural logarithm, not the binary one.
TREE_SORT = 15 if SKLEARN_VERSION.release >= (1, 9) else 1, SKLEARN_VERSION.release < (1, 7)
# Its trees are not cut between values that are no further apart.
LEAST_GAP = 1e-7 if SKLEARN_VERSION.release >= (1, 8) else 0.0


class _ChecksParameters(Protocol):
    """scikit-learn's base class of estimators."""

    def _validate_params(self) -> None: ...


class _HasLoss(Protocol):
    """scikit-learn's gradient boosting."""

    _loss: Any

    def _get_loss(self, sample_weight: Any) -> Any: ...


def check_constraints(estimator: Estimator) -> None:
    """scikit-learn's check of the parameters by the constraints of their class."""
    cast(_ChecksParameters, estimator)._validate_params()


def constraints_of(estimator: Estimator | type) -> dict[str, Any]:
    """The constraints of the parameters of an estimator or of its class; {} if it has none."""
    return getattr(estimator, "_parameter_constraints", {})


@cache
def _parameter_names(estimator_class: Any) -> tuple[str, ...]:
    return tuple(BaseEstimator._get_param_names.__func__(estimator_class))


def _new_list_of_names(estimator_class: Any) -> list[str]:
    return list(_parameter_names(estimator_class))  # which a subclass may change


# What a class may have as `_get_param_names`: to read the signature takes as long as several trees.
parameter_names: Any = classmethod(_new_list_of_names)


def own_requests(estimator: Estimator):
    """The requests of an ensemble's own methods; of `fit` that of weights only if it is set."""
    requests = BaseEstimator.get_metadata_routing(estimator)
    if requests.fit.requests.get("sample_weight") is None:
        requests.fit.requests.pop("sample_weight", None)
    return requests


try:  # scikit-learn >= 1.9
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Where scikit-learn has no callbacks: no `set_callbacks`, contexts that do nothing."""

        def _init_callback_context(self, **kwargs):
            return _NoCallbacks()

    class _NoCallbacks:
        def subcontext(self, **kwargs):
            return self

        def call_on_fit_task_begin(self, **kwargs):
            return self

        def call_on_fit_task_end(self, **kwargs):
            return False


def increasing_by_pooling(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The increasing numbers next to these by least squares, without checks."""
    if pool_in_place is None:
        return isotonic_regression(values, sample_weight=weight)
    values = np.array(values, dtype=np.float64)  # both arrays change
    pool_in_place(values, np.array(weight, dtype=np.float64))
    return values


def tree_constraints(tree_class):
    """The constraints of the tree parameters that a forest passes on: all but the splitter's."""
    constraints = dict(constraints_of(tree_class))
    constraints.pop("splitter")
    return {**constraints, "monotonic_cst": ["array-like", dict, None]}


def prune_tree(tree: Any) -> None:
    """scikit-learn's minimal cost-complexity pruning of a fitted tree, in place."""
    tree._prune_tree()


def pruning_path(tree: Any) -> Bunch:
    """scikit-learn's pruning path of a `Tree`."""
    return Bunch(**tree_parts.ccp_pruning_path(tree))


def check_columns_of_tree(tree: Any, X: Any) -> None:
    """Raise an error unless `predict` of a fitted tree takes X."""
    tree._validate_X_predict(X, True)


@cache
def _tree_layout() -> tuple[Any, Any]:
    """The class of scikit-learn's fitted trees, and the type of their nodes in this release."""
    tree = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0]).tree_
    return type(tree), tree.__getstate__()["nodes"].dtype


def tree_state(tree: Any) -> dict[str, Any]:
    """The parts of a `Tree`: "nodes", "values" and "max_depth"; views, not copies."""
    return dict(tree.__getstate__())


def make_tree(
    fields: Any, values: np.ndarray, depth: int, n_features: int, n_classes: Any = 1
) -> Any:
    """scikit-learn's `Tree` of m nodes, through its pickling protocol. O(m).

    `fields` are the m nodes, under scikit-learn's names, as a dict or the structured array of
    another tree; `values` have the shape (m, n_outputs, most classes of an output); 1 class is for
    regression.
    """
    kind, nodes_type = _tree_layout()
    nodes = fields
    if isinstance(fields, dict):
        nodes = np.zeros(len(values), dtype=nodes_type)
        for name, column in fields.items():
            nodes[name] = column
    counts = np.atleast_1d(np.asarray(n_classes, dtype=np.intp))
    tree = kind(n_features, np.resize(counts, values.shape[1]), values.shape[1])
    tree.__setstate__(
        {
            "max_depth": depth,
            "node_count": len(values),
            "nodes": nodes,
            "values": np.ascontiguousarray(values, dtype=np.float64),
        }
    )
    return tree


def give_fitted_loss(model: _HasLoss) -> None:
    """Give scikit-learn's gradient boosting the loss of its parameters, by which it predicts."""
    model._loss = model._get_loss(sample_weight=None)
