"""Bounds on the error of fitted classifiers: counts, simulations, and where they do not apply."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.special import comb
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionStumpClassifier,
    DivideAndConquerClassifier,
    ExtraTreesClassifier,
    FrankWolfeClassifier,
    RandomForestClassifier,
    VotingClassifier,
    bounds,
)
from sklearn_ensemble_theory.boosting import CVChoice
from sklearn_ensemble_theory.boosting.losses import SquaredLoss
from sklearn_ensemble_theory.erm import stump_dictionary


def deviation(n, log_growth, delta):
    return 2 * np.sqrt(2 * (log_growth + np.log(2 / delta)) / n)


# --- bounds on votes -----------------------------------------------------------------------------


def test_number_of_labels_of_stumps():
    """All labels of stumps on distinct rows of one feature: 2m of them, and fewer for ties."""
    x = np.random.default_rng(0).permutation(12.0 * np.arange(400))[:, None]
    outputs = stump_dictionary(x).outputs
    labels = {tuple(s * psi) for psi in outputs.T for s in (-1, 1)}
    assert len(labels) == 800
    found = bounds.stump_generalization_bound(200, 1, delta=0.1)
    assert found == pytest.approx(deviation(200, np.log(800), 0.1))
    X = np.random.default_rng(0).integers(0, 3, (10, 2))
    assert 2 * stump_dictionary(X).outputs.shape[1] < 2 * (2 * 9 + 1)


def test_number_of_labels_of_votes_of_stumps():
    """All weighted votes of two stumps on 6 rows are fewer than counted, of all multisets."""
    N, T = 6, 2
    outputs = stump_dictionary(np.arange(6.0)[:, None]).outputs
    angles = np.linspace(0, 2 * np.pi, 997)
    weights = np.column_stack([np.cos(angles), np.sin(angles)])
    labels = set()
    for pair in combinations_with_replacement(outputs.T, T):
        labels |= {tuple(v) for v in (weights @ np.array(pair) > 0)}

    def counted(N):
        m = 1 * (N - 1) + 1
        return comb(m + T - 1, T) * sum(comb(N, i) for i in range(T + 1))

    assert len(labels) <= counted(N)
    found = bounds.stump_generalization_bound(1000, 1, n_members=T, delta=0.1)
    assert found == pytest.approx(deviation(1000, np.log(counted(2000)), 0.1))
    assert found >= bounds.stump_generalization_bound(1000, 1, delta=0.1)


def test_votes_of_a_class_of_known_dimension():
    n, T, d, delta = 4000, 3, 2, 0.05
    phi = lambda k: sum(comb(2 * n, i) for i in range(k + 1))  # noqa: E731
    by_hand = deviation(n, T * np.log(phi(d)) + np.log(phi(T)), delta)
    found = bounds.weighted_voting_generalization_bound(n, T, d, delta)
    assert found == pytest.approx(by_hand)
    # Weights that depend on the data cost more than weights that do not.
    assert found > bounds.voting_generalization_bound(n, [d] * T, delta)
    # Stumps of one feature have dimension 2; their number is smaller than the bound by it.
    assert bounds.stump_generalization_bound(n, 1, T, delta) < found


def test_bound_on_a_vote_by_hand():
    shares = np.array([1.0, 0.5, 0.2, 0.9])
    weight = np.array([1.0, 2.0, 1.0, 0.0])
    error = (0 + 2 * 0.5 + 0.8) / 4
    found = bounds.held_out_voting_error_bound(shares, weight)
    assert found == pytest.approx(2 * error)
    low = bounds.held_out_voting_error_bound(np.ones(4), weight, delta=0.3)
    assert low == pytest.approx(2 * np.sqrt(np.log(1 / 0.3) / 2 * 6 / 16))
    assert bounds.held_out_voting_error_bound(np.zeros(3)) == 1.0
    # Attained: members that err in halves.
    assert bounds.held_out_voting_error_bound([0.5, 0.5, 1, 1]) == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.stump_generalization_bound(0, 1), "n_samples"),
        (lambda: bounds.stump_generalization_bound(5, 0), "n_features"),
        (lambda: bounds.stump_generalization_bound(5, 1, 0), "n_members"),
        (lambda: bounds.stump_generalization_bound(5, 1, delta=0), "delta"),
        (lambda: bounds.weighted_voting_generalization_bound(5, 1, 0), "vc_dimension"),
        (lambda: bounds.weighted_voting_generalization_bound(5, 1.5, 1), "n_members"),
        (lambda: bounds.weighted_voting_generalization_bound(5, 1, 1, 2.0), "delta"),
        (lambda: bounds.held_out_voting_error_bound([1.5]), "true_shares"),
        (lambda: bounds.held_out_voting_error_bound([]), "true_shares"),
        (lambda: bounds.held_out_voting_error_bound([1.0], [-1.0]), "sample_weight"),
        (lambda: bounds.held_out_voting_error_bound([1.0], [1.0], 0.0), "delta"),
    ],
)
def test_errors_of_the_bounds(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- stumps --------------------------------------------------------------------------------------


def interval_rows(rng, n, p=1, noise=0.1):
    """Labels of an interval of the first feature, some of them flipped."""
    X = rng.random((n, p))
    y = (np.abs(X[:, 0] - 0.5) < 0.25) ^ (rng.random(n) < noise)
    return X, y.astype(int)


@pytest.mark.slow
def test_bound_of_a_stump_holds():
    """The exact error of the fitted stump, in 1,000 draws; the bound is below 1."""
    rng, n, delta = np.random.default_rng(0), 400, 0.1
    failures, bound = 0, 0.0
    for _ in range(1000):
        x = rng.random(n)
        y = ((x > 0.4) ^ (rng.random(n) < 0.1)).astype(int)
        model = DecisionStumpClassifier().fit(x[:, None], y)
        bound = model.error_bound(x[:, None], y, delta=delta)
        # P(error) for a threshold c with 1 on the right: 0.1 + 0.8 |c - 0.4|.
        c = min(model.threshold_, 1.0)
        error = 0.1 + 0.8 * abs(c - 0.4)
        failures += (error if model.right_class_ else 1 - error) > bound
    assert failures <= delta * 1000
    assert bound < 0.7
    by_hand = model.training_error_ + bounds.stump_generalization_bound(n, 1, delta=delta)
    assert bound == pytest.approx(by_hand)


def test_where_the_bound_of_a_stump_does_not_apply():
    X = np.arange(6.0)[:, None]
    model = DecisionStumpClassifier().fit(X, [0, 0, 1, 1, 2, 2])
    with pytest.raises(ValueError, match="two classes"):
        model.error_bound(X, [0, 0, 1, 1, 2, 2])
    model = DecisionStumpClassifier().fit(X, [0, 0, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="delta"):
        model.error_bound(X, [0, 0, 1, 1, 1, 1], delta=0)


# --- AdaBoost ------------------------------------------------------------------------------------


def test_bound_of_adaboost_holds():
    """For the vote with the largest difference of errors, in 2,000 draws of the rows.

    Votes of three stumps give all 16 labellings of four values of x: the difference is the sum
    over the values of the larger one of both labels.
    """
    rng, n, T, delta = np.random.default_rng(0), 5000, 3, 0.1
    p = rng.dirichlet(np.ones(8)).reshape(4, 2)
    counts = rng.multinomial(n, p.ravel(), 2000).reshape(-1, 4, 2)
    worst = (p - counts / n).max(axis=2).sum(axis=1)
    bound = bounds.stump_generalization_bound(n, 1, T, delta)
    assert np.mean(worst > bound) <= delta
    assert worst.max() > 0
    assert bound < 0.6
    # What a fitted model adds to its training error.
    X, y = interval_rows(rng, n)
    model = AdaBoostClassifier(n_estimators=T).fit(X, y)
    found = model.error_bound(X, y, method="vc", delta=delta)
    assert found == pytest.approx(np.mean(model.predict(X) != y) + bound)
    grid = (np.arange(1000) + 0.5)[:, None] / 1000
    truth = np.abs(grid[:, 0] - 0.5) < 0.25
    assert 0.1 + 0.8 * np.mean(model.predict(grid) != truth) <= found


def test_number_of_rounds_in_the_bound_is_the_largest_possible_one():
    X = np.arange(8.0)[:, None]
    y = (X[:, 0] > 3).astype(int)
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    assert len(model.estimators_) == 1  # perfect
    assert model.error_bound(X, y, method="vc") == bounds.stump_generalization_bound(8, 1, 5)
    tree = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=5).fit(X, y)
    found = tree.error_bound(X, y, method="vc", vc_dimension=2)
    assert found == bounds.weighted_voting_generalization_bound(8, 5, 2)
    with pytest.raises(ValueError, match="vc_dimension must be given for DecisionTreeClassifier"):
        tree.error_bound(X, y, method="vc")


@pytest.mark.parametrize("variant", ["real", "gentle"])
def test_where_the_bound_of_adaboost_does_not_apply(variant):
    X = np.arange(9.0)[:, None]
    y = np.array([0, 0, 0, 1, 1, 1, 0, 0, 0])
    model = AdaBoostClassifier(variant=variant, n_estimators=2).fit(X, y)
    assert not hasattr(model, "error_bound")
    with pytest.raises(AttributeError) as error:
        model.error_bound(X, y)
    assert "set variant='discrete'" in str(error.value.__cause__)
    three = np.repeat([0, 1, 2], 3)
    for variant in ("discrete", "auto"):
        model = AdaBoostClassifier(variant=variant, n_estimators=2).fit(X, three)
        for method in ("vc", "margin"):
            with pytest.raises(ValueError, match="variant='discrete' and two classes"):
                model.error_bound(X, three, method=method)
    with pytest.raises(ValueError, match="method must be one of 'margin', 'vc'"):
        model.error_bound(X, three, method="pac")


# --- bagging -------------------------------------------------------------------------------------


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_bound_of_bagging_on_held_out_rows_holds(voting):
    """For one ensemble, whose error is known, and 1,000 draws of held-out rows."""
    rng, delta, m = np.random.default_rng(0), 0.1, 40
    X, y = interval_rows(rng, 60)
    model = BaggingClassifier(
        DecisionTreeClassifier(max_depth=3), 9, voting=voting, random_state=0
    ).fit(X, y)
    pool, labels = interval_rows(rng, 5000)
    true_error = np.mean(model.predict(pool) != labels)
    assert true_error <= model.error_bound(pool, labels)
    proba = model.predict_proba(pool)
    shares = np.clip(proba[np.arange(5000), labels], 0, 1)
    assert model.error_bound(pool, labels) == pytest.approx(2 * np.mean(1 - shares))
    draws = rng.integers(0, 5000, (1000, m))
    found = [bounds.held_out_voting_error_bound(shares[rows], None, delta) for rows in draws]
    # Of the mean error of the members: the deviation is used up by it.
    assert np.mean(2 * np.mean(1 - shares) > found) <= delta
    assert np.mean(true_error > np.array(found)) <= delta
    rows = draws[0]
    assert model.error_bound(pool[rows], labels[rows], delta=delta) == pytest.approx(found[0])


def test_bound_of_forests_and_of_votes():
    rng = np.random.default_rng(0)
    X, y = interval_rows(rng, 80, 2)
    names = np.array(["a", "b"])[y]
    new, labels = interval_rows(rng, 200, 2)
    labels = np.array(["a", "b"])[labels]
    labels[:5] = "c"  # a class that was not seen is always an error
    weight = rng.integers(0, 3, 200).astype(float)
    copies = np.repeat(np.arange(200), weight.astype(int))
    for forest in (
        RandomForestClassifier(5, max_depth=3, random_state=0),
        ExtraTreesClassifier(5, max_depth=3, random_state=0),
        DivideAndConquerClassifier(DecisionTreeClassifier(max_depth=3), n_blocks=4, random_state=0),
    ):
        forest.fit(X, names)
        wrong = 1 - forest.predict_proba(new)[np.arange(200), (labels == "b").astype(int)]
        wrong[:5] = 1
        assert forest.error_bound(new, labels) == pytest.approx(min(1, 2 * wrong.mean()))
        assert np.mean(forest.predict(new) != labels) <= forest.error_bound(new, labels)
        assert forest.error_bound(new, labels, weight) == pytest.approx(
            forest.error_bound(new[copies], labels[copies])
        )
    vote = VotingClassifier([("one", DecisionTreeClassifier(max_depth=2, random_state=0))])
    one = vote.fit(X, names).estimators_[0]
    bag = BaggingClassifier(one, 1, bootstrap=False, voting="hard", random_state=0).fit(X, names)
    assert bag.error_bound(new, labels) == pytest.approx(vote.error_bound(new, labels))


def test_where_the_bound_of_bagging_does_not_apply():
    X, y = interval_rows(np.random.default_rng(0), 40)
    forest = RandomForestClassifier(3, random_state=0).fit(X, np.column_stack([y, 1 - y]))
    with pytest.raises(ValueError, match="single output"):
        forest.error_bound(X, y)
    forest.fit(X, y)
    with pytest.raises(ValueError, match="delta"):
        forest.error_bound(X, y, delta=-1)
    assert not hasattr(BaggingClassifier, "vc_error_bound")


# --- Frank-Wolfe ---------------------------------------------------------------------------------


KINDS = np.array([[a, b, y] for a in (-1, 1) for b in (-1, 1) for y in (-1, 1)], dtype=float)
LAW = np.where(KINDS[:, 0] == KINDS[:, 2], 0.2, 0.05)  # P(y = sign of x_1) = 0.8


def logistic_risks(coefs, shares):
    """For the shares of the eight kinds of rows: (n_draws, n_coefs), or (n_coefs,)."""
    margins = KINDS[:, 2] * (coefs @ KINDS[:, :2].T)
    return shares @ np.logaddexp(0, -margins).T


def test_bound_of_frank_wolfe_holds():
    """The minimiser in the ball, from the counts of the rows of 1,000 draws."""
    rng, n, D, delta = np.random.default_rng(0), 200, 1.5, 0.1
    some = [
        (a, s * (D - abs(a)) * r)
        for a in np.linspace(-D, D, 61)
        for s in (-1, 1)
        for r in (0.0, 0.2, 0.5, 1.0)
    ]
    grid = np.array(some)
    shares = rng.multinomial(n, LAW, 1000) / n
    chosen = logistic_risks(grid, shares).argmin(axis=1)
    risks = logistic_risks(grid, LAW)
    excess = risks[chosen] - risks.min()
    slope, largest = 1 / (1 + np.exp(-D)), np.log1p(np.exp(D))
    rate = 2 * slope * D * np.sqrt(2 * np.log(4) / n)
    rate += largest * np.sqrt(2 * np.log(2 / delta) / n)
    assert np.mean(excess > rate) <= delta
    assert excess.max() > 0
    for _ in range(20):
        rows = KINDS[rng.choice(8, n, p=LAW)]
        X, y = rows[:, :2], rows[:, 2]
        model = FrankWolfeClassifier(radius=D, fit_intercept=False, variant="away").fit(X, y)
        bound = model.error_bound(delta=delta)
        assert bound == pytest.approx(rate + model.dual_gap_)
        assert logistic_risks(model.coef_, LAW) - risks.min() <= bound
    weighted = model.fit(X, y, sample_weight=np.full(n, 3.0)).error_bound(delta=delta)
    assert weighted == pytest.approx(rate + model.dual_gap_)
    assert model.error_bound(delta=delta, feature_bound=2.0) > bound


def test_bound_of_frank_wolfe_over_stumps():
    X, y = interval_rows(np.random.default_rng(0), 300, 2)
    model = FrankWolfeClassifier(
        DecisionStumpClassifier(), radius=2.0, fit_intercept=False, loss="exponential"
    ).fit(X, y)
    e = math.exp(2.0)
    by_hand = 2 * e * 2 * math.sqrt(2 * math.log(2 * (2 * 299 + 1)) / 300)
    by_hand += e * math.sqrt(2 * math.log(40) / 300) + model.dual_gap_
    assert model.error_bound() == model.error_bound(X, y) == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"radius": CVChoice(cv=3)}, "does not depend on the rows; set radius"),
        ({"radius": [1.0, 2.0]}, "does not depend on the rows; set radius"),
        ({"fit_intercept": True}, "set fit_intercept=False"),
        ({"estimator": LogisticRegression()}, "LogisticRegression are not counted"),
    ],
)
def test_where_the_bound_of_frank_wolfe_does_not_apply(params, message):
    model = FrankWolfeClassifier(**{"fit_intercept": False, **params})
    assert not hasattr(model, "error_bound")
    with pytest.raises(AttributeError) as error:
        model.error_bound()
    assert message in str(error.value.__cause__)


def test_the_bound_of_frank_wolfe_needs_a_decreasing_loss():
    X, y = interval_rows(np.random.default_rng(0), 40)
    model = FrankWolfeClassifier(fit_intercept=False, n_estimators=3, loss=SquaredLoss())
    with pytest.raises(ValueError, match="decreasing function of the margin"):
        model.fit(X, y).error_bound()


def test_arguments_of_the_bound_of_frank_wolfe():
    X, y = interval_rows(np.random.default_rng(0), 40)
    model = FrankWolfeClassifier(fit_intercept=False, n_estimators=3).fit(X, y)
    for arguments, message in (
        ({"delta": 0}, "delta"),
        ({"method": "vc"}, "method must be one of 'excess_risk'"),
        ({"feature_bound": 0.1}, "exceeded by a training row"),
    ):
        with pytest.raises(ValueError, match=message):
            model.error_bound(**arguments)
