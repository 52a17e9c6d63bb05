"""An additive model as a query: a CASE for each term, and the inverse link of their sum.

A value is found among the edges of a term by nested comparisons, four branches at a time. Deeper
trees compare less, but parsers have stacks of a fixed size (100 symbols in SQLite before 3.46), and
for 64 bins the mean number of comparisons is 7.5 where halving needs 6.

The values of a pair of features are a list, where the database has lists: to plan thousands of
cases took DuckDB half a second.

Comparisons with NULL are not true, so that a missing value comes out at the end of the last branch.
Its last condition is that x is there at all: in databases that have NaN, ``x <= infinity``, since
they sort NaN above all numbers.

What is used several times has a query of its own, which databases would otherwise paste into each
of its uses: MATERIALIZED keeps them from that.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ._plain import Additive, PlainModel, PlainTerm

# Branches of a CASE for a range of bins, and parts of a sum or of a maximum within parentheses:
# SQLite takes expressions of depth 1000 and functions of 127 arguments.
_BRANCHES, _PARTS = 4, 50
# exp is finite up to the second one; PostgreSQL has an error where the result is too small.
_LEAST_EXPONENT, _LARGEST_EXPONENT = -700.0, 709.78
_INFINITY = float("inf")


def _real(value: float) -> str:
    """With an exponent: approximate numbers, not decimals."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _real_of_18_digits(value: float) -> str:
    """In the middle of the numbers that round to this one, for readers that are not exact."""
    text = f"{value:.18g}"
    return text if "e" in text else f"{text}e0"


@dataclass(frozen=True)
class Dialect:
    """What databases write in different ways.

    - real: writes a finite float.
    - is_present: the condition that a value is neither NULL nor NaN.
    - largest, smallest: functions of several values.
    - once: keeps a query from being pasted into another one.
    - column: what the names of columns are told apart by.
    - entry: the entry of a list of numbers at a place, where the database has lists.
    - number: makes numbers of a column, where the database does not compare its booleans with them.
    """

    real: Callable[[float], str]
    is_present: str
    largest: str
    smallest: str
    once: str
    column: Callable[[str], Hashable]
    entry: Callable[[list[float], str], str] | None = None
    number: str | None = None

    def text(self, text: str, quote: str = "'") -> str:
        """A text, or with other quotes the name of a column or a table."""
        if "\0" in text:
            raise ValueError(f"SQL cannot write the character of number 0, which is in {text!r}.")
        return quote + text.replace(quote, 2 * quote) + quote

    def name(self, text: Any) -> str:
        if not isinstance(text, str) or not text:
            raise ValueError(f"Names of tables and columns must be non-empty str; got {text!r}.")
        return self.text(text, '"')

    def value(self, value: Any) -> str:
        """A category or a label."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, float) and value in (_INFINITY, -_INFINITY):
            raise ValueError("SQL has no number for infinity, which is a category or a class.")
        return self.real(value) if isinstance(value, float) else str(value)

    def exponential(self, x: str) -> str:
        """exp(x), without errors of overflow."""
        least, most = self.real(_LEAST_EXPONENT), self.real(_LARGEST_EXPONENT)
        return f"exp({self.smallest}({self.largest}({x}, {least}), {most}))"

    def clash(self, names: Sequence[str]) -> tuple[str, str] | None:
        """The first two names that are the same column."""
        seen: dict[Hashable, str] = {}
        for name in names:
            if (key := self.column(name)) in seen:
                return seen[key], name
            seen[key] = name
        return None


_ORDERED = ("GREATEST", "LEAST")
DIALECTS = {
    "ansi": Dialect(_real, "{} IS NOT NULL", *_ORDERED, "", str),
    "duckdb": Dialect(
        _real,
        "{} <= CAST('inf' AS DOUBLE)",
        *_ORDERED,
        "MATERIALIZED ",
        str.lower,
        lambda values, place: f"([{', '.join(map(_real, values))}])[{place}]",
        "CAST({} AS DOUBLE)",
    ),
    # Names of more than 63 bytes are cut.
    "postgres": Dialect(
        lambda value: f"float8 '{value!r}'",
        "{} <= float8 'infinity'",
        *_ORDERED,
        "MATERIALIZED ",
        lambda name: name.encode()[:63],
        lambda values, place: f"('{{{','.join(map(repr, values))}}}'::float8[])[{place}]",
    ),
    # A number that is too large is infinite, and text is above all numbers.
    "sqlite": Dialect(_real_of_18_digits, "{} <= 9e999", "max", "min", "MATERIALIZED ", str.lower),
}


# --- the query ------------------------------------------------------------------------------------


def sql(
    model: Additive,
    table: str | Sequence[str],
    *,
    dialect: Literal["ansi", "duckdb", "postgres", "sqlite"] = "ansi",
    keep: str | Sequence[str] = (),
    with_terms: bool = False,
) -> str:
    """Write an SQL query that predicts the rows of a table, without Python in the database.

    Each term is a CASE over the thresholds or the categories of its features, whose columns
    have the names that they had in `fit`, or x0, x1, ... NULL is missing, and so is NaN in
    DuckDB and PostgreSQL. A category that `fit` has not seen is treated as in `predict`.

    Parameters
    ----------
    model : estimator
        A fitted `AdditiveBoostingRegressor`, `L2BoostingRegressor` or `LogitBoostClassifier`.
    table : str or sequence of str
        The table, or a schema and a table; quotes are added.
    dialect : {"ansi", "duckdb", "postgres", "sqlite"}, default="ansi"
        What is written in different ways: numbers of double precision, the test for missing
        values, the largest of several values, and what keeps queries from being computed more
        than once. "ansi" is the standard of 2023, and has no NaN.
    keep : str or sequence of str, default=()
        Columns of the table that the result has too, before the predictions. A result has no
        order: rows are recognised by their keys.
    with_terms : bool, default=False
        Whether to add the columns ``term_<name>``, those of `predict_terms`; for three or more
        classes ``term_<name>_<class>``.

    Returns
    -------
    query : str
        A SELECT with the column `prediction`; of classifiers `label`, ``probability_<class>``
        for each class and `score`, for three or more classes ``score_<class>``. Columns of
        which a database would not tell the names apart get a number.

    Raises
    ------
    TypeError
        If categories or classes are neither text nor numbers nor bools.
    ValueError
        If `dialect` is unknown. If two features are the same column in it (SQLite and DuckDB do not
        tell A and a apart). If a column in `keep` is named like a column of the result.

    Notes
    -----
    A row costs O(log B) comparisons for each term of B bins, and O(number of categories) for a
    categorical term. The length of the query grows with the number of values of all terms: some 60
    characters for each value. In DuckDB and PostgreSQL, which have lists, a value of a pair takes
    25 characters. Predictions agree with `predict` to the rounding of the sums. SQLite needs exp
    for probabilities, which is in most builds; from Python, ``connection.create_function("exp", 1,
    math.exp)`` adds it. Text is compared as the database compares it: a column that ignores case
    finds other categories than `predict`.

    Examples
    --------
    >>> import sqlite3
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import L2BoostingRegressor, export
    >>> X = np.arange(8.0)[:, None]
    >>> model = L2BoostingRegressor(max_bins=2).fit(X, 10.0 * (X[:, 0] > 3))
    >>> print(export.sql(model, "items", dialect="sqlite", keep="id"))
    WITH q0 AS (
      SELECT
        t."id" AS k0,
        (5e0 + CASE WHEN t."x0" <= 3.5e0 THEN ... ELSE 0e0 END) AS s0
      FROM "items" AS t
    )
    SELECT
      k0 AS "id",
      s0 AS "prediction"
    FROM q0
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.execute("CREATE TABLE items (id TEXT, x0 REAL)")
    >>> _ = database.execute("INSERT INTO items VALUES ('a', 1.0), ('b', NULL)")
    >>> rows = database.execute(export.sql(model, "items", dialect="sqlite", keep="id"))
    >>> [(key, round(abs(y), 1)) for key, y in sorted(rows)]
    [('a', 0.0), ('b', 5.0)]
    """
    if not (isinstance(dialect, str) and dialect in DIALECTS):
        raise ValueError(f"dialect must be one of {sorted(DIALECTS)}; got {dialect!r}.")
    plain, write = PlainModel.of(model), DIALECTS[dialect]
    plain.check_link()
    terms = plain.terms if with_terms else plain.terms_that_matter()
    keep = _names_of("keep", keep)
    source = ".".join(write.name(part) for part in _names_of("table", table))
    used = sorted({j for term in terms for j in term.features})
    if same := write.clash([plain.names[j] for j in used]):
        raise ValueError(
            f"The features {same[0]!r} and {same[1]!r} are the same column in the dialect "
            f"{dialect!r}; rename one of them before fit."
        )

    # Scores s0, s1, ... are sums of terms, which have columns of their own only if asked for.
    n_scores = len(plain.intercept)
    scores = [f"s{k}" for k in range(n_scores)]
    columns = {j: f"t.{write.name(plain.names[j])}" for j in used}
    kept = [(f"k{i}", f"t.{write.name(name)}") for i, name in enumerate(keep)]
    source = f"{source} AS t"
    if write.number is not None:
        numbers = [write.number if plain.categories[j] is None else "{}" for j in used]
        inner = [f"{n.format(columns[j])} AS x{j}" for n, j in zip(numbers, used)]
        inner += [f"{column} AS {name}" for name, column in kept]
        source = f"(SELECT {', '.join(inner) or '1'} FROM {source}) AS t"
        columns = {j: f"t.x{j}" for j in used}
        kept = [(name, f"t.{name}") for name, _ in kept]
    sums, values = [[write.real(float(c))] for c in plain.intercept], []
    for number, term in enumerate(terms):
        for k in range(n_scores):
            case = term_of(term, k, columns, plain.categories, write)
            values.append((f"t{number}_{k}", case))
            sums[k].append(f"t{number}_{k}" if with_terms else case)
    totals = [(s, _parts_joined(parts, " + ")) for s, parts in zip(scores, sums)]
    queries = [kept + values, totals] if with_terms else [kept + totals]

    # Of the scores come predictions, or probabilities and the label.
    share = f"1e0 / (1e0 + {write.exponential('-s0')})"
    result = [("prediction", "s0")]
    if plain.link == "log":
        result = [("prediction", write.exponential("s0"))]
    elif plain.classes is None and plain.link == "logit":
        result = [("prediction", share)]
    elif plain.classes is not None:
        labels = [write.value(label) for label in plain.classes]
        if plain.link == "logit":
            cases = f"WHEN s0 > 0 THEN {labels[1]} ELSE {labels[0]}"
            shares = [f"1e0 / (1e0 + {write.exponential('s0')})", share]
        else:
            # What is far below the largest score has a share of 0; the first of equal ones wins.
            largest, least = write.largest, write.real(_LEAST_EXPONENT)
            queries.append([("m", _parts_joined(scores, ", ", largest))])
            queries.append(
                [(f"e{k}", f"exp({largest}({s} - m, {least}))") for k, s in enumerate(scores)]
            )
            queries.append([("total", _parts_joined([f"e{k}" for k in range(n_scores)], " + "))])
            cases = " ".join(f"WHEN {s} >= m THEN {c}" for s, c in zip(scores, labels))
            shares = [f"e{k} / total" for k in range(n_scores)]
        result = [("label", f"CASE {cases} END")]
        result += [(f"probability_{c}", each) for c, each in zip(plain.classes, shares)]
        result += [(f"score{end}", s) for end, s in zip(plain.endings(), scores)]
    if with_terms:
        each = [f"term_{term.name}{end}" for term in terms for end in plain.endings()]
        result += zip(each, (name for name, _ in values))

    # Classes or terms whose names are the same column get the number of their place.
    names: list[str] = []
    seen: set[Hashable] = set()
    for name, _ in result:
        while write.column(name) in seen:
            name += f"_{len(names)}"
        names.append(name)
        seen.add(write.column(name))
    if same := write.clash([*keep, *names]):
        raise ValueError(
            f"keep has {same[0]!r}, and {same[1]!r} is in the result already; give the column of "
            "the table another name."
        )

    # Each query reads the one before; the first one reads the table, whose name none may have.
    taken = {part.lower() for part in ([table] if isinstance(table, str) else table)}
    once = write.once if with_terms or plain.classes is not None else ""
    parts: list[str] = []
    star: list[str] = []
    for number, query in enumerate(queries):
        name = f"q{number}"
        while name in taken:
            name += "_"
        inside = ",\n    ".join([*star, *(f"{value} AS {column}" for column, value in query)])
        parts.append(f"{name} AS {once}(\n  SELECT\n    {inside}\n  FROM {source}\n)")
        source, star = name, [f"{name}.*"]
    final = [f"k{i} AS {write.name(name)}" for i, name in enumerate(keep)]
    final += [f"{value} AS {write.name(name)}" for name, (_, value) in zip(names, result)]
    return f"WITH {', '.join(parts)}\nSELECT\n  " + ",\n  ".join(final) + f"\nFROM {source}"


def _names_of(argument: str, given: Any) -> list[str]:
    names = [given] if not isinstance(given, Iterable) or isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"{argument} must be a name or several, as strings; got {given!r}.")
    return names


def term_of(
    term: PlainTerm,
    k: int,
    columns: dict[int, str],
    categories: Sequence[list | None],
    write: Dialect,
) -> str:
    """The CASE of a term: of its first feature, with those of a second one inside."""
    table = term.values[..., k]
    leaves = [write.real(float(v)) for v in table.ravel()]
    if table.ndim == 2 and write.entry is not None:
        # The place of the value in the list of all of them, which begins with 1.
        size = table.shape[1]
        places = [1 + size * a for a in range(len(table))], range(size)
        each = [
            _search(term, axis, list(map(str, own)), columns, categories, write)
            for axis, own in enumerate(places)
        ]
        return write.entry(table.ravel().tolist(), " + ".join(each))
    for axis in reversed(range(table.ndim)):
        size = table.shape[axis]
        rows = [leaves[i : i + size] for i in range(0, len(leaves), size)]
        leaves = [_search(term, axis, row, columns, categories, write) for row in rows]
    return leaves[0]


def _search(
    term: PlainTerm,
    axis: int,
    leaves: list[str],
    columns: dict[int, str],
    categories: Sequence[list | None],
    write: Dialect,
) -> str:
    """The leaf of the bin of one feature of a term."""
    j = term.features[axis]
    x, known = columns[j], categories[j]
    if known is None:
        conditions = [f"{x} <= {write.real(float(edge))}" for edge in term.places[axis]]
        return _nested(*_distinct([*conditions, write.is_present.format(x)], leaves))
    # Frequent categories first: they are compared one after the other.
    weights = term.weights.sum(axis=1 - axis) if term.weights.ndim == 2 else term.weights
    cases = [
        f"WHEN {write.value(known[i])} THEN {leaves[i]}"
        for i in (-weights[: len(known)]).argsort(kind="stable").tolist()
        if leaves[i] != leaves[-1]
    ]
    return f"CASE {x} {' '.join(cases)} ELSE {leaves[-1]} END" if cases else leaves[-1]


def _distinct(conditions: Sequence[str], leaves: Sequence[str]) -> tuple[list[str], list[str]]:
    """Without the conditions that have the same leaf on both sides."""
    kept = [i for i, _ in enumerate(conditions) if leaves[i] != leaves[i + 1]]
    return [conditions[i] for i in kept], [*(leaves[i] for i in kept), leaves[-1]]


def _nested(conditions: Sequence[str], leaves: Sequence[str]) -> str:
    """The leaf of the first condition that is true, or the last one; all after it are true too."""
    if not conditions:
        return leaves[0]
    n = min(_BRANCHES, len(leaves))
    ends = [len(leaves) * (i + 1) // n for i in range(n)]
    starts = [0, *ends[:-1]]
    inner = [_nested(conditions[a : b - 1], leaves[a:b]) for a, b in zip(starts, ends)]
    cases = [f"WHEN {conditions[b - 1]} THEN {each}" for b, each in zip(ends[:-1], inner)]
    return f"CASE {' '.join(cases)} ELSE {inner[-1]} END"


def _parts_joined(parts: Sequence[str], by: str, function: str = "") -> str:
    """Join by an operator, or as arguments, in groups that no database finds too many."""
    while len(parts) > 1:
        groups = [parts[i : i + _PARTS] for i in range(0, len(parts), _PARTS)]
        parts = [f"{function}({by.join(own)})" if len(own) > 1 else own[0] for own in groups]
    return parts[0]
