"""What a mean of the members' predictions predicts: numbers, or classes of one or several outputs.

Of several outputs, the codes of each follow those of the one before. A member that is fitted to
such codes names by its `classes_` the columns that its shares belong to, and every sum over the
members is one of arrays whose columns are the classes of all outputs.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from sklearn_ensemble_theory._blocks import by_chunks
from sklearn_ensemble_theory._compat import raise_for_params
from sklearn_ensemble_theory._learners import largest_column
from sklearn_ensemble_theory._rows import (
    are_wrong,
    checked_weights,
    codes_of_labels,
    one_column,
    rows_of,
)
from sklearn_ensemble_theory._scaling import range_exponent
from sklearn_ensemble_theory._typing import ArrayLike, MatrixLike, RandomStateLike
from sklearn_ensemble_theory.averaging._members import member_params
from sklearn_ensemble_theory.bounds import held_out_voting_error_bound
from sklearn_ensemble_theory.ensembles._certificates import (
    BY_MEMBERS,
    LOSSES,
    held_out_bound,
    out_of_bag_bound,
)
from sklearn_ensemble_theory.ensembles._forest_weights import predict_cdf, predict_functional
from sklearn_ensemble_theory.ensembles._intervals import (
    WINDOW_METHODS,
    one_of,
    prediction_interval,
)
from sklearn_ensemble_theory.ensembles._members import each_prediction
from sklearn_ensemble_theory.ensembles._prediction_sets import SetRule, prediction_set
from sklearn_ensemble_theory.ensembles._quantiles import predicted_quantiles
from sklearn_ensemble_theory.ensembles._time_series import (
    update_residuals,
    window_interval,
)
from sklearn_ensemble_theory.ensembles._training_rows import forget_training_rows

Score = Callable[[np.ndarray, np.ndarray], float]


class AveragedRegressor(RegressorMixin):
    """A mean of real predictions.

    The class that it completes has the methods `_validate_X(X)` and `_mean_prediction(X, method,
    params)`.
    """

    _several_outputs: Any = True

    def _check_learner(self, estimator: BaseEstimator) -> None:
        """Any learner will do."""

    def _encode_y(self, y: np.ndarray) -> tuple[np.ndarray, dict]:
        y = one_column(y) if y.ndim == 1 or y.shape[1] == 1 else y
        return y, {"n_outputs_": 1 if y.ndim == 1 else y.shape[1]}

    def _prediction_method(self, estimator: BaseEstimator) -> str:
        return "predict"

    @by_chunks
    def predict(self, X: MatrixLike, **params: object) -> np.ndarray:
        """Mean of the members' predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        **params : dict
            Routed to the members' `predict` where metadata routing is enabled.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, in the units of y.

        Notes
        -----
        Cost: one prediction of each member.
        """
        raise_for_params(params, self, "predict")
        check_is_fitted(self)
        params = member_params(self, params, "predict")
        return self._mean_prediction(self._validate_X(X), "predict", params)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._several_outputs
        return tags


class BaggedRegressor(AveragedRegressor):
    """A mean of predictions by members of which each training row is left out of some."""

    def predict_quantiles(
        self, X: MatrixLike, quantiles: float | Sequence[float] | ArrayLike = (0.05, 0.5, 0.95)
    ) -> np.ndarray:
        """Predict quantiles of the target, from the training rows in the leaves of the trees.

        With L_b(x) the leaf of x in tree b of B, and v_bi the weight with which training row i
        was fitted in it (how often it was drawn, times its sample weight where rows keep theirs),
        row i has at x the weight [Meinshausen, 2006]

            w_i(x) = 1/B sum_b v_bi 1{i in L_b(x)} / sum_{j in L_b(x)} v_bj,

        and F(y | x) = sum_i w_i(x) 1{y_i <= y}. The quantile of level a is the smallest target y
        of a training row of positive weight with F(y | x) >= a. The mean of this distribution is
        the prediction of trees that minimise the squared error.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        quantiles : float or array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            Levels from 0 to 1, in any order.

        Returns
        -------
        y : ndarray of shape (n_samples, n_quantiles) or (n_samples,)
            Quantiles, in the units of y; one dimension for a single number as `quantiles`.

        Raises
        ------
        ValueError
            If the members are not trees, if y has several columns, if `quantiles` is not between 0
            and 1, or after `forget_training_rows`.

        Notes
        -----
        The distribution is that of the target, with its noise: with enough rows in the leaves its
        quantiles are wider apart where the noise is larger. Fully grown trees have a single row in
        most leaves, which is enough if there are many trees. There is no guarantee for finite
        samples; for that see `predict_interval`.

        Cost: the first call assigns the training rows to leaves, O(n B depth), and keeps O(n B)
        numbers; then for a row O(B depth + K log K), with K the number of rows in its leaves.

        References
        ----------
        N. Meinshausen (2006). "Quantile regression forests". *Journal of Machine Learning
        Research* 7.
        """
        return predicted_quantiles(self, X, quantiles)

    predict_cdf = predict_cdf
    predict_functional = predict_functional

    def predict_interval(
        self,
        X: MatrixLike,
        coverage: float = 0.9,
        method: str = "jackknife+",
        side: Literal["both", "lower", "upper"] = "both",
        by: Any = None,
    ) -> np.ndarray:
        """Predict intervals that contain the target of a new row with a given probability.

        Each training row i is predicted by the members that are not fitted to it, with mean
        mu_i(x_i) and residual R_i = abs(y_i - mu_i(x_i)). Let mu be the prediction, alpha = 1 -
        `coverage`, and q of n numbers the ceil((1 - alpha) (n + 1))-th smallest of them:

        - `"jackknife+"` is the jackknife+ after bootstrap: from the floor(alpha (n + 1))-th
          smallest mu_i(x) - R_i to q of mu_i(x) + R_i.
        - `"conformal"` is mu(x) ± q of R_i.
        - `"normalized"` is mu(x) ± s(x) q of R_i / s_i(x_i), with s the mean of trees that are
          fitted to the R_i. It is wide where targets are noisy, and short where they are not.
        - `"quantile"` is the interval between the alpha/2 and the 1 - alpha/2 quantile of
          `predict_quantiles`, made wider at both ends by q of max(l_i - y_i, y_i - u_i), with l_i
          and u_i the quantiles at x_i from the trees that are not fitted to row i. Where this
          number is negative the interval becomes shorter.
        - `"enbpi"`, for time series, is the prediction plus two quantiles of the residuals
          y_i - mu_i(x_i), of levels beta and 1 - alpha + beta with the beta of the narrowest
          interval; `"enbpi-symmetric"` is the prediction plus and minus a quantile of R_i [Xu and
          Xie, 2023]. `update_residuals` replaces the oldest residuals by those of new rows. Fit
          with `bootstrap="moving_block"`, for residuals of rows that are not near to drawn ones.

        The noise decides: take `"normalized"` where it depends on x, and the default where all
        targets are about as noisy or a guarantee is needed. `"quantile"` follows the noise less
        closely, but its ends are at different distances from the prediction where the noise is
        skewed. For time series there is `"enbpi"`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.

        coverage : float, default=0.9
            The probability 1 - alpha aimed at, on average over the rows.

        method : str, default="jackknife+"
            How the interval is computed, one of the six above.

        side : {"both", "lower", "upper"}, default="both"
            Which ends there are; the other one is infinite. A single end is computed from residuals
            with their sign, or from the alpha or 1 - alpha quantile.

        by : int, str, callable or tuple of two arrays, default=None
            Groups of rows of which each is to be covered with this probability (Mondrian conformal
            prediction): an interval is computed from the residuals of the training rows with the
            value of its own row. A feature, by its number or name; or a function of an array of
            rows, which returns their values; or the values of all training rows and those of the
            rows of X. It has nothing to do with the `groups` of `fit`, units that are drawn
            together. A function gets the rows as the trees do: numbers in single precision, those
            of categories in the order of `categories_`.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends, in the units of y; infinite if there are too few training rows,
            (n + 1) `coverage` > n. A row that all members are fitted to has an infinite residual.

        Raises
        ------
        ValueError
            If there are no out-of-bag rows, if rows have different weights, if y has several
            columns, if the members are not trees and were fitted without `oob_score=True`, if
            "normalized", "quantile" or a feature or function as `by` is asked for and they are not
            trees, for "normalized" if X is sparse, if a value of `by` has fewer training rows than
            `coverage` / (1 - `coverage`), or if a parameter is outside its range.

        Notes
        -----
        *Guarantees.* `"jackknife+"` covers rows that are exchangeable with the training rows with a
        probability of at least 1 - 2 alpha, whatever their distribution, with `by` those of each
        value; usually it is about 1 - alpha. The theorem of [Kim, Xu and Barber, 2020] is for a
        number of members that is itself drawn, from a binomial distribution with the probability
        (1 - 1/(n + 1))^s that a row is not among s draws with replacement, or 1 - s/(n + 1)
        without; for a fixed number it holds approximately, if there are many members. See
        :func:`~sklearn_ensemble_theory.bounds.jackknife_plus_coverage_bound`. The other three
        compare errors of the members outside of a row with errors of all members. They cover about
        1 - alpha in simulations (see the user guide), without a guarantee for finite samples.

        *Coverage is an average over rows.* Intervals of "jackknife+" and "conformal" have about the
        same width everywhere: where the noise is larger than on average they are too short. The
        others follow the noise as far as the trees have found where it is large, which takes some
        hundreds of rows.

        *The scale* of "normalized" is the mean of 50 trees with leaves of at least 20 rows, and at
        least a hundredth of the mean residual. Tree b is fitted to the draw of member b, and
        s_i(x_i) is the mean of the trees that are not fitted to row i. The spread of the members
        would be another scale. It contains what members do not know besides the noise, and
        follows the true scale less closely.

        Of an ensemble fitted with `groups` a row is predicted by the members without its group,
        and intervals are for one row of a new group: the n_g rows of each of G groups have the
        shares 1/((G + 1) n_g) in place of 1/(n + 1) [Lee, Barber and Willett, 2023], and the
        guarantee is that of exchangeable groups. With `bootstrap="moving_block"` there is none: the
        rows of a time series are not exchangeable, and a row next to a drawn block is correlated
        with it. Those of "enbpi" cover asymptotically, if the errors of the series are stationary
        and strongly mixing and the predictions out of bag converge to the regression function; of
        finitely many rows there is no guarantee, and the narrowest interval covers somewhat less
        than the symmetric one. After a change of the noise they cover again when the window has
        passed it.

        Cost: that of predictions. For `"jackknife+"` in addition, for each row and in blocks of
        bounded memory, up to n B / 8 additions of integers of 16 bits; if rounding would leave many
        rows in doubt, n B multiplications in single precision. The rows that decide are computed
        again in double precision. With G groups G B multiplications and a sort of n numbers for
        each row. For "normalized" the predictions of 50 small trees, for "quantile" those of
        `predict_quantiles`.
        The first call after a fit without `oob_score=True` predicts all training rows; that of
        "normalized" fits its trees, that of "quantile" assigns the training rows to leaves.

        References
        ----------
        B. Kim, C. Xu and R. F. Barber (2020). "Predictive inference is free with the jackknife+
        after bootstrap". *Advances in Neural Information Processing Systems* 33.

        Y. Lee, R. F. Barber and R. Willett (2023). "Distribution-free inference with hierarchical
        data". arXiv:2306.06342.

        U. Johansson, H. Boström, T. Löfström and H. Linusson (2014). "Regression conformal
        prediction with random forests". *Machine Learning* 97.

        C. Xu and Y. Xie (2023). "Conformal prediction for time series". *IEEE Transactions on
        Pattern Analysis and Machine Intelligence* 45(10).

        Y. Romano, E. Patterson and E. J. Candès (2019). "Conformalized quantile regression".
        *Advances in Neural Information Processing Systems* 32.

        V. Vovk, A. Gammerman and G. Shafer (2005). *Algorithmic Learning in a Random World*,
        section 4.5, Mondrian conformal predictors. Springer.

        Examples
        --------
        The noise grows with the first feature.

        >>> import numpy as np
        >>> from sklearn_ensemble_theory import RandomForestRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.random((1000, 2))
        >>> y = X[:, 1] + 2 * X[:, 0] * rng.standard_normal(1000)
        >>> forest = RandomForestRegressor(random_state=0).fit(X, y)
        >>> new = [[0.1, 0.5], [0.9, 0.5]]
        >>> np.diff(forest.predict_interval(new)).ravel().round()
        array([4., 4.])
        >>> np.diff(forest.predict_interval(new, method="normalized")).ravel().round()
        array([1., 5.])
        >>> by_half = forest.predict_interval(new, by=lambda rows: rows[:, 0] > 0.5)
        >>> np.diff(by_half).ravel().round()
        array([2., 5.])
        >>> forest.predict_interval(new, side="upper").shape
        (2, 2)
        """
        if method in WINDOW_METHODS and by is None:
            return window_interval(self, X, coverage, method, side)
        return prediction_interval(self, X, coverage, method, side, by)

    update_residuals = update_residuals

    forget_training_rows = forget_training_rows


class AveragedClassifier(ClassifierMixin):
    """A mean of class probabilities, or of votes.

    The class that it completes has the methods `_validate_X(X)` and `_mean_prediction(X, method,
    params)` and the parameter `voting`.
    """

    # Whether y may have several outputs, as for the trees of a forest.
    _several_outputs: ClassVar[bool] = False

    def _check_learner(self, estimator: BaseEstimator) -> None:
        if not is_classifier(estimator):
            raise ValueError(
                f"estimator must be a classifier, got {type(estimator).__name__}, whose "
                "predictions are no labels."
            )

    def _encode_y(self, y: np.ndarray) -> tuple[np.ndarray, dict]:
        several = self._several_outputs and y.ndim == 2 and y.shape[1] > 1
        y = y if several else one_column(y)
        check_classification_targets(y)
        if not several:
            classes, codes = np.unique(y, return_inverse=True)
            target = {"classes_": classes, "n_classes_": len(classes)}
            return codes, {**target, "n_outputs_": 1} if self._several_outputs else target
        pairs = [np.unique(column, return_inverse=True) for column in y.T]
        outputs = [labels for labels, _ in pairs]
        codes = np.column_stack([inverse.ravel() for _, inverse in pairs])
        return codes + first_codes(outputs), {
            "classes_": outputs,
            "n_classes_": [len(labels) for labels in outputs],
            "n_outputs_": len(outputs),
        }

    def _prediction_method(self, estimator: BaseEstimator) -> str:
        soft = self.voting == "soft" and hasattr(estimator, "predict_proba")
        return "predict_proba" if soft else "vote"

    @by_chunks
    def predict(self, X: MatrixLike, **params: object) -> np.ndarray:
        """The class of the largest mean probability, or of the most votes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        **params : dict
            Routed to the members' method where metadata routing is enabled.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels. Of equal classes the first or last in `classes_`, as `ties` says.

        Notes
        -----
        Cost: one prediction of each member.
        """
        raise_for_params(params, self, "predict")
        proba = self._mean_proba(X, member_params(self, params, "predict"))
        if isinstance(self.classes_, list):
            parts = split_outputs(proba, self.classes_)
            return labels_by_output(parts, self.classes_, self.ties)
        return self.classes_.take(largest_column(proba, self.ties))

    @by_chunks
    def predict_proba(self, X: MatrixLike, **params: object) -> np.ndarray:
        """Mean of the members' class probabilities; shares of their votes if `voting="hard"`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        **params : dict
            Routed to the members' method where metadata routing is enabled.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of `classes_`. A member without `predict_proba` gives its vote;
            a member whose rows lacked a class gives that class probability 0.

        Notes
        -----
        Cost: one prediction of each member.
        """
        raise_for_params(params, self, "predict_proba")
        proba = self._mean_proba(X, member_params(self, params, "predict_proba"))
        return split_outputs(proba, self.classes_)

    @by_chunks
    def predict_log_proba(self, X: MatrixLike, **params: object) -> np.ndarray:
        """Logarithm of the probabilities of `predict_proba`, -inf for 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        **params : dict
            Routed to the members' method where metadata routing is enabled.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Natural logarithms of the mean probabilities. They are computed from the members'
            logarithms where the members have `predict_log_proba`, so that very small probabilities
            do not underflow to 0.

        Notes
        -----
        Cost: one prediction of each member.
        """
        raise_for_params(params, self, "predict_log_proba")
        check_is_fitted(self)
        params = member_params(self, params, "predict_log_proba")
        if self.voting == "soft" and hasattr(self.estimator_, "predict_log_proba"):
            log_proba = self._mean_prediction(self._validate_X(X), "predict_log_proba", params)
        else:
            with np.errstate(divide="ignore"):
                log_proba = np.log(self._mean_proba(X, params))
        return split_outputs(log_proba, self.classes_)

    def _mean_proba(self, X: MatrixLike, params: dict) -> np.ndarray:
        """The mean probabilities, or shares of votes, of the classes of all outputs."""
        check_is_fitted(self)
        method = self._prediction_method(self.estimator_)
        return self._mean_prediction(self._validate_X(X), method, params)

    def error_bound(
        self,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        delta: float | None = None,
        method: str = "markov",
    ) -> float:
        """Bound on the error of the ensemble, from held-out rows or from the rows out of bag.

        The loss of a member on a row is 1 where it errs; with `voting="soft"` it is 1 - p, with p
        the probability that it gives to the label. The ensemble errs only where the mean loss of
        its members is at least 1/2.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows that were not used in `fit`, or in its choice. None for the training rows, each
            for the members that it was not drawn for: no rows need to be held out.

        y : array-like of shape (n_samples,), default=None
            Their labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for `method="markov"`.

        delta : float, default=None
            `None` bounds the error on the given rows. A number in (0, 1] bounds the probability
            of an error on a new row, with probability 1 - delta over the given rows, which must be
            independent draws from the same distribution. Without X it must be given.

        method : str, default="markov"
            What the bound is computed from:

            - `"markov"`: twice the mean loss of the members on held-out rows, with Hoeffding's
              inequality [Ghoshdastidar, theorem En.1]. See
              :func:`~sklearn_ensemble_theory.bounds.held_out_voting_error_bound`.
            - `"first-order"`: the same with the inequality for kl, also for out-of-bag rows. See
              :func:`~sklearn_ensemble_theory.bounds.majority_vote_bound`.
            - `"tandem"`: four times the mean product of the losses of two members. See
              :func:`~sklearn_ensemble_theory.bounds.majority_vote_bound`.
            - `"c-bound"`: by losses and disagreements. See
              :func:`~sklearn_ensemble_theory.bounds.majority_vote_bound`.
            - `"chebyshev-cantelli"`: by losses and their products. See
              :func:`~sklearn_ensemble_theory.bounds.majority_vote_bound`.
            - `"binomial"`: the errors of the ensemble itself on held-out rows. See
              :func:`~sklearn_ensemble_theory.bounds.held_out_error_bound`.

        Returns
        -------
        bound : float
            At most 1.

        Raises
        ------
        ValueError
            If there are several outputs, a parameter is outside its range, or rows have weights
            that the method does not take. Without X and y also if no rows are out of bag for some
            pair of members, if the members are not trees, after `forget_training_rows`, and for
            rows that are not independent of the draws.

        Notes
        -----
        With enough held-out rows `"binomial"` is the smallest bound: it is about the ensemble alone
        and has no factor. The others are for ensembles that are fitted to all rows. The votes of a
        row by the members outside of it do not give a bound on the error of the ensemble, as they
        are those of other ensembles that share members; but each member, and each pair of members,
        has independent rows outside, and this is all that these bounds need. They hold for
        members that depend on no row outside of them. Of many rows the bins of the columns depend
        on X, but not y, of all rows; with `max_bins=None` the bounds are exact. Of an ensemble
        fitted with `groups` they are for a row of a new group, and groups count in place of rows.

        `"first-order"` is the smallest where few rows are out of bag for pairs of members, about
        0.13 n with the bootstrap, or where members err together; `"tandem"` and
        `"chebyshev-cantelli"` are for many rows, or a small `max_samples`. `"c-bound"` is seldom
        the smallest.

        Cost: one call of each member. For pairs of B members in addition O(n B²) in products of
        matrices, by blocks of rows, kept for further calls without X.

        References
        ----------
        D. Ghoshdastidar. *Statistical Foundations of Learning*, lecture "Ensemble methods".
        Technical University of Munich.

        A. R. Masegosa, S. S. Lorenzen, C. Igel and Y. Seldin (2020). "Second order PAC-Bayesian
        bounds for the weighted majority vote". *Advances in Neural Information Processing Systems*
        33.
        """
        check_is_fitted(self)
        one_of("method", method, ("markov", "binomial", *BY_MEMBERS))
        if not isinstance(self.classes_, np.ndarray):
            raise ValueError("error_bound needs a single output; y of the fit has several.")
        if X is None and y is None:
            if sample_weight is not None:
                raise ValueError("sample_weight is for held-out rows: give X and y with it.")
            return out_of_bag_bound(self, method, delta)
        if X is None or y is None:
            raise ValueError("error_bound needs both of X and y, or neither of them.")
        weight = None if sample_weight is None else checked_weights(sample_weight, X)
        if method != "markov":
            is_direct = method == "binomial"
            wrong = are_wrong(y, self.predict(X), self.classes_) if is_direct else None
            blocks = self._member_losses(X, y)
            return held_out_bound(method, wrong, blocks, self._vote_weights(), weight, delta)
        proba = self.predict_proba(X)
        code, known = codes_of_labels(y, self.classes_, len(proba))
        shares = np.clip(proba[np.arange(len(proba)), code], 0.0, 1.0) * known
        return held_out_voting_error_bound(shares, weight, delta)

    def _vote_weights(self) -> np.ndarray:
        return np.full(len(self.estimators_), 1 / len(self.estimators_))

    def _each_prediction(self, X: MatrixLike, method: str) -> Iterator[np.ndarray]:
        return each_prediction(self, X, method)

    def _member_losses(self, X: MatrixLike, y: ArrayLike) -> Iterator[np.ndarray]:
        """The losses of all members, of shape (m, B), for consecutive blocks of rows."""
        X, method = self._validate_X(X), self._prediction_method(self.estimator_)
        codes, known = codes_of_labels(y, self.classes_, X.shape[0])
        step = max(1, LOSSES // len(self.estimators_))
        for start in range(0, X.shape[0], step):
            part = slice(start, start + step)
            own = codes[part]
            columns = [
                found[np.arange(len(own)), own] * known[part]
                for found in self._each_prediction(rows_of(X, part), method)
            ]
            yield np.clip(1 - np.column_stack(columns), 0.0, 1.0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self._several_outputs:
            tags.classifier_tags.multi_label = True
            tags.target_tags.multi_output = True
        return tags


class BaggedClassifier(AveragedClassifier):
    """A mean of probabilities by members of which each training row is left out of some."""

    def predict_set(
        self,
        X: MatrixLike,
        coverage: float = 0.9,
        *,
        method: Literal["lac", "aps", "raps"] = "lac",
        per_class: bool = False,
        randomized: bool = False,
        penalty: float = 0.05,
        k_reg: int = 1,
        random_state: RandomStateLike = None,
    ) -> np.ndarray:
        """Predict sets of classes that contain the class of a new row with a given probability.

        Each training row has a score s_y(x): that of its class by the members that are not fitted
        to it. A class c is in the set of x if fewer than `coverage` (n + 1) of the n training rows
        have a smaller score than s_c(x).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.

        coverage : float, default=0.9
            The probability aimed at, on average over the rows.

        method : {"lac", "aps", "raps"}, default="lac"
            The score s_c(x) of a class c, with p the probabilities at x:

            - ``"lac"``: 1 - p_c, for the smallest sets on average; rows that are hard to classify
              are covered less often than easy ones [Sadinle, Lei and Wasserman, 2019];
            - ``"aps"``: the total probability of the classes that are more probable than c, plus U
              times that of c and of those as probable, with U uniform on (0, 1), for a similar
              coverage of easy and hard rows [Romano, Sesia and Candès, 2020];
            - ``"raps"``: that of "aps" plus `penalty` for each class beyond the first `k_reg`, for
              smaller sets where there are many classes [Angelopoulos, Bates, Jordan and Malik,
              2021].

        per_class : bool, default=False
            Whether each class is compared with the training rows of this class only, so that the
            coverage is that of each class. A class of too few rows, (n_c + 1) `coverage` > n_c, is
            in all sets.

        randomized : bool, default=False
            Whether U is drawn, and ties are broken at random, so that the coverage is not larger
            than asked for either; sets may then be empty. Otherwise sets of "aps" and "raps" have
            at least one class: they are compared with the mean over U of the training rows, and U
            is 0 at x, which covers more often.

        penalty : float, default=0.05
            Of "raps", at least 0.

        k_reg : int, default=1
            Of "raps", at least 0: the number of classes without a penalty.

        random_state : int, RandomState instance or None, default=None
            Of the numbers drawn with ``randomized=True``.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Whether each class of `classes_` is in the set. A set of "lac" may be empty, where no
            class is probable enough; it contains all classes if there are too few training rows,
            (n + 1) `coverage` > n.

        Raises
        ------
        ValueError
            If there are no out-of-bag rows, if rows have different weights, if the members are not
            trees and were fitted without `oob_score=True`, or if a parameter is not valid.

        Notes
        -----
        If the scores of the training rows and of the new one are exchangeable the coverage is at
        least `coverage`, whatever the probabilities are, and equal to it with ``randomized=True``
        and no groups. Here they nearly are: the scores are those of the members outside of a row
        and the sets are those of all members, so that there is no guarantee for finite samples.
        Coverage is an average over rows and, without `per_class`, over classes: a rare class may be
        covered less often. No method has a guarantee for the rows of a given x. Of an ensemble
        fitted with `groups` the sets are for one row of a new group, see `predict_interval` of the
        regressors.

        Cost: that of predictions, and O(log n + log K) for each row and class. The first call after
        a fit without `oob_score=True` predicts all training rows.

        References
        ----------
        M. Sadinle, J. Lei and L. Wasserman (2019). "Least ambiguous set-valued classifiers with
        bounded error levels". *Journal of the American Statistical Association* 114.

        Y. Romano, M. Sesia and E. J. Candès (2020). "Classification with valid and adaptive
        coverage". *Advances in Neural Information Processing Systems* 33.

        A. N. Angelopoulos, S. Bates, M. I. Jordan and J. Malik (2021). "Uncertainty sets for image
        classifiers using conformal prediction". *International Conference on Learning
        Representations*.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn_ensemble_theory import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> X = X[:, :2]  # the sepals alone do not tell two of the species apart
        >>> forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=0)
        >>> forest.fit(X[::2], y[::2]).predict_set(X[1::50], method="aps")
        array([[ True,  True,  True],
               [False,  True,  True],
               [False,  True,  True]])
        """
        check_is_fitted(self)
        rule = SetRule(coverage, method, per_class, randomized, penalty, k_reg, random_state)
        return prediction_set(self, X, rule)

    forget_training_rows = forget_training_rows


def staged_mean_proba(self: AveragedClassifier, X: MatrixLike) -> Iterator[np.ndarray]:
    """The mean probabilities, or shares of votes, of the first 1, 2, ... members."""
    check_is_fitted(self)
    method = self._prediction_method(self.estimator_)
    total = np.zeros(1)
    for t, found in enumerate(each_prediction(self, self._validate_X(X), method), 1):
        total = total + found
        yield total / t


# --- several outputs ------------------------------------------------------------------------------


def first_codes(outputs: Sequence[np.ndarray]) -> np.ndarray:
    """The first code of each output, from the classes of the outputs."""
    return np.cumsum([0, *map(len, outputs)])[:-1]


def split_outputs(columns: np.ndarray, classes: np.ndarray | list[np.ndarray]):
    """Columns of the classes of all outputs as users get them: one output has them all."""
    if not isinstance(classes, list):
        return columns
    return np.split(columns, first_codes(classes)[1:], axis=1)


def labels_by_output(
    proba: list[np.ndarray], classes: list[np.ndarray], ties: str = "first"
) -> np.ndarray:
    """The labels of the largest probabilities, of shape (n, k)."""
    pairs = zip(proba, classes)
    return np.column_stack([labels[largest_column(part, ties)] for part, labels in pairs])


# --- out-of-bag scores ----------------------------------------------------------------------------


def check_metric(oob_score: bool | Callable) -> None:
    """Raise an error if `oob_score` is callable, but no function of two arguments."""
    if not callable(oob_score):
        return
    try:
        inspect.signature(oob_score).bind(None, None)
        of_two = not inspect.isclass(oob_score)
    except TypeError:
        of_two = False
    except ValueError:  # a compiled function that does not tell its arguments
        of_two = True
    if not of_two:
        raise ValueError(
            "oob_score must be a bool or a function of y and of the predictions, got "
            f"{oob_score!r}."
        )


def out_of_bag_score(
    oob_score: bool | Callable,
    y: np.ndarray,
    classes: np.ndarray | list[np.ndarray] | None,
    ties: str = "first",
) -> Score:
    """`score(rows, predictions)` of out-of-bag predictions on the training rows `rows`.

    `classes` are the labels of the codes in y, a list of those of several outputs; None for
    regression. The metric is R² or accuracy where the user gave none.
    """
    given = oob_score if callable(oob_score) else r2_score if classes is None else accuracy_score
    if given is r2_score and classes is None:
        exponent = range_exponent(y)  # squares of the targets should not overflow

        def r2(rows: np.ndarray, mean: np.ndarray) -> float:
            if len(rows) < 2:  # too few for a coefficient of determination
                return np.nan
            if exponent:
                return r2_score(np.ldexp(y[rows], -exponent), np.ldexp(mean, -exponent))
            return r2_score(y[rows], mean)

        return r2

    def metric(targets: np.ndarray, predictions: np.ndarray) -> float:
        value = given(targets, predictions)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ValueError(f"oob_score must return a number, got {value!r}.") from None

    if classes is None:
        return lambda rows, mean: metric(y[rows], mean)
    if not isinstance(classes, list):
        labels = classes[y]
        return lambda rows, mean: metric(labels[rows], classes[largest_column(mean, ties)])

    codes = y - first_codes(classes)
    kind = type_of_target(codes)
    if kind == "multiclass-multioutput":
        raise ValueError(
            f"The type of target cannot be used to compute OOB estimates. Got {kind} while "
            "only the following are supported: continuous, continuous-multioutput, binary, "
            "multiclass, multilabel-indicator."
        )
    # Accuracy is of rows that are right in all outputs, whatever the labels are.
    names = classes if callable(oob_score) else [np.arange(len(labels)) for labels in classes]
    labels = np.column_stack([name[column] for column, name in zip(codes.T, names)])
    return lambda rows, mean: metric(
        labels[rows], labels_by_output(split_outputs(mean, classes), names, ties)
    )
