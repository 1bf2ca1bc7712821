"""Sequencer walks as the settings give them, and what an access pattern amounts to, read off the addresses."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from simulator.memories import Walk, walk_offsets

_MOST_STEPS = 1 << 22
"""Of one walk in one slice; an edited plan may state anything."""


def entry_walk(settings: dict[str, Any], level: str) -> Walk:
    """The entries of `time` or `packet`: (size, stride in elements), outermost first.

    Raises:
        ValueError: entries that no sequencer could walk.

    """
    walk = tuple((int(size), int(stride)) for size, stride in settings[f"{level}_entries"])
    if any(size < 1 or stride < 0 for size, stride in walk) or prod(size for size, _ in walk) > _MOST_STEPS:
        raise ValueError(f"the {level} entries {list(walk)} are no walk")
    return walk


def run_elements(walk: Walk) -> int:
    """The contiguous run of a walk in elements: innermost entries whose outer stride is inner size x inner stride."""
    offsets = walk_offsets(tuple(entry for entry in walk if entry[0] > 1))
    breaks = np.flatnonzero(np.diff(offsets) != 1) + 1
    return int(np.gcd.reduce(np.append(breaks, len(offsets))))


def merged(walk: Walk) -> list[tuple[int, int]]:
    """Entries with neighbours merged where the outer stride continues the inner one; single steps left out."""
    out: list[tuple[int, int]] = []
    for size, stride in reversed([entry for entry in walk if entry[0] > 1]):
        if out and stride == out[0][0] * out[0][1]:
            out[0] = (out[0][0] * size, out[0][1])
        else:
            out.insert(0, (size, stride))
    return out


def factors(size: int, most: int) -> tuple[int, ...] | None:
    """A size as few factors of at most `most`, the small one first; None where no factors are small enough."""
    out: tuple[int, ...] = ()
    while size > most:
        factor = next((n for n in range(most, 1, -1) if size % n == 0), None)
        if factor is None:
            return None
        out = (factor, *out)
        size //= factor
    return (size, *out)
