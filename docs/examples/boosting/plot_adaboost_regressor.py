"""
AdaBoost.R2: which rows are drawn
=================================

`AdaBoostRegressor` draws the rows of each round by weights that grow with the errors of the earlier
rounds, and predicts the weighted median of its trees.
"""

# %%
# A curve with a narrow peak, which trees of depth 2 fit only where many rows are drawn from it.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import AdaBoostRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 1, 400))
mean = np.sin(4 * x) + 2 * np.exp(-(((x - 0.7) / 0.02) ** 2))
y = mean + 0.1 * rng.standard_normal(len(x))
X = x[:, None]

model = AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=200, random_state=0)
model.fit(X, y)

# %%
# The weights of the rows before each round follow from the errors of the trees and their mean loss
# L. If e is the error of a row as a share of the largest error, its weight is multiplied by
# (L / (1 - L))^(1 - e).
weight = np.full(len(x), 1 / len(x))
drawn = np.zeros(len(x))
for tree, loss in zip(model.estimators_, model.estimator_errors_):
    drawn += weight
    error = np.abs(tree.predict(X) - y)
    weight = weight * (loss / (1 - loss)) ** (1 - error / error.max())
    weight /= weight.sum()
drawn *= len(x) / len(model.estimators_)  # the mean number of draws of a row in a round

# %%
# The first tree misses the peak, whose rows are then drawn more often than the others. Later trees
# fit it, at the expense of the rest of the curve, until the mean loss of a tree exceeds 1/2.
print(f"{len(model.estimators_)} rounds, {model.stop_reason_}")
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
axes[0].plot(x, y, ".", color="0.7", label="data")
for n_rounds, prediction in enumerate(model.staged_predict(X), 1):
    if n_rounds in (1, 10, len(model.estimators_)):
        axes[0].plot(x, prediction, label=f"{n_rounds} round{'s' * (n_rounds > 1)}")
axes[0].set(xlabel="x", ylabel="y", title="weighted median of the trees")
axes[0].legend()
axes[1].plot(x, drawn, ".")
axes[1].set(
    xlabel="x", ylabel="mean number of draws in a round", title="rows drawn", ylim=(0, None)
)
plt.show()
