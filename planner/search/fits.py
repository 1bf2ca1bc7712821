"""Why a program has no layout: what its operation needs of a slice, what there is, and the tile that would fit."""

from __future__ import annotations

from models.faults import Fault
from models.hardware import Hardware
from planner.program.operations import Node
from planner.readers.source import KernelSource
from planner.search.laws import Laws, Place
from planner.search.options import Finder
from planner.search.room import least_room


def why_not(source: KernelSource, hardware: Hardware) -> list[Fault]:
    """A fault for every operation without a layout."""
    sizes = dict(source.kernel.axes)
    hbm = {name: Place(t.element) for name, t in source.kernel.tensors.items()}
    outputs = frozenset(n for n, t in source.kernel.tensors.items() if t.role == "output")
    out = []
    for node in source.program:
        finder = Finder(Laws(hardware, sizes), hbm, outputs, most=1)
        if not finder.options(node):
            out.append(_fault(source, node, hardware, finder))
    return out or [
        Fault(
            rule="program_no_layout",
            file=source.path,
            message="the operations have layouts, no kernel of them has a plan",
        )
    ]


def _fault(source: KernelSource, node: Node, hardware: Hardware, finder: Finder) -> Fault:
    sizes = dict(source.kernel.axes)
    need, have, where = least_room(node, sizes, hardware)
    if need <= have:
        rules = ", ".join(f"{rule} ({n})" for rule, n in sorted(finder.refused.items(), key=lambda r: -r[1]))
        message = f"none of {finder.asked} layouts is legal"
        return _at(source, node, Fault(rule="program_no_layout", message=message, found=rules, wanted="a legal layout"))
    tile = smallest_tile(node, sizes, hardware)
    fault = Fault(
        rule="program_does_not_fit",
        message=f"the operation needs {need:,} bytes of a slice's {where}, {need - have:,} more than it has",
        found=f"{need:,} bytes",
        wanted=f"at most {have:,} bytes",
        nearest="" if tile is None else f"axis {tile[0]} in tiles of {tile[1]:,}",
    )
    return _at(source, node, fault)


def _at(source: KernelSource, node: Node, fault: Fault) -> Fault:
    s = node.statement
    return fault.model_copy(update={"file": source.path, "line": s.line, "column": s.column, "op": s.name})


def smallest_tile(node: Node, sizes: dict[str, int], hardware: Hardware) -> tuple[str, int] | None:
    """The largest axis of the result, halved until the operation fits; None where no size of it does."""
    axes = [a for a in node.out.axes if sizes[a] > 1] or [a for v in node.reads for a in v.axes]
    axis = max(axes, key=lambda a: sizes[a], default=None)
    size = sizes[axis] if axis else 1
    while axis and size > 1:
        size = -(-size // 2)
        need, have, _ = least_room(node, {**sizes, axis: size}, hardware)
        if need <= have:
            return axis, size
    return None
