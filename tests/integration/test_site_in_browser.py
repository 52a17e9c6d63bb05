"""A built site in a browser: on a phone, in dark mode, by keyboard, and its search.

    python -m sphinx -E -q -D plot_gallery=False -b html docs docs/_build/html
    python -m pytest -n 0 tests/integration/test_site_in_browser.py

It needs playwright, a Chromium (that of playwright, or one on the path), and a site in
docs/_build/html or in the folder that the variable `SITE` names. The build itself checks links,
headings and texts of pictures of all pages (docs/_ext/page_checks.py).
"""

import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SITE = Path(os.environ.get("SITE") or Path(__file__).parents[2] / "docs" / "_build" / "html")
PAGES = (
    "index",
    "getting_started",
    "which_estimator",
    "api",
    "search",
    "user_guide/additive_models",
    "user_guide/break_a_theorem",
    "user_guide/coming_from",
    "user_guide/how_good",
    "user_guide/how_loose",
    "user_guide/play",
    "user_guide/uncertainty",
    "generated/sklearn_ensemble_theory.RandomForestClassifier",
    "generated/sklearn_ensemble_theory.bounds.gauge",
    "auto_examples/index",
    "auto_lectures/plot_bach",
)
# What visitors type, and the pages of which one is among the first three results.
SEARCHES = {
    "install": ["getting_started"],
    "GAM": ["user_guide/additive_models"],
    "EBM": ["user_guide/additive_models"],
    "conformal": ["user_guide/uncertainty"],
    "conformal prediction": ["user_guide/uncertainty"],
    "quantile forest": ["user_guide/uncertainty"],
    "RandomForestClassifier": ["generated/sklearn_ensemble_theory.RandomForestClassifier"],
}
# Texts whose contrast is less than that of WCAG AA: 4.5, or 3 for large letters. The paper below a
# text of a drawing is the last shape before it that contains its middle.
FAINT = """() => {
  const brush = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const known = new Map();
  const read = colour => {
    if (!known.has(colour)) {
      brush.clearRect(0, 0, 1, 1);
      brush.fillStyle = colour;
      brush.fillRect(0, 0, 1, 1);
      const [r, g, b, alpha] = brush.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, alpha / 255]);
    }
    return known.get(colour);
  };
  const over = ([r, g, b, alpha], paper) =>
    [r, g, b].map((part, i) => alpha * part + (1 - alpha) * paper[i]);
  const light = rgb => {
    const [r, g, b] = rgb.map(part => {
      part /= 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paperOf = element => {
    if (!element) return [255, 255, 255];
    const colour = read(getComputedStyle(element).backgroundColor);
    return over(colour, colour[3] === 1 ? [0, 0, 0] : paperOf(element.parentElement));
  };
  const shapeBelow = text => {
    const {x, y, width, height} = text.getBoundingClientRect();
    return [...text.closest('svg').querySelectorAll('rect')].findLast(shape => {
      const box = shape.getBoundingClientRect();
      return shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING
        && box.left <= x + width / 2 && x + width / 2 <= box.right
        && box.top <= y + height / 2 && y + height / 2 <= box.bottom;
    });
  };
  const found = new Map(), texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const words = texts.currentNode.data.trim(), element = texts.currentNode.parentElement;
    const visible = {opacityProperty: true, visibilityProperty: true};
    if (!words || !element.checkVisibility(visible) || element.closest('[disabled]')) continue;
    const style = getComputedStyle(element), size = parseFloat(style.fontSize);
    const drawing = element.closest('svg'), shape = drawing && shapeBelow(element);
    let paper = paperOf(drawing ?? element);
    if (shape) paper = over(read(getComputedStyle(shape).fill), paper);
    const ink = [...read(drawing ? style.fill : style.color)];
    for (let e = element; e; e = e.parentElement) ink[3] *= getComputedStyle(e).opacity;
    const [low, high] = [light(over(ink, paper)), light(paper)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const part = `${element.parentElement.className} > ${element.tagName}.${element.className}`;
    if (ratio < (large ? 3 : 4.5) - 0.01 && !found.has(part))
      found.set(part, `${ratio.toFixed(2)}: ${part}: ${words.slice(0, 40)}`);
  }
  return [...found.values()];
}"""
FOCUS = """() => {
  const {outlineStyle, outlineWidth, boxShadow} = getComputedStyle(document.activeElement);
  const box = document.activeElement.getBoundingClientRect();
  return {
    text: document.activeElement.textContent.trim(),
    href: document.activeElement.getAttribute('href'),
    inside: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0,
    marked: (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none',
  };
}"""


class Files(SimpleHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/favicon.ico":  # some browsers ask for it, and none is needed
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture(scope="module")
def address():
    """The address of the site, served as on the network."""
    if not (SITE / "index.html").is_file():
        pytest.skip(f"no built site in {SITE}")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=SITE))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def page(browser, address):
    """A page without errors: of the console, of scripts, of requests, and of requests elsewhere."""
    context = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    page, faults = context.new_page(), []
    page.set_default_timeout(20_000)
    page.on("console", lambda text: faults.append(text.text) if text.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("requestfailed", lambda asked: faults.append(asked.url))
    page.on("response", lambda found: faults.append(found.url) if found.status >= 400 else None)
    page.on("request", lambda asked: None if local(asked.url) else faults.append(asked.url))

    def local(url):
        return url.startswith((address, "data:", "blob:"))

    yield page
    found = [*faults]  # without requests that end because the page closes
    context.close()
    assert found == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_legible(page, address, name):
    page.goto(f"{address}/{name}.html")
    assert page.locator("h1").count() == 1
    assert page.locator("img:not([alt])").count() == 0
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector(f"html[data-theme={scheme}]")
        for width in (1400, 420):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, width
            assert page.evaluate(FAINT) == [], (scheme, width)


def test_pictures_are_shown(page, address):
    page.goto(f"{address}/index.html")
    page.wait_for_load_state()
    assert page.locator("article img").count() >= 7
    broken = "[...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)"
    assert page.evaluate(broken) == []


def test_the_keyboard_reaches_text_and_navigation(page, address):
    page.goto(f"{address}/user_guide/uncertainty.html")
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUS)["text"] == "Skip to main content"
    page.wait_for_function(f"({FOCUS})().inside")  # it slides in
    names = []
    for _ in range(12):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        names.append(focus["text"])
        assert focus["inside"], focus
        assert focus["marked"], focus
    assert {"Getting started", "User guide", "API reference"} <= set(names)
    page.goto(f"{address}/user_guide/uncertainty.html")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_the_menu_of_a_narrow_screen_opens_by_keyboard(page, address):
    page.set_viewport_size({"width": 420, "height": 900})
    page.goto(f"{address}/index.html")
    button = page.locator("button.primary-toggle")
    button.focus()
    page.keyboard.press("Enter")
    link = page.locator("dialog[open] a", has_text="User guide").first
    link.wait_for()
    assert page.evaluate("document.activeElement.closest('dialog') !== null")
    page.keyboard.press("Escape")
    link.wait_for(state="hidden")


@pytest.mark.parametrize("words", SEARCHES)
def test_a_search_finds_the_page(page, address, words):
    page.goto(f"{address}/search.html?q={words.replace(' ', '+')}")
    page.wait_for_selector("#search-results ul.search > li > a")
    page.wait_for_function("document.querySelector('#search-results p.search-summary')")
    links = page.locator("#search-results ul.search > li > a").all()[:3]
    found = [link.get_attribute("href").split("#")[0].split("?")[0] for link in links]
    assert {f"{name}.html" for name in SEARCHES[words]} & set(found), found
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    assert page.evaluate(FAINT) == []
