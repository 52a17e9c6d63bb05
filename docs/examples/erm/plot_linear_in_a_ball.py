"""
Linear classifiers in a ball: certificates
==========================================

:class:`~sklearn_ensemble_theory.BallConstrainedClassifier` minimises a convex loss over linear
scores whose coefficients have a bounded norm, or over the functions of a kernel. Two differences
are bounded: the training risk minus its minimum over the ball, and the expected risk minus the best
expected risk of the ball.
"""

# %%
# Projected gradient descent has a known bound, 2 L R / sqrt(k) after k steps [Shah, theorem 26].
# The duality gap, computed from the same steps, is smaller, and the difference to the minimum is
# smaller still. The last one is known here, because ``solver="auto"`` finds the minimum.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import BallConstrainedClassifier
from sklearn_ensemble_theory.bounds import surrogate_risk


def sample(n, p, rng):
    """Only the first three of p features in [-1, 1] matter."""
    X = rng.uniform(-1, 1, (n, p))
    score = 4 * (X[:, 0] + X[:, 1] - X[:, 2])
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), 1, -1)


rng = np.random.default_rng(0)
X, y = sample(300, 10, rng)
best = BallConstrainedClassifier(2.0, loss="hinge").fit(X, y)
least = surrogate_risk("hinge", y, best.decision_function(X))

steps = np.unique(np.geomspace(1, 3000, 15).astype(int))
excess, gaps, bounds = [], [], []
for k in steps:
    model = BallConstrainedClassifier(2.0, loss="hinge", solver="gd", max_iter=int(k)).fit(X, y)
    excess.append(surrogate_risk("hinge", y, model.decision_function(X)) - least)
    gaps.append(model.dual_gap_)
    bounds.append(model.suboptimality_bound_)

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
axes.loglog(steps, bounds, "k:", label="bound, 2 L R / sqrt(k)")
axes.loglog(steps, gaps, label="duality gap")
axes.loglog(steps, excess, label="difference to the minimum")
axes.set(xlabel="steps k", ylabel="hinge loss", title="projected gradient descent")
axes.legend()
plt.show()

# %%
# The norm matters where there are many features. With 3 of 500 features that count, the l1 ball
# selects them, and the smallest test error is lower than with the l2 ball. If all features counted
# equally, it would be the other way round [Shah, §3.6].
X, y = sample(300, 500, rng)
X_test, y_test = sample(5000, 500, rng)

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
radii = np.geomspace(0.2, 30, 14)
for norm in ("l1", "l2"):
    models = [BallConstrainedClassifier(r, norm=norm).fit(X, y) for r in radii]
    errors = [1 - model.score(X_test, y_test) for model in models]
    axes.semilogx(radii, errors, label=norm)
    print(f"{norm}: smallest test error {min(errors):.3f}")
axes.set(xlabel="radius", ylabel="test error", title="3 of 500 features count")
axes.legend()
plt.show()

# %%
# The bound on the excess risk holds for every distribution of the rows, with probability 95 %, and
# is far from sharp. Here it is compared with the excess risk on 5,000 new rows over the best
# classifier of the ball on these rows.
best = BallConstrainedClassifier(1.0, norm="l1", fit_intercept=False).fit(X_test, y_test)
least = surrogate_risk("logistic", y_test, best.decision_function(X_test))
for n in (300, 3_000, 30_000):
    model = BallConstrainedClassifier(1.0, norm="l1", fit_intercept=False)
    model.fit(*sample(n, 500, rng))
    excess = surrogate_risk("logistic", y_test, model.decision_function(X_test)) - least
    bound = model.error_bound(delta=0.05, feature_bound=1.0)
    print(f"{n:6,} rows: excess {excess:.4f}, bound {bound:.4f}")

# %%
# With a kernel the ball is one of functions: here of the Gaussian kernel, with labels that no line
# separates. The scores are at most the radius away from the intercept, and a larger radius lets the
# boundary follow single points.
X = rng.uniform(-1, 1, (300, 2))
y = np.where((X**2).sum(axis=1) + 0.2 * rng.standard_normal(300) < 0.6, 1, -1)
grid = np.linspace(-1, 1, 101)
points = np.column_stack([part.ravel() for part in np.meshgrid(grid, grid)])

figure, axes = plt.subplots(1, 3, figsize=(10, 3.5), layout="constrained", sharey=True)
for ax, radius in zip(axes, (3.0, 10.0, 1000.0)):
    model = BallConstrainedClassifier(radius, loss="hinge", kernel="rbf", gamma=3.0).fit(X, y)
    scores = model.decision_function(points).reshape(101, 101)
    ax.contourf(grid, grid, scores, levels=[-np.inf, 0, np.inf], colors=["C1", "C0"], alpha=0.3)
    ax.scatter(*X.T, c=np.where(y > 0, "C0", "C1"), s=8)
    ax.set(title=f"radius {radius:g}", xlabel="x1", aspect="equal")
    print(
        f"radius {radius:g}: duality gap {model.dual_gap_:.1e}, error {1 - model.score(X, y):.3f}"
    )
axes[0].set_ylabel("x2")
plt.show()
