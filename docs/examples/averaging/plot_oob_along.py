"""
Out-of-bag scores along the number of members
=============================================

Each row can be predicted by the members that did not draw it. With `oob_score=True` this gives an
estimate of the score without cross-validation or a held-out set, at the cost of the members'
predictions. `oob_scores_` contains it for every smaller ensemble as well: where the curve is flat,
more members do not help.
"""

# %%
# Two forests on real data. A callable `oob_score` replaces accuracy or R² by another metric. The
# plots also show the score on held-out rows.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.metrics import accuracy_score, mean_absolute_error
from sklearn.model_selection import train_test_split

from sklearn_ensemble_theory import RandomForestClassifier, RandomForestRegressor

n_trees = 200


def staged_score(forest, X, y, score):
    """The score of the first 1, 2, ... trees on other data."""
    classify = hasattr(forest, "classes_")
    method = "predict_proba" if classify else "predict"
    answers = np.cumsum([getattr(tree, method)(X) for tree in forest], axis=0)
    if classify:
        return [score(y, forest.classes_[total.argmax(axis=1)]) for total in answers]
    return [score(y, total / (b + 1)) for b, total in enumerate(answers)]


def halves(X, y):
    return train_test_split(X, y, test_size=0.5, random_state=0)


# %%
# About a third of the trees were fitted without a given row, so an out-of-bag score is the score of
# a forest of a third of the size. With few trees it is worse than the held-out score. From 100
# trees on both are flat, and the remaining difference is mostly due to the choice of the held-out
# rows.
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
for axis, forest, data, metric, label in [
    (
        axes[0],
        RandomForestClassifier(n_trees, oob_score=True, random_state=0),
        load_digits(return_X_y=True),
        accuracy_score,
        "accuracy",
    ),
    (
        axes[1],
        RandomForestRegressor(
            n_trees, max_features=0.3, oob_score=mean_absolute_error, random_state=0
        ),
        load_diabetes(return_X_y=True),
        mean_absolute_error,
        "mean absolute error",
    ),
]:
    X, X_held_out, y, y_held_out = halves(*data)
    forest.fit(X, y)
    count = np.arange(1, n_trees + 1)
    axis.plot(count, forest.oob_scores_, label="out of bag")
    axis.plot(count, staged_score(forest, X_held_out, y_held_out, metric), label="held out")
    axis.set(xscale="log", xlabel="number of trees", ylabel=label)
    axis.legend()
axes[0].set_title("digits, oob_score=True")
axes[1].set_title("diabetes, oob_score=mean_absolute_error")
plt.show()

# %%
# With `warm_start=True` more trees can be added, and the curve is continued.
X, _, y, _ = halves(*load_diabetes(return_X_y=True))
forest = RandomForestRegressor(50, oob_score=True, warm_start=True, random_state=0).fit(X, y)
before = forest.oob_scores_
forest.set_params(n_estimators=150).fit(X, y)
print(f"R² out of bag: {before[-1]:.3f} with 50 trees, {forest.oob_score_:.3f} with 150")
print("the first 50 scores are the same:", np.array_equal(forest.oob_scores_[:50], before))
