"""The laws of the commit adapter and the commit engine: trim a flit, write it into DM (domain: section 4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd
from typing import Any

from models.factors import equivalent
from models.faults import Finding
from models.hardware import Hardware
from models.kernel import Tile
from models.layout import Stream, TensorLayout
from models.mapping import ONE, Mapping, pair, text
from planner.engines import cast
from planner.engines.addresses import (
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
from planner.engines.cases import CaseFunction, ground_of, judged, mapping, stream_dtype
from planner.engines.fetch import base_of, outside_view, tile_view
from planner.engines.shapes import (
    broken_promises,
    disagreement,
    element_bits,
    elements_in,
    kept,
    leading,
    live_length,
    same_cells,
    size_bits,
    size_bytes,
)


@dataclass(frozen=True, slots=True)
class CommitConfig:
    """What the kernel file states of a commit: `element` is that of the whole tensor, `tile` the part written."""

    write: str
    element: Mapping
    slice: Mapping | None = None
    packet: Mapping | None = None
    cast: str | None = None
    relu: bool = False
    tile: Tile | None = None


def trim_widths(hardware: Hardware) -> tuple[int, ...]:
    """Bytes that a trim can keep of a flit, longest first: 32, 24, 16, 8."""
    step = hardware.dm.alignment_bytes
    return tuple(range(hardware.geometry.flit_bytes, 0, -step))


def trim(hardware: Hardware, stream: Stream, packet: Mapping) -> tuple[Finding, ...]:
    """What is wrong with keeping `packet` of the stream's: its bytes, or its elements are not the leading ones."""
    size = size_bytes(stream.dtype, packet.size)
    widths = trim_widths(hardware)
    findings = []
    if size not in widths or size_bits(stream.dtype, packet.size) % 8:
        wanted = ", ".join(map(str, reversed(widths)))
        findings.append(
            Finding(
                "commit_trim_width",
                f"the trimmed packet `{text(packet)}` has {size} bytes of {stream.dtype}, must be one of {wanted}",
                f"{size} bytes",
                f"one of {wanted} bytes",
            )
        )
    elif not same_cells(stream.packet, packet, packet.size):
        near = leading(stream.packet, packet.size) if packet.size <= stream.packet.size else stream.packet
        findings.append(
            Finding(
                "commit_trim_mismatch",
                f"the trimmed packet `{text(packet)}` is not the leading part of `{text(stream.packet)}`",
                text(packet),
                f"the leading 8, 16, 24 or 32 bytes of `{text(stream.packet)}`",
                text(near),
            )
        )
    return tuple(findings)


def chosen_trim(hardware: Hardware, stream: Stream, element: Mapping, out_dtype: str) -> Mapping:
    """The longest trim whose mapping is the innermost part of the element; else the shortest that keeps what lives.

    Widths count bytes after a commit cast where they are written: `out_dtype`.
    """
    sizes = [elements_in(out_dtype, width) for width in trim_widths(hardware)]
    sizes = [n for n in sizes if n <= stream.packet.size]
    inner = [n for n in sizes if n <= element.size and same_cells(stream.packet, element, n)]
    if inner:
        # where padding stands beside padding, a longer trim would swallow what Time walks
        size = next((n for n in inner if _apart(stream.time, leading(stream.packet, n), element)), inner[0])
        return leading(stream.packet, size)
    live = live_length(stream.packet)
    return leading(stream.packet, min((n for n in sizes if n >= live), default=stream.packet.size))


def _apart(time: Mapping, packet: Mapping, element: Mapping) -> bool:
    """Whether packets of this size lie side by side in the element, each stride beyond all that is inner to it."""
    found, reach = walk(time, packet, element), 0
    for size, stride in sorted(found.merged if found else (), key=lambda entry: entry[1]):
        if stride <= reach and size > 1:
            return False
        reach += (size - 1) * stride
    return found is not None and reach < element.size


def law(ground: Ground, stream: Stream, config: CommitConfig) -> Outcome:
    """Writes the trimmed stream into the buffer; steps are packets on Main, 8-byte writes on Sub."""
    hardware = ground.hardware
    out_dtype = config.cast or stream.dtype
    packet = config.packet or chosen_trim(hardware, stream, config.element, out_dtype)
    findings = list(_trimmed(hardware, stream, packet, config))
    trimmed = replace(stream, dtype=out_dtype, packet=packet)
    view, fault = tile_view(ground, config.element, config.tile)
    findings += kept(
        [
            fault,
            None
            if config.slice is None
            else disagreement("commit_slice_mismatch", "Slice of the stream", stream.slice, config.slice),
            broken_promises("commit_padding_kind", "Element", [stream.time, packet], config.element),
            exceeds_dm(config.write, out_dtype, config.element, hardware),
        ]
    )
    found = walk(stream.time, packet, config.element)
    if found is None:
        return Outcome((*findings, _not_walked(stream.time, packet, config)), trimmed)
    writes, settings = _sequenced(ground, trimmed, config, found)
    findings += writes
    seen = touched(found.merged, config.element, view, pair(stream.time, packet))
    findings += kept(
        [
            _unwritten(config, seen.missed, seen.first_missed) if seen.missed else None,
            outside_view(config.write, seen.outside, view) if seen.outside else None,
            _twice(config, seen.repeated) if seen.repeated else None,
            _past_end(config, packet, seen.past_end) if seen.past_end else None,
            None if seen.decided else not_enumerated(config.write, config.element),
            bottom_touched(config.write, config.element, seen.bottom),
        ]
    )
    settings |= {
        "write": config.write,
        "base": base_of(config.tile, view),
        "cast": config.cast,
        "relu": config.relu,
        "trim_bytes": size_bytes(stream.dtype, packet.size),
    }
    sub_steps = stream.time.size * settings["writes_per_packet"]
    return Outcome(tuple(findings), trimmed, sub_steps if ground.context == "sub" else stream.time.size, settings)


def layout(stream: Stream, config: CommitConfig) -> TensorLayout:
    """The DM tensor that a commit creates, or of which it writes a tile."""
    dtype = config.cast or stream.dtype
    where = config.slice if config.slice is not None else stream.slice
    return TensorLayout(config.write, "dm", dtype, config.element, stream.chip, stream.cluster, where)


def tile_findings(known: TensorLayout, written: TensorLayout) -> list[Finding]:
    """What is wrong with a tile of a tensor that has a layout already: all tiles state the same one."""
    out = []
    if known.dtype != written.dtype:
        out.append(_tile_fault(written.name, "type", written.dtype, known.dtype))
    for level in ("element", "slice", "cluster", "chip"):
        held, stated = getattr(known, level), getattr(written, level)
        if not equivalent(held, stated):
            out.append(_tile_fault(written.name, level.capitalize(), f"`{text(stated)}`", f"`{text(held)}`"))
    return out


def _tile_fault(name: str, what: str, found: str, wanted: str) -> Finding:
    message = f"this tile states {what} {found} of {name}, an earlier one {wanted}"
    return Finding("tile_layout", message, found, wanted, wanted)


def _trimmed(hardware: Hardware, stream: Stream, packet: Mapping, config: CommitConfig) -> tuple[Finding, ...]:
    if config.cast is None:
        relu = Finding("relu_needs_cast", "relu belongs to the commit cast, which is not stated", "relu", "cast: bf16")
        return (*trim(hardware, stream, packet), *((relu,) if config.relu else ()))
    found = trim(hardware, stream, packet)
    return (*found, *cast.commit_cast(stream.dtype, config.cast, packet))


def _sequenced(
    ground: Ground, trimmed: Stream, config: CommitConfig, found: Walk
) -> tuple[list[Finding], dict[str, Any]]:
    hardware, dtype = ground.hardware, trimmed.dtype
    entries, findings = within_limits(found.merged, hardware)
    findings += kept(
        [innermost_stride(found.packet, trimmed.packet), _aligned(hardware, dtype, trimmed.packet, found, config)]
    )
    trim_bytes = size_bytes(dtype, trimmed.packet.size)
    access = gcd(trimmed.packet.size, found.run_elements)
    write_bytes = gcd(trim_bytes, size_bytes(dtype, access))
    if ground.context == "sub":
        write_bytes = hardware.fetch.read_bytes_sub
    writes = max(1, trim_bytes // max(write_bytes, 1))
    return findings, {
        "time_entries": [list(e) for e in found.time],
        "packet_entries": [list(e) for e in found.packet],
        "entries": [f"{size}:{stride}" for size, stride in entries] or ["1:1"],
        "write_bytes": write_bytes,
        "writes_per_packet": writes,
        "bank_run": bank_run(found.merged, max(1, trimmed.packet.size // writes), dtype, hardware),
    }


def _aligned(hardware: Hardware, dtype: str, packet: Mapping, found: Walk, config: CommitConfig) -> Finding | None:
    """Strides between writes are multiples of 8 bytes, and so is what one write holds."""
    step, bits = hardware.dm.alignment_bytes, element_bits(dtype)
    inner = found.packet[-1][0] if found.packet and found.packet[-1][1] == 1 else 1
    strides = [s for n, s in (*found.time, *found.packet[:-1]) if n > 1 and s]
    if packet.size > 1 and found.packet and found.packet[-1][1] > 1:
        strides.append(found.packet[-1][1])
    odd = [s for s in strides if s * bits % (step * 8)]
    if not odd and (packet.size == 1 or inner * bits % (step * 8) == 0):
        return None
    stride = min(odd, default=inner)
    return Finding(
        "commit_stride",
        f"the commit into `{text(config.element)}` steps by {stride * bits / 8:g} bytes, must be a multiple of {step}",
        f"{stride * bits / 8:g} bytes",
        f"a multiple of {step} bytes",
    )


def _not_walked(time: Mapping, packet: Mapping, config: CommitConfig) -> Finding:
    return Finding(
        "commit_not_addressable",
        f"`{text(time)}` by `{text(packet)}` is no walk of `{text(config.element)}`: it names"
        " digits of an axis that the destination does not hold",
        f"{text(time)}, {text(packet)}",
        f"digits of `{text(config.element)}`",
    )


def _unwritten(config: CommitConfig, count: int, first: int | None) -> Finding:
    return Finding(
        "live_cell_unwritten",
        f"{count} live elements of `{text(config.element)}` in {config.write} are not written, the first at position"
        f" {first}",
        f"{count} unwritten",
        "every live element of the view, or a tile",
    )


def _twice(config: CommitConfig, count: int) -> Finding:
    return Finding(
        "cell_written_twice",
        f"{config.write} `{text(config.element)}` is written more than once: {count} repetitions",
        f"{count} repetitions",
        "every element once",
    )


def _past_end(config: CommitConfig, packet: Mapping, count: int) -> Finding:
    return Finding(
        "commit_past_end",
        f"{count} elements are written past the end of {config.write} `{text(config.element)}`",
        f"{count} past the end",
        f"room for the padding of `{text(packet)}` in Element, or a shorter packet",
    )


# Case files -------------------------------------------------------------------------------------------------


def _trim_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    stream = Stream(stream_dtype(case), ONE, ONE, ONE, ONE, mapping(case, "packet"))
    packet = mapping(case, "out_packet")
    outcome = Outcome(trim(hardware, stream, packet))
    return judged(outcome, {"bytes": size_bytes(stream.dtype, packet.size)})


def _commit_case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    ground = ground_of(case, hardware)
    packet = mapping(case, "packet")
    stream = Stream(stream_dtype(case), ONE, ONE, ONE, mapping(case, "time"), packet)
    config = CommitConfig("the tensor", mapping(case, "element"), packet=packet)
    outcome = law(ground, stream, config)
    shown = {k: outcome.settings[k] for k in ("write_bytes", "writes_per_packet", "entries") if k in outcome.settings}
    return judged(outcome, shown | {"cycles": outcome.steps})


CASES: dict[str, CaseFunction] = {
    "commit_trim": _trim_case,
    "commit": _commit_case,
    **{name: case for name, case in cast.CASES.items() if name == "commit_cast"},
}
