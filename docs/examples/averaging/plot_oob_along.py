"""
Out-of-bag scores along the number of members
=============================================

A row that a member has not drawn can judge that member. With `oob_score=True` a fit therefore comes
with an estimate of its quality at the price of the members' predictions, without a fold or a
held-out set, and `oob_scores_` has it for every smaller ensemble as well: where the curve is flat,
more members are a waste.
"""

# %%
# Forests on real data, with the metric of one's own choice: a callable takes the place of the
# accuracy or of R². Shown with it is the score on rows held out.
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
# About a third of the trees have not seen a row, so an out-of-bag score is that of a forest of a
# third of the size. It runs behind the held-out score at first; by 100 trees both are flat, and
# what is left between them is mostly the luck of which rows were held out.
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
# A fit that turns out to be too short goes on where it ended, and so does its curve.
X, _, y, _ = halves(*load_diabetes(return_X_y=True))
forest = RandomForestRegressor(50, oob_score=True, warm_start=True, random_state=0).fit(X, y)
before = forest.oob_scores_
forest.set_params(n_estimators=150).fit(X, y)
print(f"R² out of bag: {before[-1]:.3f} with 50 trees, {forest.oob_score_:.3f} with 150")
print("the first 50 scores are the same:", np.array_equal(forest.oob_scores_[:50], before))
