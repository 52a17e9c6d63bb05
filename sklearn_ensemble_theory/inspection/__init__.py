"""Displays of fitted ensembles, and of the parts of their errors."""

from sklearn_ensemble_theory.inspection._importance_display import ImportanceDisplay
from sklearn_ensemble_theory.inspection._risks.bias_variance import bias_variance_decomposition
from sklearn_ensemble_theory.inspection._risks.bias_variance_display import BiasVarianceDisplay
from sklearn_ensemble_theory.inspection._risks.excess_risk_display import ExcessRiskDisplay
from sklearn_ensemble_theory.inspection._risks.member_variance_display import (
    VarianceDecompositionDisplay,
)
from sklearn_ensemble_theory.inspection._rounds.edge_display import EdgeDisplay
from sklearn_ensemble_theory.inspection._rounds.margin_display import MarginDisplay
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
    "BiasVarianceDisplay",
    "BoostingPathDisplay",
    "EdgeDisplay",
    "ExcessRiskDisplay",
    "ImportanceDisplay",
    "LocalExplanationDisplay",
    "MarginDisplay",
    "ShapeFunctionDisplay",
    "SmootherSpectrumDisplay",
    "TermImportanceDisplay",
    "VarianceDecompositionDisplay",
    "bias_variance_decomposition",
]
