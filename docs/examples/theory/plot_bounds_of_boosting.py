"""
Bounds and simulations: boosting
================================

How close are the theorems on boosting of [Ghoshdastidar] and [Bach, §10.3]? Each panel has the
bounds as curves, by the functions of `sklearn_ensemble_theory.bounds`, and as points what runs of
the algorithms do. The page on :doc:`boosting </user_guide/theory_boosting>` states the theorems.
"""

# %%
# *Training error of AdaBoost* [Ghoshdastidar, theorem En.4]. Stumps separate a disc from its
# surroundings. The bounds use the edges of each run. They are nearly the same, as the edges are
# small. The training error is smaller by a factor of 3 in the first rounds, of 5 after 10 and of 15
# after 40. Rows with the right label are part of the exponential risk too.
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import AdaBoostClassifier, MatchingPursuitRegressor, bounds

rng = np.random.default_rng(0)
RUNS = 40
rounds = np.array([1, 2, 5, 10, 20, 40, 80, 120])
training, product, exponential = [], [], []
for _ in range(RUNS):
    X = rng.uniform(-1, 1, (200, 2))
    y = np.where((X**2).sum(axis=1) < 0.6, 1, -1)
    model = AdaBoostClassifier(n_estimators=120).fit(X, y)
    product.append(bounds.adaboost_exponential_risk(model.edges_))
    exponential.append(bounds.adaboost_training_error_bound(model.edges_))
    training.append([np.mean(labels != y) for labels in model.staged_predict(X)])
    assert np.all(training[-1] <= product[-1])
    assert np.all(product[-1] <= exponential[-1])
training, product, exponential = (
    np.array(values)[:, rounds - 1] for values in (training, product, exponential)
)
print("exponential risk over training error", end=" ")
print((product.mean(axis=0) / training.mean(axis=0).clip(1e-9)).round(1))

# %%
# *Rounds until no training error.* With edges of at least 0.1 AdaBoost needs at most ln(n) / 0.02
# rounds. Here the rows on which a classifier errs are drawn at random, until their weight reaches
# 0.4. The bound is 5 times the median for 30 rows and twice for 1000: it has the right order.
n_rows = np.array([30, 100, 300, 1000])
most_rounds = np.array([bounds.adaboost_n_rounds(n, 0.1) for n in n_rows])
needed = []
for n, most in zip(n_rows, most_rounds):
    score, found = np.zeros((RUNS, n)), np.full(RUNS, most + 1)
    for t in range(1, most + 1):
        weight = np.exp(-score)  # all labels are 1
        weight /= weight.sum(axis=1, keepdims=True)
        order = rng.random((RUNS, n)).argsort(axis=1)
        reached = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1) <= 0.4
        wrong = np.empty((RUNS, n), dtype=bool)
        np.put_along_axis(wrong, order, reached, axis=1)
        error = np.sum(weight * wrong, axis=1, keepdims=True).clip(1e-3)
        score += bounds.adaboost_coefficient(error) * np.where(wrong, -1, 1)
        found = np.where((score > 0).all(axis=1), np.minimum(found, t), found)
    needed.append(found)
needed = np.transpose(needed)
assert np.all(needed <= most_rounds)
print("bound over the median", (most_rounds / np.median(needed, axis=0)).round(2))

# %%
# *Error on new rows* [Ghoshdastidar, theorem En.5]. Votes of ten stumps for an interval, with a
# tenth of wrong labels. For fewer than 2000 rows the bound is 1 and says nothing. From there on it
# is 80 to 120 times the 95 % quantile. It holds for all distributions and all votes of ten stumps.
n_train = np.array([2000, 5000, 10_000, 20_000, 50_000])
deviation = np.array([bounds.weighted_voting_generalization_bound(n, 10, 2) for n in n_train])


def interval(x):
    return np.where((x[:, 0] > 0.3) & (x[:, 0] < 0.6), 1, -1)


grid = (np.arange(5000)[:, None] + 0.5) / 5000
gaps = []
for n in n_train:
    gap = []
    for _ in range(RUNS):
        X = rng.random((n, 1))
        y = interval(X) * np.where(rng.random(n) < 0.1, -1, 1)
        model = AdaBoostClassifier(n_estimators=10).fit(X, y)
        # A tenth of the labels is wrong where the vote is right, nine tenths where it is wrong.
        gap.append(model.score(X, y) - 0.1 - 0.8 * model.score(grid, interval(grid)))
    gaps.append(np.quantile(gap, [0.95, 0.5]))
gaps = np.transpose(gaps)
assert np.all(gaps[0] <= deviation)
print("bound over the quantile", (deviation / gaps[0]).round(0))

# %%
# *Rate of AdaBoost from its dictionary* [Bach, §10.3.4]: 16 orthogonal columns of -1 and 1, and
# 5000 vectors of labels. The bound is attained in the first round and close to the worst labels in
# the next. After 20 rounds it is 4 times their risk, because weights do not stay at their worst.
H = np.ones((1, 1))
for _ in range(4):
    H = np.kron(H, [[1, 1], [1, -1]])
kappa = bounds.matching_pursuit_kappa(H.T @ H / 16)
y = rng.choice([-1.0, 1.0], (5000, 16))
y = y[np.abs(y @ H).max(axis=1) < 16]  # the others are columns
u, risks = np.zeros_like(y), []
for _ in range(40):
    weight = np.exp(-y * u)
    risks.append(weight.mean(axis=1))
    products = (y * weight / weight.sum(axis=1, keepdims=True)) @ H
    j = np.argmax(np.abs(products), axis=1)
    edge = products[np.arange(len(y)), j]
    u += bounds.adaboost_coefficient((1 - edge) / 2)[:, None] * H.T[j]
t_kappa = np.arange(len(risks))
kappa_bound = bounds.adaboost_kappa_bound(t_kappa, kappa)
risks = np.array(risks)
assert np.all(risks.max(axis=1) <= kappa_bound * 1.0000001)
print("bound over the worst risk", (kappa_bound / risks.max(axis=1))[[1, 2, 10, 20, 39]].round(3))

# %%
# *Rates of greedy algorithms* [Bach, §10.3.3 and §10.3.6]: matching pursuit, plain and
# orthogonal, and the Frank-Wolfe algorithm in the ball of the right radius, on 40 rows and 80
# columns with a common part. The targets have the gauge 1. The bounds are 3 to 35 times the
# residuals of pursuit and up to 85 times the residuals of Frank-Wolfe: they hold for the worst
# dictionary.
t_greedy = np.array([1, 2, 4, 8, 16])
rates = {
    "plain": bounds.matching_pursuit_bound(t_greedy, 1.0),
    "orthogonal": bounds.orthogonal_matching_pursuit_bound(t_greedy, 1.0),
    "Frank-Wolfe": 2 * bounds.frank_wolfe_bound(t_greedy, curvature=1.0, radius=1.0),
}
residuals = {name: [] for name in rates}
for _ in range(RUNS):
    psi = rng.standard_normal((40, 80)) + rng.standard_normal((40, 1))
    psi /= np.sqrt(np.mean(psi**2, axis=0))
    target = psi @ (np.abs(rng.standard_normal(80)) * (rng.random(80) < 0.5))
    target /= bounds.gauge(psi, target).value
    for name in ("plain", "orthogonal"):
        model = MatchingPursuitRegressor(16, variant=name, fit_intercept=False).fit(psi, target)
        residuals[name].append(model.residual_norms_[t_greedy] ** 2)
    fit, path = np.zeros(40), []
    for t in range(16):
        products = (target - fit) @ psi
        j = np.argmax(np.abs(products))
        fit += 2 / (t + 2) * (np.sign(products[j]) * psi[:, j] - fit)
        path.append(np.mean((fit - target) ** 2))
    residuals["Frank-Wolfe"].append(np.array(path)[t_greedy - 1])
for name, paths in residuals.items():
    assert np.all(np.max(paths, axis=0) <= rates[name])
    print(f"{name}: bound over the median", (rates[name] / np.median(paths, axis=0)).round(0))

# %%
# *Greedy boosting* [Bach, proposition 10.1]. The gauge of the sum can grow like the root of t
# times the decrease of the risk. With 100 orthonormal columns and a quadratic risk, whose minimum
# is the mean of the columns, this is attained in every round. For random minima the bound is 1.04
# times the gauge after 10 rounds and 1.4 times after 100.
t_gauge = np.array([1, 2, 5, 10, 20, 50, 100])
minima = {
    "mean of the columns": np.full((1, 100), 0.01),
    "random": rng.dirichlet(np.ones(100), 500),
}
gauges, gauge_bounds = {}, {}
for name, minimum in minima.items():
    # Each round minimises along the column with the largest residual: the largest comes first.
    steps = -np.sort(-minimum, axis=1)
    falls = np.cumsum(steps**2, axis=1)[:, t_gauge - 1] / 2
    gauges[name] = np.cumsum(steps, axis=1)[:, t_gauge - 1]
    gauge_bounds[name] = bounds.greedy_boosting_gauge_bound(t_gauge, 1.0, falls)
    assert np.all(gauges[name] <= gauge_bounds[name] * 1.0000001)
    ratio = (gauge_bounds[name] / gauges[name]).mean(axis=0)
    print(f"{name}: bound over the gauge", ratio.round(3))

# %%
# The bounds on a step, on the number of rounds and on the gauge are close to what runs do. Those
# that add up the worst cases of all rounds are loose, and the one on new rows is the loosest.
figure, axes = plt.subplots(3, 2, figsize=(9, 10.5), layout="constrained")
axes = axes.ravel()
COLORS = ["C0", "C1", "C2"]


def show_spread(ax, x, runs, color, label=None):
    """The median of the runs, with the quantiles 10 % and 90 %."""
    low, middle, high = np.quantile(runs, [0.1, 0.5, 0.9], axis=0)
    style = {"fmt": "o", "ms": 4, "color": color, "label": label}
    ax.errorbar(x, middle, [middle - low, high - middle], **style)


ax = axes[0]
ax.loglog(rounds, np.median(exponential, axis=0), "k--", label="exp(-2 Σ γ²)")
ax.loglog(rounds, np.median(product, axis=0), "k", label="exponential risk")
show_spread(ax, rounds, training, "C0", "training error")
ax.set(title="Training error of AdaBoost", xlabel="rounds t", ylim=(1e-3, 2))
ax.set_ylabel("training error")

ax = axes[1]
ax.semilogx(n_rows, most_rounds, "k", label="bound")
show_spread(ax, n_rows, needed, "C0", "simulated")
ax.set(title="Rounds until no training error", xlabel="rows n", ylabel="rounds, edge of 0.1")

ax = axes[2]
ax.loglog(n_train, deviation, "k", label="bound")
ax.loglog(n_train, gaps[0], "o", ms=4, label="simulated, 95 % quantile")
ax.set(title="Error on new rows, theorem En.5", xlabel="rows n", ylim=(1e-3, 2))
ax.set_xticks(n_train, [f"{n:,}" for n in n_train])
ax.minorticks_off()
ax.set_ylabel("error beyond the training error")

ax = axes[3]
ax.semilogy(t_kappa, kappa_bound, "k", label="bound")
ax.semilogy(t_kappa, risks.max(axis=1), ".", color="C1", label="worst labels")
ax.semilogy(t_kappa, np.median(risks, axis=1), ".", color="C0", label="median labels")
ax.set(title="AdaBoost, rate from κ", xlabel="rounds t", ylabel="exponential risk")

ax = axes[4]
for (name, rate), color in zip(rates.items(), COLORS):
    ax.loglog(t_greedy, rate, color=color, label=name)
    show_spread(ax, t_greedy, residuals[name], color)
ax.set(title="Matching pursuit and Frank-Wolfe", xlabel="rounds t", ylim=(1e-4, 10))
ax.set_xticks(t_greedy, t_greedy, minor=False)
ax.set_xticks([], minor=True)
ax.set_ylabel("mean squared residual")

ax = axes[5]
for (name, found), color in zip(gauges.items(), COLORS):
    ax.loglog(t_gauge, gauge_bounds[name].mean(axis=0), color=color, label=f"bound, {name}")
    show_spread(ax, t_gauge, found, color)
ax.set(title="Greedy boosting, proposition 10.1", xlabel="rounds t", ylabel="gauge of the sum")

for ax in axes:
    ax.legend()
plt.show()
