"""What tests with other tools share."""

import shutil

import pytest


@pytest.fixture(scope="module")
def browser():
    """A Chromium: that of playwright, or one on the path."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = [path for name in ("chromium", "google-chrome") if (path := shutil.which(name))]
    with playwright.sync_playwright() as tools:
        try:
            browser = tools.chromium.launch(
                executable_path=found[0] if found else None, args=["--no-sandbox"]
            )
        except playwright.Error as error:
            pytest.skip(f"no Chromium: {str(error).splitlines()[0]}")
        yield browser
        browser.close()
