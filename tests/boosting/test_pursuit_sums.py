"""The sums that matching pursuit reads: rows of the Gram matrix, moments, held-out errors."""

import itertools
import warnings
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from sklearn_ensemble_theory import MatchingPursuitRegressor
from sklearn_ensemble_theory.boosting import _dictionary, _pursuit_rounds
from sklearn_ensemble_theory.boosting._column_moments import (
    ColumnMoments,
    MomentDictionary,
    moments_of_splits,
)
from sklearn_ensemble_theory.boosting._dictionary import ColumnDictionary, GramRows, RowCache
from sklearn_ensemble_theory.boosting._pursuit_rounds import (
    held_out_squares,
    held_out_squares_of_products,
    likely_columns,
    orthogonal_pursuit_on_gram,
    pursuit_on_gram,
)
from sklearn_ensemble_theory.boosting.losses import SquaredLoss
from sklearn_ensemble_theory.boosting.steps import LineSearchStep

from ..local_blocks import LocalBlocks
from ..surroundings import ChunkedRows, RowChecks, Rows, folds_by_hash
from .engine import BoostingRounds, Columns, EmpiricalRisk
from .test_matching_pursuit import problem

N, D = 300, 8


def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D)) @ rng.standard_normal((D, D)) + 3
    Y = np.column_stack([X[:, 0] - X[:, 3], 100 * X[:, 1]]) + rng.standard_normal((N, 2))
    return X, Y, rng.random(N) + 0.5


def moments_of(X, Y, weight, centre=True):
    return ColumnMoments.of(Rows(X, Y, weight, range(len(X))), centre)


def chunked(X, Y, weight, cuts=(0, 1, 1, 120, N)):
    blocks = [
        (number, X[a:b], Y[a:b], weight[a:b])
        for number, (a, b) in enumerate(itertools.pairwise(cuts))
    ]
    checks = RowChecks(X.shape[1], is_classifier=False, multi_output=True)
    return ChunkedRows(LocalBlocks(blocks), checks, X[:0], has_weights=True)


@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize("centre", [False, True])
def test_held_out_errors_are_those_of_the_rows(orthogonal, centre):
    X, Y, weight = rows()
    train, held = np.arange(N) < 200, np.arange(N) >= 200
    moments = [moments_of(X[one], Y[one], weight[one], centre) for one in (train, held)]
    unit = np.maximum(moments[0].unit, moments[1].unit)
    found = MomentDictionary(moments[0].in_units(unit), D)
    gram, correlations, squares = found.of_other_rows(moments[1].in_units(unit))
    w = weight[train] / weight[train].sum()
    dictionary = ColumnDictionary(X[train], w, centre)
    for k in range(2):
        rows_of_gram = GramRows(found)
        rows_of_gram.load_all()
        given = rows_of_gram, found.correlations[k], found.squares[k]
        path = orthogonal_pursuit_on_gram(*given, 6) if orthogonal else pursuit_on_gram(*given, 9)
        y, scale = Y[held, k] - found.target.mean[k], found.target.scale[k]
        np.testing.assert_allclose(
            held_out_squares_of_products(path, gram, correlations[k], squares[k]),
            held_out_squares(path, dictionary, X[held], y, scale, weight[held]) / scale**2,
            rtol=1e-10,
            atol=1e-15,  # of squares of scaled targets
        )


def assert_moments(moments, X, Y, weight):
    expected = moments_of(X, Y, weight)
    assert moments.n_rows == len(X)
    np.testing.assert_allclose(moments.mean * moments.unit, expected.mean * expected.unit)
    size, other = (np.multiply.outer(m.unit, m.unit) for m in (moments, expected))
    np.testing.assert_allclose(moments.gram * size, expected.gram * other, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("cuts", [(0, N), (0, 1, 1, 120, N)])
def test_splits_are_those_of_the_hash(cuts):
    X, Y, weight = rows()
    total, splits = moments_of_splits(chunked(X, Y, weight, cuts), True, n_splits=3)
    assert_moments(total, X, Y, weight)
    fold = folds_by_hash(np.arange(N), 3)
    for k, (train, held) in enumerate(splits):
        for moments, own in ((train, fold != k), (held, fold == k)):
            assert_moments(moments, X[own], Y[own], weight[own])
            np.testing.assert_array_equal(moments.unit, total.unit)
    assert k == 2


def test_units_are_powers_of_two_and_change_nothing_else():
    X, Y, weight = rows()
    moments = moments_of(X, Y, weight)
    moved = moments.in_units(4 * moments.unit)
    np.testing.assert_array_equal(16 * moved.gram, moments.gram)
    np.testing.assert_array_equal(4 * moved.mean, moments.mean)
    assert moments.in_units(moments.unit) is moments
    over = moments.of_targets_over(np.array([2.0, 0.25]))
    np.testing.assert_array_equal(over.high[D:], moments.high[D:] / [2.0, 0.25])
    np.testing.assert_array_equal(over.unit[:D], moments.unit[:D])


def test_moments_add_up_whatever_the_order():
    X, Y, weight = rows()
    weight[::3] = 0.0
    whole = moments_of(X, Y, weight)
    cuts = [0, 1, 50, N]
    parts = [moments_of(X[a:b], Y[a:b], weight[a:b] + 1e-9) for a, b in itertools.pairwise(cuts)]
    for total in (parts[0] + parts[1] + parts[2], parts[2] + (parts[1] + parts[0])):
        assert total.n_rows == N
        np.testing.assert_array_equal(total.unit, whole.unit)
        np.testing.assert_allclose(total.mean, whole.mean, atol=1e-8)
        np.testing.assert_allclose(total.gram, whole.gram, atol=1e-6)


def test_plain_pursuit_is_the_loop_with_columns_and_line_search():
    X, y, weight = problem()
    model = MatchingPursuitRegressor(40).fit(X, y, sample_weight=weight)
    dictionary = ColumnDictionary(X, weight, centre=True)
    psi = dictionary.columns(np.arange(X.shape[1])).T
    risk, u = EmpiricalRisk(SquaredLoss(), y - weight @ y, weight), np.zeros(len(y))
    records = list(islice(BoostingRounds(risk, Columns(psi), LineSearchStep(), u), 40))
    assert [record.predictor for record in records] == model.selected_.tolist()
    np.testing.assert_allclose(
        np.sqrt(2 * np.array([record.risk for record in records])),
        model.residual_norms_[1:],
        rtol=1e-9,
    )
    np.testing.assert_allclose(weight @ y + u, model.predict(X), rtol=1e-9)


def test_rows_of_the_gram_matrix_by_any_plan(monkeypatch):
    """Blocks, all at once, or dropped and computed again: the same rows and the same path."""
    X, y, weight = problem(d=40)
    dictionary = ColumnDictionary(X, weight, centre=True)
    psi = dictionary.columns(np.arange(40))
    np.testing.assert_allclose(weight @ psi.T**2, 1)
    expected = (psi * weight) @ psi.T
    np.testing.assert_allclose(dictionary.gram(), expected, atol=1e-12)
    sparse = ColumnDictionary(sp.csr_array(X), weight, centre=True)
    np.testing.assert_allclose(sparse.gram(), expected, atol=1e-12)
    reference = MatchingPursuitRegressor(200).fit(X, y, sample_weight=weight)
    rows = GramRows(dictionary, 3)
    np.testing.assert_allclose(rows.get(7, expected[7]), expected[7], atol=1e-12)
    assert rows.is_kept.all()  # a small matrix is computed as a whole
    monkeypatch.setattr(_dictionary, "FEW_PRODUCTS", 0)
    rows = GramRows(dictionary, 3)
    rows.get(7, np.zeros(40))
    assert np.flatnonzero(rows.is_kept).tolist() == [7]
    rows.get(8, np.zeros(40))
    assert rows.is_kept.all()  # and a larger one when a second part of it is needed
    monkeypatch.setattr(_dictionary, "FEW_MORE_PRODUCTS", 0)
    monkeypatch.setattr(_dictionary, "BLOCK", 3)
    for share, memory in [(0.25, 2**28), (2.0, 2**28), (2.0, 0)]:
        monkeypatch.setattr(_dictionary, "SHARE_BEFORE_ALL", share)
        monkeypatch.setattr(_dictionary, "MIN_MEMORY", memory)
        rows = GramRows(dictionary, 3)
        if memory == 0:
            rows.most = 6
        for j in [*range(40), 5, 0]:
            np.testing.assert_allclose(rows.get(j, expected[j]), expected[j], atol=1e-12)
            assert rows.is_kept.sum() <= max(rows.most, 40 * (share < 1))
            assert [row is not None for row in rows.views] == rows.is_kept.tolist()
        model = MatchingPursuitRegressor(200).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-9, atol=1e-12)


def test_orthogonal_rounds_are_least_squares_with_room_for_any_number_of_columns():
    """Round by round, almost to the number of rows."""
    X, y, weight = problem(n=45, d=60)
    model = MatchingPursuitRegressor(60, variant="orthogonal").fit(X, y, sample_weight=weight)
    root, centred = np.sqrt(weight)[:, None], X - weight @ X
    path, y = model.coef_path_, y - weight @ y
    assert model.n_estimators_ >= 40
    for t in range(1, 41):
        chosen = model.selected_[:t]
        coef = np.linalg.lstsq(root * centred[:, chosen], root[:, 0] * y, rcond=None)[0]
        np.testing.assert_allclose(path[t, chosen], coef, rtol=1e-6, atol=1e-10)
        residual = y - centred[:, chosen] @ coef
        assert model.residual_norms_[t] ** 2 == pytest.approx(weight @ residual**2, abs=1e-10)
        if t < 40:  # the next column has the largest product with the residuals
            products = np.abs((centred / model.column_scale_).T @ (weight * residual))
            assert products[model.selected_[t]] == pytest.approx(products.max(), rel=1e-6)


def test_rows_used_least_recently_are_dropped_first():
    cache = RowCache(8, most=4)
    views = cache.views
    for group, members in enumerate([[0, 1], [2, 3]]):
        cache.make_room(2)
        cache.keep(group, members, np.full((2, 3), group))
    cache.make_room(2, recent=[3, 2, 0])  # the last row used is of the first group
    assert [j for j, row in enumerate(views) if row is not None] == [0, 1]
    cache.keep(2, [4, 7], np.full((2, 3), 2))
    assert cache.is_kept.tolist() == [row is not None for row in views]
    assert views is cache.views  # inner loops hold it
    assert views[7].tolist() == [2, 2, 2]
    cache.make_room(4)
    assert not cache.is_kept.any()
    assert not cache.groups


@pytest.mark.parametrize("kind", ["independent", "common factor", "neighbours", "duplicates"])
def test_guessed_rows_of_the_gram_matrix_change_no_choice(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 120))
    if kind == "common factor":
        X += 5 * rng.standard_normal((80, 1))
    if kind == "neighbours":
        X = np.cumsum(X, axis=1)
    if kind == "duplicates":
        X[:, 60:] = X[:, :60]
        X[:, 7] = 0.0
    y = X @ rng.standard_normal(120) + rng.standard_normal(80)
    sides = []
    for smallest in (10**6, 2):
        monkeypatch.setattr(_pursuit_rounds, "GUESSED_COLUMNS", smallest)
        monkeypatch.setattr(_pursuit_rounds, "GUESSED_VALUES", smallest)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            sides.append(MatchingPursuitRegressor(50, variant="orthogonal").fit(X, y))
    np.testing.assert_array_equal(sides[0].selected_, sides[1].selected_)
    np.testing.assert_allclose(sides[0].residual_norms_, sides[1].residual_norms_, rtol=1e-8)


def test_the_guess_is_right_where_all_that_is_chosen_is_a_candidate():
    X, y, _ = problem(n=300, d=200, k=6, noise=0.1)
    dictionary = ColumnDictionary(X, np.full(300, 1 / 300), True)
    correlations = dictionary.products(y - y.mean())
    rows = GramRows(dictionary)
    path = orthogonal_pursuit_on_gram(rows, correlations, float(np.mean(y**2)), 6)
    guessed = likely_columns(dictionary, correlations, np.empty((0, 0)), np.empty((0, 200)), 6, 0)
    np.testing.assert_array_equal(guessed, path.chosen)
    # from the middle of the path: the active columns are projected out
    active = path.chosen[:3]
    gram = dictionary.gram()
    factor = np.linalg.cholesky(gram[np.ix_(active, active)])
    beta = np.linalg.solve(gram[np.ix_(active, active)], correlations[active])
    c = correlations - beta @ gram[active]
    c[active] = 0.0
    guessed = likely_columns(dictionary, c, factor, gram[active], 3, 3)
    np.testing.assert_array_equal(guessed, path.chosen[3:])
