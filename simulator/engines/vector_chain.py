"""What lives along one trip through the vector engine: the stash, tags, the second group of a pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.plan import Stage
from simulator.streams import Flow, Rearrange

Tags = NDArray[np.uint8]
Shape = Callable[[Flow], Flow]
GROUP_BIT = 3


@dataclass(slots=True)
class Chain:
    """State of a chain.

    `before` is the stage whose stream enters. `tags` [units or 1, Time, Packet] are the 4 tag bits of every element
    (None: all zero). While the chain runs on pairs, `partner` is the stream of group 1 and `partner_chain` its state.
    `ring` is (slices, time steps) of a reduction among slices.
    """

    before: Stage | None = None
    stash: Flow | None = None
    tags: Tags | None = None
    partner: Flow | None = None
    partner_chain: Chain | None = None
    ring: tuple[int, int] | None = None

    def reshape(self, shape: Shape, move: Rearrange) -> None:
        """Takes stash and tags through a movement of the stream."""
        self.stash = None if self.stash is None else shape(self.stash)
        self.tags = None if self.tags is None else move(self.tags)

    def forget(self) -> None:
        """Drops what belongs to the elements of a stream that has been folded."""
        self.stash = self.tags = None

    def tagged(self, like: Flow) -> Tags:
        """The tags of a stream's elements."""
        return np.zeros((1, 1, 1), dtype=np.uint8) if self.tags is None else self.tags.reshape(-1, *like.raw.shape[1:])


def matches(tags: Tags, when: list[str]) -> NDArray[np.bool_]:
    """Where all bits are as a guard asks, the least significant first: one, zero or ignore."""
    hit = np.ones(tags.shape, dtype=np.bool_)
    for bit, wanted in enumerate(when):
        if wanted != "ignore":
            hit &= ((tags >> bit) & 1) == (1 if wanted == "one" else 0)
    return hit


def compared(comparisons: list[dict[str, Any]], numbers: NDArray[Any]) -> Tags:
    """Bit i is the verdict of comparison i; the unsigned ones compare bit patterns."""
    tags = np.zeros(numbers.shape, dtype=np.uint8)
    for bit, comparison in enumerate(comparisons):
        ((name, constant),) = comparison.items()
        tags |= _verdict(name, constant, numbers).astype(np.uint8) << np.uint8(bit)
    return tags


def _verdict(name: str, constant: float | int | None, numbers: NDArray[Any]) -> NDArray[np.bool_]:
    if name in ("True", "False"):
        return np.full(numbers.shape, name == "True")
    border = np.array(constant).astype(numbers.dtype)
    if name.endswith("Unsigned"):
        numbers, border = np.ascontiguousarray(numbers).view(np.uint32), border.reshape(1).view(np.uint32)[0]
    return np.asarray(_COMPARE[name.removesuffix("Unsigned")](numbers, border))


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {"Equal": np.equal, "Less": np.less, "Greater": np.greater}
