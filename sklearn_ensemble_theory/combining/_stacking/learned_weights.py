"""Weights of the members that are learned from held-out predictions, and what is known of them."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._weights import normalised_weights
from sklearn_ensemble_theory.bounds import cross_validation_oracle_bound
from sklearn_ensemble_theory.combining._stacking.held_out import HeldOutPredictions
from sklearn_ensemble_theory.combining._stacking.held_out_risks import HELD_OUT_RISKS, HeldOutRisk
from sklearn_ensemble_theory.combining._stacking.selection import (
    best_candidate,
    greedy_weights,
    make_score,
)

__all__ = ["LEARNED_ATTRIBUTES", "WEIGHTS", "LearnedWeightsMixin", "class_tables"]

SOLVED = ("nnls", "simplex", "l1", "l2")
CHOSEN = ("best", "greedy")
WEIGHTS = (*SOLVED, *CHOSEN, "uniform")
LEARNED_ATTRIBUTES = ("estimator_weights_", "cv_risks_", "kkt_violation_")


class LearnedWeightsMixin:
    """The part of stacking that replaces the final estimator by learned weights."""

    weights: str | None
    loss: str
    radius: float
    positive: bool
    scoring: Any
    n_selections: int
    n_bags: int
    random_state: Any

    def _risk_name(self) -> str:
        """The loss, with the default of the rule for "auto"."""
        if self.loss != "auto":
            return self.loss
        return "log_loss" if self.weights not in ("nnls", "l1", "l2") else "squared_error"

    def _check_rule(self) -> None:
        """Raise an error for a combination of parameters that has no meaning."""
        loss = self._risk_name()
        if self.weights in SOLVED and self.weights not in HELD_OUT_RISKS[loss].rules:
            raise ValueError(f"weights={self.weights!r} cannot be learned with loss={loss!r}.")
        if self.scoring is not None and self.weights not in CHOSEN:
            raise ValueError(
                f"scoring needs weights='best' or 'greedy', got weights={self.weights!r}."
            )

    # --------------------------------------------------------------------------------------- Fit

    def _learn(
        self,
        y: np.ndarray,
        weight: np.ndarray,
        held_out: HeldOutPredictions,
        names: list[str],
        description: dict[str, Any],
    ) -> dict[str, Any]:
        """The fitted attributes of the learned weights."""
        rows = held_out.rows
        targets, shares = y[rows], normalised_weights(weight[rows], len(rows))
        tables = self._candidate_tables(held_out.predictions, description)
        columns = [targets] if targets.ndim == 1 else list(targets.T)
        risk_of: Any = HELD_OUT_RISKS[self._risk_name()]
        rng = check_random_state(self.random_state)
        weights, gaps, risks = [], [], []
        scored = weight[rows] if np.ptp(weight) > 0 else None
        all_classes = description.get("classes_")
        for output, (table, target) in enumerate(zip(tables, columns)):
            risk = risk_of(table, target, shares)
            classes = all_classes[output] if isinstance(all_classes, list) else all_classes
            found, gap = self._weights_of(risk, target, scored, classes, held_out, rng)
            weights.append(found)
            gaps.append(gap)
            risks.append(_risk_table(risk, held_out, names, found))
        self_fold_weights = [shares[fold] for fold in held_out.fold_rows]
        outcome: dict[str, Any] = {
            "estimator_weights_": weights[0] if y.ndim == 1 else np.array(weights),
            "cv_risks_": _one_table(risks),
            "_held_out_sizes": [_effective_size(w) for w in self_fold_weights],
            "_held_out_once": len(np.unique(rows)) == len(rows),
            "_largest_losses": [table["largest"] for table in risks],
        }
        if self.weights in SOLVED:
            outcome["kkt_violation_"] = max(gaps)
        return outcome

    def _weights_of(
        self,
        risk: HeldOutRisk,
        target: np.ndarray,
        scored: np.ndarray | None,
        classes: Any,
        held_out: HeldOutPredictions,
        rng: np.random.RandomState,
    ) -> tuple[np.ndarray, float]:
        k = risk.given.shape[1]
        if self.weights == "uniform":
            return np.full(k, 1.0 / k), 0.0
        if self.weights in SOLVED:
            return risk.solve(self.weights, self.radius, self.positive)
        score = None
        if self.scoring is not None:
            labels = target if classes is None else np.asarray(classes)[target]
            score = make_score(self.scoring, labels, scored, classes)
        if self.weights == "best":
            return np.eye(k)[best_candidate(risk, score, held_out.fold_rows)], 0.0
        found = greedy_weights(
            risk, score, n_selections=self.n_selections, n_bags=self.n_bags, rng=rng
        )
        return found, 0.0

    def _candidate_tables(
        self, predictions: list[Any], description: dict[str, Any]
    ) -> list[np.ndarray]:
        """For each output, the predictions of the candidates, (n, k) or with classes (n, k, K)."""
        if is_classifier(self):
            return class_tables(predictions, description["classes_"])
        columns = [p.reshape(len(p), -1) for p in predictions]
        return [np.column_stack([c[:, o] for c in columns]) for o in range(columns[0].shape[1])]

    # ----------------------------------------------------------------------------------- Queries

    def _mixed(self, X: Any) -> list[np.ndarray]:
        """For each output, the weighted sum of the predictions of the members."""
        weights = np.atleast_2d(self.estimator_weights_)
        used = (weights != 0).any(axis=0)
        if not used.any():
            used[0] = True  # for the shape
        predictions = [p for p in self._read_all(X, used) if p is not None]
        tables = self._candidate_tables(predictions, {"classes_": getattr(self, "classes_", None)})
        return [np.tensordot(table, w[used], (1, 0)) for table, w in zip(tables, weights)]

    def oracle_bound(self, delta: float = 0.05, loss_bound: float | None = None) -> float:
        """Bound on the excess risk of the chosen candidate over the best one; `weights="best"`.

        Parameters
        ----------
        delta : float, default=0.05
            Probability of failure, in (0, 1).

        loss_bound : float, default=None
            A number that the loss of no candidate exceeds. `None` is the largest possible loss
            where there is one (2 for the squared error of probabilities, 36 for the log-loss, whose
            probabilities are at least 2e-16), and otherwise the largest loss on the held-out rows:
            the result is then an estimate of the bound.

        Returns
        -------
        bound : float
            With probability 1 - delta, the mean over the splits of the risk of the chosen
            candidate, fitted to the training rows of the split, is at most that of the best
            candidate plus this number (several outputs: the largest of their numbers).

        Raises
        ------
        ValueError
            If the weights are not `"best"` or chosen by `scoring`, or a row was held out several
            times, or a parameter is not in its range.

        Notes
        -----
        :func:`~sklearn_ensemble_theory.bounds.cross_validation_oracle_bound`, for one split [Shah,
        theorem 6]. It assumes independent rows. Cost: O(1).
        """
        check_is_fitted(self)
        if self.weights != "best" or self.scoring is not None:
            raise ValueError("oracle_bound needs weights='best' without scoring.")
        if not self._held_out_once:
            raise ValueError("oracle_bound needs a cv that holds out no row several times.")
        if loss_bound is None:
            fixed = HELD_OUT_RISKS[self._risk_name()].largest_loss(is_classifier(self))
            loss_bound = max(self._largest_losses) if fixed is None else fixed
        sizes = [max(size, 1.0) for size in self._held_out_sizes]
        return cross_validation_oracle_bound(len(self.estimators_), sizes, delta, loss_bound)


def _effective_size(weight: np.ndarray) -> float:
    """(sum w)^2 / sum w^2 of the rows of a fold; 0 where none has a positive weight."""
    top = weight.max(initial=0.0)
    w = weight / top if top > 0 else weight
    return float(w.sum() ** 2 / (w @ w)) if top > 0 else 0.0


def class_tables(predictions: list[Any], classes: Any) -> list[np.ndarray]:
    """For each output, probabilities of shape (n, k, K); labels are probabilities 0 and 1.

    Parameters
    ----------
    predictions : list
        For each candidate, probabilities of shape (n, K), or positions of classes of shape (n,).
        With several outputs, a list of probabilities for each, or of shape (n, n_outputs) those of
        the second of two classes, or positions.
    classes : array of shape (K,), or a list of them for several outputs
    """
    several = isinstance(classes, list)
    tables = []
    for output, labels in enumerate(classes if several else [classes]):
        K = len(labels)
        columns = []
        for values in predictions:
            if isinstance(values, list):
                values = values[output]
            elif several:
                second = values[:, output]
                values = np.column_stack([1.0 - second, second]) if K == 2 else second
            if values.ndim == 1:
                values = np.eye(K)[values.astype(np.intp)]
            columns.append(values)
        tables.append(np.stack(columns, axis=1))
    return tables


def _risk_table(
    risk: HeldOutRisk, held_out: HeldOutPredictions, names: list[str], weights: np.ndarray
) -> dict[str, Any]:
    """Risks of the candidates, in all and by split, with standard errors over rows."""
    losses, shares = risk.candidate_losses(), risk.weight
    mean = shares @ losses
    # A row that several splits hold out counts once for the standard error.
    _, first, row = np.unique(held_out.rows, return_index=True, return_inverse=True)
    deviations = np.zeros((len(first), losses.shape[1]))
    np.add.at(deviations, row.ravel(), shares[:, None] * (losses - mean))
    n = len(first)
    error = np.sqrt((deviations**2).sum(axis=0) * (n / max(n - 1, 1)))
    table: dict[str, Any] = {
        "name": list(names),
        "weight": weights,
        "risk": risk.in_units(mean),
        "standard_error": risk.in_units(error),
        "largest": float(risk.in_units(losses.max())),
    }
    for number, fold in enumerate(held_out.fold_rows):
        fold_risk = shares[fold] @ losses[fold] / shares[fold].sum()
        table[f"split{number}_risk"] = risk.in_units(fold_risk)
    return table


def _one_table(tables: list[dict[str, Any]]) -> dict[str, Any]:
    """The tables of all outputs below each other, with `output` where there are several."""
    columns: dict[str, Any] = {}
    if len(tables) > 1:
        columns["output"] = np.repeat(np.arange(len(tables)), len(tables[0]["name"]))
    for key in tables[0]:
        if key == "name":
            columns[key] = [name for table in tables for name in table[key]]
        elif key != "largest":
            columns[key] = np.concatenate([table[key] for table in tables])
    return columns
