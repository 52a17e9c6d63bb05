"""Stacking and votes, compared with scikit-learn's with the same members and folds."""

from types import SimpleNamespace

import numpy as np

from cases import (
    Case,
    Side,
    estimator,
    fit,
    friedman1,
    held_out_mse,
    register,
    two_classes,
)


def nearly_collinear(seed, n, p, n_test=2_000):
    """A linear signal in correlated columns: linear members whose predictions hardly differ."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((n + n_test, 1))
    X = common + 0.1 * rng.standard_normal((n + n_test, p))
    y = X.sum(axis=1) / p + rng.standard_normal(n + n_test)
    return SimpleNamespace(X=X[:n], y=y[:n], X_test=X[n:], y_test=y[n:])


def mixed_members():
    from sklearn.linear_model import Ridge
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.tree import DecisionTreeRegressor

    trees = [(f"tree{d}", DecisionTreeRegressor(max_depth=d, random_state=0)) for d in (4, 8, 12)]
    return [*trees, ("near", KNeighborsRegressor(10)), ("ridge", Ridge())]


def ridge_members():
    from sklearn.linear_model import Ridge

    return [(f"ridge{k}", Ridge(10.0**k)) for k in range(-4, 4)]


def stack(module, members, **own):
    def setup(data):
        import importlib

        return importlib.import_module(module).StackingRegressor(members(), **own)

    return setup


def stacks(members):
    return {
        "ours, simplex": stack("sklearn_ensemble_theory", members, final_estimator="simplex"),
        "scikit-learn": stack("sklearn.ensemble", members),
    }


def drop_in_stacks(members):
    return {
        "ours": stack("sklearn_ensemble_theory", members),
        "scikit-learn": stack("sklearn.ensemble", members),
    }


STACKING = {"run": fit, "quality": held_out_mse, "metric": "test MSE", "limit": 1.05}
KINDS = {
    "": ("five members, n = 10,000", friedman1, {"n": 10_000, "p": 10}, mixed_members),
    "-collinear": (
        "eight nearly collinear ridge regressions, n = 20,000",
        nearly_collinear,
        {"n": 20_000, "p": 50},
        ridge_members,
    ),
}
for suffix, (words, make_data, params, members) in KINDS.items():
    for name, title, sides in [
        ("stacking-weights", "weights on the simplex against RidgeCV", stacks(members)),
        ("stacking-final", "the same final estimator", drop_in_stacks(members)),
    ]:
        register(
            Case(
                name=name + suffix,
                title=f"stacking of {words}: {title}",
                data=make_data,
                params={**params, "threads": 1},
                quick={"n": 500},
                sides=sides,
                **STACKING,
            )
        )

register(
    Case(
        name="stacking-small",
        title="stacking of two members on 300 rows",
        data=friedman1,
        params={"n": 300, "p": 5, "threads": 1},
        quick={"n": 100},
        sides=stacks(lambda: ridge_members()[3:5]),
        runs=15,
        **STACKING,
    )
)


# A super learner, the stack that fits its members again for each of the same number of folds, and
# the peer that a user would take instead


def stack_of_the_library(of_classes):
    """The members of the super learner with their defaults, fitted by a stack."""

    def setup(data):
        import sklearn_ensemble_theory as package
        from sklearn_ensemble_theory.combining._library import MEMBERS, Library, default_members

        n = len(data.y)
        library = Library("log_loss" if of_classes else "squared_error", of_classes, n, [], 0)
        members = [(name, MEMBERS[name](library)) for name in default_members(n, None, False)]
        kind = package.StackingClassifier if of_classes else package.StackingRegressor
        return kind(members, "simplex", cv=5)

    return setup


def catboost(kind):
    def setup(data, threads, seed):
        import catboost

        return getattr(catboost, kind)(
            thread_count=threads, random_seed=seed, verbose=False, allow_writing_files=False
        )

    return setup


def held_out_log_loss(model, data):
    p = model.predict_proba(data.X_test)[np.arange(len(data.y_test)), data.y_test]
    return float(-np.mean(np.log(np.maximum(p, 1e-15))))


for kind, make_data, quality, metric in [
    ("Regressor", friedman1, held_out_mse, "test MSE"),
    ("Classifier", two_classes, held_out_log_loss, "test log-loss"),
]:
    of_classes = kind == "Classifier"
    register(
        Case(
            name="super-learner" + ("-classes" if of_classes else ""),
            title=f"SuperLearner{kind} with its defaults, n = 2,000",
            data=make_data,
            params={"n": 2_000, "p": 10, "threads": 1},
            quick={"n": 200},
            sides={
                "ours": estimator("sklearn_ensemble_theory", f"SuperLearner{kind}"),
                "stack, refits": stack_of_the_library(of_classes),
                "catboost": catboost(f"CatBoost{kind}"),
            },
            run=fit,
            quality=quality,
            metric=metric,
            limit={"stack, refits": 0.5},
        )
    )


# A vote whose members are fitted once, and the same with fits for each fold


def vote_with_intervals(reuse_fits):
    def setup(data):
        import sklearn_ensemble_theory as package

        members = [
            ("forest", package.RandomForestRegressor(random_state=0)),
            ("boosting", package.GradientBoostingRegressor(n_estimators="cv", random_state=0)),
            ("additive", package.AdditiveBoostingRegressor()),
        ]
        return package.VotingRegressor(members, held_out=5, reuse_fits=reuse_fits)

    return setup


register(
    Case(
        name="vote-reused",
        title="VotingRegressor with intervals, reuse_fits=True, n = 2,000",
        data=friedman1,
        params={"n": 2_000, "p": 10, "threads": 1},
        quick={"n": 200},
        sides={"ours": vote_with_intervals(True), "refits": vote_with_intervals(False)},
        run=fit,
        quality=held_out_mse,
        metric="test MSE",
        limit={"refits": 0.5},
    )
)


# Weights alone, from held-out predictions of 50 models


def held_out_values(seed, n, k, spread):
    rng = np.random.default_rng(seed)
    signal = rng.standard_normal(n)
    P = signal[:, None] + spread * rng.standard_normal((n, k))
    return SimpleNamespace(P=P, y=signal + 0.5 * rng.standard_normal(n), weight=np.full(n, 1 / n))


def held_out_classes(seed, n, k, spread):
    rng = np.random.default_rng(seed)
    score = 2 * rng.standard_normal(n)
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    p = 1 / (1 + np.exp(-score[:, None] - spread * rng.standard_normal((n, k))))
    return SimpleNamespace(P=np.stack([1 - p, p], axis=2), y=y, weight=np.full(n, 1 / n))


def risk_class(loss):
    def setup(data):
        from sklearn_ensemble_theory.combining._aggregation import RISKS

        return RISKS[loss]

    return setup


def solve(rule):
    return lambda risk, data: risk(data.P, data.y, data.weight).solve(rule, 1.0, True)


def violation(result, data):
    return result[1]


def scipy_nnls(data):
    from scipy.optimize import nnls

    return nnls


def solve_by_scipy(nnls, data):
    root = np.sqrt(data.weight)
    v, _ = nnls(root[:, None] * data.P, root * data.y)
    gradient = 2 * data.P.T @ (data.weight * (data.P @ v - data.y))
    return v, max(-gradient.min() * max(1, 2 * v.sum()) + gradient @ v, 0) / np.mean(data.y**2)


WEIGHTS = {"n": 100_000, "k": 50, "threads": 1}
for spread, suffix in [(0.5, ""), (1e-3, "-collinear")]:
    for rule in ("nnls", "simplex"):
        sides = {"ours": risk_class("squared_error")}
        if rule == "nnls":
            sides["scipy"] = Side(scipy_nnls, run=solve_by_scipy)
        register(
            Case(
                name=f"{rule}-of-50{suffix}",
                title=f"{rule} weights of 50 models on 100,000 held-out rows, spread {spread:g}",
                data=held_out_values,
                params={**WEIGHTS, "spread": spread},
                quick={"n": 2_000, "k": 5},
                sides=sides,
                run=solve(rule),
                quality=violation,
                metric="KKT violation",
                seconds_limit=0.5,
            )
        )
    register(
        Case(
            name=f"log-loss-of-50{suffix}",
            title=f"simplex weights for the log-loss, the same size, spread {spread:g}",
            data=held_out_classes,
            params={**WEIGHTS, "spread": spread},
            quick={"n": 2_000, "k": 5},
            sides={"ours": risk_class("log_loss")},
            run=solve("simplex"),
            quality=violation,
            metric="KKT violation",
            seconds_limit=3.0,
        )
    )


def vote(module):
    def setup(data):
        import importlib

        from sklearn.naive_bayes import GaussianNB
        from sklearn.tree import DecisionTreeClassifier

        members = [
            (f"tree{d}", DecisionTreeClassifier(max_depth=d, random_state=0)) for d in (3, 5, 7)
        ]
        cls = importlib.import_module(module).VotingClassifier
        return cls([*members, ("bayes", GaussianNB())]).fit(data.X, data.y)

    return setup


register(
    Case(
        name="hard-votes",
        title="predictions of 100,000 rows by a majority of four classifiers",
        data=two_classes,
        params={"n": 2_000, "p": 10, "n_test": 100_000, "threads": 1},
        quick={"n_test": 1_000},
        sides={"ours": vote("sklearn_ensemble_theory"), "scikit-learn": vote("sklearn.ensemble")},
        run=lambda model, data: model.predict(data.X_test),
        quality=lambda found, data: float(np.mean(found != data.y_test)),
        metric="test error",
        limit=1.0,
    )
)
