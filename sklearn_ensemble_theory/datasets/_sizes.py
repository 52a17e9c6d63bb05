"""Checks of the arguments of generators."""

import numbers


def check_size(name: str, value: int, least: int = 1) -> None:
    """Raise a ValueError where `value` is not an int of at least `least`."""
    if not isinstance(value, numbers.Integral) or value < least:
        wanted = "a positive int" if least == 1 else f"an int of at least {least}"
        raise ValueError(f"{name} must be {wanted}, got {value!r}.")
