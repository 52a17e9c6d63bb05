"""Linear smoothers, and L2-boosting of them in closed form (002)."""

from ._nadaraya_watson import NadarayaWatsonRegressor

__all__ = ["NadarayaWatsonRegressor"]
