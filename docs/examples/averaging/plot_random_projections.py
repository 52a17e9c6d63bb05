"""
Random projections against ridge regression
===========================================

Least squares on s random Gaussian combinations of the variables is regularised by s, as ridge
regression is by its penalty. One projection has a large variance of its own; the average of m of
them does not. The panels repeat the experiment of [Bach, figure 10.2].
"""

# %%
# Polynomials of degree 2 in dimension 20
# ---------------------------------------
# With all 230 monomials of degree 1 and 2 and n = 100 rows, least squares fits the noise. As in
# the source the design is fixed: the errors are over new noise at the same rows, without the
# variance of the noise, and the curves are averages over 100 replications of the noise and of the
# projections. Several noises are the targets of one fit, so that a replication costs little.
#
# The best error of one projection is well above the best one of ridge regression; with m = 10 they
# are close, and with m = 100 nearly equal. The dashed lines are the risk for m members by
# the formula of [Bach, §10.2.2], from one estimate of the expected projection.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge
from sklearn.preprocessing import PolynomialFeatures

from sklearn_ensemble_theory import RandomProjectionRegressor
from sklearn_ensemble_theory.datasets import make_polynomial

n, sigma, replications = 100, 1.0, 100
inputs, _, mean = make_polynomial(n, 20, degree=2, return_mean=True, random_state=0)
X = PolynomialFeatures(2, include_bias=False).fit_transform(inputs)
rng = np.random.default_rng(0)


def errors(model, n_fits=1):
    """The training and the test error over 100 noises, which share `n_fits` fits."""
    train, test = [], []
    for seed in range(n_fits):
        Y = mean[:, None] + sigma * rng.standard_normal((n, replications // n_fits))
        if n_fits > 1:
            model.set_params(random_state=seed)
        fitted = model.fit(X, Y).predict(X)
        train.append(np.mean((Y - fitted) ** 2))
        test.append(np.mean((mean[:, None] - fitted) ** 2))
    return np.mean(train), np.mean(test)


alphas = np.geomspace(1e-2, 1e4, 25)
sizes = np.array([1, 2, 4, 7, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 95])
figure, axes = plt.subplots(1, 4, figsize=(11, 3.6), sharey=True, layout="constrained")
train, test = np.array([errors(Ridge(alpha)) for alpha in alphas]).T
axes[0].semilogx(1 / alphas, train, label="training")
axes[0].semilogx(1 / alphas, test, label="test, less the noise")
axes[0].set(title=f"ridge regression, best {test.min():.2f}", xlabel="1 / penalty", ylabel="error")
singles = [RandomProjectionRegressor(1, n_components=int(s), random_state=0) for s in sizes]
expected = [single.expected_projection(X, 200) for single in singles]
for ax, m in zip(axes[1:], [1, 10, 100]):
    models = [single.set_params(n_estimators=m) for single in singles]
    results = [errors(model, n_fits=max(100 // m, 2)) for model in models]
    train, test = np.array(results).T
    formula = [projection.risk(mean, sigma, m) for projection in expected]
    ax.plot(sizes, train, label="training")
    ax.plot(sizes, test, label="test, less the noise")
    ax.plot(sizes, formula, "k--", lw=1, label="test, by the formula")
    ax.set(title=f"m = {m}, best {test.min():.2f}", xlabel="s", xscale="log")
axes[0].set(ylim=(0, 2.1))
axes[3].legend(fontsize=9)
plt.show()

# %%
# The number of members
# ---------------------
# The risk falls with m as a + b/m. Ten members remove nine tenths of the second term.

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
members = np.array([1, 2, 3, 5, 10, 20, 50, 100])
for s, projection in zip(sizes, expected):
    if s in (10, 20, 40):
        risks = [projection.risk(mean, sigma, m) for m in members]
        ax.semilogx(members, risks, "o-", ms=3, label=f"s = {s}")
        ax.axhline(projection.risk(mean, sigma, np.inf), color="0.6", lw=0.8, ls=":")
ax.set(xlabel="m", ylabel="risk at the training rows")
ax.legend()
plt.show()
