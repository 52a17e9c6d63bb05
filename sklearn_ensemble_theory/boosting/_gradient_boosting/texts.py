"""What the docstrings of gradient boosting's classes and methods share; see `_documentation`."""

TEXTS = {
    # --- parameters of both pairs of classes
    "monotonic_cst": """
        monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
            1, -1 or 0 for predictions (of two classes the probability of the second) that
            increase, decrease or are free in a feature, all others fixed. A dict has the signs of
            the constrained features by their names. An `init` estimator is not constrained.
        """,
    "interaction_cst": """
        interaction_cst : {"pairwise", "no_interactions"}, sequence of lists or None, default=None
            Groups of features (indices or names) that may interact: all features on a path of a
            tree are from one group. Features in no group together form one group. "pairwise" allows
            any two features on a path; with "no_interactions" the scores are a sum of functions of
            one feature each.
        """,
    "categorical_features": """
        categorical_features : array-like, "from_dtype", Categories or None, default="from_dtype"
            Which features are categorical, by a mask, their indices or their names. "from_dtype"
            takes the columns of a data frame with the dtype category (pandas) or Categorical or
            Enum (polars). ``Categories(columns, unseen="mean")`` predicts the mean over both
            children of a node for categories that `fit` has not seen, see
            :class:`~sklearn_ensemble_theory.trees.Categories` and `BinnedTreeRegressor`.
        """,
    "class_weight": """
        class_weight : dict, "balanced" or None, default=None
            Weights of the classes, by which `sample_weight` is multiplied: a dict {label: weight},
            or "balanced" for weights that give all classes the same total.
        """,
    "round_verbose": """
        verbose : int, default=0
            1 prints progress every few seconds, 2 in every round. Callbacks of `sklearn.callback`
            (scikit-learn 1.9) are set by `set_callbacks`.
        """,
    # --- parameters of GradientBoosting*
    "base_learner": """
        Parameters
        ----------
        estimator : regressor, default=None
            The base learner. None grows trees that the parameters `max_depth`, `max_features` and
            so on describe: `BinnedTreeRegressor`, whose columns are cut into `max_bins` bins once
            for all rounds. A sparse X gives the same model as the same X as an array, from its
            stored values alone. The exception is a sparse X of more than 2^22 values, zeros
            included. Trees of more than 512 leaves or 8 levels, in more than 255 bins or with
            `max_features` are then scikit-learn's exact `DecisionTreeRegressor`. Give an estimator
            for more options, as in ``BinnedTreeRegressor(max_depth=3, l2_regularization=1)``; the
            parameters that describe the default trees must then keep their defaults. The columns of
            `DecisionStumpRegressor` are sorted once for all rounds. An estimator without such a
            preparation gets data frames and missing values as they are.
        """,
    "rounds_and_rows": """
        learning_rate : float or callable, default=0.1
            Factor of every step. A callable is called with the round t = 0, 1, ... and returns a
            finite number of at least 0.
        n_estimators : int, "cv" or CVRounds, default=100
            The largest number of rounds. "cv" chooses it by cross-validation, and fits so many to
            all rows; ``CVRounds(cv=, rule=, prediction=, scoring=, ...)`` has the options of this
            choice. It ends once 20 rounds and a fifth of the best number so far have followed the
            best, which is looked up every 10 rounds or every tenth of those made.
        subsample : float, default=1.0
            Share of the rows that each round is fitted to, drawn without replacement.
        criterion : {"deprecated", "squared_error", "friedman_mse"}, default="deprecated"
            Has no effect, as in scikit-learn from 1.9 on.
        min_samples_split : int or float, default=2
            Of the default trees, as the other parameters that name them: the number of rows, or the
            share of all rows, that a node needs to be split.
        min_samples_leaf : int or float, default=1
            Of the default trees: the least number of rows, or share of all rows, in a leaf.
        min_weight_fraction_leaf : float, default=0.0
            Of the default trees: the least share of the weight of all rows in a leaf.
        max_depth : int or None, default=3
            Of the default trees: the largest depth; None sets no limit.
        min_impurity_decrease : float, default=0.0
            Of the default trees: a node is split if the squared error, weighted by the share of the
            rows in the node, decreases by at least this.
        """,
    "seed_and_features": """
        random_state : int, RandomState instance or None, default=None
            Seeds the base learners, which also draw between equally good splits, the draws of
            `subsample` and the validation split.
        max_features : int, float, {"sqrt", "log2"} or None, default=None
            Of the default trees: the number or the share of the features that are drawn at each
            node, or the square root or the logarithm of their number. None considers all features.
        """,
    "stopping": """
        max_leaf_nodes : int, default=None
            Of the default trees: if given, nodes are split in the order of their gain until there
            are so many leaves.
        warm_start : bool, default=False
            Continue the previous fit with further rounds, up to `n_estimators`.
        validation_fraction : float, default=0.1
            Share of the rows (of each class) held out if `n_iter_no_change` is given and `X_val` is
            not.
        n_iter_no_change : int, default=None
            Stop if the validation risk is not below one of those of the last `n_iter_no_change`
            rounds by more than `tol`. If you give `X_val` to `fit`, the rounds up to the best score
            of these rows are kept. If not, all rounds are kept, as in scikit-learn. None is no
            early stopping. All risks by "huber" use the delta of the validation rows at the start.
            In scikit-learn the delta of each round falls with the residuals, so the risks fall too.
        tol : float, default=1e-4
            Tolerance of `n_iter_no_change`, as a share of the deviance of the constant model on
            the validation rows, for the squared error their variance: the units of y do not
            matter. With `scoring` in the units of the metric.
        scoring : str, callable or None, default="loss"
            What is recorded of the validation rows, and decides with `n_iter_no_change`. It is the
            loss, which is to fall, or a score, which is to rise: the name of a scikit-learn scorer,
            a scorer ``scorer(estimator, X, y)``, or `score` (None).
            ``n_estimators=CVRounds(scoring=)`` has its own.
        held_out : "cv", int, cross-validation generator, iterable or None, default=None
            Which folds predict the training rows by models that have not seen them, for
            uncertainty. "cv" takes the folds of ``n_estimators="cv"``; you can also give a number
            of folds or a splitter. Splits have to test on each row once. A number or splitter given
            here also has to train on all other rows. The model then keeps its training rows, which
            are part of its pickle. Its methods make further fits to parts of these rows when you
            first call them; see `standard_error`. None keeps nothing, and these methods are hidden.
        ccp_alpha : float, default=0.0
            Of the default trees: the complexity parameter of minimal cost-complexity pruning. Trees
            that are pruned are scikit-learn's exact ones.
        max_bins : int or None, default=255
            Of the default trees: the largest number of bins of a column. None grows scikit-learn's
            exact trees with the draws of its gradient boosting. For the same `random_state` the
            model is then the same, up to rounding and ties between equally good splits.
        %(categorical_features)s
        %(monotonic_cst)s
        %(interaction_cst)s
        step : str or Step, default="fixed"
            Rule for the coefficient b of a round's outputs psi, before it is multiplied by
            `learning_rate`. Give its name, or an instance of a class in `boosting.steps` with
            options:

            - "fixed": 1.
            - "line_search": minimises the risk along the outputs, exactly.
            - "newton": rounds of the second order, as in LightGBM and XGBoost.
            - "joint": minimises the risk jointly over b and the base learner: forward stagewise
              additive modelling.
            - "quadratic_bound": minimises a quadratic upper bound of the risk along the outputs.
            - "smooth": the same bound with one constant for all rounds [Bach, eq. (10.9)].
        n_jobs : int, default=None
            Number of threads of a round; the base learners are fitted one after the other. None
            means as many as HistGradientBoosting takes: one for each core, or the limit of
            OMP_NUM_THREADS or threadpoolctl. -1 means all processors. The model is the same for any
            number. Only binned trees and the compiled losses use threads, if a table has some
            65,000 values or more.
        """,
    # --- parameters of HistGradientBoosting*
    "histogram_trees": """
        learning_rate : float, default=0.1
            Factor of the values of all leaves.
        max_iter : int, default=100
            The largest number of rounds.
        max_leaf_nodes : int or None, default=31
            The largest number of leaves of a tree; nodes are split in the order of their gain. None
            sets no limit.
        max_depth : int or None, default=None
            The largest depth of a tree; None sets no limit.
        min_samples_leaf : int, default=20
            The least number of rows in a leaf.
        l2_regularization : float, default=0.0
            Added to the sum of second derivatives of a node, in its value and in its gain.
        max_features : float, default=1.0
            Share of the features that are drawn at each node, rounded up.
        max_bins : int, default=255
            The largest number of bins of a column, from 2 to 255. Missing values have one of their
            own. Of more than `max_bins` categories the rarest share a bin.
        %(categorical_features)s
        %(monotonic_cst)s
        %(interaction_cst)s
        warm_start : bool, default=False
            Continue the previous fit with further rounds, up to `max_iter`.
        early_stopping : "auto" or bool, default="auto"
            Whether to stop if the score of held-out rows no longer improves. "auto" does so for
            more than 10,000 rows, or if `X_val` is given to `fit`.
        scoring : str, callable or None, default="loss"
            The score that decides: minus the loss, the name of a scorer of scikit-learn's, a scorer
            ``scorer(estimator, X, y)``, or `score` (None). It gets ``sample_weight=`` if rows or
            classes have weights.
        validation_fraction : float, int or None, default=0.1
            Share or number of the rows that early stopping holds out. With None the score of the
            training rows decides.
        n_iter_no_change : int, default=10
            Early stopping ends the rounds if none of the last `n_iter_no_change` scores is better
            than the one before them by more than `tol`. All rounds are kept, as in scikit-learn.
        tol : float, default=1e-7
            Tolerance of `n_iter_no_change`, as a share of the deviance of the constant model, for
            the squared error the variance of y: the units of y do not matter. With `scoring` in the
            units of the metric.
        verbose : int, default=0
            1 prints progress every few seconds, 2 in every round.
        random_state : int, RandomState instance or None, default=None
            Seeds the draws of features and between equally good splits, and the validation split,
            which has scikit-learn's rows. None makes only the draws of features and this split
            random.
        """,
    # --- fitted attributes
    "histories": """
        steps_ : ndarray of shape (n_rounds,)
            The coefficients b_t, including the learning rate, which they are for a "fixed" step
            (less if the Newton steps of a learner other than a tree would raise the risk).
        train_scores_ : ndarray of shape (n_rounds,)
            The risk F(u_t): the weighted mean of the loss on the training rows.
        train_score_ : ndarray of shape (n_rounds,)
            scikit-learn's form of it: on the rows that the round was fitted to, and twice the risk
            for the squared error and for the log-loss of two classes.
        oob_scores_ : ndarray of shape (n_rounds,)
            The same on the rows that the round was not fitted to, if `subsample` is below 1 and the
            base learner draws rows; 0 for rounds of a warm start without.
        oob_improvement_ : ndarray of shape (n_rounds,)
            The decrease of `oob_scores_` by the round; the first from the initial scores.
        oob_score_ : float
            The last of `oob_scores_`.
        validation_scores_ : ndarray of shape (n_rounds,)
            The risk on the validation rows, if there are any; with `scoring` their metric, and by
            "huber" with one delta, see `n_iter_no_change`.
        cv_results_ : dict
            The choice of ``n_estimators="cv"``, for 1, 2, ... rounds: arrays "n_estimators",
            "mean_score" (the risk, or the metric; a fold counts by the weight of its rows),
            "standard_error" of that mean, and "split0_score", ...
        n_estimators_ : int
            Number of rounds; passed back as `n_estimators` it gives this model. With
            ``CVRounds(prediction="mean")`` it has one value for each fold's model.
        stop_reason_ : {"n_estimators", "early stopping", "callback", "monitor", "weak learner"}
            Why the rounds ended. "weak learner": the base learner found no member that reduces the
            risk.
        init_ : fitted estimator or "zero"
            What the scores start from; for ``init=None`` a dummy with a constant prediction.
        initial_scores_ : float or ndarray of shape (n_scores,) or None
            The constant scores before the first round; None if `init` is an estimator.
        loss_ : Loss
            The loss.
        estimator_ : estimator
            The base learner that was cloned in each round.
        feature_importances_ : ndarray of shape (n_features,)
            Mean importances of the base learners, if they have importances; of sum 1.
        %(categories_)s
        max_features_ : int
            The number of features considered at each node, if the base learners are trees.
        %(names_in_fit)s
        """,
    "rounds_and_histories": """
        n_trees_per_iteration_ : int
            Number of base learners of a round.
        %(histories)s
        """,
    "classes_of_fit": """
        %(classes_)s
        n_classes_ : int
            Number of classes.
        """,
    "histogram_histories": """
        do_early_stopping_ : bool
            Whether early stopping was used.
        n_iter_ : int
            Number of rounds.
        n_trees_per_iteration_ : int
            Number of trees of a round: one for each of more than two classes, and 1 for two
            classes.
        train_score_ : ndarray of shape (n_iter_ + 1,)
            The scores of the training rows before the first round and after each round. A metric is
            computed from at most 10,000 rows. Empty without early stopping.
        validation_score_ : ndarray of shape (n_iter_ + 1,)
            The same of the held-out rows. Empty without early stopping, or without such rows.
        is_categorical_ : ndarray of shape (n_features,) or None
            Which features are categorical; None if none is.
        %(categories_)s
        estimators_ : ndarray of shape (n_iter_, n_trees_per_iteration_)
            The trees.
        feature_importances_ : ndarray of shape (n_features,)
            Mean importances of the trees, of sum 1.
        steps_ : ndarray of shape (n_iter_,)
            The factors of the trees: the learning rate.
        stop_reason_ : {"n_estimators", "early stopping", "callback", "weak learner"}
            Why the rounds ended; "n_estimators" if there were `max_iter`.
        n_estimators_ : int
            Number of rounds, as `n_iter_`.
        init_ : fitted estimator
            A dummy estimator with the constant prediction before the first round.
        initial_scores_ : float or ndarray of shape (n_trees_per_iteration_,)
            The constant scores before the first round.
        loss_ : Loss
            The loss.
        estimator_ : estimator
            The tree that was grown in each round.
        max_features_ : int
            The number of features considered at each node.
        %(names_in_fit)s
        """,
    # --- arguments of methods
    "rows_of_fit": """
        sample_weight_val : array-like of shape (n_val,), default=None
            Weights of the validation rows.
        groups : array-like of shape (n_samples,), default=None
            Labels of the rows that belong together, such as those of one patient. Rows are held out
            by whole groups: for early stopping `validation_fraction` of the groups, and so are the
            folds of ``n_estimators="cv"``. A warm start needs the same groups.
        offset : array-like of shape (n_samples,), default=None
            A known part of the scores, on the scale of the link: the scores are the offset plus the
            fitted part. For counts in the times `exposure`, with a logarithmic link, it is
            ``np.log(exposure)``. Of one score a row (no more than two classes), in memory, and not
            with an estimator as `init`. A warm start needs the same offset.
        offset_val : array-like of shape (n_val,), default=None
            The offset of the validation rows.
        """,
    "offset_of_prediction": """
        offset : float or array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. None is 0, with a warning if the fit had an offset.
        """,
    "offset_to_score": """
        offset : float or array-like of shape (n_samples,), default=None
            Is added to the scores: see `fit`. Required if the fit had an offset.
        """,
    # --- sections
    "rows_to_predict": """
        Parameters
        ----------
        %(X)s
        %(offset_of_prediction)s
        """,
    "references": """
        References
        ----------
        F. Bach (2024). *Learning Theory from First Principles*, chapter 10. MIT Press.

        R. D. Shah. *Mathematics of Machine Learning*, lecture notes. University of Cambridge.

        *DS-GA 1003: Machine Learning*, lecture 8, "Boosting and 'classical ML' review". New York
        University.

        J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a
        statistical view of boosting". *The Annals of Statistics* 28(2), 337-407.
        """,
    "histogram_references": """
        References
        ----------
        J. Friedman, T. Hastie and R. Tibshirani (2000). "Additive logistic regression: a
        statistical view of boosting". *The Annals of Statistics* 28(2), 337-407.

        G. Ke et al. (2017). "LightGBM: a highly efficient gradient boosting decision tree".
        *Advances in Neural Information Processing Systems* 30.
        """,
    "rounds_and_missing_values": """
        Notes
        -----
        A round consists of a fit of the base learner, or one for each of several scores, and O(n)
        further operations. The memory is O(n) in addition to the data. With binned trees, a round
        takes O(n p) for each level of a tree, and the codes of the bins take one byte for each
        value of X. The base learner must support `sample_weight` if weights are given, and missing
        values (NaN) if X has any; trees support both.

        If your own loss has a method ``hessian(y, u)``, Newton steps find the leaf values. Without
        it, or if these steps fail, a search finds them, which computes the gradient some twenty
        times.
        """,
    "dask": """
        With Dask collections and `fit_batches`, binned trees are boosted on rows in chunks, for
        losses whose leaf values are quantiles or functions of sums over rows. The user guide,
        "Larger than memory", lists the parameters that need all rows in memory, and the costs. The
        model is the same as from the same rows in memory with the same bins. Bins are cut at exact
        quantiles if no chunk has more than 32,768 rows and all chunks together have at most
        131,072.
        """,
    "histogram_notes": """
        Notes
        -----
        A round takes O(n p) for each level of a tree, and the codes of the bins take one byte for
        each value of X. Losses with a second derivative have rounds of the second order. In these,
        no leaf has a sum of second derivatives below 0.001: sample weights should be of the order
        of 1. Other losses, such as "absolute_error" and "quantile", have rounds of the first order,
        whose leaves are medians or quantiles.

        With Dask collections and `fit_batches`, the model is the same as from the same rows in
        memory with the same bins. Early stopping draws its held-out rows by a hash of their
        numbers.

        A sparse X gives the same model as the same X as an array. If less than a tenth of its
        values is stored, the fit reads the stored values alone. A sparse X with more than 2^22
        values, zeros included, requires trees of at most 512 leaves or 8 levels and
        ``max_features=1.0``. Missing values (NaN) and infinite values are accepted. Rows of weight
        0 are left out. For more options, such as `subsample` or `features_per_tree`, use
        `GradientBoosting*` with ``step="newton"`` and ``estimator=BinnedTreeRegressor(...)``.
        """,
}
