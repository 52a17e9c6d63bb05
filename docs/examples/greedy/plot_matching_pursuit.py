"""
Matching pursuit with a sparse signal, and on rotated data
==========================================================

Matching pursuit is boosting over the columns of X, and the number of rounds is its only protection
against overfitting. How much it overfits depends on the signal. As in [Bach, figure 10.3], there
are 100 rows of 1,000 Gaussian columns. In the upper row of plots five coefficients are -1 or 1 and
the others are 0. In the lower row the same data are rotated: X is multiplied by an orthogonal
matrix and y is kept, so that every column has a small coefficient.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import MatchingPursuitRegressor

n, d, k, noise, n_rounds = 100, 1000, 5, 0.5, 150

# %%
# The data, with 1,000 more rows for the test error. With a random rotation Q, the model
# :math:`y = X\beta + \varepsilon` is also :math:`y = (XQ)(Q^T\beta) + \varepsilon`: the noise and
# the distances between rows are the same, but the coefficients :math:`Q^T\beta` are not sparse.
# Their size is about :math:`\sqrt{k/d}`.
rng = np.random.default_rng(0)
beta = np.zeros(d)
beta[rng.choice(d, k, replace=False)] = rng.choice([-1.0, 1.0], k)
X = rng.standard_normal((n + 1000, d))
y = X @ beta + noise * rng.standard_normal(len(X))
Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
problems = {"sparse signal": (X, beta), "the same data, rotated": (X @ Q, Q.T @ beta)}

# %%
# One fit contains the whole path, from 0 rounds on: `residual_norms_` for the training error and
# `coef_path_` for the coefficients, which give the test error of every number of rounds.
figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained", sharex=True)
for (left, right), (name, (columns, coefficients)) in zip(axes, problems.items()):
    model = MatchingPursuitRegressor(n_rounds, fit_intercept=False).fit(columns[:n], y[:n])
    train = model.residual_norms_**2
    path = model.coef_path_
    test = np.mean((y[n:, None] - columns[n:] @ path.T) ** 2, axis=0)
    best = int(np.argmin(test))

    rounds = np.arange(n_rounds + 1)
    left.semilogy(rounds, train, label="training")
    left.semilogy(rounds, test, label="test")
    left.axhline(noise**2, color="grey", linewidth=0.8, label="noise")
    left.plot(best, test[best], "o", color="C1", mfc="none")
    left.set(ylabel="mean squared error", title=name)
    left.legend()

    in_signal = np.abs(coefficients) > 0.5
    right.plot(path[:, ~in_signal], color="grey", linewidth=0.5)
    right.plot(path[:, in_signal], color="C2", linewidth=1.5)
    right.set(ylabel="coefficients", title=f"{np.count_nonzero(path[-1])} columns in the end")
    print(
        f"{name}: best after {best} rounds, test error {test[best]:.2f}; at the end {test[-1]:.2f}"
    )
for axis in axes[1]:
    axis.set_xlabel("rounds")

# %%
# The training errors decrease exponentially in both cases, in agreement with the rate
# :math:`(1 - \kappa^2)^t` for columns that span the space of all targets. The test errors do not
# decrease in this way. With the sparse signal the five columns (green) are selected first, and
# later coefficients are small: too many rounds double the test error. After the rotation no small
# set of columns is useful: the best number of rounds (the circle) is 0.
plt.show()
