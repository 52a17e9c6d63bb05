"""Displays of fitted ensembles."""

from sklearn_ensemble_theory.inspection._smoothing_displays import (
    BoostingPathDisplay,
    SmootherSpectrumDisplay,
)

__all__ = ["BoostingPathDisplay", "SmootherSpectrumDisplay"]
