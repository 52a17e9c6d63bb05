"""
Standard error of the mean of an ensemble
=========================================

The standard deviation of the members of an ensemble, `ensemble_std`, is not the error of their
mean: most of the differences between the members average out. The error that remains is the
variation of the mean over training sets. `standard_error` estimates it from one fit, by the
infinitesimal jackknife and, for the bootstrap, its mean with the jackknife after bootstrap.

This example compares both with the true value, the standard deviation of the mean over independent
training sets.
"""

# %%
# One feature, a target with a kink and a jump, noise of standard deviation 0.3.
import warnings

import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import BaggingRegressor
from sklearn_ensemble_theory.averaging import StandardErrorWarning
from sklearn_ensemble_theory.inspection import ensemble_std

n_rows, noise, n_sets = 200, 0.3, 40
x = np.linspace(0.02, 0.98, 97)


def target(x):
    return np.abs(3 * x - 1) - (x > 0.7)


def training_set(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 1))
    return X, target(X[:, 0]) + noise * rng.standard_normal(n_rows)


# %%
# Two ways of drawing rows: a quarter of them without replacement, and the bootstrap.
schemes = {
    "a quarter of the rows": {"bootstrap": False, "max_samples": 0.25},
    "the bootstrap": {"bootstrap": True},
}


def bagged_trees(n_estimators, seed, name):
    X, y = training_set(seed)
    return BaggingRegressor(n_estimators=n_estimators, random_state=seed, **schemes[name]).fit(X, y)


def true_error(name, n_estimators=40):
    """Over independent training sets, minus the part that is due to the number of trees."""
    bags = [bagged_trees(n_estimators, seed, name) for seed in range(n_sets)]
    variance = np.var([bag.predict(x[:, None]) for bag in bags], axis=0, ddof=1)
    spread = np.mean([ensemble_std(bag, x[:, None]) ** 2 for bag in bags], axis=0)
    return np.sqrt(np.maximum(variance - spread / n_estimators, 0))


# %%
# One training set, 1000 trees. The narrow band shows the variation of the mean over training sets.
# It does not include bias, as at the jump, where every mean of trees is too smooth. The wide band
# shows the variation of single trees.
bags = {name: bagged_trees(1000, 1000, name) for name in schemes}
bag = bags["a quarter of the rows"]
mean, error = bag.predict(x[:, None]), bag.standard_error(x[:, None])
spread = ensemble_std(bag, x[:, None])
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
axis.plot(*training_set(1000), ".", color="0.7", ms=3, label="training rows")
axis.fill_between(x, mean - 2 * spread, mean + 2 * spread, alpha=0.2, label="2 ensemble_std")
axis.fill_between(x, mean - 2 * error, mean + 2 * error, alpha=0.5, label="2 standard_error")
axis.plot(x, mean, label="mean of 1000 trees")
axis.plot(x, target(x), "k--", lw=1, label="target")
axis.set(xlabel="x", ylabel="y", ylim=(-1, 2.6))
axis.legend(ncols=2, loc="upper center")
plt.show()

# %%
# Comparison with the true value. On subsamples the standard error is right on average over x; at a
# single point it is an estimate from one training set and varies around the true value. With the
# bootstrap the infinitesimal jackknife is too small. A fully grown tree reproduces the target of a
# row as soon as it has drawn that row once, and drawing it twice changes nothing. The covariance
# between the weight and the prediction therefore captures only a part. Its warning is ignored. The
# default takes the mean with the jackknife after bootstrap, which is too large. If error bars
# matter, draw fewer rows without replacement.
warnings.simplefilter("ignore", StandardErrorWarning)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for axis, name in zip(axes, schemes):
    bag = bags[name]
    true, error = true_error(name), bag.standard_error(x[:, None])
    axis.plot(x, true, "k-", label=f"true, over {n_sets} training sets")
    axis.plot(x, error, color="C1", label="standard_error, from one")
    if name == "the bootstrap":
        infinitesimal = bag.standard_error(x[:, None], method="infinitesimal")
        axis.plot(x, infinitesimal, ":", color="C2", label='method="infinitesimal"')
    axis.plot(x, ensemble_std(bag, x[:, None]), color="C0", lw=1, label="ensemble_std")
    ratio = np.sqrt(np.mean(error**2) / np.mean(true**2))
    axis.set(title=f"{name}: {ratio:.2f} of the truth", xlabel="x", ylim=(0, 0.6))
axes[0].set_ylabel("standard deviation")
figure.legend(*axes[1].get_legend_handles_labels(), ncols=4, loc="outside lower center")
plt.show()
