"""
Losses against margins
======================

A classifier with the sign of a score u errs where the margin m = y u is negative. The number of
errors can hardly be minimised over the coefficients of a linear score, because it is not convex and
constant almost everywhere. Convex surrogates can [Shah, §3.3; DS-GA 1003, lecture 8].
"""

# %%
# The 0-1 loss and its surrogates. The logistic loss is divided by log 2 here, so that all of them
# are 1 at a margin of 0 and nowhere below the 0-1 loss.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory.bounds import is_classification_calibrated

losses = {
    "hinge, (1 - m)+": lambda m: np.maximum(1 - m, 0),
    "logistic, log(1 + exp(-m)) / log 2": lambda m: np.logaddexp(0, -m) / np.log(2),
    "exponential, exp(-m)": lambda m: np.exp(-m),
    "squared, (1 - m)²": lambda m: (1 - m) ** 2,
    "perceptron, (-m)+": lambda m: np.maximum(-m, 0),
}
m = np.linspace(-2, 3, 501)

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
axes.step(m, m <= 0, "k", lw=2, where="mid", label="0-1 loss")
for name, phi in losses.items():
    axes.plot(m, phi(m), "--" if name.startswith("perceptron") else "-", label=name)
axes.set(xlabel="margin m = y u", ylabel="loss", ylim=(-0.1, 4), title="losses against the margin")
axes.legend()
plt.show()

# %%
# A mean surrogate loss is then an upper bound on the share of errors, except for the perceptron's.
# That alone does not make its minimiser a good classifier. A surrogate is *classification
# calibrated* if the score with the smallest expected loss has the sign of the more probable class,
# for any probability of the classes. For convex losses this means that the derivative at 0 exists
# and is negative [Shah, definition 7 and theorem 18].
for name, phi in losses.items():
    print(f"{name:36} calibrated: {is_classification_calibrated(phi)}")

# %%
# The expected loss of a score, where the class +1 has the probability 0.7. The minima of the
# calibrated losses are at positive scores. The perceptron's is at 0, where both signs are equally
# good.
eta, u = 0.7, np.linspace(-2, 2.5, 1801)
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
for name, phi in losses.items():
    risk = eta * phi(u) + (1 - eta) * phi(-u)
    line = axes.plot(u, risk, label=name)[0]
    axes.plot(u[risk.argmin()], risk.min(), "o", color=line.get_color())
axes.axvline(0, color="0.5", lw=0.8)
axes.set(xlabel="score u", ylabel="expected loss", ylim=(0, 3), title="P(y = 1) = 0.7")
axes.legend()
plt.show()
