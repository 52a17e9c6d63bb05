"""Which of these tests run."""

import numpy as np

# Integers of their arrays have NumPy's default size, which on Windows is 32 bits before NumPy 2.
collect_ignore_glob = ["test_*.py"] if np.dtype(int).itemsize < 8 else []
