"""Learned in sequence, each on what the others left: one loop, many wirings (000 section 10.3)."""

__all__ = []
