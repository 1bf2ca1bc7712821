"""The transpose calculator: every set of parameters for a transpose, as JSON and as text to read and paste."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.cells import LIVE, Cells, tensor_cells
from models.factors import equivalent
from models.faults import Finding
from models.graph import MAIN
from models.hardware import Hardware
from models.layout import Stream
from models.mapping import ONE, Mapping, pair, text
from models.presets.load import load_hardware
from planner.engines import transpose
from planner.engines.base import Ground
from planner.engines.shapes import leading, show
from planner.engines.transpose_shape import Parameters, parts
from planner.pass_cycles import Steps, pass_cycles
from planner.switch_calculator import check_dtype, check_sizes, finding_document, read_texts

MOST_DRAWN = 8
"""So many rows and columns of a matrix are drawn at most."""


@dataclass(frozen=True, slots=True)
class TransposeOption:
    """One set of parameters with the Time and Packet that it gives; `pass_cycles` is what a Main pass takes in which
    nothing but the transpose works on the stream.
    """

    time: Mapping
    packet: Mapping
    parameters: Parameters
    pass_cycles: int

    def document(self) -> dict[str, Any]:
        """Plain JSON."""
        out = {"out_time": text(self.time), "out_packet": text(self.packet)}
        return out | self.parameters.settings() | {"pass_cycles": self.pass_cycles}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the calculator found: options, cheapest first, or what stops the one output that was asked for."""

    stream: Stream
    options: tuple[TransposeOption, ...]
    reasons: tuple[Finding, ...] = ()

    def document(self) -> dict[str, Any]:
        """Plain JSON: options, the chosen one, and the broken rules where there is none."""
        rows = [o.document() | {"visa": visa(o)} for o in self.options]
        reasons = [finding_document(f) for f in self.reasons]
        return {"options": rows, "chosen": 0 if rows else None, "reasons": reasons}


def answer(
    axes: dict[str, int],
    dtype: str,
    time: str,
    packet: str,
    out_time: str | None = None,
    out_packet: str | None = None,
    hardware: Hardware | None = None,
) -> Answer:
    """All ways to transpose a stream: into the stated Time and Packet, or into every one there is.

    With one of the two stated, those of the others that agree with it.

    Raises:
        FaultError: a mapping does not parse, or the element type is unknown.

    """
    check_dtype(dtype)
    named = {"time": time, "packet": packet, "out-time": out_time, "out-packet": out_packet}
    read = read_texts(axes, {k: v for k, v in named.items() if v is not None})
    check_sizes(read["time"], read["packet"])
    stream = Stream(dtype, ONE, ONE, ONE, read["time"], read["packet"])
    ground = Ground(hardware or load_hardware(), axes)
    wanted_time, wanted_packet = read.get("out-time"), read.get("out-packet")
    if wanted_time is None or wanted_packet is None:
        found = tuple(_option(ground, stream, *f) for f in transpose.naturals(ground, stream))
        kept = tuple(o for o in found if _fits(o.time, wanted_time) and _fits(o.packet, wanted_packet))
        if found and not kept:
            return Answer(stream, (), (_not_among(found, wanted_time, wanted_packet),))
        return Answer(stream, kept, () if found else _nothing(ground, stream))
    sets = transpose.answers(ground, stream, wanted_time, wanted_packet)
    options = tuple(_option(ground, stream, wanted_time, wanted_packet, p) for p in sets)
    reasons = () if options else transpose.law(ground, stream, wanted_time, wanted_packet).findings
    return Answer(stream, options, reasons)


def calculate(
    axes: dict[str, int],
    dtype: str,
    time: str,
    packet: str,
    out_time: str | None = None,
    out_packet: str | None = None,
    hardware: Hardware | None = None,
) -> dict[str, Any]:
    """The JSON of an answer; see `answer`."""
    return answer(axes, dtype, time, packet, out_time, out_packet, hardware).document()


def _nothing(ground: Ground, stream: Stream) -> tuple[Finding, ...]:
    """What stops every transpose of a stream: its packet."""
    return transpose.law(ground, stream, stream.time, stream.packet).findings


def _fits(e: Mapping, wanted: Mapping | None) -> bool:
    return wanted is None or bool(equivalent(e, wanted))


def _not_among(found: Sequence[TransposeOption], time: Mapping | None, packet: Mapping | None) -> Finding:
    """No output has the Time, or the Packet, that was asked for."""
    level, wanted = ("packet", packet) if time is None else ("time", time)
    assert wanted is not None
    near = found[0].time if level == "time" else found[0].packet
    legal = ", ".join(dict.fromkeys(f"`{text(o.time if level == 'time' else o.packet)}`" for o in found))
    message = f"no transpose of this stream gives the {level} `{text(wanted)}`"
    return Finding(f"transpose_{level}_mismatch", message, text(wanted), f"one of {legal}", text(near))


def _option(ground: Ground, stream: Stream, time: Mapping, packet: Mapping, p: Parameters) -> TransposeOption:
    counts = (("collect", stream.time.size), ("transpose", p.cycles), ("commit", time.size))
    return TransposeOption(time, packet, p, pass_cycles(ground.hardware, Steps(MAIN, counts)))


def visa(option: TransposeOption) -> str:
    """The line to paste into a vISA kernel."""
    return f".transpose::<m![{text(option.time)}], m![{text(option.packet)}]>()"


def steps(stream: Stream, option: TransposeOption) -> list[str]:
    """The five steps with what each leaves of Time and Packet, and the cycles."""
    p = option.parameters
    outer, rows, packets = parts(stream, p)
    elements = leading(stream.packet, p.valid_size)
    columns = show(pair(packets, elements))
    kept = show(leading(pair(packets, elements), p.out_rows))
    before = f"[{show(stream.time)}] x [{show(stream.packet)}]"
    overlap = "filling overlaps draining" if p.buffering == "double" else "filling waits for draining"
    return [
        f"unpack     {before} -> {p.valid_size} elements of each flit: [{show(elements)}]",
        f"gather     {p.packets_per_col} packets a row, {p.in_rows} rows: [{show(rows)}] x [{columns}]"
        f" = {p.in_rows} x {p.in_cols}",
        f"transpose  [{columns}] x [{show(rows)}] = {p.in_cols} x {p.in_rows}",
        f"trim       the first {p.out_rows} of {p.in_cols} rows: [{kept}]",
        f"align      rows of {p.in_rows} padded to one flit: [{show(option.packet)}]",
        f"repeat     {p.iterations} times, [{show(outer)}]",
        f"cycles     {p.cycles}, {p.buffering} buffering: {overlap}",
    ]


def matrix(stream: Stream, option: TransposeOption) -> tuple[list[str], list[str]]:
    """The first matrix before and after, a text per row; cells by their indices, padding as a dot."""
    p = option.parameters
    whole = pair(stream.time, stream.packet)
    row, column = np.arange(p.in_rows).reshape(-1, 1), np.arange(p.in_cols).reshape(1, -1)
    step = row * p.packets_per_col + column // p.valid_size
    names = _names(tensor_cells([(whole, step * stream.packet.size + column % p.valid_size)]), (p.in_rows, p.in_cols))
    before = [[names[r][c] for c in range(p.in_cols)] for r in range(p.in_rows)]
    after = [[names[r][c] for r in range(p.in_rows)] for c in range(p.out_rows)]
    return _drawn(before), _drawn(after)


def _names(cells: Cells, shape: tuple[int, int]) -> list[list[str]]:
    kind = np.broadcast_to(cells.kind, shape)
    index = {name: np.broadcast_to(at, shape) for name, at in cells.index.items()}
    moving = [name for name, at in index.items() if at.max() > at.min()]

    def named(r: int, c: int) -> str:
        return "·" if kind[r, c] != LIVE else " ".join(f"{n}{index[n][r, c]}" for n in moving) or "0"

    return [[named(r, c) for c in range(shape[1])] for r in range(shape[0])]


def _drawn(rows: Sequence[Sequence[str]]) -> list[str]:
    shown = [list(row[:MOST_DRAWN]) + (["…"] if len(row) > MOST_DRAWN else []) for row in rows[:MOST_DRAWN]]
    if len(rows) > MOST_DRAWN:
        shown.append(["…"] * len(shown[0]))
    width = max(len(cell) for row in shown for cell in row)
    lines = ["│ " + " │ ".join(f"{cell:<{width}}" for cell in row) + " │" for row in shown]
    bar = "─" * (width + 2)
    return ["┌" + "┬".join([bar] * len(shown[0])) + "┐", *lines, "└" + "┴".join([bar] * len(shown[0])) + "┘"]
