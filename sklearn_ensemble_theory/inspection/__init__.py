"""What a fitted ensemble is made of: margins, variance decomposition, displays."""

__all__ = []
