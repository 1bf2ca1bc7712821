"""Any one of these makes it fit: small changes to an infeasible kernel, each confirmed by planning the changed one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import solver
from models.faults import FaultError
from models.hardware import Hardware
from models.kernel import Kernel
from models.presets.load import load_hardware
from planner.build import build
from planner.choices import Choices
from planner.corrections_edits import (
    Edit,
    edited,
    lanes,
    open_fields,
    passes,
    shown_edit,
    smaller_tiles,
    tile_axes,
    written_tensors,
)
from planner.options import PlanOptions, Request
from planner.readers.source import KernelSource
from planner.readers.yaml_kernel import read_kernel_text
from planner.writers.kernel_yaml import kernel_text
from solver import Options

TOO_LARGE = frozenset({"exceeds_capacity"})
_OF_CHOICE = frozenset(
    {
        *("sub_context_step", "sub_commit_cast", "no_mode_left", "short_not_contiguous", "lane_size", "slot_capacity"),
        *("contract_lane_time", "contract_lane_packet", "commit_stride", "commit_width"),
        *("vrf_store_holds_main_and_sub", "switch_slice_shape", "illegal_config"),
    }
)
CORRECTABLE = TOO_LARGE | _OF_CHOICE
"""Rules that a choice or a size breaks, so that another one may satisfy them."""

MOST_TRIED = 40
MOST_SECONDS = 5.0
"""Limit of each solve: whether there is any plan is all that matters."""
WIDEST = 16
"""Files are tried up to so many times their size."""
FILE_PATHS = {"trf": "trf.rows_per_bank", "vrf": "vrf.bytes_per_slice", "dm": "dm.bytes_per_slice"}


@dataclass(frozen=True, slots=True)
class Correction:
    """One change with which a plan exists.

    `kind`: choice (leave out a choice made by hand), field (another value in the kernel file), tile, lanes, wider,
    axis. `text` says it in words. Applied by what it changes: `settings` (hardware numbers by path), `axes`, `drop`
    (choices by hand to leave out), `edits` of the kernel. `makespan_cycles` is that of the plan which confirmed it.
    """

    kind: str
    text: str
    settings: Mapping[str, int] = field(default_factory=dict)
    axes: Mapping[str, int] = field(default_factory=dict)
    drop: tuple[tuple[str, str], ...] = ()
    edits: tuple[Edit, ...] = ()
    makespan_cycles: int | None = None

    def request(self, request: Request) -> Request:
        """The request with what this correction changes in it."""
        return replace(
            request,
            axes={**request.axes, **self.axes},
            settings={**request.settings, **self.settings},
            fixed={p: v for p, v in request.fixed.items() if (p, v) not in self.drop},
            forbidden=tuple(c for c in request.forbidden if c not in self.drop),
        )

    def kernel(self, kernel: Kernel) -> Kernel:
        """The kernel with its edits."""
        return edited(kernel, self.edits)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "kind": self.kind,
            "text": self.text,
            "settings": {f"hardware.{p}": v for p, v in self.settings.items()},
            "axes": dict(self.axes),
            "drop": [f"{p}={v}" for p, v in self.drop],
            "edits": [{"path": list(e.path), "old": e.old, "new": e.new} for e in self.edits],
            "makespan_cycles": self.makespan_cycles,
        }


@dataclass(frozen=True, slots=True)
class Blamed:
    """What takes part in the reason: operations by their names in the file, tensors, files, choices made by hand.

    `least`: the least capacity of a file with which a plan exists, where that is known.
    """

    bases: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    choices: tuple[tuple[str, str], ...] = ()
    least: Mapping[str, int] = field(default_factory=dict)


def find(
    source: KernelSource, hardware: Hardware, request: Request, options: PlanOptions, blamed: Blamed
) -> tuple[Correction, ...]:
    """Every candidate that planning confirms, choices and edits before larger hardware and smaller problems."""
    trial = _Trial(source, request, options)
    found: list[Correction] = []
    for tried, candidate in enumerate(_candidates(source, hardware, request, blamed, trial)):
        if tried >= MOST_TRIED:
            break
        confirmed = trial.confirm(candidate)
        if confirmed is not None:
            found.append(confirmed)
    return tuple({c.text: c for c in found}.values())


def least_room(
    source: KernelSource, hardware: Hardware, request: Request, options: PlanOptions, file: str
) -> int | None:
    """The least capacity of a file, bytes per slice or rows per bank, with which a plan exists; None: none helps."""
    trial = _Trial(source, request, options)
    have, step = _capacity(hardware, file), _step(hardware, file)

    def fits(units: int) -> bool:
        return trial.makespan(Correction("wider", "", settings={FILE_PATHS[file]: units * step})) is not None

    low, high = have // step, have // step * 2
    while not fits(high):
        low, high = high, high * 2
        if high * step > have * WIDEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high * step


def _capacity(hardware: Hardware, file: str) -> int:
    return hardware.trf.rows_per_bank if file == "trf" else int(getattr(hardware, file).bytes_per_slice)


def _step(hardware: Hardware, file: str) -> int:
    """Halves of the TRF have whole rows; the other files grow by their alignment."""
    return 2 if file == "trf" else int(getattr(hardware, file).alignment_bytes)


@dataclass(slots=True)
class _Trial:
    source: KernelSource
    request: Request
    options: PlanOptions

    def confirm(self, candidate: Correction) -> Correction | None:
        """The candidate with the makespan it allows; None when it allows no plan."""
        makespan = self.makespan(candidate)
        return None if makespan is None else replace(candidate, makespan_cycles=makespan)

    def makespan(self, candidate: Correction) -> int | None:
        """The makespan of the changed kernel, read and built anew; None when it is faulty or has no plan."""
        request = candidate.request(self.request)
        limits = Options(min(self.options.time_limit_seconds, MOST_SECONDS), 1, self.options.seed)
        try:
            text = kernel_text(candidate.kernel(self.source.kernel))
            source = read_kernel_text(text, self.source.path, axes=request.axes)
            hardware = load_hardware(source.kernel.hardware, request.settings)
            built = build(source, hardware, Choices(dict(request.fixed), request.forbidden))
        except FaultError:
            return None
        return solver.solve(built.problem, limits).makespan


def _candidates(
    source: KernelSource, hardware: Hardware, request: Request, blamed: Blamed, trial: _Trial
) -> Iterator[Correction]:
    for choice in blamed.choices:
        option = "--fix" if choice in request.fixed.items() else "--forbid"
        yield Correction("choice", f"leave out {option} {choice[0]}={choice[1]}", drop=(choice,))
    yield from _edits(source, blamed)
    yield from _wider(hardware, blamed, trial)
    yield from _smaller_axes(source.kernel, blamed)


def _edits(source: KernelSource, blamed: Blamed) -> Iterator[Correction]:
    kernel, say = source.kernel, _saying(source)
    names = {b for b, tensor in written_tensors(kernel) if tensor in blamed.tensors} | set(blamed.bases)
    single = [edits for path, op in passes(kernel) if op.name in names for edits in open_fields(path, op)]
    for edits in single:
        yield Correction("field", say(edits), edits=edits)
    regions = [e[0] for e in single if e[0].path[-1] == "region" and e[0].new == "auto"]
    if len(regions) > 1:
        yield Correction("field", say(tuple(regions)), edits=tuple(regions))
    for edits in smaller_tiles(kernel, names):
        yield Correction("tile", say(edits[:1]), edits=edits)
    for edits in lanes(kernel, names):
        yield Correction("lanes", say(edits[:1]), edits=edits)


def _saying(source: KernelSource) -> Callable[[tuple[Edit, ...]], str]:
    def say(edits: tuple[Edit, ...]) -> str:
        return " and ".join(shown_edit(source.kernel, e, source.positions.position(e.path)[0]) for e in edits)

    return say


def _wider(hardware: Hardware, blamed: Blamed, trial: _Trial) -> Iterator[Correction]:
    for file in blamed.files:
        have = _capacity(hardware, file)
        size = blamed.least.get(file) or least_room(trial.source, hardware, trial.request, trial.options, file)
        if size is None:
            continue
        unit = "rows per bank" if file == "trf" else "bytes per slice"
        text = f"{size:,} {unit} of {file.upper()} instead of {have:,}: --set hardware.{FILE_PATHS[file]}={size}"
        yield Correction("wider", text, settings={FILE_PATHS[file]: size})


def _smaller_axes(kernel: Kernel, blamed: Blamed) -> Iterator[Correction]:
    for axis in tile_axes(kernel, blamed.tensors):
        size = kernel.axes[axis]
        for part in (2, 4):
            if size % part == 0 and size > part:
                text = f"a smaller problem, {axis} = {size // part} instead of {size}: --axis {axis}={size // part}"
                yield Correction("axis", text, axes={axis: size // part})


__all__ = ["CORRECTABLE", "TOO_LARGE", "Blamed", "Correction", "Edit", "find", "least_room", "written_tensors"]
