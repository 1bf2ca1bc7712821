"""What a stage must leave as it found it: levels and types that its engine does not touch (domain: section 3).

Where cells move, the execution compares what a stage says of them with where they stand (claims).
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.checks_cells import Found, alike, followed, places_at
from simulator.facts import Facts, Place

_UNITS = ("chip", "cluster", "slice")
KEPT: dict[str, tuple[str, ...]] = {
    "fetch_table_lookup": (*_UNITS, "time", "packet"),
    "fetch_cast": (*_UNITS, "time", "packet"),
    "fetch_zero_point_sub": (*_UNITS, "time", "packet"),
    "switch": ("chip", "cluster", "packet", "dtype"),
    "collect": (*_UNITS, "dtype"),
    "to_trf": (*_UNITS, "time", "packet", "dtype"),
    "to_vrf": (*_UNITS, "time", "packet", "dtype"),
    "contract_outer": (*_UNITS, "dtype"),
    "contract_packet": (*_UNITS, "time"),
    "contract_time": (*_UNITS, "packet", "dtype"),
    "contract_lane": (*_UNITS, "dtype"),
    "vector": ("chip", "cluster"),
    "cast": (*_UNITS, "time"),
    "transpose": (*_UNITS, "dtype"),
    "commit": (*_UNITS, "time"),
}
"""Levels, and the element type, that a step passes on."""


def claim_mismatch(facts: Facts) -> Found:
    """A stage says of levels that it does not touch what the stage before says of them."""
    for place in followed(facts, *KEPT):
        for level in KEPT[place.stage.step]:
            yield from _kept(place, level)
    for place in places_at(facts, "dma"):
        yield from _moved(place)


def _kept(place: Place, level: str) -> Found:
    stated, given = getattr(place.stage, level), getattr(place.before, level)
    if stated == given or (level != "dtype" and alike(place.layouts, stated, given)):
        return
    yield place.broken(f"`{place.stage.step}` of `{place.op.program}` does not change {level}", stated, given)


def _moved(place: Place) -> Found:
    """A transfer's stage states its end in data memory; its Time is 1 and its packet the element there."""
    held = [e for e in (place.entry("write"), place.entry("read")) if e is not None]
    if not held:
        return
    wanted = {level: str(getattr(held[0], level)) for level in (*_UNITS, "dtype")} | {"packet": held[0].element}
    for level, text in (wanted | {"time": "1"}).items():
        stated = getattr(place.stage, level)
        if stated != text and (level == "dtype" or not alike(place.layouts, stated, text)):
            yield place.broken(f"the transfer of `{held[0].tensor}` states another {level}", stated, text)


CHECKS: dict[str, Callable[[Facts], Found]] = {"claim_mismatch": claim_mismatch}
