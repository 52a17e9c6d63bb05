"""What estimators get: checks of parameters and data, frames, splits."""
