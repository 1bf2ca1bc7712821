"""Any one of these makes it fit: small changes to an infeasible kernel, each confirmed by planning the changed one."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import solver
from models.faults import FaultError
from models.graph import Problem
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
from solver.index import Index

TOO_LARGE = frozenset({"exceeds_capacity", "dma_dm_size"})
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
"""Files of unknown contents are tried up to so many times their size."""
MOST_SUMS = 4_000
FILE_PATHS = {"trf": "trf.rows_per_bank", "vrf": "vrf.bytes_per_slice", "dm": "dm.bytes_per_slice"}


@dataclass(frozen=True, slots=True)
class Correction:
    """One change with which a plan exists.

    `kind`: choice (leave out a choice made by hand), field (another value in the kernel file), tile, lanes, wider,
    axis. `text` says it in words. Applied by what it changes: `settings` (hardware numbers by path), `axes`, `drop`
    (choices by hand to leave out), `edits` of the kernel. `makespan_cycles` is that of the plan which
    confirmed it, the first one found.
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
    problem = _problem(source, hardware, request)

    def fits(size: int) -> bool:
        if problem is None or file == "trf":
            return trial.makespan(Correction("wider", "", settings={FILE_PATHS[file]: size})) is not None
        # A kernel that is legal stays so in more room: only the solver's capacity changes.
        group = getattr(hardware, file).model_copy(update={"bytes_per_slice": size})
        roomier = replace(problem, hardware=hardware.model_copy(update={file: group}))
        return first_plan(roomier, trial.limits) is not None

    sizes = _sizes(hardware, file, problem)
    if not sizes or not fits(sizes[-1]):
        return None
    return sizes[bisect_left(sizes, True, key=fits)]


def _sizes(hardware: Hardware, file: str, problem: Problem | None) -> list[int]:
    """Capacities that may be the least one: pushed together, places stand on one another, which makes a sum of theirs.

    Halves of the TRF count twice. Where sizes are not known or make too many sums, the file is doubled.
    """
    have = _capacity(hardware, file)
    doubled = [have * 2**n for n in range(1, WIDEST.bit_length())]
    if problem is None:
        return doubled
    sums = {0}
    for place in Index(problem).places_in(file):
        sums |= {s + place.size for s in sums}
        if len(sums) > MOST_SUMS:
            return doubled
    if file == "trf":
        sums = {s + s % 2 for s in sums} | {2 * s for s in sums}
    return sorted(s for s in sums if s > have)


def _problem(source: KernelSource, hardware: Hardware, request: Request) -> Problem | None:
    """The problem of a legal kernel; None where a rule of an engine refuses it."""
    try:
        return build(source, hardware, Choices(dict(request.fixed), request.forbidden)).problem
    except FaultError:
        return None


def _capacity(hardware: Hardware, file: str) -> int:
    return hardware.trf.rows_per_bank if file == "trf" else int(getattr(hardware, file).bytes_per_slice)


@dataclass(slots=True)
class _Trial:
    source: KernelSource
    request: Request
    options: PlanOptions

    @property
    def limits(self) -> Options:
        """Limits of each solve."""
        return Options(min(self.options.time_limit_seconds, MOST_SECONDS), 1, self.options.seed)

    def confirm(self, candidate: Correction) -> Correction | None:
        """The candidate with the makespan it allows; None when it allows no plan."""
        makespan = self.makespan(candidate)
        return None if makespan is None else replace(candidate, makespan_cycles=makespan)

    def makespan(self, candidate: Correction) -> int | None:
        """The makespan of the changed kernel, read and built anew; None when it is faulty or has no plan."""
        request = candidate.request(self.request)
        try:
            text = kernel_text(candidate.kernel(self.source.kernel))
            source = read_kernel_text(text, self.source.path, axes=request.axes)
            hardware = load_hardware(source.kernel.hardware, request.settings)
            built = build(source, hardware, Choices(dict(request.fixed), request.forbidden))
        except FaultError:
            return None
        return first_plan(built.problem, self.limits)


def first_plan(problem: Problem, limits: Options) -> int | None:
    """The makespan of any plan; None when there is none, or none was found within the limits."""
    stop, found = threading.Event(), list[int | None]()

    def take(solution: solver.Solution) -> None:
        found.append(solution.makespan)
        stop.set()

    last = solver.solve(problem, limits, on_solution=take, stop=stop)
    return last.makespan if last.makespan is not None else next(iter(found), None)


def _candidates(
    source: KernelSource, hardware: Hardware, request: Request, blamed: Blamed, trial: _Trial
) -> Iterator[Correction]:
    for choice in blamed.choices:
        option = "--fix" if choice in request.fixed.items() else "--forbid"
        yield Correction("choice", f"leave out {option} {choice[0]}={choice[1]}", drop=(choice,))
    asked = (*request.fixed.items(), *request.forbidden)
    if blamed.choices and len(asked) > 1:
        yield Correction("choice", "leave out every --fix and --forbid", drop=asked)
    yield from _edits(source, blamed)
    yield from _wider(hardware, blamed, trial)
    yield from _smaller_axes(source.kernel, blamed)


def _edits(source: KernelSource, blamed: Blamed) -> Iterator[Correction]:
    kernel, say = source.kernel, _saying(source)
    names = {b for b, tensor in written_tensors(kernel) if tensor in blamed.tensors} | set(blamed.bases)
    single = [edits for path, op in passes(kernel) if op.name in names for edits in open_fields(path, op)]
    for edits in single:
        yield Correction("field", say(edits), edits=edits)
    for name in ("region", "context"):
        mine = [e[0] for e in single if e[0].path[-1] == name]
        everywhere = [e[0] for path, op in passes(kernel) for e in open_fields(path, op) if e[0].path[-1] == name]
        for some in (mine, everywhere if mine else []):
            last = tuple({e.path: e for e in some}.values())
            if len(last) > 1:
                yield Correction("field", say(last), edits=last)
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
