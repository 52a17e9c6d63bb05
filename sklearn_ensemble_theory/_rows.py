"""Checked rows: what every fit has of X, y, the weights and the groups, in memory or in blocks.

A fit in memory calls `checked_rows`, which returns one `Rows`. A fit of a Dask collection gets
`ChunkedRows`, whose blocks become `Rows` by the same checks, each where it is. An algorithm that
reads the rows through sums only is written once for both, in terms of `BlockedRows`: `MemoryRows`
is one block, and what is summed over it is the result itself.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import astuple, dataclass, field, replace
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import (
    assert_all_finite,
    check_array,
    check_consistent_length,
    check_X_y,
    column_or_1d,
    get_tags,
)
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data as sklearn_validate_data

from sklearn_ensemble_theory._blocks import GivenBlocks, any_collection, by_chunks
from sklearn_ensemble_theory._categories import (
    MOST_CATEGORY_BINS,
    MOST_DENSE_VALUES,
    CategoricalColumns,
    check_same_columns,
    continued_encoder,
    encoded,
    encoder_of,
    fitted_encoder,
    give_encoder,
)
from sklearn_ensemble_theory._compat import (
    check_constraints,
    check_feature_names_in,
    check_method_params,
    check_sample_weight,
    safe_indexing,
)
from sklearn_ensemble_theory._features import (
    Features,
    is_frame,
    naming_columns,
    naming_not_finite,
    refuse_unread,
)
from sklearn_ensemble_theory._learners import BinnedTree, gets_missing, reads_single_precision
from sklearn_ensemble_theory._running import reworded, warn_user
from sklearn_ensemble_theory._typing import ArrayLike, Estimator, Fitted

# Of so many numbers of X a prediction takes no longer than the checks of any X.
FEW_NUMBERS = 2**14

Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True)
class Rows:
    """The rows of positive weight that a fit in memory, or one block of rows, is left with.

    - weight: as the user gave them up to a common power of 2, or in the units of
      `RowChecks.weight_unit`; None for equal ones.
    - numbers: among the rows that `fit` was given. Of a block: among those of positive weight in
      all blocks, or in this one where those before are not known.
    - groups: which rows belong together.
    - block: the number of the block; 0 in memory.
    - offset: what is known of their scores, and added to those of a model.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    numbers: range | np.ndarray
    groups: np.ndarray | None = None
    block: int = 0
    offset: np.ndarray | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.numbers)

    def weights(self) -> np.ndarray:
        """The weights, 1 where there are none."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def shares(self) -> np.ndarray:
        return normalised_weights(self.weight, len(self))

    def take(self, part: np.ndarray) -> "Rows":
        numbers = self.numbers
        return Rows(
            rows_of(self.X, part),
            self.y[part],
            None if self.weight is None else self.weight[part],
            numbers.start + part if isinstance(numbers, range) else numbers[part],
            None if self.groups is None else self.groups[part],
            self.block,
            offset=None if self.offset is None else self.offset[part],
        )

    def of(self, values: Any) -> Any:
        """The rows of another array, which has a row for each that `fit` was given."""
        return values if isinstance(self.numbers, range) else safe_indexing(values, self.numbers)

    def params_of(self, X: Any, params: dict | None) -> dict:
        """Arguments of `fit` for these rows: their own of arrays with a value for each row of X."""
        indices = None if isinstance(self.numbers, range) else self.numbers
        found: dict = check_method_params(X, params or {}, indices=indices)
        return found


def checked_rows(
    estimator: Estimator,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None,
    **options: Any,
) -> Rows:
    """The rows of positive weight, by `validate_data` with these options and `positive_weights`."""
    X, y = validate_data(estimator, X, y, **options)
    return kept_rows(X, y, sample_weight)


def checked_feature_names(estimator: Fitted, names: Any, *, generate_names: bool) -> Any:
    """The argument of `get_feature_names_out`, by scikit-learn's check; it needs names in a row."""
    if names is not None and (issparse(names) or np.ndim(np.asarray(names, dtype=object)) != 1):
        raise ValueError(f"input_features must have a name for each feature; got {names!r:.100}.")
    return check_feature_names_in(estimator, names, generate_names=generate_names)


def kept_rows(
    X: Any, y: np.ndarray, sample_weight: ArrayLike | None, *, as_given: bool = False
) -> Rows:
    """The rows of positive weight of X and y that are validated already."""
    numbers, weight = positive_weights(sample_weight, X, as_given=as_given)
    if isinstance(numbers, range):
        return Rows(X, y, weight, numbers)
    return Rows(rows_of(X, numbers), y[numbers], weight, numbers)


# --- X and y --------------------------------------------------------------------------------------


def validate_data(
    estimator: Estimator, *data: Any, as_frame: bool = False, learner: Any = None, **options: Any
) -> Any:
    """X, or (X, y), by scikit-learn's function of this name; errors name the column or the learner.

    Numbers near the largest float pass without the warning that their sum is not finite. With
    `as_frame` X is a data frame and is returned as it is: only its shape and its names are checked.
    A dense X may have missing values where the `learner` that gets it takes or checks them, unless
    an option says otherwise. Where this is a tree, X becomes numbers here, with its names in an
    error. Where it has `categorical_features` and takes the numbers of categories, X becomes these,
    by the estimator's `_encoder`, which a fit makes; then a sparse X of few rows to predict is
    dense. Refused are Dask collections, of which all rows would be read into memory, values that
    are no numbers, such as pandas' NA, text, and integers that are too large for a float.
    """
    if len(data) == 1 and not as_frame and needs_no_check(estimator, data[0], **options):
        return data[0]
    if any_collection(*data):
        raise TypeError(
            f"X and y must be in memory in this method of {type(estimator).__name__}, which was "
            "given a Dask collection; call .compute() on it if the rows fit into memory."
        )
    refuse_unread(data[0], as_frame=as_frame)
    # A graph of distances stays as it is: its rows are in the order of the distances.
    is_graph = issparse(data[0]) and is_pairwise(estimator)
    if not is_graph:
        data = (canonical(data[0]), *data[1:])
    encoder = None if as_frame else _encoder_of(estimator, data, learner, **options)
    if learner is not None:
        in_bins = isinstance(learner, BinnedTree)
        gets = gets_missing(learner) and (in_bins or not issparse(data[0]))
        options.setdefault("ensure_all_finite", "allow-nan" if gets else True)
    if len(data) > 1 and not options.get("multi_output", False) and has_columns(data[1]):
        data = (data[0], one_column(data[1]))
    with (
        np.errstate(over="ignore", invalid="ignore"),
        naming_columns(data[0], hasattr(estimator, "categorical_features")),
    ):
        try:
            if as_frame:
                found = _checked_frame(estimator, *data, **options)
            elif encoder is None:
                found = sklearn_validate_data(estimator, *data, **options)
            else:
                found = _checked_numbers(estimator, data, encoder, **options)
        except ValueError as error:
            if learner is None or "X contains NaN" not in str(error):
                raise
            what = "in a sparse X" if gets_missing(learner) else f"by {type(learner).__name__}"
            raise ValueError(
                f"Input X contains NaN, and missing values are not accepted {what}. Use a dense X "
                "and an estimator that takes them, such as BinnedTreeClassifier, "
                "BinnedTreeRegressor or scikit-learn's trees; or impute them, for example by "
                "SimpleImputer in a pipeline."
            ) from None
        X, *y = found if len(data) > 1 else (found,)
        if not is_graph:
            X = canonical(X)  # which may have another format now
        if not as_frame and reads_single_precision(learner) and X.dtype.kind in "OUS":
            X = X.astype(np.float64)
    return (X, *y) if y else X


def _checked_frame(
    estimator: Estimator,
    X: Any,
    *y: Any,
    reset: bool = True,
    multi_output: bool = False,
    y_numeric: bool = False,
    **others: Any,
) -> Any:
    """X as it is given, whose values are those of whom it is for, and y checked."""
    targets = None
    if y:  # first: this forgets the names of X
        sklearn_validate_data(estimator, X, y[0], skip_check_array=True)  # None is refused
        targets = sklearn_validate_data(
            estimator, y=y[0], multi_output=multi_output, y_numeric=y_numeric
        )
    sklearn_validate_data(estimator, X, reset=reset, skip_check_array=True)
    for size, what in zip(X.shape, ("sample", "feature")):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required "
                f"by {type(estimator).__name__}."
            )
    if targets is None:
        return X
    check_consistent_length(X, targets)
    return X, targets


def is_pairwise(learner: Any) -> bool:
    """Whether the columns of its X are rows too: distances or a kernel, computed before the fit."""
    return hasattr(learner, "__sklearn_tags__") and get_tags(learner).input_tags.pairwise


def canonical(X: Any) -> Any:
    """X; of CSR or CSC another object with sorted indices that occur once, of 32 bits if they fit.

    Entries with the same indices are added up, as SciPy does, in a copy. If there is nothing to do,
    the object has the arrays of X. Other formats are added up when they are converted. O(nnz).
    """
    if not (issparse(X) and X.format in ("csr", "csc")):
        return X
    X = copy(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    largest = max(*X.shape, len(X.indices))
    if largest < 2**31 and (X.indices.dtype != np.int32 or X.indptr.dtype != np.int32):
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def needs_no_check(
    estimator: Estimator,
    X: Any,
    *,
    reset: bool = True,
    dtype: Any = "numeric",
    order: str | None = None,
    ensure_all_finite: Any = True,
    accept_sparse: Any = False,
    **others: Any,
) -> bool:
    """Whether rows to predict are an array as `validate_data` would return it, which this asks."""
    if reset or others or type(X) is not np.ndarray or X.ndim != 2 or X.dtype.char not in "df":
        return False
    own, dtypes = vars(estimator), dtype if isinstance(dtype, list) else [dtype]
    return (
        (dtype is None or dtype == "numeric" or X.dtype in dtypes)
        and (order is None or (order == "C" and X.flags.c_contiguous))
        and 0 < X.size <= FEW_NUMBERS
        and X.shape[1] == own.get("n_features_in_")
        # Of columns with names, and of categories, there is more to say.
        and "feature_names_in_" not in own
        and own.get("_encoder") is None
        and (ensure_all_finite is False or bool(np.isfinite(X).all()))
    )


def check_continued(estimator: Fitted, X: Any, learner: Any) -> None:
    """Refuse to continue a fit with other columns than its own, before any value is read."""
    if not (is_frame(X) or issparse(X)):
        X = check_array(X, dtype=None, ensure_all_finite=False)
    now, before = Features.of(X), Features.known_to(estimator)
    if now.n != before.n:
        raise ValueError(
            f"X has {now.n} features, but {type(estimator).__name__} is expecting {before.n} "
            "features as input, as in the previous fit, which warm_start=True continues."
        )
    if now.names and before.names and now.names != before.names:
        raise ValueError(
            "The feature names should match those of the previous fit, which warm_start=True "
            f"continues, in the same order: {list(before.names)}; got {list(now.names)}."
        )
    check_same_columns(estimator, X, learner)


def _encoder_of(
    estimator: Estimator, data: tuple, learner: Any, reset: bool = True, **_: Any
) -> CategoricalColumns | None:
    """What makes numbers of categories, if there are any; a fit makes a new one."""
    continues = getattr(estimator, "warm_start", False) and hasattr(estimator, "estimators_")
    if not reset and len(data) == 1:
        return fitted_encoder(estimator)
    if continues or not reset:
        return continued_encoder(estimator, learner)
    vars(estimator).pop("_encoder", None)
    if not isinstance(learner, BinnedTree):
        return None
    if learner is not estimator:
        check_constraints(cast(Estimator, learner))
    most = min(learner.max_bins, MOST_CATEGORY_BINS)
    found = encoder_of(data[0], learner.categorical_features, most)
    if found is not None:
        found.warn_of_shared_bins("max_bins")
        give_encoder(estimator, found)
    return found


def _checked_numbers(
    estimator: Estimator,
    data: tuple,
    encoder: CategoricalColumns,
    reset: bool = True,
    **options: Any,
) -> Any:
    """`validate_data` of scikit-learn's, of X with the numbers of its categories."""
    sklearn_validate_data(estimator, data[0], reset=reset, skip_check_array=True)
    X = encoded(encoder, data[0], to_predict=not reset and len(data) == 1)
    if issparse(X):
        options["ensure_all_finite"] = "allow-nan"  # of categories: the others are finite
        if not reset and options.get("accept_sparse") and np.prod(X.shape) <= MOST_DENSE_VALUES:
            X = X.toarray()
    if len(data) > 1:
        return check_X_y(X, data[1], estimator=estimator, **options)
    return check_array(X, estimator=estimator, input_name="X", **options)


def fits_single_precision(X: Any) -> bool:
    """Whether all values but NaN are in the range of single precision; float32 ones are."""
    values = X.data if issparse(X) else X
    if values.dtype.kind != "f" or values.dtype == np.float32 or not values.size:
        return True
    limit = np.finfo(np.float32).max
    # Of NaN and a number these take the number, other than `max` and `min`.
    high, low = np.fmax.reduce(values, axis=None), np.fmin.reduce(values, axis=None)
    return not (high > limit or low < -limit)


def within_single_precision(X: Any) -> Any:
    """X, or a copy whose numbers beyond the range of single precision are its largest ones.

    To predict by trees that read single precision: such numbers are beyond all their thresholds.
    Infinity stays.
    """
    if fits_single_precision(X):
        return X
    if issparse(X):
        X = X.copy()
        X.data = within_single_precision(X.data)
        return X
    limit = np.finfo(np.float32).max
    return np.where(np.isinf(X), X, np.clip(X, -limit, limit))


def check_single_precision(X: Any) -> None:
    """Raise a ValueError where a value, not NaN, is beyond the range of single precision."""
    if not fits_single_precision(X):
        raise ValueError(
            "Input X contains infinity or a value too large for dtype('float32'), in which trees "
            "store it."
        )


def has_columns(y: Any) -> bool:
    """Whether the targets have two dimensions; what is no array is not asked for its own."""
    if isinstance(y, list | tuple):
        return np.ndim(y) == 2
    return len(getattr(y, "shape", ())) == 2


def one_column(y: Any) -> np.ndarray:
    """Targets of shape (n,), from one column after scikit-learn's warning at the user's line."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        y = column_or_1d(np.asarray(y), warn=True)
    for warning in found:
        warn_user(str(warning.message), warning.category)
    return y


def finite_predictions(method: Method) -> Method:
    """A method of X with finite values, or a ValueError; for Dask collections chunk by chunk."""

    @wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            values = method(*args, **kwargs)
            if not np.isfinite(values).all():
                raise ValueError(
                    "X has rows for which the predictions are beyond the largest float: they are "
                    "too far outside of the training rows."
                )
        return values

    return by_chunks(cast(Method, checked))


def checked_target(y: Any, *, is_real: bool) -> Any:
    """The target, cast to float64 where that may turn values into NaN or infinity.

    What is not cast is left to `validate_data`, which sees what is fitted. Refused are a sparse y
    and rows of different lengths; of a regressor (`is_real`) text, values that are no numbers, such
    as pandas' NA, and values that are not finite after the cast; of a classifier missing values,
    strings beside numbers, and numbers of 2^63 and above, which scikit-learn casts to integers.
    """
    if not is_real and isinstance(y, np.ndarray) and y.dtype.kind == "f":
        largest = float(np.fmax.reduce(np.abs(y), axis=None, initial=0.0))
        if largest >= 2.0**63:
            raise ValueError("y must have labels below 2**63 in absolute value, and none infinite.")
    if (
        type(y) is np.ndarray and y.dtype.kind in "fiub" and 2 < y.dtype.itemsize <= 8
    ) or y is None:
        return y
    if issparse(y):
        raise ValueError(
            "y must be a dense array: sparse multilabel-indicator for y is not supported; use "
            "y.toarray()."
        )
    try:
        array = np.asarray(y)
    except (TypeError, ValueError):
        array = np.asarray([None])
        if isinstance(y, (list, tuple)):
            raise _ragged() from None
    if array.dtype == object:
        values = array.ravel().tolist()
        kinds = set(map(type, values))
        if not kinds.isdisjoint((list, tuple, set)):
            raise _ragged()
        if not is_real:
            _check_labels(values, kinds)
    if not is_real:
        if array.dtype.kind == "V":
            raise TypeError(f"y must hold labels; got records of type {array.dtype}.")
        return y
    kind = array.dtype.kind
    if kind in "biu" or (kind == "f" and array.dtype.itemsize in (4, 8)) or kind == "c":
        return y
    return _cast_to_float(array)


def _ragged() -> ValueError:
    return ValueError("y must be a rectangular array: its rows have different lengths.")


def _cast_to_float(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "MmV":
        cure = "" if array.dtype.kind == "V" else "; make numbers of them, such as days or seconds"
        raise TypeError(f"y must hold numbers; got values of type {array.dtype}{cure}.")
    try:
        with np.errstate(all="ignore"):  # what overflows is infinite
            cast = array.astype(np.float64)
    except OverflowError:
        raise ValueError("y has an integer that is too large for a float64.") from None
    except (TypeError, ValueError) as error:
        raise reworded(error, f"y must hold numbers: {error}.") from None
    with np.errstate(invalid="ignore"):
        assert_all_finite(cast, input_name="y")
    return cast


def _check_labels(values: list[Any], kinds: set[type]) -> None:
    """Refuse None, NaN and pandas' NA among labels, and labels that cannot be compared."""
    missing = [kind.__name__ for kind in kinds if kind.__name__ in ("NoneType", "NAType")]
    if float in kinds and any(one != one for one in values if isinstance(one, float)):
        missing.append("NaN")
    if missing:
        raise ValueError(f"y must not have missing values: Input y contains {missing[0]}.")
    _refuse_sets("y", kinds)
    if str in kinds and len(kinds) > 1 and not all(issubclass(kind, str) for kind in kinds):
        raise ValueError("y must not have both strings and numbers as labels.")


def _refuse_sets(name: str, kinds: Iterable[type]) -> None:
    """Sets have an order, of inclusion, by which they cannot be sorted."""
    if any(issubclass(kind, (set, frozenset)) for kind in kinds):
        raise ValueError(f"{name} must not have sets as labels; use a text or a number for each.")


def check_same_kind(one: np.ndarray, other: np.ndarray) -> None:
    """A ValueError where the labels of some rows are numbers, and those of others strings."""
    if len(one) and len(other) and (one.dtype.kind in "biuf") != (other.dtype.kind in "biuf"):
        raise ValueError(
            "y must not have both strings and numbers as labels; some chunks have one and some the "
            "other: cast y to one type, for example by y.astype(str)."
        )


def labels_of_block(y: np.ndarray) -> np.ndarray:
    """The labels of some of the rows, in increasing order; a ValueError if they are no classes."""
    labels = np.unique(y)
    # Twice: scikit-learn would warn that classes are many beside the rows of a small block.
    check_classification_targets(np.repeat(labels, 2) if y.ndim == 1 else y)
    return labels


def joined_labels(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The labels of two sets of rows, in increasing order."""
    check_same_kind(one, other)
    return np.union1d(one, other)


def checked_classes(classes: ArrayLike) -> np.ndarray:
    """The labels that a user announces, in increasing order."""
    try:
        return np.unique(np.asarray(classes))
    except TypeError as error:
        raise TypeError(f"classes must be labels that can be compared: {error}.") from error


def codes_of_labels(y: ArrayLike, classes: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The places among the classes of the labels of n rows, and which of the labels are there."""
    labels = column_or_1d(y)
    if len(labels) != n:
        raise ValueError(f"y must have a label for each of the {n} rows of X, got {len(labels)}.")
    try:
        codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    except TypeError as error:
        raise TypeError(f"y must have labels like those of the fit: {error}.") from error
    return codes, np.asarray(classes[codes] == labels)


def are_wrong(y: ArrayLike, predicted: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Which predictions are not the labels y, of which those of no class are errors."""
    codes, known = codes_of_labels(y, classes, len(predicted))
    return ~known | (predicted != classes[codes])


# --- sample weights -------------------------------------------------------------------------------

SMALLEST_WEIGHT = np.finfo(np.float64).tiny
SMALL_TOP, LARGE_TOP = 2.0**-400, 2.0**400


def positive_weights(
    sample_weight: ArrayLike | None, X: Any, *, as_given: bool = False
) -> tuple[range | np.ndarray, np.ndarray]:
    """Check `sample_weight` and find the rows to fit: their numbers, and their positive weights.

    A weight counts as 0 if it is below 2e-308 times the largest. Where the largest is beyond 2^400
    or below 2^-400, so that sums or products of weights would overflow or vanish, all are divided
    by the power of 2 below it: their ratios are the same. With `as_given` they never are, for
    `partial_fit`, which compares the weights of several calls.
    """
    if sample_weight is None and hasattr(X, "shape"):
        return range(X.shape[0]), np.ones(X.shape[0])
    weight = checked_weights(sample_weight, X)
    weight = weight if as_given else in_usual_units(weight)
    smallest = weight.max() * SMALLEST_WEIGHT
    if weight.min() > smallest:
        return range(len(weight)), weight
    numbers = np.flatnonzero(weight > smallest)
    if not len(numbers):
        raise ValueError("sample_weight must be positive for at least one row.")
    return numbers, weight[numbers]


def checked_weights(sample_weight: ArrayLike | None, X: Any) -> np.ndarray:
    """One non-negative finite number for each row of X, or an error."""
    try:
        if (kind := np.asarray(sample_weight).dtype.kind) in "mMc":
            raise TypeError("it is complex" if kind == "c" else "it has dates")
        with np.errstate(over="ignore", invalid="ignore"):
            weight = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            if not np.isfinite(weight[:1]).all():  # one number for all rows is not checked there
                raise ValueError("Input sample_weight contains NaN or infinity.")
            # Contiguous and writable, as compiled code takes it.
            return np.require(weight, requirements=["C", "W"])
    except (TypeError, ValueError, OverflowError) as error:
        if "weight" in str(error):
            raise
        raise ValueError(f"sample_weight must have a number for each row: {error}.") from error


def in_usual_units(weight: Any) -> Any:
    """Non-negative weights, by a power of 2 if their sums or products could overflow or vanish."""
    top = float(np.max(np.asarray(weight), initial=0.0))
    if SMALL_TOP <= top <= LARGE_TOP or not 0 < top < np.inf:
        return weight
    # Not by one factor, which may be beyond the range of floats.
    return np.ldexp(weight, 1 - int(np.frexp(top)[1]))


def check_usual_units(weight: np.ndarray) -> None:
    """ValueError for weights that `in_usual_units` divides, where those of several calls add up."""
    if in_usual_units(weight) is not weight:
        raise ValueError(
            "The largest sample_weight must be between 2**-400 and 2**400, where weights of "
            "several chunks or calls are added; divide all weights by the same number."
        )


def normalised_weights(sample_weight: np.ndarray | None, n: int) -> np.ndarray:
    """Weights that sum to 1; divided by the largest first, so that 1e300 does not overflow."""
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    top = np.max(sample_weight)
    if not top > 0:
        raise ValueError("sample_weight must be positive for at least one row.")
    weight = sample_weight / top
    return weight / weight.sum()


def effective_size(weight: np.ndarray) -> float:
    """Kish's number of rows, (sum w)² / sum w², in any unit of the weights; 0 if all are 0."""
    # In units of the largest weight, whose square may vanish.
    top = weight.max(initial=0.0)
    w = weight / top if top > 0 else weight
    return float(w.sum() ** 2 / (w @ w)) if top > 0 else 0.0


def number_of_rows(weight: np.ndarray) -> float:
    """The number n of rows for rules that need one: the same in any unit of positive weights.

    Weights that are whole multiples of the smallest count copies of rows, and n is their number.
    For others it is Kish's.
    """
    counts = weight / weight.min()
    whole = np.rint(counts)
    if (np.abs(counts - whole) <= 1e-9 * counts).all():
        return float(whole.sum())
    return effective_size(weight)


def positive_rows(weight: np.ndarray) -> slice | np.ndarray:
    """The rows of positive weight: ``slice(None)`` for all of them, or an index array."""
    positive = weight > 0
    return slice(None) if positive.all() else np.flatnonzero(positive)


# --- weights of classes ---------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelTotals:
    """The labels of rows, in increasing order, and the total weight of each; they add up."""

    labels: np.ndarray
    totals: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray | None) -> "LabelTotals":
        labels, codes = np.unique(y, return_inverse=True)
        return cls(labels, np.bincount(codes.reshape(-1), weight, len(labels)).astype(float))

    def __add__(self, other: "LabelTotals") -> "LabelTotals":
        check_same_kind(self.labels, other.labels)
        both = [np.concatenate(pair) for pair in zip(astuple(self), astuple(other))]
        return LabelTotals.of(*both)

    def factors(self, class_weight: dict | str) -> np.ndarray:
        """What the weights of the rows of each label are multiplied by."""
        occurs = self.totals > 0
        if isinstance(class_weight, str):
            mean = self.totals.sum() / max(occurs.sum(), 1)
            return np.divide(mean, self.totals, out=np.zeros(len(occurs)), where=occurs)
        try:
            found = compute_class_weight(class_weight, classes=self.labels, y=self.labels)
        except (TypeError, ValueError) as error:
            if "class_weight" in str(error):
                raise
            raise ValueError(f"class_weight must have a number for each label: {error}.") from error
        if not (np.isfinite(found).all() and found.min() >= 0 and found[occurs].any()):
            raise ValueError(
                "class_weight must not be negative or infinite, and be positive for a class of y; "
                f"got {class_weight!r}."
            )
        return in_usual_units(found)

    def of_rows(self, y: np.ndarray, factors: np.ndarray) -> np.ndarray:
        return factors[np.searchsorted(self.labels, y)]


def weights_of_codes(class_weight: dict | str, labels: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The weight of the class of each row, from its position among the labels."""
    totals = LabelTotals(labels, np.bincount(codes, minlength=len(labels)))
    return totals.factors(class_weight)[codes]


def weights_with_classes(
    class_weight: dict | list | str, X: Any, y: Any, sample_weight: ArrayLike | None
) -> np.ndarray:
    """`sample_weight` times the weight of the class of each row.

    With "balanced" all classes have the same total weight. For several columns of y, a list of a
    dict for each, the weights of a row are multiplied over the columns.
    """
    y = np.asarray(y)
    several = y.ndim == 2 and y.shape[1] > 1
    if several and isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight is one dict, and y has {y.shape[1]} columns; an estimator that takes "
            "several columns needs a list with a dict for each of them."
        )
    y = y if several else column_or_1d(y)
    check_consistent_length(X, y)
    check_classification_targets(y)
    given = None if sample_weight is None else in_usual_units(checked_weights(sample_weight, X))
    columns = list(y.T) if several else [y]
    by_column = class_weight if isinstance(class_weight, list) else [class_weight] * len(columns)
    if len(by_column) != len(columns):
        raise ValueError(
            f"class_weight has weights for {len(by_column)} outputs, and y has {len(columns)} "
            "outputs; give a list with a dict for each of them."
        )
    weight = np.ones(len(y))
    for column, weights in zip(columns, by_column):
        totals = LabelTotals.of(column, given)
        weight = weight * totals.of_rows(column, totals.factors(weights))
    return weight if given is None else weight * given


# --- groups of rows -------------------------------------------------------------------------------


def checked_groups(groups: ArrayLike | None, X: Any) -> np.ndarray | None:
    """One label for each row of X, none missing, or an error; None where no groups are given."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.ndim != 1:
        given = f"shape {labels.shape}" if labels.ndim else f"{groups!r:.100}"
        raise ValueError(f"groups must have one dimension, a label for each row; got {given}.")
    try:
        check_consistent_length(X, labels)
    except ValueError as error:
        raise ValueError(f"groups must have a label for each row: {error}") from error
    try:
        known = labels.tolist() if labels.dtype.kind in ("f", "O") else []
        if any(label is None or bool(label != label) for label in known):
            raise ValueError("groups must not contain missing values.")
        _refuse_sets("groups", set(map(type, known)))
        np.unique(labels)
    except TypeError as error:
        raise ValueError(f"groups must be labels that can be compared: {error}.") from error
    return labels


def group_codes(groups: ArrayLike, X: Any) -> np.ndarray:
    """The groups of the rows of X as codes 0 ... G-1."""
    labels = cast(np.ndarray, checked_groups(groups, X))
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


# --- data frames, which base learners may get as they are -----------------------------------------


def rows_of(X: Any, rows: slice | np.ndarray) -> Any:
    """Rows of an array, a sparse matrix, a data frame or a list."""
    if isinstance(X, np.ndarray) or issparse(X):
        return X[rows]
    if isinstance(rows, slice):
        rows = np.arange(X.shape[0])[rows]
    return safe_indexing(X, rows)


def columns_of(X: Any, columns: np.ndarray) -> Any:
    """Columns of an array, a sparse matrix or a data frame, whose names are kept."""
    return safe_indexing(X, columns, axis=1) if is_frame(X) else X[:, columns]


@contextmanager
def names_checked(fitted_to_frames: bool, X: Any) -> Iterator[None]:
    """No warning of each member that X has no names, where the ensemble has given it."""
    if not fitted_to_frames or is_frame(X):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield


# --- rows in blocks -------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowChecks:
    """What the rows must be, and how they become arrays.

    - takes_categories: the estimator has `categorical_features`, which messages name.
    - allow_nan: X may have missing values.
    - multi_output: y may have several columns.
    - encode: makes numbers of X before the checks.
    - classes: the labels, in increasing order: y becomes their numbers.
    - weight_unit: what weights are divided by.
    - equal_weights: all positive weights are the same: chunks then have none.
    - first_rows: the number of the first row of each chunk.
    """

    n_features: int
    is_classifier: bool
    takes_categories: bool = False
    allow_nan: bool = False
    multi_output: bool = False
    encode: Callable[[Any], Any] | None = None
    classes: np.ndarray | None = None
    weight_unit: float = 1.0
    equal_weights: bool = False
    first_rows: Mapping[int, int] = field(default_factory=dict)

    def knowing(self, **facts: Any) -> "RowChecks":
        """The same checks, with what an earlier pass over the rows has found."""
        return replace(self, **facts)

    def __call__(self, number: int, X: Any, y: Any, weight: Any) -> Rows | None:
        """The rows of positive weight, None if there are none; errors name the chunk."""
        try:
            return self._checked(number, X, y, weight)
        except (TypeError, ValueError) as error:
            raise reworded(error, f"{error} (in chunk {number} of the rows)") from error

    def _checked(self, number, X, y, weight):
        check_consistent_length(X, y, weight)
        if issparse(X):
            raise TypeError(
                "X has a sparse chunk, and this estimator takes dense chunks from Dask "
                "collections: use X.map_blocks(lambda chunk: chunk.toarray(), dtype=X.dtype), or "
                "a sparse X in memory"
            )
        if len(X) == 0:
            return None
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features, but {self.n_features} in its metadata.")
        X = self._numbers(X)
        y = self._target(y)
        if weight is not None:
            if not np.any(np.asarray(weight)):
                return None
            weight = checked_weights(weight, X)
            check_usual_units(weight)
            positive = positive_rows(weight)
            X, y, weight = X[positive], y[positive], weight[positive] / self.weight_unit
        if self.classes is not None:
            y = self._class_numbers(y)
        first = self.first_rows.get(number, 0)
        numbers = range(first, first + len(X))
        return Rows(X, y, None if self.equal_weights else weight, numbers, block=number)

    def _numbers(self, X):
        refuse_unread(X)
        if self.encode is not None:
            X = self.encode(X)
        with (
            np.errstate(over="ignore", invalid="ignore"),
            naming_columns(X, self.takes_categories),
            naming_not_finite(X, self.allow_nan),
        ):
            return check_array(
                X,
                dtype=(np.float64, np.float32),
                ensure_all_finite="allow-nan" if self.allow_nan else True,
                input_name="X",
            )

    def _target(self, y):
        y = checked_target(y if issparse(y) else np.asarray(y), is_real=not self.is_classifier)
        y = check_array(
            y,
            ensure_2d=False,
            dtype=None if self.is_classifier else np.float64,
            input_name="y",
        )
        if y.ndim == 2 and y.shape[1] > 1 and not self.multi_output:
            raise ValueError(
                f"y has {y.shape[1]} columns, and only one is fitted from Dask collections here: "
                "fit a model to each; where the estimator takes several targets, it needs them in "
                "memory (X.compute(), y.compute())."
            )
        if not (self.multi_output and y.ndim == 2):
            y = column_or_1d(y)
        return y

    def _class_numbers(self, y):
        number = np.searchsorted(self.classes, y)
        known = self.classes.take(np.minimum(number, len(self.classes) - 1))
        if not np.array_equal(known, y):
            unknown = np.unique(y[known != y]).tolist()
            raise ValueError(f"y has labels that are not in classes: {unknown}.")
        return number


class MemoryRows:
    """Rows that `fit` has checked, as one block, or what a view has made of them.

    A sum is the function's result itself: nothing is copied or added, and the bits are those of the
    algorithm without blocks.
    """

    is_in_memory = True

    def __init__(self, block: Any, n_features: int) -> None:
        self.block, self.n_features = block, n_features

    def knowing(self, **facts: Any) -> "MemoryRows":
        """The same rows: whatever an algorithm tells the checks, `fit` knew."""
        return self

    def view(self, function: Callable[..., Any], *args: Any) -> "MemoryRows":
        """`function(block, *args)` as the block, made now and kept."""
        return MemoryRows(function(self.block, *args), self.n_features)

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return [function(self.block, *args)]

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        return function(self.block, *args)


class ChunkedRows:
    """Rows of a Dask collection or of batches, a block for each, checked where they are.

    `given` are blocks (number, X, y, weight), and `meta` is like X, without rows. `views` are pairs
    (function, arguments) that a block goes through between its checks and the functions that read
    it.
    """

    is_in_memory = False

    def __init__(
        self,
        given: GivenBlocks,
        checks: RowChecks,
        meta: Any,
        has_weights: bool = False,
        views: tuple = (),
    ) -> None:
        self.given, self.checks, self.meta, self.has_weights = given, checks, meta, has_weights
        self.n_features, self.views = checks.n_features, views

    def knowing(self, **facts: Any) -> "ChunkedRows":
        """The same rows, with what an earlier pass over them has found."""
        checks = self.checks.knowing(**facts)
        return ChunkedRows(self.given, checks, self.meta, self.has_weights, self.views)

    def view(self, function: Callable[..., Any], *args: Any) -> "ChunkedRows":
        """Rows of which every reader gets `function(block, *args)` instead of the block.

        It is made at every read, where the chunk is, because all rows may be more than memory
        holds; `map` is for what is small enough to keep.
        """
        views = (*self.views, (function, args))
        return ChunkedRows(self.given, self.checks, self.meta, self.has_weights, views)

    def map(self, function: Callable[..., Any], *args: Any) -> GivenBlocks:
        """`function(block, *args)` of each block, kept where it is computed."""
        return self.given.map(of_checked, self.checks, self.views, function, *args)

    def each(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """`function(block, *args)`, which should be small; None for chunks without rows."""
        return self.given.each(of_checked, self.checks, self.views, function, *args)

    def sum(self, function: Callable[..., Any], *args: Any) -> Any:
        """The sum of `function(block, *args)` over the blocks, by ``+`` in a fixed order."""
        total = self.given.sum(of_checked, self.checks, self.views, function, *args)
        if total is None:
            raise ValueError("X has no rows of positive weight.")
        return total


BlockedRows = MemoryRows | ChunkedRows


def of_checked(
    given: tuple[int, Any, Any, Any],
    checks: RowChecks,
    views: tuple,
    function: Callable[..., Any],
    *args: Any,
) -> Any:
    """`function(block, *args)` of a chunk as it was given; None if it has no rows."""
    block = checks(*given)
    if block is None:
        return None
    for view, known in views:
        block = view(block, *known)
    return function(block, *args)
