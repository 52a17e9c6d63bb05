"""
Random cuts and noise
=====================

The trees of `ExtraTreesRegressor` draw their cuts at random; the trees of `RandomForestRegressor`
take the best cuts. Random cuts do not follow the noise in y: two trees are less correlated, and
less is gained by averaging trees whose cuts are the best for the same noise.
"""

# %%
# Ten features, of which five matter, and noise of increasing standard deviation. Both forests draw
# rows with replacement, so they differ only in their cuts. They are fitted to eight independent
# training sets. The variance between these fits, less the part that is due to the number of trees,
# is the variance of infinitely many trees. Its share in the variance of one tree is the correlation
# of two trees.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from sklearn_ensemble_theory import ExtraTreesRegressor, RandomForestRegressor
from sklearn_ensemble_theory.inspection import ensemble_std

forests = {"random forest": RandomForestRegressor, "extra trees": ExtraTreesRegressor}
noises = np.array([0.5, 1.0, 2.0, 4.0, 8.0])
n_trees, n_sets = 100, 8
X_new, mean = make_friedman1(1000, noise=0.0, random_state=100)

errors = {name: [] for name in forests}
correlations = {name: [] for name in forests}
for noise in noises:
    samples = [make_friedman1(300, noise=noise, random_state=seed) for seed in range(n_sets)]
    for name, Forest in forests.items():
        fits = [
            Forest(n_trees, bootstrap=True, random_state=seed).fit(*sample)
            for seed, sample in enumerate(samples)
        ]
        predicted = np.array([model.predict(X_new) for model in fits])
        errors[name].append(np.sqrt(np.mean((predicted - mean) ** 2, axis=1)))
        within = np.mean([ensemble_std(model, X_new) ** 2 for model in fits])
        limit = np.var(predicted, axis=0, ddof=1).mean() - within / n_trees
        correlations[name].append(limit / (limit + within))

# %%
# The correlation of two trees is smaller with random cuts throughout. The errors are about the same
# up to a standard deviation of 4. With more noise, random cuts have the smaller error.
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
for name in forests:
    found = np.array(errors[name])
    spread = found.std(axis=1, ddof=1) / np.sqrt(n_sets)
    axes[0].errorbar(noises, found.mean(axis=1), spread, marker="o", capsize=3, label=name)
    axes[1].plot(noises, correlations[name], marker="o", label=name)
axes[0].set(xscale="log", ylabel="error of the mean of y", ylim=(0, None))
axes[1].set(xscale="log", ylabel="correlation of two trees", ylim=(0, None))
for noise, forest, extra in zip(noises, *errors.values()):
    more = extra - forest
    spread = more.std(ddof=1) / np.sqrt(n_sets)
    print(f"noise {noise:3g}: error of extra trees {more.mean():+.3f}, standard error {spread:.3f}")
for axis in axes:
    axis.set_xlabel("standard deviation of the noise")
    axis.set_xticks(noises, labels=[f"{noise:g}" for noise in noises])
    axis.minorticks_off()
    axis.legend()
plt.show()
