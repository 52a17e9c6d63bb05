"""Bounds of the averaging wing."""

import math


def bagging_pac_n_estimators(n_samples, delta):
    """T = ceil(18 ln(2 n / delta)) members [001, theorem En.3]."""
    return math.ceil(18 * math.log(2 * n_samples / delta))
