"""Linear smoothers, and L2-boosting of them in closed form [Dombry and Esstafa]."""

from sklearn_ensemble_theory._addresses import publish

from ._averaged_learners import bagged_smoother, stochastic_variance_bound
from ._kernel import NadarayaWatsonRegressor
from ._linear_boosting import LinearL2BoostingRegressor
from ._splines import SmoothingSplineRegressor
from ._stopping import Discrepancy, TimeCriterion

__all__ = [
    "Discrepancy",
    "LinearL2BoostingRegressor",
    "NadarayaWatsonRegressor",
    "SmoothingSplineRegressor",
    "TimeCriterion",
    "bagged_smoother",
    "stochastic_variance_bound",
]

publish(__name__, globals(), __all__)
