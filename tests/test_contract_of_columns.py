"""The contract for categories, constraints of columns and several targets, of all with them."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from sklearn_ensemble_theory.trees import BinnedTreeClassifier, BinnedTreeRegressor

from .estimators import estimator_classes, make
from .reliability.odd_inputs import takes_classifiers

N = 80
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "kind": pd.Series(np.array([*"abcde"])[RNG.integers(0, 5, N)], dtype="category"),
        "size": RNG.standard_normal(N),
        "age": RNG.standard_normal(N),
    }
)
FRAME.loc[RNG.random(N) < 0.1, "kind"] = None
NUMBERS = FRAME.assign(kind=RNG.standard_normal(N))
SCORE = FRAME["size"] + 2.0 * FRAME["kind"].isin([*"ad"]) + 0.3 * RNG.standard_normal(N)
SCORE = SCORE.to_numpy()
LABELS = (np.median(SCORE) < SCORE).astype(int)
TWO_TARGETS = np.column_stack([SCORE, -FRAME["age"]])
INPUTS = {
    "categories": (FRAME, {"categorical_features": ["kind"]}),
    "monotonic": (NUMBERS, {"monotonic_cst": {"size": 1, "age": -1}}),
    "interactions": (NUMBERS, {"interaction_cst": [["size", "kind"], ["age"]]}),
    "targets": (NUMBERS, {}),
    "categories and targets": (FRAME, {"categorical_features": ["kind"]}),
}


def own_params(cls, params):
    """The parameters of the class, or those of its base learner."""
    known = inspect.signature(cls).parameters
    if all(name in known for name in params):
        return params
    tree = BinnedTreeClassifier if takes_classifiers(make(cls)) else BinnedTreeRegressor
    if "estimator" not in known or not set(params) <= set(inspect.signature(tree).parameters):
        return None
    return {"estimator": tree(max_depth=3, **params)}


def takes_trees(cls, params):
    """Whether a small fit with a tree for base learner is no error."""
    try:
        make(cls, **params).fit(np.column_stack([SCORE, SCORE]), LABELS)
    except (TypeError, ValueError):
        return False
    return True


def cases():
    for cls in estimator_classes():
        for name, (X, params) in INPUTS.items():
            own = own_params(cls, params)
            several = "targets" in name
            if several and (
                not get_tags(make(cls)).target_tags.multi_output or is_classifier(make(cls))
            ):
                continue
            if name == "targets":
                pass
            elif own is None or (
                "estimator" in own
                and not takes_trees(
                    cls, {"estimator": clone(own["estimator"]).set_params(**dict.fromkeys(params))}
                )
            ):
                continue
            if "categories" in name and cls.__name__.startswith("FrankWolfe"):
                continue  # the weak learners get numbers
            y = TWO_TARGETS if several else SCORE
            y = LABELS if is_classifier(make(cls)) else y
            yield pytest.param(
                lambda cls=cls, own=own: make(cls, **own), X, y, id=f"{cls.__name__}-{name}"
            )


each_case = pytest.mark.parametrize(("model", "X", "y"), cases())


def output(model, X):
    return getattr(model, "predict_proba" if hasattr(model, "predict_proba") else "predict")(X)


@each_case
def test_fits_are_whole_and_repeatable(model, X, y):
    """The same model again, from a clone, a pickle and any number of threads; X is not changed."""
    one, before = model(), X.copy()
    found = output(one.fit(X, y), X)
    assert found.shape == ((N, 2) if y.ndim == 2 or found.ndim == 2 else (N,))
    assert np.isfinite(found).all()
    assert one.feature_names_in_.tolist() == [*X]
    pd.testing.assert_frame_equal(X, before)
    again = clone(one)
    if "n_jobs" in again.get_params():
        again.set_params(n_jobs=2)
    np.testing.assert_array_equal(output(again.fit(X, y), X), found)
    np.testing.assert_array_equal(output(pickle.loads(pickle.dumps(one)), X), found)
    np.testing.assert_allclose(output(one, X.iloc[[7, 3]]), found[[7, 3]], rtol=1e-12)
    # A fit that fails changes nothing.
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        one.fit(X, y[:-1])
    np.testing.assert_array_equal(output(one, X), found)
    with pytest.raises(ValueError, match="feature names should match"):
        one.predict(X.rename(columns={"age": "years"}))
    with pytest.raises(NotFittedError):
        output(clone(one), X)


@each_case
def test_pipelines_searches_and_weights(model, X, y):
    model = model()
    name = "n_estimators" if "n_estimators" in model.get_params() else "random_state"
    if name not in model.get_params():
        name = next(iter(model.get_params()))
    value = getattr(model, name)
    pipe = make_pipeline(FunctionTransformer(), model)
    step = pipe.steps[-1][0]
    search = GridSearchCV(pipe, {f"{step}__{name}": [value]}, cv=2, error_score="raise")
    search.fit(X, y)
    assert np.isfinite(cross_val_score(pipe, X, y, cv=2, error_score="raise")).all()
    assert len(output(search, X)) == N
    if "sample_weight" in inspect.signature(model.fit).parameters and "Bag" not in str(model):
        # Rows of weight 0 are no rows, also where they have categories of their own.
        weight = np.ones(N)
        weight[-20:] = 0.0
        far = X.copy()
        far.loc[N - 20 :, "age"] = 50.0
        one, other = (clone(model) for _ in range(2))
        one.fit(far, y, sample_weight=weight)
        other.fit(far.iloc[:-20], y[:-20])
        if "random_state" not in model.get_params():
            np.testing.assert_allclose(output(one, X[:40]), output(other, X[:40]), rtol=1e-9)
