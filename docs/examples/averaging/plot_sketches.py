"""
Averages of sketched least squares
==================================

Least squares on s random combinations of n rows has a larger risk than on all rows. The average of
m sketches comes back to it. The curves are the exact expectation for Gaussian sketches [Bach,
§10.2.1], the points the errors of :class:`~sklearn_ensemble_theory.SketchedLinearRegression`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import SketchedLinearRegression
from sklearn_ensemble_theory.bounds import gaussian_sketch_risk

n, d = 2_000, 10
rng = np.random.default_rng(0)
X = rng.standard_normal((n, d))
noise = rng.standard_normal((n, 50))  # 50 data sets, whose best coefficients are 0

figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
numbers = np.array([1, 2, 5, 10, 20, 50, 100])
markers = {"gaussian": "o", "countsketch": "s", "srht": "^", "subsample": "x"}
for color, size in zip(("tab:blue", "tab:orange"), (30, 200)):
    curve = [gaussian_sketch_risk(n, d, size, int(m)) * n / d for m in numbers]
    ax.loglog(numbers, curve, color=color, label=f"s = {size}, expectation")
    for kind, marker in markers.items():
        model = SketchedLinearRegression(
            100, sketch=kind, sketch_size=size, fit_intercept=False, random_state=0
        ).fit(X, noise)
        risks = [np.mean((X @ model.coefs_[:m].mean(axis=0).T) ** 2) * n / d for m in numbers]
        ax.plot(numbers, risks, marker, color=color, ms=5, mfc="none")
for kind, marker in markers.items():
    ax.plot([], [], marker, color="0.3", mfc="none", label=kind)
ax.axhline(1, color="0.5", ls=":", label="least squares")
ax.set(xlabel="number m of sketches", ylabel="excess risk / that of least squares")
ax.legend(fontsize=8)
plt.show()
