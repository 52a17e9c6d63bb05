"""Fitted models as scikit-learn's own objects."""
