"""What a user's learner predicts is checked alike in every ensemble, by one message."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from .estimators import estimator_classes, make, named, target_for


class Regressor(RegressorMixin, BaseEstimator):
    """A tree whose predictions pass through a function."""

    tree = DecisionTreeRegressor

    def __init__(self, change=np.asarray):
        self.change = change

    def fit(self, X, y, sample_weight=None):
        self.fitted_ = self.tree(max_depth=2, random_state=0).fit(X, y, sample_weight)
        return self

    def predict(self, X):
        return self.change(self.fitted_.predict(X))


class Classifier(ClassifierMixin, Regressor):
    tree = DecisionTreeClassifier

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return super().fit(X, y, sample_weight)


class Probabilities(Classifier):
    def predict(self, X):
        return self.fitted_.predict(X)

    def predict_proba(self, X):
        return self.change(self.fitted_.predict_proba(X))


def with_nan(values):
    values = np.array(values, dtype=float)
    values[3] = np.nan
    return values


def with_infinity(values, sign=1):
    values = np.array(values, dtype=float)
    values[3] = sign * np.inf
    return values


NOT_NUMBERS = {
    "NaN": (with_nan, "predicts values that are not finite, NaN"),
    "infinity": (with_infinity, "predicts values that are not finite, infinite"),
    "-infinity": (
        lambda values: with_infinity(values, -1),
        "predicts values that are not finite, infinite",
    ),
    "text": (lambda values: np.full(np.shape(values), "a"), "must predict numbers"),
    "numbers as text": (lambda values: values.astype(str), "must predict numbers"),
    "objects": (lambda values: np.full(np.shape(values), {}, dtype=object), "must predict numbers"),
    "complex": (lambda values: values * 1j, "must predict a label or a real number"),
    "too short": (lambda values: values[:-1], "must predict a label or a real number"),
    "too long": (lambda values: np.concatenate([values, values]), "got shape"),
    "nothing": (lambda values: None, "must predict a label or a real number"),
    "one number": (lambda values: 0.5, "must predict a label or a real number"),
}
REAL = NOT_NUMBERS | {
    "two columns": (lambda values: np.column_stack([values, values]), "must predict one value")
}
SHARES = NOT_NUMBERS | {
    "four columns": (lambda values: np.hstack([values, values]), "a column for each of 2 classes"),
    "three dimensions": (lambda values: values[:, :, None], "a column for each of 2 classes"),
}
RIGHT = {
    "a column": lambda values: values.reshape(-1, 1),
    "objects that are numbers": lambda values: values.astype(object),
    "a list": list,
    "single precision": lambda values: values.astype(np.float32),
}

ROWS = np.random.default_rng(0).standard_normal((60, 3))
TARGET = np.round(ROWS[:, 0] + ROWS[:, 1] ** 2, 2)


def fitted(cls, learner, **params):
    y = target_for(make(cls), (TARGET > 0.5).astype(int), TARGET)
    key = "estimators" if "estimators" in make(cls).get_params(deep=False) else "estimator"
    given = [("a", learner), ("b", type(learner)())] if key == "estimators" else learner
    return make(cls, **{key: given}, **params).fit(ROWS, y)


def takes_members(cls):
    # The learner of LinearL2BoostingRegressor is a linear smoother.
    params = make(cls).get_params(deep=False)
    return ("estimator" in params or "estimators" in params) and not cls.__name__.startswith("Lin")


LEARNERS = [cls for cls in estimator_classes() if takes_members(cls)]
OF_REALS = [
    *(cls for cls in LEARNERS if cls.__name__.endswith("Regressor")),
    named("GradientBoostingClassifier"),
]
# Stacks take several columns of a member.
SEVERAL_COLUMNS = {"StackingRegressor"}
OF_SHARES = {
    "AdaBoostClassifier": {"variant": "real"},
    "BaggingClassifier": {},
    "DivideAndConquerClassifier": {},
    "StackingClassifier": {},
    "VotingClassifier": {"voting": "soft"},
}


@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize("cls", OF_REALS, ids=lambda c: c.__name__)
def test_outputs_that_are_no_numbers(cls, kind):
    change, message = REAL[kind]
    if kind == "two columns" and cls.__name__ in SEVERAL_COLUMNS:
        pytest.skip("columns of a member are features of the final estimator")
    with pytest.raises(ValueError, match=f"estimator: Regressor .*{message}"):
        fitted(cls, Regressor(change)).predict(ROWS)


@pytest.mark.parametrize("kind", SHARES)
@pytest.mark.parametrize("name", OF_SHARES)
def test_outputs_that_are_no_probabilities(name, kind):
    change, message = SHARES[kind]
    with pytest.raises(ValueError, match=f"estimator: .*{message}"):
        fitted(named(name), Probabilities(change), **OF_SHARES[name]).predict_proba(ROWS)


@pytest.mark.parametrize("kind", RIGHT)
@pytest.mark.parametrize("cls", OF_REALS, ids=lambda c: c.__name__)
def test_numbers_in_any_form(cls, kind):
    right = fitted(cls, Regressor()).predict(ROWS)
    found = fitted(cls, Regressor(RIGHT[kind])).predict(ROWS)
    assert found.shape == right.shape
    assert found.dtype == right.dtype or found.dtype == np.float32
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["BaggingClassifier", "DivideAndConquerClassifier"])
def test_labels_that_are_no_classes(name):
    learner = Classifier(lambda values: np.full(np.shape(values), "a"))
    with pytest.raises(
        ValueError, match="Classifier predicts labels that are not among the classes"
    ):
        fitted(named(name), learner, voting="hard").predict(ROWS)


def test_several_outputs():
    y = np.column_stack([TARGET, -TARGET])
    for name in ("BaggingRegressor", "DivideAndConquerRegressor", "VotingRegressor"):
        cls, one = named(name), Regressor(lambda values: values[:, 0])
        given = {"estimators": [("a", one)]} if "Voting" in name else {"estimator": one}
        with pytest.raises(ValueError, match="Regressor must predict 2 values for each row"):
            make(cls, **given).fit(ROWS, y).predict(ROWS)


class Scores(Probabilities):
    def decision_function(self, X):
        return self.change(self.fitted_.predict_proba(X)[:, 1] - 0.5)


def test_scores_that_are_infinite():
    learner = Scores()
    bag = make(named("BaggingClassifier"), estimator=learner, bootstrap=False)
    stack = make(named("StackingClassifier"), estimators=[("a", learner)])
    bag.fit(ROWS, TARGET > 0.5)
    for member in bag.estimators_:
        member.change = with_infinity
    with pytest.raises(ValueError, match=r"estimator: Scores predicts .* infinite"):
        bag.decision_function(ROWS)
    stack.set_params(
        a=Scores(with_infinity),
        stack_method="decision_function",
        final_estimator=LogisticRegression(),
    )
    with pytest.raises(ValueError, match=r"estimator: Scores predicts .* infinite"):
        stack.fit(ROWS, TARGET > 0.5)


class SeveralProbabilities(Probabilities):
    def fit(self, X, y, sample_weight=None):
        self.fitted_ = self.tree(max_depth=2, random_state=0).fit(X, y, sample_weight)
        self.classes_ = self.fitted_.classes_
        return self

    def predict_proba(self, X):
        return [self.change(part) for part in self.fitted_.predict_proba(X)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = tags.classifier_tags.multi_label = True
        return tags


@pytest.mark.parametrize("change", [with_nan, with_infinity])
def test_probabilities_of_several_columns(change):
    y = np.column_stack([TARGET > 0.5, TARGET > 0]).astype(int)
    for name in ("BaggingClassifier", "StackingClassifier"):
        model, learner = make(named(name)), SeveralProbabilities(change)
        key = "estimators" if hasattr(model, "estimators") else "estimator"
        model.set_params(**{key: [("a", learner)] if key == "estimators" else learner})
        with pytest.raises(ValueError, match=r"estimator: SeveralProb.* that are not finite"):
            model.fit(ROWS, y).predict_proba(ROWS)


class LogProbabilities(Probabilities):
    def predict_log_proba(self, X):
        with np.errstate(divide="ignore"):
            return np.log(self.fitted_.predict_proba(X))


def test_logarithms_of_0_are_right():
    y = (ROWS[:, 0] > 0).astype(int)
    for name in ("BaggingClassifier", "DivideAndConquerClassifier"):
        model = make(named(name), estimator=LogProbabilities()).fit(ROWS, y)
        found = model.predict_log_proba(ROWS)
        assert np.isneginf(found).any()
        np.testing.assert_allclose(np.exp(found), model.predict_proba(ROWS), atol=1e-12)


class Turned(Probabilities):
    """Classes, and probabilities, in an order of its own."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.order_ = np.argsort(-self.fitted_.classes_, kind="stable")
        self.classes_ = self.fitted_.classes_[self.order_]
        return self

    def predict_proba(self, X):
        return self.fitted_.predict_proba(X)[:, self.order_]

    def predict_log_proba(self, X):
        return np.log(np.maximum(self.predict_proba(X), 1e-9))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("BaggingClassifier", {"n_estimators": 3}),
        ("DivideAndConquerClassifier", {}),
        ("VotingClassifier", {"voting": "soft"}),
        ("StackingClassifier", {}),
        ("SuperLearnerClassifier", {}),
        ("AdaBoostClassifier", {"variant": "real", "n_estimators": 3}),
        ("GradientBoostingClassifier", {"n_estimators": 2}),
    ],
)
def test_classes_in_another_order(name, params, n_classes):
    y = np.digitize(TARGET, np.quantile(TARGET, np.arange(1, n_classes) / n_classes))
    if n_classes > 2 and name == "AdaBoostClassifier":
        params = params | {"variant": "discrete"}
    found = []
    for learner in (Probabilities(), Turned()):
        model = make(named(name), **params)
        known = model.get_params(deep=False)
        if "estimators" in known:
            model.set_params(estimators=[("a", learner)])
        elif "members" in known:
            model.set_params(members=[("a", learner)])
        else:
            model.set_params(**{"init" if "init" in known else "estimator": learner})
        found.append(model.fit(ROWS, y).predict_proba(ROWS))
    np.testing.assert_allclose(*found, atol=1e-6)
