r"""
Shah: Mathematics of machine learning
=====================================

The lecture notes of R. D. Shah, *Mathematics of Machine Learning*, bound the
risk of the classifier that errs least on the training rows (section 2). They
then replace the number of its errors by a convex function that can be minimised
(section 3), and end with methods in use, most of them ensembles (section 4).
This page has their sections in order; section 4.6 has :ref:`a page of its own
<sphx_glr_auto_lectures_plot_networks.py>`. Misprints of the notes are listed in
the :doc:`errata </errata>`.
"""

# %%
# 1 Introduction
# --------------
# *Proposition 1.* With :math:`\eta(x) = P(Y = 1 \mid X = x)` no classifier errs
# less often than the one that says 1 where :math:`\eta > 1/2`: where it says
# otherwise, :math:`|2\eta - 1|` is lost. Left, the error of thresholding η
# elsewhere; at a half it does not matter (footnote 1). For two normal
# distributions :func:`~sklearn_ensemble_theory.datasets.twonorm_bayes_rule` is
# this rule.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import HistogramRegressor, bounds

rng = np.random.default_rng(0)


def eta_of(x, frequency=6):
    return 0.5 + 0.4 * np.sin(frequency * x)


grid = (np.arange(4096) + 0.5) / 4096
eta = eta_of(grid)
levels = np.linspace(0, 1, 101)
risk = [np.mean(np.where(eta > level, 1 - eta, eta)) for level in levels]
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
left.plot(levels, risk)
left.plot(0.5, min(risk), "ko", label=f"Bayes risk, {min(risk):.3f}")
left.set(
    xlabel="say 1 where η is above this", ylabel="risk", title="proposition 1"
)
left.legend()

# 1.1 and 1.3: the mean in each of m cells is the best predictor that only knows
# the cell.
errors, eta = [], eta_of(grid, 20)
for m in (2, 4, 8, 16, 32, 64):
    best = np.repeat(eta.reshape(m, -1).mean(axis=1) > 0.5, 4096 // m)
    approximation = np.mean(abs(2 * eta - 1) * ((eta > 0.5) != best))
    stochastic = []
    for _ in range(50):
        x = rng.random(200)
        label = np.where(rng.random(200) < eta_of(x, 20), 1, -1)
        votes = np.bincount((m * x).astype(int), label, minlength=m)
        says = np.repeat(votes > 0, 4096 // m)
        excess = np.mean(abs(2 * eta - 1) * ((eta > 0.5) != says))
        stochastic.append(excess - approximation)
    errors.append([m, approximation, np.mean(stochastic)])
m, approximation, stochastic = np.array(errors).T
right.semilogx(
    m, approximation, "o-", ms=4, label="approximation error $R(h^*) - R(h_0)$"
)
right.semilogx(
    m, stochastic, "o-", ms=4, label="stochastic error $R(\\hat h) - R(h^*)$"
)
right.semilogx(m, approximation + stochastic, "k--", lw=1, label="sum")
right.set(
    xlabel="cells m of a histogram classifier",
    ylabel="excess risk",
    title="200 rows",
)
right.set_xticks(m, m.astype(int))
right.minorticks_off()
right.legend(fontsize=9)
plt.show()

# %%
# *1.1 Conditional expectation.* Right, the decomposition of section 1.3 for the
# empirical risk minimiser of m cells: a richer class approximates better and is
# harder to learn.
#
# The conditional expectation :math:`E(Z \mid W)` of eq. (1.1) is the best
# predictor of Z by squares among functions of W: eq. (1.2), property (iv). For
# the empirical distribution, with W the cell of a row, it is the mean in the
# cell, which a histogram predicts. The identity holds exactly for any other
# function g of the cell. Empirical risk minimisation over linear functions with
# squared loss is least squares.
x = rng.random((300, 1))
z = np.sin(6 * x[:, 0]) + rng.standard_normal(300)
mean_of_cell = HistogramRegressor(5, box=[[0, 1]]).fit(x, z).predict(x)
g = np.array([0.5, 0.0, -1.0, 0.0, 2.0])[(5 * x[:, 0]).astype(int)]
parts = np.mean((z - mean_of_cell) ** 2), np.mean((mean_of_cell - g) ** 2)
print(f"E(Z - g)²: {np.mean((z - g) ** 2):.12f}")
print(f"sum of (1.2): {sum(parts):.12f}")

# %%
# 2.1 Sub-Gaussianity and Hoeffding's inequality
# ----------------------------------------------
# A variable is sub-Gaussian (definition 1) if its moment generating function is
# at most that of a normal one, eq. (2.1). Left, for signs, eq. (2.3), and
# centred coins: by lemma 3 variables in [0, 1] have the parameter 1/2. Then the
# tail follows by Chernoff's bound, eq. (2.2) and proposition 2, and as squared
# parameters of independent variables add up (proposition 4), that of means:
# Hoeffding's inequality, eq. (2.4). Centre, 100 coins. Right, the expected
# maximum of d variables is at most :math:`\sigma\sqrt{2\log d}` (proposition
# 5).
from scipy.stats import binom

a = np.linspace(-4, 4, 201)
figure, (left, centre, right) = plt.subplots(
    1, 3, figsize=(13, 4), layout="constrained"
)
left.plot(a, np.log(np.cosh(a)), "C0", label="a sign")
left.plot(a, a**2 / 2, "C0--", lw=1, label="$\\alpha^2/2$")
for number, p in enumerate([0.5, 0.1], 1):
    left.plot(
        a,
        np.log(1 - p + p * np.exp(a)) - p * a,
        f"C{number}",
        label=f"coin, p = {p}",
    )
sigma = bounds.bounded_sub_gaussian_parameter(0, 1)
left.plot(a, a**2 * sigma**2 / 2, "C1--", lw=1, label="$\\alpha^2/8$")
left.set(
    xlabel="$\\alpha$",
    ylabel="log of $E e^{\\alpha(W - EW)}$",
    ylim=(0, 2.5),
    title="definition 1",
)
left.legend(fontsize=9)

k = np.arange(50, 91)
centre.semilogy(k, binom.sf(k - 1, 100, 0.5), "k", label="exact")
centre.semilogy(k, bounds.markov_tail(k, 50), label="Markov")
centre.semilogy(k, bounds.hoeffding_tail(k / 100 - 0.5, 100), label="Hoeffding")
mgf = lambda alpha: 100 * (np.logaddexp(0, alpha) - np.log(2))  # noqa: E731
centre.semilogy(
    k, [bounds.chernoff_tail(t, mgf) for t in k], "--", label="Chernoff"
)
centre.set(
    xlabel="k", ylabel="P(at least k heads)", title="100 coins", ylim=(1e-18, 3)
)
centre.legend(fontsize=9)

d = np.array([2, 5, 10, 30, 100, 300, 1000, 3000])
largest = [rng.standard_normal((500, size)).max(axis=1).mean() for size in d]
right.semilogx(
    d, bounds.sub_gaussian_maximum_bound(d, 1.0), "k--", lw=1, label="bound"
)
right.semilogx(d, largest, "o-", ms=4, label="normal variables")
signs = [rng.choice([-1.0, 1.0], (500, size)).max(axis=1).mean() for size in d]
right.semilogx(d, signs, "s-", ms=4, label="signs")
right.set(
    xlabel="number d",
    ylabel="expected maximum",
    title="proposition 5",
    ylim=(0, 4.5),
)
right.legend(fontsize=9)
plt.show()
n = bounds.hoeffding_n_samples(0.03, 0.05, two_sided=True)
print(f"test rows for an error rate to 3 %, with probability 95 %: {n:,.0f}")

# %%
# 2.2 Finite hypothesis classes
# -----------------------------
# *Theorem 6.* The excess risk of the best of :math:`|\mathcal H|` classifiers
# on n rows is at most :math:`M\sqrt{2(\log|\mathcal H| + \log(1/\delta))/n}`
# with probability 1 - δ. The histogram classifier on m² squares minimises over
# :math:`2^{m^2}` classifiers. Its excess over the best of them, the 95 %
# quantile of 60 samples, and the bound:
from sklearn_ensemble_theory import HistogramClassifier


def squares(n, m):
    """Excess risk over the best labels of m² squares, η constant in each."""
    inside = 0.5 + 0.4 * np.sin(1 + 7 * np.arange(m * m))
    X = rng.random((n, 2))
    cell = (m * X).astype(int) @ [m, 1]
    y = np.where(rng.random(n) < inside[cell], 1, -1)
    middle = (np.indices((m, m)).reshape(2, -1).T + 0.5) / m
    says = (
        HistogramClassifier(m, box=[[0, 1], [0, 1]]).fit(X, y).predict(middle)
    )
    return np.mean(abs(2 * inside - 1) * ((inside > 0.5) != (says == 1)))


sizes = np.array([100, 300, 1000, 3000, 10_000])
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for number, m in enumerate([3, 6]):
    found = [
        np.quantile([squares(n, m) for _ in range(60)], 0.95) for n in sizes
    ]
    bound = [bounds.histogram_class_bound(n, m) for n in sizes]
    axis.loglog(
        sizes, bound, f"C{number}--", lw=1, label=f"bound, {m}² squares"
    )
    found = np.array(found)
    axis.loglog(
        sizes[found > 0],
        found[found > 0],
        f"C{number}o-",
        ms=4,
        label=f"{m}² squares",
    )
axis.set(xlabel="rows n", ylabel="excess risk", title="theorem 6, δ = 0.05")
axis.legend(fontsize=9)
plt.show()
both = (
    bounds.histogram_class_bound(1000, 6),
    bounds.finite_class_bound(1000, 36 * np.log(2)),
)
print("the bound is that of a class of 2³⁶ classifiers:", np.round(both, 12))

# %%
# 2.3 Bounded differences inequality
# ----------------------------------
# A function has bounded differences (definition 2) if no argument changes it by
# more than :math:`L_i`. *Theorem 7* says that it is sub-Gaussian then. In the
# proof the arguments are revealed one by one: the conditional expectations
# given the first i of them move from E f to f, eq. (2.5), by martingale
# differences (definition 3). Such sums have the parameters of independent ones
# (lemma 8), and for bounded ones follows the inequality of Azuma and Hoeffding,
# *theorem 9*, eq. (2.6). Left, the number of runs of equal results in 12 coins,
# which one coin changes by at most 2. Centre, the tail of this number; right,
# the tail for a player who stakes 1 after gains and 1/4 after losses.
coins = np.indices((2,) * 12).reshape(12, -1)
runs = 1.0 + np.count_nonzero(np.diff(coins, axis=0), axis=0)
given = [runs.reshape((2,) * i + (-1,)).mean(axis=-1) for i in range(13)]
figure, (left, centre, right) = plt.subplots(
    1, 3, figsize=(13, 4), layout="constrained"
)
for path in coins.T[rng.integers(4096, size=25)]:
    left.plot(
        range(13),
        [given[i][tuple(path[:i])] for i in range(13)],
        "C0",
        lw=0.8,
        alpha=0.6,
    )
left.set(
    xlabel="coins revealed, i",
    ylabel="$E(f \\mid W_{1:i})$",
    title="a martingale, eq. (2.5)",
)
t = np.linspace(0, 6, 121)
tail = np.mean(runs - runs.mean() >= t[:, None] - 1e-9, axis=1)
L = np.array([1.0, *[2.0] * 10, 1.0])
centre.semilogy(t, np.where(tail > 0, tail, np.nan), "k", label="exact")
centre.semilogy(t, bounds.mcdiarmid_tail(t, L), label="bound")
centre.set(xlabel="t", ylabel="P(f - E f ≥ t)", title="theorem 7")
centre.legend()
total = np.zeros(20_000)
for _ in range(50):
    total += np.where(total >= 0, 1.0, 0.25) * rng.choice([-1.0, 1.0], 20_000)
t = np.linspace(0, 25, 101)
right.semilogy(
    t,
    np.maximum(np.mean(total >= t[:, None], axis=1), 1e-5),
    "k",
    label="simulated",
)
right.semilogy(
    t, bounds.azuma_hoeffding_tail(t, np.full(50, 2.0)), label="bound"
)
right.set(xlabel="t", ylabel="P(gain ≥ t)", title="theorem 9", ylim=(1e-4, 2))
right.legend()
plt.show()
steps = [np.ptp(given[i + 1], axis=-1).max() for i in range(12)]
print(
    "largest range of a difference:",
    max(steps),
    "- parameter of the sum by lemma 8:",
    end=" ",
)
print(
    round(bounds.sub_gaussian_sum_parameter(L / 2), 3),
    "- standard deviation:",
    runs.std().round(3),
)

# %%
# 2.4 Rademacher complexity
# -------------------------
# The empirical Rademacher complexity (definition 4), eq. (2.8), is how well the
# behaviours of a class fit random signs. Left, one draw: the agreement of all
# thresholds on a line with 60 signs, of which the complexity takes the largest.
# *Theorem 10*: the expected supremum of risk minus empirical risk over the
# losses, eq. (2.7), is at most twice the complexity. *Theorem 11* adds its
# concentration. Right, for thresholds and a tenth of wrong labels.
x = np.sort(rng.random(60))
eps = rng.choice([-1.0, 1.0], 60)
agreement = (np.concatenate([[0], np.cumsum(-eps)]) * 2 + eps.sum()) / 60
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
left.step(np.concatenate([[0], x]), agreement, where="post")
best = agreement.argmax()
left.plot(
    np.concatenate([[0], x])[best], agreement[best], "C3o", label="supremum"
)
left.scatter(x, np.full(60, -0.35), c=eps, cmap="coolwarm", s=12)
left.set(
    xlabel="threshold a",
    ylabel="$\\frac{1}{n}\\sum_i\\epsilon_i\\,\\mathrm{sgn}(x_i - a)$",
)
left.set(title="agreement with random signs (coloured)")
left.legend()

sizes, table = np.array([10, 30, 100, 300, 1000]), []
for n in sizes.tolist():
    x = np.sort(rng.random((300, n)), axis=1)
    edges = np.pad(x, ((0, 0), (1, 0)))  # thresholds at 0 and at the rows
    wrong = (x > 0.4) ^ (
        rng.random((300, n)) < 0.9
    )  # of a threshold below all rows
    mean = (
        wrong.sum(axis=1)[:, None]
        + np.pad(np.cumsum(1 - 2 * wrong, 1), ((0, 0), (1, 0)))
    ) / n
    risk = 0.1 + 0.8 * abs(edges - 0.4)
    ends = np.maximum(
        risk, np.pad(risk[:, 1:], ((0, 0), (0, 1)), constant_values=0.58)
    )
    eps = rng.choice([-1.0, 1.0], (300, n))
    walk = np.pad(np.cumsum(eps, axis=1), ((0, 0), (1, 0)))
    # signs times losses: eps (wrong), but for the sign on the rows passed
    signed = np.pad(np.cumsum(eps * (1 - 2 * wrong), axis=1), ((0, 0), (1, 0)))
    complexity = (
        np.mean((signed + (eps * wrong).sum(axis=1)[:, None]).max(axis=1)) / n
    )
    chosen = np.take_along_axis(risk, mean.argmin(axis=1)[:, None], axis=1)[
        :, 0
    ]
    table.append(
        [
            (ends - mean).max(axis=1).mean(),
            bounds.symmetrization_bound(complexity),
            np.quantile(chosen - 0.1, 0.95),
            bounds.rademacher_excess_risk_bound(complexity, n),
        ]
    )
supremum, twice, excess, bound = np.array(table).T
right.loglog(
    sizes, supremum, "C0o-", ms=4, label="E G, supremum of R - empirical R"
)
right.loglog(sizes, twice, "C0--", lw=1, label="twice the complexity")
right.loglog(sizes, excess, "C1o-", ms=4, label="excess risk, 95 % quantile")
right.loglog(sizes, bound, "C1--", lw=1, label="bound of theorem 11")
right.set(xlabel="rows n", ylabel="risk", title="theorems 10 and 11")
right.legend(fontsize=9)
plt.show()

# %%
# Property (i), the complexity of a sum of two classes is the sum; property
# (ii), that of a union is the largest one and a little more:
R = bounds.empirical_rademacher_complexity
A, B = rng.choice([0.0, 1.0], (2, 4, 12))
sums = (A[:, None] + B).reshape(-1, 12)
print(f"sum: {R(sums):.12f} = {R(A) + R(B):.12f}")
above = bounds.rademacher_union_bound([R(A), R(B)], 12)
print(f"union: {R(np.vstack([A, B])):.3f}, at most {above:.3f}")

# %%
# 2.5 VC dimension
# ----------------
# A class has finitely many behaviours on n points, and lemma 12 bounds its
# complexity by their number. It shatters the points (definition 5) if these are
# all :math:`2^n`, as half-planes do with three points. By *proposition 14*
# signs of a vector space of functions, eq. (2.9), of dimension d shatter no d +
# 1 points: some combination γ of all values vanishes, eq. (2.10), so the signs
# of γ do not occur. These are the colours in the last panel.
import itertools

three = np.array([[0.0, 0.0], [1.0, 0.2], [0.4, 1.0]])
four = np.vstack([three, [1.2, 1.3]])
figure, axes = plt.subplots(2, 5, figsize=(12, 5), layout="constrained")
u, v = np.meshgrid(np.linspace(-0.5, 1.7, 120), np.linspace(-0.5, 1.7, 120))
lifted = np.column_stack([three, np.ones(3)])
for axis, labels in zip(
    axes[:, :4].flat, itertools.product([-1.0, 1.0], repeat=3)
):
    beta = np.linalg.solve(lifted, labels)
    score = beta[0] * u + beta[1] * v + beta[2]
    axis.contourf(
        u, v, score, levels=[-99, 0, 99], colors=["C0", "C3"], alpha=0.3
    )
    axis.scatter(
        *three.T, c=labels, cmap="coolwarm", vmin=-1, vmax=1, edgecolors="k"
    )
gamma = np.linalg.svd(np.column_stack([four, np.ones(4)]).T)[2][-1]
axes[0, 4].scatter(*four.T, c=np.sign(gamma), cmap="coolwarm", edgecolors="k")
axes[0, 4].set(title="no half-plane", xlim=(-0.5, 1.7), ylim=(-0.5, 1.7))
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])
axes[1, 4].axis("off")
figure.suptitle("half-planes shatter three points, and no four")
figure.supxlabel("first variable")
figure.supylabel("second variable")
plt.show()
print(
    "labels of four points by half-planes:",
    bounds.shattering_coefficient(bounds.behaviours("halfspaces", four)),
)

# %%
# *Lemma 13*, of Sauer and Shelah: with the VC dimension d there are at most
# :math:`(n + 1)^d` behaviours, or :math:`\sum_{i \le d}\binom{n}{i}`. Intervals
# and orthants have d = 2 in the plane, half-planes d = 3. Right, what follows
# for the complexity, for stumps of five features.
n = np.arange(1, 13)
points = np.vstack([np.eye(2), rng.standard_normal((10, 2))])
families = {
    "intervals": [
        len(bounds.behaviours("intervals", points[:k, 0])) for k in n
    ],
    "orthants": [len(bounds.behaviours("orthants", points[:k])) for k in n],
    "half-planes": [2 * bounds.sauer_shelah_bound(int(k) - 1, 2) for k in n],
}
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
left.semilogy(n, 2.0**n, "k", lw=1, label="$2^n$")
for number, (label, counts) in enumerate(families.items()):
    left.semilogy(n, counts, f"C{number}o-", ms=4, label=label)
for d, color in ((2, "C1"), (3, "C2")):
    sums = [bounds.sauer_shelah_bound(int(k), d) for k in n]
    left.semilogy(
        n, sums, color=color, ls=":", label=f"sum of lemma 13, d = {d}"
    )
    left.semilogy(
        n, (n + 1.0) ** d, color=color, ls="--", lw=1, label=f"$(n+1)^{d}$"
    )
left.set(
    xlabel="points n", ylabel="behaviours", title="definition 5 and lemma 13"
)
left.set_ylim(0.2, 8000)  # room for the legend
left.legend(fontsize=8, ncols=2, loc="lower right")

sizes, found = np.array([10, 30, 100, 300]), []
for size in sizes.tolist():
    X = rng.standard_normal((size, 5))
    number = bounds.shattering_coefficient(bounds.behaviours("stumps", X))
    complexity = bounds.stump_rademacher_complexity(
        X, n_draws=1000, random_state=0
    )
    by_number = bounds.finite_behaviours_rademacher_bound(size, np.log(number))
    found.append([complexity, by_number, bounds.vc_rademacher_bound(size, 5)])
for values, style, label in zip(
    np.transpose(found),
    ["o-", "--", ":"],
    ["simulated", "lemma 12", "by the VC dimension, 5"],
):
    right.loglog(sizes, values, style, ms=4, label=label)
right.set(
    xlabel="points n", ylabel="complexity", title="stumps of five features"
)
right.set_yticks([0.2, 0.5, 1.0], ["0.2", "0.5", "1"])
right.tick_params(axis="y", which="minor", labelleft=False)
right.legend(fontsize=9)
plt.show()

# %%
# 3.1 and 3.2 Convex sets and functions
# -------------------------------------
# The convex hull (definition 6) of a set are the convex combinations of its
# points (lemma 15), and the hull of an image is the image of the hull (lemma
# 16). Left, the hull of ± the unit vectors and its image, whose points have the
# gauge 1 or less. *Proposition 17* lists what convex functions have; right, two
# of its properties for a risk that is convex in β: sublevel sets are convex
# (iv), tangents are below the function (v). The proof of theorem 18 cites (iv)
# where it uses (v), see the :doc:`errata </errata>`.
corners = np.array([[1, 0, -1, 0, 1], [0, 1, 0, -1, 0]])
L = np.array([[1.2, 0.5], [-0.3, 0.8]])
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
left.fill(*corners, alpha=0.2, color="C0", label="hull of S")
left.fill(*(L @ corners), alpha=0.2, color="C1", label="hull of L(S)")
weights = rng.dirichlet([0.7] * 4, 200)
left.plot(
    *(L @ corners[:, :4] @ weights.T),
    "C1.",
    ms=3,
    label="L of convex combinations",
)
left.set(
    aspect="equal",
    xlabel="first coordinate",
    ylabel="second coordinate",
    title="lemmas 15 and 16",
)
left.legend(fontsize=8)
largest = max(
    bounds.gauge(L, L @ corners[:, :4] @ w).value for w in weights[:50]
)

x = np.array([-1.5, -0.5, 0.3, 1.0, 2.0])
label = np.array([-1, 1, -1, 1, 1])
beta = np.linspace(-2, 4, 301)
logistic = np.array(
    [bounds.surrogate_risk("logistic", label, x * b) for b in beta]
)
right.plot(beta, logistic, label="logistic risk")
at = 60
slope = np.gradient(logistic, beta)[at]
right.plot(
    beta,
    logistic[at] + slope * (beta - beta[at]),
    "C3",
    lw=1,
    label="tangent, (v)",
)
level = 0.65
inside = beta[logistic <= level]
right.hlines(
    level, inside[0], inside[-1], "C2", lw=3, label="sublevel set, (iv)"
)
right.set(xlabel="β", ylabel="risk", ylim=(0, 1.6), title="proposition 17")
right.legend(fontsize=9)
plt.show()
print(f"largest gauge of the combinations: {largest:.3f}")

# %%
# 3.3 Convex surrogates
# ---------------------
# Hinge, exponential and logistic loss replace the number of errors; with base
# 2, as in the notes, the last one is 1 at 0 as well. The conditional risk is
# :math:`C_\eta(\alpha) = \eta\phi(\alpha) + (1-\eta)\phi(-\alpha)`. A loss is
# calibrated (definition 7) if scores α of the wrong sign, dashed, cannot reach
# its infimum. By *theorem 18* a convex loss is, if :math:`\phi'(0) < 0` exists;
# :math:`(-u)_+` has a kink there, and is not.
from sklearn_ensemble_theory.inspection import ConditionalRiskDisplay

losses = {
    "hinge": lambda m: np.maximum(1 - m, 0),
    "exponential": lambda m: np.exp(-m),
    "logistic, base 2": lambda m: np.logaddexp(0, -m) / np.log(2),
    "(-u)₊": lambda m: np.maximum(-m, 0),
}
m = np.linspace(-2, 3, 501)
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
axes[0].step(m, m <= 0, "k", where="mid", label="0-1 loss")
for name, phi in losses.items():
    calibrated = "" if bounds.is_classification_calibrated(phi) else "not "
    axes[0].plot(m, phi(m), label=f"{name}: {calibrated}calibrated")
axes[0].set(
    xlabel="u = y h(x)", ylabel="φ(u)", ylim=(-0.1, 4), title="surrogates"
)
axes[0].legend(fontsize=8)
for axis, name in zip(axes[1:], ["logistic, base 2", "(-u)₊"]):
    display = ConditionalRiskDisplay.from_loss(
        losses[name], eta=[0.6, 0.8, 0.95], ax=axis
    )
    axis.set(title=name, ylim=(0, 2))
    print(
        name,
        "- gain of the right sign:",
        display.wrong_sign_risks - display.least_risks,
    )
plt.show()

# %%
# 3.4 Rademacher complexity revisited
# -----------------------------------
# *Lemma 19*: a Lipschitz function of the scores multiplies the complexity by at
# most its constant. Left, for two points: the scores of linear functions in a
# ball, and their hinge losses, whose extent in the four directions of signs is
# smaller. In the proof one coordinate after the other is replaced, eq. (3.1)
# and (3.2), and none of the steps lowers the complexity.
X, y = np.array([[1.0, 0.4], [-0.3, 0.8]]), np.array([1.0, -1.0])
circle = np.array([np.cos(a := np.linspace(0, 2 * np.pi, 200)), np.sin(a)]).T
ball = np.vstack([r * circle for r in np.linspace(0, 2.5, 20)])
scores, hinge = ball @ X.T, np.maximum(1 - ball @ X.T * y, 0)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
left.plot(*scores.T, "C0.", ms=1, label="scores")
left.plot(*hinge.T, "C1.", ms=1, label="hinge losses")
for cloud, color in ((scores, "C0"), (hinge, "C1")):
    for sign in itertools.product([-1, 1], repeat=2):
        left.plot(
            *cloud[(cloud @ sign).argmax()], "o", color=color, ms=6, mec="k"
        )
left.set(aspect="equal", xlabel="first point", ylabel="second point")
left.set(
    title=f"complexity {R(scores):.2f} of scores, {R(hinge):.2f} of losses"
)
left.legend(fontsize=9, markerscale=8)

slopes = {
    "hinge": 1.0,
    "logistic": 1 / (1 + np.exp(-2)),
    "exponential": np.exp(2),
}
for name, lipschitz in slopes.items():
    phi = {"logistic": lambda m: np.logaddexp(0, -m)}.get(name) or losses[name]
    pairs = []
    for _ in range(40):
        h, y = (
            rng.uniform(-2, 2, (rng.integers(2, 30), 8)),
            rng.choice([-1.0, 1.0], 8),
        )
        pairs.append(
            [
                bounds.rademacher_contraction_bound(R(h), lipschitz),
                R(phi(h * y)),
            ]
        )
    right.loglog(
        *np.transpose(pairs), ".", label=f"{name}, L = {lipschitz:.2f}"
    )
right.plot([0.1, 8], [0.1, 8], "k", lw=0.8, label="equality")
right.set(
    xlabel="L times the complexity of scores", ylabel="complexity of losses"
)
right.set(title="lemma 19, 120 classes of scores in [-2, 2]")
right.legend(fontsize=9)
plt.show()
h = rng.uniform(-1, 1, (20, 8))
# a hinge with its kink among the scores
replaced = [
    R(np.hstack([h[:, :i], np.maximum(0.7 - h[:, i:], 0)])) for i in range(9)
]
print("complexity with i coordinates of scores:", np.round(replaced, 3))

# %%
# 3.5 and 3.6 Linear functions in balls
# -------------------------------------
# *Corollary 20* is theorem 11 for a surrogate. Its complexity is at most
# :math:`\lambda C/\sqrt n` for coefficients in the l2 ball, eq. (3.3), and
# :math:`\lambda C\sqrt{2\log(2p)/n}` in the l1 ball, which has that of its 2p
# corners (lemma 21). If s of p coefficients are equal and the others 0, which
# bound is smaller depends on s; so does, right, which ball is better for 200
# rows.
from sklearn_ensemble_theory import BallConstrainedClassifier

figure, (left, centre, right) = plt.subplots(
    1, 3, figsize=(13, 4), layout="constrained"
)
p = np.array([3, 10, 30, 100, 300])
values = []
for size in p.tolist():
    X = rng.uniform(-1, 1, (100, size))
    C = np.linalg.norm(X, axis=1).max()
    draws = {"n_draws": 1000, "random_state": 0}
    values.append(
        [
            bounds.ball_rademacher_complexity(X, norm=norm, **draws)
            for norm in ("l1", "l2")
        ]
    )
    values[-1] += [
        bounds.ball_rademacher_bound(100, n_features=size, norm="l1")
    ]
    values[-1] += [bounds.ball_rademacher_bound(100, 1.0, C)]
for column, style, text in zip(
    np.transpose(values),
    ["C0o-", "C1o-", "C0--", "C1--"],
    ["l1", "l2", "l1, bound", "l2, bound"],
):
    left.loglog(p, column, style, ms=4, label=text)
left.set(
    xlabel="features p in [-1, 1]",
    ylabel="complexity",
    title="balls of radius 1, 100 points",
)
left.legend(fontsize=9)

s = np.unique(np.geomspace(1, 1000, 20).astype(int))
excess = [
    bounds.ball_excess_risk_bound(
        10**6, float(k**0.5), n_features=1000, norm="l1"
    )
    for k in s
]
centre.loglog(s, excess, "C0--", label="l1, radius √s")
centre.axhline(
    bounds.ball_excess_risk_bound(10**6, 1.0, 1000**0.5),
    color="C1",
    ls="--",
    label="l2",
)
centre.set(
    xlabel="s of 1000 coefficients",
    ylabel="bound",
    title="hinge loss, a million rows",
)
centre.set_yticks([0.02, 0.05, 0.1, 0.2], ["0.02", "0.05", "0.1", "0.2"])
centre.tick_params(axis="y", which="minor", labelleft=False)
centre.legend(fontsize=9)

counts = [1, 5, 20, 50]
tests = {"l1": [], "l2": []}
for number in counts:
    beta = np.zeros(50)
    beta[:number] = 4 / np.sqrt(number)
    X = rng.uniform(-1, 1, (2200, 50))
    y = np.where(rng.random(2200) < 1 / (1 + np.exp(-2 * X @ beta)), 1, -1)
    for norm, radius in (("l1", 4 * number**0.5), ("l2", 4.0)):
        model = BallConstrainedClassifier(
            radius, norm=norm, loss="hinge", fit_intercept=False
        )
        found = [
            1
            - model.fit(X[i : i + 200], y[i : i + 200]).score(
                X[1000:], y[1000:]
            )
            for i in range(0, 1000, 200)
        ]
        tests[norm].append(np.mean(found))
for norm, values in tests.items():
    right.semilogx(counts, values, "o-", ms=4, label=norm)
right.set_xticks(counts, counts)
right.minorticks_off()
right.set(
    xlabel="s of 50 coefficients",
    ylabel="test error",
    title="200 rows, radius of the truth",
)
right.legend(fontsize=9)
plt.show()
last = model.error_bound(feature_bound=50**0.5)
print(f"bound of the last fit: {last:.3f}")

# %%
# *Kernel machines*, eq. (3.4) to (3.6). The best coefficients of many features
# are combinations of the rows, so only inner products are needed, also for
# infinitely many features (footnote 5). The kernel of the notes, :math:`(x^T x'
# + \frac12)^2 - \frac14`, belongs to all :math:`x_j` and :math:`x_j x_k`; the
# two fits are the same. The last panel has a kernel of infinitely many
# features.
X = rng.uniform(-1.5, 1.5, (60, 2))
y = np.where(
    X[:, 0] ** 2 + X[:, 1] ** 2 + 0.3 * rng.standard_normal(60) > 1.2, 1, -1
)


def features(X):
    return np.column_stack([X, X[:, [0]] * X, X[:, [1]] * X])


def kernel(x, z):
    return (x @ z + 0.5) ** 2 - 0.25


explicit = BallConstrainedClassifier(3.0, tol=1e-8).fit(features(X), y)
machine = BallConstrainedClassifier(3.0, kernel=kernel, tol=1e-8).fit(X, y)
gauss = BallConstrainedClassifier(5.0, kernel="rbf", gamma=1.0).fit(X, y)
u, v = np.meshgrid(np.linspace(-1.7, 1.7, 50), np.linspace(-1.7, 1.7, 50))
plane = np.column_stack([u.ravel(), v.ravel()])
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for axis, values, title in zip(
    axes,
    [
        explicit.decision_function(features(plane)),
        *(f.decision_function(plane) for f in (machine, gauss)),
    ],
    ["six features, eq. (3.4)", "their kernel, eq. (3.6)", "Gaussian kernel"],
):
    axis.contourf(
        u,
        v,
        values.reshape(u.shape),
        levels=[-99, 0, 99],
        cmap="coolwarm",
        alpha=0.3,
    )
    axis.scatter(
        *X.T, c=y, cmap="coolwarm", s=15, edgecolors="k", linewidths=0.5
    )
    axis.set(title=title, xticks=[], yticks=[])
figure.supxlabel("first variable")
figure.supylabel("second variable")
plt.show()
difference = explicit.decision_function(
    features(plane)
) - machine.decision_function(plane)
print(f"largest difference of the scores: {abs(difference).max():.0e}")

# %%
# 3.7 Projections on to convex sets
# ---------------------------------
# *Proposition 22*: every closed convex set has one nearest point, the
# projection (definition 8). No point of the set is on its far side, eq. (3.7),
# and projections are no further apart than the points, eq. (3.8).
from sklearn_ensemble_theory.erm import (
    project_l1_ball,
    project_l2_ball,
    project_simplex,
)

points = rng.uniform(-2, 2, (40, 2))
figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
projections = {
    "l1 ball": project_l1_ball,
    "l2 ball": project_l2_ball,
    "simplex": project_simplex,
}
for axis, (name, project) in zip(axes, projections.items()):
    images = np.array([project(point) for point in points])
    for point, image in zip(points, images):
        axis.plot(*np.transpose([point, image]), "0.7", lw=0.8)
    axis.plot(*points.T, "C0.", label="x")
    axis.plot(*images.T, "C3.", label="projection")
    axis.set(aspect="equal", title=name)
    side = (
        ((points - images)[:, None] * (images - images[:, None]))
        .sum(axis=2)
        .max()
    )
    apart = [
        np.linalg.norm(a[:, None] - a, axis=2)[np.triu_indices(40, 1)]
        for a in (images, points)
    ]
    print(
        f"{name}: (3.7) at most {side:.1e}, "
        f"(3.8) ratio at most {max(apart[0] / apart[1]):.3f}"
    )
axes[0].legend()
figure.supxlabel("first coordinate")
figure.supylabel("second coordinate")
plt.show()

# %%
# 3.8 Subgradients
# ----------------
# A subgradient (definition 9) is the slope of a plane through a point of a
# convex function that is nowhere above it. There is one everywhere (proposition
# 23, eq. (3.9)), only the gradient where that exists (proposition 24), and sums
# and linear maps have the obvious rules (proposition 25). For the hinge risk a
# row at the kink contributes anything between 0 and its slope:
x, label = np.array([1.0, 0.5, -0.8, 2.0]), np.array([1, 1, 1, -1])
beta = np.linspace(-2, 4, 301)
hinge = np.maximum(1 - label[:, None] * x[:, None] * beta, 0).mean(axis=0)
at = 1.0  # here the first row is at its kink
below = -(label * x * (label * x * at < 1)).mean()
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
axis.plot(beta, hinge, "k", lw=2, label="hinge risk of four rows")
for t in (0, 0.5, 1):
    slope = below - t * x[0] / 4
    line = np.maximum(1 - label * x * at, 0).mean() + slope * (beta - at)
    excess = max(line - hinge)
    print(f"slope {slope:+.3f}: largest excess over the risk {excess:.1e}")
    axis.plot(beta, line, lw=1, label=f"subgradient {slope:.3f}")
axis.set(xlabel="β", ylabel="risk", ylim=(0, 2.5), title="definition 9")
axis.legend(fontsize=9)
plt.show()

# %%
# 3.9 and 3.10 Gradient descent, plain and stochastic
# ---------------------------------------------------
# *Algorithm 1* takes projected steps along subgradients and returns the mean of
# the iterates; by *theorem 26* that is within :math:`2LR/\sqrt k` of the
# minimum. Its proof, eq. (3.10) and (3.11), also bounds a run by the gradients
# that occurred in it. *Algorithm 2* takes the subgradient of a random row, and
# has the same bound in expectation, *theorem 27*. For the hinge risk in a ball:
from sklearn_ensemble_theory.erm import projected_gradient_descent

X = rng.standard_normal((300, 10))
X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True) / 3, 1)  # C = L = 3
y = np.where(
    X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.standard_normal(300) > 0, 1, -1
)
best = BallConstrainedClassifier(2.0, loss="hinge", fit_intercept=False).fit(
    X, y
)
least = bounds.surrogate_risk("hinge", y, best.decision_function(X))


def of_all(beta):
    return -((y * (y * (X @ beta) < 1)) @ X) / 300


def of_row(beta, i):
    return -y[i] * (y[i] * (X[i] @ beta) < 1) * X[i]


def excess(run):
    return bounds.surrogate_risk("hinge", y, X @ run.mean) - least


steps, curves = [3, 10, 30, 100, 300, 1000], []
for k in steps:
    setting = {"constraint": "l2", "radius": 2.0}
    eta = 2 * 2.0 / (3 * k**0.5)
    plain = projected_gradient_descent(of_all, np.zeros(10), eta, k, **setting)
    drawn = [
        excess(
            projected_gradient_descent(
                of_row,
                np.zeros(10),
                eta,
                k,
                samples=rng.integers(300, size=k),
                **setting,
            )
        )
        for _ in range(10)
    ]
    curves.append(
        [2 * 3 * 2.0 / k**0.5, plain.bound, excess(plain), np.mean(drawn)]
    )
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
labels = [
    "bound of the theorems",
    "bound of the run",
    "algorithm 1",
    "algorithm 2, mean of 10",
]
for curve, style, text in zip(
    np.transpose(curves), ["k--", "k:", "o-", "s-"], labels
):
    axis.loglog(steps, curve, style, ms=4, label=text)
axis.set(
    xlabel="steps k",
    ylabel="risk above the minimum",
    title="theorems 26 and 27",
)
axis.legend(fontsize=9)
plt.show()

# %%
# 4.1 Cross-validation
# --------------------
# We want the method with the least risk given the data, eq. (4.1), or in
# expectation over them, eq. (4.2). The mean loss over held-out folds, eq.
# (4.3), has the expectation of the second one for fewer rows, eq. (4.4), so few
# folds are biased. For neighbours on 60 rows, 20 data sets:
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

figure, (left, centre, right) = plt.subplots(
    1, 3, figsize=(13, 4), layout="constrained"
)
held_out = np.zeros((5, 20))
for fold, (_, test) in enumerate(KFold(5).split(np.zeros(20))):
    held_out[fold, test] = 1
left.imshow(held_out, cmap="Blues", aspect="auto", vmax=1.5)
left.set(
    xlabel="row",
    ylabel="fit",
    title="5 folds: held-out rows are blue",
    xticks=range(0, 20, 5),
    yticks=range(5),
)

x_new = rng.random((2000, 1))
y_new = np.where(rng.random(2000) < eta_of(x_new[:, 0]), 1, -1)
neighbors, risks, estimates = [1, 5, 13, 25], [], []
for _ in range(20):
    x = rng.random((60, 1))
    y = np.where(rng.random(60) < eta_of(x[:, 0]), 1, -1)
    models = [KNeighborsClassifier(k) for k in neighbors]
    risks.append([1 - model.fit(x, y).score(x_new, y_new) for model in models])
    estimates.append(
        [
            [1 - cross_val_score(f, x, y, cv=KFold(v)).mean() for f in models]
            for v in (2, 5, 10)
        ]
    )
risks, estimates = np.array(risks), np.array(estimates)
centre.plot(
    neighbors, risks[0], "C1o-", ms=4, label="risk on these data, (4.1)"
)
centre.plot(neighbors, risks.mean(axis=0), "k--", label="expected risk, (4.2)")
centre.plot(neighbors, estimates[0, 1], "C0o-", ms=4, label="5 folds, (4.3)")
centre.set(xlabel="neighbours", ylabel="error", title="one data set")
centre.legend(fontsize=8)
for number, v in enumerate((2, 5, 10)):
    bias = estimates[:, number].mean(axis=0) - risks.mean(axis=0)
    right.plot(neighbors, bias, "o-", ms=4, label=f"{v} folds")
right.axhline(0, color="0.7", lw=0.8)
right.set(
    xlabel="neighbours", ylabel="mean of (4.3) - (4.2)", title="bias, eq. (4.4)"
)
right.legend(fontsize=9)
plt.show()
chosen = np.take_along_axis(
    risks, estimates[:, 1].argmin(axis=1)[:, None], axis=1
)
print(
    f"risk of the choice by 5 folds {chosen.mean():.3f}, "
    f"of the best {risks.min(axis=1).mean():.3f}"
)
above = bounds.cross_validation_oracle_bound(4, [12] * 5)
print(f"bound on the excess of the choice: {above:.3f}")

# %%
# *4.1.1 Stacking* minimises the same sum over non-negative weights of the
# methods, perhaps in an l1 or l2 ball, for a loss ℓ. ``weights`` of the final
# estimator is the set and ``loss`` is ℓ:
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from sklearn_ensemble_theory import StackingClassifier
from sklearn_ensemble_theory.combining import WeightedMean

X = rng.standard_normal((1300, 2))
y = np.where(
    X[:, 0] + np.sin(3 * X[:, 1]) + 0.7 * rng.standard_normal(1300) > 0, 1, -1
)
members = [("logistic", LogisticRegression()), ("bayes", GaussianNB())]
members += [(f"{k} nearest", KNeighborsClassifier(k)) for k in (1, 10)]
for name, member in members:
    right = member.fit(X[:300], y[:300]).score(X[300:], y[300:])
    print(f"{name:14} error {1 - right:.3f}")
for loss in ("squared_error", "log_loss", "hinge", "exponential", "logistic"):
    for weights in ("nnls", "simplex"):
        final = WeightedMean(weights, loss=loss)
        stack = StackingClassifier(members, final, cv=5)
        error = 1 - stack.fit(X[:300], y[:300]).score(X[300:], y[300:])
        print(
            f"{loss:14} {weights:7} error {error:.3f}, weights",
            stack.estimator_weights_.round(2),
        )

# %%
# 4.2 Adaboost
# ------------
# Greedy minimisation of the exponential loss over :math:`\sum_m \beta_m h_m`:
# each round takes the classifier with the least weighted error
# :math:`\mathrm{err}_m`, and :math:`\hat\beta_m = \frac12\log((1 -
# \mathrm{err}_m)/\mathrm{err}_m)`. For stumps the errors of all thresholds are
# cumulative sums of :math:`Y_i w_i`: left, in the first three rounds. A
# coefficient of the estimator is twice :math:`\hat\beta_m`.
from sklearn_ensemble_theory import AdaBoostClassifier

x = np.sort(rng.random(200))
y = np.where((x > 0.3) & (x < 0.6), 1, -1)
model = AdaBoostClassifier(n_estimators=30).fit(x[:, None], y)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
score, coefficients = np.zeros(200), []
for m in range(30):
    w = np.exp(-y * score)
    w /= w.sum()
    up = w @ (y == -1) + np.concatenate(
        [[0], np.cumsum(y * w)]
    )  # +1 right of the threshold
    error = np.minimum(up, 1 - up)
    if m < 3:
        left.step(
            np.concatenate([[0], x]),
            error,
            where="post",
            color=f"C{m}",
            label=f"m = {m + 1}",
        )
        left.plot(
            np.concatenate([[0], x])[error.argmin()], error.min(), f"C{m}o"
        )
    at = error.argmin()
    h = np.where(np.arange(200) >= at, 1, -1) * (1 if up[at] <= 0.5 else -1)
    coefficients.append(bounds.adaboost_coefficient(error.min()))
    score += coefficients[-1] * h
left.set(
    xlabel="threshold a",
    ylabel="least weighted error",
    title="all stumps of a round",
)
left.legend()
difference = abs(coefficients - model.estimator_weights_ / 2).max()
print(f"largest difference of a coefficient: {difference:.0e}")
rounds = np.arange(1, 31)
product = bounds.adaboost_exponential_risk(model.edges_)
right.semilogy(rounds, product, label="exponential risk")
wrong = 1 - np.array(list(model.staged_score(x[:, None], y)))
right.semilogy(
    rounds,
    np.where(wrong > 0, wrong, np.nan),
    "C3o",
    ms=4,
    label="training error",
)
right.set(xlabel="rounds M", ylabel="risk", title="greedy minimisation")
right.legend()
plt.show()

# %%
# 4.3 Gradient boosting
# ---------------------
# The gradient of the risk at the function f is a conditional expectation, and
# so the best predictor, in squares, of the derivative of the loss, eq. (4.5).
# *Algorithm 3* estimates it with a regression, here a tree, and takes a step.
# With ``FixedStep(reoptimize_leaves=False)`` the estimator does just that. By
# default it replaces the values of the leaves by steps for the loss.
from sklearn_ensemble_theory import GradientBoostingClassifier
from sklearn_ensemble_theory.boosting.steps import FixedStep
from sklearn_ensemble_theory.trees import BinnedTreeRegressor

x = rng.random((400, 1))
y = np.where(rng.random(400) < eta_of(x[:, 0]), 1, -1)
tree = BinnedTreeRegressor(max_depth=2)
step = FixedStep(reoptimize_leaves=False)
given = {"learning_rate": 0.5, "n_estimators": 30, "step": step}
model = GradientBoostingClassifier(tree, **given).fit(x, y)
f = np.full(
    400, np.log(np.mean(y == 1) / np.mean(y == -1))
)  # the best constant
for _ in range(30):
    W = -y / (1 + np.exp(y * f))
    f -= 0.5 * tree.fit(x, W).predict(x)
difference = abs(f - model.decision_function(x)).max()
print(f"largest difference of a score: {difference:.0e}")
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
eta = eta_of(grid)
axis.plot(
    grid, np.log(eta / (1 - eta)), "k--", lw=1, label="minimiser of the risk"
)
for M, scores in enumerate(model.staged_decision_function(grid[:, None]), 1):
    if M in (1, 5, 30):
        axis.plot(grid, scores, label=f"M = {M}")
axis.set(
    xlabel="x", ylabel="f(x)", title="algorithm 3, logistic loss, 400 rows"
)
axis.legend()
plt.show()

# %%
# 4.4 Decision trees
# ------------------
# A tree is grown by splits that lower the residual sum of squares most, eq.
# (4.6), one region at a time until there are J. ``max_leaf_nodes`` is J; the
# first split by brute force:
X = rng.random((300, 2))
y = np.where(
    (X[:, 0] > 0.4) & (X[:, 1] > 0.6), 2.0, X[:, 0]
) + 0.2 * rng.standard_normal(300)


def rss(values):
    return np.sum((values - values.mean()) ** 2)


splits = []
for j in range(2):
    cuts = np.sort(X[:, j])
    for s in (cuts[1:] + cuts[:-1]) / 2:
        splits.append(
            (rss(y[X[:, j] <= s]) + rss(y[X[:, j] > s]) - rss(y), j, s)
        )
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
u, v = np.meshgrid(np.linspace(0, 1, 100), np.linspace(0, 1, 100))
for axis, J in zip(axes, (2, 3, 5, 20)):
    tree = BinnedTreeRegressor(max_leaf_nodes=J, max_bins=500).fit(X, y)
    values = tree.predict(np.column_stack([u.ravel(), v.ravel()])).reshape(
        u.shape
    )
    axis.imshow(values, origin="lower", extent=(0, 1, 0, 1), vmin=0, vmax=2)
    axis.plot(*X.T, "k.", ms=1)
    axis.set(title=f"J = {J}", xticks=[], yticks=[])
    if J == 2:
        first = tree.tree_.feature[0], tree.tree_.threshold[0]
        print("first split: feature {} at {:.4f}".format(*first))
        print("best: feature {1} at {2:.4f}".format(*min(splits)))
figure.supxlabel("first variable")
figure.supylabel("second variable")
plt.show()

# %%
# 4.5 Random forests
# ------------------
# The expected risk is the squared bias, the variance of the tree and the noise.
# A forest lowers the second: the mean of B trees with the correlation ρ has the
# variance :math:`\rho\sigma^2 + (1-\rho)\sigma^2/B`, an identity. Left, over 40
# data sets and on average over 40 points; fewer variables :math:`m_{try}` at
# each split lower ρ. Right, the parts of the risk: a small :math:`m_{try}`
# raises the bias.
from sklearn.datasets import make_friedman1

from sklearn_ensemble_theory import RandomForestRegressor
from sklearn_ensemble_theory.inspection import bias_variance_decomposition


def friedman(random_state):
    return make_friedman1(
        100, n_features=10, noise=1.0, random_state=random_state
    )


def mean_of(X):
    a = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return a + 10 * X[:, 3] + 5 * X[:, 4]


points = rng.random((40, 10))
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
B, parts = np.array([1, 2, 4, 8, 16, 32]), []
for number, mtry in enumerate([1, 3, 10]):
    predicted = []
    for seed in range(40):
        forest = RandomForestRegressor(32, max_features=mtry, random_state=seed)
        forest.fit(*friedman(seed))
        predicted.append([tree.predict(points) for tree in forest.estimators_])
    predicted = np.array(predicted)  # data sets, trees, points
    variance = [
        predicted[:, :size].mean(axis=1).var(axis=0, ddof=1).mean()
        for size in B
    ]
    centred = predicted - predicted.mean(axis=0)
    sigma2 = (centred**2).sum(axis=0).mean() / 39
    # all pairs of different trees
    pairs = (
        (centred.sum(axis=1) ** 2 - (centred**2).sum(axis=1)).sum(axis=0).mean()
        / 39
        / 32
        / 31
    )
    rho = pairs / sigma2
    left.loglog(B, variance, f"C{number}o", ms=5)
    formula = bounds.correlated_average_variance(B, rho, sigma2)
    left.loglog(
        B,
        formula,
        f"C{number}",
        label=f"$m_{{try}}$ = {mtry}, $\\rho$ = {rho:.2f}",
    )
    forest = RandomForestRegressor(32, max_features=mtry)
    parts.append(
        bias_variance_decomposition(
            forest,
            friedman,
            X_test=points,
            target=mean_of,
            noise=1.0,
            n_repetitions=30,
            random_state=0,
        )
    )
left.set(
    xlabel="trees B",
    ylabel="variance",
    title="mean of B trees: formula and data",
)
left.set_xticks(B, B)
left.set_yticks([2, 5, 10, 20], [2, 5, 10, 20])
left.minorticks_off()
left.legend(fontsize=9)
parts.append(
    bias_variance_decomposition(
        BinnedTreeRegressor(),
        friedman,
        X_test=points,
        target=mean_of,
        noise=1.0,
        n_repetitions=30,
        random_state=0,
    )
)
bottom = np.zeros(4)
for name in ("noise", "bias", "variance"):
    values = np.array([part[name] for part in parts])
    right.bar(
        range(4),
        values,
        bottom=bottom,
        label="squared bias" if name == "bias" else name,
    )
    bottom += values
right.set_xticks(range(4), ["$m_{try}$ = 1", "3", "10", "one tree"])
right.set(ylabel="expected squared error", title="parts of the risk, 100 rows")
right.legend()
plt.show()

# %%
# Exercises
# ---------
# In the notebook, assign your answer and call ``grade(1, answer)``. The grade
# comes by a route that is not the one of the solution. Each solution is hidden
# until you open it.
from scipy.optimize import minimize_scalar


def grade(exercise, answer):
    """Say whether the answer to an exercise is right."""
    right = CHECKS[exercise](answer)
    print(f"Exercise {exercise}: {'right' if right else 'not yet'}")


def is_the_bayes_risk(risk):
    eta = (np.arange(100_000) + 0.5) / 100_000
    return np.isclose(risk, np.minimum(eta, 1 - eta).mean())


def is_the_best_score(score):
    def best(eta):
        return minimize_scalar(
            lambda a: eta * np.exp(-a) + (1 - eta) * np.exp(a)
        ).x

    return all(abs(score(eta) - best(eta)) < 1e-5 for eta in (0.1, 0.5, 0.8))


def is_the_number_of_trees(B):
    before, after = bounds.correlated_average_variance([max(B - 1, 1), B], 0.3)
    return after <= 0.31 + 1e-12 < before


CHECKS = {1: is_the_bayes_risk, 2: is_the_best_score, 3: is_the_number_of_trees}

# %%
# *Exercise 1.* Let x be uniform on [0, 1] and P(Y = 1 | x) = x. What is the
# Bayes risk?

# Solution: the mean of min(x, 1 - x), the area of a triangle.
answer = 1 / 4
grade(1, answer)

# %%
# *Exercise 2.* Write a function ``score(eta)`` that returns the score with the
# least expected exponential loss, if the label is 1 with probability eta and -1
# with probability 1 - eta.


# Solution: the derivative -eta e^(-a) + (1 - eta) e^a is 0 there.
def score(eta):
    return 0.5 * np.log(eta / (1 - eta))


grade(2, score)

# %%
# *Exercise 3.* Trees have the variance 1 and the correlation 0.3. How many of
# them have an average with a variance of at most 0.31?

# Solution: the variance of the average is 0.3 + 0.7 / B.
answer = round(0.7 / 0.01)
grade(3, answer)
