"""What a new environment must show after an install: the wheel's files, one fit each.

Run it anywhere but in a checkout, whose package would be imported instead.
"""

import importlib.metadata as metadata
from pathlib import Path

import numpy as np

import sklearn_ensemble_theory as package

FOUR = ["joblib", "numpy", "scikit-learn", "scipy"]
MOST_BYTES = 6 * 2**20

package.show_versions()

requirements = metadata.requires("sklearn-ensemble-theory") or []
needs = sorted(r.split(">")[0].strip() for r in requirements if "extra ==" not in r)
assert needs == FOUR, needs

folder = Path(package.__file__).parent
files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
kinds = {path.suffix for path in files}
assert kinds <= {".py", ".typed", ".so", ".pyd"}, kinds
assert folder.joinpath("py.typed").exists(), "py.typed is not installed"
size = sum(path.stat().st_size for path in files)
assert size <= MOST_BYTES + 4 * 2**20, size  # not compressed, as the wheel is

missing = [name for name in package.__all__ if not hasattr(package, name)]
assert not missing, missing
rng = np.random.default_rng(0)
X = rng.random((400, 4))
y = X[:, 0] + 0.1 * rng.standard_normal(400)
for name in ("GradientBoosting", "RandomForest", "Bagging", "BaggedNearestNeighbors", "L2Boosting"):
    model = getattr(package, f"{name}Regressor")().fit(X, y)
    assert model.score(X, y) > 0.8, name
for name in ("AdaBoost", "GradientBoosting", "LogitBoost"):
    model = getattr(package, f"{name}Classifier")().fit(X, y > 0.5)
    assert model.score(X, y > 0.5) > 0.9, name
print(f"{len(files)} files, {size / 2**20:.1f} MB; needs {', '.join(needs)}")
