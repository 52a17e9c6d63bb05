"""Stumps from the weights in bins alone."""
