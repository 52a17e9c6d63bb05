"""Displays of fitted ensembles."""

from sklearn_ensemble_theory.inspection._importance_display import ImportanceDisplay
from sklearn_ensemble_theory.inspection._shape_display import ShapeFunctionDisplay
from sklearn_ensemble_theory.inspection._smoothing_displays import (
    BoostingPathDisplay,
    SmootherSpectrumDisplay,
)
from sklearn_ensemble_theory.inspection._term_displays import (
    LocalExplanationDisplay,
    TermImportanceDisplay,
)

__all__ = [
    "BoostingPathDisplay",
    "ImportanceDisplay",
    "LocalExplanationDisplay",
    "ShapeFunctionDisplay",
    "SmootherSpectrumDisplay",
    "TermImportanceDisplay",
]
