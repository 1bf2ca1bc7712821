"""Every rule of the solver once more, in plain Python: what a solution breaks, naming the pair.

Written from the rules' sentences, not from the model, so that the two can disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from models.graph import DMA, MAIN, REGION_ROWS, SUB, VECTOR, Buffer, Mode, Problem
from solver.solution import Solution

_Span = tuple[int, int, str]
"""Start, end, name."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule with the offending names in the message."""

    rule: str
    message: str


def validate(problem: Problem, solution: Solution) -> tuple[Violation, ...]:
    """Everything that a solution breaks; empty when it is a plan."""
    facts = _Facts(problem, solution)
    out = list(_choices(facts))
    if out:
        return tuple(out)
    for check in _CHECKS:
        out += check(facts)
    return tuple(out)


class _Facts:
    def __init__(self, problem: Problem, solution: Solution) -> None:
        self.problem = problem
        self.solution = solution
        self.modes: dict[str, Mode] = {
            o.name: m for o in problem.operations for m in o.modes if solution.modes.get(o.name) == m.id
        }
        self.start = solution.starts
        self.end = {n: self.start[n] + m.cycles for n, m in self.modes.items() if n in self.start}

        self._by_name = {b.name: b for b in problem.buffers}
        self.sizes: dict[str, tuple[int, int]] = {}
        """Rows and bytes of every place: the largest of what relabels it."""
        for b in problem.buffers:
            rows, size = self.sizes.get(self.root(b).name, (0, 0))
            self.sizes[self.root(b).name] = max(rows, b.rows), max(size, b.bytes)

    def root(self, buffer: Buffer) -> Buffer:
        """The buffer that owns the place."""
        while buffer.shares:
            buffer = self._by_name[buffer.shares]
        return buffer

    def lives(self, file: str) -> dict[str, tuple[int, int, Buffer]]:
        """Birth, death and owner of every place of a memory."""
        births: dict[str, list[int]] = {}
        deaths: dict[str, list[int]] = {}
        roots: dict[str, Buffer] = {}
        for b in self.problem.buffers:
            root = self.root(b)
            if root.file != file:
                continue
            roots[root.name] = root
            births.setdefault(root.name, []).extend(self.start[w] for w in b.writers if w in self.modes)
            deaths.setdefault(root.name, []).extend(self.end[u] for u in (*b.writers, *b.readers) if u in self.modes)
        return {n: (min(births[n]), max(deaths[n]), roots[n]) for n in roots if births[n]}


def _choices(f: _Facts) -> Iterator[Violation]:
    for op in f.problem.operations:
        wanted = op.requires is None or f.solution.modes.get(op.requires[0]) in op.requires[1]
        if wanted and (op.name not in f.modes or op.name not in f.start):
            yield Violation("operation_missing", f"`{op.name}` has no mode or no start")
        if not wanted and (op.name in f.start or op.name in f.solution.modes):
            yield Violation("operation_missing", f"`{op.name}` is done though what it belongs to is not")


def _resources(f: _Facts) -> Iterator[Violation]:
    for resource, rule in (
        (MAIN, "context_overlap"),
        (SUB, "context_overlap"),
        (DMA, "context_overlap"),
        (VECTOR, "vector_engine_overlap"),
    ):
        spans = [(f.start[n], f.end[n], n) for n, m in f.modes.items() if resource in m.holds]
        if resource in (SUB, DMA):
            spans += [(load.start, load.end, f"the bitmap load of {load.op}") for load in f.solution.loads]
        for a, b in _meeting(sorted(spans)):
            yield Violation(rule, f"{a[2]} ({a[0]}-{a[1]}) and {b[2]} ({b[0]}-{b[1]}) both hold {resource}")


def _edges(f: _Facts) -> Iterator[Violation]:
    rules = {"war": "data_hazard_war", "waw": "data_hazard_waw", "fence": "fence_missing", "order": "starts_too_early"}
    for e in f.problem.edges:
        if e.before in f.modes and e.after in f.modes and f.end[e.before] + e.lag_cycles > f.start[e.after]:
            rule = "fence_missing" if e.reason == "raw" and e.lag_cycles else rules.get(e.reason, "data_hazard_raw")
            yield Violation(
                rule,
                f"{e.after} starts at {f.start[e.after]}, before {e.before} ends at {f.end[e.before]} + {e.lag_cycles}",
            )


def _frame(f: _Facts) -> Iterator[Violation]:
    kernel = f.problem.hardware.kernel
    for name in f.modes:
        if f.start[name] < kernel.first_start_cycles:
            yield Violation("starts_too_early", f"{name} starts at {f.start[name]}, before {kernel.first_start_cycles}")
    for load in f.solution.loads:
        if load.start < kernel.first_start_cycles:
            yield Violation("starts_too_early", f"the bitmap load of {load.op} starts at {load.start}")
    last = max(f.end.values(), default=kernel.first_start_cycles) + kernel.final_sync_cycles
    if last != f.solution.makespan:
        yield Violation(
            "makespan_mismatch", f"the last operation and the sync end at {last}, not {f.solution.makespan}"
        )
    if f.solution.makespan is not None and f.solution.lower_bound > f.solution.makespan:
        yield Violation("bound_exceeds_makespan", f"{f.solution.lower_bound} is above {f.solution.makespan}")


def _bitmaps(f: _Facts) -> Iterator[Violation]:
    loads = sorted(f.solution.loads, key=lambda load: load.start)
    for load in loads:
        if load.end - load.start != f.problem.hardware.switch.bitmap_load_cycles:
            yield Violation(
                "bitmap_load_contexts", f"the bitmap load of {load.op} takes {load.end - load.start} cycles"
            )
    for name, mode in f.modes.items():
        if not mode.bitmap:
            continue
        earlier = [load for load in loads if load.start < f.end[name]]
        if not earlier or earlier[-1].bitmap != mode.bitmap or earlier[-1].end > f.start[name]:
            yield Violation("bitmap_load_missing", f"{name} needs {mode.bitmap}, which is not what the ring holds")


def _regions(f: _Facts) -> Iterator[Violation]:
    rows_per_bank = f.problem.hardware.trf.rows_per_bank
    taken: list[tuple[int, int, str]] = []
    rows_of: dict[str, tuple[int, int]] = {}
    for name, (birth, death, buffer) in f.lives("trf").items():
        region, row = f.solution.regions.get(name, ("", -1))
        if region not in buffer.regions:
            yield Violation(
                "region_out_of_bounds", f"{name} is in {region or 'no region'}, not one of {buffer.regions}"
            )
            continue
        low, high = (half * rows_per_bank // 2 for half in REGION_ROWS[region])
        rows = f.sizes[name][0]
        if row < low or row + rows > high:
            yield Violation(
                "region_out_of_bounds", f"{name} takes rows {row} to {row + rows} of {region} ({low}-{high})"
            )
        first, last = (low, high) if region == "full" else (row, row + rows)
        rows_of[name] = first, last
        taken.append((birth, death, name))
    for (_, _, a), (_, _, b) in _meeting(sorted(taken)):
        if rows_of[a][0] < rows_of[b][1] and rows_of[b][0] < rows_of[a][1]:
            yield Violation("region_overlap", f"{a} and {b} share rows while both are alive")


def _memories(f: _Facts) -> Iterator[Violation]:
    for file, rule, room, unit in (
        ("dm", "dm_capacity", f.problem.hardware.dm.bytes_per_slice, f.problem.hardware.dm.alignment_bytes),
        ("vrf", "vrf_capacity", f.problem.hardware.vrf.bytes_per_slice, f.problem.hardware.vrf.alignment_bytes),
    ):
        lives = f.lives(file)
        sizes = {n: f.sizes[n][1] for n in lives}
        for alive in _alive(lives):
            if sum(sizes[n] for n in alive) > room:
                yield Violation(rule, f"{', '.join(alive)} need {sum(sizes[n] for n in alive)} of {room} bytes")
        yield from _addresses(f, lives, sizes, room, unit)


def _addresses(
    f: _Facts, lives: dict[str, tuple[int, int, Buffer]], sizes: dict[str, int], room: int, unit: int
) -> Iterator[Violation]:
    at = f.solution.addresses
    for name, (_, _, buffer) in lives.items():
        address = at.get(name, -1)
        if address < 0 or address % unit or address + sizes[name] > room:
            yield Violation("address_alignment", f"{name} lies at {address}: units of {unit}, {room} bytes")
        if buffer.fixed_address is not None and address != buffer.fixed_address:
            yield Violation("address_overlap", f"{name} lies at {address}, not at {buffer.fixed_address}")
    for (_, _, a), (_, _, b) in _meeting(sorted((birth, death, name) for name, (birth, death, _) in lives.items())):
        if at.get(a, 0) < at.get(b, 0) + sizes[b] and at.get(b, 0) < at.get(a, 0) + sizes[a]:
            yield Violation("address_overlap", f"{a} and {b} share bytes while both are alive")


def _meeting(spans: Iterable[_Span]) -> Iterator[tuple[_Span, _Span]]:
    """Pairs that meet in time, of spans in order of their starts."""
    open_: list[_Span] = []
    for span in spans:
        open_ = [other for other in open_ if other[1] > span[0]]
        yield from ((other, span) for other in open_ if span[1] > other[0])
        open_.append(span)


def _alive(lives: dict[str, tuple[int, int, Buffer]]) -> Iterator[list[str]]:
    """Who is alive each time that another one begins."""
    alive: list[str] = []
    for name in sorted(lives, key=lambda n: lives[n][0]):
        alive = [n for n in alive if lives[n][1] > lives[name][0]] + [name]
        yield alive


_CHECKS = (_resources, _edges, _frame, _bitmaps, _regions, _memories)
