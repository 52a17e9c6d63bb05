"""Divide and conquer: the blocks, the weighted mean, and its agreement with a loop."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import DivideAndConquerClassifier, DivideAndConquerRegressor


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((203, 3))
    y = X @ [1.0, 2.0, 0.0] + np.sin(3 * X[:, 2]) + 0.3 * rng.standard_normal(203)
    return X, y, np.digitize(y, [-1, 1])


# Blocks


def blocks_of(y, m, **options):
    model = DivideAndConquerRegressor(DummyRegressor(), m, **options)
    return model.fit(np.zeros((len(y), 1)), y).blocks_


@pytest.mark.parametrize(("n", "m"), [(10, 1), (10, 3), (10, 10), (203, 8)])
@pytest.mark.parametrize("strata", [None, np.arange(203) % 7])
@pytest.mark.parametrize("seed", [None, 0])
def test_blocks_are_of_equal_size(n, m, strata, seed):
    y = np.arange(203.0) if strata is None else strata
    options = {"shuffle": seed is not None, "stratify": strata is not None, "random_state": seed}
    block = blocks_of(y[:n], m, **options)
    sizes = np.bincount(block, minlength=m)
    assert sizes.max() - sizes.min() <= 1
    if strata is not None:
        for value in np.unique(strata):
            counts = np.bincount(block[y[:n] == value], minlength=m)
            assert counts.max() - counts.min() <= 2
    elif seed is None:
        assert (np.diff(block) >= 0).all()


@pytest.mark.slow
def test_stratified_blocks_are_not_biased():
    """Every block gets the smaller ones of successive values as often as the larger ones."""
    means = [
        np.bincount(
            blocks_of(np.arange(60.0), 3, stratify=True, random_state=seed),
            weights=np.arange(60),
        )
        / 20
        for seed in range(400)
    ]
    np.testing.assert_allclose(np.mean(means, axis=0), 29.5, atol=0.06)
    assert np.std(means) < 0.4  # of blocks without strata: 3.2


def test_groups_stay_together(rows):
    X, y, _ = rows
    groups = np.random.default_rng(1).integers(0, 25, len(y))
    model = DivideAndConquerRegressor(Ridge(), 4, random_state=0).fit(X, y, groups=groups)
    assert all(len(np.unique(model.blocks_[groups == g])) == 1 for g in np.unique(groups))
    assert np.bincount(model.blocks_).min() > 40
    with pytest.raises(ValueError, match="larger than the number of groups, 25"):
        DivideAndConquerRegressor(Ridge(), 26).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="groups must have a label for each row"):
        DivideAndConquerRegressor(Ridge(), 2).fit(X, y, groups=groups[:-1])


def test_number_of_blocks(rows):
    X, y, _ = rows
    assert DivideAndConquerRegressor().fit(X, y).n_blocks_ == int(203 ** (2 / 5))
    with pytest.raises(ValueError, match="n_blocks=204 is larger than the number of rows"):
        DivideAndConquerRegressor(n_blocks=204).fit(X, y)
    assert DivideAndConquerRegressor(n_blocks=203).fit(X, y).n_blocks_ == 203
    weight = np.r_[np.zeros(200), 1, 2, 3]
    with pytest.raises(ValueError, match="larger than the number of rows of positive weight"):
        DivideAndConquerRegressor(n_blocks=4).fit(X, y, weight)
    model = DivideAndConquerRegressor(n_blocks=3, random_state=0).fit(X, y, weight)
    assert (model.blocks_[:200] == -1).all()
    assert sorted(model.block_weights_ * 6) == pytest.approx([1, 2, 3])


# The mean


def test_one_block_is_the_estimator(rows):
    X, y, labels = rows
    tree = DecisionTreeRegressor(max_depth=4, random_state=0)
    one = DivideAndConquerRegressor(Ridge(), 1, weighting="risk").fit(X, y)
    np.testing.assert_array_equal(one.predict(X), Ridge().fit(X, y).predict(X))
    many = DivideAndConquerRegressor(tree, 1, random_state=3).fit(X, y)
    np.testing.assert_allclose(many.predict(X), tree.fit(X, y).predict(X))
    vote = DivideAndConquerClassifier(LinearSVC(random_state=0), 1).fit(X, labels)
    assert vote.score(X, labels) == pytest.approx(
        LinearSVC(random_state=0).fit(X, labels).score(X, labels), abs=0.02
    )


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_weights_in_one_block_are_repeated_rows(rows, container):
    """The seed of a block does not depend on the number of rows, nor on whether they are dealt."""
    X, _, labels = rows
    weight = np.random.default_rng(0).integers(0, 4, len(labels))
    repeated = np.repeat(np.arange(len(labels)), weight)
    random = DecisionTreeClassifier(max_features=1, splitter="random")
    for params in ({}, {"stratify": False}, {"shuffle": False}):
        model = DivideAndConquerClassifier(random, 1, random_state=0, **params)
        expected = model.fit(container(X[repeated]), labels[repeated]).predict_proba(X)
        found = model.fit(container(X), labels, weight).predict_proba(X)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("weighting", ["size", "uniform", "risk"])
@pytest.mark.parametrize("container", [np.asarray, sp.csc_matrix])
def test_mean_of_a_loop_over_the_blocks(rows, weighting, container):
    X, y, _ = rows
    Y = np.column_stack([y, y**2])
    weight = np.random.default_rng(0).random(len(y))
    model = DivideAndConquerRegressor(Ridge(), 4, weighting=weighting, random_state=0)
    model.fit(container(X), Y, weight)
    total, shares = 0, []
    for b in range(4):
        mine = model.blocks_ == b
        member = Ridge().fit(X[mine], Y[mine], weight[mine])
        error = ((member.predict(X[~mine]) - Y[~mine]) ** 2).mean(axis=1)
        risk = np.average(error, weights=weight[~mine])
        shares.append({"size": weight[mine].sum(), "uniform": 1, "risk": 1 / risk}[weighting])
        total = total + shares[-1] * member.predict(X)
    np.testing.assert_allclose(model.predict(container(X)), total / sum(shares), rtol=1e-9)
    np.testing.assert_allclose(model.block_weights_, np.array(shares) / sum(shares), rtol=1e-9)
    assert hasattr(model, "block_risks_") == (weighting == "risk")


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("weighting", ["size", "risk"])
def test_vote_of_a_loop_over_the_blocks(rows, voting, weighting):
    X, _, labels = rows
    base = LogisticRegression()
    model = DivideAndConquerClassifier(base, 5, voting=voting, weighting=weighting, random_state=0)
    model.fit(X, np.array(["low", "mid", "top"])[labels])
    total = 0
    for b in range(5):
        mine = model.blocks_ == b
        assert len(np.unique(labels[mine])) == 3
        member = clone(base).fit(X[mine], labels[mine])
        shares = member.predict_proba(X)
        if voting == "hard":
            shares = np.eye(3)[member.predict(X)]
        brier = ((shares - np.eye(3)[labels]) ** 2).sum(axis=1)[~mine].mean() / 2
        total = total + shares * (mine.sum() if weighting == "size" else 1 / brier)
    total /= total.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), total, rtol=1e-6)
    if voting == "soft":
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(total), rtol=1e-5)
    assert (model.predict(X) == np.array(["low", "mid", "top"])[total.argmax(axis=1)]).all()


def test_blocks_that_lack_a_class(rows):
    X, y, _ = rows
    order = np.argsort(y)
    labels = (np.arange(203) > 60).astype(int) + (np.arange(203) > 190)
    model = DivideAndConquerClassifier(SVC(), 7, shuffle=False, stratify=False)
    model.fit(X[order], labels)
    assert model.predict_proba(X).shape == (203, 3)
    assert model.score(X[order], labels) > 0.5


@pytest.mark.parametrize(
    ("y", "risks", "expected"),
    [
        ([0.0, 0.0, 1.0, 1.0], [1, 1], [0.5, 0.5]),
        ([1.0, 1.0, 1.0, 1.0], [0, 0], [0.5, 0.5]),
        ([0.0, 0.0, 0.0, 0.0, 0.0, 2.0], [0.5, 0, 0.25], None),
    ],
)
def test_weights_by_risk(y, risks, expected):
    """In proportion to 1/risk; risks of 0 and the smallest ones give finite weights."""
    X = np.zeros((len(y), 1))
    model = DivideAndConquerRegressor(
        DummyRegressor(), len(risks), shuffle=False, weighting="risk"
    ).fit(X, y)
    top = max(model.block_risks_.max(), 1e-300)
    shares = 1 / np.maximum(model.block_risks_ / top, 1e-9)
    np.testing.assert_allclose(model.block_weights_, shares / shares.sum())
    if expected is not None:
        np.testing.assert_allclose(model.block_risks_, risks)
        np.testing.assert_allclose(model.block_weights_, expected)
    assert np.isfinite(model.block_weights_).all()


def test_bad_blocks_lose_their_weight(rows):
    """A block of other rows: 1/risk is nearly the weight of independent errors."""
    X, y, _ = rows
    y = y.copy()
    y[-50:] *= -5
    plain, weighted = (
        DivideAndConquerRegressor(LinearRegression(), 4, shuffle=False, weighting=w).fit(X, y)
        for w in ("size", "risk")
    )
    assert weighted.block_weights_[3] < 0.15
    error = [np.mean((m.predict(X[:150]) - y[:150]) ** 2) for m in (plain, weighted)]
    assert error[1] < 0.5 * error[0]


def test_variance_is_divided_by_the_number_of_blocks():
    """The mean over m blocks has the bias of a block and 1/m of its variance [Bach, §10.1.1]."""
    rng = np.random.default_rng(0)
    X, x = np.linspace(0, 1, 120)[:, None], np.array([[0.52]])
    # In turns, so that every block has the same design.
    groups = np.arange(120) % 4
    Y = np.sin(3 * X) + rng.standard_normal((120, 3000))  # 3,000 data sets
    model = DivideAndConquerRegressor(KNeighborsRegressor(6), 4, shuffle=False)
    mean = model.fit(X, Y, groups=groups).predict(x)
    single = model.estimators_[0].predict(x)
    assert np.var(mean) / np.var(single) == pytest.approx(1 / 4, rel=0.1)
    assert abs(np.mean(mean) - np.mean(single)) < 0.05


def test_kernel_ridge_with_its_own_penalty_is_as_good():
    rng = np.random.default_rng(0)
    X = rng.random((1200, 2))
    y = np.sin(5 * X[:, 0]) * X[:, 1]
    noisy = y + 0.3 * rng.standard_normal(1200)
    errors = {}
    for m, alphas in ((1, [0.1, 0.3, 1.0, 3.0]), (6, [0.01, 0.03, 0.1, 0.3])):
        for alpha in alphas:
            base = KernelRidge(kernel="rbf", gamma=4.0, alpha=alpha)
            model = DivideAndConquerRegressor(base, m, random_state=0).fit(X[:800], noisy[:800])
            error = np.mean((model.predict(X[800:]) - noisy[800:]) ** 2)
            errors[m] = min(error, errors.get(m, np.inf))
    assert errors[6] < 1.03 * errors[1]


# Interface


def test_sample_weight_needs_an_estimator_that_takes_it(rows):
    X, y, labels = rows
    with pytest.raises(ValueError, match=r"estimator=KNeighborsClassifier doesn't support"):
        DivideAndConquerClassifier(KNeighborsClassifier()).fit(X, labels, np.ones(len(y)))
    with pytest.raises(ValueError, match="single output"):
        DivideAndConquerRegressor(stratify=True).fit(X, np.column_stack([y, y]))


def test_metadata_routing(rows):
    X, y, _ = rows
    groups = np.arange(len(y)) // 10
    with sklearn.config_context(enable_metadata_routing=True):
        base = Ridge().set_fit_request(sample_weight=True)
        model = DivideAndConquerRegressor(base, 3, random_state=0)
        model.set_fit_request(groups=True, sample_weight=True)
        model.set_score_request(sample_weight=False)
        scores = cross_validate(
            model,
            X,
            y,
            cv=GroupKFold(3),
            params={"groups": groups, "sample_weight": np.ones(len(y))},
            return_estimator=True,
        )
        for fitted in scores["estimator"]:
            assert fitted.n_blocks_ == 3
        assert scores["test_score"].min() > 0.5
