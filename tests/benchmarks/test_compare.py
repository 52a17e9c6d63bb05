"""The comparison on real data: reading files, folds, statistics, output, and every way to fail."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


NUMBERS = "a,b,y\n" + "".join(f"{i},{i * i % 7},{i / 3}\n" for i in range(60))


# --- from the command line --------------------------------------------------------------------


@pytest.mark.slow
def test_a_small_run(compare, tmp_path, capsys):
    one = ["--dataset", "wine", "--estimator", "BinnedTreeClassifier", "--max-rows", "60"]
    picture = tmp_path / "picture.png"
    assert compare(*one, "--repeats", "1", "--picture", str(picture)) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    shown = capsys.readouterr()
    assert "wine: classification, 60 rows, 13 features, accuracy" in shown.out
    assert "vs DecisionTreeClassifier" in shown.out
    assert "wine: 60 of 178 rows" in shown.err
    assert "100 %" in shown.err
    [row] = read_csv(tmp_path / "output" / "table.csv")
    assert (row["estimator"], row["peer"]) == ("BinnedTreeClassifier", "DecisionTreeClassifier")
    assert 0.7 < float(row["score"]) <= 1
    assert row["chosen"].startswith("min_samples_leaf=")
    folds = read_csv(tmp_path / "output" / "folds.csv")
    assert len(folds) == 2 * 3  # two sides, three folds
    scores = {s: [float(f["score"]) for f in folds if f["side"] == s] for s in ("ours", "peer")}
    assert float(row["score"]) == pytest.approx(np.mean(scores["ours"]))
    gaps = np.subtract(scores["ours"], scores["peer"])
    assert float(row["difference"]) == pytest.approx(gaps.mean())
    assert float(row["difference_se"]) == pytest.approx(np.sqrt((1 / 3 + 1 / 2) * gaps.var(ddof=1)))
    assert (tmp_path / "output" / "chart.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_file_of_ones_own_as_a_user_calls_it(write_csv, tmp_path):
    rng = np.random.default_rng(0)
    lines = ["width;height;kind;note"]
    for i in range(60):
        kind = "oak" if i % 2 else "elm; field"
        width = f"{rng.normal() + 3 * (i % 2):.3f}".replace(".", ",")
        lines.append(f'{width};{rng.normal():.3f};"{kind}";free text')
    path = write_csv("\ufeff" + "\r\n".join(lines) + "\r\n")
    arguments = ["--data", path, "--target", "kind", "--drop", "note", "--n-jobs", "1"]
    arguments += ["--estimator", "BaggingClassifier", "--repeats", "1", "--quiet"]
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "compare.py", *arguments, "--output", tmp_path / "out"],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "table: classification, 60 rows, 2 features, accuracy" in done.stdout
    assert float(read_csv(tmp_path / "out" / "table.csv")[0]["score"]) > 0.75


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "no/such.csv", "--target", "y"], "no/such.csv: no such file"),
        (["--data", "FOLDER", "--target", "y"], "folder"),
        (
            ["--data", "FILE", "--target", "Y"],
            "no column 'Y' (did you mean 'y'?); columns: a, b, y",
        ),
        (["--data", "FILE", "--target", "y", "--drop", "c"], "no column 'c'"),
        (["--data", "FILE", "--target", "y", "--drop", "a", "b"], "no column is left"),
        (["--data", "FILE", "--target", "y", "--dataset", "wine"], "cannot be combined"),
        (["--data", "FILE", "--target", "y", "--folds", "7"], "60 rows are too few for 7 folds"),
        (["--data", "FILE", "--target", "y", "--task", "classification"], "class '0.0' has 1 row"),
        (["--target", "y"], "only be used with --data"),
        (["--dataset", "whine"], "unknown data set 'whine' (did you mean 'wine'?)"),
        (["--estimator", "BagingClassifier"], "did you mean 'BaggingClassifier'?"),
        (["--dataset", "diabetes", "--estimator", "BaggingClassifier"], "none of these estimators"),
        (["--scoring", "accurracy"], "did you mean 'accuracy'?"),
        (["--scoring", "accuracy"], "--scoring needs data of one task"),
        (["--dataset", "digits", "--max-rows", "9"], "--max-rows is below the number of classes"),
        (["--dataset", "wine", "--folds", "60"], "has 48 rows, too few for 60 folds"),
    ],
)
def test_wrong_commands_get_one_line_and_status_2(
    compare, write_csv, tmp_path, capsys, arguments, message
):
    places = {"FILE": write_csv(NUMBERS), "FOLDER": tmp_path}
    assert compare(*(str(places.get(a, a)) for a in arguments)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("compare.py: ")
    assert message in shown.err
    assert shown.err.count("\n") == 1
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,y\n", "has no rows below the names of its columns"),
        ("a,,y\n1,2,3\n", "column 2 has no name"),
        ("a,a,y\n1,2,3\n", "two columns are called 'a'"),
        ("a,b,y\n1,2,3\n\n1,2,3,4\n", "is no table (Error tokenizing data"),
        ("a,b,y\n1,,?\n1,3,NaN\n", "the target 'y' has no value in any row"),
        ("a,b,y\n1,inf,3\n2,1,4\n", "column 'b' has infinite values"),
        ("a,b,y\n1,2,-inf\n2,1,4\n", "the target 'y' has infinite values"),
        ("a,y\n1,2001-01-31\n2,2001-02-28\n", "the target 'y' consists of dates"),
        ("a,y\n1,3\n1,4\n", "no column is left to learn from"),
        ("a,y\n" + "1,5\n2,5\n" * 30, "class only"),
        ("a,y\n" + "1,5.5\n2,5.5\n" * 30, "the target is constant"),
        ("a,y\n" + "1,x\n" * 30 + "2,z\n", "class 'z' has 1 row"),
        ("a\0b,y\n1,2\n", "is not a text file"),
    ],
)
def test_wrong_files_get_one_line_and_status_2(compare, write_csv, capsys, text, message):
    assert compare("--data", str(write_csv(text)), "--target", "y") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert shown.err.count("\n") == 1


def test_a_text_target_is_no_regression(compare, write_csv, capsys):
    path = write_csv("a,y\n1,2.5\n2,tall\n")
    assert compare("--data", str(path), "--target", "y", "--task", "regression") == 2
    assert "--task regression, but the target 'y' is no number (2.5)" in capsys.readouterr().err


def test_a_file_in_another_encoding_is_refused(compare, write_csv, capsys):
    path = write_csv("größe,y\n1,2\n", encoding="latin-1")
    assert compare("--data", str(path), "--target", "y") == 2
    assert "is not a text file in UTF-8" in capsys.readouterr().err


def test_output_that_cannot_be_a_folder(module, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    arguments = ["--dataset", "wine", "--quiet", "--output", str(tmp_path / "file")]
    assert module("compare.__main__").main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_without_matplotlib_only_the_chart_is_missing(compare, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    one = ["--dataset", "diabetes", "--estimator", "RandomForestRegressor", "--max-rows", "60"]
    assert compare(*one, "--repeats", "1", "--quiet") == 0
    shown = capsys.readouterr()
    assert (
        shown.err == 'no chart: matplotlib is missing; python -m pip install ".[plot]" brings it\n'
    )
    assert sorted(p.name for p in (tmp_path / "output").iterdir()) == ["folds.csv", "table.csv"]


class Refuses(ClassifierMixin, BaseEstimator):
    """An estimator that fails: the others must come through."""

    def fit(self, X, y):
        raise ValueError("no such luck\nsecond line")

    def predict(self, X):
        raise NotImplementedError


def test_an_estimator_that_fails_is_shown_and_the_status_is_1(
    compare, module, tmp_path, capsys, monkeypatch
):
    known = {"Refuses": Refuses, "BaggingClassifier": BaggingClassifier}
    monkeypatch.setattr(module("compare.peers"), "exported", lambda: known)
    assert compare("--dataset", "wine", "--max-rows", "45", "--repeats", "1", "--quiet") == 1
    assert "Refuses" in (shown := capsys.readouterr().out)
    assert "ValueError: no such luck\n" in shown
    failed, fine = read_csv(tmp_path / "output" / "table.csv")
    assert failed["failed"] == "ValueError: no such luck"
    assert failed["score"] == failed["peer"] == ""
    assert float(fine["score"]) > 0.5
    monkeypatch.setattr(module("compare.peers"), "exported", lambda: {"Refuses": Refuses})
    assert compare("--dataset", "wine", "--max-rows", "45", "--repeats", "1", "--quiet") == 1
    assert "no chart: no estimator came through" in capsys.readouterr().err


def test_list(compare, capsys):
    assert compare("--list") == 0
    shown = capsys.readouterr().out
    assert "BinnedTreeRegressor: grid {'min_samples_leaf': [1, 10]}" in shown
    assert "diabetes: regression" in shown


# --- the parts --------------------------------------------------------------------------------


def test_regression_is_stratified_by_equally_large_bins(module):
    data = module("compare.data")
    y = np.random.default_rng(0).integers(0, 3, 97).astype(float)  # ties
    dataset = data.Dataset("d", "regression", y[:, None], y, 97)
    strata = dataset.strata()
    assert set(np.bincount(strata)) <= {9, 10}
    assert all(y[strata == k].max() <= y[strata == k + 1].min() for k in range(9))
    small = dataset.subsample(40, seed=0)
    assert len(small.y) == 40
    assert abs(small.y.mean() - y.mean()) < 0.05


def test_corrected_standard_error_on_figures_worked_out_by_hand(module):
    folds = module("compare.folds")
    # Four values, variance 5/3, two folds: (1/4 + 1/1) * 5/3 = 25/12.
    assert folds.corrected_standard_error([1.0, 2, 3, 4], 2) == pytest.approx(np.sqrt(25 / 12))


def test_a_fold_is_a_search_on_its_training_rows_alone(module):
    """The same by hand: inner folds, the better of two C, a refit, the score on the test rows."""
    data, folds, peers = map(
        module,
        [
            "compare.data",
            "compare.folds",
            "compare.peers",
        ],
    )
    dataset = data.load_bundled("wine").subsample(90, seed=0)
    rows = np.arange(90)
    train, test = rows[rows % 3 != 0], rows[rows % 3 == 0]
    grid = {"C": [1e-4, 1.0]}
    candidate = peers.Candidate("logistic", LogisticRegression(), grid)
    fold = folds.evaluate_fold(candidate, dataset, dataset.strata(), train, test, "accuracy", 5)

    means = []
    for C in grid["C"]:
        model = make_pipeline(StandardScaler(), LogisticRegression(C=C))
        inner = StratifiedKFold(3, shuffle=True, random_state=5)
        scores = [
            model.fit(dataset.X[train[a]], dataset.y[train[a]]).score(
                dataset.X[train[b]], dataset.y[train[b]]
            )
            for a, b in inner.split(train, dataset.y[train])
        ]
        means.append(np.mean(scores))
    best = grid["C"][int(np.argmax(means))]
    model = make_pipeline(StandardScaler(), LogisticRegression(C=best))
    model.fit(dataset.X[train], dataset.y[train])
    assert fold.chosen == {"C": best}
    assert fold.score == model.score(dataset.X[test], dataset.y[test])


def test_all_candidates_get_the_same_splits(module):
    data, folds, peers = map(
        module,
        [
            "compare.data",
            "compare.folds",
            "compare.peers",
        ],
    )
    dataset = data.load_bundled("wine").subsample(60, seed=0)
    twins = [
        (peers.Candidate(name, LogisticRegression(), {}), dataset, "accuracy") for name in "ab"
    ]
    scores = {"a": [], "b": []}
    for candidate, of, fold in folds.evaluate(twins, folds=3, repeats=2, seed=0, n_jobs=1):
        assert of is dataset
        scores[candidate.name].append(fold.score)
    assert len(scores["a"]) == 6
    assert scores["a"] == scores["b"]


def test_ours_and_theirs_of_one_name_are_not_one_candidate(module):
    peers = module("compare.peers")
    ours, peer = peers.candidates("BaggingClassifier", peers.exported()["BaggingClassifier"], 0)
    assert ours.name == peer.name
    assert ours.key != peer.key


def test_every_grid_names_parameters_that_exist(module):
    peers = module("compare.peers")
    models = []
    for name, cls in peers.exported().items():
        ours, peer = peers.candidates(name, cls, seed=3)
        models += [ours] if peer is None else [ours, peer]
    assert all(c.model.get_params().get("random_state", 3) == 3 for c in models)
    for name in peers.ENTRIES.keys() - peers.exported().keys():
        entry = peers.ENTRIES[name]
        grid = entry.grid if entry.peer_grid is None else entry.peer_grid
        models.append(peers.Candidate(name, entry.peer(), grid))
    for candidate in models:
        for parameter, values in candidate.grid.items():
            assert len(values) > 1
            candidate.model.set_params(**{parameter: values[0]})


def test_every_estimator_has_a_peer(module):
    peers = module("compare.peers")
    for name, cls in peers.exported().items():
        ours, peer = peers.candidates(name, cls, seed=0)
        assert type(peer.model).__module__.startswith("sklearn.")
        assert peers.task_of(ours.model) == peers.task_of(peer.model)
        assert peer.key != ours.key


def test_a_model_without_a_grid_is_fitted_once(module):
    data, folds, peers = map(module, ["compare.data", "compare.folds", "compare.peers"])
    dataset = data.load_bundled("wine").subsample(60, seed=0)
    fits = []

    class Counted(LogisticRegression):
        def fit(self, X, y):
            fits.append(len(X))
            return super().fit(X, y)

    train, test = np.arange(0, 60, 2), np.arange(1, 60, 2)
    for grid, expected in (({}, 1), ({"C": [0.1, 1.0]}, 2 * 3 + 1)):
        candidate = peers.Candidate("counted", Counted(), grid)
        fold = folds.evaluate_fold(candidate, dataset, dataset.strata(), train, test, "accuracy", 0)
        assert len(fits) == expected
        assert set(fold.chosen) == set(grid)
        assert fold.seconds >= fold.fit_seconds > 0
        fits.clear()


def test_the_slowest_peers_are_marked_and_only_our_warnings_shown(module, capsys):
    main, folds, peers, show = map(
        module, ["compare.__main__", "compare.folds", "compare.peers", "compare.show"]
    )
    args = main.parse(["--dataset", "wine"])
    main.fill_in_defaults(args)
    dataset = module("compare.data").load_bundled("wine")
    names = ["BaggingClassifier", "RandomForestClassifier"]
    pairs = [(n, *peers.candidates(n, peers.exported()[n], 0)) for n in names]
    results = {}
    for (name, *pair), slow in zip(pairs, (100.0, 1.0)):
        for who, candidate, seconds in zip(("ours", "theirs"), pair, (3.0, slow)):
            fold = folds.Fold(0.5, 0.1, 0.1, {}, (f"UserWarning: {who} of {name}",), None, seconds)
            results["wine", candidate.key] = [fold, fold]
    rows = list(main.table(dataset, pairs, results, args))
    assert [row.is_slow for row in rows] == [True, False]
    show.print_table(rows)
    main.report_warnings(args, [dataset], {"wine": pairs}, results)
    shown = capsys.readouterr()
    assert shown.out.count(" *") == 1
    assert "vs BaggingClassifier *" in shown.out
    assert "* One of the slowest peers: 5% or more" in shown.out
    assert "theirs" not in shown.err
    assert shown.err.count("warned in 2 outer folds: UserWarning: ours of") == 2


def test_the_last_lines_say_in_words_what_was_found(module):
    show, folds = module("compare.show"), module("compare.folds")

    def row(name, difference, error, seconds):
        ours, theirs = (folds.Summary(0.5, 0.1, s, 0.1, "-") for s in (seconds, 1.0))
        data = ("wine", "classification", 60, 13, "accuracy")
        return show.Row(*data, name, ours, "Peer", theirs, difference, error)

    alone = show.Row("wine", "", 60, 13, "", "Alone", folds.Summary(0.5, 0.1, 1.0, 0.1, "-"))
    rows = [row("A", 0.3, 0.1, 0.25), row("B", 0.1, 0.1, 0.25), row("C", -0.2, 0.05, 1.0), alone]
    assert show.in_words(rows) == (
        "3 estimators beside their scikit-learn peers, 1 data set: better on 1 of 3 comparisons, "
        "equal within two standard errors on 1, worse on 1. Fits are 2.5 times as fast in the mean."
    )
    assert "2.0 times as slow" in show.in_words([row("A", 0.0, 0.0, 2.0)])
    assert "equal within two standard errors on 1" in show.in_words([row("A", 0.0, 0.0, 2.0)])
    assert show.in_words([alone]) == ""


@pytest.mark.slow
def test_the_program_in_a_checkout_is_that_of_the_package(module):
    script = (BENCHMARKS / "compare.py").read_text(encoding="utf-8")
    assert "from sklearn_ensemble_theory.compare.__main__ import main" in script
    assert len(script.splitlines()) < 15
    command = [sys.executable, "-m", "sklearn_ensemble_theory.compare", "--list"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0
    assert "wine: classification" in done.stdout
    alone = [line for line in done.stdout.splitlines() if "no peer" in line]
    assert alone == [], (
        "these estimators have no peer: give each an Entry in ENTRIES of compare/peers.py, with "
        "its grid and the estimator that a user would use otherwise"
    )


def test_an_estimator_without_an_entry_joins_alone(module):
    peers = module("compare.peers")

    class Unheard(BaggingClassifier):
        def __init__(self, n_estimators=10, random_state=None):
            super().__init__(n_estimators=n_estimators, random_state=random_state)

    ours, peer = peers.candidates("Unheard", Unheard, seed=4)
    assert ours.grid == peers.DEFAULT_GRID
    assert ours.model.random_state == 4
    assert peer is None

    class Needy(BaggingClassifier):
        def __init__(self, judges, *, random_state=None):
            super().__init__(random_state=random_state)

    with pytest.raises(
        module("compare").UsageError,
        match="Needy needs judges: give it an entry",
    ):
        peers.candidates("Needy", Needy, seed=4)


def test_progress_on_a_terminal_and_elsewhere(module):
    import io

    show = module("compare.show")
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    plain = io.StringIO()
    for stream in (terminal, plain):
        progress = show.Progress(20, stream=stream)
        for _ in range(20):
            progress.advance("wine: Bagging")
    assert terminal.getvalue().count("\r") == 20
    assert "#" * 30 in terminal.getvalue()
    assert plain.getvalue().count("\n") == 10
    assert "\r" not in plain.getvalue()
