"""The data of gradient boosting, read for a fit or a prediction."""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_consistent_length

from sklearn_ensemble_theory._compat import safe_indexing
from sklearn_ensemble_theory._folds import split_off
from sklearn_ensemble_theory._learners import has_fast_path, is_tree, reads_numbers
from sklearn_ensemble_theory._rows import (
    checked_weights,
    is_frame,
    rows_of_positive_weight,
    validated,
)
from sklearn_ensemble_theory.boosting._gradient_boosting.default_trees import DefaultTrees
from sklearn_ensemble_theory.boosting._risk import SecondOrderRisk
from sklearn_ensemble_theory.boosting._weak_learners import check_takes_weights
from sklearn_ensemble_theory.boosting.losses import Loss
from sklearn_ensemble_theory.boosting.losses._registry import make_loss
from sklearn_ensemble_theory.trees._sklearn_trees import check_single_precision, single_precision

# Other formats are converted to the first.
SPARSE_FORMATS = ("csr", "csc")


class Rows(NamedTuple):
    """Rows with their targets as the loss takes them; `weight` as the user gave it, or None."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None

    def take(self, part: np.ndarray) -> "Rows":
        weight = None if self.weight is None else self.weight[part]
        return Rows(safe_indexing(self.X, part), self.y[part], weight)


class Reading(DefaultTrees):
    """How gradient boosting reads its data; a part of the estimators."""

    loss: Any
    second_order: bool
    random_state: Any
    validation_fraction: float
    _encode: Any
    _encode_known: Any
    _check_kept: Any

    def _make_loss(self, n_classes: int) -> Loss:
        """The loss for a target of so many classes; 0 for a real target."""
        return make_loss(self.loss, n_classes)

    def _read(
        self, X: Any, y: Any, sample_weight: Any, estimator: Any, continued: bool
    ) -> tuple[Rows, dict, Loss]:
        """The rows to fit, what describes their targets, and the loss."""
        X, y = self._validate(X, y, reset=not continued, y_numeric=not is_classifier(self))
        y, description = self._encode(y)
        if continued and not self._same_description(description):
            raise ValueError(
                "With warm_start=True, y must not have other classes than in the previous fit."
            )
        n_classes = n_classes_of(description)
        loss = self._make_loss(n_classes)
        if sample_weight is not None:
            check_takes_weights(estimator, "estimator")
            kept = rows_of_positive_weight(sample_weight, X)
            if not isinstance(kept.rows, slice):
                X, y = safe_indexing(X, kept.rows), y[kept.rows]
                self._check_kept(y)
            sample_weight = kept.weight
        loss.check_target(y)
        if self.second_order:
            check_takes_weights(estimator, "estimator", "second_order")
            SecondOrderRisk.check(loss, y, loss.n_scores(n_classes))
        return Rows(X, y, sample_weight), description, loss

    def _hands_on(self) -> bool:
        """Whether the base learner gets frames and missing values as they are, and checks them."""
        return not reads_numbers(self.estimator, has_fast_path)

    def _validate(self, X: Any, *y: Any, **options: Any) -> Any:
        """X, and y where it is given, validated; in single precision where trees will hold it."""
        estimator = self._base_learner(X)
        takes_sparse = self.estimator is None or accepts_sparse(estimator)
        options["accept_sparse"] = SPARSE_FORMATS if takes_sparse else False
        hands_on = self._hands_on()
        as_frame = hands_on and is_frame(X)
        if not as_frame:
            options["dtype"] = [np.float64, np.float32]
            if not sp.issparse(X) and (hands_on or input_tag(estimator, "allow_nan")):
                options["ensure_all_finite"] = "allow-nan"
        found = validated(self, X, *y, as_frame=as_frame, **options)
        read, *y = found if y else (found,)
        if as_frame:
            return (read, *y) if y else read
        if sp.issparse(read) and not accepts_sparse(estimator):
            read = read.toarray()  # a small one, for the default trees
            check_single_precision(read)
        elif is_tree(estimator):
            read = single_precision(read)
        elif getattr(estimator, "_reads_single_precision", False):
            check_single_precision(read)
        return (read, *y) if y else read

    def _same_description(self, description: dict) -> bool:
        return all(
            np.array_equal(getattr(self, name), value) for name, value in description.items()
        )

    def _read_validation(self, X: Any, y: Any, weight: Any, description: dict) -> Rows:
        X = self._validate(X, reset=False)
        check_consistent_length(X, y)
        y = self._encode_known(np.asarray(y), description)
        if not np.issubdtype(y.dtype, np.number) or not np.isfinite(y).all():
            raise ValueError("y_val must contain finite numbers only.")
        if weight is not None:
            weight = checked_weights(weight, X)
        return Rows(X, y, weight)

    def _seed_of_split(self, rng: np.random.RandomState) -> int:
        """A number as `random_state` is the seed itself, as in scikit-learn."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(rng.randint(np.iinfo(np.int32).max))

    def _split(self, rows: Rows, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Which rows to fit, and which decide when to stop."""
        stratify = rows.y if is_classifier(self) else None
        train, held_out = split_off(len(rows.y), self.validation_fraction, seed, stratify)
        missing = len(np.unique(rows.y)) - len(np.unique(rows.y[train]))
        if is_classifier(self) and missing:
            raise ValueError(
                "The training data after the early stopping split is missing some classes. Try "
                "using another random seed, a smaller validation_fraction, or X_val and y_val."
            )
        return train, held_out


def accepts_sparse(estimator: Any) -> bool:
    # Trees do; before scikit-learn 1.7 their tags do not state it.
    return is_tree(estimator) or input_tag(estimator, "sparse")


def input_tag(estimator: Any, name: str) -> bool:
    """A tag of the estimator's input; False for an object without tags."""
    tagged = hasattr(estimator, "__sklearn_tags__")
    return tagged and bool(getattr(get_tags(estimator).input_tags, name))


def n_classes_of(description: dict) -> int:
    return len(description.get("classes_", ()))
