"""
Variance decomposition of a random forest
=========================================

The mean of :math:`B` trees, each of variance :math:`\\sigma^2` and any two of correlation
:math:`\\rho`, has variance :math:`\\rho\\sigma^2 + (1-\\rho)\\sigma^2/B` [Shah, §4.5]. More trees
reduce the second term only. Smaller values of `max_features`, the number of features considered at
a split, reduce the first: the trees are less correlated. They increase the bias.

Below, forests are fitted to many independent training sets of a simulated problem, which gives the
true variance and bias. The estimates of `variance_decomposition` use a single training set.
"""

# %%
# The problem has ten correlated features. Each has half of its variance in common with the others,
# so a split without the best feature finds a similar feature. The target is their sum, with noise.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import RandomForestRegressor
from sklearn_ensemble_theory.inspection import ensemble_std, variance_decomposition

n_rows, n_features, n_trees, n_sets = 200, 10, 40, 16
candidates = [1, 2, 3, 5, 7, 10]


def sample(seed, n_rows):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) + rng.standard_normal((n_rows, 1))
    f = X.sum(axis=1) / 7
    return X, f, f + rng.standard_normal(n_rows)


def forest(max_features, n_estimators, random_state):
    """A forest on quarters of the rows, without replacement."""
    return RandomForestRegressor(
        n_estimators,
        max_features=max_features,
        max_samples=0.25,
        bootstrap=False,
        random_state=random_state,
    )


X_test, f_test, _ = sample(12345, 150)

# %%
# The true values over independent training sets. The variance of the forest's mean is computed
# between the sets, the variance that the draws add to a single tree within them; together they are
# :math:`\sigma^2`.
true = {"sigma2": [], "rho": [], "variance": [], "bias2": []}
for max_features in candidates:
    means, spreads = [], []
    for seed in range(n_sets):
        X, _, y = sample(seed, n_rows)
        fitted = forest(max_features, n_trees, seed).fit(X, y)
        means.append(fitted.predict(X_test))
        spreads.append(ensemble_std(fitted, X_test) ** 2)
    variance, within = np.var(means, axis=0, ddof=1), np.mean(spreads, axis=0)
    sigma2 = variance + (1 - 1 / n_trees) * within
    between = variance - within / n_trees
    bias2 = (np.mean(means, axis=0) - f_test) ** 2 - variance / n_sets
    true["sigma2"].append(sigma2.mean())
    true["rho"].append(between.mean() / sigma2.mean())
    true["variance"].append(variance.mean())
    true["bias2"].append(bias2.mean())

# %%
# Estimates from one training set. The infinitesimal jackknife needs more trees than a prediction
# does, about as many as there are rows.
X, _, y = sample(1000, n_rows)
one_fit = {"sigma2": [], "rho": []}
for max_features in candidates:
    found = variance_decomposition(forest(max_features, 400, 0).fit(X, y), X_test)
    one_fit["sigma2"].append(found.sigma2.mean())
    one_fit["rho"].append((found.rho * found.sigma2).mean() / found.sigma2.mean())

# %%
# With fewer features at a split, single trees vary more and are much less correlated. The product
# :math:`\rho\sigma^2`, the limit for infinitely many trees, decreases, and the bias increases. The
# sum of the two has its minimum in between.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for axis, name, title in [
    (left, "sigma2", r"variance of one tree, $\sigma^2$"),
    (middle, "rho", r"correlation of two trees, $\rho$"),
]:
    axis.plot(candidates, true[name], "o-", label="over independent training sets")
    axis.plot(candidates, one_fit[name], "s", mfc="none", color="C1", label="from one training set")
    axis.set(title=title, ylim=(0, 1.1 * max(one_fit[name])))
left.legend(loc="lower right")

bias2, variance = np.array(true["bias2"]), np.array(true["variance"])
limit = np.multiply(true["rho"], true["sigma2"])
right.plot(candidates, bias2 + variance, "-", color="black", label="sum of the two")
right.plot(candidates, bias2, "v-", color="C2", label="squared bias")
right.plot(candidates, variance, "o-", color="C0", label=f"variance of {n_trees} trees")
right.plot(candidates, limit, ":", color="C0", label=r"... of infinitely many, $\rho\sigma^2$")
right.set(title="error of the forest", ylabel="squared error", ylim=(0, 0.3))
left.set_ylabel("variance")
middle.set_ylabel("correlation")
right.legend(loc="upper left")
for axis in (left, middle, right):
    axis.set_xlabel("max_features")
plt.show()
