"""
Certificates of a forest by the number of its trees
===================================================

You get a bound on the error of a vote that holds with probability 95 %, from the training rows
alone. Each tree has rows that were not drawn for it, and so has each pair of trees. Four bounds use
the first two moments of the losses of the trees in different ways; see the page on certificates in
the user guide.
"""

# %%
# Two classes of points in eight informative dimensions, of which 2 % have a random label. A tree
# draws a fifth of the 4,000 training rows, so about 67 % of them are outside of any two trees.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from sklearn_ensemble_theory import RandomForestClassifier

X, y = make_classification(24_000, n_informative=8, class_sep=1.5, flip_y=0.02, random_state=0)
X, X_new, y, y_new = X[:4000], X[4000:], y[:4000], y[4000:]
numbers = [3, 5, 10, 20, 50, 100, 200]
methods = ["first-order", "tandem", "c-bound", "chebyshev-cantelli"]

# %%
# The same for bootstrap samples, which leave 13 % of the rows outside of
# a pair.
panels = {"a fifth of the rows a tree": 0.2, "bootstrap samples": None}
found = {}
for name, max_samples in panels.items():
    bounds, errors = {method: [] for method in methods}, []
    for n_estimators in numbers:
        forest = RandomForestClassifier(n_estimators, max_samples=max_samples, random_state=0)
        forest.fit(X, y)
        errors.append(1 - forest.score(X_new, y_new))
        for method in methods:
            bounds[method].append(forest.error_bound(delta=0.05, method=method))
    found[name] = bounds, np.array(errors)
    assert all((errors <= np.array(bounds[method])).all() for method in methods)

# %%
# The tandem bound of many trees is the smallest where enough rows are outside of pairs. The
# first-order bound does not use how the errors of the trees are correlated, and does not fall with
# their number.
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for axis, (name, (bounds, errors)) in zip(axes, found.items()):
    for method, marker in zip(methods, "osvD"):
        axis.plot(numbers, bounds[method], marker=marker, ms=4, label=method)
    axis.plot(numbers, errors, "k--", label="error on 20,000 new rows")
    axis.set(xscale="log", title=name, xlabel="number of trees", ylim=(0, 0.75))
axes[0].set_ylabel("error, and bounds on it")
axes[0].legend()
figure.suptitle("Bounds that hold with probability 95 %")
plt.show()
