"""Pairs in the vector engine: what a group is, what ops take per group, and how many flits that makes (section 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from models.faults import Finding
from models.mapping import Axis, Mapping, terms, text
from models.vector_ops import VectorOp
from planner.engines.vector_table import NOT_IN_PAIRS, OPERANDS

PAIRED, MERGED = "paired", "merged"
GROUPS = 2
_ON_MERGED = frozenset({"narrow_trim", "widen_pad"})
"""Ops that pairs do not know, but the one stream behind a zip does."""


def phase(op: VectorOp, before: str) -> str:
    """Whether the chain stands on pairs, or on what a zip has made of them, behind an op."""
    if op.name == "unzip":
        return PAIRED
    return MERGED if op.name.endswith("_zip") else before


def barred(phase_before: str) -> frozenset[str]:
    """Ops that are not available in a phase."""
    if phase_before == PAIRED:
        return NOT_IN_PAIRS
    return NOT_IN_PAIRS - _ON_MERGED if phase_before == MERGED else frozenset()


def flits(phase_before: str, time_steps: int) -> int:
    """Flits that enter an op: Time of pairs is that of one group, both pass."""
    return time_steps * GROUPS if phase_before == PAIRED else time_steps


def operands(op: VectorOp, phase_before: str) -> Iterator[Finding]:
    """What is wrong with the list of operands: one per group for a binary op on pairs, two for a ternary one.

    A single `operand` serves both groups; null in a list leaves its group as it is.
    """
    per_group = OPERANDS.get(op.name, 0)
    if op.operands is None or not per_group:
        return
    legal = {per_group} if per_group > 1 else set()
    if phase_before == PAIRED:
        legal.add(per_group * GROUPS)
    if len(op.operands) not in legal:
        wanted = " or ".join(map(str, sorted(legal))) or "`operand`, or unzip before it"
        yield Finding(
            "pair_operands",
            f"{op.name} lists {len(op.operands)} operands "
            + ("on pairs" if phase_before == PAIRED else "on one stream"),
            str(len(op.operands)),
            wanted,
            "" if legal else "operand",
        )
    elif None in op.operands and not _whole_groups(op.operands, per_group):
        yield Finding(
            "pair_operands",
            f"{op.name} leaves out some operands of a group",
            ", ".join(map(str, op.operands)),
            "all operands of a group, or null for each",
        )


def _whole_groups(listed: tuple[Any, ...], per_group: int) -> bool:
    groups = [listed[i : i + per_group] for i in range(0, len(listed), per_group)]
    whole = all(len({o is None for o in group}) == 1 for group in groups)
    return whole and len(groups) == GROUPS and any(o is not None for o in listed)


def settings(time: Mapping, axis: str) -> dict[str, Any]:
    """Where the groups stand in Time: step t belongs to group t / group_stride % 2."""
    inner = 1
    for term in reversed(terms(time)):
        if isinstance(term, Axis) and term.name == axis:
            return {"groups": GROUPS, "group_stride": inner, "grouped_time": text(time)}
        inner *= term.size
    return {}
