"""
Approximation, estimation and optimisation error
================================================

The risk of a fitted function exceeds the least possible risk for three reasons [DS-GA 1003, lecture
8]. The class of functions does not contain the best function (approximation). The minimiser of the
empirical risk is not the best of the class (estimation). The algorithm does not find the minimiser
(optimisation). `ExcessRiskDisplay` measures the three by repeated draws of the training set, where
the best function is known.
"""

# %%
# Piecewise constant functions on k equal cells are nested classes for k = 1, 2, 4, and so on, and a
# histogram minimises the empirical risk exactly. The approximation error decreases with k; the
# estimation error is proportional to k.
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import (
    DecisionStumpRegressor,
    FrankWolfeRegressor,
    HistogramRegressor,
)
from sklearn_ensemble_theory.datasets import make_sine_regression
from sklearn_ensemble_theory.inspection import ExcessRiskDisplay

make_sine = partial(make_sine_regression, 150)


def sine(X):
    return np.sin(3 * np.pi * X[:, 0])


ExcessRiskDisplay.from_parameter(
    HistogramRegressor(),
    make_sine,
    target=sine,
    param_name="n_bins",
    param_range=[1, 2, 4, 8, 16, 32, 64],
    random_state=0,
)
plt.show()

# %%
# Weighted sums of stumps in a ball of the variation norm: the classes are nested in the radius. The
# fully corrective algorithm comes close to the minimiser in 60 rounds, and 12 plain iterations of
# Frank-Wolfe do not. In large balls that is an advantage, the same as early stopping. The
# optimisation error is negative there, and the excess risk (black points) is below the boundary of
# the estimation error.
ball = FrankWolfeRegressor(DecisionStumpRegressor(), n_estimators=60, variant="fully_corrective")
display = ExcessRiskDisplay.from_parameter(
    ball,
    make_sine,
    algorithm=FrankWolfeRegressor(DecisionStumpRegressor(), n_estimators=12),
    target=sine,
    param_name="radius",
    param_range=[1, 2, 4, 8],
    n_repetitions=6,
    n_reference=3,
    random_state=0,
)
plt.show()

print("optimisation error:", np.round(display.optimization, 3))
