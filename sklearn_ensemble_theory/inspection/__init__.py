"""What a fitted ensemble is made of: margins, variance decomposition, displays."""

from ._smoothing_displays import BoostingPathDisplay, SmootherSpectrumDisplay

__all__ = ["BoostingPathDisplay", "SmootherSpectrumDisplay"]
