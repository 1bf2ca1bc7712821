"""Relabelling: other mappings for the same cells; nothing moves (domain: section 6, seed 000 `reshape`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from models.factors import Digit, Factor, Free, Padded, common_refinement, equivalent, normal
from models.faults import Finding
from models.layout import TensorLayout
from models.mapping import Mapping, axis_names, text
from planner.engines.base import Ground, Outcome

LEVELS = ("chip", "cluster", "slice", "lane", "element")


def law(ground: Ground, old: TensorLayout, new: TensorLayout) -> Outcome:
    """Whether every level keeps its size and, position by position, its cell.

    A cell may gain an index only along an axis that the tensor lacks, where the old mapping is an anonymous
    broadcast: `256` relabelled to a named axis of 256.
    """
    del ground
    carried = frozenset[str]().union(*(axis_names(getattr(old, level)) for level in LEVELS))
    findings = [f for level in LEVELS for f in _level(level, getattr(old, level), getattr(new, level), carried)]
    return Outcome(tuple(findings))


def _level(level: str, old: Mapping, new: Mapping, carried: frozenset[str]) -> Iterator[Finding]:
    if old.size != new.size:
        message = f"{level} has {new.size} positions, the tensor has {old.size} there"
        yield Finding("reshape_size_mismatch", message, str(new.size), str(old.size), text(old))
    elif not same_cells(old, new, carried):
        message = f"{level} `{text(new)}` claims other cells than `{text(old)}` holds"
        yield Finding("reshape_cells_differ", message, text(new), text(old), text(old))


def same_cells(old: Mapping, new: Mapping, carried: frozenset[str]) -> bool:
    """Whether `new` names the cells of `old`, or what `old` broadcasts, position by position."""
    if equivalent(old, new):
        return True
    refined = common_refinement(normal(old), normal(new))
    if refined is None:
        return False
    return _named(*refined, carried)


def _named(old: Sequence[Factor], new: Sequence[Factor], carried: frozenset[str]) -> bool:
    if len(old) != len(new):
        return False
    return all(a == b or _renames(a, b, carried) for a, b in zip(old, new, strict=True))


def _renames(old: Factor, new: Factor, carried: frozenset[str]) -> bool:
    """Whether a broadcast gets a name, alone or as what an equal padding leaves live."""
    if isinstance(old, Padded) and isinstance(new, Padded):
        return (old.size, old.kind) == (new.size, new.kind) and _named(old.inner, new.inner, carried)
    return isinstance(old, Free) and _is_new(new, carried)


def _is_new(factor: Factor, carried: frozenset[str]) -> bool:
    if isinstance(factor, Free):
        return True
    return isinstance(factor, Digit) and not axis_names(factor.base) & carried
