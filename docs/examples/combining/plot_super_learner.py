"""
The best answer in one line
===========================

A super learner fits a library of members once each: boosting, forests, an additive model, bagged
neighbours and a linear model. It weighs them by their predictions for rows that they have not seen.
This page compares it with each of its members on rows that nobody has seen.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split

from sklearn_ensemble_theory import SuperLearnerClassifier, SuperLearnerRegressor, export
from sklearn_ensemble_theory.inspection import LeaderboardDisplay

X, y = load_diabetes(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, random_state=0)
model = SuperLearnerRegressor(random_state=0).fit(X, y)
LeaderboardDisplay.from_estimator(model)
plt.show()

# %%
# The leaderboard is also a data frame:

print(export.frame(model).round(2).to_string(index=False))

# %%
# Intervals and sets are conformal by the same held-out predictions, without any further fit.

low, high = model.predict_interval(X_new, coverage=0.9).T
inside = np.mean((low <= y_new) & (y_new <= high))
print(f"intervals of width {np.mean(high - low):.0f} contain {inside:.0%} of the new targets")

# %%
# Which member is the best depends on the table. We draw two thirds of the rows four times. The loss
# on the other third is divided by the loss of the best member of the draw, which is known only
# afterwards. Small points are draws, large ones their geometric means. The linear model is the best
# member on two of the tables, and more than twice as bad as the best one on the third. The
# combination is within a fifth of the best member on all three, without being told which one it is.


def losses(kind, X, y, method, loss, seed):
    """The loss of each member and of the combination on a third of the rows."""
    X, X_new, y, y_new = train_test_split(X, y, test_size=1 / 3, random_state=seed)
    model = kind(random_state=seed).fit(X, y)
    found = {
        name: loss(y_new, getattr(member, method)(X_new)) for name, member in model.members_.items()
    }
    return found | {"super learner": loss(y_new, getattr(model, method)(X_new))}


tables = {
    "diabetes, squared error": (
        SuperLearnerRegressor,
        *load_diabetes(return_X_y=True),
        "predict",
        mean_squared_error,
    ),
    "Friedman's function, squared error": (
        SuperLearnerRegressor,
        *make_friedman1(300, noise=1.0, random_state=0),
        "predict",
        mean_squared_error,
    ),
    "breast cancer, log-loss": (
        SuperLearnerClassifier,
        *load_breast_cancer(return_X_y=True),
        "predict_proba",
        log_loss,
    ),
}
means = {}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
for axis, (title, table) in zip(axes, tables.items()):
    draws = [losses(*table, seed) for seed in range(4)]
    names = list(draws[0])
    values = np.array([[draw[name] for name in names] for draw in draws])
    ratios = values / values[:, :-1].min(axis=1, keepdims=True)
    mean = np.exp(np.log(ratios).mean(axis=0))
    colors = ["C1" if name == "super learner" else "C0" for name in names]
    axis.scatter(ratios.T, np.repeat(np.arange(len(names)), len(draws)), s=8, color="0.6")
    axis.scatter(mean, np.arange(len(names)), color=colors, zorder=3)
    axis.axvline(1, color="black", linestyle=":")
    axis.set_title(title, fontsize=10)
    means[title] = mean
figure.supxlabel("loss of new rows over that of the best member", fontsize=10)
axes[0].set_yticks(np.arange(len(names)), names)
axes[0].invert_yaxis()
plt.show()
print(pd.DataFrame(means, index=names).round(2).to_string())

# %%
# The classifier returns sets of labels. A row whose class is not clear gets both labels, or at a
# small `coverage` none.

X, X_new, y, y_new = train_test_split(
    *load_breast_cancer(return_X_y=True), test_size=0.5, random_state=0
)
model = SuperLearnerClassifier(random_state=0).fit(X, y)
for coverage in (0.9, 0.95, 0.99):
    sets = model.predict_set(X_new, coverage)
    inside = sets[np.arange(len(y_new)), y_new].mean()
    sizes = np.bincount(sets.sum(axis=1), minlength=3)
    print(f"{coverage:.0%}: {inside:.1%} contain the label; sizes 0, 1, 2: {sizes.tolist()}")
