"""The figures of the gallery, on its pages and on those of the guide.

Every axis has a label, and thumbnails show one panel in large print. On narrow screens a figure of
several panels keeps the size of its letters, and scrolls. The directive `gallery-figure`
shows the first figure of an example on another page, with the caption below it; where the gallery
was not run, the caption alone.

A thumbnail is as wide as 200 pixels. Scaled down to that, a figure of several panels cannot be
read, so the first panel of a script's first figure is drawn again in a small format.
"""

import tempfile
from pathlib import Path
from textwrap import indent

import matplotlib.pyplot as plt
from docutils import nodes
from matplotlib.transforms import Bbox
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_gallery.scrapers import matplotlib_scraper
from sphinx_gallery.utils import scale_image

logger = logging.getLogger(__name__)
PANEL_WIDTH = 3.3  # inches: 10 points are 8 pixels of 200
WIDE = 7.5  # inches: more than one panel beside another
PIXELS = 100  # of an inch
MARGIN = 0.06
drawn = {}  # the script -> the picture of its first panel
folder = tempfile.TemporaryDirectory()


def is_named(axis):
    """Whether an axis has a label, or ticks that are words."""
    ticks = [tick.get_text() for tick in axis.get_ticklabels()]
    words = any(any(map(str.isalpha, text)) for text in ticks if "$" not in text)
    return bool(axis.get_label_text()) or words


def beside(panel, name):
    """The panels whose label is read for this one too: those of the same row (y) or column (x)."""
    place = panel.get_subplotspec()
    span = {"x": "colspan", "y": "rowspan"}[name]
    for other in panel.figure.axes:
        where = other.get_subplotspec()
        together = place and where and place.get_gridspec() is where.get_gridspec()
        if together and getattr(place, span) == getattr(where, span):
            yield other


def unlabelled(figure):
    """The axes without a label, unless axes that share them, their row or the figure have one."""
    for number, panel in enumerate(figure.axes):
        if not panel.axison or hasattr(panel, "_colorbar"):
            continue
        for name in "xy":
            shared = getattr(panel, f"get_shared_{name}_axes")().get_siblings(panel)
            near = [*shared, *beside(panel, name)]
            of_figure = getattr(figure, f"get_sup{name}label")()
            if not of_figure and not any(is_named(getattr(a, f"{name}axis")) for a in near):
                yield f"{name} axis of panel {number}"


def draw_first_panel(figure, path):
    """Save the first panel of a figure, without legends and columns of text beside it.

    It is so small that its letters are legible.
    """
    size, panel = figure.get_size_inches(), figure.axes[0]
    figure.canvas.draw()
    columns = [text for text in panel.texts if not panel.bbox.overlaps(text.get_window_extent())]
    hidden = [*figure.legends, *(a.get_legend() for a in figure.axes), figure._suptitle, *columns]
    hidden = [part for part in hidden if part is not None and part.get_visible()]
    for part in hidden:
        part.set_visible(False)
    for _ in range(2):  # the part that is text grows in relation
        box = box_of(figure, panel)
        figure.set_size_inches(figure.get_size_inches() * min(1, PANEL_WIDTH / box.width))
    if len(figure.axes) == 1:
        figure.set_size_inches(PANEL_WIDTH, 0.7 * PANEL_WIDTH)
    figure.savefig(path, dpi=200, bbox_inches=box_of(figure, panel).padded(MARGIN))
    for part in hidden:
        part.set_visible(True)
    figure.set_size_inches(size)


def box_of(figure, panel):
    """The part of a figure that a panel and its labels take, in inches."""
    figure.canvas.draw()
    box = panel.get_tightbbox(figure.canvas.get_renderer())
    return Bbox(box.get_points() / figure.dpi)


def scrape(block, block_vars, gallery_conf):
    """Sphinx-Gallery's scraper, after a look at the figures."""
    script, is_wide = block_vars["src_file"], False
    for number in plt.get_fignums():
        figure = plt.figure(number)
        is_wide = is_wide or figure.get_figwidth() > WIDE
        for axis in unlabelled(figure):
            logger.warning("%s: a figure without a label at the %s", script, axis)
        if script not in drawn:
            drawn[script] = Path(folder.name, f"{len(drawn)}.png")
            draw_first_panel(figure, drawn[script])
    text = matplotlib_scraper(block, block_vars, gallery_conf)
    return f".. container:: wide-figure\n\n{indent(text, '    ')}\n" if is_wide else text


def images_of(group):
    """The folder with the figures of a group of examples, or of the pages of the lectures."""
    gallery = "auto_lectures" if group == "lectures" else f"auto_examples/{group}"
    return f"{gallery}/images"


def replace_thumbnails(app):
    """After the gallery has been run."""
    for script, picture in drawn.items():
        source = Path(script)
        path = Path(app.srcdir, images_of(source.parent.name), "thumb")
        path = path / f"sphx_glr_{source.stem}_thumb.png"
        scale_image(picture, path, *app.config.sphinx_gallery_conf["thumbnail_size"])


class GalleryFigure(SphinxDirective):
    """`{gallery-figure} group/plot_name` or `group/plot_name 2`, with a caption.

    The group of the pages of the lectures is `lectures`.
    """

    required_arguments, optional_arguments = 1, 1
    has_content = True

    def run(self):
        group, script = self.arguments[0].split("/")
        number = int(self.arguments[1]) if len(self.arguments) > 1 else 1
        uri = f"{images_of(group)}/sphx_glr_{script}_{number:03}.png"
        self.env.note_dependency(uri)  # the gallery may be run after this page was read
        caption = nodes.caption()
        self.assert_has_content()
        parsed = self.parse_content_to_nodes()
        caption += parsed[0].children
        path = Path(self.env.srcdir, uri)
        if not path.exists():
            return [nodes.paragraph("", "", *caption.children)]
        text = " ".join(caption.astext().split())
        picture = nodes.image(uri=f"/{uri}", alt=text)
        if is_wide(path):
            picture = nodes.container("", picture, classes=["wide-figure"])
        return [nodes.figure("", picture, caption)]


def is_wide(path):
    return plt.imread(path).shape[1] > WIDE * PIXELS


def mark_wide_pictures(app, doctree):
    """Pictures of the pages themselves, alone in a paragraph, scroll as those of the gallery do."""
    for image in doctree.findall(nodes.image):
        path = Path(app.srcdir, image["uri"])
        alone = isinstance(image.parent, nodes.paragraph) and len(image.parent.children) == 1
        is_file = path.suffix == ".png" and path.exists()
        if alone and is_file and is_wide(path):
            image.parent["classes"].append("wide-figure")


def setup(app):
    app.add_directive("gallery-figure", GalleryFigure)
    app.connect("doctree-read", mark_wide_pictures)
    app.connect("builder-inited", replace_thumbnails, priority=900)
    return {"parallel_read_safe": True}
