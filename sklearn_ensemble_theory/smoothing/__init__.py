"""Linear smoothers, and L2-boosting of them in closed form [Dombry and Esstafa]."""

from sklearn_ensemble_theory._addresses import publish

from ._averaged_learners import bagged_smoother, stochastic_variance_bound
from ._kernel import NadarayaWatsonRegressor
from ._linear_boosting import LinearL2BoostingRegressor
from ._splines import SmoothingSplineRegressor

__all__ = [
    "LinearL2BoostingRegressor",
    "NadarayaWatsonRegressor",
    "SmoothingSplineRegressor",
    "bagged_smoother",
    "stochastic_variance_bound",
]

publish(__name__, globals(), __all__)
