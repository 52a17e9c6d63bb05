"""Rows with a category, missing values and a heavy tail, and tables for them."""

import numpy as np
import pandas as pd

CITIES = ["Amsterdam", "Berlin", "Copenhagen", "Dublin", "a city with a very long name", "Rome"]


def mixed_rows(n=400, seed=0):
    """A frame with the columns age (15 % missing), city, income and sex."""
    rng = np.random.default_rng(seed)
    city = rng.choice(np.array(CITIES, dtype=object), n, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05])
    X = pd.DataFrame({"age": rng.normal(50, 15, n), "city": city})
    X["income"] = rng.lognormal(10, 1, n)
    X["sex"] = rng.integers(0, 2, n).astype(float)
    X.loc[rng.random(n) < 0.15, "age"] = np.nan
    return X


def mixed_terms(X, n_classes=1, seed=0):
    """(terms, categories) of a TableModel: the four features and three pairs of them."""
    rng = np.random.default_rng(seed)
    slopes = np.linspace(-1, 1, n_classes)

    def values(*shape):
        table = rng.normal(0, 1, shape)
        return table if n_classes == 1 else table[..., None] * slopes

    cities, one = np.array(sorted(CITIES), dtype=object), np.array([0.5])
    age = np.quantile(X["age"].dropna(), np.arange(1, 32) / 32)
    income = np.quantile(X["income"], np.arange(1, 64) / 64)
    few_ages, few_incomes = age[3::4], income[7::8]
    terms = [
        ((0,), age, values(33)),
        ((1,), cities, values(7)),
        ((2,), income, 2 * values(64)),
        ((3,), one, values(2)),
        ((0, 2), (few_ages, few_incomes), 0.3 * values(9, 8)),
        ((0, 1), (few_ages, cities), 0.2 * values(9, 7)),
        ((1, 3), (cities, one), 0.1 * values(7, 2)),
    ]
    return terms, [None, cities, None, None]
