"""The fetch engine's law: a sequencer per slice reads a DM buffer into a stream (domain: section 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from models.factors import Digit, Free, common_refinement, contiguous_walk, digits, equivalent, from_factors
from models.faults import Finding
from models.hardware import Hardware
from models.kernel import Tile
from models.layout import Stream, TensorLayout
from models.mapping import Axis, Mapping, MappingError, nodes, pair, terms, text
from models.parse import parse
from planner.engines import fetch_adapter
from planner.engines.addresses import (
    Touched,
    View,
    Walk,
    bank_run,
    bottom_touched,
    exceeds_dm,
    innermost_stride,
    not_enumerated,
    touched,
    walk,
    within_limits,
)
from planner.engines.base import Ground, Outcome
from planner.engines.cases import ground_of, judged, mapping, stream_dtype
from planner.engines.shapes import (
    broken_promises,
    disagreement,
    elements_in,
    kept,
    power_of_two_divisor,
    show,
    size_bits,
    size_bytes,
)


@dataclass(frozen=True, slots=True)
class FetchConfig:
    """What the kernel file states of a fetch.

    `chip`, `cluster`, `slice` are given for axis lifting only; `out_dtype` is the type after the fetch adapter;
    `tiles` has the tile of each tensor read, None where it is read whole.
    """

    time: Mapping
    packet: Mapping
    chip: Mapping | None = None
    cluster: Mapping | None = None
    slice: Mapping | None = None
    out_dtype: str = ""
    tiles: tuple[Tile | None, ...] = ()
    interleave: str | None = None

    @property
    def tile(self) -> Tile | None:
        """The tile of the first tensor read; a second one opens the same view from a start of its own."""
        return self.tiles[0] if self.tiles else None


def law(ground: Ground, source: Sequence[TensorLayout], config: FetchConfig) -> Outcome:
    """What leaves the fetch engine, its sequencer, and its steps.

    `source` are the DM tensors that are read, two of them with `config.interleave`. Steps are reads: Time x packet
    bytes / read size (cycles page).
    """
    tensor = source[0]
    lift, lifted = _lift(tensor, config)
    view, view_finding = tile_view(ground, tensor.element, config.tile)
    stream = Stream(
        tensor.dtype,
        config.chip or tensor.chip,
        config.cluster or tensor.cluster,
        config.slice or tensor.slice,
        config.time,
        config.packet,
    )
    findings = [*lifted, *kept([view_finding]), *_interleaved(ground, source, config)]
    findings += kept(
        [
            broken_promises("fetch_padding_kind", "the stream", [tensor.element], config.time),
            broken_promises("fetch_padding_kind", "the stream", [tensor.element], config.packet),
            packet_alignment(ground.hardware, config.out_dtype or tensor.dtype, config.packet),
            exceeds_dm(tensor.name, tensor.dtype, tensor.element, ground.hardware),
        ]
    )
    found = walk(config.time, config.packet, tensor.element)
    if found is None:
        findings.append(_not_walked(tensor.element, config))
        return Outcome(tuple(findings), stream)
    return _sequenced(ground, source, config, found, view, lift, stream, findings)


def _sequenced(
    ground: Ground,
    source: Sequence[TensorLayout],
    config: FetchConfig,
    found: Walk,
    view: View | None,
    lift: dict[str, list[list[int]]],
    stream: Stream,
    findings: list[Finding],
) -> Outcome:
    tensor = source[0]
    entries, limits = within_limits(found.merged, ground.hardware)
    findings += limits
    findings += kept([innermost_stride(found.merged, config.packet)])
    lift_entries = [(size, stride) for level in lift.values() for size, stride in level]
    seen = touched(found.merged, tensor.element, view, pair(config.time, config.packet), lift_entries)
    findings += _unread(tensor, seen, view)
    read_bits, fault = _read_bits(ground, tensor.dtype, config, found)
    findings += kept([fault])
    packet_bits = size_bits(tensor.dtype, config.packet.size)
    reads = max(1, packet_bits // read_bits)
    access = max(1, config.packet.size // reads)
    settings: dict[str, Any] = {
        "reads": [t.name for t in source],
        "interleave": config.interleave,
        "time_entries": [list(e) for e in found.time],
        "packet_entries": [list(e) for e in found.packet],
        "entries": [f"{size}:{stride}" for size, stride in entries] or ["1:1"],
        "base": base_of(config.tile, view),
        "bases": [base_of(tile, view) for tile in config.tiles] or [None],
        "read_bytes": read_bits // 8,
        "reads_per_packet": reads,
        "bank_run": bank_run(found.merged, access, tensor.dtype, ground.hardware),
    }
    if lift:
        settings["lift"] = lift
    return Outcome(tuple(findings), stream, config.time.size * reads, settings)


def _read_bits(ground: Ground, dtype: str, config: FetchConfig, found: Walk) -> tuple[int, Finding | None]:
    """Bits of one read, the largest that the contiguous run, the context and the cast's output allow."""
    hardware = ground.hardware
    access = gcd(config.packet.size, found.run_elements)
    access_bits = size_bits(dtype, access)
    sub_bits = hardware.fetch.read_bytes_sub * 8
    out = config.out_dtype or dtype
    fits = elements_in(out, hardware.geometry.flit_bytes)
    if ground.context == "sub":
        if access_bits % sub_bits:
            return sub_bits, _no_read(access_bits, f"a multiple of {hardware.fetch.read_bytes_sub} bytes on Sub")
        if elements_in(dtype, hardware.fetch.read_bytes_sub) > fits:
            return sub_bits, _over_flit(dtype, out, hardware)
        return sub_bits, None
    bits = power_of_two_divisor(access_bits, hardware.fetch.max_read_bytes_main * 8)
    while bits > 8 and size_bits(out, bits // (size_bits(dtype, 1))) > hardware.geometry.flit_bytes * 8:
        bits //= 2
    if bits < 8:
        return 8, _no_read(access_bits, "whole bytes: 1, 2, 4, 8, 16 or 32 of them")
    return bits, None


def _no_read(access_bits: int, wanted: str) -> Finding:
    found = f"{access_bits // 8} bytes" if access_bits % 8 == 0 else f"{access_bits} bits"
    return Finding("read_size", f"the packet can be read {found} at a time, must be {wanted}", found, wanted)


def _over_flit(dtype: str, out: str, hardware: Hardware) -> Finding:
    read, flit = hardware.fetch.read_bytes_sub, hardware.geometry.flit_bytes
    found = size_bytes(out, elements_in(dtype, read))
    return Finding(
        "fetch_cast_over_flit",
        f"a read of {read} bytes of {dtype} becomes {found} bytes of {out}, over one flit of {flit}",
        f"{found} bytes",
        f"at most {flit} bytes",
    )


def packet_alignment(hardware: Hardware, dtype: str, packet: Mapping) -> Finding | None:
    """A packet that enters Switch or Collect is a multiple of 8 bytes, measured after the fetch adapter."""
    step = hardware.fetch.packet_alignment_bytes
    bits = size_bits(dtype, packet.size)
    if bits % (step * 8) == 0:
        return None
    up = -(-bits // (step * 8)) * step
    size = elements_in(dtype, up)
    return Finding(
        "packet_alignment",
        f"the packet `{text(packet)}` has {bits / 8:g} bytes of {dtype}, must be a multiple of {step}",
        f"{bits / 8:g} bytes",
        f"a multiple of {step} bytes",
        f"`{text(packet)} # {size}`",
    )


def _unread(tensor: TensorLayout, seen: Touched, view: View | None) -> list[Finding]:
    out = []
    if seen.missed:
        out.append(
            Finding(
                "live_cell_unread",
                f"{seen.missed} live elements of `{text(tensor.element)}` in {tensor.name} are not read, the first at"
                f" position {seen.first_missed}",
                f"{seen.missed} unread",
                "every live element of the view, or a tile",
            )
        )
    if seen.outside:
        out.append(outside_view(tensor.name, seen.outside, view))
    if not seen.decided:
        out.append(not_enumerated(tensor.name, tensor.element))
    out += kept([bottom_touched(tensor.name, tensor.element, seen.bottom)])
    return out


def outside_view(name: str, count: int, view: View | None) -> Finding:
    """An access that leaves its tile."""
    length = view.length if view else 0
    tile = text(view.tile) if view else ""
    return Finding(
        "tile_overrun",
        f"{count} elements of {name} outside of the tile of {length} of `{tile}` are touched",
        f"{count} outside",
        f"only the {length} positions of the tile, as `{tile} = {length}`",
        f"`{tile} = {length}`",
    )


def tile_view(ground: Ground, element: Mapping, tile: Tile | None) -> tuple[View | None, Finding | None]:
    """The view that a tile opens on a buffer; a finding where its digit is not one digit of the buffer."""
    if tile is None:
        return None, None
    try:
        digit = parse(tile.tile, ground.axes)
    except MappingError as fault:
        return None, Finding(fault.rule, fault.message, fault.found, fault.wanted)
    entries = contiguous_walk([digit], element)
    if not entries or len(entries) != 1 or entries[0][1] == 0 or tile.length > digit.size:
        return None, Finding(
            "tile_digit",
            f"`{tile.tile}` with length {tile.length} is no digit of `{text(element)}`",
            tile.tile,
            f"one digit of `{text(element)}`, length at most its size",
        )
    return View(digit, tile.start, tile.length, entries[0][1], digit.size), None


def base_of(tile: Tile | None, view: View | None) -> dict[str, object] | None:
    """The tile's offset for the plan: value of `start` times `stride` elements."""
    return {"start": tile.start, "stride": view.stride} if tile and view else None


def _interleaved(ground: Ground, source: Sequence[TensorLayout], config: FetchConfig) -> list[Finding]:
    if config.interleave is None:
        if len(source) == 1:
            return []
        return [_interleave_fault(f"{len(source)} tensors are read without an interleave axis", str(len(source)))]
    name = config.interleave
    if len(source) != 2:
        return [_interleave_fault(f"an interleave reads two tensors, not {len(source)}", str(len(source)))]
    out = []
    if ground.axes.get(name) != 2:
        out.append(_interleave_fault(f"interleave axis {name} has size {ground.axes.get(name)}, must be 2", name))
    elif Axis(name, 2) not in terms(config.time):
        out.append(_interleave_fault(f"interleave axis {name} does not stand in Time `{text(config.time)}`", name))
    if len({(t.tile, t.length) if t else None for t in config.tiles}) > 1:
        out.append(_interleave_fault("the two tensors are read by different tiles", str(config.tiles)))
    first, second = source
    for level in ("dtype", "chip", "cluster", "slice", "element"):
        a, b = getattr(first, level), getattr(second, level)
        if a != b and (isinstance(a, str) or not equivalent(a, b)):
            out.append(_interleave_fault(f"{first.name} and {second.name} differ in {level}", f"{a} and {b}"))
    if any(isinstance(n, Axis) and n.name == name for n in nodes(first.element)):
        out.append(_interleave_fault(f"interleave axis {name} already stands in {first.name}", name))
    return out


def _interleave_fault(message: str, found: str) -> Finding:
    return Finding("interleave", message, found, "two tensors of equal mappings and an axis of size 2 in Time")


def _not_walked(element: Mapping, config: FetchConfig) -> Finding:
    return Finding(
        "fetch_not_addressable",
        f"`{text(config.time)}` by `{text(config.packet)}` is no walk of the buffer `{text(element)}`: it reads digits"
        " of an axis that the buffer does not hold",
        f"{text(config.time)}, {text(config.packet)}",
        f"digits of `{text(element)}` and axes it lacks",
    )


# Axis lifting -----------------------------------------------------------------------------------------------


def _lift(tensor: TensorLayout, config: FetchConfig) -> tuple[dict[str, list[list[int]]], list[Finding]]:
    """Read bases per level, as entries over its factors outermost first, and what stops the lifting."""
    bases: dict[str, list[list[int]]] = {}
    findings: list[Finding] = []
    for level in ("chip", "cluster", "slice"):
        held, stated = getattr(tensor, level), getattr(config, level)
        if stated is None or equivalent(held, stated):
            continue
        entries, fault = _lift_level(level, held, stated, tensor.element)
        findings += kept([fault])
        bases[level] = entries
    return bases, findings


def _lift_level(level: str, held: Mapping, stated: Mapping, element: Mapping) -> tuple[list[list[int]], Finding | None]:
    if held.size != stated.size:
        return [], _lift_fault(level, held, stated, f"sizes differ, {stated.size} for {held.size}")
    before, after = common_refinement(digits(held), digits(stated))
    if [f.size for f in before] != [f.size for f in after]:
        return [], disagreement("fetch_placement", level.capitalize(), stated, held)
    entries: list[list[int]] = []
    for old, new in zip(before, after, strict=True):
        if old == new:
            entries.append([new.size, 0])
            continue
        run = contiguous_walk([from_factors((new,))], element) if isinstance(new, Digit) else None
        if not isinstance(old, Free):
            return [], _lift_fault(level, held, stated, f"`{show(from_factors((old,)))}` is no broadcast slot")
        if not run or any(stride == 0 for _, stride in run):
            return [], _lift_fault(level, held, stated, f"`{show(from_factors((new,)))}` is no digit of the buffer")
        entries += [list(e) for e in run]
    return entries, None


def _lift_fault(level: str, held: Mapping, stated: Mapping, why: str) -> Finding:
    return Finding(
        "fetch_placement",
        f"fetch keeps {level.capitalize()} `{text(held)}` but for axis lifting: {why}",
        text(stated),
        f"`{text(held)}`, with broadcast slots replaced by digits that the buffer holds",
        text(held),
    )


# Case files -------------------------------------------------------------------------------------------------


def _case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    ground = ground_of(case, hardware)
    tensor = TensorLayout("source", "dm", stream_dtype(case), mapping(case, "element"))
    config = FetchConfig(mapping(case, "out_time"), mapping(case, "out_packet"), out_dtype=case.get("out_dtype", ""))
    outcome = law(ground, [tensor], config)
    shown = {k: outcome.settings[k] for k in ("read_bytes", "reads_per_packet", "entries") if k in outcome.settings}
    return judged(outcome, shown | {"cycles": outcome.steps})


CASES: dict[str, Callable[[dict[str, Any], Hardware], dict[str, Any]]] = {"fetch": _case, **fetch_adapter.CASES}
