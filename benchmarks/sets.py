"""Coverage, size and time of sets of classes at 90 %, beside MAPIE's.

    python benchmarks/sets.py                     20 data sets: some five minutes
    python benchmarks/sets.py --sets 2 --rows 500

Six classes whose log-odds are linear functions of three features, times a number that is 1/2 in
half of the rows, which are hard to classify, and 4 in the others. "hard" and "easy" are the
coverage of the quarters of the new rows with the smallest and the largest true probability of the
likeliest class, "empty" the share of empty sets. "time" is processor time of the sets of 2,000 rows
as a multiple of that of `predict_proba` of the same model, in its second call, the median over the
data sets. MAPIE's split conformal sets calibrate scikit-learn's forest on a third of the rows; its
cross conformal sets have five folds, as those of `GradientBoostingClassifier` have ten.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier as PeerForest

from sklearn_ensemble_theory import GradientBoostingClassifier, RandomForestClassifier

CLASSES = 6
SCORES = ("lac", "aps", "raps")


def drawn(n, rng):
    """Rows, their classes, and the largest true probability."""
    X = rng.standard_normal((n, 4))
    directions = np.random.default_rng(0).standard_normal((3, CLASSES))
    u = np.where(X[:, 3:] > 0, 0.5, 4.0) * (X[:, :3] @ directions)
    p = np.exp(u - u.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return X, (u + rng.gumbel(size=u.shape)).argmax(axis=1), p.max(axis=1)


def seconds(call):
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def of_ours(model, method, randomized, per_class=False):
    def fitted(X, y, new, seed):
        model.set_params(random_state=seed).fit(X, y)
        options = {"method": method, "randomized": randomized, "per_class": per_class}
        model.predict_set(new[:1], **options)
        plain, _ = seconds(lambda: model.predict_proba(new))
        return plain, *seconds(lambda: model.predict_set(new, random_state=seed, **options))

    return fitted


def of_peer(score, is_cross, randomized=False):
    def fitted(X, y, new, seed):
        from mapie.classification import CrossConformalClassifier, SplitConformalClassifier

        forest = PeerForest(200, min_samples_leaf=3, random_state=seed)
        at = {"include_last_label": "randomized"} if randomized else {}
        at = at if score == "aps" else {}
        if is_cross:
            model = CrossConformalClassifier(
                forest, confidence_level=0.9, conformity_score=score, cv=5, random_state=seed
            ).fit_conformalize(X, y)
        else:
            third = len(X) // 3
            model = SplitConformalClassifier(
                forest.fit(X[third:], y[third:]), confidence_level=0.9, conformity_score=score,
                random_state=seed,
            ).conformalize(X[:third], y[:third])  # fmt: skip
        forest.fit(X, y)
        plain, _ = seconds(lambda: forest.predict_proba(new))
        given = {"conformity_score_params": at} if at else {}
        spent, (_, sets) = seconds(lambda: model.predict_set(new, **given))
        return plain, spent, sets[:, :, 0]

    return fitted


def sides():
    forest = RandomForestClassifier(200, min_samples_leaf=3)
    booster = GradientBoostingClassifier(n_estimators=40, max_depth=3, held_out=10)
    found = {}
    for name, model in (("forest, out of bag", forest), ("boosting, ten folds", booster)):
        for method in SCORES:
            for randomized in (False, True):
                found[name, method, randomized] = of_ours(model, method, randomized)
    for score in ("lac", "aps"):
        found["MAPIE, split", score, False] = of_peer(score, False)
        found["MAPIE, five folds", score, False] = of_peer(score, True)
    found["MAPIE, split", "aps", True] = of_peer("aps", False, randomized=True)
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args(arguments)
    print("sets of               score  random  coverage   hard   easy   size  empty   time")
    for (name, method, randomized), fitted in sides().items():
        shares, times = [], []
        for seed in range(options.sets):
            rng = np.random.default_rng(seed)
            X, y, _ = drawn(options.rows, rng)
            new, target, largest = drawn(2000, rng)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the peer, about classes that folds lack
                plain, spent, found = fitted(X, y, new, seed)
            hits, size = found[np.arange(len(target)), target], found.sum(axis=1)
            low, high = np.quantile(largest, [0.25, 0.75])
            hard, easy = hits[largest < low].mean(), hits[largest > high].mean()
            shares.append([hits.mean(), hard, easy, size.mean(), (size == 0).mean()])
            times.append(spent / plain)
        a, b, c, d, e = np.mean(shares, axis=0)
        print(
            f"{name:20}  {method:5}  {'yes' if randomized else 'no':6}  {a:8.3f}  {b:5.3f}  "
            f"{c:5.3f}  {d:5.2f}  {e:5.3f}  {np.median(times):5.2f}",
            flush=True,
        )

    return 0


if __name__ == "__main__":
    raise SystemExit(main())
