"""Boosting from the fit of an estimator."""
