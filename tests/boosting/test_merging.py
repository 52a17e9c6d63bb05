"""Merged additive models against averages of predictions, and against fits to all rows."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_ensemble_theory import (
    AdditiveBoostingRegressor,
    GradientBoostingRegressor,
    L2BoostingRegressor,
    LogitBoostClassifier,
    export,
)
from sklearn_ensemble_theory.boosting import CVRounds, merge_additive_models, smooth_term
from sklearn_ensemble_theory.inspection import report_html

from .test_additive_edits import by_hand, means, rows

X, Y, CLASSES = rows(n=400)
NEW = rows(n=60, seed=1)[0]
EDGES = [np.linspace(-1.5, 1.5, 9)] * 3 + [np.empty(0)]
SITES = [slice(0, 60), slice(60, 250), slice(250, 400)]
COUNTS = np.array([60, 190, 150])
FAST = {"learning_rate": 0.1, "max_bins": EDGES, "smoothing_rounds": 0}
WEIGHTS = np.random.default_rng(0).exponential(size=400)
WEIGHTS[60:250] *= 37.0
WEIGHTS[250:] = 0.3


def sites(model, y=Y, weight=None, X=X):
    return [
        clone(model).fit(X[part], y[part], sample_weight=None if weight is None else weight[part])
        for part in SITES
    ]


AVERAGED = {
    "regressor": (L2BoostingRegressor(30, interactions=0, **FAST), Y),
    "pairs": (
        L2BoostingRegressor(10, interactions=[("a", "b"), ("b", "kind")], **FAST),
        Y,
    ),
    "counts": (
        AdditiveBoostingRegressor(loss="poisson", n_estimators=10, interactions=0, **FAST),
        CLASSES,
    ),
    "two classes": (LogitBoostClassifier(20, interactions=0, **FAST), CLASSES > 0),
    "three classes": (
        LogitBoostClassifier(10, interactions=[("a", "b")], **FAST),
        CLASSES,
    ),
}


@pytest.mark.parametrize("kind", AVERAGED)
@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["equal", "weights"])
@pytest.mark.parametrize("given", [None, [1, 0, 2.5]], ids=["default", "given"])
def test_averages_of_scores(kind, weight, given):
    model, y = AVERAGED[kind]
    models = sites(model, y, weight)
    merged = merge_additive_models(models, given)
    if given is None:
        given = [(np.ones(400) if weight is None else weight)[part].sum() for part in SITES]
    expected = np.average([each._scores(NEW) for each in models], axis=0, weights=given)
    np.testing.assert_allclose(merged._scores(NEW), expected, atol=1e-12)
    np.testing.assert_allclose(by_hand(merged, NEW), expected, atol=1e-12)
    assert max(np.abs(mean).max() for mean in means(merged)) < 1e-12
    if kind == "counts":
        np.testing.assert_allclose(merged.predict(NEW), np.exp(expected))
    elif kind.endswith("classes"):
        assert set(merged.predict(NEW)) <= set(y)
    record = (
        f"merge_additive_models: 3 models averaged with the weights {given[0] / sum(given):.3g}"
    )
    assert repr(merged.edits_[-1]).startswith(record)


def test_weights_of_merged_bins():
    model = L2BoostingRegressor(5, interactions=0, **FAST)
    merged, whole = merge_additive_models(sites(model)), model.fit(X, Y)
    for own, weight in zip(merged.bin_weights_, whole.bin_weights_):
        np.testing.assert_allclose(own, weight)
    weighted = merge_additive_models(sites(model, weight=WEIGHTS))
    whole = model.fit(X, Y, WEIGHTS)
    for own, weight in zip(weighted.bin_weights_, whole.bin_weights_):
        np.testing.assert_allclose(own / own.sum(), weight / weight.sum(), atol=1e-12)
    # merging merged models is merging all of them
    first, second, third = sites(model, weight=WEIGHTS)
    again = merge_additive_models([merge_additive_models([first, second]), third])
    np.testing.assert_allclose(again.predict(NEW), weighted.predict(NEW))
    assert len(again.edits_) == 2


def test_weights_of_chunks():
    """The weights of the rows of a model do not depend on how it was fitted."""
    for model, y, more in (
        (L2BoostingRegressor(5, interactions=0, **FAST), Y, {}),
        (LogitBoostClassifier(5, interactions=0, **FAST), CLASSES, {"classes": [0, 1, 2]}),
    ):
        for weight in (None, WEIGHTS, np.full(400, 3.0)):
            chunks = clone(model)
            for part in SITES:
                own = None if weight is None else weight[part]
                chunks.partial_fit(X[part], y[part], sample_weight=own, **more)
            total = 400 if weight is None else weight.sum()
            for fitted in (chunks, model.fit(X, y, sample_weight=weight)):
                found = fitted.model_.terms.weight_unit * fitted.bin_weights_[0].sum()
                assert found == pytest.approx(total)
            # a chunk that is only kept belongs to no model yet
            chunks.partial_fit(X[:9], y[:9], sample_weight=np.full(9, 50.0), refit=False)
            assert chunks.model_.terms.weight_unit * chunks.bin_weights_[0].sum() == pytest.approx(
                total
            )


def test_missing_values_at_some_sites():
    complete = X.fillna(dict.fromkeys(X.select_dtypes("number"), 0.1))
    for interactions in (0, [("a", "b"), ("b", "c")]):
        model = L2BoostingRegressor(10, interactions=interactions, **FAST)
        models = [model.fit(complete[:200], Y[:200])]
        models.append(clone(model).fit(X[200:], Y[200:]))
        for order in (models, models[::-1]):
            merged = merge_additive_models(order)
            expected = np.mean([each.predict(NEW) for each in models], axis=0)
            np.testing.assert_allclose(merged.predict(NEW), expected)
            assert merged.missing_bins_.tolist() == [False, True, False, True]


def test_averages_have_no_rounds():
    model = L2BoostingRegressor(CVRounds(max_estimators=20), interactions=0, **FAST)
    merged = merge_additive_models(sites(model))
    for name in ("n_estimators_", "stump_left_", "cv_results_", "shape_standard_errors_"):
        assert not hasattr(merged, name)
    for call in (
        lambda: merged.partial_fit(X, Y),
        lambda: next(merged.staged_predict(NEW)),
        lambda: merged.predict_path(NEW, [0]),
    ):
        with pytest.raises(ValueError, match="edited after it"):
            call()
    edited = smooth_term(merged, "a", df=3)
    assert [edit.method for edit in edited.edits_] == ["merge_additive_models", "smooth_term"]
    np.testing.assert_array_equal(edited.fit(X, Y).predict(NEW), model.fit(X, Y).predict(NEW))


def chunked(model, parts, weight=None, y=Y):
    found = clone(model)
    for part in parts:
        own = None if weight is None else weight[part]
        found.partial_fit(X[part], y[part], sample_weight=own, refit=False)
    return found


@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["equal", "weights"])
@pytest.mark.parametrize("n_estimators", [np.uint8(40), "cv"])
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_sums_are_those_of_all_rows(weight, n_estimators, shift):
    y = Y + shift * (np.arange(400) > 200)
    model = L2BoostingRegressor(CVRounds(max_estimators=60), **FAST)
    models = [chunked(model, [part], weight, y) for part in SITES]
    merged = merge_additive_models(models, method="sums")
    expected = clone(model)
    for part in SITES:
        own = None if weight is None else weight[part]
        expected.partial_fit(X[part], y[part], sample_weight=own)
    tolerance = 1e-11 * np.abs(y).max()
    np.testing.assert_allclose(merged.predict(NEW), expected.predict(NEW), atol=tolerance)
    for (_, own), (_, values) in zip(merged.shape_functions_, expected.shape_functions_):
        np.testing.assert_allclose(own, values, atol=tolerance)
    assert merged.n_estimators_ == expected.n_estimators_
    np.testing.assert_allclose(merged.train_scores_, expected.train_scores_, rtol=1e-9)
    assert merged.edits_ == []
    # more rows can follow
    for each in (merged, expected):
        own = None if weight is None else weight[:50]
        each.partial_fit(X[:50], y[:50], sample_weight=own)
    np.testing.assert_allclose(merged.predict(NEW), expected.predict(NEW), atol=tolerance)


def test_whole_numbers_in_one_unit_have_the_same_bits():
    # Of the same mean and range at each site, so that no unit changes.
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, (64, 2)), np.tile([-4.0, 4.0, 1.0, -1.0], 16)
    edges = [np.arange(5) + 0.5] * 2
    model = L2BoostingRegressor(50, max_bins=edges, smoothing_rounds=0, interactions=0)
    parts = [slice(0, 24), slice(24, 64)]
    models = [clone(model).partial_fit(x[part], y[part]) for part in parts]
    merged = merge_additive_models(models, method="sums")
    expected = clone(model)
    for part in parts:
        expected.partial_fit(x[part], y[part])
    np.testing.assert_array_equal(merged.predict(x), expected.predict(x))
    np.testing.assert_array_equal(merged.stump_left_, expected.stump_left_)


def test_models_that_do_not_fit_together():
    def fitted(X=X, y=Y, model=L2BoostingRegressor, **params):
        return model(3, **(FAST | params)).fit(X, y)

    def of_loss(loss):
        return AdditiveBoostingRegressor(loss=loss, n_estimators=3, interactions=0, **FAST).fit(
            X, CLASSES
        )

    first = fitted()
    classifier = LogitBoostClassifier
    for models, message in [
        ([], "at least one model"),
        ([first, GradientBoostingRegressor()], r"models\[1\] is GradientBoostingRegressor"),
        ([GradientBoostingRegressor()], r"models\[0\] is GradientBoostingRegressor"),
        ([first, fitted(y=CLASSES, model=classifier)], r"models\[1\] is LogitBoostClassifier"),
        (
            [first, fitted(X=X.assign(kind=1.0))],
            r"models\[1\] has other categories of feature 'kind'",
        ),
        (
            [fitted(X=X[["a"]].to_numpy(), max_bins=2), fitted(X=np.ones((400, 2)), max_bins=2)],
            r"models\[1\] was fitted to other features than models\[0\]: 2 without names, and 1",
        ),
        (
            [fitted(X=X[["a"]].to_numpy(), max_bins=2), fitted(X=X[["a"]], max_bins=2)],
            r"Either models\[0\] or models\[1\] has no names of features",
        ),
        (
            [fitted(y=CLASSES, model=classifier), fitted(y=CLASSES > 0, model=classifier)],
            r"models\[1\] has other classes",
        ),
        ([of_loss("poisson"), of_loss("squared_error")], r"models\[1\] has another loss"),
    ]:
        with pytest.raises(ValueError, match=message):
            merge_additive_models(models)


def test_sums_that_do_not_fit_together():
    def kept(X=X, **params):
        return L2BoostingRegressor(3, **(FAST | params)).partial_fit(X, Y, refit=False)

    edges = [*EDGES[:2], EDGES[2][1:], EDGES[3]]
    other = X.assign(kind=X["kind"].cat.rename_categories({"u": "x"}))
    first = kept()
    for models, message in [
        ([first, first, kept(max_bins=edges)], r"models\[2\] has other bins of feature 'c'"),
        ([first, kept(X=other)], r"models\[1\] has other categories of feature 'kind'"),
        ([first, kept(X=X[["a", "b", "c"]], max_bins=EDGES[:3])], "other features than"),
        ([first, kept(X=X.rename(columns={"a": "z"}))], "other features than"),
        ([first, kept(exclude=["a"])], r"models\[1\] has other bins of feature 'a'"),
        (
            [kept(X[["a"]], max_bins=[[]]), kept(X[["a"]], max_bins=[[]], exclude=["a"])],
            "feature 'a' is excluded from one of the two",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            merge_additive_models(models, method="sums")


# --- averages of models of other bins, categories, terms and features -----------------------------


def assert_mean_of_all(models, X, weights=None):
    """Scores are those of the models, each of its own columns of X."""
    merged = merge_additive_models(models, weights)
    shares = np.array([edit.weights for edit in merged.edits_[-1:]])[0]
    own = [each._scores(X[[*each.feature_names_in_]]) for each in models]
    expected = np.average(own, axis=0, weights=shares)
    columns = X[[*merged.feature_names_in_]]
    np.testing.assert_allclose(merged._scores(columns), expected, atol=1e-12)
    np.testing.assert_allclose(by_hand(merged, columns), expected, atol=1e-12)
    assert max(np.abs(mean).max() for mean in means(merged)) < 1e-12
    same = export.from_json(export.json(merged))
    np.testing.assert_array_equal(same._scores(columns), merged._scores(columns))
    return merged


def at_all_edges(models, n=300):
    """Rows at the edges of all models and on both sides of them, missing and unseen ones."""
    rng = np.random.default_rng(3)
    found = rows(n=n, seed=3)[0]
    for name in ("a", "b", "c"):
        edges = [np.empty(0)]
        for each in models:
            names = list(each.feature_names_in_)
            edges += [each.bin_edges_[names.index(name)]] if name in names else []
        edges = np.concatenate(edges)
        hard = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
        found.loc[::2, name] = rng.choice(np.append(hard, [-9.0, 9.0]), len(found[::2]))
    found.loc[::7, "b"] = np.nan
    found["kind"] = found["kind"].cat.add_categories(["unseen"])
    found.loc[::11, "kind"] = "unseen"
    return found


@pytest.mark.parametrize("kind", AVERAGED)
@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["equal", "weights"])
def test_averages_on_all_edges(kind, weight):
    """Quantiles of each site, of other numbers of bins."""
    model, y = AVERAGED[kind]
    models = [
        clone(model).set_params(max_bins=n).fit(X[part], y[part], sample_weight=own)
        for part, n, own in zip(
            SITES, (5, 12, 40), [None if weight is None else weight[part] for part in SITES]
        )
    ]
    merged = assert_mean_of_all(models, at_all_edges(models))
    for j in range(3):
        edges = np.unique(np.concatenate([each.bin_edges_[j] for each in models]))
        np.testing.assert_array_equal(merged.bin_edges_[j], edges)
    total = 400 if weight is None else weight.sum()
    np.testing.assert_allclose([own.sum() for own in merged.bin_weights_], total)
    # merging merged models is merging all of them
    given = None if weight is None else [part.sum() for part in map(weight.__getitem__, SITES)]
    first = merge_additive_models(models[:2], None if given is None else given[:2])
    again = merge_additive_models([first, models[2]], given and [sum(given[:2]), given[2]])
    np.testing.assert_allclose(again._scores(NEW), merged._scores(NEW), atol=1e-12)


def test_averages_of_other_categories_terms_and_features():
    model = L2BoostingRegressor(10, smoothing_rounds=0, learning_rate=0.1, max_bins=9)
    first = X.assign(kind=X["kind"].cat.set_categories(["u", "v"]))  # some are missing
    second = X.assign(kind=X["kind"].cat.set_categories(["z", "v", "w"]))
    pairs = [("a", "b"), ("b", "kind"), ("kind", "a"), ("a", "c")]
    models = [
        clone(model).set_params(interactions=pairs[:2]).fit(first, Y),
        clone(model).set_params(interactions=pairs[1:], max_bins=20).fit(second[::-1], Y[::-1]),
        clone(model).set_params(interactions=0, exclude=["a", "kind"]).fit(X, Y),
        clone(model).set_params(interactions=pairs[3:]).fit(X[["c", "a"]][100:], Y[100:]),
        clone(model).set_params(interactions=0).fit(X[["kind"]].assign(c=1.0), Y),
    ]
    new = at_all_edges(models)
    for order in (models, models[::-1], models[2:]):
        merged = assert_mean_of_all(order, new, np.arange(1, len(order) + 1))
        assert set(merged.feature_names_in_) == {*X.columns}
    merged = assert_mean_of_all(models, new)
    assert merged.term_names_ == [
        "a",
        "b",
        "c",
        "kind",
        *(f"{a} & {b}" for a, b in (("a", "b"), ("b", "kind"), ("a", "kind"), ("a", "c"))),
    ]
    assert merged.categories_[3].tolist() == ["u", "v", "w", "z"]
    assert "merge_additive_models" in report_html(merged)
    excluded = clone(model).set_params(interactions=0, exclude=["a"]).fit(X, Y)
    merged = assert_mean_of_all([excluded, excluded], new)
    assert merged.bin_edges_[0].size == 0
    with pytest.raises(ValueError, match="edited"):
        merged.partial_fit(X, Y)


def test_averages_of_columns_without_names():
    x = np.random.default_rng(0).uniform(size=(300, 2))
    models = [L2BoostingRegressor(9, max_bins=n).fit(x[n:], x[n:].sum(axis=1)) for n in (7, 30)]
    merged = merge_additive_models(models, [1, 3])
    expected = 0.25 * models[0].predict(x) + 0.75 * models[1].predict(x)
    np.testing.assert_allclose(merged.predict(x), expected)
    assert not hasattr(merged, "feature_names_in_")


def test_pairs_in_other_coarse_bins():
    rng = np.random.default_rng(0)
    edges = [np.arange(1, 100) / 100] * 2
    models = []
    for power in (1, 2):
        x = rng.uniform(size=(500, 2)) ** power
        model = L2BoostingRegressor(3, max_bins=edges, interactions=[(0, 1)], smoothing_rounds=0)
        models.append(model.fit(x, x[:, 0] * x[:, 1]))
    merged, x = merge_additive_models(models), rng.uniform(size=(2000, 2))
    np.testing.assert_allclose(merged.predict(x), sum(m.predict(x) for m in models) / 2)
    one, other = (m.shape_functions_[2][0][0] for m in models)
    assert not np.array_equal(one, other)
    # the same pairs in another order
    x = rng.uniform(size=(500, 3))
    pairs = [(0, 1), (1, 2)]
    model = L2BoostingRegressor(3, max_bins=[[0.3, 0.6]] * 3, smoothing_rounds=0, interactions=0)
    models = [
        type(model)(**model.get_params() | {"interactions": given}).fit(x, x.prod(axis=1))
        for given in (pairs, pairs[::-1])
    ]
    merged = merge_additive_models(models)
    np.testing.assert_allclose(merged.predict(x), sum(m.predict(x) for m in models) / 2)


def test_arguments_of_merging():
    first = L2BoostingRegressor(3, interactions=0, **FAST).fit(X, Y)
    chunk = L2BoostingRegressor(3, interactions=0, **FAST).partial_fit(X, Y)
    folds = L2BoostingRegressor(CVRounds(max_estimators=5), **FAST).partial_fit(X, Y)
    large = L2BoostingRegressor(3, interactions=0, **FAST).partial_fit(X, 1e200 * Y)
    for models, weights, method, message in [
        ([first], [1, 2], "average", "one number for each of 1 models"),
        ([first], [-1], "average", "not negative"),
        ([first, first], [0, 0], "average", "not all 0"),
        ([first], [np.nan], "average", "finite"),
        ([first], ["x"], "average", "weights must be numbers"),
        ([first], None, "mean", "method must be 'average' or 'sums'; got 'mean'"),
        ([chunk, first], None, "sums", r"models\[1\] has no sums over rows"),
        ([chunk.remove_terms(["a"])], None, "sums", r"models\[0\] has no sums over rows"),
        ([chunk], [1], "sums", "weights are for method='average'"),
        ([chunk, folds], None, "sums", r"models\[1\] has 5 folds, but models\[0\] has 0"),
        ([chunk, large], None, "sums", "too large compared"),
    ]:
        with pytest.raises(ValueError, match=message):
            merge_additive_models(models, weights, method=method)


@pytest.mark.parametrize("kind", AVERAGED)
def test_averages_have_other_forms(kind):
    model, y = AVERAGED[kind]
    merged = merge_additive_models(sites(model, y))
    same = export.from_json(export.json(merged))
    np.testing.assert_array_equal(same._scores(NEW), merged._scores(NEW))
    assert "merge_additive_models" in report_html(merged)


@pytest.mark.parametrize("kind", AVERAGED)
def test_averages_of_models_from_json(kind):
    model, y = AVERAGED[kind]
    models = sites(model, y, WEIGHTS)
    sent = [models[0], *(export.from_json(export.json(each)) for each in models[1:])]
    found, expected = (merge_additive_models(each, [1, 2, 3]) for each in (sent, models))
    np.testing.assert_allclose(found._scores(NEW), expected._scores(NEW), atol=1e-12)
    for own, other in zip(found.bin_weights_, expected.bin_weights_):
        np.testing.assert_allclose(own, other)
    with pytest.raises(ValueError, match=r"models\[1\] was read from JSON.*give weights"):
        merge_additive_models(sent)
