"""Linear expressions of loop variables, such as `4 * i + 2` (kernel-file page, section Operations)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_LINEAR_TEXT = 1_000
MAX_LINEAR_NUMBER = 2**31
_TOKEN = re.compile(r"\s*(?:(?P<num>[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>[-+*]))")
_WANTED = "a sum of terms such as `4 * i` or `2`"


class LinearError(ValueError):
    """Text that is no linear expression; `column` counts from 1."""

    def __init__(self, message: str, column: int, found: str = "", wanted: str = _WANTED) -> None:
        super().__init__(message)
        self.message, self.column, self.found, self.wanted = message, column, found, wanted


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant` plus the sum of coefficient times loop variable."""

    coefficients: dict[str, int] = field(default_factory=dict)
    constant: int = 0

    def value(self, variables: Mapping[str, int]) -> int:
        """The value where each loop variable has the given one; a missing variable is a KeyError."""
        return self.constant + sum(c * variables[name] for name, c in self.coefficients.items())

    def bounds(self, counts: Mapping[str, int]) -> tuple[int, int]:
        """Least and greatest value while every variable runs from 0 to its count - 1."""
        ends = [c * (counts[name] - 1) for name, c in self.coefficients.items()]
        return (
            self.constant + sum(min(0, e) for e in ends),
            self.constant + sum(max(0, e) for e in ends),
        )


def parse_linear(text: str) -> Linear:
    """Parses `term (("+" | "-") term)*`, a term being `n`, `v`, `n * v`, `v * n` or `n * n`, one sign in front.

    Raises:
        LinearError: with the column, counted from 1.

    """
    tokens = _tokens(text)
    coefficients: dict[str, int] = {}
    constant, at = 0, 0
    while True:
        sign, at = _sign(tokens, at, first=at == 0)
        name, number, column, at = _term(tokens, at)
        if number > MAX_LINEAR_NUMBER:
            raise LinearError("a number over 2^31", column, str(number)[:24], "at most 2^31")
        if name is None:
            constant += sign * number
        else:
            coefficients[name] = coefficients.get(name, 0) + sign * number
        if tokens[at][0] == "end":
            return Linear({k: v for k, v in coefficients.items() if v}, constant)


def _tokens(text: str) -> list[tuple[str, str, int]]:
    if len(text) > MAX_LINEAR_TEXT:
        raise LinearError(f"an expression of {len(text)} characters, at most {MAX_LINEAR_TEXT}", 1)
    out, at, end = [], 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise LinearError(f"unexpected `{text[at]}`", at + 1, text[at])
        kind = match.lastgroup or ""
        out.append((kind, match[kind], match.start(kind) + 1))
        at = match.end()
    return [*out, ("end", "the end", len(text) + 1)]


def _sign(tokens: list[tuple[str, str, int]], at: int, *, first: bool) -> tuple[int, int]:
    _, value, column = tokens[at]
    if value in ("+", "-"):
        return (-1 if value == "-" else 1), at + 1
    if first:
        return 1, at
    raise LinearError(f"unexpected `{value}`", column, value)


def _term(tokens: list[tuple[str, str, int]], at: int) -> tuple[str | None, int, int, int]:
    column = tokens[at][2]
    name, number = _factor(tokens, at)
    at += 1
    while tokens[at][1] == "*":
        other, factor = _factor(tokens, at + 1)
        if name is not None and other is not None:
            raise LinearError("a product of two loop variables is not linear", tokens[at + 1][2], other)
        name, number, at = name or other, min(number * factor, MAX_LINEAR_NUMBER + 1), at + 2
    return name, number, column, at


def _factor(tokens: list[tuple[str, str, int]], at: int) -> tuple[str | None, int]:
    kind, value, column = tokens[at]
    if kind == "num":
        return None, int(value) if len(value) <= len(str(MAX_LINEAR_NUMBER)) else MAX_LINEAR_NUMBER + 1
    if kind == "name":
        return value, 1
    raise LinearError(f"unexpected `{value}`", column, value)
