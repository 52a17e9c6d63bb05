r"""
Bach: ensemble learning
=======================

Chapter 10 of F. Bach, *Learning Theory from First Principles*, has three parts:
averages of fits to resampled rows (10.1), to random combinations of rows or of
variables (10.2), and boosting (10.3). This page has its sections in order. The
exercises have :ref:`a page of their own
<sphx_glr_auto_lectures_plot_bach_exercises.py>`, and formulas that are
misprinted in the chapter are listed in the :doc:`errata </errata>`.
"""

# %%
# 10.1.1 Independent data sets
# ----------------------------
# The average of m independent fits has the bias of one fit and the m-th part of
# its variance. So its best member is less regular. For N rows in m blocks, each
# with k neighbours, the variance depends on K = m k and the bias on k m/N =
# K/N. All m are therefore equally good at the same K, as long as k is at least
# 1. The bound,
# :func:`~sklearn_ensemble_theory.bounds.independent_neighbors_risk_bound`, has
# the same symmetry; it is far above the error because it holds for the worst
# Lipschitz function.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from sklearn_ensemble_theory import DivideAndConquerRegressor, bounds

N = 1024
rng = np.random.default_rng(0)


def mean_of(X):
    return np.abs(X[:, 0] - 0.5)  # Lipschitz with B = 1


def error_of_blocks(m, k, repetitions=6):
    errors = []
    for seed in range(repetitions):
        X, x = rng.random((N, 2)), rng.random((200, 2))
        y = mean_of(X) + 0.5 * rng.standard_normal(N)
        model = DivideAndConquerRegressor(
            KNeighborsRegressor(k), m, random_state=seed
        )
        errors.append(np.mean((model.fit(X, y).predict(x) - mean_of(x)) ** 2))
    return np.mean(errors)


constants = {"lipschitz": 1.0, "diameter": np.sqrt(2), "noise_variance": 0.25}
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
for number, m in enumerate([1, 4, 16]):
    k = 2 ** np.arange(0 if m > 1 else 1, 8 - 2 * number)
    color = f"C{number}"
    errors = [error_of_blocks(m, int(size)) for size in k]
    left.loglog(m * k, errors, "o-", ms=4, color=color, label=f"m = {m}")
K = 2 ** np.arange(1, 8)
bound = [
    bounds.independent_neighbors_risk_bound(N, int(size), 2, **constants)
    for size in K
]
left.loglog(K, bound, "k--", lw=1, label="bound, any m")
left.loglog(K, 0.25 / K, color="0.5", ls=":", label="its variance, 0.25/K")
left.set(
    xlabel="neighbours of all blocks, K = m k",
    ylabel="excess risk",
    title="k-NN in m blocks",
)
left.set_ylim(1e-3, 60)
left.legend(fontsize=9, loc="upper left")

# Ridge regression on m independent data sets of 100 rows, with eigenvalues
# 1/j².
j = np.arange(1, 201)
eigenvalues, coefficients = 1 / j**2, 0.78 / j**2
penalties = np.geomspace(1e-5, 1, 200)
for number, m in enumerate([1, 10, 100]):
    risk = bounds.averaged_ridge_risk(
        eigenvalues, coefficients, penalties, 100, m
    )
    above = bounds.averaged_ridge_risk_bound(
        100, penalties, m, eigenvalue_decay=2
    )
    right.loglog(penalties, risk, color=f"C{number}", label=f"m = {m}")
    right.loglog(penalties, above, color=f"C{number}", ls="--", lw=1)
    right.plot(penalties[risk.argmin()], risk.min(), "o", color=f"C{number}")
right.plot([], [], "k--", lw=1, label="bounds")
right.set(
    xlabel="penalty",
    ylabel="excess risk",
    title="ridge regression on m data sets",
)
right.set_ylim(1e-3, 10)
right.legend(fontsize=9)
plt.show()
for m in (1, 10, 50):
    k = bounds.independent_neighbors_optimal_n_neighbors(10**6 // m, 2, m)
    print(f"a million rows, m = {m:2}: the bound is least at k = {k}")

# %%
# 10.1.2 Bagging
# --------------
# A replication is a fit with random weights of the rows; their law is
# `bootstrap` of :class:`~sklearn_ensemble_theory.BaggingRegressor`. If it takes
# s of the n rows, the nearest neighbour in it is the i-th nearest row with a
# probability :math:`V_i` that does not depend on x. So infinitely many
# replications are one weighted mean:
# :class:`~sklearn_ensemble_theory.BaggedNearestNeighborsRegressor` computes it.
# The panels are figure 10.1, m = 20 subsamples for six ratios n/s, with the
# limit for comparison. The plain nearest neighbour (n/s = 1) has the noise of
# one target; then the variance falls, and from n/s = 20 on the bias is visible.
from sklearn_ensemble_theory import (
    BaggedNearestNeighborsRegressor,
    BaggingRegressor,
)
from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights
from sklearn_ensemble_theory.datasets import make_sine_regression

n = 200
X, y = make_sine_regression(n, random_state=0)
X_test, y_test = make_sine_regression(2_000, random_state=1)
grid = np.linspace(0, 1, 1_000)[:, None]
figure, axes = plt.subplots(
    2, 3, figsize=(12, 7), sharex=True, sharey=True, layout="constrained"
)
for axis, ratio in zip(axes.flat, [1, 2, 5, 10, 20, 50]):
    s, one = n // ratio, KNeighborsRegressor(1)
    drawn = BaggingRegressor(
        one, 20, max_samples=s, bootstrap=False, random_state=0
    ).fit(X, y)
    limit = BaggedNearestNeighborsRegressor(max_samples=s).fit(X, y)
    axis.plot(X, y, ".", color="0.75", ms=4, label="training rows")
    axis.plot(grid, np.sin(3 * np.pi * grid), "k--", lw=1, label="mean of y")
    axis.plot(grid, drawn.predict(grid), color="C0", lw=1, label="m = 20")
    axis.plot(grid, limit.predict(grid), color="C3", lw=1.5, label="m = ∞")
    errors = [
        np.mean((model.predict(X_test) - y_test) ** 2)
        for model in (drawn, limit)
    ]
    axis.set_title(
        f"n/s = {ratio}\ntest error {errors[0]:.3f} (20), {errors[1]:.3f} (∞)"
    )
for axis in axes[1]:
    axis.set_xlabel("x")
for axis in axes[:, 0]:
    axis.set_ylabel("y")
figure.legend(
    *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4
)
plt.show()

# %%
# The variance is :math:`\sigma^2 \sum_i V_i^2`, and its bound at most about
# twice as large while s is small compared with n. The risk adds at most
# :math:`4 B^2 \operatorname{diam}^2 s^{-2/d}`. Simulated at the centre of a
# square, for 400 rows and the distance from the centre as the mean, which is 0
# there:
sizes = np.array([2, 4, 8, 16, 32, 64, 128, 256, 400])
distance = np.sort(
    np.linalg.norm(rng.random((300, 400, 2)) - 0.5, axis=2), axis=1
)
y = distance + 0.5 * rng.standard_normal((300, 400))  # by rank of the distance
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
risk, exact, variance_bound, risk_bound = [], [], [], []
for s in sizes.tolist():
    V = bagged_nearest_neighbors_weights(400, s, weight_tol=0)
    if s in (4, 16, 64, 256):
        left.semilogy(np.arange(1, 41), V[:40], label=f"s = {s}")
    risk.append(np.mean((y[:, : len(V)] @ V) ** 2))
    exact.append(bounds.bagged_neighbors_variance(400, s, 0.25))
    variance_bound.append(bounds.bagged_neighbors_variance_bound(400, s, 0.25))
    risk_bound.append(
        bounds.bagged_neighbors_risk_bound(400, s, 2, **constants)
    )
left.set(
    xlabel="rank i",
    ylabel="weight $V_i$",
    ylim=(1e-5, 1.5),
    title="weights by rank",
)
left.legend(fontsize=9)
right.loglog(sizes, risk, "o-", ms=4, label="risk of 300 data sets")
right.loglog(sizes, exact, label="variance, exact")
right.loglog(sizes, variance_bound, "C1--", lw=1, label="variance, bound")
right.loglog(sizes, risk_bound, "C0--", lw=1, label="risk, bound")
right.set(
    xlabel="s",
    ylabel="squared error",
    title="variance and risk",
    ylim=(5e-4, 500),
)
right.legend(fontsize=9, loc="upper center")
plt.show()
best = bounds.bagged_neighbors_optimal_max_samples(400, 2, **constants)
print(f"the bound is least at s = {best}")
print(f"the simulated risk at s = {sizes[np.argmin(risk)]}")

# %%
# 10.2.1 Gaussian sketching
# -------------------------
# Least squares on S X and S y, with a Gaussian matrix S of s rows, is unbiased
# for least squares on all rows. What it adds to the variance is divided by the
# number m of sketches. The risk
# :func:`~sklearn_ensemble_theory.bounds.gaussian_sketch_risk` is exact; the
# dots are means over six fits of
# :class:`~sklearn_ensemble_theory.SketchedLinearRegression`, which has five
# other laws of S: with many zeros, of signs, or drawing rows.
from sklearn_ensemble_theory import SketchedLinearRegression

n, d = 200, 5
Phi = rng.standard_normal((n, d))
noise = rng.standard_normal((n, 400))  # 400 noises are the targets of one fit
members = np.array([1, 4, 16])
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for number, s in enumerate([10, 20, 50, 200]):
    risks = []
    for m in members.tolist():
        errors = []
        for seed in range(6):
            model = SketchedLinearRegression(
                m,
                sketch="gaussian",
                sketch_size=s,
                fit_intercept=False,
                random_state=seed,
            )
            errors.append(np.mean(model.fit(Phi, noise).predict(Phi) ** 2))
        risks.append(np.mean(errors) / np.mean(noise**2))
    exact = [bounds.gaussian_sketch_risk(n, d, s, m) for m in members.tolist()]
    axis.loglog(members, exact, color=f"C{number}", label=f"s = {s}")
    axis.loglog(members, risks, "o", color=f"C{number}", ms=4)
axis.axhline(d / n, color="k", ls=":", label="least squares")
axis.plot([], [], "ko", ms=4, label="simulated")
axis.set(
    xlabel="number m of sketches",
    ylabel="excess risk",
    title="200 rows, 5 variables",
)
axis.legend(fontsize=9)
plt.show()
for s in (10, 20, 50, 200):
    m = bounds.gaussian_sketch_n_estimators(n, d, s)
    print(f"s = {s}: at most twice the risk of least squares from m = {m} on")

# %%
# 10.2.2 Random projections
# -------------------------
# Figure 10.2: all 231 monomials of degree at most 2 in 20 variables, the
# constant among them, and n = 100 rows. The design is fixed, and the curves are
# means over 100 noises and projections. One projection (m = 1) has a large
# variance. With m = 100 its best error is that of ridge regression. The dashed
# lines are the exact risk from the expected projection Δ,
# :func:`~sklearn_ensemble_theory.bounds.averaged_projection_risk`.
from sklearn.linear_model import Ridge
from sklearn.preprocessing import PolynomialFeatures

from sklearn_ensemble_theory import RandomProjectionRegressor
from sklearn_ensemble_theory.datasets import make_polynomial

n, sigma = 100, 1.0
inputs, _, mean = make_polynomial(
    n, 20, degree=2, return_mean=True, random_state=0
)
Phi = PolynomialFeatures(2).fit_transform(inputs)
print("rows and monomials:", Phi.shape)


def errors(model, n_fits=1):
    """Training and test error over 100 noises, which share `n_fits` fits."""
    train, test = [], []
    for seed in range(n_fits):
        Y = mean[:, None] + sigma * rng.standard_normal((n, 100 // n_fits))
        if n_fits > 1:
            model.set_params(random_state=seed)
        fitted = model.fit(Phi, Y).predict(Phi)
        train.append(np.mean((Y - fitted) ** 2))
        test.append(np.mean((mean[:, None] - fitted) ** 2) + sigma**2)
    return np.mean(train), np.mean(test)


alphas = np.geomspace(1e-2, 1e4, 25)
sizes = np.array([1, 2, 4, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 95])
figure, axes = plt.subplots(
    2, 2, figsize=(9, 7), sharey=True, layout="constrained"
)
train, test = np.array(
    [errors(Ridge(alpha, fit_intercept=False)) for alpha in alphas]
).T
axes[0, 0].semilogx(1 / alphas, train, label="training")
axes[0, 0].semilogx(1 / alphas, test, label="test")
axes[0, 0].set(
    title=f"ridge regression, best {test.min():.2f}", xlabel="1 / penalty"
)
expected = []
for s in sizes.tolist():
    model = RandomProjectionRegressor(
        n_components=s, fit_intercept=False, random_state=0
    )
    expected.append(model.expected_projection(Phi, 150))
exact = {
    m: [one.risk(mean, sigma, m) for one in expected] for m in (1, 10, 100)
}
for axis, m in zip(axes.flat[1:], exact):
    results = []
    for s in sizes.tolist():
        model = RandomProjectionRegressor(
            m, n_components=s, fit_intercept=False, random_state=0
        )
        results.append(errors(model, n_fits=100 // m if m < 100 else 5))
    train, test = np.array(results).T
    axis.plot(sizes, train, label="training")
    axis.plot(sizes, test, label="test")
    axis.plot(
        sizes, np.add(exact[m], sigma**2), "k--", lw=1, label="test, exact"
    )
    axis.set(
        title=f"m = {m} projections, best {test.min():.2f}",
        xlabel="s",
        xscale="log",
    )
for axis in axes[:, 0]:
    axis.set(ylabel="mean squared error", ylim=(0, 2.3))
axes[0, 1].legend()
plt.show()

# %%
# The bound (10.1) needs the trace of :math:`\Phi^\top\Phi` and the norm of θ
# only. The bound with both moments of S, from which it is derived, is closer:
# these are the risks of the last figure. In m the risk falls as a + b/m, so
# that ten projections remove nine tenths of b.
theta = np.linalg.pinv(Phi) @ mean
gram = Phi.T @ Phi
by_trace, by_moments = [], []
for s in sizes.tolist():
    by_trace.append(
        bounds.projection_risk_bound(n, s, np.trace(gram), theta @ theta)
    )
    moments = bounds.projection_moments(gram, s)
    by_moments.append(
        s / n + bounds.projection_bias_bound(gram, theta, *moments, n)
    )
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
left.loglog(sizes, exact[1], label="m = 1, exact")
left.loglog(sizes, exact[100], label="m = 100, exact")
left.loglog(sizes, by_moments, "k-.", lw=1, label="bound by two moments")
left.loglog(sizes, by_trace, "k--", lw=1, label="bound (10.1)")
left.set(xlabel="s", ylabel="excess risk", title="the bounds hold for every m")
left.legend()
members = np.array([1, 2, 3, 5, 10, 20, 50, 100])
for number, s in enumerate([10, 20, 40]):
    one = expected[sizes.tolist().index(s)]
    risks = [one.risk(mean, sigma, m) for m in members]
    right.semilogx(members, risks, "o-", ms=4, label=f"s = {s}")
    right.axhline(
        one.risk(mean, sigma, np.inf), color=f"C{number}", lw=0.8, ls=":"
    )
right.set(xlabel="m", ylabel="excess risk", title="the number of projections")
right.legend()
plt.show()

# %%
# For a kernel, the columns of :math:`\Phi S` are random features:
# `projection="fourier"` draws cosines for the Gaussian kernel, which are
# bounded by :math:`R = \sqrt2`. The printed bound on their risk has slips.
# :func:`~sklearn_ensemble_theory.bounds.random_features_bound` is the corrected
# bound, compared here with the risk for a mean of norm 1.
from sklearn.metrics.pairwise import rbf_kernel

X = rng.standard_normal((n, 2))
kernel = rbf_kernel(X, gamma=0.5)
alpha = rng.standard_normal(n)
alpha /= np.sqrt(alpha @ kernel @ alpha)
mean = kernel @ alpha  # y*'K⁻¹y* = 1
sizes = np.array([1, 2, 4, 8, 16, 32, 64])
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for m in (1, 10, 100):
    risk = []
    for s in sizes.tolist():
        model = RandomProjectionRegressor(
            n_components=s,
            projection="fourier",
            gamma=0.5,
            fit_intercept=False,
            random_state=0,
        )
        risk.append(model.expected_projection(X, 200).risk(mean, 0.2, m))
    axis.loglog(sizes, risk, "o-", ms=4, label=f"m = {m}")
bound = [
    bounds.random_features_bound(n, s, 2.0, 1.0, 0.04) for s in sizes.tolist()
]
axis.loglog(sizes, bound, "k--", lw=1, label="bound")
axis.set(
    xlabel="number s of cosines", ylabel="excess risk", title="random features"
)
axis.legend()
plt.show()

# %%
# *Random forests* take random rows for each tree and random variables for each
# node. Fewer variables at a node make each tree worse, and the trees less
# alike: their vote is better.
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_ensemble_theory import RandomForestClassifier

X, X_new, y, y_new = train_test_split(
    *load_digits(return_X_y=True), random_state=0
)
for number in (64, 16, 4):
    forest = RandomForestClassifier(
        60, max_features=number, random_state=0
    ).fit(X, y)
    trees = [
        np.mean(tree.predict(X_new) != y_new) for tree in forest.estimators_
    ]
    print(
        f"{number:2} of 64 variables: error of a tree {np.mean(trees):.3f}, "
        f"of the forest {np.mean(forest.predict(X_new) != y_new):.3f}"
    )

# %%
# *Lemma 10.1* of Johnson and Lindenstrauss: with :math:`s \ge 6
# \log(n^2/\delta)/\varepsilon^2` all distances between n points are kept up to
# a factor 1 ± ε. The tail of the lemma (black), the Chernoff bound before it is
# simplified (blue), and the share of 200 projections that fail:
n, eps, delta = 20, 0.4, 0.1
points = rng.standard_normal((n, 30))
sizes = np.array([10, 20, 40, 60, 80, 120, 160, 200, 312])
failures = []
for s in sizes.tolist():
    projections = rng.standard_normal((200, 30, s)) / np.sqrt(s)
    distortions = [
        bounds.johnson_lindenstrauss_distortion(points, points @ S)
        for S in projections
    ]
    failures.append(np.mean(np.array(distortions) > eps))
s = bounds.johnson_lindenstrauss_dimension(n, eps=eps, delta=delta)
line = np.arange(10, 400)
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
axis.plot(sizes, failures, "o", color="C3", label="200 projections")
tail = bounds.johnson_lindenstrauss_tail_bound(line, eps, n_samples=n)
axis.plot(line[tail < 1], tail[tail < 1], label="Chernoff")
axis.plot(
    line, n**2 * np.exp(-line * eps**2 / 6), "k--", lw=1, label="lemma 10.1"
)
axis.axvline(s, color="0.5", ls=":", label=f"s = {s} of the lemma")
axis.axhline(delta, color="0.5", lw=0.8)
axis.text(15, delta + 0.015, "δ = 0.1", color="0.3")
axis.set(xlabel="s", ylabel="probability of a failure", ylim=(0, 1.02))
axis.set_title("some distance of 20 points changes by more than 40 %")
axis.legend()
plt.show()

# %%
# 10.3.1 Boosting: the set-up
# ---------------------------
# Boosting combines functions φ(w, ·) that are the best for given weights of the
# rows. On the rows they are vectors ψ(w), and the size of a combination is the
# gauge γ of their hull: the least sum of absolute coefficients.
# :func:`~sklearn_ensemble_theory.bounds.gauge` finds it by linear programming,
# together with a vector g that proves it. A weak learner maximises the polar
# gauge γ°.
from scipy.spatial import ConvexHull

atoms = np.array([[1.0, 0.3, -0.5, 0.6], [0.2, 1.0, 0.9, 0.65]])
u = np.array([1.2, 1.3])
found = bounds.gauge(atoms, u)
hull = np.hstack([atoms, -atoms]).T
corners = hull[ConvexHull(hull).vertices]
corners = np.vstack([corners, corners[:1]])
figure, axis = plt.subplots(figsize=(7.4, 4.2), layout="constrained")
axis.plot(*corners.T, color="C0", label=r"$\gamma = 1$")
axis.plot(
    *(found.value * corners).T,
    "C0--",
    lw=1,
    label=rf"$\gamma = {found.value:.2f}$",
)
axis.plot(*hull.T, "C0o", ms=5, label=r"atoms $\pm\psi(w)$")
axis.plot(*u, "C3s", label="u")
direction = np.array(
    [-found.certificate[1], found.certificate[0]]
) / np.linalg.norm(found.certificate)
axis.plot(
    *(u + np.outer([-1.4, 0.9], direction)).T,
    color="C3",
    lw=1,
    label=r"$g^\top v = \gamma(u)$, $\gamma^\circ(g) = 1$",
)
axis.set(
    xlabel="$v_1$",
    ylabel="$v_2$",
    aspect="equal",
    xlim=(-2.3, 2.3),
    ylim=(-2.2, 2.2),
)
figure.legend(loc="outside right upper")
plt.show()
print(
    "coefficients:",
    found.coefficients.round(3) + 0.0,
    "sum",
    round(found.value, 3),
)
print(
    "g'u:",
    round(found.certificate @ u, 3),
    " polar gauge of g:",
    bounds.polar_gauge(atoms, found.certificate),
)

# %%
# 10.3.2 Incremental learning
# ---------------------------
# The simplest boosting chooses b and w together such that the risk falls most,
# (10.6). With `step="joint"` stumps do that exactly for any loss. The cheaper
# `step="line_search"` chooses w by the gradient, and then b.
from sklearn.datasets import load_breast_cancer

from sklearn_ensemble_theory import (
    DecisionStumpRegressor,
    GradientBoostingClassifier,
)

X, labels = load_breast_cancer(return_X_y=True)
for step in ("joint", "line_search"):
    model = GradientBoostingClassifier(
        DecisionStumpRegressor(),
        step=step,
        learning_rate=1.0,
        init="zero",
        n_estimators=20,
    ).fit(X, labels)
    print(
        f"{step:>11}: risk after 1, 5, 20 rounds",
        model.train_scores_[[0, 4, 19]].round(4),
    )

# %%
# 10.3.3 Matching pursuit
# -----------------------
# For the squared loss (10.6) is matching pursuit: the column with the largest
# correlation with the residuals, and its coefficient. The mean squared residual
# is at most :math:`\gamma(y)^2 t^{-1/3}` for any columns (in fact the exponent
# is 0.3656), and at most :math:`(1-\kappa^2)^t` times the first one if they
# span. With the span re-fitted in each round (orthogonal pursuit) it is at most
# :math:`\gamma(y)^2/t`. A run on 8 columns in 8 dimensions:
from sklearn_ensemble_theory import MatchingPursuitRegressor

rng = np.random.default_rng(1)
Psi = np.eye(8) + 0.25 * rng.standard_normal((8, 8))
Psi /= np.sqrt(np.mean(Psi**2, axis=0))
y = rng.standard_normal(8)
y /= np.sqrt(np.mean(y**2))
gamma, kappa = (
    bounds.gauge(Psi, y).value,
    bounds.matching_pursuit_kappa(Psi.T @ Psi / 8),
)
t = np.arange(1, 301)
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for number, variant in enumerate(["plain", "orthogonal"]):
    model = MatchingPursuitRegressor(
        300, variant=variant, fit_intercept=False
    ).fit(Psi, y)
    residuals = model.residual_norms_[1:] ** 2
    kept = residuals > 1e-12
    axis.loglog(
        t[: len(residuals)][kept],
        residuals[kept],
        color=f"C{number}",
        label=variant,
    )
axis.loglog(
    t,
    bounds.matching_pursuit_bound(t, gamma),
    "C0--",
    lw=1,
    label=r"$1.03\,\gamma^2 (1+3t)^{-0.37}$",
)
axis.loglog(
    t,
    bounds.orthogonal_matching_pursuit_bound(t, gamma),
    "C1--",
    lw=1,
    label=r"$\gamma^2/(1+t)$, orthogonal",
)
axis.loglog(t, (1 - kappa**2) ** t, "C0:", label=r"$(1-\kappa^2)^t$")
axis.set(xlabel="round t", ylabel="mean squared residual", ylim=(1e-5, 60))
axis.set_title(
    rf"matching pursuit: $\gamma(y) = {gamma:.2f}$, $\kappa = {kappa:.3f}$"
)
axis.legend(fontsize=9)
plt.show()

# %%
# 10.3.4 AdaBoost
# ---------------
# With the exponential loss and votes ±1 the best step is
# :math:`\frac12\log\frac{1+e}{1-e}` for the edge :math:`e = \sum_i y_i
# \psi(w)_i \pi_i`, and the round multiplies the risk by :math:`\sqrt{1-e^2}`.
# The chapter prints :math:`1 - e^2`: the dotted line, far below the risk.
from sklearn_ensemble_theory import AdaBoostClassifier

model = AdaBoostClassifier(n_estimators=60).fit(X, labels)
e = 2 * model.edges_  # edges_ are 1/2 - error
rounds = np.arange(1, 61)
training = 1 - np.array(list(model.staged_score(X, labels)))
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
axis.semilogy(
    rounds, model.training_error_bounds_, label="exponential risk of the fit"
)
axis.semilogy(
    rounds,
    np.cumprod(np.sqrt(1 - e**2)),
    "k--",
    lw=1,
    label="product of √(1 - e²)",
)
axis.semilogy(
    rounds, np.cumprod(1 - e**2), "k:", label="product of 1 - e², as printed"
)
axis.semilogy(
    rounds,
    np.where(training > 0, training, np.nan),
    "C3.",
    ms=4,
    label="training error",
)
axis.set(
    xlabel="round",
    ylabel="risk",
    title="AdaBoost of stumps, breast cancer data",
)
axis.legend(fontsize=9)
plt.show()

# %%
# If the columns span, every edge is at least κ, and the risk at most
# :math:`(1-\kappa^2)^{t/2}`. For orthogonal columns the first round attains
# this.
H = np.kron([[1, 1], [1, -1]], [[1, 1], [1, -1]])
kappa = bounds.matching_pursuit_kappa(H.T @ H / 4)
runs = (
    AdaBoostClassifier(n_estimators=5)
    .fit(H, [1, 1, 1, -1])
    .training_error_bounds_
)
print("risk: ", runs.round(4))
print("bound:", bounds.adaboost_kappa_bound(np.arange(1, 6), kappa).round(4))

# %%
# 10.3.5 Greedy boosting: proposition 10.1
# ----------------------------------------
# For a smooth loss the greedy step (10.9) has the length
# :math:`-F'(u)^\top\psi(w)/(LC^2)`. After t rounds the risk is within
# :math:`(2LC^2\gamma^2\Delta_0^4/t)^{1/5}` of that of any v, and the gauge of
# the scores is at most :math:`\sqrt{2t F(0)/(LC^2)}`. Gradient descent over the
# same functions has :math:`L\lVert u_*\rVert^2/(2t)`. A run with the logistic
# loss and 20 columns:
from scipy.special import expit

from sklearn_ensemble_theory import BestColumnRegressor
from sklearn_ensemble_theory.boosting.losses import LogisticLoss
from sklearn_ensemble_theory.boosting.steps import SmoothStep

n, d, T = 200, 20, 1000
Psi = rng.uniform(-1, 1, (n, d))
labels = np.where(
    rng.random(n) < expit(3 * Psi[:, 0] - 2 * Psi[:, 1]), 1.0, -1.0
)
R = np.sqrt(np.mean(Psi**2, axis=0)).max()  # C = R √n
greedy = GradientBoostingClassifier(
    BestColumnRegressor("inner_product", fit_intercept=False),
    step=SmoothStep(output_bound=R),
    learning_rate=1.0,
    init="zero",
    n_estimators=T,
).fit(Psi, labels)
loss, curvature, t = LogisticLoss(), R**2 / 4, np.arange(1, T + 1)

# Gradient descent in the span of the columns, with the step 1/L = 4 n; and the
# minimum.
span, u, descent = np.linalg.qr(Psi)[0], np.zeros(n), []
for _ in range(20_000):
    u = u + span @ (span.T @ (4 * labels * expit(-labels * u)))
    descent.append(loss.risk(labels, u))
least, gamma = descent[-1], bounds.gauge(Psi, u).value

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
left.loglog(t, greedy.train_scores_ - least, label="greedy boosting")
left.loglog(t, np.array(descent[:T]) - least, label="gradient descent")
left.loglog(
    t,
    bounds.greedy_boosting_bound(t, curvature, gamma, np.log(2) - least),
    "C0--",
    lw=1,
    label="proposition 10.1",
)
left.loglog(
    t,
    bounds.gradient_descent_bound(t, 1 / (4 * n), np.linalg.norm(u)),
    "C1--",
    lw=1,
    label="gradient descent, bound",
)
left.set(
    xlabel="rounds", ylabel=r"$F(u_t) - F(u_*)$", ylim=(1e-9, 10), title="risk"
)
left.legend(fontsize=9)
some = np.unique(np.geomspace(1, T, 15).astype(int))
scores = list(greedy.staged_decision_function(Psi))
norms = [bounds.gauge(Psi, scores[number - 1]).value for number in some]
fall = np.log(2) - greedy.train_scores_[some - 1]
right.loglog(some, norms, "o-", ms=4, label=r"$\gamma(u)$")
right.loglog(
    some,
    bounds.greedy_boosting_gauge_bound(some, curvature, fall),
    "C0--",
    lw=1,
    label="proposition 10.1",
)
right.axhline(gamma, color="0.5", ls=":", label=r"$\gamma(u_*)$")
right.set(
    xlabel="rounds",
    ylabel="gauge of the scores",
    title="size of the combination",
)
right.set_yticks([2, 5, 10, 20, 50], [2, 5, 10, 20, 50])
right.minorticks_off()
right.legend(fontsize=9)
plt.show()

# %%
# 10.3.6 Expected risk: proposition 10.2
# --------------------------------------
# Few rounds fit badly, many rounds have a large gauge and generalise badly. The
# sum of the two estimates is (10.16). Here f is the true model with
# :math:`\gamma_1(f) = 2.5`, ρ is simulated, and the mean of 30 runs is shown.
# The bound is least after
# :func:`~sklearn_ensemble_theory.bounds.greedy_boosting_best_n_rounds` rounds,
# and there decreases as :math:`n^{-1/7}` for large n. The excess of the runs is
# far below, and falls faster.
theta = np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.0])


def sample(n):
    X = rng.uniform(-1, 1, (n, 6))
    return X, np.where(rng.random(n) < expit(X @ theta), 1.0, -1.0)


X_new, y_new = sample(5_000)
best, T = loss.risk(y_new, X_new @ theta), 200
t = np.unique(np.geomspace(1, T, 25).astype(int))
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
excess, at_best = {}, []
sizes = [50, 200, 800, 3200]
for number, n in enumerate(sizes):
    paths = []
    for _ in range(30):
        X, y = sample(n)
        model = GradientBoostingClassifier(
            BestColumnRegressor("inner_product", fit_intercept=False),
            step=SmoothStep(output_bound=1.0),
            learning_rate=1.0,
            init="zero",
            n_estimators=T,
        ).fit(X, y)
        path = np.array(
            list(model.staged_decision_function(np.eye(6)))
        )  # the coefficients
        paths.append(
            [loss.risk(y_new, X_new @ path[number - 1]) - best for number in t]
        )
    excess[n] = np.mean(paths, axis=0)
    signs = rng.choice([-1.0, 1.0], (2000, n))
    rho = np.abs(signs @ X).max(axis=1).mean() / np.sqrt(n)
    if n in (200, 3200):
        bound = bounds.greedy_boosting_risk_bound(t, n, 2.5, rademacher=rho)
        left.loglog(t, excess[n], color=f"C{number}", label=f"n = {n}")
        left.loglog(t, bound, color=f"C{number}", ls="--", lw=1)
    t_best = bounds.greedy_boosting_best_n_rounds(n, 2.5, rademacher=rho)
    at_best.append(
        bounds.greedy_boosting_risk_bound(t_best, n, 2.5, rademacher=rho)
    )
left.plot([], [], "k--", lw=1, label="(10.16)")
left.set(xlabel="rounds t", ylabel="E R(g) - R(f)", title="along the rounds")
left.legend()
right.loglog(sizes, at_best, "k--", lw=1, label="(10.16) at its best t")
right.loglog(
    sizes,
    [excess[n].min() for n in sizes],
    "o-",
    ms=4,
    label="runs at the best t",
)
right.set(
    xlabel="rows n",
    ylabel="E R(g) - R(f)",
    title="at the best number of rounds",
)
right.legend()
plt.show()

# %%
# *Compared with a constraint, and with gradient descent.* The logistic risk on
# new rows, for 200 rows and 200 variables of which three matter (left) or all
# (right), along the rounds. Boosting prefers small γ, the l1 norm of the
# coefficients: it is the better one for a sparse signal. Gradient descent, with
# steps of 0.1/L, prefers a small l2 norm and is the better one for the dense
# signal. The dotted line is the least risk of
# :class:`~sklearn_ensemble_theory.FrankWolfeClassifier` over seven radii.
from sklearn_ensemble_theory import FrankWolfeClassifier

n, d, T = 200, 200, 600
sparse = np.r_[2.0, -2.0, 1.5, np.zeros(d - 3)]
dense = rng.standard_normal(d)
dense *= np.linalg.norm(sparse) / np.linalg.norm(dense)
figure, axes = plt.subplots(
    1, 2, figsize=(11, 4), sharey=True, layout="constrained"
)
for axis, theta, name in zip(axes, (sparse, dense), ("sparse", "dense")):
    X, X_new = rng.standard_normal((n, d)), rng.standard_normal((5000, d))
    y, y_new = (
        np.where(rng.random(len(Z)) < expit(Z @ theta), 1.0, -1.0)
        for Z in (X, X_new)
    )
    model = GradientBoostingClassifier(
        BestColumnRegressor("inner_product", fit_intercept=False),
        step=SmoothStep(np.sqrt(np.mean(X**2, axis=0)).max()),
        learning_rate=1.0,
        init="zero",
        n_estimators=T,
    ).fit(X, y)
    boosted = [
        loss.risk(y_new, scores)
        for scores in model.staged_decision_function(X_new)
    ]
    coef, length, descent = np.zeros(d), 0.4 * n / np.linalg.norm(X, 2) ** 2, []
    for _ in range(T):
        coef = coef + length * X.T @ (y * expit(-y * (X @ coef))) / n
        descent.append(loss.risk(y_new, X_new @ coef))
    in_balls = []
    for radius in np.geomspace(0.5, 8, 7):
        ball = FrankWolfeClassifier(
            BestColumnRegressor("inner_product", fit_intercept=False),
            radius=radius,
            fit_intercept=False,
            n_estimators=200,
        )
        in_balls.append(
            loss.risk(y_new, ball.fit(X, y).decision_function(X_new))
        )
    for path, label in (
        (boosted, "greedy boosting"),
        (descent, "gradient descent"),
    ):
        line = axis.semilogx(np.arange(1, len(path) + 1), path, label=label)[0]
        axis.plot(np.argmin(path) + 1, min(path), "o", color=line.get_color())
        best = np.argmin(path)
        print(f"{name}: {label} {path[best]:.3f} after {best + 1} rounds")
    print(f"{name}: best ball {min(in_balls):.3f}")
    axis.axhline(
        min(in_balls), color="C2", ls=":", label="Frank-Wolfe, best radius"
    )
    axis.set(xlabel="rounds", title=f"{name} signal", ylim=(0.3, 0.9))
axes[0].set_ylabel("risk on new rows")
axes[0].legend()
plt.show()

# %%
# 10.3.7 Experiments
# ------------------
# Figure 10.3: matching pursuit with 100 rows of 1,000 Gaussian columns, of
# which five have the coefficient ±1; below, the same data after a rotation,
# which has no sparse solution. The training error decreases exponentially in
# both. After the rotation the test error is best without a single round; with
# the sparse signal the five columns (green) come first.
n, d, T, noise = 100, 1000, 150, 0.5
rng = np.random.default_rng(0)
beta = np.zeros(d)
beta[rng.choice(d, 5, replace=False)] = rng.choice([-1.0, 1.0], 5)
X = rng.standard_normal((n + 1000, d))
y = X @ beta + noise * rng.standard_normal(len(X))
Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
figure, axes = plt.subplots(
    2, 2, figsize=(9, 6.4), layout="constrained", sharex=True
)
for (left, right), columns, signal, name in zip(
    axes,
    (X, X @ Q),
    (beta, Q.T @ beta),
    ("sparse solution", "the same data, rotated"),
):
    model = MatchingPursuitRegressor(T, fit_intercept=False).fit(
        columns[:n], y[:n]
    )
    path, large = model.coef_path_, np.abs(signal) > 0.5
    test = np.mean((y[n:, None] - columns[n:] @ path.T) ** 2, axis=0)
    left.semilogy(model.residual_norms_**2, label="training")
    left.semilogy(test, label="test")
    left.plot(np.argmin(test), test.min(), "o", color="C1", mfc="none")
    left.axhline(noise**2, color="grey", lw=0.8, label="noise")
    left.set(ylabel="mean squared error", title=name)
    left.legend()
    right.plot(path[:, ~large], color="grey", lw=0.5)
    right.plot(path[:, large], color="C2", lw=1.5)
    right.set(
        ylabel="weights",
        title=f"{np.count_nonzero(path[-1])} columns in the end",
    )
    print(
        f"{name}: best after {np.argmin(test)} rounds, {test.min():.2f}; "
        f"at the end {test[-1]:.2f}"
    )
for axis in axes[1]:
    axis.set_xlabel("rounds")
plt.show()

# %%
# Exercises
# ---------
# In the notebook, assign your answer and call ``grade(1, answer)``. The grade
# comes by a route that is not the one of the solution. Each solution is hidden
# until you open it.
from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights


def grade(exercise, answer):
    """Say whether the answer to an exercise is right."""
    right = CHECKS[exercise](answer)
    print(f"Exercise {exercise}: {'right' if right else 'not yet'}")


def needs_so_many_sketches(m):
    risks = [bounds.gaussian_sketch_risk(1000, 10, 31, k) for k in (m, m + 1)]
    before = (
        np.inf if m == 1 else bounds.gaussian_sketch_risk(1000, 10, 31, m - 1)
    )
    return risks[0] <= 0.015 + 1e-12 < before


def has_half_of_the_weight(k):
    shares = np.cumsum(bagged_nearest_neighbors_weights(50, 10))
    return k == 1 + np.searchsorted(shares, 0.5)


def is_a_round_of_pursuit(step):
    rng = np.random.default_rng(0)
    psi, (u, y) = rng.standard_normal((20, 8)), rng.standard_normal((2, 20))
    psi *= np.sqrt(20) / np.linalg.norm(psi, axis=0)
    columns = [psi[:, [j]] for j in range(8)]
    fits = [
        np.linalg.lstsq(column, y - u, rcond=None)[1][0] for column in columns
    ]
    return np.isclose(np.sum((y - step(u, psi, y)) ** 2), min(fits))


CHECKS = {
    1: needs_so_many_sketches,
    2: has_half_of_the_weight,
    3: is_a_round_of_pursuit,
}

# %%
# *Exercise 1.* Least squares on n = 1,000 rows and d = 10 variables is replaced
# by the average of fits to Gaussian sketches of s = 31 rows. How many sketches
# make the risk at most 1.5 times the risk of least squares?

# Solution: the risk is the risk of least squares times 1 + (n-d) / (m (s-d-1)).
answer = int(np.ceil((1000 - 10) / (0.5 * (31 - 10 - 1))))
grade(1, answer)

# %%
# *Exercise 2.* The nearest neighbour is bagged over subsamples of 10 of 50
# rows, without replacement. How many of the nearest rows are needed to carry
# half of the weight?

# Solution: the k nearest rows carry the probability that one of them is drawn.
drawn = 1 - np.cumprod([(40 - i) / (50 - i) for i in range(10)])
answer = 1 + int(np.argmax(drawn >= 0.5))
print(answer)
grade(2, answer)

# %%
# *Exercise 3.* Write a function ``step(u, psi, y)`` that makes a round of
# matching pursuit from u, for a matrix with columns of squared length n, and
# returns the new u.


# Solution: the column of the largest product with the residual.
def step(u, psi, y):
    products = psi.T @ (y - u) / len(y)
    j = np.argmax(np.abs(products))
    return u + products[j] * psi[:, j]


grade(3, step)
