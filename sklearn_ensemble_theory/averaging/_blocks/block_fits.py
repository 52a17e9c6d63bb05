"""The fit to the rows of one block, in memory or in one chunk of Dask collections."""

import inspect
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._learners import is_tree
from sklearn_ensemble_theory._rows import ChunkedRows, positive_rows
from sklearn_ensemble_theory.averaging._blocks.block_cuts import weights_by_risk
from sklearn_ensemble_theory.averaging._blocks.block_rows import single_precision_rows
from sklearn_ensemble_theory.averaging._learner_blocks import (
    LearnerChunk,
    LearnerRows,
    facts_of_chunk,
    of_learner_rows,
    recoded,
)
from sklearn_ensemble_theory.averaging._members import (
    MAX_SEED,
    random_state_names,
    seeded,
    takes_sample_weight,
)
from sklearn_ensemble_theory.ensembles._members import member_predictions
from sklearn_ensemble_theory.trees._sklearn_trees import check_counts, fitted_in_units

# Whatever the base learner accepts.
ROW_CHECKS = {"accept_sparse": ["csr", "csc"], "dtype": None, "ensure_all_finite": False}


def check_takes_weight(estimator: Any) -> None:
    """Raise an error if the base learner's `fit` does not accept weights."""
    if not takes_sample_weight(estimator):
        raise ValueError(
            f"sample_weight is given, and {type(estimator).__name__}.fit does not accept it."
        )


def fit_block(
    estimator: Any,
    seed: int,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    params: dict[str, Any],
    *,
    n_classes: int,
    rows: np.ndarray | None = None,
) -> Any:
    """A clone of the estimator, fitted to the rows of a block; all rows of X and y by default."""
    member = clone(estimator)
    if rows is not None:
        y, weight = y[rows], None if weight is None else weight[rows]
        single = single_precision_rows(X, rows) if is_tree(member) and not params else None
        X = X[rows] if single is None else single
        if single is not None:
            check_counts(member, y)
            params = {"check_input": False}
    names = random_state_names(member)
    if names:
        rng = seeded(seed)
        member.set_params(**{name: rng.randint(MAX_SEED) for name in names})
    if weight is not None:
        params = {**params, "sample_weight": weight}
    try:
        with np.errstate(all="ignore"):  # no warnings from the arithmetic of the estimator
            return fitted_in_units(member, X, y, **params)
    except ValueError:
        # Many classifiers reject rows of one class; the member then predicts that class.
        if n_classes <= 1 or (y != y[0]).any():
            raise
        return DummyClassifier(strategy="prior").fit(X, y)


# ----------------------------------------------------------------------------- Dask collections


def fit_chunks_as_blocks(model: Any, rows: ChunkedRows) -> dict[str, Any]:
    """The fitted attributes of `model`, whose blocks are the chunks that have rows.

    The rows are read twice, and once more for the risks.

    Raises
    ------
    ValueError
        If `n_blocks` is another number than that of the chunks, or `stratify=True` is asked for.
    """
    estimator = model._get_estimator()
    model._check_learner(estimator)
    _check_cut(model, len(rows.given))
    unfitted = clone(model)  # without the members of an earlier fit
    read = LearnerRows(unfitted, ROW_CHECKS, rows.checks.n_features)
    facts = rows.given.sum(of_learner_rows, read, facts_of_chunk)
    if facts is None:
        raise ValueError("X has no rows.")
    if facts.weighted:
        check_takes_weight(estimator)
    chunks = facts.chunks
    m = len(chunks)
    if model.n_blocks not in ("rate", m):
        raise ValueError(
            f"n_blocks={model.n_blocks} is not the number of chunks with rows of positive weight, "
            f"{m}, which are the blocks; use n_blocks='rate' or rechunk X."
        )
    seeds = check_random_state(model.random_state).randint(MAX_SEED, size=m)
    by_chunk = dict(zip(chunks, seeds.tolist()))
    found = rows.given.each(
        of_learner_rows, read, _member_of_chunk, estimator, by_chunk, facts.target
    )
    members = [found[number] for number in chunks]
    learned = {
        **facts.target,
        "estimator_": estimator,
        "estimators_": members,
        "n_blocks_": m,
    }
    if model.weighting == "risk" and m > 1:
        errors, weights = rows.given.sum(
            of_learner_rows,
            read,
            _squared_errors_of_chunk,
            dict(zip(chunks, members)),
            unfitted,
            facts.top_target or 1.0,
            facts.top_weight,
            facts.target,
        )
        learned["block_risks_"] = errors / weights
        shares = weights_by_risk(learned["block_risks_"])
    elif model.weighting == "size":
        shares = np.array([facts.weights[number] / facts.top_weight for number in chunks])
    else:
        shares = np.ones(m)
    return {**learned, "block_weights_": shares / shares.sum()}


def _check_cut(model: Any, n_chunks: int) -> None:
    """Raise an error for blocks that the user asks for and chunks are not."""
    default = inspect.signature(type(model)).parameters["stratify"].default
    if model.stratify and not default:
        raise ValueError(
            "stratify=True spreads the values of y over the blocks, which are the chunks of the "
            "Dask collection here; use stratify=False."
        )
    if model.n_blocks != "rate" and model.n_blocks > n_chunks:
        raise ValueError(
            f"n_blocks={model.n_blocks} is larger than the number of chunks, {n_chunks}, which are "
            "the blocks; use n_blocks='rate' or rechunk X."
        )


def _member_of_chunk(
    chunk: LearnerChunk, estimator: Any, seeds: dict[int, int], target: dict[str, Any]
) -> Any:
    if not chunk.has_weight:
        return None
    X, y, weight = chunk.X, recoded(chunk.y, chunk.target, target), chunk.weight
    if weight is not None:
        kept = positive_rows(weight)
        X, y, weight = X[kept], y[kept], weight[kept]
    n_classes = target.get("n_classes_", 0)
    return fit_block(estimator, seeds[chunk.number], X, y, weight, {}, n_classes=n_classes)


def _squared_errors_of_chunk(
    chunk: LearnerChunk,
    members: dict[int, Any],
    model: Any,
    size: float,
    top_weight: float,
    target: dict[str, Any],
) -> np.ndarray | None:
    """Sums over the rows of the weighted squared errors and of the weights, of shape (2, m).

    0 for the member that is fitted to these rows.
    """
    if not chunk.has_weight:
        return None
    y = recoded(chunk.y, chunk.target, target)
    weight = np.ones(len(y)) if chunk.weight is None else chunk.weight / top_weight
    method = model._prediction_method(next(iter(members.values())))
    sums = np.zeros((2, len(members)))
    for b, (number, member) in enumerate(members.items()):
        if number != chunk.number:
            predicted = member_predictions(
                member, method, chunk.X, n_classes=target.get("n_classes_", 0)
            )
            sums[:, b] = weight @ model._squared_errors(y, predicted, size), weight.sum()
    return sums
