"""Margins and edges of boosted votes: what the displays draw is what the models say."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    AgnosticBoostClassifier,
    BaggingClassifier,
    DecisionStumpClassifier,
    FrankWolfeClassifier,
    RandomForestClassifier,
    SmoothBoostClassifier,
    VotingClassifier,
)
from sklearn_ensemble_theory.inspection import EdgeDisplay, MarginDisplay

from ..estimators import boosted_votes

# Three stumps, coefficients (scikit-learn's scale) log 2, log 3, log 5: see test_adaboost.
INTERVAL = np.arange(9.0)[:, None], np.array([0, 0, 0, 1, 1, 1, 0, 0, 0])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def two_classes(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.where((X**2).sum(axis=1) < 0.6, "in", "out")


def margins(estimator, X, y, **options):
    return MarginDisplay.from_estimator(estimator, X, y, **options).margins


def votes_margin(members, alphas, X, y, classes):
    """y sum alpha h / sum |alpha| from the members' labels, written out."""
    signs = np.where(y == classes[1], 1, -1)
    votes = np.stack([np.where(m.predict(X) == classes[1], 1, -1) for m in members], axis=1)
    return signs * (votes @ alphas) / np.sum(np.abs(alphas))


def test_margins_by_hand():
    X, y = INTERVAL
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    np.testing.assert_allclose(model.estimator_weights_, np.log([2, 3, 5]))
    found = margins(model, X, y, rounds=[1, 3, 2, 3])
    assert list(found) == [1, 2, 3]
    np.testing.assert_allclose(np.sort(found[1]), [-1] * 3 + [1] * 6)
    # After two rounds 3 rows have votes against each other, after three all are right.
    a, b, c = np.log([2, 3, 5])
    expected = {(b - a) / (a + b), (a - b) / (a + b), 1.0}
    assert {round(m, 9) for m in found[2]} == {round(m, 9) for m in expected}
    expected = {(c + b - a) / (a + b + c), (c + a - b) / (a + b + c), (a + b - c) / (a + b + c)}
    assert {round(m, 9) for m in found[3]} == {round(m, 9) for m in expected}


def test_curves_are_distribution_functions():
    X, y = two_classes()
    model = AdaBoostClassifier(n_estimators=12).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    assert list(display.margins) == [1, 10, 12]  # powers of 10 and the last round
    for t, line in display.lines_.items():
        at, share = line.get_xdata(), line.get_ydata()
        for value in [-0.5, 0.0, display.margins[t][3]]:
            drawn = share[np.searchsorted(at, value, side="right") - 1] if value >= at[0] else 0.0
            assert drawn == pytest.approx(np.mean(display.margins[t] <= value))
    w = np.arange(len(y)) % 3
    weighted = MarginDisplay.from_estimator(model, X, y, rounds=[12], sample_weight=w)
    line = weighted.lines_[12]
    at = np.searchsorted(line.get_xdata(), 0.1, side="right") - 1
    assert line.get_ydata()[at] == pytest.approx(w[weighted.margins[12] <= 0.1].sum() / w.sum())
    _, ax = plt.subplots()
    assert display.plot(ax).ax_ is ax


@pytest.mark.parametrize("variant", ["discrete", "real", "gentle"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_margins_of_adaboost_are_those_of_its_method(variant, n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes, :2], y[y < n_classes]
    model = AdaBoostClassifier(n_estimators=8, variant=variant).fit(X, y)
    found = margins(model, X, y, rounds=[3, 8])
    np.testing.assert_allclose(found[8], model.margins(X, y), atol=1e-12)
    first = AdaBoostClassifier(n_estimators=3, variant=variant).fit(X, y)
    np.testing.assert_allclose(found[3], first.margins(X, y), atol=1e-12)
    wrong = model.predict(X) != y
    assert (found[8][wrong] <= 1e-12).all()
    assert (found[8][~wrong] >= -1e-12).all()


@pytest.mark.parametrize("cls", boosted_votes(), ids=lambda cls: cls.__name__)
def test_margins_of_boosted_votes(cls):
    X, y = two_classes()
    model = cls(n_estimators=7).fit(X, y)
    last = len(model.edges_)
    found = margins(model, X, y, rounds=[last])[last]
    assert np.abs(found).max() <= 1 + 1e-12
    np.testing.assert_array_equal(found > 0, model.predict(X) == y)
    if (getattr(model, "moves_", np.array(["all"])) == "all").all():
        alphas = np.asarray(model.steps_ if hasattr(model, "steps_") else model.estimator_weights_)
        expected = votes_margin(model.estimators_, alphas, X, y, model.classes_)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_margins_of_several_problems_of_two_classes():
    X, y = load_iris(return_X_y=True)
    model = SmoothBoostClassifier(n_estimators=5).fit(X, y)
    found = margins(model, X, y, rounds=[5])[5]
    scores = model.decision_function(X)
    own = scores[np.arange(len(y)), y]
    others = np.where(np.eye(3)[y] == 1, -np.inf, scores).max(axis=1)
    np.testing.assert_allclose(found, (own - others) / 2)


def test_margins_of_frank_wolfe():
    X, y = two_classes()
    model = FrankWolfeClassifier(DecisionStumpClassifier(), radius=3.0, n_estimators=20).fit(X, y)
    (found,) = margins(model, X, y).values()
    weights = np.r_[model.estimator_weights_, model.intercept_]
    members = np.stack([m.predict(X) for m in model.estimators_] + [np.ones(len(y))], axis=1)
    sign = np.where(y == model.classes_[1], 1, -1)
    np.testing.assert_allclose(found, sign * (members @ weights) / np.abs(weights).sum())


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_margins_of_bagging_after_each_member(voting):
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=2)
    model = BaggingClassifier(tree, 6, voting=voting, random_state=0).fit(X, y)
    found = margins(model, X, y, rounds=[1, 4, 6])
    for t in (1, 4, 6):
        if voting == "hard":
            member = [np.eye(3)[m.predict(X).astype(int)] for m in model.estimators_[:t]]
        else:
            member = [m.predict_proba(X) for m in model.estimators_[:t]]
        share = np.mean(member, axis=0)
        rest = np.where(np.eye(3)[y] == 1, -1, share).max(axis=1)
        np.testing.assert_allclose(found[t], share[np.arange(len(y)), y] - rest, atol=1e-12)


def test_margins_of_other_votes():
    X, y = load_iris(return_X_y=True)
    members = [("a", GaussianNB()), ("b", DecisionTreeClassifier(max_depth=1)), ("c", GaussianNB())]
    hard = VotingClassifier(members, weights=[1, 2, 3]).fit(X, y)
    (found,) = margins(hard, X, y).values()
    assert set(np.round(found, 9)) <= {round(k / 6, 9) for k in (-6, -2, 2, 6)}
    np.testing.assert_array_equal(found > 0, hard.predict(X) == y)
    soft = VotingClassifier(members, voting="soft").fit(X, y)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    for model in (soft, forest, GaussianNB().fit(X, y)):
        *_, found = margins(model, X, y).values()
        p = model.predict_proba(X)
        rest = np.where(np.eye(3)[y] == 1, -1, p).max(axis=1)
        np.testing.assert_allclose(found, p[np.arange(len(y)), y] - rest, atol=1e-12)
    peer = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    assert list(margins(peer, X, y, rounds=[2, 3])) == [2, 3]
    scores = LinearSVC().fit(X, y == 1)
    display = MarginDisplay.from_estimator(scores, X, y == 1)
    (found,) = display.margins.values()
    np.testing.assert_allclose(found, np.where(y == 1, 1, -1) * scores.decision_function(X))
    assert display.ax_.get_xlabel() == "margin, not normalised"


def test_refusals_of_margins(monkeypatch):
    X, y = two_classes()
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    draw = MarginDisplay.from_estimator
    for rounds, message in [([0], "positive ints"), ([1.5], "positive"), ([], "at least one")]:
        with pytest.raises(ValueError, match=f"rounds must .*{message}"):
            draw(model, X, y, rounds=rounds)
    with pytest.raises(ValueError, match="rounds must be at most 3"):
        draw(model, X, y, rounds=[2, 4])
    with pytest.raises(ValueError, match="response_method must be one of"):
        draw(model, X, y, response_method="predict")
    with pytest.raises(ValueError, match="y must have 80 entries"):
        draw(model, X, y[:-1])
    with pytest.raises(ValueError, match="y must contain classes"):
        draw(model, X, np.where(y == "in", "zoo", y))
    with pytest.raises(ValueError, match="sample_weight must have 80 non-negative"):
        draw(model, X, y, sample_weight=-np.ones(80))
    with pytest.raises(TypeError, match="estimator must be a fitted classifier"):
        draw(LinearRegression().fit(X, X[:, 0]), X, y)
    with pytest.raises(TypeError, match="estimator must have the method predict_proba"):
        draw(LinearSVC().fit(X, y), X, y, response_method="predict_proba")
    with pytest.raises(ValueError, match="one class"):
        draw(AdaBoostClassifier().fit(X, y == "?"), X, y == "?")
    with pytest.raises(NotFittedError):
        draw(AdaBoostClassifier(), X, y)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="plot"):
        draw(model, X, y)


def test_edges_by_hand():
    X, y = INTERVAL
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    display = EdgeDisplay.from_estimator(model, X, y)
    eps = np.array([1 / 3, 1 / 4, 1 / 6])
    np.testing.assert_allclose(display.edges["edge"], 0.5 - eps)
    assert display.smallest_edge_ == pytest.approx(1 / 6)
    np.testing.assert_allclose(display.training_error, [1 / 3, 1 / 3, 0], atol=1e-12)
    product, uniform = display.bounds.values()
    np.testing.assert_allclose(product, np.cumprod(2 * np.sqrt(eps * (1 - eps))))
    np.testing.assert_allclose(uniform, np.exp(-2 / 36 * np.arange(1, 4)))
    drawn = [line.get_ydata() for line in display.axes_[1].lines]
    for found, expected in zip(drawn, [display.training_error, product, uniform], strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("n_classes", "options", "n_bounds"),
    [
        (2, {}, 2),
        (2, {"learning_rate": 0.5}, 1),
        (2, {"variant": "real"}, 1),
        (3, {}, 2),
        (3, {"variant": "gentle"}, 1),
        (3, {"variant": "discrete"}, 0),
    ],
)
def test_bounds_are_above_the_training_error(n_classes, options, n_bounds):
    X, y = load_iris(return_X_y=True)
    X, y = X[y >= 3 - n_classes, :2], y[y >= 3 - n_classes]
    w = 1.0 + np.arange(len(y)) % 2
    model = AdaBoostClassifier(n_estimators=25, **options).fit(X, y, sample_weight=w)
    display = EdgeDisplay.from_estimator(model, X, y, sample_weight=w)
    assert len(display.bounds) == n_bounds
    for bound in display.bounds.values():
        assert (bound >= display.training_error - 1e-12).all()
    errors = [(model.predict(X) != y) @ w / w.sum()]
    np.testing.assert_allclose(display.training_error[-1:], errors)


def test_edges_of_other_votes():
    X, y = load_iris(return_X_y=True)
    model = SmoothBoostClassifier(n_estimators=5).fit(X, y)
    display = EdgeDisplay.from_estimator(model)
    assert list(display.edges) == ["class 0", "class 1", "class 2"]
    assert len(display.axes_) == 1
    assert display.smallest_edge_ == min(e.min() for e in model.edges_)
    agnostic = AgnosticBoostClassifier(n_estimators=40).fit(*two_classes())
    display = EdgeDisplay.from_estimator(agnostic, *two_classes())
    assert display.smallest_edge_ == np.nanmin(agnostic.edges_)
    assert len(display.training_error) == len(agnostic.edges_)
    assert len(EdgeDisplay.from_estimator(AdaBoostClassifier().fit(X, y)).axes_) == 2


def test_refusals_of_edges():
    X, y = two_classes()
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    draw = EdgeDisplay.from_estimator
    with pytest.raises(ValueError, match="X and y must be given together"):
        draw(model, X)
    with pytest.raises(ValueError, match="sample_weight must be given with"):
        draw(model, sample_weight=np.ones(80))
    with pytest.raises(TypeError, match="attribute edges_; GaussianNB"):
        draw(GaussianNB().fit(X, y))
    with pytest.raises(ValueError, match="axes must have 2 elements"):
        draw(model, X, y, axes=[plt.figure().add_subplot()])
    with pytest.raises(NotFittedError):
        draw(AdaBoostClassifier())
