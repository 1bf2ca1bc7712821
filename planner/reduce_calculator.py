"""The reduce calculator: where a reduced axis may stand in Slice, Time and Packet, what each placement costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from models.faults import Fault, FaultError, Finding
from models.graph import MAIN
from models.hardware import Hardware
from models.layout import Stream
from models.mapping import ONE, Axis, Mapping, Modulo, Pad, Stride, axis_names, pair, text
from models.presets.load import load_hardware
from planner.engines import intra_slice_reduce
from planner.engines.base import Ground, Outcome
from planner.engines.intra_slice_reduce import ReduceConfig, spelled
from planner.engines.shapes import kept, padded
from planner.pass_cycles import InterSlice, Steps, pass_cycles
from planner.switch_calculator import check_dtype, check_sizes, finding_document, read_texts

SLICE_MAJOR, TIME_MAJOR = "slice_major", "time_major"


@dataclass(frozen=True, slots=True)
class Placement:
    """A stream with the axis, padded to `size`: `span` elements a packet, over `slices` slices, `steps` time steps."""

    stream: Stream
    span: int
    slices: int
    steps: int
    size: int


@dataclass(frozen=True, slots=True)
class ReduceOption:
    """A placement with what the reduction says of it; `pass_cycles` with the inter-slice reduction that ends it."""

    placement: Placement
    time: Mapping
    packet: Mapping
    outcome: Outcome
    pass_cycles: int

    def document(self) -> dict[str, Any]:
        """Plain JSON."""
        stream, settings = self.placement.stream, self.outcome.settings
        return {
            "slice": text(stream.slice),
            "time": text(stream.time),
            "packet": text(stream.packet),
            "out_time": text(self.time),
            "out_packet": text(self.packet),
            "padded_to": self.placement.size,
            "slots": settings["slots"],
            "first_output_delay": settings["first_output_delay"],
            "stall_flits": settings["stall_flits"],
            "mask": settings["mask"],
            "vcg": settings["vcg"],
            "warnings": [w.rule for w in self.outcome.warnings],
            "inter_slice_ratio": self.placement.slices,
            "cycles": self.outcome.steps,
            "pass_cycles": self.pass_cycles,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """Legal placements, cheapest first; the rules that stop others, the first finding and how many each stops."""

    axis: str
    op: str
    options: tuple[ReduceOption, ...]
    refused: dict[str, int]
    reasons: tuple[Finding, ...] = ()

    def document(self) -> dict[str, Any]:
        """Plain JSON: options, the chosen one, and what stops the placements that are left out."""
        rows = [o.document() | {"visa": visa(self, o)} for o in self.options]
        reasons = [finding_document(f) for f in self.reasons]
        return {"options": rows, "chosen": 0 if rows else None, "refused": self.refused, "reasons": reasons}


def answer(
    axes: dict[str, int],
    dtype: str,
    axis: str,
    op: str,
    slice_: str = "1",
    time: str = "1",
    packet: str = "1",
    hardware: Hardware | None = None,
) -> Answer:
    """All placements of an axis beside what else stands in Slice, Time and Packet.

    Args:
        axes: sizes of axes, the reduced one among them.
        dtype: i32 or f32.
        axis: the axis that is reduced.
        op: Add, AddSat, Max or Min.
        slice_: other factors in Slice, of at most 256 slices.
        time: other factors in Time.
        packet: other factors in the 4-wide packet; `1` leaves it to the reduced axis.
        hardware: the chip, RNGD by default.

    Raises:
        FaultError: a mapping does not parse, the type or the axis is unknown.

    """
    check_dtype(dtype)
    if axis not in axes:
        wanted = f"one of {', '.join(axes)}"
        raise FaultError([Fault(rule="unknown_axis", op="reduce", found=axis, wanted=wanted, message="unknown axis")])
    read = read_texts(axes, {"slice": slice_, "time": time, "packet": packet})
    check_sizes(Axis(axis, axes[axis]), *read.values())
    ground = Ground(hardware or load_hardware(), axes)
    if stopped := kept(_stopped(ground.hardware, read, Axis(axis, axes[axis]))):
        return Answer(axis, op, (), {}, stopped)
    # slices come in powers of two: what else stands there is padded to one
    others = padded(read["slice"], 1 << (read["slice"].size - 1).bit_length())
    base = Stream(dtype, ONE, ONE, others, read["time"], read["packet"])
    written = spelled(intra_slice_reduce.OPS, dtype, op)
    options: list[ReduceOption] = []
    refused: dict[str, int] = {}
    reasons: dict[str, Finding] = {}
    for placement in placements(ground.hardware, base, Axis(axis, axes[axis])):
        option = _option(ground, base, placement, axis, written)
        for rule, finding in {f.rule: f for f in reversed(option.outcome.findings)}.items():
            refused[rule] = refused.get(rule, 0) + 1
            reasons.setdefault(rule, finding)
        if option.outcome.ok:
            options.append(option)
    ordered = tuple(reasons[rule] for rule in sorted(reasons))
    return Answer(axis, written, tuple(sorted(options, key=_rank)), dict(sorted(refused.items())), ordered)


def _stopped(hardware: Hardware, read: dict[str, Mapping], axis: Axis) -> Iterator[Finding | None]:
    """What leaves no placement at all: too many slices or lanes, an axis that stands there already, or of one."""
    most, ways = hardware.geometry.slices_per_cluster, hardware.vector.ways_narrow
    if read["slice"].size > most:
        found = f"{read['slice'].size} slices"
        yield Finding("slice_count", f"`{text(read['slice'])}` needs {found}", found, f"at most {most}")
    if read["packet"].size > ways:
        found = f"{read['packet'].size} elements"
        yield Finding("vector_ways", f"a reduction works on {ways} ways, not on {found}", found, f"at most {ways}")
    for level, e in read.items():
        if axis.name in axis_names(e):
            message = f"--{level} holds {axis.name}, which is placed here: leave it out"
            yield Finding("reduce_axis_remains", message, text(e), f"no factor of {axis.name}")
    if axis.size == 1:
        message = f"{axis.name} has one element: nothing is left to reduce"
        yield Finding("reduce_axis_missing", message, "1 element", "2 elements or more")


def calculate(
    axes: dict[str, int],
    dtype: str,
    axis: str,
    op: str,
    slice_: str = "1",
    time: str = "1",
    packet: str = "1",
    hardware: Hardware | None = None,
) -> dict[str, Any]:
    """The JSON of an answer; see `answer`."""
    return answer(axes, dtype, axis, op, slice_, time, packet, hardware).document()


def _rank(option: ReduceOption) -> tuple[int, int, int, int, int]:
    """Cheapest first, then no warning, then the fewest slots, slices and padding."""
    place, settings = option.placement, option.outcome.settings
    return option.pass_cycles, len(option.outcome.warnings), settings["slots"], place.slices, place.size


def placements(hardware: Hardware, base: Stream, axis: Axis) -> Iterator[Placement]:
    """The axis over powers of two of slices, the packet's lanes and Time, each as the major part, in or out of Time."""
    ways = hardware.vector.ways_narrow
    spans = [1] if base.packet.size > 1 else [n for n in (1, 2, 4, 8) if n <= ways]
    room = hardware.geometry.slices_per_cluster // base.slice.size
    for span in (n for n in spans if n == 1 or n < 2 * axis.size):
        packets = -(-axis.size // span)
        for slices in (n for n in _powers(room) if n < 2 * packets):
            steps = -(-packets // slices)
            if span == 1 and steps == 1:
                continue  # nothing is left to reduce inside a slice
            yield from _placed(hardware, base, axis, (span, slices, steps))


def _powers(most: int) -> Iterator[int]:
    n = 1
    while n <= most:
        yield n
        n *= 2


def _placed(hardware: Hardware, base: Stream, axis: Axis, counts: tuple[int, int, int]) -> Iterator[Placement]:
    span, slices, steps = counts
    size = span * slices * steps
    whole = padded(axis, size)
    lanes = _digit(whole, 1, span) if span > 1 else base.packet
    ways = hardware.vector.ways_narrow
    packet = lanes if lanes.size == ways else Pad(lanes, ways)
    free = hardware.geometry.slices_per_cluster // (base.slice.size * slices)
    for major in (SLICE_MAJOR, TIME_MAJOR) if slices > 1 and steps > 1 else (SLICE_MAJOR,):
        below = (steps, 1) if major == SLICE_MAJOR else (1, slices)
        over = _digit(whole, span * below[0], slices)
        time = _digit(whole, span * below[1], steps)
        slice_ = pair(*([Pad(ONE, free)] if free > 1 else []), base.slice, over)
        orders = [(time, base.time), (base.time, time)] if steps > 1 and base.time.size > 1 else [(base.time, time)]
        for order in orders:
            stream = Stream(base.dtype, ONE, ONE, slice_, pair(*order), packet)
            yield Placement(stream, span, slices, steps, size)


def _digit(whole: Mapping, stride: int, size: int) -> Mapping:
    if size == 1:
        return ONE
    out: Mapping = whole if stride == 1 else Stride(whole, stride)
    return out if out.size == size else Modulo(out, size)


def _option(ground: Ground, base: Stream, placement: Placement, axis: str, op: str) -> ReduceOption:
    stream = placement.stream
    packet = stream.packet if placement.span == 1 else Pad(ONE, stream.packet.size)
    outcome = intra_slice_reduce.law(ground, stream, ReduceConfig(axis, op, base.time, packet))
    ring = InterSlice(placement.slices, base.time.size) if placement.slices > 1 else None
    steps = Steps(MAIN, (("collect", stream.time.size), ("vector", outcome.steps)), ring)
    return ReduceOption(placement, base.time, packet, outcome, pass_cycles(ground.hardware, steps))


def visa(found: Answer, option: ReduceOption) -> list[str]:
    """The lines to paste into a vISA kernel, between narrowing and widening."""
    kind = "IntraSliceReduceOpI32" if option.placement.stream.dtype == "i32" else "IntraSliceReduceOpF32"
    out = f"m![{text(option.time)}], m![{text(option.packet)}]"
    lines = [f".vector_intra_slice_reduce::<{found.axis}, {out}>({kind}::{found.op})"]
    if option.placement.slices > 1:
        lines.append(f"// then vector_inter_slice_reduce over {option.placement.slices} slices")
    return lines
