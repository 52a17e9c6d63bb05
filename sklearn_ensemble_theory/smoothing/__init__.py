"""Linear smoothers, and L2-boosting of them in closed form [Dombry and Esstafa]."""

from sklearn_ensemble_theory.smoothing._kernel import NadarayaWatsonRegressor
from sklearn_ensemble_theory.smoothing._linear_boosting.bagged_smoother import bagged_smoother
from sklearn_ensemble_theory.smoothing._linear_boosting.estimators import LinearL2BoostingRegressor
from sklearn_ensemble_theory.smoothing._linear_boosting.variance_bound import (
    stochastic_variance_bound,
)
from sklearn_ensemble_theory.smoothing._spline.estimators import SmoothingSplineRegressor

__all__ = [
    "LinearL2BoostingRegressor",
    "NadarayaWatsonRegressor",
    "SmoothingSplineRegressor",
    "bagged_smoother",
    "stochastic_variance_bound",
]
