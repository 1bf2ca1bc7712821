"""The ways to do one operation of a program, each with what it takes, those that nothing can be said for left out."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice

from models.factors import equivalent
from models.kernel import PassOp
from models.parse import parse
from planner.program.operations import Einsum, Node, Rows, Value
from planner.program.tree import Statement
from planner.search import bounds, rows, rows_bounds, rows_passes
from planner.search.contraction import Tiling, contraction_cycles, tilings
from planner.search.contraction_passes import Spread, fragment, place_of, results, spreads
from planner.search.fragment import Fragment, cheapest
from planner.search.laws import Laws, Place
from planner.search.moves import Move, moves
from planner.search.room import contraction_room, is_held, rows_room
from planner.search.rows import RowLayout
from planner.search.spec import Contraction, DmPlace, Named, bytes_of, contraction_of

_WISHFUL = frozenset({"vcg_not_expressible"})
"""Warnings of what the chip cannot do: an author may have reasons, a search has none."""


@dataclass(frozen=True, slots=True)
class Ending:
    """A way to store a result: as it lies, or behind a move."""

    store_cycles: int
    move: PassOp | None = None
    buffer: str = ""
    move_cycles: int = 0


@dataclass(frozen=True, slots=True)
class Option:
    """A fragment with its cycles: of loads by tensor (those in HBM alone), of passes, and the ways to store."""

    fragment: Fragment
    gives: DmPlace
    loads: dict[str, int]
    passes: tuple[int, ...]
    endings: tuple[Ending, ...] = ()

    @property
    def local_cycles(self) -> int:
        """All of it one after the other, the cheapest ending included."""
        ends = min((e.store_cycles + e.move_cycles for e in self.endings), default=0)
        return sum(self.loads.values()) + sum(self.passes) + ends

    @property
    def signature(self) -> tuple[object, ...]:
        """What others see of it: where it reads what is not in HBM, and where it leaves its result."""
        return (*(n for n in self.fragment.needs if n.tensor not in self.loads), self.fragment.gives)


@dataclass(slots=True)
class Finder:
    """Finds the options of a program's operations."""

    laws: Laws
    hbm: dict[str, Place]
    outputs: frozenset[str]
    most: int = 24
    most_asked: int = 320
    asked: int = 0
    refused: dict[str, int] = field(default_factory=dict)

    def options(self, node: Node) -> list[Option]:
        """The best options by their own cycles, one per signature; empty where no layout is legal."""
        found = self._einsum(node) if isinstance(node, Einsum) else self._rows(node)
        kept: dict[tuple[object, ...], Option] = {}
        for option in found:
            old = kept.get(option.signature)
            if old is None or option.local_cycles < old.local_cycles:
                kept[option.signature] = option
            if isinstance(node, Einsum) and len(kept) >= self.most:
                break
        return sorted(kept.values(), key=lambda o: o.local_cycles)

    # Rows -----------------------------------------------------------------------------------------------

    def _rows(self, node: Rows) -> Iterator[Option]:
        """Every layout that keeps a reduced axis whole, and the best of those that fold it over the ring."""
        every = rows.layouts(node, self.laws.axes, self.laws.hardware)
        found = [layout for layout in every if self.may_be(node, layout)]
        folded = sorted((layout for layout in found if layout.split), key=lambda o: self._row_floor(node, o))
        kept = 0
        for layout in (*(layout for layout in found if not layout.split), *folded):
            if kept >= self.most:
                break
            option = self.row_option(node, layout)
            if option is not None:
                kept += bool(layout.split)
                yield option

    def _row_floor(self, node: Rows, layout: RowLayout) -> int:
        stored = node.out.name in self.outputs
        return rows_bounds.floor_cycles(
            node, layout, self.laws.axes, self.laws.hardware, frozenset(self.hbm), stored=stored
        )

    def may_be(self, node: Rows, layout: RowLayout) -> bool:
        """Whether a layout has room and is the one that the file states, if it states one."""
        if not is_held(rows_room(node, layout, self.laws.hardware)):
            return False
        s = node.statement
        if s.cluster is None and s.slice is None and s.element is None:
            return True
        made = rows_passes.fragment(node, layout, self.laws.hardware)
        return made is not None and self._stated(s, made[1])

    def row_option(self, node: Rows, layout: RowLayout) -> Option | None:
        """A layout with its prices; None where it is not legal, or not the one that the file states."""
        made = rows_passes.fragment(node, layout, self.laws.hardware)
        if made is None:
            self._refuse_at_once()
            return None
        return self._judged(*made, node.out) if self._stated(node.statement, made[1]) else None

    def _judged(self, made: Fragment, gives: DmPlace, out: Value) -> Option | None:
        self.asked += 1
        loads: dict[str, int] = {}
        for need in made.needs:
            if need.tensor in self.hbm:
                outcome = self.laws.load(need.dtype, self.hbm[need.tensor], need.place)
                if not outcome.ok:
                    self._refuse(outcome.findings[0].rule)
                    return None
                loads[need.tensor] = outcome.steps
        verdicts = made.judged(self.laws)
        if verdicts is None:
            self._refuse("pass")
            return None
        if any(finding.rule in _WISHFUL for v in verdicts for _, finding in v.warnings):
            self._refuse(next(f.rule for v in verdicts for _, f in v.warnings if f.rule in _WISHFUL))
            return None
        cycles = tuple(cheapest(v) for v in verdicts)
        endings = tuple(self._endings(made, gives, out)) if out.name in self.outputs else ()
        if out.name in self.outputs and not endings:
            self._refuse("store")
            return None
        return Option(made, gives, loads, cycles, endings)

    def _refuse_at_once(self) -> None:
        self.asked += 1
        self._refuse("no whole packets or writes")

    def _refuse(self, rule: str) -> None:
        self.refused[rule] = self.refused.get(rule, 0) + 1

    def _endings(self, made: Fragment, gives: DmPlace, out: Value) -> Iterator[Ending]:
        target = self.hbm[out.name]
        direct = self.laws.store(out.dtype, gives.place(), target)
        least = None
        if direct.ok:
            least = direct.steps
            yield Ending(direct.steps)
        best: Ending | None = None
        for floor, move in self._moves(made, gives, out):
            if least is not None and floor >= least:
                break
            ending = self._moved(made, gives, out, move)
            if ending is not None and (least is None or _total(ending) < least):
                best, least = ending, _total(ending)
        if best is not None:
            yield best

    def _moves(self, made: Fragment, gives: DmPlace, out: Value) -> list[tuple[int, Move]]:
        """Moves with a lower bound of move and store, the lowest first."""
        hardware, named = self.laws.hardware, Named(out.name, out.dtype, out.axes)
        bits = bytes_of(out.dtype) * 8
        found = [
            (m.floor_cycles + bounds.store_floor(hardware, named, self.laws.axes, m.gives.element), m)
            for m in moves(hardware, bits, gives, out.axes, made.buffer, f"{out.name}_moved")
        ]
        return sorted(found, key=lambda f: f[0])

    def _moved(self, made: Fragment, gives: DmPlace, out: Value, move: Move) -> Ending | None:
        stored = self.laws.store(out.dtype, move.gives.place(), self.hbm[out.name])
        if not stored.ok:
            return None
        written = self.laws.layout(made.buffer, "dm", out.dtype, gives.place())
        verdict = self.laws.of_pass(move.op, {made.buffer: written})
        if not verdict.modes:
            return None
        return Ending(stored.steps, move.op, f"{out.name}_moved", cheapest(verdict))

    def _stated(self, statement: Statement, gives: DmPlace) -> bool:
        """Whether a layout is the one that the file states for the result."""
        place = gives.place()
        wanted = {"cluster": statement.cluster, "slice": statement.slice, "element": statement.element}
        return all(
            text is None or equivalent(parse(text, self.laws.axes), parse(getattr(place, level), self.laws.axes))
            for level, text in wanted.items()
        )

    # Contractions ---------------------------------------------------------------------------------------

    def _einsum(self, node: Einsum) -> Iterator[Option]:
        spec = contraction_of(node, self.laws.axes, self.hbm)
        hardware, tie = self.laws.hardware, count()
        found = (t for t in tilings(spec, hardware) if is_held(contraction_room(spec, t, hardware)))
        heap = [(self._floor(spec, t), next(tie), t) for t in found]
        heapq.heapify(heap)
        asked = 0
        while heap and asked < self.most_asked:
            _, _, tiling = heapq.heappop(heap)
            found_results = list(results(spec, tiling, hardware))
            if not found_results:
                self._refuse_at_once()
            for mode, gives in found_results:
                if not self._stated(node.statement, gives):
                    continue
                for pair in self._pairs(tiling):
                    asked += 1
                    made = fragment(spec, tiling, mode, pair, hardware)
                    option = self._judged(made, gives, node.out)
                    if option is not None:
                        yield option

    def _floor(self, spec: Contraction, tiling: Tiling) -> int:
        loads = [o for o in (tiling.held, tiling.stream) if o.name in self.hbm]
        total = contraction_cycles(self.laws.hardware, tiling)
        total += sum(bounds.load_floor(self.laws.hardware, tiling, o, spec.sizes) for o in loads)
        if spec.out.name in self.outputs:
            held = tiling.axis_tile(spec.out.axes)
            total += bounds.store_floor(self.laws.hardware, spec.out, spec.sizes, held)
        return total

    def _pairs(self, tiling: Tiling) -> Iterator[tuple[Spread, Spread]]:
        """For each operand the cheapest way to load it; of one that is computed, whole and widest spread."""
        held, stream = (self._ways(tiling, o) for o in (tiling.held, tiling.stream))
        yield from islice(((h, s) for h in held for s in stream), 4)

    def _ways(self, tiling: Tiling, operand: Named) -> list[Spread]:
        ways = list(spreads(tiling, operand, self.laws.hardware))
        if operand.name not in self.hbm:
            return ways if len(ways) <= 1 else [ways[-1], ways[0]]
        floor = bounds.hold_floor if operand is tiling.held else bounds.stream_floor
        priced: list[tuple[int, int, Spread]] = []
        for spread in ways:
            place = place_of(tiling, operand, spread).place()
            outcome = self.laws.load(operand.dtype, self.hbm[operand.name], place)
            if outcome.ok:
                priced.append((outcome.steps + floor(self.laws.hardware, tiling, spread), len(priced), spread))
        return [min(priced)[2]] if priced else []


def _total(ending: Ending) -> int:
    return ending.store_cycles + ending.move_cycles
