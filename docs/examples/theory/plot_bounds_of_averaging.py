"""
Bounds and simulations: averaging
=================================

How close are the formulas and bounds for averages and votes in [Bach, §10.1 and §10.2], [Shah,
§4.5] and [Ghoshdastidar]? Each panel has them as curves, by the functions of
`sklearn_ensemble_theory.bounds`, and as points, with two standard errors, what simulated members
do. The page on :doc:`averaging </user_guide/theory_averaging>` states the theorems.
"""

# %%
# *Mean of correlated members* [Shah, §4.5]. Its variance is an equality, which the simulation
# meets within 5 %: further members reduce only the part that is not shared.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import bounds

rng = np.random.default_rng(0)


def mean_of(values):
    """The mean over the runs and its standard error."""
    return np.mean(values), np.std(values) / np.sqrt(len(values))


B = np.array([1, 2, 5, 10, 20, 50, 100])
variance, variance_found = {}, {}
for rho in (0.0, 0.1, 0.5):
    variance[rho] = bounds.correlated_average_variance(B, correlation=rho)
    own = np.cumsum(rng.standard_normal((10_000, 100)), axis=1)[:, B - 1] / B
    means = np.sqrt(rho) * rng.standard_normal((10_000, 1)) + np.sqrt(1 - rho) * own
    variance_found[rho] = np.transpose([mean_of(column**2) for column in means.T])
    found, error = variance_found[rho]
    assert np.all(np.abs(found - variance[rho]) <= 4 * error)
    print(f"correlation {rho}: found over exact", (found / variance[rho]).round(3))

# %%
# *Bagged nearest neighbours* [Bach, §10.1.2]. The variance, divided by the noise variance, is the
# probability that two subsamples of s out of 200 rows have the same nearest row. The exact variance
# is met. The bound is twice as large for subsamples of 10 rows and 8.5 times for 120 rows.
sizes = np.array([5, 10, 20, 40, 80, 120])
neighbors = np.array([bounds.bagged_neighbors_variance(200, s) for s in sizes])
neighbors_bound = np.array([bounds.bagged_neighbors_variance_bound(200, s) for s in sizes])
neighbors_found = []
for s in sizes:
    # Rows in the order of their distance: the nearest of a subsample is its smallest number.
    drawn = np.argpartition(rng.random((2, 10_000, 200)), s, axis=2)[:, :, :s].min(axis=2)
    neighbors_found.append(mean_of(drawn[0] == drawn[1]))
neighbors_found = np.transpose(neighbors_found)
assert np.all(np.abs(neighbors_found[0] - neighbors) <= 4 * neighbors_found[1])
assert np.all(neighbors <= neighbors_bound)
print("bound over exact", (neighbors_bound / neighbors).round(2))

# %%
# *Gaussian sketches* [Bach, §10.2.1]. Least squares on 200 rows and 5 variables, averaged over m
# sketches of s rows. The formula is exact. One sketch of 10 rows is 50 times worse than all rows,
# and the mean of 10 sketches 6 times.
s_rows = np.array([10, 15, 25, 50, 100])
sketch, sketch_found = {}, {}
for m in (1, 10):
    sketch[m] = np.array([bounds.gaussian_sketch_risk(200, 5, s, m) for s in s_rows])
    pairs = []
    for s in s_rows:
        errors = []
        for _ in range(500):
            # An orthonormal design: the first five columns of S are S X, S y has the noise only.
            S = rng.standard_normal((m, s, 5))
            noise = rng.standard_normal(200)
            rest = rng.standard_normal((m, s)) * np.linalg.norm(noise[5:])
            # The products of the other columns with the noise are normal, given the noise.
            fits = np.linalg.pinv(S) @ (S @ noise[:5] + rest)[..., None]
            errors.append(np.sum(fits.mean(axis=0) ** 2) / 200)
        pairs.append(mean_of(errors))
    sketch_found[m] = np.transpose(pairs)
    assert np.all(np.abs(sketch_found[m][0] - sketch[m]) <= 4 * sketch_found[m][1])
    print(f"{m} sketches: found over exact", (sketch_found[m][0] / sketch[m]).round(2))
print("one and ten sketches of 10 rows over all rows:", sketch[1][0] / 0.025, sketch[10][0] / 0.025)

# %%
# *Gaussian projections* [Bach, §10.2.2]. Least squares on s random combinations of 60 variables
# whose sizes decrease like 1/j, for a target along the first variable, with and without averages
# of m = 10 fits. The bound by two moments of the projections is 1.5 times the risk of one fit for s
# = 1 and 17 times for s = 16. It has the rate 1/s for all targets, and this target is easier. By
# the trace only, [Bach, eq. (10.1)] is 3 and 21 times the risk. Neither bound decreases in m.
n, d = 30, 60
Phi = rng.standard_normal((n, d)) / np.arange(1, d + 1)
theta = np.zeros(d)
theta[0] = 1
target, G, noise_variance = Phi @ theta, Phi.T @ Phi, 0.01
components = np.array([1, 2, 4, 8, 16])
by_moments = [
    noise_variance * s / n
    + bounds.projection_bias_bound(G, theta, *bounds.projection_moments(G, s), n)
    for s in components
]
by_trace = [
    bounds.projection_risk_bound(n, s, np.trace(G), 1.0, noise_variance=noise_variance)
    for s in components
]
projected = {1: [], 10: []}
for s in components:
    Q = np.linalg.qr(Phi @ rng.standard_normal((200, 10, d, s)))[0]
    y = target + np.sqrt(noise_variance) * rng.standard_normal((200, 1, n))
    fits = (Q @ (Q.swapaxes(2, 3) @ y[..., None]))[..., 0]
    for m in projected:
        errors = np.mean((fits[:, :m].mean(axis=1) - target) ** 2, axis=1)
        projected[m].append(mean_of(errors))
for m, pairs in projected.items():
    found = projected[m] = np.transpose(pairs)
    assert np.all(found[0] <= by_moments)
    print(f"m = {m}: by moments over found", (by_moments / found[0]).round(2), end=" ")
    print("by the trace", (by_trace / found[0]).round(1))

# %%
# *Johnson-Lindenstrauss lemma* [Bach, lemma 10.1]. The largest distortion of the squared
# distances of 20 points by a projection to s dimensions, which is exceeded with probability 10 %.
# The lemma allows 1.5 times as much, and the exact tails 1.2 times: a union over 190 pairs loses
# little.
eps = np.linspace(0.05, 0.499, 400)
lemma = np.array([bounds.johnson_lindenstrauss_dimension(20, e, 0.1) for e in eps])
dimensions = np.array([250, 500, 1000, 2000, 4000])
by_lemma = np.interp(dimensions, lemma[::-1], eps[::-1])
tails = bounds.johnson_lindenstrauss_tail_bound(dimensions[:, None], eps, n_samples=20)
by_tails = np.array([np.interp(-np.log(0.1), -np.log(row), eps) for row in tails])
distortion = []
points = rng.standard_normal((20, 30))
for s in dimensions:
    found = []
    for _ in range(300):
        projection = points @ rng.standard_normal((30, s)) / np.sqrt(s)
        found.append(bounds.johnson_lindenstrauss_distortion(points, projection))
    # Two standard errors of the level 90 % are 3.5 %.
    distortion.append(np.quantile(found, [0.9, 0.865, 0.935]))
distortion = np.transpose(distortion)
assert np.all(distortion[0] <= by_tails)
print("the lemma over the quantile", (by_lemma / distortion[0]).round(2))
print("its tails over the quantile", (by_tails / distortion[0]).round(2))

# %%
# *Error of a vote* [Ghoshdastidar, theorem En.1]. It is at most twice the error of one member. If
# the members err with the probability 0.52 on some points and not at all on the others, 3001 of
# them err 1.9 times as often as one. If the probability varies from 0 to 1, a vote of 11 has three
# quarters of a member's errors.
T = np.array([1, 3, 11, 31, 101, 301, 1001, 3001])
chances = {
    "0.52 or 0": np.where(rng.random(20_000) < 0.4, 0.52, 0.0),
    "varied": rng.beta(0.5, 1.5, 20_000),
}
votes = {}
for name, chance in chances.items():
    wrong = rng.binomial(T[:, None], chance) > T[:, None] / 2
    votes[name] = np.transpose([mean_of(row) for row in wrong]) / chance.mean()
    assert np.all(votes[name][0] <= bounds.voting_error_bound(chance.mean()) / chance.mean())
    print(f"{name}: vote over member", votes[name][0].round(2))

# %%
# The formulas for averages are met. The bound of Johnson and Lindenstrauss and the bound on votes
# are nearly sharp. Those for neighbours and projections are within a factor of about 2 for small
# subsamples and few components, and loose for large ones.
figure, axes = plt.subplots(3, 2, figsize=(9, 10.5), layout="constrained")
axes = axes.ravel()
COLORS = ["C0", "C1", "C2"]

ax = axes[0]
for rho, color in zip(variance, COLORS):
    ax.loglog(B, variance[rho], color=color, label=f"exact, correlation {rho}")
    found, error = variance_found[rho]
    ax.errorbar(B, found, 2 * error, fmt="o", ms=4, color=color)
ax.set(title="Mean of correlated members", xlabel="members B", ylabel="variance of the mean")

ax = axes[1]
ax.loglog(sizes, neighbors_bound, "k--", label="bound")
ax.loglog(sizes, neighbors, "k", label="exact")
ax.errorbar(sizes, neighbors_found[0], 2 * neighbors_found[1], fmt="o", ms=4, label="simulated")
ax.set(title="Bagged nearest neighbours, n = 200", xlabel="subsample s")
ax.set_ylabel("variance / variance of the noise")

ax = axes[2]
for m, color in zip(sketch, COLORS):
    ax.loglog(s_rows, sketch[m], color=color, label=f"exact, m = {m}")
    found, error = sketch_found[m]
    ax.errorbar(s_rows, found, 2 * error, fmt="o", ms=4, color=color)
ax.axhline(5 / 200, ls=":", color="k", label="all rows")
ax.set(title="Gaussian sketches", xlabel="rows s of a sketch", ylabel="excess risk")

ax = axes[3]
ax.loglog(components, by_trace, "k--", label="eq. (10.1), by the trace")
ax.loglog(components, by_moments, "k", label="by two moments")
for m, color in zip(projected, COLORS):
    found, error = projected[m]
    ax.errorbar(components, found, 2 * error, fmt="o", ms=4, color=color, label=f"m = {m}")
ax.set(title="Gaussian projections", xlabel="components s", ylim=(3e-4, 3))
ax.set_ylabel("excess risk")

ax = axes[4]
ax.loglog(dimensions, by_lemma, "k--", label="lemma")
ax.loglog(dimensions, by_tails, "k", label="tails of its proof")
ends = np.abs(distortion[1:] - distortion[0])
ax.errorbar(dimensions, distortion[0], ends, fmt="o", ms=4, label="simulated")
ax.set(title="Johnson-Lindenstrauss lemma", xlabel="dimension s", ylim=(0.05, 1))
ax.set_ylabel("distortion, probability 90 %")

ax = axes[5]
ax.axhline(2, color="k", label="bound")
for (name, (found, error)), color in zip(votes.items(), COLORS):
    ax.errorbar(T, found, 2 * error, fmt="o", ms=4, color=color, label=f"P(error): {name}")
ax.set(title="Error of a vote", xlabel="members T", xscale="log", ylim=(0.5, 2.8))
ax.set_ylabel("error of the vote / of a member")

for ax in axes:
    ax.legend()
for ax, values in [(axes[2], s_rows), (axes[3], components), (axes[4], dimensions)]:
    ax.set_xticks(values, values, minor=False)
    ax.set_xticks([], minor=True)
axes[4].set_yticks([0.05, 0.1, 0.2, 0.5, 1], [0.05, 0.1, 0.2, 0.5, 1], minor=False)
axes[4].set_yticks([], minor=True)
plt.show()
