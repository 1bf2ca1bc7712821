"""Where the cast that ends a pass is done: on the Cast Engine as stated, or by the commit where that can pay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from models.graph import SUB, VECTOR, Mode, Operation
from planner.engines.cast import BY_COMMIT, BY_ENGINE
from planner.passes import pruned

_FIELD = "cast"


def settled(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Operations whose casts stay on the Cast Engine unless a Sub pass could use the Vector Engine meanwhile.

    The way that is not offered stays among the dominated ones, so that its price is known.
    """
    ops = tuple(operations)
    wanted = {o.base for o in ops if any({SUB, VECTOR} <= m.holds for m in _all(o))}
    return tuple(_settled(o, contested=bool(wanted - {o.base})) for o in ops)


def _settled(op: Operation, *, contested: bool) -> Operation:
    ways = _all(op)
    if contested or {BY_ENGINE, BY_COMMIT} - {m.decisions.get(_FIELD) for m in ways}:
        return op
    kept, rest = pruned([m for m in ways if m.decisions.get(_FIELD) != BY_COMMIT])
    return replace(op, modes=kept, dominated=(*rest, *(m for m in ways if m.decisions.get(_FIELD) == BY_COMMIT)))


def _all(op: Operation) -> tuple[Mode, ...]:
    return (*op.modes, *op.dominated)
