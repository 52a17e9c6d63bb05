"""Frank-Wolfe boosting over a ball of the variation norm."""
