"""
Bounds and simulations: complexity
==================================

How close are the bounds of [Shah, §2.2 to §3.3] on classes of functions, and those on sample
sizes? Each panel has the bounds as curves, by the functions of `sklearn_ensemble_theory.bounds`,
and counts or simulations as points. The page on :doc:`complexity </user_guide/theory_complexity>`
states the theorems.
"""

# %%
# *Sauer-Shelah lemma.* The number of behaviours on n points is at most a polynomial in n.
# Intervals attain it. Orthants have three quarters of it on the best of 40 draws of 13 points.
# Half-planes attain it on 3 points and have 0.4 of it on 13: their number grows like n², the
# bound like n³.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import bounds

rng = np.random.default_rng(0)
RUNS = 2000

n_points = np.array([3, 4, 6, 8, 10, 13])
sauer = {k: np.array([bounds.sauer_shelah_bound(n, k) for n in n_points]) for k in (2, 3)}
dimensions = {"intervals": 2, "orthants of the plane": 2, "half-planes": 3}
behaviours = {name: [] for name in dimensions}
for n in n_points:
    behaviours["intervals"].append([len(bounds.behaviours("intervals", rng.random(n)))])
    draws = [len(bounds.behaviours("orthants", rng.random((n, 2)))) for _ in range(40)]
    behaviours["orthants of the plane"].append(draws)
    behaviours["half-planes"].append([len(bounds.behaviours("halfspaces", rng.random((n, 2))))])
for name, counts in behaviours.items():
    largest = np.array([np.max(draws) for draws in counts])
    assert np.all(largest <= sauer[dimensions[name]])
    print(f"{name}: share of the bound", (largest / sauer[dimensions[name]]).round(2))

# %%
# *Massart's lemma* for stumps of five features, by the number of their behaviours on n points,
# and the bound by the VC dimension, which holds for all points. The first is 1.5 times the
# complexity, the second 3 times.
n_rows = np.array([20, 50, 100, 200, 500])
complexity, complexity_error = np.transpose(
    [
        bounds.stump_rademacher_complexity(
            rng.standard_normal((n, 5)), n_draws=1000, random_state=0, return_std=True
        )
        for n in n_rows
    ]
)
massart = bounds.finite_behaviours_rademacher_bound(n_rows, np.log(2 * 5 * (n_rows - 1) + 2))
by_dimension = bounds.vc_rademacher_bound(n_rows, bounds.stump_vc_dimension(5))
assert np.all(complexity <= massart)
assert np.all(massart <= by_dimension)
print("Massart's lemma over the complexity", (massart / complexity).round(2))
print("bound by the dimension over it     ", (by_dimension / complexity).round(2))

# %%
# *Contraction lemma.* A loss with the Lipschitz constant L multiplies the complexity of the
# scores by at most L. Scores of 30 random functions are uniform in [-r, r], on 12 points with
# random labels, and the complexities are exact. The bound is attained by the hinge loss for r up
# to 1, where it is linear. For r = 8 two thirds of it are left, as half of the losses are flat.
# The logistic loss has between 0.9 and a half of its bound.
radii = np.array([0.25, 0.5, 1, 2, 4, 8])
lipschitz = {"logistic": 1 / (1 + np.exp(-radii)), "hinge": np.ones(len(radii))}
losses = {"logistic": lambda m: np.logaddexp(0, -m), "hinge": lambda m: np.maximum(1 - m, 0)}
factors = {name: np.empty((40, len(radii))) for name in losses}
for k in range(40):
    scores, y = rng.uniform(-1, 1, (30, 12)), rng.choice([-1, 1], 12)
    whole = bounds.empirical_rademacher_complexity(scores)
    for name, loss in losses.items():
        for i, r in enumerate(radii):
            of_losses = bounds.empirical_rademacher_complexity(loss(r * y * scores))
            assert of_losses <= 1.0000001 * bounds.rademacher_contraction_bound(
                r * whole, lipschitz[name][i]
            )
            factors[name][k, i] = of_losses / (r * whole)
for name, found in factors.items():
    print(f"{name}: share of the bound", (np.median(found, axis=0) / lipschitz[name]).round(2))

# %%
# *Finite class* [Shah, theorem 6]. A histogram of ten cells chooses among 1024 classifiers. The
# points are 95 % quantiles of its excess error. The hardest case is probabilities of a class that
# differ from 1/2 by about the error of their estimates: the bound is then 4 times as large. It is 5
# to 12 times as large for probabilities between 0.45 and 0.55.
n_samples = np.geomspace(100, 30_000, 8).astype(int)
finite = np.array([bounds.histogram_class_bound(n, 10, n_features=1) for n in n_samples])
excess = {"hardest": [], "0.45 to 0.55": []}
for n in n_samples:
    counts = rng.multinomial(n, np.full(10, 0.1), RUNS)
    hardest = 0.5 + 0.375 * np.sqrt(10 / n)
    for name, eta in zip(excess, [hardest, np.linspace(0.45, 0.55, 10)]):
        wrong = (2 * rng.binomial(counts, eta) > counts) != (eta > 0.5)
        found = (wrong * np.abs(2 * eta - 1)).mean(axis=1)
        excess[name].append(np.quantile(found, 0.95))
for name, quantiles in excess.items():
    assert np.all(quantiles <= finite)
    print(f"{name}: bound over the quantile", (finite / quantiles).round(1))

# %%
# *Symmetrisation* [Shah, theorem 10] *and excess risk* [Shah, theorem 11]. Thresholds of both
# directions, and labels of which a fifth is wrong. The expectation of the largest difference of a
# risk and its estimate is half of the bound. The bound on the excess risk of the best threshold on
# the data is 5 to 27 times the 95 % quantile. It decreases like the root of n, and the risk like n,
# because wrong thresholds are worse by more than chance. Rows of a cell of the grid have the same
# losses, so counts are enough.
thresholds = np.linspace(0, 1, 201)
share = np.where(thresholds[1:] > 0.4, 0.8, 0.2)  # of the label 1 in each cell
risks = 0.2 + 0.6 * np.abs(thresholds - 0.4)
risks = np.concatenate([risks, 1 - risks])


def sums_of_losses(ones, zeros):
    """Of all rows with these values in the cells, for each threshold and for its opposite."""
    start = np.zeros((len(ones), 1))
    left = np.hstack([start, np.cumsum(ones, axis=1)])
    right = zeros.sum(axis=1, keepdims=True) - np.hstack([start, np.cumsum(zeros, axis=1)])
    total = (ones + zeros).sum(axis=1, keepdims=True)
    return np.hstack([left + right, total - left - right])


n_signed = np.array([25, 50, 100, 200, 400, 800])
supremum, rademacher, excess_risk = [], [], []
for n in n_signed:
    counts = rng.multinomial(n, np.full(200, 1 / 200), RUNS)
    ones = rng.binomial(counts, share)
    zeros = counts - ones
    means = sums_of_losses(ones, zeros) / n
    supremum.append((risks - means).max(axis=1))
    signs = [2 * rng.binomial(part, 0.5) - part for part in (ones, zeros)]
    rademacher.append(sums_of_losses(*signs).max(axis=1).mean() / n)
    excess_risk.append(np.quantile(risks[means.argmin(axis=1)] - 0.2, 0.95))
supremum = np.array(supremum)
symmetrised = bounds.symmetrization_bound(rademacher)
excess_bound = bounds.rademacher_excess_risk_bound(rademacher, n_signed)
assert np.all(supremum.mean(axis=1) <= symmetrised)
assert np.all(excess_risk <= excess_bound)
print("symmetrisation over the mean", (symmetrised / supremum.mean(axis=1)).round(2))
print("theorem 11 over the quantile", (excess_bound / excess_risk).round(1))

# %%
# *Sample size of a PAC learner* for intervals without noise: the error that the worst interval
# without training errors keeps below with probability 99 %. By the lower bound, no learner has
# less than 0.6 of it in all problems of two dimensions. The upper bound is 8 to 16 times as
# large.
n_exact = np.array([80, 160, 320, 640, 1280, 2560])
eps = np.geomspace(0.0015, 0.99, 200)
sufficient = [bounds.pac_n_samples_upper_bound(2, e, 0.01) for e in eps]
small = eps[eps <= 0.125]
needed = [bounds.pac_n_samples_lower_bound(2, e, 0.01) for e in small]
worst = []
for n in n_exact:
    x, error = rng.random((RUNS, n)), 0
    for end in (1 / 3, 2 / 3):  # of the true interval: the wider gap to a row on one of its sides
        gaps = [np.where(side > 0, side, 1).min(axis=1) for side in (x - end, end - x)]
        error += np.maximum(*gaps)
    # Two standard errors of the level 99 % are 0.4 %.
    worst.append(np.quantile(error, [0.99, 0.986, 0.994]))
worst = np.array(worst).T
sufficient_eps = np.interp(n_exact, sufficient[::-1], eps[::-1])
needed_eps = np.interp(n_exact, needed[::-1], small[::-1])
assert np.all(needed_eps <= worst[0])
assert np.all(worst[0] <= sufficient_eps)
print("lower bound over the quantile", (needed_eps / worst[0]).round(2))
print("upper bound over the quantile", (sufficient_eps / worst[0]).round(1))

# %%
# The bounds on given points are within a factor of about 3. Those on risks hold for all
# distributions. They have the right order for the hardest, with constants of 4 and more.
figure, axes = plt.subplots(3, 2, figsize=(9, 10.5), layout="constrained")
axes = axes.ravel()

ax = axes[0]
for k, line in zip((2, 3), ["k-", "k--"]):
    ax.loglog(n_points, sauer[k], line, label=f"bound, dimension {k}")
for name, marker in zip(behaviours, "osv"):
    middle = np.array([np.median(draws) for draws in behaviours[name]])
    ends = np.array([[np.min(draws), np.max(draws)] for draws in behaviours[name]]).T
    style = {"fmt": marker, "ms": 5, "label": name}
    ax.errorbar(n_points, middle, np.abs(ends - middle), **style)
ax.set(title="Sauer-Shelah lemma", xlabel="points n", ylabel="behaviours", ylim=(2, 2000))

ax = axes[1]
ax.loglog(n_rows, by_dimension, "k--", label="by the VC dimension")
ax.loglog(n_rows, massart, "k", label="Massart's lemma")
ax.errorbar(n_rows, complexity, 2 * complexity_error, fmt="o", ms=4, label="simulated")
ax.set(title="Massart's lemma, VC dimension", xlabel="points n", ylim=(0.05, 2))
ax.set_ylabel("Rademacher complexity of stumps")

ax = axes[2]
for (name, found), color in zip(factors.items(), ["C0", "C1"]):
    ax.semilogx(radii, lipschitz[name], color=color, label=f"L, {name} loss")
    low, middle, high = np.quantile(found, [0.1, 0.5, 0.9], axis=0)
    ax.errorbar(radii, middle, [middle - low, high - middle], fmt="o", ms=4, color=color)
ax.set(title="Contraction lemma", xlabel="largest score r", ylim=(0.3, 1.05))
ax.set_ylabel("factor of the complexity")

ax = axes[3]
ax.loglog(n_samples, finite, "k", label="bound")
for (name, quantiles), color in zip(excess.items(), ["C0", "C1"]):
    ax.loglog(n_samples, quantiles, "o", ms=4, color=color, label=f"P(class 1): {name}")
ax.set(title="Finite class, theorem 6", xlabel="rows n", ylabel="excess error of a histogram")

ax = axes[4]
ax.loglog(n_signed, excess_bound, color="C1", label="bound, theorem 11")
ax.loglog(n_signed, symmetrised, color="C0", label="bound, theorem 10")
means, error = supremum.mean(axis=1), 2 * supremum.std(axis=1) / np.sqrt(RUNS)
ax.errorbar(n_signed, means, error, fmt="o", ms=4, color="C0", label="mean of the supremum")
ax.loglog(n_signed, excess_risk, "o", ms=4, color="C1", label="excess risk, 95 % quantile")
ax.set(title="Symmetrisation and excess risk", xlabel="rows n", ylim=(5e-4, 1.5))
ax.set_ylabel("risk of a threshold")

ax = axes[5]
ax.loglog(sufficient, eps, "k", label="upper bound")
ax.loglog(needed, small, "k--", label="lower bound")
ax.errorbar(n_exact, worst[0], np.abs(worst[1:] - worst[0]), fmt="o", ms=4, label="simulated")
ax.set(title="Sample size of a PAC learner", xlabel="rows n", ylabel="error ε, probability 99 %")

for ax, values in zip(axes, [n_points, n_rows, radii, n_samples, n_signed, n_exact]):
    ax.legend()
    if len(values) < 8 and values[-1] < 1000:  # less than two decades
        ax.set_xticks(values, [f"{value:g}" for value in values], minor=False)
        ax.set_xticks([], minor=True)
plt.show()
