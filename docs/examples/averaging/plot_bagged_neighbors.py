"""
Bagged nearest neighbours: subsamples and their limit
=====================================================

The prediction of one nearest neighbour has the noise of a single target. Bagging it, with s of the
n rows in each replication, averages over more rows as n/s increases: the variance decreases, and
the bias increases. The panels repeat the experiment of [Bach, figure 10.1] with m = 20 subsamples.
They also show the limit of infinitely many subsamples, which
:class:`~sklearn_ensemble_theory.BaggedNearestNeighborsRegressor` computes without resampling.
"""

# %%
# Twenty subsamples against infinitely many
# -----------------------------------------
# With n/s = 1 every subsample is the whole data set, so both curves are the plain nearest
# neighbour. For all other s the limit is smoother, and its test error is below the test error of m
# = 20 subsamples, averaged here over ten draws of the twenty. The difference is the variance of the
# draws. A single draw, such as the one in the panels, can be better by chance.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import BaggingRegressor
from sklearn.neighbors import KNeighborsRegressor

from sklearn_ensemble_theory import BaggedNearestNeighborsRegressor
from sklearn_ensemble_theory.datasets import make_sine_regression

n, m = 200, 20
X, y = make_sine_regression(n, random_state=0)
X_test, y_test = make_sine_regression(2_000, random_state=1)
grid = np.linspace(0, 1, 1_000)[:, None]


def bagged(s, replications=m, seed=0):
    return BaggingRegressor(
        KNeighborsRegressor(n_neighbors=1),
        n_estimators=replications,
        max_samples=s,
        bootstrap=False,
        random_state=seed,
    ).fit(X, y)


def test_error(model):
    return np.mean((model.predict(X_test) - y_test) ** 2)


figure, axes = plt.subplots(2, 3, figsize=(12, 7), sharex=True, sharey=True, layout="constrained")
for ax, ratio in zip(axes.flat, [1, 2, 5, 10, 20, 50]):
    s = n // ratio
    draws = [bagged(s, seed=seed) for seed in range(10)]
    limit = BaggedNearestNeighborsRegressor(max_samples=s).fit(X, y)
    ax.plot(X, y, ".", color="0.75", ms=4, label="training rows")
    ax.plot(grid, np.sin(3 * np.pi * grid), "k--", lw=1, label="mean of y")
    ax.plot(grid, draws[0].predict(grid), color="tab:blue", lw=1, label=f"m = {m} subsamples")
    ax.plot(grid, limit.predict(grid), color="tab:red", lw=1.5, label="m = ∞, in closed form")
    ax.set_title(
        f"n/s = {ratio}\ntest error {np.mean([test_error(d) for d in draws]):.3f} (m = {m}), "
        f"{test_error(limit):.3f} (m = ∞)",
        fontsize=10,
    )
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
axes[0, 0].set_ylabel("y")
axes[1, 0].set(xlabel="x", ylabel="y")
plt.show()

# %%
# The weights
# -----------
# The ratio n/s determines how fast the weight of the i-th nearest row decreases with its rank i. It
# is nearly geometric, (s/n) (1 - s/n)^(i-1), so the effective number of neighbours is about n/s.

from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights

figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for ratio in [2, 5, 10, 20, 50]:
    weights = bagged_nearest_neighbors_weights(n, n // ratio)
    ax.plot(np.arange(1, len(weights) + 1), weights, label=f"n/s = {ratio}")
ax.set(xlim=(1, 60), ylim=(1e-4, 1), yscale="log", xlabel="rank i", ylabel="weight")
ax.legend()
plt.show()

# %%
# Choosing s without resampling
# -----------------------------
# The leave-one-out error of every s is computed from a single neighbour query of the training rows.
# The left panel compares it with the test error. The right panel shows the distance of m
# replications from their limit, which decreases as one over the square root of m.

model = BaggedNearestNeighborsRegressor(max_samples="loo").fit(X, y)
sizes, loo = model.cv_results_["max_samples"], model.cv_results_["mean_score"]
test = [test_error(BaggedNearestNeighborsRegressor(max_samples=int(s)).fit(X, y)) for s in sizes]

limit = model.predict(grid)
replications = np.array([1, 3, 10, 30, 100, 300])
distances = []
for b in replications:
    draws = [bagged(model.max_samples_, int(b), seed).predict(grid) for seed in range(3)]
    distances.append(np.sqrt(np.mean((np.array(draws) - limit) ** 2)))

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.semilogx(n / sizes, loo, "o-", ms=3, label="leave-one-out")
left.semilogx(n / sizes, test, "s-", ms=3, label="test")
left.axvline(n / model.max_samples_, color="0.5", ls=":", label=f"chosen: s = {model.max_samples_}")
left.set(xlabel="n/s", ylabel="mean squared error", xlim=(0.9, 80), ylim=(0.08, 0.25))
left.legend()
right.loglog(replications, distances, "o-", label="bagging of m fits")
right.loglog(replications, distances[0] / np.sqrt(replications), "k--", lw=1, label="slope -1/2")
right.set(xlabel="m", ylabel="root mean square distance to the limit")
right.legend()
plt.show()
