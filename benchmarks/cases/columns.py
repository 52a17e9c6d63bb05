"""Boosting over the columns of X with the logistic loss, and the peer: l1-penalised regression."""

import numpy as np

from cases import Case, fit, register, split

PARAMS = {"n": 5_000, "p": 300, "k": 10, "n_test": 20_000, "threads": 1}
QUICK = {"n": 500, "p": 30, "k": 5, "n_test": 500, "n_estimators": 50}


def labels_of(X, seed, n, k):
    """Labels of a logistic model with k coefficients; the scores of the test rows are kept."""
    rng = np.random.default_rng(seed + 1)
    coef = np.zeros(X.shape[1])
    coef[rng.choice(X.shape[1], k, replace=False)] = rng.choice([-1.0, 1.0], k)
    scores = X @ coef
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-scores))).astype(int)
    data = split(X, y, n)
    data.true_scores = scores[n:]
    return data


def independent_columns(seed, n, p, k, n_test):
    X = np.random.default_rng(seed).standard_normal((n + n_test, p))
    return labels_of(X, seed, n, k)


def correlated_columns(seed, n, p, k, n_test):
    """Correlation 0.95 between neighbours, so that wrong columns are nearly as good."""
    X = np.random.default_rng(seed).standard_normal((n + n_test, p))
    for j in range(1, p):
        X[:, j] = 0.95 * X[:, j - 1] + np.sqrt(1 - 0.95**2) * X[:, j]
    return labels_of(X, seed, n, k)


def boosted_columns(learning_rate):
    def setup(data, n_estimators):
        from sklearn_ensemble_theory import BestColumnRegressor, GradientBoostingClassifier

        return GradientBoostingClassifier(
            BestColumnRegressor(),
            step="quadratic_bound",
            learning_rate=learning_rate,
            n_estimators=n_estimators,
        )

    return setup


def l1_regression(solver):
    def setup(data, C):
        from sklearn.linear_model import LogisticRegression

        # From scikit-learn 1.8 on this is the l1 penalty.
        return LogisticRegression(l1_ratio=1, solver=solver, C=C, max_iter=5_000, random_state=0)

    return setup


def excess_log_loss(model, data):
    """Mean log loss on test rows, less that of the true probabilities."""
    signs = 2.0 * data.y_test - 1.0
    loss = np.logaddexp(0, -signs * model.decision_function(data.X_test))
    return float(np.mean(loss - np.logaddexp(0, -signs * data.true_scores)))


# The number of rounds and the penalty with the least test loss on a grid, for either side.
for name, title, data, tuned in (
    (
        "boosted-columns",
        "independent columns",
        independent_columns,
        {"n_estimators": 300, "C": 0.05},
    ),
    (
        "boosted-columns-correlated",
        "correlation 0.95 of neighbours",
        correlated_columns,
        {"n_estimators": 500, "C": 0.1},
    ),
):
    register(
        Case(
            name=name,
            title=f"logistic regression with 10 of 300 columns, n = 5,000, {title}",
            data=data,
            params={**PARAMS, **tuned},
            quick=QUICK,
            sides={
                "ours": boosted_columns(0.5),
                "liblinear": l1_regression("liblinear"),
                "saga": l1_regression("saga"),
            },
            run=fit,
            quality=excess_log_loss,
            metric="excess log loss",
            runs=3,
        )
    )
