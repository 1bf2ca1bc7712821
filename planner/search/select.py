"""The choice over a whole program: one option per operation, so that the schedule of all is shortest.

Options, what it takes to bring a result from where it lies to where it is read, and the order on the contexts are one
CP-SAT model. Room in memories is left to the planner, which judges the kernel that is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from planner.search.laws import Laws, Place
from planner.search.options import Option

FREE, IMPOSSIBLE = 0, None


@dataclass(frozen=True, slots=True)
class Selected:
    """The option of each operation, the length of the schedule in the model, and a bound over these options."""

    options: dict[str, Option]
    cycles: int
    bound: int
    proved: bool


@dataclass(slots=True)
class Selection:
    """Chooses among options; `reads` names, per operation, the operations whose results it reads."""

    laws: Laws
    options: dict[str, list[Option]]
    model: cp_model.CpModel = field(default_factory=cp_model.CpModel)
    chosen: dict[str, list[cp_model.IntVar]] = field(default_factory=dict)
    ends: dict[str, cp_model.IntVar] = field(default_factory=dict)
    dma: list[cp_model.IntervalVar] = field(default_factory=list)
    main: list[cp_model.IntervalVar] = field(default_factory=list)
    horizon: int = 0

    def run(self, seconds: float, seed: int) -> Selected | None:
        """The best choice within a time; None where no choice is possible."""
        self.horizon = sum(max(o.local_cycles for o in found) for found in self.options.values())
        self.horizon += sum(self._most_copied(name) for name in self.options)
        done = self.model.new_int_var(0, self.horizon, "done")
        for name, found in self.options.items():
            self._operation(name, found, done)
        self.model.add_no_overlap(self.dma)
        self.model.add_no_overlap(self.main)
        self.model.minimize(done)
        solver = cp_model.CpSolver()
        solver.parameters.max_deterministic_time = seconds
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = seed
        status = solver.solve(self.model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        picked = {
            n: o
            for n, found in self.options.items()
            for o, v in zip(found, self.chosen[n], strict=True)
            if solver.value(v)
        }
        return Selected(
            picked, int(solver.objective_value), int(solver.best_objective_bound), status == cp_model.OPTIMAL
        )

    def _operation(self, name: str, found: list[Option], done: cp_model.IntVar) -> None:
        chosen = [self.model.new_bool_var(f"{name}={i}") for i in range(len(found))]
        self.model.add_exactly_one(chosen)
        for i, one in enumerate(chosen):
            # Options come by their own cycles: where nothing speaks against it, the first is right.
            self.model.add_hint(one, i == 0)
        self.chosen[name] = chosen
        ready = [self._interval(f"{name} loads", chosen, [sum(o.loads.values()) for o in found], self.dma, [])]
        ready += [self._copied(name, source) for source in self._sources(name)]
        passes = [sum(o.passes) for o in found]
        self.ends[name] = self._interval(f"{name} passes", chosen, passes, self.main, ready)
        moved = [
            min((e.move_cycles for e in o.endings if _is_best(e.store_cycles + e.move_cycles, o)), default=0)
            for o in found
        ]
        stored = [
            min((e.store_cycles for e in o.endings if _is_best(e.store_cycles + e.move_cycles, o)), default=0)
            for o in found
        ]
        after = self._interval(f"{name} move", chosen, moved, self.main, [self.ends[name]])
        last = self._interval(f"{name} store", chosen, stored, self.dma, [after])
        self.model.add(done >= last)

    def _interval(
        self,
        label: str,
        chosen: list[cp_model.IntVar],
        cycles: list[int],
        context: list[cp_model.IntervalVar],
        after: list[cp_model.IntVar],
    ) -> cp_model.IntVar:
        size = self.model.new_int_var(min(cycles), max(cycles), f"{label} cycles")
        self.model.add(size == sum(c * v for c, v in zip(cycles, chosen, strict=True)))
        return self._placed(label, size, context, after)

    def _placed(
        self, label: str, size: cp_model.IntVar, context: list[cp_model.IntervalVar], after: list[cp_model.IntVar]
    ) -> cp_model.IntVar:
        start, end = (self.model.new_int_var(0, self.horizon, f"{label} {what}") for what in ("start", "end"))
        context.append(self.model.new_interval_var(start, size, end, label))
        for before in after:
            self.model.add(start >= before)
        return end

    # Results that are read ------------------------------------------------------------------------------

    def _sources(self, name: str) -> list[str]:
        read = {n.tensor for o in self.options[name] for n in o.fragment.needs if n.tensor not in o.loads}
        return [other for other in self.options if other in read]

    def _most_copied(self, name: str) -> int:
        return sum(
            max((c for row in self._costs(s, name) for c in row if c is not None), default=0)
            for s in self._sources(name)
        )

    def _costs(self, source: str, name: str) -> list[list[int | None]]:
        return [[copied(self.laws, a, b, source) for b in self.options[name]] for a in self.options[source]]

    def _copied(self, name: str, source: str) -> cp_model.IntVar:
        """The transfer of a result: its cycles by the pair of options, none where both agree on the place."""
        costs = self._costs(source, name)
        terms = []
        for i, row in enumerate(costs):
            for j, cycles in enumerate(row):
                if cycles == FREE:
                    continue
                both = self.model.new_bool_var(f"{source}={i} {name}={j}")
                pair = (self.chosen[source][i], self.chosen[name][j])
                self.model.add_bool_or(both, *(~v for v in pair))
                if cycles is IMPOSSIBLE:
                    self.model.add(both == 0)
                else:
                    terms.append(cycles * both)
        most = max((c for row in costs for c in row if c is not None), default=0)
        size = self.model.new_int_var(0, most, f"{source} to {name} cycles")
        self.model.add(size >= (sum(terms) if terms else 0))
        return self._placed(f"{source} to {name}", size, self.dma, [self.ends[source]])


def copied(laws: Laws, producer: Option, consumer: Option, tensor: str) -> int | None:
    """What it takes to bring a result to where a consumer reads it; None where no transfer can."""
    place = needed(consumer, tensor)
    if place is None or place == producer.fragment.gives:
        return FREE
    outcome = laws.copy(producer.fragment.dtype, producer.fragment.gives, place)
    return outcome.steps if outcome.ok else IMPOSSIBLE


def needed(consumer: Option, tensor: str) -> Place | None:
    """Where an option reads a tensor."""
    return next((n.place for n in consumer.fragment.needs if n.tensor == tensor), None)


def _is_best(cycles: int, option: Option) -> bool:
    return cycles == min(e.store_cycles + e.move_cycles for e in option.endings)
