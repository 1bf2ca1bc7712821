"""What is left of a kernel file with faults: the operations that were read, so that their faults are told at once.

An operation stays when no fault names it and everything that it touches stays: follow-up faults never arise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from models.kernel import LoopOp, Op, SourcePath, Tensor
from planner.readers.context import Context
from planner.readers.operations import Operations, Placed
from planner.readers.semantics import reads, writes

COUNTED = frozenset({"too_many_operations"})
"""Faults of all operations together: what is left may break them again."""


def remaining(ctx: Context, tensors: Mapping[str, Tensor | None], operations: Operations) -> tuple[Op, ...]:
    """The operations that stay, in their loops; their places in `ctx.at` move with them.

    Nothing stays where axes or layouts are at fault, which any operation may use.
    """
    if ctx.texts.broken or ctx.texts.broken_axes or any(f.rule in COUNTED for f in ctx.faults):
        return ()
    moved: dict[SourcePath, SourcePath] = {}
    ops = _nested(list(_sound(ctx, tensors, operations)), ("ops",), ("ops",), moved)
    ctx.at = dict(_moved(ctx.at, moved))
    return ops


def _sound(ctx: Context, tensors: Mapping[str, Tensor | None], operations: Operations) -> Iterator[Placed]:
    faulty = {f.op for f in ctx.faults if f.severity == "error"}
    standing = {name for name, tensor in tensors.items() if tensor is not None}
    for placed in operations.placed:
        made = {use.tensor for use in writes(placed) if use.creates}
        touched = {use.tensor for use in (*reads(placed), *writes(placed))} - made
        if placed.op.name not in faulty and touched <= standing and all(name for name, _ in placed.loops):
            standing |= made
            yield placed
        else:
            standing -= made


def _nested(
    placed: list[Placed], old: SourcePath, new: SourcePath, moved: dict[SourcePath, SourcePath]
) -> tuple[Op, ...]:
    """Operations below the path `old` of the file as those below `new`, loops rebuilt around what is left of them."""
    out: list[Op] = []
    depth = len(old)
    for index, group in groupby(placed, lambda p: p.path[depth]):
        inside = list(group)
        before, after = (*old, index), (*new, len(out))
        moved[before] = after
        if len(inside[0].path) == depth + 1:
            out.append(inside[0].op)
            continue
        name, count = inside[0].loops[depth // 2]
        ops = _nested(inside, (*before, "ops"), (*after, "ops"), moved)
        out.append(LoopOp(name=name, count=count, ops=ops))
    return tuple(out)


def _moved(
    at: Mapping[SourcePath, tuple[int, int]], moved: Mapping[SourcePath, SourcePath]
) -> Iterator[tuple[SourcePath, tuple[int, int]]]:
    for path, place in at.items():
        if path[:1] != ("ops",) or len(path) == 1:
            yield path, place
            continue
        known = max((n for n in range(2, len(path) + 1, 2) if path[:n] in moved), default=0)
        rest = path[known:]
        # An operation inside of a loop that stays, but itself did not.
        gone = len(rest) > 1 and rest[0] == "ops"
        if known and not gone:
            yield (*moved[path[:known]], *rest), place
