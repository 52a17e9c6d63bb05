"""
Sets of classes for easy and for hard rows
==========================================

A set of classes of 90 % contains the true class of nine rows in ten, on average. With a threshold
on the probability, the smallest sets on average, easy rows pay for hard ones. Adaptive sets add up
the most probable classes until their total is large enough, which treats both alike.
"""

# %%
# Five classes on a line, with noise that depends on a second feature: some rows are easy, and some
# could be any of three classes.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import RandomForestClassifier


def sample(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    noise = np.where(X[:, 1] < 0.5, 0.05, 1.5)
    return X, np.clip(np.floor(5 * X[:, 0] + noise * rng.standard_normal(n)), 0, 4).astype(int)


X, y = sample(2000, 0)
X_new, y_new = sample(20_000, 1)
forest = RandomForestClassifier(300, min_samples_leaf=20, random_state=0).fit(X, y)
print(f"accuracy {forest.score(X_new, y_new):.3f}")

# %%
# The new rows in the order of their largest probability, in ten parts of equal size. "lac" covers
# all easy rows, and three quarters of hard ones. "aps" is nearer to the same share everywhere, as
# near as the probabilities of the forest are to the true ones. Without random numbers its sets are
# larger, have at least one class, and cover nearly nine of ten in all parts.
kinds = {
    '"lac"': {"method": "lac"},
    '"aps", randomized': {"method": "aps", "randomized": True, "random_state": 0},
    '"aps"': {"method": "aps"},
}
parts = np.array_split(np.argsort(forest.predict_proba(X_new).max(axis=1)), 10)
figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.8), layout="constrained")
for name, options in kinds.items():
    sets = forest.predict_set(X_new, coverage=0.9, **options)
    covered, size = sets[np.arange(len(y_new)), y_new], sets.sum(axis=1)
    print(f"{name}: {covered.mean():.3f} covered, {size.mean():.2f} classes", end="")
    print(f", {np.mean(size == 0):.3f} of the sets empty")
    axes[0].plot(range(1, 11), [covered[part].mean() for part in parts], "o-", ms=4, label=name)
    axes[1].plot(range(1, 11), [size[part].mean() for part in parts], "o-", ms=4, label=name)
axes[0].axhline(0.9, color="k", lw=0.8, ls="--")
axes[0].set(ylabel="share of rows whose class is in the set", ylim=(0.7, 1.005))
axes[1].set(ylabel="classes in the set", ylim=(0, None))
for axis in axes:
    axis.set(xlabel="tenth of the rows, from hard to easy", xticks=range(1, 11))
axes[1].legend()
plt.show()
