"""Legality of a transfer, by the rules of models/rules/dma.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from models.dtypes import DTYPES, STAGED_ONLY
from models.factors import equivalent
from models.faults import Finding
from models.hardware import Hardware
from models.kernel import Tile
from models.layout import TensorLayout
from models.mapping import MappingError, text
from models.parse import parse
from planner.engines.base import Ground
from planner.engines.dma_access import Access
from planner.engines.dma_forms import Tiling, tiling
from planner.engines.dma_runs import Runs, find_runs

DIRECTIONS = {("hbm", "dm"): "load", ("dm", "hbm"): "store", ("dm", "dm"): "copy", ("hbm", "hbm"): "copy"}
_BYTE_BITS = 8

Layouts = tuple[TensorLayout, TensorLayout]


def check_ends(ends: Layouts, ground: Ground) -> list[Finding]:
    """What can be told from the two layouts before any digit is matched."""
    return [f for check in _END_CHECKS for f in check(ends, ground)]


def _memory(ends: Layouts, _: Ground) -> Iterator[Finding]:
    found = (ends[0].memory, ends[1].memory)
    if found not in DIRECTIONS:
        yield Finding(
            "dma_memory",
            f"a transfer cannot move from {found[0]} to {found[1]}",
            f"{found[0]} to {found[1]}",
            ", ".join(f"{a} to {b}" for a, b in DIRECTIONS),
            "a pass that ends in to_trf, to_vrf or commit",
        )


def _dtype(ends: Layouts, _: Ground) -> Iterator[Finding]:
    source, destination = ends[0].dtype, ends[1].dtype
    legal = source if source in DTYPES and source not in STAGED_ONLY else "a type that memory holds"
    if source != destination or legal != source:
        yield Finding(
            "dma_dtype",
            f"a transfer cannot move {source} into {destination}: only a pass converts",
            f"{source} to {destination}",
            f"{legal} to {legal}",
            legal,
        )


def _chip(ends: Layouts, _: Ground) -> Iterator[Finding]:
    memories = {e.memory for e in ends}
    source, destination = ends[0].chip, ends[1].chip
    if memories == {"hbm", "dm"} and equivalent(source, destination) is not True:
        yield Finding(
            "dma_chip",
            f"the source lies on chips `{text(source)}`, the destination on `{text(destination)}`",
            text(destination),
            text(source),
            f"chip: {text(source)}",
        )


def _units(ends: Layouts, ground: Ground) -> Iterator[Finding]:
    shape = ground.hardware.geometry
    sizes = [shape.min_slices]
    while sizes[-1] < shape.slices_per_cluster:
        sizes.append(sizes[-1] * 2)
    for end in ends:
        if end.memory != "dm":
            continue
        if end.slice.size not in sizes:
            near = min(sizes, key=lambda s: (s < end.slice.size, abs(s - end.slice.size)))
            yield Finding(
                "dma_units",
                f"`{text(end.slice)}` has {end.slice.size} slices",
                str(end.slice.size),
                " or ".join(map(str, sizes)),
                f"{text(end.slice)} padded to {near}" if end.slice.size < near else f"{near} slices",
            )
        if end.cluster.size > shape.clusters_per_chip:
            yield Finding(
                "dma_units",
                f"`{text(end.cluster)}` has {end.cluster.size} clusters, the chip {shape.clusters_per_chip}",
                str(end.cluster.size),
                f"at most {shape.clusters_per_chip}",
                f"{shape.clusters_per_chip} clusters",
            )


def _sizes(ends: Layouts, ground: Ground) -> Iterator[Finding]:
    room = {
        "hbm": ("dma_hbm_size", "HBM", ground.hardware.dma.hbm_bytes),
        "dm": ("dma_dm_size", "a slice's DM", ground.hardware.dm.bytes_per_slice),
    }
    for end in ends:
        if end.memory not in room or end.dtype not in DTYPES:
            continue
        rule, place, most = room[end.memory]
        needs = DTYPES[end.dtype].size_bytes(end.element.size)
        if needs > most:
            fits = most * _BYTE_BITS // DTYPES[end.dtype].bits
            message = (
                f"`{text(end.element)}` of {end.dtype} takes {needs} bytes, {place} has {most}, {needs - most} short"
            )
            yield Finding(rule, message, f"{needs} bytes", f"at most {most} bytes", f"{fits} elements")


_END_CHECKS: tuple[Callable[[Layouts, Ground], Iterator[Finding]], ...] = (_memory, _dtype, _chip, _units, _sizes)


def as_tiling(tile: Tile | None, ground: Ground) -> tuple[Tiling | None, list[Finding]]:
    """The tile as a digit of an axis, and what is wrong with it. The start counts only where it is a number."""
    if tile is None:
        return None, []
    listed = ", ".join(ground.axes)
    try:
        expr = parse(tile.tile, ground.axes)
    except MappingError as fault:
        return None, [Finding("dma_tile_digit", fault.message, tile.tile, "a digit of an axis", f"a digit of {listed}")]
    found = tiling(tile, expr)
    if found is None:
        message = f"`{tile.tile}` is no digit of one axis"
        return None, [Finding("dma_tile_digit", message, tile.tile, "a digit of an axis", f"a digit of {listed}")]
    start = int(tile.start) if tile.start.strip().isdecimal() else 0
    if start + tile.length > expr.size:
        message = f"positions {start} to {start + tile.length - 1} of `{tile.tile}`, which has {expr.size}"
        left = max(0, expr.size - start)
        nearest = f"length {left}" if left else f"start {expr.size - tile.length}"
        return found, [Finding("dma_tile_bounds", message, str(start + tile.length), f"at most {expr.size}", nearest)]
    return found, []


def check_cells(walk: Access, ends: Layouts) -> list[Finding]:
    """Cells that would be missing, dropped or unwritten."""
    named = {"dma_cells_missing": walk.missing, "dma_axis_dropped": walk.dropped, "dma_cells_unwritten": walk.unwritten}
    source, destination = text(ends[0].element), text(ends[1].element)
    return [
        Finding(
            rule,
            message.format(source=source, destination=destination, what=name),
            name,
            "every live cell moved once",
            nearest,
        )
        for rule, (message, nearest) in _SAID.items()
        for name in dict.fromkeys(named[rule])
    ]


_SAID = {
    "dma_cells_missing": ("the source `{source}` does not hold all of {what}", "the axis in the source"),
    "dma_axis_dropped": (
        "the destination has no place for {what} of the source `{source}`",
        "the axis in the destination, or a tile of length 1",
    ),
    "dma_cells_unwritten": (
        "cells of the destination `{destination}` stay unwritten along {what}",
        "the axis in the source, or a tile of the destination",
    ),
}
"""By rule: the message and what would be legal."""


def check_runs(walk: Access, runs: Runs, writes_dm: bool, bits: int, hardware: Hardware) -> list[Finding]:
    """Whole bytes and the alignment of DM writes."""
    out = []
    steps = [r.there for r in (*runs.outer, *runs.units) if r.there] + [t.step for t in runs.ties]
    odd = [s for s in (runs.length, *steps) if s * bits % _BYTE_BITS]
    if odd:
        need = _BYTE_BITS // bits if bits < _BYTE_BITS else 1
        message = f"runs of {runs.length} elements of {bits} bits, {min(odd)} elements apart, are no whole bytes"
        out.append(
            Finding("dma_whole_bytes", message, f"{odd[0]} elements", f"a multiple of {need}", f"{need} elements")
        )
    if writes_dm and not out:
        exact = find_runs(walk, both=True)
        align = hardware.dm.alignment_bytes
        bad = [r.here * bits // _BYTE_BITS for r in exact.outer if r.here * bits % (align * _BYTE_BITS)]
        if bad:
            length = exact.length * bits // _BYTE_BITS
            message = (
                f"runs of {length} bytes begin {min(bad)} bytes apart in DM, {align}-byte aligned writes are needed"
            )
            nearest = f"innermost {-(-align * _BYTE_BITS // bits)} elements contiguous on both sides"
            out.append(
                Finding("dma_dm_alignment", message, f"{min(bad)} bytes", f"a multiple of {align} bytes", nearest)
            )
    return out
