"""Members that are fitted where the chunks of Dask collections are, each to one chunk."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from sklearn_ensemble_theory._progress import warn_user
from sklearn_ensemble_theory._rows import ChunkedRows
from sklearn_ensemble_theory.averaging._bagging._fits.member_fits import member_results
from sklearn_ensemble_theory.averaging._bagging.members import MAX_SEED, MemberSpec
from sklearn_ensemble_theory.averaging._learner_blocks import (
    LearnerChunk,
    LearnerRows,
    RowsInChunks,
    facts_of_chunk,
    naming_chunk,
    of_learner_rows,
    recoded,
)
from sklearn_ensemble_theory.trees._packed import PackedCache


@dataclass(frozen=True)
class _Members:
    """The members of one chunk."""

    members: list[Any]
    features: list[np.ndarray]
    estimator: Any
    spec: MemberSpec


def fit_members_of_chunks(model: Any, rows: ChunkedRows) -> dict[str, Any]:
    """The fitted attributes of `model`, whose member b is fitted to rows of chunk b mod K.

    K is the number of chunks with rows of positive weight. The rows are read twice.

    Raises
    ------
    ValueError
        If `oob_score` or `warm_start` is asked for, or `n_estimators="pac"` with several chunks.

    Warns
    -----
    UserWarning
        If there are fewer members than chunks.
    """
    _check_possible(model, len(rows.given))
    estimator = model._get_estimator()
    model._check_learner(estimator)
    unfitted = clone(model)  # without the members of an earlier fit
    frames = model._hands_on(rows.meta, estimator)
    read = LearnerRows(unfitted, model._validation, rows.checks.n_features, frames)
    facts = rows.given.sum(of_learner_rows, read, facts_of_chunk)
    if facts is None:
        raise ValueError("X has no rows.")
    n_members, chunks = model._n_members(sum(facts.lengths.values())), facts.chunks
    if n_members < len(chunks):
        warn_user(
            f"n_estimators={n_members} is less than the number of chunks, {len(chunks)}, each of "
            f"which has members of its own: rows of {len(chunks) - n_members} chunks are not used."
        )
        chunks = chunks[:n_members]
    seeds = check_random_state(model.random_state).randint(MAX_SEED, size=n_members)
    step = len(chunks)
    by_chunk = {number: seeds[first::step] for first, number in enumerate(chunks)}
    largest = max(facts.lengths.values())
    found = rows.given.taken(chunks).each(
        of_learner_rows, read, _members_of_chunk, unfitted, by_chunk, facts.target, largest
    )
    members: list[Any] = [None] * n_members
    features: list[Any] = [None] * n_members
    for first, part in enumerate(found):
        members[first::step], features[first::step] = part.members, part.features
    return {
        **facts.target,
        "estimator_": found[0].estimator,
        "estimators_": members,
        "estimators_features_": features,
        "_seeds": seeds.astype(int),
        "_member_spec": found[0].spec,
        "_packed": PackedCache(),
        "_training": RowsInChunks(),
    }


def _check_possible(model: Any, n_chunks: int) -> None:
    """Raise an error for parameters that need all rows in memory."""
    if model.oob_score:
        raise ValueError(
            "oob_score needs the training rows in memory and cannot be used with Dask collections; "
            "use oob_score=False."
        )
    if model.warm_start:
        raise ValueError(
            "warm_start=True cannot be used with Dask collections, whose chunks may be others in "
            "the next fit; use warm_start=False."
        )
    if model.n_estimators == "pac" and n_chunks > 1:
        raise ValueError(
            'n_estimators="pac" is the number of members that are drawn from all rows, and a '
            f"member is drawn from one of {n_chunks} chunks here; give a number, or use "
            "X.rechunk(-1)."
        )


def _members_of_chunk(
    chunk: LearnerChunk,
    model: Any,
    seeds: dict[int, np.ndarray],
    target: dict[str, Any],
    largest: int,
) -> _Members:
    y = recoded(chunk.y, chunk.target, target)
    with naming_chunk(chunk.number):
        scheme = model._make_scheme(y, chunk.weight, target.get("classes_"), None)
        estimator, spec, X, y = model._prepared(
            model._get_estimator(),
            scheme,
            chunk.X,
            y,
            description=target,
            frames=model._hands_on(chunk.X, model._get_estimator()),
            largest=largest,
        )
    results = list(member_results(spec, X, y, seeds[chunk.number], model.n_jobs))
    members, features = [found[0] for found in results], [found[1] for found in results]
    # The scheme has the weights and classes of all rows, which stay here.
    spec = replace(spec.without_data(), scheme=RowsInChunks())
    return _Members(members, features, estimator, spec)
