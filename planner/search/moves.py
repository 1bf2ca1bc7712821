"""Redistributions of a DM tensor before a store: a digit leaves Slice over the ring, so slices hold longer runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from models.hardware import Hardware
from models.kernel import Collect, Commit, Fetch, PassOp, Step, Switch, SwitchConfig, Transpose
from planner.engines import switch_cost
from planner.engines.shapes import elements_in
from planner.search.parts import Part, Parts, fill, joined, size_of, take_major, take_minor, without, written
from planner.search.spec import DmPlace, padded_text

WRITE_BYTES = 8
"""DM is written in whole multiples of this (domain: section 4)."""


@dataclass(frozen=True, slots=True)
class Move:
    """One pass that redistributes a tensor: its steps with `source` and `target` as names, and where it then lies.

    `floor_cycles` is a lower bound of the pass.
    """

    label: str
    gives: DmPlace
    op: PassOp
    floor_cycles: int


def moves(
    hardware: Hardware, bits: int, held: DmPlace, order: tuple[str, ...], source: str, target: str
) -> Iterator[Move]:
    """Every gather of a Slice digit into the element, and every exchange of one for an outer digit of the element.

    `order` lists the tensor's axes as they lie in HBM, outermost first.
    """
    for at, part in enumerate(held.slice):
        if part.axis is None:
            continue
        n = 2
        while n <= part.size:
            kept = take_minor((part,), n)
            if kept is not None:
                yield from _moved(_Setting(hardware, bits, held, order, source, target), at, *kept)
            n *= 2


@dataclass(frozen=True, slots=True)
class _Setting:
    hardware: Hardware
    bits: int
    held: DmPlace
    order: tuple[str, ...]
    source: str
    target: str

    def elements(self, size_bytes: int) -> int:
        return size_bytes * 8 // self.bits


def _moved(setting: _Setting, at: int, rest: Parts, moved: Parts) -> Iterator[Move]:
    n, held = size_of(moved), setting.held
    elements = tuple(p for p in held.element if p.axis is not None)
    swapped = take_major(elements, n) if elements and size_of(elements) % n == 0 else None
    for taken in (fill(n), *(() if swapped is None else (swapped[0],))):
        slice_ = (*held.slice[:at], *rest, *taken, *held.slice[at + 1 :])
        kept = without(elements, taken) if taken[0].axis is not None else elements
        inside = size_of(held.slice[at + 1 :])
        found = _pass(setting, slice_, (kept, moved, taken), inside)
        if found is not None:
            yield replace(found, floor_cycles=_floor(setting, n * inside))


def _floor(setting: _Setting, ring: int) -> int:
    """The ring carries one slot per position for every packet that enters."""
    flit = setting.elements(setting.hardware.geometry.flit_bytes)
    packets = max(1, size_of(setting.held.element) // flit)
    return switch_cost.pass_cycles(
        setting.hardware, switch_cost.pass_steps(setting.hardware, "Broadcast1", ring, packets, 1)
    )


def _ring(moved: Parts, inside: int, time: Parts | None) -> SwitchConfig:
    """The configuration that moves these digits: no other has a smaller ring, so others need not be asked for.

    `inside` counts the slices inside of the digits; `time` is what an exchange leaves where it is, None for a gather.
    """
    if time is None:
        return SwitchConfig(kind="Broadcast1", slice1=size_of(moved), slice0=inside)
    return SwitchConfig(kind="InterTranspose", slice1=size_of(moved), slice0=inside, time0=size_of(time))


def _pass(setting: _Setting, slice_: Parts, digits: tuple[Parts, Parts, Parts], inside: int) -> Move | None:
    (kept, moved, taken), held, hardware = digits, setting.held, setting.hardware
    flit = setting.elements(hardware.geometry.flit_bytes)
    element = joined(sorted((*kept, *moved), key=lambda p: (setting.order.index(p.axis or ""), -p.stride)))
    packet, pad = _packet(setting, kept)
    exchanged = taken[0].axis is not None
    time = without(tuple(p for p in held.element if p.axis is not None), packet)
    stays = without(time, taken) if exchanged else time
    entered = (*taken, *stays) if exchanged else time
    steps: list[Step] = [Fetch(time=written(entered), packet=written((*packet, *pad)))]
    left = (*stays, *moved)
    ring = _ring(moved, inside, stays if exchanged else None)
    steps += [Switch(slice=written(slice_), time=written(left), config=ring), Collect()]
    if pad:
        group = setting.elements(WRITE_BYTES)
        last = element[-1] if element else Part(None, 1, 1, 1)
        digit = replace(last, size=group)
        if last.size % group or not moved or last.stride != moved[-1].stride or last.axis != moved[-1].axis:
            return None
        if moved[-1].size % group:
            return None
        steps.append(Transpose(time=written(without(joined(left), [digit])), packet=padded_text((digit,), flit)))
    steps.append(Commit(write=setting.target, slice=written(slice_), element=written(element)))
    op = PassOp(name=f"move_{setting.source}", read=setting.source, steps=tuple(steps))
    what = f"{written(moved)} for {written(taken)}" if exchanged else f"{written(moved)} gathered"
    return Move(what, DmPlace(held.cluster, slice_, element), op, 0)


def _packet(setting: _Setting, kept: Parts) -> tuple[Parts, Parts]:
    """The innermost digits of the element, up to a flit, and the padding behind a single value."""
    element = setting.held.element
    if element and element[-1].axis is None:
        return (), (element[-1],)
    element = kept
    most = elements_in("i8", setting.hardware.geometry.flit_bytes) * 8 // setting.bits
    size = most
    while size > 1:
        minor = take_minor(element, size) if element and size_of(element) % size == 0 else None
        if minor is not None and len({p.axis for p in minor[1]}) == 1:
            return minor[1], ()
        size //= 2
    return (), ()
