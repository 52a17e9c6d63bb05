"""The compiled modules of the package; everything else is in pyproject.toml.

They are optional: where no C compiler works, the package is installed without them, says so, and
runs its routes through NumPy and scikit-learn. With SKLEARN_ENSEMBLE_THEORY_REQUIRE_NATIVE=1, which
CI and wheels set, a failure ends the build.
"""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

REQUIRED = os.environ.get("SKLEARN_ENSEMBLE_THEORY_REQUIRE_NATIVE", "0") == "1"
FOLDER = "sklearn_ensemble_theory/_native"
SHARED = "sklearn_ensemble_theory._native._memoryviews"
# Products are not fused with sums: the same bits on every processor. Neither errno nor the flags of
# floating-point errors are read, which lets the compiler take several rows at a time.
FLAGS = "-O3 -g0 -ffp-contract=off -fno-math-errno -fno-trapping-math"
FLAGS = ("/O2 /fp:precise" if os.name == "nt" else FLAGS).split()
# Every night the tests run with checks of every address and operation.
SANITIZED = os.environ.get("SKLEARN_ENSEMBLE_THEORY_SANITIZE", "0") == "1"
CHECKS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"] if SANITIZED else []
LOST = """
sklearn_ensemble_theory is installed WITHOUT its compiled code: {error}
All estimators work, through NumPy and scikit-learn; large fits and predictions take several times
as long. To get the compiled code install a C compiler (Debian: apt install gcc; macOS: xcode-select
--install; Windows: the Build Tools for Visual Studio) and then install the package again, with
`pip install --force-reinstall --no-cache-dir`. SKLEARN_ENSEMBLE_THEORY_REQUIRE_NATIVE=1 makes the
installation fail instead.
"""


def extensions():
    """The modules in `FOLDER`, translated to C below build/, beside no source."""
    from Cython.Build import cythonize

    modules = [
        Extension(f"sklearn_ensemble_theory._native.{path.stem}", [path.as_posix()])
        for path in sorted(Path(FOLDER).glob("*.pyx"))
    ]
    # Written once, what every module needs of memoryviews takes 4 s less of the compiler for each.
    modules.append(Extension(SHARED, [f"{FOLDER}/_memoryviews.c"]))
    modules = cythonize(
        modules,
        build_dir="build/cython",
        shared_utility_qualified_name=SHARED,
        compiler_directives={
            "language_level": 3,
            "boundscheck": SANITIZED,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            # A missing array is an error, unless its argument says `or None`.
            "allow_none_for_extension_args": False,
            "freethreading_compatible": True,
        },
    )
    for module in modules:  # only now: cythonize keeps neither of these
        module.extra_compile_args, module.extra_link_args = FLAGS + CHECKS, CHECKS
        module.optional = not REQUIRED
    return modules


class BuildAllOrNothing(build_ext):
    """Compiles every module, several at a time; without one of them there is none."""

    def finalize_options(self):
        super().finalize_options()
        if self.parallel is None:
            self.parallel = os.cpu_count()

    def run(self):
        try:
            super().run()
            missing = [e.name for e in self.extensions if not self.is_built(e)]
            error = f"the C compiler failed for {', '.join(missing)}" if missing else None
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"
        if error and REQUIRED:
            raise RuntimeError(f"{error} (SKLEARN_ENSEMBLE_THEORY_REQUIRE_NATIVE=1)")
        if error:
            self.remove_all()
            print(LOST.format(error=error), file=sys.stderr)

    def files(self, module):
        """Where a module may lie: in the build folder, and beside the source if editable."""
        name = self.get_ext_fullname(module.name)
        beside = Path(*name.split(".")).parent / Path(self.get_ext_filename(name)).name
        return [Path(self.build_lib, self.get_ext_filename(name)), beside]

    def is_built(self, module):
        return self.files(module)[1 if self.inplace else 0].exists()

    def remove_all(self):
        for module in self.extensions:
            for path in self.files(module):
                path.unlink(missing_ok=True)
        self.extensions = []


try:
    modules = extensions()
except Exception as error:
    if REQUIRED:
        raise
    print(LOST.format(error=f"{type(error).__name__}: {error}"), file=sys.stderr)
    modules = []
setup(ext_modules=modules, cmdclass={"build_ext": BuildAllOrNothing})
