"""The variables of the schedule, behind look-ups: rules never reach around them.

A literal that is always true is None, so that nothing is created for operations without choices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ortools.sat.python import cp_model

from models.graph import Operation
from solver.guards import Guards, Literal
from solver.index import Index, Place
from solver.solution import Solution

Expr = int | cp_model.LinearExpr


@dataclass(frozen=True, slots=True)
class Window:
    """What is known before solving: earliest starts, cycles after each end, and the largest makespan of interest."""

    heads: Mapping[str, int]
    tails: Mapping[str, int]
    lower: int
    upper: int


@dataclass(frozen=True, slots=True)
class Task:
    """An operation in the model: times in cycles, and literals that say whether and how it is done."""

    op: Operation
    start: cp_model.IntVar
    size: Expr
    end: Expr
    present: Literal | None
    modes: Mapping[str, Literal | None]


@dataclass(frozen=True, slots=True)
class Life:
    """Times at which a place is taken and given back, and whether it exists."""

    birth: Expr
    death: Expr
    size: cp_model.IntVar
    present: Literal | None


class Variables:
    """Creates variables on demand and remembers how a known schedule would set them.

    `in_order`: all operations of alike iterations may be kept in order, not only one of them.
    """

    def __init__(
        self, model: cp_model.CpModel, index: Index, window: Window, guards: Guards, *, in_order: bool = True
    ) -> None:
        self.model = model
        self.index = index
        self.window = window
        self.guards = guards
        self.in_order = in_order
        self._known: list[tuple[cp_model.IntVar, Callable[[Solution], int | None]]] = []
        self._lives: dict[str, Life] = {}
        self._tasks: dict[str, Task] = {}
        self._holds: dict[tuple[str, frozenset[str]], Literal | None] = {}
        self._orders: dict[tuple[str, str], Literal] = {}
        self.regions: dict[tuple[str, str], Literal] = {}
        """By (TRF place, address mode): whether it is chosen."""
        self.rows: dict[tuple[str, str], Expr] = {}
        """By (TRF place, address mode): the first row when it is chosen."""
        self.loads: dict[str, Task] = {}
        """Optional bitmap loads by the pass they stand before."""
        for op in self._deciding_first():
            self._tasks[op.name] = self._task(op)

    @cached_property
    def makespan(self) -> cp_model.IntVar:
        """The makespan in cycles, from 0 to the end of the final sync."""
        var = self.model.new_int_var(self.window.lower, self.window.upper, "makespan")
        self.know(var, lambda s: s.makespan)
        return var

    @property
    def last_end(self) -> int:
        """No operation ends later."""
        return self.window.upper - self.index.hardware.kernel.final_sync_cycles

    def task(self, op: str) -> Task:
        """The variables of an operation."""
        return self._tasks[op]

    def tasks(self) -> tuple[Task, ...]:
        """All operations in program order."""
        return tuple(self._tasks[name] for name in self.index.ops)

    def know(self, var: cp_model.IntVar, value: Callable[[Solution], int | None]) -> None:
        """Remembers what value a variable takes in a known schedule."""
        self._known.append((var, value))

    def hint(self, solution: Solution) -> None:
        """Hints every variable, helpers too."""
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        for var, value in self._known:
            known = value(solution)
            if known is not None:
                self.model.add_hint(var, known)

    def any_of(self, task: Task, mode_ids: frozenset[str]) -> Literal | None:
        """Whether an operation is done in one of the modes; None when always."""
        chosen = [m for m in task.modes if m in mode_ids]
        if chosen and len(chosen) == len(task.modes):
            return task.present
        if len(chosen) == 1:
            return task.modes[chosen[0]]
        key = (task.op.name, frozenset(chosen))
        if key not in self._holds:
            literal = self.model.new_bool_var(f"{task.op.name} in {len(chosen)} modes")
            self.model.add(sum(lit for m in chosen if (lit := task.modes[m]) is not None) == literal)
            self.know(literal, lambda s: int(s.modes.get(task.op.name) in key[1]))
            self._holds[key] = literal
        return self._holds[key]

    def holding(self, task: Task, resource: str) -> tuple[bool, Literal | None]:
        """Whether some mode holds a resource, and the literal for it (None: always)."""
        ids = frozenset(m.id for m in task.op.modes if resource in m.holds)
        return bool(ids), self.any_of(task, ids) if ids else None

    def life(self, place: Place) -> Life:
        """When a place is taken: from the start of its first writer to the end of its last user."""
        if place.name not in self._lives:
            self._lives[place.name] = self._life(place)
        return self._lives[place.name]

    def before(self, first: str, second: str) -> Literal:
        """A literal that implies that the first place is given back before the second is taken."""
        key = (first, second)
        if key not in self._orders:
            literal = self.model.new_bool_var(f"{first} before {second}")
            by_name = {p.name: p for p in self.index.places}
            a, b = self.life(by_name[first]), self.life(by_name[second])
            when = [lit for lit in (literal, a.present, b.present) if lit is not None]
            self.model.add(a.death <= b.birth).only_enforce_if(when)
            self.know(literal, lambda s: int(death_of(self.index, s, by_name[first]) <= birth_of(s, by_name[second])))
            self._orders[key] = literal
        return self._orders[key]

    def _deciding_first(self) -> list[Operation]:
        """Operations so that one whose mode decides on another comes before it."""
        out: dict[str, Operation] = {}

        def visit(op: Operation) -> None:
            if op.requires is not None and op.requires[0] not in out:
                visit(self.index.ops[op.requires[0]])
            out[op.name] = op

        for op in self.index.ops.values():
            if op.name not in out:
                visit(op)
        return list(out.values())

    def _task(self, op: Operation) -> Task:
        present = self._presence(op)
        modes = self._modes(op, present)
        low = self.window.heads.get(op.name, self.index.hardware.kernel.first_start_cycles)
        sizes = sorted({m.cycles for m in op.modes}) or [0]
        high = max(self.last_end - self.window.tails.get(op.name, 0) - sizes[0], low)
        start = self.model.new_int_var(low, high, op.name)
        self.know(start, lambda s: s.starts.get(op.name))
        if len(sizes) == 1:
            return Task(op, start, sizes[0], start + sizes[0], present, modes)
        size = self.model.new_int_var_from_domain(cp_model.Domain.from_values(sizes), f"{op.name} cycles")
        for mode in op.modes:
            literal = modes[mode.id]
            if literal is not None:
                self.model.add(size == mode.cycles).only_enforce_if(literal)
        if present is None:
            self.model.add(size == sum(m.cycles * lit for m in op.modes if (lit := modes[m.id]) is not None))
        end = self.model.new_int_var(low + sizes[0], max(high + sizes[-1], low + sizes[0]), f"{op.name} end")
        self.model.add(end == start + size)
        self.know(size, lambda s: cycles_of(self.index, s, op.name))
        self.know(end, lambda s: end_of(self.index, s, op.name))
        return Task(op, start, size, end, present, modes)

    def _presence(self, op: Operation) -> Literal | None:
        if op.requires is None:
            return None
        parent, ids = op.requires
        return self.any_of(self._tasks[parent], ids & {m.id for m in self.index.ops[parent].modes})

    def _modes(self, op: Operation, present: Literal | None) -> dict[str, Literal | None]:
        if len(op.modes) == 1:
            return {op.modes[0].id: present}
        out: dict[str, Literal | None] = {}
        for mode in op.modes:
            out[mode.id] = literal = self.model.new_bool_var(f"{op.name} {mode.id}")
            self.know(literal, lambda s, m=mode: int(s.modes.get(op.name) == m.id))  # type: ignore[misc]
        self.model.add(sum(lit for lit in out.values() if lit is not None) == (1 if present is None else present))
        return out

    def _life(self, place: Place) -> Life:
        writers = [self._tasks[w] for w in place.writers]
        users = [self._tasks[u] for u in place.users]
        # An edge may be left out while explaining, so that no user is surely followed by another one.
        last = users if self.guards.on else _sinks(self.index, users)
        birth, death = self._birth(place, writers), self._death(place, last)
        size = self.model.new_int_var(0, self.window.upper, f"{place.name} life")
        self.know(size, lambda s: death_of(self.index, s, place) - birth_of(s, place))
        present = None
        if all(w.present is not None for w in writers):
            literals = [w.present for w in writers if w.present is not None]
            present = literals[0] if len(literals) == 1 else self._any(place, literals)
        self.model.add(size == death - birth).only_enforce_if([present] if present is not None else [])
        return Life(birth, death, size, present)

    def _any(self, place: Place, literals: list[Literal]) -> Literal:
        present = self.model.new_bool_var(f"{place.name} exists")
        self.model.add_max_equality(present, literals)
        self.know(present, lambda s: int(any(w in s.modes for w in place.writers)))
        return present

    def _birth(self, place: Place, writers: list[Task]) -> Expr:
        if len(writers) == 1:
            return writers[0].start
        birth = self.model.new_int_var(0, self.window.upper, f"{place.name} taken")
        self.know(birth, lambda s: birth_of(s, place))
        for task in writers:
            self.model.add(birth <= task.start).only_enforce_if([task.present] if task.present is not None else [])
        return birth

    def _death(self, place: Place, users: list[Task]) -> Expr:
        if len(users) == 1 and users[0].present is None:
            return users[0].end
        death = self.model.new_int_var(0, self.window.upper, f"{place.name} given back")
        self.know(death, lambda s: death_of(self.index, s, place))
        for task in users:
            self.model.add(death >= task.end).only_enforce_if([task.present] if task.present is not None else [])
        return death


def _sinks(index: Index, users: list[Task]) -> list[Task]:
    """Users that are not surely followed by another user: the last of them ends the life."""
    names = {u.op.name for u in users}
    out = [
        u
        for u in users
        if not any(e.after in names and index.ops[e.after].requires is None for e in index.after[u.op.name])
    ]
    return out or users


def cycles_of(index: Index, solution: Solution, op: str) -> int | None:
    """Cycles of an operation in a known schedule, None where it is absent."""
    return index.mode(op, solution.modes[op]).cycles if op in solution.modes else None


def end_of(index: Index, solution: Solution, op: str) -> int | None:
    """End of an operation in a known schedule, None where it is absent."""
    cycles = cycles_of(index, solution, op)
    return None if cycles is None else solution.starts[op] + cycles


def birth_of(solution: Solution, place: Place) -> int:
    """When a place is taken in a known schedule; 0 where it is absent."""
    return min((solution.starts[w] for w in place.writers if w in solution.starts), default=0)


def death_of(index: Index, solution: Solution, place: Place) -> int:
    """When a place is given back in a known schedule; 0 where it is absent."""
    ends = [end for u in place.users if (end := end_of(index, solution, u)) is not None]
    return max(ends, default=0) if any(w in solution.starts for w in place.writers) else 0
