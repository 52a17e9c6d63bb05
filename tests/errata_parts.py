"""Parts of several tests of the errata."""

import numpy as np


def within(samples, value, standard_errors=3.0):
    """Is `value` the mean of these independent samples, as far as they can tell?"""
    error = np.std(samples, ddof=1) / np.sqrt(len(samples))
    return abs(np.mean(samples) - value) <= standard_errors * error
