"""What a layout needs of a slice's memories, before anything else is asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from models.hardware import Hardware
from planner.program.operations import Einsum, Node, Rows
from planner.search import rows
from planner.search.contraction import Tiling, tilings
from planner.search.parts import size_of
from planner.search.rows import RowLayout
from planner.search.spec import Contraction, bytes_of, contraction_of

Room = tuple[int, int, str]
"""Bytes of a slice that are needed, those that there are, and the memory's name."""


def is_held(room: Room) -> bool:
    """Whether there is as much as is needed."""
    return room[0] <= room[1]


def gap(room: Room) -> int:
    """Bytes that are missing; none or fewer where it is held."""
    return room[0] - room[1]


def trf_bytes(hardware: Hardware) -> int:
    """Bytes of data in a slice's TRF, all lanes together."""
    trf = hardware.trf
    return trf.rows_per_bank * trf.banks * hardware.geometry.lanes_per_slice * trf.row_data_bytes


def contraction_room(spec: Contraction, tiling: Tiling, hardware: Hardware, beside_bytes: int = 0) -> Room:
    """The fuller of TRF and DM: the held operand, and everything that lies in DM at the same time."""
    held = size_of(tiling.axis_tile(tiling.held.axes)) * tiling.held.bytes_per_element
    total = held + sum(size_of(tiling.axis_tile(o.axes)) * o.bytes_per_element for o in (tiling.stream, spec.out))
    dm = (total + beside_bytes, hardware.dm.bytes_per_slice, "DM")
    return max(((held, trf_bytes(hardware), "TRF"), dm), key=gap)


def rows_room(node: Rows, layout: RowLayout, hardware: Hardware, beside_bytes: int = 0) -> Room:
    """The fuller of DM and VRF: what is read and the result, and the operands beside the streams."""
    values = {v.name: v for v in (*node.reads, node.out)}.values()
    dm = sum(size_of(layout.held(v)) * bytes_of(v.dtype) for v in values)
    names = {n for p in node.passes for n in p.operands if n in node.values}
    vrf = sum(size_of(layout.held(node.values[n])) * bytes_of("f32") for n in names)
    room = (dm + beside_bytes, hardware.dm.bytes_per_slice, "DM"), (vrf, hardware.vrf.bytes_per_slice, "VRF")
    return max(room, key=gap)


def rooms(node: Node, sizes: Mapping[str, int], hardware: Hardware, beside_bytes: int = 0) -> Iterator[Room]:
    """The fullest memory of every layout of an operation, beside so many bytes of DM that others hold."""
    if isinstance(node, Einsum):
        spec = contraction_of(node, dict(sizes), {})
        return (contraction_room(spec, t, hardware, beside_bytes) for t in tilings(spec, hardware))
    return (rows_room(node, layout, hardware, beside_bytes) for layout in rows.layouts(node, dict(sizes), hardware))


def least_room(node: Node, sizes: Mapping[str, int], hardware: Hardware, beside_bytes: int = 0) -> Room:
    """The memory that no layout satisfies, by what the best layout needs of it."""
    found = rooms(node, sizes, hardware, beside_bytes)
    return min(found, key=lambda r: max(0, gap(r)), default=(0, 0, "DM"))
