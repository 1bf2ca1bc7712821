"""How a sequencer walks a buffer: the sizes and strides with which a stream reads positions of its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from models.digits import Digit, Factors, Padded, axes_in, open_factors
from models.lowering import lower
from models.mapping import Axis, Mapping, terms
from models.tidy import chain

Entry = tuple[int, int]
Used = dict[Digit, int]


@dataclass(frozen=True, slots=True)
class _Held:
    """A digit of the source and the step, in elements of the source, from one value of it to the next."""

    digit: Digit
    step: int


def contiguous_walk(target: Sequence[Mapping], source: Mapping) -> list[Entry] | None:
    """The `(size, stride)` entries with which a stream walks its source, outermost first, neighbours merged.

    `target` are the mappings of the stream, outermost first (Time, Packet), read as one. Strides count
    elements of `source`, its padding included; 0 re-reads what the source lacks. Neighbours are merged where
    the outer stride is the inner size times the inner stride; factors of size 1 are left out. Padding of the
    target is walked as if the data went on, so its cells may be anything: which kind of padding the stream
    promises is for the caller to compare. At every live position of the target, the position that is walked
    holds its cell.

    None: the target reads digits of an axis of the source which the source does not hold, or its reading is
    not linear in a digit.
    """
    held = _held(lower([open_factors(source)], past=True)[0])
    axes = axes_in(source)
    used: Used = {}
    out = _walk(lower([open_factors(chain(list(target)))], past=True)[0], held, axes, used)
    return None if any(_carries(d, total) for d, total in used.items()) else out


def _carries(held: Digit, total: int) -> bool:
    """Whether digits of the target that share a digit of the source may pass its end while they are live."""
    return total >= held.size and held.stride * held.size < held.base.size


def _held(factors: Factors, step: int = 1) -> list[_Held]:
    out: list[_Held] = []
    for factor in reversed(factors):
        if isinstance(factor, Digit):
            out.append(_Held(factor, step))
        elif isinstance(factor, Padded):
            out += _held(factor.inner, step)
        step *= factor.size
    return out


def _walk(factors: Factors, held: list[_Held], axes: frozenset[str], used: Used) -> list[Entry] | None:
    out: list[Entry] = []
    for factor in reversed(factors):
        if isinstance(factor, Digit):
            entries = _entries(factor, held, axes, used)
            if entries is None:
                return None
        elif isinstance(factor, Padded):
            entries = _run_on(factor.size, _walk(factor.inner, held, axes, used), out)
            if entries is None:
                return None
        else:
            entries = [(factor.size, 0)]
        out = _merged([*entries, *out])
    return out


def _run_on(size: int, inside: list[Entry] | None, below: list[Entry]) -> list[Entry] | None:
    """The entries of padded factors: their outermost step goes on past the data; without any, what is below does."""
    if inside is None:
        return None
    if not inside:
        steps, stride = below[0] if below else (1, 1)
        return [(size, steps * stride)]
    rest = prod(steps for steps, _ in inside[1:])
    if size % rest:
        return None
    return [(size // rest, inside[0][1]), *inside[1:]]


def _merged(entries: list[Entry]) -> list[Entry]:
    out: list[Entry] = []
    for size, stride in entries:
        if out and out[-1][1] == size * stride:
            out[-1] = (out[-1][0] * size, stride)
        else:
            out.append((size, stride))
    return out


def _entries(digit: Digit, held: list[_Held], axes: frozenset[str], used: Used) -> list[Entry] | None:
    """The entries of one digit of the target, outermost first."""
    if not axes_in(digit.base) & axes:
        return [(digit.size, 0)]
    out: list[Entry] = []
    stride, size = digit.stride, digit.size
    while size > 1:
        found = _holder(digit.base, stride, held)
        if found is None:
            return _through_parts(digit, held, axes)
        skip = stride // found.digit.stride
        capacity = -(-found.digit.size // skip)
        live = min(size, -(-digit.base.size // stride))
        used[found.digit] = used.get(found.digit, 0) + skip * (min(live, capacity) - 1)
        if live <= capacity:
            return _merged([(size, skip * found.step), *out])
        if found.digit.size % skip or size % capacity:
            return None
        out.insert(0, (capacity, skip * found.step))
        stride, size = stride * capacity, size // capacity
    return _merged(out)


def _holder(base: Mapping, stride: int, held: list[_Held]) -> _Held | None:
    for h in held:
        d = h.digit
        if d.base == base and stride % d.stride == 0 and stride < d.stride * d.size:
            return h
    return None


def _through_parts(digit: Digit, held: list[_Held], axes: frozenset[str]) -> list[Entry] | None:
    """A digit that straddles the parts of a pair is linear where the source holds the pair in one run."""
    if isinstance(digit.base, Axis):
        return None
    parts = tuple(Digit(t, 1, t.size) for t in terms(digit.base))
    # two digits of the pair never carry from part to part: in one run they only move on
    run = _walk(lower([parts], past=True)[0], held, axes, {}) if len(parts) > 1 else None
    if run is None or len(run) > 1:
        return None
    step = run[0][1] if run else 0
    return [(digit.size, digit.stride * step)]
