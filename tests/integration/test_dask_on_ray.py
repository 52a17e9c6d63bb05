"""Dask's collections on Ray: the models are those of Dask's own schedulers."""

import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("dask.array")
pytest.importorskip("ray")

# In a process of its own: `ray.util.dask` replaces functions of Dask.
PROGRAM = """
import json
import sys

import dask.array as da
import numpy as np

from sklearn_ensemble_theory import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    L2BoostingRegressor,
    RandomForestRegressor,
)

if __name__ == "__main__":
    if sys.argv[1] == "ray":
        import ray
        from ray.util.dask import enable_dask_on_ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        enable_dask_on_ray()
    rng = np.random.default_rng(0)
    X = rng.random((3000, 4))
    y = np.sin(5 * X[:, 0]) + X[:, 1]
    rows = da.from_array(X, chunks=(500, 4))
    found = {}
    for model in (
        L2BoostingRegressor("cv"),
        GradientBoostingRegressor(n_estimators=5, random_state=0),
        HistGradientBoostingClassifier(max_iter=3, random_state=0),
        RandomForestRegressor(6, random_state=0),
    ):
        name = type(model).__name__
        targets = (y > 1).astype(int) if name.endswith("Classifier") else y
        model.fit(rows, da.from_array(targets, chunks=500))
        values = model.predict_proba(rows)[:, 1] if targets is not y else model.predict(rows)
        found[name] = values.compute().tolist()
    kept = rows.persist(), da.from_array(y, chunks=500).persist()  # with Ray in its store
    found["kept"] = L2BoostingRegressor("cv").fit(*kept).predict(rows).compute().tolist()
    print("RESULT", json.dumps(found))
"""


def results(folder, scheduler):
    """Predictions of each model, in a process of its own."""
    script = folder / "fits.py"
    script.write_text(PROGRAM, encoding="utf-8")
    command = [sys.executable, str(script), scheduler]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = (one for one in done.stdout.splitlines() if one.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT "))


def test_models_are_those_of_threads(tmp_path):
    on_ray, in_threads = (results(tmp_path, scheduler) for scheduler in ("ray", "threads"))
    assert len(on_ray) == 5
    for name, values in on_ray.items():
        assert np.ptp(values) > 0.1
        np.testing.assert_allclose(values, in_threads[name], rtol=1e-12, err_msg=name)
