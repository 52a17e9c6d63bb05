"""Averages of least-squares fits on random projections of the variables [Bach, §10.2.2]."""
