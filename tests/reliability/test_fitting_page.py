"""The tests that the page on failing fits names."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "user_guide" / "fitting.md"


def test_the_tests_that_the_page_names_exist():
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 10
    for file, test in named:
        assert f"def {test}(" in (FOLDER / file).read_text(encoding="utf-8"), test
