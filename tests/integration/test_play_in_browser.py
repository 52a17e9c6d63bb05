"""Panels with sliders in a browser: a clean console, no request elsewhere, keys, both widths.

They need playwright and a Chromium: that of playwright, or one on the path.
"""

import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PANELS = ("spectral-filter", "neighbors", "margins", "forest", "adaboost-factor", "distances-tail")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The panels as the directive `play` places them, without the theme."""
    data = json.loads((DOCS / "_ext" / "play.json").read_text(encoding="utf-8"))
    boxes = "".join(
        f'<div class="play" data-panel="{name}">'
        f'<script type="application/json">{json.dumps(data.get(name))}</script>'
        '<div class="play-without">without</div></div>'
        for name in PANELS
    )
    static = (DOCS / "_static").as_uri()
    page = tmp_path_factory.mktemp("play") / "play.html"
    page.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>play</title>'
        f'<link rel="icon" href="data:,"><link rel="stylesheet" href="{static}/custom.css">'
        f'<body class="bd-article">{boxes}<script src="{static}/play.js"></script>',
        encoding="utf-8",
    )
    return page.as_uri()


@pytest.fixture(params=[420, 1400])
def page(request, browser, address):
    page = browser.new_page(viewport={"width": request.param, "height": 900})
    seen = []
    page.on("console", lambda message: seen.append(message.text))
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("request", lambda asked: seen.append(asked.url) if "http" in asked.url[:4] else None)
    page.goto(address)
    yield page
    assert seen == []
    page.close()


def test_panels_fit_and_are_named(page):
    assert page.locator(".play-picture > svg").count() == len(PANELS)
    assert page.locator(".play-without:visible").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    for picture in page.locator(".play-picture > svg").all():
        assert picture.get_attribute("aria-label")
        assert picture.bounding_box()["width"] <= page.viewport_size["width"]
    for slider in page.locator("input[type=range]").all():
        assert slider.get_attribute("aria-label")
        assert slider.get_attribute("aria-valuetext")


@pytest.mark.parametrize("name", PANELS)
def test_keys_move_a_slider(page, name):
    box = page.locator(f'[data-panel="{name}"]')
    slider, numbers = box.locator("input").first, box.locator(".play-numbers")
    read, before = slider.get_attribute("aria-valuetext"), numbers.text_content()
    picture = box.locator("svg").first.get_attribute("aria-label")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") != read
    assert numbers.text_content() != before
    assert box.locator("svg").first.get_attribute("aria-label") != picture
    page.keyboard.press("Home")
    page.keyboard.press("End")
    assert "NaN" not in box.inner_html()


def test_a_formula_turns_red_where_it_fails(page):
    box = page.locator('[data-panel="adaboost-factor"]')
    assert "play-fails" not in box.get_attribute("class")
    box.locator("input").first.focus()
    page.keyboard.press("End")
    assert "play-fails" in box.get_attribute("class")
    assert "fails" in box.locator(".play-verdict").text_content()
