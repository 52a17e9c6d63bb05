"""The targets of a classification forest: classes of one output or of several, and their weights.

Of several outputs, the codes of each follow those of the one before. A tree that is fitted to such
codes names by its `classes_` the columns that its shares belong to, and every sum over the trees is
one of arrays whose columns are the classes of all outputs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from sklearn_ensemble_theory._progress import warn_user
from sklearn_ensemble_theory.averaging._bagging.mean_predictions import ClassifierPredictionMixin
from sklearn_ensemble_theory.averaging._bagging.out_of_bag import Score
from sklearn_ensemble_theory.averaging._forest.base import BaseForest, ForestMemberSpec
from sklearn_ensemble_theory.trees._sklearn_trees import with_all_classes


def balanced_weights(codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Weights of the rows that give every class that occurs the same total.

    For several outputs, codes of shape (n, k), the product over the outputs.
    """
    product = np.ones(len(codes))
    for column in codes.reshape(len(codes), -1).T:
        totals = np.bincount(column, weights=weights).astype(float)
        occurs = totals > 0
        share = np.divide(
            totals.sum(), occurs.sum() * totals, out=np.zeros_like(totals), where=occurs
        )
        product *= share[column]
    return product


@dataclass(frozen=True, kw_only=True)
class BalancedForestMemberSpec(ForestMemberSpec):
    """Trees for which all classes weigh the same among the rows drawn."""

    def fit_weights(self, weights: np.ndarray, y_rows: np.ndarray) -> np.ndarray:
        return weights * balanced_weights(y_rows, weights)


class BaseForestClassifier(ClassifierPredictionMixin, BaseForest):
    """Base of the forests of classification trees; not for direct use."""

    class_weight: Any
    classes_: Any
    n_outputs_: int

    def _encode_y(self, y: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        if y.ndim == 1 or y.shape[1] == 1:
            codes, description = super()._encode_y(y)
            return codes, {**description, "n_outputs_": 1}
        check_classification_targets(y)
        pairs = [np.unique(column, return_inverse=True) for column in y.T]
        classes = [labels for labels, _ in pairs]
        starts = _starts([len(labels) for labels in classes])
        codes = np.column_stack([inverse.ravel() for _, inverse in pairs]) + starts
        return codes, {
            "classes_": classes,
            "n_classes_": [len(labels) for labels in classes],
            "n_outputs_": len(classes),
        }

    def _counterpart_member(self, member: Any) -> Any:
        counts = [self.n_classes_] if self.n_outputs_ == 1 else self.n_classes_
        return with_all_classes(super()._counterpart_member(member), counts)

    # ------------------------------------------------------------------------------ Predictions

    def _labels(self, proba: np.ndarray) -> np.ndarray:
        if self.n_outputs_ == 1:
            return super()._labels(proba)
        return _labels_by_output(self._by_output(proba), self.classes_)

    def _by_output(self, columns: np.ndarray) -> Any:
        if self.n_outputs_ == 1:
            return columns
        return np.split(columns, _starts(self.n_classes_)[1:], axis=1)

    # ------------------------------------------------------------------------------- Out of bag

    def _oob_scorer(self, y: np.ndarray, classes: Any) -> Score:
        if y.ndim == 1:
            return super()._oob_scorer(y, classes)
        counts = [len(labels) for labels in classes]
        starts = _starts(counts)
        kind = type_of_target(y - starts)
        if kind == "multiclass-multioutput":
            raise ValueError(
                f"The type of target cannot be used to compute OOB estimates. Got {kind} while "
                "only the following are supported: continuous, continuous-multioutput, binary, "
                "multiclass, multilabel-indicator."
            )
        # Accuracy is of rows that are right in all outputs, whatever the labels are.
        metric, names = accuracy_score, [np.arange(count) for count in counts]
        if callable(self.oob_score):
            metric, names = self.oob_score, classes
        labels = _labels_of_codes(y - starts, names)

        def score(rows, mean):
            return metric(labels[rows], _labels_by_output(np.split(mean, starts[1:], 1), names))

        return score

    def _oob_attributes(self, mean: np.ndarray, score: float) -> dict[str, Any]:
        attributes = super()._oob_attributes(mean, score)
        if self.n_outputs_ > 1:
            shape = (len(mean), max(self.n_classes_), self.n_outputs_)
            by_class = np.zeros(shape)
            for k, part in enumerate(self._by_output(mean)):
                by_class[:, : part.shape[1], k] = part
            attributes["oob_decision_function_"] = by_class
        return attributes

    # --------------------------------------------------------------------------- Class weights

    def _class_weights(
        self, y: np.ndarray, sample_weight: np.ndarray | None, classes: Any
    ) -> np.ndarray | None:
        if self.class_weight is None:
            return None
        if not isinstance(self.class_weight, str):
            outputs = [classes] if y.ndim == 1 else classes
            codes = y.reshape(len(y), -1) - _starts(map(len, outputs))
            given = self.class_weight
            given = given if isinstance(given, list) else [given]
            if len(given) != len(outputs):
                raise ValueError(
                    f"class_weight has weights for {len(given)} outputs, and y has {len(outputs)} "
                    "outputs; give a list with a dict for each of them."
                )
            by_output = [
                compute_sample_weight(weights, labels)[column]
                for weights, labels, column in zip(given, outputs, codes.T)
            ]
            return np.prod(by_output, axis=0)
        if self.warm_start:
            warn_user(
                f"class_weight={self.class_weight!r} with warm_start=True: the weights of the "
                "classes are those of the rows of each fit. Where these are not all rows, give "
                "the weights as a dict."
            )
        if self.class_weight == "balanced_subsample" and self._scheme_class().is_random:
            return None  # the rows of each tree are balanced by themselves
        return balanced_weights(y, sample_weight)

    def _member_spec_class(self) -> type[ForestMemberSpec]:
        balanced = self.class_weight == "balanced_subsample" and self._scheme_class().is_random
        return BalancedForestMemberSpec if balanced else ForestMemberSpec

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags


def _starts(counts: Any) -> np.ndarray:
    """The first code of each output, from the numbers of classes of the outputs."""
    return np.cumsum([0, *counts])[:-1]


def _labels_of_codes(codes: np.ndarray, classes: list[np.ndarray]) -> np.ndarray:
    """Labels of shape (n, k) for codes that count from 0 in each output."""
    return np.column_stack([labels[column] for column, labels in zip(codes.T, classes)])


def _labels_by_output(proba: list[np.ndarray], classes: list[np.ndarray]) -> np.ndarray:
    codes = np.column_stack([part.argmax(axis=1) for part in proba])
    return _labels_of_codes(codes, classes)
