"""Learned independently and in parallel, then averaged (000 section 10.1, 003 section 4.5)."""

__all__ = []
