"""
L2-boosting with regression stumps
==================================

A regression stump predicts one of two constants, depending on whether x is at most a threshold c.
L2-boosting fits a stump to the residuals, adds it to the model, and fits the next stump to the new
residuals. With the squared loss this is forward stagewise additive modelling. The figures of
[DS-GA 1003, lecture 8] show the sum after T = 0, 1, 2, 3, 4, 5, 49 and 50 stumps; this example
shows the same numbers of stumps for another curve.
"""

# %%
# The learning rate is 1: every stump is added in full, as in the lecture.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import DecisionStumpRegressor, GradientBoostingRegressor

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 10, 120))[:, None]
curve = lambda x: np.sin(x) + 0.15 * x  # noqa: E731
y = curve(X[:, 0]) + 0.2 * rng.standard_normal(120)

model = GradientBoostingRegressor(
    DecisionStumpRegressor(), step="line_search", learning_rate=1.0, n_estimators=50
).fit(X, y)

# %%
# A stump is the least-squares fit to the residuals, so a line search along its outputs gives a step
# of 1 in every round. Minimising jointly over the stump and its coefficient, as forward stagewise
# additive modelling does, gives the same model for the squared loss.
print("steps between", model.steps_.min(), "and", model.steps_.max())

# %%
# The model after T stumps. T = 0 is the mean here; the lecture starts from 0, so its first stump
# also fits the mean.
grid = np.linspace(0, 10, 1_000)[:, None]
stages = {0: np.full(1_000, model.initial_scores_)} | dict(
    enumerate(model.staged_predict(grid), start=1)
)
residuals = {0: y - model.initial_scores_} | {
    t: y - fitted for t, fitted in enumerate(model.staged_predict(X), start=1)
}

figure, axes = plt.subplots(2, 4, figsize=(13, 6), sharex=True, sharey=True, layout="constrained")
for ax, T in zip(axes.flat, [0, 1, 2, 3, 4, 5, 49, 50]):
    ax.plot(X, y, ".", color="0.7", ms=4)
    ax.plot(grid, curve(grid), "k--", lw=1)
    ax.plot(grid, stages[T], color="tab:red", lw=1.5)
    ax.set_title(f"T = {T}, training error {np.mean(residuals[T] ** 2):.3f}", fontsize=10)
figure.supxlabel("x")
figure.supylabel("y")
axes[0, 0].legend(["training rows", "mean of y", "sum of T stumps"], fontsize=8)
plt.show()

# %%
# After about thirty stumps the training error is below the variance of the noise: further stumps
# fit noise as well, and the error on new rows hardly decreases. Held-out rows can be used to choose
# the number of rounds: `n_iter_no_change` stops early, and
# :class:`~sklearn_ensemble_theory.L2BoostingRegressor` cross-validates all numbers of rounds in one
# fit.
fresh = np.sort(rng.uniform(0, 10, 2_000))[:, None]
target = curve(fresh[:, 0]) + 0.2 * rng.standard_normal(2_000)
errors = [np.mean((target - fitted) ** 2) for fitted in model.staged_predict(fresh)]

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
rounds = np.arange(1, 51)
ax.plot(rounds, 2 * model.train_scores_, label="training rows")  # F is half the mean square
ax.plot(rounds, errors, label="new rows")
ax.axhline(0.04, color="0.5", ls=":", label="variance of the noise")
ax.set(xlabel="T", ylabel="mean squared error", yscale="log")
ax.legend()
plt.show()
