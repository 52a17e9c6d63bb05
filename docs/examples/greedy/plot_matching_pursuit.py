"""
Pursuit with a sparse signal, and with a rotated one
====================================================

Matching pursuit is boosting of the columns of X, and the number of rounds is its only protection
against overfitting [000, figure 10.3]. How much it needs depends on the signal. Below are 100 rows
of 1,000 Gaussian columns. In the upper row of plots five coefficients are -1 or 1 and the others 0;
in the lower row the same data are rotated, so that every column takes a small part in the signal.
The noise is the same.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import MatchingPursuitRegressor

n, d, k, noise, n_rounds = 100, 1000, 5, 0.5, 150


# %%
# The data, with many rows to test on. A rotation of the columns leaves their law what it was and
# spreads the coefficients: each is now of size :math:`\sqrt{k/d}`.
def sample(seed, rotated):
    rng = np.random.default_rng(seed)
    beta = np.zeros(d)
    beta[rng.choice(d, k, replace=False)] = rng.choice([-1.0, 1.0], k)
    if rotated:
        beta = np.linalg.qr(rng.standard_normal((d, d)))[0] @ beta
    X = rng.standard_normal((n + 1000, d))
    y = X @ beta + noise * rng.standard_normal(len(X))
    return X[:n], y[:n], X[n:], y[n:], beta


# %%
# One fit has the whole path: `residual_norms_` for the training error, `staged_predict` for new
# rows, `coef_path_` for the coefficients.
figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained", sharex=True)
for (left, right), rotated in zip(axes, (False, True)):
    X, y, X_test, y_test, beta = sample(seed=3, rotated=rotated)
    model = MatchingPursuitRegressor(n_rounds, fit_intercept=False).fit(X, y)
    train = model.residual_norms_**2
    test = [np.mean((y_test - p) ** 2) for p in model.staged_predict(X_test)]
    best = int(np.argmin(test))

    left.semilogy(train, label="training")
    left.semilogy(test, label="test")
    left.axhline(noise**2, color="grey", linewidth=0.8, label="noise")
    left.plot(best, test[best], "o", color="C1", mfc="none")
    left.set(ylabel="mean squared error", title="rotated signal" if rotated else "sparse signal")
    left.legend()

    path, in_signal = model.coef_path_, np.abs(beta) > 0.5
    right.plot(path[:, ~in_signal], color="grey", linewidth=0.5)
    right.plot(path[:, in_signal], color="C2", linewidth=1.5)
    right.set(ylabel="coefficients", title=f"{np.count_nonzero(path[-1])} columns in the end")
for axis in axes[1]:
    axis.set_xlabel("rounds")

# %%
# Training errors fall exponentially in both cases, as :math:`(1 - \kappa^2)^t` says they must when
# the columns span everything. Test errors do not. With the sparse signal the five columns (green)
# are found first, and what comes after is small: to stop late costs something, not much. With the
# rotated signal no few columns are of use: the best number of rounds (the circle) is 0, and every
# round makes it worse.
plt.show()
