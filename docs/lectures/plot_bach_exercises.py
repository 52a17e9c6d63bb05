r"""
Bach: exercises of chapter 10
=============================

The exercises of :ref:`the chapter on ensembles
<sphx_glr_auto_lectures_plot_bach.py>`, each with a derivation in a few lines
and with the numbers that it gives.
"""

# %%
# Exercise 10.1: majority votes of nearest neighbours
# ---------------------------------------------------
# Let p(x) be the probabilities of the C classes, with the Lipschitz constant B.
# Let :math:`\hat p(x)` be the shares of the m k neighbours in m data sets of n
# rows. As in section 10.1.1,
#
# .. math:: v = E\lVert\hat p - p\rVert^2 \le \frac{1 - 1/C}{mk}
#    + 8 B^2 \operatorname{diam}^2 \Bigl(\frac{2k}{n}\Bigr)^{2/d},
#
# because the indicators of the classes have a total variance of at most 1 -
# 1/C. The class of the largest share errs by at most :math:`p_{\max} - p_{c}
# \le (p_{\max} - \hat p_{\max}) + (\hat p_c - p_c) \le \sqrt2\, \lVert\hat p -
# p\rVert` more than the best class, in the mean at most :math:`\sqrt{2v}`. If
# the data sets are given, more of them are always better. If N = m n rows are
# divided, the bound depends on K = m k only, and is least where
# :math:`K^{1+2/d}` is proportional to :math:`N^{2/d}`. So every m up to this K
# is optimal, and m = K with k = 1 costs least; with more data sets even one
# neighbour in each is too many. A vote of the m majorities is the same for m =
# 1 and for k = 1, and worse between them.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from sklearn_ensemble_theory import DivideAndConquerClassifier, bounds

rng = np.random.default_rng(0)
N, K = 1200, 60


def probabilities(X):
    waves = 0.1 * np.sin(8 * X[:, 0])
    return np.stack([1 / 3 + waves, 1 / 3 - 2 * waves, 1 / 3 + waves], axis=1)


def excess_error(m, k, voting, repetitions=10):
    found = []
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)  # the same data for every m
        X, x = rng.random((N, 2)), rng.random((1000, 2))
        y = (rng.random((N, 1)) > probabilities(X).cumsum(axis=1)).sum(axis=1)
        model = DivideAndConquerClassifier(
            KNeighborsClassifier(k),
            m,
            voting=voting,
            stratify=False,
            random_state=seed,
        )
        p, chosen = probabilities(x), model.fit(X, y).predict(x)
        found.append(np.mean(p.max(axis=1) - p[np.arange(1000), chosen]))
    return np.mean(found)


blocks = [1, 3, 10, 60, 200, 400]
every = [excess_error(m, max(K // m, 1), "soft") for m in blocks]
majorities = [excess_error(m, K // m, "hard") for m in blocks[:4]]
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
axis.semilogx(blocks, every, "o-", ms=4, label="all neighbours vote")
axis.semilogx(
    blocks[:4], majorities, "s--", ms=4, label="the m majorities vote"
)
axis.axvline(K, color="0.5", ls=":", label="m = K = 60, k = 1")
axis.set(
    xlabel="data sets m of 1200/m rows, k = 60/m or 1",
    ylabel="excess error",
    ylim=(0, None),
)
axis.set_title("3 classes in the plane")
axis.legend()
plt.show()
print(
    "best m for 10⁴ and 10⁶ rows:",
    *(bounds.neighbors_vote_n_blocks(n, 2) for n in (10**4, 10**6)),
)

# %%
# Exercise 10.2: the cost of ridge regression in blocks
# -----------------------------------------------------
# If n rows cost :math:`n^\beta`, m blocks of N/m rows cost :math:`m (N/m)^\beta
# = N^\beta m^{1-\beta}`. For β > 1 more blocks are better, and for β = 1 their
# number does not matter. So the best m is the largest one that keeps the risk.
# The rate of section 10.1.1 depends on N = n m only; but a block must have
# enough rows for the :math:`\lambda^{-1/\alpha}` directions that the penalty
# leaves. Below, 60 cosines with coefficients that decrease, 1024 rows in m
# blocks, the best penalty for each m, and the cost for β = 3.
from sklearn.linear_model import Ridge

from sklearn_ensemble_theory import DivideAndConquerRegressor

j = np.arange(1, 61)


def cosines(x):
    return np.sqrt(2) * np.cos(np.pi * np.outer(x, j)) / j


theta = 1 / j
grid = cosines(np.linspace(0, 1, 500))
blocks, risks = [1, 4, 16, 64, 128], []
for m in blocks:
    by_penalty = np.zeros(6)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = cosines(rng.random(1024))
        y = X @ theta + rng.standard_normal(1024)
        for number, penalty in enumerate(np.geomspace(1e-3, 0.3, 6)):
            ridge = Ridge(penalty * 1024 / m, fit_intercept=False)
            model = DivideAndConquerRegressor(ridge, m, random_state=seed).fit(
                X, y
            )
            by_penalty[number] += (
                np.mean((model.predict(grid) - grid @ theta) ** 2) / 8
            )
    risks.append(by_penalty.min())
cost = bounds.divide_and_conquer_cost(1024, blocks, exponent=3) / 1024**3
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.8), layout="constrained"
)
left.semilogx(blocks, risks, "o-", ms=4)
left.set(
    xlabel="blocks m",
    ylabel="risk at the best penalty",
    ylim=(0, None),
    title="risk",
)
right.loglog(blocks, cost, "o-", ms=4)
right.set(
    xlabel="blocks m", ylabel="cost / cost of one fit", title="cost for β = 3"
)
plt.show()
print(
    "for nearest neighbours in the plane m is at most",
    bounds.divide_and_conquer_n_blocks(1024, 2),
)

# %%
# Exercise 10.3: distinct rows of a bootstrap sample
# --------------------------------------------------
# A row is missed by n draws with the probability :math:`(1 - 1/n)^n`; the
# expected share of rows that are drawn is one minus that. As :math:`n \log(1 -
# 1/n) \to -1`, it tends to 1 - 1/e, from above.
print("    n  simulated  exact")
for n in (2, 5, 20, 100, 1000):
    drawn = np.sort(rng.integers(n, size=(2000, n)), axis=1)
    share = np.mean(1 + np.count_nonzero(np.diff(drawn, axis=1), axis=1)) / n
    print(f"{n:5}  {share:.4f}     {bounds.bootstrap_distinct_fraction(n):.4f}")
print(f"limit             {bounds.bootstrap_distinct_fraction():.4f}")

# %%
# Exercise 10.4: random coordinates
# ---------------------------------
# The columns of S are independent and uniform among :math:`e_1, \dots, e_d`. So
# :math:`E[SS^\top] = \frac{s}{d} I`. In :math:`SS^\top G\, SS^\top` two
# different columns contribute :math:`\frac1d I\, G\, \frac1d I`, and one column
# :math:`G_{jj} e_j e_j^\top`:
#
# .. math:: E[SS^\top G\, SS^\top] = \frac{s(s-1)}{d^2} G
#    + \frac{s}{d} \operatorname{diag}(G).
#
# Here :math:`G = \Phi^\top\Phi`. With :math:`D = d \max_j \lVert\Phi_j\rVert^2`
# the last term is at most :math:`\frac{s}{d^2} D\, I`, and a direction with the
# eigenvalue g of G has a bias of at most :math:`g\bigl(1 - \frac{s g}{(s-1) g +
# D}\bigr) = \frac{g (D - g)}{(s-1) g + D} \le \frac{D}{s}`. So the risk is at
# most :math:`\frac{\sigma^2 s}{n} + \frac{D}{n}
# \frac{\lVert\theta\rVert^2}{s}`: the bound of Gaussian projections, with D for
# twice the trace.
import itertools

G = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
every = np.array(
    [np.eye(3)[:, list(c)] for c in itertools.product(range(3), repeat=2)]
)
squares = every @ every.swapaxes(1, 2)
first, second = bounds.projection_moments(G, 2, projection="coordinate")
print(
    "largest difference to the mean over all 9 choices of d = 3, s = 2:",
    end=" ",
)
print(
    max(
        np.abs(squares.mean(0) - first).max(),
        np.abs((squares @ G @ squares).mean(0) - second).max(),
    )
)

# %%
# The risk of averages of such fits below the bound; the rows are fixed, and the
# noise has variance 1. (The estimator draws without replacement, which spans at
# least as much.)
from sklearn_ensemble_theory import RandomProjectionRegressor

n, d = 60, 100
Phi = rng.standard_normal((n, d))
theta = 0.2 * rng.standard_normal(d)
sizes = np.array([1, 2, 4, 8, 15, 30, 50])
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
size = d * np.max(np.sum(Phi**2, axis=0))
for projection, color in (("coordinate", "C0"), ("gaussian", "C1")):
    for m, style in ((1, "o-"), (20, "s--")):
        risk = []
        for s in sizes.tolist():
            model = RandomProjectionRegressor(
                n_components=s,
                projection=projection,
                fit_intercept=False,
                random_state=0,
            )
            risk.append(
                model.expected_projection(Phi, 100).risk(Phi @ theta, 1.0, m)
            )
        axis.loglog(
            sizes,
            risk,
            style,
            ms=4,
            color=color,
            label=f"{projection}, m = {m}",
        )
bound = [
    bounds.projection_risk_bound(
        n, s, size, theta @ theta, projection="coordinate"
    )
    for s in sizes.tolist()
]
axis.loglog(sizes, bound, "k--", lw=1, label="bound of the exercise")
bound = [
    bounds.projection_risk_bound(n, s, np.sum(Phi**2), theta @ theta)
    for s in sizes.tolist()
]
axis.loglog(sizes, bound, "k:", label="(10.1), Gaussian")
axis.set(xlabel="s", ylabel="excess risk", title="60 rows, 100 variables")
axis.legend(fontsize=8)
plt.show()

# %%
# *Random features.* The calculation that the text leaves to the reader has the
# same two parts: two different columns contribute :math:`K^2`, and one column
# :math:`E[\lVert\varphi\rVert^2 \varphi\varphi^\top] \preceq n R^2 K`. So the
# moment is at most :math:`s(s-1) K^2 + n s R^2 K`; the chapter prints K for
# :math:`K^2`. Along the first eigenvector of a Gaussian kernel, with 20,000
# draws of s = 10 cosines:
from sklearn.metrics.pairwise import rbf_kernel

x, s = np.linspace(0, 1, 40)[:, None], 10
K = rbf_kernel(x, gamma=50)
v = np.linalg.eigh(K)[1][:, -1]
features = np.sqrt(2) * np.cos(
    x * 10 * rng.standard_normal((20_000, 1, s))
    + 2 * np.pi * rng.random((20_000, 1, s))
)
products = np.einsum("bij,i->bj", features, v)  # of v with each column
moment = np.mean(
    np.sum(np.einsum("bij,bj->bi", features, products) ** 2, axis=1)
)
corrected = v @ bounds.random_features_moment_bound(K, s, 2.0) @ v
printed = (s * (s - 1) + 40 * s * 2) * (v @ K @ v)
print(
    f"simulated {moment:.0f}, bound {corrected:.0f}, "
    f"bound as printed {printed:.0f}"
)

# %%
# Exercise 10.5: orthogonal matching pursuit
# ------------------------------------------
# Let r be the residual and :math:`a_t = \lVert r_t\rVert^2/n`. After a fit on
# the span r is orthogonal to u, so :math:`\lVert r\rVert^2 = r^\top y \le
# \gamma(y)\, \gamma^\circ(r)`. The next fit is at least as good as a step along
# ψ(w) alone, which lowers a by :math:`\gamma^\circ(r)^2/n^2 \ge
# a^2/\gamma(y)^2`:
#
# .. math:: a_t \le a_{t-1} - a_{t-1}^2/\gamma(y)^2
#    \quad\Longrightarrow\quad
#    \frac{1}{a_t} \ge \frac{1}{a_{t-1}} \cdot \frac{1}{1 - a_{t-1}/\gamma(y)^2}
#    \ge \frac{1}{a_{t-1}} + \frac{1}{\gamma(y)^2}.
#
# (The last step is the lemma of footnote 4, with c for 1/c in its conclusion.)
# As :math:`a_0 \le \gamma(y)^2`, it follows that :math:`a_t \le
# \gamma(y)^2/(t+1)`. Runs on random columns, and on orthogonal ones, which come
# within a factor 4 of the bound:
from sklearn_ensemble_theory import MatchingPursuitRegressor


def pursuit(Psi, y, variant, rounds):
    """Mean squared residuals by squared gauge; columns have mean square 1."""
    Psi = Psi / np.sqrt(np.mean(Psi**2, axis=0))
    model = MatchingPursuitRegressor(
        rounds, variant=variant, fit_intercept=False
    ).fit(Psi, y)
    return model.residual_norms_[1:] ** 2 / bounds.gauge(Psi, y).value ** 2


t = np.arange(1, 61)
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for seed in range(20):
    Psi, y = rng.standard_normal((40, 60)), rng.standard_normal(40)
    run = pursuit(Psi, y, "orthogonal", 39)
    axis.loglog(
        t[: len(run)],
        run,
        "C0",
        lw=0.6,
        label=None if seed else "random columns",
    )
for number in (4, 16, 64):
    run = pursuit(
        np.eye(64),
        np.r_[np.ones(number), np.zeros(64 - number)],
        "orthogonal",
        60,
    )
    kept = run > 1e-12
    axis.loglog(
        t[: len(run)][kept],
        run[kept],
        "C1.-",
        lw=0.8,
        ms=3,
        label=None if number < 64 else "orthogonal columns: 4, 16, 64 of them",
    )
axis.loglog(
    t,
    bounds.orthogonal_matching_pursuit_bound(t, 1.0),
    "k--",
    lw=1,
    label="bound, 1/(t + 1)",
)
axis.set(
    xlabel="round t",
    ylabel=r"mean squared residual / $\gamma(y)^2$",
    ylim=(1e-5, 1.5),
)
axis.set_title("orthogonal matching pursuit")
axis.legend(fontsize=9)
plt.show()

# %%
# Exercise 10.6: quadratic risks
# ------------------------------
# For a quadratic F the excess is :math:`\Delta = \frac12 F'(u)^\top(u - u_*)
# \le \frac12\gamma^\circ(F'(u))\,\Gamma`, with the number Γ of the proof of
# proposition 10.1, which bounds :math:`\gamma(u - u_*)` and grows by
# :math:`\gamma^\circ(F')/(LC^2)` in a round. That is half of what convexity
# gives. So with :math:`p = \gamma^\circ(F')^2/(LC^2\Delta)`
#
# .. math:: \Delta_t\Gamma_t^{-2} \le x - \frac{2}{LC^2} x^2
#    \text{ for } x = \Delta_{t-1}\Gamma_{t-1}^{-2}
#    \ \Rightarrow\ \Delta_t\Gamma_t^{-2} \le \frac{LC^2}{2t},
#
# .. math:: \Delta_t\Gamma_t
#    \le \Delta_{t-1}\Gamma_{t-1} (1 - \tfrac p2)_+ (1 + \tfrac p2)
#    \le \Delta_{t-1}\Gamma_{t-1}.
#
# The product :math:`\Delta_t^3 = (\Delta_t\Gamma_t)^2\,\Delta_t\Gamma_t^{-2}`
# is at most :math:`\Delta_0^2\gamma^2 \frac{LC^2}{2t}`, and :math:`\Delta_0 \le
# \frac12 LC^2\gamma^2`. Together, :math:`\Delta_t \le \frac12 LC^2\gamma^2
# t^{-1/3}`. Matching pursuit is this algorithm with :math:`LC^2 = 1`; the bound
# of proposition 10.1 for the same runs decreases as :math:`t^{-1/5}`.
t = np.arange(1, 201)
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
for seed in range(20):
    Psi, y = rng.standard_normal((40, 60)), rng.standard_normal(40)
    run = pursuit(Psi, y, "plain", 200) / 2
    axis.loglog(
        t[: len(run)],
        run,
        "C0",
        lw=0.6,
        label=None if seed else "random columns",
    )
axis.loglog(
    t,
    pursuit(np.eye(400), np.ones(400), "plain", 200) / 2,
    "C1",
    label="400 orthogonal",
)
axis.loglog(
    t,
    bounds.quadratic_boosting_bound(t, 1.0, 1.0),
    "k--",
    lw=1,
    label="exercise 10.6",
)
axis.loglog(
    t,
    bounds.greedy_boosting_bound(t, 1.0, 1.0, 0.5),
    "k:",
    label="proposition 10.1",
)
axis.set(xlabel="round t", ylabel=r"excess risk / $\gamma^2$", ylim=(1e-5, 2))
axis.set_title("matching pursuit")
axis.legend(fontsize=9)
plt.show()

# %%
# Exercise 10.7: functions of a distance
# --------------------------------------
# The functions are σ(d(x, w)) for all points w of a metric space of diameter D,
# and σ has the Lipschitz constant L. Choose N points such that each w is within
# r of one: this changes the function by at most L r. The N functions are in an
# interval of length L D, whose middle the random signs remove, and Massart's
# lemma bounds their largest mean:
#
# .. math:: E \sup_w \frac1n \sum_i \varepsilon_i \sigma(d(x_i, w))
#    \le L r + \frac{L D}{2} \sqrt{\frac{2 \log N}{n}}.
#
# A ball of the variation norm has (10.14) its radius times this; for functions
# of both signs, N is doubled and the values have no middle to remove. On the
# unit interval N = 1/(2r), rounded up, and the best r is of order
# :math:`n^{-1/2}`. For σ(d) = (1 - d)₊:
sizes = np.array([25, 50, 100, 200, 400, 800, 1600])
w, r = np.linspace(0, 1, 201), np.geomspace(1e-3, 0.5, 60)
simulated, bound = [], []
for n in sizes.tolist():
    x = rng.random(n)
    values = 1 - np.abs(np.subtract.outer(w, x))
    simulated.append(
        bounds.empirical_rademacher_complexity(
            values, n_draws=1000, random_state=0
        )
    )
    N = np.ceil(1 / (2 * r))
    bound.append(
        bounds.distance_features_rademacher_bound(n, 1.0, r, np.log(N)).min()
    )
figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
axis.loglog(sizes, simulated, "o-", ms=4, label="simulated, 201 points w")
axis.loglog(sizes, bound, "k--", lw=1, label="bound at its best r")
axis.set(
    xlabel="points n",
    ylabel="Rademacher complexity",
    title="functions 1 - |x - w|",
)
axis.legend()
plt.show()
