"""Of which sources the compiled modules of a checkout were made.

`setup.py` runs this file to write a record beside the modules; the package compares it when it is
imported from a checkout. An installed package has no sources, and nothing to compare.
"""

import json
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

FOLDER = Path(__file__).parent
# One for each Python that the checkout was compiled for.
RECORD = FOLDER / f"_sources{EXTENSION_SUFFIXES[0]}.json"


def digests() -> dict[str, str]:
    """The SHA-256 of each source, by name."""
    sources = [path for path in FOLDER.iterdir() if path.suffix in (".pyx", ".pxd", ".h")]
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in sources}


def changed() -> list[str]:
    """The sources that are new, gone or different since the modules were compiled; sorted."""
    now, then = digests(), json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))


def record() -> None:
    RECORD.write_text(json.dumps(digests()))


def is_compiled() -> bool:
    """Whether every module is there for this Python."""
    names = [path.stem for path in FOLDER.glob("*.pyx")]
    return all((FOLDER / f"{name}{EXTENSION_SUFFIXES[0]}").exists() for name in names)


def refuse_stale_modules() -> None:
    """Refuse a checkout that is not compiled, or was changed since then. Less than 1 ms.

    Raises
    ------
    ImportError
        It says what to run.
    """
    names, checkout = changed(), FOLDER.parent.parent
    if not is_compiled():
        raise ImportError(
            f"sklearn_ensemble_theory was found in {checkout}, a checkout that is not compiled for "
            "this Python: run `python -m pip install -e .` there, or start Python in another "
            "folder to import an installed copy."
        )
    if names:
        raise ImportError(
            f"{', '.join(names)} of {FOLDER} changed after the last compilation: run `python "
            f"setup.py build_ext --inplace` in {checkout}, which needs the extra dev, or `python "
            "-m pip install -e .`."
        )
