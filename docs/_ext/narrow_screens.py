"""What names and tables need on narrow screens, added to the HTML of the pages.

- A long name may break between its words: `AdditiveBoosting|Regressor`, `hoeffding_|tail`. The
  `<wbr>` is no letter: a copy of the name does not have it. `custom.css` uses it in tables, titles
  and signatures, and in text for names of more than a `LINE`; on wide screens only in heads of
  tables, and in their names that are `LONG`.
- A cell of a table with a sentence has the class `sentence`: it is wide enough to be read. A
  `short` one, such as a number, is as wide as its text.
- A number and its sign, as in "≈ 0.3" or "3 → 2", stay on one line of a cell.
"""

import re

CODE = re.compile(r'(?<=<span class="pre">)[^<]+')
TITLE = re.compile(r"(?<=<h1>)\w+")
BREAKS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[a-z0-9]_)(?=[a-z0-9])|(?<=\w[.(=/])(?=\w)")
SIGNATURE = re.compile(r'<span class="sig-name descname">|(?<=<span class="sig-paren">\(</span>)')
CELL = re.compile(r"<td>(.*?)</td>", re.DOTALL)
SIGNS = re.compile(r"(?<=[≈→±]) | (?=[→±%])")
LONG, LINE = 28, 44  # letters of a name
SENTENCE, SHORT = 60, 12  # and of a cell


def breakable(name):
    """A name with the places where it may break."""
    size = len(name.group())
    kind = " class=line" if size > LINE else " class=long" if size > LONG else ""
    return BREAKS.sub(f"<wbr{kind}>", name.group())


def readable(cell):
    """A cell of a table: a class for its length, and signs that stay beside their numbers."""
    text = re.sub("<math.*?</math>|<[^>]+>", "", cell.group(1), flags=re.DOTALL)
    kind = "sentence" if len(text) > SENTENCE else "short" if len(text) <= SHORT else ""
    start = f'<td class="{kind}">' if kind else "<td>"
    return f"{start}{SIGNS.sub('&#160;', cell.group(1))}</td>"


def fitted(body):
    """The HTML of a page for narrow screens."""
    body = CELL.sub(readable, TITLE.sub(breakable, CODE.sub(breakable, body)))
    return SIGNATURE.sub(lambda part: f"<wbr>{part.group()}", body)


def complete_page(app, name, template, context, doctree):
    if "body" in context:
        context["body"] = fitted(context["body"])


def setup(app):
    app.connect("html-page-context", complete_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
