"""Axes cut into digits: what a layout search moves between Cluster, Slice, Lane, Time and Packet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

from models.factors import Digit, Padded, normal
from models.mapping import Axis, Mapping, Pad, text


@dataclass(frozen=True, slots=True)
class Part:
    """A digit of an axis that is padded to `whole` positions: position i reads the axis at i * stride.

    An `axis` of None is no digit: `size` positions of which the first alone is live (`1 # size`).
    """

    axis: str | None
    whole: int
    stride: int
    size: int
    declared: int = 0

    def __str__(self) -> str:
        if self.axis is None:
            return "1" if self.size == 1 else f"1 # {self.size}"
        out = self.axis if self.whole == self.declared else f"{self.axis} # {self.whole}"
        out += f" / {self.stride}" if self.stride > 1 else ""
        return out + (f" % {self.size}" if self.stride * self.size < self.whole else "")

    def cut(self, inner: int) -> tuple[Part, Part]:
        """Outer and inner part; `inner` divides the size."""
        return (
            replace(self, stride=self.stride * inner, size=self.size // inner),
            replace(self, size=inner),
        )


Parts = tuple[Part, ...]


def whole_axis(name: str, size: int, padded: int = 0) -> Part:
    """An axis as one digit, padded to `padded` positions where that is more."""
    return Part(name, max(size, padded), 1, max(size, padded), size)


def fill(size: int) -> Parts:
    """Positions that hold nothing but the first; none for size 1."""
    return (Part(None, 1, 1, size),) if size > 1 else ()


def size_of(parts: Iterable[Part]) -> int:
    """The positions of a list of digits."""
    return prod(p.size for p in parts)


def joined(parts: Iterable[Part]) -> Parts:
    """The same digits with neighbours that read on merged and those of size 1 left out."""
    out: list[Part] = []
    for part in parts:
        last = out[-1] if out else None
        if part.size == 1:
            continue
        if last is not None and part.axis is not None and _reads_on(last, part):
            out[-1] = replace(part, size=last.size * part.size)
        else:
            out.append(part)
    return tuple(out)


def _reads_on(outer: Part, inner: Part) -> bool:
    return (outer.axis, outer.whole) == (inner.axis, inner.whole) and outer.stride == inner.stride * inner.size


def written(parts: Iterable[Part]) -> str:
    """Mapping text of digits side by side; `1` for none."""
    return ", ".join(str(p) for p in joined(parts)) or "1"


def take_major(parts: Sequence[Part], size: int) -> tuple[Parts, Parts] | None:
    """The outermost `size` positions and the rest; None where a digit cannot be cut there."""
    taken: list[Part] = []
    for i, part in enumerate(parts):
        if size == 1:
            return tuple(taken), tuple(parts[i:])
        if size % part.size == 0:
            taken.append(part)
            size //= part.size
        elif part.size % size == 0:
            outer, inner = part.cut(part.size // size)
            return (*taken, outer), (inner, *parts[i + 1 :])
        else:
            return None
    return (tuple(taken), ()) if size == 1 else None


def take_minor(parts: Sequence[Part], size: int) -> tuple[Parts, Parts] | None:
    """The rest and the innermost `size` positions; None where a digit cannot be cut there."""
    total = size_of(parts)
    return take_major(parts, total // size) if size and total % size == 0 else None


def of_mapping(mapping: Mapping, axes: dict[str, int]) -> Parts | None:
    """The digits of a mapping, outermost first; None where it holds anything but digits and empty padding."""
    out: list[Part] = []
    for factor in normal(mapping):
        if isinstance(factor, Padded) and not factor.inner:
            out.append(Part(None, 1, 1, factor.size))
        elif isinstance(factor, Padded) and len(factor.inner) == 1 and isinstance(factor.inner[0], Digit):
            padded = _padded(factor.inner[0], factor.size, axes)
            if padded is None:
                return None
            out += padded
        elif isinstance(factor, Digit):
            part = _digit(factor, axes)
            if part is None:
                return None
            out.append(part)
        else:
            return None
    return tuple(out)


def _padded(digit: Digit, size: int, axes: dict[str, int]) -> Parts | None:
    """A padded digit: the outermost one of its axis is a digit of the padded axis, any other stands in empty ones."""
    part = _digit(digit, axes)
    if part is None:
        return None
    if part.stride * part.size == part.whole:
        return (replace(part, whole=part.stride * size, size=size),)
    return (*fill(size // part.size), part) if size % part.size == 0 else None


def _digit(digit: Digit, axes: dict[str, int]) -> Part | None:
    base = digit.base
    inner = base.inner if isinstance(base, Pad) else base
    if not isinstance(inner, Axis) or base.size % (digit.stride * digit.size):
        return None
    return Part(text(inner), base.size, digit.stride, digit.size, axes[inner.name])


def without(parts: Sequence[Part], taken: Iterable[Part]) -> Parts:
    """The digits that are left when some digits, each a part of one of them, are taken out; order is kept."""
    out = list(parts)
    for digit in taken:
        if digit.size == 1:
            continue
        at = next(i for i, p in enumerate(out) if _holds(p, digit))
        part = out[at]
        inner = digit.stride // part.stride
        pieces = [replace(part, stride=digit.stride * digit.size, size=part.size // (inner * digit.size))]
        pieces.append(replace(part, size=inner))
        out[at : at + 1] = [p for p in pieces if p.size > 1]
    return tuple(out)


def _holds(part: Part, digit: Part) -> bool:
    if part.axis is None or (part.axis, part.whole) != (digit.axis, digit.whole):
        return False
    inside, rest = divmod(digit.stride, part.stride)
    return not rest and part.size % (inside * digit.size) == 0
