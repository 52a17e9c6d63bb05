"""The contract between an ensemble and a weak learner that is faster than a fit in each round.

An ensemble fits its weak learner again and again to the same X. A class of learners that can do
part of that work once (sort the columns, say) registers a `FastPath`. No ensemble refers to a weak
learner by name: AdaBoost, gradient boosting and Frank-Wolfe call `prepare_rounds`, and fit clones
where it returns None.

Adding a weak learner with a fast path
--------------------------------------
1. Write the estimator: `fit(X, y, sample_weight=None)` and `predict(X)`.
2. Write a class with ``is_exact``, ``has_scale`` and ``best(target, weight, scores=None)``.
3. Below the estimator, ``register(Estimator, prepare_rounds=function)``. The function takes the
   estimator, X, the weights and a task, and returns an instance of that class, or None for a task
   that it does not have; a `task` is recognised by its string `task.kind`.

A subclass does not inherit a fast path, because it may override `fit` or `predict`; one that
overrides neither is registered too. An estimator may also tell by an attribute `_has_scale` what
its outputs are where it has no fast path (see `outputs_have_scale`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeGuard

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.utils import get_tags
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from sklearn_ensemble_theory._compat import routing_enabled
from sklearn_ensemble_theory._typing import Estimator, TreeLearner

# Shares of a class below this count as this: log-odds stay within 4.6 of 0 on a pure side.
SMALLEST_SHARE = 1e-4


def half_log_odds(share):
    """Half the log-odds of a share of the second class, clipped to +-4.6."""
    share = np.clip(share, SMALLEST_SHARE, 1 - SMALLEST_SHARE)
    return 0.5 * (np.log(share) - np.log1p(-share))


# --- tasks: what a weak learner is fitted to in each round ----------------------------------------


class Task(Protocol):
    """What a weak learner is fitted to; `kind` identifies it."""

    @property
    def kind(self) -> str: ...


@dataclass(frozen=True, eq=False)
class LeastSquaresTask:
    """Fit real targets under weights, as ``estimator.fit(X, target, weight)`` does.

    The usual criterion is weighted least squares. Gradient boosting sets it, and Frank-Wolfe with
    regressors.

    Only learners that fit some of the rows recognise the task with `subsample` below 1, and only
    those whose weights may change the task with `reweighted`; they have other kinds. A learner need
    not use `risk`; the other fields are for those that need them.

    - risk: what the scores are to lower, where trees may change the values of their leaves for it,
      by ``risk.loss.leaf_values``. The outputs may then be `LeafOutputs`.
    - n_scores: scores of a row, and columns of the target.
    - reoptimise_leaves: False leaves the values of leaves as the least squares set them.
    - exact_leaves: the values of leaves are the exact minima of the risk, also where a Newton step
      would do.
    - subsample: share of the rows that each round is fitted to, drawn without replacement.
    - reweighted: each round has weights of its own, with a column for each score, in units of the
      sample weights. Otherwise the learner is fitted under the sample weights.
    - min_weight_leaf: least weight of a leaf in the same units, if the tree has none of its own.
    - random_state: draws rows and the seeds of members.
    - shares_generator: trees that are fitted one by one draw from `random_state` itself, not from a
      seed that it draws, so that they are those of scikit-learn's gradient boosting.
    - n_threads: threads of a round; the result does not depend on it.
    - has_vectors: one member is fitted to all columns of the target, instead of one for each; only
      learners with such members recognise the task.
    """

    risk: Any = None
    n_scores: int = 1
    reoptimise_leaves: bool = True
    exact_leaves: bool = False
    subsample: float = 1.0
    reweighted: bool = False
    min_weight_leaf: float = 0.0
    random_state: Any = None
    shares_generator: bool = False
    n_threads: int = 1
    has_vectors: bool = False

    @property
    def kind(self) -> str:
        drawn = "drawn_" if self.subsample < 1 else ""
        drawn = "vector_" + drawn if self.has_vectors else drawn
        return drawn + ("reweighted_least_squares" if self.reweighted else "least_squares")

    def n_drawn(self, n: int) -> int:
        """How many of n rows a round is fitted to."""
        return n if self.subsample == 1 else max(1, int(self.subsample * n))


@dataclass(frozen=True)
class SignTask:
    """Outputs -1 and +1 with the largest inner product with weight * target.

    Frank-Wolfe with classifiers sets it: the weak learner of [Bach, §10.3.1] for a dictionary of
    classifiers. `random_state` seeds members that are fitted one by one.
    """

    random_state: Any = None

    kind: ClassVar[str] = "signs"


@dataclass(frozen=True, eq=False)
class ClassTask:
    """Predict classes that stay the same in all rounds, under weights that change.

    AdaBoost sets it. The outputs are *margins*: they are positive where the row's own class is
    predicted, and `best` is called with a target of ones, or None. `codes` are the classes 0 ...
    K-1 of the rows, `classes` the user's labels. The criterion is

    - "error": the least weighted error. The member is a classifier with `classes_` equal to
      `classes`, and the margin is `vote_values`.
    - "log_odds": half the log-odds of the second of two classes (real AdaBoost).
    - "least_squares": the least-squares fit to -1 and +1 (gentle AdaBoost).
    """

    codes: np.ndarray
    classes: np.ndarray
    criterion: str = "error"
    random_state: Any = None

    @property
    def kind(self) -> str:
        return "class_" + self.criterion

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def signs(self) -> np.ndarray:
        """-1 for the first class and +1 for the second; +1 for a single class."""
        return 2.0 * self.codes - 1.0 if self.n_classes > 1 else np.ones(len(self.codes))

    @property
    def vote_values(self) -> tuple[float, float]:
        """Margins of right and wrong votes, 1/(K-1) and -1/(K-1)², by SAMME (Zhu et al. 2009)."""
        others = self.n_answers - 1
        return 1.0 / others, -1.0 / others**2

    @property
    def n_answers(self) -> int:
        """Of how many answers a vote is one; at least two."""
        return max(self.n_classes, 2)

    def initial_weights(self, weight: np.ndarray) -> np.ndarray:
        """The weights of the first round, from the normalised sample weights."""
        return weight


@dataclass(frozen=True, eq=False)
class HammingTask:
    """Tell each class from the others, under a weight for each row and class.

    AdaBoost.MH sets it (Schapire and Singer 1999). The weights that `best` is called with have
    shape (n, K), and so have the outputs, the margins: Y_ik times what the member returns for row i
    and class k, with Y_ik = +1 for the row's own class and -1 for the others. The fields are those
    of `ClassTask`, the criterion for each class.
    """

    codes: np.ndarray
    classes: np.ndarray
    criterion: str = "error"

    @property
    def kind(self) -> str:
        return "hamming_" + self.criterion

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def signs(self) -> np.ndarray:
        """Y, of shape (n, K)."""
        return np.where(self.codes[:, None] == np.arange(self.n_classes), 1.0, -1.0)

    n_answers: ClassVar[int] = 2
    vote_values: ClassVar[tuple[float, float]] = (1.0, -1.0)

    def initial_weights(self, weight: np.ndarray) -> np.ndarray:
        """The weights of the rows shared out: half to the own class, half to the K-1 others."""
        others = 0.5 / (self.n_classes - 1)
        return weight[:, None] * np.where(self.signs > 0, 0.5, others)


@dataclass(frozen=True, eq=False)
class JointTask:
    """Minimise the risk of ``scores + b * outputs`` over the coefficient b and the member together.

    `best` needs the current `scores`; `weight` holds the normalised sample weights. Outputs are
    returned with their coefficient multiplied in. The loss of `risk` may change from round to
    round.
    """

    risk: Any

    kind: ClassVar[str] = "joint"


# --- the fast path -------------------------------------------------------------------------------


class PreparedRounds(Protocol):
    """A weak learner prepared with the rows.

    - is_exact: whether `best` returns the exact optimum over the class of functions; only then is
      the first-order gain of a round a bound.
    - has_scale: whether the outputs have a meaningful scale of their own, such as -1 and +1. If not
      (the function times any number is another member), Frank-Wolfe divides them by their root mean
      square.

    An object with a scale may also have the attribute `outputs_bound`, a number that no root mean
    square of outputs exceeds: the constant R of [Bach, §10.3.1]. An object with a true attribute
    `takes_columns` takes targets of shape (n, K) and returns a list of K members and outputs of
    that shape; for others `best` is called for each column.
    """

    is_exact: bool
    has_scale: bool

    def best(
        self, target: np.ndarray | None, weight: np.ndarray, scores: np.ndarray | None = None
    ) -> tuple[Any, np.ndarray] | None:
        """The best member for this round, and its outputs psi on the rows: a new array (n,).

        None where there is nothing to offer: boosting then ends. `target` (n,) changes in each
        round, and is ignored by the tasks that have fixed targets; `weight` (n,) is positive, of
        sum 1; `scores`, (n,) or (n, K), are the current scores u, for learners that minimise the
        risk itself. They are not to be changed.
        """
        ...


@dataclass(frozen=True)
class FastPath:
    """What ensembles call of a class of learners, if it has it, instead of `fit` and `predict`.

    - prepare_rounds: (learner, X, weight, task) -> `PreparedRounds`, or None for other tasks.
    - prepare_sums: (learner, task) -> what finds members from sums over rows, or None for other
      tasks; see `erm._stumps.stump_rounds`.
    - prepare_members: (learner, X, sample_weight, n_jobs) -> `PreparedMembers`, or None for this X.
    - predict_validated: (member, X) -> the predictions for an X that the ensemble has validated.
    - predict_codes: (member, X) -> the same as positions in the `classes_` of a classifier.
    - is_tree: whether it is a tree that keeps arrays of nodes, which are its predictions, and whose
      `predict` takes X in single precision with `check_input=False`.
    """

    prepare_rounds: Callable[..., PreparedRounds | None] | None = None
    prepare_sums: Callable[..., Any] | None = None
    prepare_members: Callable[..., "PreparedMembers | None"] | None = None
    predict_validated: Callable[[Any, Any], np.ndarray] | None = None
    predict_codes: Callable[[Any, Any], np.ndarray] | None = None
    is_tree: bool = False


_NONE = FastPath()
_REGISTERED: dict[type, FastPath] = {}


def register(cls: type, **functions: Any) -> None:
    """Register the `FastPath` of a class of learners; its subclasses have none."""
    _REGISTERED[cls] = FastPath(**functions)


def fast_path(learner: Any) -> FastPath:
    """That of the learner's own class."""
    return _REGISTERED.get(type(learner), _NONE)


def prepare_rounds(
    estimator: Estimator, X: Any, weight: np.ndarray | None, task: Task
) -> PreparedRounds | None:
    """The estimator's fast path for a task; None where it has none.

    X is validated, and kept by reference. The positive sample weights are for what is chosen once
    (quantiles of bins, for example).
    """
    prepare = fast_path(estimator).prepare_rounds
    if prepare is None or weighs_itself(estimator):
        return None
    return prepare(estimator, X, weight, task)


def prepare_sums(estimator: Estimator, task: Task) -> Any:
    """What finds the members from sums over rows in chunks; None where there is nothing."""
    prepare = fast_path(estimator).prepare_sums
    return None if prepare is None or weighs_itself(estimator) else prepare(estimator, task)


def has_fast_path(estimator: Estimator) -> bool:
    """Whether the estimator has a fast path for some task, and so reads X as numbers."""
    return fast_path(estimator).prepare_rounds is not None and not weighs_itself(estimator)


def weighs_itself(estimator: Estimator) -> bool:
    """Whether its classes have weights, which are a part of its `fit` only."""
    return getattr(estimator, "class_weight", None) is not None


def predict_validated(member: Any, X: Any) -> np.ndarray:
    """The numbers predicted for an X that the ensemble has validated, without a second check."""
    predict = fast_path(member).predict_validated
    return numbers_of(member.predict(X), member, X) if predict is None else predict(member, X)


def predict_codes(member: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """The predicted classes as positions in `classes`, for an X that the ensemble has validated."""
    predict = fast_path(member).predict_codes
    if predict is not None:
        return predict(member, X)
    return places_of_labels(predictions_of(member, X), member, classes)


def places_of_labels(labels: np.ndarray, member: Any, classes: np.ndarray) -> np.ndarray:
    """Labels as positions in `classes`, which are sorted; a ValueError for any other label."""
    if (
        labels.dtype.kind in "iu"
        and classes.dtype.kind in "iu"
        and (classes[0], classes[-1]) == (0, len(classes) - 1)
    ):
        return checked_codes(labels, member, len(classes))  # labels that are positions: no search
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    if not (classes.take(codes) == labels).all():
        raise ValueError(
            f"estimator: {type(member).__name__} predicts labels that are not among the classes."
        )
    return codes


def fitted_clone(learner: Any, X: Any, y: Any, **fit_params: Any) -> Any:
    """A clone fitted to the rows, also where its `fit` returns nothing."""
    member = clone(learner)
    member.fit(X, y, **fit_params)
    return member


def predictions_of(member: Any, X: Any, **options: Any) -> np.ndarray:
    """The labels that a learner of one output predicts: (n,); see `checked_outputs`."""
    values = checked_outputs(member.predict(X, **options), member, X)
    if values.size != len(values):
        raise ValueError(
            f"estimator: {type(member).__name__} must predict one value for each row, got shape "
            f"{values.shape}."
        )
    return values.reshape(len(values))


def numbers_of(
    found: Any, member: Any, X: Any, n_outputs: int | None = 1, *, logs: bool = False
) -> np.ndarray:
    """Outputs of a learner as finite numbers, (n,) or (n, n_outputs); see `checked_outputs`."""
    values, name = checked_outputs(found, member, X), type(member).__name__
    if values.dtype.kind not in "fiub":
        try:
            if values.dtype.kind != "O":
                raise TypeError(f"they have the dtype {values.dtype}")
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"estimator: {name} must predict numbers: {error}.") from None
    n = len(values)
    if n_outputs == 1:
        if values.size != n:
            raise ValueError(
                f"estimator: {name} must predict one value for each row, got shape {values.shape}."
            )
        values = values.reshape(n)
    elif n_outputs is not None and values.shape != (n, n_outputs):
        raise ValueError(
            f"estimator: {name} must predict {n_outputs} values for each row, got shape "
            f"{values.shape}."
        )
    is_right = np.isfinite(values)
    if not is_right.all() and not (logs and (is_right | np.isneginf(values)).all()):
        kind = "NaN" if np.isnan(values).any() else "infinite"
        raise ValueError(
            f"estimator: {name} predicts values that are not finite, {kind} for some rows; X may "
            "have missing values that it cannot use, or numbers that are too large for it."
        )
    return values


def checked_codes(labels: np.ndarray, member: Any, n_classes: int) -> np.ndarray:
    """Labels as positions among the classes; a ValueError where there is no such class."""
    try:
        codes = np.asarray(labels, dtype=np.intp)
    except (TypeError, ValueError):  # text, which is no position
        codes = np.full(np.shape(labels), -1)
    if not ((codes == labels) & (codes >= 0) & (codes < n_classes)).all():
        raise ValueError(
            f"estimator: {type(member).__name__} predicts labels that are not among the classes."
        )
    return codes


def probabilities_of(member: Any, X: Any) -> np.ndarray:
    """The probabilities by a classifier: (n, n_classes); see `numbers_of`."""
    values = numbers_of(member.predict_proba(X), member, X, None)
    # A wrapper of the user's may have no classes_.
    classes = getattr(member, "classes_", np.arange(values.shape[1]))
    return aligned_columns(values, classes, len(classes))


def checked_outputs(found: Any, member: Any, X: Any) -> np.ndarray:
    """Outputs of a learner as an array; a ValueError unless they are one for each row of X."""
    values = np.asarray(found)
    rows = X if hasattr(X, "shape") or hasattr(X, "__len__") else np.asarray(X)
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    if values.shape[:1] != (n,) or values.dtype.kind == "c":
        kind = "complex numbers" if values.dtype.kind == "c" else f"shape {values.shape}"
        raise ValueError(
            f"estimator: {type(member).__name__} must predict a label or a real number for each "
            f"row; got {kind} for {n} rows."
        )
    return values


def outputs_have_scale(estimator: Estimator) -> bool:
    """Whether outputs of clones have a scale: of classifiers, and where `_has_scale` is true."""
    return bool(getattr(estimator, "_has_scale", is_classifier(estimator)))


# --- members of a bagged ensemble -----------------------------------------------------------------


class PreparedMembers(Protocol):
    """A base learner prepared with the columns of X, which all members of a bagged ensemble share.

    It must be usable from several threads at once. A member depends on the arguments of `fit` and
    on its parameters only, not on the members fitted before it.
    """

    def fit(
        self,
        member: Any,
        rows: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        features: np.ndarray | None,
    ) -> Any:
        """Fit `member`, a copy of the base learner with its `random_state`, and return it.

        `rows` are the distinct rows drawn, in increasing order; `y` and `weights`, of the same
        length, are their float64 targets or codes of the ensemble's classes, and their positive
        weights (None where all are 1). `features` are the columns of X in the order of the member;
        None for all.
        """
        ...


def prepare_members(
    estimator: Estimator,
    X: np.ndarray,
    sample_weight: np.ndarray | None,
    n_jobs: int | None = 1,
) -> PreparedMembers | None:
    """What fits copies of the estimator to rows and columns of X, sharing what is computed once.

    None where its class has registered nothing, or has nothing for this X: the members are then
    fitted by their own `fit`. X is a dense array of numbers, not checked for missing and infinite
    values, and kept by reference. `sample_weight` is for what is chosen once (quantiles of bins,
    for example), `n_jobs` for threads that prepare.
    """
    prepare = fast_path(estimator).prepare_members
    return None if prepare is None else prepare(estimator, X, sample_weight, n_jobs)


def coded_learner(learner: Any, classes: Any) -> Any:
    """The learner for positions among `classes` in the place of labels; None for regressors.

    A dict as `class_weight`, of the learner or of the last step of a pipeline, names labels, and
    without this its keys would be read as positions: {1: 50} would be the weight of the second of
    the labels 1, 2, 3. It gets all classes, since members may be fitted to rows without some. A
    list of classes, of several outputs, has indicators, whose labels are their positions.
    """
    if classes is None or isinstance(classes, list):
        return learner
    if isinstance(learner, Pipeline):
        name, last = learner.steps[-1]
        coded = coded_learner(last, classes)
        return learner if coded is last else clone(learner).set_params(**{name: coded})
    given = getattr(learner, "class_weight", None)
    if not isinstance(given, dict):
        return learner
    of_codes = dict(enumerate(compute_class_weight(given, classes=classes, y=classes).tolist()))
    return clone(learner).set_params(class_weight=of_codes)


def coded_by_output(learner: Any, outputs: Sequence[np.ndarray]) -> Any:
    """The same for several columns of labels, whose positions follow those of the one before."""
    if isinstance(learner, Pipeline):
        name, last = learner.steps[-1]
        coded = coded_by_output(last, outputs)
        return learner if coded is last else clone(learner).set_params(**{name: coded})
    given, first, of_codes = getattr(learner, "class_weight", None), 0, []
    for name, value in learner.get_params().items():
        if not name.endswith("class_weight") or value is None or isinstance(value, str):
            continue
        if name != "class_weight" or not isinstance(value, list) or len(value) != len(outputs):
            raise ValueError(
                f"estimator: {name} of {type(learner).__name__} must be None, 'balanced' or, if "
                "it is a parameter of the learner itself, a list with a dict for each of the "
                f"{len(outputs)} columns of y; got {value!r}."
            )
    if not isinstance(given, list):
        return learner
    for weights, labels in zip(given, outputs):
        found = compute_class_weight(weights, classes=labels, y=labels).tolist()
        of_codes.append(dict(enumerate(found, first)))
        first += len(labels)
    return clone(learner).set_params(class_weight=of_codes)


def aligned_columns(
    values: np.ndarray, places: np.ndarray, n_classes: int, fill: float = 0.0
) -> np.ndarray:
    """Columns for some classes, at these `places`, as columns for all; others are `fill`."""
    if values.ndim != 2 or values.shape[1] != len(places):
        raise ValueError(
            f"estimator: probabilities must have a column for each of {len(places)} classes, got "
            f"shape {values.shape}."
        )
    if len(places) == n_classes:
        # A classifier of others may list its classes in an order of its own.
        order = np.argsort(places, kind="stable")
        return values if (order[1:] > order[:-1]).all() else values[:, order]
    aligned = np.full((len(values), n_classes), fill, dtype=values.dtype)
    aligned[:, np.asarray(places, dtype=np.intp)] = values
    return aligned


# --- what a base learner reads --------------------------------------------------------------------

REGRESSION_TREES = (DecisionTreeRegressor, ExtraTreeRegressor)
TREES = (*REGRESSION_TREES, DecisionTreeClassifier, ExtraTreeClassifier)


class BinnedTree:
    """Base of the trees in bins: ensembles give them numbers of categories and set their leaves."""

    categorical_features: Any
    max_bins: int


class WeighsClasses:
    """Base of classifiers whose `fit` weighs the classes itself, and not by `sample_weight`."""


def is_tree(estimator: Estimator | None) -> bool:
    """Whether this is one of scikit-learn's trees itself; a subclass may override its methods."""
    return type(estimator) in TREES


def grows_leaves(estimator: Estimator) -> bool:
    """Whether the values of the leaves of its fitted trees can be set: scikit-learn's and ours."""
    return is_tree(estimator) or isinstance(estimator, BinnedTree)


def reads_single_precision(estimator: Estimator | None) -> TypeGuard[TreeLearner]:
    """Whether it is a tree itself, whose `predict` takes X in single precision unchecked."""
    return is_tree(estimator) or fast_path(estimator).is_tree


def reads_numbers(learner: Any, prepares: str) -> bool:
    """Whether a base learner gets X as an array of numbers: the default, a tree, a fast path.

    Any other learner gets data frames and missing values as they are, and checks them. `prepares`
    says which part of a `FastPath` the ensemble calls.
    """
    if learner is None or reads_single_precision(learner):
        return True
    return getattr(fast_path(learner), prepares) is not None


def largest_column(scores: np.ndarray, ties: str = "first") -> np.ndarray:
    """The column of the largest score of each row, of equal ones the "first" or the "last"."""
    if ties == "first":
        return scores.argmax(axis=1)
    return scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1)


def has_input_tag(estimator: Estimator, name: str) -> bool:
    """Whether an estimator's input has a tag; no tag of an object without tags."""
    tagged = not isinstance(estimator, type) and hasattr(estimator, "__sklearn_tags__")
    return tagged and bool(getattr(get_tags(estimator).input_tags, name))


def takes_columns(estimator: Estimator) -> bool:
    """Whether an estimator says by its tags that y may have several columns."""
    tagged = not isinstance(estimator, type) and hasattr(estimator, "__sklearn_tags__")
    return tagged and bool(get_tags(estimator).target_tags.multi_output)


def one_column_only(estimator: Estimator, n_columns: int) -> ValueError:
    """The error that a base learner takes one column of y, with the cure."""
    name, kind = type(estimator).__name__, "Classifier" if is_classifier(estimator) else "Regressor"
    return ValueError(
        f"estimator: {name} takes one column as y by its tags, and y has {n_columns} columns; use "
        f"sklearn.multioutput.MultiOutput{kind}({name}(...)), which fits a copy to each column. A "
        "learner of your own that takes them has the tag target_tags.multi_output=True."
    )


def refuses_one_class(error: ValueError, y: np.ndarray) -> bool:
    """Whether a classifier has refused y because all labels are the same."""
    return "class" in str(error) and bool((y == y[0]).all())


def gets_missing(learner: Any) -> bool:
    """Whether a base learner is given missing values: it takes them, or checks X itself."""
    return has_input_tag(learner, "allow_nan") or not reads_numbers(learner, "prepare_rounds")


# --- metadata that an ensemble passes on ----------------------------------------------------------

# The class attribute `__metadata_request__fit` of every `fit` with groups. Without a request they
# go to splitters alone, as in scripts for scikit-learn's classes, whose `fit` has none.
GROUPS_ON_REQUEST = {"groups": False}


def requests(estimator: Estimator, name: str, method: str = "fit") -> bool:
    """Whether a method requests this metadata, where metadata routing is enabled."""
    return routing_enabled() and bool(get_routing_for_object(estimator).consumes(method, (name,)))


def takes_weights(estimator: Estimator) -> bool:
    """Whether `fit` takes `sample_weight` itself, or routes it to a part that requests it."""
    return has_fit_parameter(estimator, "sample_weight") or requests(estimator, "sample_weight")


def without_weights(estimator: Estimator) -> str:
    """The message that an estimator takes no weights; of a pipeline or a search with the cure."""
    return f"{type(estimator).__name__} doesn't support sample_weight.{weights_of_parts(estimator)}"


def weights_of_parts(estimator: Estimator) -> str:
    """How weights reach the parts of an estimator that has parts; else an empty text."""
    own = getattr(type(estimator), "get_metadata_routing", None)
    if own is None or own is BaseEstimator.get_metadata_routing:
        return ""
    return (
        " Its parts get weights by metadata routing: call sklearn.set_config("
        "enable_metadata_routing=True), and set_fit_request(sample_weight=True) of each part that "
        "is to get them, sample_weight=False of the others."
    )


def with_groups(fit_params: dict, groups: Any, estimator: Estimator) -> dict:
    """The further parameters of `fit`, with `groups` where this estimator requests them."""
    if groups is None or not requests(estimator, "groups"):
        return fit_params
    return {**fit_params, "groups": groups}
