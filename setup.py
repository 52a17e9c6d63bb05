"""The compiled modules of the package and the compiler for them; the rest is in pyproject.toml.

setuptools runs this file, and it is setuptools' build backend (PEP 517) with one addition: if no C
compiler works, the build requires `ziglang`, a wheel that contains one.

`python setup.py build_ext --inplace` compiles what has changed since the last call.
"""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from setuptools import Extension, build_meta, setup
from setuptools.build_meta import *  # noqa: F403  the hooks that stay as they are
from setuptools.command.build_ext import build_ext

FOLDER = Path("sklearn_ensemble_theory", "_native")
SHARED = "sklearn_ensemble_theory._native._memoryviews"
# Products are not fused with sums: the same bits on every processor. Neither errno nor the flags of
# floating-point errors are read, which lets the compiler take several rows at a time.
FLAGS = "-O3 -g0 -ffp-contract=off -fno-math-errno -fno-trapping-math"
FLAGS = ("/O2 /fp:precise" if os.name == "nt" else FLAGS).split()
# Some tests of every change, and more every night, run with checks of every address and operation;
# -O1 halves the time of their compilation.
SANITIZED = os.environ.get("SKLEARN_ENSEMBLE_THEORY_SANITIZE", "0") == "1"
SANITIZERS = "-O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined"
CHECKS = SANITIZERS.split() if SANITIZED else []
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": SANITIZED,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    # A missing array is an error, unless its argument says `or None`.
    "allow_none_for_extension_args": False,
    "freethreading_compatible": True,
}

ZIG = "ziglang"
A_WHEEL = "or a released wheel of sklearn-ensemble-theory, which needs none"
NO_COMPILER = (
    f"No C compiler works here ({{command}}), and there is no {ZIG}, the wheel that contains one: "
    "install a compiler (Debian: apt install gcc libc6-dev; macOS: xcode-select --install), "
    f"{A_WHEEL}."
)
NO_HEADERS = (
    "Python's C headers are missing ({path}): install them (Debian: apt install python3-dev), "
    f"{A_WHEEL}."
)


# --- the compiler ---------------------------------------------------------------------------------


def compiler() -> str:
    """The command of the C compiler that setuptools would call."""
    return os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"


def compiler_works() -> bool:
    """Whether it makes a program: some systems have its name only, others lack the C library."""
    if os.name == "nt":
        return True  # setuptools looks for the Build Tools, and says where to get them
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "program.c")
        source.write_text("#include <stdlib.h>\nint main(void) { return EXIT_SUCCESS; }\n")
        try:
            command = [*shlex.split(compiler()), str(source), "-o", str(source.with_suffix(""))]
            works = subprocess.run(command, capture_output=True, check=False).returncode == 0
        except (OSError, ValueError):  # no such command, or no command at all
            works = False
    if not works and os.environ.get("CC"):
        sys.exit(f"The C compiler that the variable CC names does not work: {compiler()}")
    return works


def index_lacks_zig() -> bool:
    """Whether pip says so; False if it cannot be asked, or cannot reach the index."""
    # -E: the environment in which pip builds hides pip itself.
    command = [sys.executable, "-E", "-m", "pip", "index", "versions", ZIG, "--retries", "1"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    reached = "Retrying" not in found.stderr and "Could not fetch" not in found.stderr
    return reached and "No matching distribution" in found.stderr


def missing_compiler() -> list[str]:
    """What the build needs besides setuptools and Cython."""
    if compiler_works():
        return []
    if find_spec(ZIG) is None and index_lacks_zig():
        sys.exit(NO_COMPILER.format(command=compiler()))
    return [ZIG]


def get_requires_for_build_wheel(config_settings=None):
    return [*missing_compiler(), *build_meta.get_requires_for_build_wheel(config_settings)]


def get_requires_for_build_editable(config_settings=None):
    return [*missing_compiler(), *build_meta.get_requires_for_build_editable(config_settings)]


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    # setuptools would pack what an earlier build has left there.
    for folder in Path("build").glob("lib*"):
        shutil.rmtree(folder)
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def use_zig(folder: Path) -> None:
    """Let setuptools call Zig's C compiler, by scripts in this folder."""
    if find_spec(ZIG) is None:
        sys.exit(NO_COMPILER.format(command=compiler()))
    folder.mkdir(parents=True, exist_ok=True)
    scripts = {}
    # For any processor of this kind, as other compilers do: a wheel may be installed elsewhere.
    for tool, verb in (("cc", "cc -mcpu=baseline"), ("ar", "ar")):
        scripts[tool] = script = folder.absolute() / f"zig-{tool}"
        call = shlex.join([sys.executable, "-m", ZIG])
        script.write_text(f'#!/bin/sh\nexec {call} {verb} "$@"\n')
        script.chmod(0o755)
    # The linker's options stay: only its name changes.
    options = shlex.split(sysconfig.get_config_var("LDSHARED") or "cc -shared")[1:]
    os.environ["CC"] = shlex.quote(str(scripts["cc"]))
    os.environ["LDSHARED"] = shlex.join([str(scripts["cc"]), *options])
    os.environ["AR"] = shlex.quote(str(scripts["ar"]))


# --- the modules ----------------------------------------------------------------------------------


def read_by(source: Path) -> list[Path]:
    """A source with all that it includes or cimports, and what these include; sorted."""
    found, pending = set(), [path for path in (source, source.with_suffix(".pxd")) if path.exists()]
    found.update(pending)
    while pending:
        text = pending.pop().read_text(encoding="utf-8")
        names = re.findall(r'(?:#include|extern from) "(\w+\.h)"', text)
        names += [f"{name}.pxd" for name in re.findall(r"^from \.(\w+) cimport", text, re.M)]
        new = {FOLDER / name for name in names if (FOLDER / name).exists()} - found
        found |= new
        pending += new
    return sorted(found)


def modules() -> list[Extension]:
    """The modules in `FOLDER`."""
    flags = {
        "include_dirs": [FOLDER.as_posix()],
        "extra_compile_args": FLAGS + CHECKS,
        "extra_link_args": CHECKS,
    }
    found = [
        Extension(f"sklearn_ensemble_theory._native.{path.stem}", [path.as_posix()], **flags)
        for path in sorted(FOLDER.glob("[!.]*.pyx"))
    ]
    # Written once, what every module needs of memoryviews takes 4 s less of the compiler for each.
    return [*found, Extension(SHARED, [(FOLDER / "_memoryviews.c").as_posix()], **flags)]


class BuildModules(build_ext):
    """Translates and compiles the modules, several at a time; in a checkout those that changed.

    What has changed is decided by contents: times of files change with branches and copies.
    """

    def finalize_options(self):
        super().finalize_options()
        self.parallel, self.force = self.parallel or os.cpu_count(), True

    def run(self):
        folders = sysconfig.get_path("include"), sysconfig.get_config_var("INCLUDEPY")
        if not any(Path(folder, "Python.h").exists() for folder in folders if folder):
            sys.exit(NO_HEADERS.format(path=Path(folders[0], "Python.h")))
        if not compiler_works():
            use_zig(Path("build"))
        if not self.inplace:
            self.translate()
            super().run()
            return
        record = runpy.run_path(str(FOLDER / "_record.py"))
        before = record["read"]()["modules"]
        after = {m.name: self.digest_of(m) for m in self.extensions}
        # Of what is compiled now, which may change meanwhile.
        sources = record["digests"]()
        kept = {
            m.name
            for m in self.extensions
            if before.get(m.name) == after[m.name] and Path(self.get_ext_fullpath(m.name)).exists()
        }
        every, self.extensions = self.extensions, [m for m in self.extensions if m.name not in kept]
        if self.extensions:
            # A build that fails leaves a checkout that is refused, and that the next one mends.
            record["write"]({}, {name: after[name] for name in kept})
            self.translate()
            super().run()
        self.extensions = every
        record["write"](sources, after)

    def digest_of(self, module):
        """Of all that decides what is compiled."""
        found = sha256(repr([FLAGS, CHECKS, DIRECTIVES, Cython.__version__]).encode())
        for path in map(Path, module.sources if module.name != SHARED else []):
            for part in read_by(path):
                found.update(part.name.encode() + part.read_bytes())
        return found.hexdigest()

    def translate(self):
        """To C below build/, beside no source."""
        # Cython would keep its copies of headers that have become older.
        for copy in Path("build", "cython").rglob("*.h"):
            copy.unlink()
        translated = cythonize(
            self.extensions,
            build_dir="build/cython",
            force=True,
            shared_utility_qualified_name=SHARED,
            compiler_directives=DIRECTIVES,
        )
        for module, in_c in zip(self.extensions, translated, strict=True):
            module.sources = in_c.sources


def description() -> str:
    """The README for the page of the index, where links have to be whole addresses."""
    found = Path("pyproject.toml").read_text(encoding="utf-8")
    source = re.search(r'^Source = "(.*)"$', found, re.MULTILINE)[1]
    text = Path("README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:|#)", rf"\1{source}/raw/main/", text)
    return re.sub(r"(\]\()(?!https?:|#)", rf"\1{source}/blob/main/", text)


if __name__ == "__main__":
    import Cython
    from Cython.Build import cythonize

    setup(
        ext_modules=modules(),
        cmdclass={"build_ext": BuildModules},
        long_description=description(),
        long_description_content_type="text/markdown",
    )
