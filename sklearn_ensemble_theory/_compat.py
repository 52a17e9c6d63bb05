"""The only file that imports a private scikit-learn name or compares versions.

Everything here has a public meaning in scikit-learn's developer guide but a private address, or
exists only in some of the supported releases.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import sklearn
from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
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

try:  # the histograms of HistGradientBoosting; without them _hot_loops.array_loops uses NumPy
    from sklearn.ensemble._hist_gradient_boosting.histogram import HistogramBuilder
except ImportError:
    HistogramBuilder = None

try:  # scikit-learn >= 1.8
    from sklearn.utils._repr_html.estimator import _VisualBlock as VisualBlock
except ImportError:
    from sklearn.utils._estimator_html_repr import _VisualBlock as VisualBlock

__all__ = [
    "SKLEARN_VERSION",
    "TREES_TRY_BOTH_SIDES",
    "CallbackSupportMixin",
    "HasMethods",
    "HistogramBuilder",
    "Interval",
    "RealNotInt",
    "StrOptions",
    "VisualBlock",
    "check_feature_names_in",
    "check_method_params",
    "check_sample_weight",
    "fit_context",
    "parse_version",
    "print_elapsed_time",
    "raise_for_params",
    "routing_enabled",
    "safe_indexing",
    "safe_split",
    "threadpool_controller",
    "tree_constraints",
    "validate_parameters",
]

SKLEARN_VERSION = parse_version(sklearn.__version__)
# Before, scikit-learn's trees leave out some of the splits of features with missing values.
TREES_TRY_BOTH_SIDES = parse_version("1.9.dev0") <= SKLEARN_VERSION

Function = TypeVar("Function", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Function], Function]:
    """scikit-learn's decorator of `fit`, which type checkers would otherwise lose sight of."""
    decorate: Callable[[Function], Function] = _fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )
    return decorate


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


def validate_parameters(estimator):
    """The check of its parameters that an estimator's `fit` begins with."""
    estimator._validate_params()


def tree_constraints(tree_class):
    """The constraints of the tree parameters that a forest passes on: all but the splitter's."""
    constraints = dict(tree_class._parameter_constraints)
    constraints.pop("splitter")
    return constraints
