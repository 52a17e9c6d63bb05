"""
How slow can matching pursuit be?
=================================

Matching pursuit can be much slower than least squares over the columns that it selects, even if the
target is the mean of two columns. The exponent of its rate is 0.3656 for the mean squared residual
[Sil'nichenko, 2004], and no better one holds for all dictionaries [Klusowski and Siegel, 2025].
:func:`~sklearn_ensemble_theory.datasets.make_slow_pursuit` is such a dictionary.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import MatchingPursuitRegressor, bounds
from sklearn_ensemble_theory.datasets import make_slow_pursuit

T = 500
X, y = make_slow_pursuit(T)


def squares(**params):
    model = MatchingPursuitRegressor(T, fit_intercept=False, **params).fit(X, y)
    return model.residual_norms_**2


plain = squares()
t = np.arange(T + 1)

# %%
# On the left, plain pursuit selects column after column, and its residual stays at 0.3 times the
# bound. Both are straight lines with the slope -0.3656. A learning rate of 0.99 is enough to leave
# this path. A selected column keeps some correlation and is selected again, and after some rounds
# pursuit finds the two columns whose mean is y. Orthogonal pursuit finds them in four rounds.
#
# In the middle, the correlations of 20 columns with the residuals. Before its round each column is
# almost as correlated as the selected column, and afterwards as much with the opposite sign. The
# inequalities of the proof of the bound are nearly equalities.
#
# On the right, the exponent that is guaranteed for every dictionary. It is better for small steps,
# at the cost of a larger constant. The dashed line uses only the correlation of a round with the
# residuals of this round, as the proof of :math:`t^{-1/3}` does.
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
left.loglog(t[1:], plain[1:], label="plain")
for number, nu in enumerate([0.99, 0.5], 1):
    path = squares(learning_rate=nu)
    left.loglog(np.arange(1, len(path)), path[1:], f"C{number}", label=f"learning rate {nu}")
path = squares(variant="orthogonal")
left.loglog(np.arange(1, len(path)), path[1:], "C3o-", ms=3, label="orthogonal")
left.loglog(t[1:], bounds.matching_pursuit_bound(t[1:], 1.0), "k--", lw=1, label="bound, plain")
left.loglog(t[1:], t[1:] ** (-1 / 3), "k:", lw=1, label=r"$t^{-1/3}$")
left.set(xlabel="round t", ylabel="mean squared residual", ylim=(1e-6, 2))
left.legend(fontsize=8, loc="lower left")

residuals, correlations, largest = y.copy(), [], []
columns = np.unique(np.geomspace(2, T - 1, 20).astype(int))
for j in range(T):
    products = X.T @ residuals / len(y)
    correlations.append(products[columns])
    largest.append(np.abs(products).max())
    residuals -= products[j] * X[:, j]
middle.semilogx(t[1:], np.array(correlations) / np.array(largest)[:, None], lw=1)
middle.set(xlabel="round t", ylabel="correlation, as a share of the largest")

rates = np.linspace(0.005, 1, 200)
right.plot(
    rates, [bounds.matching_pursuit_exponent(nu) for nu in rates], label="by all correlations"
)
right.plot(rates, (2 - rates) / (4 - rates), "--", label="by the last one")
right.set(xlabel=r"learning rate $\nu$", ylabel="exponent of the rate", ylim=(0.3, 0.65))
right.legend(fontsize=8)
plt.show()
