"""The leaf of a row, from one node to the next."""

import numpy as np


def leaves_by_walks(tree, columns):
    """Those of all rows of columns in bins."""
    return np.array([leaf_of_codes(tree, codes, columns.missing) for codes in columns.codes], int)


def leaf_of_codes(tree, codes, missing):
    at = 0
    while tree.left[at] >= 0:
        code = codes[tree.feature[at]]
        if tree.code[at] == -3:
            goes = tree.members[at][min(code, 255)]
        else:
            goes = tree.missing_left[at] if code == missing else code <= tree.code[at]
        at = tree.left[at] if goes else tree.right[at]
    return at


def leaf_of_row(tree, row):
    """In single precision; what is no category goes where missing values go."""
    at = 0
    while tree.left[at] >= 0:
        x = row[tree.feature[at]]
        if np.isnan(tree.threshold[at]):
            goes = tree.members[at][int(x) if 0 <= x < 255 else 255]
        else:
            goes = tree.missing_left[at] if np.isnan(x) else x <= tree.threshold[at]
        at = tree.left[at] if goes else tree.right[at]
    return at
