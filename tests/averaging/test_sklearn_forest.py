"""scikit-learn's test_forest.py with our classes in place of its own."""

import pytest

import sklearn_ensemble_theory as package

from ..sklearn_suite import load

FORESTS = {
    name: getattr(package, name)
    for name in (
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    )
}

load(
    "sklearn.ensemble.tests.test_forest",
    FORESTS,
    globals(),
    left_out=[
        "test_max_samples_bootstrap",
        "test_oob_not_computed_twice",
        "test_validate_y_class_weight",
    ],
)


@pytest.fixture(autouse=True)
def fewer_trees(request, monkeypatch):
    """20 trees where a test does not say how many, for a fifth of the time."""
    if "RandomTreesEmbedding" in request.node.name:
        pytest.skip("not a class of this package")
    if request.node.name == "test_distribution":  # it asks for 8 different trees of the 100
        return
    for forest in FORESTS.values():
        monkeypatch.setattr(forest.__init__, "__defaults__", (20,))
