"""Displays of fitted ensembles, and of the parts of their errors."""

from sklearn_ensemble_theory._addresses import publish

from ._additive_report import report_html
from ._bias_variance import BiasVarianceDisplay, bias_variance_decomposition
from ._calibration import ReliabilityDisplay
from ._conditional_risk import ConditionalRiskDisplay
from ._cv_path import CVPathDisplay
from ._excess_risk import ExcessRiskDisplay
from ._importances import ImportanceDisplay, LocalExplanationDisplay
from ._margins import EdgeDisplay, MarginDisplay
from ._member_variance import VarianceDecompositionDisplay
from ._partial_dependence import partial_dependence
from ._prediction_bands import PredictionBandDisplay
from ._shape_functions import ShapeFunctionDisplay
from ._smoothing_displays import BoostingPathDisplay, SmootherSpectrumDisplay

__all__ = [
    "BiasVarianceDisplay",
    "BoostingPathDisplay",
    "CVPathDisplay",
    "ConditionalRiskDisplay",
    "EdgeDisplay",
    "ExcessRiskDisplay",
    "ImportanceDisplay",
    "LocalExplanationDisplay",
    "MarginDisplay",
    "PredictionBandDisplay",
    "ReliabilityDisplay",
    "ShapeFunctionDisplay",
    "SmootherSpectrumDisplay",
    "VarianceDecompositionDisplay",
    "bias_variance_decomposition",
    "partial_dependence",
    "report_html",
]

publish(__name__, globals(), __all__)
