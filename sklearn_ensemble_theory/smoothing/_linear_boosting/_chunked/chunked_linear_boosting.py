"""Boosting of splines of rows in chunks: the path from sums over the rows.

The path at all times is a function of the moments of y with the basis functions, of their Gram
matrix and of the sum of squares of y. The rows are read as for one spline: once for the knots and
once for the sums.
"""

from typing import Any, NoReturn

import numpy as np
from sklearn.utils.metadata_routing import process_routing

from sklearn_ensemble_theory._compat import routing_enabled
from sklearn_ensemble_theory._folds import checked_n_splits
from sklearn_ensemble_theory._rows import ChunkedRows
from sklearn_ensemble_theory.smoothing._linear_boosting.base import (
    FittedBoosting,
    TimeChoice,
    chosen_time,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.best_feature_path import (
    BestFeaturePath,
    check_best_feature,
)
from sklearn_ensemble_theory.smoothing._linear_boosting.paths import (
    BoostingPath,
    SpectralPath,
    Start,
)
from sklearn_ensemble_theory.smoothing._smoothers import Totals
from sklearn_ensemble_theory.smoothing._spline.base import spectral_form
from sklearn_ensemble_theory.smoothing._spline.chunked_splines import ChunkedSums
from sklearn_ensemble_theory.smoothing._spline.feature_sums import GramSums, feature_smoothers


def check_chunked_boosting(model: Any, learner: Any, has_weights: bool) -> int:
    """ValueError for what needs rows in memory; the number of folds, 1 for none.

    Parameters
    ----------
    model : LinearL2BoostingRegressor
    learner : regressor
    has_weights : bool
        Whether weights were given.
    """
    if not hasattr(learner, "_sums_of_chunks"):
        raise ValueError(
            f"estimator={type(learner).__name__} needs all rows in memory: Dask collections are "
            "boosted by SmoothingSplineRegressor with a number as df or penalty."
        )
    learner._check_linear()
    if hasattr(model.init, "fit"):
        raise ValueError(
            f"init={type(model.init).__name__} needs all rows in memory; use 'mean' or 'zero' with "
            "Dask collections."
        )
    if model.subsample < 1:
        raise ValueError(
            f"subsample={model.subsample} needs all rows in memory; it must be 1 with Dask "
            "collections."
        )
    if model.coordinates == "random" and model.learning_rate > 0:
        raise ValueError(
            "coordinates='random' with learning_rate > 0 needs all rows in memory, which each "
            "round reads; use learning_rate=0, its limit, with Dask collections."
        )
    if model.time == "loo":
        raise ValueError(
            "time='loo' needs all rows in memory; use 'gcv' or another criterion with Dask "
            "collections."
        )
    if model.coordinates == "best":
        check_best_feature(
            learner,
            learning_rate=model.learning_rate,
            subsample=model.subsample,
            time=model.time,
            has_initial_fit=False,
            has_weights=True,
        )
    if has_weights and routing_enabled():
        routed = process_routing(model, "fit", sample_weight=has_weights)
        if "sample_weight" not in routed["estimator"].fit:
            raise ValueError(
                "sample_weight must be requested by estimator, with Dask collections: the learner "
                "has the weights of the rows."
            )
    return _n_splits(model) if model.time == "cv" else 1


def _n_splits(model: Any) -> int:
    if model.coordinates != "best":
        raise ValueError(
            f"time='cv' needs all rows in memory with coordinates={model.coordinates!r}, where "
            "each fold has its own knots; use 'gcv' or another criterion with Dask collections."
        )
    return checked_n_splits(model.cv)


def fit_boosting_of_chunks(
    rows: ChunkedRows,
    learner: Any,
    coordinates: str,
    start: Start,
    choice: TimeChoice,
    n_splits: int = 1,
) -> FittedBoosting:
    """The path of the splines, and the time.

    Parameters
    ----------
    rows : ChunkedRows
        They are read twice.
    learner : regressor
        With a method ``_sums_of_chunks``; see `smoothing._smoothers`.
    coordinates : {"all", "best", "random"}
        "random" only at learning rate 0.
    start : Start
    choice : TimeChoice
        Without splits: "cv", with the best feature only, has sums by `n_splits` folds.
    n_splits : int, default=1
    """
    sums = learner._sums_of_chunks(rows, coordinates, n_splits)
    if len(sums.folds) < min(n_splits, 2):
        raise ValueError(f"cv={n_splits} needs more rows: all of them are in one fold.")
    squares, n_observations = sums.observations()
    totals = Totals(n_observations, sums.weight, float(sums.mean[0]), squares)
    path: BoostingPath
    if coordinates == "best":
        path = BestFeaturePath(_function_sums(sums), totals, start)
    else:
        form = spectral_form(sums, sums.spec, one_feature_each=coordinates == "random")
        path = SpectralPath(form, totals, sums.sums.moments[:, 0], start)
    within_ties = max(sums.sums.squares - squares, 0.0)
    time, times, criterion = chosen_time(path, choice, within_ties, sums.scale, _no_rows)
    predictor: Any = path.predictor(np.array([time]))
    path.keep_rows()
    return FittedBoosting(
        path=path,
        predictor=predictor,
        initial=None,
        scale=sums.scale,
        within_ties=within_ties,
        distinct=np.empty(0, dtype=np.intp),
        is_stable=path.stability()[0],
        time=time,
        times=times,
        criterion=criterion,
    )


def _function_sums(sums: ChunkedSums) -> GramSums:
    """The sums of the functions of single features, over all rows and by fold."""
    folds = [(part.gram, part.moments[:, 0], part.squares) for part in sums.folds]
    total, smoothers = sums.sums, feature_smoothers(sums, sums.spec)
    return GramSums(smoothers, total.gram, total.moments[:, 0], total.squares, folds)


def _no_rows(*args: Any) -> NoReturn:
    raise AssertionError("folds are refused where they have to be refitted")
