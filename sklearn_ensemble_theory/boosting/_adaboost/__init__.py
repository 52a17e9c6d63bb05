"""AdaBoost."""
