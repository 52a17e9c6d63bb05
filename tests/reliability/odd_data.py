"""X, targets, labels, weights and groups of odd types, sizes and magnitudes."""

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from ..estimators import POLARS_IS_READ

HUGE, TINY = 1e300, 1e-300


class Sized:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


def put(array, value, rng):
    """The array as objects, with `value` in one random place."""
    out = np.array(array, dtype=object)
    out.flat[rng.integers(out.size) if out.size else slice(0)] = value
    return out


def put_number(array, value, rng):
    out = np.array(array, dtype=float)
    if out.size:
        out.flat[rng.integers(out.size)] = value
    return out


def matrix(label, make, rows=slice(None)):
    """A maker of X from an ordinary one; `rows` are those that y keeps."""

    def maker(X, y, rng):
        return label, make(X, rng), y[rows] if rows != slice(None) else y

    maker.label = label
    return maker


def read_only(array):
    array = np.array(array)
    array.setflags(write=False)
    return array


def strided(X):
    wide = np.repeat(X, 2, axis=-1) if X.ndim == 2 else np.repeat(X, 2)
    return wide[..., ::2]


def records(array):
    """The columns as the fields of a structured array."""
    array = np.asarray(array, dtype=float)
    columns = array if array.ndim == 2 else array.reshape(-1, 1)
    names = [f"f{j}" for j in range(columns.shape[1])]
    return np.rec.fromarrays(columns.T, names=names) if names else np.zeros(len(array), "V8")


def nullable(array, dtype, rng=None):
    """A pandas frame or series of that dtype; with one value missing if there is a generator."""
    array = np.asarray(array)
    frame = (pd.DataFrame if array.ndim == 2 else pd.Series)(array).astype(dtype)
    if rng is not None and array.size:
        place = rng.integers(len(frame))
        frame.iloc[(place, 0) if array.ndim == 2 else place] = pd.NA
    return frame


def polars(array):
    """The array as a polars frame or series, if scikit-learn reads them."""
    array = np.asarray(array)
    if not POLARS_IS_READ:
        return pd.DataFrame(array) if array.ndim == 2 else pd.Series(array)
    if array.ndim == 1:
        return pl.Series(array)
    return pl.DataFrame({f"x{j}": column for j, column in enumerate(array.T)})


def ends(values, dtype):
    """The ends of the range of a type, by the signs of the values."""
    info = (np.iinfo if np.dtype(dtype).kind in "iu" else np.finfo)(dtype)
    return np.where(np.asarray(values) > 0, dtype(info.max), dtype(info.min))


def no_tables(X):
    """What holds the numbers of X, or promises them, and is no table."""
    return {
        "set": {1.0, 2.0},
        "dictionary": {"a": X[:, 0]},
        "list of dictionaries": [{"a": 1.0}] * len(X),
        "generator": (row for row in X),
        "lazy frame": pl.DataFrame({"a": X[:, 0]}).lazy(),
        "sparse of one dimension": sparse.coo_array(X[:, 0]),
        "of a length only": Sized(len(X)),
    }


def column_of(X, value):
    out = X.copy()
    out[:, 0] = value
    return out


ODD_MATRICES = [
    matrix("object", lambda X, r: X.astype(object)),
    matrix("with None", lambda X, r: put(X, None, r)),
    matrix("with a string", lambda X, r: put(X, "a", r)),
    matrix("with a list", lambda X, r: put(X, [1], r)),
    matrix("strings", lambda X, r: X.astype(str)),
    matrix("complex", lambda X, r: X + 1j),
    matrix("ragged", lambda X, r: [list(row[: 1 + i % 2]) for i, row in enumerate(X)]),
    matrix("sparse", lambda X, r: sparse.csr_matrix(X * (X > 0))),
    matrix("sparse, wide indices", lambda X, r: sparse.coo_array(X)),
    matrix("of no row", lambda X, r: X[:0], slice(0)),
    matrix("of one row", lambda X, r: X[:1], slice(1)),
    matrix("of two rows", lambda X, r: X[:2], slice(2)),
    matrix("of three rows", lambda X, r: X[:3], slice(3)),
    matrix("of no column", lambda X, r: X[:, :0]),
    matrix("of one column", lambda X, r: X[:, :1]),
    matrix("one-dimensional", lambda X, r: X[:, 0]),
    matrix("three-dimensional", lambda X, r: X[None]),
    matrix("scalar", lambda X, r: 1.0),
    matrix("None", lambda X, r: None),
    matrix("constant", lambda X, r: np.ones_like(X)),
    matrix("constant column", lambda X, r: column_of(X, 3.0)),
    matrix("repeated rows", lambda X, r: X[r.integers(3, size=len(X))] if len(X) > 2 else X),
    matrix("* 1e300", lambda X, r: X * HUGE),
    matrix("* 1e308", lambda X, r: np.clip(X, -1.7, 1.7) * 1e308),
    matrix("* 1e155", lambda X, r: X * 1e155),
    matrix("* 1e-300", lambda X, r: X * TINY),
    matrix("* 5e-324", lambda X, r: np.rint(3 * X) * 5e-324),
    matrix("huge column", lambda X, r: column_of(X, X[:, 0] * HUGE)),
    matrix("+ 1e10", lambda X, r: X + 1e10),
    matrix("one huge entry", lambda X, r: put_number(X, HUGE, r)),
    matrix("with inf", lambda X, r: put_number(X, np.inf, r)),
    matrix("with -inf", lambda X, r: put_number(X, -np.inf, r)),
    matrix("with nan", lambda X, r: put_number(X, np.nan, r)),
    matrix("of nan only", lambda X, r: X * np.nan),
    matrix("longdouble", lambda X, r: X.astype(np.longdouble)),
    matrix("longdouble * 1e4000", lambda X, r: X.astype(np.longdouble) * np.longdouble("1e4000")),
    matrix("float16", lambda X, r: X.astype(np.float16)),
    matrix("float32 * 1e38", lambda X, r: (np.clip(X, -3, 3) * 1e38).astype(np.float32)),
    matrix("bool", lambda X, r: X > 0),
    matrix("int8", lambda X, r: (10 * X).astype(np.int8)),
    matrix("uint64", lambda X, r: np.abs(X * 1e18).astype(np.uint64) + np.uint64(2**63)),
    matrix("Python ints of 2**70", lambda X, r: [[2**70] * X.shape[1] for _ in X]),
    matrix("dates", lambda X, r: (10 * X).astype(int).astype("datetime64[D]")),
    matrix("Fortran", lambda X, r: np.asfortranarray(X)),
    matrix("read-only", lambda X, r: read_only(X)),
    matrix("strided", lambda X, r: strided(X)),
    matrix("reversed", lambda X, r: X[::-1]),
    matrix("big-endian", lambda X, r: X.astype(">f8")),
    matrix("masked", lambda X, r: np.ma.masked_array(X, X > 1)),
    matrix("all masked", lambda X, r: np.ma.masked_all_like(X)),
    matrix("of records", lambda X, r: records(X)),
    matrix("frame", lambda X, r: pd.DataFrame(X)),
    matrix("frame, named", lambda X, r: pd.DataFrame(X).add_prefix("x")),
    matrix("frame of categories", lambda X, r: pd.DataFrame(X > 0).astype("category")),
    matrix("frame, one text", lambda X, r: pd.DataFrame(X).assign(t="a")),
    matrix("frame, twice a name", lambda X, r: pd.DataFrame(X, columns=["a"] * X.shape[1])),
    matrix("Float64", lambda X, r: nullable(X, "Float64")),
    matrix("Float64 with NA", lambda X, r: nullable(X, "Float64", r)),
    matrix("Int64 with NA", lambda X, r: nullable(np.rint(3 * X), "Int64", r)),
    matrix("boolean with NA", lambda X, r: nullable(X > 0, "boolean", r)),
    matrix("sparse frame", lambda X, r: pd.DataFrame(X > 0, dtype=pd.SparseDtype(float, 0.0))),
    matrix("series", lambda X, r: pd.Series(X[:, 0])),
    matrix("sparse with nan", lambda X, r: sparse.csr_matrix(put_number(X, np.nan, r))),
    matrix("sparse * 1e308", lambda X, r: sparse.csc_matrix(np.clip(X, -1.7, 1.7) * 1e308)),
    matrix("column of inf", lambda X, r: column_of(X, np.inf)),
    matrix("two far rows", lambda X, r: X + 1e150 * (np.arange(len(X)) < 2)[:, None]),
    matrix("from -max to max", lambda X, r: np.where(X > 0, 1, -1) * np.finfo(float).max),
    matrix("list", lambda X, r: X.tolist()),
    matrix("object of text", lambda X, r: X.astype(str).astype(object)),
    matrix("frame of text numbers", lambda X, r: pd.DataFrame(X.astype(str))),
    matrix("list of text numbers", lambda X, r: X.astype(str).tolist()),
    matrix("polars", lambda X, r: polars(X)),
    matrix("polars, text numbers", lambda X, r: polars(X.astype(str))),
    matrix("ends of int64", lambda X, r: ends(X, np.int64)),
    matrix("ends of int8", lambda X, r: ends(X, np.int8)),
    matrix("ends of float32", lambda X, r: ends(X, np.float32)),
    matrix("ends of float16", lambda X, r: ends(X, np.float16)),
    matrix("* 1e77", lambda X, r: X * 1e77),
    matrix("memoryview", lambda X, r: memoryview(np.ascontiguousarray(X))),
    *(matrix(kind, lambda X, r, kind=kind: no_tables(X)[kind]) for kind in no_tables(np.eye(2))),
]


def vector(label, make):
    def maker(values, rng):
        return label, make(values, rng)

    maker.label = label
    return maker


ODD_TARGETS = [
    vector("sparse", lambda y, r: sparse.csr_matrix(np.asarray(y).reshape(-1, 1))),
    vector("ragged", lambda y, r: put(put(y, [1, 2], r), [1], r)),
    vector("with None", lambda y, r: put(y, None, r)),
    vector("too short", lambda y, r: y[:-1]),
    vector("None", lambda y, r: None),
    vector("of two columns", lambda y, r: np.column_stack([y, y])),
    vector("column", lambda y, r: y.reshape(-1, 1)),
    vector("with a string", lambda y, r: put(y, "a", r)),
    vector("strings", lambda y, r: y.astype(str)),
    vector("bytes", lambda y, r: y.astype(bytes)),
    vector("object", lambda y, r: y.astype(object)),
    vector("object with inf", lambda y, r: put(y, np.inf, r)),
    vector("object with nan", lambda y, r: put(y, np.nan, r)),
    vector("Python ints of 10**400", lambda y, r: put(y, 10**400, r)),
    vector("complex", lambda y, r: y + 1j),
    vector("scalar", lambda y, r: 1.0),
    vector("constant", lambda y, r: np.full(len(y), 2.5)),
    vector("zero", lambda y, r: np.zeros(len(y))),
    vector("one distinct", lambda y, r: (np.arange(len(y)) == 1).astype(float)),
    vector("* 1e300", lambda y, r: y * HUGE),
    vector("* 1e308", lambda y, r: np.clip(y, -1.7, 1.7) * 1e308),
    vector("* 1e155", lambda y, r: y * 1e155),
    vector("* 1e-155", lambda y, r: y * 1e-155),
    vector("* 1e-300", lambda y, r: y * TINY),
    vector("* 5e-324", lambda y, r: np.rint(3 * y) * 5e-324),
    vector("+ 1e12", lambda y, r: y + 1e12),
    vector("one huge entry", lambda y, r: put_number(y, HUGE, r)),
    vector("with inf", lambda y, r: put_number(y, np.inf, r)),
    vector("with nan", lambda y, r: put_number(y, np.nan, r)),
    vector("of nan only", lambda y, r: y * np.nan),
    vector("longdouble", lambda y, r: y.astype(np.longdouble)),
    vector("longdouble * 1e4000", lambda y, r: y.astype(np.longdouble) * np.longdouble("1e4000")),
    vector("float16", lambda y, r: y.astype(np.float16)),
    vector("bool", lambda y, r: y > 0),
    vector("uint64", lambda y, r: np.abs(y * 1e18).astype(np.uint64) + np.uint64(2**63)),
    vector("read-only", lambda y, r: read_only(y)),
    vector("strided", lambda y, r: strided(y)),
    vector("dates", lambda y, r: (10 * y).astype(int).astype("datetime64[D]")),
    vector("masked", lambda y, r: np.ma.masked_array(y, y > 1)),
    vector("of records", lambda y, r: records(y)),
    vector("Float64", lambda y, r: nullable(y, "Float64")),
    vector("Float64 with NA", lambda y, r: nullable(y, "Float64", r)),
    vector("series", lambda y, r: pd.Series(y, index=np.arange(len(y))[::-1])),
    vector("two groups far apart", lambda y, r: np.where(y > 0, 1e200, -1e200)),
    vector("from -max to max", lambda y, r: np.where(y > 0, 1, -1) * np.finfo(float).max),
    vector("all the largest", lambda y, r: np.full(len(y), np.finfo(float).max)),
    vector("equal but for rounding", lambda y, r: 1 + 1e-16 * np.rint(y)),
    vector("counts", lambda y, r: np.rint(np.abs(y))),
    vector("negative", lambda y, r: -np.abs(y)),
    vector("polars", lambda y, r: polars(y)),
    vector("polars of two columns", lambda y, r: polars(np.column_stack([y, -y]))),
    vector("polars column", lambda y, r: polars(y.reshape(-1, 1))),
    vector("frame of two columns", lambda y, r: pd.DataFrame({"a": y, "b": -y})),
    vector("frame of one column", lambda y, r: pd.DataFrame({"a": y})),
    vector("ends of int64", lambda y, r: ends(y, np.int64)),
    vector("ends of uint64", lambda y, r: ends(y, np.uint64)),
    vector("ends of int8", lambda y, r: ends(y, np.int8)),
    vector("ends of float32", lambda y, r: ends(y, np.float32)),
    vector("ends of float16", lambda y, r: ends(y, np.float16)),
    vector("* 1e154", lambda y, r: y * 1e154),
    vector("* 1e149", lambda y, r: y * 1e149),
    vector("* 1e77", lambda y, r: y * 1e77),
]

ODD_LABELS = [
    vector("of one class", lambda y, r: np.ones(len(y), dtype=int)),
    vector("all distinct", lambda y, r: np.arange(len(y))),
    vector("of three classes", lambda y, r: r.integers(3, size=len(y))),
    vector("of twelve classes", lambda y, r: r.integers(12, size=len(y))),
    vector("of one row in a class", lambda y, r: (np.arange(len(y)) == 1).astype(int)),
    vector("strings", lambda y, r: np.where(y > 0, "yes", "no")),
    vector("object strings", lambda y, r: np.where(y > 0, "yes", "no").astype(object)),
    vector("bytes", lambda y, r: np.where(y > 0, b"yes", b"no")),
    vector("mixed types", lambda y, r: put(y, "a", r)),
    vector("object with nan", lambda y, r: put(y, np.nan, r)),
    vector("bool", lambda y, r: y > 0),
    vector("-1 and 1", lambda y, r: 2.0 * y - 1.0),
    vector("real", lambda y, r: r.standard_normal(len(y))),
    vector("of 2**63", lambda y, r: y.astype(np.uint64) + np.uint64(2**63)),
    vector("with inf", lambda y, r: put_number(y, np.inf, r)),
    vector("with nan", lambda y, r: put_number(y, np.nan, r)),
    vector("huge", lambda y, r: y * HUGE),
    vector("subnormal", lambda y, r: y * 5e-324),
    vector("float16", lambda y, r: y.astype(np.float16)),
    vector("longdouble", lambda y, r: y.astype(np.longdouble)),
    vector("complex", lambda y, r: y + 1j),
    vector("dates", lambda y, r: y.astype("datetime64[D]")),
    vector("of one row for each of two classes", lambda y, r: 2 - np.minimum(np.arange(len(y)), 2)),
    vector("masked", lambda y, r: np.ma.masked_array(y, y > 0)),
    vector("Int64", lambda y, r: nullable(y, "Int64")),
    vector("Int64 with NA", lambda y, r: nullable(y, "Int64", r)),
    vector("boolean", lambda y, r: nullable(y > 0, "boolean")),
    vector("category", lambda y, r: pd.Series(y, dtype="category")),
    vector("category with NA", lambda y, r: nullable(np.where(y > 0, "a", "b"), "category", r)),
    vector("text", lambda y, r: nullable(np.where(y > 0, "a", "b"), "string")),
    vector("text with NA", lambda y, r: nullable(np.where(y > 0, "a", "b"), "string", r)),
    vector("scalar", lambda y, r: 1),
    vector("read-only", lambda y, r: read_only(y)),
    vector("column", lambda y, r: y.reshape(-1, 1)),
    vector("polars", lambda y, r: polars(y)),
    vector("polars text", lambda y, r: polars(np.where(y > 0, "a", "b"))),
    vector("frame of one column", lambda y, r: pd.DataFrame({"a": y})),
    vector("frame of two columns", lambda y, r: pd.DataFrame({"a": y, "b": 1 - y})),
    vector("ends of int64", lambda y, r: ends(y, np.int64)),
    vector("ends of uint64", lambda y, r: ends(y, np.uint64)),
    vector("ends of int8", lambda y, r: ends(y, np.int8)),
    vector("ends of float32", lambda y, r: ends(y, np.float32)),
]


def weights(label, make):
    def maker(n, rng):
        return label, make(n, rng)

    maker.label = label
    return maker


def one_weight(n, value):
    out = np.ones(n)
    out[: min(n, 1)] = value
    return out


def only_some(n, k):
    return (np.arange(n) < k).astype(float)


ODD_WEIGHTS = [
    weights("zero", lambda n, r: np.zeros(n)),
    weights("one positive", lambda n, r: only_some(n, 1)),
    weights("two positive", lambda n, r: only_some(n, 2)),
    weights("half zero", lambda n, r: r.integers(2, size=n).astype(float)),
    weights("negative", lambda n, r: -np.ones(n)),
    weights("one negative", lambda n, r: one_weight(n, -1.0)),
    weights("with nan", lambda n, r: one_weight(n, np.nan)),
    weights("with inf", lambda n, r: one_weight(n, np.inf)),
    weights("huge", lambda n, r: r.random(n) * 1e308),
    weights("largest float", lambda n, r: np.full(n, np.finfo(float).max)),
    weights("tiny", lambda n, r: r.random(n) * 1e-307),
    weights("subnormal", lambda n, r: r.integers(1, 4, size=n) * 5e-324),
    weights("one huge", lambda n, r: one_weight(n, HUGE)),
    weights("one tiny", lambda n, r: one_weight(n, TINY)),
    weights("one subnormal", lambda n, r: one_weight(n, 5e-324)),
    weights("scalar", lambda n, r: 2.0),
    weights("scalar 0", lambda n, r: 0.0),
    weights("scalar nan", lambda n, r: np.nan),
    weights("too short", lambda n, r: np.ones(max(n - 1, 0))),
    weights("two-dimensional", lambda n, r: np.ones((n, 2))),
    weights("column", lambda n, r: np.ones((n, 1))),
    weights("strings", lambda n, r: np.full(n, "1")),
    weights("words", lambda n, r: ["a"] * n),
    weights("complex", lambda n, r: np.ones(n) + 1j),
    weights("with None", lambda n, r: put(np.ones(n), None, r)),
    weights("dictionary", lambda n, r: {0: 1.0}),
    weights("sparse", lambda n, r: sparse.csr_matrix(np.ones((1, n)))),
    weights("bool", lambda n, r: r.random(n) < 0.5),
    weights("ints", lambda n, r: r.integers(4, size=n)),
    weights("ints of 2**62", lambda n, r: np.full(n, 2**62)),
    weights("float16", lambda n, r: r.random(n).astype(np.float16)),
    weights("longdouble", lambda n, r: r.random(n).astype(np.longdouble)),
    weights("longdouble 1e4000", lambda n, r: np.full(n, np.longdouble("1e4000"))),
    weights("list", lambda n, r: r.random(n).tolist()),
    weights("read-only", lambda n, r: read_only(r.random(n))),
    weights("strided", lambda n, r: strided(r.random(n))),
    weights("zero but the last", lambda n, r: (np.arange(n) == n - 1).astype(float)),
    weights("zero but a subnormal one", lambda n, r: only_some(n, 1) * 5e-324),
    weights("one huge, one zero", lambda n, r: one_weight(n, HUGE)[::-1] * (np.arange(n) > 0)),
    weights("of many sizes", lambda n, r: 10.0 ** r.uniform(-300, 300, n)),
    weights("masked", lambda n, r: np.ma.masked_array(np.ones(n), r.random(n) < 0.5)),
    weights("Float64 with NA", lambda n, r: nullable(np.ones(n), "Float64", r)),
    weights("series", lambda n, r: pd.Series(r.random(n), index=np.arange(n)[::-1])),
    weights("dates", lambda n, r: np.arange(n).astype("datetime64[D]")),
    weights("largest int64", lambda n, r: np.full(n, np.iinfo(np.int64).max)),
    weights("largest uint64", lambda n, r: np.full(n, np.iinfo(np.uint64).max)),
    weights("largest int8", lambda n, r: np.full(n, 127, dtype=np.int8)),
    weights("largest float32", lambda n, r: np.full(n, np.finfo(np.float32).max)),
    weights("largest float16", lambda n, r: np.full(n, np.finfo(np.float16).max)),
    weights("smallest float32", lambda n, r: np.full(n, np.float32(1e-45))),
    weights("of 2**400", lambda n, r: r.random(n) * 2.0**400),
    weights("of 2**-400", lambda n, r: r.random(n) * 2.0**-400),
    weights("polars", lambda n, r: polars(r.random(n))),
    weights("frame", lambda n, r: pd.DataFrame(r.random(n))),
]

ODD_GROUPS = [
    weights("one", lambda n, r: np.zeros(n)),
    weights("all distinct", lambda n, r: np.arange(n)),
    weights("two", lambda n, r: np.arange(n) % 2),
    weights("text", lambda n, r: np.where(r.random(n) < 0.5, "a", "b")),
    weights("mixed", lambda n, r: put(np.arange(n) % 4, "a", r)),
    weights("with None", lambda n, r: put(np.arange(n) % 4, None, r)),
    weights("with nan", lambda n, r: put_number(np.arange(n) % 4, np.nan, r)),
    weights("with inf", lambda n, r: put_number(np.arange(n) % 4, np.inf, r)),
    weights("Int64 with NA", lambda n, r: nullable(np.arange(n) % 4, "Int64", r)),
    weights("too short", lambda n, r: np.arange(max(n - 1, 0)) % 4),
    weights("column", lambda n, r: (np.arange(n) % 4)[:, None]),
    weights("two-dimensional", lambda n, r: np.zeros((n, 2))),
    weights("scalar", lambda n, r: 1),
    weights("empty", lambda n, r: []),
    weights("complex", lambda n, r: np.arange(n) % 4 + 1j),
    weights("dates", lambda n, r: (np.arange(n) % 4).astype("datetime64[D]")),
    weights("masked", lambda n, r: np.ma.masked_array(np.arange(n) % 4, np.arange(n) < 3)),
    weights("category", lambda n, r: pd.Series(np.arange(n) % 4, dtype="category")),
    weights("polars", lambda n, r: polars(np.arange(n) % 4)),
    weights("ends of int64", lambda n, r: ends(np.arange(n) % 2, np.int64)),
]
