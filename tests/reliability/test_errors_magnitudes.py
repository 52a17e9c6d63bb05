"""Weights, targets, features and queries near the ends of the range of floats."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sklearn_ensemble_theory as package
from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingRegressor,
    BallConstrainedClassifier,
    BestColumnRegressor,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
    FrankWolfeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistogramRegressor,
    LinearL2BoostingRegressor,
    MatchingPursuitRegressor,
    NadarayaWatsonRegressor,
    ReLUUnitRegressor,
    SmoothingSplineRegressor,
    StackingRegressor,
    VotingRegressor,
)
from sklearn_ensemble_theory.trees import BinnedTreeClassifier

from ..estimators import CLASSIFIERS, REGRESSORS, boosted_votes, estimator_classes, make, named
from ..surroundings import fit_context, in_usual_units, mean_from_first, positive_weights

LARGEST = np.finfo(np.float64).max
RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 2))
Y = X[:, 0] + 0.1 * RNG.standard_normal(30)
CLASSES = (Y > 0).astype(int)
WEIGHT = 2.0 ** RNG.integers(0, 4, 30)

DRAWS = "the draws of rows or their rounding depend on the sum of the weights"
COUNTS = "weights count rows"
PENALTY = "a penalty is in units of the weights"
# Estimators whose models depend on more than the ratios of weights.
BY_SUMS = {
    "BaggedNearestNeighborsClassifier": COUNTS,
    "BaggedNearestNeighborsRegressor": COUNTS,
    "BaggingClassifier": DRAWS,
    "BaggingRegressor": DRAWS,
    "DivideAndConquerClassifier": DRAWS,
    "DivideAndConquerRegressor": DRAWS,
    "ExtraTreesClassifier": DRAWS,
    "ExtraTreesRegressor": DRAWS,
    "RandomForestClassifier": DRAWS,
    "RandomForestRegressor": DRAWS,
    "RandomProjectionRegressor": PENALTY,
    "SketchedLinearRegression": DRAWS,
    "StackingRegressor": PENALTY,
}
BY_RATIOS = [cls.__name__ for cls in estimator_classes() if cls.__name__ not in BY_SUMS]


# One class, many classes.


def test_one_class():
    for variant in ("auto", "real", "discrete"):
        model = AdaBoostClassifier(DecisionTreeClassifier(), variant=variant)
        assert (model.fit(X, np.ones(30)).predict_proba(X) == 1).all()


@pytest.mark.parametrize("heavy", range(3))
def test_stumps_have_a_share_for_every_class(heavy):
    # Only one row has a weight: the constant stump, of whichever class.
    y = np.arange(30) % 12
    weight = np.zeros(30)
    weight[heavy] = 1.0
    stump = DecisionStumpClassifier().fit(X, y, sample_weight=weight)
    assert stump.left_proba_.shape == stump.right_proba_.shape == (12,)
    assert (stump.predict_proba(X).argmax(axis=1) == heavy).all()


def test_stumps_with_mixed_weights():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y, weight = rng.integers(0, 12, 30), rng.choice([1.0, 1e300, 1e-300], 30)
        stump = DecisionStumpClassifier().fit(X, y, sample_weight=weight)
        assert stump.left_proba_.shape == stump.right_proba_.shape == (len(np.unique(y)),)
        np.testing.assert_allclose(stump.predict_proba(X).sum(axis=1), 1)


# Weights.


@pytest.mark.parametrize("name", BY_RATIOS)
def test_models_depend_on_ratios_of_weights(name):
    cls = named(name)
    y = CLASSES if issubclass(cls, ClassifierMixin) else Y
    # The minimum of "gcv" is found to a tolerance.
    params = {"df": 4} if name == "SmoothingSplineRegressor" else {}
    expected = make(cls, **params).fit(X, y, sample_weight=WEIGHT).predict(X)
    for factor in (2.0**1019, 2.0**-1060):
        model = make(cls, **params).fit(X, y, sample_weight=WEIGHT * factor)
        np.testing.assert_allclose(model.predict(X), expected, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("cls", estimator_classes(), ids=lambda cls: cls.__name__)
def test_scores_depend_on_ratios_of_weights(cls):
    y = CLASSES if issubclass(cls, ClassifierMixin) else Y
    model = make(cls).fit(X, y)
    # A sixth of the labels, or targets, are others: scores are neither 0 nor 1.
    other = np.where(np.arange(30) % 6 == 0, y[::-1], y)
    expected = model.score(X, other, sample_weight=WEIGHT)
    for factor in (1.2e307, 1e-300):
        assert model.score(X, other, sample_weight=WEIGHT * factor) == pytest.approx(expected)
        assert model.score(X, other, sample_weight=list(WEIGHT * factor)) == pytest.approx(expected)


@pytest.mark.parametrize("scale", [2.0**540, 2.0**-540, 2.0**996])
def test_stacks_and_votes_of_trees_in_any_units(scale):
    make_tree = partial(DecisionTreeRegressor, random_state=0)
    trees = [(str(depth), make_tree(max_depth=depth)) for depth in (2, 4)]
    for make_model in (
        *(partial(StackingRegressor, trees, rule) for rule in ("simplex", "nnls", "greedy")),
        partial(VotingRegressor, trees),
    ):
        expected, model = make_model().fit(X, Y), make_model().fit(X, scale * Y)
        found = model.predict(X) / scale
        np.testing.assert_allclose(found, expected.predict(X), rtol=1e-6, atol=1e-9)
        assert model.score(X, scale * Y) == pytest.approx(expected.score(X, Y))


def test_weights_are_divided_by_powers_of_two():
    for factor in (2.0**1018, 2.0**-1074):
        scaled = in_usual_units(WEIGHT * factor)
        assert (scaled == WEIGHT / WEIGHT.max() * scaled.max()).all()
        assert 1 <= scaled.max() < 2
    assert in_usual_units(WEIGHT) is WEIGHT
    assert positive_weights(WEIGHT * 2.0**1018, X)[1].max() < 2
    assert positive_weights(WEIGHT * 2.0**1018, X, as_given=True)[1].max() > 1e300


def test_ratios_of_weights_over_calls_of_partial_fit():
    whole = HistogramRegressor(n_bins=2, box=(-3, 3)).fit(X, Y, np.where(X[:, 0] > 0, 1e300, 1e299))
    parts = HistogramRegressor(n_bins=2, box=(-3, 3))
    for rows, weight in ((X[:, 0] > 0, 1e300), (X[:, 0] <= 0, 1e299)):
        parts.partial_fit(X[rows], Y[rows], sample_weight=np.full(rows.sum(), weight))
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), rtol=1e-12)
    np.testing.assert_allclose(np.sort(parts.cell_shares_), np.sort(whole.cell_shares_))
    ball = BallConstrainedClassifier(solver="sgd")
    with pytest.raises(ValueError, match="sample_weight"):
        ball.partial_fit(X, CLASSES, classes=[0, 1], sample_weight=np.full(30, 1e300))


# Targets.


@pytest.mark.parametrize("name", ["DecisionStumpRegressor", "FrankWolfeRegressor"])
@pytest.mark.parametrize("factor", [2.0**515, 2.0**-515])
def test_targets_whose_squares_overflow_or_vanish(name, factor):
    cls = named(name)
    params = {"radius": 2.0} if name == "FrankWolfeRegressor" else {}
    expected = make(cls, **params).fit(X, Y).predict(X)
    params = {"radius": 2.0 * factor} if name == "FrankWolfeRegressor" else {}
    model = make(cls, **params).fit(X, Y * factor)
    np.testing.assert_allclose(model.predict(X) / factor, expected, rtol=1e-9)


def test_targets_at_both_ends_of_the_range():
    y = np.where(X[:, 0] > 0, LARGEST, -LARGEST)
    assert (DecisionStumpRegressor().fit(X, y).predict(X) == y).all()
    constant = np.full(30, LARGEST)
    assert (VotingRegressor(REGRESSORS[:1]).fit(X, constant).predict(X) == LARGEST).all()


def test_means_whose_sums_overflow():
    members = [("a", DecisionStumpRegressor()), ("b", DecisionStumpRegressor())]
    y = np.full(30, LARGEST)
    for weights in (None, [1.0, 3.0]):
        assert (VotingRegressor(members, weights=weights).fit(X, y).predict(X) == LARGEST).all()


def test_targets_beyond_any_right_number():
    y = np.where(X[:, 0] > 0, LARGEST, -LARGEST)
    for model in (package.L2BoostingRegressor(5, learning_rate=0.1), StackingRegressor(REGRESSORS)):
        with pytest.raises(ValueError, match=r"\by\b"):
            model.fit(X, y)


# Features and queries.

QUERY = np.array([[1e154, -1e154], [1e300, 0.0], [LARGEST, -LARGEST]])


@pytest.mark.parametrize(
    "model",
    [
        SmoothingSplineRegressor(df=4),
        NadarayaWatsonRegressor(bandwidth=0.5),
        NadarayaWatsonRegressor(bandwidth=0.5, kernel="tricube"),
        ReLUUnitRegressor(),
        BestColumnRegressor(),
        MatchingPursuitRegressor(5),
        FrankWolfeRegressor(radius=50.0),
        LinearL2BoostingRegressor(time=2.0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_queries_far_away_are_finite_or_refused(model):
    model.fit(X, Y * 100)
    for row in (*QUERY, *-QUERY):
        try:
            assert np.isfinite(model.predict(row[None])).all()
        except ValueError as error:
            assert "X has rows for which the predictions" in str(error)
    near = model.predict(QUERY[:1] * 1e-154)
    assert np.isfinite(near).all()


def test_linear_parts_of_splines_are_right_far_away():
    x = np.linspace(0, 1, 30)[:, None]
    model = SmoothingSplineRegressor(df=2.0001).fit(x, 3 * x[:, 0])
    np.testing.assert_allclose(model.predict([[1e154], [1e300]]), [3e154, 3e300], rtol=1e-6)


@pytest.mark.parametrize("bandwidth", [1e300, 1e-300])
def test_bandwidths(bandwidth):
    model = NadarayaWatsonRegressor(bandwidth=bandwidth)
    if bandwidth < 1:
        with pytest.raises(ValueError, match="bandwidth"):
            model.fit(X, Y)
    else:
        np.testing.assert_allclose(model.fit(X, Y).predict(X), Y.mean())
        np.testing.assert_allclose(model.fit(X * 1e300, Y).predict(X[:1] * 1e-5), Y @ _normal(X))


def _normal(X):
    weight = np.exp(-0.5 * (X**2).sum(axis=1))
    return weight / weight.sum()


def test_log_probabilities_of_pure_leaves():
    tree = BinnedTreeClassifier().fit(X, CLASSES)
    log_proba = tree.predict_log_proba(X)
    assert (np.exp(log_proba) == tree.predict_proba(X)).all()


def test_sums_of_infinities_are_no_warning():
    stump = DecisionStumpRegressor().fit(X, Y)
    rows = np.array([[LARGEST, -LARGEST], [LARGEST, -LARGEST]] * 8)
    assert np.isfinite(stump.predict(rows)).all()


def test_values_of_X_that_are_no_numbers():
    for value in (10**400, None, "a"):
        rows = X.astype(object)
        rows[0, 0] = value
        for model in (DecisionStumpRegressor(), HistogramRegressor(), MatchingPursuitRegressor()):
            with pytest.raises((ValueError, TypeError), match=r"\bX\b|could not convert"):
                model.fit(rows, Y)
            with pytest.raises((ValueError, TypeError), match=r"\bX\b|could not convert"):
                model.fit(X, Y).predict(rows)


@pytest.mark.parametrize("rate", [1e10, 1e30, 1e300, 1e308])
def test_learning_rates_that_overflow_are_named(rate):
    """The right predictions where they are floats, otherwise an error: never a warning or nan."""
    squared, robust = GradientBoostingRegressor(), GradientBoostingRegressor(loss="huber")
    absolute = GradientBoostingRegressor(loss="absolute_error")
    for model in (squared, robust, absolute, AdaBoostRegressor()):
        model.set_params(n_estimators=60, learning_rate=rate)
        _finite_or_named(model, Y)
    for model in (GradientBoostingClassifier(), AdaBoostClassifier()):
        model.set_params(n_estimators=60, learning_rate=rate)
        _finite_or_named(model, CLASSES)
        _finite_or_named(model, np.arange(len(X)) % 3)


def _finite_or_named(model, y):
    try:
        model.fit(X, y)
    except ValueError as error:
        assert "learning_rate" in str(error), error
    else:
        assert np.isfinite(model.predict(X)).all()


# What random inputs found.


@pytest.mark.parametrize("name", ["BinnedTreeClassifier", "BinnedTreeRegressor"])
def test_trees_take_queries_beyond_single_precision(name):
    model = make(named(name))
    model.fit(X, CLASSES)
    far = model.predict(np.where(X > 0, 1e30, -1e30))
    for query in (X * 1e155, np.where(X > 0, LARGEST, -LARGEST)):
        np.testing.assert_array_equal(model.predict(query), far)


@pytest.mark.parametrize(
    "model",
    [
        package.MatchingPursuitRegressor(5),
        package.SketchedLinearRegression(random_state=0),
        package.RandomProjectionRegressor(3, n_components=2, random_state=0),
        package.FrankWolfeRegressor(n_estimators=5, radius=1e308),
        package.ReLUUnitRegressor(),
        package.BaggedNearestNeighborsRegressor(3),
        package.HistogramRegressor(n_bins=2),
        package.GradientBoostingRegressor(n_estimators=3),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("far", [True, False])
def test_targets_near_the_largest_float(model, far):
    y = np.where(X[:, 0] > 0, LARGEST, -LARGEST if far else LARGEST / 2)
    try:
        model.fit(X, y)
        assert np.isfinite(model.predict(X)).all()
    except ValueError as error:
        assert {"X", "y"} & set(str(error).replace(";", " ").split())


def test_constant_targets_at_the_end_of_the_range():
    y = np.full(30, LARGEST)
    models = [
        package.BaggedNearestNeighborsRegressor(3),
        HistogramRegressor(n_bins=2),
        package.RandomProjectionRegressor(3, n_components=2, random_state=0),
        MatchingPursuitRegressor(5),
    ]
    for model in models:
        np.testing.assert_allclose(model.fit(X, y).predict(X) / LARGEST, 1)


def test_means_from_the_first_row():
    weight = RNG.random(30)
    weight /= weight.sum()
    expected = np.average(Y, weights=weight)
    np.testing.assert_allclose(mean_from_first(Y, weight), expected, rtol=1e-12)
    largest = np.where(X, LARGEST, 0) * np.sign(X)
    for w in (weight, None):
        share = np.average(np.sign(X), axis=0, weights=w)
        np.testing.assert_allclose(mean_from_first(largest, w) / LARGEST, share, rtol=1e-9)
        assert (mean_from_first(np.full((30, 2), 0.1), w) == 0.1).all()


@pytest.mark.parametrize(
    "model",
    [
        package.MatchingPursuitRegressor(5),
        package.SketchedLinearRegression(random_state=0),
        package.RandomProjectionRegressor(3, n_components=2, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_features_whose_range_overflows(model):
    with pytest.raises(ValueError, match="X"):
        model.fit(np.where(X > 0, LARGEST, -LARGEST), Y)
    model.fit(X, Y * 100)
    with pytest.raises(ValueError, match="X has rows for which the predictions"):
        model.predict(np.where(X > 0, LARGEST, -LARGEST))


def test_subnormal_features():
    rows = np.rint(3 * X) * 5e-324
    models = [
        package.SketchedLinearRegression(random_state=0),
        package.RandomProjectionRegressor(3, n_components=2, random_state=0),
    ]
    for model in models:
        with pytest.raises(ValueError, match="X is so small"):
            model.fit(rows, Y)


@pytest.mark.parametrize("ratio", [1e20, 1e40, 1e300])
@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_boosted_leaves_of_little_weight(ratio, subsample):
    # The sums of a leaf are its own, not the rest of those of its parent.
    model = package.GradientBoostingRegressor(
        n_estimators=3, learning_rate=1.0, subsample=subsample, random_state=0
    )
    for heavy in range(5):
        weight = np.ones(30)
        weight[heavy] = ratio
        prediction = model.fit(X, Y, sample_weight=weight).predict(X)
        assert (abs(prediction) < 3 * abs(Y).max()).all()


def test_one_huge_weight_in_stacking():
    weight = np.ones(30)
    for heavy in range(5):
        weight[:] = 1
        weight[heavy] = 1e300
        model = StackingRegressor(REGRESSORS, cv=3).fit(X, Y, sample_weight=weight)
        assert np.isfinite(model.predict(X)).all()
        classes = package.StackingClassifier(CLASSIFIERS, cv=3, final_estimator="simplex")
        assert np.isfinite(classes.fit(X, CLASSES, sample_weight=weight).predict_proba(X)).all()


def test_out_of_bag_scores_of_huge_targets():
    scores = [
        package.BaggingRegressor(n_estimators=20, oob_score=True, random_state=0)
        .fit(X, Y * factor)
        .oob_score_
        for factor in (1.0, 2.0**1000)
    ]
    np.testing.assert_allclose(*scores)


def test_newton_steps_that_are_lost_in_rounding_end():
    # 10,000 of them, several seconds, without the count of steps that change nothing.
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((12, 3))
    y = rows[:, 0] + rows[:, 1] ** 2 + 0.1 * rng.standard_normal(12)
    model = BallConstrainedClassifier(loss="logistic")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows * 1e101, (y > np.median(y)).astype(int))
    assert model.n_iter_ < 1_000


def test_frames_and_read_only_weights_are_contiguous_and_writable():
    weight = WEIGHT.copy()
    weight.setflags(write=False)
    _, kept = positive_weights(weight, X)
    assert kept.flags.writeable
    assert (kept == WEIGHT).all()


@pytest.mark.parametrize("cls", boosted_votes(), ids=lambda cls: cls.__name__)
def test_boosted_trees_beyond_single_precision(cls):
    far = np.clip(X, -1, 1) * 1e308
    model = make(cls, estimator=DecisionTreeClassifier())
    expected = model.fit(np.clip(X, -1, 1), CLASSES).predict(np.clip(X, -1, 1))
    for rows in (far, csr_matrix(far)):
        np.testing.assert_array_equal(model.fit(rows, CLASSES).predict(rows), expected)
    near = model.fit(X, CLASSES).predict(np.clip(far, -1e30, 1e30))
    np.testing.assert_array_equal(model.predict(far), near)


def test_hinges_on_features_from_end_to_end():
    rows = np.where(X > 0, LARGEST, -LARGEST)
    assert np.isfinite(ReLUUnitRegressor().fit(rows, Y).predict(rows)).all()
    with pytest.raises(ValueError, match="X overflows"):
        ReLUUnitRegressor("inner_product").fit(rows, Y)


def test_splines_of_targets_near_the_largest_float():
    for y in (np.clip(Y, -1.7, 1.7) * 1e308, np.where(X[:, 0] > 0, LARGEST, -LARGEST)):
        for df in (4, 20):
            try:
                prediction = SmoothingSplineRegressor(df=df).fit(X, y).predict(X)
                assert np.isfinite(prediction).all()
            except ValueError as error:
                assert "overflow" in str(error) or "beyond the largest float" in str(error)


def test_a_sum_that_overflows_in_python_names_the_large_parameters():
    class Squares(BaggingRegressor):
        @fit_context(prefer_skip_nested_validation=False)
        def fit(self, X, y):
            self.square_ = self.n_estimators ** float(self.n_estimators)
            return self

    model = Squares(n_estimators=100_000)
    with pytest.raises(ValueError, match=r"n_estimators=100000.* larger than all floats"):
        model.fit([[0.0]], [1.0])
