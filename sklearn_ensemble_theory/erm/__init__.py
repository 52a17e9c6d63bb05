"""Empirical risk minimisers over one class of functions."""

__all__ = []
