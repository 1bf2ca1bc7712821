"""A way to do one operation of a program: the layouts it reads, its passes, the layout it leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from models.kernel import Commit, ContractOuter, PassOp, ReshapeOp, ToTrf, ToVrf, Vector
from models.layout import TensorLayout
from models.parse import parse
from planner.passes import PassResult
from planner.search.laws import Laws, Place


@dataclass(frozen=True, slots=True)
class Need:
    """A DM buffer that passes read: the program's tensor, the layout, and the buffer's name in the passes."""

    tensor: str
    dtype: str
    place: Place
    buffer: str


@dataclass(frozen=True, slots=True)
class Fragment:
    """Passes that compute `out` from `needs`; `gives` is the layout of its DM buffer `buffer`.

    `label` names the choices that were made, for people. `views` are other names of what the passes write: each holds
    from the pass on that writes what it is `of`.
    """

    label: str
    needs: tuple[Need, ...]
    passes: tuple[PassOp, ...]
    out: str
    dtype: str
    gives: Place
    buffer: str
    views: tuple[ReshapeOp, ...] = ()

    def written(self, laws: Laws, layout: TensorLayout) -> dict[str, TensorLayout]:
        """What a pass writes, under its own name and those of its views."""
        out = {layout.name: layout}
        for view in self.views:
            if view.of == layout.name:
                slice_ = layout.slice if view.slice is None else parse(view.slice, laws.axes)
                out[view.name] = replace(layout, name=view.name, slice=slice_)
        return out

    def ops(self) -> Iterator[PassOp | ReshapeOp]:
        """Passes and views in order."""
        for op in self.passes:
            yield op
            last = op.steps[-1]
            if isinstance(last, ToTrf | ToVrf | Commit):
                yield from (v for v in self.views if v.of == last.write)

    def layouts(self, laws: Laws) -> dict[str, TensorLayout]:
        """The layouts of everything that its passes read at the start."""
        return {n.buffer: laws.layout(n.buffer, "dm", n.dtype, n.place) for n in self.needs}

    def judged(self, laws: Laws) -> tuple[PassResult, ...] | None:
        """The verdict on every pass, None as soon as one has no legal way."""
        known, out = self.layouts(laws), []
        for op in self.passes:
            result = laws.of_pass(op, {n: t for n, t in known.items() if n in touched(op)})
            if not result.modes or result.writes is None:
                return None
            known |= self.written(laws, result.writes)
            out.append(result)
        return tuple(out)


def touched(op: PassOp) -> frozenset[str]:
    """Every tensor that a pass reads."""
    return frozenset(_read(op))


def _read(op: PassOp) -> Iterator[str]:
    for place in op.read if isinstance(op.read, tuple) else (op.read,):
        yield place if isinstance(place, str) else place.tensor
    for step in op.steps:
        if isinstance(step, ContractOuter):
            yield step.with_
        elif isinstance(step, Vector):
            for one in step.ops:
                yield from (o for o in (one.operand, *(one.operands or ())) if isinstance(o, str))


def renamed(op: PassOp, names: dict[str, str], name: str) -> PassOp:
    """A pass with its tensors called otherwise."""

    def new(old: object) -> object:
        return names.get(old, old) if isinstance(old, str) else old

    steps = []
    for step in op.steps:
        if isinstance(step, ContractOuter):
            step = step.model_copy(update={"with_": new(step.with_)})
        elif isinstance(step, ToTrf | ToVrf | Commit):
            step = step.model_copy(update={"write": new(step.write)})
        elif isinstance(step, Vector):
            ops = tuple(
                o.model_copy(
                    update={
                        "operand": new(o.operand),
                        "operands": None if o.operands is None else tuple(new(x) for x in o.operands),
                    }
                )
                for o in step.ops
            )
            step = step.model_copy(update={"ops": ops})
        steps.append(step)
    read = tuple(new(r) for r in op.read) if isinstance(op.read, tuple) else new(op.read)
    return op.model_copy(update={"name": name, "read": read, "steps": tuple(steps)})


def cheapest(result: PassResult) -> int:
    """The fewest cycles of a pass's legal ways."""
    return min(m.cycles for m in result.modes)
