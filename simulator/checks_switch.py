"""Switch configurations once more: slots, shapes and what a custom bitmap may do (domain: section 5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.cells import LIVE, Cells, tensor_cells
from models.mapping import Mapping, Pad, Padding, axis_names, nodes, terms
from models.plan import Stage
from simulator.checks_cells import ZERO, Digit, Found, digits, followed, same_live
from simulator.facts import Facts, Place

Ints = NDArray[np.int64]
CUSTOM, INTER = "CustomBroadcast", "InterTranspose"
PARAMETERS: dict[str, tuple[str, ...]] = {
    "Forwarding": (),
    "Broadcast01": ("slice1", "slice0", "time0"),
    "Broadcast1": ("slice1", "slice0"),
    "Transpose": ("slice1", "slice0"),
    INTER: ("slice1", "slice0", "time0"),
    "TransposedBroadcast1": ("slice1", "slice0"),
    CUSTOM: ("ring_size",),
}
_SHAPES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Forwarding": (("slice2", "slice1", "slice0"), ("time1", "time0")),
    "Broadcast01": (("slice2", "X", "Y"), ("time1", "slice1", "time0", "slice0")),
    "Broadcast1": (("slice2", "X", "slice0"), ("time1", "time0", "slice1")),
    "Transpose": (("slice2", "slice0", "slice1"), ("time1", "time0")),
    INTER: (("slice2", "X", "slice0"), ("time2", "time0", "slice1")),
    "TransposedBroadcast1": (("slice2", "Y", "slice1"), ("time1", "time0", "slice0")),
}
"""Slots of the output Slice and the output Time, outermost first: the table of regular configurations."""


@dataclass(frozen=True, slots=True)
class Switched:
    """A switch stage with its configuration, its input, and the sizes of its slots."""

    place: Place
    before: Stage
    config: dict[str, Any]
    sizes: dict[str, int]

    @property
    def kind(self) -> str:
        """The configuration."""
        return str(self.config["kind"])

    @property
    def stage(self) -> Stage:
        """The stage itself."""
        return self.place.stage

    def positions(self, slots: tuple[str, ...]) -> dict[str, Ints]:
        """The value of every slot at every position of a level made of those slots."""
        grids = np.indices([self.sizes[s] for s in slots], dtype=np.int64)
        return {slot: grid.reshape(-1) for slot, grid in zip(slots, grids, strict=True)}

    def input_slice(self, at: dict[str, Ints]) -> Ints:
        """Input slices of given slot values; a slot that is not given stands at 0."""
        zero = np.zeros_like(next(iter(at.values())))
        s2, s1, s0 = (at.get(s, zero) for s in ("slice2", "slice1", "slice0"))
        return (s2 * self.sizes["slice1"] + s1) * self.sizes["slice0"] + s0

    def input_time(self, at: dict[str, Ints]) -> Ints:
        """Input time steps of given slot values."""
        zero = np.zeros_like(next(iter(at.values())))
        parts = ("time2", "time1", "time0") if self.kind == INTER else ("time1", "time0")
        out = zero
        for part in parts:
            out = out * self.sizes[part] + at.get(part, zero)
        return out


def switches(facts: Facts) -> Iterator[Switched]:
    """Every switch that has an input, with the parameters that its configuration states."""
    for place in followed(facts, "switch"):
        assert place.before is not None
        config = {key: value for key, value in place.stage.settings["config"].items() if value is not None}
        yield Switched(place, place.before, config, {})


def _regular(facts: Facts) -> Iterator[Switched]:
    """Regular switches whose parameters make sense, with the sizes of their slots."""
    for found in switches(facts):
        slices, time = (found.place.size(t) for t in (found.before.slice, found.before.time))
        slice1, slice0 = int(found.config.get("slice1", 1)), int(found.config.get("slice0", 1))
        time0 = int(found.config.get("time0", 1))
        time1 = slice1 if found.kind == INTER else time // max(1, time0)
        unsplit = time % max(1, time0 * (time1 if found.kind == INTER else 1))
        if found.kind not in _SHAPES or min(slice1, slice0, time0) < 1 or slices % (slice1 * slice0) or unsplit:
            continue
        sizes = {"slice2": slices // (slice1 * slice0), "slice1": slice1, "slice0": slice0, "X": slice1, "Y": slice0}
        sizes |= {"time0": time0, "time1": time1, "time2": time // (time1 * time0)}
        yield Switched(found.place, found.before, found.config, sizes)


def slice_size_mismatch(facts: Facts) -> Found:
    """As many slices leave as enter."""
    for found in switches(facts):
        given, left = found.place.size(found.before.slice), found.place.size(found.stage.slice)
        if given != left:
            yield found.place.broken("a switch keeps the number of slices", left, given)


def switch_slice_count(facts: Facts) -> Found:
    """64, 128 or 256 slices."""
    geometry = facts.plan.hardware.geometry
    for found in switches(facts):
        size = found.place.size(found.before.slice)
        if size < geometry.min_slices or size > geometry.slices_per_cluster or size & (size - 1):
            yield found.place.broken("a ring spans 64, 128 or 256 slices", size, "64, 128 or 256")


def switch_parameters(facts: Facts) -> Found:
    """One of seven kinds, with the parameters of its kind."""
    for found in switches(facts):
        wanted = PARAMETERS.get(found.kind)
        if wanted is None:
            yield found.place.broken("there is no such configuration", found.kind, ", ".join(PARAMETERS))
            continue
        given = set(found.config) - {"kind"}
        # a ring size may stand beside a regular kind, since it is derived; a custom one may leave it to the stage
        if given - {"ring_size"} != set(wanted) - {"ring_size"}:
            yield found.place.broken(f"{found.kind} has other parameters", ", ".join(sorted(given)), ", ".join(wanted))


def switch_parameter_not_power_of_two(facts: Facts) -> Found:
    """slice1 and slice0."""
    for found in switches(facts):
        for name in ("slice1", "slice0"):
            value = int(found.config.get(name, 1))
            if value < 1 or value & (value - 1):
                yield found.place.broken(f"{name} is no power of two", value, "a power of two")


def switch_groups_exceed_slice(facts: Facts) -> Found:
    """slice1 x slice0 divides the slices."""
    for found in switches(facts):
        slices = found.place.size(found.before.slice)
        group = int(found.config.get("slice1", 1)) * int(found.config.get("slice0", 1))
        if group < 1 or slices % group:
            yield found.place.broken("slice1 x slice0 does not divide the slices", group, f"a divisor of {slices}")


def switch_time_split(facts: Facts) -> Found:
    """Time divides by time0, for InterTranspose by slice1 x time0."""
    for found in switches(facts):
        time, part = found.place.size(found.before.time), int(found.config.get("time0", 1))
        part *= int(found.config.get("slice1", 1)) if found.kind == INTER else 1
        if part < 1 or time % part:
            yield found.place.broken(
                "Time does not divide into the configuration's parts", part, f"a divisor of {time}"
            )


def inter_transpose_needs_all_slices(facts: Facts) -> Found:
    """InterTranspose spans every slice."""
    most = facts.plan.hardware.geometry.slices_per_cluster
    for found in switches(facts):
        if found.kind == INTER and found.place.size(found.before.slice) != most:
            yield found.place.broken("an InterTranspose spans all slices", found.place.size(found.before.slice), most)


# Shapes of the regular kinds ------------------------------------------------------------------------------


def _shape_of_slice(found: Switched) -> tuple[Cells, Cells, Ints] | None:
    """The cells of the output Slice, those of the input slice that each keeps, and the slot values beside it."""
    slots = _SHAPES[found.kind][0]
    if found.place.size(found.stage.slice) != found.place.size(found.before.slice):
        return None
    at = found.positions(slots)
    layouts = found.place.layouts
    kept = [(layouts.mapping(found.before.slice), found.input_slice(at))]
    if found.kind == INTER:
        kept.append((layouts.mapping(found.before.time), found.input_time({"time1": at["X"]})))
    slot = np.zeros_like(at["slice2"])
    for name in ("X", "Y") if found.kind != INTER else ():
        slot = slot * found.sizes[name] + at[name] if name in at else slot
    return layouts.inner(found.stage.slice), tensor_cells(kept), slot


def switch_slice_shape(facts: Facts) -> Found:
    """What a regular configuration keeps of the Slice stands where it puts it; a slot decides for itself alone."""
    for found in _regular(facts):
        shape = _shape_of_slice(found)
        if shape is None:
            continue
        out, kept, slot = shape
        first = slot == 0
        wrong = np.asarray((out.kind == LIVE) != (kept.kind == LIVE)) & first
        for axis in out.index.keys() | kept.index.keys():
            zero = np.int64(0)
            change = np.broadcast_to(out.index.get(axis, zero) - kept.index.get(axis, zero), slot.shape)
            own = np.zeros(int(slot.max()) + 1, dtype=np.int64)
            own[slot[::-1]] = change[::-1]
            wrong |= (out.kind == LIVE) & ((change != own[slot]) | (first & (change != 0)))
        if wrong.any():
            message = f"the output Slice is not what {found.kind} makes of the input"
            yield found.place.broken(
                f"{message}, first at slice {int(wrong.argmax())}", found.stage.slice, found.before.slice
            )


def _time_of(facts: Facts, *, kept: bool) -> Found:
    for found in _regular(facts):
        slots = _SHAPES[found.kind][1]
        if (found.kind in ("Transpose", "Forwarding")) is not kept:
            continue
        at = found.positions(slots)
        layouts = found.place.layouts
        wanted = tensor_cells(
            [
                (layouts.mapping(found.before.slice), found.input_slice(at)),
                (layouts.mapping(found.before.time), found.input_time(at)),
            ]
        )
        out = layouts.inner(found.stage.time)
        if out.kind.shape != wanted.kind.shape or not same_live(out, wanted):
            message = f"the output Time is not what {found.kind} makes of the input"
            yield found.place.broken(message, found.stage.time, f"{', '.join(slots)} of {found.before.time}")


def switch_time_shape(facts: Facts) -> Found:
    """The output Time of a configuration that moves slices into it."""
    return _time_of(facts, kept=False)


def transpose_keeps_time(facts: Facts) -> Found:
    """Transpose and Forwarding leave Time alone."""
    return _time_of(facts, kept=True)


# What fills a slot ----------------------------------------------------------------------------------------


def input_digits(found: Switched) -> dict[str, tuple[Digit, ...]]:
    """Digits of the input's Slice, of its Time, and of all else."""
    before = found.before
    around = (before.chip, before.cluster, before.packet)
    layouts = found.place.layouts
    return {
        "slice": digits(layouts, before.slice),
        "time": digits(layouts, before.time),
        "around": digits(layouts, *around),
    }


def _cast_through(found: Switched) -> tuple[Digit, ...]:
    """Digits of the output Slice that the input does not have there: they fill broadcast slots."""
    layouts, known = found.place.layouts, input_digits(found)
    return tuple(d for d in digits(layouts, found.stage.slice) if not d.meets(known["slice"]))


def broadcast_not_new(facts: Facts) -> Found:
    """A slot's digit stands nowhere in the input; InterTranspose fills its slot from Time."""
    for found in switches(facts):
        known = input_digits(found)
        carried = known["around"] if found.kind == INTER else (*known["around"], *known["time"])
        old = [d.text for d in _cast_through(found) if d.meets(carried)]
        old += [d.text for d in _slot_digits(found) if d.meets(known["slice"])]
        if old:
            yield found.place.broken("a broadcast slot is filled from the input", ", ".join(old), "a new axis")


def _slot_digits(found: Switched) -> tuple[Digit, ...]:
    """Digits of the output Slice in the broadcast slots of a regular configuration, where its terms end there."""
    slots = _SHAPES.get(found.kind, ((), ()))[0]
    sizes = {"X": int(found.config.get("slice1", 1)), "Y": int(found.config.get("slice0", 1))}
    sizes |= {"slice1": sizes["X"], "slice0": sizes["Y"]}
    if found.kind == INTER or not {"X", "Y"} & set(slots):
        return ()
    low, taken = 1, []
    spans = []
    for slot in reversed(slots[1:]):
        spans.append((slot, low, low * sizes[slot]))
        low *= sizes[slot]
    below = 1
    for term in reversed(terms(found.place.layouts.mapping(found.stage.slice))):
        inside = any(s in ("X", "Y") and a <= below and below * term.size <= b for s, a, b in spans)
        taken += list(digits(found.place.layouts, str(term))) if inside and term.size > 1 else []
        below *= term.size
    return tuple(taken)


def broadcast_used_more_than_once(facts: Facts) -> Found:
    """No digit stands in the output Slice twice."""
    for found in switches(facts):
        held = digits(found.place.layouts, found.stage.slice)
        twice = [d.text for i, d in enumerate(held) if d.meets(held[:i])]
        if twice:
            yield found.place.broken("a digit stands in the output Slice twice", ", ".join(twice), "each digit once")


def broadcast_padded(facts: Facts) -> Found:
    """A named broadcast of a custom configuration is not padded."""
    for found in switches(facts):
        if found.kind != CUSTOM:
            continue
        layouts = found.place.layouts
        known = axis_names(layouts.mapping(found.before.slice)) | axis_names(layouts.mapping(found.before.time))
        padded = [
            str(node)
            for node in nodes(layouts.mapping(found.stage.slice))
            if isinstance(node, Pad)
            and node.size > node.inner.size
            and axis_names(node)
            and not axis_names(node) & known
        ]
        if padded:
            yield found.place.broken("a named broadcast is padded", ", ".join(padded), "the axis as it is")


def slot_promises_zeros(facts: Facts) -> Found:
    """Padding of a slot promises nothing: its slices hear nothing."""
    for found in _regular(facts):
        shape = _shape_of_slice(found)
        if shape is not None and ((shape[0].kind == ZERO) & (shape[1].kind != ZERO)).any():
            yield found.place.broken("the padding of a slot promises zeros", found.stage.slice, "`1 # n`")
    for found in switches(facts):
        if found.kind == CUSTOM and _anonymous_zeros(found.place, found.stage.slice, found.before.slice):
            yield found.place.broken("the padding of a slot promises zeros", found.stage.slice, "`1 # n`")


def _anonymous_zeros(place: Place, after: str, before: str) -> bool:
    def zeros(text: str) -> list[Mapping]:
        found = nodes(place.layouts.mapping(text))
        return [n for n in found if isinstance(n, Pad) and n.kind == Padding.ZERO and not axis_names(n)]

    return any(n not in zeros(before) for n in zeros(after))


CHECKS: dict[str, Callable[[Facts], Found]] = {
    "slice_size_mismatch": slice_size_mismatch,
    "switch_slice_count": switch_slice_count,
    "switch_parameters": switch_parameters,
    "switch_parameter_not_power_of_two": switch_parameter_not_power_of_two,
    "switch_groups_exceed_slice": switch_groups_exceed_slice,
    "switch_time_split": switch_time_split,
    "inter_transpose_needs_all_slices": inter_transpose_needs_all_slices,
    "switch_slice_shape": switch_slice_shape,
    "switch_time_shape": switch_time_shape,
    "transpose_keeps_time": transpose_keeps_time,
    "broadcast_not_new": broadcast_not_new,
    "broadcast_used_more_than_once": broadcast_used_more_than_once,
    "broadcast_padded": broadcast_padded,
    "slot_promises_zeros": slot_promises_zeros,
}
