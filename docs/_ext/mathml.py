"""Renders formulas as MathML, which browsers show without a script and without a network.

docutils converts TeX to MathML and refuses what it does not know. Before that, `spelled_out` writes
in its words what it lacks or reads in another way than TeX. A formula that cannot be converted is a
warning, and so an error of the build.
"""

import re
from itertools import pairwise
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)
# Longer inline formulas scroll on narrow screens, as browsers do not break them.
LONG = 30

FRACTION_OF_DIGITS = re.compile(r"\\([td]?frac|binom)\s*(\d)\s*(\d)")
REPLACED = (
    (re.compile(r"\\dots(?![A-Za-z])"), r"\\ldots"),
    (re.compile(r"\\(big|Big)(?![A-Za-z])"), r"\\\1l"),
    (re.compile(r"\\(begin|end)\{split\}"), r"\\\1{aligned}"),
    # TeX takes one digit, not the whole number.
    (FRACTION_OF_DIGITS, r"\\\1{\2}{\3}"),
    (re.compile(r"^(?=[\^_])"), "{}"),
)
ACCENTS = {*"^\u02c6~\u02dc\u02c9\u00af\u203e\u2192\u02d9"}  # hats, tildes, bars, an arrow, a dot
APPLIED = "\u2061"  # between a function's name and its argument
BARS = {"|", "‖"}


def spelled_out(tex):
    """A formula in the TeX that docutils reads."""
    tex = tex.strip()
    for pattern, replacement in REPLACED:
        tex = pattern.sub(replacement, tex)
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{aligned}}{tex}\end{{aligned}}"
    return tex


def mathml(tex, as_block=False):
    """The MathML element of a formula in TeX; an error if a part of it is not known."""
    try:
        found = tex2mathml(spelled_out(tex), as_block=as_block)
    except IndexError as error:  # of an index or exponent of nothing
        raise MathError(f"not a formula: {tex}") from error
    found = re.sub(r' xmlns="[^"]*"', "", found).replace("&ApplyFunction;", APPLIED)
    element = ElementTree.fromstring(found)
    for part in element.iter():
        part.text, part.tail = (part.text or "").strip("\n"), ""
        if not part.text.strip() and part.tag != "mtext":
            part.text = ""
    for part in element.iter():
        arranged(part)
    return ElementTree.tostring(element, encoding="unicode")


def arranged(part):
    """Change an element where docutils and browsers place its parts in another way than TeX."""
    if part.tag == "munderover" and part[2].text in ACCENTS:
        # The index of a letter with an accent stands beside it, not below.
        letter, index, accent = part
        accented = ElementTree.Element("mover", {"accent": "true"})
        accented.extend([letter, accent])
        part.tag, part[:] = "msub", [accented, index]
    if part.text in BARS:
        if "minsize" not in part.attrib:
            part.set("stretchy", "false")
        part.attrib.update(lspace="0", rspace="0")
    for function, argument in pairwise(part):
        if function.text == APPLIED and argument.tag != "mo":
            function.tag, function.text = "mspace", ""
            function.set("width", "0.17em")


def converted(writer, node):
    try:
        return mathml(node.astext(), isinstance(node, nodes.math_block))
    except MathError as error:
        logger.warning("%s: %s", error, node.astext(), location=node)
        return writer.encode(node.astext())


def visit_inline(writer, node):
    kind = "math long" if len(node.astext()) > LONG else "math"
    writer.body.append(f'<span class="{kind}">{converted(writer, node)}</span>')
    raise nodes.SkipNode


def visit_block(writer, node):
    writer.body.append(writer.starttag(node, "div", CLASS="math", tabindex="0"))
    writer.body.append(f"{converted(writer, node)}</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
