"""Histograms over the cells of a box, compared with the same partition by scikit-learn's parts."""

import numpy as np

from cases import Case, fit_predict, friedman1, mse_of_prediction, register, split

# --- data -------------------------------------------------------------------------------------


def plane(seed, n, p, n_test=20_000):
    """Two features: a smooth function and noise; the cells hold many rows each."""
    rng = np.random.default_rng(seed)
    X = rng.random((n + n_test, 2))
    mean = np.sin(6 * X[:, 0]) * np.cos(4 * X[:, 1])
    data = split(X, mean + 0.5 * rng.standard_normal(len(X)), n)
    data.y_test = mean[n:]
    return data


# --- sides ------------------------------------------------------------------------------------


def histogram(data, n_bins):
    from sklearn_ensemble_theory import HistogramRegressor

    return HistogramRegressor(n_bins=n_bins)


def bins_and_tree(data, n_bins, seed):
    """The same partition: a full tree of the bin numbers has a leaf for each cell with rows."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer
    from sklearn.tree import DecisionTreeRegressor

    bins = KBinsDiscretizer(n_bins, encode="ordinal", strategy="uniform", subsample=None)
    return make_pipeline(bins, DecisionTreeRegressor(random_state=seed))


class BinsAndGroups:
    """The same by KBinsDiscretizer and a sort of the rows of bin numbers, as one would write it."""

    def __init__(self, n_bins):
        from sklearn.preprocessing import KBinsDiscretizer

        self.bins = KBinsDiscretizer(n_bins, encode="ordinal", strategy="uniform", subsample=None)

    def fit(self, X, y):
        codes = self.bins.fit_transform(X)
        cells, group = np.unique(codes, axis=0, return_inverse=True)
        group = group.ravel()
        means = np.bincount(group, y) / np.bincount(group)
        self.means = dict(zip(map(bytes, np.ascontiguousarray(cells)), means))
        self.mean = y.mean()
        return self

    def predict(self, X):
        codes = np.ascontiguousarray(self.bins.transform(X))
        return np.array([self.means.get(bytes(row), self.mean) for row in codes])


def bins_and_groups(data, n_bins):
    return BinsAndGroups(n_bins)


def boosted_histograms(data, seed):
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=seed)


def fifty_times(model, data, n):
    """A fit to few rows is too short to be measured alone."""
    for _ in range(50 if n <= 300 else 1):
        prediction = fit_predict(model, data)
    return prediction


# --- cases ------------------------------------------------------------------------------------

SAME_CELLS = ("scikit-learn (bins + tree)", "scikit-learn (bins + groups)")
for name, title, data, params, runs in (
    (
        "histogram-plane",
        "two features, n = 500,000, 80 x 80 cells",
        plane,
        {"n": 500_000, "p": 2, "n_bins": 80},
        3,
    ),
    (
        "histogram-many-cells",
        "20 features, n = 100,000, 3^20 cells: almost every row has a cell of its own",
        friedman1,
        {"n": 100_000, "p": 20, "n_bins": 3, "n_test": 20_000},
        3,
    ),
    (
        "histogram-small",
        "50 times 5 features, n = 300, 2^5 cells",
        friedman1,
        {"n": 300, "p": 5, "n_bins": 2, "n_test": 100},
        9,
    ),
):
    register(
        Case(
            name=name,
            title=f"histogram regression, fit and predict: {title}",
            data=data,
            params={**params, "threads": 1},
            quick={"n": 1_000, **({"n_bins": 10} if name == "histogram-plane" else {})},
            sides={
                "ours": histogram,
                SAME_CELLS[0]: bins_and_tree,
                SAME_CELLS[1]: bins_and_groups,
                "hist-gradient-boosting": boosted_histograms,
            },
            run=fifty_times,
            quality=mse_of_prediction,
            metric="test MSE",
            limit=dict.fromkeys(SAME_CELLS, 1.0),
            quality_ratio=dict.fromkeys(SAME_CELLS[1:], 1.0 + 1e-9),
            runs=runs,
        )
    )
