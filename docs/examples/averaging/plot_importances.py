"""
Importances of features by out-of-bag rows
==========================================

`feature_importances_` of a forest are the mean decreases of the impurity at the splits, computed
from the rows that a tree was fitted to. They are positive for any feature, and the larger, the more
values a feature has. Two importances by out-of-bag rows do not have this bias, nor does MDI+, a
regression on the splits of each tree that leaves out every row once.
"""

# %%
# The diabetes data, with two columns of random numbers: one with a value for each patient, and one
# with two values.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import SelectFromModel

from sklearn_ensemble_theory import RandomForestRegressor
from sklearn_ensemble_theory.inspection import (
    ImportanceDisplay,
    mdi_plus_importances,
    oob_permutation_importances,
    unbiased_feature_importances,
)

X, y = load_diabetes(return_X_y=True, as_frame=True)
rng = np.random.default_rng(0)
X["random"], X["random, 0 or 1"] = rng.standard_normal(len(y)), rng.integers(0, 2, len(y))
forest = RandomForestRegressor(300, max_features=4, random_state=0).fit(X, y)

# %%
# By the fitted rows, the random column is more important than the sex of a patient. In
# `unbiased_feature_importances` one factor of each product is computed from out-of-bag rows, and
# the random columns are near 0, as they are where the out-of-bag values of a column are permuted.
# The lines at these are standard errors over the rows. `mdi_plus_importances` says what a feature
# explains of y alone, as a share: nothing for the sex, which matters given other features.
permuted, plus = oob_permutation_importances(forest, random_state=0), mdi_plus_importances(forest)
figure, axes = plt.subplots(2, 2, figsize=(10, 7.5), layout="constrained")
for axis, importances in zip(axes.flat, ["feature_importances_", None, permuted, plus]):
    ImportanceDisplay.from_estimator(forest, importances, ax=axis)
axes[1, 0].set_xlabel("increase of the squared error")
axes[1, 1].set_xlabel("mdi plus importances")
plt.show()

# %%
# Features can be selected by them.
selector = SelectFromModel(
    forest, importance_getter=unbiased_feature_importances, threshold="0.1*mean"
).fit(X, y)
print(", ".join(X.columns[selector.get_support()]))
