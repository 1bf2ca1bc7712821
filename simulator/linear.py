"""Linear expressions of loop variables, such as `4 * i + 8`: where a tile starts (kernel-file page, loops)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TERM = re.compile(r"([+-]?)([^+-]+)")


def evaluate(text: str, variables: Mapping[str, int]) -> int:
    """The value of a sum of products of numbers and variables.

    Raises:
        ValueError: a factor that is neither a number nor a known variable.

    """
    total = 0
    for sign, term in _TERM.findall(text.replace(" ", "")):
        value = 1
        for factor in term.split("*"):
            if factor.isdecimal():
                value *= int(factor)
            elif factor in variables:
                value *= variables[factor]
            else:
                raise ValueError(f"`{factor}` in `{text}` is neither a number nor a loop variable")
        total += -value if sign == "-" else value
    return total


_POSTFIX = re.compile(r"(/|%|=|#(?:\{[*0!]\})?)\s*([0-9]+)")


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of an axis, such as `L % 60`: the axis, and its `/` and `%` in order."""

    axis: str
    steps: tuple[tuple[str, int], ...]

    def value(self, index: NDArray[Any]) -> NDArray[np.int64]:
        """The digit's value at indices of the axis."""
        out = np.asarray(index, dtype=np.int64)
        for sign, n in self.steps:
            out = out // n if sign == "/" else out % n
        return out


def digit_of(text: str) -> Digit:
    """Reads a tile's digit; padding and resizing change no value of it."""
    name = re.match(r"[\s\[(]*([A-Za-z_][A-Za-z0-9_]*)", text)
    if name is None:
        raise ValueError(f"`{text}` is no digit of an axis")
    steps = tuple((sign, int(n)) for sign, n in _POSTFIX.findall(text) if sign in "/%")
    return Digit(name.group(1), steps)
