"""Snoop bitmaps: the plan's spelled out, and the simulator's own, found by enumerating output cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE, Cells, tensor_cells
from models.mapping import Axis, Mapping, pair
from simulator.layouts import Layouts
from simulator.values import Bits

Ints = NDArray[np.int64]
_PADDING = -1


def expand(bitmap: dict[str, Any], slices: int) -> Bits:
    """[output slice, input slice]: output slice r listens to pattern[r % period] + (r // period) * period."""
    pattern, period = bitmap["pattern"], int(bitmap["period"])
    out = np.zeros((slices, slices), dtype=np.bool_)
    for r in range(slices):
        for source in pattern[r % period]:
            at = int(source) + r // period * period
            if 0 <= at < slices:
                out[r, at] = True
    return out


def regular(config: dict[str, Any], slices: int) -> Bits:
    """The bitmap of a regular configuration, from the table's notation with an axis of its own per slot."""
    slice1, slice0 = int(config.get("slice1") or 1), int(config.get("slice0") or 1)
    s2, s1, s0 = Axis("S2", slices // (slice1 * slice0)), Axis("S1", slice1), Axis("S0", slice0)
    x, y = Axis("X", slice1), Axis("Y", slice0)
    made: dict[str, tuple[Mapping, Mapping]] = {
        "Forwarding": (pair(s2, s1, s0), pair()),
        "Broadcast01": (pair(s2, x, y), pair(s1, s0)),
        "Broadcast1": (pair(s2, x, s0), s1),
        "Transpose": (pair(s2, s0, s1), pair()),
        "InterTranspose": (pair(s2, x, s0), s1),
        "TransposedBroadcast1": (pair(s2, y, s1), s0),
    }
    where, moved = made[config["kind"]]
    held = _enumerated(pair(s2, s1, s0), pair(), 1)
    needed = _enumerated(where, moved, moved.size)
    sizes = {"S2": s2.size, "S1": slice1, "S0": slice0}
    source = np.empty(slices, dtype=np.int64)
    source[_numbers(held, sizes)[:, 0]] = np.arange(slices)
    out = np.zeros((slices, slices), dtype=np.bool_)
    out[np.arange(slices)[:, None], source[_numbers(needed, sizes)]] = True
    return out


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a custom bitmap is to bring about, by the cells of the first input step; numbers below 0 are padding.

    `held` [input slices]: the cell that each holds. `needed` [output slices, packets per step]: the cells that each is
    to get. `live` [output slices]: whether Slice alone puts anything there.
    """

    held: Ints
    needed: Ints
    live: Bits

    @property
    def leaves_padding(self) -> bool:
        """Whether some input slices hold padding and more than one packet goes where a step came: a digit may travel
        without its padding (partial extraction).
        """
        return self.needed.shape[1] > 1 and bool((self.held == _PADDING).any())

    def flaw(self, hears: Bits) -> int | None:
        """The first output slice that listens to another set of slices than one that brings just what it needs.

        Of copies any will do: every packet comes from one slice that holds its cell, and no slice is heard in vain.
        """
        nobody = np.iinfo(np.int64).max
        heard = np.sort(np.where(hears, self.held[None, :], nobody), axis=1)
        needed = np.sort(self.needed, axis=1)
        count = needed.shape[1]
        wrong = (heard[:, :count] != needed).any(axis=1) | (heard[:, count:] != nobody).any(axis=1)
        rows = np.flatnonzero(wrong & self.live)
        return int(rows[0]) if len(rows) else None

    def sources(self, router: int) -> list[int]:
        """Slices that bring an output slice what it needs, in the order in which it needs it."""
        return [int(s) for s in self._in_order(self.ring())[router] if s != _PADDING]

    def ring(self, hears: Bits | None = None) -> int:
        """The smallest power of two such that every live output slice finds its packets in its own block, in order.

        The whole ring where no order of the slices will do. Where padding travels, any padding would do for it, so that
        the slices that the bitmap `hears` are counted too.
        """
        ring, slices = 1, len(self.held)
        while ring < slices and (self._in_order(ring)[self.live] == _PADDING).any():
            ring *= 2
        if hears is None or not (self.needed[self.live] == _PADDING).any():
            return ring
        router, source = np.nonzero(hears & self.live[:, None])
        while (router // ring != source // ring).any():
            ring *= 2
        return ring

    def _in_order(self, ring: int) -> Ints:
        """[output slices, packets per step]: of the holders in the own block the first behind the one before."""
        slices, packets = self.needed.shape
        at = np.arange(slices, dtype=np.int64)
        block = at[:, None] // ring == at[None, :] // ring
        out = np.full((slices, packets), _PADDING, dtype=np.int64)
        last = np.full(slices, -1, dtype=np.int64)
        for k in range(packets):
            fits = block & (self.held[None, :] == self.needed[:, k : k + 1]) & (at[None, :] > last[:, None])
            found = fits.any(axis=1)
            out[found, k] = fits.argmax(axis=1)[found]
            last = np.where(found, out[:, k], slices)
        return out


def custom(layouts: Layouts, before: tuple[str, str], after: tuple[str, str]) -> Wanted:
    """What a custom configuration's bitmap is to bring about, from (Slice, Time) before and after.

    Time is carried through, so that the first input step tells what every step needs: digits add up, and a cell that is
    live at any step is live at the first.

    Raises:
        ValueError: the output has no whole number of packets per input step.

    """
    slice_, time = (layouts.mapping(t) for t in before)
    out_slice, out_time = (layouts.mapping(t) for t in after)
    packets, rest = divmod(out_time.size, time.size)
    if rest:
        raise ValueError(f"{out_time.size} output steps are no multiple of {time.size} input steps")
    source, wanted = _enumerated(slice_, time, 1), _enumerated(out_slice, out_time, packets)
    sizes = {a: 1 + max(int(np.max(c.index[a])) for c in (source, wanted) if a in c.index) for a in source.index}
    held, needed = (np.where(c.kind == LIVE, _numbers(c, sizes), _PADDING) for c in (source, wanted))
    return Wanted(held[:, 0], needed, np.asarray(layouts.inner(after[0]).kind == LIVE).reshape(-1))


def _enumerated(where: Mapping, time: Mapping, steps: int) -> Cells:
    """Cells of every slice at the first steps of Time."""
    at = np.arange(where.size, dtype=np.int64)[:, None]
    return tensor_cells([(where, at), (time, np.arange(steps, dtype=np.int64)[None, :])])


def _numbers(found: Cells, sizes: dict[str, int]) -> Ints:
    out = np.zeros(found.kind.shape, dtype=np.int64)
    for axis, size in sorted(sizes.items()):
        out = out * size + found.index.get(axis, np.int64(0))
    return out
