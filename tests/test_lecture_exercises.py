"""Exercises at the end of the lectures: solutions are graded right, and other answers are not."""

import ast
from pathlib import Path

import numpy as np
import pytest

LECTURES = Path(__file__).parents[1] / "docs" / "lectures"
WRONG = {
    "plot_bach": [98, 5, lambda u, psi, y: u + psi[:, 0]],
    "plot_dombry_esstafa": [918, 10.0, lambda S, y, rate, rounds: y],
    "plot_ds_ga_1003": [lambda y, f: -y / (1 + np.exp(y * f)), lambda r, h: 1.0, 1 / 5],
    "plot_ghoshdastidar": [0.3, 0.2, 340],
    "plot_networks": [1500, lambda h: h, [(1, 1, 1), (-1, 1, 0)]],
    "plot_shah": [1 / 2, np.log, 71],
}


def test_every_lecture_has_exercises():
    scripts = {path.stem for path in LECTURES.glob("plot_*.py")}
    assert set(WRONG) == scripts - {"plot_bach_exercises"}


@pytest.mark.parametrize("name", WRONG)
def test_solutions_are_right_and_other_answers_are_not(name, capsys):
    text = (LECTURES / f"{name}.py").read_text(encoding="utf-8")
    before, exercises = text.split("# %%\n# Exercises\n# ---------\n")
    page = {}
    for node in ast.parse(before).body:  # without the page, and without matplotlib
        if isinstance(node, ast.Import | ast.ImportFrom) and "matplotlib" not in ast.unparse(node):
            exec(compile(ast.Module([node], []), name, "exec"), page)
    exec(compile(exercises, name, "exec"), page)
    printed = capsys.readouterr().out.splitlines()
    graded = [line for line in printed if line.startswith("Exercise")]
    assert graded == [f"Exercise {number}: right" for number in (1, 2, 3)]
    for number, answer in enumerate(WRONG[name], 1):
        page["grade"](number, answer)
        assert capsys.readouterr().out == f"Exercise {number}: not yet\n"
    # Hidden on the page and in the notebook by their first words.
    assert exercises.count("\n\n# Solution: ") == 3
    assert [exercises.count(f"\n# *Exercise {number}.* ") for number in (1, 2, 3, 4)] == [
        1,
        1,
        1,
        0,
    ]
