"""Targets of gradient boosting as the loss takes them, and where their scores start."""

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

# A larger target cannot be squared and summed.
LARGEST_TARGET = 1e150


class RealTargets:
    """Targets that are numbers."""

    def _encode(self, y):
        return self._encode_known(y, {}), {}

    def _encode_known(self, y, description):
        y = np.asarray(y, dtype=np.float64)
        if np.max(np.abs(y), initial=0.0) > LARGEST_TARGET:
            raise ValueError(f"y has values above {LARGEST_TARGET:g}, which cannot be squared.")
        return y

    def _decode(self, y, description):
        return y

    def _predict_init(self, init, loss, X):
        return np.ravel(init.predict(X))


class ClassTargets:
    """Classes: -1 and +1 where there are two, otherwise 0 ... K-1."""

    def _encode(self, y):
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(f"y has 1 class, {classes[0]}; at least 2 classes are needed.")
        description = {"classes_": classes, "n_classes_": len(classes)}
        return self._encode_known(y, description), description

    def _encode_known(self, y, description):
        classes = description["classes_"]
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        if np.any(classes[codes] != y):
            raise ValueError("y_val has classes that y does not have.")
        return 2.0 * codes - 1.0 if len(classes) == 2 else codes

    def _decode(self, y, description):
        classes = description["classes_"]
        return classes[(y > 0).astype(int) if len(classes) == 2 else y]

    def _predict_init(self, init, loss, X):
        if not hasattr(init, "predict_proba"):
            raise ValueError(f"init: {type(init).__name__} has no predict_proba.")
        if not loss.probability:
            raise ValueError(
                f"init: {type(loss).__name__} gives no probabilities, so it cannot start from "
                f"those of {type(init).__name__}; use init=None or 'zero'."
            )
        proba = init.predict_proba(X)
        return proba[:, 1] if proba.shape[1] == 2 else proba
