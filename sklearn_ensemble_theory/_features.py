"""The columns of X as a user knows them: by name, in parameters and in messages.

All estimators read `monotonic_cst`, `interaction_cst` and `categorical_features` here, so that a
dict of names, a list of names, a mask and an array mean the same everywhere, and are refused in the
same words.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeGuard, cast

import numpy as np
from scipy.sparse import issparse

from sklearn_ensemble_theory._compat import check_constraints
from sklearn_ensemble_theory._typing import Estimator, Fitted

_MOST_ON_A_PATH = {"pairwise": 2, "no_interactions": 1}


@dataclass(frozen=True, eq=False)
class Interactions:
    """Which features may be cut on one path of a tree: those of a group (G, p), at most `most`."""

    groups: np.ndarray
    most: int

    def allowed(self, path: frozenset[int]) -> np.ndarray:
        """The features (p,) that may follow on this path: of the groups with all of it. O(G p)."""
        on_path = sorted(path)
        allowed = np.any(self.groups[np.all(self.groups[:, on_path], axis=1)], axis=0)
        if len(path) >= self.most:
            allowed[np.setdiff1d(np.arange(len(allowed)), on_path)] = False
        return allowed

    def words(self) -> np.ndarray:
        """The groups as sets of bits, a uint64 array of shape (G, ceil(p / 64))."""
        n_bytes = -(-self.groups.shape[1] // 64) * 8
        packed = np.zeros((len(self.groups), n_bytes), dtype=np.uint8)
        bits = np.packbits(self.groups, axis=1, bitorder="little")
        packed[:, : bits.shape[1]] = bits
        return packed.view("<u8").astype(np.uint64)


class CategoryOptions:
    """Base of `Categories`: the options that a value of `categorical_features` may hold."""

    columns: Any
    unseen: str = "missing"

    @staticmethod
    def of(categorical_features: Any) -> "CategoryOptions":
        """Return the checked options for a value of `categorical_features`."""
        if isinstance(categorical_features, CategoryOptions):
            check_constraints(cast(Estimator, categorical_features))
            return categorical_features
        found = CategoryOptions()
        found.columns = categorical_features
        return found


@dataclass(frozen=True)
class Features:
    """The number of columns, and their names if X is a data frame whose columns have names."""

    n: int
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: Any) -> "Features":
        """The columns of data that need not be checked yet."""
        if not is_frame(X):
            return cls(X.shape[1] if len(getattr(X, "shape", ())) == 2 else 0)
        named = all(isinstance(name, str) for name in X.columns)
        return cls(len(X.columns), tuple(X.columns) if named else None)

    @classmethod
    def known_to(cls, estimator: Fitted, n: int | None = None) -> "Features":
        """The columns that an estimator was fitted to, or `n` columns without names."""
        names = getattr(estimator, "feature_names_in_", None)
        n = estimator.n_features_in_ if n is None else n
        return cls(n, None if names is None or len(names) != n else tuple(map(str, names)))

    def label(self, j: int) -> str:
        """What messages call a column: its name in quotes, or its number."""
        return str(j) if self.names is None else repr(self.names[j])

    def labels(self, *pair: int) -> str:
        return f"({', '.join(map(self.label, pair))})"

    def number(self, name: Any, parameter: str) -> int:
        """The number of a column that `parameter` names."""
        if self.names is None:
            raise ValueError(
                f"{parameter} has names, but X has no feature names; give numbers of columns, or X "
                "as a data frame."
            )
        if name not in self.names:
            known = ", ".join(map(repr, self.names[:20])) + ", ..." * (self.n > 20)
            raise ValueError(
                f"{parameter} has the name {_plain(name)!r}, which is no feature of X. These are "
                f"{known}."
            )
        return self.names.index(name)

    def place(self, one: Any, parameter: str) -> int:
        """The number of a column that `parameter` gives by its name or its number."""
        if isinstance(one, str):
            return self.number(one, parameter)
        if not isinstance(one, (int, np.integer)) or isinstance(one, bool):
            raise ValueError(f"{parameter} has {_plain(one)!r}, which is no feature.")
        if not 0 <= one < self.n:
            raise ValueError(
                f"{parameter} has the index {int(one)}, but X has {self.n} features: 0 to "
                f"{self.n - 1}."
            )
        return int(one)

    def signs(self, monotonic_cst: Any, n_classes: int = 0) -> np.ndarray | None:
        """`monotonic_cst` as n signs -1, 0 and 1; None if no column has a constraint."""
        if monotonic_cst is None:
            return None
        given = monotonic_cst
        if isinstance(given, Mapping):
            if self.names is None:
                raise ValueError(
                    "monotonic_cst is a dict, but X has no feature names; give an array-like with "
                    "a sign for each column, or X as a data frame."
                )
            by_number = {self.number(name, "monotonic_cst"): sign for name, sign in given.items()}
            given = [by_number.get(j, 0) for j in range(self.n)]
        signs = np.asarray(given, dtype=object)  # as numbers or text would make text of all
        if signs.shape != (self.n,):
            raise ValueError(
                f"monotonic_cst has the shape {signs.shape}, but X has {self.n} features."
            )
        wrong = np.flatnonzero(~np.isin(signs, (-1, 0, 1)))
        if len(wrong):
            raise ValueError(
                "monotonic_cst must have the entries -1, 0 and 1 only; got "
                f"{_plain(signs[wrong[0]])!r} for feature {self.label(wrong[0])}."
            )
        if not signs.any():
            return None
        if n_classes > 2:
            raise ValueError(
                "monotonic_cst is possible for two classes only, where it constrains the "
                f"probability of the second; y has {n_classes} classes."
            )
        # Not int8, of which scikit-learn's classification trees turn the signs in place.
        return signs.astype(np.int64)

    def groups(self, interaction_cst: Any) -> list[list[int]]:
        """The groups, none of them empty, as numbers of columns in increasing order."""
        kinds = "'pairwise', 'no_interactions', or a sequence of lists, tuples or sets of features"
        if not _is_group(interaction_cst):
            raise ValueError(f"interaction_cst must be {kinds}; got {interaction_cst!r}.")
        found = []
        for k, group in enumerate(interaction_cst):
            if not _is_group(group):
                raise ValueError(
                    f"interaction_cst must be {kinds}; its group {k} is {_plain(group)!r}."
                )
            members = set()
            for one in group:
                if isinstance(one, str):
                    members.add(self.number(one, "interaction_cst"))
                elif not isinstance(one, (int, np.integer)) or isinstance(one, bool):
                    raise ValueError(
                        "interaction_cst must have indices or names of features; got "
                        f"{_plain(one)!r} in group {k}."
                    )
                elif not 0 <= one < self.n:
                    raise ValueError(
                        f"interaction_cst has the index {int(one)} in group {k}, but X has "
                        f"{self.n} features: 0 to {self.n - 1}."
                    )
                else:
                    members.add(int(one))
            if not members:
                raise ValueError(f"interaction_cst has no feature in group {k}.")
            found.append(sorted(members))
        return found

    def interactions(self, interaction_cst: Any) -> Interactions | None:
        """`interaction_cst` as groups that have all features; None where nothing is excluded."""
        if interaction_cst is None:
            return None
        most, groups = self.n, np.ones((1, self.n), dtype=bool)
        if isinstance(interaction_cst, str) and interaction_cst in _MOST_ON_A_PATH:
            # Not all p (p - 1) / 2 pairs, but any features, and two of them at most.
            most = _MOST_ON_A_PATH[interaction_cst]
        else:
            given = self.groups(interaction_cst)
            groups = np.zeros((len(given) + 1, self.n), dtype=bool)
            for row, members in zip(groups, given):
                row[members] = True
            groups[-1] = ~groups[:-1].any(axis=0)
            groups = np.unique(groups[groups.any(axis=1)], axis=0)
        if most >= self.n and groups.all(axis=1).any():
            return None
        return Interactions(groups, most)

    def flags(self, categorical_features: Any, X: Any) -> np.ndarray:
        """Which columns `categorical_features` declares; "from_dtype" reads the dtypes of X."""
        flags, given = (
            np.zeros(self.n, dtype=bool),
            CategoryOptions.of(categorical_features).columns,
        )
        kinds = "'from_dtype', None, or an array-like of bool, int or str"
        if given is None:
            return flags
        if isinstance(given, str):
            if given != "from_dtype":
                raise ValueError(f"categorical_features must be {kinds}; got {given!r}.")
            for j, dtype in enumerate(X.dtypes if is_frame(X) else ()):
                flags[j] = str(dtype).split("(")[0] in ("category", "Categorical", "Enum")
            return flags
        try:
            given = np.asarray(given)
        except ValueError:  # lists of different lengths
            raise ValueError(f"categorical_features must be {kinds}; got {given!r}.") from None
        if given.ndim != 1:
            raise ValueError("categorical_features must have one dimension.")
        if given.size == 0:
            return flags
        if given.dtype.kind == "b":
            if len(given) != self.n:
                raise ValueError(
                    f"categorical_features has {len(given)} entries, but X has {self.n} features."
                )
            return given
        if given.dtype.kind in "iu":
            if given.min() < -self.n or given.max() >= self.n:
                raise ValueError(
                    f"categorical_features has indices out of bounds for {self.n} features."
                )
            flags[given] = True
            return flags
        if given.dtype.kind not in "UO":
            raise ValueError(f"categorical_features must be {kinds}.")
        for name in given.tolist():
            flags[self.number(name, "categorical_features")] = True
        return flags


def _is_group(given: Any) -> TypeGuard[Collection[Any]]:
    if getattr(given, "ndim", 1) == 0:  # an array of no dimension is a collection by its type only
        return False
    return isinstance(given, Collection) and not isinstance(given, (str, Mapping))


def feature_names(estimator: Fitted) -> list[str]:
    """What tables and figures call the columns of the fit: x0, x1, ... if they have no names."""
    features = Features.known_to(estimator)
    return list(features.names or (f"x{j}" for j in range(features.n)))


def constraints_by_number(
    estimator: Estimator, owner: Any, X: Any, continued: bool
) -> dict[str, Any]:
    """The constraints by names of columns of `owner`, the estimator or its base learner, by number.

    The names are those of X, or of the rows before that a fit continues: a base learner may see the
    columns without them.
    """
    params = getattr(owner, "__dict__", {})
    signs, groups = params.get("monotonic_cst"), params.get("interaction_cst")
    of_names = _is_group(groups) and [group for group in groups if _is_group(group)]
    has_names = of_names and any(isinstance(one, str) for group in of_names for one in group)
    if not has_names and not isinstance(signs, Mapping):
        return {}
    known = continued and hasattr(estimator, "n_features_in_")
    features = Features.known_to(cast(Fitted, estimator)) if known else Features.of(X)
    found: dict[str, Any] = {}
    if isinstance(signs, Mapping):
        found["monotonic_cst"] = features.signs(signs)
    if has_names:
        found["interaction_cst"] = features.groups(groups)
    return found


def constraints_of_columns(estimator: Estimator, columns: np.ndarray, p: int) -> dict[str, Any]:
    """The constraints of an estimator of p columns, for some of these by their places."""
    params, features = vars(estimator), Features(p)
    found: dict[str, Any] = {}
    signs = features.signs(params.get("monotonic_cst"))
    if signs is not None:
        found["monotonic_cst"] = signs[columns]
    groups = params.get("interaction_cst")
    if groups is not None and not isinstance(groups, str):
        places = [np.flatnonzero(np.isin(columns, group)) for group in features.groups(groups)]
        found["interaction_cst"] = [group.tolist() for group in places if len(group)]
    return found


# --- columns that are no numbers ------------------------------------------------------------------

# What NumPy, Python and pandas say of them.
_CONVERSIONS = (
    "could not convert",
    "argument must be a string or a real number",
    "value of NA is ambiguous",
    "could not be promoted",
    "Cannot cast",
    "array element with a sequence",
    "format must be 2D",
    "not compatible with arrays of bytes/strings",
)


_NAMED = "X must hold numbers."
_OF_DATES = (
    "make numbers of them, for example the days or seconds since a fixed date, the day of the year "
    "and the weekday, in columns of their own"
)

# The common forms of a date with four digits of the year, and of a time after it. Where several fit
# all values of a column, the first is meant.
DATE_FORMS = (
    *("%Y-%m-%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d"),
    *("%Y.%m.%d", "%d %b %Y", "%d-%b-%Y", "%d %B %Y", "%b %d %Y", "%b %d, %Y", "%B %d %Y"),
    *("%B %d, %Y", "%a, %d %b %Y"),
)
TIME_FORMS = (
    *("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%H:%M:%S,%f"),
    *("%I:%M %p", "%I:%M%p", "%I:%M:%S %p", "%I:%M:%S%p"),
)
_LETTERS = {"Y": r"\d{4}", "f": r"\d+", "p": "[ap]m"}
_LETTERS |= {"a": "[a-z]{3}", "b": "[a-z]{3}", "B": "[a-z]+"}


def _pattern(forms: tuple[str, ...]) -> str:
    """The regular expression of texts that have one of the forms, of any numbers and names."""
    escaped = "|".join(map(re.escape, forms))
    return re.sub("%(.)", lambda letter: _LETTERS.get(letter[1], r"\d\d?"), escaped)


DATE_TEXT = re.compile(
    rf"\s*(?P<day>{_pattern(DATE_FORMS)})"
    rf"((T|,?\s+)({_pattern(TIME_FORMS)})\s*(Z|UTC|GMT|[+-]\d\d(:?\d\d)?)?)?\s*",
    re.IGNORECASE,
)


def has_form(text: str, form: str) -> bool:
    """Whether a text is a date, or a time, of this form."""
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def _reads_as_date(text: str) -> bool:
    """Whether a text is a date in one of the common forms, with or without a time."""
    found = DATE_TEXT.fullmatch(text)
    return found is not None and any(has_form(found["day"], form) for form in DATE_FORMS)


@contextmanager
def naming_columns(
    X: Any, takes_categories: bool = False, only: int | None = None
) -> Iterator[None]:
    """An error of a conversion of X, or of its column `only`, names the column and the cure."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        if str(error).startswith(_NAMED):  # which a context within this one has named
            raise
        is_large = isinstance(error, OverflowError)
        if not is_large and not any(words in str(error) for words in _CONVERSIONS):
            raise
        found = _first_wrong(X, takes_categories, only)
        if found is None and not is_large:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(found or "X has an integer that is too large for a float64.") from None


@contextmanager
def naming_not_finite(X: Any, allow_nan: bool) -> Iterator[None]:
    """scikit-learn's error of missing or infinite values names their first column, and the cure."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        if not text.startswith("Input X contains"):
            raise
        is_nan, features = text.startswith("Input X contains NaN"), Features.of(X)
        for j, column in enumerate(columns_of(X)):
            values = np.asarray(column, dtype=np.float64)
            if np.isnan(values).any() if is_nan else np.isinf(values).any():
                cure = "replace infinite values" + ", or make them missing" * allow_nan
                if is_nan:
                    cure = (
                        "impute missing values, for example by X.fillna of a Dask data frame, or "
                        "use an estimator that takes them"
                    )
                first = text.split("\n")[0].rstrip(".")
                raise ValueError(f"{first}, in feature {features.label(j)}; {cure}.") from None
        raise


def _first_wrong(X: Any, takes_categories: bool, only: int | None) -> str | None:
    """What is wrong with the first column that is no numbers, and what to do."""
    if issparse(X) and X.ndim == 2:
        return None
    if not is_frame(X):
        name = type(X).__name__
        try:
            X = np.asarray(X, dtype=object if isinstance(X, (list, tuple)) else None)
        except ValueError:  # rows of different lengths
            return None
        if X.ndim != 2:  # NumPy takes a set, a generator or a lazy frame as one object
            return f"X must be an array, a frame or a sparse matrix of two dimensions; got {name}."
    features = Features.of(X)
    for j in range(features.n) if only is None else [only]:
        column, label = column_of(X, j), features.label(j)
        if getattr(column.dtype, "kind", "O") in "fiub":  # also with pandas' NA
            continue
        for value in column.to_list() if hasattr(column, "to_list") else column.tolist():
            try:
                float(0.0 if value is None else value)
            except OverflowError:
                return f"X has an integer that is too large for a float64, in feature {label}."
            except (TypeError, ValueError) as wrong:
                if isinstance(value, str) and _reads_as_date(value):
                    parse = "pd.to_datetime"
                    if is_frame(X) and not hasattr(X, "iloc"):
                        parse = "polars' str.to_datetime"
                    return (
                        f"{_NAMED} Feature {label} holds dates as text, such as {value!r}; read "
                        f"them by {parse} and {_OF_DATES}."
                    )
                if isinstance(value, date):
                    return f"{_NAMED} Feature {label} has dates or times; {_OF_DATES}."
                cure = "make numbers of it"
                if isinstance(value, str) and takes_categories:
                    cure = "name it in categorical_features, or give it a categorical dtype"
                    if features.flags("from_dtype", X)[j]:  # which is not asked for its categories
                        cure = (
                            "its dtype is categorical, which needs categorical_features other "
                            "than None and, in trees, max_bins other than None and ccp_alpha=0"
                        )
                elif isinstance(value, str):
                    cure += ", for example by OneHotEncoder or TargetEncoder of scikit-learn"
                return f"{_NAMED} Feature {label}: {wrong}; {cure}."
    return None


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars data frame; one that is lazy has no shape."""
    if not (hasattr(X, "shape") and hasattr(X, "columns")):
        return False
    return hasattr(type(X), "dtypes") or hasattr(X, "dtypes")  # the first makes no series of pandas


def column_of(X: Any, j: int) -> Any:
    """A column of an array, a CSC matrix, or a data frame of pandas or polars."""
    if issparse(X):
        return X[:, [j]].toarray()[:, 0]
    if not is_frame(X):
        return X[:, j]
    return X.iloc[:, j] if hasattr(X, "iloc") else X.to_series(j)


def columns_of(X: Any) -> Iterator[Any]:
    """All columns, faster than one by one in a data frame of pandas or polars."""
    if is_frame(X) and hasattr(X, "items"):
        return (column for _, column in X.items())
    if is_frame(X) and hasattr(X, "iter_columns"):
        return X.iter_columns()
    return (column_of(X, j) for j in range(X.shape[1]))


def columns_of_text(X: Any, columns: Iterable[int]) -> list[int]:
    """Which of these columns of a frame hold text; text that is a date counts as none."""
    found, asked = [], set(columns)
    for j, column in enumerate(columns_of(X)):
        if j not in asked:
            continue
        if getattr(column.dtype, "kind", "O") in "fiubmM" or _is_numeric_of_polars(column.dtype):
            continue
        texts = (value for value in column.to_list() if isinstance(value, str))
        first = next((text for text in texts if not _is_number(text)), None)
        if first is not None and not _reads_as_date(first):
            found.append(j)
    return found


def _is_numeric_of_polars(dtype: Any) -> bool:
    return bool(getattr(dtype, "is_numeric", bool)())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _plain(value: Any) -> Any:
    """A scalar of NumPy as Python's, which messages show without its type."""
    return value.item() if isinstance(value, np.generic) else value


def refuse_unread(X: Any, *, as_frame: bool = False) -> None:
    """TypeError for rows that are not in memory, and for dates, whose numbers depend on their unit.

    A missing date would be the least integer. Dates that a base learner gets as they are are the
    learner's. Of polars' lazy frame older releases of scikit-learn would warn first.
    """
    if hasattr(type(X), "__dask_graph__"):
        raise TypeError(
            "X is a Dask collection; call .compute() on it if the rows fit into memory."
        )
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X is a LazyFrame; call .collect() on it if the rows fit into memory.")
    for name, dtype in zip(X.columns, X.dtypes) if is_frame(X) and not as_frame else ():
        if getattr(dtype, "kind", "") in ("M", "m") or getattr(dtype, "is_temporal", bool)():
            raise TypeError(f"Feature {name!r} has dates or times; {_OF_DATES}.")
    if not as_frame and getattr(getattr(X, "dtype", None), "kind", "") in ("M", "m"):
        raise TypeError(f"X has dates or times; {_OF_DATES}.")
