"""Two plans side by side: decisions, order, cycles by resource, and what of the difference each part explains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

from pydantic import BaseModel, ConfigDict

from models.graph import RESOURCES
from models.hardware import Hardware
from models.plan import Plan, Status
from planner.whatif_rows import FILES, busy, cycles_of, decisions_of, peak

MOST_SWAPS = 50
MOST_ORDERED = 2_000
"""Operations per resource up to which every pair's order is compared; beyond, neighbours only."""
FRAME = "start-up and final sync"


class Change(BaseModel):
    """A value that differs: `before` in the first plan, `after` in the second, empty where it is absent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    before: str
    after: str


class Swap(BaseModel):
    """Two operations that hold the same resource, in another order: `first` came first in the first plan."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    resource: str
    first: str
    second: str


class Part(BaseModel):
    """Cycles of the chain that go to one operation (`waits`: to waiting before it) in both plans.

    `because`: changed decisions and inputs that bear on it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    before: int
    after: int
    because: tuple[str, ...] = ()

    @property
    def cycles(self) -> int:
        """Cycles more in the second plan."""
        return self.after - self.before


class Alone(BaseModel):
    """What one difference does to the first plan by itself, from a solve of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    makespan_cycles: int | None
    status: Status
    reason: str = ""


class Diff(BaseModel):
    """What differs between two plans.

    The cycles of `parts` add up to the difference of the makespans exactly; `alone` holds each difference by itself.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    makespan: tuple[int | None, int | None]
    bound: tuple[int | None, int | None]
    inputs: tuple[Change, ...]
    decisions: tuple[Change, ...]
    order: tuple[Swap, ...]
    busy: dict[str, tuple[int, int]]
    idle: dict[str, tuple[int, int]]
    peak_bytes: dict[str, tuple[int, int]]
    parts: tuple[Part, ...]
    missing: tuple[Change, ...] = ()
    alone: tuple[Alone, ...] = ()

    @property
    def same(self) -> bool:
        """Nothing differs but how the plans were found."""
        told = (self.inputs, self.decisions, self.order, self.parts, self.missing)
        return not any(told) and self.makespan[0] == self.makespan[1]

    def document(self) -> dict[str, Any]:
        """As JSON."""
        parts = [p.model_dump() | {"cycles": p.cycles} for p in self.parts]
        return {"same": self.same, **self.model_dump(), "parts": parts, "explained_by": list(self.explained_by)}

    @property
    def explained_by(self) -> tuple[str, ...]:
        """Decisions and inputs that bear on a part which differs, those of most cycles first."""
        ranked: dict[str, int] = defaultdict(int)
        for part in self.parts:
            for reason in part.because:
                ranked[reason] += abs(part.cycles)
        return tuple(sorted(ranked, key=lambda r: (-ranked[r], r)))


def diff(a: Plan, b: Plan) -> Diff:
    """Compares two plans of one kernel, or of two forms of it."""
    decisions = tuple(_changes(decisions_of(a), decisions_of(b)))
    inputs = tuple(_changes(_inputs(a), _inputs(b)))
    return Diff(
        makespan=(a.makespan_cycles, b.makespan_cycles),
        bound=(a.lower_bound_cycles, b.lower_bound_cycles),
        inputs=inputs,
        decisions=decisions,
        order=tuple(_swaps(a, b)),
        busy={r: (busy(a)[r], busy(b)[r]) for r in RESOURCES},
        idle={r: (_idle(a, r), _idle(b, r)) for r in RESOURCES},
        peak_bytes={f: (peak(a.memory, (f,)), peak(b.memory, (f,))) for f in FILES},
        parts=tuple(_parts(a, b, decisions, inputs)),
        missing=tuple(_changes(_names(a), _names(b))),
    )


def _changes(before: dict[str, str], after: dict[str, str]) -> Iterator[Change]:
    for what in {**before, **after}:
        if before.get(what) != after.get(what):
            yield Change(what=what, before=before.get(what, ""), after=after.get(what, ""))


def _inputs(plan: Plan) -> dict[str, str]:
    """Axes, hardware numbers and sources: what the plans were made from."""
    out = {f"axis {name}": str(size) for name, size in plan.kernel.axes.items()}
    out |= {f"hardware.{path}": value for path, value in numbers(plan.hardware)}
    return out | {"kernel": plan.kernel.kernel, "kernel file": ", ".join(s.sha256[:12] for s in plan.sources)}


def numbers(hardware: Hardware) -> Iterator[tuple[str, str]]:
    """Every number of a chip by its dotted path."""
    for group, values in hardware.model_dump(exclude={"provenance", "name"}).items():
        yield from ((f"{group}.{leaf}", str(value)) for leaf, value in values.items())


def _names(plan: Plan) -> dict[str, str]:
    return {o.name: "done" for o in plan.ops}


def _idle(plan: Plan, resource: str) -> int:
    return (plan.makespan_cycles or 0) - busy(plan)[resource]


def _swaps(a: Plan, b: Plan) -> Iterator[Swap]:
    count = 0
    for resource in RESOURCES:
        place = {o.name: i for i, o in enumerate(o for o in b.ops if resource in o.contexts)}
        names = [o.name for o in a.ops if resource in o.contexts and o.name in place]
        pairs = combinations(names, 2) if len(names) <= MOST_ORDERED else pairwise(names)
        for first, second in pairs:
            if place[first] > place[second]:
                count += 1
                if count <= MOST_SWAPS:
                    yield Swap(resource=resource, first=first, second=second)


# What explains the difference -----------------------------------------------------------------------------


def _parts(a: Plan, b: Plan, decisions: tuple[Change, ...], inputs: tuple[Change, ...]) -> Iterator[Part]:
    before, after = _chain_cycles(a), _chain_cycles(b)
    changed = {name for name in {**cycles_of(a), **cycles_of(b)} if cycles_of(a).get(name) != cycles_of(b).get(name)}
    whats = sorted({**before, **after}, key=lambda w: (-abs(after.get(w, 0) - before.get(w, 0)), w))
    for what in whats:
        x, y = before.get(what, 0), after.get(what, 0)
        if x != y:
            because = tuple(_because(what, changed, decisions, inputs))
            yield Part(what=what, before=x, after=y, because=because)


def _chain_cycles(plan: Plan) -> dict[str, int]:
    """The makespan in parts: operations of the chain by their names in the file, waits, and the frame."""
    out: dict[str, int] = defaultdict(int)
    ops = {o.name: o for o in plan.ops}
    for link in plan.chain:
        base = ops[link.op].base
        out[base] += link.end - link.start
        if link.wait_cycles:
            out[f"wait of {base} for {link.why}"] += link.wait_cycles
    out[FRAME] = (plan.makespan_cycles or 0) - sum(out.values())
    return dict(out)


def _because(what: str, changed: set[str], decisions: tuple[Change, ...], inputs: tuple[Change, ...]) -> Iterator[str]:
    """Decisions of the operation; those of the others where it merely left or joined the chain; else the inputs."""
    base = what.removeprefix("wait of ").partition(" for ")[0]
    own = [d for d in decisions if d.what.partition(".")[0] == base]
    told = own or ([] if base in changed else list(decisions))
    yield from (f"{d.what}: {d.before or 'none'} -> {d.after or 'none'}" for d in told)
    if not own and (base in changed or what == FRAME or not told):
        # Not the file's name: it differs whenever anything in it does.
        yield from (f"{i.what}: {i.before} -> {i.after}" for i in inputs if i.what != "kernel file")
