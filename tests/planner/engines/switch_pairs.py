"""Random pairs of switch input and output, legal by construction or with one digit of the output mutated.

The outputs are written here term by term from the table of the domain page, with nothing of the planner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from models.kernel import SwitchConfig
from models.mapping import Axis, Broadcast, Mapping, Modulo, Pad, Pair, Resize, Stride, nodes, terms

SWITCH_SLICES = 64
SWITCH_AXES = {"A": 64, "B": 8, "C": 3, "D": 6, "E": 2, "F": 16, "M": 5, "X": 2, "Y": 8, "Z": 32}
SWITCH_NEW = ("X", "Y", "Z")
"""Axes that no input holds."""


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


@dataclass(frozen=True)
class SwitchPair:
    """An input, a configuration and an output that it makes of it; or, mutated, one that it perhaps makes not."""

    in_slice: Mapping
    in_time: Mapping
    packet: Mapping
    out_slice: Mapping
    out_time: Mapping
    config: SwitchConfig
    mutated: bool = False


def _axis(name: str) -> Mapping:
    return Axis(name, SWITCH_AXES[name])


def _cut_up(random: Random, e: Mapping, most: int) -> list[Mapping]:
    """Digits of an expression, outermost first; together they are the expression."""
    out: list[Mapping] = []
    while len(out) < most and e.size > 1 and random.random() < 0.6:
        n = random.choice([d for d in _divisors(e.size) if d < e.size])
        out.append(Stride(e, n))
        e = Modulo(e, n) if n > 1 else Broadcast(1)
    return [*out, e]


def chained(parts: Sequence[Mapping]) -> Mapping:
    kept = [p for p in parts if p.size > 1] or [Broadcast(1)]
    out = kept[-1]
    for part in reversed(kept[:-1]):
        out = Pair(part, out)
    return out


def _filling(random: Random, size: int, plain: bool) -> list[Mapping]:
    """Factors of a Slice of `size` slices: digits of axes, padded ones, and unless `plain` copies and padding."""
    whole = [
        m
        for m in (_axis("A"), _axis("F"), Pad(_axis("C"), 4), Pad(_axis("M"), 8) if plain else Pad(_axis("B"), 16))
        if m.size <= size
    ]
    bare = [] if plain else [Broadcast(2), Pad(Broadcast(1), 2), Pad(Broadcast(1), 4)]
    kinds = [*whole, *whole, *whole, *bare]
    out: list[Mapping] = []
    used: set[Mapping] = set()
    while size > 1:
        fits = [m for m in kinds if m.size <= size and m not in used] or [_spare(used, plain)]
        part = random.choice(fits)
        if not isinstance(part, Broadcast):
            used.add(part)
        out.append(part)
        size //= part.size
    return out


def _spare(used: set[Mapping], plain: bool) -> Mapping:
    """What is left to fill a Slice with."""
    name = next(n for n in ("G", "H", "I", "J", "K", "L") if Axis(n, 2) not in used)
    return Axis(name, 2) if plain else Broadcast(2)


def _switch_input(random: Random, plain: bool = False) -> tuple[Mapping, Mapping, Mapping]:
    digits = [d for e in _filling(random, SWITCH_SLICES, plain) for d in _cut_up(random, e, 3)]
    if random.random() < 0.6:
        random.shuffle(digits)
    names = {n.name for d in digits for n in nodes(d) if isinstance(n, Axis)}
    times = [_axis(n) for n in ("B", "D") if n not in names]
    times = random.sample(times, random.randint(0, len(times)))
    time = [d for e in times for d in _cut_up(random, e, 2)]
    random.shuffle(time)
    if random.random() < 0.1:
        time.append(Broadcast(2))
    packet = random.choice([Broadcast(1), _axis("E"), Pad(_axis("E"), 4)])
    return chained(digits), chained(time), packet


def _slot(random: Random, size: int, names: list[str]) -> Mapping:
    """What may fill a broadcast slot; takes the names it uses off the list."""
    fits = [n for n in names if SWITCH_AXES[n] % size == 0]
    kind = random.choice(("axis", "axis", "number", "padding"))
    if size == 1 or kind == "number" or (kind == "axis" and not fits):
        return Broadcast(size)
    if kind == "padding":
        return Pad(Broadcast(1), size)
    name = random.choice(fits)
    names.remove(name)
    e = _axis(name)
    return e if e.size == size else random.choice((Modulo(e, size), Stride(e, e.size // size)))


def _part(e: Mapping, below: int, size: int) -> Mapping:
    return Modulo(Stride(e, below), size)


def _regular_pair(random: Random, kind: str) -> SwitchPair:
    in_slice, in_time, packet = _switch_input(random)
    n = SWITCH_SLICES
    k1 = random.randint(0, 6)
    slice1, slice0 = 1 << k1, 1 << random.randint(0, 6 - k1)
    time0 = random.choice(_divisors(in_time.size))
    ring = slice1 * slice0
    s2, s1, s0 = _part(in_slice, ring, n // ring), _part(in_slice, slice0, slice1), _part(in_slice, 1, slice0)
    t1, t0 = _part(in_time, time0, in_time.size // time0), _part(in_time, 1, time0)
    names = list(SWITCH_NEW)
    x, y = _slot(random, slice1, names), _slot(random, slice0, names)
    made = {
        "Broadcast01": ([s2, x, y], [t1, s1, t0, s0]),
        "Broadcast1": ([s2, x, s0], [in_time, s1]),
        "Transpose": ([s2, s0, s1], [in_time]),
        "TransposedBroadcast1": ([s2, y, s1], [in_time, s0]),
        "Forwarding": ([in_slice], [in_time]),
    }[kind]
    taken = {"Broadcast01": ("slice1", "slice0", "time0"), "Forwarding": ()}.get(kind, ("slice1", "slice0"))
    values = {"slice1": slice1, "slice0": slice0, "time0": time0}
    config = SwitchConfig.model_validate({"kind": kind, **{n: values[n] for n in taken}})
    return SwitchPair(in_slice, in_time, packet, chained(made[0]), chained(made[1]), config)


def _inter_transpose_pair(random: Random) -> SwitchPair:
    """All 256 slices, and a Time that holds slice1 x time0 steps."""
    a, b = Axis("P", 256), Axis("Q", 16)
    in_slice = chained(_cut_up(random, a, 3))
    in_time = chained(random.sample([*_cut_up(random, b, 3), _axis("D")], k=2)) if random.random() < 0.5 else b
    powers = [n for n in (1, 2, 4, 8, 16) if in_time.size % n == 0]
    slice1 = random.choice(powers)
    slice0 = 1 << random.randint(0, 8 - (slice1.bit_length() - 1))
    time0 = random.choice(_divisors(in_time.size // slice1))
    ring, step = slice1 * slice0, slice1 * time0
    out_slice = [
        _part(in_slice, ring, 256 // ring),
        _part(in_time, time0, slice1),
        _part(in_slice, 1, slice0),
    ]
    out_time = [
        _part(in_time, step, in_time.size // step),
        _part(in_time, 1, time0),
        _part(in_slice, slice0, slice1),
    ]
    config = SwitchConfig(kind="InterTranspose", slice1=slice1, slice0=slice0, time0=time0)
    return SwitchPair(in_slice, in_time, Broadcast(1), chained(out_slice), chained(out_time), config)


def _custom_pair(random: Random, plain: bool) -> SwitchPair:
    """Some digits stay, in any order, the others move to Time in theirs; the ring size is a guess.

    A plain one has no copies and no bare padding in Slice: these let a router take the same packet from several
    slices, so that an order which the rules forbid may be had all the same, by chance.
    """
    in_slice, in_time, packet = _switch_input(random, plain)
    flat = list(terms(in_slice))
    moves = [random.random() < 0.3 for _ in flat]
    kept = [d for d, gone in zip(flat, moves, strict=True) if not gone]
    if random.random() < 0.6:
        random.shuffle(kept)
    gone = [d for d, g in zip(flat, moves, strict=True) if g]
    freed = SWITCH_SLICES // math.prod(d.size for d in kept)
    names = list(SWITCH_NEW)
    while freed > 1:
        size = 1 << random.randint(1, freed.bit_length() - 1)
        kept.insert(random.randint(0, len(kept)), _slot(random, size, names))
        freed //= size
    trimmed = [d.inner if isinstance(d, Pad) and random.random() < 0.5 else d for d in gone]
    config = SwitchConfig(kind="CustomBroadcast", ring_size=1 << random.randint(0, 6))
    return SwitchPair(in_slice, in_time, packet, chained(kept), chained([in_time, *trimmed]), config)


def _mutate(random: Random, pair: SwitchPair) -> SwitchPair:
    """Changes one digit of the output: swaps, replaces, pads or trims it."""
    on_slice = random.random() < 0.5
    parts = list(terms(pair.out_slice if on_slice else pair.out_time))
    i = random.randrange(len(parts))
    kind = random.choice(("swap", "swap", "replace", "split", "pad", "trim"))
    if kind == "swap" and len(parts) > 1:
        j = random.choice([n for n in range(len(parts)) if n != i])
        parts[i], parts[j] = parts[j], parts[i]
    elif kind == "replace":
        others = [_axis(n) for n in ("A", "B", "X", "Y", "F")] + [Broadcast(parts[i].size)]
        parts[i] = random.choice([_part(e, 1, parts[i].size) for e in others if e.size % parts[i].size == 0])
    elif kind == "split" and parts[i].size > 2:
        n = random.choice(_divisors(parts[i].size)[1:-1] or [1])
        parts[i : i + 1] = [Modulo(parts[i], n), Stride(parts[i], n)]
    elif kind == "pad" and parts[i].size % 2 == 0 and parts[i].size > 2:
        parts[i] = Pad(Resize(parts[i], parts[i].size // 2), parts[i].size)
    else:
        parts[i] = Resize(parts[i], max(1, parts[i].size - 1))
    out = chained(parts)
    return replace(pair, **{"out_slice" if on_slice else "out_time": out}, mutated=True)


def switch_pair(random: Random, mutate: bool) -> SwitchPair:
    """A legal pair of a random configuration (custom ones up to the ring size), or one with a mutated digit."""
    kind = random.choice(
        ("Broadcast01", "Broadcast1", "Transpose", "InterTranspose", "TransposedBroadcast1", "Forwarding")
        + ("CustomBroadcast",) * 4
    )
    if kind == "CustomBroadcast":
        pair = _custom_pair(random, plain=mutate)
    elif kind == "InterTranspose":
        pair = _inter_transpose_pair(random)
    else:
        pair = _regular_pair(random, kind)
    return _mutate(random, pair) if mutate else pair
