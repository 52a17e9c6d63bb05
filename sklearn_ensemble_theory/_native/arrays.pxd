"""What every module does at its door."""


cdef inline int require(bint condition) except -1:
    """Raise ValueError unless arrays have the shapes, and indices the range, that loops rely on."""
    if not condition:
        raise ValueError("arrays that do not fit together")
    return 0
