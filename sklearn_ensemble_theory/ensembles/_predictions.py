"""The members of a fitted ensemble and their predictions: of one, of each, and their mean.

Members that are trees of one output are added up in one pass over packed nodes (`tree_sums`), all
others by a call of each. Nothing depends on the number of jobs: the ensemble is cut in the same
places for any of them, so that sums of floating-point numbers are the same to the last bit.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp
from sklearn.utils.parallel import Parallel, delayed

from sklearn_ensemble_theory._learners import (
    aligned_columns,
    checked_codes,
    checked_outputs,
    numbers_of,
    reads_single_precision,
)
from sklearn_ensemble_theory._rows import (
    columns_of,
    names_checked,
    rows_of,
    within_single_precision,
)
from sklearn_ensemble_theory._scaling import range_exponent, shifted_by, within_range
from sklearn_ensemble_theory.ensembles._ensemble import (
    Ensemble,
    kept_rows,
    kept_X,
)
from sklearn_ensemble_theory.trees._packed import (
    ColumnsOfLeaves,
    LeafFunction,
    TreeSums,
    add_in_threads,
    each_tree,
    packed_trees,
)
from sklearn_ensemble_theory.trees._sklearn_trees import member_input
from sklearn_ensemble_theory.trees._tree_arrays import read_by, reads_double

# At most so many tasks a prediction: more would cost more to hand out than they save.
MAX_BLOCKS = 64
# Predictions of members that are held at once: 64 MB of float64.
PREDICTIONS = 2**23


# --- one member -----------------------------------------------------------------------------------


def member_predictions(
    member,
    method: str,
    X,
    *,
    features: np.ndarray | None = None,
    n_classes: int = 0,
    n_outputs: int = 1,
    checked: bool = False,
    params: dict | None = None,
) -> np.ndarray:
    """Predict by one member, for all classes of the ensemble, or numbers of so many outputs.

    `method` is a method of the member, or "vote": 1 for the class that it predicts. The result has
    the shape (n,), (n, n_outputs) or (n, n_classes).
    """
    if features is not None:
        X = columns_of(X, features)
    params, extended = dict(params or {}), bool(params)
    checked = checked and reads_single_precision(member)  # not what stands for one class
    if checked:
        X, params["check_input"] = read_by(member, X), False
    with np.errstate(all="ignore"):
        if method == "vote":
            labels = checked_outputs(member.predict(X, **params), member, X)
            chosen = checked_codes(labels, member, n_classes)
            votes = np.zeros((len(chosen), n_classes))
            chosen = chosen[:, None] if chosen.ndim == 1 else chosen
            np.put_along_axis(votes, chosen, 1.0, axis=1)
            return votes
        # The `predict_log_proba` of trees has no `check_input`; it is the logarithm of their
        # probabilities.
        if checked and method == "predict_log_proba":
            return np.log(
                member_predictions(member, "predict_proba", X, n_classes=n_classes, checked=True)
            )
        predictions = getattr(member, method)(X, **params)
        if method in ("predict_proba", "predict_log_proba"):
            places = member.classes_
            if isinstance(places, list):  # several outputs, whose codes follow each other
                predictions = _side_by_side(predictions, member, places)
                places = np.concatenate(places)
            logs = method == "predict_log_proba"
            predictions = numbers_of(predictions, member, X, None, logs=logs)
            # The rows of a member may lack a class; the member gives it probability 0.
            absent = -np.inf if logs else 0.0
            return aligned_columns(predictions, places, n_classes, absent)
    if extended:  # which may be more than predictions, such as their standard deviations
        return checked_outputs(predictions, member, X)
    return numbers_of(predictions, member, X, n_outputs if method == "predict" else None)


def _side_by_side(found, member, classes: Sequence[np.ndarray]) -> np.ndarray:
    """The probabilities of several outputs as columns of one array; an error names the learner."""
    parts = [np.asarray(part) for part in found] if isinstance(found, list | tuple) else []
    shapes = [part.shape[1:] for part in parts]
    if shapes != [(len(labels),) for labels in classes] or len(set(map(len, parts))) > 1:
        raise ValueError(
            f"estimator: {type(member).__name__} must give a list of probabilities, an array with "
            f"the classes of each of {len(classes)} columns of y; got {_kind(found, shapes)}. Use "
            "voting='hard', which counts the labels of predict."
        )
    return np.hstack(parts)


def _kind(found, shapes: list) -> str:
    return f"columns {shapes}" if shapes else f"{type(found).__name__} of shape {np.shape(found)}"


# --- all members ----------------------------------------------------------------------------------


def mean_prediction(ensemble: Ensemble, X, method: str, params: dict | None = None) -> np.ndarray:
    """Average the members' predictions; of log-probabilities it is the logarithm of the mean."""
    n_members, logs = len(ensemble.members), method == "predict_log_proba"
    trees = None if params else tree_sums(ensemble, X, method)
    if trees is not None:
        total = add_in_threads(trees, X, np.zeros((X.shape[0], trees.width)), ensemble.n_jobs)
        total /= n_members
        if method != "predict":
            return total
        return total[:, 0] if np.isfinite(total).all() else _mean_of_shares(ensemble, X)
    rows, checked = member_input(ensemble.learner, X, ensemble.members)
    features, spec = ensemble.columns, ensemble.draws
    # The blocks of members are the same for any number of jobs, and added in their order.
    bounds = np.linspace(0, n_members, min(n_members, MAX_BLOCKS) + 1).astype(int)
    with names_checked(spec.frames, rows):
        sums = Parallel(n_jobs=ensemble.n_jobs, prefer="threads")(
            delayed(_summed_predictions)(
                ensemble.members[first:last],
                features[first:last],
                method,
                rows,
                n_classes=spec.n_classes,
                n_outputs=spec.n_outputs,
                checked=checked,
                params=params,
            )
            for first, last in itertools.pairwise(bounds)
        )
    total = sums[0]
    with np.errstate(over="ignore", invalid="ignore"):
        for part in sums[1:]:
            total = np.logaddexp(total, part) if logs else total + part
    if logs:
        return total - np.log(n_members)
    if method == "predict" and not params and not np.isfinite(total).all():
        return _mean_of_shares(ensemble, rows)
    return total / n_members


def _summed_predictions(
    members: Sequence, features: Sequence[np.ndarray | None], method: str, X, **options
) -> np.ndarray:
    """Add the members' predictions in order; logarithms are added as probabilities."""
    add = np.logaddexp if method == "predict_log_proba" else np.add
    total = member_predictions(members[0], method, X, features=features[0], **options)
    for member, columns in zip(members[1:], features[1:]):
        predictions = member_predictions(member, method, X, features=columns, **options)
        with np.errstate(over="ignore", invalid="ignore"):  # callers see that it is infinite
            total = add(total, predictions)
    return total


def _mean_of_shares(ensemble: Ensemble, X) -> np.ndarray:
    """Average the members' predictions where their sum overflows."""
    share = 1.0 / len(ensemble.members)
    with np.errstate(over="ignore"):  # by rounding, where all are the largest float
        parts = [share * part for part in each_prediction(ensemble, X, "predict")]
        return within_range(np.sum(parts, axis=0))


def each_prediction(ensemble: Ensemble, X, method: str) -> Iterator[np.ndarray]:
    """Iterate over the predictions of the members, in memory that is used again."""
    trees = tree_sums(ensemble, X, method)
    if trees is not None and (trees.used is None or X.shape[0] * len(trees.used) <= PREDICTIONS):
        out = np.zeros((X.shape[0], trees.width))
        for _ in trees.rounds(X, out):
            yield out[:, 0] if method == "predict" else out
            out[:] = 0.0
        return
    X, checked = member_input(ensemble.learner, X, ensemble.members)
    spec = ensemble.draws
    for member, columns in zip(ensemble.members, ensemble.columns):
        with names_checked(spec.frames, X):
            predictions = member_predictions(
                member,
                method,
                X,
                features=columns,
                n_classes=spec.n_classes,
                n_outputs=spec.n_outputs,
                checked=checked,
            )
        yield predictions


def prediction_columns(ensemble: Ensemble, X) -> np.ndarray:
    """Predict numbers by all members at X, an array of shape (m, B)."""
    trees = tree_sums(ensemble, X, "predict")
    if trees is not None:
        out = np.zeros((X.shape[0], len(ensemble.members)))
        return add_in_threads(each_tree(trees), X, out, ensemble.n_jobs)
    return np.column_stack([np.array(p) for p in each_prediction(ensemble, X, "predict")])


def prediction_blocks(ensemble: Ensemble, X) -> Iterator[np.ndarray]:
    """Iterate over the members' predictions, (B, m, ...), for consecutive blocks of rows of X."""
    spec, members = ensemble.draws, ensemble.members
    method = ensemble.method
    step = max(1, PREDICTIONS // (len(members) * max(1, spec.n_classes)))
    for start in range(0, X.shape[0], step):
        part = rows_of(X, slice(start, start + step))
        if tree_sums(ensemble, part, method) is None:
            part, checked = member_input(ensemble.learner, part, members)
            with names_checked(spec.frames, part):
                found = Parallel(n_jobs=ensemble.n_jobs, prefer="threads")(
                    delayed(member_predictions)(
                        member,
                        method,
                        part,
                        features=columns,
                        n_classes=spec.n_classes,
                        n_outputs=spec.n_outputs,
                        checked=checked,
                    )
                    for member, columns in zip(members, ensemble.columns)
                )
            yield np.stack(found)
        elif method == "predict":
            yield prediction_columns(ensemble, part).T
        else:
            yield np.stack([p.copy() for p in each_prediction(ensemble, part, method)])


# --- members that are trees -----------------------------------------------------------------------


def tree_sums(ensemble: Ensemble, X, method: str) -> TreeSums | None:
    """Return what adds up the members' predictions in one pass, if they are trees."""
    members, n_classes = ensemble.members, ensemble.draws.n_classes
    if method not in ("predict", "predict_proba", "vote"):
        return None
    is_sparse = sp.issparse(X)
    if not (isinstance(X, np.ndarray) or is_sparse) or X.dtype.kind not in "fiub":
        return None
    if hasattr(members[0], "classes_") == (method == "predict"):
        return None
    with np.errstate(all="ignore"):
        # One sum tells that all values are finite. Where it is not, a tree says by an error of its
        # own whether it takes these rows.
        if not np.isfinite(np.sum(X.data if is_sparse else X, dtype=np.float32)):
            if not ensemble.draws.all_features or not hasattr(members[0], "apply"):
                return None
            members[0].apply(within_single_precision(X))

    def laid_out(n_rows: int) -> TreeSums | None:
        votes = method == "vote"
        return packed_trees(
            members,
            width=max(1, n_classes),
            features=ensemble.columns,
            leaf_outputs=None if method == "predict" else leaf_outputs(members, n_classes, votes),
            n_rows=n_rows,
            for_sparse=is_sparse,
        )

    kind = f"{method} of sparse rows" if is_sparse else method
    return ensemble.packed.get(kind, members, X.shape[0], laid_out)


def leaf_outputs(members: Sequence, n_classes: int, votes: bool) -> LeafFunction:
    """Return the shares of the ensemble's classes in a leaf, or 1 for the predicted class."""

    def classes_of(member) -> list[np.ndarray]:
        # Those of several outputs follow each other.
        classes = member.classes_
        return classes if isinstance(classes, list) else [classes]

    if not votes:
        places = [np.concatenate(classes_of(member)).astype(np.intp) for member in members]
        return ColumnsOfLeaves(places, np.ones(len(members)), n_classes)

    def chosen_classes(t: int, value: np.ndarray) -> np.ndarray:
        classes = classes_of(members[t])
        ends = np.cumsum([len(each) for each in classes])
        parts = zip(classes, np.split(value, ends[:-1], axis=1))
        chosen = np.column_stack([each.take(part.argmax(axis=1)) for each, part in parts])
        found = np.zeros((len(value), n_classes))
        np.put_along_axis(found, chosen.astype(np.intp), 1.0, axis=1)
        return found

    return chosen_classes


def tree_input(ensemble: Ensemble, X):
    """Return X in single precision, as a tree would take it; or in double where one reads that."""
    rows, checked = member_input(ensemble.learner, X, ensemble.members)
    if not checked and hasattr(ensemble.members[0], "apply"):
        features = ensemble.columns[0]
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # the tree's error, and no warning before it
            rows = X if reads_double(ensemble.members) else within_single_precision(X)
            ensemble.members[0].apply(rows if features is None else rows[:, features])
        rows = rows.tocsr() if sp.issparse(rows) else rows
    dtype = np.float64 if reads_double(ensemble.members) else np.float32
    return rows.astype(dtype) if rows.dtype != dtype else rows


# --- predictions of rows that members have not seen -----------------------------------------------


def out_of_bag_mean(ensemble: Ensemble, method: str) -> np.ndarray:
    """Average the predictions of each training row by the members outside; nan without any."""
    if ensemble.held_out is not None:  # a fit with `oob_score=True` has them already
        return ensemble.held_out

    def make() -> np.ndarray:
        X = kept_X(ensemble, "This method", "fit with oob_score=True")
        spec = ensemble.draws
        drawn = [spec.draw(seed)[1] for seed in ensemble.seeds]
        width = () if method == "predict" else (max(1, spec.n_classes),)
        total = np.zeros((X.shape[0], *width))
        counts = np.zeros(X.shape[0])
        exponent = 0 if spec.n_classes else range_exponent(kept_rows(ensemble, method).y)
        # A member's predictions at a time, as those of all members would take B times the memory.
        for rows, predictions in zip(drawn, each_prediction(ensemble, X, method)):
            outside = spec.scheme.is_outside(rows)
            total[outside] += np.ldexp(predictions[outside], -exponent)
            counts += outside
        counts = counts.reshape(-1, *[1] * len(width))
        mean = np.divide(total, counts, out=np.full_like(total, np.nan), where=counts > 0)
        return shifted_by(mean, exponent)

    rows = kept_rows(ensemble, "This method")
    return rows.derived(f"mean of {method}", ensemble.members, make)
