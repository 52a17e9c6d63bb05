"""
Double descent, and averages without it
=======================================

As a model grows, its test error at new rows can rise to a peak, where the number of parameters
equals the number of rows, and then fall again. Random features fitted by least squares show this
most clearly. They also show the cause: a variance, mostly of the random features, which an average
over several draws removes.
"""

# %%
# Random rectified linear units
# -----------------------------
# The number s of units goes through n = 100. At s = n the small least-squares problem is nearly
# singular, and one member has a larger error than a constant prediction. The average of m = 100 has
# no peak there: its error rises to the error of the large models, which fit the noise of the
# training rows. All curves have a tiny penalty, alpha = 0.001: without it single members whose
# units are active at hardly any training row have errors of any size, which no average removes. A
# larger penalty avoids the rise as well.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from sklearn_ensemble_theory import RandomProjectionRegressor

rng = np.random.default_rng(0)
n, d, sigma = 100, 10, 0.5
X = rng.standard_normal((n + 2_000, d))
mean = np.maximum(X[:, 0], 0) + np.tanh(X[:, 1] + X[:, 2])
y = mean + sigma * rng.standard_normal(len(X))
X, X_test, y, mean_test = X[:n], X[n:], y[:n], mean[n:]
sizes = np.unique(np.geomspace(4, 1_000, 18).astype(int).tolist() + [85, 92, 96, 99, 104, 110, 120])


def error_at_new_rows(m, s, alpha, seeds):
    model = RandomProjectionRegressor(m, n_components=int(s), projection="relu", alpha=alpha)
    fits = (model.set_params(random_state=seed).fit(X, y) for seed in range(seeds))
    return np.mean([np.mean((fit.predict(X_test) - mean_test) ** 2) for fit in fits])


figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for m, seeds, color in [(1, 20, "tab:blue"), (10, 5, "tab:orange"), (100, 1, "tab:red")]:
    curve = [error_at_new_rows(m, s, 1e-3, seeds) for s in sizes]
    ax.loglog(sizes, curve, color=color, label=f"average of m = {m}")
penalised = [error_at_new_rows(1, s, 0.3, 20) for s in sizes]
ax.loglog(sizes, penalised, "k--", lw=1, label="m = 1, alpha = 0.3")
ax.axvline(n, color="0.5", ls=":", label="s = n")
ax.axhline(np.var(mean_test), color="0.8", lw=1, label="constant predictor")
ax.set(xlabel="number s of units", ylabel="test error, less the noise", ylim=(0.1, 5))
ax.legend(fontsize=9)
plt.show()

# %%
# A network of growing width
# --------------------------
# The same with a network whose hidden units are trained too, as in the figure of [DS-GA 1003,
# lecture 8]. It has (d + 2) h + 1 parameters for h hidden units, n = 100 of them at h = 8. The
# error rises until the network fits the training rows, and falls again with more units. The average
# of ten networks from different starts has less than half the error at the peak; for large
# widths the networks agree, and averaging them changes little.

widths = [1, 2, 3, 5, 8, 12, 20, 35, 70, 150, 400]
seeds = 10
train, single, average = [], [], []
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for width in widths:
        networks = [
            MLPRegressor(
                hidden_layer_sizes=[width],
                solver="lbfgs",
                alpha=0.0,
                max_iter=1_000,
                random_state=seed,
            )
            for seed in range(seeds)
        ]
        outputs = np.array([net.fit(X, y).predict(X_test) for net in networks])
        train.append(np.mean([np.mean((net.predict(X) - y) ** 2) for net in networks]))
        single.append(np.mean((outputs - mean_test) ** 2))
        average.append(np.mean((outputs.mean(axis=0) - mean_test) ** 2))

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.loglog(widths, np.maximum(train, 1e-4), "0.5", label="training error")
ax.loglog(widths, single, "o-", ms=4, label="test error less the noise, one network")
ax.loglog(widths, average, "s-", ms=4, color="tab:red", label="average of ten networks")
ax.axvline((n - 1) / (d + 2), color="0.5", ls=":", label="n parameters")
ax.set(xlabel="hidden units", ylabel="error", ylim=(1e-3, None))
ax.legend(fontsize=9)
plt.show()
