"""Data with known functions of each feature, or of pairs, for the cases of `additive.py`.

`y_test` contains no noise: the means of regression problems, for classes the probabilities of 1.
"""

from types import SimpleNamespace

import numpy as np

from cases import friedman1, split


def sigmoid(log_odds):
    return 1 / (1 + np.exp(-log_odds))


def with_noise(seed, X, mean, n, noise=1.5, freedom=None):
    """Means with noise, normal or t with this many degrees of freedom; the first n for training."""
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal(n)
    if freedom:
        normal /= np.sqrt(rng.chisquare(freedom, n) / freedom)
    return SimpleNamespace(X=X[:n], y=mean[:n] + noise * normal, X_test=X[n:], y_test=mean[n:])


def drawn_classes(seed, X, log_odds, n):
    probability = sigmoid(log_odds)
    y = (np.random.default_rng(seed).random(n) < probability[:n]).astype(int)
    return SimpleNamespace(X=X[:n], y=y, X_test=X[n:], y_test=probability[n:])


# --- functions of one feature -----------------------------------------------------------------


def sum_of_functions(X):
    """A wave, a parabola, a jump, a line and a kink in 5 of the features, all in (-1, 1)."""
    total = 2 * np.sin(3 * X[:, 0]) + 3 * X[:, 1] ** 2 + 1.5 * np.sign(X[:, 4])
    return total + X[:, 6] + 2 * np.abs(X[:, 7])


def uniform(rng, shape, dtype):
    return 2 * rng.random(shape, dtype=dtype) - 1


def long_tailed(rng, shape, dtype):
    """Log-normal features, correlated, every fourth of them rounded."""
    X = rng.standard_normal(shape, dtype=dtype)
    X[:, 1:] *= 0.8
    X[:, 1:] += 0.6 * X[:, :1]
    np.exp(X, out=X)
    np.round(X[:, ::4], out=X[:, ::4])
    return X


def sum_of_long_tailed(X):
    """Steps, a peak at a value with ties, and functions that are steep near 0."""
    total = 2.0 * (X[:, 0] > 1) + 1.5 * (X[:, 4] == 2) + np.log(X[:, 1])
    return total + np.abs(np.log(X[:, 2])) - 2 * np.exp(-4 * X[:, 3])


def additive(seed, n, p, n_test=50_000, dtype="float64"):
    X = uniform(np.random.default_rng(seed), (n + n_test, p), np.dtype(dtype))
    return with_noise(seed + 1, X, sum_of_functions(X), n)


def additive_long_tails(seed, n, p, n_test=50_000, dtype="float64"):
    X = long_tailed(np.random.default_rng(seed), (n + n_test, p), np.dtype(dtype))
    return with_noise(seed + 1, X, sum_of_long_tailed(X), n, freedom=5)


def additive_classes(seed, n, p, n_test=50_000, dtype="float64"):
    """The same functions as log-odds; three of four labels are 1."""
    X = uniform(np.random.default_rng(seed), (n + n_test, p), np.dtype(dtype))
    return drawn_classes(seed + 1, X, sum_of_functions(X), n)


def additive_classes_long_tails(seed, n, p, n_test=50_000, dtype="float64"):
    """The same functions as log-odds; a quarter of the labels are 1."""
    X = long_tailed(np.random.default_rng(seed), (n + n_test, p), np.dtype(dtype))
    return drawn_classes(seed + 1, X, 1.5 * sum_of_long_tailed(X) - 5, n)


def many_squares(seed, n, p, n_test=50_000):
    """Whether the squares of ten normal features and noise exceed 9.34; labels for testing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + n_test, p))
    total = (X[:, :10] ** 2).sum(axis=1) + 2 * rng.standard_normal(len(X))
    return split(X, (total > 9.34).astype(int), n)


def long_tailed_labels(seed, n, p, n_test=50_000):
    """`additive_classes_long_tails` with labels for testing."""
    data = additive_classes_long_tails(seed, n, p, n_test)
    rng = np.random.default_rng(seed + 2)
    data.y_test = (rng.random(n_test) < data.y_test).astype(int)
    return data


# --- functions of pairs -----------------------------------------------------------------------


def friedman1_means(seed, n, p, n_test=50_000):
    """Friedman's first problem, one pair and three single features; no noise in `y_test`."""
    data = friedman1(seed, n, p, n_test=n_test)
    X = data.X_test
    data.y_test = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    data.y_test += 10 * X[:, 3] + 5 * X[:, 4]
    return data


def pairs_long_tails(seed, n, p, n_test=50_000):
    """Long-tailed, correlated features: a product, a corner and a ridge in six of them."""
    X = long_tailed(np.random.default_rng(seed), (n + n_test, p), np.dtype(float))
    z = np.log(np.maximum(X[:, 1:8], 0.25))
    mean = (
        2 * z[:, 0] * z[:, 1] + 3 * (X[:, 4] >= 2) * (z[:, 4] > 0) + 2 * np.abs(z[:, 5] - z[:, 6])
    )
    return with_noise(seed + 1, X, mean + sum_of_long_tailed(X), n, freedom=5)


# --- real data --------------------------------------------------------------------------------


def real(seed, name, n_splits):
    """Random splits of data that scikit-learn includes, 70 % for training; classes are 0 and 1."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "digits":  # odd or even
        y = y % 2
    elif name == "wine":  # the first cultivar or another one
        y = (y == 0).astype(int)
    splits = []
    for i in range(n_splits):
        X_train, X_test, y_train, y_test = train_test_split(
            X,
            y,
            train_size=0.7,
            random_state=seed + i,
            stratify=None if name == "diabetes" else y,
        )
        splits.append(SimpleNamespace(X=X_train, y=y_train, X_test=X_test, y_test=y_test))
    return splits
