"""Generators of simulated data, with Bayes rules and errors, and of noise in labels."""

from sklearn_ensemble_theory.datasets._curves import (
    make_polynomial,
    make_sine_regression,
    make_tent,
)
from sklearn_ensemble_theory.datasets._label_noise import (
    add_label_noise,
    add_malicious_rows,
    add_massart_noise,
)
from sklearn_ensemble_theory.datasets._normal_classes import (
    make_ringnorm,
    make_threenorm,
    make_twonorm,
    ringnorm_bayes_error,
    ringnorm_bayes_rule,
    threenorm_bayes_error,
    threenorm_bayes_rule,
    twonorm_bayes_error,
    twonorm_bayes_rule,
)
from sklearn_ensemble_theory.datasets._waveform import (
    make_waveform,
    waveform_bayes_error,
    waveform_bayes_rule,
)

__all__ = [
    "add_label_noise",
    "add_malicious_rows",
    "add_massart_noise",
    "make_polynomial",
    "make_ringnorm",
    "make_sine_regression",
    "make_tent",
    "make_threenorm",
    "make_twonorm",
    "make_waveform",
    "ringnorm_bayes_error",
    "ringnorm_bayes_rule",
    "threenorm_bayes_error",
    "threenorm_bayes_rule",
    "twonorm_bayes_error",
    "twonorm_bayes_rule",
    "waveform_bayes_error",
    "waveform_bayes_rule",
]
