"""Weak learners of gradient boosting: any regressor, on the negative gradient."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from sklearn_ensemble_theory._trees import is_tree, on_grid
from sklearn_ensemble_theory.boosting._adaboost.learners import seeded_clone
from sklearn_ensemble_theory.boosting.losses import MultinomialLoss, newton_leaves
from sklearn_ensemble_theory.erm._relu.estimators import ReLUUnitRegressor, ReLUUnits
from sklearn_ensemble_theory.erm._stumps.estimators import DecisionStumpRegressor, MeanStumps


class Regressors:
    """Clones of a regressor, one for each column of the target.

    Parameters
    ----------
    estimator : regressor
    X : {array, sparse matrix} of shape (n, p)
    sample_weight : array of shape (n,) or None
        As the user gave it: a ridge penalty must not depend on how the risk normalises weights.
    subsample : float
        Share of the rows that each round sees, drawn without replacement.
    random_state : RandomState
    fit_params : dict
    """

    def __init__(self, estimator, X, sample_weight, subsample, random_state, fit_params):
        self.estimator, self.X, self.sample_weight = estimator, X, sample_weight
        self.random_state, self.fit_params = check_random_state(random_state), fit_params
        self.n = X.shape[0]
        self.n_drawn = self.n if subsample == 1 else max(1, int(subsample * self.n))

    def best(self, target, weight):
        rows = None
        if self.n_drawn < self.n:
            rows = np.sort(self.random_state.permutation(self.n)[: self.n_drawn])
        if target.ndim == 1:
            member, psi = self.fit_one(target, weight, rows, None)
            return [member], psi
        found = [self.fit_one(target[:, k], weight, rows, k) for k in range(target.shape[1])]
        return [member for member, _ in found], np.column_stack([psi for _, psi in found])

    def fit_one(self, target, weight, rows, k):
        """One member and its outputs on all rows."""
        member = self.fitted(self.X, target, rows)
        return member, np.asarray(member.predict(self.X), dtype=float).reshape(self.n)

    def fitted(self, X, target, rows, **options):
        member = seeded_clone(self.estimator, self.random_state)
        if rows is not None:
            X, target = X[rows], target[rows]
        if self.sample_weight is not None:
            w = self.sample_weight
            options["sample_weight"] = w if rows is None else w[rows]
        return member.fit(X, target, **options, **self.fit_params)


class Trees(Regressors):
    """scikit-learn's trees, whose leaves are set anew to lower the risk itself (Friedman 2001).

    Parameters
    ----------
    risk : EmpiricalRisk
    u : float array of shape (n,) or (n, K)
        The scores that the loop changes in place: always those of the current round.
    reoptimise : bool
        Whether leaves are set anew.
    """

    def __init__(self, *args, risk, u, reoptimise):
        super().__init__(*args)
        self.risk, self.u = risk, u
        self.reoptimise = reoptimise

    def fit_one(self, target, weight, rows, k):
        checked = {} if sp.issparse(self.X) else {"check_input": False}
        member = self.fitted(self.X, on_grid(target), rows, **checked)
        leaf = member.apply(self.X, check_input=False)
        values = member.tree_.value[:, 0, 0]
        seen = slice(None) if rows is None else rows
        if self.reoptimise:
            new = self._leaves(leaf[seen], weight[seen], seen, len(values), k)
            values = np.where(member.tree_.children_left < 0, new, values)
            member.tree_.value[:, 0, 0] = values
        return member, values.take(leaf)

    def _leaves(self, leaf, weight, seen, n_nodes, k):
        loss, y, u = self.risk.loss, self.risk.y[seen], self.u[seen]
        if not isinstance(loss, MultinomialLoss):
            return loss.leaf_values(y, u, weight, leaf, n_nodes)
        # One class at a time, with the K-1 free scores spread over K (Friedman 2001, equation 34).
        K = u.shape[1]
        gradient, hessian = loss.gradient(y, u)[:, k], loss.hessian(y, u)[:, k]
        return (K - 1) / K * newton_leaves(gradient, hessian, weight, leaf, n_nodes)


class Stumps:
    """Exact regression stumps over columns sorted once."""

    def __init__(self, estimator, X, sample_weight):
        self.stumps = MeanStumps(X, estimator.max_bins, sample_weight)

    def best(self, target, weight):
        columns = target[:, None] if target.ndim == 1 else target
        found = [self.stumps.best(columns[:, k], weight) for k in range(columns.shape[1])]
        psi = np.column_stack([outputs for _, outputs in found])
        return [member for member, _ in found], psi.reshape(target.shape)


class Units(Stumps):
    """Exact rectified linear units over columns sorted once."""

    def __init__(self, estimator, X):
        self.stumps = ReLUUnits(X, estimator.criterion)


def weak_learner(
    estimator, X, sample_weight, subsample, random_state, fit_params, risk, u, reoptimise
):
    """The fastest learner that does what fitting `estimator` does."""
    if type(estimator) is DecisionStumpRegressor and subsample == 1:
        return Stumps(estimator, X, sample_weight)
    if type(estimator) is ReLUUnitRegressor and estimator.direction == "axis" and subsample == 1:
        return Units(estimator, X)
    common = (estimator, X, sample_weight, subsample, random_state, fit_params)
    if is_tree(estimator):
        return Trees(*common, risk=risk, u=u, reoptimise=reoptimise)
    return Regressors(*common)


def check_takes_weights(estimator, parameter):
    if not has_fit_parameter(estimator, "sample_weight"):
        name = type(estimator).__name__
        raise ValueError(f"sample_weight: {parameter}={name} doesn't support sample_weight.")
