"""
Prediction intervals of a random forest
=======================================

A standard error says how much the mean of an ensemble would change with another training set. It
does not contain the noise of a new target, so a band of standard errors is not a prediction
interval. `predict_interval` and `predict_quantiles` are made for new targets, and need no further
fit.

This example counts how many new targets each of them covers, on the diabetes data.
"""

# %%
# A forest of 1000 trees on 242 patients; the other 200 are new. The nominal coverage is 90 %.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from sklearn_ensemble_theory import RandomForestRegressor

X, y = load_diabetes(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
train, test = order[:242], order[242:]
forest = RandomForestRegressor(
    1000, max_samples=0.5, bootstrap=False, min_samples_leaf=3, oob_score=True, random_state=0
).fit(X[train], y[train])

mean, error = forest.predict(X[test]), forest.standard_error(X[test])
intervals = {
    "mean ± 1.645 standard errors": np.column_stack([mean - 1.645 * error, mean + 1.645 * error]),
    "quantiles 5 % and 95 %": forest.predict_quantiles(X[test], [0.05, 0.95]),
    'predict_interval, "jackknife+"': forest.predict_interval(X[test]),
    'predict_interval, "conformal"': forest.predict_interval(X[test], method="conformal"),
}

# %%
# The patients in the order of their predictions. The band of standard errors is for the mean, not
# for the targets, and covers less than half of them. The other intervals cover about nine of ten.
# Intervals by the jackknife+ and by conformal scores have nearly the same width for all patients.
# Intervals between quantiles are shorter for patients whose targets vary little.
rank = np.argsort(mean)
figure, axes = plt.subplots(2, 2, figsize=(9, 6.5), sharex=True, sharey=True, layout="constrained")
for axis, (name, interval) in zip(axes.flat, intervals.items()):
    low, high = interval[rank].T
    inside = (low <= y[test][rank]) & (y[test][rank] <= high)
    at = np.arange(len(test))
    axis.fill_between(at, low, high, step="mid", alpha=0.3, label="interval")
    axis.plot(at, mean[rank], color="C0", lw=1, label="prediction")
    axis.plot(at[inside], y[test][rank][inside], ".", color="0.4", ms=4, label="covered")
    axis.plot(at[~inside], y[test][rank][~inside], "x", color="C3", ms=4, label="not covered")
    axis.set_title(f"{name}:\n{inside.mean():.0%} covered, mean width {np.mean(high - low):.0f}")
axes[0, 0].legend(ncols=2, fontsize="small")
figure.supxlabel("patients in the order of the prediction")
figure.supylabel("progression of the disease")
plt.show()
