"""Linear smoothers, and L2-boosting of them in closed form (002)."""

__all__ = []
