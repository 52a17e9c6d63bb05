"""
Bagging is stable, whatever it bags
===================================

A fully grown tree follows every row: without one of them its prediction at a point may be any other
target. The mean of trees on subsamples cannot change like that, and neither can the mean of any
other learner. For all but a share `delta` of the rows the change is below a bound, which depends
only on the number of rows and the size of the subsamples.

This example leaves out each row in turn, for a tree and for bagged trees, and compares the largest
changes with the bound.
"""

# %%
# The labels are pure noise, so a tree has as much to follow as possible.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import BaggingRegressor
from sklearn_ensemble_theory.bounds import bagging_stability

n, n_trees = 60, 500
rng = np.random.default_rng(0)
X, y = np.sort(rng.random((n, 1)), axis=0), rng.choice([0.0, 1.0], n)
# A point whose nearest row has another label than the rows around it.
alone = next(i for i in range(20, n) if y[i] == 1 and not y[[i - 2, i - 1, i + 1, i + 2]].any())
x = X[[alone]]


def changes(model):
    """The change of the prediction at x without each row, in decreasing order."""
    whole = model.fit(X, y).predict(x)
    rest = [np.arange(n) != i for i in range(n)]
    found = [abs(model.fit(X[rows], y[rows]).predict(x) - whole)[0] for rows in rest]
    return np.sort(found)[::-1]


# %%
# A tree, and trees on subsamples of three sizes. `max_samples="stable"` chooses the largest size
# with which the mean of infinitely many members changes by at most `stability`, 0.1 of the range of
# the outputs, for 95 % of the rows.
tree = changes(DecisionTreeRegressor(random_state=0))
bags = {}
for size in [0.9, 0.5, "stable"]:
    bag = BaggingRegressor(n_estimators=n_trees, max_samples=size, bootstrap=False, random_state=0)
    bags[bag.fit(X, y)._member_spec.scheme.size] = changes(bag)

# %%
# The bound holds for any learner, and for a share of the rows: the k largest changes are below
# the one for `delta` = k / n.
share = np.arange(1, n) / n
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
left.plot(np.arange(1, n + 1) / n, tree, ".-", color="0.3")
left.set(title="a fully grown tree", ylabel="change of the prediction", ylim=(-0.02, 1.05))
for colour, (size, found) in zip(["C3", "C1", "C0"], bags.items()):
    right.plot(np.arange(1, n + 1) / n, found, ".-", color=colour, label=f"{size} rows")
    bound = [bagging_stability(n, size, bootstrap=False, delta=k) for k in share]
    right.plot(share, bound, "--", color=colour, lw=1)
    assert (found[: n - 1] <= np.array(bound) + 0.05).all()  # 500 trees are not infinitely many
right.plot([], [], "--", color="0.4", lw=1, label="bound for any learner")
right.set(title=f"mean of {n_trees} trees on subsamples")
right.legend()
for axes in (left, right):
    axes.set(xlabel="share of the rows", xlim=(0, 0.4))
plt.show()

# %%
# One row decides what the tree says; no row decides for the mean of trees on subsamples. The
# bound is no bound on the error: stable predictions of noise are as wrong as others. It says that a
# conclusion does not depend on a few of the rows, and that intervals by leaving rows out apply to
# the model.
for size, found in bags.items():
    print(f"{size} rows: largest change {found[0]:.2f}, for 95 % of rows below {found[3]:.2f}")
