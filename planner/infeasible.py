"""Why no plan exists: a minimal, confirmed set of rules with places and numbers, and what would allow a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from models.faults import Fault, FaultError
from models.graph import Buffer, Problem
from models.hardware import Hardware
from models.presets.load import load_hardware
from planner import corrections
from planner.build import Built, build
from planner.choices import Choices
from planner.corrections import Correction
from planner.options import PlanOptions, Request
from planner.readers.source import KernelSource
from planner.readers.yaml_kernel import read_kernel
from solver import Guard, Options
from solver.explain import Core, explain
from solver.guards import CHOICE_RULE
from solver.narrow import narrow

ROOM_RULES = {"vrf_capacity": "vrf", "dm_capacity": "dm", "region_overlap": "trf", "region_out_of_bounds": "trf"}
"""Rules that a larger file could satisfy, and the file."""
UNITS = {"vrf": "bytes", "dm": "bytes", "trf": "rows"}


class InfeasibleError(FaultError):
    """No plan exists: the rules that together forbid one, and what would allow one.

    `minimal`: leaving any of the faults out allows a plan; `confirmed`: solved again with these rules alone.
    """

    def __init__(
        self, faults: Iterable[Fault], *, minimal: bool, confirmed: bool, corrections: tuple[Correction, ...]
    ) -> None:
        super().__init__(faults)
        self.minimal, self.confirmed, self.corrections = minimal, confirmed, corrections


def explained(path: str | Path, request: Request, error: FaultError, options: PlanOptions) -> FaultError:
    """The faults of a kernel that is refused before planning, with corrections where a choice or a size caused them."""
    if not any(f.rule in corrections.CORRECTABLE for f in error.faults):
        return error
    try:
        source = read_kernel(path, axes=request.axes)
        hardware = load_hardware(source.kernel.hardware, request.settings)
    except FaultError:
        return error
    by_hand = _by_hand(source, hardware, request)
    blamed = corrections.Blamed(
        bases=tuple(dict.fromkeys(f.op for f in error.faults if f.op)),
        tensors=_written(source, error.faults),
        files=tuple(dict.fromkeys(_file_of(f) for f in error.faults if f.rule in corrections.TOO_LARGE)),
        choices=by_hand,
    )
    found = corrections.find(source, hardware, request, options, blamed) if options.corrections else ()
    faults = (*error.faults, *(_choice_fault(c) for c in by_hand))
    return InfeasibleError(faults, minimal=True, confirmed=True, corrections=found)


def why_not(source: KernelSource, hardware: Hardware, request: Request, options: PlanOptions) -> InfeasibleError:
    """The reason why a legal kernel has no plan."""
    limits = Options(options.time_limit_seconds, options.workers, options.seed)
    built, fixed, forbidden = _bare(source, hardware, request)
    core = explain(built.problem, limits, fixed=fixed, forbidden=forbidden) or Core((), minimal=False, confirmed=False)
    room = Room(source, hardware, request, options)
    built.problem = narrow(built.problem, fixed, forbidden)
    faults = tuple(_faults(core.guards, built, source, room))
    if not faults:
        message = "no plan exists; no set of rules was found that explains it within the limit"
        faults = (Fault(rule="infeasible", file=source.positions.file, message=message),)
    by_hand = {f"`{o}.{f}` is fixed to {v}": (f"{o}.{f}", v) for (o, f), v in fixed.items()}
    by_hand |= {f"`{o}.{f}` must not be {v}": (f"{o}.{f}", v) for o, f, v in forbidden}
    choices = tuple(by_hand[g.message] for g in core.guards if g.rule == CHOICE_RULE)
    blamed = _blamed(core, built, room, choices)
    found = corrections.find(source, hardware, request, options, blamed) if options.corrections else ()
    return InfeasibleError(faults, minimal=core.minimal, confirmed=core.confirmed, corrections=found)


@dataclass(slots=True)
class Room:
    """How much of a file a plan would take: found by solving again, once per file."""

    source: KernelSource
    hardware: Hardware
    request: Request
    options: PlanOptions
    least: dict[str, int | None] = field(default_factory=dict)

    def needed(self, file: str) -> int | None:
        """The least capacity (bytes, or rows per bank) with which a plan exists; None when none helps."""
        if not self.options.corrections:
            return None
        if file not in self.least:
            self.least[file] = corrections.least_room(self.source, self.hardware, self.request, self.options, file)
        return self.least[file]


# Choices by hand ------------------------------------------------------------------------------------------


def _bare(
    source: KernelSource, hardware: Hardware, request: Request
) -> tuple[Built, dict[tuple[str, str], str], list[tuple[str, str, str]]]:
    """The problem without the choices made by hand, and these apart, so that each can be blamed on its own.

    Numbers of places stay in the problem, and so do choices that no mode has in these words.
    """
    known = _values(build(source, hardware, Choices()).problem)
    fixed = {_split(p): v for p, v in request.fixed.items() if (p, v) in known}
    forbidden = [(*_split(p), v) for p, v in request.forbidden if (p, v) in known]
    kept = Choices(
        {p: v for p, v in request.fixed.items() if (p, v) not in known},
        tuple(c for c in request.forbidden if c not in known),
    )
    built = build(source, hardware, kept)
    operations = tuple(replace(o, modes=(*o.modes, *o.dominated)) for o in built.problem.operations)
    built.problem = replace(built.problem, operations=operations)
    return built, fixed, forbidden


def _values(problem: Problem) -> set[tuple[str, str]]:
    found = {
        (f"{o.base}.{f}", v)
        for o in problem.operations
        for m in (*o.modes, *o.dominated)
        for f, v in m.decisions.items()
    }
    for b in problem.buffers:
        names = {b.tensor, *(w.partition("[")[0] for w in b.writers)}
        found |= {(f"{n}.region", r) for n in names for r in b.regions}
    return found


def _split(path: str) -> tuple[str, str]:
    name, _, key = path.rpartition(".")
    return name, key


def _by_hand(source: KernelSource, hardware: Hardware, request: Request) -> tuple[tuple[str, str], ...]:
    """A minimal set of choices by hand that makes the kernel faulty; empty when it is faulty without any."""
    asked = [*request.fixed.items(), *request.forbidden]

    def faulty(choices: list[tuple[str, str]]) -> bool:
        fixed = {p: v for p, v in request.fixed.items() if (p, v) in choices}
        forbidden = tuple(c for c in request.forbidden if c in choices)
        try:
            build(source, hardware, Choices(fixed, forbidden))
        except FaultError:
            return True
        return False

    if not asked or faulty([]):
        return ()
    kept = list(asked)
    for choice in asked:
        rest = [c for c in kept if c != choice]
        kept = rest if faulty(rest) else kept
    return tuple(kept)


def _choice_fault(choice: tuple[str, str]) -> Fault:
    path, value = choice
    return Fault(rule=CHOICE_RULE, op=_split(path)[0], found=value, message=f"`{path}` is fixed or forbidden: {value}")


# Faults ---------------------------------------------------------------------------------------------------


def _faults(guards: tuple[Guard, ...], built: Built, source: KernelSource, room: Room) -> Iterator[Fault]:
    """Rules of room: one fault for all places of a rule; the others one each."""
    for rule in ROOM_RULES:
        mine = [g for g in guards if g.rule == rule]
        if mine:
            yield _room_fault(rule, mine, built, source, room)
    for guard in guards:
        if guard.rule not in ROOM_RULES:
            yield _plain_fault(guard, built, source)


def _room_fault(rule: str, guards: list[Guard], built: Built, source: KernelSource, room: Room) -> Fault:
    file = ROOM_RULES[rule]
    buffers = _buffers(guards, built.problem)
    need, have = _numbers(rule, guards, buffers, built.problem.hardware, room)
    names = ", ".join(f"`{b.name}` ({_words(b, file)})" for b in buffers)
    together = "are alive together and need" if len(buffers) > 1 else "needs"
    where = f"{UNITS[file]} of {file.upper()}" if rule != "region_out_of_bounds" else "rows of its address mode"
    message = f"{names} {together} {need:,} {where}, there are {have:,}: {need - have:,} too many"
    if rule == "region_overlap" and any(b.regions == ("full",) for b in buffers):
        message += "; no size of the file helps while Full takes all of it"
    op = next((w.partition("[")[0] for b in buffers for w in b.writers), "")
    line, column = source.positions.position(built.paths.get(op, ()))
    return Fault(
        rule=rule,
        file=source.positions.file,
        line=line,
        column=column,
        op=op,
        found=f"{need} {UNITS[file]}",
        wanted=f"at most {have} {UNITS[file]}",
        message=message,
    )


def _numbers(rule: str, guards: list[Guard], buffers: list[Buffer], hardware: Hardware, room: Room) -> tuple[int, int]:
    """What is needed and what there is: of an address mode, or of the whole file."""
    if rule == "region_out_of_bounds":
        return max((g.need or 0, g.have or 0) for g in guards)
    file = ROOM_RULES[rule]
    have = _capacity(hardware, file)
    needed = room.needed(file)
    if needed is not None:
        return needed, have
    return (least_rows(buffers, have) if file == "trf" else sum(b.bytes for b in buffers)), have


def least_rows(buffers: list[Buffer], have: int) -> int:
    """Rows per bank with which tensors that are alive together fit, each in a half, first fit; with Full the sum."""
    taken = [have if b.regions == ("full",) else b.rows for b in buffers]
    if any(b.regions == ("full",) for b in buffers):
        return sum(taken)
    half = max(taken)
    while not _in_halves(buffers, half):
        half += 1
    return max(2 * half, have + 2)


def _in_halves(buffers: list[Buffer], half: int) -> bool:
    left = {"first_half": half, "second_half": half}
    for b in sorted(buffers, key=lambda b: (len(b.regions), -b.rows)):
        mine = [r for r in left if r in b.regions or b.regions == ()]
        fits = next((r for r in mine or left if left[r] >= b.rows), None)
        if fits is None:
            return False
        left[fits] -= b.rows
    return True


def _words(buffer: Buffer, file: str) -> str:
    if file == "trf":
        only = f" {buffer.regions[0]}," if len(buffer.regions) == 1 else ""
        return f"{only.strip()} {buffer.rows:,} rows".strip()
    return f"{buffer.bytes:,} bytes"


def _plain_fault(guard: Guard, built: Built, source: KernelSource) -> Fault:
    # The later operation is where the order is written down.
    op = guard.ops[-1].partition("[")[0] if guard.ops else ""
    line, column = source.positions.position(built.paths.get(op, ()))
    return Fault(
        rule=guard.rule,
        file=source.positions.file,
        line=line,
        column=column,
        op=op,
        found=str(guard.need) if guard.need is not None else "",
        wanted=f"at most {guard.have}" if guard.have is not None else "",
        message=guard.message,
    )


def _buffers(guards: Iterable[Guard], problem: Problem) -> list[Buffer]:
    by_name = {b.name: b for b in problem.buffers}
    return [by_name[name] for name in dict.fromkeys(n for g in guards for n in g.buffers)]


def _capacity(hardware: Hardware, file: str) -> int:
    return hardware.trf.rows_per_bank if file == "trf" else int(getattr(hardware, file).bytes_per_slice)


# What may be corrected ------------------------------------------------------------------------------------


def _blamed(core: Core, built: Built, room: Room, choices: tuple[tuple[str, str], ...]) -> corrections.Blamed:
    buffers = _buffers(core.guards, built.problem)
    ops = [o for g in core.guards for o in g.ops] + [w for b in buffers for w in b.writers]
    files = {ROOM_RULES[g.rule]: room.needed(ROOM_RULES[g.rule]) for g in core.guards if g.rule in ROOM_RULES}
    return corrections.Blamed(
        bases=tuple(dict.fromkeys(o.partition("[")[0] for o in ops)),
        tensors=tuple(dict.fromkeys(b.tensor for b in buffers)),
        files=tuple(files),
        choices=choices,
        least={f: n for f, n in files.items() if n is not None},
    )


def _written(source: KernelSource, faults: Iterable[Fault]) -> tuple[str, ...]:
    names = {f.op for f in faults}
    return tuple(tensor for base, tensor in corrections.written_tensors(source.kernel) if base in names)


def _file_of(fault: Fault) -> str:
    return {"to_trf": "trf", "to_vrf": "vrf"}.get(fault.step, "dm")
