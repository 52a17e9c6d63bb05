"""Divide and conquer for any regressor or classifier [Bach, §10.1.1].

The rows are cut into disjoint blocks, a clone of the learner is fitted to each, and the members'
predictions are averaged, perhaps by the inverse of their risks on the rows of the other blocks. The
blocks of a Dask collection are its chunks: each member is fitted where its chunk is.
"""

import heapq
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import column_or_1d

from sklearn_ensemble_theory._categories import fitted_encoder, numbered_learner
from sklearn_ensemble_theory._compat import (
    HasMethods,
    Interval,
    StrOptions,
    check_constraints,
    check_method_params,
    raise_for_params,
)
from sklearn_ensemble_theory._documentation import documented
from sklearn_ensemble_theory._door import ReadsOnce, fit_context
from sklearn_ensemble_theory._features import Features
from sklearn_ensemble_theory._learners import (
    GROUPS_ON_REQUEST,
    coded_learner,
    has_input_tag,
    is_tree,
    refuses_one_class,
    without_weights,
)
from sklearn_ensemble_theory._rows import (
    ChunkedRows,
    group_codes,
    positive_rows,
    positive_weights,
    validate_data,
)
from sklearn_ensemble_theory._running import MAX_SEED, in_order, random_state_names, seeded
from sklearn_ensemble_theory._scaling import largest_magnitude, within_range
from sklearn_ensemble_theory._typing import ArrayLike, Estimator, MatrixLike, RandomStateLike
from sklearn_ensemble_theory.bounds import divide_and_conquer_n_blocks
from sklearn_ensemble_theory.ensembles._predictions import member_predictions
from sklearn_ensemble_theory.trees._binned_tree import told_apart
from sklearn_ensemble_theory.trees._sklearn_trees import (
    add_to_outputs,
    as_ranks,
    check_counts,
    fitted_in_units,
    single_precision_if_finite,
    target_offset,
)

from ._averages import (
    AveragedClassifier,
    AveragedRegressor,
    check_learner,
    member_params,
    member_router,
)
from ._bags import takes_sample_weight
from ._learner_blocks import (
    LearnerBlock,
    LearnerRows,
    facts_of_block,
    naming_chunk,
    of_learner_rows,
    recoded,
)

# Whatever the base learner accepts.
ROW_CHECKS: dict[str, Any] = {
    "accept_sparse": ["csr", "csc"],
    "dtype": None,
    "ensure_all_finite": False,
}
# Rows that are predicted together: of so many values, or so many rows.
MOST_VALUES, LEAST_ROWS = 2**21, 2**10
# Risks below this share of the largest count as equal, so that no weight is infinite.
SMALLEST_RISK = 1e-9

CONSTRAINTS: dict[str, list] = {
    "estimator": [HasMethods(["fit", "predict"]), None],
    "n_blocks": [Interval(Integral, 1, None, closed="left"), StrOptions({"rate"})],
    "weighting": [StrOptions({"risk", "size", "uniform"})],
    "shuffle": ["boolean"],
    "stratify": ["boolean", StrOptions({"auto"})],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
}

BLOCKS_TEXTS = {
    "n_blocks": """
        n_blocks : int or "rate", default="rate"
            Number m of blocks; at most the number of rows. `"rate"` is
            :func:`~sklearn_ensemble_theory.bounds.divide_and_conquer_n_blocks`, n^(2/(d+2)): the
            largest number for which nearest neighbours keep the optimal rate, which then is the
            best number for any cost n^b with b > 1. It is 1, which saves nothing, below 2^((d+2)/2)
            rows: 2,048 for 20 features, 65,536 for 30. Give a number there. Kernel ridge regression
            of 8,000 rows took 1/100 of the time of a single fit for 3 features (36 blocks), 1/10
            for 10 (4 blocks).
        """,
    "shuffle": """
        shuffle : bool, default=True
            Whether rows are assigned to blocks at random. If False, blocks are consecutive rows.
            The chunks of Dask collections are blocks as they are, and their rows should be a random
            sample.
        stratify : bool or "auto", default="auto"
            Whether the values of y are spread evenly over the blocks; "auto" does so for classes,
            but not for the chunks of Dask collections.
        n_jobs : int, default=None
            Number of blocks fitted in parallel. The model does not depend on it.
        random_state : int, RandomState instance or None, default=None
            Seed of the blocks and of the members' own randomness.
        """,
    "attributes": """
        n_blocks_ : int
            Number of blocks.
        blocks_ : ndarray of shape (n_samples,)
            Block of every training row; -1 for rows of weight 0. Not set by a fit of Dask
            collections.
        block_weights_ : ndarray of shape (n_blocks_,)
            Weights of the members, of sum 1.
        """,
}
"""Text that the two classes share."""


def squared_errors(y: np.ndarray, predictions: np.ndarray, size: float) -> np.ndarray:
    """The mean squared error of each row, in units of `size`."""
    with np.errstate(over="ignore"):
        squares = (y / size - predictions / size) ** 2
    # Capped, so that sums over rows are finite where a member predicts far away.
    return np.minimum(squares.reshape(len(y), -1).mean(axis=1), np.finfo(float).max ** 0.5)


def brier_scores(y: np.ndarray, predictions: np.ndarray, size: float) -> np.ndarray:
    """The Brier score of each row, halved to be between 0 and 1."""
    targets = y[:, None] == np.arange(predictions.shape[1])
    return ((predictions - targets) ** 2).sum(axis=1) / 2


class BaseDivideAndConquer(MetaEstimatorMixin, ReadsOnce, BaseEstimator):
    """The fit to disjoint blocks of the rows; not for direct use."""

    estimator: BaseEstimator | None
    n_blocks: int | Literal["rate"]
    weighting: Literal["risk", "size", "uniform"]
    shuffle: bool
    stratify: bool | Literal["auto"]
    n_jobs: int | None
    random_state: RandomStateLike
    _stratifies_by_default: bool
    _row_errors: Callable[[np.ndarray, np.ndarray, float], np.ndarray]

    _parameter_constraints: dict = CONSTRAINTS

    __metadata_request__fit = GROUPS_ON_REQUEST

    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Cut the rows into blocks, and fit a clone of the estimator to each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows, or a Dask collection. Sparse, missing and infinite values are accepted
            where the estimator accepts them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, or a Dask collection.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, passed to the estimator. Rows of weight 0 are left out. May be a
            Dask collection.
        groups : array-like of shape (n_samples,), default=None
            Rows of the same group are put into the same block, for rows that are not independent.
            Blocks then have different sizes, and `stratify` is not used.
        **fit_params : dict
            Routed to the estimator's `fit` where metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted ensemble.

        Raises
        ------
        ValueError
            If there are more blocks than rows (of positive weight) or groups, or the estimator does
            not accept sample weights.

        Notes
        -----
        Cost: m fits to n/m rows, O(n log n) for the blocks, and for `weighting="risk"` the
        prediction of n rows by every member.

        A row of weight 2 is in one block, and counts as one row for `n_blocks="rate"`; two equal
        rows may be in two blocks. The blocks of Dask collections are the chunks that have rows of
        positive weight (:ref:`passes-over-chunks`). The chunks should be random samples of all
        rows. `n_blocks` must be "rate" or their number, and `shuffle`, `stratify` and `groups`
        cannot be used. The model is the same as from these blocks in memory with ``shuffle=False``;
        `blocks_` is not set.
        """
        raise_for_params(fit_params, self, "fit")
        estimator: Any = self._get_estimator()
        check_learner(self, estimator)
        X, y = validate_data(self, X, y, multi_output=True, learner=estimator, **ROW_CHECKS)
        estimator = numbered_learner(estimator, fitted_encoder(self))
        y, description = self._encode_y(y)
        estimator = coded_learner(estimator, description.get("classes_"))
        X = X.tocsr() if hasattr(X, "tocsr") else X
        # Rows of weight 0 are in no block: repeating or removing them changes nothing.
        weight, fitted = None, np.arange(len(y))
        if sample_weight is not None:
            numbers, positive = positive_weights(sample_weight, X)
            _check_takes_weight(estimator)
            weight, fitted = np.zeros(len(y)), fitted[numbers]
            weight[fitted] = positive
        params = member_params(self, fit_params, "fit")
        n_blocks = self._number_of_blocks(X, len(fitted), weight is not None)
        rng = check_random_state(self.random_state)
        # A seed a block, so that the model does not depend on the number of jobs. They are drawn
        # before the rows are dealt, so that they do not depend on the number of rows.
        seeds = rng.randint(MAX_SEED, size=n_blocks)
        block = self._cut(X, y, fitted, groups, n_blocks, rng)
        rows_of = [np.flatnonzero(block == b) for b in range(n_blocks)]
        n_classes, n_outputs = (
            description.get("n_classes_", 0),
            description.get("n_outputs_", 1),
        )
        # Workers get their rows only; one process takes them when a member is fitted.
        is_alone = effective_n_jobs(self.n_jobs) == 1
        tasks = (
            delayed(fit_block)(
                estimator,
                int(seed),
                X if is_alone else X[rows],
                y if is_alone else y[rows],
                weight if is_alone or weight is None else weight[rows],
                check_method_params(X, params=params, indices=rows),
                n_classes=n_classes,
                rows=rows if is_alone else None,
            )
            for seed, rows in zip(seeds, rows_of)
        )
        members = list(in_order(tasks, n_jobs=self.n_jobs))

        # The shares of the members: by risks on the rows that they have not seen, sizes, or equal.
        row_weight = np.ones(len(y)) if weight is None else weight / weight.max()
        self.__dict__.pop("block_risks_", None)  # of an earlier fit
        if self.weighting == "risk" and n_blocks > 1:
            # Errors are in units of the largest |y|, so that squares neither overflow nor vanish.
            method, size = self._prediction_method(members[0]), largest_magnitude(y)
            tasks = (
                delayed(_predictions_of_others)(
                    member, method, X, block, b, n_classes=n_classes, n_outputs=n_outputs
                )
                for b, member in enumerate(members)
            )
            risks = []
            for b, predicted in enumerate(in_order(tasks, n_jobs=self.n_jobs)):
                rows = _other_rows(block, b)
                errors = self._row_errors(y[rows], predicted, size)
                risks.append(np.average(errors, weights=row_weight[rows]))
            self.block_risks_ = np.array(risks)
            shares = weights_by_risk(self.block_risks_)
        elif self.weighting == "size":
            # A block of twice the weight has half the variance.
            shares = np.array([row_weight[rows].sum() for rows in rows_of])
        else:
            shares = np.ones(n_blocks)
        self.__dict__.update(description)
        self.estimator_ = estimator
        self.estimators_ = members
        self.n_blocks_ = n_blocks
        self.blocks_ = block
        self.block_weights_ = shares / shares.sum()
        return self

    def _number_of_blocks(self, X: Any, n: int, is_weighted: bool) -> int:
        m = self.n_blocks
        if m == "rate":
            m = divide_and_conquer_n_blocks(n, X.shape[1])
        if m > n:
            what = "rows of positive weight" if is_weighted else "rows"
            raise ValueError(f"n_blocks={m} is larger than the number of {what}, n_samples = {n}.")
        return int(m)

    def _cut(
        self,
        X: Any,
        y: np.ndarray,
        fitted: np.ndarray,
        groups: ArrayLike | None,
        n_blocks: int,
        rng: np.random.RandomState,
    ) -> np.ndarray:
        """Return the block of every row; -1 for rows that are not fitted."""
        strata = None
        if groups is not None:
            groups = group_codes(column_or_1d(groups), X)[fitted]
        elif self.stratify and (self.stratify != "auto" or self._stratifies_by_default):
            if y.ndim > 1:
                raise ValueError("stratify=True requires a single output y.")
            strata = y[fitted]
        block = np.full(len(y), -1, dtype=np.intp)
        block[fitted] = block_of_rows(
            len(fitted), n_blocks, rng if self.shuffle else None, strata=strata, groups=groups
        )
        return block

    def _fit_chunks(self, rows: ChunkedRows) -> None:
        """`fit` of a Dask collection, whose blocks are the chunks that have rows."""
        estimator: Any = self._get_estimator()
        check_learner(self, estimator)
        if self.stratify and self.stratify != "auto":
            raise ValueError(
                "stratify=True spreads the values of y over the blocks, which are the chunks of "
                'the Dask collection here; use stratify="auto".'
            )
        if self.n_blocks != "rate" and self.n_blocks > len(rows.given):
            raise ValueError(
                f"n_blocks={self.n_blocks} is larger than the number of chunks, {len(rows.given)}, "
                "which are the blocks; use n_blocks='rate' or rechunk X."
            )
        # The first pass checks the rows and finds what all blocks must agree on: classes and units.
        unfitted = clone(self)  # without the members of an earlier fit
        encode = type(self)._encode_y
        read, estimator = LearnerRows.of(unfitted, encode, rows, estimator, ROW_CHECKS)
        facts = rows.given.sum(of_learner_rows, read, facts_of_block)
        if facts is None:
            raise ValueError("X has no rows.")
        if facts.weighted:
            _check_takes_weight(estimator)
        facts.warn_of_order(Features.of(rows.meta))
        estimator = coded_learner(estimator, facts.target.get("classes_"))
        chunks = facts.chunks
        m = len(chunks)
        if self.n_blocks not in ("rate", m):
            raise ValueError(
                f"n_blocks={self.n_blocks} is not the number of chunks with rows of positive "
                f"weight, {m}, which are the blocks; use n_blocks='rate' or rechunk X."
            )
        # Members and seeds are those of the blocks in memory, in the order of the chunks.
        seeds = check_random_state(self.random_state).randint(MAX_SEED, size=m)
        by_chunk = dict(zip(chunks, seeds.tolist()))
        # The second pass fits: each member where its chunk is, so that no rows travel.
        found = rows.given.each(
            of_learner_rows, read, _member_of_chunk, estimator, by_chunk, facts.target
        )
        members = [found[number] for number in chunks]
        for name in ("blocks_", "block_risks_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.weighting == "risk" and m > 1:
            # The third pass: members travel to the chunks of the others, and sums come back.
            errors, weights = rows.given.sum(
                of_learner_rows,
                read,
                _squared_errors_of_chunk,
                dict(zip(chunks, members)),
                self._prediction_method(members[0]),
                self._row_errors,
                facts.top_target or 1.0,
                facts.top_weight,
                facts.target,
            )
            self.block_risks_ = errors / weights
            shares = weights_by_risk(self.block_risks_)
        elif self.weighting == "size":
            shares = np.array([facts.weights[number] / facts.top_weight for number in chunks])
        else:
            shares = np.ones(m)
        self.__dict__.update(facts.target)
        self.estimator_ = estimator
        self.estimators_ = members
        if read.encoder is not None:
            self._encoder = read.encoder
        self.n_blocks_ = m
        self.block_weights_ = shares / shares.sum()

    def _validate_X(self, X: MatrixLike) -> Any:
        return validate_data(self, X, reset=False, learner=self._get_estimator(), **ROW_CHECKS)

    def _mean_prediction(self, X: Any, method: str, params: dict[str, Any]) -> np.ndarray:
        """Return the weighted mean of the members' predictions, or its logarithm."""
        n_classes = getattr(self, "n_classes_", 0)
        X = X.tocsr() if hasattr(X, "tocsr") else X
        tasks = (
            delayed(member_predictions)(
                member,
                method,
                X,
                n_classes=n_classes,
                n_outputs=getattr(self, "n_outputs_", 1),
                params=params,
            )
            for member in self.estimators_
        )
        # Added up in the members' order, with one prediction in memory at a time.
        logs = method == "predict_log_proba"
        total: Any = None
        for share, part in zip(
            self.block_weights_, in_order(tasks, n_jobs=self.n_jobs, prefer="threads")
        ):
            part = part + np.log(share) if logs else share * part
            if total is None:
                total = part
            elif logs:
                total = np.logaddexp(total, part)
            else:
                with np.errstate(over="ignore"):  # by rounding, where all are the largest float
                    np.add(total, part, out=total)
        return within_range(total) if method == "predict" else total

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata routing: to the base learner's method that serves each of ours.

        Returns
        -------
        routing : MetadataRouter
            Routing information of the ensemble.
        """
        return member_router(self, self._get_estimator(), self)

    def __len__(self) -> int:
        return len(self.estimators_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimators_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        learner = self._get_estimator()
        tags.input_tags.sparse = has_input_tag(learner, "sparse")
        tags.input_tags.allow_nan = has_input_tag(learner, "allow_nan")
        return tags


@documented(BLOCKS_TEXTS)
class DivideAndConquerRegressor(AveragedRegressor, BaseDivideAndConquer):
    """Fit a regressor to disjoint blocks of the rows and average the fits: fast for many rows.

    Use it for learners whose cost grows faster than the number of rows, such as kernel methods. If
    a fit costs n^b, m fits to n/m rows take m^(b-1) times less work than one fit, and can run in
    parallel. Their mean has about the same error if each of them is fitted with less
    regularisation.

    Parameters
    ----------
    estimator : object, default=None
        The regressor; `None` is a :class:`~sklearn.tree.DecisionTreeRegressor`. Choose its
        parameters for the variance to be divided by m, with a smaller penalty or fewer neighbours
        than for a single fit.
    %(n_blocks)s
    weighting : {"size", "uniform", "risk"}, default="size"
        Weights of the members: proportional to the (weighted) number of rows of their block, equal,
        or proportional to 1/(mean squared error on the rows of all other blocks).
    %(shuffle)s

    Attributes
    ----------
    estimator_ : estimator
        The regressor that the members are clones of.
    estimators_ : list of estimators
        The fitted members, one for each block.
    %(attributes)s
    block_risks_ : ndarray of shape (n_blocks_,)
        With `weighting="risk"` and several blocks: mean squared error of each member on the rows of
        the other blocks, in units of the largest squared target.
    n_outputs_ : int
        Number of targets.
    %(names_in_fit)s

    See Also
    --------
    DivideAndConquerClassifier : The same for classification.
    BaggingRegressor : Members fitted to random rows, to reduce variance and not cost.
    SketchedLinearRegression : For linear models, random combinations of all rows instead of blocks.

    Notes
    -----
    m fits to n/m rows cost m (n/m)^b for an estimator of cost O(n^b) [Bach, exercise 10.2].
    `predict` calls every member once and adds their results up. It needs memory for one member
    (with `n_jobs`, for so many) at a time. The mean of independent blocks would have the bias of
    one member and 1/m of its variance [Bach, §10.1.1]. One block is the estimator itself, fitted to
    all rows. For the number of blocks that keeps the error, see :ref:`divide-and-conquer` in the
    user guide. [Zhang, Duchi and Wainwright, 2015] study averages of blocks for kernel ridge
    regression.

    %(references_Bach)s

    Y. Zhang, J. Duchi and M. Wainwright (2015). "Divide and conquer kernel ridge regression: a
    distributed algorithm with minimax optimal rates". *Journal of Machine Learning Research* 16.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> from sklearn_ensemble_theory import DivideAndConquerRegressor
    >>> from sklearn_ensemble_theory.datasets import make_sine_regression
    >>> X, y = make_sine_regression(1000, random_state=0)
    >>> kernel = KernelRidge(kernel="rbf", gamma=20, alpha=0.1)
    >>> model = DivideAndConquerRegressor(kernel, n_blocks=5, random_state=0).fit(X, y)
    >>> np.bincount(model.blocks_)
    array([200, 200, 200, 200, 200])
    >>> round(model.score(X, y), 2)
    0.84
    """

    _stratifies_by_default = False
    _row_errors = staticmethod(squared_errors)

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_blocks: int | Literal["rate"] = "rate",
        *,
        weighting: Literal["risk", "size", "uniform"] = "size",
        shuffle: bool = True,
        stratify: bool | Literal["auto"] = "auto",
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
    ) -> None:
        self.estimator = estimator
        self.n_blocks = n_blocks
        self.weighting = weighting
        self.shuffle = shuffle
        self.stratify = stratify
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _get_estimator(self) -> BaseEstimator:
        return DecisionTreeRegressor() if self.estimator is None else self.estimator


@documented(BLOCKS_TEXTS)
class DivideAndConquerClassifier(AveragedClassifier, BaseDivideAndConquer):
    """Fit a classifier to disjoint blocks of the rows and let the fits vote: fast for many rows.

    Parameters
    ----------
    estimator : object, default=None
        The classifier; `None` is a :class:`~sklearn.tree.DecisionTreeClassifier`. Choose its
        parameters for the variance to be divided by m; of nearest neighbours, a single one.
    %(n_blocks)s
    voting : {"soft", "hard"}, default="soft"
        Whether the members' probabilities are averaged, where they have them, or their votes.
    weighting : {"size", "uniform", "risk"}, default="size"
        Weights of the members: proportional to the (weighted) number of rows of their block, equal,
        or proportional to 1/(Brier score on the rows of all other blocks). For votes the last is
        1/(error rate).
    %(shuffle)s
    ties : {"first", "last"}, default="first"
        Which of several classes with the same, largest number of votes or mean probability is
        predicted: the first one in `classes_`, as in scikit-learn, or the last one. Of two classes
        "last" is 1{mean >= 1/2} [Ghoshdastidar].

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes_,)
        The class labels, sorted.
    n_classes_ : int
        Number of classes.
    estimator_ : estimator
        The classifier that the members are clones of.
    estimators_ : list of estimators
        The fitted members, one for each block, fitted to the indices of the classes.
    %(attributes)s
    block_risks_ : ndarray of shape (n_blocks_,)
        With `weighting="risk"` and several blocks: half of the Brier score of each member on the
        rows of the other blocks; for votes, their error rate.
    %(names_in_fit)s

    See Also
    --------
    DivideAndConquerRegressor : The same for regression; cost and error are described there.
    sklearn_ensemble_theory.bounds.neighbors_vote_n_blocks : The best m for nearest neighbours.

    Notes
    -----
    Cost: m (n/m)^b for a classifier of cost O(n^b). For nearest neighbours, m blocks with one
    neighbour each are as good as m neighbours in all rows. A vote of votes of several neighbours is
    worse [Bach, exercise 10.1]. A block that contains a single class always predicts it.

    For a classifier without training errors, ``n_blocks=3, voting="hard", weighting="uniform",
    stratify=False`` is the majority of three. Its error is of the best order for every distribution
    [Aden-Ali et al., 2024; Rawal and Zhivotovskiy, 2026].

    %(references_Bach)s

    I. Aden-Ali, M. M. Høgsgaard, K. G. Larsen and N. Zhivotovskiy (2024). "Majority-of-Three: the
    simplest optimal learner?". *Conference on Learning Theory*.

    D. Rawal and N. Zhivotovskiy (2026). "Majority-of-Three is optimal". arXiv:2606.13614.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.svm import SVC
    >>> from sklearn_ensemble_theory import DivideAndConquerClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = DivideAndConquerClassifier(SVC(), n_blocks=4, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.9
    """

    _stratifies_by_default = True
    _row_errors = staticmethod(brier_scores)
    _parameter_constraints: dict = {
        **CONSTRAINTS,
        "voting": [StrOptions({"soft", "hard"})],
        "ties": [StrOptions({"first", "last"})],
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_blocks: int | Literal["rate"] = "rate",
        *,
        voting: Literal["soft", "hard"] = "soft",
        weighting: Literal["risk", "size", "uniform"] = "size",
        shuffle: bool = True,
        stratify: bool | Literal["auto"] = "auto",
        n_jobs: int | None = None,
        random_state: RandomStateLike = None,
        ties: Literal["first", "last"] = "first",
    ) -> None:
        self.estimator = estimator
        self.n_blocks = n_blocks
        self.voting = voting
        self.weighting = weighting
        self.shuffle = shuffle
        self.stratify = stratify
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.ties = ties

    def _vote_weights(self) -> np.ndarray:
        return self.block_weights_

    def _each_prediction(self, X: Any, method: str) -> Iterator[np.ndarray]:
        for member in self.estimators_:
            yield member_predictions(member, method, X, n_classes=self.n_classes_)

    def _get_estimator(self) -> BaseEstimator:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator


# --- blocks and their weights ---------------------------------------------------------------------


def block_of_rows(
    n: int,
    n_blocks: int,
    rng: np.random.RandomState | None,
    *,
    strata: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """Deal the rows to blocks: the block of every row, from 0 to n_blocks - 1.

    Without `rng` the order of the rows is kept, and blocks are consecutive rows. The values of
    `strata` are spread over the blocks: of every n_blocks successive ones in their order, each
    block gets one. Rows of one value of `groups` go to the same block: the largest group first,
    each to the block that has the fewest rows.
    """
    if groups is not None:
        return _blocks_of_groups(groups, n_blocks, rng)
    order = np.arange(n) if rng is None else rng.permutation(n)
    block = np.empty(n, dtype=np.intp)
    if strata is None:
        # Consecutive parts of the order, whose sizes differ by at most one.
        block[order] = np.arange(n) * n_blocks // n
        return block
    # The permutation breaks ties of the stable sort: equal values are in random order.
    # Of every n_blocks successive values each block is dealt one.
    order = order[np.argsort(strata[order], kind="stable")]
    dealt = np.arange(n) % n_blocks
    if rng is not None:  # anew for every n_blocks rows, or block 0 would have the smallest
        keys = np.arange(n) // n_blocks + rng.random_sample(n)
        dealt = dealt[np.argsort(keys, kind="stable")]
    block[order] = dealt
    return block


def _blocks_of_groups(
    groups: np.ndarray, n_blocks: int, rng: np.random.RandomState | None
) -> np.ndarray:
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < n_blocks:
        raise ValueError(
            f"n_blocks={n_blocks} is larger than the number of groups, {len(sizes)}, and a group "
            "is never divided."
        )
    order = np.arange(len(sizes)) if rng is None else rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    # The largest group first, each to the block that is the smallest so far.
    loads = [(0, b) for b in range(n_blocks)]
    block_of_group = np.empty(len(sizes), dtype=np.intp)
    for group in order:
        load, block = heapq.heappop(loads)
        block_of_group[group] = block
        heapq.heappush(loads, (load + int(sizes[group]), block))
    return block_of_group[codes.ravel()]


def weights_by_risk(risks: np.ndarray) -> np.ndarray:
    """Weights in proportion to 1/risk: those of the smallest variance for independent errors."""
    # A risk of 0 for all says nothing against any of them.
    top = risks.max()
    if not top > 0:
        return np.ones(len(risks))
    return 1 / np.maximum(risks / top, SMALLEST_RISK)


# --- one block ------------------------------------------------------------------------------------


def _check_takes_weight(estimator: Estimator) -> None:
    if not takes_sample_weight(estimator):
        raise ValueError(f"sample_weight: estimator={without_weights(estimator)}")


def fit_block(
    estimator: Estimator,
    seed: int,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    params: dict[str, Any],
    *,
    n_classes: int,
    rows: np.ndarray | None = None,
) -> Any:
    """A clone of the estimator, fitted to the rows of a block; all rows of X and y by default."""
    member = clone(estimator)
    if not params:
        member = told_apart(member, X, y, rows=rows)
    if rows is not None:
        y, weight = y[rows], None if weight is None else weight[rows]
        # A tree stores single precision: its rows are taken and converted at once.
        single = single_precision_rows(X, rows) if is_tree(member) and not params else None
        X = X[rows] if single is None else single
        if single is not None:
            check_counts(member, y)
            check_constraints(member)
            X, params = as_ranks(member, single, y), {"check_input": False}
    # Nested estimators too: all that is random follows from the seed of the block.
    names = random_state_names(member)
    if names:
        rng = seeded(seed)
        member.set_params(**{name: rng.randint(MAX_SEED) for name in names})
    if weight is not None:
        params = {**params, "sample_weight": weight}
    try:
        with np.errstate(all="ignore"):  # no warnings from the arithmetic of the estimator
            offset = 0.0 if n_classes else target_offset(member, y)
            if np.all(offset == 0):
                return fitted_in_units(member, X, y, **params)
            member = fitted_in_units(member, X, y - offset, **params)
            add_to_outputs(member, offset)
            return member
    except ValueError as error:
        if n_classes <= 1 or not refuses_one_class(error, y):
            raise  # otherwise the member predicts the class
        return DummyClassifier(strategy="prior").fit(X, y)


def single_precision_rows(X: Any, rows: np.ndarray) -> np.ndarray | None:
    """Rows of X as trees store them; None leaves the check of other values to the tree."""
    if sp.issparse(X) or X.dtype.kind not in "fiub":
        return None
    found = np.empty((len(rows), X.shape[1]), dtype=np.float32)
    step = max(MOST_VALUES // X.shape[1], LEAST_ROWS)
    # A part at a time, as a copy of the rows in double precision would be twice their size.
    for i in range(0, len(rows), step):
        part = single_precision_if_finite(X[rows[i : i + step]])
        if part is None:
            return None
        found[i : i + step] = part
    return found


def _other_rows(block: np.ndarray, b: int) -> np.ndarray:
    return np.flatnonzero((block != b) & (block >= 0))


def _predictions_of_others(
    member: Any,
    method: str,
    X: Any,
    block: np.ndarray,
    b: int,
    *,
    n_classes: int,
    n_outputs: int,
) -> np.ndarray:
    """A member's predictions for the rows of the other blocks, without a copy of all of them."""
    rows = _other_rows(block, b)
    step = max(MOST_VALUES // X.shape[1], LEAST_ROWS)
    parts = [
        member_predictions(
            member, method, X[rows[i : i + step]], n_classes=n_classes, n_outputs=n_outputs
        )
        for i in range(0, len(rows), step)
    ]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _member_of_chunk(
    block: LearnerBlock, estimator: Estimator, seeds: dict[int, int], target: dict[str, Any]
) -> Any:
    if not block.has_weight:
        return None
    X, y, weight = block.X, recoded(block.y, block.target, target), block.weight
    if weight is not None:
        kept = positive_rows(weight)
        X, y, weight = X[kept], y[kept], weight[kept]
    n_classes = target.get("n_classes_", 0)
    with naming_chunk(block.block):
        return fit_block(estimator, seeds[block.block], X, y, weight, {}, n_classes=n_classes)


def _squared_errors_of_chunk(
    block: LearnerBlock,
    members: dict[int, Any],
    method: str,
    row_errors: Callable[[np.ndarray, np.ndarray, float], np.ndarray],
    size: float,
    top_weight: float,
    target: dict[str, Any],
) -> np.ndarray | None:
    """Sums of the weighted squared errors and of the weights, (2, m); 0 for the block's member."""
    if not block.has_weight:
        return None
    y = recoded(block.y, block.target, target)
    weight = np.ones(len(y)) if block.weight is None else block.weight / top_weight
    sums = np.zeros((2, len(members)))
    for b, (number, member) in enumerate(members.items()):
        if number != block.block:
            predicted = member_predictions(
                member,
                method,
                block.X,
                n_classes=target.get("n_classes_", 0),
                n_outputs=target.get("n_outputs_", 1),
            )
            sums[:, b] = weight @ row_errors(y, predicted, size), weight.sum()
    return sums
