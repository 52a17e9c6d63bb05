"""Compare boosting algorithms with wrong labels: test error against the rate of flipped labels.

    python benchmarks/noisy_labels.py                       four data sets, rates from 0 to 0.4
    python benchmarks/noisy_labels.py --data twonorm digits --rates 0.2 --seeds 30
    python benchmarks/noisy_labels.py --massart --seeds 30  noise that depends on x

All methods boost decision stumps for 300 rounds, on the same rows with the same flips; test labels
are clean. twonorm and ringnorm have 300 training rows and 4,000 test rows, drawn anew for each
seed; digits (odd or even) and breast_cancer are split into halves. The table contains the mean
error in percent with its standard error, and the paired difference to the better of discrete and
real AdaBoost, in standard errors. Half of the rows of included sets are shared by the seeds, so
that the standard errors are those of Nadeau and Bengio (2003) there.

With --massart the labels are flipped with probability 0.3 on one side of a line and never on the
other, for a halfspace and for an interval; 4,000 training rows, 500 rounds. The table contains the
excess over the least possible error.
"""

import argparse
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    AgnosticBoostClassifier,
    DecisionStumpRegressor,
    GradientBoostingClassifier,
    LPBoostClassifier,
    MassartBoostClassifier,
    SmoothBoostClassifier,
)
from sklearn_ensemble_theory.datasets import (
    add_label_noise,
    add_massart_noise,
    make_ringnorm,
    make_twonorm,
)

ROUNDS, MASSART_ROUNDS = 300, 500
TRAIN_ROWS, TEST_ROWS = 300, 4_000
RATES = (0.0, 0.1, 0.2, 0.3, 0.4)
EARLY = {"n_iter_no_change": 30, "validation_fraction": 0.2}


def logistic(rounds, **params):
    return GradientBoostingClassifier(DecisionStumpRegressor(), n_estimators=rounds, **params)


# name -> function of the number of rounds
METHODS = {
    "AdaBoost": lambda T: AdaBoostClassifier(n_estimators=T),
    "real": lambda T: AdaBoostClassifier(n_estimators=T, variant="real"),
    "gentle": lambda T: AdaBoostClassifier(n_estimators=T, variant="gentle"),
    "logistic": lambda T: logistic(T),
    "logistic, early": lambda T: logistic(T, random_state=0, **EARLY),
    "SmoothBoost": lambda T: SmoothBoostClassifier(n_estimators=T),
    "AgnosticBoost": lambda T: AgnosticBoostClassifier(n_estimators=T),
    "Agnostic, early": lambda T: AgnosticBoostClassifier(n_estimators=T, random_state=0, **EARLY),
    "MassartBoost, cv": lambda T: MassartBoostClassifier(n_estimators=T, noise_rate="cv"),
    "LPBoost": lambda T: LPBoostClassifier(n_estimators=T),
}
PEERS = ("AdaBoost", "real")
OURS = ("SmoothBoost", "AgnosticBoost", "MassartBoost, cv")


def odd_digits(**params):
    X, y = load_digits(**params)
    return X, y % 2


BUNDLED = {"digits": odd_digits, "breast_cancer": load_breast_cancer}
MADE = {"twonorm": make_twonorm, "ringnorm": make_ringnorm}
DATA = (*MADE, *BUNDLED)


def drawn(name, seed):
    """X, test X, y, test y of one seed."""
    if name in MADE:
        X, y = MADE[name](TRAIN_ROWS + TEST_ROWS, random_state=seed)
        return train_test_split(X, y, train_size=TRAIN_ROWS, shuffle=False)
    X, y = BUNDLED[name](return_X_y=True)
    return train_test_split(X, y, train_size=0.5, random_state=seed, stratify=y)


def errors_of(name, rate, seed, methods=tuple(METHODS), rounds=ROUNDS):
    """The test errors of all methods on one draw."""
    X, X_test, y, y_test = drawn(name, seed)
    y, _ = add_label_noise(y, rate, random_state=seed)
    return [float(np.mean(METHODS[m](rounds).fit(X, y).predict(X_test) != y_test)) for m in methods]


# --- noise that depends on x ------------------------------------------------------------------


def halfspace(n, rng):
    X = rng.standard_normal((n, 2))
    return X, np.where(X.sum(axis=1) > 0, 1, -1), 0.3 * (X[:, 0] > X[:, 1])


def interval(n, rng):
    X = rng.uniform(-1, 1, (n, 5))
    return X, np.where(np.abs(X[:, 0]) < 0.5, 1, -1), 0.3 * (X[:, 0] > 0)


MASSART = {"halfspace": halfspace, "interval": interval}
MASSART_METHODS = {
    "AdaBoost": METHODS["AdaBoost"],
    "real": METHODS["real"],
    "MassartBoost": lambda T: MassartBoostClassifier(n_estimators=T, noise_rate=0.3),
}


def massart_errors_of(name, seed, rows=4_000, rounds=MASSART_ROUNDS):
    """The excess errors P(y != prediction) - E eta(x), from the known eta."""
    rng = np.random.default_rng(seed)
    X, f, eta = MASSART[name](rows, rng)
    y, _ = add_massart_noise(X, f, eta, random_state=seed)
    X_test, f_test, eta_test = MASSART[name](20_000, rng)
    return [
        float(np.mean((1 - 2 * eta_test) * (make(rounds).fit(X, y).predict(X_test) != f_test)))
        for make in MASSART_METHODS.values()
    ]


# --- the tables -------------------------------------------------------------------------------


def standard_error(values, shared):
    """Of means over seeds; `shared` is the ratio of test to training rows of included sets."""
    return np.sqrt((1 / len(values) + shared) * np.var(values, axis=0, ddof=1))


def print_rows(title, methods, errors, shared, peers):
    errors = np.array(errors)
    means, spreads = errors.mean(axis=0), standard_error(errors, shared)
    best = min((methods.index(peer) for peer in peers), key=means.__getitem__)
    print(f"\n{title}")
    for k, method in enumerate(methods):
        line = f"  {method:20} {100 * means[k]:6.2f} ± {100 * spreads[k]:.2f}"
        if method not in peers:
            gaps = errors[:, best] - errors[:, k]
            spread = standard_error(gaps, shared)
            line += f"   {100 * gaps.mean():+6.2f} ± {100 * spread:.2f} better than {methods[best]}"
            line += f" ({gaps.mean() / max(spread, 1e-12):+.1f} standard errors)"
        print(line, flush=True)


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="noisy_labels.py", description="Boosting of wrong labels."
    )
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--rates", nargs="+", type=float, default=list(RATES))
    parser.add_argument("--massart", action="store_true", help="noise that depends on x instead")
    parser.add_argument("--seeds", type=int, default=10, help="from 2 on (default 10)")
    parser.add_argument("--rounds", type=int, help="default 300, with --massart 500")
    parser.add_argument("--n-jobs", type=int, default=1, help="processes (default 1)")
    args = parser.parse_args(argv)
    if args.seeds < 2:
        parser.error("--seeds must be at least 2")
    rounds = args.rounds or (MASSART_ROUNDS if args.massart else ROUNDS)
    parallel = Parallel(n_jobs=args.n_jobs)
    seeds = range(args.seeds)
    if args.massart:
        for name in MASSART:
            errors = parallel(
                delayed(massart_errors_of)(name, seed, rounds=rounds) for seed in seeds
            )
            title = f"{name}: excess over the least error, %"
            print_rows(title, list(MASSART_METHODS), errors, 0.0, PEERS)
        return 0
    for name in args.data:
        for rate in args.rates:
            errors = parallel(delayed(errors_of)(name, rate, seed, rounds=rounds) for seed in seeds)
            title = f"{name}, {100 * rate:g} % of the labels flipped: test error, %"
            print_rows(title, list(METHODS), errors, float(name in BUNDLED), PEERS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
