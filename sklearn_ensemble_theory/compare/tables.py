"""A file of the user's as a table: reading it, what each column is, and how it becomes numbers.

The kinds of columns follow the conventions of skrub's TableVectorizer. They are read off the whole
file, without the target, as a schema; whatever is estimated (categories, encodings, medians,
scales) is estimated by transformers in the pipeline, on training rows alone.
"""

import csv
import io
import numbers
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, TargetEncoder

from sklearn_ensemble_theory._compat import SKLEARN_VERSION, parse_version
from sklearn_ensemble_theory._features import DATE_FORMS, DATE_TEXT, TIME_FORMS, has_form
from sklearn_ensemble_theory.compare import UsageError

DELIMITERS = ",;\t|"
PARQUET = {".parquet", ".pq", ".parq"}
# Text with more values than this is encoded by the target: one-hot columns would be too many.
MOST_ONE_HOT = 40
MOST_TITLE_LINES = 5
# Fewer dates are not taken as the order of the rows.
FEWEST_DATES = 10
NAMES_IDENTIFIER = r"(.*[\W_])?(id|key|index|number|no|nr)"
# Missing values and numbers, which are no names of columns.
NO_NAME = re.compile(r"\s*(|\?|NA|N/A|NaN|nan|null|[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)?%?)\s*")
TARGET_FOLDS = 3
# Of a date, by the names of pandas.
PARTS = {"year": "year", "month": "month", "day": "day", "weekday": "day_of_week"}


# --- reading ----------------------------------------------------------------------------------


def read_table(path: str | Path) -> tuple[Any, tuple[str, ...]]:
    """The file as a data frame, by pandas, and notes on its lines; every error in words."""
    try:
        import pandas as pd
    except ImportError:
        raise UsageError(
            f"{path}: pandas, which reads files, is missing; python -m pip install pandas brings it"
        ) from None
    path = Path(path)
    if path.is_dir():
        raise UsageError(f"{path}: is a folder, not a file")
    if not path.exists():
        raise UsageError(f"{path}: no such file")
    read = read_parquet if path.suffix.lower() in PARQUET else read_csv
    try:
        table, notes = read(pd, path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    names = [str(name).strip() for name in table.columns]
    for number, name in enumerate(names, start=1):
        if not name:
            raise UsageError(f"{path}: column {number} has no name")
        if names.count(name) > 1:
            raise UsageError(f"{path}: two columns are called {name!r}")
    if not len(table):
        raise UsageError(f"{path}: has no rows below the names of its columns")
    return table.set_axis(names, axis=1).reset_index(drop=True), notes


def read_parquet(pd: Any, path: str | Path) -> Any:
    try:
        return pd.read_parquet(path), ()
    except ImportError:
        raise UsageError(
            f"{path}: pyarrow, which reads Parquet, is missing; python -m pip install pyarrow"
            " brings it"
        ) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: is not a Parquet file ({first_line_of(error)})") from None


def read_csv(pd: Any, path: Path) -> Any:
    """Comma, semicolon, tabulator or bar, whichever cuts the line of names most."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not a text file in UTF-8; save it in this encoding") from None
    if "\0" in text:
        raise UsageError(f"{path}: is not a text file")
    if not text.strip():
        raise UsageError(f"{path}: is empty")
    try:
        delimiter, above, names = layout(text)
        lines = list(io.StringIO(text, newline=""))
        title = " ".join(line.strip(" \t\r\n,;|") for line in lines[:above]).strip()
        text = "".join(lines[above:])
        with warnings.catch_warnings():
            # Rows longer than the header would lose cells.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                io.StringIO(text),
                sep=delimiter,
                skipinitialspace=True,
                index_col=False,
                na_values=["?"],
                low_memory=False,
            )
    except (csv.Error, pd.errors.ParserError, pd.errors.ParserWarning, ValueError) as error:
        raise UsageError(f"{path}: is no table ({first_line_of(error)})") from None
    if len(names) == table.shape[1]:  # as they are: pandas numbers those that come twice
        table = table.set_axis(names, axis=1)
    table = table.apply(decimal_comma) if delimiter == ";" else table
    note = f"The line {title!r} above the names of the columns is taken as a title."
    return table, ((note,) if title else ())


def layout(text: str) -> tuple[str, int, list[str]]:
    """The delimiter, the number of lines above the names of the columns, and these names.

    The first line has the names, unless a line below it reads as names and it does not fit.
    """
    heads = {d: first_records(text, d) for d in DELIMITERS}
    delimiter = max(DELIMITERS, key=lambda d: len(heads[d][0][1]))
    widths = [len(record) for _, record in heads[delimiter][:2]]
    is_cut = widths[0] > 1 and len(set(widths)) == 1
    found = {d: names_below_title(heads[d]) for d in (delimiter if is_cut else DELIMITERS)}
    titled = {d: names for d, names in found.items() if names is not None}
    if titled:
        delimiter = max(titled, key=lambda d: len(titled[d][1]))
        return delimiter, *titled[delimiter]
    return delimiter, 0, heads[delimiter][0][1]


def first_records(text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """The first records that are not empty, each with the number of lines above it."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    records, above = [], 0
    for record in reader:
        if any(cell.strip() for cell in record):
            records.append((above, record))
        above = reader.line_num
        if len(records) == MOST_TITLE_LINES + 2:
            break
    return records


def names_below_title(records: list[tuple[int, list[str]]]) -> tuple[int, list[str]] | None:
    """The record of names below a title, with the number of lines above it; None without a title.

    A title has one cell, or fewer cells than the names, or is a first line of other names. In the
    last two cases the row below the names has numbers in most cells, and the names are no numbers.
    """
    for i in range(1, len(records) - 1):
        (above, names), (_, row) = records[i], records[i + 1]
        if len(names) < 2 or len(row) != len(names) or len(set(names)) < len(names):
            continue
        if any(NO_NAME.fullmatch(cell) for cell in names):
            continue
        cells = [[k for k, cell in enumerate(r, 1) if cell.strip()] for _, r in records[:i]]
        widths = [max(filled) for filled in cells]
        n_numbers = sum(bool(NO_NAME.fullmatch(cell)) and bool(cell.strip()) for cell in row)
        is_over_numbers = n_numbers >= 2 and 2 * n_numbers >= len(row)
        most = len(names) if i == 1 else len(names) - 1
        if max(widths) == 1 or (is_over_numbers and max(widths) <= most):
            return above, names
    return None


def first_line_of(error: BaseException) -> Any:
    return (str(error).strip().splitlines() or ["no reason given"])[0]


def decimal_comma(column: Any) -> Any:
    """Numbers with a decimal comma; any other column as it is."""
    present = column.dropna()
    pattern = r"[+-]?\d*,?\d+([eE][+-]?\d+)?"
    if is_number(column) or not present.astype(str).str.fullmatch(pattern).all():
        return column
    return column.astype(object).map(lambda c: float(c.replace(",", ".")), na_action="ignore")


# --- columns ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """What a column is, what is done to it, and its cells as the transformers take them.

    `kind` is "number", "date", "time", "few", "many" or "dropped"; "time" is a date with times.
    """

    name: str
    kind: str
    description: str
    action: str
    values: object = None
    note: str = ""

    @property
    def line(self) -> Any:
        """Two or three parts of a printed line."""
        return self.name, self.description, self.action + (f" ({self.note})" if self.note else "")


def is_truth(column: Any) -> Any:
    from pandas.api import types

    return types.is_bool_dtype(column) and not isinstance(column.dtype, pandas_category())


def is_number(column: Any) -> Any:
    """Of a dtype of numbers or of truth values."""
    from pandas.api import types

    return is_truth(column) or (
        types.is_numeric_dtype(column) and not types.is_complex_dtype(column)
    )


def pandas_category() -> Any:
    from pandas import CategoricalDtype

    return CategoricalDtype


def interpret(column: Any) -> Any:
    name, n = column.name, len(column)
    missing = int(column.isna().sum())
    gaps = f", {missing} missing" if missing else ""
    if missing == n:
        return Column(name, "dropped", "all missing", "dropped")
    column = plain(column)
    dates, note = as_dates(column)
    if dates is not None:
        if not missing and dates.nunique() == 1:
            return Column(name, "dropped", "constant", "dropped")
        has_times = bool((dates.dropna() != dates.dropna().dt.normalize()).any())
        parts = [*PARTS, *(["hour"] if has_times else []), "total seconds"]
        kind = "time" if has_times else "date"
        return Column(name, kind, f"{kind}{gaps}", ", ".join(parts), dates, note)
    if is_number(column):
        return interpret_number(name, column, gaps, missing)
    text = column.astype(object).map(str, na_action="ignore")
    text = text.where(text.notna(), np.nan)
    distinct = text.nunique()
    if distinct + bool(missing) == 1:
        return Column(name, "dropped", "constant", "dropped")
    description = f"text, {distinct} values{gaps}"
    if distinct == n - missing and distinct > MOST_ONE_HOT:
        return Column(name, "dropped", description, "dropped", note="an identifier: none repeats")
    if distinct <= MOST_ONE_HOT:
        return Column(name, "few", description, "one-hot", text)
    return Column(name, "many", description, "target encoding", text)


def interpret_number(name: str, column: Any, gaps: Any, missing: Any) -> Any:
    kind = "true or false" if is_truth(column) else "number"
    values = column.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    if np.isinf(values).any():
        raise UsageError(f"column {name!r} has infinite values; leave it out (--drop {name!r})")
    present = values[~np.isnan(values)]
    if not missing and np.ptp(present) == 0:
        return Column(name, "dropped", "constant", "dropped")
    whole = (present == np.round(present)).all()
    note = ""
    if whole and not missing and len(present) > MOST_ONE_HOT and numbers_rows(name, present):
        note = f"perhaps an identifier, then use --drop {name}"
    return Column(name, "number", kind + gaps, "kept", values, note)


def numbers_rows(name: str, values: np.ndarray) -> bool:
    """Whether whole numbers, of which none repeats, increase, have no gaps, or are called so."""
    steps = np.diff(np.sort(values))
    is_named = re.fullmatch(NAMES_IDENTIFIER, name, re.IGNORECASE) is not None
    is_known = is_named or (steps == 1).all() or (np.diff(values) > 0).all()
    return bool(is_known and (steps > 0).all())


def plain(column: Any) -> Any:
    """Python objects as numbers or truth values, where all are such; spans of time as seconds."""
    import pandas as pd
    from pandas.api import types

    if types.is_timedelta64_dtype(column):
        return column.dt.total_seconds()
    if not types.is_object_dtype(column):
        return column
    present = column.dropna()
    if all(isinstance(cell, bool | np.bool_) for cell in present):
        return column.astype("boolean")
    if all(isinstance(cell, numbers.Number) or hasattr(cell, "as_tuple") for cell in present):
        return pd.to_numeric(column.map(float, na_action="ignore"))
    return column


def as_dates(column: Any) -> Any:
    """The column as dates without a time zone, and a note; (None, "") where it has no dates."""
    import pandas as pd
    from pandas.api import types

    if types.is_datetime64_any_dtype(column):
        return in_utc(column), ""
    if is_number(column):
        return None, ""
    present = column.dropna()
    if types.is_object_dtype(column) and all(hasattr(cell, "toordinal") for cell in present):
        dates = pd.to_datetime(column, errors="coerce", utc=True)
        return (in_utc(dates), "") if dates.notna().sum() == len(present) else (None, "")
    texts = present.astype(object).map(str)
    first = texts.iloc[0] if len(texts) else ""
    if not (DATE_TEXT.fullmatch(first) and texts.str.fullmatch(DATE_TEXT).all()):
        return None, ""
    times = ["", *(f"{between}{form}" for between in (" ", ", ") for form in TIME_FORMS)]
    formats = [f + time for f in DATE_FORMS for time in times if has_form(first, f + time)]
    fitting = [f for f in ("ISO8601", *formats) if parsed(texts, f) is not None]
    if not fitting:
        return None, ""
    swapped = fitting[0].replace("%m/%d", "%d/%m").replace("%d-%m", "%m-%d")
    ambiguous = swapped != fitting[0] and swapped in fitting
    order = "month before day" if fitting[0].startswith("%m") else "day before month"
    return in_utc(parsed(column, fitting[0])), f"read as {order}" if ambiguous else ""


def parsed(texts: Any, date_format: str | None) -> Any:
    """The dates, or None if one of the texts is not of this format."""
    import pandas as pd

    found = pd.to_datetime(texts, format=date_format, errors="coerce", utc=True)
    return found if found.notna().sum() == texts.notna().sum() else None


def in_utc(dates: Any) -> Any:
    return dates.dt.tz_convert(None) if dates.dt.tz is not None else dates


# --- numbers ----------------------------------------------------------------------------------


class DateParts(TransformerMixin, BaseEstimator):
    """Year, month, day, weekday, perhaps the hour, and seconds since 1970 of each column."""

    def __init__(self, hours: bool = False) -> None:
        self.hours = hours

    def fit(self, X: Any, y: Any = None) -> Any:
        self.n_features_in_ = X.shape[1]
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        return self

    def transform(self, X: Any) -> Any:
        columns = []
        for _, dates in X.items():
            parts = [*PARTS.values(), *(["hour"] if self.hours else [])]
            columns += [getattr(dates.dt, part).to_numpy(dtype=float) for part in parts]
            seconds = dates.to_numpy().astype("datetime64[us]").astype(float) / 1e6
            columns.append(np.where(dates.isna(), np.nan, seconds))
        return np.column_stack(columns)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        parts = [*PARTS, *(["hour"] if self.hours else []), "seconds"]
        return np.array([f"{n} {p}" for n in self.feature_names_in_ for p in parts], dtype=object)


def as_categories(frame: Any) -> Any:
    return frame.astype("category")


def target_encoder(target_type: str, seed: int) -> Any:
    """Means of the target by value, for the training rows themselves from other folds of them."""
    if parse_version("1.9.dev0") > SKLEARN_VERSION:
        return TargetEncoder(target_type=target_type, cv=TARGET_FOLDS, random_state=seed)
    folds = KFold if target_type == "continuous" else StratifiedKFold
    cv = folds(TARGET_FOLDS, shuffle=True, random_state=seed)
    return TargetEncoder(target_type=target_type, cv=cv)


@dataclass(frozen=True)
class Schema:
    """The columns of a file that are learned from, and those that are not."""

    columns: tuple

    def frame(self) -> Any:
        import pandas as pd

        kept = {c.name: c.values for c in self.columns if c.kind != "dropped"}
        return pd.DataFrame(kept)

    def in_order_of(self) -> tuple[str, bool] | None:
        """The first column of dates in whose order the rows are, and whether the last is first."""
        for column in self.columns:
            dates: Any = column.values
            if column.kind not in ("date", "time") or dates.isna().any():
                continue
            is_falling = dates.is_monotonic_decreasing
            if dates.nunique() >= FEWEST_DATES and (dates.is_monotonic_increasing or is_falling):
                return column.name, is_falling
        return None

    def sums_to(self, y: np.ndarray) -> dict[str, int]:
        """The columns, each with 1 or -1, of which y is the sum in every row; O(n p²)."""
        numbers = [c for c in self.columns if c.kind == "number" and not np.isnan(c.values).any()]
        is_numeric = y.dtype.kind in "iuf" and y.any()
        if not numbers or not is_numeric or len(y) < 2 * len(numbers) + 10:
            return {}
        values, top = np.column_stack([c.values for c in numbers]), np.abs(y).max()
        scales = np.abs(values).max(axis=0)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            signs = np.round(np.linalg.lstsq(values / scales, y / top)[0] / scales * top)
            if not set(signs) <= {-1.0, 0.0, 1.0} or not signs.any():
                return {}
            is_sum = np.abs(values @ signs - y).max() <= 1e-9 * top
        found = {c.name: int(sign) for c, sign in zip(numbers, signs) if sign}
        return found if is_sum else {}

    @property
    def has_missing_numbers(self) -> Any:
        return any(
            np.isnan(c.values).any() if c.kind == "number" else c.values.isna().any()
            for c in self.columns
            if c.kind in ("number", "date", "time")
        )

    @property
    def has_categories(self) -> Any:
        return any(c.kind == "few" for c in self.columns)

    def encoder(self, target_type: str, seed: int, categories: bool = False) -> Any:
        """A transformer, not fitted, from the columns of `frame()` to numbers."""
        one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        steps = {
            "number": "passthrough",
            "few": FunctionTransformer(as_categories) if categories else one_hot,
            "many": target_encoder(target_type, seed),
            "date": DateParts(),
            "time": DateParts(hours=True),
        }
        names = {kind: [c.name for c in self.columns if c.kind == kind] for kind in steps}
        used = [(kind, steps[kind], names[kind]) for kind in steps if names[kind]]
        encoder = ColumnTransformer(used, sparse_threshold=0)
        return encoder.set_output(transform="pandas") if categories else encoder
