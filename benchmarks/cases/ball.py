"""Classifiers in a ball: the logistic loss with an l1 bound on sparse features, and kernels."""

import warnings
from types import SimpleNamespace

import numpy as np

from cases import Case, fit, register


def sparse_classes(seed, n, p, correlated):
    """Features of which 1 % are not 0, and classes that depend on 100 of them.

    If correlated, the second half of the features are sums of those of the first half and of
    others, all values are positive and their sizes differ more.
    """
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    k = max(n * p // 100, 1)
    values = np.abs(rng.standard_normal(k)) ** 2 + 1 if correlated else rng.standard_normal(k)
    X = sp.csc_matrix((values, (rng.integers(0, n, k), rng.integers(0, p, k))), shape=(n, p))
    if correlated:
        half = p // 2
        X = sp.hstack([X[:, :half], X[:, :half] + 0.3 * X[:, half : 2 * half]])
    X = sp.csr_matrix(X)
    coef = np.zeros(X.shape[1])
    active = rng.choice(len(coef), min(100, len(coef) // 2), replace=False)
    coef[active] = rng.choice([-1, 1], len(active)) * rng.uniform(1, 3, len(active))
    score = X @ coef
    score = 2 * (score - score.mean()) / score.std()
    return SimpleNamespace(X=X, y=(score + rng.logistic(size=n) > 0).astype(int))


def in_the_l1_ball(data, radius):
    from sklearn_ensemble_theory import BallConstrainedClassifier

    # The gap is relative to the risk of the best constant, about log 2.
    return BallConstrainedClassifier(radius, norm="l1", tol=1e-6)


def multiplier(data, radius):
    """The penalty with the same solution: the largest derivative at the optimum in the ball."""
    if not hasattr(data, "multiplier"):
        model = in_the_l1_ball(data, radius).set_params(tol=1e-10).fit(data.X, data.y)
        signs = 2 * data.y - 1
        slopes = -signs / (1 + np.exp(signs * model.decision_function(data.X)))
        data.multiplier = float(np.abs(data.X.T @ slopes).max()) / len(signs)
        data.least = penalised_risk(model, data)
    return data.multiplier


def penalised_risk(model, data):
    margins = (2 * data.y - 1) * model.decision_function(data.X)
    return float(np.mean(np.logaddexp(0, -margins)) + data.multiplier * np.abs(model.coef_).sum())


def objective(model, data, radius):
    multiplier(data, radius)
    return penalised_risk(model, data)


def saga(data, radius):
    """With the least number of epochs, up to a half, that reach the minimum within 1e-6.

    At most 72, which is not enough for the correlated features: its quality is then worse.
    """
    from sklearn.linear_model import LogisticRegression

    warnings.simplefilter("ignore")  # it ends before its own tolerance
    C = 1 / (multiplier(data, radius) * len(data.y))
    model = LogisticRegression(l1_ratio=1.0, C=C, solver="saga", tol=0.0, random_state=0)
    epochs = 4
    while epochs <= 72:
        model.set_params(max_iter=epochs).fit(data.X, data.y)
        if penalised_risk(model, data) <= data.least + 1e-6:
            break
        epochs = int(np.ceil(1.5 * epochs))
    return model


for name, title, correlated, bound in (
    ("ball-l1-logistic", "logistic loss in an l1 ball, n = 20,000, p = 2,000 sparse", False, 125.0),
    ("ball-l1-logistic-correlated", "the same, positive and correlated features", True, 80.0),
):
    register(
        Case(
            name=name,
            title=f"{title}: to 1e-6 of the minimum",
            data=sparse_classes,
            params={"n": 20_000, "p": 2_000, "correlated": correlated, "radius": bound},
            quick={"n": 500, "p": 50, "radius": 5.0},
            sides={"ours": in_the_l1_ball, "scikit-learn (saga)": saga},
            run=fit,
            quality=objective,
            metric="penalised risk",
            limit=2.0,
            quality_margin=1e-6,
            runs=3,
        )
    )


def kernel_classes(seed, n, p, noisy):
    """Classes with a smooth boundary in two dimensions, or with a fifth of wrong labels.

    The radius is the norm of the support vector machine with C = 1, which solves the same problem.
    """
    from sklearn.datasets import make_classification, make_moons
    from sklearn.svm import SVC

    if noisy:
        X, y = make_classification(n, p, n_informative=p // 2, flip_y=0.4, random_state=seed)
    else:
        X, y = make_moons(n, noise=0.3, random_state=seed)
    peer = SVC(C=1.0, gamma=1 / X.shape[1], tol=1e-6).fit(X, y)
    norm = np.sqrt((peer.dual_coef_ @ peer.decision_function(X[peer.support_])).item())
    square = norm**2 - float(peer.intercept_ @ peer.dual_coef_.sum(axis=1))
    return SimpleNamespace(X=X, y=y, radius=float(np.sqrt(square)))


def in_the_ball_of_the_kernel(data):
    from sklearn_ensemble_theory import BallConstrainedClassifier

    return BallConstrainedClassifier(data.radius, loss="hinge", kernel="rbf", tol=1e-4)


def support_vector_machine(data):
    from sklearn.svm import SVC

    return SVC(C=1.0, gamma=1 / data.X.shape[1])


def hinge_risk(model, data):
    return float(np.maximum(1 - (2 * data.y - 1) * model.decision_function(data.X), 0).mean())


for name, title, noisy in (
    ("ball-rbf", "hinge loss in a ball of the Gaussian kernel, n = 2,000, two features", False),
    ("ball-rbf-noise", "the same, 20 features and a fifth of wrong labels", True),
):
    register(
        Case(
            name=name,
            title=title,
            data=kernel_classes,
            params={"n": 2_000, "p": 20, "noisy": noisy},
            quick={"n": 200, "p": 6},
            sides={"ours": in_the_ball_of_the_kernel, "scikit-learn (SVC)": support_vector_machine},
            run=fit,
            quality=hinge_risk,
            metric="hinge risk on the training rows",
            limit=60.0,
            quality_margin=1e-3,
            runs=3,
        )
    )
