"""
Small and large trees in gradient boosting
==========================================

`GradientBoostingRegressor` has trees of depth 3, `HistGradientBoostingRegressor` trees of 31 leaves
with at least 20 rows. Which is better depends on the number of rows, and on how features interact.
"""

# %%
# A target in which four features interact in pairs, with noise of standard deviation 1. Targets of
# the test rows are without noise.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import GradientBoostingRegressor, HistGradientBoostingRegressor

rng = np.random.default_rng(0)


def rows(n, noise=1.0):
    X = rng.uniform(size=(n, 8))
    mean = 5 * np.sin(4 * X[:, 0] * X[:, 1]) + 8 * np.abs(X[:, 2] - X[:, 3]) + 2 * X[:, 4]
    return X, mean + noise * rng.standard_normal(n)


X_test, y_test = rows(5_000, noise=0.0)
models = {
    "depth 3": GradientBoostingRegressor(random_state=0),
    "31 leaves": HistGradientBoostingRegressor(early_stopping=False, random_state=0),
    "31 leaves, rounds by early stopping": HistGradientBoostingRegressor(
        max_iter=500, early_stopping=True, random_state=0
    ),
}

# %%
# 100 rounds, or as many as early stopping finds, on 100 to 30,000 rows.
sizes = [100, 300, 1_000, 3_000, 10_000, 30_000]
errors = {name: [] for name in models}
for n in sizes:
    X, y = rows(n)
    for name, model in models.items():
        predicted = model.fit(X, y).predict(X_test)
        errors[name].append(np.mean((predicted - y_test) ** 2))

figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, curve in errors.items():
    axis.plot(sizes, curve, marker="o", label=name)
axis.set(xscale="log", yscale="log", xlabel="training rows", ylabel="mean squared error")
axis.legend()
plt.show()

# %%
# Two features that interact need several splits on a path. More rows allow more leaves of 20 rows,
# and trees of 31 leaves get further and further ahead of trees of depth 3. Early stopping looks at
# held-out rows: their score before the first round and after each.
X, y = rows(1_000)
model = HistGradientBoostingRegressor(
    early_stopping=True, n_iter_no_change=20, max_iter=300, random_state=0
).fit(X, y)
figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
axis.plot(-2 * model.train_score_, label="training rows")
axis.plot(-2 * model.validation_score_, label="held-out rows")
axis.set(yscale="log", xlabel="rounds", ylabel="mean squared error")
axis.legend()
plt.show()
print(model.n_iter_, "rounds:", model.stop_reason_)
