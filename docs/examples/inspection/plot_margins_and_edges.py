"""
Margins and edges of boosted votes
==================================

A weak learner with the weighted error :math:`\\epsilon_t` has the edge
:math:`\\gamma_t = 1/2 - \\epsilon_t`. The edges bound the training error of AdaBoost
[Ghoshdastidar, theorem En.4]. The margins of the rows show what further rounds change when the
training error is 0 already.
"""

# %%
# Two classes, separated by a circle. A vote of stumps separates them approximately.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    RandomForestClassifier,
    SmoothBoostClassifier,
)
from sklearn_ensemble_theory.datasets import add_label_noise
from sklearn_ensemble_theory.inspection import EdgeDisplay, MarginDisplay


def sample(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.where((X**2).sum(axis=1) < 0.6, 1, -1)


X, y = sample(400, 0)
model = AdaBoostClassifier(n_estimators=500).fit(X, y)

# %%
# The edges decrease, because the weights concentrate on rows that are hard to classify. The
# product of the factors :math:`2\sqrt{\epsilon_t (1 - \epsilon_t)}` is a much better bound than
# that by the smallest edge alone.
EdgeDisplay.from_estimator(model, X, y)
plt.show()

# %%
# The height of a curve at 0 is the training error. After 170 rounds it is 0, and the smallest
# margins still increase. A random forest has larger margins for most rows. For two classes the
# margin is the mean probability of the right class minus the mean probability of the other class.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
MarginDisplay.from_estimator(model, X, y, rounds=[5, 20, 100, 500], ax=left)
left.set_title("AdaBoost")
forest = RandomForestClassifier(100, random_state=0).fit(X, y)
MarginDisplay.from_estimator(forest, X, y, ax=right)
right.set_title("random forest, by number of trees")
plt.show()

# %%
# With wrong labels in 15 % of the rows, AdaBoost still tries to classify all of them correctly, and
# makes all margins small. `SmoothBoostClassifier` bounds the weights of the rows: it keeps large
# margins for the rows with right labels, and negative ones for the others.
noisy, flipped = add_label_noise(y, 0.15, random_state=0)
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
for ax, estimator in zip(
    axes, [AdaBoostClassifier(n_estimators=200), SmoothBoostClassifier(n_estimators=200)]
):
    estimator.fit(X, noisy)
    display = MarginDisplay.from_estimator(estimator, X, noisy, rounds=[10, 200], ax=ax)
    margins = display.margins[200]
    ax.set_title(type(estimator).__name__)
    print(
        type(estimator).__name__,
        f"mean margin of right labels {margins[~flipped].mean():.2f},",
        f"of wrong ones {margins[flipped].mean():.2f}",
    )
plt.show()
