"""
Bounds and simulations: concentration
=====================================

How close are the inequalities of [Shah, §2.1 and §2.3]? Each panel has the bounds as curves, by
the functions of `sklearn_ensemble_theory.bounds`, and as points what simulated variables
do. The page on :doc:`concentration </user_guide/theory_concentration>` states the theorems.
"""

# %%
# *Markov and Chernoff.* A sum of 10 exponential variables of mean 1 exceeds t. Markov's inequality
# uses only its mean, and Chernoff's bound its moment generating function. At t = 20 Markov's says
# 0.5 and Chernoff's 0.046. That is nine times the probability, but it decreases as fast.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import bounds

rng = np.random.default_rng(0)
RUNS = 100_000


def tail(values, t):
    """The share of values of at least each t, twice its standard error, and where it is known."""
    found = np.mean(values[:, None] >= t, axis=0)
    return found, 2 * np.sqrt(found * (1 - found) / len(values)), found * len(values) >= 10


sums = rng.gamma(10, size=RUNS)
t_sum = np.linspace(11, 26, 16)
sum_tail = tail(sums, t_sum)
markov = bounds.markov_tail(t_sum, 10)
chernoff = np.array(
    [bounds.chernoff_tail(t, lambda a: -10 * np.log1p(-a), alpha_max=1) for t in t_sum]
)
assert np.all(sum_tail[0] <= chernoff)
assert np.all(chernoff[5:] <= markov[5:])
print(f"t = 20: simulated {sum_tail[0][9]:.4f}, Chernoff {chernoff[9]:.3f}, Markov {markov[9]:.2f}")

# %%
# *Hoeffding's inequality* for the share of heads of 100 coins. It holds for all variables in [0,
# 1]. Ten heads more than expected are five times less likely than the bound for fair coins. For
# coins with p = 0.1 they are 70 times less likely, because the bound does not use the variance.
t_mean = np.linspace(0.01, 0.21, 21)
hoeffding = bounds.hoeffding_tail(t_mean, 100)
mean_tails = {}
for p in (0.5, 0.1):
    # A deviation that is a multiple of 1/100 counts also after rounding.
    mean_tails[p] = tail(rng.binomial(100, p, RUNS) / 100 - p + 1e-12, t_mean)
    assert np.all(mean_tails[p][0] <= hoeffding)
    print(f"t = 0.1: simulated {mean_tails[p][0][9]:.4f} (p = {p}), bound {hoeffding[9]:.3f}")

# %%
# *Number of test rows.* An error estimated on n rows is within the deviation with probability 95
# %. The points are the 95 % quantiles of the distance between estimate and error. The deviation
# is 1.4 times the quantile if half of the rows are wrong, and 2.3 times if a tenth is.
n_test = np.unique(np.geomspace(20, 20_000, 13).astype(int))
deviation = bounds.hoeffding_deviation(n_test, 0.05, two_sided=True)
distances = {
    p: np.quantile(np.abs(rng.binomial(n_test, p, (RUNS, len(n_test))) / n_test - p), 0.95, axis=0)
    for p in (0.5, 0.1)
}
for p, quantiles in distances.items():
    assert np.all(quantiles <= deviation)
    print(f"error {p}: the bound is {np.median(deviation / quantiles):.2f} times the quantile")

# %%
# *Maximal inequality* [Shah, proposition 5]. The expected maximum of d normal variables, which
# are independent, or have correlations of 1/2. The inequality asks nothing of their dependence.
# For independent variables the bound is 2.2 times the maximum of two, and 1.13 times the maximum of
# 3000.
d = np.array([2, 5, 20, 100, 500, 3000])
maximal = bounds.sub_gaussian_maximum_bound(d, 1.0)
samples = [rng.standard_normal((1000, k)).max(axis=1) for k in d]
maxima = {
    "independent": samples,
    "correlation 1/2": [np.sqrt(0.5) * (best + rng.standard_normal(len(best))) for best in samples],
}
for name, values in maxima.items():
    means = np.mean(values, axis=1)
    assert np.all(means <= maximal)
    print(f"{name}: bound over simulation from {maximal[0] / means[0]:.2f} to", end=" ")
    print(f"{maximal[-1] / means[-1]:.2f}")

# %%
# *McDiarmid's inequality* for the largest distance between the distribution function of n uniform
# variables and the empirical one. One variable changes it by at most 1/n. The bound is 2.7 times
# the 95 % quantile for every n: the worst changes of all variables do not come together.
n_rows = np.array([10, 20, 50, 100, 200, 500, 1000])
mcdiarmid = np.array([bounds.mcdiarmid_deviation(np.full(n, 1 / n), 0.05) for n in n_rows])
above = []
for n in n_rows:
    x = np.sort(rng.random((2000, n)), axis=1)
    grid = np.arange(n + 1) / n
    largest = np.maximum(grid[1:] - x, x - grid[:-1]).max(axis=1)
    # Two standard errors of the level 95 % are 1 %.
    above.append(np.quantile(largest - largest.mean(), [0.95, 0.94, 0.96]))
above = np.array(above).T
assert np.all(above <= mcdiarmid)
print(f"the bound is {mcdiarmid[-1] / above[0, -1]:.2f} times the quantile for n = {n_rows[-1]}")

# %%
# *Azuma and Hoeffding.* The gain of a player after 50 fair games. Given the past, the gain of one
# game is in an interval of length 2. With stakes of 1 throughout, the bound is four times the
# probability of a gain of 12. A player who stakes 1/4 while the total is negative depends on the
# past, and the bound holds as well; it is seven times that probability.
t_gain = np.arange(2.0, 29, 2)
azuma = bounds.azuma_hoeffding_tail(t_gain, np.full(50, 2.0))
gains = {"stakes of 1": np.zeros(RUNS), "by the last total": np.zeros(RUNS)}
for _ in range(50):
    coins = rng.integers(2, size=RUNS) * 2 - 1
    gains["stakes of 1"] += coins
    total = gains["by the last total"]
    total += np.where(total >= 0, 1.0, 0.25) * coins
gain_tails = {name: tail(values, t_gain) for name, values in gains.items()}
for name, (found, *_) in gain_tails.items():
    assert np.all(found <= azuma)
    print(f"{name}: P(gain >= 12) is {found[5]:.3f}, the bound {azuma[5]:.3f}")

# %%
# All but Markov's inequality have the right order: the probabilities decrease as fast as their
# bounds, and the deviations are within a factor of 3.
figure, axes = plt.subplots(3, 2, figsize=(9, 10.5), layout="constrained")
axes = axes.ravel()


def show_tail(ax, t, found, label, color):
    """Points with two standard errors, where at least ten simulated variables are."""
    share, error, known = found
    style = {"fmt": "o", "ms": 4, "color": color, "label": label}
    ax.errorbar(t[known], share[known], error[known], **style)


ax = axes[0]
ax.semilogy(t_sum, markov, "k--", label="Markov")
ax.semilogy(t_sum, chernoff, "k", label="Chernoff")
show_tail(ax, t_sum, sum_tail, "simulated", "C0")
ax.set(title="Markov and Chernoff", xlabel="t", ylabel="P(sum ≥ t)")

ax = axes[1]
ax.semilogy(t_mean, hoeffding, "k", label="bound")
for (p, found), color in zip(mean_tails.items(), ["C0", "C1"]):
    show_tail(ax, t_mean, found, f"coins, p = {p}", color)
ax.set(title="Hoeffding's inequality, n = 100", xlabel="t", ylabel="P(mean - p ≥ t)")
ax.set_xticks(np.arange(5) / 20)

ax = axes[2]
ax.loglog(n_test, deviation, "k", label="bound")
for (p, quantiles), color in zip(distances.items(), ["C0", "C1"]):
    ax.loglog(n_test, quantiles, "o", ms=4, color=color, label=f"error {p}")
ax.set(title="Hoeffding: number of test rows", xlabel="test rows n", ylim=(2e-3, 0.5))
ax.set_ylabel("deviation, probability 95 %")

ax = axes[3]
ax.semilogx(d, maximal, "k", label="bound")
for (name, values), color in zip(maxima.items(), ["C0", "C1"]):
    error = 2 * np.std(values, axis=1) / np.sqrt(len(values[0]))
    ax.errorbar(d, np.mean(values, axis=1), error, fmt="o", ms=4, color=color, label=name)
ax.set(title="Maximal inequality", xlabel="variables d", ylabel="expected maximum")

ax = axes[4]
ax.loglog(n_rows, mcdiarmid, "k", label="bound")
ax.errorbar(n_rows, above[0], np.abs(above[1:] - above[0]), fmt="o", ms=4, label="simulated")
ax.set(title="McDiarmid's inequality", xlabel="rows n", ylim=(8e-3, 1))
ax.set_ylabel("95 % quantile of f - E f")

ax = axes[5]
ax.semilogy(t_gain, azuma, "k", label="bound")
for (name, found), color in zip(gain_tails.items(), ["C0", "C1"]):
    show_tail(ax, t_gain, found, name, color)
ax.set(title="Azuma-Hoeffding inequality", xlabel="t", ylabel="P(gain ≥ t)")

for ax in axes:
    ax.legend()
plt.show()
