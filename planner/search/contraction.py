"""Every layout of one contraction that the axes' digits allow, as fragments of an ordinary kernel.

Axes fall into four classes: batch (both operands and the result), streamed (the stream's and the result's), held
(the TRF operand's and the result's) and summed. Outer digits of the first three go to Cluster and Slice, those of the
last to the innermost part of Slice, where the ring folds them; the innermost held digit goes to Lane, the innermost
digits of the stream's own order to the packet, the rest to Time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product
from math import gcd, prod

from models.dtypes import DTYPES
from models.hardware import Hardware
from planner.engines.shapes import elements_in
from planner.pass_cycles import InterSlice, Steps, pass_cycles
from planner.search.parts import Part, Parts, fill, joined, size_of, take_major, take_minor, whole_axis
from planner.search.spec import Contraction, Named

BATCH, STREAMED, HELD, SUMMED = "batch", "streamed", "held", "summed"
CLASSES = (BATCH, STREAMED, HELD)


@dataclass(frozen=True, slots=True)
class Tiling:
    """How the result is cut: the held operand, digits per unit, what is left in each slice, lanes and packet.

    `slices` are groups (class, digits) outermost first; `fill_first` puts empty slices outside of them, not inside.
    Summed digits in Slice stand innermost, inside of empty slices too: the ring folds neighbours. `columns` of the
    packet are streamed digits, `depth` summed ones. `packed` transposes the result's innermost digit from Time into
    the packet.
    """

    held: Named
    stream: Named
    cluster: tuple[str, Parts]
    slices: tuple[tuple[str, Parts], ...]
    fill_first: bool
    tile: dict[str, Parts]
    summed: Parts
    lane: Parts
    columns: Parts
    depth: Parts
    packed: int = 1

    @property
    def working(self) -> Parts:
        """The digits in Slice of every stream of the matrix pass, without empty positions."""
        return tuple(p for _, parts in self.slices for p in parts)

    @property
    def folded(self) -> Parts:
        """The summed digits in Slice."""
        return dict(self.slices).get(SUMMED, ())

    def axis_tile(self, axes: tuple[str, ...]) -> Parts:
        """What each slice holds of some axes, in their order."""
        found = [p for parts in (*self.tile.values(), self.summed) for p in parts]
        return tuple(p for a in axes for p in found if p.axis == a)


def filled(tiling: Tiling, slices: int) -> Parts | None:
    """The working Slice with its empty positions; None where the used ones do not divide `slices`."""
    rest, odd = divmod(slices, size_of(tiling.working))
    if odd or rest < 1:
        return None
    return placed(tiling, tiling.slices, fill(rest))


def placed(tiling: Tiling, groups: tuple[tuple[str, Parts], ...], empty: Parts) -> Parts:
    """The Slice of these groups with a tiling's empty positions outside of what is not folded, or inside of it."""
    used = tuple(p for c, parts in groups if c != SUMMED for p in parts)
    inner = tuple(p for c, parts in groups if c == SUMMED for p in parts)
    return (*empty, *used, *inner) if tiling.fill_first else (*used, *empty, *inner)


def contraction_cycles(hardware: Hardware, tiling: Tiling) -> int:
    """A lower bound of the matrix pass: one step per packet and held row of a lane."""
    rows = size_of(tiling.tile[HELD]) // size_of(tiling.lane)
    packets = (
        size_of(tiling.summed) // size_of(tiling.depth) * (size_of(tiling.tile[STREAMED]) // size_of(tiling.columns))
    )
    steps = size_of(tiling.tile[BATCH]) * rows * packets
    return pass_cycles(hardware, Steps("main", (("contract_outer", steps),), ring_fold(tiling)))


def ring_fold(tiling: Tiling) -> InterSlice | None:
    """The fold of summed digits in Slice: at least one step per flit of results that leaves the contraction."""
    if not tiling.folded:
        return None
    rows = size_of(tiling.tile[HELD]) // size_of(tiling.lane)
    results = size_of(tiling.tile[BATCH]) * size_of(tiling.tile[STREAMED]) * rows
    # Eight columns of a packet leave in one flit; lanes stand in the flit already.
    return InterSlice(size_of(tiling.folded), max(1, results // (1 if tiling.lane else size_of(tiling.columns))))


def tilings(spec: Contraction, hardware: Hardware) -> Iterator[Tiling]:
    """Every tiling of a contraction."""
    for held, stream in ((spec.right, spec.left), (spec.left, spec.right)):
        classes = {BATCH: spec.batch(), STREAMED: spec.own(stream), HELD: spec.own(held)}
        orders = [(h, s) for h in spec.orders(held) for s in spec.orders(stream)]
        for cut in _cuts(spec, classes, hardware):
            for h, s in orders:
                yield from _packets(spec, h, s, cut, hardware)


# Cluster and Slice ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cut:
    cluster: tuple[str, Parts]
    slices: tuple[tuple[str, Parts], ...]
    fill_first: bool
    tile: dict[str, Parts]


def _cuts(spec: Contraction, classes: dict[str, tuple[str, ...]], hardware: Hardware) -> Iterator[_Cut]:
    slices = hardware.geometry.slices_per_cluster
    powers = [1 << k for k in range(slices.bit_length())]
    for over in ("", *(c for c in CLASSES if classes[c])):
        for shares in product(*(powers if classes[c] else [1] for c in CLASSES)):
            if prod(shares) > slices:
                continue
            yield from _shared(spec, classes, dict(zip(CLASSES, shares, strict=True)), over, hardware)


def _shared(
    spec: Contraction, classes: dict[str, tuple[str, ...]], shares: dict[str, int], over: str, hardware: Hardware
) -> Iterator[_Cut]:
    slices, clusters = hardware.geometry.slices_per_cluster, hardware.geometry.clusters_per_chip
    cluster, groups, tile = fill(clusters), {}, {}
    for c in CLASSES:
        whole = shares[c] * (clusters if c == over else 1)
        axes = _padded(classes[c], spec.sizes, whole)
        major = None if axes is None else take_major(axes, whole)
        if major is None:
            return
        taken, tile[c] = major
        if c == over:
            halves = take_major(taken, clusters)
            if halves is None:
                return
            cluster, taken = halves
        groups[c] = taken
    used = [c for c in CLASSES if shares[c] > 1]
    for folded, summed in _folds(spec, slices // prod(shares.values())):
        full = prod(shares.values()) * size_of(folded) == slices
        for order in permutations(used):
            inner = ((SUMMED, folded),) if folded else ()
            # Without empty slices there is one way to place none, and with nothing beside them too.
            for first in (True,) if full or not used else (True, False):
                yield _Cut((over, cluster), (*((c, groups[c]) for c in order), *inner), first, tile | {SUMMED: summed})


def _folds(spec: Contraction, most: int) -> Iterator[tuple[Parts, Parts]]:
    """The outermost summed digits for up to `most` slices, and the rest; padding would be summed, so there is none."""
    axes = tuple(whole_axis(a, spec.sizes[a]) for a in spec.summed())
    share = 1
    while share <= most:
        cut = take_major(axes, share)
        if cut is not None:
            yield cut
        share *= 2


def _padded(axes: tuple[str, ...], sizes: dict[str, int], share: int) -> Parts | None:
    """The axes of a class as digits, the first one padded so that `share` divides it; None where all is padding."""
    parts = tuple(whole_axis(a, sizes[a]) for a in axes)
    if not parts or take_major(parts, share) is not None:
        return parts if parts or share == 1 else None
    first = parts[0]
    if len(parts) > 1 or share >= 2 * first.size:
        return None
    return (whole_axis(axes[0], sizes[axes[0]], -(-first.size // share) * share),)


# Lane and packet --------------------------------------------------------------------------------------------


def _packets(spec: Contraction, held: Named, stream: Named, cut: _Cut, hardware: Hardware) -> Iterator[Tiling]:
    tile, summed = {c: cut.tile[c] for c in CLASSES}, cut.tile[SUMMED]
    base = Tiling(held, stream, cut.cluster, cut.slices, cut.fill_first, tile, summed, (), (), ())
    for lane in _lanes(cut.tile[HELD], hardware):
        for columns, depth in _packet_forms(spec, base, hardware):
            tiling = replace(base, lane=lane, columns=columns, depth=depth)
            yield tiling
            group = packable(spec, tiling)
            if group > 1:
                yield replace(tiling, packed=group)


def _lanes(tile: Parts, hardware: Hardware) -> Iterator[Parts]:
    lanes = hardware.geometry.lanes_per_slice
    while lanes >= 1:
        minor = take_minor(tile, lanes) if tile else None
        if lanes == 1:
            yield ()
        elif minor is not None:
            yield minor[1]
        lanes //= 2


def _packet_forms(spec: Contraction, tiling: Tiling, hardware: Hardware) -> Iterator[tuple[Parts, Parts]]:
    """Streamed and summed digits of the packet: the innermost ones of the stream's own order, power-of-two many."""
    most = elements_in(tiling.stream.dtype, hardware.geometry.flit_bytes) * hardware.contraction.max_packet_flits
    order = tiling.axis_tile(tiling.stream.axes)
    run = _run(order, spec.summed())
    if run:
        depth = _innermost(run, most)
        yield (), depth
        rest = order[: len(order) - len(run)]
        if size_of(depth) == size_of(run) and size_of(depth) < most and rest:
            columns = _innermost(_run(rest, spec.own(tiling.stream)), most // size_of(depth))
            if columns:
                yield columns, depth
    else:
        columns = _innermost(_run(order, spec.own(tiling.stream)), min(most, hardware.contraction.accumulator_columns))
        if columns:
            yield columns, ()


def _run(order: Parts, axes: tuple[str, ...]) -> Parts:
    """The innermost digits that are all of the given axes."""
    n = 0
    while n < len(order) and order[-1 - n].axis in axes:
        n += 1
    return order[len(order) - n :]


def _innermost(run: Parts, most: int) -> Parts:
    """As many of the innermost positions as a power of two up to `most` allows, without a cut inside padding."""
    total = size_of(run)
    size = gcd(total, most)
    while size > 1:
        minor = take_minor(run, size)
        if minor is not None:
            return minor[1]
        size //= 2
    return ()


def packable(spec: Contraction, tiling: Tiling) -> int:
    """How many neighbouring results, one a step, the transpose engine can put into a packet: 1 for none."""
    if tiling.lane or tiling.columns:
        return 1
    inner = innermost(spec, tiling)
    group = 8 // spec.out.bytes_per_element
    return group if group > 1 and inner is not None and inner.size % group == 0 else 1


def innermost(spec: Contraction, tiling: Tiling) -> Part | None:
    """The digit of the result that is innermost in HBM and stands in Time, innermost there too."""
    order = joined(tiling.axis_tile(spec.out.axes))
    if not order:
        return None
    last = order[-1]
    streamed = {p.axis for p in tiling.tile[STREAMED]}
    if last.axis in streamed and (size_of(tiling.tile[HELD]) > 1 or not tiling.depth):
        return None
    return last


def bits_of(dtype: str) -> int:
    """Bits of an element."""
    return DTYPES[dtype].bits
