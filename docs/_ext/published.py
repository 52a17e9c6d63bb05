"""What the published site has in addition to the pages, and how its versions are arranged.

As an extension of Sphinx it adds to each page a description, which search engines and previews of
links show, and to the site a `sitemap.xml`. If `SITE_VERSION` is set, as in the workflow that
publishes, pages have a menu of versions, and the gallery's pages a link to a hosted notebook. All
other builds make no request.

As a program it puts a built site into a copy of the published one:

    SITE_VERSION=$(python docs/_ext/published.py)     the folder of this version: `dev`, or `0.1`
    python docs/_ext/published.py docs/_build/html published

Each minor release has a folder, and the newest one is at the root as well. Before the first release
the development version is at the root.
"""

import html
import json
import os
import re
import runpy
import shutil
import sys
from pathlib import Path

from source_links import PACKAGE, ROOT, SOURCE

VERSION = runpy.run_path(str(ROOT / PACKAGE / "_version.py"))
PREVIEW = "_static/defaults.png"
SWITCHER = "switcher.json"
LONGEST = 200  # letters of a description
COLAB = SOURCE.replace("github.com", "colab.research.google.com/github")
COLAB += "/blob/gh-pages/{version}/_downloads"
# The first of each notebook.
CELL = (
    "# In a hosted notebook, remove the sign # of the next line, which installs the package.\n"
    f"# %pip install -q git+{SOURCE}"
)


def folder_of(version):
    """`dev`, or the major and minor number of a release."""
    return "dev" if "dev" in version else ".".join(version.split(".")[:2])


def theme_options(version):
    """The menu of versions, for pages of this version; nothing for a build that stays local."""
    if not version:
        return {}
    return {
        "switcher": {
            "json_url": f"{VERSION['DOCUMENTATION']}/{SWITCHER}",
            "version_match": version,
        },
        "check_switcher": False,  # no request during the build
        "navbar_start": ["navbar-logo", "version-switcher"],
        "show_version_warning_banner": True,
    }


# Each page


def shortened(text, longest=LONGEST):
    """One line of text that ends with a word."""
    text = " ".join(text.split())
    return text if len(text) <= longest else text[:longest].rsplit(" ", 1)[0] + " …"


def tags(title, text, address, picture):
    """The elements of a page's head that previews of links and search engines read."""
    found = [("name", "description", text), ("property", "og:description", text)] if text else []
    found += [
        ("property", "og:title", title),
        ("property", "og:type", "website"),
        ("property", "og:url", address),
        ("property", "og:image", picture),
        ("name", "twitter:card", "summary_large_image"),
    ]
    return "".join(f'<meta {a}="{b}" content="{html.escape(c)}" />\n' for a, b, c in found)


def describe_page(app, page, template, context, doctree):
    from docutils import nodes

    base = app.config.html_baseurl
    if not base:
        return
    paragraphs = doctree.findall(nodes.paragraph) if doctree else ()
    text = next((found for p in paragraphs if len(found := p.astext()) > 30), "")
    title = re.sub("<.*?>", "", context.get("title", "")) or app.config.project
    address = f"{base}{app.builder.get_target_uri(page)}"
    own = tags(html.unescape(title), shortened(text), address, base + PREVIEW)
    context["metatags"] = context.get("metatags", "") + own


def link_hosted_notebooks(app, doctree, page):
    """Below the links that download a page of the gallery."""
    from docutils import nodes
    from sphinx import addnodes

    version = os.environ.get("SITE_VERSION")
    for link in list(doctree.findall(addnodes.download_reference)) if version else ():
        if "filename" in link and link["filename"].endswith(".ipynb"):
            folder = COLAB.format(version=version)
            hosted = nodes.reference("", "Open the notebook in Colab")
            hosted["refuri"] = f"{folder}/{link['filename']}"
            place = link.parent.parent
            place.parent.insert(
                place.parent.index(place) + 1,
                nodes.container("", nodes.paragraph("", "", hosted), classes=place["classes"]),
            )


# The site


def sitemap(addresses):
    lines = "".join(f"  <url><loc>{html.escape(a)}</loc></url>\n" for a in sorted(addresses))
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return f'{head}<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{lines}</urlset>\n'


def write_sitemap(app, exception):
    if not exception and app.builder.name == "html" and app.config.html_baseurl:
        pages = map(app.builder.get_target_uri, app.env.found_docs)
        text = sitemap(app.config.html_baseurl + page for page in pages)
        Path(app.outdir, "sitemap.xml").write_text(text, encoding="utf-8")


def by_number(folder):
    return tuple(map(int, folder.split(".")))


def arrange(built, published, version):
    """Put the built site of a version into the published one; return the entries of the menu."""
    folder = folder_of(version)
    known = {path.name for path in published.iterdir() if path.is_dir()} | {folder}
    releases = sorted(filter(re.compile(r"\d+\.\d+").fullmatch, known), key=by_number)
    kept = {*releases, "dev", ".git"}
    shutil.rmtree(published / folder, ignore_errors=True)
    shutil.copytree(built, published / folder)
    newest = releases[-1] if releases else "dev"
    for path in published.iterdir() if folder == newest else ():
        if path.is_dir() and path.name not in kept:
            shutil.rmtree(path)
        elif path.is_file() and path.name != ".git":
            path.unlink()
    if folder == newest:
        shutil.copytree(built, published, dirs_exist_ok=True)
    (published / ".nojekyll").touch()  # folders whose names begin with a line are published
    base, entries = VERSION["DOCUMENTATION"], []
    for name in [*(["dev"] if "dev" in known else []), *reversed(releases)]:
        entries.append({"version": name, "url": f"{base}/{name}/"})
        if name == newest and releases:
            entries[-1] |= {"name": f"{name} (newest)", "url": f"{base}/", "preferred": True}
    (published / SWITCHER).write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    return entries


def main(arguments):
    if arguments:
        arrange(*map(Path, arguments), VERSION["__version__"])
    else:
        print(folder_of(VERSION["__version__"]))


def setup(app):
    app.connect("html-page-context", describe_page)
    app.connect("doctree-resolved", link_hosted_notebooks)
    app.connect("build-finished", write_sitemap)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    main(sys.argv[1:])
