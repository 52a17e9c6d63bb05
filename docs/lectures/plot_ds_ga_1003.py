"""
DS-GA 1003: boosting and a review
=================================

Lecture 8 of *DS-GA 1003: Machine Learning* has two parts. The first is
boosting, from sums of functions that are learned one by one to gradient
boosting. The second reviews the course by its errors: approximation, estimation
and optimisation. This page has its sections in order, each with the objects
that compute it.
"""

# %%
# Boosting and bagging
# --------------------
# Bagging averages learners of small bias and large variance that are fitted
# independently; boosting adds up learners of large bias, one after the other.
# :class:`~sklearn_ensemble_theory.inspection.BiasVarianceDisplay` measures what
# both do from fits to many training sets.
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeRegressor

from sklearn_ensemble_theory import (
    BaggingRegressor,
    DecisionStumpRegressor,
    GradientBoostingRegressor,
)
from sklearn_ensemble_theory.datasets import make_sine_regression
from sklearn_ensemble_theory.inspection import BiasVarianceDisplay

make_sine = partial(make_sine_regression, 150, return_mean=True)
estimators = {
    "stump": DecisionStumpRegressor(),
    "boosted\nstumps": GradientBoostingRegressor(
        DecisionStumpRegressor(), n_estimators=60
    ),
    "deep tree": DecisionTreeRegressor(),
    "bagged\ndeep trees": BaggingRegressor(DecisionTreeRegressor(), 20),
}
BiasVarianceDisplay.from_estimators(
    estimators, make_sine, noise=0.09, n_repetitions=20, random_state=0
)
plt.show()

# %%
# Nonlinear regression
# --------------------
# A curve can be fitted by a polynomial, by averages with a kernel or by a tree;
# boosting is one more way.
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from sklearn_ensemble_theory import NadarayaWatsonRegressor

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-1, 1, 120))[:, None]


def curve(x):
    return np.sin(5 * x) + 0.8 * x


y = curve(X[:, 0]) + 0.2 * rng.standard_normal(120)
grid = np.linspace(-1, 1, 1_001)[:, None]
fits = {
    "polynomial of degree 7": make_pipeline(
        PolynomialFeatures(7), LinearRegression()
    ),
    "kernel, bandwidth 0.08": NadarayaWatsonRegressor(bandwidth=0.08),
    "tree of depth 4": DecisionTreeRegressor(max_depth=4),
    "50 boosted stumps": GradientBoostingRegressor(
        DecisionStumpRegressor(), n_estimators=50, learning_rate=0.3
    ),
}
figure, axes = plt.subplots(
    1, 4, figsize=(12, 3), sharey=True, layout="constrained"
)
for axis, (name, model) in zip(axes, fits.items()):
    axis.plot(X, y, ".", color="0.7", ms=4)
    axis.plot(grid, curve(grid), "k--", lw=1)
    axis.plot(grid, model.fit(X, y).predict(grid), color="tab:red")
    axis.set(title=name, xlabel="x")
axes[0].set_ylabel("y")
axes[0].legend(
    ["rows", "mean of y", "fit"], fontsize="small", loc="lower right"
)
plt.show()

# %%
# Sums of basis functions
# -----------------------
# With fixed functions, as the powers of x above, the coefficients are a linear
# regression. If the functions are learned too, from a class H, the minimum over
# all T of them at once is a hard problem. For a network of T hidden units
# gradients lead to a local minimum, which may be worse with more units (2 and 3
# below). Boosting adds the units one by one and needs only regression with one
# unit, for which :class:`~sklearn_ensemble_theory.ReLUUnitRegressor` is the
# exact minimiser. The latter also works for trees, which have no gradient.
import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from sklearn_ensemble_theory import ReLUUnitRegressor

widths = np.array([1, 2, 3, 5, 8, 12, 20])
greedy = GradientBoostingRegressor(
    ReLUUnitRegressor(), step="line_search", learning_rate=1.0, n_estimators=20
).fit(X, y)
together = []
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for width in widths:
        net = MLPRegressor(
            hidden_layer_sizes=[width],
            solver="lbfgs",
            alpha=0,
            max_iter=2_000,
            random_state=0,
        )
        together.append(np.mean((net.fit(X, y).predict(X) - y) ** 2))
figure, axis = plt.subplots(figsize=(6, 3.5), layout="constrained")
axis.semilogy(widths, together, "s-", label="all T units by gradients")
axis.semilogy(
    np.arange(1, 21),
    2 * greedy.train_scores_,
    "o-",
    ms=4,
    label="one unit after another",
)
axis.set(
    xlabel="units T", ylabel="mean squared residual", xticks=[1, 5, 10, 15, 20]
)
axis.set_yticks([0.05, 0.1, 0.2, 0.5], ["0.05", "0.1", "0.2", "0.5"])
axis.minorticks_off()
axis.legend()
plt.show()

# %%
# Forward stagewise additive modelling
# ------------------------------------
# Round t minimises the empirical risk over the next function and its
# coefficient, and changes nothing that was fitted before. For the squared loss
# the function is fitted to the residuals. If H contains all multiples of its
# functions, the coefficient can be left out: each value of it has the same
# minimum.
residual = y.copy()
for nu in [0.5, 1.0, 3.0]:
    h = DecisionStumpRegressor().fit(X, residual / nu).predict(X)
    print(f"nu = {nu}: J = {np.mean((residual - nu * h) ** 2):.6f}")

# %%
# L2-boosting of stumps
# ---------------------
# A regression stump has one of two values, on either side of a threshold in one
# feature. :class:`~sklearn_ensemble_theory.DecisionStumpRegressor` is the
# minimiser over all of them.
stump = DecisionStumpRegressor().fit(X, y)
figure, axis = plt.subplots(figsize=(5, 3.2), layout="constrained")
axis.plot(X, y, ".", color="0.7", ms=4, label="rows")
axis.plot(grid, stump.predict(grid), color="tab:red", label="stump")
axis.axvline(
    stump.threshold_, color="0.5", ls=":", label=f"c = {stump.threshold_:.2f}"
)
axis.set(xlabel="x", ylabel="y")
axis.legend(loc="upper left", fontsize="small")
plt.show()

# %%
# The sum after T rounds, started at 0, in red, and the one before it, dashed: T
# = 0 to 5, and 49 and 50, as in the lecture. Every line search finds the
# coefficient 1.
model = GradientBoostingRegressor(
    DecisionStumpRegressor(),
    init="zero",
    step="line_search",
    learning_rate=1.0,
    n_estimators=50,
).fit(X, y)
stages = [np.zeros(len(grid)), *model.staged_predict(grid)]
errors = [
    np.mean(y**2),
    *(2 * model.train_scores_),
]  # the risk has a factor 1/2 here
figure, axes = plt.subplots(
    2, 4, figsize=(12, 5.8), sharex=True, sharey=True, layout="constrained"
)
for axis, T in zip(axes.flat, [0, 1, 2, 3, 4, 5, 49, 50]):
    axis.plot(X, y, ".", color="0.75", ms=4)
    if T:
        axis.plot(grid, stages[T - 1], "k--", lw=1, label=f"T = {T - 1}")
    axis.plot(grid, stages[T], color="tab:red", label=f"T = {T}")
    axis.set_title(
        f"T = {T}, mean squared residual {errors[T]:.3f}", fontsize=9
    )
    axis.legend(loc="upper left", fontsize="small")
figure.supxlabel("x")
figure.supylabel("y")
plt.show()
print(f"coefficients less 1: at most {np.abs(model.steps_ - 1).max():.0e}")

# %%
# Classification: losses of the margin
# ------------------------------------
# A score f is right about a label y of -1 or 1 where the margin y f(x) is
# positive. The exponential loss of the margin is an upper bound on the 0-1 loss
# that can be minimised; the logistic loss grows more slowly at wrong labels.
margin = np.linspace(-2, 2, 401)
figure, axes = plt.subplots(
    1, 2, figsize=(9, 3.3), sharey=True, layout="constrained"
)
for axis in axes:
    axis.step(margin, margin <= 0, "k", where="mid", label="0-1 loss")
    axis.set(xlabel="margin y f(x)", ylim=(-0.2, 5))
axes[0].axvspan(-2, 0, color="tab:red", alpha=0.1)
axes[0].axvspan(0, 2, color="tab:blue", alpha=0.1)
axes[0].text(-1, 3, "wrong", ha="center")
axes[0].text(1, 3, "right", ha="center")
axes[0].set(ylabel="loss", title="the margin")
axes[1].plot(margin, np.exp(-margin), label="exponential loss, exp(-m)")
axes[1].plot(
    margin,
    np.logaddexp(0, -margin) / np.log(2),
    label="logistic loss, to base 2",
)
axes[1].set_title("losses")
axes[1].legend()
plt.show()

# %%
# AdaBoost
# --------
# Forward stagewise modelling with the exponential loss and classifiers with
# values -1 and 1 is AdaBoost. The round minimises the error with the weights
# :math:`e^{-y f_{t-1}(x)}`, and the coefficient has a closed form,
# :func:`~sklearn_ensemble_theory.bounds.adaboost_coefficient`. The loop:
from sklearn.datasets import make_hastie_10_2

from sklearn_ensemble_theory import AdaBoostClassifier, DecisionStumpClassifier
from sklearn_ensemble_theory.bounds import adaboost_coefficient

X10, clean = make_hastie_10_2(7_000, random_state=0)
X10, X10_test, clean, clean_test = (
    X10[:1_000],
    X10[1_000:],
    clean[:1_000],
    clean[1_000:],
)
f, coefficients = np.zeros(1_000), []
for _ in range(30):
    w = np.exp(-clean * f)
    h = DecisionStumpClassifier().fit(X10, clean, sample_weight=w).predict(X10)
    coefficients.append(adaboost_coefficient(np.sum(w[h != clean]) / np.sum(w)))
    f += coefficients[-1] * h
ada = AdaBoostClassifier(n_estimators=30, variant="discrete").fit(X10, clean)
print(
    "largest difference:",
    np.abs(ada.estimator_weights_ / 2 - coefficients).max().round(12),
)

# %%
# If the Bayes error is large, here because a quarter of the labels is flipped,
# wrong labels get more than their share of the weight. The real algorithm,
# which is the best without noise, gets worse after some rounds. The logistic
# loss, which grows more slowly, is affected less; the guide has more on
# :doc:`noisy labels </user_guide/noisy_labels>`.
from sklearn_ensemble_theory import GradientBoostingClassifier
from sklearn_ensemble_theory.boosting.steps import FixedStep, LineSearchStep

noisy = np.where(np.random.default_rng(1).random(1_000) < 0.25, -clean, clean)
models = {
    "AdaBoost": AdaBoostClassifier(n_estimators=300, variant="discrete"),
    "AdaBoost, real": AdaBoostClassifier(n_estimators=300, variant="real"),
    "logistic loss": GradientBoostingClassifier(
        DecisionStumpRegressor(), n_estimators=300, learning_rate=1.0
    ),
}
figure, axes = plt.subplots(
    1, 2, figsize=(10, 3.6), layout="constrained", sharey=True
)
for axis, labels, title in [
    (axes[0], clean, "no noise"),
    (axes[1], noisy, "a quarter flipped"),
]:
    for name, model in models.items():
        error = [
            np.mean(p != clean_test)
            for p in model.fit(X10, labels).staged_predict(X10_test)
        ]
        axis.plot(np.arange(1, len(error) + 1), error, label=name)
    axis.set(xlabel="rounds", title=title)
axes[0].set_ylabel("error at clean new rows")
axes[1].legend()
plt.show()
ada = models["AdaBoost"]
score = noisy * ada.decision_function(X10) * ada.estimator_weights_.sum() / 4
share = np.exp(-score)[noisy != clean].sum() / np.exp(-score).sum()
print(f"after 300 rounds the flipped labels have {share:.0%} of the weight")

# %%
# Gradient boosting
# -----------------
# The risk depends on f only by its n values at the training points, a vector. A
# gradient step without any restriction subtracts a multiple of the gradient g
# from it: after T steps it is :math:`f^{(0)} - \sum_t \nu_t g^{(t)}`. (The
# lecture prints the sum of the vectors; see the :doc:`errata </errata>`.) That
# moves every value towards its label and says nothing about other points. The
# remedy is to take the function of H that is closest to -g, by least squares:
# it is defined everywhere.
f, nu = np.zeros(120), 0.25
steps = []
for _ in range(3):
    steps.append(2 * (f - y))  # the gradient of the sum of squares
    f = f - nu * steps[-1]
print(
    "f(T) less its closed form:",
    np.abs(f - (0 - nu * np.sum(steps, axis=0))).max(),
)

tree = DecisionTreeRegressor(max_depth=2).fit(X, -steps[0])
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
axes[0].vlines(
    X[:, 0], 0, -nu * steps[0], color="tab:blue", lw=0.8, label="step"
)
axes[0].plot(X, y, ".", color="0.6", ms=4, label="labels")
axes[0].plot(
    X, -nu * steps[0], ".", color="tab:blue", ms=4, label="f after the step"
)
axes[0].set(
    xlabel="x",
    ylabel="f at the training points",
    title="a step at the points alone",
)
axes[1].plot(
    X, -steps[0], ".", color="tab:blue", ms=4, label="-g, the pseudo-residuals"
)
axes[1].plot(
    grid, tree.predict(grid), color="tab:red", label="closest tree of depth 2"
)
axes[1].set(
    xlabel="x", ylabel="value", title="the function that is closest to -g"
)
for axis in axes:
    axis.legend(fontsize="small")
plt.show()

# %%
# The coefficient of a round is found by a line search (option 1) or fixed
# (option 2), a parameter to tune. Option 1 decreases the training risk fastest,
# which is not an aim in itself.
options = {
    "line search": (LineSearchStep(reoptimize_leaves=False), 1.0),
    "fixed, 1": (FixedStep(reoptimize_leaves=False), 1.0),
    "fixed, 0.1": (FixedStep(reoptimize_leaves=False), 0.1),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for name, (step, rate) in options.items():
    model = GradientBoostingClassifier(
        DecisionTreeRegressor(max_depth=3),
        n_estimators=150,
        step=step,
        learning_rate=rate,
    ).fit(X10, clean)
    error = [np.mean(p != clean_test) for p in model.staged_predict(X10_test)]
    axes[0].semilogy(model.train_scores_, label=name)
    axes[1].plot(error, label=name)
axes[0].set(xlabel="rounds", ylabel="logistic loss on training rows")
axes[1].set(xlabel="rounds", ylabel="error at new rows")
axes[1].legend()
plt.show()

# %%
# With the squared loss the rounds of the lecture fit h to 2(y - f). Our risk
# has a factor 1/2, so its coefficient 0.1 is our learning rate 0.2.
f, f_grid = np.zeros(120), np.zeros(len(grid))
for _ in range(50):
    h = DecisionTreeRegressor(max_depth=2).fit(X, 2 * (y - f))
    f, f_grid = f + 0.1 * h.predict(X), f_grid + 0.1 * h.predict(grid)
model = GradientBoostingRegressor(
    DecisionTreeRegressor(max_depth=2),
    init="zero",
    learning_rate=0.2,
    n_estimators=50,
).fit(X, y)
print(
    "largest difference:", np.abs(model.predict(grid) - f_grid).max().round(12)
)

# %%
# Review: the excess risk
# -----------------------
# The risk of a fitted function exceeds the least risk by three errors. They are
# the error of the best function of the class (approximation), of the minimiser
# of the empirical risk (estimation), and of an algorithm that does not find it
# (optimisation). :class:`~sklearn_ensemble_theory.inspection.ExcessRiskDisplay`
# measures them where the truth is known. For histograms the minimiser is exact,
# and the number of cells balances the other two.
from sklearn_ensemble_theory import HistogramRegressor
from sklearn_ensemble_theory.inspection import ExcessRiskDisplay

ExcessRiskDisplay.from_parameter(
    HistogramRegressor(),
    partial(make_sine_regression, 150),
    target=lambda X: np.sin(3 * np.pi * X[:, 0]),
    param_name="n_bins",
    param_range=[1, 2, 4, 8, 16, 32, 64],
    random_state=0,
)
plt.show()

# %%
# Regularisation balances them within one class: a ball of linear functions with
# an upper bound on the norm,
# :class:`~sklearn_ensemble_theory.BallConstrainedClassifier`. The optimisation
# error decreases with the number of gradient steps, within a bound that is
# known before the fit (`suboptimality_bound_`).
from sklearn_ensemble_theory import BallConstrainedClassifier

rng = np.random.default_rng(2)
wide = rng.standard_normal((4_080, 60))
sign = np.where(wide[:, :5].sum(axis=1) + rng.standard_normal(4_080) > 0, 1, -1)
few, others = slice(None, 80), slice(80, None)


def logistic_risk(model, rows):
    return np.mean(
        np.logaddexp(0, -sign[rows] * model.decision_function(wide[rows]))
    )


radii = np.geomspace(0.05, 5, 15)
balls = [BallConstrainedClassifier(r).fit(wide[few], sign[few]) for r in radii]
counts = np.array([1, 3, 10, 30, 100, 300, 1_000])
slow = [
    BallConstrainedClassifier(2.0, solver="gd", max_iter=k).fit(
        wide[few], sign[few]
    )
    for k in counts
]
least = logistic_risk(
    BallConstrainedClassifier(2.0).fit(wide[few], sign[few]), few
)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
axes[0].semilogx(
    radii, [logistic_risk(m, few) for m in balls], label="training rows"
)
axes[0].semilogx(
    radii, [logistic_risk(m, others) for m in balls], label="new rows"
)
axes[0].set(
    xlabel="radius of the ball", ylabel="logistic loss", title="regularisation"
)
axes[0].legend()
axes[1].loglog(
    counts, [m.suboptimality_bound_ for m in slow], "k--", label="bound"
)
axes[1].loglog(
    counts,
    [logistic_risk(m, few) - least for m in slow],
    "o-",
    label="gradient steps",
)
axes[1].set(xlabel="steps", ylabel="optimisation error", title="radius 2")
axes[1].legend()
plt.show()

# %%
# Learning as minimisation of the empirical risk
# ----------------------------------------------
# Linear regression, the support vector machine and logistic regression differ
# in their loss. A penalty on the coefficients is the same as a ball whose
# radius is the norm that it leads to:
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

for loss, penalised in [
    ("logistic", LogisticRegression(C=0.05, tol=1e-8)),
    ("hinge", SVC(kernel="linear", C=0.01, tol=1e-8)),
]:
    penalised.fit(wide[few], sign[few])
    ball = BallConstrainedClassifier(
        np.linalg.norm(penalised.coef_), loss=loss, tol=1e-8
    )
    gap = np.abs(ball.fit(wide[few], sign[few]).coef_ - penalised.coef_).max()
    print(f"{loss}: coefficients differ by at most {gap:.0e}")

# %%
# Trees are grown greedily, and may miss the minimum of their class. For the
# exclusive or of two features a tree of depth 2 is right about all rows. The
# greedy tree need not be, since no first split helps much. The four cells of
# :class:`~sklearn_ensemble_theory.HistogramClassifier` are the exact minimiser.
# Ensembles solve many such problems: for bootstrap samples in bagging, for
# residuals in boosting.
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import HistogramClassifier

squares = np.random.default_rng(0).uniform(-1, 1, (50, 60, 2))
xor = squares[:, :, 0] * squares[:, :, 1] > 0
for model in [
    DecisionTreeClassifier(max_depth=2, random_state=0),
    HistogramClassifier(2, box=[-1, 1]),
]:
    wrong = [
        1 - model.fit(Z, label).score(Z, label)
        for Z, label in zip(squares, xor)
    ]
    print(f"{type(model).__name__}: mean training error {np.mean(wrong):.3f}")

# %%
# Bias and variance
# -----------------
# Bias is close to approximation error, variance to estimation error. Both for
# trees of growing depth (a tree of depth 1 has a larger variance than one of
# depth 2, as its threshold jumps between distant places):
BiasVarianceDisplay.from_parameter(
    DecisionTreeRegressor(),
    make_sine,
    param_name="max_depth",
    param_range=[1, 2, 3, 4, 6, 8, 10],
    noise=0.09,
    n_repetitions=40,
    random_state=0,
)
plt.show()

# %%
# Sources of bias are linear models of nonlinear means, few features, strong
# penalties and shallow trees; sources of variance are their opposites. In
# numbers, for the same sine and 60 rows:
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from sklearn_ensemble_theory.inspection import bias_variance_decomposition


def polynomial(degree, alpha=1e-8):
    return make_pipeline(
        PolynomialFeatures(degree), StandardScaler(), Ridge(alpha)
    )


for name, model in {
    "straight line": polynomial(1),
    "polynomial of degree 4": polynomial(4),
    "polynomial of degree 12": polynomial(12),
    "degree 12, strong penalty": polynomial(12, 100.0),
    "tree of depth 2": DecisionTreeRegressor(max_depth=2),
    "tree of depth 10": DecisionTreeRegressor(max_depth=10),
}.items():
    parts = bias_variance_decomposition(
        model,
        partial(make_sine_regression, 60, return_mean=True),
        noise=0.09,
        n_repetitions=40,
        random_state=0,
    )
    print(
        f"{name:26} bias² {np.mean(parts.bias):z.3f}  "
        f"variance {np.mean(parts.variance):.3f}"
    )

# %%
# Double descent
# --------------
# Figure 1: in the classical picture (a) the risk at new rows is smallest in
# between. In the modern one (b) it rises to a peak where the model begins to
# interpolate the training rows, and falls again beyond. Least squares on s
# random rectified linear units show both,
# :class:`~sklearn_ensemble_theory.RandomProjectionRegressor` with one member; n
# is 100. (A tiny penalty keeps members apart whose units are active at hardly
# any row.)
from sklearn_ensemble_theory import RandomProjectionRegressor

rng = np.random.default_rng(0)
n = 100
rows = rng.standard_normal((n + 2_000, 10))
target = np.maximum(rows[:, 0], 0) + np.tanh(rows[:, 1] + rows[:, 2])
target += 0.5 * rng.standard_normal(len(rows))
sizes = np.r_[
    3,
    5,
    8,
    12,
    18,
    25,
    35,
    50,
    65,
    80,
    90,
    96,
    100,
    104,
    110,
    125,
    150,
    220,
    400,
    1_000,
]
train, test = np.zeros((2, len(sizes)))
for k, s in enumerate(sizes):
    for seed in range(10):
        model = RandomProjectionRegressor(
            1,
            n_components=int(s),
            projection="relu",
            alpha=1e-3,
            random_state=seed,
        ).fit(rows[:n], target[:n])
        residual = (target - model.predict(rows)) ** 2
        train[k] += residual[:n].mean() / 10
        test[k] += residual[n:].mean() / 10
figure, axes = plt.subplots(
    1, 2, figsize=(11, 3.8), sharey=True, layout="constrained"
)
for axis, shown, title in [
    (axes[0], sizes <= 65, "(a) classical"),
    (axes[1], sizes > 0, "(b) double descent"),
]:
    axis.plot(sizes[shown], train[shown], "--", label="training risk")
    axis.plot(sizes[shown], test[shown], label="test risk")
    axis.set(xlabel="number s of units", title=title, ylim=(0, 2.2))
axes[0].set_ylabel("risk")
axes[1].set_xscale("log")
axes[1].axvline(n, color="k", ls=":", label="interpolation threshold, s = n")
axes[1].legend()
plt.show()

# %%
# Figure 4 is of networks with one layer of H hidden units on pictures of
# digits, with K = 10 classes and the squared loss. They have (d + 1) H + (H +
# 1) K parameters and n K numbers to fit. The pictures here are scikit-learn's,
# with d = 64, of which n = 100 are for training. The networks are trained
# without a penalty, from three random starts each. At new pictures the squared
# loss is largest, and the share of errors has a second peak, shortly after the
# threshold. Both are least for the largest networks, which fit their pictures
# exactly.
from sklearn.datasets import load_digits

digits, digit = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(digits))
digits, digit = digits[order] / 16, digit[order]
indicators = np.eye(10)[digit]
hidden = np.array([1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 30, 60, 150])
risks = np.zeros((4, len(hidden)))
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    for k, H in enumerate(hidden):
        for seed in range(3):
            net = MLPRegressor(
                hidden_layer_sizes=[int(H)],
                solver="lbfgs",
                alpha=0,
                max_iter=500,
                max_fun=100_000,
                tol=1e-7,
                random_state=seed,
            ).fit(digits[:n], indicators[:n])
            output = net.predict(digits)
            squared = ((output - indicators) ** 2).sum(axis=1)
            wrong = output.argmax(axis=1) != digit
            risks[:, k] += [
                np.mean(r) / 3
                for r in (squared[:n], squared[n:], wrong[:n], wrong[n:])
            ]
parameters = 65 * hidden + (hidden + 1) * 10
figure, axes = plt.subplots(
    1, 2, figsize=(11, 3.8), sharex=True, layout="constrained"
)
for axis, first, loss in [
    (axes[0], 0, "squared loss"),
    (axes[1], 2, "zero-one loss"),
]:
    axis.semilogx(parameters, risks[first], "s--", ms=4, label="training")
    axis.semilogx(parameters, risks[first + 1], "o-", ms=4, label="test")
    axis.axvline(10 * n, color="k", ls=":", label="n K")
    axis.set(xlabel="number of parameters", ylabel=loss, ylim=(0, None))
axes[0].legend()
plt.show()

# %%
# The lecture ends with remarks. Most classical methods minimise an empirical
# risk by gradient descent, with a penalty against estimation error. Features
# matter if the functions are linear.

# %%
# Exercises
# ---------
# In the notebook, assign your answer and call ``grade(1, answer)``. The grade
# comes by a route that is not the one of the solution. Each solution is hidden
# until you open it.
from scipy.optimize import minimize_scalar


def grade(exercise, answer):
    """Say whether the answer to an exercise is right."""
    right = CHECKS[exercise](answer)
    print(f"Exercise {exercise}: {'right' if right else 'not yet'}")


def is_the_pseudo_residual(residual):
    y, f = np.array([1.0, 1.0, -1.0]), np.array([0.5, -2.0, 3.0])
    losses = [np.log1p(np.exp(-y * (f + h))) for h in (-1e-6, 1e-6)]
    return np.allclose(residual(y, f), (losses[0] - losses[1]) / 2e-6)


def is_the_best_step(length):
    residual, h = np.random.default_rng(0).standard_normal((2, 9))
    best = minimize_scalar(lambda nu: np.sum((residual - nu * h) ** 2)).x
    return np.isclose(length(residual, h), best)


def is_the_approximation_error(error):
    x = (np.arange(100_000) + 0.5) / 100_000
    return np.isclose(error, np.var(x**2))


CHECKS = {
    1: is_the_pseudo_residual,
    2: is_the_best_step,
    3: is_the_approximation_error,
}

# %%
# *Exercise 1.* Write a function ``residual(y, f)`` that returns the negative
# gradient of the logistic loss log(1 + exp(-y f)), for labels of -1 and 1.


# Solution: the label times the probability of the other class.
def residual(y, f):
    return y / (1 + np.exp(y * f))


grade(1, residual)

# %%
# *Exercise 2.* Write a function ``length(residual, h)`` that returns the step
# along the values h which reduces the squared loss most.


# Solution: least squares with a single variable.
def length(residual, h):
    return residual @ h / (h @ h)


grade(2, length)

# %%
# *Exercise 3.* Let x be uniform on [0, 1] and y = x², without noise. What is
# the approximation error of the constant functions for the squared loss?

# Solution: the best constant is the mean, so the error is the variance of x².
answer = 1 / 5 - (1 / 3) ** 2
print(round(answer, 4))
grade(3, answer)
