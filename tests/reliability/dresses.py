"""Other types that hold the same values: Decimals, records, nullable columns, members of enums.

A call with an argument in such a dress is refused by name, or has the result of the plain call.
"""

import array
import enum
from collections import deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
from scipy import sparse

try:
    import pyarrow as pa
except ImportError:  # whoever has it runs these dresses too
    pa = None


class TextOfAUser(str):
    """A text of a class of its own."""


class IntegerOfAUser(int):
    """An integer of a class of its own."""


class NumberOfAUser(float):
    """A number of a class of its own."""


class ArrayOfAUser(np.ndarray):
    """An array of a class of its own."""


class FrameOfAUser(pd.DataFrame):
    """A frame of a class of its own, as GeoPandas has one."""

    @property
    def _constructor(self):
        return FrameOfAUser


class Convertible:
    """No array, but NumPy makes one of it."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


class Indexed:
    """A number that NumPy and `range` take for an integer."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def objects(values, kind):
    """The values as objects of this type."""
    values = np.asarray(values)
    out = np.empty(values.shape, dtype=object)
    out.flat[:] = [kind(one) for one in values.ravel().tolist()]
    return out


def reversed_twice(values):
    """The values with negative strides."""
    every = (slice(None, None, -1),) * np.ndim(values)
    return np.asarray(values)[every].copy()[every]


def unaligned(values):
    """The values at odd addresses."""
    values = np.asarray(values)
    room = np.zeros(values.nbytes + 1, dtype=np.uint8)[1:]
    room[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    return room.view(values.dtype).reshape(values.shape)


def read_only(values):
    values = np.array(values)
    values.setflags(write=False)
    return values


def with_structure(values):
    """Fields of a structured array, one for each column."""
    values = np.asarray(values, dtype=float)
    columns = values.reshape(len(values), -1)
    dtype = [(f"f{j}", float) for j in range(columns.shape[1])]
    return np.array([tuple(row) for row in columns.tolist()], dtype=dtype)


def bytes_of(one):
    return str(one).encode()


def arrow(values):
    """A frame or series with the types of Arrow."""
    values = np.asarray(values)
    kind = pd.ArrowDtype(pa.from_numpy_dtype(values.dtype))
    return (pd.DataFrame if values.ndim == 2 else pd.Series)(values).astype(kind)


def labelled(values, **labels):
    return pd.DataFrame(np.asarray(values), **labels)


def p(values):
    return np.asarray(values).shape[1]


# --- rows -----------------------------------------------------------------------------------------

# Of (n, p) numbers.
OF_ROWS = {
    "objects of Decimal": lambda X: objects(X, Decimal),
    "objects of Fraction": lambda X: objects(X, Fraction),
    "objects of NumPy's numbers": lambda X: objects(X, np.float64),
    "objects of arrays": lambda X: objects(X, np.array),
    "frame of Decimal": lambda X: labelled(objects(X, Decimal)),
    "numbers of a class of its own": lambda X: objects(X, NumberOfAUser),
    "complex, no imaginary part": lambda X: np.asarray(X) + 0j,
    "negative strides": reversed_twice,
    "read-only, Fortran": lambda X: read_only(np.asfortranarray(X)).T.T,
    "unaligned": unaligned,
    "masked, none": lambda X: np.ma.masked_array(X, np.zeros(np.shape(X), dtype=bool)),
    "array of a class of its own": lambda X: np.array(X).view(ArrayOfAUser),
    "matrix": lambda X: np.array(X).view(np.matrix),
    "structured": with_structure,
    "bytes": lambda X: np.asarray(X).astype(bytes),
    "text of NumPy": lambda X: np.asarray(X).astype("T"),
    "memoryview": lambda X: memoryview(np.ascontiguousarray(X)),
    "convertible": lambda X: Convertible(X),
    "tuple of arrays": lambda X: tuple(np.asarray(X)),
    "list of series": lambda X: [pd.Series(row) for row in np.asarray(X)],
    "list of arrays of Python": lambda X: [array.array("d", row) for row in np.asarray(X).tolist()],
    "deque": lambda X: deque(np.asarray(X).tolist()),
    "range of rows": lambda X: map(list, np.asarray(X).tolist()),
    "frame of Arrow": arrow,
    "frame of Arrow's text": lambda X: labelled(X).astype(str).astype("string[pyarrow]"),
    "table of Arrow": lambda X: pa.table(labelled(X).add_prefix("x")),
    "frame of a class of its own": lambda X: FrameOfAUser(np.asarray(X)),
    "frame, twice an index": lambda X: labelled(X, index=np.zeros(len(X), dtype=int)),
    "frame, two levels of names": lambda X: labelled(
        X, columns=pd.MultiIndex.from_tuples([("a", j) for j in range(p(X))])
    ),
    "frame, names of several types": lambda X: labelled(X, columns=[*("a", 1, 2.5) * p(X)][: p(X)]),
    "frame, a missing name": lambda X: labelled(X, columns=[np.nan, *range(p(X) - 1)]),
    "frame, dates as names": lambda X: labelled(
        X, columns=pd.date_range("2020-01-01", periods=p(X))
    ),
    "frame, twice a name": lambda X: labelled(X, columns=["a"] * p(X)),
    "frame of two types": lambda X: labelled(X).astype({0: "Float64"}),
    "frame of Categorical numbers": lambda X: labelled(X).assign(c=1).iloc[:, : p(X)],
    "sparse, lists": lambda X: sparse.lil_array(X),
    "sparse, keys": lambda X: sparse.dok_array(X),
    "sparse, diagonals": lambda X: sparse.dia_array(X),
    "sparse, blocks": lambda X: sparse.bsr_array(X),
    "sparse, twice an entry": lambda X: twice(X),
    "sparse, unsorted": lambda X: unsorted(X),
    "sparse, read-only": lambda X: frozen(X),
    "sparse of long double": lambda X: sparse.csr_array(np.asarray(X, dtype=np.longdouble)),
    "sparse, complex": lambda X: sparse.csr_array(np.asarray(X) + 0j),
}


def twice(X):
    """Each entry as the sum of two."""
    whole = sparse.coo_array(np.asarray(X))
    both = [np.concatenate([index, index]) for index in whole.coords]
    return sparse.coo_array((np.concatenate([whole.data / 2] * 2), tuple(both)), whole.shape)


def unsorted(X):
    """The entries of each row from the last to the first."""
    X = np.asarray(X)
    columns = np.tile(np.arange(X.shape[1])[::-1], len(X))
    indptr = np.arange(len(X) + 1) * X.shape[1]
    return sparse.csr_array((X[:, ::-1].ravel(), columns, indptr), X.shape)


def frozen(X):
    found = sparse.csc_array(np.asarray(X))
    for part in (found.data, found.indices, found.indptr):
        part.setflags(write=False)
    return found


# --- one value for each row -----------------------------------------------------------------------

# Of (n,) numbers: targets, weights, offsets.
OF_NUMBERS = {
    "objects of Decimal": lambda y: objects(y, Decimal),
    "objects of Fraction": lambda y: objects(y, Fraction),
    "list of Fraction": lambda y: list(objects(y, Fraction)),
    "numbers of a class of its own": lambda y: list(map(NumberOfAUser, np.asarray(y).tolist())),
    "list of text": lambda y: list(map(str, np.asarray(y).tolist())),
    "bytes": lambda y: list(map(bytes_of, np.asarray(y).tolist())),
    "text of NumPy": lambda y: np.asarray(y).astype("T"),
    "complex, no imaginary part": lambda y: np.asarray(y) + 0j,
    "negative strides": reversed_twice,
    "read-only": read_only,
    "unaligned": unaligned,
    "masked, none": lambda y: np.ma.masked_array(y, np.zeros(np.shape(y), dtype=bool)),
    "array of a class of its own": lambda y: np.array(y).view(ArrayOfAUser),
    "matrix": lambda y: np.array(y).view(np.matrix).T,
    "structured": with_structure,
    "memoryview": lambda y: memoryview(np.ascontiguousarray(y)),
    "convertible": lambda y: Convertible(y),
    "tuple": lambda y: tuple(np.asarray(y).tolist()),
    "array of Python": lambda y: array.array("d", np.asarray(y).tolist()),
    "deque": lambda y: deque(np.asarray(y).tolist()),
    "generator": lambda y: (one for one in np.asarray(y).tolist()),
    "array of Arrow": lambda y: pa.array(np.asarray(y)),
    "series of Arrow": arrow,
    "series, twice an index": lambda y: pd.Series(y, index=np.zeros(len(y), dtype=int)),
    "series of Decimal": lambda y: pd.Series(objects(y, Decimal)),
    "index": lambda y: pd.Index(np.asarray(y)),
    "nullable array": lambda y: pd.array(np.asarray(y), dtype="Float64"),
    "Categorical": lambda y: pd.Categorical(np.asarray(y)),
    "frame of one column": lambda y: pd.DataFrame({"a": y}),
    "dictionary": lambda y: dict(enumerate(np.asarray(y).tolist())),
    "list of lists": lambda y: [[one] for one in np.asarray(y).tolist()],
    "list of arrays": lambda y: [np.array(one) for one in np.asarray(y).tolist()],
}


class Answer(enum.IntEnum):
    NO = 0
    YES = 1


class Word(enum.StrEnum):
    NO = "0"
    YES = "1"


class Plain(enum.Enum):
    NO = 0
    YES = 1


# Of (n,) labels 0 and 1, which become labels that are equal to them or in the same order.
OF_LABELS = {
    "members of an enum of integers": lambda y: list(map(Answer, np.asarray(y).tolist())),
    "members of an enum of texts": lambda y: [Word(str(one)) for one in np.asarray(y).tolist()],
    "members of an enum": lambda y: list(map(Plain, np.asarray(y).tolist())),
    "integers of a class of its own": lambda y: list(map(IntegerOfAUser, np.asarray(y).tolist())),
    "texts of a class of its own": lambda y: [TextOfAUser(one) for one in np.asarray(y).tolist()],
    "objects of bool": lambda y: objects(np.asarray(y) > 0, bool),
    "True, 1 and 0.0": lambda y: [
        (0.0, (True, 1)[i % 2])[one] for i, one in enumerate(np.asarray(y).tolist())
    ],
    "bytes": lambda y: list(map(bytes_of, np.asarray(y).tolist())),
    "text and bytes": lambda y: ["b" if one else b"a" for one in np.asarray(y).tolist()],
    "objects of bytes": lambda y: objects(y, bytes_of),
    "text of NumPy": lambda y: np.asarray(y).astype(str).astype("T"),
    "pairs": lambda y: objects(y, lambda one: ("a", one)),
    "text of Arrow": lambda y: pd.Series(y).astype(str).astype("string[pyarrow]"),
    "Categorical of text": lambda y: pd.Categorical(np.asarray(y).astype(str)),
    "Categorical, other order": lambda y: pd.Categorical(y, categories=[1, 0], ordered=True),
    "Categorical, more categories": lambda y: pd.Series(pd.Categorical(y, categories=[0, 1, 2])),
    "dates with a zone": lambda y: pd.Series(pd.to_datetime(y, unit="D", utc=True)),
    "spans": lambda y: np.asarray(y).astype("timedelta64[D]"),
    "periods": lambda y: pd.Series([pd.Period(year=2000 + int(one), freq="Y") for one in y]),
    "intervals": lambda y: pd.Series([pd.Interval(one, one + 1) for one in y]),
    "numbers and NumPy's": lambda y: [np.int64(one) if one else 0 for one in y],
    "integers beyond 64 bits": lambda y: [2**70 * int(one) for one in y],
    "sets": lambda y: [frozenset({int(one)}) for one in y],
    "types": lambda y: [(int, str)[int(one)] for one in y],
    **{k: v for k, v in OF_NUMBERS.items() if "Decimal" not in k},
}

# --- single values --------------------------------------------------------------------------------


def of_value(value):
    """The dresses of a number, a switch or a text; of anything else none."""
    if isinstance(value, bool | np.bool_):
        return [np.bool_(value), np.array(value), int(value), float(value), str(value), [value]]
    if isinstance(value, str):
        return [
            *(np.str_(value), TextOfAUser(value), np.array(value), value.encode(), [value]),
            *(enum.StrEnum("One", {"A": value}).A, value.upper(), value + " "),
        ]
    if isinstance(value, int | np.integer):
        whole = int(value)
        small = [np.int8(whole), np.uint8(abs(whole))] if abs(whole) < 100 else []
        return [
            *small, *(np.int64(whole), np.float64(whole), float(whole), IntegerOfAUser(whole)),
            *(enum.IntEnum("One", {"A": whole}).A, np.array(whole), np.array([whole])),
            *(Decimal(whole), Fraction(whole), complex(whole), str(whole), Indexed(whole), [whole]),
            *(pd.Series([whole]), np.timedelta64(whole, "D"), np.ma.array(whole)),
            np.longdouble(whole),
        ]  # fmt: skip
    if isinstance(value, float | np.floating):
        number = float(value)
        return [
            *(np.float64(number), NumberOfAUser(number), np.array(number), np.array([number])),
            *(Decimal(number) if np.isfinite(number) else Decimal("NaN"), str(number), [number]),
            *(complex(number), np.longdouble(number), np.ma.array(number), pd.Series([number])),
            *([Fraction(number)] if np.isfinite(number) else []), Convertible(number),
        ]  # fmt: skip
    return []


# Dresses of packages that are not here.
ABSENT = [] if pa else ["Arrow"]
if not hasattr(getattr(np, "dtypes", None), "StringDType"):
    ABSENT.append("text of NumPy")
for dresses in (OF_ROWS, OF_NUMBERS, OF_LABELS):
    for name in [name for name in dresses if any(word in name for word in ABSENT)]:
        del dresses[name]


def of_argument(value):
    """The dresses of an argument, as functions without arguments."""
    if isinstance(value, list | tuple) and value and not any(isinstance(v, str) for v in value):
        try:
            value = np.asarray(value, dtype=float) if np.ndim(value) in (1, 2) else value
        except (TypeError, ValueError):
            return []
    if isinstance(value, np.ndarray) and value.size and value.dtype.kind in "fiu":
        makers = {1: OF_NUMBERS, 2: OF_ROWS}.get(value.ndim, {})
        if value.ndim == 1 and value.dtype.kind == "i" and set(value.tolist()) == {0, 1}:
            makers = OF_LABELS
        return [lambda make=make: make(value) for make in makers.values()]
    return [lambda one=one: one for one in of_value(value)]


# --- equal results --------------------------------------------------------------------------------


def same(a, b):
    """Whether two results are equal but for rounding, and for the types that hold them."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if sparse.issparse(a) and sparse.issparse(b):
        return same(a.toarray(), b.toarray())
    if isinstance(a, pd.DataFrame | pd.Series) and isinstance(b, pd.DataFrame | pd.Series):
        return same(a.to_numpy(), b.to_numpy())
    if isinstance(a, np.ndarray | float | int | np.generic) and np.ndim(b) == np.ndim(a):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            return False
        if a.dtype.kind in "fiub" and b.dtype.kind in "fiub":
            return bool(np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True))
        return a.ravel().tolist() == b.ravel().tolist()
    return True  # models, functions and figures are not compared
