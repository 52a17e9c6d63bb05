"""The loops that touch every row in every round: compiled where numba is installed.

`compilation` decides which route runs. The modules named `*_loops` hold plain loops, which numba
compiles; `array_loops` holds the functions of the other route, in NumPy and scikit-learn.
"""
