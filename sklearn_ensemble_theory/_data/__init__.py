"""What estimators get as X, beyond arrays."""
