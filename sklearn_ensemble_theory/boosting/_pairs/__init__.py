"""Pairs of features in additive models: their detection, boosting on their tables, purification."""
