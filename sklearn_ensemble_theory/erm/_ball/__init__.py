"""Linear classifiers with a convex loss over a ball of coefficients."""
