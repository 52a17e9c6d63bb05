"""
Hierarchical shrinkage
======================

A deep tree follows the noise in y, and a pruned tree loses the information of small nodes.
Hierarchical shrinkage keeps all splits, and moves the mean of every node towards the means of the
nodes above it. It moves more if the node above has few rows.
"""

# %%
# One feature, 200 rows, a smooth function and much noise. A full tree is fitted, and shrunk by the
# parameter that trees on five folds choose.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from sklearn_ensemble_theory import RandomForestRegressor
from sklearn_ensemble_theory.inspection import shrink
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(size=200))
y = np.sin(6 * x) + rng.normal(scale=0.6, size=200)
tree = BinnedTreeRegressor(min_samples_leaf=3).fit(x[:, None], y)
shrunk_tree = tree.shrink("cv", x[:, None], y)
print(f"lambda = {shrunk_tree.shrinkage_:g}")

# %%
# Forests of 1,300 rows, of which 300 are fitted. `shrink` chooses the parameter by out-of-bag rows,
# without refitting. Its losses (lines) are for the mean of all trees, as are the losses at the
# 1,000 rows that were held out (circles).
X, target = make_friedman1(1300, 10, noise=4.0, random_state=0)
grid = np.concatenate([[0.0], np.geomspace(0.3, 1000, 12)])
forests = [
    RandomForestRegressor(n, random_state=0).fit(X[:300], target[:300]) for n in (5, 20, 200)
]

figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
axes[0].plot(x, y, ".", color="0.7", label="training rows")
axes[0].plot(x, np.sin(6 * x), color="0.3", linestyle="--", label="mean of y")
axes[0].plot(x, tree.predict(x[:, None]), linewidth=1, label="tree")
axes[0].plot(x, shrunk_tree.predict(x[:, None]), linewidth=2, label="shrunk tree")
axes[0].set(xlabel="x", ylabel="y")
axes[0].legend()

places = np.arange(len(grid))
for number, forest in enumerate(forests):
    path = shrink(forest, "cv", reg_params=grid).shrinkage_path_
    held_out = [1 - shrink(forest, each).score(X[300:], target[300:]) for each in grid]
    color, label = f"C{number}", f"{len(forest)} trees"
    axes[1].plot(places, path["loss"], color=color, label=label)
    axes[1].plot(places, held_out, "o", color=color, markersize=4)
    axes[1].plot(np.argmin(path["loss"]), path["loss"].min(), "v", color=color, markersize=10)
axes[1].set_xticks(places[::2], [f"{each:.3g}" for each in grid[::2]])
axes[1].set(xlabel="lambda", ylabel="1 - R²")
axes[1].legend()
plt.show()

# %%
# Few trees gain most. The mean of many trees takes out the same variance, and little is left to
# gain.
for forest in forests:
    shrunk = shrink(forest)
    before, after = (model.score(X[300:], target[300:]) for model in (forest, shrunk))
    print(f"{len(forest):3d} trees: R² {before:.2f}, shrunk by {shrunk.shrinkage_:g}: {after:.2f}")
