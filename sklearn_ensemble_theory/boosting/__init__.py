"""Learned in sequence, each on what the others left: one loop, many wirings (000 section 10.3)."""

from ._l2_boosting import L2BoostingRegressor

__all__ = ["L2BoostingRegressor"]
