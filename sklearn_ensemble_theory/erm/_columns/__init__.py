"""Single columns of X as empirical risk minimisers."""
