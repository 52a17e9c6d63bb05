"""
Custom loss and base learner
============================

A gradient boosting model consists of a loss, a weak learner and a step rule. A loss can be any
object with ``value(y, u)`` and ``gradient(y, u)``, and a weak learner any scikit-learn regressor.
"""

# %%
# A loss: the cost of a delay
# ---------------------------
# For deliveries, a late arrival costs four times as much as an early one, with a smooth transition:
# a smoothed pinball loss. Two short methods are enough; the optimal constant, the line search and
# the leaves of the trees are computed numerically. A third method, ``hessian(y, u)``, is mostly
# faster: leaves then take Newton steps, unless these would not lower their loss as they should.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.preprocessing import SplineTransformer

from sklearn_ensemble_theory import GradientBoostingRegressor
from sklearn_ensemble_theory.boosting.losses import SquaredLoss
from sklearn_ensemble_theory.trees import BinnedTreeRegressor


class DelayCost:
    """Promised time u, true time y: 4 (y - u)+ + (u - y)+, rounded off within `width`."""

    def __init__(self, width=0.1):
        self.width = width

    def value(self, y, u):
        z = (y - u) / self.width
        return self.width * (5 * np.logaddexp(0, z) - z)

    def gradient(self, y, u):
        z = (y - u) / self.width
        return 1 - 5 * 0.5 * (1 + np.tanh(z / 2))


rng = np.random.default_rng(0)
X = rng.uniform(0, 10, (1_500, 1))
spread = 0.3 + 0.08 * X[:, 0]
y = 2 + np.sin(X[:, 0]) + spread * rng.gamma(2.0, 1.0, 1_500)

grid = np.linspace(0, 10, 500)[:, None]
losses = {"squared loss: the mean": SquaredLoss(), "cost of a delay": DelayCost()}
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(X, y, ".", color="0.8", ms=3)
for name, loss in losses.items():
    tree = BinnedTreeRegressor(max_depth=2, min_samples_leaf=50)
    model = GradientBoostingRegressor(tree, loss=loss, n_estimators=60, learning_rate=0.1)
    model.fit(X, y)
    cost = DelayCost().value(y, model.predict(X)).mean()
    ax.plot(grid, model.predict(grid), label=f"{name}; cost on the rows {cost:.2f}")
ax.set(xlabel="distance", ylabel="time")
ax.legend()
plt.show()

# %%
# The predicted time is late for one delivery in five: at this quantile, 4 times the probability of
# "late" equals the probability of "early".
late = np.mean(y > model.predict(X))
print(f"late: {late:.0%}")


# %%
# A learner: one spline of one feature
# ------------------------------------
# A base learner that fits a smooth curve to the best single feature. Boosting it gives a smooth
# additive model. The line search works for any learner.
class OneSpline(RegressorMixin, BaseEstimator):
    """Least-squares spline of the feature that fits best."""

    def __init__(self, n_knots=6):
        self.n_knots = n_knots

    def fit(self, X, y):
        best = np.inf
        for j in range(X.shape[1]):
            spline = SplineTransformer(self.n_knots).fit(X[:, [j]])
            basis = spline.transform(X[:, [j]])
            weights = np.linalg.lstsq(basis, y, rcond=None)[0]
            residual = np.sum((y - basis @ weights) ** 2)
            if residual < best:
                best, self.found_ = residual, (j, spline, weights)
        return self

    def predict(self, X):
        j, spline, weights = self.found_
        return spline.transform(X[:, [j]]) @ weights


X = rng.uniform(-2, 2, (600, 6))
parts = [lambda x: np.sin(2 * x), lambda x: x**2 - 4 / 3, lambda x: np.tanh(3 * x)]
y = sum(f(X[:, j]) for j, f in enumerate(parts)) + 0.3 * rng.standard_normal(600)
model = GradientBoostingRegressor(
    OneSpline(), step="line_search", learning_rate=0.3, n_estimators=60
).fit(X, y)

chosen = np.bincount([member.found_[0] for member in model.estimators_[:, 0]], minlength=6)
print("number of rounds for each feature:", chosen)

x = np.linspace(-2, 2, 300)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, layout="constrained")
for j, (ax, f) in enumerate(zip(axes, parts)):
    rows = np.zeros((300, 6))
    rows[:, j] = x
    curve = model.predict(rows)
    ax.plot(x, f(x) - f(x).mean(), "k--", lw=1, label="truth")
    ax.plot(x, curve - curve.mean(), color="tab:red", label="boosted splines")
    ax.set(title=f"chosen in {chosen[j]} rounds", xlabel=f"feature {j}")
axes[0].set_ylabel("effect, centred")
axes[0].legend()
plt.show()
