"""
A forest as a weighting of its training rows
============================================

The prediction of a random forest at x is a weighted mean of the targets of its training rows. The
weights say which rows a prediction comes from, and any other statistic of the targets at x follows
from them without another fit: here the correlation of two targets.
"""

# %%
# 600 rows of two features. The target changes with the first feature only, steeply at its middle.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import RandomForestRegressor
from sklearn_ensemble_theory.inspection import training_weights

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (600, 2))
y = np.tanh(6 * X[:, 0]) + 0.2 * rng.standard_normal(600)
forest = RandomForestRegressor(300, min_samples_leaf=5, random_state=0).fit(X, y)
queries = np.array([[-0.7, 0.4], [0.0, 0.4]])
weights = training_weights(forest, queries)
print("weighted means:", (weights @ y).round(3), "predictions:", forest.predict(queries).round(3))

# %%
# A second data set with two targets, whose correlation is the first feature. Their means change
# with it too, so the splits of a forest notice it. `functional` gets the targets with their weights
# at each row.
Z = rng.uniform(-1, 1, (3000, 2))
noise = rng.standard_normal((3000, 2))
targets = np.column_stack(
    [noise[:, 0], Z[:, 0] * noise[:, 0] + np.sqrt(1 - Z[:, 0] ** 2) * noise[:, 1]]
)
targets += 3 * Z[:, :1]
joint = RandomForestRegressor(300, min_samples_leaf=60, random_state=0).fit(Z, targets)


def correlation(y, weights):
    covariance = np.cov(y.T, aweights=weights, bias=True)
    return covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])


at = np.linspace(-0.95, 0.95, 39)
found = joint.predict_distribution(np.column_stack([at, np.zeros(39)])).functional(correlation)
print("mean absolute error of the correlation:", np.abs(found - at).mean().round(2))

# %%
# The weights of two rows. Where the target is steep, the rows with weight agree in the feature that
# matters, however far away they are in the other feature. Where it is flat, the neighbourhood is as
# round as with a distance in the features. On the right the correlations.
figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for axis, query, row in zip(axes, queries, weights.toarray()):
    axis.scatter(*X.T, s=4, color="0.8")
    used = row > 0
    axis.scatter(*X[used].T, s=1500 * row[used], color="C0", alpha=0.6)
    axis.plot(*query, "x", color="C3", ms=9, mew=2)
    axis.set_title(f"weights at ({query[0]:.1f}, {query[1]:.1f}), {used.sum()} rows")
    axis.set_xlabel("the feature that matters")
axes[0].set_ylabel("the other feature")
axes[2].plot(at, at, color="0.5", label="true")
axes[2].plot(at, found, color="C0", label="functional")
axes[2].set_title("correlation of two targets")
axes[2].set_xlabel("first feature")
axes[2].legend()
plt.show()
