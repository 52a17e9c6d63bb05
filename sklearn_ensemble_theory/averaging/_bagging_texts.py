"""What the docstrings of bagging and forests share."""

# Of averages of members, also of members that are fitted to blocks of rows.
AVERAGES = {
    "X_predicted": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to predict.
        """,
    "of_X_predicted": """
        Parameters
        ----------
        %(X_predicted)s
        """,
    "X_classified": """
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to classify.
        """,
    "of_X_classified": """
        Parameters
        ----------
        %(X_classified)s
        """,
    "members_params": """
        **params : dict
            Routed to the members' method where metadata routing is enabled.
        """,
    "of_classified_rows": """
        Parameters
        ----------
        %(X_classified)s
        %(members_params)s
        """,
    "cost_of_members": """
        Notes
        -----
        Cost: one prediction of each member.
        """,
}

BAGGING = AVERAGES | {
    "n_estimators": """
        Number of members B. "pac" is short for
        :class:`~sklearn_ensemble_theory.averaging.PACMembers`, the number with which bagging of
        empirical risk minimisers has optimal sample complexity. Any function of (n_samples,
        n_features) can be given.
        """,
    "n_trees": """
        n_estimators : int, "pac", PACMembers or callable, default=100
            %(n_estimators)s
        """,
    "max_samples": """
        Number s of rows drawn for each member: an int is the number itself, a float a fraction of
        the total weight, and `None` the number of rows of X. If groups are drawn it is the number
        of groups, and with blocks a float is a fraction of the rows. With "bernoulli" it determines
        the probability q of each row (an int is divided by n; `None` is 1/2). "stable" is short for
        :class:`~sklearn_ensemble_theory.averaging.StableSamples`, the largest number
        with which predictions are stable. Any function of (n_samples, n_features) can be given; of
        groups, their number takes the place of n_samples.
        """,
    "max_samples_of_forests": """
        %(max_samples)s
        For forests a fraction may be above 1.
        """,
    "bootstrap": """
        How the rows of a member are drawn, or their groups if `fit` is given `groups`:

        - `True`: s draws with replacement, the bootstrap;
        - `False`: s rows without replacement;
        %(schemes)s
        """,
    "bootstrap_of_forests": """
        How the rows of a tree are drawn, or their groups if `fit` is given `groups`:

        - `True`: s draws with replacement, the bootstrap;
        - `False`: s rows without replacement, and with `max_samples=None` all rows; there are then
          neither out-of-bag scores nor standard errors;
        %(schemes)s

        With "poisson" and "bernoulli" the rows of each tree come from all chunks of a Dask
        collection, otherwise from one of them; see "Larger than memory" in the user guide.
        """,
    "schemes": """
        - "disjoint": the same with s at most n/2, which is the default; the members of a group of
          floor(n/s) have no row in common, for standard errors without bias;
        - "bernoulli" or :class:`~sklearn_ensemble_theory.averaging.Bernoulli`: each row with
          probability q, independently;
        - "bayesian": real weights, s times a Dirichlet(1, ..., 1) vector;
        - "poisson": independent Poisson counts of mean s/n;
        - "stratified", for classifiers: draws with replacement within each class, s shared out in
          proportion to the sizes of the classes;
        - "moving_block" or :class:`~sklearn_ensemble_theory.averaging.MovingBlock`: blocks of
          consecutive rows with replacement, until there are s rows, for time series; without
          `groups`.

        A learner whose `fit` accepts `sample_weight`, such as a tree, is fitted to each distinct
        row once, with the weight drawn. For other learners a row is repeated as often as it was
        drawn. Rows of weight 0 are left out.
        """,
    "oob_score": """
        Whether to estimate the score by out-of-bag rows; a callable is the metric,
        `metric(y_true, y_pred)`, in place of R² or accuracy.
        """,
    "warm_start": """
        Whether `fit` keeps the members of the previous fit and adds members up to `n_estimators`.
        After other rows, weights or draws than before, methods that need the training rows raise
        a ValueError. With `oob_score` the out-of-bag estimates are continued as well.
        """,
    "verbose": """
        1 prints progress every few seconds, 2 after every member.
        """,
    "members_random_state": """
        Seed of the draws of rows and features and of the members' own randomness.
        """,
    "voting": """
        voting : {"soft", "hard"}, default="soft"
            "soft" averages the members' probabilities (a member without `predict_proba` votes);
            "hard" is the majority vote, which is consistent whenever a single member is
            [Ghoshdastidar, theorem En.1].
        """,
    "ties": """
        ties : {"first", "last"}, default="first"
            Which of several classes with the same, largest number of votes or mean probability is
            predicted: the first one in `classes_`, as in scikit-learn, or the last one. Of two
            classes "last" is 1{mean >= 1/2} [Ghoshdastidar].
        """,
    "bagging_parameters": """
        max_samples : int, float, "stable", StableSamples, callable or None, default=None
            %(max_samples)s
        max_features : int or float, default=1.0
            Number of features drawn for each member: an int is the number itself, a float a
            fraction of all features (at least one is drawn).
        bootstrap : bool, str, MovingBlock or Bernoulli, default=True
            %(bootstrap)s
        bootstrap_features : bool, default=False
            Whether features are drawn with replacement.
        oob_score : bool or callable, default=False
            %(oob_score)s
        warm_start : bool, default=False
            %(warm_start)s
        n_jobs : int, default=None
            Number of members fitted in parallel. The model does not depend on it.
        random_state : int, RandomState instance or None, default=None
            %(members_random_state)s
        verbose : int, default=0
            %(verbose)s
        """,
    "any_learner": """
        Any learner with scikit-learn's interface can be used, including a pipeline. A learner other
        than a tree gets data frames as they are, with the names of the columns that were drawn for
        it. With `bootstrap_features=True`, which may draw a column twice, it gets arrays.
        """,
    "bagging_bins": """
        max_bins : int, "auto" or None, default="auto"
            Only if the base learner is a scikit-learn decision tree. The number of bins, 2 to
            65,535, into which the columns of X are cut, once for all members: the members are then
            binned trees. `None` is exact trees. "auto" is exact trees up to 10,000 rows (for the
            absolute error up to 1,000). Above, it is 2047 bins if X is dense and binned trees have
            the parameters of the base learner.
        """,
    "max_depth": """
        max_depth : int, default=None
            Maximum depth of a tree; with `None` it is grown until its leaves are pure or smaller
            than `min_samples_split`.
        min_samples_split : int or float, default=2
            Minimum number of rows in a node that is split; a float is a fraction of all training
            rows.
        min_samples_leaf : int or float, default=1
            Minimum number of rows in a leaf; a float is a fraction of all training rows.
        min_weight_fraction_leaf : float, default=0.0
            Minimum weight of a leaf, as a fraction of a tree's total weight.
        """,
    "m_try": """
        Number of features drawn at each split, m_try in [Shah, §4.5]; a float is a fraction of all
        features, `None` is all of them. With fewer features the trees are less correlated, and each
        of them is usually less accurate.
        """,
    "extra_m_try": """
        Number of features drawn at each split, with one random cut each; a float is a fraction of
        all features, `None` is all of them. With 1 the structure of a tree depends on y only
        through the leaves that are pure.
        """,
    "max_leaf_nodes": """
        max_leaf_nodes : int, default=None
            Maximum number of leaves of a tree, which is then grown best first; `None` means no
            limit.
        min_impurity_decrease : float, default=0.0
            Minimum decrease of the impurity by a split.
        """,
    "forest_run": """
        oob_score : bool or callable, default=False
            %(oob_score)s
        n_jobs : int, default=None
            Number of threads that fit trees. The model does not depend on it.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws of rows and of features.
        verbose : int, default=0
            %(verbose)s
        warm_start : bool, default=False
            %(warm_start)s
        """,
    "ccp_alpha": """
        ccp_alpha : float, default=0.0
            Complexity parameter of minimal cost-complexity pruning.
        max_samples : int, float, "stable", StableSamples, callable or None, default=None
            %(max_samples_of_forests)s
        """,
    "forest_columns": """
        max_bins : int, "auto" or None, default="auto"
            Number of bins, 2 to 65,535, into which the columns of X are cut, once for all trees:
            these are then binned trees. The thresholds of extremely randomised trees are uniform
            over the bins of a node. `None` is scikit-learn's exact trees. "auto" is exact trees up
            to 10,000 rows (for the absolute error up to 1,000), and 2047 bins above if X is dense
            and y has one output. A value of X takes four bytes as bins.
        categorical_features : array-like, "from_dtype", Categories or None, default="from_dtype"
            Which features are categorical: a mask, their indices, or their names. "from_dtype"
            takes the columns of a data frame with the dtype category (pandas) or Categorical or
            Enum (polars). With such features trees are in bins, for any number of rows; at most 255
            if y has several outputs. For categories that `fit` has not seen, ``Categories(columns,
            unseen="mean")`` predicts the mean over both children of a node. See
            :class:`~sklearn_ensemble_theory.trees.Categories` and
            :class:`~sklearn_ensemble_theory.trees.BinnedTreeRegressor`. To set the parameter
            `cat_smooth` of this tree, use it as the `estimator` of bagging.
        interaction_cst : {"pairwise", "no_interactions"}, sequence of lists or None, default=None
            Groups of features (indices or names) that may interact: all features on a path of a
            tree are from one group. Features in no group together form one group. The features of
            `max_features` are drawn from those that may be cut. Trees are then in bins, for any
            number of rows.
        """,
    "honesty": """
        honesty : bool or float, default=False
            Whether to grow honest trees: one half of the rows drawn for a tree chooses its splits,
            and the other half gives the values of its leaves. A float is the share of the rows in
            the leaves. Copies of a row, and the rows of a group, are on one side. A split of which
            one side has no row of the leaves is left out. Impurities and importances are computed
            from the rows in the leaves. With `bootstrap=False` and a fraction as `max_samples`,
            intervals by `standard_error` are as in [Wager and Athey, 2018]; see the user guide. Not
            with `monotonic_cst`, medians or moving blocks.
        """,
    "forest_class_weight": """
        class_weight : {"balanced", "balanced_subsample"}, dict or list of dict, default=None
            Weights of the classes, by which `sample_weight` is multiplied. A dict contains the
            weight of each label. "balanced" gives all classes the same total weight over all rows,
            "balanced_subsample" over the rows drawn for each tree. For several outputs, a list of a
            dict for each; their weights are multiplied.
        """,
    "signs": """
        monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
            1, -1 or 0 for each feature: the prediction increases in it, decreases in it or is not
            constrained. A dict has the signs of the constrained features by their names.
        """,
    "signs_of_classes": """
        monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
            For two classes: 1, -1 or 0 for each feature, in which the probability of the second
            class increases, decreases or is not constrained. A dict has the signs of the
            constrained features by their names.
        """,
    "class_criterion": """
        criterion : {"gini", "entropy", "log_loss"}, default="gini"
            What a split lowers most: the Gini impurity, or the entropy, which "log_loss" is too.
        """,
    "of_class_trees": """
        Parameters
        ----------
        %(n_trees)s
        %(class_criterion)s
        %(max_depth)s
        """,
    "real_criterion": """
        criterion : {"squared_error", "absolute_error", "poisson"}, default="squared_error"
            What a split lowers most: the squared error, the absolute error, for which leaves
            predict medians, or half the Poisson deviance, for y of at least 0. The forest is the
            mean of the predictions of its trees. For quantiles use `predict_quantiles`.
            "friedman_mse" is deprecated.
        """,
    "of_given_rows": """
        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        """,
    "of_real_trees": """
        Parameters
        ----------
        %(n_trees)s
        %(real_criterion)s
        %(max_depth)s
        """,
    # Attributes.
    "forest_notes": """
        Notes
        -----
        The cost is about O(m_try s' log² s') for each of the B trees, for s' distinct rows, and O(s
        log s) for each draw. On bins it is about O(m_try s') for each level of a tree. With the
        same `random_state`, exact trees are the same as in scikit-learn's class (release 1.9),
        fitted to the distinct rows with their counts. A `warm_start` computes the bins again; they
        are the same for the same X.

        Random forests were proposed by [Breiman, 2001]; see also [Bach, §10.2]. The mean of B
        trees of variance sigma² and correlation rho has variance rho sigma² + (1 - rho) sigma² / B
        [Shah, §4.5], which :func:`~sklearn_ensemble_theory.inspection.variance_decomposition`
        estimates. `sklearn_ensemble_theory.inspection` has further functions of a fitted forest.
        """,
    "far_targets": """
        With squared error, y is centred before trees are grown if its mean is more than 10^4
        standard deviations away from 0. Without this, as in scikit-learn, the squared errors of
        such targets lose digits.
        """,
    "members": """
        estimator_ : estimator
            The base learner that the members are clones of.
        estimators_ : list of estimators
            The fitted members.
        estimators_features_ : list of ndarray
            Indices of the columns of X to which each member was fitted.
        estimators_samples_ : list of ndarray
            Indices of the rows drawn for each member, repeated as often as drawn.
        ensemble_ : Ensemble
            What the functions of `sklearn_ensemble_theory.inspection` read of the ensemble.
        """,
    "importances": """
        feature_importances_ : ndarray of shape (n_features_in_,)
            Mean importances of the members, of sum 1, if the base learner has importances.
        """,
    "oob_attributes": """
        oob_score_ : float
            Out-of-bag score, on the rows that were not drawn for at least one member.
        oob_scores_ : ndarray of shape (n_estimators,)
            Out-of-bag score of the first 1, 2, ... members; NaN if it is not defined.
        """,
    "oob_prediction": """
        oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Mean prediction of the members for which the row was not drawn; NaN if there is none.
        """,
    "oob_decision_function": """
        oob_decision_function_ : ndarray of shape (n_samples, n_classes[, n_outputs])
            Mean prediction of the members for which the row was not drawn; NaN if there is none.
        """,
    "forest_classes": """
        classes_ : ndarray of shape (n_classes,) or list of such arrays
            The labels, sorted; a list with the labels of each output if y has several.
        n_classes_ : int or list of int
            Number of classes.
        """,
    "n_outputs": """
        n_outputs_ : int
            Number of targets.
        """,
    # References.
    "real_forest": """
        Attributes
        ----------
        %(members)s
        %(n_outputs)s
        %(categories_)s
        %(importances)s
        %(names_in_fit)s
        %(oob_attributes)s
        %(oob_prediction)s
        """,
    "class_forest": """
        Attributes
        ----------
        %(members)s
        %(forest_classes)s
        %(n_outputs)s
        %(categories_)s
        %(importances)s
        %(names_in_fit)s
        %(oob_attributes)s
        %(oob_decision_function)s
        """,
    "Wager": """
        S. Wager, T. Hastie and B. Efron (2014). "Confidence intervals for random forests: the
        jackknife and the infinitesimal jackknife". *Journal of Machine Learning Research* 15.
        """,
    "Athey": """
        S. Wager and S. Athey (2018). "Estimation and inference of heterogeneous treatment effects
        using random forests". *Journal of the American Statistical Association* 113.
        """,
    "Geurts": """
        P. Geurts, D. Ernst and L. Wehenkel (2006). "Extremely randomized trees". *Machine Learning*
        63.
        """,
}
