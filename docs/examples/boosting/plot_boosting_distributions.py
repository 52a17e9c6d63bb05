"""
Quantiles that do not cross, and distributions
==============================================

If you fit a model for each quantile by the quantile loss, the quantiles can cross: the 90 %
quantile of a row may be below its 80 % quantile. `predict_quantiles` and `predict_distribution`
take one model of the mean, one of the size of the residuals, and the form of the residuals out of
fold. Quantiles are then in order for every row.

This example compares both on the diabetes data and then looks at whole distributions of a skewed
target: their densities, and whether they are calibrated.
"""

# %%
# Nine levels. The separate models are nine fits, `predict_quantiles` takes some twenty.
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import gamma
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_pinball_loss

from sklearn_ensemble_theory import GradientBoostingRegressor
from sklearn_ensemble_theory.inspection import ReliabilityDisplay
from sklearn_ensemble_theory.metrics import crps, log_score

X, y = load_diabetes(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
train, test = order[:300], order[300:]
levels = np.arange(1, 10) / 10
separate = np.column_stack(
    [
        GradientBoostingRegressor(n_estimators=50, loss="quantile", alpha=level, random_state=0)
        .fit(X[train], y[train])
        .predict(X[test])
        for level in levels
    ]
)
model = GradientBoostingRegressor(n_estimators=50, held_out=10, random_state=0)
together = model.fit(X[train], y[train]).predict_quantiles(X[test], levels)


def pinball(quantiles):
    losses = [mean_pinball_loss(y[test], q, alpha=a) for q, a in zip(quantiles.T, levels)]
    return np.mean(losses)


for name, quantiles in {"separate models": separate, "predict_quantiles": together}.items():
    crossing = (np.diff(quantiles, axis=1) < 0).any(axis=1).mean()
    print(f"{name:18s} {crossing:4.0%} of the rows cross, pinball loss {pinball(quantiles):.2f}")
assert (np.diff(together, axis=1) > 0).all()
assert (np.diff(separate, axis=1) < 0).any(axis=1).mean() > 0.5

# %%
# The quantiles of twelve patients.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
rows = np.argsort(together[:12, 4])
for axis, (name, quantiles) in zip(
    axes, {"a model for each level": separate, "predict_quantiles": together}.items()
):
    for level, line in zip(levels, quantiles[:12][rows].T):
        axis.plot(line, "_-", ms=9, lw=0.6, color=plt.cm.viridis(level), label=f"{level:.0%}")
    axis.set(title=name, xlabel="patient")
axes[0].set_ylabel("progression of the disease")
axes[1].legend(title="level", fontsize="x-small", ncols=2, loc="upper left")
plt.show()

# %%
# A target with a long upper tail whose spread depends on a feature. The families differ in the
# form: "empirical" is the form of the residuals themselves, and "normal" has no tail.


def sample(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    return X, 5 * X[:, 0] + (0.5 + 2 * X[:, 1]) * rng.gamma(1.5, size=n)


X, y = sample(1500, 0)
X_new, y_new = sample(3000, 1)
model = GradientBoostingRegressor(n_estimators=60, held_out=10, random_state=0).fit(X, y)
scores = {}
for family in ("empirical", "normal", "student-t", "laplace"):
    found = model.predict_distribution(X_new, family)
    scores[family] = log_score(y_new, found)
    print(f"{family:10s} log score {scores[family]:.3f}, CRPS {crps(y_new, found):.3f}")
assert min(scores, key=scores.get) == "empirical"

# %%
# The densities of three new rows with the true ones, and the methods of `scipy.stats`: quantiles,
# probabilities, draws. An error in the location of a row moves its density as a whole. The small
# steps come from a smoothed histogram of the residuals.
rows = np.array([[0.1, 0.1, 0.5], [0.5, 0.5, 0.5], [0.9, 0.9, 0.5]])
found = model.predict_distribution(rows)
print("median", found.median().round(2))
print("P(y > 6)", found.sf(6).round(3))
print("a draw", found.rvs(random_state=np.random.default_rng(0), size=3).round(2))
grid = np.linspace(-1, 16, 500)
density = found.pdf(grid[:, None])
figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
for k, row in enumerate(rows):
    axis.plot(grid, density[:, k], color=f"C{k}", label=f"row {k + 1}")
    truth = gamma(1.5, loc=5 * row[0], scale=0.5 + 2 * row[1]).pdf(grid)
    axis.plot(grid, truth, "--", color=f"C{k}", lw=1)
axis.plot([], [], "k--", lw=1, label="true density")
axis.set(xlabel="y", ylabel="density", ylim=(0, None))
axis.legend()
plt.show()

# %%
# Calibration on new rows: values of the distribution function at the targets are uniform, and the
# share of targets below a quantile is its level. Normal distributions expect targets below the mean
# that do not occur and miss the tail; the histogram and the points show it.
figure, axes = plt.subplots(2, 2, figsize=(9, 7.5), layout="constrained")
heights = {}
for row, family in zip(axes, ("empirical", "normal")):
    for method, ax in zip(("pit", "quantiles"), row):
        display = ReliabilityDisplay.from_estimator(
            model, X_new, y_new, method=method, family=family, ax=ax
        )
        if method == "pit":
            heights[family] = display.reliability.heights
    for panel in row:
        panel.set_title(f'family="{family}"')
    print(f"{family}: heights {heights[family].round(2)}")
plt.show()
off = {family: np.abs(found - 1).max() for family, found in heights.items()}
assert off["empirical"] < 0.3 < 0.8 < off["normal"]
