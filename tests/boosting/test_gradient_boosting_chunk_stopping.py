"""Rows in chunks that are drawn for each round, or held out to decide when to stop.

Both are hashes of the numbers of the rows; in memory the same rows are put in the place of others.
"""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_ensemble_theory import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_ensemble_theory.boosting import CVRounds
from sklearn_ensemble_theory.boosting.steps import FixedStep

from ..surroundings import Draw
from .gradient_boosting_data import assert_same_rounds
from .test_gradient_boosting_chunk_folds import CUTS, N, in_chunks, labels, rows, weights

FEW = {"n_estimators": 6, "random_state": 0}
STOPPING = {"n_estimators": 60, "n_iter_no_change": 3, "random_state": 0, "learning_rate": 0.3}


@pytest.fixture
def hashed(monkeypatch):
    """In memory, rounds get the rows that they get in chunks, and the same rows are held out."""
    kept = {}

    def split(self, rows, seed, loss, classes):
        share = self.validation_fraction
        held = Draw(seed, share if share < 1 else share / len(rows)).of(range(len(rows)))
        kept["train"] = np.flatnonzero(~held)
        return rows.take(kept["train"]), rows.take(np.flatnonzero(held))

    def drawn_rows(random_state, n, m):
        seed = int(random_state.randint(np.iinfo(np.int32).max))
        share = round(4 * m / n) / 4
        return np.flatnonzero(Draw(seed, share).of(kept.get("train", np.arange(n))))

    base = next(one for one in GradientBoostingRegressor.__mro__ if "_split" in vars(one))
    monkeypatch.setattr(base, "_split", split)
    module = "sklearn_ensemble_theory.trees._weak_learners.drawn_rows"
    monkeypatch.setattr(module, drawn_rows)


def assert_same(found, expected, X):
    assert_same_rounds(found, expected)
    assert found.stop_reason_ == expected.stop_reason_
    names = "train_scores_", "validation_scores_", "validation_score_"
    for name in (*names, "oob_improvement_", "oob_scores_", "oob_score_"):
        one, other = getattr(found, name, None), getattr(expected, name, None)
        assert (one is None) == (other is None), name
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    method = "predict_proba" if hasattr(found, "classes_") else "predict"
    predictions = [getattr(model, method)(X) for model in (found, expected)]
    np.testing.assert_allclose(*predictions, rtol=0, atol=1e-10)


@pytest.mark.parametrize("weighted", ["none", "whole", "real"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"min_samples_leaf": 0.05, "min_weight_fraction_leaf": 0.0513},
        {"loss": "poisson", "max_leaf_nodes": 5},
        {"loss": "gamma", "step": "newton"},
        {"loss": "absolute_error"},
        {"loss": "gamma", "step": FixedStep(reoptimize_leaves=False), "learning_rate": 1.0},
    ],
    ids=lambda p: "-".join(p) or "default",
)
def test_rows_that_are_drawn(hashed, parameters, weighted):
    X, y = rows()
    y = np.exp(y) if parameters.get("loss") in ("poisson", "gamma") else y
    model = GradientBoostingRegressor(**{**FEW, "subsample": 0.5, **parameters})
    given = X, y, weights(weighted)
    assert_same(in_chunks(model, *given), clone(model).fit(*given), X)


@pytest.mark.parametrize("step", ["fixed", "newton"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_classes_that_are_drawn(hashed, n_classes, step):
    X, y = rows()
    model = GradientBoostingClassifier(**FEW, subsample=0.25, step=step, max_depth=2)
    given = X, labels(y, n_classes)
    expected = clone(model).fit(*given)
    for cuts in ([], CUTS, range(0, N, 7)):
        assert_same(in_chunks(model, *given, cuts=cuts), expected, X)


def test_draws_differ_between_rounds_and_folds_and_have_their_share():
    first, second = (Draw(seed, 0.3).of(range(100_000)) for seed in (5, 6))
    share = 3 * np.sqrt(0.21 / 100_000)
    assert abs(first.mean() - 0.3) < share
    assert abs((first & second).mean() - 0.09) < share
    np.testing.assert_array_equal(first[7:5000], Draw(5, 0.3).of(np.arange(7, 5000)))
    X, y = rows()
    model = GradientBoostingRegressor(
        n_estimators=CVRounds(3, max_estimators=15), subsample=0.5, random_state=0
    )
    one, other = (in_chunks(model, X, y, cuts=cuts) for cuts in (CUTS, [200]))
    assert_same(one, other, X)
    assert one.cv_results_["mean_score"][-1] == pytest.approx(other.cv_results_["mean_score"][-1])
    with pytest.raises(ValueError, match="subsample=1e-09 draws none of 300 rows in a round"):
        in_chunks(clone(model).set_params(n_estimators=3, subsample=1e-9), X, y)


@pytest.mark.parametrize("weighted", ["none", "whole", "real"])
@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(**STOPPING),
        GradientBoostingRegressor(**STOPPING, loss="poisson", init="zero", tol=0.01),
        GradientBoostingRegressor(**STOPPING, loss="absolute_error", validation_fraction=0.4),
        GradientBoostingRegressor(**STOPPING, loss="quantile", init="zero"),
        HistGradientBoostingRegressor(early_stopping=True, loss="gamma", random_state=0),
        HistGradientBoostingRegressor(early_stopping=True, validation_fraction=60, random_state=1),
        HistGradientBoostingRegressor(early_stopping=True, validation_fraction=None, tol=0.1),
    ],
    ids=lambda model: f"{type(model).__name__[:4]}-{model.loss}-{model.validation_fraction}",
)
def test_early_stopping(hashed, model, weighted):
    X, y = rows()
    y = np.exp(y) if model.loss in ("poisson", "gamma") else y
    given = X, y, weights(weighted)
    expected, found = clone(model).fit(*given), in_chunks(model, *given)
    assert expected.stop_reason_ == "early stopping"
    assert_same(found, expected, X)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(**STOPPING, subsample=0.5),
        HistGradientBoostingClassifier(early_stopping=True, n_iter_no_change=2, random_state=0),
    ],
    ids=["draws", "histogram"],
)
def test_early_stopping_of_classes(hashed, model, n_classes):
    X, y = rows()
    given = X, labels(y, n_classes)
    expected = clone(model).fit(*given)
    assert_same(in_chunks(model, *given), expected, X)
    assert len(expected.estimators_) < 60


def test_many_rows_stop_early_by_default():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (10_001, 1)).astype(float)
    y = X[:, 0] + rng.standard_normal(len(X))
    model = HistGradientBoostingRegressor(learning_rate=1.0, max_leaf_nodes=3, n_iter_no_change=1)
    found = in_chunks(model, X, y, cuts=[5000])
    assert found.do_early_stopping_
    assert found.n_iter_ + 1 == len(found.validation_score_) < 100
    assert found.validation_score_[-1] <= found.validation_score_[-2]
    few = in_chunks(model, X[:10_000], y[:10_000], cuts=[5000])
    assert not few.do_early_stopping_
    assert few.n_iter_ == 100


def test_what_cannot_be_held_out_is_refused():
    X, y = rows()
    model = GradientBoostingRegressor(**STOPPING)
    with pytest.raises(ValueError, match="validation_fraction holds out none of the rows"):
        in_chunks(model.set_params(validation_fraction=1e-9), X, y)
    rare = GradientBoostingClassifier(**STOPPING, validation_fraction=0.5)
    held = np.flatnonzero(Draw(0, 0.5).of(range(N)))[0]
    with pytest.raises(ValueError, match="early stopping split is missing some classes"):
        in_chunks(rare, X, (np.arange(N) == held) * 1)
    with pytest.raises(ValueError, match=r"scoring='r2' needs all rows in memory.* by the loss"):
        in_chunks(model.set_params(scoring="r2"), X, y)
    with pytest.raises(ValueError, match="n_iter_no_change=3 cannot be used with n_estimators="):
        in_chunks(model.set_params(scoring="loss", n_estimators="cv"), X, y)
