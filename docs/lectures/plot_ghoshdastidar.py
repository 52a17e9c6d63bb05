r"""
Ghoshdastidar: ensemble methods
===============================

The lecture on ensembles in D. Ghoshdastidar, *Statistical Foundations of
Learning*, asks of votes, bagging and boosting what their errors are on new
rows. This page has its sections in order, with the exercises that the slides
mark. The lecture has m rows; here they are n, as in the rest of the package,
and misprints are listed in the :doc:`errata </errata>`.
"""

# %%
# Single classifiers
# ------------------
# Two results are the background. The error of empirical risk minimisation over
# a class of VC dimension d is within :math:`O(\sqrt{d \ln n/n})` of the best in
# the class. Estimates with the weights of Stone's theorem are consistent. Here
# is the first result with its constants, for stumps (d = 2):
import matplotlib.pyplot as plt
import numpy as np

from sklearn_ensemble_theory import bounds
from sklearn_ensemble_theory.averaging import PACMembers

for n in (1_000, 100_000, 10_000_000):
    bound = bounds.vc_excess_risk_bound(n, 2)
    print(f"n = {n:>10,}: excess error at most {bound:.4f}")

# %%
# The class of majority votes
# ---------------------------
# *Exercise: the VC dimension of votes of T members is O(dT log(dT)).* The
# labels of the vote on N points follow from the labels of its members. A
# member's class has at most :math:`\Phi_d(N) \le (eN/d)^d` labellings. If the N
# points are shattered, :math:`2^N \le (eN/d)^{dT}`, so
#
# .. math:: N \le dT \log_2\frac{eN}{d},
#    \qquad\text{which fails for } N = 2dT\log_2(3T) \text{ and } T \ge 2.
#
# With d = T = 1 the rate of the slides, :math:`dT\log_2(dT)`, is 0, but a class
# of dimension 1 shatters a point.
# :func:`~sklearn_ensemble_theory.bounds.voting_vc_dimension_bound` is the
# largest N for which the product of the :math:`\Phi_d(N)` reaches :math:`2^N`.
# The dots are the exact dimension of votes of T stumps on a line (d = 2), by
# enumeration.
T = np.arange(1, 41)
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for number, d in enumerate([1, 2, 5]):
    dimension = [
        bounds.voting_vc_dimension_bound([d] * int(members)) for members in T
    ]
    axis.loglog(T, dimension, color=f"C{number}", label=f"bound, d = {d}")
    axis.loglog(T[1:], 2 * d * T[1:] * np.log2(3 * T[1:]), f"C{number}--", lw=1)
axis.plot([], [], "k--", lw=1, label="2dT log₂(3T)")
stumps = bounds.behaviours("stumps", np.arange(8.0)[:, None])
exact = [
    bounds.vc_dimension(bounds.vote_behaviours([stumps] * members))
    for members in (1, 3, 5)
]
axis.plot([1, 3, 5], exact, "ko", label="stumps, exact (d = 2)")
axis.set(xlabel="members T", ylabel="VC dimension of the vote")
axis.legend()
plt.show()

# %%
# With this dimension, the error of a vote on new rows exceeds its training
# error by at most
# :func:`~sklearn_ensemble_theory.bounds.voting_generalization_bound`. This
# bound is 1 and says nothing before the dashed line begins. For votes of five
# bagged stumps and labels of which a tenth is wrong, the largest difference of
# 20 runs is far below. (The slides ask for a bound by the best of all votes.
# There is none, because members that minimise the same risk are the same
# classifier. For an interval this stump errs on a third of the rows, while a
# vote of three stumps errs nowhere, as in the pictures further down.)
from sklearn_ensemble_theory import BaggingClassifier, DecisionStumpClassifier

rng = np.random.default_rng(0)


def noisy_interval(n):
    X = rng.random((n, 1))
    return X, ((X[:, 0] > 0.4) ^ (rng.random(n) < 0.1)).astype(int)


X_new, y_new = noisy_interval(20_000)
sizes, largest = [30, 100, 300, 1000, 3000], []
for n in sizes:
    differences = []
    for seed in range(20):
        X, y = noisy_interval(n)
        vote = BaggingClassifier(
            DecisionStumpClassifier(), 5, voting="hard", random_state=seed
        )
        differences.append(
            vote.fit(X, y).score(X, y) - vote.score(X_new, y_new)
        )
    largest.append(max(differences))
many = np.geomspace(30, 10**7, 40).astype(int)
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
bound = np.array(
    [bounds.voting_generalization_bound(int(n), [2] * 5) for n in many]
)
says = bound < 1
axis.loglog(many[says], bound[says], "k--", lw=1, label="bound, δ = 0.05")
axis.loglog(sizes, largest, "o-", ms=4, label="largest difference of 20 runs")
axis.axhline(1, color="0.7", lw=0.8)
axis.set(xlabel="rows n", ylabel="error on new rows - training error")
axis.set_title("votes of five stumps")
axis.legend()
plt.show()

# %%
# Theorem En.1: votes of a consistent classifier are consistent
# -------------------------------------------------------------
# A randomised classifier :math:`h_S(x, Z)` depends on a random vector Z, such
# as the rows that are drawn. Its steps are exercises:
#
# *(1.1)* With :math:`p = P(g(x) = 1)` and y independent of g given x, the error
# is :math:`p(1-\eta) + (1-p)\eta = \eta + (1 - 2\eta)p`. It is linear in p, and
# so at least its smaller value at the ends, :math:`\min(\eta, 1-\eta)`.
#
# *(1.2)* Its distance from there is :math:`|2\eta - 1|` times the probability
# of the other class, and tends to 0 exactly if that does.
#
# *(2.1)* If the averaged classifier says a, then :math:`P_Z(h_S(x, Z) = a) \ge
# \frac12`. If not, the left side is 0. *(2.2)* In the mean over S,
# :math:`P_S(\bar h_S(x) = a) \le 2 P_{S,Z}(h_S(x, Z) = a)`, which tends to 0
# for the wrong class by (1.2); and by (1.2) again the average is consistent.
#
# *(3.1)* If the vote says a, the share of members that say a is at least 1/2.
# (The slides have "if and only if"; at a tie both shares are 1/2.) By Markov's
# inequality that has a probability of at most :math:`2 P_Z(h_S(x, Z) = a)`.
# *(3.2)* follows like (2.2).
#
# By (1.2) the excess error of the vote is at most twice the excess error of a
# member. Left, the exact probability of (3.1) for the class 1, to which ties
# go. Right, learning curves of :math:`n^{0.3}` nearest neighbours on Bernoulli
# subsamples of half of the rows.
from scipy.stats import binom
from sklearn.neighbors import KNeighborsClassifier


def eta_of(X):
    return 0.5 + 0.4 * np.sin(6 * X[:, 0])


def sample(n):
    X = rng.random((n, 2))
    return X, (rng.random(n) < eta_of(X)).astype(int)


X_new = rng.random((4_000, 2))
eta = eta_of(X_new)


def excess(predictions):
    """How much more often labels err than those of the Bayes classifier."""
    return np.mean(np.abs(2 * eta - 1) * (predictions != (eta > 0.5)))


p = np.linspace(0, 1, 101)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
for T in (1, 2, 3, 11, 101):
    left.plot(p, binom.sf(np.ceil(T / 2) - 1, T, p), label=f"T = {T}")
left.plot(p, p >= 0.5, "k", lw=0.8, label="average, T = ∞")
left.plot(p, bounds.voting_error_bound(p), "k--", lw=1, label="2p")
left.set(
    xlabel="probability p that a member says 1",
    ylabel="probability that the vote says 1",
)
left.set(ylim=(0, 1.05), title="step (3.1)")
left.legend(fontsize=9)

sizes, curves = (
    [50, 200, 800, 3200],
    {"a member": [], "vote of 5": [], "vote of 31": []},
)
for n in sizes:
    found = []
    for seed in range(5):
        X, y = sample(n)
        half = {"max_samples": 0.5, "bootstrap": "bernoulli", "voting": "hard"}
        one = KNeighborsClassifier(round(n**0.3))
        ensemble = BaggingClassifier(one, 31, **half, random_state=seed).fit(
            X, y
        )
        votes = np.array(
            [member.predict(X_new) for member in ensemble.estimators_]
        )
        found.append(
            [
                np.mean([excess(vote) for vote in votes[:5]]),
                excess(votes[:5].mean(axis=0) >= 0.5),
                excess(votes.mean(axis=0) >= 0.5),
            ]
        )
    for curve, value in zip(curves.values(), np.mean(found, axis=0)):
        curve.append(value)
for label, curve in curves.items():
    right.loglog(sizes, curve, "o-", ms=4, label=label)
right.loglog(
    sizes,
    2 * np.array(curves["a member"]),
    "k--",
    lw=1,
    label="twice that of a member",
)
right.set(xlabel="rows n", ylabel="excess error", title="learning curves")
right.legend(fontsize=9)
plt.show()

# %%
# Theorem En.2: bagged nearest neighbours
# ---------------------------------------
# Let each row be drawn with the probability q. The i-th nearest row is the
# nearest drawn row with the probability :math:`w_i = (1-q)^{i-1}q`, and no row
# is drawn with :math:`(1-q)^n`. The slides let this last part predict 0
# (`Bernoulli(empty="zero")`), and ties go to 1 (`ties="last"`). By default the
# package draws again, and gives ties to the first class. Averaged 1-NN is the
# estimate with these weights, which
# :class:`~sklearn_ensemble_theory.BaggedNearestNeighborsClassifier` computes.
# It is consistent if q → 0 and n q → ∞, by Stone's conditions:
#
# *(iii)* the largest weight is at most :math:`\max(q, e^{-qn})`.
#
# *(ii)*, an exercise. With :math:`k = \lceil\sqrt{n/q}\,\rceil` the k nearest
# rows are within any radius a in the limit. The other rows have the weight
# :math:`\sum_{i>k} w_i \le (1-q)^k \le e^{-qk} \le e^{-\sqrt{qn}}`: a geometric
# series, then :math:`1 - q \le e^{-q}`, then :math:`qk \ge \sqrt{qn}`.
#
# *(i)* Weights that decrease with the rank are sums of equal weights, for which
# Stone's lemma holds, with the constant of
# :func:`~sklearn_ensemble_theory.bounds.stone_lemma_constant`.
from sklearn_ensemble_theory.averaging import bagged_nearest_neighbors_weights

sizes = np.array([10**2, 10**3, 10**4, 10**5, 10**6])
conditions = []
for n in sizes.tolist():
    weights = bagged_nearest_neighbors_weights(
        n, n**-0.5, bootstrap="bernoulli", weight_tol=0
    )
    k = int(np.ceil(n**0.75))  # the root of n/q
    conditions.append(
        bounds.stone_conditions(weights, n_nearest=min(k, len(weights)))
    )
total, far, most = np.array(conditions).T
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), layout="constrained"
)
for q in (0.3, 0.1, 0.03):
    weights = bagged_nearest_neighbors_weights(
        100, q, bootstrap="bernoulli", weight_tol=0
    )
    i = np.arange(1, len(weights) + 1)
    left.plot(i, weights, label=f"q = {q}: no row with {(1 - q) ** 100:.2g}")
    left.plot(i[::5], ((1 - q) ** (i - 1) * q)[::5], "k.", ms=3)
left.plot([], [], "k.", ms=3, label="$(1-q)^{i-1}q$")
left.set(
    xlabel="rank i", ylabel="weight", xlim=(0, 60), title="weights of 100 rows"
)
left.legend(fontsize=9)
right.loglog(sizes, total, label="(i) sum of the weights")
right.loglog(sizes, most, "o-", ms=4, label="(iii) largest weight")
right.loglog(
    sizes[far > 0], far[far > 0], "s-", ms=4, label="(ii) weight beyond rank k"
)
right.loglog(
    sizes,
    np.exp(-(sizes**0.25)),
    "k--",
    lw=1,
    label="$e^{-\\sqrt{qn}}$, bound of (ii)",
)
right.set(
    xlabel="rows n",
    ylabel="value",
    ylim=(1e-14, 5),
    title="Stone's conditions, $q = n^{-1/2}$",
)
right.legend(fontsize=9)
plt.show()
print("constants of Stone's lemma for 1, 2 and 3 features:", end=" ")
print(*(round(bounds.stone_lemma_constant(d), 1) for d in (1, 2, 3)))

# %%
# Learning curves: the excess error of one nearest neighbour does not vanish,
# nor with q = 0.3, where the weights stay on a few rows. With :math:`q =
# n^{-1/2}` it does. A vote of 25 subsamples has the variance of its draws in
# addition.
from sklearn_ensemble_theory import BaggedNearestNeighborsClassifier

sizes = [50, 200, 800, 3200, 12_800]
curves = {"1-NN": [], "averaged, q = 0.3": [], "vote of 25, $q = n^{-1/2}$": []}
curves["averaged, $q = n^{-1/2}$"] = []
for n in sizes:
    found = []
    for seed in range(3):
        X, y = sample(n)
        one, draws = (
            KNeighborsClassifier(1),
            {"max_samples": n**-0.5, "bootstrap": "bernoulli"},
        )
        models = [
            one,
            BaggedNearestNeighborsClassifier(
                max_samples=0.3, bootstrap="bernoulli"
            ),
            BaggingClassifier(
                one, 25, **draws, voting="hard", random_state=seed
            ),
            BaggedNearestNeighborsClassifier(**draws),
        ]
        found.append(
            [excess(model.fit(X, y).predict(X_new)) for model in models]
        )
    for curve, value in zip(curves.values(), np.mean(found, axis=0)):
        curve.append(value)
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for label, curve in curves.items():
    axis.loglog(sizes, curve, "o-", ms=4, label=label)
limit = np.mean(
    np.abs(2 * eta - 1) * np.minimum(eta, 1 - eta)
)  # 2 eta (1 - eta) - min(...)
axis.axhline(limit, color="k", ls="--", lw=1, label="limit of 1-NN")
axis.set(
    xlabel="rows n",
    ylabel="excess error",
    title="bagged against plain nearest neighbours",
)
axis.legend(fontsize=8)
plt.show()

# %%
# Theorem En.3: bagging is an optimal PAC learner
# -----------------------------------------------
# Some minimisers of the empirical risk need :math:`(d\ln(1/\epsilon) +
# \ln(1/\delta))/\epsilon` rows. The vote of :math:`18\ln(2n/\delta)` of them on
# bootstrap samples needs :math:`C(d + \ln(1/\delta))/\epsilon` rows, for every
# class. Here is such a bad minimiser. The inputs are N numbers, and the class
# has the functions that differ from the truth for at most d = 5 of them. The
# learner errs on the first five numbers that it has not seen. Bootstrap samples
# miss more numbers, so their first five are mostly numbers that others have
# seen. ``n_estimators="pac"`` takes the number of the theorem.
from sklearn.base import BaseEstimator, ClassifierMixin

d, delta = 5, 0.05


class ErrsWhereItCan(ClassifierMixin, BaseEstimator):
    """The parity of x is true; five unseen numbers of N get the other label."""

    def __init__(self, N=100):
        self.N = N

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.wrong_ = np.setdiff1d(np.arange(self.N), X[:, 0])[:d]
        return self

    def predict(self, X):
        return (X[:, 0] % 2) ^ np.isin(X[:, 0], self.wrong_)


x, every = rng.integers(100, size=(200, 1)), np.arange(100)[:, None]
bagged = BaggingClassifier(
    ErrsWhereItCan(100), PACMembers(delta), voting="hard", random_state=0
)
for model in (ErrsWhereItCan(100), bagged):
    error = np.mean(model.fit(x, x[:, 0] % 2).predict(every) != every[:, 0] % 2)
    print(f"{type(model).__name__}: error {error:.2f} with 200 rows, N = 100")
print("members:", len(bagged.estimators_))


# %%
# Learning curves, for each n at the N that is worst for the learner, with the
# two rates:
def errors(n, N, repetitions=5):
    """Of one learner and of the vote, by the numbers on which members err."""
    T, found = bounds.bagging_pac_n_estimators(n, delta), []
    for _ in range(repetitions):
        x, votes = rng.integers(N, size=n), np.zeros(N)
        for _ in range(T):
            votes[
                np.setdiff1d(np.arange(N), x[rng.integers(n, size=n)])[:d]
            ] += 1
        found.append(
            [len(np.setdiff1d(np.arange(N), x)[:d]) / N, np.mean(votes > T / 2)]
        )
    return np.mean(found, axis=0)


sizes = np.array([25, 50, 100, 200, 400, 800])
worst = []
for n in sizes.tolist():
    domains = np.unique(
        (n / np.array([1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 8])).astype(int)
    )
    worst.append(
        np.max([errors(n, N) for N in domains[domains > d].tolist()], axis=0)
    )
one, vote = np.array(worst).T
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
axis.loglog(sizes, one, "o-", ms=4, label="empirical risk minimiser")
axis.loglog(sizes, vote, "o-", ms=4, label="bagged, $T = 18\\ln(2n/\\delta)$")
axis.loglog(
    sizes, d * np.log(sizes / d) / sizes, "C0--", lw=1, label="d ln(n/d) / n"
)
axis.loglog(sizes, d / sizes, "C1--", lw=1, label="d / n")
axis.set(xlabel="rows n", ylabel="error on new rows", title="worst case over N")
axis.set_xticks(sizes, sizes)
axis.minorticks_off()
axis.legend()
plt.show()

# %%
# Strong and weak learners
# ------------------------
# *Exercise.* A PAC learner has an error of at most ε for n ≥ m(ε, δ). With ε =
# 1/2 - γ it is a γ-weak learner for the sample size :math:`\tilde m(\delta) =
# m(\frac12 - \gamma, \delta)`, for every γ below 1/2. Minimisation over a class
# of finite VC dimension is a PAC learner, with the sample size of
# :func:`~sklearn_ensemble_theory.bounds.pac_n_samples_upper_bound`, and so also
# a weak one:
for gamma in (0.05, 0.2, 0.4, 0.49):
    n = bounds.pac_n_samples_upper_bound(2, eps=0.5 - gamma)
    print(f"edge {gamma}: {n} rows are enough for d = 2 and δ = 0.05")

# %%
# *Stumps learn intervals weakly.* An interval makes three parts of the line. A
# stump whose threshold is a boundary of the interval, or that is constant, errs
# on one of them. Verified formally: the stump that is right on the two parts on
# the left of t* has the error :math:`P(x \ge t^*)`; the mirrored one has
# :math:`P(x \le s^*)`; the constant one errs inside. The smallest of three
# probabilities of sum 1 is at most 1/3. The vote of the three errs nowhere, as
# two of three are right on each part.
x = np.linspace(0, 9, 300)
truth = np.where((x > 3) & (x <= 6), 1, -1)
members = {
    "+1 above s* = 3": np.where(x > 3, 1, -1),
    "+1 up to t* = 6": np.where(x <= 6, 1, -1),
    "always -1": np.full(300, -1),
}
figure, panels = plt.subplots(
    5, 1, figsize=(8, 6.5), sharex=True, layout="constrained"
)
members = {
    "the interval": truth,
    **members,
    "vote of the three": np.sign(sum(members.values())),
}
for panel, (name, h), color in zip(
    panels, members.items(), ["C2", "C0", "C0", "C0", "C2"]
):
    panel.fill_between(x, h, 0, step="mid", alpha=0.4, color=color)
    wrong = h != truth
    panel.fill_between(
        x, h, 0, where=wrong, step="mid", color="C3", label="errs here"
    )
    panel.axhline(0, color="0.6", lw=0.8)
    panel.set(yticks=[-1, 1], ylim=(-1.3, 1.3), title=name)
panels[-1].set_xlabel("x")
figure.legend(*panels[1].get_legend_handles_labels(), loc="outside lower right")
figure.supylabel("label")
plt.show()
probabilities = rng.dirichlet([1, 1, 1], size=5)
print("parts:", probabilities.round(2).tolist())
print(
    "error of the best stump:",
    bounds.interval_stump_error(*probabilities.T).round(2),
)

# %%
# *The edge 1/12.* A stump found on n rows is within 1/12 of the best one, which
# leaves an edge of 1/6 - 1/12, with a probability that tends to 1. With three
# equal parts, the worst case, and 300 samples:
sizes, shares = [3, 6, 12, 25, 50, 100, 200], []
for n in sizes:
    found = []
    for _ in range(300):
        x = rng.random(n)
        y = np.where((x > 1 / 3) & (x < 2 / 3), 1, -1)
        grid = np.linspace(0, 1, 601)[:-1] + 1 / 1200
        if abs(y.sum()) == n:
            labels = np.full(600, y[0])
        else:
            labels = (
                DecisionStumpClassifier()
                .fit(x[:, None], y)
                .predict(grid[:, None])
            )
        found.append(
            np.mean(labels != np.where((grid > 1 / 3) & (grid < 2 / 3), 1, -1))
        )
    shares.append(np.mean(np.array(found) <= 0.5 - 1 / 12))
figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
axis.semilogx(sizes, shares, "o-", ms=4)
axis.axhline(1, color="0.7", lw=0.8)
axis.set(xlabel="rows n", ylabel="share with an edge of 1/12", ylim=(0, 1.05))
axis.set_title("stumps on samples of an interval")
plt.show()
print(
    "edge that is guaranteed with 36,000 rows:",
    round(bounds.interval_stump_edge_bound(36_000), 4),
)

# %%
# AdaBoost
# --------
# The algorithm of the slides in three lines, and the estimator, whose
# coefficients are twice the coefficients of the slides:
from sklearn_ensemble_theory import AdaBoostClassifier

X = rng.random((500, 1))
y = np.where((X[:, 0] > 0.3) & (X[:, 0] < 0.6), 1, -1)
D, w = np.full(500, 1 / 500), []
for _ in range(10):
    h = DecisionStumpClassifier().fit(X, y, sample_weight=D)
    wrong = h.predict(X) != y
    w.append(bounds.adaboost_coefficient(D @ wrong))
    D = bounds.adaboost_weights(D, wrong)
model = AdaBoostClassifier(n_estimators=10).fit(X, y)
print("coefficients:", np.round(w, 3))
difference = np.abs(model.estimator_weights_ / 2 - w).max()
print(f"difference to half of those of the fit: {difference:.0e}")

# %%
# Theorem En.4: the training error
# --------------------------------
# As :math:`\mathbf{1}\{yf \le 0\} \le e^{-yf}`, the training error is at most
# :math:`Z_T`, the mean of :math:`e^{-yf_T}`. A round multiplies Z by
# :math:`2\sqrt{\epsilon_t(1-\epsilon_t)} \le \sqrt{1 - 4\gamma^2} \le
# e^{-2\gamma^2}`. For intervals γ ≥ 1/6 in every round, and no training error
# is left after :math:`\ln n/(2\gamma^2)` rounds.
model = AdaBoostClassifier(n_estimators=120).fit(X, y)
rounds, error = np.arange(1, 121), 1 - np.array(list(model.staged_score(X, y)))
Z = bounds.adaboost_exponential_risk(model.edges_)
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
axis.semilogy(
    rounds, Z, label="$Z_T$, product of $2\\sqrt{\\epsilon_t(1-\\epsilon_t)}$"
)
axis.semilogy(
    rounds,
    bounds.adaboost_training_error_bound(model.edges_),
    "C1",
    label="$\\exp(-2\\sum\\gamma_t^2)$",
)
axis.semilogy(rounds, np.exp(-rounds / 18), "k--", lw=1, label="$e^{-2T/36}$")
axis.semilogy(
    rounds,
    np.where(error > 0, error, np.nan),
    "C3o",
    ms=4,
    label="training error",
)
guaranteed = bounds.adaboost_n_rounds(500, edge=1 / 6)
axis.axhline(1 / 500, color="0.5", ls=":", label="1/n")
axis.axvline(guaranteed, color="0.5", lw=0.8)
axis.set(xlabel="rounds T", ylabel="error", ylim=(1e-6, 2), title="500 rows")
axis.legend(fontsize=8, loc="lower left", bbox_to_anchor=(0.55, 0.12))
plt.show()
print(f"no training error after {rounds[error == 0][0]} rounds; ", end="")
print(f"guaranteed after {guaranteed}")

# %%
# Theorem En.5: the error on new rows
# -----------------------------------
# The error on new rows is at most the training error plus a term that grows
# with the number of rounds T. At the T of theorem En.4 the first part is 0, and
# the bound,
# :func:`~sklearn_ensemble_theory.bounds.adaboost_generalization_bound`, tends
# to 0 as n grows. Before the dashed line begins, it is 1 and says nothing. The
# error of the runs is far smaller:
sizes, simulated = np.array([20, 50, 100, 300, 1000, 3000]), []
X_new = rng.random((20_000, 1))
y_new = np.where((X_new[:, 0] > 0.3) & (X_new[:, 0] < 0.6), 1, -1)
for n in sizes.tolist():
    found = []
    for _ in range(5):
        X = rng.random((n, 1))
        y = np.where((X[:, 0] > 0.3) & (X[:, 0] < 0.6), 1, -1)
        number = bounds.adaboost_n_rounds(n, edge=1 / 6)
        found.append(
            1
            - AdaBoostClassifier(n_estimators=number)
            .fit(X, y)
            .score(X_new, y_new)
        )
    simulated.append(np.mean(found))
many = np.geomspace(20, 10**8, 40).astype(int)
bound = np.array(
    [
        bounds.adaboost_generalization_bound(
            int(n), bounds.adaboost_n_rounds(int(n), edge=1 / 6), 2, edge=1 / 6
        )
        for n in many
    ]
)
says = bound < 1
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
axis.loglog(many[says], bound[says], "k--", lw=1, label="bound, δ = 0.05")
axis.loglog(sizes, simulated, "o-", ms=4, label="mean of 5 runs")
axis.axhline(1, color="0.7", lw=0.8)
axis.set(
    xlabel="rows n", ylabel="error on new rows", title="AdaBoost of stumps"
)
axis.legend(fontsize=9)
plt.show()

# %%
# Noise
# -----
# The last slides quote two results without constants. The algorithms here have
# them. For agnostic boosting, the least training error over T rounds is
# compared with the error of the best stump plus :math:`\sqrt{2/T}`. In Massart
# noise, a label is wrong with a probability of at most η.
from sklearn_ensemble_theory import (
    AgnosticBoostClassifier,
    MassartBoostClassifier,
)
from sklearn_ensemble_theory.datasets import add_massart_noise

X = rng.random((2_000, 1))
clean = np.where((X[:, 0] > 0.3) & (X[:, 0] < 0.6), 1, -1)
y, _ = add_massart_noise(X, clean, lambda X: 0.2 * X[:, 0], random_state=0)
best = 1 - DecisionStumpClassifier().fit(X, y).score(X, y)
agnostic = AgnosticBoostClassifier(n_estimators=200).fit(X, y)
error = 1 - np.array(list(agnostic.staged_score(X, y)))
rounds = np.arange(1, len(error) + 1)
bound = [
    bounds.agnostic_boosting_error_bound(T, optimum=best)
    for T in rounds.tolist()
]
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
axis.semilogx(rounds, bound, "k--", lw=1, label="bound")
axis.semilogx(rounds, np.minimum.accumulate(error), label="least error so far")
axis.axhline(best, color="0.5", ls=":", label="best stump")
axis.axhline(np.mean(y != clean), color="C2", ls=":", label="wrong labels")
axis.set(xlabel="rounds T", ylabel="training error", ylim=(0, 1))
axis.set_title("agnostic boosting of stumps")
axis.legend(fontsize=9)
plt.show()
print(f"agnostic: {error.min():.3f}, bound {bound[-1]:.3f}")
massart = MassartBoostClassifier(
    n_estimators=200, noise_rate=0.2, margin=0.02
).fit(X, y)
bound = bounds.massart_boosting_error_bound(0.2, 0.02)
print(
    f"Massart: error on noisy labels {1 - massart.score(X, y):.3f}, "
    f"on clean ones {1 - massart.score(X, clean):.3f}; bound {bound:.3f}"
)


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


def is_the_error_of_the_vote(error):
    number_wrong = [1.0]
    for _ in range(11):
        number_wrong = np.convolve(number_wrong, [0.7, 0.3])
    return np.isclose(error, sum(number_wrong[6:]))


def is_the_new_weight(weight):
    after = bounds.adaboost_weights(np.full(10, 0.1), np.arange(10) < 2)
    return np.isclose(weight, after[0])


def ends_without_errors(T):
    risk = bounds.adaboost_exponential_risk(np.full(1000, 0.1))
    first = 1 + np.argmax(risk < 1 / 1000)
    return first == T


CHECKS = {
    1: is_the_error_of_the_vote,
    2: is_the_new_weight,
    3: ends_without_errors,
}

# %%
# *Exercise 1.* Eleven classifiers err independently, each with probability 0.3.
# With which probability does their majority vote err?

# Solution: at least six of them have to err.
from math import comb

answer = sum(comb(11, k) * 0.3**k * 0.7 ** (11 - k) for k in range(6, 12))
print(round(answer, 4))
grade(1, answer)

# %%
# *Exercise 2.* AdaBoost has ten rows of equal weight, and its first stump errs
# on two of them. Which weight has each of the two in the second round?

# Solution: the rows with an error together have half of the weight.
answer = 0.5 / 2
grade(2, answer)

# %%
# *Exercise 3.* Every round of AdaBoost on 1,000 rows has an edge of 0.1. After
# which round does the exponential risk show that the training error is 0?

# Solution: the first T with (1 - 4 * 0.1^2)^(T/2) below 1/1000.
answer = 1 + int(2 * np.log(1000) / -np.log(1 - 4 * 0.1**2))
print(answer)
grade(3, answer)
