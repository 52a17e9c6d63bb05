"""scikit-learn's best-first trees, networks and kernel machines as base learners of the ensembles.

Each ensemble against scikit-learn's, a closed form, or the members.
"""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from sklearn import ensemble
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import check_cv
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StackingClassifier,
    StackingRegressor,
)
from sklearn_ensemble_theory.combining import WeightedMean

# Few iterations are what makes a network a weak learner, or fast.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def network(cls=MLPRegressor, hidden=8, max_iter=60, **params):
    params = {"solver": "lbfgs", "alpha": 0.1, **params}
    return cls(hidden_layer_sizes=(hidden,), max_iter=max_iter, **params)


CLASSIFIERS = {
    "tree": DecisionTreeClassifier(max_leaf_nodes=4, random_state=0),
    "network": network(MLPClassifier, hidden=2, max_iter=8),
    "kernel": SVC(C=100.0, gamma=0.01),
}
REGRESSORS = {
    "tree": DecisionTreeRegressor(max_leaf_nodes=6, random_state=0),
    "network": network(),
    "kernel ridge": KernelRidge(alpha=5.0, kernel="rbf", gamma=0.05),
    "support vectors": SVR(C=1.0),
}


@pytest.fixture(scope="module")
def diabetes():
    """Standardised; 300 training rows."""
    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = StandardScaler().fit_transform(X)[order], (y[order] - y.mean()) / y.std()
    return X[:300], y[:300], X[300:], y[300:]


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = StandardScaler().fit_transform(X)[order][:, :10], y[order]
    return X[:300], y[:300], X[300:], y[300:]


# --- bagging ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_bagged_classifiers_are_those_of_scikit_learn(tumours, name):
    X, y, X_new, y_new = tumours
    model = BaggingClassifier(CLASSIFIERS[name], 5, random_state=0).fit(X, y)
    peer = ensemble.BaggingClassifier(CLASSIFIERS[name], 5, random_state=0).fit(X, y)
    for member, other in zip(model.estimators_, peer.estimators_):
        assert np.mean(member.predict(X_new) == other.predict(X_new)) > 0.97
    assert np.mean(model.predict(X_new) == peer.predict(X_new)) > 0.98
    assert model.score(X_new, y_new) > 0.85


@pytest.mark.parametrize("name", REGRESSORS)
def test_bagged_regressors_are_means_of_members(diabetes, name):
    X, y, X_new, y_new = diabetes
    model = BaggingRegressor(REGRESSORS[name], 6, oob_score=False, random_state=0).fit(X, y)
    mean = np.mean([member.predict(X_new) for member in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict(X_new), mean)
    assert model.score(X_new, y_new) > 0.25


# --- boosting ---------------------------------------------------------------------------------


@pytest.mark.parametrize("resample", ["auto", True])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_boosted_classifiers(tumours, name, resample):
    """The training error is below its bound; the weights depend on the errors on all rows."""
    X, y, X_new, y_new = tumours
    learner = CLASSIFIERS[name]
    model = AdaBoostClassifier(learner, n_estimators=8, resample=resample, random_state=0)
    model.fit(X, y)
    error = np.mean(model.predict(X) != y)
    assert error <= model.training_error_bounds_[-1] + 1e-12
    first = np.mean(model.estimators_[0].predict(X) != y)
    assert model.estimator_errors_[0] == pytest.approx(first)
    assert len(model.estimators_) > 1
    assert model.score(X_new, y_new) > 0.87


@pytest.mark.parametrize("name", ["tree", "kernel"])
def test_adaboost_under_weights_is_that_of_scikit_learn(tumours, name):
    X, y, X_new, _ = tumours
    learner = CLASSIFIERS[name]
    model = AdaBoostClassifier(learner, n_estimators=6, random_state=0).fit(X, y)
    peer = ensemble.AdaBoostClassifier(learner, n_estimators=6, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.estimator_errors_, peer.estimator_errors_, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X_new), peer.predict(X_new))


def test_penalties_are_relative_to_the_weights(tumours):
    """The weights of AdaBoost sum to 1: the C of the first round is that of a fit divided by n."""
    X, y, X_new, _ = tumours
    member = AdaBoostClassifier(SVC(C=300 * 2.0), n_estimators=1).fit(X, y).estimators_[0]
    plain = SVC(C=2.0).fit(X, y)
    np.testing.assert_allclose(
        member.decision_function(X_new), plain.decision_function(X_new), atol=0.01
    )


@pytest.mark.filterwarnings("ignore:The parameter `criterion`:FutureWarning")
def test_gradient_boosting_of_best_first_trees_is_that_of_scikit_learn(diabetes):
    X, y, X_new, _ = diabetes
    tree = DecisionTreeRegressor(max_leaf_nodes=6, random_state=0)
    model = GradientBoostingRegressor(tree, n_estimators=10, learning_rate=0.3).fit(X, y)
    peer = ensemble.GradientBoostingRegressor(
        n_estimators=10,
        learning_rate=0.3,
        max_leaf_nodes=6,
        max_depth=None,
        criterion="squared_error",
        random_state=0,
    )
    np.testing.assert_allclose(model.predict(X_new), peer.fit(X, y).predict(X_new), atol=1e-6)


def test_gradient_boosting_of_kernel_ridge_is_its_closed_form(diabetes):
    """Kernel ridge regression is linear in y: t rounds leave (I - nu S)^t of the residuals."""
    X, y, *_ = diabetes
    learner = REGRESSORS["kernel ridge"]
    model = GradientBoostingRegressor(learner, n_estimators=7, learning_rate=0.4).fit(X, y)
    S = KernelRidge(alpha=5.0, kernel="rbf", gamma=0.05).fit(X, np.eye(len(y))).predict(X)
    left = np.linalg.matrix_power(np.eye(len(y)) - 0.4 * S, 7) @ (y - y.mean())
    np.testing.assert_allclose(y - model.predict(X), left, atol=1e-8)


@pytest.mark.parametrize("name", REGRESSORS)
def test_gradient_boosting_lowers_the_risk(diabetes, tumours, name):
    X, y, X_new, y_new = diabetes
    model = GradientBoostingRegressor(
        REGRESSORS[name], n_estimators=5, learning_rate=0.3, random_state=0
    )
    assert (np.diff(model.fit(X, y).train_scores_) < 0).all()
    assert model.score(X_new, y_new) > 0.3
    X, y, X_new, y_new = tumours
    classifier = GradientBoostingClassifier(
        REGRESSORS[name], n_estimators=5, learning_rate=1.0, random_state=0
    )
    assert (np.diff(classifier.fit(X, y).train_scores_) < 0).all()
    assert classifier.score(X_new, y_new) > 0.88


def test_pipelines_are_base_learners(tumours):
    """A pipeline takes no weights by that name: bagging and AdaBoost draw rows for it."""
    X, y, X_new, y_new = tumours
    learner = make_pipeline(StandardScaler(), network(MLPClassifier, hidden=2, max_iter=8))
    for model in (
        BaggingClassifier(learner, 4, random_state=0),
        AdaBoostClassifier(learner, n_estimators=4, random_state=0),
    ):
        assert model.fit(1e3 * X, y).score(1e3 * X_new, y_new) > 0.88


# --- stacking ---------------------------------------------------------------------------------


def held_out(members, X, y, method="predict"):
    """Held-out predictions in five folds, by a loop."""
    splits = check_cv(5, y, classifier=is_classifier(members[0][1])).split(X, y)
    columns = np.empty((len(members), len(y), *([2] if method == "predict_proba" else [])))
    for train, test in splits:
        for column, (_, member) in zip(columns, members):
            column[test] = getattr(clone(member).fit(X[train], y[train]), method)(X[test])
    return columns


def test_stacked_regressors(diabetes):
    """All kinds in one stack; the weights are those of a general solver."""
    X, y, X_new, y_new = diabetes
    members = [(name, clone(member)) for name, member in REGRESSORS.items()]
    members[1][1].set_params(random_state=0)
    P = held_out(members, X, y)
    v, residual = nnls(P.T, y)
    model = StackingRegressor(members, final_estimator="nnls").fit(X, y)
    np.testing.assert_allclose(model.estimator_weights_, v, atol=1e-8)
    risks = np.mean((P - y) ** 2, axis=1)
    np.testing.assert_allclose(model.cv_results_["mean_score"], risks)
    assert residual**2 / len(y) <= risks.min()
    simplex = minimize(
        lambda u: np.mean((y - u @ P) ** 2),
        np.full(4, 0.25),
        bounds=[(0, None)] * 4,
        constraints={"type": "eq", "fun": lambda u: u.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    model = StackingRegressor(members, final_estimator="simplex").fit(X, y)
    np.testing.assert_allclose(model.estimator_weights_, simplex.x, atol=1e-5)
    assert model.estimator_weights_.sum() == pytest.approx(1, abs=1e-12)
    fitted = [clone(member).fit(X, y).predict(X_new) for _, member in members]
    np.testing.assert_allclose(model.predict(X_new), model.estimator_weights_ @ fitted)
    assert model.score(X_new, y_new) > 0.4


def test_stacked_classifiers(tumours):
    """Probabilities of trees and networks, and the votes of a support vector machine."""
    X, y, X_new, y_new = tumours
    members = [(name, clone(member)) for name, member in CLASSIFIERS.items()]
    members[1][1].set_params(random_state=0)
    P = np.stack(
        [
            *held_out(members[:2], X, y, "predict_proba"),
            np.eye(2)[held_out(members[2:], X, y)[0].astype(int)],
        ]
    )
    model = StackingClassifier(members, WeightedMean("simplex", loss="squared_error")).fit(X, y)
    v = model.estimator_weights_
    risk = lambda u: np.mean(np.sum((np.eye(2)[y] - np.tensordot(u, P, 1)) ** 2, axis=1))  # noqa: E731
    np.testing.assert_allclose(model.cv_results_["mean_score"], [risk(u) for u in np.eye(3)])
    # By brute force over the simplex.
    grid = np.arange(0, 1.001, 0.02)
    values = [risk(np.array([a, b, 1 - a - b])) for a in grid for b in grid if a + b <= 1 + 1e-9]
    assert risk(v) <= min(values) < risk(v) * 1.01
    assert v.sum() == pytest.approx(1, abs=1e-12)
    assert model.score(X_new, y_new) > 0.9
    peer = ensemble.StackingClassifier(members).fit(X, y)
    final = StackingClassifier(members).fit(X, y)
    np.testing.assert_allclose(final.predict_proba(X_new), peer.predict_proba(X_new))


# --- best first -------------------------------------------------------------------------------


def test_max_leaf_nodes_grows_best_first():
    """[Shah, §4.4]: the region whose best split lowers the residual sum of squares most."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0.5) + 0.1 * rng.standard_normal(60)

    def rss(rows):
        return len(rows) * y[rows].var() if len(rows) else 0.0

    def best_split(rows):
        found = []
        for j in range(3):
            values = np.unique(X[rows, j])
            for s in (values[1:] + values[:-1]) / 2:
                left, right = rows[X[rows, j] <= s], rows[X[rows, j] > s]
                found.append((rss(left) + rss(right) - rss(rows), left.tolist(), right.tolist()))
        return min(found)

    regions = [np.arange(60)]
    for n_regions in range(2, 9):
        splits = [best_split(rows) for rows in regions]
        k = min(range(len(splits)), key=lambda i: splits[i][0])
        regions[k : k + 1] = [np.array(splits[k][1]), np.array(splits[k][2])]
        expected = np.empty(60)
        for rows in regions:
            expected[rows] = y[rows].mean()
        tree = DecisionTreeRegressor(max_leaf_nodes=n_regions).fit(X, y)
        np.testing.assert_allclose(tree.predict(X), expected)


# --- the variance of networks -------------------------------------------------------------------


def test_bagging_reduces_the_variance_of_a_network():
    """Diabetes: over training sets of 150 rows, the variance of 10 networks is below 0.7 of one's.

    The variance is that of the prediction at 142 test rows over 12 training sets and starting
    points; the errors are paired, one network and ten for each training set.
    """
    X, y = load_diabetes(return_X_y=True)
    X, y = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    test, pool = order[:142], order[142:]
    single, averaged = [], []
    for seed in range(12):
        rows = rng.choice(pool, 150, replace=False)
        one = network(hidden=10, random_state=seed).fit(X[rows], y[rows])
        ten = BaggingRegressor(network(hidden=10), 10, random_state=seed).fit(X[rows], y[rows])
        single.append(one.predict(X[test]))
        averaged.append(ten.predict(X[test]))
    single, averaged = np.array(single), np.array(averaged)
    assert averaged.var(axis=0).mean() < 0.7 * single.var(axis=0).mean()
    difference = ((averaged - y[test]) ** 2 - (single - y[test]) ** 2).mean(axis=1)
    assert difference.mean() < -3 * difference.std(ddof=1) / np.sqrt(12)
