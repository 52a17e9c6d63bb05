"""
Sets of classes that contain the true one
=========================================

A classifier returns the most probable class. `predict_set` returns all classes that are probable
enough for the set to contain the true one with a given probability, by the probabilities of rows
out of fold. A row between classes has a set of several.
"""

# %%
# Three classes in the plane which overlap.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import GradientBoostingClassifier


def sample(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    centres = np.array([[-1.2, 0.0], [1.2, 0.0], [0.0, 1.8]])
    return centres[y] + rng.standard_normal((n, 2)), y


X, y = sample(600, 0)
X_new, y_new = sample(4000, 1)
model = GradientBoostingClassifier(n_estimators=30, max_depth=2, held_out=10, random_state=0).fit(
    X, y
)
print(f"accuracy {model.score(X_new, y_new):.3f}")

# %%
# The coverage of new rows, and the sizes of the sets: larger sets buy more coverage.
for coverage in (0.8, 0.9, 0.95):
    sets = model.predict_set(X_new, coverage=coverage)
    covered = sets[np.arange(len(y_new)), y_new].mean()
    sizes = np.bincount(sets.sum(axis=1), minlength=4) / len(sets)
    print(f"{coverage:.0%}: {covered:.3f} covered; with 0, 1, 2, 3 classes: {sizes.round(2)}")
    assert abs(covered - coverage) < 0.04

# %%
# The sets of 90 % in the plane: one class where it is clear, two or three between them.
grid = np.stack(np.meshgrid(np.linspace(-4, 4, 120), np.linspace(-3, 4.5, 120)), axis=-1)
sets = model.predict_set(grid.reshape(-1, 2), coverage=0.9)
single = np.array([[0.0, 0.45, 0.7], [0.84, 0.37, 0.0], [0.0, 0.62, 0.45]])
share = sets / np.maximum(sets.sum(axis=1, keepdims=True), 1)
colors = 1 - 0.55 * (1 - share @ single)
colors[~sets.any(axis=1)] = 1
figure, axis = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
axis.imshow(colors.reshape(120, 120, 3), extent=(-4, 4, -3, 4.5), origin="lower", aspect="auto")
sizes = sets.sum(axis=1).reshape(120, 120)
axis.contour(grid[..., 0], grid[..., 1], sizes > 1, [0.5], colors="k", linewidths=1)
for k in range(3):
    own = X[y == k]
    axis.plot(*own.T, ".", color=single[k], ms=6, mec="w", mew=0.5, label=f"class {k}")
axis.plot([], [], "k", lw=1, label="several classes inside")
axis.set(xlabel="first feature", ylabel="second feature", xlim=(-4, 4), ylim=(-3, 4.5))
axis.legend(loc="upper left", fontsize="small")
plt.show()
