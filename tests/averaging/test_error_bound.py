"""Bounds on the error of ensembles: from out-of-bag rows against loops, and where they hold."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from sklearn_ensemble_theory import (
    BaggingClassifier,
    DivideAndConquerClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
    bounds,
)
from sklearn_ensemble_theory.averaging import Bernoulli
from sklearn_ensemble_theory.ensembles import _certificates
from sklearn_ensemble_theory.ensembles._certificates import BY_MEMBERS, out_of_bag_losses
from sklearn_ensemble_theory.inspection import forget_training_rows, shrink


def rows_of_classes(n, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(int) + (n_classes > 2) * (X[:, 1] > 0.8)
    return X, np.array(["a", "b", "c"])[y]


def losses_of_members(model, X, y):
    """1 - p, or whether the label is missed, of shape (n, B), by a call of each member."""
    code = np.searchsorted(model.classes_, y)
    columns = []
    for member, features in zip(model.estimators_, model.estimators_features_):
        if model.voting == "hard":
            columns.append(member.predict(X[:, features]) != code)
            continue
        proba = np.zeros((len(X), len(model.classes_)))
        proba[:, member.classes_.astype(int)] = member.predict_proba(X[:, features])
        columns.append(1 - proba[np.arange(len(X)), code])
    return np.column_stack(columns).astype(float)


def by_loops(losses, outside, shares=None):
    """The mean losses of members and pairs, and their numbers of rows, one after the other."""
    B = losses.shape[1]
    members, n = np.zeros(B), np.zeros(B)
    tandem, differ, n_pairs = np.zeros((3, B, B))
    for a in range(B):
        for b in range(B):
            rows = np.flatnonzero(outside[:, a] & outside[:, b])
            one, other = losses[rows, a], losses[rows, b]
            weight = np.ones(len(rows)) if shares is None else shares[rows]
            tandem[a, b] = np.average(one * other, weights=weight)
            differ[a, b] = np.average(one * (1 - other) + other * (1 - one), weights=weight)
            n_pairs[a, b] = weight.sum()
            if a == b:
                members[a], n[a] = np.average(one, weights=weight), weight.sum()
    return members, n, tandem, differ, n_pairs


def assert_same(found, expected):
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_losses_out_of_bag_by_loops(voting, monkeypatch):
    X, y = rows_of_classes(90)
    tree = DecisionTreeClassifier(max_depth=3)
    model = BaggingClassifier(tree, 7, voting=voting, max_features=2, random_state=0).fit(X, y)
    outside = np.ones((90, 7), dtype=bool)
    for b, drawn in enumerate(model.estimators_samples_):
        outside[drawn, b] = False
    expected = by_loops(losses_of_members(model, X, y), outside)
    assert_same(out_of_bag_losses(model.ensemble_), expected)
    # In blocks of 8 rows the sums are the same.
    monkeypatch.setattr("sklearn_ensemble_theory.ensembles._predictions.PREDICTIONS", 8 * 7 * 3)
    monkeypatch.setattr(_certificates, "LOSSES", 8 * 7)
    again = BaggingClassifier(tree, 7, voting=voting, max_features=2, random_state=0).fit(X, y)
    assert_same(out_of_bag_losses(again.ensemble_), expected)
    # The functions of `bounds`, with these arguments.
    members, n, tandem, differ, n_pairs = expected
    values = {
        "first-order": bounds.majority_vote_bound(members, n, delta=0.1, method="first-order"),
        "tandem": bounds.majority_vote_bound(
            tandem_losses=tandem, n_pair_samples=n_pairs, delta=0.1, method="tandem"
        ),
        "c-bound": bounds.majority_vote_bound(
            members, n, disagreements=differ, n_pair_samples=n_pairs, delta=0.1, method="c-bound"
        ),
        "chebyshev-cantelli": bounds.majority_vote_bound(
            members,
            n,
            tandem_losses=tandem,
            n_pair_samples=n_pairs,
            delta=0.1,
            method="chebyshev-cantelli",
        ),
    }
    for method, value in values.items():
        assert model.error_bound(delta=0.1, method=method) == pytest.approx(value)


def test_rows_of_weight_zero_and_groups():
    X, y = rows_of_classes(80)
    kept = np.arange(80) % 4 > 0
    tree = DecisionTreeClassifier(max_depth=3)
    model = BaggingClassifier(tree, 4, random_state=0).fit(X, y, kept.astype(float))
    outside = np.repeat(kept[:, None], 4, axis=1)
    for b, drawn in enumerate(model.estimators_samples_):
        outside[drawn, b] = False
    assert_same(
        out_of_bag_losses(model.ensemble_), by_loops(losses_of_members(model, X, y), outside)
    )
    # A group counts as one row, whose loss is the mean of the rows.
    groups = np.repeat(np.arange(32), [1, 4] * 16)
    model = BaggingClassifier(tree, 4, random_state=1).fit(X, y, groups=groups)
    outside = np.ones((80, 4), dtype=bool)
    for b, drawn in enumerate(model.estimators_samples_):
        outside[np.isin(groups, groups[drawn]), b] = False
    shares = 1 / np.bincount(groups)[groups]
    expected = by_loops(losses_of_members(model, X, y), outside, shares)
    assert_same(out_of_bag_losses(model.ensemble_), expected)


def test_bounds_on_held_out_rows_by_loops():
    X, y = rows_of_classes(80)
    new, labels = rows_of_classes(60, seed=1)
    labels[:2] = "d"  # a class that was not seen is an error of all members
    for model in (
        RandomForestClassifier(5, max_depth=3, random_state=0),
        ExtraTreesClassifier(5, max_depth=3, random_state=0),
        BaggingClassifier(LogisticRegression(), 4, voting="hard", random_state=0),
    ):
        model.fit(X, y)
        losses = losses_of_members(model, new, np.where(labels == "d", "a", labels))
        losses[:2] = 1.0
        members, n, _, differ, n_pairs = by_loops(losses, np.ones_like(losses, dtype=bool))
        for delta in (None, 0.1):
            value = bounds.majority_vote_bound(members, n, delta=delta, method="first-order")
            found = model.error_bound(new, labels, delta=delta, method="first-order")
            assert found == pytest.approx(value, rel=1e-14)  # sums of 60 losses in other orders
            found = model.error_bound(new, labels, delta=delta, method="c-bound")
            assert found == pytest.approx(
                bounds.majority_vote_bound(
                    members,
                    n,
                    disagreements=differ,
                    n_pair_samples=n_pairs,
                    delta=delta,
                    method="c-bound",
                )
            )
        error = np.mean(model.predict(new) != labels)
        for method in BY_MEMBERS:
            assert error <= model.error_bound(new, labels, method=method)
        # Without delta Markov's inequality is the same in both forms.
        assert model.error_bound(new, labels) == pytest.approx(min(1, 2 * members.mean()))
        assert model.error_bound(new, labels, method="binomial") == pytest.approx(error)
        found = model.error_bound(new, labels, delta=0.1, method="binomial")
        assert found == bounds.held_out_error_bound(round(error * 60), 60, 0.1)


def test_bounds_of_blocks_and_of_named_members_have_their_weights():
    X, y = rows_of_classes(120, 2)
    new, labels = rows_of_classes(100, 2, seed=1)
    tree = DecisionTreeClassifier(max_depth=2)
    model = DivideAndConquerClassifier(tree, n_blocks=4, weighting="risk", random_state=0).fit(X, y)
    proba = np.array([member.predict_proba(new) for member in model.estimators_])
    losses = 1 - proba[:, np.arange(100), (labels == "b").astype(int)].T
    found = model.error_bound(new, labels, delta=0.1, method="tandem")
    expected = losses.T @ losses / 100
    assert found == pytest.approx(
        bounds.majority_vote_bound(
            tandem_losses=expected,
            n_pair_samples=100,
            weights=model.block_weights_,
            delta=0.1,
            method="tandem",
        )
    )
    with pytest.raises(ValueError, match="does not keep its training rows"):
        model.error_bound(delta=0.1, method="tandem")
    pairs = [("one", tree), ("two", LogisticRegression()), ("out", "drop")]
    for voting in ("hard", "soft"):
        vote = VotingClassifier(pairs, voting=voting, weights=[1, 2, 7]).fit(X, y)
        code = (labels == "b").astype(int)
        losses = np.column_stack(
            [
                member.predict(new) != code
                if voting == "hard"
                else 1 - member.predict_proba(new)[np.arange(100), code]
                for member in vote.estimators_
            ]
        ).astype(float)
        for method in ("tandem", "chebyshev-cantelli"):
            assert vote.error_bound(new, labels, method=method) >= np.mean(
                vote.predict(new) != labels
            )
        found = vote.error_bound(new, labels, delta=0.1, method="tandem")
        expected = bounds.majority_vote_bound(
            tandem_losses=losses.T @ losses / 100,
            n_pair_samples=100,
            weights=[1, 2],
            delta=0.1,
            method="tandem",
        )
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("n_sets", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_bounds_from_out_of_bag_rows_hold(n_sets):
    """Many fits, whose error is a mean over a grid: at most delta of the bounds are below it."""
    rng, delta, n = np.random.default_rng(0), 0.2, 120
    grid = (np.arange(200) + 0.5)[:, None] / 200
    chance = np.where(np.abs(grid[:, 0] - 0.5) < 0.25, 0.85, 0.15)
    below = np.zeros(len(BY_MEMBERS))
    moments = np.zeros(2)
    model = RandomForestClassifier(5, max_depth=2, max_bins=None, max_samples=0.5)
    for seed in range(n_sets):
        x = rng.random(n)
        y = (rng.random(n) < np.where(np.abs(x - 0.5) < 0.25, 0.85, 0.15)).astype(int)
        model.set_params(random_state=seed).fit(x[:, None], y)
        found = [model.error_bound(delta=delta, method=method) for method in BY_MEMBERS]
        says = model.predict(grid)
        below += np.mean(np.where(says == 1, 1 - chance, chance)) > np.array(found)
        # The moments that the inequalities start from.
        proba = np.array([member.predict_proba(grid)[:, 1] for member in model.estimators_])
        loss = np.mean(proba, axis=0)
        moments[0] += 2 * np.mean(chance * (1 - loss) + (1 - chance) * loss) > found[0]
        square = chance * (1 - loss) ** 2 + (1 - chance) * loss**2
        moments[1] += 4 * np.mean(square) > found[1]
    assert (below <= delta * n_sets).all()
    assert (moments <= delta * n_sets).all()


@pytest.mark.parametrize(
    ("model", "fit", "call", "message"),
    [
        ({}, {}, {"method": "markov", "delta": 0.1}, "needs held-out rows X and y"),
        ({}, {}, {"method": "binomial", "delta": 0.1}, "needs held-out rows X and y"),
        ({}, {}, {"method": "tandem"}, "delta must be a number, such as"),
        ({}, {}, {"method": "tandem", "delta": 0}, "delta"),
        ({}, {}, {"method": "second", "delta": 0.1}, "method must be one of"),
        ({}, {}, {"X": np.zeros((2, 3))}, "both of X and y"),
        ({"bootstrap": False, "max_samples": 1.0}, {}, {}, "not drawn for every member"),
        ({"bootstrap": "stratified"}, {}, {}, "bootstrap='stratified'"),
        ({"bootstrap": "moving_block"}, {}, {}, "bootstrap='moving_block'"),
        ({"estimator": LogisticRegression()}, {}, {}, "members that are trees only"),
        ({"max_samples": 400}, {}, {}, "out of bag for member"),
        ({"bootstrap": Bernoulli("mean")}, {}, {}, "with empty='mean'"),
        ({}, {}, {"sample_weight": np.ones(40), "delta": 0.1}, "sample_weight is for held-out"),
        ({}, {"sample_weight": np.arange(1.0, 41.0)}, {}, "rows of equal weight"),
    ],
)
def test_where_there_is_no_bound(model, fit, call, message):
    X, y = rows_of_classes(40)
    fitted = BaggingClassifier(**{"n_estimators": 6, "random_state": 0, **model}).fit(X, y, **fit)
    call = call or {"method": "tandem", "delta": 0.1}
    with pytest.raises(ValueError, match=message):
        fitted.error_bound(**call)


def test_shrinkage_that_was_chosen_by_the_same_rows():
    """The bound is for all parameters that were compared; for one that was given, for itself."""
    X, y = rows_of_classes(200, 2)
    forest = RandomForestClassifier(5, max_samples=0.3, random_state=0).fit(X, y)
    chosen = shrink(forest, "cv", reg_params=[0.1, 1.0, 10.0])
    given = shrink(forest, chosen.shrinkage_)
    assert_same(out_of_bag_losses(chosen.ensemble_), out_of_bag_losses(given.ensemble_))
    found = chosen.error_bound(delta=0.3, method="first-order")
    assert found == given.error_bound(delta=0.1, method="first-order")
    with pytest.raises(ValueError, match="delta must be a number above 0 and at most 1"):
        chosen.error_bound(delta=2.0, method="first-order")


def test_pairs_without_rows():
    X, y = rows_of_classes(20, 2)
    model = BaggingClassifier(n_estimators=4, bootstrap=False, max_samples=19, random_state=0)
    model.fit(X, y)  # one row is outside of each
    found = out_of_bag_losses(model.ensemble_)
    assert found.n_samples.all()
    assert not found.n_pair_samples.all()
    assert model.error_bound(delta=0.1, method="first-order") <= 1
    for method in BY_MEMBERS[1:]:
        with pytest.raises(
            ValueError, match=r"out of bag for members \d and \d, and there are none"
        ):
            model.error_bound(delta=0.1, method=method)


def test_where_there_is_no_bound_after_other_fits():
    X, y = rows_of_classes(40)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    weight = np.arange(40.0)
    with pytest.raises(ValueError, match="rows of equal weight"):
        forest.error_bound(X, y, weight, method="tandem")
    assert forest.error_bound(X, y, np.ones(40), method="tandem") <= 1
    with pytest.raises(ValueError, match="removed; fit again"):
        forget_training_rows(forest).error_bound(delta=0.1, method="tandem")
    both = RandomForestClassifier(3, random_state=0).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="single output"):
        both.error_bound(delta=0.1, method="tandem")
