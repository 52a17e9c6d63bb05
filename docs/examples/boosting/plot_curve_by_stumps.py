"""
A curve learned by one-question functions
=========================================

A regression stump asks one question, whether x is at most c, and answers with one of two numbers.
L2-boosting fits a stump to the residuals, adds it, and fits the next one to what is left: forward
stagewise additive modelling with the squared loss. The lecture DS-GA 1003 shows the sum after
T = 0, 1, 2, 3, 4 and 50 stumps; here it is again, for a curve of our own.
"""

# %%
# Stumps, the squared loss and an exact line search are three arguments. The learning rate of 1
# takes each stump whole, as in the lecture.
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
# A stump is the least-squares fit already, so the line search finds a step of 1 in every round.
print("steps between", model.steps_.min(), "and", model.steps_.max())

# %%
# The stages. T = 0 is the best constant, the mean.
grid = np.linspace(0, 10, 1_000)[:, None]
stages = {0: np.full(1_000, model.init_)} | dict(enumerate(model.staged_predict(grid), start=1))
residuals = {0: y - model.init_} | {
    t: y - fitted for t, fitted in enumerate(model.staged_predict(X), start=1)
}

figure, axes = plt.subplots(2, 3, figsize=(11, 6), sharex=True, sharey=True, layout="constrained")
for ax, T in zip(axes.flat, [0, 1, 2, 3, 4, 50]):
    ax.plot(X, y, ".", color="0.7", ms=4)
    ax.plot(grid, curve(grid), "k--", lw=1)
    ax.plot(grid, stages[T], color="tab:red", lw=1.5)
    ax.set_title(f"T = {T}, training error {np.mean(residuals[T] ** 2):.3f}", fontsize=10)
axes[0, 0].legend(["training rows", "mean of y", "sum of T stumps"], fontsize=8)
plt.show()

# %%
# After some thirty stumps the training error is below the variance of the noise: what is fitted
# from there on is noise too, and the error on fresh rows hardly falls. How many rounds to take is a
# question for held-out rows: `n_iter_no_change` stops by them, and
# :class:`~sklearn_ensemble_theory.L2BoostingRegressor` cross-validates the whole path at once.
fresh = np.sort(rng.uniform(0, 10, 2_000))[:, None]
target = curve(fresh[:, 0]) + 0.2 * rng.standard_normal(2_000)
errors = [np.mean((target - fitted) ** 2) for fitted in model.staged_predict(fresh)]

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
rounds = np.arange(1, 51)
ax.plot(rounds, 2 * model.train_scores_, label="training rows")  # F is half the mean square
ax.plot(rounds, errors, label="fresh rows")
ax.axhline(0.04, color="0.5", ls=":", label="variance of the noise")
ax.set(xlabel="T", ylabel="mean squared error", yscale="log")
ax.legend()
plt.show()
