"""Linear smoothers, and L2-boosting of them in closed form (002)."""

from ._linear_l2_boosting import LinearL2BoostingRegressor
from ._nadaraya_watson import NadarayaWatsonRegressor
from ._smoothing_spline import SmoothingSplineRegressor
from ._stochastic import stochastic_variance_bound

__all__ = [
    "LinearL2BoostingRegressor",
    "NadarayaWatsonRegressor",
    "SmoothingSplineRegressor",
    "stochastic_variance_bound",
]
