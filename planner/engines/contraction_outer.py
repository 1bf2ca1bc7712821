"""The law of contract_outer: the stream meets a TRF tensor (domain: section 7).

The stream adapter packs flits and broadcasts Time; the TRF sequencer walks the Element of every lane.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import gcd
from typing import Any

from models.factors import contiguous_walk, equivalent
from models.faults import Finding
from models.hardware import Hardware
from models.layout import Stream, TensorLayout
from models.mapping import Mapping, Modulo, Stride, axis_names, text
from planner.engines.addresses import Entry, touched, within_limits
from planner.engines.bank_contention import reads_of
from planner.engines.base import Ground, Outcome
from planner.engines.register_files import lane_size
from planner.engines.shapes import (
    cut,
    disagreement,
    element_bits,
    elements_in,
    kept,
    lacks,
    live_count,
    live_length,
    live_share,
    show,
    size_bits,
    size_bytes,
)

OPERAND_FAMILIES: dict[str, tuple[tuple[str, ...], str]] = {
    "i4": (("i4", "i5"), "i32"),
    "i5": (("i4", "i5"), "i32"),
    "i8": (("i8", "i9"), "i32"),
    "i9": (("i8", "i9"), "i32"),
    "f8e4m3": (("f8e4m3",), "f32"),
    "f8e5m2": (("f8e5m2",), "f32"),
    "bf16": (("bf16",), "f32"),
}
"""By the stream's type: types of the TRF operand, and the accumulator's type."""


@dataclass(frozen=True, slots=True)
class OuterConfig:
    """The stated Time and Packet after contract_outer."""

    time: Mapping
    packet: Mapping


def operands(dtype: str, weight: str) -> tuple[str | None, Finding | None]:
    """The accumulator of a pair of operand types, or what is wrong with the pair."""
    weights, accumulator = OPERAND_FAMILIES.get(dtype, ((), ""))
    if weight in weights:
        return accumulator, None
    pairs = ", ".join(f"{a} x {'|'.join(row)}" for a, (row, _) in OPERAND_FAMILIES.items())
    return None, Finding(
        "multiplier_operands",
        f"the multipliers cannot pair {dtype} with {weight}",
        f"{dtype} x {weight}",
        f"one of {pairs}",
        f"{dtype} x {weights[0]}" if weights else "",
    )


def accumulator_of(dtype: str) -> str:
    """The type in which products of a stream's type are summed."""
    return OPERAND_FAMILIES.get(dtype, ((), "f32"))[1]


def law(ground: Ground, stream: Stream, trf: TensorLayout, config: OuterConfig) -> Outcome:
    """Checks operands, the stream adapter and the TRF sequencer; steps are the out Time."""
    hardware = ground.hardware
    _, pairing = operands(stream.dtype, trf.dtype)
    findings = list(kept([pairing, lane_size(hardware, trf.lane)]))
    findings += _same_split(stream, trf)
    pack_size, adapter = _adapter(hardware, stream, trf, config)
    findings += adapter
    sequencer, settings = _sequencer(hardware, trf, config)
    findings += sequencer
    settings |= {"with": trf.name, "pack_size": pack_size} | _utilisation(hardware, trf, config)
    out = replace(stream, time=config.time, packet=config.packet)
    return Outcome(tuple(findings), out, config.time.size, settings)


def _same_split(stream: Stream, trf: TensorLayout) -> list[Finding]:
    out = []
    for level in ("chip", "cluster", "slice"):
        held, wanted = getattr(trf, level), getattr(stream, level)
        if not equivalent(held, wanted):
            out.append(
                Finding(
                    "operand_split",
                    f"{trf.name} is split over {level.capitalize()} `{text(held)}`, the stream over `{text(wanted)}`",
                    text(held),
                    text(wanted),
                    text(wanted),
                )
            )
    return out


def _adapter(hardware: Hardware, stream: Stream, trf: TensorLayout, config: OuterConfig) -> tuple[int, list[Finding]]:
    flit = elements_in(stream.dtype, hardware.geometry.flit_bytes)
    pack_size = max(config.packet.size // flit, 1)
    fault = packet_flits(hardware, stream.dtype, config.packet)
    if fault is not None:
        return pack_size, [fault]
    if stream.time.size % pack_size:
        return pack_size, [_packed(config.packet, stream.time, pack_size)]
    outer, packed = cut(stream.time, pack_size)
    findings = list(
        kept(
            [
                disagreement(
                    "flit_mismatch", "the inner flit of the packet", Modulo(config.packet, flit), stream.packet
                ),
                disagreement("packed_time_mismatch", "what is packed from Time", Stride(config.packet, flit), packed),
            ]
        )
    )
    return pack_size, findings + _broadcast_time(stream, trf, config.time, outer)


def packet_flits(hardware: Hardware, dtype: str, packet: Mapping) -> Finding | None:
    """The packet of a contraction is one or two flits."""
    flit, most = hardware.geometry.flit_bytes, hardware.contraction.max_packet_flits
    flits, rest = divmod(packet.size, elements_in(dtype, flit))
    if not rest and 1 <= flits <= most:
        return None
    wanted = " or ".join(f"{flit * n}" for n in range(1, most + 1))
    return Finding(
        "contract_packet_flits",
        f"the packet `{text(packet)}` has {size_bytes(dtype, packet.size)} bytes of {dtype}, must be {wanted}",
        f"{size_bytes(dtype, packet.size)} bytes",
        f"{wanted} bytes",
    )


def _packed(packet: Mapping, time: Mapping, pack_size: int) -> Finding:
    return Finding(
        "packed_time_mismatch",
        f"`{text(packet)}` packs {pack_size} flits, Time `{text(time)}` has no innermost factor of {pack_size}",
        text(packet),
        f"an innermost factor of {pack_size} in Time, or a packet of one flit",
    )


def _broadcast_time(stream: Stream, trf: TensorLayout, time: Mapping, outer: Mapping) -> list[Finding]:
    """Out Time is the outer Time with broadcasts innermost, over axes that the TRF holds and the stream lacks."""
    tiling, rest = divmod(time.size, outer.size)
    if rest:
        return [_out_time(time, outer)]
    if not equivalent(Stride(time, tiling), outer):
        return [_out_time(time, outer)]
    _, broadcast = cut(time, tiling)
    if not axis_names(broadcast):
        return []
    run = contiguous_walk([broadcast], trf.element)
    held = run is not None and all(stride for _, stride in run)
    if held and lacks([stream.time, stream.packet, stream.slice], broadcast):
        return []
    return [
        Finding(
            "contract_broadcast",
            f"Time is broadcast over `{show(broadcast)}`, no axis that {trf.name} holds and the stream lacks",
            show(broadcast),
            f"digits of `{text(trf.element)}` that the stream lacks",
        )
    ]


def _out_time(time: Mapping, outer: Mapping) -> Finding:
    return Finding(
        "contract_time_out",
        f"Time after contract_outer is `{text(time)}`, must be `{show(outer)}` with broadcasts innermost",
        text(time),
        f"`{show(outer)}`, broadcasts innermost",
        show(outer),
    )


def _utilisation(hardware: Hardware, trf: TensorLayout, config: OuterConfig) -> dict[str, Any]:
    """Multipliers of a slice, how many of them have a live product in a step, and the share over all steps.

    A step of padding in Time multiplies nothing; slices that hold padding are not counted here.
    """
    most = hardware.contraction.max_packet_flits * hardware.geometry.flit_bytes
    there = hardware.geometry.lanes_per_slice * elements_in(trf.dtype, most)
    used = live_count(config.packet) * live_count(trf.lane)
    time = live_share(config.time)
    return {
        "multipliers": there,
        "multipliers_used": used,
        "utilisation_percent": round(100 * used * time / there, 1),
    }


# The TRF sequencer ------------------------------------------------------------------------------------------


def read_elements(hardware: Hardware, trf: TensorLayout, packet: Mapping) -> int:
    """The largest r with Element % r == OutPacket % r that one read can give."""
    most = elements_in(trf.dtype, hardware.trf.wide_read_bytes)
    common = gcd(trf.element.size, packet.size)
    divisors = [r for r in range(min(most, common), 0, -1) if common % r == 0]
    return next(r for r in divisors if equivalent(Modulo(trf.element, r), Modulo(packet, r)))


def _sequencer(hardware: Hardware, trf: TensorLayout, config: OuterConfig) -> tuple[list[Finding], dict[str, Any]]:
    read = read_elements(hardware, trf, config.packet)
    time = contiguous_walk([config.time], trf.element)
    rest = _repeats(trf, config.packet, read)
    packet = _joined(rest, read)
    settings: dict[str, Any] = {"read_elements": read}
    if time is None or packet is None or rest is None:
        return [_not_walked(trf, config)], settings
    settings |= {
        "trf_time_entries": [list(e) for e in time],
        "trf_packet_entries": [list(e) for e in packet],
        "trf_reads": asdict(reads_of(time, read, trf.dtype, hardware)),
    }
    _, findings = within_limits(time, hardware)
    if any(stride for _, stride in rest):
        findings.append(_not_readable(trf, config.packet, read))
    if size_bits(trf.dtype, read) > hardware.trf.narrow_read_bytes * 8:
        findings += _wide(hardware, trf, time)
    if touched([*time, *packet], trf.element).missed:
        findings.append(_unread(trf, config))
    if not lacks([config.time, config.packet], trf.lane):
        findings.append(_lane_in_stream(trf, config))
    return findings, settings


def _repeats(trf: TensorLayout, packet: Mapping, read: int) -> list[Entry] | None:
    """The walk of what is outside of one read; padding alone is a broadcast too, whatever is multiplied there."""
    rest = Stride(packet, read)
    if rest.size == 1:
        return []
    if not axis_names(packet) or live_length(rest) <= 1:
        return [(rest.size, 0)]
    return contiguous_walk([rest], trf.element)


def _joined(rest: list[Entry] | None, read: int) -> list[Entry] | None:
    """The packet's walk: its reads, and the elements of a read side by side, neighbours merged."""
    if rest is None:
        return None
    if read == 1:
        return rest
    if rest and rest[-1][1] == read:
        return [*rest[:-1], (rest[-1][0] * read, 1)]
    return [*rest, (read, 1)]


def _wide(hardware: Hardware, trf: TensorLayout, time: list[Entry]) -> list[Finding]:
    step = hardware.trf.wide_read_bytes
    odd = [s for _, s in time if s * element_bits(trf.dtype) % (step * 8)]
    if not odd:
        return []
    return [
        Finding(
            "trf_wide_alignment",
            f"a wide read steps by {size_bytes(trf.dtype, odd[0])} bytes in {trf.name}, must be a multiple of {step}",
            f"{size_bytes(trf.dtype, odd[0])} bytes",
            f"a multiple of {step} bytes",
        )
    ]


def _not_walked(trf: TensorLayout, config: OuterConfig) -> Finding:
    return Finding(
        "trf_not_addressable",
        f"`{text(config.time)}` by `{text(config.packet)}` reads digits of an axis that {trf.name} does not hold in"
        f" `{text(trf.element)}`",
        f"{text(config.time)}, {text(config.packet)}",
        f"digits of `{text(trf.element)}` and axes it lacks",
    )


def _not_readable(trf: TensorLayout, packet: Mapping, read: int) -> Finding:
    return Finding(
        "trf_packet_not_readable",
        f"one read gives {read} elements of `{text(trf.element)}`; the rest of `{text(packet)}` is no broadcast",
        text(packet),
        f"the innermost elements of `{text(trf.element)}`, broadcasts outside of them",
    )


def _unread(trf: TensorLayout, config: OuterConfig) -> Finding:
    return Finding(
        "trf_cell_unread",
        f"live elements of {trf.name} `{text(trf.element)}` are read by no step of `{text(config.time)}`",
        text(config.time),
        f"every digit of `{text(trf.element)}` in Time or Packet",
    )


def _lane_in_stream(trf: TensorLayout, config: OuterConfig) -> Finding:
    return Finding(
        "lane_in_stream",
        f"digits of Lane `{text(trf.lane)}` also stand in Time or Packet of the stream",
        text(config.time),
        f"a stream without `{text(trf.lane)}`",
    )
