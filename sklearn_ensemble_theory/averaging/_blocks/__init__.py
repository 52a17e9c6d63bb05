"""Divide and conquer: fits to disjoint blocks of the rows, averaged."""
