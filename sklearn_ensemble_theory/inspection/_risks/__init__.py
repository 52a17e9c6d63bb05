"""Expected errors and their parts, by repeated draws of the training set, and their figures."""
