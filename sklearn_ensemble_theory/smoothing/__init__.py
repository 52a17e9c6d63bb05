"""Linear smoothers, and L2-boosting of them in closed form (002)."""

from ._nadaraya_watson import NadarayaWatsonRegressor
from ._smoothing_spline import SmoothingSplineRegressor

__all__ = ["NadarayaWatsonRegressor", "SmoothingSplineRegressor"]
