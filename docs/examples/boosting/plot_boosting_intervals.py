"""
Prediction intervals of gradient boosting
=========================================

`predict_interval` says where a new target will be. With `method="cv+"` its intervals have about the
same width everywhere. Nine of ten new targets are inside, but fewer where the noise is large, and
nearly all where it is small. With `method="normalized"` the width follows the noise.

This example counts new targets inside three kinds of intervals, where the noise is small and where
it is large.
"""

# %%
# The noise grows with the first feature to ten times its size and has a long upper tail.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import GradientBoostingRegressor


def sample(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    noise = (0.2 + 1.8 * X[:, 0]) * (rng.gamma(2.0, size=n) - 2)
    return X, 3 * np.sin(4 * X[:, 0]) + 2 * X[:, 1] + noise


X, y = sample(1000, 0)
X_new, y_new = sample(4000, 1)
model = GradientBoostingRegressor(n_estimators=60, held_out=10, random_state=0).fit(X, y)
intervals = {
    method: model.predict_interval(X_new, coverage=0.9, method=method)
    for method in ("cv+", "normalized", "cqr")
}

# %%
# Two kinds of intervals of 400 new rows, as bars, in the order of the feature that decides the
# noise.
shown = np.argsort(X_new[:400, 0])
figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for axis, method in zip(axes, intervals):
    low, high = intervals[method][:400][shown].T
    at, targets = X_new[:400][shown, 0], y_new[:400][shown]
    inside = (low <= targets) & (targets <= high)
    axis.vlines(at, low, high, color="C0", alpha=0.25, lw=1.5, label="interval")
    axis.plot(at[inside], targets[inside], ".", color="0.3", ms=4, label="inside")
    axis.plot(at[~inside], targets[~inside], "x", color="C3", ms=5, label="outside")
    axis.set_title(f'method="{method}": {inside.mean():.0%} inside')
    axis.set_xlabel("feature that decides the noise")
axes[0].set_ylabel("y")
axes[0].legend(loc="upper left", fontsize="small")
plt.show()

# %%
# All of them contain about nine of ten new targets; by tenths of the feature they differ.
# The least coverage of "cv+" is where the noise is largest. "normalized" fits the size of the
# residuals, "cqr" both ends, by the quantile loss; its intervals are wider here.
tenth = (10 * X_new[:, 0]).astype(int)
figure, axis = plt.subplots(figsize=(7, 3.8), layout="constrained")
for method, interval in intervals.items():
    inside = (interval[:, 0] <= y_new) & (y_new <= interval[:, 1])
    by_tenth = np.bincount(tenth, inside) / np.bincount(tenth)
    width = np.ptp(interval, axis=1).mean()
    print(
        f"{method:10s} {inside.mean():.3f} inside, {by_tenth.min():.2f} to {by_tenth.max():.2f} "
        f"by tenths, mean width {width:.2f}"
    )
    axis.plot((np.arange(10) + 0.5) / 10, by_tenth, "o-", ms=4, label=method)
    assert 0.87 < inside.mean() < 0.95
    assert (by_tenth.min() > 0.82) == (method != "cv+")
axis.axhline(0.9, color="0.5", lw=0.8)
axis.set(xlabel="feature that decides the noise", ylabel="share of new targets inside")
axis.legend(loc="lower left")
plt.show()

# %%
# A single end, for targets that must not be underestimated: at most one of ten is above.
upper = model.predict_interval(X_new, coverage=0.9, method="normalized", side="upper")[:, 1]
print(f"{np.mean(y_new <= upper):.3f} below the upper end")
assert 0.87 < np.mean(y_new <= upper) < 0.94
