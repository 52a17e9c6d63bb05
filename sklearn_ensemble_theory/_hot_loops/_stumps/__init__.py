"""Searches for stumps, and the votes of boosted ones."""
