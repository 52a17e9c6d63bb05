"""Weights learned over different methods."""

__all__ = []
