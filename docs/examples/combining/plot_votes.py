"""
Votes of different classifiers
==============================

The members are a logistic regression on polynomials of degree 3, a decision tree and three nearest
neighbours. They err in different places, and their vote is wrong only where two of the three are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import StackingClassifier, VotingClassifier

members = [
    ("cubic", make_pipeline(PolynomialFeatures(3), LogisticRegression())),
    ("tree", DecisionTreeClassifier(max_leaf_nodes=8, random_state=0)),
    ("nearest", KNeighborsClassifier(3)),
]
X, y = make_moons(200, noise=0.3, random_state=0)
X_test, y_test = make_moons(4_000, noise=0.3, random_state=100)
vote = VotingClassifier(members).fit(X, y)

grid = np.stack(np.meshgrid(np.linspace(-2, 3, 201), np.linspace(-1.6, 2.1, 151)), axis=-1)
figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), sharey=True, layout="constrained")
for axis, (name, model) in zip(axes, [*vote.named_estimators_.items(), ("vote", vote)]):
    classes = model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    axis.contourf(grid[..., 0], grid[..., 1], classes, levels=1, cmap="coolwarm", alpha=0.4)
    axis.scatter(*X.T, c=y, s=6, cmap="coolwarm")
    axis.set_title(name, fontsize=10)
    axis.set_xlabel("feature 0")
axes[0].set_ylabel("feature 1")

# %%
# The error of a majority vote is at most twice the mean error of its members, whatever they are
# [Ghoshdastidar, theorem En.1]. That is for the worst case, members that err on the same rows in
# pairs. With a `delta`, `error_bound` bounds the error on new rows, from rows that were not fitted:
# here it is twice the mean error plus a term for 4,000 rows.
#
# The errors below are means over ten samples of 200 rows. With `voting="soft"` the mean probability
# decides, and :class:`~sklearn_ensemble_theory.StackingClassifier` learns the weights of the
# probabilities. For members of nearly the same error, equal weights are as good as learned ones.

combinations = {
    "vote": vote,
    "soft vote": VotingClassifier(members, voting="soft"),
    "stack, simplex": StackingClassifier(members, "simplex"),
}
models = {**dict(members), **combinations}
errors, bounds = {name: [] for name in models}, []
for seed in range(10):
    X, y = make_moons(200, noise=0.3, random_state=seed)
    for name, model in models.items():
        errors[name].append(1 - model.fit(X, y).score(X_test, y_test))
    bounds.append(vote.error_bound(X_test, y_test, delta=0.05))

means = {name: np.mean(values) for name, values in errors.items()}
twice = 2 * np.mean([means[name] for name, _ in members])
figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
axis.barh(list(means), list(means.values()), color=["C0"] * 3 + ["C1"] * 3)
axis.axvline(twice, color="black", linestyle="--", label="twice the mean of the members")
axis.axvline(np.mean(bounds), color="black", linestyle=":", label="bound, delta = 0.05")
axis.invert_yaxis()
axis.set(xlabel="test error", xlim=(0, 0.6))
axis.legend(loc="upper right")
plt.show()
for name, mean in means.items():
    print(f"{name:15s} {mean:.4f}")
