"""Where the digits of each axis stand in Slice, Time and Packet, as the valid count generator has to see them."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.digits import as_terms
from models.factors import normal
from models.mapping import Axis, Mapping, Modulo, Pad, Pair, Resize, Stride, nodes, terms
from models.tidy import as_digit, tidy


@dataclass(frozen=True, slots=True)
class Place:
    """One digit: position p of `size` adds p * `stride` to the axis' index.

    The first `live` of them hold data, the rest is padding of its own. `low` positions of its level are inner to it.
    """

    low: int
    stride: int
    size: int
    live: int

    @property
    def reach(self) -> int:
        """The largest index it adds."""
        return self.stride * (self.size - 1)


@dataclass(slots=True)
class Spread:
    """An axis' digits by level, outermost first; `tangled` where a digit cannot be told from other axes';
    `limits` are sizes that a resize gives it.

    `lonely`: the packet holds nothing else.
    """

    size: int
    slices: list[Place] = field(default_factory=list)
    times: list[Place] = field(default_factory=list)
    packet: list[Place] = field(default_factory=list)
    lonely: bool = True
    tangled: bool = False
    limits: set[int | None] = field(default_factory=set)

    @property
    def reach(self) -> int:
        """The largest index that the digits of all levels add up to."""
        return sum(p.reach for p in (*self.slices, *self.times)) + self.span - 1

    @property
    def span(self) -> int:
        """Indices that one flit holds side by side; 1 when the axis is not in the packet."""
        return self.packet[0].stride * self.clipped if self.packet else 1

    @property
    def clipped(self) -> int:
        """Positions of the packet that may be live: all of them where the whole axis is padded to the packet."""
        own = self.packet[0]
        return own.size if own.live == self.size else own.live

    @property
    def padded(self) -> bool:
        """Whether some position of the axis is no data."""
        return self.tangled or self.reach >= self.size or any(p.live < p.size for p in self.packet)


def spreads(slice_: Mapping, time: Mapping, packet: Mapping) -> dict[str, Spread]:
    """Every axis of a stream with its digits, in order of appearance."""
    out: dict[str, Spread] = {}
    levels = {"slices": _seen(slice_), "times": _seen(time), "packet": _seen(packet)}
    single = {n.name for e in (slice_, time, packet) for n in nodes(e) if isinstance(n, Axis) and n.size == 1}
    for level, e in levels.items():
        _read(out, level, _pieces(e, tuple(b for name, b in levels.items() if name != level)))
    for spread in out.values():
        for level in levels:
            setattr(spread, level, _joined(getattr(spread, level)))
        _cut(spread)
    for name in single & out.keys():
        out[name].size = 1
    return out


def _seen(e: Mapping) -> Mapping:
    """The mapping with a padded axis of one element as an axis of all its positions: else the algebra drops it."""
    if isinstance(e, Pair):
        return Pair(_seen(e.left), _seen(e.right))
    if isinstance(e, Pad):
        one = isinstance(e.inner, Axis) and e.inner.size == 1
        return Axis(e.inner.name, e.n) if one and isinstance(e.inner, Axis) else Pad(_seen(e.inner), e.n, e.kind)
    if isinstance(e, Stride):
        return Stride(_seen(e.inner), e.n)
    if isinstance(e, Modulo):
        return Modulo(_seen(e.inner), e.n)
    return Resize(_seen(e.inner), e.n) if isinstance(e, Resize) else e


@dataclass(frozen=True, slots=True)
class _Piece:
    """A term of a level: its size, the axes that it reads, and the digit that it is (None: more complicated).

    `limit`: the axis ends there for this digit, where a resize stands around it.
    """

    size: int
    axes: tuple[Axis, ...]
    stride: int = 0
    live: int = 0
    limit: int | None = None


def _pieces(e: Mapping, beside: tuple[Mapping, ...]) -> list[_Piece]:
    """The terms as they are written; where one is no plain digit, those of the normal form."""
    written = [_piece(t) for t in terms(tidy(e))]
    if all(p.stride or not p.axes for p in written):
        return written
    resolved = [_piece(t) for t in as_terms(normal(e, beside))]
    # the normal form may turn a digit that holds nothing but padding into padding of nobody
    owned = sum(not p.axes for p in resolved) <= sum(not p.axes for p in written)
    return resolved if owned else written


def _piece(term: Mapping) -> _Piece:
    axes = tuple(sorted({n for n in nodes(term) if isinstance(n, Axis)}, key=lambda axis: axis.name))
    inner = term
    while isinstance(inner, Pad):
        inner = inner.inner
    base, stride, live = as_digit(inner)
    limit = None
    while isinstance(base, Pad | Resize):
        if isinstance(base, Resize):
            limit = min(base.n, limit or base.n)
        base = base.inner
    if not isinstance(base, Axis):
        return _Piece(term.size, axes)
    return _Piece(term.size, axes, stride, live, limit)


def _read(out: dict[str, Spread], level: str, pieces: list[_Piece]) -> None:
    low = 1
    for piece in reversed(pieces):
        for axis in piece.axes:
            spread = out.setdefault(axis.name, Spread(axis.size))
            getattr(spread, level).insert(0, Place(low, piece.stride, piece.size, piece.live))
            spread.tangled = spread.tangled or not piece.stride
            spread.limits.add(piece.limit)
        if level == "packet":
            for name, spread in out.items():
                spread.lonely = spread.lonely and [a.name for a in piece.axes] == [name]
        low *= piece.size


def _joined(places: list[Place]) -> list[Place]:
    """Neighbours that read on as one digit: the algebra cuts a digit where only its major part may reach padding."""
    out: list[Place] = []
    for place in places:
        last = out[-1] if out else None
        reads_on = (
            last is not None
            and place.live == place.size
            and last.low == place.low * place.size
            and last.stride == place.stride * place.size
        )
        if last is not None and reads_on:
            out[-1] = Place(place.low, place.stride, last.size * place.size, last.live * place.size)
        else:
            out.append(place)
    return out


def _cut(spread: Spread) -> None:
    """A resize, or padding of a digit itself, ends the axis early; the latter can be told for the most major digit."""
    if spread.limits != {None}:
        spread.tangled = spread.tangled or len(spread.limits) > 1
        spread.size = min(spread.size, *(n for n in spread.limits if n is not None))
    outside = [*spread.slices, *spread.times]
    for place in outside:
        if place.live == place.size or place.live * place.stride >= spread.size:
            continue
        below = sum(p.reach for p in outside if p is not place) + spread.span - 1
        if below < place.stride:
            spread.size = place.live * place.stride
        else:
            spread.tangled = True
