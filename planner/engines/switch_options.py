"""What the switch calculator answers with: one option per way to get from a layout to another (command line page)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from models.layout import Stream
from models.mapping import Mapping, text
from planner.engines import switch_cost as cost
from planner.engines.base import Ground
from planner.engines.switch_moves import SwitchCandidate


@dataclass(frozen=True, slots=True)
class Option:
    """One way: a configuration, a Composition of `passes`, AxisLifting or Dma.

    `cycles` is the book's number, `pass_cycles` what the passes or the transfer take in a schedule; `holds` are all
    contexts held, the pass's own included, `occupies` those beside it. `in_time` is the Time that a pass is to fetch.
    """

    kind: str
    label: str
    pass_cycles: int
    cycles: int
    out_slice: Mapping
    out_time: Mapping
    holds: frozenset[str]
    occupies: tuple[str, ...] = ()
    slice1: int | None = None
    slice0: int | None = None
    time0: int | None = None
    ring_size: int | None = None
    candidate: SwitchCandidate | None = None
    in_time: Mapping | None = None
    passes: tuple[Option, ...] = ()
    note: str = ""

    def document(self) -> dict[str, Any]:
        """The pinned JSON of an option."""
        out: dict[str, Any] = {
            "kind": self.kind,
            "slice1": self.slice1,
            "slice0": self.slice0,
            "time0": self.time0,
            "ring_size": self.ring_size,
            "cycles": self.cycles,
            "occupies": list(self.occupies),
            "pass_cycles": self.pass_cycles,
            "out_time": text(self.out_time),
        }
        if self.passes:
            out["passes"] = [p.as_pass() for p in self.passes]
        if self.note:
            out["note"] = self.note
        return out

    def as_pass(self) -> dict[str, Any]:
        """The same as a part of a composition, with the Time to fetch and the Slice that leaves."""
        in_time = {} if self.in_time is None else {"in_time": text(self.in_time)}
        return self.document() | in_time | {"out_slice": text(self.out_slice)}


def rank(option: Option) -> tuple[int, int, int, str]:
    """Cheapest first, then fewest contexts held, then fewest passes."""
    return option.pass_cycles, len(option.holds), len(option.passes), option.label


def of_candidate(ground: Ground, stream: Stream, found: SwitchCandidate) -> Option:
    """The option of one configuration; ranking goes by the definition's number, not by the documented exception."""
    settings, config = found.outcome.settings, found.config
    flits = settings["flits_per_packet"]
    steps = max(found.outcome.steps, found.out.time.size * flits)
    defined = cost.defined_cycles(settings["ring_size"], stream.time.size, flits)
    note = "" if settings["cycles"] == defined else f"the book states {settings['cycles']}, its definition {defined}"
    return Option(
        config.kind,
        found.label,
        cost.pass_cycles(ground.hardware, steps),
        settings["cycles"],
        found.out.slice,
        found.out.time,
        frozenset({ground.context, *settings["occupies"]}),
        tuple(settings["occupies"]),
        config.slice1,
        config.slice0,
        config.time0,
        settings["ring_size"],
        found,
        stream.time,
        note=note,
    )


def of_two(first: Option, second: Option) -> Option:
    """Two passes, one after the other; the first commits and the second fetches again."""
    return Option(
        "Composition",
        f"{first.label} then {second.label}",
        first.pass_cycles + second.pass_cycles,
        first.cycles + second.cycles,
        second.out_slice,
        second.out_time,
        first.holds | second.holds,
        tuple(dict.fromkeys((*first.occupies, *second.occupies))),
        ring_size=max(first.ring_size or 1, second.ring_size or 1),
        passes=(first, second),
    )
