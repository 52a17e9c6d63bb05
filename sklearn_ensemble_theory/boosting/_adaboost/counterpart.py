"""scikit-learn's AdaBoost with the members and coefficients of a fitted one."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sklearn_ensemble_theory._conversion import (
    copy_attributes,
    shared_parameters,
    sklearn_learner,
    sklearn_member,
    to_sklearn,
)


class BoostedCounterpart:
    """`to_sklearn` of the AdaBoost estimators; a part of them."""

    estimator: Any
    estimator_: Any
    estimators_: list[Any]
    estimator_weights_: np.ndarray
    _sklearn_class: Any

    to_sklearn = to_sklearn

    def _counterpart(self) -> Any:
        given = None if self.estimator is None else sklearn_learner(self.estimator)
        model = self._sklearn_class(**shared_parameters(self, estimator=given))
        model.estimator_ = sklearn_learner(self.estimator_)
        model.estimators_ = [sklearn_member(member) for member in self.estimators_]
        copy_attributes(self, model, "classes_", "n_classes_")
        copy_attributes(self, model, "estimator_weights_", "estimator_errors_")
        return model


class VotesCounterpart(BoostedCounterpart):
    """The same for classes: scikit-learn has one of the algorithms."""

    algorithm_: str
    _other_meaning = frozenset({"algorithm"})

    def _obstacles(self) -> Iterator[str]:
        if self.algorithm_ != "discrete":
            yield (
                f"algorithm={self.algorithm_!r} is not discrete AdaBoost (SAMME), the only one "
                "there. algorithm='discrete' has a counterpart."
            )
