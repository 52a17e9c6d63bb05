"""Files of the user's in `compare.py`: what columns are, and what is learned from which rows."""

import importlib.util
import sys
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, TargetEncoder

from sklearn_ensemble_theory import DecisionStumpRegressor, L2BoostingRegressor

from ..surroundings import DATE_FORMS, TIME_FORMS

N = 120


@pytest.fixture(scope="module")
def houses():
    """All kinds of columns; the price depends on the size, the town, the street and the year."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(N)],
            "number": np.arange(N),
            "size": rng.normal(50, 10, N).round(1),
            "town, old": rng.choice(["Ulm", "Bonn; Rhein", 'Köln "K"'], N),
            "street": rng.choice([f"s{i}" for i in range(50)], N),
            "built": pd.Timestamp("2001-01-31") + pd.to_timedelta(rng.integers(0, 3000, N), "D"),
            "flag": rng.random(N) < 0.5,
            "empty": np.nan,
            "same": "x",
        }
    )
    street = table["street"].str[1:].astype(float)
    table["price"] = table["size"] + 20 * (table["town, old"] == "Ulm") + street
    table["price"] += 2 * table["built"].dt.year + rng.normal(size=N)
    table["flag"] = table["flag"].astype("boolean")
    gaps = {"size": 7, "town, old": 11, "built": 13, "flag": 17, "price": 40}
    for name, step in gaps.items():
        table.loc[::step, name] = None if name != "size" else np.nan
    return table


KINDS = {
    "key": ("dropped", "text, 117 values"),
    "number": ("number", "number"),
    "size": ("number", "number, 17 missing"),
    "town, old": ("few", "text, 3 values, 10 missing"),
    "built": ("date", "date, 9 missing"),
    "flag": ("number", "true or false, 7 missing"),
    "empty": ("dropped", "all missing"),
    "same": ("dropped", "constant"),
}


def check_kinds(dataset, houses):
    assert (dataset.task, dataset.target, dataset.n_unknown) == ("regression", "price", 3)
    np.testing.assert_allclose(dataset.y, houses["price"].dropna(), rtol=1e-6)
    found = {c.name: c for c in dataset.schema.columns}
    assert list(found) == list(houses.columns[:-1])
    assert {n: (found[n].kind, found[n].description) for n in KINDS} == KINDS
    assert found["street"].kind == "many"
    assert "an identifier" in found["key"].note
    assert "perhaps an identifier" in found["number"].note
    assert dataset.has_missing
    encoded = dataset.encoder(0).fit_transform(dataset.X, dataset.y)
    # numbers: number, size, flag; towns and their missing value; the street; five parts of a date
    assert encoded.shape == (len(dataset.y), 3 + 4 + 1 + 5)
    known = houses[houses["price"].notna()]
    np.testing.assert_array_equal(encoded[:, 1], known["size"])
    built = known["built"]
    parts = [built.dt.year, built.dt.month, built.dt.day, built.dt.day_of_week]
    np.testing.assert_array_equal(encoded[:, 8:12], np.column_stack(parts).astype(float))
    seconds = (built - pd.Timestamp("1970-01-01")) / pd.Timedelta(seconds=1)
    np.testing.assert_array_equal(encoded[:, 12], seconds)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_every_kind_of_column_of_a_csv_file(module, houses, tmp_path, separator):
    path = tmp_path / "houses.csv"
    houses.to_csv(
        path,
        sep=separator,
        index=False,
        decimal="," if separator == ";" else ".",
        float_format="%.6f",
    )
    check_kinds(module("compare.data").load_file(path), houses)


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="Parquet needs pyarrow")
def test_every_kind_of_column_of_a_parquet_file(module, houses, tmp_path):
    path = tmp_path / "houses.parquet"
    houses.assign(street=houses["street"].astype("category")).to_parquet(path)
    check_kinds(module("compare.data").load_file(path), houses)
    broken = tmp_path / "broken.parquet"
    broken.write_text("a,y\n1,2\n")
    with pytest.raises(module("compare").UsageError, match="is not a Parquet file"):
        module("compare.data").load_file(broken)


@pytest.mark.slow
def test_the_run_says_what_was_done(compare, module, houses, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(module("compare.__main__"), "draw_chart", lambda *arguments: None)
    path = tmp_path / "houses.csv"
    houses.to_csv(path, index=False, float_format="%.6f")
    arguments = ["--estimator", "BinnedTreeRegressor", "MatchingPursuitRegressor"]
    arguments += ["--drop", "number", "--repeats", "1", "--folds", "2", "--quiet"]
    assert compare("--data", str(path), *arguments) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    lines = [line.split("  ") for line in shown.out.splitlines()]
    lines = [[cell.strip() for cell in line if cell] for line in lines]
    assert ["houses: 117 rows; 3 more without a target are left out"] in lines
    assert ["key", "text, 117 values", "dropped (an identifier: none repeats)"] in lines
    assert ["town, old", "text, 3 values, 10 missing", "one-hot"] in lines
    assert ["built", "date, 9 missing", "year, month, day, weekday, total seconds"] in lines
    assert ["number", "left out by --drop"] in lines
    assert ["price", "target", "regression"] in lines
    text = " ".join(shown.out.split())
    needy = "MatchingPursuitRegressor, OrthogonalMatchingPursuitCV"
    assert f"missing, for {needy}. All other models get them as they are." in text
    assert "estimated from the training rows of each fold only" in text
    assert "houses: regression, 117 rows, 5 features, r2" in text


def test_everything_is_estimated_from_training_rows(module, houses, tmp_path):
    """The score of a fold by hand: encoder, median and scale of the training rows."""
    path = tmp_path / "houses.csv"
    houses[["size", "street", "price"]].to_csv(path, index=False, float_format="%.6f")
    data, folds, peers = map(
        module,
        [
            "compare.data",
            "compare.folds",
            "compare.peers",
        ],
    )
    dataset = data.load_file(path)
    rows = np.arange(len(dataset.y))
    train, test = rows[rows % 3 > 0], rows[rows % 3 == 0]
    candidate = peers.Candidate("linear", LinearRegression(), {})
    fold = folds.evaluate_fold(candidate, dataset, dataset.strata(), train, test, "r2", 5)
    assert fold.warned == ()

    size, street = dataset.X["size"].to_numpy(), dataset.X[["street"]]
    streets = TargetEncoder(target_type="continuous", cv=3)
    own = dataset.encoder(5).fit_transform(dataset.X.iloc[train], dataset.y[train])[:, 1]
    others = streets.fit(street.iloc[train], dataset.y[train]).transform(street.iloc[test])[:, 0]

    def features(part, encoded):
        filled = np.where(np.isnan(size[part]), np.nanmedian(size[train]), size[part])
        return np.column_stack([filled, encoded, np.isnan(size[part])])

    model = LinearRegression().fit(features(train, own), dataset.y[train])
    assert fold.score == pytest.approx(model.score(features(test, others), dataset.y[test]))


def test_numbers_are_imputed_only_for_models_that_need_it(module):
    peers = module("compare.peers")

    def steps(model):
        return list(peers.Candidate("c", model, {}).pipeline("encoder", True)[0].named_steps)

    assert steps(LinearRegression()) == ["columns", "impute", "scale", "model"]
    assert steps(RandomForestRegressor()) == ["columns", "scale", "model"]
    assert steps(HistGradientBoostingRegressor()) == ["columns", "model"]  # categories, bins
    plain, _ = peers.Candidate("c", LinearRegression(), {}).pipeline()
    assert list(plain.named_steps) == ["scale", "model"]


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # of pandas 2 in to_csv
def test_models_that_take_categories_get_them(module, houses, tmp_path):
    """A fold by hand: the frame with its categories and missing values, without a scale."""
    path = tmp_path / "houses.csv"
    houses[["size", "town, old", "built", "price"]].to_csv(path, index=False)
    data, folds, peers = map(module, ["compare.data", "compare.folds", "compare.peers"])
    dataset = data.load_file(path)
    rows = np.arange(len(dataset.y))
    train, test = rows[rows % 3 > 0], rows[rows % 3 == 0]
    model = L2BoostingRegressor(n_estimators=50, learning_rate=0.1)
    candidate = peers.Candidate("l2", model, {})
    assert candidate.takes_categories
    assert not peers.Candidate("linear", LinearRegression(), {}).takes_categories
    fold = folds.evaluate_fold(candidate, dataset, dataset.strata(), train, test, "r2", 5)
    assert fold.failed is None
    built = pd.to_datetime(dataset.X["built"])
    frame = pd.DataFrame(
        {
            "size": dataset.X["size"],
            "town": dataset.X["town, old"].astype("category"),
            "year": built.dt.year,
            "month": built.dt.month,
            "day": built.dt.day,
            "weekday": built.dt.day_of_week,
            "seconds": (built - pd.Timestamp("1970-01-01")) / pd.Timedelta(seconds=1),
        }
    )
    model.fit(frame.iloc[train], dataset.y[train])
    assert fold.score == pytest.approx(model.score(frame.iloc[test], dataset.y[test]))
    hist = peers.Candidate("hist", HistGradientBoostingRegressor(), {})
    fold = folds.evaluate_fold(hist, dataset, dataset.strata(), train, test, "r2", 5)
    assert fold.failed is None


def column(module, *values, **options):
    return module("compare.tables").interpret(pd.Series(values, name="c", **options))


@pytest.mark.parametrize(
    ("values", "kind", "note"),
    [
        (["2001-02-03", "2003-01-31"], "date", ""),
        (["2001-02-03T10:00:00+02:00", "2003-01-31T11:00:00+01:00"], "time", ""),
        (["31.1.2001", "5.2.2001"], "date", ""),
        (["1/2/2001", "3/4/2001"], "date", "read as month before day"),
        (["1/2/2001", "13/4/2001"], "date", ""),
        (["1/2/2001 10:30", "1/13/2001 11:00"], "time", ""),
        (["1/2/2001 10:30 PM", "1/13/2001 11:00 AM"], "time", ""),
        (["5 Jan 2001", "14 Feb 2002"], "date", ""),
        (["January 5, 2001, 10:30", "March 14, 2002, 11:00"], "time", ""),
        (["2001-2-3", "2001-11-3"], "date", ""),
        (["5 Jan 2001", "14 Fab 2002"], "few", ""),
        (["1/2/2001", "soon"], "few", ""),
        (["1/13/2001", "13/1/2001"], "few", ""),  # no single order of day and month
        (["1-2", "2-3"], "few", ""),
        (["1.5", "2.5.1"], "few", ""),
    ],
)
def test_dates_in_text(module, values, kind, note):
    found = column(module, *values, None)
    assert (found.kind, found.note) == (kind, note)
    if kind == "time":
        assert "hour" in found.action
    if values[-1] == "13/4/2001":
        assert list(found.values[:2]) == [pd.Timestamp("2001-02-01"), pd.Timestamp("2001-04-13")]


MOMENT = datetime(2001, 2, 13, 22, 5, 7)


@pytest.mark.parametrize("time", ["", *(f" {form}" for form in TIME_FORMS), "T%H:%M:%SZ"])
@pytest.mark.parametrize("day", DATE_FORMS)
def test_texts_that_errors_call_dates_are_read_as_dates(module, day, time):
    text = MOMENT.strftime(day + time)
    with pytest.raises(ValueError, match="Feature 0 holds dates as text"):
        DecisionStumpRegressor().fit([[text], [text]], [0.0, 1.0])
    if "T" not in time or day == DATE_FORMS[0]:
        found = column(module, text, None, text, MOMENT.strftime(day + time)).values
        assert found.iloc[0] == MOMENT.replace(
            hour=22 if time else 0, minute=5 if time else 0, second=7 if "S" in time else 0
        )
    wrong = text.replace("13", "45")  # a day of no month
    with pytest.raises(ValueError, match="could not convert"):
        DecisionStumpRegressor().fit([[wrong], [wrong]], [0.0, 1.0])


def test_other_columns(module):
    assert column(module, True, False, None, dtype=object).description == "true or false, 1 missing"
    assert column(module, *pd.to_timedelta([1, 60], "s")).values.tolist() == [1.0, 60.0]
    assert column(module, 1, "a", dtype=object).kind == "few"
    assert column(module, 5, None).kind == "number"  # whether it is missing may matter
    assert column(module, "5", "5").kind == "dropped"
    category = column(module, "a", "b", "a", dtype="category")
    assert (category.kind, category.values.tolist()) == ("few", ["a", "b", "a"])


@pytest.mark.parametrize(
    ("text", "X", "y", "task"),
    [
        ("a,y\n1,no\n2,yes\n", [[1], [2]], ["no", "yes"], "classification"),
        ("a\ty\n1e3\t0.5\n-2\t1\n", [[1000], [-2]], [0.5, 1], "regression"),
        ("a|y\n1|7\n2|8\n", [[1], [2]], [7, 8], "regression"),  # too few rows for two classes
        ("a;y\n1,5;2,5\n2;3\n", [[1.5], [2]], [2.5, 3], "regression"),
        ("a;y\n1,5;yes\n-,5;no\n", [[1.5], [-0.5]], ["yes", "no"], "classification"),
        ('"a, b",y\n 1, 1.5\n"2","2.5"\n', [[1], [2]], [1.5, 2.5], "regression"),
        ("a,y\n" + "1,0\n" * 5 + "2,1\n" * 5, [[1]] * 5 + [[2]] * 5, [0] * 5 + [1] * 5,
         "classification"),
        ("a,y\n1,True\n2,False\n3,\n", [[1], [2]], ["True", "False"], "classification"),
    ],
)  # fmt: skip
def test_targets_and_separators(module, write_csv, text, X, y, task):
    dataset = module("compare.data").load_file(write_csv(text))
    np.testing.assert_array_equal(dataset.X.to_numpy(), X)
    np.testing.assert_array_equal(dataset.y, y)
    assert dataset.task == task


ROWS = "1,2,0.5\n3,1,1.5\n"


@pytest.mark.parametrize(
    ("text", "names", "title"),
    [
        ("Bike rentals 2011\na,b,y\n" + ROWS, "aby", "Bike rentals 2011"),
        ("Bike rentals\n\nby hour,,\na,b,y\n" + ROWS, "aby", "Bike rentals  by hour"),
        ("Source: UCI, 2011\na,b,y\n" + ROWS, "aby", "Source: UCI, 2011"),
        (",X1,Y\nID,b,y\n" + ROWS, ["ID", "b", "y"], "X1,Y"),
        ("Bikes\na;b;y\n" + ROWS.replace(",", ";"), "aby", "Bikes"),
        ('Bikes\na,b,y\n"oak, old",elm,1\n"fir\nred",elm,2\n', "aby", "Bikes"),
        ("a,b,y\n" + ROWS, "aby", None),
        ("a,b,y\noak,?,1\nelm,2,2\n", "aby", None),
        ("a,b,y\noak,fir,elm\nelm,fir,oak\n", "aby", None),
        ("a;b;y\nDoe, Jo;Ulm, old;x\nRoe, Al;Bonn, new;z\n", "aby", None),
    ],
)
def test_a_title_above_the_names_is_recognised(module, write_csv, text, names, title):
    table, notes = module("compare.tables").read_table(write_csv(text))
    assert table.columns.tolist() == list(names)
    assert len(table) == 2
    assert [title in note for note in notes] == [True] * bool(title)


def test_the_title_is_shown(module, write_csv, capsys):
    dataset = module("compare.data").load_file(write_csv("Bikes\na,b,y\n" + ROWS))
    module("compare.show").print_columns(dataset, [])
    assert "The line 'Bikes' above the names" in capsys.readouterr().out


def test_columns_that_add_up_to_the_target_are_named(module, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.poisson(20, (60, 2)), columns=["casual", "registered"])
    table.insert(0, "hour", np.arange(60) % 24)
    table["late"] = 23 - table["hour"]  # collinear with another column
    load, path = module("compare.data").load_file, tmp_path / "bikes.csv"

    def notes(y):
        table.assign(y=y).to_csv(path, index=False)
        return load(path, "y", "regression").notes

    casual, registered = table["casual"], table["registered"]
    [note] = notes(casual + registered)
    assert note.startswith("In every row y = casual + registered. ")
    assert note.endswith("use --drop casual registered.")
    assert "y = casual. " in notes(casual)[0]
    assert "y = casual - registered. " in notes(casual - registered)[0]
    assert "y = - casual + registered. " in notes(registered - casual)[0]
    assert notes(casual + 2 * registered) == ()
    assert notes(casual + registered + (np.arange(60) == 7)) == ()
    table.loc[3, "casual"] = np.nan  # a sum that is not known in every row
    assert notes(casual + registered) == ()


@pytest.mark.parametrize(
    ("name", "values", "is_identifier"),
    [
        ("a", np.arange(50), True),
        ("a", np.roll(np.arange(50), 7), True),
        ("a", 3 * np.roll(np.arange(50), 7), False),
        ("customer_id", 3 * np.roll(np.arange(50), 7), True),
        ("ID", np.arange(50) // 2, False),
        ("paid", 3 * np.roll(np.arange(50), 7), False),
        ("id", np.arange(50) + 0.5, False),
    ],
)
def test_numbers_that_may_be_identifiers_are_noted(module, name, values, is_identifier):
    found = module("compare.tables").interpret(pd.Series(values, name=name))
    assert found.kind == "number"
    assert ("perhaps an identifier" in found.note) == is_identifier


@pytest.mark.parametrize("newest_first", [False, True])
def test_folds_of_dated_rows_go_by_time(compare, module, tmp_path, capsys, newest_first):
    """A trend that only rows of the same days would tell; each fold by hand."""
    data, folds, peers = map(module, ["compare.data", "compare.folds", "compare.peers"])
    rng = np.random.default_rng(0)
    days = pd.date_range("2011-01-01", periods=120).strftime("%Y-%m-%d")
    table = pd.DataFrame({"day": days, "x": rng.normal(size=120)})
    table["y"] = table["x"] + rng.normal(size=120) / 10 + np.arange(120) / 50
    path = tmp_path / "days.csv"
    (table[::-1] if newest_first else table).to_csv(path, index=False)
    dataset = data.load_file(path)
    assert dataset.is_dated
    assert "in the order of 'day'" in dataset.notes[0]
    np.testing.assert_allclose(dataset.y, table["y"])
    linear = peers.Candidate("linear", LinearRegression(), {})
    found = folds.evaluate([(linear, dataset, "r2")], folds=3, repeats=2, seed=0, n_jobs=1)
    scores = [fold.score for _, _, fold in found]
    encoded = dataset.encoder(0).fit_transform(dataset.X)
    expected = []
    for start in (30, 60, 90):
        model = make_pipeline(StandardScaler(), LinearRegression())
        model.fit(encoded[:start], dataset.y[:start])
        expected.append(model.score(encoded[start : start + 30], dataset.y[start : start + 30]))
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    arguments = ["--data", str(path), "--estimator", "BinnedTreeRegressor", "--quiet"]
    assert compare(*arguments) == 0
    shown = capsys.readouterr().out
    assert "Each fold is predicted from the rows before it" in shown
    assert "3 folds x 1 repeats" in shown
    assert compare(*arguments, "--max-rows", "70") == 2
    assert "too few for 3 folds by time" in capsys.readouterr().err


def test_rows_in_no_order_of_time_are_not_dated(module, houses, tmp_path):
    load, path = module("compare.data").load_file, tmp_path / "houses.csv"
    known = houses[houses["built"].notna()][["built", "size", "price"]]
    known.to_csv(path, index=False)
    assert not load(path).is_dated
    known.sort_values("built").to_csv(path, index=False)
    assert load(path).is_dated
    known.sort_values("built").assign(price=known["price"] > 80).to_csv(path, index=False)
    of_classes = load(path)
    assert not of_classes.is_dated  # a part may lack a class
    assert "in the order of 'built'. The folds are not" in of_classes.notes[0]
    houses.sort_values("built")[["built", "size", "price"]].to_csv(path, index=False)
    assert not load(path).is_dated  # some dates are missing


def test_the_task_can_be_said(module, write_csv):
    load = module("compare.data").load_file
    path = write_csv("a,y\n" + "1,0\n" * 5 + "2,1\n" * 5)
    assert load(path, "y", "regression").y.dtype == float
    assert list(load(write_csv("a,y\n1,0.5\n2,1\n"), "y", "classification").y) == ["0.5", "1.0"]
    assert list(load(write_csv("a,y\n1,2\n2,1\n"), "y", "classification").y) == [2, 1]
    assert list(load(write_csv("y,a\n1,2\n2,1\n"), "y").X.columns) == ["a"]


@pytest.mark.parametrize(("missing", "name"), [("pandas", "t.csv"), ("pyarrow", "t.parquet")])
def test_a_missing_reader_is_named(module, tmp_path, monkeypatch, missing, name):
    (tmp_path / name).write_text("a,y\n1,2\n")
    if missing == "pandas":
        monkeypatch.setitem(sys.modules, "pandas", None)
    else:
        monkeypatch.setattr(pd, "read_parquet", lambda path: importlib.import_module("no_such"))
    with pytest.raises(module("compare").UsageError, match=f"pip install {missing}"):
        module("compare.data").load_file(tmp_path / name)
