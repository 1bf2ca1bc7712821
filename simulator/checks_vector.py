"""Chains of the vector engine once more: order, ways, types, ALUs, stash, pairs, shapes (domain: section 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.cells import LIVE
from models.mapping import Axis, terms
from models.plan import Stage
from simulator.checks_cells import (
    Found,
    alike,
    followed,
    grouped,
    live_positions,
    looked_up,
    same_order,
    unheld,
)
from simulator.checks_contraction import register_names
from simulator.facts import Facts, Place
from simulator.values import Bits

ORDER = (
    "tag", "logic", "fxp", "fxp_to_fp", "narrow", "float", "intra_slice_reduce", "fp_div", "widen", "fp_to_fxp",
    "clip", "filter",
)  # fmt: skip
"""Stages of the chain; none is revisited."""
STAGE_OF = {
    "tag": "tag", "unzip": "tag", "logic": "logic", "logic_zip": "logic", "fxp": "fxp", "fxp_zip": "fxp",
    "fxp_to_fp": "fxp_to_fp", "narrow_split": "narrow", "narrow_trim": "narrow", "fp_unary": "float",
    "fp_binary": "float", "fp_ternary": "float", "fp_zip": "float", "intra_slice_reduce": "intra_slice_reduce",
    "fp_div": "fp_div", "widen_concat": "widen", "widen_pad": "widen", "fp_to_fxp": "fp_to_fxp", "clip": "clip",
    "clip_zip": "clip", "filter": "filter",
}  # fmt: skip
_ONCE = frozenset({"narrow", "widen", "fxp_to_fp", "fp_to_fxp", "fp_div"})
_FOUR_WAYS = frozenset({"float", "intra_slice_reduce", "fp_div", "widen"})
_INTEGER, _FLOAT = frozenset({"fxp", "fxp_to_fp"}), frozenset({"float", "fp_div", "fp_to_fxp"})
_CONVERTS = {"fxp_to_fp": "f32", "fp_to_fxp": "i32"}
STASHED_AT = frozenset({"tag", "logic", "fxp", "narrow", "float", "fp_div", "clip"})
_TO_RING = frozenset({"logic", "fxp", "fxp_to_fp", "widen", "fp_to_fxp", "clip"})
_NOT_IN_PAIRS = frozenset({"narrow_trim", "widen_pad", "intra_slice_reduce", "stash", "filter"})
_NOT_BEHIND_ZIP = frozenset({"intra_slice_reduce", "stash", "filter"})
_PER_GROUP = {"logic": 1, "fxp": 1, "fp_binary": 1, "fp_ternary": 2, "fp_div": 1, "clip": 1}
INTER, STASH, _GROUPS = "inter_slice_reduce", "stash", 2


@dataclass(frozen=True, slots=True)
class Link:
    """An op of a chain: its place, its name, the stream before it, and the links before it."""

    place: Place
    before: Stage
    done: tuple[Link, ...]

    @property
    def name(self) -> str:
        """The op."""
        return str(self.place.stage.settings["name"])

    @property
    def settings(self) -> dict[str, Any]:
        """What it is set to."""
        return self.place.stage.settings

    @property
    def stage(self) -> str:
        """The stage of the engine where it runs; that of the op before it for a stash."""
        return STAGE_OF.get(self.name) or self.reached

    @property
    def reached(self) -> str:
        """The last stage before it; empty at the head of a chain."""
        return next((STAGE_OF[d.name] for d in reversed(self.done) if d.name in STAGE_OF), "")

    @property
    def last(self) -> bool:
        """Whether the chain ends here."""
        rest = self.place.stages[self.place.at + 1 :]
        return not rest or rest[0].step != "vector"

    @property
    def paired(self) -> bool | None:
        """Whether it works on pairs; None behind the zip that joined them."""
        zipped = any(d.name.endswith("_zip") for d in self.done)
        return None if zipped else any(d.name == "unzip" for d in self.done)

    @property
    def reads_stash(self) -> bool:
        """Whether the stash is among its operands."""
        guards = [g.get("rf") for g in self.settings.get("guards") or ()]
        return STASH in (self.settings.get("operand"), *(self.settings.get("operands") or ()), *guards)


def links(facts: Facts) -> Iterator[Link]:
    """Every op of every chain."""
    done: tuple[Link, ...] = ()
    for place in followed(facts, "vector"):
        assert place.before is not None
        done = done if place.before.step == "vector" else ()
        link = Link(place, place.before, done)
        yield link
        done = (*done, link)


def vector_type(facts: Facts) -> Found:
    """i32 or f32, each stage its own; conversions change it, all else keeps it."""
    for link in links(facts):
        legal = {"i32", "f32"} - ({"f32"} if link.stage in _INTEGER else {"i32"} if link.stage in _FLOAT else set())
        given, left = link.before.dtype, link.place.stage.dtype
        if given not in legal:
            yield link.place.broken(f"`{link.name}` takes no {given}", given, " or ".join(sorted(legal)))
        if left != (wanted := _CONVERTS.get(link.name, given)):
            yield link.place.broken(f"`{link.name}` does not make {left} of {given}", left, wanted)


def vector_stage_order(facts: Facts) -> Found:
    """Down the chain, never back; conversions and changes of width once."""
    for link in links(facts):
        if link.name not in STAGE_OF or not link.reached:
            continue
        steps = ORDER.index(link.stage) - ORDER.index(link.reached)
        if steps < 0 or (steps == 0 and link.stage in _ONCE):
            yield link.place.broken(f"`{link.name}` comes after stage {link.reached}", link.stage, " -> ".join(ORDER))


def vector_ways(facts: Facts) -> Found:
    """Four ways for floats, eight for the rest."""
    for link in links(facts):
        unit, ways = link.place.hardware.vector, link.place.size(link.before.packet)
        wanted = unit.ways_narrow if STAGE_OF.get(link.name) in _FOUR_WAYS else unit.ways_wide
        if ways != wanted and link.name != STASH:
            yield link.place.broken(f"`{link.name}` works on another number of ways", ways, wanted)


def vector_end(facts: Facts) -> Found:
    """Eight ways leave."""
    for link in links(facts):
        ways, wanted = link.place.size(link.place.stage.packet), link.place.hardware.vector.ways_wide
        if link.last and ways != wanted:
            yield link.place.broken("the chain ends on another number of ways", ways, wanted)


def inter_slice_place(facts: Facts) -> Found:
    """First, or last behind a stage that reaches it."""
    for link in links(facts):
        if link.name == INTER and link.done and not (link.last and link.reached in _TO_RING):
            message = "the inter-slice reducer stands inside of the chain"
            yield link.place.broken(message, link.reached, f"first, or last after {', '.join(sorted(_TO_RING))}")


def alu_used_twice(facts: Facts) -> Found:
    """Each ALU once per pass."""
    for link in links(facts):
        alu = link.settings.get("alu")
        if alu and any(d.settings.get("alu") == alu for d in link.done):
            yield link.place.broken(f"`{link.name}` uses an ALU that an op before it uses", alu, "another ALU")


# Operands -------------------------------------------------------------------------------------------------


def operand_type(facts: Facts) -> Found:
    """Operands are of the stream's type."""
    for link in links(facts):
        dtype = link.before.dtype
        for name in register_names(link.place):
            entry = link.place.run.entry(name)
            if entry is not None and entry.dtype != dtype:
                yield link.place.broken(f"`{name}` has another type than the stream", entry.dtype, dtype)
        numbers = [link.settings.get("operand"), *(link.settings.get("operands") or ())]
        broken = [n for n in numbers if isinstance(n, float) and not n.is_integer()]
        if dtype == "i32" and broken:
            yield link.place.broken("a constant is no integer", broken[0], dtype)


def operand_axes(facts: Facts) -> Found:
    """The stream names every cell of an operand, and none of its axes that it does not hold."""
    for link in links(facts):
        for name in register_names(link.place):
            entry = link.place.run.entry(name)
            if entry is None:
                continue
            stream, held, layouts = (link.before.time, link.before.packet), (entry.element,), link.place.layouts
            own = layouts.inner(*held).index.keys() - layouts.inner(*stream).index.keys()
            own = {a for a in own if np.ptp(layouts.inner(*held).index[a])}
            if own or unheld(layouts, held, stream) or unheld(layouts, stream, held):
                message = f"`{name}` has digits that the stream lacks, or lacks some of its axis"
                yield link.place.broken(message, entry.element, f"digits of {', '.join(stream)}")


def operand_packet(facts: Facts) -> Found:
    """One access reads neighbours, or one cell for all."""
    for link in links(facts):
        for name in register_names(link.place):
            entry = link.place.run.entry(name)
            if entry is None:
                continue
            at = looked_up(link.place.layouts, (entry.element,), (link.before.time, link.before.packet))
            steps = np.diff(at, axis=1)[(at[:, 1:] >= 0) & (at[:, :-1] >= 0)]
            if len(np.unique(steps)) > 1 or (steps.size and steps[0] not in (0, 1)):
                message = f"a packet reads neither neighbours nor one cell of `{name}`"
                yield link.place.broken(message, entry.element, link.before.packet)


def stash(facts: Facts) -> Found:
    """Written once where it can be, read once at the same type, lost at the inter-slice reducer."""
    for link in links(facts):
        if link.name == STASH:
            if (link.reached or "tag") not in STASHED_AT:
                yield link.place.broken(
                    "this stage cannot write the stash", link.reached, ", ".join(sorted(STASHED_AT))
                )
            if any(d.name == STASH for d in link.done):
                yield link.place.broken("the stash is written twice", 2, 1)
        elif link.reads_stash:
            yield from _read(link)


def _read(link: Link) -> Found:
    names = [d.name for d in link.done]
    written = names.index(STASH) if STASH in names else -1
    if written < 0 or INTER in names[written:]:
        yield link.place.broken("the stash is read where it holds nothing", link.name, "stash before it")
        return
    if any(d.reads_stash for d in link.done):
        yield link.place.broken("the stash is read twice", 2, 1)
    held, stream = link.done[written].before, link.before
    if held.dtype != stream.dtype:
        yield link.place.broken("the stash has another type than the stream", held.dtype, stream.dtype)


# Pairs ----------------------------------------------------------------------------------------------------


def pair_mode_op(facts: Facts) -> Found:
    """Pairs begin with unzip, end with a zip, and know fewer ops."""
    for link in links(facts):
        barred = _NOT_IN_PAIRS if link.paired else _NOT_BEHIND_ZIP if link.paired is None else frozenset()
        if link.name in barred:
            yield link.place.broken(f"`{link.name}` does not work on pairs", link.name, "an op that does")
        if link.name.endswith("_zip") and not link.paired:
            yield link.place.broken(f"`{link.name}` joins two groups, there are none", link.name, "unzip before it")
        if link.name == "unzip" and any(d.name != "tag" for d in link.done):
            yield link.place.broken("unzip stands inside of the chain", link.name, "unzip first")
        if link.last and not link.name.endswith("_zip") and (link.paired or link.name == "unzip"):
            yield link.place.broken("the chain ends on pairs", link.name, "a zip op")


def pair_operands(facts: Facts) -> Found:
    """A list of operands has those of one group, or of each; a group has all of its own or none."""
    for link in links(facts):
        listed, per_group = link.settings.get("operands"), _PER_GROUP.get(link.name, 0)
        if listed is None or not per_group:
            continue
        legal = ({per_group} if per_group > 1 else set()) | ({per_group * _GROUPS} if link.paired else set())
        groups = [listed[i : i + per_group] for i in range(0, len(listed), per_group)]
        missing = [sum(o is None for o in group) for group in groups]
        if len(listed) not in legal:
            yield link.place.broken("another number of operands is listed", len(listed), ", ".join(map(str, legal)))
        elif any(missing) and (any(n not in (0, per_group) for n in missing) or all(missing)):
            yield link.place.broken("some operands of a group are left out", listed, "all of a group, or none")


def _unzips(facts: Facts) -> Iterator[tuple[Link, str]]:
    for link in links(facts):
        if link.name == "unzip":
            yield link, str(link.settings.get("axis") or link.settings.get("value"))


def unzip_axis(facts: Facts) -> Found:
    """An axis of size 2 in Time."""
    for link, axis in _unzips(facts):
        if not any(
            isinstance(t, Axis) and t.name == axis and t.size == _GROUPS for t in _terms(link, link.before.time)
        ):
            yield link.place.broken("unzip splits an axis of size 2 that stands in Time", axis, link.before.time)


def _terms(link: Link, text: str) -> tuple[object, ...]:
    return terms(link.place.layouts.mapping(text))


def unzip_time(facts: Facts) -> Found:
    """Time without the axis, also where it is stated beside the op."""
    for link, axis in _unzips(facts):
        layouts, before = link.place.layouts, link.before.time
        index = layouts.inner(before).index.get(axis)
        if index is None:
            continue
        keep = np.broadcast_to(index, layouts.inner(before).kind.shape) == 0
        stated = [
            link.place.stage.time,
            *([str(link.settings["split_time"])] if link.settings.get("split_time") else ()),
        ]
        for time in stated:
            if not same_order(layouts, time, before, keep):
                yield link.place.broken("the Time of pairs is not Time without the axis", time, before)
        tile = link.settings.get("tile_time")
        if tile and not (layouts.inner(str(tile)).kind.shape == keep.shape and _tiled(link, str(tile), keep)):
            yield link.place.broken("the tile's Time is not Time with the axis padded", tile, before)


def _tiled(link: Link, tile: str, keep: Bits) -> bool:
    """Whether a Time holds the cells of one group where the other's places are padding."""
    layouts = link.place.layouts
    out, given = layouts.inner(tile), layouts.inner(link.before.time)
    if not np.array_equal(np.asarray(out.kind == LIVE), keep & (given.kind == LIVE)):
        return False
    zero = np.int64(0)
    axes = out.index.keys() | given.index.keys()
    return all(((out.index.get(a, zero) == given.index.get(a, zero)) | ~keep).all() for a in axes)


# Changes of width -----------------------------------------------------------------------------------------


def _shape(op: str, wanted: Callable[[Link], tuple[str, str]], message: str) -> Callable[[Facts], Found]:
    """A check that an op gives the Time and Packet that it makes of its input."""

    def check(facts: Facts) -> Found:
        for link in links(facts):
            if link.name != op:
                continue
            time, packet = wanted(link)
            stage, layouts = link.place.stage, link.place.layouts
            if not (alike(layouts, stage.time, time) and alike(layouts, stage.packet, packet)):
                yield link.place.broken(message, f"{stage.time} by {stage.packet}", f"{time} by {packet}")

    return check


def _split(link: Link) -> tuple[str, str]:
    ways, packet = link.place.hardware.vector.ways_narrow, grouped(link.before.packet)
    if link.place.size(link.before.packet) % ways:
        return link.before.time, link.before.packet
    return f"{grouped(link.before.time)}, {packet} / {ways}", f"{packet} % {ways}"


def _concat(link: Link) -> tuple[str, str]:
    time = grouped(link.before.time)
    if link.place.size(link.before.time) % _GROUPS:
        return "1", "1"
    return f"{time} / {_GROUPS}", f"{time} % {_GROUPS}, {grouped(link.before.packet)}"


def _pad(link: Link) -> tuple[str, str]:
    ways = max(link.place.hardware.vector.ways_wide, link.place.size(link.before.packet))
    return link.before.time, f"{grouped(link.before.packet)} # {ways}"


def _trim(link: Link) -> tuple[str, str]:
    ways = min(link.place.hardware.vector.ways_narrow, link.place.size(link.before.packet))
    return link.before.time, f"{grouped(link.before.packet)} = {ways}"


def narrow_trim_live(facts: Facts) -> Found:
    """A trim drops padding alone."""
    for link in links(facts):
        live, ways = live_positions(link.place.layouts, link.before.packet), link.place.hardware.vector.ways_narrow
        if link.name == "narrow_trim" and len(live) and live[-1] >= ways:
            yield link.place.broken("a trim drops live elements", int(live[-1]) + 1, f"at most {ways}")


CHECKS: dict[str, Callable[[Facts], Found]] = {
    "vector_type": vector_type,
    "vector_stage_order": vector_stage_order,
    "vector_ways": vector_ways,
    "vector_end": vector_end,
    "inter_slice_place": inter_slice_place,
    "alu_used_twice": alu_used_twice,
    "operand_type": operand_type,
    "operand_axes": operand_axes,
    "operand_packet": operand_packet,
    "stash": stash,
    "pair_mode_op": pair_mode_op,
    "pair_operands": pair_operands,
    "unzip_axis": unzip_axis,
    "unzip_time": unzip_time,
    "narrow_split_mismatch": _shape("narrow_split", _split, "a split gives [Time, Packet / 4] and Packet % 4"),
    "narrow_trim_live": narrow_trim_live,
    "narrow_trim_mismatch": _shape("narrow_trim", _trim, "a trim keeps the first four elements"),
    "widen_concat_mismatch": _shape("widen_concat", _concat, "a concatenation gives Time / 2 and [Time % 2, Packet]"),
    "widen_pad_mismatch": _shape("widen_pad", _pad, "a padding gives Packet # 8"),
}
