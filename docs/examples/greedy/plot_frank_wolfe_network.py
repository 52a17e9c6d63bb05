"""
A neural network by boosting and by Frank-Wolfe
===============================================

A sum of rectified linear units :math:`\\pm(\\pm(x_j - c))_+` is a network with one hidden layer.
Boosting adds one unit at a time, the exact best unit for the residuals; no gradient descent over
weights is needed [Bach, §10.3.1]. There are two ways to prevent overfitting. You can stop boosting
early. Or you can bound the sum of the absolute output weights, the variation norm, and find the
best network within the bound by the Frank-Wolfe algorithm [Bach, §10.3.6].
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import (
    FrankWolfeRegressor,
    GradientBoostingRegressor,
    ReLUUnitRegressor,
    export,
)
from sklearn_ensemble_theory.boosting import CVChoice

rng = np.random.default_rng(0)


def sample(n):
    X = rng.uniform(-1, 1, (n, 5))
    mean = np.abs(X[:, 0]) + np.sin(3 * X[:, 1]) - np.maximum(X[:, 2] - 0.3, 0)
    return X, mean + 0.5 * rng.standard_normal(n), mean


X, y, _ = sample(200)
X_test, _, mean_test = sample(5000)


def error(prediction):
    return np.mean((prediction - mean_test) ** 2)


# %%
# Boosting: one fit gives the error for every number of units.
boosted = GradientBoostingRegressor(ReLUUnitRegressor(), n_estimators=300, learning_rate=0.3)
boosted.fit(X, y)
by_rounds = [error(p) for p in boosted.staged_predict(X_test)]

# %%
# Frank-Wolfe: one fit for each radius, with enough rounds to come close to the minimum in the ball.
# The dual gap bounds the distance to the minimum.
units = ReLUUnitRegressor("inner_product")
radii = np.geomspace(0.5, 60, 8)
models = [
    FrankWolfeRegressor(units, radius=r, n_estimators=50, variant="fully_corrective").fit(X, y)
    for r in radii
]
by_radius = [error(model.predict(X_test)) for model in models]

chosen = FrankWolfeRegressor(
    units, radius=CVChoice(radii, cv=3), n_estimators=30, variant="fully_corrective"
).fit(X, y)

# %%
# With a small ball or few units the model underfits, with a large ball or many units it overfits.
# The smallest error of Frank-Wolfe is smaller here. Cross-validation (the dotted line)
# selects a radius close to the best. On the right, the risk of plain Frank-Wolfe minus the smallest
# risk in the ball is never larger than the dual gap, which is computed without knowing that
# minimum.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11.5, 3.6), layout="constrained")
left.semilogx(np.arange(1, 301), by_rounds)
left.set(xlabel="units", ylabel="error of the mean", title="boosting")
middle.semilogx(radii, by_radius, "o-", color="C1")
middle.axvline(chosen.radius_, color="grey", linestyle=":")
middle.set(xlabel="radius", ylabel="error of the mean", title="Frank-Wolfe")
top = max(max(by_rounds), max(by_radius))
for axis in (left, middle):
    axis.set_ylim(0, 1.05 * top)

radius = chosen.radius_
best = FrankWolfeRegressor(
    units, radius=radius, n_estimators=100, variant="fully_corrective", tol=1e-6
).fit(X, y)
plain = FrankWolfeRegressor(units, radius=radius, n_estimators=300, tol=0).fit(X, y)
right.loglog(np.minimum.accumulate(plain.dual_gaps_), label="smallest gap so far")
right.loglog(
    plain.train_scores_ - best.train_scores_[-1] + best.dual_gap_,
    label="risk minus minimum",
)
right.set(xlabel="rounds", ylabel="difference of risks", title="dual gap")
right.legend()

# %%
# The fitted model can be exported as a network.
network = export.network(chosen)
norm = np.abs(network.output_weights).sum()
print(f"{len(network.output_weights)} units, sum of |weights| {norm:.2f}")
print("largest difference:", np.abs(network(X_test) - chosen.predict(X_test)).max())
plt.show()

# %%
# The usual way to train a network moves all its units at once. It is gradient descent on the
# thresholds and output weights of T units of one feature each, which begin at random. Boosting adds
# the units one after another instead, and never moves them [Bach, §10.3.1].


def descend(n_units, n_steps=10_000, rate=0.05):
    """The errors of the mean along gradient descent on units a (±x_j - c)_+ and an intercept."""
    j, sign = rng.integers(0, 5, n_units), rng.choice([-1.0, 1.0], n_units)
    c, a, b = rng.uniform(-1, 1, n_units), rng.standard_normal(n_units) / n_units, y.mean()
    path = []
    for step in range(n_steps + 1):
        inside = sign * X[:, j] - c
        outputs = np.maximum(inside, 0)
        residuals = (outputs @ a + b - y) / len(y)
        if step % 500 == 0:
            path.append(error(np.maximum(sign * X_test[:, j] - c, 0) @ a + b))
        c, a = c + rate * a * (residuals @ (inside > 0)), a - rate * (residuals @ outputs)
        b -= rate * residuals.sum()
    return path


sizes = np.array([5, 10, 20, 50, 100, 300])
paths = np.array([descend(T) for T in sizes.tolist()])
figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
axis.loglog(np.arange(1, 301), by_rounds, label="boosting")
axis.loglog(sizes, paths.min(axis=1), "o-", label="jointly, best number of steps")
axis.loglog(sizes, paths[:, -1], "o--", label="jointly, 10,000 steps")
axis.set(xlabel="units", ylabel="error of the mean", title="one unit at a time, or all at once")
axis.legend()
plt.show()

# %%
# Twenty units that move jointly are as good as a hundred that are added one by one; with five it
# depends on the features that the random start has. With many units both are about as good, and
# both have to stop early. Boosting stops at a number of units, and one fit gives all of them.
# Descent stops at a number of steps, separately for each number of units.
