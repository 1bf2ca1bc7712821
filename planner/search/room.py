"""What a layout needs of a slice's memories, before anything else is asked of it."""

from __future__ import annotations

from models.hardware import Hardware
from planner.program.operations import Einsum, Node, Rows
from planner.search import rows
from planner.search.contraction import Tiling, tilings
from planner.search.parts import size_of
from planner.search.rows import RowLayout
from planner.search.spec import Contraction, bytes_of, contraction_of

Room = tuple[int, int, str]
"""Bytes of a slice that are needed, those that there are, and the memory's name."""


def least_room(node: Node, sizes: dict[str, int], hardware: Hardware) -> Room:
    """The memory that no layout satisfies, by what the best layout needs of it."""
    if isinstance(node, Einsum):
        spec = contraction_of(node, sizes, {})
        found = [contraction_room(spec, t, hardware) for t in tilings(spec, hardware)]
    else:
        found = [rows_room(node, layout, hardware) for layout in rows.layouts(node, sizes, hardware)]
    return min(found, key=lambda f: max(0, f[0] - f[1]), default=(0, 0, "DM"))


def is_held(room: Room) -> bool:
    """Whether there is as much as is needed."""
    return room[0] <= room[1]


def contraction_room(spec: Contraction, tiling: Tiling, hardware: Hardware) -> Room:
    """The fuller of TRF and DM: the held operand, and everything that lies in DM at the same time."""
    trf = hardware.trf.rows_per_bank * hardware.trf.banks * hardware.geometry.lanes_per_slice
    held = size_of(tiling.axis_tile(tiling.held.axes)) * tiling.held.bytes_per_element
    total = held + sum(size_of(tiling.axis_tile(o.axes)) * o.bytes_per_element for o in (tiling.stream, spec.out))
    room = (held, trf * hardware.trf.row_data_bytes, "TRF"), (total, hardware.dm.bytes_per_slice, "DM")
    return max(room, key=lambda r: r[0] - r[1])


def rows_room(node: Rows, layout: RowLayout, hardware: Hardware) -> Room:
    """The fuller of DM and VRF: what is read and the result, and the operands beside the streams."""
    values = {v.name: v for v in (*node.reads, node.out)}.values()
    dm = sum(size_of(layout.held(v)) * bytes_of(v.dtype) for v in values)
    names = {n for p in node.passes for n in p.operands if n in node.values}
    vrf = sum(size_of(layout.held(node.values[n])) * bytes_of("f32") for n in names)
    room = (dm, hardware.dm.bytes_per_slice, "DM"), (vrf, hardware.vrf.bytes_per_slice, "VRF")
    return max(room, key=lambda r: r[0] - r[1])
