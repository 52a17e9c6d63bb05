"""AdaBoost.MH and the Hamming form of real and gentle AdaBoost: more than two classes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sklearn_ensemble_theory import (
    AdaBoostClassifier,
    DecisionStumpClassifier,
    DecisionStumpRegressor,
)
from sklearn_ensemble_theory._learners import half_log_odds
from sklearn_ensemble_theory.erm._stumps.hamming import (
    HAMMING_CRITERIA,
    HammingIndex,
    Masses,
    bound,
    gain,
)

VARIANTS = ["mh", "real", "gentle"]


def several(n=300, n_classes=4, seed=0, **options):
    return make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=seed, **options
    )


def start_of(codes):
    """Half of a row's weight for its own class, half for the others."""
    n, K = len(codes), codes.max() + 1
    Y = np.where(codes[:, None] == np.arange(K), 1.0, -1.0)
    return Y, np.where(Y > 0, 1 / (2 * n), 1 / (2 * n * (K - 1)))


def cells_along(model, X, codes):
    """Weights of cells before each round and the scores before it, from the fitted members."""
    Y, D = start_of(codes)
    scores = np.zeros(Y.shape)
    factor = 0.5 if model.variant_ == "mh" else 1.0
    for member, alpha in zip(model.estimators_, model.estimator_weights_):
        weight = D * np.exp(-Y * scores)
        yield weight / weight.sum(), scores.copy(), member
        scores += factor * alpha * member.predict(X)


# --- the search ----------------------------------------------------------------------------------


def gain_of(kind, weight, Y, left):
    """What a criterion gains by a split of the rows, written out."""
    if kind == "hamming_error":
        return np.abs((weight * Y * np.where(left, 1, -1)[:, None]).sum(axis=0)).sum()
    found = 0.0
    for side in (left, ~left):
        plus = np.where(Y > 0, weight, 0)[side].sum(axis=0)
        minus = np.where(Y < 0, weight, 0)[side].sum(axis=0)
        if kind == "hamming_log_odds":
            found -= np.sqrt(plus * minus).sum()
        elif side.any():
            found += ((plus - minus) ** 2 / (plus + minus)).sum()
    return found


@pytest.mark.parametrize("kind", HAMMING_CRITERIA)
@pytest.mark.parametrize("max_bins", [None, 7])
@pytest.mark.parametrize(
    ("n", "decimals", "search_bins"), [(60, 8, 128), (150, 0, 128), (150, 8, 5), (200, 1, 16)]
)
def test_best_split_is_the_best_of_all_thresholds(kind, max_bins, n, decimals, search_bins):
    """All thresholds one by one; with few bins the search must look inside them."""
    rng = np.random.default_rng(n)
    X = np.round(rng.standard_normal((n, 3)), decimals)
    codes = np.argmax(X @ rng.standard_normal((3, 4)) + rng.standard_normal((n, 4)), axis=1)
    codes[:4] = range(4)
    Y, _ = start_of(codes)
    # Both signs of a class have about the same weight, or the constant is the best of all.
    weight = rng.exponential(size=Y.shape) ** 2
    for sign in (-1, 1):
        weight = np.where(sign == Y, weight / np.where(sign == Y, weight, 0).sum(axis=0), weight)
    weight /= weight.sum()
    index = HammingIndex(X, max_bins, np.full(n, 1 / n), codes, 4, search_bins)
    assert (max_bins is None) == index.exact
    split = index.best_split(HAMMING_CRITERIA[kind], weight)
    thresholds = [np.unique(x)[:-1] for x in X.T] if index.exact else index.edges
    brute = {
        (j, t): gain_of(kind, weight, Y, X[:, j] <= t) for j in range(3) for t in thresholds[j]
    }
    best = max(brute.values())
    assert split.gain == pytest.approx(best, abs=1e-12)
    left = X[:, split.feature] <= split.threshold
    assert gain_of(kind, weight, Y, left) == pytest.approx(best, abs=1e-12)
    np.testing.assert_array_equal(index.is_left(split), left)
    first = min(key for key, value in brute.items() if value > best - 1e-12)
    assert split.feature == first[0]
    np.testing.assert_array_equal(left, X[:, first[0]] <= first[1])
    own = np.where(Y > 0, weight, 0)[left].sum(axis=0)
    np.testing.assert_allclose(split.left[0], own, atol=1e-12)


@pytest.mark.parametrize("kind", HAMMING_CRITERIA)
def test_the_constant_is_kept_where_no_threshold_is_better(kind):
    codes = np.array([0, 1, 2, 0, 1, 2, 0])
    Y, D = start_of(codes)
    split = HammingIndex(np.ones((7, 2)), None, None, codes, 3).best_split(
        HAMMING_CRITERIA[kind], D
    )
    assert split.threshold == np.inf
    assert split.gain == pytest.approx(gain_of(kind, D, Y, np.ones(7, dtype=bool)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", HAMMING_CRITERIA)
def test_bound_of_a_bin_is_above_every_threshold_inside(kind):
    rng = np.random.default_rng(1)
    criterion = HAMMING_CRITERIA[kind]
    for _ in range(200):
        low, inside, above = (Masses(*rng.exponential(size=(2, 5)) ** 4) for _ in range(3))
        high = Masses(*(a + b for a, b in zip(low, inside)))
        total = Masses(*(a + b for a, b in zip(high, above)))
        limit = bound(criterion, low, high, total)
        for _ in range(50):
            share = rng.uniform(size=(2, 5))
            left = Masses(*(a + s * b for a, s, b in zip(low, share, inside)))
            assert gain(criterion, left, total) <= limit * (1 + np.sign(limit) * 1e-12)


# --- the rounds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [3, 6])
def test_identities_of_every_round_of_mh(n_classes):
    """g = sum_k |sum_i D Y phi|, F(u_t) = F(u_{t-1}) sqrt(1 - g²), and no edge is left after it."""
    X, y = several(n_classes=n_classes)
    model = AdaBoostClassifier(n_estimators=30, variant="mh").fit(X, y)
    Y, D = start_of(y)
    g, F = 2 * model.edges_, model.training_error_bounds_
    np.testing.assert_allclose(F, np.cumprod(np.sqrt(1 - g**2)), rtol=1e-12)
    np.testing.assert_allclose(model.estimator_weights_ / 2, np.arctanh(g), rtol=1e-10)
    scores = np.zeros(Y.shape)
    for t, (weight, _, member) in enumerate(cells_along(model, X, y)):
        votes = member.predict(X)
        assert set(np.unique(votes)) <= {-1.0, 1.0}
        if np.isfinite(member.threshold_):  # one vote for each class, the opposite on the right
            np.testing.assert_array_equal(member.left_value_, -member.right_value_)
        assert (weight * Y * votes).sum() == pytest.approx(g[t], abs=1e-12)
        assert weight[Y * votes < 0].sum() == pytest.approx(model.estimator_errors_[t], abs=1e-12)
        scores += model.estimator_weights_[t] / 2 * votes
        assert (D * np.exp(-Y * scores)).sum() == pytest.approx(F[t], rel=1e-10)
        after = D * np.exp(-Y * scores)
        assert (after * Y * votes).sum() / after.sum() == pytest.approx(0, abs=1e-10)
    np.testing.assert_allclose(
        model.decision_function(X), 2 * scores / model.estimator_weights_.sum(), atol=1e-12
    )


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n_classes", [3, 8])
def test_risk_bounds_the_hamming_loss_and_the_training_error(variant, n_classes):
    """The training error is at most sqrt(K-1) F: a wrong row has F_own <= F_other."""
    X, y = several(n_classes=n_classes, flip_y=0.1)
    model = AdaBoostClassifier(n_estimators=60, variant=variant).fit(X, y)
    Y, D = start_of(y)
    for score, F in zip(model.staged_decision_function(X), model.training_error_bounds_):
        assert D[Y * score <= 0].sum() <= F + 1e-12
        assert np.mean(score.argmax(axis=1) != y) <= np.sqrt(n_classes - 1) * F + 1e-12
    assert (np.diff(model.training_error_bounds_) < 0).all()


def test_real_lowers_the_risk_by_its_partition_function():
    X, y = several(1000, flip_y=0.5)
    model = AdaBoostClassifier(n_estimators=5, variant="real").fit(X, y)
    Y, _ = start_of(y)
    before, clipped = 1.0, half_log_odds(1.0)
    n_compared = 0
    for (weight, _, member), F in zip(cells_along(model, X, y), model.training_error_bounds_):
        left = X[:, member.feature_] <= member.threshold_
        Z = 0.0
        for side, values in ((left, member.left_value_), (~left, member.right_value_)):
            plus = np.where(Y > 0, weight, 0)[side].sum(axis=0)
            minus = np.where(Y < 0, weight, 0)[side].sum(axis=0)
            with np.errstate(divide="ignore"):  # the log-odds of pure sides are clipped
                expected = np.clip(0.5 * np.log(plus / minus), -clipped, clipped)
            np.testing.assert_allclose(values, expected, rtol=1e-8, atol=1e-12)
            Z += (plus * np.exp(-values) + minus * np.exp(values)).sum()
        assert before * Z == pytest.approx(F, rel=1e-10)
        if np.abs([member.left_value_, member.right_value_]).max() < 0.999 * clipped:
            n_compared += 1
            assert pytest.approx(-2 * gain_of("hamming_log_odds", weight, Y, left)) == Z
        before = F
    assert n_compared > 0


def test_gentle_is_least_squares_to_the_signs_of_each_class():
    X, y = several()
    model = AdaBoostClassifier(n_estimators=10, variant="gentle").fit(X, y)
    Y, _ = start_of(y)
    for weight, _, member in cells_along(model, X, y):
        left = X[:, member.feature_] <= member.threshold_
        for side, values in ((left, member.left_value_), (~left, member.right_value_)):
            means = (weight * Y)[side].sum(axis=0) / weight[side].sum(axis=0)
            np.testing.assert_allclose(values, means, rtol=1e-9, atol=1e-12)
        # For any one class no threshold has less squares than a stump fitted to it alone.
        alone = DecisionStumpRegressor().fit(X, Y[:, 0], weight[:, 0]).predict(X)
        ours = member.predict(X)[:, 0]
        squares = [(weight[:, 0] * (Y[:, 0] - f) ** 2).sum() for f in (alone, ours)]
        assert squares[0] <= squares[1] + 1e-12


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("max_bins", [None, 16])
@pytest.mark.parametrize("n", [200, 2600])
def test_integer_weights_are_repeated_rows(variant, max_bins, n):
    rng = np.random.default_rng(0)
    X, y = several(n)
    X, w = np.round(X, 2), rng.integers(0, 3, n)
    model = AdaBoostClassifier(
        DecisionStumpClassifier(max_bins=max_bins), n_estimators=8, variant=variant
    )
    weighted = model.fit(X, y, w).decision_function(X)
    repeated = model.fit(np.repeat(X, w, 0), np.repeat(y, w)).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_class_of_weight_0_only(variant):
    X, y = several()
    model = AdaBoostClassifier(n_estimators=5, variant=variant).fit(X, y, (y != 3).astype(float))
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert set(model.predict(X)) <= {0, 1, 2}
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_bins_of_all_values_are_the_exact_search(variant):
    X, y = several(2500)
    X = np.round(X, 1)
    exact = AdaBoostClassifier(n_estimators=15, variant=variant).fit(X, y)
    binned = clone(exact).set_params(estimator=DecisionStumpClassifier(max_bins=255)).fit(X, y)
    np.testing.assert_allclose(exact.decision_function(X), binned.decision_function(X), atol=1e-9)


# --- which variant -----------------------------------------------------------------------------


def test_two_classes_are_the_discrete_algorithm():
    X, y = several(n_classes=2)
    scores = {}
    for variant in ("auto", "mh", "discrete"):
        model = AdaBoostClassifier(n_estimators=10, variant=variant).fit(X, y)
        assert model.variant_ == "discrete"
        scores[variant] = model.decision_function(X)
    np.testing.assert_array_equal(scores["auto"], scores["discrete"])
    np.testing.assert_array_equal(scores["mh"], scores["discrete"])


def test_the_default_is_mh_for_stumps_and_samme_for_others():
    X, y = several()
    for stump in (None, DecisionStumpClassifier(max_bins=16), DecisionStumpRegressor()):
        model = AdaBoostClassifier(stump, n_estimators=3).fit(X, y)
        assert model.variant_ == "mh"
        assert all(isinstance(member, DecisionStumpRegressor) for member in model.estimators_)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = AdaBoostClassifier(tree, n_estimators=5, random_state=0).fit(X, y)
    assert model.variant_ == "discrete"
    samme = SklearnAdaBoost(tree, n_estimators=5, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), samme.decision_function(X))


@pytest.mark.parametrize(
    ("estimator", "variant"),
    [
        (GaussianNB(), "mh"),
        (DecisionTreeClassifier(max_depth=1), "real"),
        (DecisionTreeRegressor(max_depth=1), "gentle"),
    ],
)
def test_learners_with_one_weight_for_each_row_are_refused(estimator, variant):
    X, y = several()
    message = f"{variant}.*y has 4.*weight for each row and class.*{type(estimator).__name__}"
    with pytest.raises(ValueError, match=message):
        AdaBoostClassifier(estimator, variant=variant).fit(X, y)


# --- predictions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_staged_methods_end_at_the_unstaged(variant):
    X, y = several()
    y = np.array(["a", "b", "c", "d"])[y]
    model = AdaBoostClassifier(n_estimators=7, variant=variant).fit(X, y)
    for staged, whole in [
        (model.staged_predict(X), model.predict(X)),
        (model.staged_decision_function(X), model.decision_function(X)),
        (model.staged_predict_proba(X), model.predict_proba(X)),
        (model.staged_score(X, y), model.score(X, y)),
    ]:
        stages = list(staged)
        assert len(stages) == 7
        np.testing.assert_array_equal(stages[-1], whole)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba)


def test_probabilities_of_constant_features_are_the_shares_of_the_classes():
    """The exponential risk over rows and classes is least at the log-odds of these."""
    y = np.repeat([0, 1, 2, 3], [1, 2, 3, 14])
    model = AdaBoostClassifier(variant="real").fit(np.ones((20, 2)), y)
    assert model.stop_reason_ == "no edge"
    np.testing.assert_allclose(
        model.predict_proba(np.ones((1, 2)))[0], [0.05, 0.1, 0.15, 0.7], rtol=1e-10
    )


@pytest.mark.parametrize("variant", [*VARIANTS, "discrete"])
def test_margins_are_positive_where_the_prediction_is_right(variant):
    X, y = several()
    model = AdaBoostClassifier(n_estimators=20, variant=variant).fit(X, y)
    margins = model.margins(X, y)
    assert np.abs(margins).max() <= 1
    clear = margins != 0  # a tie goes to the first class
    np.testing.assert_array_equal((margins > 0)[clear], (model.predict(X) == y)[clear])
    if variant == "mh":
        score = model.decision_function(X)
        own = score[np.arange(len(y)), y]
        score[np.arange(len(y)), y] = -9
        np.testing.assert_allclose(margins, (own - score.max(axis=1)) / 2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_importances_are_those_of_the_members(variant):
    X, y = several()
    model = AdaBoostClassifier(n_estimators=20, variant=variant).fit(X, y)
    expected = np.zeros(6)
    for member, alpha in zip(model.estimators_, model.estimator_weights_):
        expected[member.feature_] += alpha
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_extreme_weights_and_features(variant):
    X, y = several(80)
    model = AdaBoostClassifier(n_estimators=400, variant=variant)
    exponents = np.random.default_rng(0).uniform(-300, 300, 80)
    for w in (np.full(80, 1e-300), np.full(80, 1e300), 10.0**exponents):
        model.fit(X, y, w)
        assert np.isfinite(model.decision_function(X)).all()
        assert np.isfinite(model.predict_proba(X)).all()
        assert np.isfinite(model.training_error_bounds_).all()
    model.fit(np.ones((80, 2)), y)
    assert np.isfinite(model.predict_proba(np.ones((3, 2)))).all()
    assert model.fit(X * 1e300, y).score(X * 1e300, y) > 0.5


# --- accuracy ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_digits():
    X, y = load_digits(return_X_y=True)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    scores = [
        AdaBoostClassifier(n_estimators=300).fit(X[fit], y[fit]).score(X[test], y[test])
        for fit, test in folds.split(X, y)
    ]
    assert np.mean(scores) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("data", ["digits", "five"])
def test_not_behind_scikit_learn(data):
    """50 rounds of the defaults, paired over the folds."""
    if data == "digits":
        X, y = load_digits(return_X_y=True)
        rows = np.random.default_rng(0).permutation(len(y))[:300]
        X, y = X[rows], y[rows]
    else:
        X, y = several(n_classes=5)
    ahead = []
    for fit, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        ours = AdaBoostClassifier().fit(X[fit], y[fit]).score(X[test], y[test])
        theirs = SklearnAdaBoost(random_state=0).fit(X[fit], y[fit]).score(X[test], y[test])
        ahead.append(ours - theirs)
    assert np.mean(ahead) >= -np.std(ahead, ddof=1) / np.sqrt(len(ahead))
    assert np.mean(ahead) > 0.02
