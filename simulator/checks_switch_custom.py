"""Custom switch configurations once more: what moves, what is dropped, how large a ring is (domain: section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE, Cells
from models.mapping import Mapping, pair, terms
from simulator.checks_cells import Found, alike, digits
from simulator.checks_switch import CUSTOM, Switched, input_digits, switches
from simulator.facts import Facts


@dataclass(frozen=True, slots=True)
class _Moves:
    """Terms of the output Time: those of the input Time, those moved from Slice, and those that nothing holds."""

    kept: tuple[Mapping, ...]
    moved: tuple[Mapping, ...]
    strange: tuple[Mapping, ...]
    innermost: bool


def _moves(found: Switched) -> _Moves:
    layouts, known = found.place.layouts, input_digits(found)
    parts: dict[str, list[Mapping]] = {"kept": [], "moved": [], "strange": []}
    order = ""
    for term in terms(layouts.mapping(found.stage.time)):
        own = digits(layouts, str(term))
        where = "kept"
        if any(d.meets(known["slice"]) for d in own):
            where = "moved"
        elif own and not any(d.meets(known["time"]) for d in own):
            where = "strange"
        parts[where].append(term)
        order += "m" if where == "moved" and term.size > 1 else "k" if term.size > 1 else ""
    innermost = "mk" not in order
    return _Moves(tuple(parts["kept"]), tuple(parts["moved"]), tuple(parts["strange"]), innermost)


def _customs(facts: Facts) -> Iterator[tuple[Switched, _Moves]]:
    return ((found, _moves(found)) for found in switches(facts) if found.kind == CUSTOM)


def moved_order_not_preserved(facts: Facts) -> Found:
    """Digits keep the order that they have in the input Slice."""
    for found, moves in _customs(facts):
        held = input_digits(found)["slice"]
        order = []
        for digit in (d for term in moves.moved for d in digits(found.place.layouts, str(term))):
            rank = next((i for i, d in enumerate(held) if d.overlaps(digit)), 0)
            order.append((rank, -digit.stride))
        if order != sorted(order):
            yield found.place.broken("digits moved from Slice change their order", found.stage.time, found.before.slice)


def moved_not_innermost(facts: Facts) -> Found:
    """Moved digits stand behind the input Time."""
    for found, moves in _customs(facts):
        if not moves.innermost:
            yield found.place.broken(
                "digits moved from Slice stand outside of Time", found.stage.time, found.before.time
            )


def custom_time_not_kept(facts: Facts) -> Found:
    """The input Time goes through."""
    for found, moves in _customs(facts):
        if not alike(found.place.layouts, str(pair(*moves.kept)), found.before.time):
            yield found.place.broken("the input Time is changed", found.stage.time, found.before.time)


def dropped_live_values(facts: Facts) -> Found:
    """Every cell of the input Slice arrives somewhere."""
    for found, moves in _customs(facts):
        layouts = found.place.layouts
        given = layouts.inner(found.before.slice)
        taken = layouts.inner(found.stage.slice, str(pair(*moves.moved)))
        axes = tuple(sorted(given.index))
        if not axes:
            continue
        arrived = {row.tobytes() for row in _rows(taken, axes)}
        lost = [row for row in _rows(given, axes) if row.tobytes() not in arrived]
        if lost:
            values = dict(zip(axes, (int(i) for i in lost[0]), strict=True))
            yield found.place.broken(f"{len(lost)} live values are dropped", values, "padding alone")


def _rows(found: Cells, axes: tuple[str, ...]) -> NDArray[np.int64]:
    """The different live cells on some axes, one row each."""
    zero = np.int64(0)
    live = np.asarray(found.kind == LIVE)
    columns = [np.broadcast_to(found.index.get(a, zero), found.kind.shape)[live] for a in axes]
    return np.unique(np.stack(columns, axis=1).astype(np.int64), axis=0)


def output_not_held(facts: Facts) -> Found:
    """Time names what the input has, and not what stays in its Slice."""
    for found in switches(facts):
        strange = _moves(found).strange
        if strange:
            names = ", ".join(map(str, strange))
            yield found.place.broken("the output Time needs values that the input lacks", names, found.before.time)


def ring_size_not_power_of_two(facts: Facts) -> Found:
    """A ring is a power of two."""
    for found in switches(facts):
        ring = int(found.stage.settings["ring_size"])
        if ring < 1 or ring & (ring - 1):
            yield found.place.broken("the ring size is no power of two", ring, "a power of two")


CHECKS: dict[str, Callable[[Facts], Found]] = {
    "moved_order_not_preserved": moved_order_not_preserved,
    "moved_not_innermost": moved_not_innermost,
    "custom_time_not_kept": custom_time_not_kept,
    "dropped_live_values": dropped_live_values,
    "output_not_held": output_not_held,
    "ring_size_not_power_of_two": ring_size_not_power_of_two,
}
