"""The transpose engine's law: Time and Packet change places inside a slice (seed 003; domain: section 9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from models.dtypes import DTYPES
from models.factors import equivalent
from models.faults import Finding
from models.hardware import Hardware
from models.kernel import Transpose
from models.layout import Stream
from models.mapping import ONE, Mapping, pair, text
from models.parse import parse
from planner.engines.base import Ground, Outcome
from planner.engines.cases import CaseFunction, ground_of, judged, mapping, stream_dtype
from planner.engines.shapes import elements_in, live_length, same_cells, show, size_bits
from planner.engines.transpose_shape import (
    Limits,
    Parameters,
    fitting,
    limits,
    live_rows,
    natural,
    natural_rows,
    parameters,
    produced,
    rows_of,
    tight,
)

_FIRST = 256
"""So many elements behind the engine are looked at before factors are compared."""


@dataclass(frozen=True, slots=True)
class TransposeCandidate:
    """One set of parameters and its outcome; `label` names it in decisions, empty where no set gives the output."""

    label: str
    outcome: Outcome


def candidates(ground: Ground, stream: Stream, step: Transpose) -> list[TransposeCandidate]:
    """Every set of parameters that gives the stated Time and Packet, cheapest first; one with findings where none does.

    Raises:
        MappingError: the step's texts do not parse.

    """
    time, packet = parse(step.time, ground.axes), parse(step.packet, ground.axes)
    found = answers(ground, stream, time, packet)
    if not found:
        return [TransposeCandidate("", law(ground, stream, time, packet))]
    return [TransposeCandidate(p.label, _outcome(stream, time, packet, p)) for p in found]


def law(ground: Ground, stream: Stream, time: Mapping, packet: Mapping) -> Outcome:
    """The cheapest way to the stated Time and Packet, or what stops it; steps are its latency in cycles."""
    found = answers(ground, stream, time, packet)
    if found:
        return _outcome(stream, time, packet, found[0])
    return Outcome(tuple(_faults(ground, stream, time, packet)), replace(stream, time=time, packet=packet))


def answers(ground: Ground, stream: Stream, time: Mapping, packet: Mapping) -> list[Parameters]:
    """All sets of parameters that give the stated Time and Packet, cheapest first, then fewest packets to a row."""
    table = limits(ground.hardware, DTYPES[stream.dtype].bits)
    if table is None or _flits(ground.hardware, stream, packet):
        return []
    valid, rows = table.packed(live_length(stream.packet)), max(live_length(packet), 1)
    if valid is None:
        return []
    wanted = pair(time, packet)
    sets = fitting(table, stream, time.size, rows, valid)
    found = [p for p in sets if p.out_rows <= p.in_cols and _agreement(produced(stream, p), wanted)]
    return sorted(found, key=lambda p: (p.cycles, p.packets_per_col, p.in_rows))


def naturals(ground: Ground, stream: Stream) -> list[tuple[Mapping, Mapping, Parameters]]:
    """Every Time and Packet that the engine can make of a stream without dropping live rows, cheapest first."""
    table = limits(ground.hardware, DTYPES[stream.dtype].bits)
    valid = None if table is None else table.packed(live_length(stream.packet))
    if table is None or valid is None or _flits(ground.hardware, stream, stream.packet):
        return []
    found = [(*natural(stream, p), p) for p in _natural_sets(table, stream, valid)]
    return sorted(found, key=lambda f: (f[2].cycles, f[2].packets_per_col, f[2].in_rows))


def _natural_sets(table: Limits, stream: Stream, valid: int) -> Iterator[Parameters]:
    for columns in table.in_cols:
        packets = columns // valid
        if not packets or stream.time.size % packets:
            continue
        for rows in range(1, table.max_in_rows + 1):
            if (stream.time.size // packets) % rows == 0:
                kept = natural_rows(stream, packets, valid)
                yield parameters(table, valid, packets, rows, kept, stream.time.size // packets // rows)


def _outcome(stream: Stream, time: Mapping, packet: Mapping, p: Parameters) -> Outcome:
    out = replace(stream, time=time, packet=packet)
    live = live_rows(stream, p)
    dropped = (
        Finding(
            "transpose_drops_live",
            f"out_rows {p.out_rows} drops live rows: the matrix has {live}",
            str(p.out_rows),
            f"{live} rows, unless this is a selection",
        ),
    )
    return Outcome((), out, p.cycles, p.settings(), dropped if p.out_rows < live else ())


# What stops it ----------------------------------------------------------------------------------------------


def _faults(ground: Ground, stream: Stream, time: Mapping, packet: Mapping) -> list[Finding]:
    hardware = ground.hardware
    table = limits(hardware, DTYPES[stream.dtype].bits)
    if table is None:
        message = f"{stream.dtype} exists only as an operand of a contraction"
        return [Finding("transpose_type", message, stream.dtype, "4, 8, 16 or 32 bits")]
    found = _flits(hardware, stream, packet)
    live, rows = live_length(stream.packet), max(live_length(packet), 1)
    if table.packed(live) is None:
        found.append(_beyond(table, stream, live))
    if rows > table.max_in_rows:
        found.append(_rows(ground, table, stream, packet, rows))
    return found or [_mismatch(ground, table, stream, time, packet)]


def _flits(hardware: Hardware, stream: Stream, packet: Mapping) -> list[Finding]:
    wanted = elements_in(stream.dtype, hardware.geometry.flit_bytes)
    out = []
    for what, e in (("before", stream.packet), ("behind", packet)):
        if e.size != wanted:
            found = f"{size_bits(stream.dtype, e.size) / 8:g} bytes"
            near = f"`{text(e)} # {wanted}`" if e.size < wanted else ""
            message = f"the packet {what} the transpose, `{text(e)}`, has {found} of {stream.dtype}"
            out.append(Finding("packet_not_one_flit", message, found, f"{wanted} elements, one flit", near))
    return out


def _beyond(table: Limits, stream: Stream, live: int) -> Finding:
    most = max(table.valid_size, table.dual_valid_size)
    dual = "with dual packing" if table.dual_valid_size else f"{stream.dtype} has no dual packing"
    return Finding(
        "packet_beyond_valid_size",
        f"`{text(stream.packet)}` has live elements up to the {live}th, the engine reads {most} of a flit ({dual})",
        f"{live} live",
        f"at most {most}, padding behind them",
        f"packets of {most} elements, the rest in Time",
    )


def _rows(ground: Ground, table: Limits, stream: Stream, packet: Mapping, rows: int) -> Finding:
    most = table.max_in_rows
    return Finding(
        "too_many_rows",
        f"`{text(packet)}` has {rows} rows, the matrix has at most {most} of {stream.dtype}",
        str(rows),
        f"at most {most}",
        _nearest(ground, stream),
    )


def _nearest(ground: Ground, stream: Stream, packets: int = 0) -> str:
    """The legal output with the tallest matrix: of rows of so many packets, or of any."""
    found = [f for f in naturals(ground, stream) if packets in (0, f[2].packets_per_col)]
    if not found:
        return ""
    time, packet, _ = max(found, key=lambda f: (f[2].in_rows, -f[2].packets_per_col))
    return f"time `{show(time)}`, packet `{show(packet)}`"


def _mismatch(ground: Ground, table: Limits, stream: Stream, time: Mapping, packet: Mapping) -> Finding:
    """Which step of the engine the stated output disagrees with, the closest one first."""
    valid, rows = table.packed(live_length(stream.packet)), max(live_length(packet), 1)
    assert valid is not None
    wanted = pair(time, packet)
    undecided = False
    for p in fitting(table, stream, time.size, rows, valid, wide=True):
        verdict = _agreement(produced(stream, p), wanted)
        undecided = undecided or verdict is None
        if verdict:
            return _columns(ground, table, stream, p) if p.in_cols not in table.in_cols else _too_tall(stream, time, p)
    inner = _padding_rows(table, stream, wanted, rows, valid)
    if inner is not None:
        return inner
    if undecided:
        return Finding(
            "equivalence_not_decided",
            f"whether a transpose gives `{text(time)}` by `{text(packet)}` cannot be told from their factors",
            text(wanted),
        )
    return _packet_or_time(ground, table, stream, time, packet)


def _agreement(made: Mapping, wanted: Mapping) -> bool | None:
    """Whether two mappings are equivalent; most that are not differ within the first flits, which is quick to see."""
    if made.size != wanted.size or not same_cells(made, wanted, min(made.size, _FIRST)):
        return False
    return equivalent(made, wanted)


def _columns(ground: Ground, table: Limits, stream: Stream, p: Parameters) -> Finding:
    legal = ", ".join(map(str, table.in_cols))
    most = max(c // p.valid_size for c in table.in_cols)
    return Finding(
        "transpose_in_cols",
        f"this output takes rows of {p.packets_per_col} packets x {p.valid_size} elements = {p.in_cols} columns",
        f"{p.in_cols} columns",
        f"one of {legal}",
        _nearest(ground, stream, most) or _nearest(ground, stream),
    )


def _too_tall(stream: Stream, time: Mapping, p: Parameters) -> Finding:
    near, _ = natural(stream, replace(p, out_rows=p.in_cols))
    return Finding(
        "transpose_out_rows",
        f"out Time `{text(time)}` asks for {p.out_rows} rows of a matrix that has {p.in_cols}",
        f"out_rows {p.out_rows}",
        f"at most in_cols {p.in_cols}",
        show(near),
    )


def _padding_rows(table: Limits, stream: Stream, wanted: Mapping, rows: int, valid: int) -> Finding | None:
    live = max(live_length(stream.packet), 1)
    size = wanted.size // stream.packet.size
    for packets in (c // valid for c in table.in_cols if c > valid):
        for in_rows in range(rows, table.max_in_rows + 1):
            matrices, rest = divmod(stream.time.size, packets * in_rows)
            if rest or matrices * packets * live != size:
                continue
            p = parameters(table, valid, packets, in_rows, packets * valid, matrices)
            if equivalent(tight(stream, p), wanted):
                near, packet = natural(stream, p)
                return Finding(
                    "transpose_padding_rows",
                    f"between the live rows of a row of {packets} packets stand {valid - live} padding rows each",
                    f"{live} rows for each packet",
                    f"{valid} rows for each packet",
                    f"time `{show(near)}`, packet `{show(packet)}`",
                )
    return None


def _packet_or_time(ground: Ground, table: Limits, stream: Stream, time: Mapping, packet: Mapping) -> Finding:
    legal = naturals(ground, stream)
    for natural_time, natural_packet, p in legal:
        if equivalent(rows_of(stream, p), packet):
            return Finding(
                "transpose_time_mismatch",
                f"out Time `{text(time)}` is not what a transpose of `{text(stream.time)}`, `{text(stream.packet)}`"
                f" with rows `{show(natural_packet)}` gives",
                text(time),
                "outer Time, packets of a row, elements of a packet",
                show(natural_time),
            )
    return Finding(
        "transpose_packet_mismatch",
        f"`{text(packet)}` does not hold neighbouring steps of Time `{text(stream.time)}`, at most {table.max_in_rows}",
        text(packet),
        "rows of the matrix, padded to one flit",
        _nearest(ground, stream),
    )


def _case(case: dict[str, Any], hardware: Hardware) -> dict[str, Any]:
    stream = Stream(stream_dtype(case), ONE, ONE, ONE, mapping(case, "time"), mapping(case, "packet"))
    outcome = law(ground_of(case, hardware), stream, mapping(case, "out_time"), mapping(case, "out_packet"))
    return judged(outcome, dict(outcome.settings))


CASES: dict[str, CaseFunction] = {"transpose": _case}
