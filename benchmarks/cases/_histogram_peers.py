"""Gradient boosting of the peers, with the same settings on all sides.

Leaves of one row are allowed, nothing is penalised or drawn, and columns have 255 bins. The threads
are also those of OpenMP, which `measuring.py` sets for each process.
"""

BINS = 255


def scikit_learn(name, **fixed):
    """A setup of scikit-learn's histogram gradient boosting; `loss` and `quantile` if given."""

    def setup(data, n_estimators, learning_rate, seed, max_depth=None, max_leaf_nodes=None, **more):
        import sklearn.ensemble

        chosen = {key: more[key] for key in ("loss", "quantile") if key in more}
        return getattr(sklearn.ensemble, name)(
            max_iter=n_estimators,
            learning_rate=learning_rate,
            max_depth=max_depth,
            max_leaf_nodes=max_leaf_nodes,
            l2_regularization=0.0,
            max_bins=BINS,
            early_stopping=False,
            random_state=seed,
            **{"min_samples_leaf": 1, **chosen, **fixed},
        )

    return setup


def lightgbm(name, **fixed):
    """A setup of LightGBM with further parameters."""

    def setup(data, n_estimators, learning_rate, threads, seed, max_depth=-1, max_leaf_nodes=None):
        import lightgbm

        return getattr(lightgbm, name)(
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            max_depth=max_depth,
            num_leaves=max_leaf_nodes or 2**max_depth,
            reg_lambda=0.0,
            max_bin=BINS,
            n_jobs=threads,
            random_state=seed,
            verbose=-1,
            **{"min_child_samples": 1, "min_child_weight": 0.0, **fixed},
        )

    return setup


def xgboost(name, **fixed):
    """A setup of XGBoost with further parameters."""

    def setup(data, n_estimators, learning_rate, threads, seed, max_depth=0, max_leaf_nodes=0):
        import xgboost

        return getattr(xgboost, name)(
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            max_depth=max_depth,
            max_leaves=max_leaf_nodes,
            grow_policy="lossguide" if max_leaf_nodes else "depthwise",
            min_child_weight=0.0,
            reg_lambda=0.0,
            max_bin=BINS,
            tree_method="hist",
            n_jobs=threads,
            random_state=seed,
            **fixed,
        )

    return setup


def intelex(name):
    """A setup of a class of scikit-learn, patched by scikit-learn-intelex in its own process."""

    def setup(data, n_estimators, threads, seed, max_depth=None):
        from sklearnex import patch_sklearn

        patch_sklearn(verbose=False)
        import sklearn.ensemble

        cls = getattr(sklearn.ensemble, name)
        shape = {"n_estimators": n_estimators, "max_depth": max_depth}
        return cls(**shape, n_jobs=threads, random_state=seed)

    return setup
