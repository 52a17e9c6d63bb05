"""Members that read distances or a kernel: graphs in the order of their distances, and splits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, KNeighborsTransformer
from sklearn.svm import SVC, SVR
from sklearn.utils import get_tags

from sklearn_ensemble_theory import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)

X, labels = make_classification(90, n_features=4, random_state=0)
targets = X[:, 0] + X[:, 1]
train, new = np.arange(60), np.arange(60, 90)
TO_NEIGHBORS = KNeighborsTransformer(mode="distance", n_neighbors=59).fit(X[train])
GRAPH, NEW = TO_NEIGHBORS.transform(X[train]), TO_NEIGHBORS.transform(X[new])


def knn(kind, k):
    return kind(k, metric="precomputed", weights="distance")


VOTES = {
    "vote": (VotingClassifier, KNeighborsClassifier, labels, {"voting": "soft"}),
    "mean": (VotingRegressor, KNeighborsRegressor, targets, {}),
    "mean of held-out rows": (VotingRegressor, KNeighborsRegressor, targets, {"held_out": 3}),
    "stack": (StackingRegressor, KNeighborsRegressor, targets, {"final_estimator": "nnls"}),
    "stack of classes": (StackingClassifier, KNeighborsClassifier, labels, {"cv": 3}),
}


def members_of(kind, sorts=False):
    """Two of neighbors; one that `sorts` the indices of its X in place, by the columns."""
    found = [("few", knn(kind, 3)), ("more", knn(kind, 9))]
    machine = SVC(probability=False) if kind is KNeighborsClassifier else SVR()
    return [("machine", machine), *found] if sorts else found


def parts(graph):
    return [getattr(graph, name).copy() for name in ("data", "indices", "indptr")]


# scikit-learn warns of a graph whose rows are not in the order of the distances.
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", VOTES)
def test_graphs_are_handed_on_as_they_are(name):
    kind, member, y, params = VOTES[name]
    model = kind(members_of(member), **params)
    before = parts(GRAPH) + parts(NEW)
    model.fit(GRAPH, y[train])
    found = model.predict(NEW)
    for one, other in zip(before, parts(GRAPH) + parts(NEW)):
        np.testing.assert_array_equal(one, other)
    dense = clone(model).fit(GRAPH.toarray(), y[train])
    np.testing.assert_array_equal(found, dense.predict(NEW.toarray()))
    for (_, one), fitted in zip(model.estimators, model.estimators_):
        alone = clone(one).fit(GRAPH, y[train])
        np.testing.assert_array_equal(fitted.predict(NEW), alone.predict(NEW))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["mean", "stack"])
def test_members_that_sort_an_x_in_place_read_a_copy(name):
    kind, member, y, params = VOTES[name]
    model = kind(members_of(member, sorts=True), **params)
    before = parts(GRAPH) + parts(NEW)
    found = model.fit(GRAPH, y[train]).predict(NEW)
    for one, other in zip(before, parts(GRAPH) + parts(NEW)):
        np.testing.assert_array_equal(one, other)
    dense = clone(model).fit(GRAPH.toarray(), y[train])
    np.testing.assert_allclose(found, dense.predict(NEW.toarray()), atol=1e-6)


def test_splits_of_an_ensemble_take_columns_as_those_of_its_members_do():
    model = VotingRegressor(members_of(KNeighborsRegressor), weights=[0.25, 0.75])
    assert get_tags(model).input_tags.pairwise
    assert not get_tags(VotingRegressor([("machine", SVR())])).input_tags.pairwise
    found = cross_val_predict(model, GRAPH, targets[train], cv=KFold(3))
    few, more = (
        cross_val_predict(each, GRAPH, targets[train], cv=KFold(3)) for _, each in model.estimators
    )
    np.testing.assert_allclose(found, 0.25 * few + 0.75 * more)
