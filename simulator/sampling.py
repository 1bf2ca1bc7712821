"""A random part of the outputs: which indices of which axes are computed and compared when a plan is sampled.

An axis may be thinned out wherever nothing later needs all of it: a sum over an axis needs every index, an output
needs those that are compared. What is left is a grid of random indices, the same for the machine and the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray

from models.kernel import PassOp, Tile
from models.mapping import axis_names
from models.plan import Plan, PlannedOp
from simulator.bench import Bench, flat, kernel_name
from simulator.inputs import named_axes
from simulator.traffic import traffic_of

Ints = NDArray[np.int64]
Axes = frozenset[str]
_STREAM = 0x5A3D  # tells the draw of a sample from that of the inputs


@dataclass(frozen=True, slots=True)
class Sample:
    """Indices in ascending order by axis, and the axes along which each tensor is thinned out."""

    indices: dict[str, Ints] = field(default_factory=dict)
    thinned: dict[str, Axes] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    """A tensor that each operation of the kernel writes."""

    def of_tensor(self, tensor: str) -> dict[str, Ints]:
        """The indices that a tensor has, by axis; the axes not named it has whole."""
        return {axis: self.indices[axis] for axis in sorted(self.thinned.get(tensor, ())) if axis in self.indices}

    def of_op(self, op: str) -> dict[str, Ints]:
        """The indices that an operation of the kernel has to compute."""
        return self.of_tensor(self.written.get(op, ""))

    def of_planned(self, plan: Plan, op: PlannedOp) -> dict[str, Ints]:
        """The same of an operation of the plan, which may be one of several that make one of the kernel."""
        return self.of_tensor(next(iter(traffic_of(plan, op).writes), ""))


def draw(bench: Bench, part: float, seed: int) -> Sample:
    """Draws a sample of the outputs: a fraction up to 1, or a count of elements from 1 up when `part` is an int."""
    plan = bench.plan
    needed = whole_axes(bench)
    shapes = {
        name: {a: plan.kernel.axes[a] for a in named_axes(tensor, plan.kernel.axes)}
        for name, tensor in plan.kernel.tensors.items()
        if tensor.role == "output"
    }
    total = sum(prod(shape.values()) for shape in shapes.values())
    fraction = min(1.0, part / max(1, total) if isinstance(part, int) else part)
    rng = np.random.default_rng([seed, _STREAM])
    indices: dict[str, Ints] = {}
    for name in sorted(shapes, key=lambda n: (-prod(shapes[n].values()), n)):
        free = {a: n for a, n in shapes[name].items() if a not in needed.get(name, ()) and a not in indices}
        for axis, size, count in _counts(free, fraction):
            indices[axis] = np.sort(rng.choice(size, count, replace=False)).astype(np.int64)
    axes = {t: _axes_of(bench, t) for t in needed}
    return Sample(indices, {t: axes[t] - needed[t] for t in needed}, dict(_writers(bench)))


def _counts(free: dict[str, int], fraction: float) -> Iterator[tuple[str, int, int]]:
    """How many indices of each axis give that fraction of all, the short axes first: they round up most."""
    left = fraction
    for i, (axis, size) in enumerate(sorted(free.items(), key=lambda item: item[1])):
        count = min(size, max(1, ceil(size * left ** (1 / (len(free) - i)) - 1e-9)))
        left = min(1.0, left * size / count)
        yield axis, size, count


def whole_axes(bench: Bench) -> dict[str, Axes]:
    """By tensor the axes of which every index is needed; outputs and all that they are made of are named."""
    plan = bench.plan
    tiled = frozenset[str]().union(*_tiled(bench))
    needed: dict[str, Axes] = dict.fromkeys((*plan.kernel.tensors, *(e.tensor for e in plan.memory)), tiled)
    moves = [(_names(plan, op), _folded(bench, op)) for op in plan.ops if op.kind != "bitmap_load"]
    changed = True
    while changed:
        before = dict(needed)
        for (reads, writes), folded in moves:
            for name in writes:
                needed[name] |= folded
            rest = folded.union(*(needed[name] for name in writes))
            for name in reads:
                needed[name] |= rest
        for entry in plan.memory:
            if entry.shares:  # one place under two names
                needed[entry.tensor] = needed[entry.shares] = needed[entry.tensor] | needed[entry.shares]
        _together(bench, needed)
        changed = before != needed
    return _by_kernel_name(bench, needed)


def _together(bench: Bench, needed: dict[str, Axes]) -> None:
    """Instances of one tensor of the kernel are thinned out alike."""
    groups: dict[str, list[str]] = {}
    for op in bench.plan.ops:
        for name, instance in op.uses.items():
            groups.setdefault(name, []).append(instance)
    for instances in groups.values():
        whole = frozenset[str]().union(*(needed[i] for i in instances))
        needed.update(dict.fromkeys(instances, whole))


def _by_kernel_name(bench: Bench, needed: dict[str, Axes]) -> dict[str, Axes]:
    out = {name: needed[name] for name in bench.plan.kernel.tensors}
    for op in bench.plan.ops:
        out |= {name: needed[instance] for name, instance in op.uses.items()}
    return out


def _names(plan: Plan, op: PlannedOp) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return traffic_of(plan, op).used(op)


def _writers(bench: Bench) -> Iterator[tuple[str, str]]:
    """The tensor that an operation of the kernel writes, by its name there; of several passes the last one's."""
    for op in bench.plan.ops:
        for name in traffic_of(bench.plan, op).writes:
            yield kernel_name(op.base), name


def _tiled(bench: Bench) -> Iterator[Axes]:
    """Axes of which operations take parts one after the other."""
    for op in flat(bench.plan.kernel.ops):
        places: list[object] = [getattr(op, "read", None), getattr(op, "write", None)]
        if isinstance(op, PassOp):
            places += op.read if isinstance(op.read, tuple) else ()
            places += [s.write for s in op.steps if s.step == "commit"]
        for place in places:
            if isinstance(place, Tile):
                yield axis_names(bench.layouts.mapping(place.tile))


def _axes_of(bench: Bench, tensor: str) -> Axes:
    """Axes that a tensor's data has; a tensor of the kernel has those of its instances."""
    instances = {tensor, *(op.uses[tensor] for op in bench.plan.ops if tensor in op.uses)}
    return frozenset[str]().union(*(bench.carried.get(name, frozenset()) for name in instances))


def _named(bench: Bench, *texts: str) -> Axes:
    return frozenset[str]().union(*(axis_names(bench.layouts.mapping(text)) for text in texts))


def _folded(bench: Bench, op: PlannedOp) -> Axes:
    """Axes that an operation may sum up or take apart, rather too many than too few."""
    reads, writes = _names(bench.plan, op)
    read, written = (frozenset[str]().union(*(_axes_of(bench, n) for n in names)) for names in (reads, writes))
    whole = read - written
    made = bench.kernel_ops.get(kernel_name(op.base))
    if not isinstance(made, PassOp):
        return whole
    if made.interleave is not None:
        whole |= {made.interleave}
    spatial = frozenset[str]().union(*(_spatial(bench, n) for n in (*reads, *writes)))
    parts = frozenset[str]().union(*(_in_parts(bench, n) for n in writes))
    for step in made.steps:
        if step.step == "vector":
            for part in step.ops:
                whole |= {n for n in (part.axis, str(part.value)) if n in bench.plan.kernel.axes}
                whole |= spatial if part.name == "inter_slice_reduce" else frozenset()
        elif step.step == "contract_outer":
            whole |= _contracted(bench, op, step.with_, reads, parts)
    return whole


def _contracted(bench: Bench, op: PlannedOp, held: str, reads: tuple[str, ...], parts: Axes) -> Axes:
    """Axes of both operands, and those of which each unit may hold a sum over its part behind the contraction."""
    weights = op.uses.get(held, held)
    stream = frozenset[str]().union(*(_axes_of(bench, n) for n in reads if n != weights))
    entry = bench.entries.get(weights)
    texts = [entry.lane] if entry is not None else []
    for stage in bench.plan.programs[op.program]:
        if stage.step in ("contract_time", "contract_packet"):
            texts += [stage.time, stage.packet]
    return (stream & _axes_of(bench, weights)) | (parts - _named(bench, *texts))


def _spatial(bench: Bench, name: str) -> Axes:
    entry = bench.entries.get(name)
    return frozenset() if entry is None else _named(bench, entry.chip, entry.cluster, entry.slice)


def _in_parts(bench: Bench, name: str) -> Axes:
    """Axes of which the units of an instance hold digits, but not all of them."""
    entry = bench.entries.get(name)
    if entry is None:
        return frozenset()
    cells = bench.layouts.inner(entry.chip, entry.cluster, entry.slice)
    sizes = {axis: len(np.unique(at)) for axis, at in cells.index.items()}
    return frozenset(axis for axis, size in sizes.items() if 1 < size < bench.plan.kernel.axes.get(axis, size))
