"""The ring of routers: which slots pass, who copies them, and how many packets an order would have to hold.

A sub-ring of R routers carries one slot per router and input step, in ascending source order; Broadcast01 alone sends
the slots of time0 steps together (domain: end of section 5). Every slot passes every router of its sub-ring, because
the opposite links close the ring. A router copies the slots that its snoop bitmap names or lets them pass; it has
room for the packet in hand and for no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.values import Bits

Ints = NDArray[np.int64]
NOTHING = -1
ROOM = 1
"""Packets that a router can hold."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The slots of one turn: from which place of the sub-ring each comes, and at which of the turn's `steps`."""

    source: Ints
    step: Ints
    steps: int

    @property
    def slots(self) -> int:
        """How many slots pass every router."""
        return len(self.source)


def turn_of(config: dict[str, Any], ring: int) -> Turn:
    """The order in which slots pass; Broadcast01: slice1, then time0, then slice0."""
    if config["kind"] != "Broadcast01":
        return Turn(np.arange(ring, dtype=np.int64), np.zeros(ring, dtype=np.int64), 1)
    slice1, slice0, time0 = (int(config[name]) for name in ("slice1", "slice0", "time0"))
    outer, step, inner = np.meshgrid(np.arange(slice1), np.arange(time0), np.arange(slice0), indexing="ij")
    return Turn((outer * slice0 + inner).ravel(), step.ravel(), time0)


@dataclass(frozen=True, slots=True)
class Copies:
    """What every router copies in one turn, in the order of passing: [slices, copies], NOTHING behind the last."""

    source: Ints
    step: Ints


def copied(turn: Turn, hears: Bits, ring: int, dead: frozenset[int] = frozenset()) -> Copies:
    """Lets one turn pass: a router copies what its row of `hears` names, as far as it comes by.

    A slot of another sub-ring never does. A dead router sends nothing and copies nothing.
    """
    slices = hears.shape[0]
    alive = np.ones(slices, dtype=np.bool_)
    alive[[r for r in dead if r < slices]] = False
    routers = np.arange(slices)[:, None]
    source = routers // ring * ring + turn.source[None, :]
    sent = np.minimum(source, slices - 1)
    takes = (source < slices) & hears[routers, sent] & alive[sent] & alive[routers]
    most = max(1, int(takes.sum(axis=1).max()))
    out = Copies(*(np.full((slices, most), NOTHING, dtype=np.int64) for _ in range(2)))
    who, slot = np.nonzero(takes)
    place = (np.cumsum(takes, axis=1, dtype=np.int32) - 1)[who, slot]
    out.source[who, place] = source[who, slot]
    out.step[who, place] = turn.step[slot]
    return out


def turns_taken(config: dict[str, Any], slices: int, turns: int) -> Ints:
    """The turns in which each router copies at all: [slices, turns taken].

    InterTranspose: only those whose time1 is the router's own place along slice1.
    """
    every = np.arange(turns, dtype=np.int64)
    if config["kind"] != "InterTranspose":
        return np.broadcast_to(every, (slices, turns))
    slice1, slice0, time0 = (int(config[name]) for name in ("slice1", "slice0", "time0"))
    own = np.arange(slices) // slice0 % slice1
    taken = every // time0 % slice1 == own[:, None]
    return np.nonzero(taken)[1].reshape(slices, -1)


def most_held(arrivals: Ints) -> int:
    """How many packets a router holds at most if it emits them in this order of their arrival.

    The k-th packet leaves as soon as it and all that leave before it are there. In order of arrival that is one.
    """
    if len(arrivals) == 0:
        return 0
    left_at = np.maximum.accumulate(arrivals)
    there = np.arange(int(left_at[-1]) + 1)
    come = np.searchsorted(np.sort(arrivals), there, side="right")
    return int((come - np.searchsorted(left_at, there, side="left")).max())
