"""Edited additive models against sums by hand, brute force, and fits without what was left out."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import KFold

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    export,
)
from sklearn_ensemble_theory.boosting import CVRounds, smooth_term
from sklearn_ensemble_theory.boosting._additive.fitted_terms import band_errors

pd = pytest.importorskip("pandas")


def rows(n=300, seed=0):
    """Ordered features, one with missing values; a categorical one; three classes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    kind = rng.integers(0, 4, n)
    y = np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] + 0.3 * kind + 0.2 * rng.standard_normal(n)
    X[rng.random(n) < 0.1, 1] = np.nan
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = pd.Categorical.from_codes(kind, ["u", "v", "w", "z"])
    return frame, y, np.digitize(y, [-0.3, 0.8])


X, Y, CLASSES = rows()
NEW = rows(n=60, seed=1)[0]
FAST = {"learning_rate": 0.1, "max_bins": 12, "interactions": [("a", "b")]}
REGRESSOR = L2BoostingRegressor(60, **FAST).fit(X, Y)
BINARY = LogitBoostClassifier(30, **FAST).fit(X, CLASSES > 0)
THREE = LogitBoostClassifier(20, **FAST).fit(X, CLASSES)
COUNTS = AdditiveBoostingRegressor(loss="poisson", n_estimators=20, **FAST).fit(X, CLASSES)
MODELS = {"regressor": REGRESSOR, "counts": COUNTS, "two classes": BINARY, "three classes": THREE}


def scores(model, X):
    return model._scores(X)


def by_hand(model, X):
    return model.intercept_ + model.predict_terms(X).sum(axis=1)


def means(model):
    return [
        np.tensordot(weight / weight.sum(), values, axes=weight.ndim)
        for (_, values), weight in zip(model.shape_functions_, model.bin_weights_)
    ]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", ["a", "b", "kind", "a & b"])
def test_predictions_with_other_values_of_a_term(kind, name):
    model = MODELS[kind]
    t = model.term_names_.index(name)
    before = [values.copy() for _, values in model.shape_functions_]
    terms, at = model.predict_terms(NEW), scores(model, NEW)
    values = np.random.default_rng(0).standard_normal(before[t].shape)
    new = model.set_term(name, values)
    # The new term at the rows: looked up where the old values are replaced by their numbers.
    cells = model.set_term(name, np.arange(float(values.size)).reshape(values.shape))
    if kind == "three classes":
        values = values - values.mean(axis=-1, keepdims=True)
        own = new.predict_terms(NEW)[:, t] + (new.intercept_ - model.intercept_)
        expected = at - terms[:, t] + own
        assert np.isin(own.round(9), values.round(9)).all()
    else:
        number = cells.predict_terms(NEW)[:, t] + cells.intercept_ - model.intercept_
        expected = at - terms[:, t] + values.ravel()[number.round().astype(int)]
    np.testing.assert_allclose(scores(new, NEW), expected, atol=1e-12)
    np.testing.assert_allclose(by_hand(new, NEW), expected, atol=1e-12)
    assert np.abs(means(new)[t]).max() < 1e-12
    # the other terms, and the model before, are what they were
    for s, (_, own) in enumerate(new.shape_functions_):
        assert s == t or np.array_equal(own, before[s])
    assert all(np.array_equal(old, now) for old, (_, now) in zip(before, model.shape_functions_))
    assert model.edits_ == []
    np.testing.assert_array_equal(scores(model, NEW), at)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", ["a", "kind", ("b", "a")])
def test_a_term_that_is_removed(kind, name):
    model = MODELS[kind]
    t = 4 if isinstance(name, tuple) else model.term_names_.index(name)
    new = model.remove_terms([name])
    expected = scores(model, NEW) - model.predict_terms(NEW)[:, t]
    np.testing.assert_allclose(scores(new, NEW), expected, atol=1e-12)
    if t == 4:
        assert new.term_names_ == model.term_names_[:4]
        assert len(new.shape_functions_) == len(new.bin_weights_) == 4
        assert new.predict_terms(NEW).shape[1] == 4
    else:
        assert not new.shape_functions_[t][1].any()
        assert new.term_importances_[t] == 0


def test_names_numbers_and_features_name_a_term():
    expected = scores(REGRESSOR.remove_terms(["a & b"]), NEW)
    for name in (4, np.int64(4), ("a", "b"), (1, 0), ["b", 0]):
        np.testing.assert_array_equal(scores(REGRESSOR.remove_terms([name]), NEW), expected)
    for name, message in [
        ("x", "no term 'x'; the terms are 'a', 'b', 'c', 'kind', 'a & b'"),
        (5, "no term 5; the terms are 0 to 4"),
        (-1, "no term -1"),
        (True, "by its name, its number"),
        (None, "by its name, its number"),
        (("a", "x"), "The term has the name 'x'"),
        (("a", 7), "The term has the index 7"),
        (("a", [1]), "which is no feature"),
        (("a", "c"), r"no term \('a', 'c'\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            REGRESSOR.remove_terms([name])


def test_values_that_do_not_fit():
    size = len(REGRESSOR.shape_functions_[1][1])
    for values, message in [
        (np.zeros(size - 1), rf"shape \({size - 1},\), but the term has the shape \({size},\)"),
        (np.full(size, np.nan), "must be finite"),
        (["x"] * size, "must be real numbers"),
        (["1"] * size, "must be real numbers"),
        (np.full(size, 1j), "must be real numbers"),
        ([[1.0], 2.0], "must be real numbers"),
        ([None] * size, "must be finite"),
        (lambda x: ["x"] * size, "must be real numbers"),
        (object(), "must be real numbers"),
        (np.where(np.arange(size) < 3, 1.7e308, -1.7e308), "'b' are too large"),
    ]:
        with pytest.raises(ValueError, match=message):
            REGRESSOR.set_term("b", values)


def test_values_of_missing_and_unknown_values_can_be_set():
    values = REGRESSOR.shape_functions_[3][1].copy()
    assert REGRESSOR.bin_weights_[3][-1] == 0  # no row without category
    values[-1] = 5.0
    new = REGRESSOR.set_term("kind", values)
    row = NEW.iloc[:1].assign(kind=pd.Categorical([None], categories=["u", "v", "w", "z"]))
    assert new.predict(row) - REGRESSOR.predict(row) == pytest.approx(5.0)


def increasing_by_brute_force(values, weight):
    """Least squares by a constant and non-negative steps."""
    steps = np.tri(len(values))
    columns = np.column_stack([steps, -np.ones(len(values))]) * np.sqrt(weight)[:, None]
    found, _ = nnls(columns, np.sqrt(weight) * values)
    return steps @ found[:-1] - found[-1]


@pytest.mark.parametrize("model", [REGRESSOR, BINARY], ids=["regressor", "two classes"])
@pytest.mark.parametrize("increasing", [True, False])
def test_monotonic_functions_are_nearest(model, increasing):
    with pytest.warns(UserWarning, match="feature is also in 'a & b'"):
        new = model.monotonize("b", increasing)
    sign = 1 if increasing else -1
    (_, before), (_, after) = model.shape_functions_[1], new.shape_functions_[1]
    nearest = increasing_by_brute_force(sign * before[:-1], model.bin_weights_[1][:-1])
    np.testing.assert_allclose(after[:-1], sign * nearest, atol=1e-8)
    assert after[-1] == pytest.approx(before[-1], abs=1e-8)  # of missing values
    assert (sign * np.diff(after[:-1]) >= 0).all()


def test_bins_without_weight_follow_their_neighbours():
    edges = [np.array([0.0, 1.0, 2.0])]
    x = np.array([-1.0, 0.5, 2.5, 2.6])[:, None]  # none in the third bin
    model = L2BoostingRegressor(5, max_bins=edges, learning_rate=1.0).fit(x, [0.0, 3.0, 1.0, 1.0])
    model = model.set_term(0, [0.0, 3.0, 9.0, 1.0])
    values = model.monotonize(0).shape_functions_[0][1]
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose(np.diff(values)[1:], 0, atol=1e-6)
    assert np.isfinite(smooth_term(model, 0, df=2).shape_functions_[0][1]).all()


def test_smoothing_is_a_spline_over_ranks():
    from sklearn_ensemble_theory import SmoothingSplineRegressor

    model = L2BoostingRegressor(60, learning_rate=0.1, max_bins=12).fit(X, Y)
    new = smooth_term(model, "b", df=5)
    weight, (_, before) = model.bin_weights_[1][:-1], model.shape_functions_[1]
    ranks = (np.cumsum(weight) - weight / 2) / weight.sum()
    spline = SmoothingSplineRegressor(df=5).fit(ranks[:, None], before[:-1], weight)
    after = new.shape_functions_[1][1]
    np.testing.assert_allclose(after[:-1], spline.predict(ranks[:, None]), atol=1e-12)
    assert after[-1] == pytest.approx(before[-1], abs=1e-12)
    # A straight line in the ranks, and what was there.
    line = smooth_term(model, "b", df=2).shape_functions_[1][1][:-1]
    slopes = np.diff(line) / np.diff(ranks)
    np.testing.assert_allclose(slopes, slopes[0])
    same = smooth_term(model, "b", df=12).shape_functions_[1][1]
    np.testing.assert_allclose(same, before, atol=1e-6)
    # The scores of several classes have the sum 0, as before.
    of_classes = smooth_term(THREE, "a").shape_functions_[0][1]
    assert np.abs(of_classes.sum(axis=1)).max() < 1e-12


def test_smoothing_of_few_bins():
    x = np.repeat([0.0, 1.0], 5)[:, None]
    model = L2BoostingRegressor(5).fit(np.column_stack([x, 0 * x]), x[:, 0])
    for name in (0, 1):
        new = smooth_term(model, name)
        np.testing.assert_array_equal(
            new.shape_functions_[name][1], model.shape_functions_[name][1]
        )


@pytest.mark.parametrize("edit", [smooth_term, L2BoostingRegressor.monotonize])
def test_features_without_order(edit):
    name = edit.__name__
    with pytest.raises(ValueError, match=f"{name} needs ordered bins; the feature 'kind' is"):
        edit(REGRESSOR, "kind")
    with pytest.raises(ValueError, match=f"{name} needs the function of one .* 'a & b' is a p"):
        edit(REGRESSOR, ("a", "b"))


@pytest.mark.parametrize("kind", MODELS)
def test_a_function_gives_the_values(kind):
    values = MODELS[kind].shape_functions_[0][1]
    given = MODELS[kind].set_term("a", values.clip(max=0.1))
    by_function = MODELS[kind].set_term("a", lambda values: values.clip(max=0.1))
    np.testing.assert_array_equal(scores(by_function, NEW), scores(given, NEW))
    with pytest.raises(ValueError, match="but the term has the shape"):
        MODELS[kind].set_term("a", lambda values: values[1:])


def test_several_terms_are_removed_one_by_one():
    at_once = REGRESSOR.remove_terms(["a & b", "c", ("b", "a"), 2])
    in_turn = REGRESSOR.remove_terms(["a & b"]).remove_terms(["c"])
    np.testing.assert_array_equal(scores(at_once, NEW), scores(in_turn, NEW))
    assert [edit.term for edit in at_once.edits_] == ["a & b", "c"]
    for given in ("c", [], 2):
        with pytest.raises(ValueError, match="terms must be a list"):
            REGRESSOR.remove_terms(given)


def test_arguments_of_edits():
    with pytest.raises(ValueError, match=r"two classes only.* the model has 3 classes"):
        THREE.monotonize("a")
    with pytest.raises(TypeError, match="increasing must be True or False"):
        REGRESSOR.monotonize("c", increasing=1)
    with pytest.raises(ValueError, match=r"df=1\.5 must be a finite number of at least 2"):
        smooth_term(REGRESSOR, "c", df=1.5)
    with pytest.raises(ValueError, match="df must be a number; got 'many'"):
        smooth_term(REGRESSOR, "c", df="many")


def test_records():
    assert REGRESSOR.edits_ == []
    values = REGRESSOR.shape_functions_[2][1].copy()
    values[0] += 2
    new = smooth_term(REGRESSOR.set_term("c", values), "a", df=4).remove_terms(["a & b"])
    assert [(each.method, each.term) for each in new.edits_] == [
        ("set_term", "c"),
        ("smooth_term", "a"),
        ("remove_terms", "a & b"),
    ]
    assert repr(new.edits_[0]) == "set_term('c'): 1 of 12 values changed by at most 2"
    assert repr(new.edits_[1]).startswith("smooth_term('a', df=4): 12 of 12 values changed by")
    np.testing.assert_array_equal(new.edits_[0].before, REGRESSOR.shape_functions_[2][1])
    np.testing.assert_allclose(new.edits_[0].after + new.edits_[0].shift, values)
    assert not new.edits_[2].after.any()
    # Edits are a part of the model, and a fit begins anew.
    loaded = pickle.loads(pickle.dumps(new))
    assert list(map(repr, loaded.edits_)) == list(map(repr, new.edits_))
    np.testing.assert_array_equal(loaded.predict(NEW), new.predict(NEW))
    assert not hasattr(clone(new), "edits_")
    again = new.fit(X, Y)
    assert again.edits_ == []
    np.testing.assert_array_equal(again.predict(NEW), REGRESSOR.predict(NEW))


def test_what_belongs_to_the_fit_does_not_outlive_it():
    rounds = CVRounds(max_estimators=40)
    model = L2BoostingRegressor(rounds, learning_rate=0.1, max_bins=8, held_out="cv").fit(X, Y)
    new = model.set_term("a", np.zeros_like(model.shape_functions_[0][1]))
    for call in (
        lambda: new.predict_interval(NEW),
        lambda: next(new.staged_predict(NEW)),
        lambda: new.predict_path(NEW, [1]),
        lambda: new.set_params(held_out=None).partial_fit(X, Y),
    ):
        with pytest.raises(ValueError, match=r"this model was edited after it \(see edits_\)"):
            call()
    assert not hasattr(new, "feature_importances_")
    errors = new.shape_standard_errors_
    assert np.isnan(errors[0]).all()
    for own, before in zip(errors[1:], model.shape_standard_errors_[1:]):
        np.testing.assert_array_equal(own, before)
    assert np.isnan(export.frame(new).query("term == 'a'")["standard_error"]).all()
    assert model.predict_interval(NEW).shape == (len(NEW), 2)
    assert not np.isnan(model.shape_standard_errors_[0]).any()
    classifier = LogitBoostClassifier(
        CVRounds(max_estimators=20), learning_rate=0.2, max_bins=8, held_out="cv"
    )
    classifier = classifier.fit(X, CLASSES > 0).remove_terms(["c"])
    with pytest.raises(ValueError, match="Prediction sets require the folds of the fit"):
        classifier.predict_set(NEW)
    with pytest.raises(ValueError, match="edited"):
        next(classifier.staged_predict_proba(NEW))
    with pytest.raises(ValueError, match="partial_fit goes on from the fit"):
        classifier.partial_fit(X, CLASSES > 0)


FOLDS = L2BoostingRegressor(
    CVRounds(max_estimators=40), learning_rate=0.1, max_bins=8, interactions=[("a", "b")]
)


def test_values_that_an_edit_leaves_keep_their_standard_errors():
    model = clone(FOLDS).set_params(held_out="cv").fit(X, Y)
    errors = model.shape_standard_errors_
    same = model.set_term("a", model.shape_functions_[0][1]).set_term("kind", lambda v: v)
    for own, before in zip(same.shape_standard_errors_, errors):
        np.testing.assert_array_equal(own, before)
    np.testing.assert_array_equal(same.feature_importances_, model.feature_importances_)
    with pytest.raises(ValueError, match="edited"):
        same.predict_interval(NEW)
    values = model.shape_functions_[0][1].copy()
    values[[2, 5]] += 0.5
    found = model.set_term("a", values).shape_standard_errors_[0]
    expected = errors[0].copy()
    expected[[2, 5]] = np.nan
    np.testing.assert_array_equal(found, expected)
    assert np.isnan(model.remove_terms(["a"]).shape_standard_errors_[0]).all()


@pytest.mark.parametrize(
    "edit",
    [
        lambda model: smooth_term(model, "c", df=4),
        lambda model: model.monotonize("c"),
        lambda model: model.monotonize("c", increasing=False).monotonize("c"),
    ],
    ids=["smooth", "increasing", "decreasing"],
)
def test_errors_of_edited_values_are_those_of_the_edited_folds(edit):
    """The folds edited one by one, as models of their own."""
    model = clone(FOLDS).set_params(held_out="cv").fit(X, Y)
    folds, new = model.model_.folds, edit(model)
    found, weights = new.shape_standard_errors_, model.bin_weights_
    tables = [list(folds.scale * own.T) for own in folds.tables[:4]]
    for k, values in enumerate(tables[2]):
        tables[2][k] = edit(model.set_term("c", values)).shape_functions_[2][1]
    expected = band_errors(tables, weights[:4])
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-9)
    np.testing.assert_array_equal(found[1], model.shape_standard_errors_[1])
    # Without the folds they are not known.
    other = edit(clone(FOLDS).fit(X, Y)).shape_standard_errors_[2]
    is_new = edit(model).shape_functions_[2][1] + edit(model).edits_[0].shift
    is_new = np.abs(is_new - model.shape_functions_[2][1]) > 1e-12
    np.testing.assert_array_equal(np.isnan(other), is_new)


def test_standard_errors_of_a_refit_are_those_of_its_folds():
    model = clone(FOLDS).set_params(cv=KFold(4)).fit(X[:200], Y[:200])
    new = model.refit(X[200:], Y[200:], ["c"])
    rest = model.predict_terms(X[200:])[:, [0, 1, 3, 4]].sum(axis=1)
    alone = clone(model).set_params(interactions=0, max_bins=[model.bin_edges_[2]])
    alone.fit(X[["c"]][200:], Y[200:] - rest)
    found, expected = new.shape_standard_errors_[2], alone.shape_standard_errors_[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_display_of_edited_terms_has_no_band_for_them():
    pytest.importorskip("matplotlib").use("agg")
    from sklearn_ensemble_theory.inspection import ShapeFunctionDisplay

    model = L2BoostingRegressor(CVRounds(max_estimators=40), learning_rate=0.1, max_bins=8).fit(
        X, Y
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = ShapeFunctionDisplay.from_estimator(smooth_term(model, "a", df=3))
    found = {shape.name: shape.errors is None for shape in display.shapes}
    assert found["a"]
    assert not found["b"]


# --- refit ----------------------------------------------------------------------------------------

OLD, MORE = slice(200), slice(200, 300)


@pytest.mark.parametrize("n_estimators", [40, "cv"])
@pytest.mark.parametrize("weight", [None, np.linspace(1, 3, 100)], ids=["equal", "weights"])
def test_refitted_terms_are_fitted_to_what_the_others_leave(n_estimators, weight):
    rounds = CVRounds(KFold(4), max_estimators=50) if n_estimators == "cv" else n_estimators
    # Folds in the order of the target would not be those of the fit by hand.
    params = FAST | {"n_estimators": rounds, "cv": KFold(4)}
    model = L2BoostingRegressor(**params).fit(X[OLD], Y[OLD])
    new = model.refit(X[MORE], Y[MORE], ["c", "kind"], weight)
    # By hand: the two columns alone, in the same bins, to the residuals of the others.
    terms = model.predict_terms(X[MORE])
    rest = Y[MORE] - terms[:, [0, 1, 4]].sum(axis=1)
    alone = L2BoostingRegressor(**params)
    alone.set_params(interactions=0, max_bins=[model.bin_edges_[2], []])
    alone.fit(X[["c", "kind"]][MORE], rest, weight)
    others = model.predict_terms(NEW)[:, [0, 1, 4]].sum(axis=1)
    expected = others + alone.predict(NEW[["c", "kind"]])
    np.testing.assert_allclose(new.predict(NEW), expected, atol=1e-10)
    np.testing.assert_allclose(by_hand(new, NEW), expected, atol=1e-10)
    for t in (0, 1, 4):
        np.testing.assert_array_equal(new.shape_functions_[t][1], model.shape_functions_[t][1])
    assert np.abs(means(new)[2]) < 1e-12
    assert [(edit.method, edit.term) for edit in new.edits_] == [("refit", "c"), ("refit", "kind")]
    assert repr(new.edits_[0]).startswith("refit('c', n_rows=100): 12 of 12 values changed by")
    assert new.intercept_ == pytest.approx(
        model.intercept_ + sum(edit.shift for edit in new.edits_)
    )


def test_refit_of_everything_is_a_fit():
    for model, y in ((REGRESSOR, Y), (BINARY, CLASSES > 0), (COUNTS, CLASSES)):
        new = model.refit(X, y, [0, 1, 2, 3, (1, 0)])
        np.testing.assert_allclose(scores(new, NEW), scores(model, NEW), atol=1e-10)
        terms = zip(new.shape_functions_, model.shape_functions_)
        for (_, own), (_, values) in terms:
            np.testing.assert_allclose(own, values, atol=1e-10)


def test_refit_of_log_odds_by_an_offset():
    model = LogitBoostClassifier(30, **FAST).fit(X[OLD], CLASSES[OLD] > 0)
    new = model.refit(X[MORE], CLASSES[MORE] > 0, ["c"])
    rest = model.predict_terms(X)[:, [0, 1, 3, 4]].sum(axis=1)
    alone = LogitBoostClassifier(30, learning_rate=0.1, max_bins=[model.bin_edges_[2]])
    alone.fit(X[["c"]][MORE], CLASSES[MORE] > 0, offset=rest[MORE])
    expected = alone.decision_function(X[["c"]], offset=rest)
    np.testing.assert_allclose(new.decision_function(X), expected, atol=1e-10)


def test_refit_of_counts_by_an_offset():
    model = AdditiveBoostingRegressor(loss="poisson", n_estimators=20, **FAST).fit(
        X[OLD], CLASSES[OLD]
    )
    exposure = np.linspace(-1, 1, len(X))
    groups = np.arange(100) // 2
    new = model.refit(X[MORE], CLASSES[MORE], ["c"], groups=groups, offset=exposure[MORE])
    rest = model.predict_terms(X)[:, [0, 1, 3, 4]].sum(axis=1) + exposure
    alone = clone(model).set_params(interactions=0, max_bins=[model.bin_edges_[2]])
    alone.fit(X[["c"]][MORE], CLASSES[MORE], groups=groups, offset=rest[MORE])
    expected = alone.predict(X[["c"]], offset=rest)
    np.testing.assert_allclose(new.predict(X, exposure), expected, rtol=1e-10)
    np.testing.assert_allclose(new.predict(X, offset=0), np.exp(by_hand(new, X)))


def test_refit_to_rows_with_other_categories_and_missing_values():
    first = X[OLD]
    first = first[first["kind"] != "z"]
    first = first.fillna(dict.fromkeys(first.select_dtypes("number"), 0.0))
    model = L2BoostingRegressor(30, cv=KFold(4), **FAST).fit(first, Y[first.index])
    assert model.missing_bins_.tolist() == [False, False, False, True]
    more = X[MORE]
    more = more[more["kind"] != "u"]
    new = model.refit(more, Y[more.index], ["b", "kind"])
    assert new.missing_bins_.tolist() == [False, True, False, True]
    terms = model.predict_terms(more)
    rest = Y[more.index] - terms[:, [0, 2, 4]].sum(axis=1)
    alone = clone(model).set_params(interactions=0, max_bins=[model.bin_edges_[1], []])
    known = more.assign(kind=more["kind"].cat.set_categories(["v", "w"]))  # z is unknown
    alone.fit(known[["b", "kind"]], rest)
    rows = NEW[NEW["kind"] != "u"]
    expected = model.predict_terms(rows)[:, [0, 2, 4]].sum(axis=1)
    expected += alone.predict(rows[["b", "kind"]])
    np.testing.assert_allclose(new.predict(rows), expected, atol=1e-10)
    # a category without rows has the value 0, and the model before has no bin more
    row = rows.iloc[:1].assign(kind=pd.Categorical(["u"], categories=["u", "v", "w", "z"]))
    expected = model.predict_terms(row)[:, [0, 2, 4]].sum() + alone.intercept_
    expected += alone.predict_terms(row[["b", "kind"]])[0, 0]
    assert new.predict(row) == pytest.approx(expected)
    assert model.missing_bins_.tolist() == [False, False, False, True]
    assert not model.model_.terms.bins.missing[1]


def test_what_cannot_be_refitted():
    for call, message in [
        (lambda: REGRESSOR.refit(X, Y, [("a", "b")]), "terms must have 'a' too"),
        (lambda: REGRESSOR.refit(X, Y, ["a", ("a", "b")]), "terms must have 'b' too"),
        (lambda: REGRESSOR.refit(X, Y, ["x"]), "no term 'x'"),
        (lambda: REGRESSOR.refit(X, Y, "a"), "terms must be a list of terms; got 'a'"),
        (lambda: REGRESSOR.refit(X, Y, []), "terms must be a list of terms"),
        (lambda: REGRESSOR.refit(X[["a"]], Y, ["a"]), "feature names"),
        (lambda: REGRESSOR.refit(X, Y, ["a"], offset=Y[:5]), "offset"),
        (lambda: REGRESSOR.refit(X, Y[:5], ["a"]), "inconsistent numbers of samples"),
        (lambda: THREE.refit(X, CLASSES, ["a"]), "regressor or two classes; here are 3 classes"),
        (lambda: BINARY.refit(X, CLASSES, ["a"]), "classes"),
        (lambda: BINARY.refit(X, CLASSES > 5, ["a"]), "classes"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    model = L2BoostingRegressor(5, exclude=["a"]).fit(X, Y)
    with pytest.raises(ValueError, match="was fitted without the feature 'a'"):
        model.refit(X, Y, ["a"])
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(500, 2))
    model = L2BoostingRegressor(5, max_bins=[np.arange(1, 99) / 99] * 2, interactions=[(0, 1)])
    model.fit(x, x.prod(axis=1))
    with pytest.raises(ValueError, match="has so many bins that its pairs merge them"):
        model.refit(x**2, x.prod(axis=1), [0, 1, (0, 1)])
    assert len(model.refit(x**2, x.prod(axis=1), [0]).edits_) == 1


def test_messages_say_what_an_edit_needs():
    with pytest.raises(ValueError, match="function for the term 'a' returned None"):
        REGRESSOR.set_term("a", lambda values: values.sort())
    for df in (np.inf, np.nan, 1):
        with pytest.raises(ValueError, match=f"df={df} must be a finite number of at least 2"):
            smooth_term(REGRESSOR, "a", df)
    with pytest.raises(TypeError, match=r"needs an AdditiveBoosting.*got RandomForestRegressor"):
        smooth_term(RandomForestRegressor(), 0)
