"""
Dombry and Esstafa: boosting with vanishing learning rate
=========================================================

The paper is about boosting of a learner that is linear in y. It shows that
there is a limit as the learning rate tends to 0 and the number of rounds grows
with its inverse. The limit is a function of time, in closed form. This page has
the sections of the paper in order, each with the objects that compute it; the
last ones are the figures of its experiment.
"""

# %%
# 1 Introduction
# --------------
# Boosting starts from the mean of y, fits the learner to the residuals and adds
# a share :math:`\lambda` of that fit, again and again (2). Here it is as a
# loop; :class:`~sklearn_ensemble_theory.LinearL2BoostingRegressor` computes the
# same without one.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import (
    LinearL2BoostingRegressor,
    SmoothingSplineRegressor,
)
from sklearn_ensemble_theory.datasets import make_tent

X, y = make_tent(100, random_state=0)
spline = SmoothingSplineRegressor(df=5)
grid = np.linspace(-1, 1, 401)[:, None]


def tent(X):
    return 1 - np.abs(2 * np.abs(X[:, 0]) - 1)


rate, rounds = 0.5, 20
fitted, on_grid = np.full(100, y.mean()), np.full(401, y.mean())
for _ in range(rounds):
    learner = spline.fit(X, y - fitted)
    fitted += rate * learner.predict(X)
    on_grid += rate * learner.predict(grid)
model = LinearL2BoostingRegressor(
    spline, learning_rate=rate, time=rate * rounds
).fit(X, y)
difference = np.abs(model.predict(grid) - on_grid).max()
print(f"largest difference from the loop: {difference:.1e}")

# %%
# The manual of *gbm* advises a rate ten times smaller for ten times as many
# rounds. With the number of rounds times the rate kept at t = 1, the models
# have a limit (3), `learning_rate=0` here.
figure, axis = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
axis.plot(X, y, ".", color="0.75", label="the data")
for rate in [1.0, 0.5, 0.1, 0.01, 0.0]:
    model = LinearL2BoostingRegressor(spline, learning_rate=rate, time=1).fit(
        X, y
    )
    label = f"rate {rate:g}, m = {model.n_estimators_}" if rate else "the limit"
    axis.plot(grid, model.predict(grid), "-" if rate else "k--", label=label)
axis.set(
    xlabel="x",
    ylabel="y",
    title="the same time t = 1 at several learning rates",
)
axis.legend(fontsize="small", loc="lower center", ncols=2)
plt.show()

# %%
# 2 Boosting a linear learner
# ---------------------------
#
# 2.1 Framework
# ^^^^^^^^^^^^^
# A learner is linear (4) if its prediction is a sum of :math:`Y_j g_j(x)`,
# assumption 2.1; the functions :math:`g_j` are its fits to the unit vectors.
# Example 2.3 is the average by Nadaraya and Watson, example 2.4 the smoothing
# spline. They satisfy assumption 2.10, made later: the :math:`g_j` sum to 1,
# and so do the rows of the matrix :math:`S_{ij} = g_j(x_i)`.
from sklearn_ensemble_theory import NadarayaWatsonRegressor

kernel = NadarayaWatsonRegressor(bandwidth=0.1)
order = np.argsort(X[:, 0])
figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
for axis, learner, name in [
    (axes[0], kernel, "Nadaraya-Watson, bandwidth 0.1"),
    (axes[1], spline, "smoothing spline, 5 degrees of freedom"),
]:
    g = learner.fit(X, np.eye(100)).predict(grid)
    for j in order[[4, 30, 60, 95]]:
        line = axis.plot(
            grid, g[:, j], label=f"$g_j$ of $x_j$ = {X[j, 0]:.2f}"
        )[0]
        axis.axvline(X[j, 0], color=line.get_color(), lw=0.5, ls=":")
    axis.set(xlabel="x", ylabel="weight of $Y_j$", title=name)
axes[1].legend(fontsize="small")
plt.show()
S = spline.fit(X, np.eye(100)).predict(X)
print(f"rows of S sum to 1, within {np.abs(S.sum(axis=1) - 1).max():.0e}")
print(f"trace of S, the degrees of freedom: {np.trace(S):.4f}")

# %%
# Proposition 2.2: after m rounds the weights of the :math:`g_j` are
# :math:`S^{-1}[I - (I - \lambda S)^m]\tilde Y`, and there is a form without the
# inverse (7).
centred = y - y.mean()
rate, m = 0.5, 20
power = np.linalg.matrix_power(np.eye(100) - rate * S, m)
residuals = power @ centred
model = LinearL2BoostingRegressor(
    spline, learning_rate=rate, time=m * rate
).fit(X, y)
print(
    f"largest difference: {np.abs(y - model.predict(X) - residuals).max():.1e}"
)

# %%
# 2.2 The vanishing learning rate
# ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
# Proposition 2.5: the weights tend to :math:`w_t = S^{-1}(I - e^{-tS})\tilde
# Y`, uniformly for bounded times, at a distance of order :math:`\lambda`.
# :func:`~sklearn_ensemble_theory.bounds.vanishing_learning_rate_bound`
# is the bound of the proof, relative to the norm of the centred y.
from sklearn_ensemble_theory.bounds import vanishing_learning_rate_bound

mu, U = np.linalg.eigh((S + S.T) / 2)
mu, U = np.clip(mu[::-1], 1e-12, None), U[:, ::-1]


def weights(t, rate=0.0):
    """w of (7) or, at rate 0, of (11), by eigenvectors of S (corollary 2.6)."""
    left = (
        np.exp(-t * mu) if rate == 0 else (1 - rate * mu) ** np.floor(t / rate)
    )
    return U @ ((1 - left) / mu * (U.T @ centred))


# The distance is largest just before a round.
rates, horizon, largest = np.geomspace(0.001, 1, 10), 2.0, []
for rate in rates:
    before = rate * np.arange(1, horizon / rate + 1e-9) - 1e-6 * rate
    largest.append(
        max(np.linalg.norm(weights(t, rate) - weights(t)) for t in before)
    )
bound = vanishing_learning_rate_bound(horizon, rates, 1.0) * np.linalg.norm(
    centred
)
figure, axis = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
axis.loglog(rates, bound, "k--", label="bound")
axis.loglog(rates, largest, "o-", label="largest distance for t up to 2")
axis.set(
    xlabel="learning rate",
    ylabel="norm of the difference",
    title="weights and their limit",
)
axis.legend()
plt.show()

# %%
# Corollary 2.6 has the limit by eigenvalues and eigenvectors, which is how it
# was computed here. Theorem 2.7: the limit solves a linear differential
# equation, :math:`F_t' = \sum_i (Y_i - F_t(x_i)) g_i`, from any start
# :math:`Z_0`. SciPy solves it step by step.
from scipy.integrate import solve_ivp

limit = LinearL2BoostingRegressor(spline, learning_rate=0, time=3).fit(X, y)
solution = solve_ivp(
    lambda t, F: S @ (y - F), (0, 3), np.full(100, y.mean()), rtol=1e-9
)
difference = np.abs(solution.y[:, -1] - limit.predict(X)).max()
print(f"from the mean: difference {difference:.0e}")

from sklearn.linear_model import Ridge

other = LinearL2BoostingRegressor(
    spline, learning_rate=0, time=3, init=Ridge(0.1)
).fit(X, y)
start = Ridge(0.1).fit(X, y).predict(X)
solution = solve_ivp(lambda t, F: S @ (y - F), (0, 3), start, rtol=1e-9)
difference = np.abs(solution.y[:, -1] - other.predict(X)).max()
print(f"from a line:   difference {difference:.0e}")

# %%
# Remark 2.8 covers repeated points, which the estimator merges into their mean.
# Definition 2.9 and proposition 2.11 say when fitted values stay bounded for
# every y. No eigenvalue of S may have a negative real part, and eigenvalues on
# the imaginary axis must have Jordan blocks of size 1. See `is_stable_`. A
# uniform kernel fails, because its Fourier transform has negative parts.
import warnings

figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
times = np.linspace(0, 60, 121)
for shape, color in [("uniform", "tab:red"), ("gaussian", "tab:blue")]:
    learner = NadarayaWatsonRegressor(kernel=shape, bandwidth=0.3)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # it says that the learner is unstable
        model = LinearL2BoostingRegressor(learner, time=1).fit(X, y)
    label = f"{shape} kernel, {'' if model.is_stable_ else 'not '}stable"
    axes[0].plot(
        np.arange(1, 101),
        model.eigenvalues_.real,
        ".",
        color=color,
        label=label,
    )
    path = model.predict_path(X, times)
    axes[1].semilogy(
        times, np.linalg.norm(path, axis=0), color=color, label=label
    )
    print(f"{label}: smallest real part {model.eigenvalues_.real.min():z.3f}")
axes[0].axhline(0, color="0.7", lw=0.8)
axes[0].set(xlabel="index", ylabel="real part of the eigenvalue")
axes[1].set(xlabel="t", ylabel="norm of the fitted values")
axes[0].legend()
plt.show()

# %%
# 2.3 Training and test error
# ^^^^^^^^^^^^^^^^^^^^^^^^^^^
# The expected training error (proposition 2.12) and test error (proposition
# 2.13) are a squared bias, which decreases with time, and a variance.
# `bias_variance` has them for a known f; the points are means over 2,000 draws
# of the noise.
f, sigma = tent(X), 0.5
times = np.r_[0, np.geomspace(0.1, 1000, 60)]
few = times[1::6]
Y, Y_new = f[:, None] + sigma * np.random.default_rng(0).standard_normal(
    (2, 100, 2_000)
)


def simulated_errors(start, times):
    """Errors of boosting from the mean (1) or zero (0), over the draws of Y."""
    first = start * Y.mean(axis=0)
    for t in times:
        residual = U @ (np.exp(-t * mu)[:, None] * (U.T @ (Y - first)))
        yield np.mean(residual**2), np.mean((Y_new - Y + residual) ** 2)


expected = limit.bias_variance(tent, sigma, times)
train, test = np.transpose(list(simulated_errors(1, few)))
figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
axis.semilogx(
    times[1:], expected.bias2[1:], ":", color="tab:green", label="squared bias"
)
axis.semilogx(
    times[1:],
    expected.variance_test[1:],
    "r--",
    label="variance with the noise",
)
axis.semilogx(times[1:], expected.test[1:], "r", label="test error, the sum")
axis.semilogx(
    times[1:], expected.train[1:], color="tab:blue", label="training error"
)
axis.semilogx(few, train, "o", color="tab:blue", ms=4)
axis.semilogx(few, test, "ro", ms=4, label="2,000 draws")
axis.axhline(2 * sigma**2, color="0.6", lw=0.8, label=r"$2\sigma^2$")
axis.set(xlabel="t", ylabel="mean squared error", ylim=(0, 0.55))
axis.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()

# %%
# The rate at which the training error tends to 0 is twice the smallest
# eigenvalue, so small that the limit :math:`2\sigma^2` of the test error is far
# away. If f is constant there is no bias to lose, and the test error increases
# from the start. The paper does not exclude this case.
from sklearn_ensemble_theory.bounds import l2_boosting_decay_rate

decay = l2_boosting_decay_rate(np.diag(limit.eigenvalues_))
print(f"rate of the training error: {decay:.0e}")
print(
    "test error for f = 0:",
    limit.bias_variance(np.zeros(100), sigma, [0, 0.01, 0.1]).test,
)

# %%
# Remark 2.14 is about a start from zero. It is worse for the tents, whose mean
# is about 1/2, and better, early on by about :math:`\sigma^2/n`, where the mean
# of f is 0: the paper states otherwise, see the :doc:`errata </errata>`.
# Proposition 2.15 has the error at new points, which for this spline is nearly
# the same.
zero = LinearL2BoostingRegressor(
    spline, learning_rate=0, time=3, init="zero"
).fit(X, y)
new = limit.bias_variance(tent, sigma, times, X_new=grid).test_new
from_zero = zero.bias_variance(tent, sigma, times).test
simulated = [errors[1] for errors in simulated_errors(0, few)]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
axes[0].semilogx(times[1:], expected.test[1:], label="from the mean")
axes[0].semilogx(times[1:], from_zero[1:], label="from zero")
axes[0].semilogx(
    few,
    simulated,
    "o",
    color="tab:orange",
    ms=4,
    label="from zero, 2,000 draws",
)
axes[0].semilogx(
    times[1:], new[1:], "k--", lw=1, label="from the mean, at new points"
)
axes[0].set(
    xlabel="t",
    ylabel="expected test error",
    title="f with mean 1/2",
    ylim=(0.24, 0.6),
)
level = f - f.mean()
change = (
    zero.bias_variance(level, sigma, times).test
    - limit.bias_variance(level, sigma, times).test
)
axes[1].semilogx(times[1:], change[1:], color="tab:orange")
axes[1].axhline(-(sigma**2) / 100, color="0.6", ls=":", label=r"$-\sigma^2/n$")
axes[1].set(
    xlabel="t",
    ylabel="error from zero less that from the mean",
    title="f less its mean",
)
axes[0].legend(fontsize="small")
axes[1].legend()
plt.show()

# %%
# 3 Stochastic gradient boosting
# ------------------------------
#
# 3.1 Framework
# ^^^^^^^^^^^^^
# In every round a linear learner is drawn at random (19), assumption 3.1.
# Example 3.2 fits it to a random half of the rows, `subsample=0.5`; example 3.3
# to a random coordinate, `variant="random_feature"`: additive models.
# As the rate tends to 0 both follow their average learner (20), which is taken
# over all 252 halves of ten rows here. Three runs of example 3.2 at one point,
# and ten of example 3.3, with these limits:
from sklearn.kernel_ridge import KernelRidge

x = np.linspace(0, 1, 10)
z = np.sin(5 * x) + 0.3 * np.random.default_rng(0).standard_normal(10)
ridge = KernelRidge(alpha=0.5, kernel="rbf", gamma=50)
halves = {"subsample": 0.5, "n_subsamples": 252, "time": 3.0}
point, times = [[0.5]], np.linspace(0, 3, 301)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for rate, color in [(0.3, "tab:orange"), (0.01, "tab:blue")]:
    for seed in range(3):
        run = LinearL2BoostingRegressor(
            ridge, learning_rate=rate, random_state=seed, **halves
        )
        path = run.fit(x[:, None], z).predict_path(point, times)[0]
        axes[0].plot(
            times,
            path,
            color=color,
            lw=1,
            label=None if seed else f"rate {rate:g}",
        )
average = LinearL2BoostingRegressor(ridge, learning_rate=0, **halves).fit(
    x[:, None], z
)
axes[0].plot(times, average.predict_path(point, times)[0], "k--", label="limit")
axes[0].set(xlabel="t", ylabel="fit at x = 0.5", title="random rows")
axes[0].legend()

rng = np.random.default_rng(1)
X2 = rng.uniform(-1, 1, (200, 2))
y2 = np.sin(3 * X2[:, 0]) + 2 * X2[:, 1] ** 2 + 0.3 * rng.standard_normal(200)
line = np.tile(np.linspace(-1, 1, 101)[:, None], 2)
for rate, seeds, style in [(0.5, range(10), "tab:orange"), (0.0, [0], "k--")]:
    for seed in seeds:
        model = LinearL2BoostingRegressor(
            SmoothingSplineRegressor(df=3),
            learning_rate=rate,
            time=4,
            variant="random_feature",
            random_state=seed,
        ).fit(X2, y2)
        for axis, column in zip(axes[1:], model.predict_terms(line).T):
            label = f"rate {rate:g}" if rate else "limit"
            axis.plot(
                line[:, 0], column, style, lw=1, label=None if seed else label
            )
for j, axis in enumerate(axes[1:]):
    axis.set(
        xlabel=f"coordinate {j + 1}", ylabel="term", title="random coordinates"
    )
    axis.legend(loc="upper center")
plt.show()

# %%
# 3.2 Means and variances, 3.3 paths
# ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
# Proposition 3.4: over the draws, the mean is deterministic boosting of the
# average learner, and the variance is at most a constant times the rate.
# :func:`~sklearn_ensemble_theory.bounds.stochastic_boosting_moments` has the
# exact variance,
# :func:`~sklearn_ensemble_theory.smoothing.stochastic_variance_bound` the
# bound, whose constant is far from sharp. At t = 2 the variance is of the order
# of the rate (corollary 3.5). The largest distance of a path to the limit, over
# t and the rows, is of the order of its root (theorem 3.6).
from itertools import combinations

from sklearn_ensemble_theory.bounds import stochastic_boosting_moments
from sklearn_ensemble_theory.smoothing import stochastic_variance_bound

draws = np.zeros((252, 10, 10))
for draw, half in zip(draws, map(list, combinations(range(10), 5))):
    draw[:, half] = ridge.fit(x[half, None], np.eye(5)).predict(x[:, None])

from scipy.linalg import expm

rng, rates = np.random.default_rng(0), np.array([0.5, 0.2, 0.1, 0.05, 0.02])
variance, in_errors, distance = [], [], []
for rate in rates:
    fits, largest = np.full((1_000, 10), z.mean()), np.zeros(1_000)
    for m in range(1, round(2 / rate) + 1):
        G = draws[rng.integers(252, size=1_000)]
        fits += rate * np.einsum("kij,kj->ki", G, z - fits)
        F = z - expm(-m * rate * draws.mean(axis=0)) @ (z - z.mean())
        largest = np.maximum(largest, np.abs(fits - F).max(axis=1))
    mean = stochastic_boosting_moments(
        draws, z, time=m * rate, learning_rate=rate
    )[0]
    variance.append(fits.var(axis=0).max())
    in_errors.append(
        np.abs((fits.mean(axis=0) - mean) / fits.std(axis=0)).max() * 1_000**0.5
    )
    distance.append(largest.mean())
print(
    "means less formula (21), in standard errors, at most:",
    np.round(in_errors, 1),
)

rounds = [round(2 / rate) for rate in rates]
exact = [
    stochastic_boosting_moments(draws, z, rate * m, rate)[1].diagonal().max()
    for rate, m in zip(rates, rounds)
]
bound = [stochastic_variance_bound(draws, z, *rm) for rm in zip(rates, rounds)]
leading = rates * stochastic_boosting_moments(draws, z, 2.0)[1].diagonal().max()
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
axes[0].loglog(rates, bound, "k:", label="bound")
axes[0].loglog(rates, exact, label="exact")
axes[0].loglog(rates, leading, "k--", lw=1, label="leading term")
axes[0].loglog(rates, variance, "o", color="tab:blue", label="1,000 runs")
axes[0].set(
    xlabel="learning rate", ylabel="largest variance of a fit", title="t = 2"
)
axes[0].legend()
axes[1].loglog(rates, distance, "o-", label="1,000 runs")
axes[1].loglog(
    rates, distance[0] * np.sqrt(rates / rates[0]), "k--", label="slope 1/2"
)
axes[1].set(
    xlabel="learning rate",
    ylabel="mean largest distance",
    title="paths and their limit",
)
axes[1].set_yticks([0.1, 0.2, 0.3], ["0.1", "0.2", "0.3"])
for axis in axes:
    axis.set_xticks(rates, [f"{rate:g}" for rate in rates])
    axis.minorticks_off()
axes[1].legend()
plt.show()

# %%
# 4 Numerical illustration
# ------------------------
# Figure 1: the limit at several times, for the data of (26). At t = 0 it is the
# mean, t = 10 fits fairly well, and overfitting increases very slowly.
limit = LinearL2BoostingRegressor(spline, learning_rate=0, time="gcv").fit(X, y)
times = [0, 1, 10, 100, 1000]
figure, axes = plt.subplots(
    1, 5, figsize=(11, 3.2), sharey=True, layout="constrained"
)
for axis, t, fitted in zip(axes, times, limit.predict_path(grid, times).T):
    axis.plot(X, y, "k.", markersize=3)
    axis.plot(grid, tent(grid), color="0.6", label="f")
    axis.plot(grid, fitted, label="boosted")
    axis.set(title=f"t = {t}", xlabel="x")
axes[0].set_ylabel("y")
axes[0].legend(loc="upper center", fontsize="small")
plt.show()

# %%
# Figure 2: training and test error as functions of time, for three learning
# rates and the limit, averaged over 50 samples. The test error has a flat
# minimum between t = 4 and t = 6 (near 6 in the paper, which uses one sample).
# The rate 0.1 is very close to the limit, and smaller rates are better mainly
# at small times.
along = np.geomspace(0.2, 55, 150)
rates = [1.0, 0.5, 0.1, 0.0]
training, test = {rate: [] for rate in rates}, {rate: [] for rate in rates}
for seed in range(50):
    X_train, y_train = make_tent(100, random_state=seed)
    X_test, y_test = make_tent(1000, random_state=10_000 + seed)
    for rate in rates:
        model = LinearL2BoostingRegressor(
            spline, learning_rate=rate, time=1
        ).fit(X_train, y_train)
        training[rate].append(model.training_error(along))
        path = model.predict_path(X_test, along)
        test[rate].append(((y_test[:, None] - path) ** 2).mean(axis=0))

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for axis, errors, title in [
    (axes[0], training, "training"),
    (axes[1], test, "test"),
]:
    for rate in rates:
        label = f"learning rate {rate:g}" if rate else "the limit"
        axis.plot(along, np.mean(errors[rate], axis=0), label=label)
    axis.set(xscale="log", xlabel="t", ylabel="mean squared error", title=title)
    axis.legend()
best = along[np.argmin(np.mean(test[0.0], axis=0))]
axes[1].axvline(best, color="0.5", linestyle=":")
plt.show()
gap = np.abs(np.mean(test[0.1], axis=0) - np.mean(test[0.0], axis=0)).max()
print(f"the test error of the limit is least at t = {best:.1f}")
print(f"test errors at rate 0.1 and in the limit differ by at most {gap:.3f}")

# %%
# In practice the time is chosen from the data. The figure shows the errors of
# the first sample, the expected test error for its design if f were known, and
# the time selected by generalised cross-validation.
from sklearn_ensemble_theory.inspection import (
    BoostingPathDisplay,
    SmootherSpectrumDisplay,
)

X_test, y_test = make_tent(1000, random_state=10_000)
BoostingPathDisplay.from_estimator(
    limit, X_test, y_test, f=tent, sigma=0.5, times=along
)
plt.show()

# %%
# Figure 3: the eigenvalues decrease over nine orders of magnitude. The smallest
# need times in the billions. The training error tends to zero exponentially
# fast, but is far from zero at any practical time. (The paper shows the first
# 60; the later ones need an orthogonal decomposition of the two terms of the
# criterion, which is how the spline is fitted here.)
mu = limit.eigenvalues_
figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
axis.semilogy(np.arange(1, 61), mu[:60], ".", label="first 60")
axis.semilogy(
    np.arange(61, len(mu) + 1), mu[60:], ".", color="0.6", label="the others"
)
axis.set(xlabel="index", ylabel="eigenvalue")
axis.legend()
plt.show()
print(f"the sixtieth is {mu[59]:.1e}")

# %%
# Figure 4: on the training points boosting multiplies the component of y along
# the i-th eigenvector by :math:`1 - e^{-t\mu_i}` (27), and leaves the mean, the
# first one, unchanged. Since the eigenvalues differ by orders of magnitude,
# nearly all coefficients are close to 0 or to 1: boosting is a smoothed
# projection whose dimension increases with time. The sum of the coefficients is
# the number of degrees of freedom.
from sklearn_ensemble_theory.bounds import l2_boosting_filter

figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
times = [1, 10, 100, 1000]
for t, left in zip(times, l2_boosting_filter(mu, times).T):
    df = limit.degrees_of_freedom([t])[0]
    label = f"t = {t}, {df:.1f} degrees of freedom"
    axis.plot(np.arange(1, 61), np.r_[1.0, 1 - left[1:60]], label=label)
axis.set(xlabel="index", ylabel="coefficient of the projection")
axis.legend()
plt.show()

# %%
# Figure 5: the first eigenvectors are smooth, similar to polynomials of
# increasing degree, and contain the signal. Figure 6: the last ones are
# differences between two or three very close neighbours; they contain noise and
# enter the fit last.
display = SmootherSpectrumDisplay.from_estimator(
    limit, times=times, n_vectors=6
)
plt.close(display.figure_)
for vectors, name in [(display.first, "First"), (display.last, "Last")]:
    figure, axes = plt.subplots(
        2, 3, figsize=(10, 4.6), sharex=True, layout="constrained"
    )
    for axis, (i, vector) in zip(axes.flat, vectors.items()):
        axis.plot(display.x, vector, linewidth=0.9)
        axis.set(
            title=f"$u_{{{i}}}$, eigenvalue {mu[i - 1]:.2g}",
            ylim=(-1, 1) if i > 6 else (-0.3, 0.3),
        )
    for axis in axes[1]:
        axis.set_xlabel("x")
    for axis in axes[:, 0]:
        axis.set_ylabel("value")
    figure.suptitle(f"{name} eigenvectors")
    plt.show()


# %%
# Exercises
# ---------
# In the notebook, assign your answer and call ``grade(1, answer)``. The grade
# comes by a route that is not the one of the solution. Each solution is hidden
# until you open it.
def grade(exercise, answer):
    """Say whether the answer to an exercise is right."""
    right = CHECKS[exercise](answer)
    print(f"Exercise {exercise}: {'right' if right else 'not yet'}")


def leaves_a_hundredth(m):
    before, after = l2_boosting_filter(0.05, [0.1 * (m - 1), 0.1 * m], 0.1)
    return after <= 0.01 < before


def has_the_least_error(t):
    times = np.linspace(0, 60, 60_001)
    left = l2_boosting_filter(0.1, times)
    best = times[np.argmin(2**2 * left**2 + (1 - left) ** 2)]
    return abs(t - best) < 0.01


def is_boosting(boost):
    rng = np.random.default_rng(0)
    Q, y = np.linalg.qr(rng.standard_normal((6, 6)))[0], rng.standard_normal(6)
    S = (Q * [1, 0.7, 0.5, 0.1, 0.01, 0]) @ Q.T
    fitted = np.full(6, y.mean())
    for _ in range(25):
        fitted += 0.3 * S @ (y - fitted)
    return np.allclose(boost(S, y, 0.3, 25), fitted)


CHECKS = {1: leaves_a_hundredth, 2: has_the_least_error, 3: is_boosting}

# %%
# *Exercise 1.* The learning rate is 0.1 and an eigenvalue 0.05. After how many
# rounds is at most a hundredth of its component of y left in the residuals?

# Solution: a round multiplies the component by 1 - 0.1 * 0.05.
answer = int(np.ceil(np.log(0.01) / np.log(1 - 0.1 * 0.05)))
print(answer)
grade(1, answer)

# %%
# *Exercise 2.* The component of f along an eigenvector of eigenvalue 0.1 is 2,
# and the noise has variance 1. At which time t is the expected squared error of
# this component, squared bias plus variance, least?

# Solution: with e = exp(-t mu), 4 e^2 + (1 - e)^2 is least at e = 1/5.
answer = np.log(5) / 0.1
print(round(answer, 2))
grade(2, answer)

# %%
# *Exercise 3.* Write a function ``boost(S, y, rate, rounds)`` that returns the
# fitted values of boosting from the mean for a symmetric S, without a loop over
# the rounds.


# Solution: a power of each eigenvalue of I - rate S.
def boost(S, y, rate, rounds):
    eigenvalues, vectors = np.linalg.eigh(S)
    left = vectors * (1 - rate * eigenvalues) ** rounds
    return y - left @ (vectors.T @ (y - y.mean()))


grade(3, boost)
