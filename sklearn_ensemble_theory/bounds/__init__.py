"""The theorems as pure functions."""

__all__ = []
