"""Linear classifiers in a ball, fitted to Dask collections: the minimum of the rows in memory."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_ensemble_theory import BallConstrainedClassifier

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
dask = pytest.importorskip("dask")

CHUNKS = {"even": (100,) * 4, "uneven": (1, 0, 300, 99)}


def rows(n_classes=2, n=400, d=6):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    scores = X[:, :n_classes] + 0.7 * rng.standard_normal((n, n_classes))
    y = np.array(list("cab"))[scores.argmax(axis=1)]
    X[y == "a"] += 0.1
    order = np.argsort(y[:150])  # the first chunks do not have all classes
    X[:150], y[:150] = X[order], y[order]
    return X, y, rng.integers(0, 4, n).astype(float)


def lazily(chunks, *arrays):
    return [da.from_array(a, chunks=(CHUNKS[chunks], *a.shape[1:])) for a in arrays]


# A tol at the size of rounding errors, so that the minima agree to many digits.
no_warning = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@no_warning
@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_minimum_in_memory(chunks, norm, loss, n_classes, fit_intercept):
    X, y, weight = rows(n_classes)
    options = {"norm": norm, "loss": loss, "fit_intercept": fit_intercept, "tol": 1e-13}
    X_lazy, y_lazy, w_lazy = lazily(chunks, X, y, weight)
    for radius, w, lazy_w in ((0.7, weight, w_lazy), (50.0, None, None)):
        model = BallConstrainedClassifier(radius, **options).fit(X_lazy, y_lazy, lazy_w)
        expected = BallConstrainedClassifier(radius, **options).fit(X, y, w)
        np.testing.assert_array_equal(model.classes_, expected.classes_)
        assert model.dual_gap_ < 1e-9  # where rounding ends the steps
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=0, atol=2e-6)
        np.testing.assert_allclose(model.intercept_, expected.intercept_, rtol=0, atol=2e-6)
        np.testing.assert_allclose(model.intercept_bound_, expected.intercept_bound_)
        assert model.feature_bound_ == pytest.approx(expected.feature_bound_, rel=1e-12)
        if radius < 50:
            assert model.error_bound() == pytest.approx(expected.error_bound())
        np.testing.assert_array_equal(model.predict(X_lazy).compute(), expected.predict(X))


def test_chunks_do_not_matter():
    X, y, _ = rows(3)
    models = [BallConstrainedClassifier(2.0).fit(*lazily(c, X, y)) for c in CHUNKS]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=0, atol=1e-11)
    assert models[0].n_iter_ == models[1].n_iter_


@no_warning
def test_data_frames_of_unknown_lengths():
    X, y, _ = rows()
    frame = dd.from_pandas(pd.DataFrame(X).add_prefix("x"), npartitions=4)
    labels = dd.from_pandas(pd.Series(y), npartitions=4)
    keep = frame["x0"] < 1
    model = BallConstrainedClassifier(tol=1e-12).fit(frame[keep], labels[keep])
    expected = BallConstrainedClassifier(tol=1e-12).fit(X[X[:, 0] < 1], y[X[:, 0] < 1])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=0, atol=1e-6)
    assert model.feature_names_in_[0] == "x0"


@no_warning
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_of_X(scale):
    X, y, _ = rows()
    model = BallConstrainedClassifier(1 / scale, tol=1e-12).fit(*lazily("even", scale * X, y))
    expected = BallConstrainedClassifier(1.0, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_ * scale, expected.coef_, rtol=0, atol=1e-6)


def test_passes_over_the_rows():
    X, y, _ = rows(3)
    seen = []

    def read(block):
        seen.append(len(block))
        return block

    lazy = da.from_array(X, chunks=(100, 6)).map_blocks(read, meta=X[:0])
    with dask.config.set(scheduler="synchronous"):
        model = BallConstrainedClassifier(3.0).fit(lazy, da.from_array(y, chunks=100))
    assert sum(seen) == (model.n_iter_ + 2) * len(y)
    assert model.n_iter_ < 12


def test_a_gap_above_tol_is_reported_where_fit_is_called():
    X, y, _ = rows()
    for data in ((X, y), lazily("even", X, y)):
        with pytest.warns(ConvergenceWarning, match="duality gap") as caught:
            BallConstrainedClassifier(5.0, max_iter=1).fit(*data)
        assert caught[0].filename == __file__


REFUSED = {"solver": "sgd", "loss": "hinge"}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_rows_in_memory_is_refused(name):
    X, y, _ = rows()
    lazy = da.from_array(X).map_blocks(pytest.fail, meta=X[:0])
    with pytest.raises(ValueError, match=f"{name}='{REFUSED[name]}' *"):
        BallConstrainedClassifier(**{name: REFUSED[name]}).fit(lazy, y)
    wide = da.zeros((10, 1501)).map_blocks(pytest.fail, meta=X[:0])
    with pytest.raises(ValueError, match="1501 features"):
        BallConstrainedClassifier().fit(wide, y[:10])


@pytest.mark.parametrize("radius", ["cv", [0.1, 1.0]])
def test_a_radius_by_folds_needs_rows_in_memory(radius):
    X_lazy, y_lazy = lazily("even", *rows()[:2])
    with pytest.raises(ValueError, match="needs all rows in memory; set it to a number"):
        BallConstrainedClassifier(radius).fit(X_lazy, y_lazy)


def test_one_class():
    X, y, _ = rows()
    with pytest.raises(ValueError, match="one class only"):
        BallConstrainedClassifier().fit(*lazily("even", X, np.full(len(y), "a")))
