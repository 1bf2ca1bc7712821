"""Which configurations bring a stream into a wanted Slice, and with which Time: the choices of a switch step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import isqrt, prod

from models.digits import Digit, Free
from models.faults import Finding
from models.kernel import AUTO, Switch, SwitchConfig
from models.layout import Stream
from models.mapping import Axis, Mapping
from models.parse import parse
from planner.engines.base import Ground, Outcome
from planner.engines.switch import law, size_findings
from planner.engines.switch_bits import Bit, Lowered, joined
from planner.engines.switch_custom import plan_slices, route_custom
from planner.engines.switch_moved import shortest
from planner.engines.switch_routing import derived_ring
from planner.engines.switch_shapes import REGULAR, TAKES, sources
from planner.engines.switch_slots import lowered_input, lowered_output

MOST_CUTS = 64
"""With more divisors of Time than this, time0 is tried at borders of its factors and at powers of two only."""


@dataclass(frozen=True, slots=True)
class SwitchCandidate:
    """One legal way to do a switch: `label` names it for people, `out` is what leaves."""

    config: SwitchConfig
    out: Stream
    outcome: Outcome
    label: str


def label(config: SwitchConfig) -> str:
    """Kind and parameters, as `Transpose(slice1=32, slice0=2)`."""
    given = [f"{n}={getattr(config, n)}" for n in TAKES[config.kind] if getattr(config, n) is not None]
    return f"{config.kind}({', '.join(given)})" if given else config.kind


def candidates(
    ground: Ground, stream: Stream, switch: Switch, wanted_slice: Mapping | None = None
) -> list[SwitchCandidate]:
    """Every configuration that gives the step's Slice, and its Time where stated, by kind and parameters.

    For `switch: auto` the Slice is `wanted_slice`; without one the stream can only be forwarded. A stated
    configuration leaves open only the parameters that it does not give.
    """
    out_slice = wanted_slice if switch.slice is None else parse(switch.slice, ground.axes)
    if out_slice is None:
        out_slice = stream.slice
    out_time = None if switch.slice is None or switch.time == AUTO else parse(switch.time, ground.axes)
    fixed = switch.config if isinstance(switch.config, SwitchConfig) else None
    return moves(ground, stream, out_slice, out_time, fixed)


def moves(
    ground: Ground,
    stream: Stream,
    out_slice: Mapping,
    out_time: Mapping | None,
    fixed: SwitchConfig | None = None,
) -> list[SwitchCandidate]:
    """Every legal configuration from a stream to a Slice and, where given, a Time."""
    if size_findings(ground.hardware, stream, out_slice):
        return []
    out: list[SwitchCandidate] = []
    for config, time in _tries(stream, out_slice, out_time, fixed):
        outcome = law(ground, stream, out_slice, time, config)
        if outcome.ok and outcome.stream is not None:
            out.append(SwitchCandidate(config, outcome.stream, outcome, label(config)))
    return out


def undominated(found: Sequence[SwitchCandidate]) -> list[SwitchCandidate]:
    """Leaves out what another candidate with the same output does in no more steps, holding no more contexts."""
    kept: dict[Mapping, list[SwitchCandidate]] = {}
    for one in sorted(found, key=lambda c: (c.outcome.steps, len(c.outcome.settings["occupies"]))):
        cheaper = kept.setdefault(one.out.time, [])
        if all(len(c.outcome.settings["occupies"]) > len(one.outcome.settings["occupies"]) for c in cheaper):
            cheaper.append(one)
    return [c for c in found if c in kept[c.out.time]]


Tries = Iterator[tuple[SwitchConfig, Mapping | None]]
"""Configurations worth asking the law about, with the Time to ask for."""


def _tries(stream: Stream, out_slice: Mapping, out_time: Mapping | None, fixed: SwitchConfig | None) -> Tries:
    if fixed is None or fixed.kind != "CustomBroadcast":
        yield from _regular_tries(stream, out_slice, out_time, fixed)
    if fixed is not None and fixed.kind != "CustomBroadcast":
        return
    for time in [out_time] if out_time is not None else _custom_times(stream, out_slice):
        found = route_custom(stream, out_slice, time)
        ring = None if found is None else derived_ring(found[0])
        if ring is not None and (fixed is None or fixed.ring_size in (None, ring)):
            yield SwitchConfig(kind="CustomBroadcast", ring_size=ring), time


def _regular_tries(stream: Stream, out_slice: Mapping, out_time: Mapping | None, fixed: SwitchConfig | None) -> Tries:
    held = lowered_input(stream)
    out = lowered_output(stream, out_slice, stream.time if out_time is None else out_time)
    numbered = numbers(held.slice, out.slice)
    for kind, k1, k0 in _grid(len(held.slice), fixed.kind if fixed is not None else None):
        if not _allows(fixed, k1, k0) or not matches(kind, k1, k0, *numbered):
            continue
        for time0 in time0_values(kind, k1, k0, held, out, out_time is not None):
            if fixed is None or fixed.time0 in (None, time0):
                yield configured(kind, k1, k0, time0), out_time


def _allows(fixed: SwitchConfig | None, k1: int, k0: int) -> bool:
    return fixed is None or (fixed.slice1 in (None, 1 << k1) and fixed.slice0 in (None, 1 << k0))


def _custom_times(stream: Stream, out_slice: Mapping) -> list[Mapping]:
    """What a custom configuration can make of Time: padding that moves is cut off or comes along whole."""
    items = plan_slices(stream, out_slice).leaving
    ways = [
        (shortest(i), i.mapping) if 1 < i.needed < i.factor.size else (shortest(i),)
        for i in items
    ]  # fmt: skip
    return [joined(stream.time, *way) for way in product(*ways)]


@lru_cache(maxsize=128)
def _grid(bits: int, only: str | None = None) -> tuple[tuple[str, int, int], ...]:
    """Every regular kind, or one of them, with every cut of the slice number, small rings first."""
    cuts = [(k1, ring - k1) for ring in range(bits + 1) for k1 in range(ring + 1)]
    every = (("Forwarding", 0, 0), *((kind, k1, k0) for kind in REGULAR[1:] for k1, k0 in cuts))
    return tuple(one for one in every if only in (None, one[0]))


def configured(kind: str, k1: int, k0: int, time0: int) -> SwitchConfig:
    """The configuration record for exponents of slice1 and slice0."""
    values = {"slice1": 1 << k1, "slice0": 1 << k0, "time0": time0}
    return SwitchConfig.model_validate({"kind": kind} | {n: values[n] for n in TAKES[kind]})


Numbers = tuple[int, ...]


def numbers(held: Sequence[Bit], out: Sequence[Bit]) -> tuple[Numbers, Numbers]:
    """Both Slices with a number for every different bit; broadcasts and padding are below zero."""
    known: dict[Bit, int] = {}
    for bit in (*held, *out):
        known.setdefault(bit, len(known) if bit.base is not None else -1 - len(known))
    return tuple(known[b] for b in held), tuple(known[b] for b in out)


def matches(kind: str, k1: int, k0: int, held: Numbers, out: Numbers) -> bool:
    """Whether a regular configuration feeds every output bit that it does not fill, and fills slots with new bits."""
    feeds = sources(kind, k1, k0, len(held))
    return all(
        (b < 0 or b not in held) if source is None else b == held[source] for b, source in zip(out, feeds, strict=True)
    )


def _mismatches(kind: str, k1: int, k0: int, held: Numbers, out: Numbers) -> int:
    feeds = sources(kind, k1, k0, len(held))
    return sum(
        (b >= 0 and b in held) if source is None else b != held[source] for b, source in zip(out, feeds, strict=True)
    )


def time0_values(kind: str, k1: int, k0: int, held: Lowered, out: Lowered, stated: bool) -> list[int]:
    """Values of time0 that may fit; those of a stated Time are read off it."""
    if "time0" not in TAKES[kind]:
        return [1]
    size = prod(f.size for f in held.time)
    found = None
    if kind == "InterTranspose" and k1:
        found = _places(out.slice[k0], held.time)
    elif k1 and stated:
        found = _places(held.slice[k0], out.time)
        found = None if found is None else [at >> k0 for at in found if at % (1 << k0) == 0]
    step = 1 << k1 if kind == "InterTranspose" else 1
    tried = _cuts(held.time, size) if found is None else found
    return [n for n in tried if n and size % (n * step) == 0]


def _places(bit: Bit, time: Sequence[Digit | Free]) -> list[int] | None:
    """How many time steps stand inside of a bit's digit, wherever it stands.

    None where it may be anywhere: a bit without digit, or one of a base that straddles the factors of Time.
    """
    if not isinstance(bit.base, Axis):
        return None
    out, below = [], 1
    for factor in reversed(time):
        if isinstance(factor, Digit) and factor.base == bit.base:
            inside, rest = divmod(bit.stride, factor.stride)
            if not rest and inside < factor.size:
                out.append(below * inside)
        below *= factor.size
    return out


def _cuts(time: Sequence[Digit | Free], size: int) -> tuple[int, ...]:
    borders, below = {1, size}, 1
    for factor in reversed(time):
        below *= factor.size
        borders.add(below)
    return _divisors(size, frozenset(borders))


@lru_cache(maxsize=256)
def _divisors(size: int, borders: frozenset[int]) -> tuple[int, ...]:
    powers = {1 << k for k in range(size.bit_length()) if size % (1 << k) == 0}
    small = [d for d in range(1, min(isqrt(size), MOST_TRIED) + 1) if size % d == 0]
    every = {d for s in small for d in (s, size // s)}
    if isqrt(size) > MOST_TRIED or len(every) > MOST_CUTS:
        return tuple(sorted(borders | powers))
    return tuple(sorted(every))


MOST_TRIED = 4096
"""Divisors are looked for up to here; a Time of more than its square steps counts as one with many."""


def reasons(
    ground: Ground,
    stream: Stream,
    out_slice: Mapping,
    out_time: Mapping | None,
    legal: Sequence[SwitchCandidate] | None = None,
    fixed: SwitchConfig | None = None,
) -> dict[str, Finding]:
    """For each kind that does not give this output, the rule that stops it and the nearest legal output.

    `legal` are the configurations that do, if they are already known. A `fixed` configuration is judged as it
    is, and nothing else.
    """
    wrong_size = size_findings(ground.hardware, stream, out_slice)
    if wrong_size:
        return dict.fromkeys(TAKES, wrong_size[0])
    if fixed is not None and not _is_open(fixed):
        findings = law(ground, stream, out_slice, out_time, fixed).findings
        return {fixed.kind: findings[0]} if findings else {}
    found = moves(ground, stream, out_slice, out_time) if legal is None else legal
    kinds = {c.config.kind for c in found}
    out: dict[str, Finding] = {}
    for kind in TAKES:
        if kind not in kinds:
            config = _closest(kind, stream, out_slice, out_time)
            out[kind] = law(ground, stream, out_slice, out_time, config).findings[0]
    return out


def _is_open(config: SwitchConfig) -> bool:
    """Whether it leaves a parameter of its kind to be chosen."""
    return any(getattr(config, name) is None for name in TAKES[config.kind])


def _does_nothing(kind: str, k1: int, k0: int) -> bool:
    """Whether the parameters leave everything where it is."""
    moved = {"Transpose": k1 * k0, "TransposedBroadcast1": k0, "Broadcast01": k1 + k0}
    return kind != "Forwarding" and moved.get(kind, k1) == 0


def _closest(kind: str, stream: Stream, out_slice: Mapping, out_time: Mapping | None) -> SwitchConfig:
    """The parameters under which a kind comes nearest to an output that it cannot give."""
    if kind == "CustomBroadcast":
        found = route_custom(stream, out_slice, out_time)
        ring = stream.slice.size if found is None else derived_ring(found[0])
        return SwitchConfig(kind="CustomBroadcast", ring_size=ring)
    held = lowered_input(stream)
    out = lowered_output(stream, out_slice, stream.time if out_time is None else out_time)
    numbered = numbers(held.slice, out.slice)
    _, _, _, k1, k0 = min(
        (_does_nothing(kind, k1, k0), _mismatches(kind, k1, k0, *numbered), k1 + k0, k1, k0)
        for _, k1, k0 in _grid(len(held.slice), kind)
    )
    times = time0_values(kind, k1, k0, held, out, out_time is not None)
    return configured(kind, k1, k0, times[0] if times else 1)
