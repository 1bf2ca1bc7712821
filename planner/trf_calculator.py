"""The TRF calculator: what a layout costs in rows, banks and halves, per element type and number of lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from models.dtypes import DTYPES
from models.faults import Finding
from models.hardware import Hardware
from models.layout import Stream
from models.mapping import ONE, Mapping, pair, text
from models.presets.load import load_hardware
from planner.engines import register_files, trf_placement
from planner.engines.base import Ground
from planner.engines.register_files import TRF_DTYPES, TrfConfig
from planner.engines.shapes import cut, elements_in
from planner.engines.trf_placement import Footprint
from planner.switch_calculator import check_dtype, finding_document, read_texts

_STORED = tuple(t for t in TRF_DTYPES if t not in ("i5", "i9"))
"""Types that are asked about when none is named; i5 and i9 are what i4 and i8 become in a row."""


@dataclass(frozen=True, slots=True)
class TrfOption:
    """One legal way to hold the tensor: its type, which part of it stands in lanes, and what that takes."""

    dtype: str
    lane: Mapping
    element: Mapping
    takes: Footprint
    rows_of: int

    def document(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "dtype": self.dtype,
            "stored_bits": DTYPES[self.dtype].trf_bits,
            "lane": text(self.lane),
            "element": text(self.element),
            **trf_placement.settings(self.takes),
            "banks": self.takes.banks,
            "regions": list(self.takes.regions),
            "in_half": self.takes.in_half,
            "full_percent": round(100 * self.takes.rows / self.rows_of, 1),
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """Legal ways, fewest rows first within each type; and what stops the other numbers of lanes, by `type x lanes`."""

    tensor: Mapping
    options: tuple[TrfOption, ...]
    reasons: dict[str, Finding]

    def document(self) -> dict[str, Any]:
        """Plain JSON: options, the index of the one with the fewest rows, reasons."""
        rows = [o.takes.rows for o in self.options]
        return {
            "tensor": text(self.tensor),
            "elements": self.tensor.size,
            "options": [o.document() for o in self.options],
            "chosen": rows.index(min(rows)) if rows else None,
            "reasons": {name: finding_document(f) for name, f in self.reasons.items()},
        }


def answer(
    axes: dict[str, int],
    tensor: str,
    dtype: str | None = None,
    lane: str | None = None,
    hardware: Hardware | None = None,
) -> Answer:
    """Answers what a tensor takes of the TRF of a slice.

    Args:
        axes: sizes in elements.
        tensor: mapping text of [Lane, Element]; of Element alone where `lane` is given.
        dtype: one element type; None for all that the TRF holds.
        lane: mapping text of Lane; None for every number of lanes that divides the tensor.
        hardware: the chip, by default RNGD.

    Raises:
        FaultError: a mapping does not parse, or the element type is unknown.

    """
    if dtype is not None:
        check_dtype(dtype)
    read = read_texts(axes, {"tensor": tensor} | ({} if lane is None else {"lane": lane}))
    hardware = hardware or load_hardware()
    ground = Ground(hardware, axes)
    whole = pair(read["lane"], read["tensor"]) if lane is not None else read["tensor"]
    counts = [read["lane"].size] if lane is not None else _lane_counts(hardware)
    options: list[TrfOption] = []
    reasons: dict[str, Finding] = {}
    for kind in _STORED if dtype is None else (dtype,):
        found: list[TrfOption] = []
        for lanes in counts:
            option = _option(ground, whole, kind, lanes)
            if isinstance(option, Finding):
                reasons[f"{kind} x {lanes}"] = option
            else:
                found.append(option)
        options += sorted(found, key=lambda o: (o.takes.rows, -o.takes.lanes))
    return Answer(whole, tuple(options), reasons)


def calculate(
    axes: dict[str, int],
    tensor: str,
    dtype: str | None = None,
    lane: str | None = None,
    hardware: Hardware | None = None,
) -> dict[str, Any]:
    """`answer` as plain JSON."""
    return answer(axes, tensor, dtype, lane, hardware).document()


def lines(option: TrfOption) -> Iterator[str]:
    """How the store that gives this layout is written in a kernel file."""
    yield f'to_trf: {{write: NAME, lane: "{text(option.lane)}", element: "{text(option.element)}"}}'


def _lane_counts(hardware: Hardware) -> list[int]:
    most = hardware.geometry.lanes_per_slice
    return [n for n in range(most, 0, -1) if most % n == 0]


def _option(ground: Ground, whole: Mapping, dtype: str, lanes: int) -> TrfOption | Finding:
    """The layout with so many lanes, judged by the store's own law."""
    if whole.size % lanes:
        message = f"`{text(whole)}` of {whole.size} elements has no outer part of {lanes}"
        return Finding("lane_mismatch", message, str(whole.size), f"a multiple of {lanes}")
    per_lane = whole.size // lanes
    lane, element = cut(whole, per_lane)
    row = elements_in(dtype, ground.hardware.geometry.flit_bytes)
    if per_lane % row:
        message = f"a lane's {per_lane} elements of {dtype} are no whole flits of {row}"
        wanted = f"a multiple of {row}"
        return Finding("output_not_one_flit", message, str(per_lane), wanted, f"`{text(element)}` padded")
    time, packet = cut(whole, row)
    outcome = register_files.to_trf(
        ground, Stream(dtype, ONE, ONE, ONE, time, packet), TrfConfig("the tensor", lane, element)
    )
    if outcome.findings:
        return outcome.findings[0]
    takes = trf_placement.footprint(ground.hardware, dtype, lanes, per_lane // row)
    return TrfOption(dtype, lane, element, takes, ground.hardware.trf.rows_per_bank)
