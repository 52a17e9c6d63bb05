"""scikit-learn's own test files, run on this package's classes.

`load` executes an installed test module of scikit-learn's while `sklearn.ensemble` holds our
classes in place of its own, so that also what the module builds at import (parametrised
estimators) is ours. The tests that cannot pass are left out by name, each with its reason on the
page docs/scikit_learn_tests.md.

The files follow the newest release, whose semantics (of weights above all) the package follows: at
older ones they are skipped.
"""

import importlib.util
import sys
import types
from pathlib import Path
from unittest import mock

import pytest

from .estimators import SKLEARN_VERSION, parse_version

FOLLOWED = "1.9"


def load(module, replacements, into, left_out=()):
    """Expose in `into` the tests of `module`, with classes of `sklearn.ensemble` replaced.

    Parameters
    ----------
    module : str
        As "sklearn.ensemble.tests.test_bagging".
    replacements : dict
        Name in `sklearn.ensemble` -> our class.
    into : dict
        `globals()` of the calling test module.
    left_out : iterable of str
        Tests that are not exposed. One that does not exist is an error: the list must not outlive
        its reasons.
    """
    if parse_version(FOLLOWED) > SKLEARN_VERSION:
        pytest.skip(
            f"the test files followed are those of scikit-learn {FOLLOWED} and later",
            allow_module_level=True,
        )
    spec = importlib.util.find_spec(module)
    loaded = types.ModuleType(into["__name__"])
    loaded.__file__ = spec.origin
    source = Path(spec.origin).read_text(encoding="utf-8")
    with (
        mock.patch.multiple("sklearn.ensemble", **replacements),
        # Classes that the tests define are pickled by the name of their module.
        mock.patch.dict(sys.modules, {into["__name__"]: loaded}),
    ):
        exec(compile(source, spec.origin, "exec"), loaded.__dict__)
    tests = {name: f for name, f in vars(loaded).items() if name.startswith("test_")}
    unknown = set(left_out) - set(tests)
    assert not unknown, f"no such tests in {module}: {sorted(unknown)}"
    # scikit-learn's tests are not written for warnings as errors.
    into["pytestmark"] = pytest.mark.filterwarnings("default")
    into.update({name: f for name, f in tests.items() if name not in left_out})
    return loaded
