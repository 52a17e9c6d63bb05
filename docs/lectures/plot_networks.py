r"""
Shah: feedforward neural networks
=================================

Section 4.6 of R. D. Shah, *Mathematics of Machine Learning*, describes networks
and the computation of their gradients. This package has no network. Here
scikit-learn's ``MLPClassifier`` is trained, the equations of back-propagation
are checked on it, and small networks are members of ensembles.
"""

# %%
# The network and its graph
# -------------------------
# A network of depth d alternates affine maps :math:`A^{(k)}(v) = \beta^{(k)}v +
# \mu^{(k)}` with an activation ψ of every coordinate, such as :math:`\max(u,
# 0)` or :math:`1/(1 + e^{-u})`. Its sign is the classifier. In the graph of a
# trained network with d = 3, red weights are positive and blue ones negative;
# wide ones are large.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.datasets import make_moons
from sklearn.neural_network import MLPClassifier, MLPRegressor

X, y = make_moons(300, noise=0.3, random_state=0)
y = 2 * y - 1
X_new, y_new = make_moons(5_000, noise=0.3, random_state=1)
y_new = 2 * y_new - 1
network = MLPClassifier(
    (5, 4), activation="logistic", solver="lbfgs", alpha=0.01, random_state=0
)
network.set_params(max_iter=5000).fit(X, y)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
sizes = [2, 5, 4, 1]
height = [np.arange(m) - (m - 1) / 2 for m in sizes]
for k, weights in enumerate(network.coefs_):
    for (i, j), weight in np.ndenumerate(weights):
        width = 3 * abs(weight) / abs(weights).max()
        line = [height[k][i], height[k + 1][j]]
        left.plot(
            [k, k + 1], line, "C3" if weight > 0 else "C0", lw=width, zorder=1
        )
for k, at in enumerate(height):
    left.scatter(
        np.full(len(at), k), at, s=250, c="w", edgecolors="k", zorder=2
    )
names = ["$h^{(0)} = x$", "$h^{(1)}$", "$h^{(2)}$", "$x^{(3)} = h(x)$"]
for k, name in enumerate(names):
    left.text(k, 2.6, name, ha="center")
left.set(xlim=(-0.4, 3.5), ylim=(-2.6, 3.1))
left.axis("off")
u, v = np.meshgrid(np.linspace(-2, 3, 100), np.linspace(-1.7, 2.2, 100))
plane = np.column_stack([u.ravel(), v.ravel()])
probability = network.predict_proba(plane)[:, 1].reshape(u.shape)
right.contourf(
    u, v, probability, levels=np.linspace(0, 1, 11), cmap="coolwarm", alpha=0.5
)
right.contour(u, v, probability, levels=[0.5], colors="k", linewidths=1)
right.scatter(*X.T, c=y, cmap="coolwarm", s=10, edgecolors="k", linewidths=0.4)
right.set(
    xticks=[],
    yticks=[],
    xlabel="first variable",
    ylabel="second variable",
    title=f"error on new rows {1 - network.score(X_new, y_new):.3f}",
)
plt.show()

# %%
# Back-propagation, eq. (4.7) and (4.8)
# -------------------------------------
# The loss of a row is :math:`z = \phi(y h(x))`. Forwards, :math:`x^{(k)}` and
# :math:`h^{(k)}` are computed layer by layer; backwards, the derivative of z by
# :math:`x^{(k)}` follows from that by :math:`x^{(k+1)}`. Those by
# :math:`\mu^{(k)}` and :math:`\beta^{(k)}` are this vector, and its products
# with :math:`h^{(k-1)}`: for the last layer eq. (4.7), for the others (4.8). In
# the lists of ``MLPClassifier`` the matrices are transposed.
psi = {"relu": (lambda u: np.maximum(u, 0), lambda u: 1.0 * (u > 0))}
psi["logistic"] = (expit, lambda u: expit(u) * expit(-u))
surrogates = {
    "hinge": (lambda u: np.maximum(1 - u, 0), lambda u: -1.0 * (u < 1)),
    "exponential": (lambda u: np.exp(-u), lambda u: -np.exp(-u)),
    "logistic": (lambda u: np.logaddexp(0, -u), lambda u: -expit(-u)),
}


def forward(coefs, intercepts, x, activation):
    """All x^(k), and all h^(k) from h^(0) on."""
    inner, outer = [], [x]
    for beta, mu in zip(coefs, intercepts):
        inner.append(outer[-1] @ beta + mu)
        outer.append(psi[activation][0](inner[-1]))
    return inner, outer


def gradients(coefs, intercepts, x, label, loss, activation):
    """Derivatives of the loss of a row by the weights and the intercepts."""
    inner, outer = forward(coefs, intercepts, x, activation)
    by_inner = label * surrogates[loss][1](label * inner[-1])
    by_beta, by_mu = [], []
    for k in range(len(coefs) - 1, -1, -1):
        by_mu.insert(0, by_inner)
        by_beta.insert(0, np.outer(outer[k], by_inner))
        if k:
            by_inner = coefs[k] @ by_inner * psi[activation][1](inner[k - 1])
    return by_beta, by_mu


h = np.array(
    [
        forward(network.coefs_, network.intercepts_, x, "logistic")[0][-1][0]
        for x in X
    ]
)
print(
    "h(x) is the log-odds:",
    np.allclose(network.predict_proba(X)[:, 1], expit(h)),
)
risk = np.mean(surrogates["logistic"][0](y * h))
size = sum(np.sum(beta**2) for beta in network.coefs_) * 0.01 / 2 / len(y)
print(
    f"logistic risk {risk:.4f}, with the penalty of alpha "
    f"{risk + size:.4f} = {network.loss_:.4f}"
)


# %%
# Central differences at each of the weights and intercepts. Their error first
# falls with the square of the distance, then rises by rounding. Short distances
# do not meet the kinks of the hinge loss and of rectified linear units. Right,
# the two routes at a distance of :math:`10^{-5}`.
def by_differences(coefs, intercepts, x, label, loss, activation, distance):
    parts = []
    for array in (*coefs, *intercepts):
        found = np.empty_like(array)
        for at in np.ndindex(array.shape):
            value, ends = array[at], []
            for array[at] in (value + distance, value - distance):
                score = forward(coefs, intercepts, x, activation)[0][-1][0]
                ends.append(surrogates[loss][0](label * score))
            array[at] = value
            found[at] = (ends[0] - ends[1]) / (2 * distance)
        parts.append(found.ravel())
    return np.concatenate(parts)


figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
distances = np.geomspace(1e-10, 1e-1, 10)
for activation, style in (("logistic", "o-"), ("relu", "s--")):
    fit = MLPClassifier(
        (5, 4), activation, solver="lbfgs", alpha=0.5, random_state=2
    )
    fit.set_params(max_iter=5000).fit(X, y)
    h = [
        forward(fit.coefs_, fit.intercepts_, x, activation)[0][-1][0] for x in X
    ]
    inside = np.flatnonzero(y * h < 0.9)[:4]  # where the hinge loss has a slope
    for number, loss in enumerate(surrogates):
        worst = np.zeros(len(distances))
        for i in inside:
            given = (fit.coefs_, fit.intercepts_, X[i], y[i], loss, activation)
            exact = np.concatenate(
                [part.ravel() for kind in gradients(*given) for part in kind]
            )
            for k, distance in enumerate(distances):
                other = by_differences(*given, distance)
                worst[k] = max(worst[k], abs(other - exact).max())
                if k == 5:
                    right.plot(exact, other, f"C{number}.", ms=4)
        left.loglog(
            distances,
            worst,
            f"C{number}{style}",
            ms=4,
            label=f"{loss}, {activation} units",
        )
        print(
            f"{loss:11}, {activation:8} units: "
            f"largest difference {worst.min():.1e}"
        )
left.set(
    xlabel="distance", ylabel="largest difference", title="finite differences"
)
left.legend(fontsize=8)
right.axline((0, 0), slope=1, color="k", lw=0.8)
right.set(
    xlabel="eq. (4.7) and (4.8)",
    ylabel="finite differences",
    title="all derivatives",
)
plt.show()

# %%
# ``partial_fit`` with a single row makes one step of stochastic gradient
# descent (algorithm 2 without a set) with the logistic loss. The loss of a
# network is not convex, so theorem 27 says nothing. Runs from other starts end
# at other risks.
step = MLPClassifier(
    (5, 4), "logistic", solver="sgd", alpha=0, momentum=0, random_state=0
)
step.set_params(learning_rate_init=0.1, batch_size=1).partial_fit(
    X[:1], y[:1], classes=[-1, 1]
)
before = (
    [beta.copy() for beta in step.coefs_],
    [mu.copy() for mu in step.intercepts_],
)
step.partial_fit(X[7:8], y[7:8])
expected = gradients(*before, X[7], y[7], "logistic", "logistic")
moved = [(old - new) / 0.1 for old, new in zip(before[0], step.coefs_)]
difference = max(abs(a - b).max() for a, b in zip(moved, expected[0]))
print(f"largest difference of a step: {difference:.0e}")

figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for seed in range(6):
    run = MLPClassifier(
        (5, 4), solver="sgd", learning_rate_init=0.1, batch_size=20, alpha=0
    )
    run.set_params(random_state=seed)
    for _ in range(120):
        run.partial_fit(X, y, classes=[-1, 1])
    axis.plot(run.loss_curve_, lw=1)
axis.set(
    xlabel="passes over the rows", ylabel="logistic risk", title="six starts"
)
plt.show()

# %%
# Bagged and boosted networks
# ---------------------------
# Networks are members like all other classifiers: their mean over bootstrap
# samples lowers the variance that comes from the rows and from the starts.
# Boosting fits small networks one after another, by algorithm 3 with
# ``MLPRegressor`` as the base regression, or by AdaBoost with weights of the
# rows. AdaBoost ends at the first network that errs on half of the weight.
from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
)

small = {
    "activation": "tanh",
    "solver": "lbfgs",
    "max_iter": 5000,
    "random_state": 0,
}
X, y = make_moons(150, noise=0.3, random_state=2)
y = 2 * y - 1
large = MLPClassifier((20,), alpha=1e-3, **small)
bagged = BaggingClassifier(large, 25, random_state=0).fit(X, y)
gradient = GradientBoostingClassifier(
    MLPRegressor(hidden_layer_sizes=(2,), alpha=0.01, **small),
    learning_rate=0.5,
    n_estimators=25,
    random_state=0,
).fit(X, y)
ada = AdaBoostClassifier(
    MLPClassifier((2,), alpha=0.001, **small),
    n_estimators=25,
    learning_rate=0.5,
    random_state=0,
).fit(X, y)

shares = np.cumsum(
    [member.predict_proba(X_new)[:, 1] for member in bagged.estimators_], axis=0
)
members = np.arange(1, 26)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
left.axhline(
    1 - large.fit(X, y).score(X_new, y_new),
    color="k",
    ls="--",
    lw=1,
    label="one network of 20 units",
)
errors = np.mean((shares > members[:, None] / 2) != (y_new == 1), axis=1)
left.plot(members, errors, label="bagged networks of 20 units")
for model, label in (
    (gradient, "algorithm 3, 2 units"),
    (ada, "AdaBoost, 2 units"),
):
    curve = [np.mean(labels != y_new) for labels in model.staged_predict(X_new)]
    left.plot(np.arange(1, len(curve) + 1), curve, label=label)
left.set(xlabel="networks", ylabel="error on new rows", title="150 rows")
left.legend(fontsize=9)
right.scatter(*X.T, c=y, cmap="coolwarm", s=10, edgecolors="k", linewidths=0.4)
for number, model in enumerate([large, bagged, gradient, ada]):
    values = model.predict_proba(plane)[:, 1].reshape(u.shape)
    color = ["k", "C0", "C1", "C2"][number]
    right.contour(u, v, values, levels=[0.5], colors=color, linewidths=1.5)
right.set(xticks=[], yticks=[], title="boundaries of the four")
right.set(xlabel="first variable", ylabel="second variable")
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


def is_the_number_of_parameters(number):
    network = MLPRegressor(hidden_layer_sizes=(20,)).partial_fit(
        np.zeros((2, 64)), np.zeros((2, 10))
    )
    return number == sum(a.size for a in network.coefs_ + network.intercepts_)


def is_the_slope(slope):
    u = np.linspace(-4, 4, 9)
    differences = (expit(u + 1e-6) - expit(u - 1e-6)) / 2e-6
    return np.allclose(slope(expit(u)), differences)


def is_the_tent(units):
    x = np.linspace(-3, 3, 61)
    output = sum(a * np.maximum(w * x + b, 0) for a, w, b in units)
    return np.allclose(output, np.maximum(1 - np.abs(x), 0))


CHECKS = {1: is_the_number_of_parameters, 2: is_the_slope, 3: is_the_tent}

# %%
# *Exercise 1.* How many parameters has a network with 64 inputs, one layer of
# 20 units and 10 outputs?

# Solution: each unit and each output has an intercept, too.
answer = (64 + 1) * 20 + (20 + 1) * 10
print(answer)
grade(1, answer)

# %%
# *Exercise 2.* Back-propagation needs the derivative of the activation. Write a
# function ``slope(h)`` that computes it from the output h = 1/(1 + exp(-u)) of
# a logistic unit, without u.


# Solution: the derivative is exp(-u) / (1 + exp(-u))^2.
def slope(h):
    return h * (1 - h)


grade(2, slope)

# %%
# *Exercise 3.* Find rectified units whose sum is the tent
# :math:`\max(0, 1 - |x|)`: a list of triples (a, w, b), of which each stands
# for a max(w x + b, 0).

# Solution: the slope changes by 1, -2 and 1 at -1, 0 and 1.
answer = [(1, 1, 1), (-2, 1, 0), (1, 1, -1)]
grade(3, answer)
