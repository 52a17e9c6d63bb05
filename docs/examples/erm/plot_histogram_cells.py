"""
Approximation and estimation error of a histogram
=================================================

A histogram classifier predicts the majority class of each cell of a partition. Its excess over the
least possible risk is the sum of two parts. The *approximation error* is the excess of the best
labels of the cells, and decreases with the number of cells. The *estimation error* comes from
choosing the labels by the data, and increases with it.
"""

# %%
# Two classes on the unit square. Class 1 has probability 0.8 inside a disc and 0.2 outside. The
# distribution is known, so the risks are computed on a fine grid instead of being estimated on test
# data.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import HistogramClassifier

rng = np.random.default_rng(0)


def probability(X):
    """P(y = 1 | x)."""
    return np.where(np.hypot(X[:, 0] - 0.45, X[:, 1] - 0.55) < 0.35, 0.8, 0.2)


def draw(n):
    X = rng.random((n, 2))
    return X, (rng.random(n) < probability(X)).astype(int)


side = (np.arange(300) + 0.5) / 300
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
on_grid = probability(grid)
bayes_risk = np.mean(np.minimum(on_grid, 1 - on_grid))


def risk(predicted):
    """The probability of an error on a new row."""
    return np.mean(np.where(predicted == 1, 1 - on_grid, on_grid))


def best_of_the_class(m):
    """The least risk of a classifier that is constant on each of m x m cells.

    An error costs 0.8 - 0.2 everywhere, so the best label is that of the larger part of the cell.
    """
    cells = HistogramClassifier(n_bins=m, box=(0, 1)).fit(grid, on_grid > 0.5)
    return risk(cells.predict(grid))


# %%
# Histograms of three numbers of intervals, for the same 2,000 rows. The number of the rate,
# :math:`n^{1/3}` rounded up, is 13.
X, y = draw(2_000)
figure, axes = plt.subplots(1, 3, figsize=(9.5, 3.4), layout="constrained", sharey=True)
for axis, n_bins in zip(axes, (3, "rate", 50)):
    model = HistogramClassifier(n_bins=n_bins, box=(0, 1)).fit(X, y)
    predicted = model.predict(grid)
    axis.imshow(
        predicted.reshape(300, 300), origin="lower", extent=(0, 1, 0, 1), cmap="coolwarm", alpha=0.6
    )
    axis.add_patch(plt.Circle((0.45, 0.55), 0.35, fill=False))
    m = model.n_bins_
    axis.set_title(f"{m} x {m} cells: excess risk {risk(predicted) - bayes_risk:.3f}")
    axis.set_xlabel("feature 0")
axes[0].set_ylabel("feature 1")
plt.show()

# %%
# The mean excess risk over 10 samples, and its two parts, as functions of the number of intervals.
# The approximation error decreases irregularly, because it depends on where the edges of the cells
# are. More rows reduce the estimation error only, so the best number of intervals increases with n;
# the number of the rate is marked.
numbers = np.array([1, 2, 3, 4, 6, 8, 11, 15, 20, 28, 40, 56])
approximation = np.array([best_of_the_class(m) - bayes_risk for m in numbers])
figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
axis.plot(numbers, approximation, color="black", label="approximation error")
for n, color in ((500, "C0"), (2_000, "C1"), (8_000, "C2")):
    excess = np.zeros(len(numbers))
    for _ in range(10):
        X, y = draw(n)
        for i, m in enumerate(numbers):
            model = HistogramClassifier(n_bins=m, box=(0, 1)).fit(X, y)
            excess[i] += (risk(model.predict(grid)) - bayes_risk) / 10
    axis.plot(numbers, excess, color=color, marker="o", label=f"excess risk, n = {n:,}")
    axis.plot(numbers, excess - approximation, color=color, linestyle=":")
    axis.axvline(np.ceil(n ** (1 / 3)), color=color, linewidth=0.8, alpha=0.5)
axis.plot([], [], color="gray", linestyle=":", label="estimation error")
axis.set(
    xscale="log", xlabel="number of intervals m of each feature", ylabel="error probability", ylim=0
)
axis.set_xticks(numbers, numbers)
axis.minorticks_off()
axis.legend(loc="upper center")
plt.show()

# %%
# The bound of theorem 6 holds for every distribution, and is far above the estimation error. It
# increases with m and decreases with n at the right rates.
for n in (2_000, 200_000):
    model = HistogramClassifier(n_bins=10, box=(0, 1)).fit(*draw(n))
    found = risk(model.predict(grid)) - best_of_the_class(10)
    print(f"n = {n:,}: bound {model.error_bound(delta=0.05):.3f}, estimation error {found:.4f}")
