"""Trees of an ensemble laid out together, for predictions in one pass."""
