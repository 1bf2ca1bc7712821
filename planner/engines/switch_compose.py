"""Two switch passes in a row: found on bits of the slice number, confirmed by the law.

Between them the data lies in DM, so the second fetch may put Time into any order. A first move fixes what no
single configuration does together with a second: a permutation, a digit that Time gives to Slice, a broadcast.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from models.factors import divide
from models.kernel import SwitchConfig
from models.layout import Stream
from models.mapping import Mapping
from planner.engines.base import Ground
from planner.engines.switch_bits import FREE_BIT, Bit, bit_mapping, joined, same, window
from planner.engines.switch_content import Places, content, time_places
from planner.engines.switch_cost import flits_per_packet, pass_cycles, pass_steps
from planner.engines.switch_custom import route_custom
from planner.engines.switch_moves import SwitchCandidate, configured, matches, moves, numbers
from planner.engines.switch_options import Option, of_candidate, of_two
from planner.engines.switch_routing import derived_ring
from planner.engines.switch_shapes import sources
from planner.engines.switch_slots import lowered_input, lowered_output

MOST_CONFIRMED = 12
"""So many pairs of moves, cheapest first, are put to the law."""
MOST_OFFERED = 4

Bits = tuple[Bit, ...]
_MOVES = ("Transpose", "InterTranspose", "Broadcast1", "TransposedBroadcast1", "Broadcast01")
_LEAVES = {"Broadcast1": (1, 0), "TransposedBroadcast1": (0, 1), "Broadcast01": (1, 1)}
"""Whether slice1 and slice0 move to Time without anything coming back; the others leave Time as long as it is."""


def _grows(kind: str, k1: int, k0: int) -> int:
    """By how many bits a move lengthens Time."""
    with1, with0 = _LEAVES.get(kind, (0, 0))
    return with1 * k1 + with0 * k0


@dataclass(frozen=True, slots=True)
class _Move:
    """A move on bits: the Slice it leaves, the exponent of its ring and by how many bits Time grows."""

    kind: str
    k1: int
    k0: int
    time0: int
    slice: Bits
    grows: int

    @property
    def ring(self) -> int:
        return self.k1 + self.k0


def compositions(
    ground: Ground, stream: Stream, out_slice: Mapping, out_time: Mapping | None, below_cycles: int | None
) -> list[Option]:
    """The cheapest pairs of passes that give an output, those only that take less than `below_cycles`."""
    held = lowered_input(stream)
    out = lowered_output(stream, out_slice, stream.time if out_time is None else out_time)
    price = _Price(ground, stream, below_cycles)
    pairs = sorted(_pairs(held.slice, out.slice, time_places(held), price), key=lambda p: (price.of(*p), _names(p)))
    found: list[Option] = []
    for first, second in pairs[:MOST_CONFIRMED]:
        option = _confirmed(ground, stream, out_slice, out_time, first, second)
        if option is not None and (below_cycles is None or option.pass_cycles < below_cycles):
            found.append(option)
        if len(found) == MOST_OFFERED:
            break
    return found


class _Price:
    """Cycles of moves on bits, so that what costs too much is never looked at closely."""

    def __init__(self, ground: Ground, stream: Stream, below_cycles: int | None) -> None:
        self.hardware, self.time, self.below = ground.hardware, stream.time.size, below_cycles
        self.flits = flits_per_packet(ground.hardware, stream.dtype, stream.packet)

    def one(self, move: _Move, time: int) -> int:
        """Cycles of the pass of one move over so many time steps."""
        return pass_cycles(self.hardware, pass_steps(self.hardware, move.kind, 1 << move.ring, time, self.flits))

    def of(self, first: _Move, second: _Move | None) -> int:
        """Cycles of both passes; a custom second move is taken to need no ring smaller than the first."""
        return self.one(first, self.time) + self.one(second or first, self.time << first.grows)

    def allows(self, first: _Move, second: _Move | None = None) -> bool:
        """Whether a pair, or any pair that begins so, may be cheaper than what is already there."""
        cycles = self.one(first, self.time) if second is None else self.of(first, second)
        return self.below is None or cycles < self.below


def _names(pair: tuple[_Move, _Move | None]) -> tuple[str, str]:
    return pair[0].kind, pair[1].kind if pair[1] is not None else "CustomBroadcast"


def _pairs(held: Bits, out: Bits, places: Places, price: _Price) -> Iterator[tuple[_Move, _Move | None]]:
    """Pairs of moves that turn one Slice into another; a second move of None stands for a custom one."""
    in_time = set(places.values())
    for first in _first_moves(held, out, places):
        if first.slice == held or not price.allows(first):
            continue
        seconds = _second_moves(first.slice, out, in_time)
        yield from ((first, second) for second in seconds if price.allows(first, second))
        if first.kind == "InterTranspose" and first.slice != out:
            yield first, None


def _cuts(bits: int) -> list[tuple[int, int]]:
    return [(k1, ring - k1) for ring in range(1, bits + 1) for k1 in range(1, ring + 1)]


def _first_moves(held: Bits, out: Bits, places: Places) -> Iterator[_Move]:
    wanted = {b for b in out if b.base is not None}
    stays = wanted & set(held)
    filled = {b for b in out if b.base is not None and b in set(places.values())}
    for k1, k0 in _cuts(len(held)):
        for kind in _MOVES:
            feeds = sources(kind, k1, k0, len(held))
            gone = {held[b] for b in range(len(held)) if b not in feeds}
            if gone & stays or (kind in ("Transpose", "TransposedBroadcast1") and not k0):
                continue
            if kind == "InterTranspose":
                yield from _swaps(held, k1, k0, places, filled)
                continue
            slot = [b if b.base not in {h.base for h in held} and b not in filled else FREE_BIT for b in out]
            left = tuple(slot[b] if s is None else held[s] for b, s in enumerate(feeds))
            yield _Move(kind, k1, k0, 1, left, _grows(kind, k1, k0))


def _swaps(held: Bits, k1: int, k0: int, places: Places, filled: set[Bit]) -> Iterator[_Move]:
    """InterTransposes that bring in nothing but what the output Slice lacks."""
    for time0 in places:
        window_bits = [places.get(time0 << i) for i in range(k1)]
        if all(b in filled for b in window_bits):
            left = (*held[:k0], *(b for b in window_bits if b is not None), *held[k0 + k1 :])
            yield _Move("InterTranspose", k1, k0, time0, left, 0)


def _second_moves(held: Bits, out: Bits, in_time: set[Bit]) -> Iterator[_Move]:
    """Moves of the smallest ring that turn one Slice exactly into another."""
    differs = [b for b in range(len(held)) if held[b] != out[b]]
    if not differs:
        yield _Move("Forwarding", 0, 0, 1, out, 0)
        return
    from_slice, from_time = numbers(held, out), frozenset(b for b in out if b in in_time)
    for kind in _MOVES:
        for ring in range(differs[-1] + 1, len(held) + 1):
            fits = [k0 for k0 in range(ring) if matches(kind, ring - k0, k0, *from_slice)]
            fits = [k0 for k0 in fits if _fills(kind, ring - k0, k0, out, from_time)]
            yield from (_Move(kind, ring - k0, k0, 1, out, _grows(kind, ring - k0, k0)) for k0 in fits)
            if fits:
                break


def _fills(kind: str, k1: int, k0: int, out: Bits, from_time: frozenset[Bit]) -> bool:
    """Whether the slots hold digits of Time where the kind takes them from there, and none of them elsewhere."""
    slots = [bit for bit, source in zip(out, sources(kind, k1, k0, len(out)), strict=True) if source is None]
    return all((bit in from_time) == (kind == "InterTranspose") for bit in slots)


def _confirmed(
    ground: Ground,
    stream: Stream,
    out_slice: Mapping,
    out_time: Mapping | None,
    first: _Move,
    second: _Move | None,
) -> Option | None:
    config = configured(first.kind, first.k1, first.k0, first.time0)
    step = _cheapest(moves(ground, stream, bit_mapping(first.slice), None, config))
    if step is None:
        return None
    for between in _between(step.out, out_slice, out_time, second):
        if content(lowered_input(between)) != content(lowered_input(step.out)):
            continue
        last = _cheapest(moves(ground, between, out_slice, out_time, _asked(between, out_slice, out_time, second)))
        if last is not None:
            return of_two(of_candidate(ground, stream, step), of_candidate(ground, between, last))
    return None


def _cheapest(found: list[SwitchCandidate]) -> SwitchCandidate | None:
    return min(found, key=lambda c: (c.outcome.steps, c.out.time.size), default=None)


def _asked(between: Stream, out_slice: Mapping, out_time: Mapping | None, second: _Move | None) -> SwitchConfig | None:
    """The configuration of the second pass; its time0 is read off the Times."""
    if second is None:
        routed = route_custom(between, out_slice, out_time)
        ring = 1 if routed is None else derived_ring(routed[0])
        return SwitchConfig(kind="CustomBroadcast", ring_size=ring)
    config = configured(second.kind, second.k1, second.k0, 1)
    return config.model_copy(update={"time0": None})


def _between(step: Stream, out_slice: Mapping, out_time: Mapping | None, second: _Move | None) -> list[Stream]:
    """The stream of the second fetch: Time in the order that the second move turns into `out_time`."""
    if out_time is None:
        return [step]
    if second is None:
        return [replace(step, time=_outer(out_time, out_time.size // step.time.size))] if _fits(step, out_time) else []
    if second.kind == "InterTranspose":
        size = 1 << second.k1
        if out_time.size % size:
            return []
        time1 = window(out_slice, 1 << second.k0, size)
        return [replace(step, time=joined(_outer(out_time, size), time1))]
    if out_time.size % (1 << second.grows):
        return []
    if second.kind == "Broadcast01":
        return [replace(step, time=time) for time in _without_moved(step, out_time, second)]
    return [replace(step, time=_outer(out_time, 1 << second.grows))]


def _fits(step: Stream, out_time: Mapping) -> bool:
    return out_time.size % step.time.size == 0


def _outer(e: Mapping, inner: int) -> Mapping:
    return window(e, inner, e.size // inner)


def _without_moved(step: Stream, out_time: Mapping, second: _Move) -> list[Mapping]:
    """Output Time without the two digits that Broadcast01 adds, wherever the outer one stands."""
    slice0 = 1 << second.k0
    if not same(window(out_time, 1, slice0), window(step.slice, 1, slice0)):
        return []
    left = divide(_outer(out_time, slice0), window(step.slice, slice0, 1 << second.k1))
    return [] if left is None else [left]
