"""Matching pursuits: against textbook loops, scikit-learn, and the bounds of the theory."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, OrthogonalMatchingPursuit
from sklearn.model_selection import KFold

from sklearn_ensemble_theory import MatchingPursuitRegressor
from sklearn_ensemble_theory.boosting import CVRounds


def problem(n=60, d=30, k=5, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.1, 10, d) + rng.standard_normal(d)
    beta = np.zeros(d)
    beta[rng.choice(d, k, replace=False)] = rng.uniform(1, 2, k)
    weight = rng.uniform(0.2, 2, n)
    return X, X @ beta + noise * rng.standard_normal(n), weight / weight.sum()


def textbook(X, y, weight, n_rounds, learning_rate=1.0, weakness=1.0):
    """Residuals over all rows, every product computed in each round [Bach, §10.3.3]."""
    psi = X - weight @ X
    psi = psi / np.sqrt(weight @ psi**2)
    r, coef, path, active = y - weight @ y, np.zeros(X.shape[1]), [], set()
    for _ in range(n_rounds):
        products = (weight * r) @ psi
        k = int(np.argmax(np.abs(products)))
        if active and weakness < 1:
            known = max(active, key=lambda j: abs(products[j]))
            if abs(products[known]) >= weakness * abs(products[k]):
                k = known
        active.add(k)
        r = r - learning_rate * products[k] * psi[:, k]
        coef[k] += learning_rate * products[k]
        path.append(np.sqrt(weight @ r**2))
    return coef / np.sqrt(weight @ (X - weight @ X) ** 2), np.array(path)


@pytest.mark.parametrize(
    "params",
    [{}, {"learning_rate": 0.3}, {"variant": "weak", "weakness": 0.6}],
    ids=["plain", "shrunk", "weak"],
)
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sp.csr_array])
def test_plain_and_weak_against_a_textbook_loop(params, container):
    X, y, weight = problem()
    model = MatchingPursuitRegressor(80, **params).fit(container(X), y, sample_weight=weight)
    coef, norms = textbook(
        X, y, weight, 80, params.get("learning_rate", 1.0), params.get("weakness", 1.0)
    )
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.residual_norms_[1:], norms, rtol=1e-8)
    assert (np.diff(model.residual_norms_) <= 0).all()
    residual = y - model.predict(container(X))
    assert np.sqrt(weight @ residual**2) == pytest.approx(norms[-1], rel=1e-9)


def test_orthogonal_pursuit_equals_scikit_learns_and_least_squares():
    X, y, _ = problem()
    # scikit-learn does not normalise the columns: give it normalised ones.
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for count in (1, 4, 12):
        ours = MatchingPursuitRegressor(count, variant="orthogonal").fit(X, y)
        theirs = OrthogonalMatchingPursuit(n_nonzero_coefs=count).fit(Z, y)
        assert set(ours.active_) == set(np.flatnonzero(theirs.coef_))
        np.testing.assert_allclose(ours.predict(X), theirs.predict(Z), rtol=1e-9)
    full = MatchingPursuitRegressor(30, variant="orthogonal").fit(X, y)
    np.testing.assert_allclose(full.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-8)
    for t, coef in enumerate(full.coef_path_[1:], start=1):
        chosen = full.selected_[:t]
        expected = LinearRegression().fit(X[:, chosen], y).coef_
        np.testing.assert_allclose(coef[chosen], expected, rtol=1e-7)
        assert np.count_nonzero(coef) == t


@pytest.mark.parametrize("variant", ["plain", "orthogonal", "weak"])
def test_paths_and_stages_end_at_the_model(variant):
    X, y, weight = problem()
    model = MatchingPursuitRegressor(15, variant=variant).fit(X, y, sample_weight=weight)
    path = model.coef_path_
    assert path.shape == (16, 30)
    assert not path[0].any()
    np.testing.assert_allclose(path[-1], model.coef_, rtol=1e-12)
    stages = list(model.staged_predict(X))
    np.testing.assert_allclose(stages[-1], model.predict(X), rtol=1e-10)
    assert len(stages) == model.n_estimators_ == 15  # after 1, 2, ... rounds
    norms = [np.sqrt(weight @ (y - stage) ** 2) for stage in stages]
    np.testing.assert_allclose(norms, model.residual_norms_[1:], rtol=1e-8)
    normalised = np.abs(model.coef_ * model.column_scale_).sum()
    assert model.gauge_ == pytest.approx(normalised, rel=1e-12)
    assert set(model.active_) == set(np.flatnonzero(model.coef_))


def test_held_out_paths_are_those_of_refits():
    X, y, weight = problem(noise=5.0)
    for variant in ("plain", "orthogonal"):
        params = {"n_estimators": 12, "variant": variant}
        model = MatchingPursuitRegressor(CVRounds(4, max_estimators=12), variant=variant)
        model.fit(X, y, sample_weight=weight)
        errors = np.zeros(13)
        for train, held in KFold(4).split(X):
            fold = MatchingPursuitRegressor(**params)
            fold.fit(X[train], y[train], sample_weight=weight[train])
            mean = np.full(len(held), np.average(y[train], weights=weight[train]))
            for t, predicted in enumerate([mean, *fold.staged_predict(X[held])]):
                errors[t] += np.average((y[held] - predicted) ** 2, weights=weight[held]) / 4
        np.testing.assert_allclose(model.cv_results_["mean_score"], errors, rtol=1e-8)
        np.testing.assert_array_equal(model.cv_results_["n_estimators"], np.arange(13))
        best = int(np.argmin(errors))
        assert model.n_estimators_ == best < 12
        assert model.stop_reason_ == "n_estimators"
        full = MatchingPursuitRegressor(**{**params, "n_estimators": best})
        full.fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(model.coef_, full.coef_, rtol=1e-9)


def test_splits_are_of_the_rows_given_and_an_integer_of_the_rows_kept():
    X, y, _ = problem(noise=5.0)
    weight = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    kept = np.flatnonzero(weight)
    model = MatchingPursuitRegressor(CVRounds(max_estimators=12))

    def errors(cv, *data, sample_weight):
        model.set_params(n_estimators__cv=cv).fit(*data, sample_weight=sample_weight)
        return model.cv_results_["mean_score"]

    splits = list(KFold(3).split(X))  # names rows up to the last, more than are kept
    given = errors(splits, X, y, sample_weight=weight)
    position = np.full(len(y), -1)
    position[kept] = np.arange(len(kept))
    among_kept = [tuple(position[part][position[part] >= 0] for part in s) for s in splits]
    of_kept = X[kept], y[kept]
    expected = errors(among_kept, *of_kept, sample_weight=weight[kept])
    np.testing.assert_allclose(given, expected, rtol=1e-12)
    counted = errors(3, X, y, sample_weight=weight)
    expected = errors(3, *of_kept, sample_weight=weight[kept])
    np.testing.assert_allclose(counted, expected, rtol=1e-12)
    model.set_params(n_estimators__cv=[*splits[:1], (np.flatnonzero(weight == 0), kept)])
    with pytest.raises(ValueError, match="Split 1 of n_estimators__cv has no weight"):
        model.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("variant", ["plain", "orthogonal", "weak"])
def test_the_fitted_number_of_rounds_gives_the_same_model(variant):
    X, y, _ = problem(n=100, noise=8.0)
    few = CVRounds(max_estimators=40, rule="one_standard_error")
    fewest = MatchingPursuitRegressor(few, variant=variant).fit(X, y)
    model = MatchingPursuitRegressor("cv", variant=variant).fit(X, y)
    assert fewest.n_estimators_ <= model.n_estimators_
    score, error = model.cv_results_["mean_score"], model.cv_results_["standard_error"]
    best = np.argmin(score)
    assert best == model.n_estimators_
    score, error = score[:41], error[:41]
    if best <= 40:
        assert fewest.n_estimators_ == np.argmax(score <= score[best] + error[best])
    for one in (model, fewest):
        again = MatchingPursuitRegressor(one.n_estimators_, variant=variant).fit(X, y)
        np.testing.assert_allclose(again.coef_, one.coef_, rtol=1e-12)
    none = MatchingPursuitRegressor(0, variant=variant).fit(X, y)
    np.testing.assert_array_equal(none.predict(X), np.full(100, none.intercept_))


@pytest.mark.parametrize("options", [{"prediction": "mean"}, {"scoring": "r2"}])
def test_options_of_rounds_that_pursuit_does_not_have(options):
    with pytest.raises(ValueError, match="CVRounds' prediction and scoring"):
        MatchingPursuitRegressor(CVRounds(**options)).fit(*problem()[:2])


def test_several_targets_are_fitted_one_by_one():
    X, y, weight = problem()
    Y = np.stack([y, X[:, 0] * 1e6, np.full(len(y), 3.0)], axis=1)
    for params in ({}, {"variant": "orthogonal"}, {"n_estimators": CVRounds(max_estimators=10)}):
        params = {"n_estimators": 10, **params}
        model = MatchingPursuitRegressor(**params).fit(X, Y, sample_weight=weight)
        for k, column in enumerate(Y.T):
            single = MatchingPursuitRegressor(**params).fit(X, column, sample_weight=weight)
            np.testing.assert_allclose(model.coef_[k], single.coef_, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(model.intercept_[k], single.intercept_, rtol=1e-9, atol=1e-8)
            assert model.n_estimators_[k] == single.n_estimators_
            np.testing.assert_allclose(model.coef_path_[k], single.coef_path_, atol=1e-9)
        assert model.predict(X).shape == Y.shape
    with pytest.raises(ValueError, match="single target"):
        next(model.staged_predict(X))


def test_weights_are_repetitions():
    X, y, _ = problem()
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    for variant in ("plain", "orthogonal", "weak"):
        weighted = MatchingPursuitRegressor(20, variant=variant).fit(X, y, sample_weight=weight)
        repeated = MatchingPursuitRegressor(20, variant=variant).fit(X[rows], y[rows])
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8, atol=1e-12)


# --- columns and targets at the edge -----------------------------------------------------------


@pytest.mark.parametrize("variant", ["plain", "orthogonal", "weak"])
def test_duplicate_constant_and_zero_columns(variant):
    X, y, _ = problem(d=6, noise=1.0)
    strange = np.column_stack([X, X[:, :2], np.zeros(60), np.full(60, 0.1)])
    model = MatchingPursuitRegressor(500, variant=variant).fit(strange, y)
    assert model.stop_reason_ == "exhausted"
    assert set(model.active_) <= set(range(8))
    assert not model.coef_[8:].any()
    np.testing.assert_allclose(model.predict(strange), LinearRegression().fit(X, y).predict(X))
    if variant == "orthogonal":
        assert model.n_estimators_ == 6


def test_more_iterations_than_rank():
    X, y, _ = problem(n=10, d=40)
    model = MatchingPursuitRegressor(40, variant="orthogonal").fit(X, y)
    assert model.n_estimators_ <= 9  # centred
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-8)


def test_a_nearly_dependent_column_is_skipped_and_counted():
    rng = np.random.default_rng(0)
    a, b, c = np.linalg.qr(rng.standard_normal((50, 4)) - 0.0)[0].T[:3]
    X = np.column_stack([a, a + 1e-7 * b])
    with pytest.warns(ConvergenceWarning, match="1 columns were skipped"):
        model = MatchingPursuitRegressor(5, variant="orthogonal", fit_intercept=False).fit(
            X, a + 0.5 * b + 0.1 * c
        )
    assert len(model.skipped_) == 1
    assert model.n_estimators_ == 1


@pytest.mark.parametrize("variant", ["plain", "orthogonal"])
def test_a_target_in_the_span_after_two_steps(variant):
    n = 16
    psi = np.array([np.cos(np.pi * np.arange(n) * 2 * k / n) for k in range(1, 6)]).T
    y = 3 * psi[:, 1] - 2 * psi[:, 4]
    model = MatchingPursuitRegressor(50, variant=variant).fit(psi, y)
    assert model.selected_.tolist() == [1, 4]
    assert model.stop_reason_ == "exhausted"
    np.testing.assert_allclose(model.coef_, [0, 3, 0, 0, -2], atol=1e-12)


def test_nothing_to_explain_and_tol():
    X, y, _ = problem()
    for target in (np.zeros(60), np.full(60, 3.1)):
        model = MatchingPursuitRegressor().fit(X, target)
        assert model.n_estimators_ == 0
        np.testing.assert_array_equal(model.predict(X), target)
        assert model.coef_path_.shape == (1, 30)
    model = MatchingPursuitRegressor(1000, tol=0.3).fit(X, y)
    assert model.stop_reason_ == "tol"
    relative = model.residual_norms_ / model.residual_norms_[0]
    assert relative[-1] <= 0.3 < relative[-2]


def test_shrinkage_of_an_orthogonal_step_is_refused():
    with pytest.raises(ValueError, match="learning_rate must be 1"):
        MatchingPursuitRegressor(variant="orthogonal", learning_rate=0.5).fit(*problem()[:2])


def test_without_intercept_and_in_any_units():
    X, y, _ = problem()
    plain = MatchingPursuitRegressor(30, fit_intercept=False).fit(X, y)
    assert plain.intercept_ == 0
    assert plain.column_offset_.max() == 0
    np.testing.assert_allclose(plain.column_scale_, np.sqrt(np.mean(X**2, axis=0)))
    for a, b in [(1e150, 1e-150), (1e-150, 1e150)]:
        scaled = MatchingPursuitRegressor(30, fit_intercept=False).fit(a * X, b * y)
        np.testing.assert_allclose(scaled.predict(a * X), b * plain.predict(X), rtol=1e-8)
    with pytest.raises(ValueError, match="coefficients overflow"):
        plain.fit(1e-200 * X, 1e150 * y)


# --- rates ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"learning_rate": 0.1},
        {"variant": "weak", "weakness": 0.5},
        {"variant": "orthogonal"},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", range(3))
def test_rates_hold_along_every_run(params, seed):
    """y is a combination of the columns, so that its gauge is known; d > n and d < n."""
    rng = np.random.default_rng(seed)
    for n, d in [(20, 40), (40, 8)]:
        X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
        beta = rng.standard_normal(d) * (rng.random(d) < 0.4)
        model = MatchingPursuitRegressor(200, **params).fit(X, X @ beta)
        gauge = np.abs(beta * model.column_scale_).sum()
        squares = model.residual_norms_**2
        if gauge > 0:
            assert (squares <= model.error_bound(gauge_y=gauge) * (1 + 1e-12)).all()
            rounding = 1e-12 * squares[0]
            if params.get("variant") != "weak":
                bound = model.error_bound(X, gauge_y=gauge, method="exponential")
                assert (squares <= bound + rounding).all()


def test_weak_exponential_rate_holds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8))
    model = MatchingPursuitRegressor(100, variant="weak", weakness=0.5).fit(X, X @ np.ones(8))
    bound = model.error_bound(X, gauge_y=10.0, method="exponential")
    assert (model.residual_norms_**2 <= bound + 1e-12).all()


@pytest.mark.parametrize("exponent", [-1000, 1000])
def test_the_chosen_number_does_not_depend_on_the_unit_of_y(exponent):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    y = X[:, 0] - 2 * X[:, 3] + rng.standard_normal(60)
    model = MatchingPursuitRegressor(CVRounds(max_estimators=30)).fit(X, y)
    scaled = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaled.fit(X, np.ldexp(y, exponent))
    assert scaled.n_estimators_ == model.n_estimators_ > 1
    np.testing.assert_array_equal(scaled.coef_, np.ldexp(model.coef_, exponent))


def test_sparse_and_rotated_signals():
    """[Bach, figure 10.3]: training errors fall linearly; test errors turn, at once if rotated."""
    rng = np.random.default_rng(0)
    n, d, beta = 100, 1000, np.zeros(1000)
    beta[rng.choice(d, 5, replace=False)] = rng.choice([-1.0, 1.0], 5)
    X = rng.standard_normal((n + 300, d))
    y = X @ beta + 0.5 * rng.standard_normal(len(X))
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    best, ends = [], []
    for columns in (X, X @ Q):
        model = MatchingPursuitRegressor(150, fit_intercept=False).fit(columns[:n], y[:n])
        train = np.log(model.residual_norms_[50:] ** 2)
        assert np.corrcoef(np.arange(len(train)), train)[0, 1] < -0.99
        test = np.mean((y[n:, None] - columns[n:] @ model.coef_path_.T) ** 2, axis=0)
        best.append(int(np.argmin(test)))
        ends.append(test[-1] / test.min())
        if columns is X:
            assert set(np.flatnonzero(model.coef_path_[best[0]])) == set(np.flatnonzero(beta))
    assert 5 <= best[0] < 10
    assert best[1] < 5
    assert min(ends) > 1.5


@pytest.mark.parametrize("variant", ["plain", "weak", "orthogonal"])
@pytest.mark.parametrize("n_estimators", [5, "cv"])
def test_a_tol_of_1_or_more_ends_before_the_first_round(variant, n_estimators):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = X @ [1.0, 2.0, 0.0]
    for tol in (1.0, 1e155, 1e300):
        model = MatchingPursuitRegressor(n_estimators, variant=variant, tol=tol).fit(X, y)
        assert model.n_estimators_ == 0
        np.testing.assert_allclose(model.predict(X), y.mean())
