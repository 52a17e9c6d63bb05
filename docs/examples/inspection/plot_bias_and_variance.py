"""
Bias and variance
=================

The expected error of an estimator is the sum of noise, squared bias and variance. They are measured
by fits to many independent training sets.
"""

# %%
# A sine wave with noise of variance 0.09. Averaging reduces the variance of deep trees and leaves
# their small bias as it is. Boosting reduces the bias of stumps. The variance of a single stump is
# large here, because two cuts of the wave are equally good.
from functools import partial

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionStumpRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn_ensemble_theory.datasets import (
    make_sine_regression,
    make_twonorm,
    twonorm_bayes_rule,
)
from sklearn_ensemble_theory.inspection import (
    BiasVarianceDisplay,
    VarianceDecompositionDisplay,
)

make_sine = partial(make_sine_regression, 150, return_mean=True)
estimators = {
    "stump": DecisionStumpRegressor(),
    "boosted\nstumps": GradientBoostingRegressor(DecisionStumpRegressor(), n_estimators=60),
    "deep tree": DecisionTreeRegressor(),
    "bagged\ndeep trees": BaggingRegressor(DecisionTreeRegressor(), 20),
}
BiasVarianceDisplay.from_estimators(
    estimators, make_sine, noise=0.09, n_repetitions=30, random_state=0
)
plt.show()

# %%
# The number of rounds balances the two: the bias decreases with it and the variance increases.
BiasVarianceDisplay.from_parameter(
    GradientBoostingRegressor(DecisionTreeRegressor(max_depth=3), learning_rate=0.2),
    make_sine,
    param_name="n_estimators",
    param_range=[1, 3, 10, 30, 100],
    noise=0.09,
    n_repetitions=20,
    random_state=0,
)
plt.show()

# %%
# The 0-1 loss, in the sense of [Domingos, 2000]: the bias is the share of points at which the most
# frequent prediction is not the optimal class. There, a prediction that differs from the most
# frequent prediction is an improvement, so the net variance subtracts it. More trees reduce the net
# variance.
BiasVarianceDisplay.from_parameter(
    BaggingClassifier(DecisionTreeClassifier(max_depth=4)),
    partial(make_twonorm, 200, n_features=5),
    target=twonorm_bayes_rule,
    loss="zero_one",
    param_name="n_estimators",
    param_range=[1, 3, 10, 30],
    n_repetitions=30,
    random_state=0,
)
plt.show()

# %%
# The variance of a forest of B trees is :math:`\rho\sigma^2 + (1-\rho)\sigma^2/B` [Shah, §4.5].
# The points are variances over 20 independent training sets. Trees that consider fewer features at
# a split are less correlated.
VarianceDecompositionDisplay.from_parameter(
    RandomForestRegressor(50),
    partial(make_friedman1, 100, noise=1.0),
    param_name="max_features",
    param_range=[1, 3, 10],
    n_repetitions=20,
    random_state=0,
)
plt.show()
