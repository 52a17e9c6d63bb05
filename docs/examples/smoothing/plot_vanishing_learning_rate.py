"""
L2-boosting in the vanishing learning rate limit
================================================

The numerical illustration of [Dombry and Esstafa, §4], with its six figures: a cubic smoothing
spline with five degrees of freedom is boosted on noisy observations of a function with two tents.
Every curve below is computed from one decomposition of the spline's matrix; no round of boosting is
run.
"""

# %%
# The data are those of [Dombry and Esstafa, eq. (26)]. The limit at several times: at t = 0 it is
# the mean, t = 10 fits fairly well, and overfitting increases very slowly.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import LinearL2BoostingRegressor, SmoothingSplineRegressor
from sklearn_ensemble_theory.datasets import make_tent
from sklearn_ensemble_theory.inspection import BoostingPathDisplay

X, y = make_tent(100, random_state=0)
spline = SmoothingSplineRegressor(df=5)
limit = LinearL2BoostingRegressor(spline, learning_rate=0, time="gcv").fit(X, y)


def tent(X):
    return 1 - np.abs(2 * np.abs(X[:, 0]) - 1)


grid = np.linspace(-1, 1, 400)[:, None]
times = [0, 1, 10, 100, 1000]
figure, axes = plt.subplots(1, 5, figsize=(11, 3.2), sharey=True, layout="constrained")
for axis, t, fitted in zip(axes, times, limit.predict_path(grid, times).T):
    axis.plot(X[:, 0], y, "k.", markersize=3)
    axis.plot(grid, tent(grid), color="0.6", label="f")
    axis.plot(grid, fitted, label="boosted")
    axis.set(title=f"t = {t}", xlabel="x")
axes[0].set_ylabel("y")
axes[0].legend(loc="upper center", fontsize="small")
plt.show()

# %%
# Training and test error as functions of time, for three learning rates and for the limit, averaged
# over 50 samples. The test error has a flat minimum between t = 4 and t = 6 (near 6 in the paper,
# which uses one sample). The rate 0.1 is very close to the limit, and smaller rates are better
# mainly at small times.
along = np.geomspace(0.2, 55, 150)
rates = [1.0, 0.5, 0.1, 0.0]
training, test = {rate: [] for rate in rates}, {rate: [] for rate in rates}
for seed in range(50):
    X_train, y_train = make_tent(100, random_state=seed)
    X_test, y_test = make_tent(1000, random_state=10_000 + seed)
    for rate in rates:
        model = LinearL2BoostingRegressor(spline, learning_rate=rate, time=1).fit(X_train, y_train)
        training[rate].append(model.training_error(along))
        path = model.predict_path(X_test, along)
        test[rate].append(((y_test[:, None] - path) ** 2).mean(axis=0))

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for axis, errors, title in [(axes[0], training, "training"), (axes[1], test, "test")]:
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
# Choosing the time from the data: the errors of the first sample, the expected test error for its
# design if f were known, and the time selected by generalised cross-validation.
X_test, y_test = make_tent(1000, random_state=10_000)
BoostingPathDisplay.from_estimator(limit, X_test, y_test, f=tent, sigma=0.5, times=along)
plt.show()

# %%
# The eigenvalues of the spline's matrix decrease over nine orders of magnitude. The smallest ones
# need times in the billions, so that the training error, which tends to zero exponentially fast, is
# far from zero at any practical time. (The paper shows the first 60; the later ones need an
# orthogonal decomposition of the two terms of the criterion, which is how the spline is fitted
# here.)
mu = limit.eigenvalues_
figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
axis.semilogy(np.arange(1, 61), mu[:60], ".", label="first 60")
axis.semilogy(np.arange(61, len(mu) + 1), mu[60:], ".", color="0.6", label="the others")
axis.set(xlabel="index", ylabel="eigenvalue")
axis.legend()
plt.show()

# %%
# On the training points, boosting multiplies the component of y along the i-th eigenvector by
# 1 - exp(-mu_i t) [Dombry and Esstafa, eq. (27)], and leaves the mean, the first one, unchanged.
# Since the eigenvalues differ by orders of magnitude, nearly all coefficients are close to 0 or to
# 1: boosting is a smoothed projection whose dimension increases with time. The sum of the
# coefficients is the number of degrees of freedom.
figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
times = [1, 10, 100, 1000]
index = np.arange(1, 61)
for t in times:
    coefficients = np.r_[1.0, 1 - np.exp(-mu[1:60] * t)]
    df = limit.degrees_of_freedom([t])[0]
    axis.plot(index, coefficients, label=f"t = {t}, {df:.1f} degrees of freedom")
axis.set(xlabel="index", ylabel="coefficient of the projection")
axis.legend()
plt.show()

# %%
# The first eigenvectors are smooth, similar to polynomials of increasing degree, and contain the
# signal. The last ones are differences between two or three very close neighbours: they contain
# noise and enter the fit last.
from sklearn_ensemble_theory.inspection import SmootherSpectrumDisplay

display = SmootherSpectrumDisplay.from_estimator(limit, times=times, n_vectors=6)
plt.close(display.figure_)
for vectors, name in [(display.first, "First"), (display.last, "Last")]:
    figure, axes = plt.subplots(2, 3, figsize=(10, 4.6), sharex=True, layout="constrained")
    for axis, (i, vector) in zip(axes.flat, vectors.items()):
        axis.plot(display.x, vector, linewidth=0.9)
        axis.set(title=f"u_{i}, eigenvalue {mu[i - 1]:.1e}", ylim=(-1, 1) if i > 6 else (-0.3, 0.3))
    for axis in axes[1]:
        axis.set_xlabel("x")
    for axis in axes[:, 0]:
        axis.set_ylabel("value")
    figure.suptitle(f"{name} eigenvectors")
    plt.show()
