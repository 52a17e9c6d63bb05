"""Checks of the built pages. What they find are warnings, and so errors of the build.

- The levels of headings increase by one, and a page has one h1.
- A link to another page, a part of it or a file of the site leads somewhere.
- Pictures have a text for those who do not see them.
- No script, style sheet, font or picture comes from elsewhere: the site works without a network.
- No page shows the representation of an object, as in `Text(0.5, 1.0, 'title')`.
"""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

REPRESENTATION = re.compile(r"\bText\(-?\d|<matplotlib\.|<Axes: |&lt;(?:matplotlib\.|Axes: )")
REMOTE = re.compile(r"(?:https?:)?//")
# Pages that Sphinx writes, with headings of the theme.
OWN_HEADINGS = {"genindex.html", "py-modindex.html", "search.html"}


class Page(HTMLParser):
    """The headings, anchors, links, pictures and remote files of a page."""

    def __init__(self, text):
        super().__init__()
        self.levels, self.anchors, self.links = [], set(), []
        self.without_text, self.remote = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        self.anchors.update(attrs[name] for name in ("id", "name") if attrs.get(name))
        if tag == "a" and attrs.get("href"):
            self.links.append(attrs["href"])
        if tag == "img" and "alt" not in attrs:  # empty where the text is beside it
            self.without_text.append(attrs.get("src"))
        loaded = attrs.get("href") if tag == "link" else attrs.get("src")
        if tag == "link" and attrs.get("rel") in ("canonical", "next", "prev", "index", "search"):
            loaded = None
        if loaded and REMOTE.match(loaded):
            self.remote.append(loaded)


@cache
def read_page(path):
    return Page(path.read_text(encoding="utf-8"))


def skipped_levels(levels):
    """The pairs of successive headings of which the second is more than one level deeper."""
    return [f"h{a} -> h{b}" for a, b in zip([0, *levels], levels) if b > a + 1]


def broken(link, page):
    """Whether a link to the site itself leads nowhere."""
    if REMOTE.match(link) or re.match("(?:mailto|javascript|data):", link):
        return False
    name, _, anchor = link.partition("#")
    target = (page.parent / unquote(name.split("?")[0])).resolve() if name else page
    if not target.is_file():
        return True
    is_part = anchor and target.suffix == ".html"
    return bool(is_part) and unquote(anchor) not in read_page(target).anchors


def faults(path):
    """What is wrong with a page, in words."""
    page = read_page(path)
    if path.name not in OWN_HEADINGS:
        yield from (f"headings {pair}" for pair in skipped_levels(page.levels))
        if page.levels.count(1) != 1:
            yield f"{page.levels.count(1)} headings of level 1"
    yield from (f"broken link {link}" for link in sorted(set(page.links)) if broken(link, path))
    yield from (f"picture without a text: {source}" for source in page.without_text)
    yield from (f"loads {source}" for source in page.remote)
    if found := REPRESENTATION.search(path.read_text(encoding="utf-8")):
        yield f"shows a representation: {found.group()}"


def check_pages(app, exception):
    if exception or app.builder.name != "html":
        return
    from sphinx.util import logging  # here, as the tests of `faults` need no Sphinx

    logger = logging.getLogger(__name__)
    folder = Path(app.outdir)
    read_page.cache_clear()
    for path in sorted(folder.rglob("*.html")):
        if "_static" not in path.parts:
            for fault in faults(path):
                logger.warning("%s: %s", path.relative_to(folder).as_posix(), fault)


def setup(app):
    app.connect("build-finished", check_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
