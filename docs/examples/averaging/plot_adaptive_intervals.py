"""
Intervals that follow the noise
===============================

Intervals of the jackknife+ have about the same width for all rows. They cover as many new targets
as they should on average, but too few where targets are noisy, and too many where they are not.
`predict_interval` of bagging and forests offers three remedies: residuals in units of their local
size (`method="normalized"`), conformal quantiles (`method="quantile"`), and residuals of rows of
the same group (`by`).

This example counts what they cover where the noise is small and where it is large.
"""

# %%
# Two features: the mean depends on both, and the noise on the first one.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import RandomForestRegressor


def drawn(n, rng):
    X = rng.random((n, 2))
    scale = 0.1 + 0.9 * np.sin(np.pi * X[:, 0]) ** 2
    return X, 2 * np.sin(4 * X[:, 0]) + X[:, 1] + scale * rng.standard_normal(n), scale


rng = np.random.default_rng(0)
X, y, _ = drawn(2000, rng)
new, target, scale = drawn(5000, rng)
forest = RandomForestRegressor(200, min_samples_leaf=5, random_state=0).fit(X, y)


def fifth(rows):
    """The fifth of the first feature that a row is in."""
    return np.floor(5 * rows[:, 0])


intervals = {
    '"jackknife+"': forest.predict_interval(new),
    '"jackknife+", by=fifth': forest.predict_interval(new, by=fifth),
    '"normalized"': forest.predict_interval(new, method="normalized"),
    '"quantile"': forest.predict_interval(new, method="quantile"),
}

# %%
# The half width along the first feature, compared with 1.645 standard deviations of the noise,
# which an interval around the true mean would need. The jackknife+ by fifths is right in each of
# them on average. The other two follow the curve: "normalized" needs no groups.
order = np.argsort(new[:, 0])
figure, axes = plt.subplots(2, 2, figsize=(9, 6.5), sharex=True, sharey=True, layout="constrained")
for axis, (name, interval) in zip(axes.flat, intervals.items()):
    half = np.diff(interval)[:, 0] / 2
    inside = (interval[:, 0] <= target) & (target <= interval[:, 1])
    axis.plot(new[:, 0], half, ".", ms=2, alpha=0.3, label="half the width")
    axis.plot(new[order, 0], 1.645 * scale[order], color="C3", label="1.645 standard deviations")
    axis.set_title(f"{name}:\n{inside.mean():.0%} covered, mean width {2 * half.mean():.2f}")
axes[0, 0].set_ylim(0, 3)
axes[0, 0].legend(loc="upper right", fontsize="small", markerscale=4)
figure.supxlabel("first feature")
figure.supylabel("half the width of an interval")
plt.show()

# %%
# The coverage by tenths of the noise. All four cover 90 % on average.
tenths = np.array_split(np.argsort(scale), 10)
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for marker, (name, (low, high)) in zip("osD^", ((k, v.T) for k, v in intervals.items())):
    inside = (low <= target) & (target <= high)
    shares = [inside[rows].mean() for rows in tenths]
    axis.plot([scale[rows].mean() for rows in tenths], shares, marker=marker, ms=5, label=name)
axis.axhline(0.9, color="0.5", lw=1)
axis.set(xlabel="standard deviation of the noise", ylabel="share of new targets covered")
axis.legend(fontsize="small")
plt.show()

# %%
# A single end is the value that is exceeded with a probability of 5 %, and its size follows the
# noise as well.
upper = forest.predict_interval(new, 0.95, method="normalized", side="upper")[:, 1]
print(f"{np.mean(target > upper):.1%} of the new targets are above it.")
