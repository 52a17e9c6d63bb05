"""Of which sources the compiled modules of a checkout were made.

`setup.py` runs this file to keep a record beside the modules; the package compares it when it is
imported from a checkout. An installed package has no sources, and nothing to compare.
"""

import json
import os
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

FOLDER = Path(__file__).parent
# One for each Python that the checkout was compiled for.
RECORD = FOLDER / f"_record{EXTENSION_SUFFIXES[0]}.json"


def digests() -> dict[str, str]:
    """The SHA-256 of each source, by name."""
    found: dict[str, str] = {}
    for path in FOLDER.iterdir() if FOLDER.is_dir() else []:
        if path.suffix in (".pyx", ".pxd", ".h") and not path.name.startswith("."):
            found[path.name] = sha256(path.read_bytes()).hexdigest()
    return found


def read() -> dict[str, dict[str, str]]:
    """The digests of the sources that were compiled, and of what each module was made of."""
    try:
        return dict(json.loads(RECORD.read_text()))
    except (OSError, ValueError):  # none, or one that was not written to its end
        return {"sources": {}, "modules": {}}


def write(sources: dict[str, str], modules: dict[str, str]) -> None:
    """Keep these digests; at once, as others may read them."""
    part = RECORD.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps({"sources": sources, "modules": modules}))
    part.replace(RECORD)


def refuse_stale_modules() -> None:
    """Refuse a checkout that is not compiled, or was changed since then. About 1 ms."""
    now, then, checkout = digests(), read(), FOLDER.parent.parent
    names = [name.rsplit(".", 1)[1] for name in then["modules"]]
    are_there = all((FOLDER / f"{name}{EXTENSION_SUFFIXES[0]}").exists() for name in names)
    if now and not (names and are_there):
        raise ImportError(
            f"sklearn_ensemble_theory was found in {checkout}, a checkout that is not compiled for "
            "this Python: run `python -m pip install -e .` there, or start Python in another "
            "folder to import an installed copy."
        )
    old = then["sources"]
    changed = [name for name in now.keys() | old.keys() if now.get(name) != old.get(name)]
    if now and changed:
        what = ", ".join(sorted(changed)) if len(changed) < 4 else f"{len(changed)} sources"
        raise ImportError(
            f"{what} of {FOLDER} changed after the last compilation: run `python setup.py "
            f"build_ext --inplace` in {checkout}, which needs the extra dev, or `python -m pip "
            "install -e .`."
        )
