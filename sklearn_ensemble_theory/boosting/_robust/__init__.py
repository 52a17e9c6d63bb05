"""Boosting of noisy labels."""
