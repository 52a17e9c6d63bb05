"""The theorems of `sklearn_ensemble_theory.bounds`, in formulas.

Each is written down in `THEOREMS` only. The page of a function shows its formula below the first
line of the docstring, which itself has letters that can be read in a terminal; the pages of the
theory end with the formulas of their themes; and docs/user_guide/theorems.md is the index by name.
"""

import re
from pathlib import Path

from source_links import repository

BOUNDS = "sklearn_ensemble_theory.bounds"
SHAH, BACH, TUM = "Shah, ", "Bach, ", "Ghoshdastidar, "
LINEAR = "Dombry and Esstafa, "

# function: (name of the theorem, formula, assumptions and letters, source), or "function: case"
# for each of its cases
THEOREMS = {
    "Deviations of sums and functions of independent variables": {
        "markov_tail": (
            "Markov's inequality",
            r"P(W \ge t) \le \min\{1, \mathbb{E}W / t\}",
            "W is not negative",
            SHAH + "§2.1",
        ),
        "chernoff_tail": (
            "Chernoff bound",
            r"P(W \ge t) \le \inf_{\alpha > 0} e^{-\alpha t}\, \mathbb{E} e^{\alpha W}",
            "any W with a moment generating function",
            SHAH + "§2.1",
        ),
        "sub_gaussian_tail": (
            "Tail of a sub-Gaussian variable",
            r"P(W - \mathbb{E}W \ge t) \le e^{-t^2 / (2\sigma^2)}",
            "W is sub-Gaussian with parameter σ; twice that for both sides",
            SHAH + "proposition 2",
        ),
        "bounded_sub_gaussian_parameter": (
            "Hoeffding's lemma",
            r"\mathbb{E} e^{\alpha (W - \mathbb{E}W)} \le e^{\alpha^2 (b - a)^2 / 8}",
            "W is in [a, b]: the parameter is (b - a)/2",
            SHAH + "lemma 3",
        ),
        "sub_gaussian_sum_parameter": (
            "Sums of sub-Gaussian variables",
            r"\sigma = \Bigl(\sum_i \gamma_i^2 \sigma_i^2\Bigr)^{1/2}",
            "independent variables of parameters σ_i, or martingale differences",
            SHAH + "proposition 4 and lemma 8",
        ),
        "sub_gaussian_maximum_bound": (
            "Maximal inequality",
            r"\mathbb{E} \max_{j \le d} W_j \le \sigma \sqrt{2 \log d}",
            "sub-Gaussian variables of mean 0, which may depend on each other",
            SHAH + "proposition 5",
        ),
        "hoeffding_tail": (
            "Hoeffding's inequality",
            r"P\bigl(\bar W - \mathbb{E}\bar W \ge t\bigr) \le e^{-2 n t^2 / (b - a)^2}",
            "n independent variables in [a, b]",
            SHAH + "eq. (2.4)",
        ),
        "hoeffding_deviation": (
            "Hoeffding's inequality, solved for the deviation",
            r"t = (b - a) \sqrt{\frac{\log(1/\delta)}{2n}}",
            "2/δ for both sides",
            SHAH + "eq. (2.4)",
        ),
        "hoeffding_n_samples": (
            "Hoeffding's inequality, solved for the number of rows",
            r"n = \Bigl\lceil \frac{(b - a)^2 \log(1/\delta)}{2 t^2} \Bigr\rceil",
            "2/δ for both sides",
            SHAH + "eq. (2.4)",
        ),
        "mcdiarmid_tail": (
            "McDiarmid's inequality (bounded differences)",
            r"P(f - \mathbb{E}f \ge t) \le e^{-2 t^2 / \sum_i L_i^2}",
            "independent variables, of which the i-th alone changes f by at most L_i",
            SHAH + "theorem 7",
        ),
        "mcdiarmid_deviation": (
            "McDiarmid's inequality, solved for the deviation",
            r"t = \sqrt{\tfrac{1}{2} \log(1/\delta) \sum_i L_i^2}",
            "2/δ for both sides",
            SHAH + "theorem 7",
        ),
        "azuma_hoeffding_tail": (
            "Azuma-Hoeffding inequality",
            r"P\Bigl(\sum_i D_i \ge t\Bigr) \le e^{-2 t^2 / \sum_i L_i^2}",
            "martingale differences; given the past, D_i is in an interval of length L_i",
            SHAH + "theorem 9",
        ),
    },
    "Classes of functions: finite, of finite VC dimension, by Rademacher complexity": {
        "finite_class_bound": (
            "Empirical risk minimisation over a finite class",
            r"R(\hat h) - \min_{h \in H} R(h)"
            r" \le M \sqrt{\frac{2 (\log |H| + \log(1/\delta))}{n}}",
            "losses in [0, M]; with probability 1 - δ",
            SHAH + "theorem 6",
        ),
        "histogram_class_bound": (
            "Histogram classifier",
            r"R(\hat h) - \min_{h \in H} R(h)"
            r" \le \sqrt{\frac{2 (m^p \log K + \log(1/\delta))}{n}}",
            "m intervals of each of p features, K classes; with probability 1 - δ",
            SHAH + "theorem 6",
        ),
        "cross_validation_oracle_bound": (
            "Oracle inequality of cross-validation",
            r"R_{\hat\jmath} \le \min_j R_j"
            r" + \sum_k \frac{n_k}{n} M \sqrt{\frac{2 \ln(c/\delta)}{n_k}}",
            "losses in [0, M], n_k rows held out in split k; with probability 1 - δ",
            SHAH + "theorem 6",
        ),
        "oracle_selection_bound": (
            "Oracle inequality of cross-validation in expectation",
            r"\mathbb{E}\, d_{\hat k} \le (1 + a) \min_k \mathbb{E}\, d_k"
            r" + \Bigl(\frac{(1 + a)^2 B}{2a} + \frac{(1 + a)\, b}{3}\Bigr) \frac{\log K}{m}",
            "d_k: excess risk over the best function, Z: that of the loss, with -b ≤ Z ≤ b and "
            "E Z² ≤ B E Z; m rows in a test fold; any a > 0",
            "van der Laan and Dudoit (2003); van der Vaart, Dudoit and van der Laan (2006)",
        ),
        "exponential_weights_bound": (
            "Progressive exponential weights",
            r"\mathbb{E} R(\bar f) \le \min_k R_k + \frac{\log K}{A\, (n + 1)}",
            "exp(-A loss) is concave: A = 1/(8M²) for the squared error in [-M, M], 1 for the "
            "log-loss",
            "Catoni (2004); Juditsky, Rigollet and Tsybakov (2008); Audibert (2009)",
        ),
        "convex_aggregation_bound": (
            "Least squares over mixtures",
            r"\mathbb{E} R(\hat w) - \min_w R(w) \le M^2 \min\Bigl\{"
            r"4 \bigl(1 - (1 - h)^2\bigr),\; \tfrac52 \sqrt{\tfrac{2}{n}"
            r" \log \tfrac{K (K + 1)}{2}}\Bigr\}, \quad"
            r" h = \min\bigl\{1, \tfrac{K - 1}{n + 1}\bigr\}",
            "weights of sum 1 that are not negative; targets and predictions in [-M, M]",
            "Nemirovski (2000); Tsybakov (2003)",
        ),
        "shattering_coefficient": (
            "Shattering coefficient",
            r"s(H, n) = \max_{x_1, \ldots, x_n} |\{(h(x_1), \ldots, h(x_n)) : h \in H\}|",
            "the largest on n of the given points",
            SHAH + "definitions 4 and 5",
        ),
        "vc_dimension": (
            "Vapnik-Chervonenkis dimension",
            r"\mathrm{VC}(H) = \sup \{n : s(H, n) = 2^n\}",
            "the largest number of the given points",
            SHAH + "definition 5",
        ),
        "behaviours: intervals": (
            "Behaviours of intervals",
            r"|H(x_{1:n})| = \tfrac{n (n + 1)}{2} + 1, \quad \mathrm{VC}(H) = 2",
            "different points of the line; without the negatives",
            SHAH + "§2.5",
        ),
        "behaviours: stumps": (
            "Behaviours of decision stumps",
            r"|H(x_{1:n})| \le 2 p (n - 1) + 2",
            "p features",
            SHAH + "§4.2",
        ),
        "stump_vc_dimension": (
            "VC dimension of decision stumps",
            r"\mathrm{VC}(H) = \max \Bigl\{N : \binom{N}{\lfloor N/2 \rfloor} \le 2 p\Bigr\}",
            "p features",
            "Gey (2018)",
        ),
        "behaviours: orthants": (
            "Behaviours of lower orthants",
            r"|H(x_{1:n})| \le (n + 1)^p, \quad \mathrm{VC}(H) = p",
            "p features",
            SHAH + "§2.5",
        ),
        "behaviours: halfspaces": (
            "VC dimension of half-spaces",
            r"\mathrm{VC}(H) = p + 1",
            "with an intercept; p without one",
            SHAH + "proposition 14",
        ),
        "behaviours: halfspaces in general position": (
            "Cover's theorem",
            r"s(H, n) = 2 \sum_{i=0}^{d-1} \binom{n - 1}{i}",
            "half-spaces; d = p + 1 with an intercept, d = p without one",
            "Cover (1965)",
        ),
        "sauer_shelah_bound": (
            "Sauer-Shelah lemma",
            r"s(H, n) \le \Phi_d(n) = \sum_{i=0}^{d} \binom{n}{i} \le (n + 1)^d",
            "a class of VC dimension d",
            SHAH + "lemma 13",
        ),
        "vc_rademacher_bound": (
            "Rademacher complexity by the VC dimension",
            r"R_n \le \sqrt{\frac{2 d \log(n + 1)}{n}}",
            "classifiers with values -1 and 1 of VC dimension d",
            SHAH + "lemmas 12 and 13",
        ),
        "vc_excess_risk_bound": (
            "Empirical risk minimisation over a class of finite VC dimension",
            r"R(\hat h) - \inf_{h \in H} R(h)"
            r" \le 2 \sqrt{\frac{2 d \log(n + 1)}{n}} + \sqrt{\frac{2 \log(2/\delta)}{n}}",
            "with probability 1 - δ",
            SHAH + "theorem 11",
        ),
        "pac_n_samples_upper_bound": (
            "Sample size of a PAC learner, upper bound",
            r"n \ge \max \Bigl\{\frac{4}{\epsilon} \log_2 \frac{2}{\delta},"
            r" \frac{8 d}{\epsilon} \log_2 \frac{13}{\epsilon}\Bigr\}",
            "no training error, a classifier of the class makes no error: error at most ε with "
            "probability 1 - δ",
            "Blumer et al. (1989)",
        ),
        "pac_n_samples_lower_bound": (
            "Sample size of a PAC learner, lower bound",
            r"n \ge \max \Bigl\{\frac{1 - \epsilon}{\epsilon} \log \frac{1}{\delta},"
            r" \frac{d - 1}{32 \epsilon}\Bigr\}",
            "needed by every deterministic learner",
            "Ehrenfeucht et al. (1989)",
        ),
        "empirical_rademacher_complexity": (
            "Empirical Rademacher complexity",
            r"\hat R_n(F) = \mathbb{E} \sup_{f \in F} \frac{1}{n} \sum_{i=1}^n"
            r" \varepsilon_i f(z_i)",
            "independent random signs ε_i",
            SHAH + "eq. (2.8)",
        ),
        "stump_rademacher_complexity": (
            "Rademacher complexity of decision stumps",
            r"\hat R_n = \frac{1}{n} \mathbb{E} \max_{j, C} |S - 2 C|",
            "S is the sum of the signs, C their cumulative sums in the order of feature j",
            SHAH + "§4.2",
        ),
        "ball_rademacher_complexity: l1": (
            r"Rademacher complexity of linear functions in an l1 ball",
            r"\hat R_n = \frac{\lambda}{n} \mathbb{E} \max_j"
            r" \Bigl|\sum_i \varepsilon_i x_{ij}\Bigr|",
            "l1 norm of the coefficients at most λ",
            SHAH + "§3.6",
        ),
        "ball_rademacher_complexity: l2": (
            "Rademacher complexity of linear functions in an l2 ball",
            r"\hat R_n = \frac{\lambda}{n} \mathbb{E} \Bigl\lVert \sum_i \varepsilon_i x_i"
            r" \Bigr\rVert_2",
            "l2 norm of the coefficients at most λ",
            SHAH + "§3.5",
        ),
        "ball_rademacher_bound: l1": (
            "Bound on the Rademacher complexity, l1 ball",
            r"\hat R_n \le \lambda C \sqrt{\frac{2 \log(2 p)}{n}}",
            "features in [-C, C]",
            SHAH + "§3.6",
        ),
        "ball_rademacher_bound: l2": (
            "Bound on the Rademacher complexity, l2 ball",
            r"\hat R_n \le \frac{\lambda C}{\sqrt{n}}",
            "points of norm at most C",
            SHAH + "§3.5",
        ),
        "finite_behaviours_rademacher_bound": (
            "Massart's lemma",
            r"\hat R_n \le B \sqrt{\frac{2 \log N}{n}}",
            "N behaviours with values of at most B",
            SHAH + "lemma 12",
        ),
        "rademacher_contraction_bound": (
            "Contraction lemma",
            r"\hat R_n(\phi \circ H) \le L\, \hat R_n(H)",
            "φ has the Lipschitz constant L on the scores",
            SHAH + "lemma 19",
        ),
        "rademacher_union_bound": (
            "Union of classes",
            r"\hat R_n(F_1 \cup \ldots \cup F_m)"
            r" \le \max_j \hat R_n(F_j) + M \sqrt{\frac{2 \log m}{n}}",
            "values in [-M, M]",
            SHAH + "§2.4",
        ),
        "distance_features_rademacher_bound": (
            "Functions of the distance to a point",
            r"\hat R_n \le L r + \frac{L D}{2} \sqrt{\frac{2 \log N}{n}}",
            "N centres such that each point is within r of one; diameter D",
            BACH + "exercise 10.7",
        ),
        "symmetrization_bound": (
            "Symmetrisation",
            r"\mathbb{E} \sup_{f \in F} \frac{1}{n} \sum_i (f(Z_i) - \mathbb{E} f(Z_i))"
            r" \le 2 R_n(F)",
            "independent Z_i of one distribution",
            SHAH + "theorem 10",
        ),
        "uniform_deviation_bound": (
            "Uniform deviation by the Rademacher complexity",
            r"\sup_h \{R(h) - \hat R(h)\} \le 2 R_n(F) + M \sqrt{\frac{\log(1/\delta)}{2n}}",
            "losses in [0, M]; with probability 1 - δ",
            SHAH + "theorems 7 and 10",
        ),
        "rademacher_excess_risk_bound": (
            "Empirical risk minimisation by the Rademacher complexity",
            r"R(\hat h) - \inf_h R(h) \le 2 L R_n + M \sqrt{\frac{2 \log(2/\delta)}{n}}",
            "losses in [0, M], L-Lipschitz in the score; with probability 1 - δ",
            SHAH + "theorem 11 and corollary 20",
        ),
    },
    "Convex surrogates of the misclassification loss": {
        "is_classification_calibrated": (
            "Classification calibration",
            r"\phi \text{ is calibrated} \Leftrightarrow \phi'(0) \text{ exists and } \phi'(0) < 0",
            "φ is convex",
            SHAH + "theorem 18",
        ),
        "conditional_surrogate_risk": (
            "Conditional risk of a surrogate",
            r"C_\eta(\alpha) = \eta\, \phi(\alpha) + (1 - \eta)\, \phi(-\alpha)",
            "η is the probability of +1 at a point, α its score",
            SHAH + "§3.3",
        ),
        "surrogate_risk": (
            "Empirical surrogate risk",
            r"\hat R_\phi(h) = \sum_i w_i\, \phi(y_i h(x_i)) / \sum_i w_i",
            "labels -1 and 1",
            SHAH + "§3.3",
        ),
        "ball_excess_risk_bound: l2": (
            "Linear classifiers in an l2 ball",
            r"R_\phi(\hat h) - \inf_{\lVert\beta\rVert_2 \le \lambda} R_\phi"
            r" \le \frac{2 L \lambda C}{\sqrt{n}} + M \sqrt{\frac{2 \log(2/\delta)}{n}}",
            "M = φ(-λC); with probability 1 - δ",
            SHAH + "corollary 20",
        ),
        "ball_excess_risk_bound: l1": (
            "Linear classifiers in an l1 ball",
            r"R_\phi(\hat h) - \inf_{\lVert\beta\rVert_1 \le \lambda} R_\phi"
            r" \le 2 L \lambda C \sqrt{\frac{2 \log(2p)}{n}}"
            r" + M \sqrt{\frac{2 \log(2/\delta)}{n}}",
            "M = φ(-λC); with probability 1 - δ",
            SHAH + "corollary 20",
        ),
    },
    "Averages of fits, blocks and bootstrap samples": {
        "correlated_average_variance": (
            "Variance of a mean of correlated members",
            r"\mathrm{Var} = \rho \sigma^2 + \frac{(1 - \rho) \sigma^2}{B}",
            "B members of variance σ² and correlation ρ; exact",
            SHAH + "§4.5",
        ),
        "correlated_average_n_estimators": (
            "Number of members for a given excess over the limit",
            r"B = \Bigl\lceil \frac{(1 - \rho) \sigma^2}{\text{excess}} \Bigr\rceil",
            "the inverse of the variance",
            SHAH + "§4.5",
        ),
        "averaged_ridge_risk": (
            "Averages of ridge regressions",
            r"\sum_j \frac{\lambda^2 b_j^2}{(\mu_j + \lambda)^2}"
            r" + \frac{\sigma^2}{n m} \sum_j \frac{\mu_j^2}{(\mu_j + \lambda)^2}",
            "m data sets with the same n rows and independent noise; exact",
            BACH + "§10.1.1",
        ),
        "averaged_ridge_risk_bound": (
            "Averages of ridge regressions, for powers",
            r"\frac{\sigma^2}{n m} c_a \Bigl(\frac{C}{\lambda}\Bigr)^{1/a}"
            r" + R^2 k_r \lambda^r",
            "eigenvalues at most C j^-a, and a target of smoothness r",
            BACH + "§10.1.1",
        ),
        "averaged_ridge_optimal_penalty": (
            "Best penalty of averaged ridge regressions",
            r"\lambda \propto (n m)^{-1 / (r + 1/a)}",
            "minimises the bound",
            BACH + "§10.1.1",
        ),
        "divide_and_conquer_cost": (
            "Cost of fits to blocks",
            r"m (n/m)^b = n^b m^{1 - b}",
            "m blocks, an estimator of cost n^b",
            BACH + "exercise 10.2",
        ),
        "bootstrap_distinct_fraction": (
            "Distinct rows of a bootstrap sample",
            r"1 - (1 - 1/n)^s",
            "s draws with replacement among n rows; exact",
            BACH + "exercise 10.3",
        ),
        "bootstrap_distinct_fraction: limit": (
            "Distinct rows of a bootstrap sample, limit",
            r"1 - (1 - 1/n)^{c n} \to 1 - e^{-c}",
            "c draws for each row",
            BACH + "exercise 10.3",
        ),
        "bagging_stability": (
            "Stability of bagging",
            r"\frac1n \#\{i : |f(x) - f^{(-i)}(x)| > \epsilon\} \le \delta,\quad "
            r"\epsilon = R\, \sqrt{\tfrac{1}{4 n \delta} "
            r"\bigl(\tfrac{p}{1 - p} + \tfrac{q}{(1 - p)^2}\bigr)}",
            "any learner with outputs in a range R and any rows; p the probability of a row in a "
            "member, -q the covariance for two rows",
            "Soloff, Barber and Willett (2024)",
        ),
        "bagging_stable_max_samples": (
            "Stable subsamples",
            r"\max\{s : \epsilon(s) \le \epsilon\}",
            "ε(s) the stability of bagging with s rows for each member",
            "Soloff, Barber and Willett (2024)",
        ),
        "jackknife_plus_coverage_bound": (
            "Coverage of the jackknife+ after bootstrap",
            r"P(Y \in \hat C_\alpha(X)) \ge 1 - 2 \alpha",
            "exchangeable rows, a random number of members",
            "Kim, Xu and Barber (2020)",
        ),
    },
    "Nearest neighbours, bagged and averaged": {
        "bagged_neighbors_variance": (
            "Variance of bagged nearest neighbours",
            r"\sigma^2 \sum_i V_i^2",
            "V_i: probability that the i-th nearest row is the nearest of a draw; exact",
            BACH + "§10.1.2",
        ),
        "bagged_neighbors_variance_bound": (
            "Bound on the variance of bagged nearest neighbours",
            r"\sum_i V_i^2 \le \frac{s/n}{(1 + 1/n - s/n)^2}",
            "s of n rows without replacement; the docstring has the other draws",
            BACH + "§10.1.2",
        ),
        "bagged_neighbors_risk_bound": (
            "Risk of bagged nearest neighbours",
            r"4 B^2 \mathrm{diam}^2 s^{-2/d} + \sigma^2 \frac{s/n}{(1 + 1/n - s/n)^2}",
            "the target is B-Lipschitz, d features",
            BACH + "§10.1.2",
        ),
        "bagged_neighbors_optimal_max_samples": (
            "Best subsample of bagged nearest neighbours",
            r"s \propto n^{d / (d + 2)}",
            "minimises the bound",
            BACH + "§10.1.2",
        ),
        "independent_neighbors_risk_bound": (
            "Nearest neighbours averaged over independent data sets",
            r"\frac{\sigma^2}{k m} + 8 B^2 \mathrm{diam}^2 \Bigl(\frac{2 k}{n}\Bigr)^{2/d}",
            "m data sets of n rows, k neighbours",
            BACH + "§10.1.1",
        ),
        "independent_neighbors_optimal_n_neighbors": (
            "Best number of neighbours for averages",
            r"k \propto n^{2 / (d + 2)} m^{-d / (d + 2)}",
            "minimises the bound",
            BACH + "§10.1.1",
        ),
        "independent_neighbors_vote_bound": (
            "Vote of nearest neighbours over independent data sets",
            r"\sqrt{2 v}, \quad v = \frac{1 - 1/C}{k m}"
            r" + 8 B^2 \mathrm{diam}^2 \Bigl(\frac{2 k}{n}\Bigr)^{2/d}",
            "C classes",
            BACH + "exercise 10.1",
        ),
        "neighbors_vote_n_blocks": (
            "Best number of blocks for a vote of nearest neighbours",
            r"m^{1 + 2/d} = \frac{(1 - 1/C)\, d\, (n/2)^{2/d}}{16 B^2 \mathrm{diam}^2}",
            "one neighbour in each block; rounded",
            BACH + "exercise 10.1",
        ),
        "divide_and_conquer_n_blocks": (
            "Largest number of blocks that keeps the rate",
            r"m = \lfloor n^{2 / (d + 2)} \rfloor",
            "nearest neighbours in d dimensions",
            BACH + "§10.1.1",
        ),
        "stone_conditions": (
            "Stone's theorem",
            r"\sum_i \sup_{j \ge i} w_j \le c, \quad"
            r" \mathbb{E} \sum_i w_i 1\{\lVert x_{(i)} - x \rVert > r\} \to 0, \quad"
            r" \max_i w_i \to 0",
            "weights by rank; together they make the rule universally consistent",
            TUM + "theorem En.2",
        ),
        "stone_lemma_constant": (
            "Stone's lemma",
            r"\gamma_d \le \Bigl(1 + \frac{2}{\sqrt{2 - \sqrt{3}}}\Bigr)^d - 1",
            "a point is among the k nearest of at most k γ_d others",
            "Devroye, Györfi and Lugosi (1996)",
        ),
    },
    "Random projections and sketches": {
        "gaussian_sketch_risk": (
            "Averages of least squares on Gaussian sketches",
            r"\frac{\sigma^2 d}{n} \Bigl(1 + \frac{n - d}{m (s - d - 1)}\Bigr)",
            "m sketches of s rows; exact",
            BACH + "§10.2.1",
        ),
        "gaussian_sketch_n_estimators": (
            "Number of sketches for a given excess",
            r"m = \Bigl\lceil \frac{n - d}{\text{excess} \cdot (s - d - 1)} \Bigr\rceil",
            "the inverse of the risk",
            BACH + "§10.2.1",
        ),
        "projection_risk_bound: gaussian": (
            "Least squares on Gaussian projections",
            r"\frac{\sigma^2 s}{n}"
            r" + \frac{2\, \mathrm{tr}(\Phi^\top \Phi) \lVert\theta\rVert^2}{n (s + 1)}",
            "s columns; any number of averaged projections",
            BACH + "eq. (10.1)",
        ),
        "projection_risk_bound: coordinate": (
            "Least squares on random variables",
            r"\frac{\sigma^2 s}{n}"
            r" + \frac{d \max_j \lVert\Phi_j\rVert^2 \lVert\theta\rVert^2}{n s}",
            "s of d columns",
            BACH + "exercise 10.4",
        ),
        "random_features_bound": (
            "Least squares on random features",
            r"\frac{\sigma^2 s}{n} + \frac{R^2 f^\top K^{-1} f}{s}",
            "s features of a kernel of at most R",
            BACH + "§10.2.2",
        ),
        "projection_moments: gaussian": (
            "Moments of a Gaussian projection",
            r"\mathbb{E}[S S^\top G S S^\top] = s (s + 1) G + s\, \mathrm{tr}(G) I",
            "independent standard normal elements; exact",
            BACH + "§10.2.2",
        ),
        "projection_moments: coordinate": (
            "Moments of a random choice of variables",
            r"\mathbb{E}[S S^\top G S S^\top]"
            r" = \frac{s (s - 1)}{d^2} G + \frac{s}{d} \mathrm{diag}(G)",
            "draws with replacement; exact",
            BACH + "exercise 10.4",
        ),
        "random_features_moment_bound": (
            "Second moment of random features",
            r"\mathbb{E}[P P^\top P P^\top] \preceq s (s - 1) K^2 + n s R^2 K",
            "s independent features of at most R",
            BACH + "§10.2.2",
        ),
        "projection_bias_bound": (
            "Bias of averaged projections by two moments",
            r"\frac{1}{n} \bigl(\theta^\top G \theta"
            r" - \theta^\top G A B^{-1} A G \theta\bigr)",
            "A = E[SS'], B = E[SS'GSS']",
            BACH + "§10.2.2",
        ),
        "averaged_projection_risk": (
            "Averages of random projections",
            r"\frac{\sigma^2}{n} \Bigl(1 - \frac{1}{m}\Bigr) \mathrm{tr}(D^2)"
            r" + \frac{\sigma^2 \mathrm{tr}(D)}{n m}"
            r" + \frac{1}{n} f^\top \Bigl(I - D - \Bigl(1 - \frac{1}{m}\Bigr)(D - D^2)\Bigr) f",
            "m orthogonal projections of expectation D; exact",
            BACH + "§10.2.2",
        ),
        "johnson_lindenstrauss_dimension": (
            "Johnson-Lindenstrauss lemma",
            r"s \ge \frac{6}{\epsilon^2} \log \frac{n^2}{\delta}",
            "all squared distances within factors 1 ± ε with probability 1 - δ",
            BACH + "lemma 10.1",
        ),
        "johnson_lindenstrauss_tail_bound": (
            "Johnson-Lindenstrauss lemma, its probability",
            r"\frac{n (n - 1)}{2} \Bigl[\bigl((1 - \epsilon) e^{\epsilon}\bigr)^{s/2}"
            r" + \bigl((1 + \epsilon) e^{-\epsilon}\bigr)^{s/2}\Bigr]",
            "a union bound over the pairs of n points",
            BACH + "lemma 10.1",
        ),
        "johnson_lindenstrauss_distortion": (
            "Distortion of distances",
            r"\epsilon = \max_{i \ne j} \Bigl|"
            r" \frac{\lVert z_i - z_j \rVert^2}{\lVert x_i - x_j \rVert^2} - 1 \Bigr|",
            "of given points and their projections",
            BACH + "eq. (10.2)",
        ),
    },
    "Votes of classifiers": {
        "voting_error_bound": (
            "Error of a vote of randomised classifiers",
            r"P(\text{vote errs}) \le \min\{1, 2\, P(\text{member errs})\}",
            "independent copies of a randomised classifier",
            TUM + "theorem En.1",
        ),
        "held_out_voting_error_bound": (
            "Error of a vote on held-out rows",
            r"2 \Bigl(e + \sqrt{\frac{\ln(1/\delta)}{2n}}\Bigr)",
            "e: the mean error of the members; with probability 1 - δ",
            TUM + "theorem En.1",
        ),
        "held_out_error_bound": (
            "Limit of Clopper and Pearson",
            r"\max \{p : P(\mathrm{Bin}(n, p) \le k) \ge \delta\}",
            "k errors on n held-out rows; with probability 1 - δ",
            "Clopper and Pearson (1934)",
        ),
        "kl_inverse": (
            "Inverse of the divergence of Bernoulli variables",
            r"\max \{p : \mathrm{kl}(q \,\|\, p) \le \epsilon\}",
            "kl(q ‖ p) = q ln(q/p) + (1 - q) ln((1 - q)/(1 - p))",
            "Seeger (2002)",
        ),
        "majority_vote_bound: first-order": (
            "First-order bound of a weighted vote",
            r"2\, \mathrm{kl}^{-1}\Bigl(\sum_h \rho_h \hat L_h, \;"
            r" \tfrac{1}{n} \bigl(\mathrm{KL}(\rho \,\|\, \pi) + \ln \tfrac{2\sqrt{n}}{\delta}"
            r"\bigr)\Bigr)",
            "for all weights ρ at once; π equal weights; with probability 1 - δ",
            "Langford and Shawe-Taylor (2002)",
        ),
        "majority_vote_bound: tandem": (
            "Tandem bound of a weighted vote",
            r"4\, \mathrm{kl}^{-1}\Bigl(\sum_{hh'} \rho_h \rho_{h'} \hat L_{hh'}, \;"
            r" \tfrac{1}{n} \bigl(2\, \mathrm{KL}(\rho \,\|\, \pi) + \ln \tfrac{2\sqrt{n}}{\delta}"
            r"\bigr)\Bigr)",
            "L_hh': how often both err; with probability 1 - δ",
            "Masegosa, Lorenzen, Igel and Seldin (2020)",
        ),
        "majority_vote_bound: c-bound": (
            "C-bound of a weighted vote",
            r"1 - \frac{(1 - 2r)^2}{1 - 2d}",
            "r, d: limits of the mean loss and disagreement; with probability 1 - δ",
            "Germain, Lacasse, Laviolette, Marchand and Roy (2015)",
        ),
        "majority_vote_bound: chebyshev-cantelli": (
            "Chebyshev-Cantelli bound of a weighted vote",
            r"\min_{\mu < 1/2} \frac{t - 2 \mu r + \mu^2}{(1/2 - \mu)^2}",
            "r, t: limits of the mean loss and tandem loss; with probability 1 - δ",
            "Wu, Masegosa, Lorenzen, Igel and Seldin (2021)",
        ),
        "rademacher_margin_bound": (
            "Margin bound by Rademacher complexity",
            r"\min_k \frac{1}{n} \sum_i \min\Bigl\{1, \bigl(1 - \tfrac{m_i}{t_k}\bigr)_+\Bigr\}"
            r" + \frac{2R}{t_k} + \sqrt{\frac{\ln(1/\delta) + \ln(\pi^2 k^2/6)}{2n}}",
            "margins m_i, thresholds t_k = 2^(-(k-1)/4); with probability 1 - δ",
            "Koltchinskii and Panchenko (2002)",
        ),
        "pac_bayes_margin_bound": (
            "Margin bound by votes of N members",
            r"\min_{N, k} \mathrm{kl}^{-1}\Bigl(\tfrac{1}{n} \sum_i B_{N, (1 + m_i)/2}(k), \;"
            r" \tfrac{1}{n}\bigl(N\, \mathrm{KL} + \ln \tfrac{2 \sqrt{n} N (N + 1)^2}{\delta}\bigr)"
            r"\Bigr) \Big/ B_{N, 1/2}(k)",
            "B: binomial distribution function; with probability 1 - δ",
            "Schapire, Freund, Bartlett and Lee (1998); Langford, Seeger and Megiddo (2001)",
        ),
        "bagging_pac_n_estimators": (
            "Bagging is an optimal PAC learner",
            r"T = \Bigl\lceil 18 \ln \frac{2 n}{\delta} \Bigr\rceil",
            "the best member of the class makes no error",
            TUM + "theorem En.3; Larsen (2023)",
        ),
        "vote_behaviours": (
            "Behaviours of votes",
            r"|\{\mathrm{sgn} \sum_t w_t h_t\}| \le \prod_t |H_t(x_{1:n})|",
            "on given points",
            TUM + "on votes",
        ),
        "voting_vc_dimension_bound": (
            "VC dimension of a vote",
            r"\max \Bigl\{N : \prod_t \Phi_{d_t}(N) \ge 2^N\Bigr\}",
            "members of classes of dimensions d_t",
            TUM + "on votes",
        ),
        "voting_generalization_bound": (
            "Vapnik-Chervonenkis inequality for a vote",
            r"R \le \hat R + 2 \sqrt{\frac{2 (\sum_t \ln \Phi_{d_t}(2n) + \ln(2/\delta))}{n}}",
            "with probability 1 - δ",
            TUM + "on votes",
        ),
        "weighted_voting_generalization_bound": (
            "Vapnik-Chervonenkis inequality for a weighted vote",
            r"R \le \hat R"
            r" + 2 \sqrt{\frac{2 (T \ln \Phi_d(2n) + \ln \Phi_T(2n) + \ln(2/\delta))}{n}}",
            "any weights; with probability 1 - δ",
            TUM + "theorem En.5",
        ),
        "stump_generalization_bound": (
            "Vapnik-Chervonenkis inequality for votes of stumps",
            r"R \le \hat R + 2 \sqrt{\frac{2 (\ln S + \ln(2/\delta))}{n}}",
            "S: number of labellings of 2n rows; with probability 1 - δ",
            TUM + "theorem En.5",
        ),
    },
    "AdaBoost and weak learning": {
        "adaboost_normalizer": (
            "Factor of a round of AdaBoost",
            r"Z = 2 \sqrt{\epsilon (1 - \epsilon)} = \sqrt{1 - 4 \gamma^2}",
            "weighted error ε, edge γ = 1/2 - ε",
            TUM + "theorem En.4",
        ),
        "adaboost_coefficient": (
            "Coefficient of AdaBoost",
            r"b = \frac{1}{2} \log \frac{1 - \epsilon}{\epsilon}",
            "minimises the exponential risk along the classifier",
            TUM + "theorem En.4",
        ),
        "adaboost_weights": (
            "Weights of AdaBoost",
            r"w_i \to \frac{w_i}{2 \epsilon} \text{ if } h(x_i) \ne y_i,"
            r" \quad \frac{w_i}{2 (1 - \epsilon)} \text{ otherwise}",
            "the exponential update, normalised",
            TUM + "theorem En.4",
        ),
        "adaboost_exponential_risk": (
            "Exponential risk of AdaBoost",
            r"\frac{1}{n} \sum_i e^{-y_i f_t(x_i)} = \prod_{s \le t} \sqrt{1 - 4 \gamma_s^2}",
            "exact; it bounds the training error",
            TUM + "theorem En.4",
        ),
        "adaboost_training_error_bound": (
            "Training error of AdaBoost",
            r"\hat R \le \exp\Bigl(-2 \sum_{s \le t} \gamma_s^2\Bigr)",
            "edges γ_s",
            TUM + "theorem En.4",
        ),
        "adaboost_n_rounds": (
            "Rounds until AdaBoost makes no training error",
            r"T = \Bigl\lceil \frac{\ln n}{2 \gamma^2} \Bigr\rceil",
            "every edge at least γ",
            TUM + "theorem En.4",
        ),
        "adaboost_generalization_bound": (
            "AdaBoost on new rows",
            r"R \le e^{-2 \gamma^2 T}"
            r" + 2 \sqrt{\frac{2 (T \ln \Phi_d(2n) + \ln \Phi_T(2n) + \ln(2/\delta))}{n}}",
            "every edge at least γ; with probability 1 - δ",
            TUM + "theorem En.5",
        ),
        "adaboost_kappa_bound": (
            "Rate of AdaBoost from the dictionary",
            r"\hat R_{\exp} \le (1 - \kappa^2)^{t/2}",
            "the best of a dictionary that spans all vectors",
            BACH + "§10.3.4",
        ),
        "interval_stump_error": (
            "Stumps learn intervals weakly",
            r"\min\{P_{\text{left}}, P_{\text{middle}}, P_{\text{right}}\} \le 1/3",
            "exact, for the three parts of the line",
            TUM + "on weak learners",
        ),
        "interval_stump_edge_bound": (
            "Edge of the stump found on a sample",
            r"\gamma \ge \frac{1}{6} - 2 \sqrt{\frac{2 (\ln \Phi_2(2n) + \ln(4/\delta))}{n}}"
            r" - \sqrt{\frac{\ln(2/\delta)}{2n}}",
            "with probability 1 - δ",
            TUM + "on weak learners",
        ),
        "weak_learning_n_samples": (
            "Rows of a weak learner",
            r"m\bigl(\tfrac12 - \gamma - L^*, \delta\bigr)",
            "m(ε, δ) rows for an error of ε above the best error L* of the class",
            TUM + "on weak learners",
        ),
        "smooth_boosting_n_rounds": (
            "SmoothBoost",
            r"T \le \frac{2}{\kappa \gamma^2 \sqrt{1 - \gamma}}",
            "edge γ, until the training error is below κ",
            "Servedio (2003)",
        ),
        "smooth_boosting_error_bound": (
            "SmoothBoost of weak agnostic learners",
            r"\hat R \le \kappa = \frac{\mathrm{opt}}{1/2 - \beta - \gamma}",
            "the learner has at most β above the least error of a class under any weights; edge γ",
            "Ben-David, Long and Mansour (2001); Gavinsky (2003); Servedio (2003)",
        ),
        "agnostic_boosting_error_bound": (
            "Agnostic boosting",
            r"\min_t \hat R_t \le \mathrm{opt} + \frac{1}{2}"
            r" \Bigl(c + \frac{c + \text{slack}}{\gamma}\Bigr), \quad"
            r" c = \frac{1}{\sqrt{\nu (1 - \nu/2) T}}",
            "the correlation is at least γ times the largest, minus the slack",
            "Kalai and Kanade (2009)",
        ),
        "massart_confidence_threshold": (
            "Confident rows of Massart boosting",
            r"s = \log \frac{1 - \eta}{\eta} - \log \frac{1 + 2 \alpha}{1 - 2 \alpha}",
            "labels are wrong with probability at most η",
            TUM + "on Massart noise",
        ),
        "massart_boosting_error_bound": (
            "Error of Massart boosting",
            r"R \le \frac{1}{1 + e^s} + \kappa + \frac{\text{tol}}{1 + e^{-s}}",
            "the density of the measure is below κ",
            TUM + "on Massart noise",
        ),
        "massart_boosting_n_rounds": (
            "Rounds of Massart boosting",
            r"T \le \frac{2}{c \min\{c, s/8\}}, \quad c = \min\{2 \gamma \kappa, \text{tol}\}",
            "every edge at least γ",
            TUM + "on Massart noise",
        ),
    },
    "Greedy approximation and gradient boosting": {
        "gauge": (
            "Gauge (variation norm, atomic norm)",
            r"\gamma(u) = \min \Bigl\{\sum_j |c_j| : \sum_j c_j d_j = u\Bigr\}",
            "atoms d_j and their negatives",
            BACH + "§10.3.1",
        ),
        "polar_gauge": (
            "Polar of the gauge",
            r"\gamma^\circ(g) = \max_j |\langle d_j, g \rangle|, \quad"
            r" \langle u, g \rangle \le \gamma(u)\, \gamma^\circ(g)",
            "the dual norm",
            BACH + "§10.3.1",
        ),
        "matching_pursuit_kappa": (
            "Constant of the exponential rate",
            r"\kappa \lVert v \rVert \le \max_j |\psi_j^\top v|",
            "for every v in the span of the columns",
            BACH + "§10.3.3",
        ),
        "matching_pursuit_kappa_bracket": (
            "Bracket of the constant of the exponential rate",
            r"\lambda_{\min}\Bigl(\sum_j w_j \psi_j \psi_j^\top\Bigr) \le \kappa^2 \le "
            r"\max_j |\psi_j^\top v|^2 / \lVert v \rVert^2",
            "for all weights w of sum 1 and all v in the span; equal where all vertices are known",
            BACH + "§10.3.3",
        ),
        "matching_pursuit_bound": (
            "Matching pursuit",
            r"\gamma(y)^2 \min\bigl\{(1 + \kappa t)^{-q / (2 + q)}, M (1 + \kappa t)^{-p}\bigr\},"
            r" \quad q = (2 - \nu) \theta, \quad \kappa = \nu \theta (2 + q)",
            "learning rate ν, weakness θ; κ = 3, p = 0.3656 and M = 1.027 for ν = θ = 1",
            BACH + "§10.3.3; Sil'nichenko (2004)",
        ),
        "matching_pursuit_exponent": (
            "Exponent of matching pursuit",
            r"p = \frac{\Gamma}{2 + \Gamma}, \quad \Gamma \Bigl((1 + \Gamma)^{1 / (2 + \Gamma)}"
            r" \Bigl(1 + \frac{1}{1 + \Gamma}\Bigr) - 1\Bigr) = q",
            "for q = (2 - ν) θ of at least 1",
            "Sil'nichenko (2004); Klusowski and Siegel (2025)",
        ),
        "orthogonal_matching_pursuit_bound": (
            "Orthogonal matching pursuit",
            r"\frac{\gamma(y)^2}{1 + t}",
            "least squares over the chosen columns",
            BACH + "exercise 10.5",
        ),
        "greedy_boosting_bound": (
            "Greedy boosting of a smooth risk",
            r"F(u_t) - F(v) \le \Bigl(\frac{2 L C^2 \gamma(u_0 - v)^2"
            r" (F(u_0) - F(v))^4}{t}\Bigr)^{1/5}",
            "F is convex and L-smooth, atoms of at most C",
            BACH + "proposition 10.1",
        ),
        "greedy_boosting_gauge_bound": (
            "Gauge of greedy boosting",
            r"\gamma(u_t) \le \gamma(u_0)"
            r" + \frac{\sqrt{t}}{L C^2} \sqrt{2 L C^2 (F(u_0) - F(u_t))}",
            "F is L-smooth",
            BACH + "proposition 10.1",
        ),
        "quadratic_boosting_bound": (
            "Greedy boosting of a quadratic risk",
            r"F(u_t) - \min F \le \frac{L C^2 \gamma(u_0 - u_*)^2}{2 t^{1/3}}",
            "F is quadratic",
            BACH + "exercise 10.6",
        ),
        "greedy_boosting_risk_bound": (
            "Expected risk of greedy boosting",
            r"\Bigl(\sqrt{\frac{2 t G_0}{G_2}} + R \gamma_1(f)\Bigr)"
            r" \frac{2 G_1 \rho}{\sqrt{n}}"
            r" + \Bigl(\frac{(R \gamma_1(f))^2\, 2 G_2 G_0^4}{t}\Bigr)^{1/5}",
            "beyond the risk of f, after t rounds",
            BACH + "proposition 10.2",
        ),
        "greedy_boosting_best_n_rounds": (
            "Best number of rounds of greedy boosting",
            r"t = \Bigl(\frac{2 B}{5 A}\Bigr)^{10/7}",
            "minimises A √t + B t^-1/5",
            BACH + "eq. (10.16)",
        ),
        "gradient_descent_bound": (
            "Gradient descent",
            r"F(u_t) - \min F \le \frac{L \lVert u_0 - u_* \rVert^2}{2 t}",
            "F is convex and L-smooth, steps of 1/L",
            BACH + "§10.3.5",
        ),
        "frank_wolfe_bound": (
            "Frank-Wolfe algorithm",
            r"F(u_t) - \min F \le \frac{8 L C^2 D^2}{t + 2}",
            "over the ball of radius D",
            BACH + "§10.3.6",
        ),
        "frank_wolfe_risk_bound": (
            "Expected risk of Frank-Wolfe",
            r"\frac{2 G_1 \rho R D}{\sqrt{n}} + \frac{8 G_2 R^2 D^2}{t + 2}",
            "beyond the best in the ball",
            BACH + "§10.3.6",
        ),
        "frank_wolfe_n_rounds": (
            "Rounds of Frank-Wolfe for equal errors",
            r"t = \frac{4 G_2 R D \sqrt{n}}{G_1 \rho} - 2",
            "both terms of the risk are equal",
            BACH + "§10.3.6",
        ),
    },
    "L2-boosting of linear learners": {
        "l2_boosting_filter: residuals": (
            "Residuals of L2-boosting",
            r"(1 - \lambda \mu)^{\lfloor t / \lambda \rfloor} \to e^{-t \mu}",
            "along an eigenvector of S; λ → 0",
            LINEAR + "propositions 2.2 and 2.5",
        ),
        "l2_boosting_filter: weights": (
            "Weights of L2-boosting",
            r"\frac{1 - e^{-t \mu}}{\mu}",
            "in the limit λ → 0",
            LINEAR + "corollary 2.6",
        ),
        "l2_boosting_decay_rate": (
            "Rate of the training error",
            r"r = 2 \min_j \mathrm{Re}(\mu_j)",
            "the worst y; it tends to 0 for every y if and only if r > 0",
            LINEAR + "proposition 2.12",
        ),
        "l2_boosting_training_error_bound": (
            "Share of the training error that is left",
            r"\max_j e^{-2 t \mu_j}",
            "S is symmetric",
            LINEAR + "proposition 2.12",
        ),
        "l2_boosting_squared_bias": (
            "Squared bias of L2-boosting",
            r"\frac{1}{n} \lVert E_t J f \rVert^2",
            "exact, on the training rows",
            LINEAR + "proposition 2.12",
        ),
        "l2_boosting_variance: training": (
            "Training variance of L2-boosting",
            r"\frac{\sigma^2}{n} \mathrm{tr}(E_t J E_t^\top)",
            "exact",
            LINEAR + "proposition 2.12",
        ),
        "l2_boosting_variance: test": (
            "Test variance of L2-boosting at the training points",
            r"\sigma^2 + \frac{\sigma^2}{n}"
            r" + \frac{\sigma^2}{n} \mathrm{tr}\bigl((I - E_t) J (I - E_t)^\top\bigr)",
            "exact; new targets at the same points",
            LINEAR + "proposition 2.13",
        ),
        "l2_boosting_new_point_error": (
            "Error of L2-boosting at new points",
            r"\Bigl(1 + \frac{1}{n}\Bigr) \sigma^2 + \mathbb{E}_x \Bigl[\bigl(f(x) - \bar f"
            r" - g(x)^\top P_t J f\bigr)^2 + \sigma^2 \lVert J P_t^\top g(x) \rVert^2\Bigr]",
            "exact",
            LINEAR + "proposition 2.15",
        ),
        "vanishing_learning_rate_bound: weights": (
            "Vanishing learning rate: weights",
            r"|w - w_t| \le \lambda \Bigl(1 + \frac{t s}{2}\Bigr) e^{t s} |\tilde Y|",
            "s is the norm of S",
            LINEAR + "proposition 2.5",
        ),
        "vanishing_learning_rate_bound: fitted values": (
            "Vanishing learning rate: fitted values",
            r"\frac{1}{e m}, \quad m = \lfloor t / \lambda \rfloor",
            "S is symmetric with eigenvalues in [0, 1/λ]",
            LINEAR + "proposition 2.5",
        ),
        "stochastic_boosting_moments: mean": (
            "Mean of stochastic boosting",
            r"\mathbb{E}\, u_{m+1} = \mathbb{E}\, u_m"
            r" + \lambda \bar G\, (Y - \mathbb{E}\, u_m)",
            "the average of the learners, at the training points",
            LINEAR + "proposition 3.4",
        ),
        "stochastic_boosting_moments: covariance": (
            "Covariance of stochastic boosting",
            r"C \to C - \lambda (\bar G C_T + C_T^\top \bar G^\top)"
            r" + \lambda^2 \bigl(\mathbb{E}[G T G^\top] + \mathrm{Cov}(G r)\bigr)",
            "exact, round by round",
            LINEAR + "proposition 3.4",
        ),
        "stochastic_boosting_moments: limit": (
            "Covariance of stochastic boosting, limit",
            r"\frac{dV}{dt} = \mathrm{Cov}(G r_t) - \bar G V_T - V_T^\top \bar G^\top,"
            r" \quad V(0) = 0",
            "the covariance is λV + O(λ²)",
            LINEAR + "corollary 3.5",
        ),
    },
}
FORMULAS = {}
for _group in THEOREMS.values():
    for _key, _row in _group.items():
        FORMULAS.setdefault(_key.partition(":")[0], []).append(_row)


TEST = re.compile(r"`(tests/[\w/]+\.py)::\w+`")
TESTS = re.compile(rf"{TEST.pattern}(?:, {TEST.pattern})*")
# The page of the theory that a theme is on.
PAGES = dict(
    zip(
        THEOREMS,
        ["concentration"]
        + ["complexity"] * 2
        + ["averaging"] * 3
        + ["complexity"]
        + ["boosting"] * 2
        + ["smoothing"],
    )
)


def with_indices(text, role):
    """Letters with an index, such as L_i, as formulas."""
    return re.sub(r"\w+_\w\b", lambda found: role.format(found[0]), text)


def in_formulas(app, what, name, obj, options, lines):
    """Show the theorem below the first line."""
    module, _, function = name.rpartition(".")
    if module == BOUNDS:
        for title, formula, where, _ in reversed(FORMULAS.get(function, [])):
            shown = f"*{title}* ({with_indices(where, ':math:`{}`')}):"
            lines[1:1] = ["", shown, "", ".. math::", "", f"    {formula}", ""]


def write_lists(app, config):
    texts = {f"theorems_{page}": on_page(page) for page in PAGES.values()}
    for name, text in {**texts, "theorems": index_by_name()}.items():
        path = Path(app.srcdir, "generated", f"{name}.txt")
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def on_page(page):
    """The theorems of a page, theme by theme."""
    parts = []
    for theme in (theme for theme in THEOREMS if PAGES[theme] == page):
        parts += ["", f"## {theme}", ""]
        for function, (title, formula, where, source) in THEOREMS[theme].items():
            parts += [
                f"**{title}** [{source}], {{func}}`~{BOUNDS}.{function.partition(':')[0]}`: "
                f"{with_indices(where, '${}$')}.",
                "",
                f"$${formula}$$",
                "",
            ]
    return "\n".join(parts)


def index_by_name():
    """All theorems in the order of the alphabet, with their pages."""
    rows = ["| theorem | source | function | page |", "|---|---|---|---|"]
    for title, theme, function, source in sorted(
        (row[0], theme, key.partition(":")[0], row[3])
        for theme, group in THEOREMS.items()
        for key, row in group.items()
    ):
        page = PAGES[theme]
        rows.append(
            f"| {title} | {source} | {{func}}`~{BOUNDS}.{function}` | [{page}](theory_{page}.md) |"
        )
    return "\n".join(rows) + "\n"


def tests_as_links(app, name, source):
    """The tests of a result by number and link; the page in the repository has their names."""
    if name.startswith("user_guide/theory_"):
        source[0] = TESTS.sub(lambda tests: ", ".join(links_of(tests[0])), source[0])


def links_of(tests):
    for number, path in enumerate(TEST.findall(tests), start=1):
        yield f"[{number}]({repository()}/{path})"


def setup(app):
    app.connect("config-inited", write_lists)
    app.connect("source-read", tests_as_links)
    app.connect("autodoc-process-docstring", in_formulas, priority=400)
    return {"parallel_read_safe": True}
