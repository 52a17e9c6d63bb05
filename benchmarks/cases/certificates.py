"""Certificates of votes from out-of-bag rows: their time beside that of a fit, and by loops."""

import numpy as np

from cases import Case, Side, fit, register, two_classes

FITTED = {}


def forest(data, n_estimators, n_jobs, seed):
    from sklearn_ensemble_theory import RandomForestClassifier

    return RandomForestClassifier(n_estimators, n_jobs=n_jobs, max_samples=0.3, random_state=seed)


def fitted(data, n_estimators, n_jobs, seed):
    if "forest" not in FITTED:
        FITTED["forest"] = forest(data, n_estimators, n_jobs, seed).fit(data.X, data.y)
    return FITTED["forest"]


def certificate(model, data):
    model._training._members = []  # the sums are made anew
    return model.error_bound(delta=0.05, method="tandem")


def by_loops(model, data):
    """The same, with a mean for each pair of trees."""
    from sklearn_ensemble_theory.bounds import majority_vote_bound

    B = len(model.estimators_)
    outside = np.ones((len(data.y), B), dtype=bool)
    for b, drawn in enumerate(model.estimators_samples_):
        outside[drawn, b] = False
    proba = [member.predict_proba(data.X) for member in model.estimators_]
    loss = np.column_stack([1 - p[np.arange(len(data.y)), data.y] for p in proba])
    tandem, counts = np.zeros((2, B, B))
    for a in range(B):
        for b in range(B):
            both = outside[:, a] & outside[:, b]
            tandem[a, b], counts[a, b] = np.mean(loss[both, a] * loss[both, b]), both.sum()
    return majority_vote_bound(
        tandem_losses=tandem, n_pair_samples=counts, delta=0.05, method="tandem"
    )


register(
    Case(
        name="vote-certificate",
        title="tandem bound from out-of-bag rows, 100 trees, n = 10,000 (peers: a fit, loops)",
        data=two_classes,
        params={"n": 10_000, "p": 20, "n_estimators": 100, "n_jobs": 1, "threads": 1},
        quick={"n": 500, "n_estimators": 10},
        sides={
            "ours": fitted,
            "fit": Side(forest, run=fit, quality=certificate),
            "loops": Side(fitted, run=by_loops),
        },
        run=certificate,
        quality=lambda bound, data: float(bound),
        metric="bound",
        limit={"fit": 0.5},
        runs=3,
    )
)
