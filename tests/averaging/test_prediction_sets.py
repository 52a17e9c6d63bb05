"""Sets of classes against their definitions, and their coverage by simulation."""

import warnings

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import (
    BaggingClassifier,
    GradientBoostingClassifier,
    LogitBoostClassifier,
    RandomForestClassifier,
)
from sklearn_ensemble_theory.ensembles import _prediction_sets
from sklearn_ensemble_theory.ensembles._prediction_sets import ClassPlaces, SetRule, set_by_folds

from ..conformal import sets_by_loops

METHODS = ("lac", "aps", "raps")


def probabilities(n, K, rng, digits=None):
    """Some rows are easy and some hard; rounded ones have ties and zeros."""
    u = np.exp(rng.choice([0.3, 3.0], size=(n, 1)) * rng.standard_normal((n, K)))
    p = u / u.sum(axis=1, keepdims=True)
    return p if digits is None else np.round(p, digits)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("randomized", [False, True])
@pytest.mark.parametrize("digits", [None, 1])
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.filterwarnings("ignore:coverage=0.4 needs at least 1 ")
def test_sets_by_loops(method, randomized, digits, per_class):
    rng = np.random.default_rng(0)
    n, m, K, n_folds = 40, 9, 4, 3
    p, codes = probabilities(n, K, rng, digits), rng.integers(0, 3, n)  # one class has no rows
    at = probabilities(m * n_folds, K, rng, digits).reshape(m, n_folds, K)
    fold, own = rng.integers(0, n_folds, n), ClassPlaces.of_own(p, codes)
    for groups in (None, rng.integers(0, 9, n)):
        for empty in (False, True):
            rule = SetRule(0.4, method, per_class, randomized, 0.05, 2, 3, empty)
            found = set_by_folds(own, codes, fold, groups, at, rule)
            expected = sets_by_loops(p, codes, fold, groups, at, **vars(rule))
            np.testing.assert_array_equal(found, expected)
            assert 0 < found.mean() < 1
            assert found.any(axis=1).all() or empty
        if per_class:
            # Nothing is known of a class without rows: its p-value is only that of the new row.
            tie = np.random.RandomState(3).uniform(size=n + 2 * m)[-m:]
            expected = tie < 0.4 if randomized else np.ones(m, dtype=bool)
            np.testing.assert_array_equal(found[:, 3], expected)


def test_rows_in_parts(monkeypatch):
    rng = np.random.default_rng(2)
    p, codes, at = probabilities(50, 4, rng), rng.integers(0, 4, 50), probabilities(30, 4, rng)
    found = []
    for size in (10**6, 9):
        monkeypatch.setattr(_prediction_sets, "SORTED", size)
        own = ClassPlaces.of_own(p, codes)
        rule = SetRule(0.8, "raps", per_class=True, randomized=True, random_state=0)
        fold = np.zeros(50, dtype=int)
        found.append(set_by_folds(own, codes, fold, None, at[:, None], rule))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("method", METHODS)
def test_sets_do_not_depend_on_the_order_of_the_classes(method):
    rng = np.random.default_rng(1)
    p, codes = probabilities(60, 5, rng, 1), rng.integers(0, 5, 60)
    at, fold, order = probabilities(20, 5, rng, 1), np.zeros(60, dtype=int), rng.permutation(5)
    for randomized in (False, True):
        rule = SetRule(0.8, method, randomized=randomized, random_state=0)
        found = set_by_folds(ClassPlaces.of_own(p, codes), codes, fold, None, at[:, None], rule)
        place = np.argsort(order)
        own = ClassPlaces.of_own(p[:, order], place[codes])
        other = set_by_folds(own, place[codes], fold, None, at[:, None, order], rule)
        np.testing.assert_array_equal(other, found[:, order])


# --- coverage -------------------------------------------------------------------------------------


def simulated(rule, n_sets, n=37, m=8, digits=None, is_oracle=False, coverage_of=None):
    """Hits and sizes at new rows of independent data sets, by difficulty and class."""
    hits, sizes, easy, classes = [], [], [], []
    for r in range(n_sets):
        rng = np.random.default_rng(r)
        truth = probabilities(n + m, 4, rng)
        codes = (rng.random((n + m, 1)) > np.cumsum(truth, axis=1)).sum(axis=1).clip(max=3)
        p = truth if is_oracle else truth**2 / (truth**2).sum(axis=1, keepdims=True)
        p = p if digits is None else np.round(p, digits)
        own = ClassPlaces.of_own(p[:n], codes[:n])
        fold = np.zeros(n, dtype=int)
        found = set_by_folds(own, codes[:n], fold, None, p[n:, None], rule)
        hits.append(found[np.arange(m), codes[n:]])
        sizes.append(found.sum(axis=1))
        easy.append(truth[n:].max(axis=1) > 0.7)
        classes.append(codes[n:])
    return (np.concatenate(a) for a in (hits, sizes, easy, classes))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("digits", [None, 0])
def test_randomized_sets_cover_exactly(method, digits):
    """Also of probabilities that are 0 and 1; a level off by 5 % would be noticed."""
    rule = SetRule(0.8, method, randomized=True)
    np.random.seed(0)
    hits, _, _, _ = simulated(rule, 1000, digits=digits)
    assert abs(hits.mean() - 0.8) < 0.02
    # Unlike the plain sets, whose scores have ranks: 37 rows have 31/38 at least.
    plain, sizes, _, _ = simulated(SetRule(0.8, method), 150, digits=digits)
    assert plain.mean() > 0.79
    assert method == "lac" or sizes.min() >= 1


def test_adaptive_sets_cover_hard_rows():
    shares = {}
    for method in METHODS[:2]:
        for randomized in (False, True):
            rule = SetRule(0.8, method, randomized=randomized)
            np.random.seed(0)
            hits, _, easy, _ = simulated(rule, 500, n=100, is_oracle=True)
            shares[method, randomized] = hits[easy].mean(), hits[~easy].mean()
    assert shares["lac", True][1] < 0.77
    assert shares["lac", True][0] > 0.87
    np.testing.assert_allclose(shares["aps", True], 0.8, atol=0.02)
    assert min(shares["aps", False]) > 0.79


def test_coverage_of_each_class():
    """A class that is 3 times as probable as the model says is covered too rarely without it."""
    found = {}
    for per_class in (False, True):
        rule, hits, codes = SetRule(0.8, per_class=per_class, randomized=True), [], []
        np.random.seed(0)
        for r in range(600):
            rng = np.random.default_rng(r)
            y = (rng.random(60) < 0.2).astype(int)
            x = rng.standard_normal(60) + y
            second = 1 / (1 + np.exp(2.5 - x))
            p = np.column_stack([1 - second, second])
            own = ClassPlaces.of_own(p[:50], y[:50])
            sets = set_by_folds(own, y[:50], np.zeros(50, dtype=int), None, p[50:, None], rule)
            hits.append(sets[np.arange(10), y[50:]])
            codes.append(y[50:])
        hits, codes = np.concatenate(hits), np.concatenate(codes)
        found[per_class] = hits[codes == 0].mean(), hits[codes == 1].mean()
    assert found[False][1] < 0.3
    np.testing.assert_allclose(found[True], 0.8, atol=0.03)


# --- of ensembles ---------------------------------------------------------------------------------


def noisy(n, rng):
    X = rng.random((n, 4))
    u = np.column_stack([np.zeros(n), 5 * X[:, 0] - 2.5, 3 * np.sin(6 * X[:, 1])])
    return X, (u + rng.gumbel(size=u.shape)).argmax(axis=1)


@pytest.mark.parametrize("method", METHODS)
def test_sets_of_forests_by_loops(method):
    X, y = noisy(120, np.random.default_rng(0))
    new, labels = X[:10] + 0.05, np.array(["x", "y", "z"])[y]
    # Of a few full trees, probabilities are 0 and 1, and some rows are in all bags.
    models = [
        RandomForestClassifier(30, min_samples_leaf=3, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(), 3, random_state=0),
        RandomForestClassifier(20, random_state=0),
    ]
    for model, groups in zip(models, (None, None, np.arange(120) // 4)):
        arguments = {} if groups is None else {"groups": groups}
        model.set_params(oob_score=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # some rows have no out-of-bag score
            model.fit(X, labels, **arguments)
        own = model.oob_decision_function_
        unknown = np.isnan(own).any(axis=1)
        rule = SetRule(0.8, method)
        at = model.predict_proba(new)[:, None]
        zero = np.zeros(120, dtype=int)
        # A score above all others stands for a row that is never out of bag.
        if unknown.any():
            places = ClassPlaces.of_own(own, y)
            worst = ClassPlaces(*(np.where(unknown, v, a) for a, v in zip(places, (-9, 9, 0, 9))))
            expected = set_by_folds(worst, y, zero, None, at, rule)
        else:
            expected = sets_by_loops(own, y, zero, groups, at, 0.8, method)
        if np.mean(unknown) > 0.2:
            with pytest.warns(
                UserWarning, match="of the 120 held-out rows by members that are not"
            ):
                found = model.predict_set(new, 0.8, method=method)
        else:
            found = model.predict_set(new, 0.8, method=method)
        np.testing.assert_array_equal(found, expected)


def test_coverage_of_families():
    """Out of bag and by folds; each method, plain and randomised."""
    shares = []
    for r in range(6):
        rng = np.random.default_rng(r)
        X, y = noisy(700, rng)
        models = (
            RandomForestClassifier(40, min_samples_leaf=5, random_state=r),
            GradientBoostingClassifier(n_estimators=15, max_depth=2, held_out=10, random_state=r),
            LogitBoostClassifier("cv", max_bins=16, learning_rate=0.3, held_out="cv"),
        )
        for model in models:
            model.fit(X[:200], y[:200])
            for method in METHODS:
                exact = {"randomized": True, "random_state": r}
                for options in ({}, exact, {**exact, "per_class": True}):
                    found = model.predict_set(X[200:], 0.8, method=method, **options)
                    shares.append(found[np.arange(500), y[200:]].mean())
                    if not options and method != "lac":
                        assert found.any(axis=1).all()
    mean = np.mean(np.reshape(shares, (6, 3, 3, 3)), axis=0)
    assert mean.min() > 0.77, mean
    assert np.all(abs(mean[:, :, 1:] - 0.8) < 0.045), mean


@pytest.mark.parametrize("method", METHODS)
def test_one_class_and_too_few_rows(method):
    X, y = noisy(60, np.random.default_rng(0))
    one = BaggingClassifier(DecisionTreeClassifier(), 20, random_state=0).fit(X, np.zeros(60))
    assert one.predict_set(X, method=method).all()
    assert one.predict_set(X, method=method, empty=False).all()
    drawn = one.predict_set(X, 0.5, method=method, randomized=True, random_state=0)
    assert 0.3 < drawn.mean() < 0.7
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=r"coverage=0\.99 needs at least 99 held-out rows, and"):
        assert forest.predict_set(X, 0.99, method=method).all()
    rare = np.where(np.arange(60) < 5, "rare", "often")
    forest.fit(X, rare)
    with pytest.warns(
        UserWarning, match="there are 5: 1 of 2 classes have too few rows and are in"
    ):
        found = forest.predict_set(X, 0.9, method=method, per_class=True)
    assert found[:, 1].all()
    # With random numbers the coverage is exact for any number of rows.
    assert not forest.predict_set(X, 0.9, method=method, randomized=True, random_state=0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("randomized", [False, True])
def test_nothing_is_known_of_a_row_without_probabilities(method, randomized):
    rng = np.random.default_rng(0)
    known, at = probabilities(50, 3, rng), probabilities(4, 3, rng)[:, None]
    codes, fold = rng.integers(0, 3, 50), np.zeros(50, dtype=np.intp)
    rule = SetRule(0.5, method, randomized=randomized, random_state=0)
    own = ClassPlaces.of_own(known, codes)
    expected = set_by_folds(own, codes, fold, None, at, rule)
    at[1, 0, 2] = at[3] = np.nan
    found = set_by_folds(own, codes, fold, None, at, rule)
    assert found[[1, 3]].all()
    np.testing.assert_array_equal(found[[0, 2]], expected[[0, 2]])


def test_random_state_and_errors():
    X, y = noisy(80, np.random.default_rng(0))
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    first, again, other = (
        forest.predict_set(X, 0.7, method="aps", randomized=True, random_state=seed)
        for seed in (1, np.random.RandomState(1), 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    for name, wrong in (
        ("method", "score"),
        ("method", None),
        ("per_class", 1),
        ("randomized", "yes"),
        ("penalty", -0.1),
        ("penalty", np.inf),
        ("penalty", True),
        ("k_reg", 1.5),
        ("k_reg", -1),
    ):
        with pytest.raises(ValueError, match=f"{name} must be"):
            forest.predict_set(X, **{name: wrong})
    with pytest.raises(ValueError, match="random_state must be an integer"):
        forest.predict_set(X, random_state="a")
