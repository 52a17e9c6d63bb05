"""Results over chunks that are added field by field."""

from dataclasses import fields
from typing import Any, Self

__all__ = ["SummedFields"]


class SummedFields:
    """Base of dataclasses whose fields are numbers, arrays, or lists of these of one length."""

    def __add__(self, other: Self) -> Self:
        names = [each.name for each in fields(self)]  # type: ignore[arg-type]
        return type(self)(
            *(_added_fields(getattr(self, name), getattr(other, name)) for name in names)
        )


def _added_fields(one: Any, other: Any) -> Any:
    if isinstance(one, list):
        return [a + b for a, b in zip(one, other, strict=True)]
    return one + other
