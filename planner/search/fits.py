"""Why a program has no layout: what its operation needs of a slice, what there is, and the tile that would fit."""

from __future__ import annotations

from models.faults import Fault
from models.hardware import Hardware
from planner.program.operations import Einsum, Node, Rows
from planner.readers.source import KernelSource
from planner.search import rows
from planner.search.contraction import tilings
from planner.search.laws import Laws, Place
from planner.search.options import Finder, contraction_of
from planner.search.parts import size_of
from planner.search.spec import bytes_of


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


def least_room(node: Node, sizes: dict[str, int], hardware: Hardware) -> tuple[int, int, str]:
    """The memory that no layout satisfies: bytes of a slice that the best one needs, what there is, and its name."""
    found = _einsum_room(node, sizes, hardware) if isinstance(node, Einsum) else _rows_room(node, sizes, hardware)
    return min(found, key=lambda f: max(0, f[0] - f[1]), default=(0, 0, "DM"))


def _einsum_room(node: Einsum, sizes: dict[str, int], hardware: Hardware) -> list[tuple[int, int, str]]:
    spec = contraction_of(node, sizes, {})
    trf, dm = (
        hardware.trf.rows_per_bank * hardware.trf.banks * hardware.geometry.lanes_per_slice,
        hardware.dm.bytes_per_slice,
    )
    out = []
    for tiling in tilings(spec, hardware):
        held = size_of(tiling.axis_tile(tiling.held.axes)) * tiling.held.bytes_per_element
        total = held + sum(size_of(tiling.axis_tile(o.axes)) * o.bytes_per_element for o in (tiling.stream, spec.out))
        room = (held, trf * hardware.trf.row_data_bytes, "TRF"), (total, dm, "DM")
        out.append(max(room, key=lambda r: r[0] - r[1]))
    return out


def _rows_room(node: Rows, sizes: dict[str, int], hardware: Hardware) -> list[tuple[int, int, str]]:
    out = []
    for layout in rows.layouts(node, sizes, hardware):
        values = {v.name: v for v in (*node.reads, node.out)}.values()
        dm = sum(size_of(layout.held(v)) * bytes_of(v.dtype) for v in values)
        names = {n for p in node.passes for n in p.operands if n in node.values}
        vrf = sum(size_of(layout.held(node.values[n])) * bytes_of("f32") for n in names)
        room = (dm, hardware.dm.bytes_per_slice, "DM"), (vrf, hardware.vrf.bytes_per_slice, "VRF")
        out.append(max(room, key=lambda r: r[0] - r[1]))
    return out


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
