"""
Error and time by the number of bins
====================================

Binned trees choose their thresholds among the edges of bins of each column, 255 by default. How
many bins are needed? For most data fewer than 255: an ensemble averages over the thresholds of many
trees. One exception is a target that changes within a range of a column that few rows are in.
Forests have 2047 bins by default where they have more than 10,000 rows.
"""

# %%
# Two regression problems with 20,000 training rows. Friedman's function is smooth. In the second
# problem, the mean is higher in a window of the first feature that contains 2 % of the rows. Bins
# that are wider than the window cannot separate these rows.
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from sklearn_ensemble_theory import GradientBoostingRegressor, RandomForestRegressor
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

n, n_test = 20_000, 5_000


def smooth():
    """Friedman's function; the test targets are without noise."""
    X, y = make_friedman1(n + n_test, noise=0.0, random_state=0)
    return X, y


def narrow():
    """A linear function of five features and a window of the first one."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n + n_test, 10))
    return X, 10 * X[:, :5].sum(axis=1) + 15 * (np.abs(X[:, 0] - 0.703) < 0.01)


# %%
# Gradient boosting takes the number of bins from its trees, a forest has the parameter
# `max_bins`. `None` is the exact tree of scikit-learn.
def boosting(max_bins):
    tree = BinnedTreeRegressor(max_depth=4, max_bins=max_bins)
    return GradientBoostingRegressor(tree, n_estimators=150, learning_rate=0.2)


def forest(max_bins):
    return RandomForestRegressor(
        30, max_features=0.5, min_samples_leaf=3, max_bins=max_bins, n_jobs=2, random_state=0
    )


bins = [4, 8, 16, 32, 64, 128, 255]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained", sharex=True)
problems = [
    (smooth, "Friedman's function", [0.25, 0.5, 1.0, 2.0]),
    (narrow, "Five features and a narrow window", [0.5, 1.0, 2.0, 4.0, 8.0]),
]
for axis, (problem, title, ticks) in zip(axes, problems):
    X, mean = problem()
    y = mean + np.random.default_rng(1).standard_normal(len(mean))
    for model, label in [(boosting, "gradient boosting"), (forest, "random forest")]:
        errors = []
        for max_bins in bins:
            predicted = model(max_bins).fit(X[:n], y[:n]).predict(X[n:])
            errors.append(np.mean((mean[n:] - predicted) ** 2))
        (line,) = axis.plot(bins, errors, marker="o", label=label)
    predicted = forest(None).fit(X[:n], y[:n]).predict(X[n:])
    exact = np.mean((mean[n:] - predicted) ** 2)
    axis.axhline(exact, color=line.get_color(), linestyle="--", label="random forest, exact trees")
    axis.set(xscale="log", yscale="log", xlabel="max_bins", title=title)
    axis.set_xticks(bins, bins)
    axis.set_yticks(ticks, ticks)
    axis.minorticks_off()
axes[0].set_ylabel("mean squared error")
axes[1].set_ylabel("mean squared error")
axes[1].legend()
plt.show()

# %%
# For the smooth function 32 bins are enough, and a forest of binned trees is as accurate as one of
# exact trees. The window needs bins that are narrower than it is, more than 50 of them. Its edges
# are found up to the width of a bin. The error of boosting still decreases from 128 to 255 bins,
# and the forest of exact trees remains slightly better than the forest of binned trees.
#
# The times are those of this build. The difference increases with the number of rows.
X, mean = smooth()
y = mean + np.random.default_rng(1).standard_normal(len(mean))
for max_bins in (255, None):
    start = perf_counter()
    forest(max_bins).fit(X[:n], y[:n])
    print(f"forest with max_bins={max_bins}: {perf_counter() - start:.1f} s")
