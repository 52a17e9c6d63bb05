"""Sums of rectified linear units as the weights of a network."""

from functools import singledispatch

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._typing import Fitted
from sklearn_ensemble_theory.boosting import FrankWolfeClassifier, FrankWolfeRegressor
from sklearn_ensemble_theory.erm import ReLUNetwork, ReLUUnitRegressor


@singledispatch
def network(model: Fitted) -> ReLUNetwork:
    """Convert a model to a network with one hidden layer of rectified linear units.

    Parameters
    ----------
    model : estimator
        A fitted :class:`~sklearn_ensemble_theory.ReLUUnitRegressor`, or
        :class:`~sklearn_ensemble_theory.FrankWolfeRegressor` or
        :class:`~sklearn_ensemble_theory.FrankWolfeClassifier` whose `estimator` is one.

    Returns
    -------
    network : ReLUNetwork
        ``network(X)`` equals ``model.predict(X)``, or the decision function of a classifier.

    Raises
    ------
    ValueError
        If the model is not a sum of rectified linear units.

    Notes
    -----
    Cost: O(units x features). ``export.network.register(YourLearner)``, as of
    :func:`functools.singledispatch`, adds a weak learner of your own that is such a network.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ensemble_theory import FrankWolfeRegressor, ReLUUnitRegressor, export
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = FrankWolfeRegressor(ReLUUnitRegressor(), radius=5.0).fit(X, np.abs(X[:, 0]))
    >>> network = export.network(model)
    >>> bool(np.allclose(network(X), model.predict(X)))
    True
    """
    raise ValueError(
        f"{type(model).__name__} is not a sum of rectified linear units. export.network requires a "
        "ReLUUnitRegressor, or FrankWolfeRegressor(ReLUUnitRegressor()) or its classifier."
    )


@network.register
def _of_unit(model: ReLUUnitRegressor) -> ReLUNetwork:
    check_is_fitted(model)
    return ReLUNetwork.of_units([model])


@network.register
def _of_frank_wolfe(model: FrankWolfeRegressor | FrankWolfeClassifier) -> ReLUNetwork:
    check_is_fitted(model)
    if model.estimator is None:
        raise ValueError(
            f"{type(model).__name__} without an estimator is a linear function of the columns, "
            "not a sum of rectified linear units. Use estimator=ReLUUnitRegressor()."
        )
    networks: list[ReLUNetwork] = [network(member) for member in model.estimators_]
    # A network without units gives the shapes where there are no members.
    empty = ReLUNetwork(np.zeros((0, model.n_features_in_)), np.zeros(0), np.zeros(0), 0.0)
    weights = model.estimator_weights_
    return ReLUNetwork(
        np.concatenate([empty.hidden_weights, *(n.hidden_weights for n in networks)]),
        np.concatenate([empty.hidden_biases, *(n.hidden_biases for n in networks)]),
        np.concatenate(
            [empty.output_weights, *(b * n.output_weights for b, n in zip(weights, networks))]
        ),
        float(np.ravel(model.intercept_)[0])
        + float(sum(b * n.output_bias for b, n in zip(weights, networks))),
    )
