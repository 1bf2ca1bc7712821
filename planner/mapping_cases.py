"""Case function of the mapping algebra, and what `tuplan map` shows of a mapping."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from models.cells import KIND_NAMES, LIVE, cells
from models.factors import Digit, Factor, Free, equivalent, normal, simplify
from models.mapping import PADDING_TEXT, Axis, Mapping, MappingError, text
from models.parse import parse

FIRST_POSITIONS = 16
_ANSWERS = {True: "equivalent", False: "not equivalent", None: "not decided"}
Axes = dict[str, int]


def run(case: dict[str, Any]) -> dict[str, Any]:
    """The result of a case of engine `mapping`.

    Fields: size; cells at the positions that `expect` lists; of the mappings listed under equivalent_to and
    not_equivalent_to those for which it is proven. A mapping that does not parse is a verdict: `ok` is False
    and `rules` names what is broken.
    """
    axes: Axes = case.get("axes", {})
    try:
        expr = parse(str(case.get("expr", "")), axes)
    except MappingError as fault:
        return {"ok": False, "rules": [fault.rule], "warnings": [], "message": fault.message}
    expect = case.get("expect", {})
    return {
        "ok": True,
        "rules": [],
        "warnings": [],
        "size": expr.size,
        "cells": named_cells(expr, expect.get("cells", {})),
        "equivalent_to": _proven(expr, axes, expect.get("equivalent_to", []), answer=True),
        "not_equivalent_to": _proven(expr, axes, expect.get("not_equivalent_to", []), answer=False),
    }


def describe(expr: str, axes: Axes, others: Sequence[str] = ()) -> dict[str, Any]:
    """All that `tuplan map` shows: size, shortest form, factors, the first cells, equivalence with `others`.

    Raises:
        MappingError: `expr` or one of `others` does not parse.

    """
    e = parse(expr, axes)
    return {
        "expr": text(e),
        "size": e.size,
        "normal_form": text(simplify(e)),
        "factors": [_factor(f) for f in normal(e)],
        "cells": named_cells(e, range(min(e.size, FIRST_POSITIONS))),
        "equivalence": {other: _ANSWERS[equivalent(e, parse(other, axes))] for other in others},
    }


def named_cells(expr: Mapping, at: Iterable[int]) -> dict[int, dict[str, int] | str]:
    """The cells at some positions: a value per axis of the mapping, or the kind of padding by name."""
    wanted = [int(p) for p in at]
    if not wanted:
        return {}
    # a position that does not fit the arrays is past the end of every mapping that fits them
    places = np.array([p if 0 <= p < expr.size else -1 for p in wanted], dtype=np.int64)
    found = cells(expr, places)
    index = {name: np.broadcast_to(values, places.shape) for name, values in sorted(found.index.items())}
    return {
        p: {name: int(values[i]) for name, values in index.items()} if kind == LIVE else KIND_NAMES[kind]
        for i, (p, kind) in enumerate(zip(wanted, found.kind.tolist(), strict=True))
    }


def _proven(expr: Mapping, axes: Axes, others: Iterable[str], *, answer: bool) -> list[str]:
    return [other for other in others if _answer(expr, axes, other) is answer]


def _answer(expr: Mapping, axes: Axes, other: str) -> bool | None:
    try:
        return equivalent(expr, parse(other, axes))
    except MappingError:
        return None


def _factor(factor: Factor) -> dict[str, Any]:
    if isinstance(factor, Digit):
        kind = "axis" if isinstance(factor.base, Axis) else "digit"
        return {"kind": kind, "base": text(factor.base), "stride": factor.stride, "size": factor.size}
    if isinstance(factor, Free):
        return {"kind": "broadcast", "size": factor.size}
    return {
        "kind": "padded",
        "padding": PADDING_TEXT[factor.kind],
        "size": factor.size,
        "inner": [_factor(f) for f in factor.inner],
    }
