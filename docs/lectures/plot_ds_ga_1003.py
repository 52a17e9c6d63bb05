"""
DS-GA 1003: boosting and a review
=================================

Lecture 8 of *DS-GA 1003: Machine Learning* has two parts: boosting, from sums of functions that are
learned one by one to gradient boosting, and a review of the course by its errors: approximation,
estimation and optimisation. This page has its sections in order.
"""

# %%
# L2-boosting of stumps
# ---------------------
# With the squared loss a round fits a stump to the residuals. The lecture starts at 0 and takes
# full steps: T = 0, 1, 2, 3, 4, 5, 49 and 50 stumps.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import DecisionStumpRegressor, GradientBoostingRegressor

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 10, 120))[:, None]
y = np.sin(X[:, 0]) + 0.15 * X[:, 0] + 0.2 * rng.standard_normal(120)
model = GradientBoostingRegressor(
    DecisionStumpRegressor(),
    init="zero",
    step="line_search",
    learning_rate=1.0,
    n_estimators=50,
).fit(X, y)

grid = np.linspace(0, 10, 1_000)[:, None]
stages = [np.zeros(1_000), *model.staged_predict(grid)]
figure, axes = plt.subplots(2, 4, figsize=(12, 5.5), sharex=True, sharey=True, layout="constrained")
for axis, T in zip(axes.flat, [0, 1, 2, 3, 4, 5, 49, 50]):
    axis.plot(X, y, ".", color="0.7")
    axis.plot(grid, stages[T], color="tab:red")
    axis.set_title(f"T = {T}")
figure.supxlabel("x")
figure.supylabel("y")
plt.show()
