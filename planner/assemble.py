"""From the solver's solution to the plan: operations with times and decisions, memory with lifetimes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from models.graph import RESOURCES, Buffer, Mode, Operation, Problem
from models.plan import Alternative, Decision, MemoryEntry, PlannedOp, Stage
from solver import Solution

Priced = Mapping[tuple[str, str], tuple[Alternative, ...]]
"""What other values of a choice cost, by (operation of the kernel file, field)."""


def planned_ops(problem: Problem, solution: Solution, priced: Priced) -> tuple[PlannedOp, ...]:
    """Operations and bitmap loads in order of their start."""
    uses = _uses(problem, solution)
    regions = _regions(problem, solution)
    ops = [
        _planned(op, _mode(op, solution), solution.starts[op.name], uses[op.name], regions.get(op.name, {}), priced)
        for op in problem.operations
        if op.name in solution.modes
    ]
    ops += [
        PlannedOp(
            name=f"{load.op}.bitmap",
            base=f"{load.op.partition('[')[0]}.bitmap",
            kind="bitmap_load",
            contexts=("sub", "dma"),
            start=load.start,
            end=load.end,
            cycles=load.end - load.start,
            bitmap=load.bitmap,
        )
        for load in solution.loads
    ]
    return tuple(sorted(ops, key=lambda o: (o.start, o.end, o.name)))


def memory(problem: Problem, solution: Solution) -> tuple[MemoryEntry, ...]:
    """Every instance with its place and lifetime; a relabelled tensor lives where and while its origin lives."""
    lives = lifetimes(problem, solution)
    return tuple(_entry(b, problem, solution, lives) for b in problem.buffers if b.name in lives)


def lifetimes(problem: Problem, solution: Solution) -> dict[str, tuple[int, int]]:
    """From the start of the first writer to the end of the last user, by the buffer that owns the place."""
    users: dict[str, list[str]] = defaultdict(list)
    writers: dict[str, list[str]] = defaultdict(list)
    reads = _reads(problem, solution)
    for b in problem.buffers:
        root = _root(b, problem)
        readers = [r for r in b.readers if _touches(reads, r, b)]
        users[root.name] += [o for o in (*b.writers, *readers) if o in solution.modes]
        writers[root.name] += [o for o in b.writers if o in solution.modes]
    ends = {
        o.name: solution.starts[o.name] + _mode(o, solution).cycles
        for o in problem.operations
        if o.name in solution.modes
    }
    roots = {
        name: (min(solution.starts[w] for w in writers[name]), max(ends[u] for u in ops))
        for name, ops in users.items()
        if writers[name]
    }
    return {b.name: roots[_root(b, problem).name] for b in problem.buffers if _root(b, problem).name in roots}


def programs(problem: Problem, solution: Solution) -> dict[str, tuple[Stage, ...]]:
    """The stages of every mode that the plan uses."""
    used = {_mode(op, solution).program for op in problem.operations if op.name in solution.modes}
    return {key: problem.programs[key] for key in sorted(used)}


def places_in_use(problem: Problem, solution: Solution, tensor: str) -> int:
    """How many instances of a tensor are alive at the same time, at most."""
    lives = lifetimes(problem, solution)
    spans = [lives[b.name] for b in problem.buffers if b.tensor == tensor and b.name in lives]
    return max((sum(s <= start < e for s, e in spans) for start, _ in spans), default=0)


def _mode(op: Operation, solution: Solution) -> Mode:
    return next(m for m in op.modes if m.id == solution.modes[op.name])


def _uses(problem: Problem, solution: Solution) -> dict[str, dict[str, str]]:
    uses: dict[str, dict[str, str]] = defaultdict(dict)
    reads = _reads(problem, solution)
    for b in problem.buffers:
        if b.shares:
            continue
        for op in (*b.writers, *(r for r in b.readers if _touches(reads, r, b))):
            uses[op][b.tensor] = b.name
    for b in problem.buffers:
        for op in b.readers if b.shares else ():
            uses[op][b.tensor] = b.name
    return uses


Reads = Mapping[str, frozenset[str]]
"""What a pass fetches in the mode in which it is done, for passes that fetch another tensor in another mode."""


def _reads(problem: Problem, solution: Solution) -> Reads:
    deciding = {o.requires[0] for o in problem.operations if o.requires}
    found: dict[str, frozenset[str]] = {}
    for op in problem.operations:
        if op.name in deciding and op.name in solution.modes:
            stages = problem.programs.get(_mode(op, solution).program, ())
            found[op.name] = frozenset(n for stage in stages for n in stage.settings.get("reads", ()))
    return found


def _touches(reads: Reads, op: str, buffer: Buffer) -> bool:
    """Whether an operation reads a buffer as it is done; what it fetches may depend on its mode."""
    return op not in reads or buffer.file != "dm" or buffer.tensor in reads[op]


def _regions(problem: Problem, solution: Solution) -> dict[str, dict[str, str]]:
    out: dict[str, dict[str, str]] = defaultdict(dict)
    for b in problem.buffers:
        if b.name in solution.regions and not b.shares:
            for writer in b.writers:
                out[writer]["region"] = solution.regions[b.name][0]
    return out


def _planned(
    op: Operation, mode: Mode, start: int, uses: dict[str, str], region: dict[str, str], priced: Priced
) -> PlannedOp:
    decisions = {
        field: Decision(chosen=value, alternatives=priced.get((op.base, field), ()))
        for field, value in (mode.decisions | region).items()
    }
    decisions |= {
        field: Decision(chosen=alternatives[0].value, alternatives=alternatives[1:])
        for (base, field), alternatives in priced.items()
        if base == op.base and field == "buffers"
    }
    return PlannedOp(
        name=op.name,
        base=op.base,
        kind=op.kind,
        contexts=tuple(r for r in RESOURCES if r in mode.holds),
        start=start,
        end=start + mode.cycles,
        cycles=mode.cycles,
        decisions=decisions,
        iteration=dict(op.iteration),
        program=mode.program,
        uses=uses,
        bitmap=mode.bitmap,
    )


def _entry(b: Buffer, problem: Problem, solution: Solution, lives: dict[str, tuple[int, int]]) -> MemoryEntry:
    root = _root(b, problem)
    region, row = solution.regions.get(root.name, (None, None))
    start, end = lives[b.name]
    return MemoryEntry(
        tensor=b.name,
        file=b.file,
        region=region,
        row=row,
        rows=b.rows if b.file == "trf" else None,
        address=solution.addresses.get(root.name),
        bytes=b.bytes,
        start=start,
        end=end,
        dtype=b.dtype,
        chip=b.chip,
        cluster=b.cluster,
        slice=b.slice,
        lane=b.lane,
        element=b.element,
        shares=b.shares,
    )


def _root(b: Buffer, problem: Problem) -> Buffer:
    by_name = {x.name: x for x in problem.buffers}
    while b.shares:
        b = by_name[b.shares]
    return b
