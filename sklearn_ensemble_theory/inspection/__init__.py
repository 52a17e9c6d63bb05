"""What can be asked of a fitted ensemble besides predictions, and displays of it."""

from sklearn_ensemble_theory._addresses import publish

from ._additive_report import report_html
from ._bias_variance import BiasVarianceDisplay, bias_variance_decomposition
from ._calibration import ReliabilityDisplay
from ._conditional_risk import ConditionalRiskDisplay
from ._cv_path import CVPathDisplay
from ._edited_ensembles import compact, forget_training_rows, shrink
from ._excess_risk import ExcessRiskDisplay
from ._importances import ImportanceDisplay, LocalExplanationDisplay
from ._leaderboard import LeaderboardDisplay
from ._margin_displays import EdgeDisplay, MarginDisplay
from ._member_variance import VarianceDecompositionDisplay
from ._partial_dependence import partial_dependence
from ._prediction_bands import PredictionBandDisplay
from ._shape_functions import ShapeFunctionDisplay
from ._smoothing_displays import BoostingPathDisplay, SmootherSpectrumDisplay
from ._spread_of_members import ensemble_std, stability, variance_decomposition
from ._training_weights import impute, kneighbors, outlier_scores, proximity, training_weights
from ._tree_importances import (
    mdi_plus_importances,
    oob_permutation_importances,
    unbiased_feature_importances,
)

__all__ = [
    "BiasVarianceDisplay",
    "BoostingPathDisplay",
    "CVPathDisplay",
    "ConditionalRiskDisplay",
    "EdgeDisplay",
    "ExcessRiskDisplay",
    "ImportanceDisplay",
    "LeaderboardDisplay",
    "LocalExplanationDisplay",
    "MarginDisplay",
    "PredictionBandDisplay",
    "ReliabilityDisplay",
    "ShapeFunctionDisplay",
    "SmootherSpectrumDisplay",
    "VarianceDecompositionDisplay",
    "bias_variance_decomposition",
    "compact",
    "ensemble_std",
    "forget_training_rows",
    "impute",
    "kneighbors",
    "mdi_plus_importances",
    "oob_permutation_importances",
    "outlier_scores",
    "partial_dependence",
    "proximity",
    "report_html",
    "shrink",
    "stability",
    "training_weights",
    "unbiased_feature_importances",
    "variance_decomposition",
]

publish(__name__, globals(), __all__)
