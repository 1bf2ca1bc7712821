"""The switch calculator: every legal way from one layout to another, as pinned JSON and as text to read and paste."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from models.dtypes import DTYPES
from models.faults import Fault, FaultError, Finding
from models.hardware import Hardware
from models.layout import Stream
from models.mapping import ONE, Mapping, MappingError, text
from models.parse import MAX_SIZE, parse
from models.presets.load import load_hardware
from planner.engines.base import Ground
from planner.engines.switch_bits import window
from planner.engines.switch_options import Option
from planner.engines.switch_routing import full_bitmap
from planner.engines.switch_shapes import TAKES
from planner.engines.switch_synthesis import Synthesis, synthesise

ROWS_SHOWN = 8
"""So many rows of a bitmap are shown at most."""
_SOURCES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Answer:
    """What the calculator found for one question."""

    stream: Stream
    found: Synthesis

    @property
    def options(self) -> Sequence[Option]:
        """Legal ways, cheapest first."""
        return self.found.options

    def document(self) -> dict[str, Any]:
        """The pinned JSON: options, cheapest first, the chosen one, and what stops the other kinds."""
        options = self.found.options
        return {
            "options": [o.document() | {"reason": behind(options, i)} for i, o in enumerate(options)],
            "chosen": 0 if options else None,
            "reasons": {kind: finding_document(finding) for kind, finding in self.found.reasons.items()},
        }


def answer(
    axes: dict[str, int],
    dtype: str,
    in_slice: str,
    in_time: str,
    packet: str,
    out_slice: str,
    out_time: str | None = None,
    hardware: Hardware | None = None,
) -> Answer:
    """Answers how a stream gets from one Slice and Time to another; mappings are text, axis sizes elements.

    Raises:
        FaultError: a mapping does not parse, or the element type is unknown.

    """
    check_dtype(dtype)
    named = {"in-slice": in_slice, "in-time": in_time, "packet": packet, "out-slice": out_slice}
    read = read_texts(axes, named | ({} if out_time is None else {"out-time": out_time}))
    check_sizes(read["in-slice"], read["in-time"], read["packet"])
    stream = Stream(dtype, ONE, ONE, read["in-slice"], read["in-time"], read["packet"])
    ground = Ground(hardware or load_hardware(), axes)
    return Answer(stream, synthesise(ground, stream, read["out-slice"], read.get("out-time")))


def calculate(
    axes: dict[str, int],
    dtype: str,
    in_slice: str,
    in_time: str,
    packet: str,
    out_slice: str,
    out_time: str | None = None,
    hardware: Hardware | None = None,
) -> dict[str, Any]:
    """The pinned JSON of an answer; see `answer`."""
    return answer(axes, dtype, in_slice, in_time, packet, out_slice, out_time, hardware).document()


def check_dtype(dtype: str) -> None:
    """Raises a FaultError where an element type is unknown."""
    if dtype not in DTYPES:
        wanted = f"one of {', '.join(DTYPES)}"
        raise FaultError([Fault(rule="unknown_dtype", op="dtype", found=dtype, wanted=wanted, message="unknown type")])


def read_texts(axes: dict[str, int], named: dict[str, str]) -> dict[str, Mapping]:
    """Mappings by the name of the option that states them.

    Raises:
        FaultError: one does not parse; all that do not are named.

    """
    out: dict[str, Mapping] = {}
    faults: list[Fault] = []
    for name, source in named.items():
        try:
            out[name] = parse(source, axes)
        except MappingError as error:
            faults.append(
                Fault(
                    rule=error.rule,
                    column=error.column,
                    op=name,
                    found=error.found,
                    wanted=error.wanted,
                    message=error.message,
                )
            )
    if faults:
        raise FaultError(faults)
    return out


def check_sizes(*parts: Mapping) -> None:
    """Raises a FaultError where the parts of one stream have more positions together than can be counted."""
    whole = prod(e.size for e in parts)
    if whole > MAX_SIZE:
        message = "Slice, Time and Packet of a stream are one mapping, which has too many positions"
        raise FaultError([Fault(rule="mapping_too_large", found=f"{whole}", wanted=f"{MAX_SIZE}", message=message)])


def finding_document(finding: Finding) -> dict[str, str]:
    """A finding as plain JSON."""
    return {
        "rule": finding.rule,
        "message": finding.message,
        "found": finding.found,
        "wanted": finding.wanted,
        "nearest": finding.nearest,
    }


def behind(options: Sequence[Option], at: int) -> str:
    """Why an option does not stand first; empty for the first."""
    first, this = options[0], options[at]
    if at == 0:
        return ""
    if this.pass_cycles > first.pass_cycles:
        return f"{this.pass_cycles - first.pass_cycles} cycles more than {first.label}"
    if len(this.holds) > len(first.holds):
        return f"as fast as {first.label}, but holds {', '.join(sorted(this.holds - first.holds))} too"
    return f"no better than {first.label}"


def visa(option: Option) -> list[str]:
    """The lines to paste into a vISA kernel, one per pass; a step other than a switch is told in a comment."""
    if option.passes:
        return [line for step in option.passes for line in visa(step)]
    slice_, time = text(option.out_slice), text(option.out_time)
    if option.kind == "Forwarding":
        return [".collect()  // no switch"]
    if option.candidate is None:
        what = {"AxisLifting": "fetch with axis lifting", "Dma": "DMA copy"}[option.kind]
        return [f"// {what} into Slice m![{slice_}], Time m![{time}]"]
    config = option.candidate.config
    given = ", ".join(f"{n}: {getattr(config, n)}" for n in TAKES[config.kind])
    return [f".switch::<m![{slice_}], m![{time}]>(SwitchConfig::{config.kind} {{ {given} }})"]


def rings(option: Option, slices: int) -> str:
    """The sub-rings in one line; empty where no ring takes part."""
    if option.candidate is None or option.ring_size is None:
        return ""
    size = option.ring_size
    count = slices // size
    names = [f"{i * size}-{(i + 1) * size - 1}" if size > 1 else str(i) for i in range(count)]
    shown = names if count <= 4 else [*names[:2], "...", names[-1]]
    return f"{count} sub-rings of {size} slices: {', '.join(shown)}" if count > 1 else f"one ring of {size} slices"


def bitmap_rows(option: Option, slices: int, most: int = ROWS_SHOWN) -> list[str]:
    """The first rows of the snoop bitmap: which input slices an output slice listens to."""
    if option.candidate is None:
        return []
    bitmap = option.candidate.outcome.settings["bitmap"]
    full = full_bitmap(bitmap["pattern"], bitmap["period"], slices)
    return [f"slice {r} listens to {_sources(full[r])}" for r in range(min(most, slices))]


def _sources(row: list[int]) -> str:
    if not row:
        return "nothing"
    more = len(row) - _SOURCES_SHOWN
    return ", ".join(map(str, row[:_SOURCES_SHOWN])) + (f" and {more} more" if more > 0 else "")


Named = list[tuple[str, Mapping]]


def boxes(stream: Stream, option: Option) -> list[str]:
    """Slice and Time of input and output as two drawn tables, parts named as in the book."""
    before, after = parts(stream, option)
    return [*_drawn("in", *before), *_drawn("out", *after)]


def parts(stream: Stream, option: Option) -> tuple[tuple[Named, Named], tuple[Named, Named]]:
    """Slice and Time of input and output, each as named parts, outermost first."""
    kind, s1, s0, t0 = option.kind, option.slice1 or 1, option.slice0 or 1, option.time0 or 1
    if option.candidate is None or kind not in _OUT:
        return (_whole("Slice", stream.slice), _whole("Time", stream.time)), (
            _whole("Slice", option.out_slice),
            _whole("Time", option.out_time),
        )
    sizes = {"slice2": stream.slice.size // (s1 * s0), "slice1": s1, "slice0": s0, "X": s1, "Y": s0}
    split = s1 if kind == "InterTranspose" else 1
    cut = {"Broadcast01": ("time1", "time0"), "InterTranspose": ("time2", "time1", "time0")}.get(kind, ("time",))
    outer = stream.time.size // (t0 * split)
    sizes |= {"time": stream.time.size, "time0": t0, "time1": split if split > 1 or len(cut) == 3 else outer}
    sizes["time2"] = outer
    out_slice, out_time = _OUT[kind]
    return (
        (_named(("slice2", "slice1", "slice0"), sizes, stream.slice), _named(cut, sizes, stream.time)),
        (_named(out_slice, sizes, option.out_slice), _named(out_time, sizes, option.out_time)),
    )


_OUT: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Broadcast01": (("slice2", "X", "Y"), ("time1", "slice1", "time0", "slice0")),
    "Broadcast1": (("slice2", "X", "slice0"), ("time", "slice1")),
    "Transpose": (("slice2", "slice0", "slice1"), ("time",)),
    "InterTranspose": (("slice2", "time1", "slice0"), ("time2", "time0", "slice1")),
    "TransposedBroadcast1": (("slice2", "Y", "slice1"), ("time", "slice0")),
}
"""Parts of the output Slice and Time by kind (domain: section 5)."""


def _whole(name: str, e: Mapping) -> Named:
    return [(name, e)]


def _named(names: Sequence[str], sizes: dict[str, int], e: Mapping) -> Named:
    out: Named = []
    below = e.size
    for name in names:
        below //= sizes[name]
        out.append((name, window(e, below, sizes[name])))
    return out


def _drawn(side: str, slice_: Named, time: Named) -> list[str]:
    cells = [(name, text(e), str(e.size)) for name, e in (*slice_, *time)]
    widths = [max(len(row) for row in cell) for cell in cells]
    heads = [f"{side} Slice", *[""] * (len(slice_) - 1), f"{side} Time", *[""] * (len(time) - 1)]
    widths = [max(w, len(h)) for w, h in zip(widths, heads, strict=True)]
    rows = [heads, *(list(row) for row in zip(*cells, strict=True))]
    top, bottom = (a + "┬".join("─" * (w + 2) for w in widths) + b for a, b in (("┌", "┐"), ("└", "┘")))
    lines = ["│" + "│".join(f" {c:<{w}} " for c, w in zip(row, widths, strict=True)) + "│" for row in rows]
    return [top, *lines, bottom.replace("┬", "┴")]
