"""What a fitted ensemble is made of: margins, variance decomposition, displays."""

from sklearn_ensemble_theory.inspection._smoothing_displays import (
    BoostingPathDisplay,
    SmootherSpectrumDisplay,
)

__all__ = ["BoostingPathDisplay", "SmootherSpectrumDisplay"]
