"""
Intervals of a time series whose noise changes
==============================================

The noise of a series may change after the fit. Intervals by residuals that were observed before
then are too short, whatever the method. EnbPI keeps a window of residuals: each new target pushes
out the oldest one, and the forest is not fitted again.
"""

# %%
# A daily cycle and a trend within the day, with errors that are correlated from hour to hour. Fifty
# days are for the fit; twenty days later the noise is three times as large.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import RandomForestRegressor
from sklearn_ensemble_theory.averaging import MovingBlock, SeriesIntervals

rng = np.random.default_rng(0)
n_train, n = 50 * 24, 100 * 24
hour = np.arange(n) % 24
temperature = rng.normal(size=n)
error = np.zeros(n)
for t in range(1, n):
    error[t] = 0.6 * error[t - 1] + 0.8 * rng.standard_normal()
noise = np.where(np.arange(n) < 70 * 24, 1.0, 3.0)
y = 10 + 4 * np.sin(2 * np.pi * hour / 24) + 2 * np.abs(temperature) + noise * error
X = np.column_stack([hour, temperature])

# %%
# Blocks of consecutive rows are drawn: an out-of-bag row is then not between two rows of the
# sample. Each day is predicted before its targets are known.
forest = RandomForestRegressor(
    200, bootstrap=MovingBlock(24), min_samples_leaf=10, random_state=0
).fit(X[:n_train], y[:n_train])
series = SeriesIntervals(forest)
fixed = series.predict_interval(X[n_train:], coverage=0.9)
days = []
for start in range(n_train, n, 24):
    day = slice(start, start + 24)
    days.append(series.predict_interval(X[day], coverage=0.9))
    series = series.update(X[day], y[day], window=10 * 24)
updated = np.concatenate(days)

# %%
# Without updates the intervals keep their length, and contain half of the targets after the change.
# With a window of ten days they are right again after some days.
day = np.arange(50, 100)
figure, axes = plt.subplots(2, 1, figsize=(7.5, 6.0), sharex=True, layout="constrained")
colors = {"residuals of the fit": "tab:orange", "residuals of the last ten days": "tab:blue"}
for (name, color), interval in zip(colors.items(), (fixed, updated)):
    covered = (interval[:, 0] <= y[n_train:]) & (y[n_train:] <= interval[:, 1])
    width = interval[:, 1] - interval[:, 0]
    axes[0].plot(day, covered.reshape(-1, 24).mean(axis=1), color=color, label=name)
    axes[1].plot(day, width.reshape(-1, 24).mean(axis=1), color=color, label=name)
    print(f"{name}: {covered[: 20 * 24].mean():.3f} covered before, ", end="")
    print(f"{covered[30 * 24 :].mean():.3f} from ten days after the change on")
axes[0].axhline(0.9, color="k", lw=0.8, ls="--")
axes[0].set(ylabel="share of targets covered", ylim=(0, 1.05))
axes[1].set(ylabel="length of the interval", xlabel="day", ylim=(0, None))
for axis in axes:
    axis.axvline(70, color="0.6", lw=0.8)
axes[0].legend(loc="lower left")
axes[0].annotate("the noise becomes\nthree times as large", (70.5, 0.06), fontsize="small")
plt.show()
