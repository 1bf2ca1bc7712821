"""From where a result lies to where it is read: nothing, a copy by the DMA engines, or one pass over the ring.

A pass fetches in the order of the source, moves digits of Slice by any kind of switch, changes Time and packet over
where the innermost digits differ, and commits in the order of the target.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from models.factors import equivalent
from models.graph import DMA, MAIN, SUB, Mode
from models.kernel import Collect, Commit, Fetch, PassOp, Step, Switch, SwitchConfig, Transpose
from models.layout import Stream
from models.mapping import ONE, Mapping
from models.parse import parse
from planner.engines import switch_cost, switch_moves
from planner.engines.shapes import elements_in
from planner.engines.switch_shapes import REGULAR
from planner.engines.switch_slots import lowered_input, lowered_output
from planner.passes import PassResult
from planner.program.operations import Value
from planner.search.laws import Laws, Place
from planner.search.moves import WRITE_BYTES, Move, moves
from planner.search.parts import Parts, joined, of_mapping, size_of, take_minor, without, written
from planner.search.spec import DmPlace, bytes_of, padded_text
from solver.layouts import Route, Work

SOURCE, TARGET = "source", "target"
"""The names of both ends in a way's pass."""
COPY = "copy"


@dataclass(frozen=True, slots=True)
class Way:
    """One way; without a pass it is a DMA copy or, with an empty name, nothing at all.

    A pass that was not judged yet has routes that no judgement is below.
    """

    name: str
    routes: tuple[Route, ...]
    op: PassOp | None = None
    judged: bool = True


Question = tuple[str, tuple[str, ...], Place, Place]
"""Element type and axes of a tensor, where it lies, where it is read."""


@dataclass(slots=True)
class Redistributions:
    """Answers, each question once, how a tensor gets from a place to another one."""

    laws: Laws
    known: dict[Question, tuple[Way, ...]] = field(default_factory=dict)
    gathers: dict[tuple[str, tuple[str, ...], Place], dict[Place, Move]] = field(default_factory=dict)

    def ways(self, value: Value, source: Place, target: Place) -> tuple[Way, ...]:
        """Every way as far as it is known, none where the target cannot be reached."""
        key = (value.dtype, value.axes, source, target)
        if key not in self.known:
            self.known[key] = tuple(self._ways(*key))
        return self.known[key]

    def judge(self, value: Value, source: Place, target: Place, name: str) -> bool:
        """Judges the pass of a way; False where it was judged already. An illegal one is no way any more."""
        key = (value.dtype, value.axes, source, target)
        way = next((w for w in self.ways(value, source, target) if w.name == name), None)
        if way is None:
            # Another tensor of this kind just took it, and it is illegal.
            return True
        if way.judged or way.op is None:
            return False
        found = self.laws.of_pass_or_pair(way.op, {SOURCE: self.laws.layout(SOURCE, "dm", value.dtype, source)})
        settled = (Way(name, routes_of(self.laws, name, found), way.op),) if found.modes else ()
        self.known[key] = tuple(k for w in self.known[key] for k in (settled if w is way else (w,)))
        return True

    def _ways(self, dtype: str, axes: tuple[str, ...], source: Place, target: Place) -> Iterator[Way]:
        if same(self.laws, source, target):
            yield Way("", (Route(""),))
            return
        copied = self.laws.copy(dtype, source, target)
        if copied.ok:
            yield Way(COPY, (Route(COPY, (Work(copied.steps, frozenset({DMA})),)),))
        ends = [_digits(self.laws, place) for place in (source, target)]
        if ends[0] is None or ends[1] is None or not _equal(self.laws, source.cluster, target.cluster):
            return
        passes = _Passes(self.laws, dtype, ends[0], ends[1]).every()
        for i, (op, least) in enumerate((*passes, *self._gathers(dtype, axes, source, ends[0], target))):
            routes = tuple(Route(f"pass {i}", (Work(least, frozenset({context})),)) for context in (MAIN, SUB))
            yield Way(f"pass {i}", routes, op, judged=False)

    def _gathers(
        self, dtype: str, axes: tuple[str, ...], place: Place, source: DmPlace, target: Place
    ) -> Iterator[tuple[PassOp, int]]:
        """The moves before a store lead to places that may be read as well."""
        if any(p.axis not in (None, *axes) for p in source.slice):
            return
        key = (dtype, axes, place)
        if key not in self.gathers:
            found = moves(self.laws.hardware, bytes_of(dtype) * 8, source, axes, SOURCE, TARGET)
            self.gathers[key] = {m.gives.place(): m for m in found}
        if target in self.gathers[key]:
            move = self.gathers[key][target]
            yield move.op, move.floor_cycles


def routes_of(laws: Laws, name: str, found: PassResult) -> tuple[Route, ...]:
    """The legal ways of a pass; those of a pair do the cheapest of the first pass before, and a bitmap is loaded."""
    load = (Work(laws.hardware.switch.bitmap_load_cycles, frozenset({SUB, DMA})),)

    def works(mode: Mode) -> tuple[Work, ...]:
        return (*_before(found, mode), *(load if mode.bitmap else ()), Work(mode.cycles, mode.holds))

    return tuple(Route(name, works(m)) for m in found.modes)


def _before(found: PassResult, mode: Mode) -> tuple[Work, ...]:
    if found.first is None or mode.id not in found.first.needed_by:
        return ()
    # On whichever context the first pass is free soonest, it takes no less than this.
    least = min(found.first.result.modes, key=lambda m: m.cycles)
    return (Work(least.cycles, frozenset()),)


def same(laws: Laws, source: Place, target: Place) -> bool:
    """Whether two places are one, however they are written."""
    return source == target or all(
        _equal(laws, getattr(source, level), getattr(target, level)) for level in ("cluster", "slice", "element")
    )


def _equal(laws: Laws, a: str, b: str) -> bool:
    return a == b or bool(equivalent(parse(a, laws.axes), parse(b, laws.axes)))


def _digits(laws: Laws, place: Place) -> DmPlace | None:
    found = [of_mapping(parse(t, laws.axes), laws.axes) for t in (place.cluster, place.slice, place.element)]
    return None if any(p is None for p in found) else DmPlace(*(p or () for p in found))


def anonymous(laws: Laws, place: Place, axes: tuple[str, ...]) -> Place:
    """The place with broadcasts over axes that the tensor lacks as bare sizes: what a relabelling can rename."""
    parts = [of_mapping(parse(t, laws.axes), laws.axes) for t in (place.cluster, place.slice)]
    if any(p is None for p in parts):
        return place
    cluster, slice_ = (_bare(p or (), axes) for p in parts)
    return Place(place.element, slice_, cluster)


def _bare(parts: Parts, axes: tuple[str, ...]) -> str:
    out: list[str] = []
    for part in joined(parts):
        # Padding of a broadcast axis is no broadcast.
        free = part.axis is not None and part.axis not in axes and part.whole == part.declared
        out.append(str(part.size) if free else str(part))
    return ", ".join(out) or "1"


@dataclass(frozen=True, slots=True)
class _Passes:
    """The passes between two places of one tensor."""

    laws: Laws
    dtype: str
    source: DmPlace
    target: DmPlace

    def every(self) -> Iterator[tuple[PassOp, int]]:
        """Every pass worth judging, with cycles that it takes at least."""
        packet = self._common()
        if packet is not None:
            time = without(self.source.element, packet)
            fetch = Fetch(time=written(time), packet=written(packet))
            for switch, least in self._switches(fetch):
                yield _pass(fetch, *switch, Collect(), self._commit()), least
        elif (changed := self._changed()) is not None:
            columns, group = changed
            time = without(self.source.element, (*columns, *group))
            fetch = Fetch(time=written((*time, *group)), packet=written(columns))
            for switch, least in self._switches(fetch, stays=True):
                left = (*time, *columns)
                turned = Transpose(time=written(left), packet=padded_text(group, self._elements(self._flit)))
                yield _pass(fetch, *switch, Collect(), turned, self._commit()), least

    @property
    def _flit(self) -> int:
        return self.laws.hardware.geometry.flit_bytes

    def _elements(self, size_bytes: int) -> int:
        return elements_in(self.dtype, size_bytes)

    def _commit(self) -> Commit:
        place = self.target.place()
        return Commit(write=TARGET, slice=place.slice, element=place.element)

    # Packets --------------------------------------------------------------------------------------------

    def _common(self) -> Parts | None:
        """The innermost digits of both, up to a flit and in whole writes."""
        size, least = self._elements(self._flit), self._elements(WRITE_BYTES)
        while size >= least:
            found = [take_minor(place.element, size) for place in (self.source, self.target)]
            if found[0] is not None and found[1] is not None and joined(found[0][1]) == joined(found[1][1]):
                return found[0][1]
            size //= 2
        return None

    def _changed(self) -> tuple[Parts, Parts] | None:
        """What is fetched as packets, and what the transpose engine makes packets of."""
        columns = take_minor(self.source.element, self.laws.hardware.contraction.out_columns)
        group = take_minor(self.target.element, self._elements(WRITE_BYTES))
        if columns is None or group is None or not size_of(group[1]):
            return None
        axes = [{p.axis for p in found[1]} for found in (columns, group)]
        held = {p.axis for p in self.source.element}
        return None if axes[0] & axes[1] or None in axes[1] or not axes[1] <= held else (columns[1], group[1])

    # The ring -------------------------------------------------------------------------------------------

    def _switches(self, fetch: Fetch, *, stays: bool = False) -> Iterator[tuple[tuple[Step, ...], int]]:
        """No switch where Slice stays; else every regular kind that feeds it or, where none does, any pair of passes.

        `stays`: Time has to leave as it came.
        """
        laws, place = self.laws, self.target.place()
        source, cluster = (parse(t, laws.axes) for t in (self.source.place().slice, self.source.place().cluster))
        wanted = parse(place.slice, laws.axes)
        time, packet = (parse(t, laws.axes) for t in (fetch.time, fetch.packet))
        base = laws.hardware.passes.commit_base_cycles
        if equivalent(source, wanted):
            yield (), base + time.size
        if source.size != wanted.size or equivalent(source, wanted):
            return
        stream = Stream(self.dtype, ONE, cluster, source, time, packet)
        kinds = [(kind, ring) for kind, ring in _kinds(stream, wanted) if kind == "Transpose" or not stays]
        for kind, ring in kinds:
            steps = switch_cost.pass_steps(laws.hardware, kind, ring, time.size, 1)
            step = Switch(slice=place.slice, config=SwitchConfig.model_validate({"kind": kind}))
            yield (step,), switch_cost.pass_cycles(laws.hardware, steps)
        if not kinds and not stays and self._permuted():
            yield (Switch(slice=place.slice),), base

    def _permuted(self) -> bool:
        """Whether Slice only exchanges digits with the element: what a pair of passes may do."""
        return all(p.axis is not None for place in (self.source, self.target) for p in joined(place.slice))


def _pass(*steps: Step) -> PassOp:
    return PassOp(name="move", read=SOURCE, steps=steps)


def _kinds(stream: Stream, wanted: Mapping) -> Iterator[tuple[str, int]]:
    """Kinds of switches that some parameters fit, with the smallest ring."""
    held, out = lowered_input(stream), lowered_output(stream, wanted, stream.time)
    numbered = switch_moves.numbers(held.slice, out.slice)
    bits = len(held.slice)
    cuts = [(k1, ring - k1) for ring in range(bits + 1) for k1 in range(ring + 1)]
    for kind in REGULAR[1:]:
        fitting = (
            k1 + k0
            for k1, k0 in cuts
            if switch_moves.matches(kind, k1, k0, *numbered)
            and switch_moves.time0_values(kind, k1, k0, held, out, stated=False)
        )
        ring = next(fitting, None)
        if ring is not None:
            yield kind, 1 << ring
