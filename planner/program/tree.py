"""A program as data: statements of named-axis operations, as they stand in the file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: float
    column: int


@dataclass(frozen=True, slots=True)
class Ref:
    """A tensor or an axis; `axes` is what stands in brackets behind a tensor, None where nothing does."""

    name: str
    axes: tuple[str, ...] | None
    column: int


@dataclass(frozen=True, slots=True)
class Call:
    """`function(arguments -> dtype[axes])`; `axes` and `dtype` are what stands behind the arrow."""

    function: str
    arguments: tuple[Expression, ...]
    axes: tuple[str, ...] | None
    dtype: str | None
    column: int


Expression = Number | Ref | Call


@dataclass(frozen=True, slots=True)
class Statement:
    """`name = expression`, with the place of its text in the file, and what is stated of the result's DM layout."""

    name: str
    expression: Call
    text: str
    line: int = 1
    column: int = 1
    cluster: str | None = None
    slice: str | None = None
    element: str | None = None
