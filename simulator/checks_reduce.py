"""Reductions inside a slice and among slices once more (seed 004; domain: section 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import numpy as np

from models.cells import LIVE
from models.kernel import DmaOp
from models.mapping import Broadcast, Mapping, Pad, Padding, axis_names, nodes, terms
from simulator.bench import spatial
from simulator.checks_cells import Digit, Found, alike, digits, grouped, same_order
from simulator.checks_settings import inner_time
from simulator.checks_vector import INTER, Link, links
from simulator.facts import Facts
from simulator.loading import pad_value
from simulator.values import Bits, decode, integer_range

INTRA = "intra_slice_reduce"
_OPS: dict[str, dict[str, tuple[str, ...]]] = {
    INTRA: {"i32": ("addsat", "max", "min"), "f32": ("add", "max", "min")},
    INTER: {"i32": ("add", "addsat", "max", "min"), "f32": ("add", "max", "min", "mul")},
}
_SUMS = frozenset({"add", "addsat"})
_LAYOUT_ONLY = frozenset({"tag", "stash", "narrow_split", "narrow_trim", "widen_concat", "widen_pad"})
_INVERTIBLE = {
    "fp_unary": frozenset({"sqrt", "tanh", "erf"}),
    "fp_binary": frozenset({"addf", "add", "subf", "sub", "mulf", "mul"}),
    "fxp": frozenset({"addfxp", "addfxpsat", "subfxp", "subfxpsat", "mulint"}),
}


def _op(link: Link) -> str:
    return str(link.settings.get("op")).lower()


def _axis(link: Link) -> str:
    return str(link.settings.get("axis") or link.settings.get("value"))


def op_not_supported(facts: Facts) -> Found:
    """What the reducers fold with, by type."""
    for link in links(facts):
        legal = _OPS.get(link.name, {}).get(link.before.dtype, ())
        if link.name in _OPS and _op(link) not in legal:
            message = f"`{link.name}` has no {_op(link)} of {link.before.dtype}"
            yield link.place.broken(message, _op(link), ", ".join(legal))


def _reductions(facts: Facts) -> Iterator[tuple[Link, str]]:
    return ((link, _axis(link)) for link in links(facts) if link.name == INTRA)


def reduce_axis_remains(facts: Facts) -> Found:
    """Nothing of the axis is left in Time and Packet."""
    for link, axis in _reductions(facts):
        stage, layouts = link.place.stage, link.place.layouts
        if axis in axis_names(layouts.mapping(stage.time)) | axis_names(layouts.mapping(stage.packet)):
            yield link.place.broken(f"{axis} is reduced and stays", f"{stage.time} by {stage.packet}", f"no {axis}")


def reduce_axis_missing(facts: Facts) -> Found:
    """The axis is there."""
    for link, axis in _reductions(facts):
        before, layouts = link.before, link.place.layouts
        if axis not in axis_names(layouts.mapping(before.time)) | axis_names(layouts.mapping(before.packet)):
            yield link.place.broken(f"{axis} is reduced and is not there", f"{before.time} by {before.packet}", axis)


def _at_zero(link: Link, text: str, axis: str) -> Bits:
    """Positions of a mapping where every term of an axis stands at 0; by position, since padding has no index."""
    expr = link.place.layouts.mapping(text)
    at, below, keep = np.arange(expr.size, dtype=np.int64), expr.size, np.ones(expr.size, dtype=np.bool_)
    for term in terms(expr):
        below //= term.size
        if axis in axis_names(term):
            keep &= at // below % term.size == 0
    return keep


def reduce_time_mismatch(facts: Facts) -> Found:
    """Time without the axis, in its order."""
    for link, axis in _reductions(facts):
        before, stage = link.before, link.place.stage
        if not same_order(link.place.layouts, stage.time, before.time, _at_zero(link, before.time, axis)):
            yield link.place.broken(f"Time behind the reduction is not Time without {axis}", stage.time, before.time)


def reduce_packet_mismatch(facts: Facts) -> Found:
    """The packet stays, or a tree folds all of it."""
    for link, axis in _reductions(facts):
        layouts, before, after = link.place.layouts, link.before.packet, link.place.stage.packet
        names = axis_names(layouts.mapping(before))
        if axis not in names:
            fits = alike(layouts, after, before)
        else:
            fits = names == {axis} and alike(layouts, after, f"1 # {layouts.size(before)}")
        if not fits:
            yield link.place.broken("the packet is neither kept nor folded whole", after, before)


def too_many_slots(facts: Facts) -> Found:
    """Sums that run side by side."""
    for link, axis in _reductions(facts):
        layouts, most = link.place.layouts, link.place.hardware.vector.time_slots
        if axis in axis_names(layouts.mapping(link.before.time)):
            slots = inner_time(link.place, link.before, link.place.stage)
            if slots > most:
                yield link.place.broken("too many sums run side by side", slots, f"at most {most}")


# Padding --------------------------------------------------------------------------------------------------


def _relied_on(facts: Facts) -> Iterator[tuple[Link, str, str]]:
    """Reductions that rely on their padding, with the axis and the op or step that no padding survives."""
    for link, axis in _reductions(facts):
        if link.settings.get("mask") == "identity" and _padding(link, axis):
            yield link, axis, _blocking(link)


def _padding(link: Link, axis: str) -> list[Pad]:
    """Paddings of the axis that a live slice folds."""
    layouts, before = link.place.layouts, link.before
    found = [n for t in (before.time, before.packet) for n in nodes(layouts.mapping(t))]
    for term in terms(layouts.mapping(before.slice)):
        found += [n for n in nodes(term) if n is not term and not isinstance(term, Pad)]
    return [n for n in found if isinstance(n, Pad) and axis in axis_names(n) and n.size > n.inner.size]


def _blocking(link: Link) -> str:
    inside = [s.step for s in link.place.stages[: link.place.at] if s.step.startswith("contract_")]
    ops = (d for d in link.done if d.name not in _LAYOUT_ONLY and d.name != "fxp_to_fp")
    return next((f"{d.name} {_written(d)}" for d in ops if not _invertible(d)), inside[0] if inside else "")


def _written(link: Link) -> str:
    return str(link.settings.get("op") or link.settings.get("value") or "").lower()


def _invertible(link: Link) -> bool:
    return _written(link) in _INVERTIBLE.get(link.name, ()) and not link.settings.get("guards")


def identity_behind_transform(facts: Facts) -> Found:
    """No padding becomes an identity behind a transform that cannot be inverted."""
    for link, axis, blocking in _relied_on(facts):
        if blocking:
            yield link.place.broken(
                f"{blocking} stands between the padding of {axis} and its reduction", blocking, "vcg"
            )


def identity_padding(facts: Facts) -> Found:
    """Padding that is relied on holds the identity when it arrives."""
    for link, axis, blocking in _relied_on(facts):
        if blocking:
            continue
        wanted, dtype = _identity(link), link.before.dtype
        held = {_arriving(link, _held(facts, link, pad)) for pad in _padding(link, axis)}
        if held != {wanted}:
            yield link.place.broken(
                f"the padding of {axis} is not the identity of {dtype}", sorted(map(str, held)), wanted
            )


def _identity(link: Link) -> float:
    low, high = (-inf, inf) if link.before.dtype == "f32" else integer_range("i32")
    return {"max": float(low), "min": float(high)}.get(_op(link), 0.0)


def _held(facts: Facts, link: Link, pad: Pad) -> float | None:
    """What a padding held in HBM when its buffer was loaded; None where nobody knows."""
    if pad.kind is Padding.ZERO:
        return 0.0
    tensor = _origin(facts, link)
    if tensor is None or pad.kind is not Padding.TOP:
        return None
    name, known = tensor
    source = facts.plan.kernel.tensors[name]
    return _number(source.pad, source.dtype) if pad in known else None


def _origin(facts: Facts, link: Link) -> tuple[str, set[Mapping]] | None:
    """The HBM tensor from which the pass's buffer was loaded, and the paddings that the buffer has of it."""
    name = str(link.place.stages[0].settings["reads"][0])
    entry = link.place.run.entry(name)
    if entry is None:
        return None
    for access in facts.writers.get(facts.root(entry.tensor), ()):
        source = facts.bench.kernel_ops.get(access.op.base)
        if isinstance(source, DmaOp) and str(source.read) in facts.plan.kernel.tensors:
            layouts = facts.bench.layouts
            return str(source.read), {n for t in (entry.slice, entry.element) for n in nodes(layouts.mapping(t))}
    return None


def _number(pad: str, dtype: str) -> float | None:
    """The number that `pad` writes in a type."""
    if pad == "poison":
        return None
    return float(decode(np.atleast_1d(pad_value(pad, dtype)), dtype)[0])


def _arriving(link: Link, value: float | None) -> float | None:
    """A padding's value behind the ops before the reduction; None where an operand is not known."""
    for done in link.done:
        if value is None or done.name in _LAYOUT_ONLY:
            continue
        value = _FOLLOW[done.name](done, value)
    return value


def _unary(link: Link, value: float) -> float | None:
    with np.errstate(all="ignore"):
        table: dict[str, Callable[[float], Any]] = {"sqrt": np.sqrt, "tanh": np.tanh, "erf": np.sign}
        # erf meets its border at infinity alone, where it is the sign; 0 stays 0
        out = float(table[_written(link)](value))
    exact = _written(link) != "erf" or value in (0.0, inf, -inf)
    return out if exact and out == out else None


def _binary(link: Link, value: float) -> float | None:
    arguments = [
        value if place == "0" else link.settings.get("operand") for place in str(link.settings.get("mode") or "01")
    ]
    if any(not isinstance(a, int | float) for a in arguments):
        return None
    left, right = (np.float64(a) for a in arguments if a is not None)
    name = _written(link)
    with np.errstate(all="ignore"):
        out = left + right if name.startswith("add") else left - right if name.startswith("sub") else left * right
    return None if np.isnan(out) else float(out)


def _to_float(link: Link, value: float) -> float | None:
    return value / float(2 ** (31 - int(link.settings.get("value") or 0)))


_FOLLOW: dict[str, Callable[[Link, float], float | None]] = {
    "fp_unary": _unary,
    "fp_binary": _binary,
    "fxp": _binary,
    "fxp_to_fp": _to_float,
}


# Among slices ---------------------------------------------------------------------------------------------


def _rings(facts: Facts) -> Iterator[tuple[Link, int]]:
    """Reductions among slices with their ratio: as stated, or the least outside of which both Slices agree; 0: none."""
    for link in links(facts):
        if link.name == INTER:
            yield link, _ratio(link)


def _ratio(link: Link) -> int:
    before, after, layouts = link.before.slice, link.place.stage.slice, link.place.layouts
    size = layouts.size(before)
    if layouts.size(after) != size or alike(layouts, before, after):
        return 0
    stated = link.settings.get("ratio")
    tried = range(2, size + 1) if stated is None else (int(stated),)
    cut = ((n, f"{grouped(before)} / {n}", f"{grouped(after)} / {n}") for n in tried if n > 1 and size % n == 0)
    return next((n for n, one, other in cut if alike(layouts, one, other)), 0)


def inter_slice_ratio(facts: Facts) -> Found:
    """Slices outside of the folded ones stay."""
    for link, ratio in _rings(facts):
        if not ratio:
            message = "the output Slice is not the input with its innermost factors replaced"
            yield link.place.broken(message, link.place.stage.slice, link.before.slice)


def _freed(link: Link, ratio: int) -> list[Mapping]:
    """Terms of the output Slice in the freed slots, outermost first."""
    below = 1
    found: list[Mapping] = []
    for term in reversed(terms(link.place.layouts.mapping(link.place.stage.slice))):
        if below >= ratio:
            break
        found.insert(0, term)
        below *= term.size
    return [t for t in found if t.size > 1]


def _promoted(link: Link, ratio: int) -> list[Digit]:
    """Digits of the freed slots that come from Time."""
    layouts, time = link.place.layouts, digits(link.place.layouts, link.before.time)
    return [d for term in _freed(link, ratio) for d in digits(layouts, str(term)) if d.meets(time)]


def inter_slice_slot(facts: Facts) -> Found:
    """Padding, a new axis, or a factor of Time."""
    for link, ratio in _rings(facts):
        layouts, before = link.place.layouts, link.before
        gone = digits(layouts, before.slice)
        around = digits(layouts, before.packet, before.chip, before.cluster)
        for term in _freed(link, ratio) if ratio else ():
            own = digits(layouts, str(term))
            padded = [n for n in nodes(term) if isinstance(n, Pad) and n.inner.size > 1]
            anonymous = not axis_names(term) and not padded
            named = own and not any(d.meets(gone) or d.meets(around) for d in own)
            fresh = named and not (padded and not any(d.meets(digits(layouts, before.time)) for d in own))
            if not (anonymous or fresh or isinstance(term, Broadcast)):
                yield link.place.broken(
                    "this cannot fill a freed slot", str(term), "`1 # n`, a new axis, a factor of Time"
                )


def inter_slice_time_mismatch(facts: Facts) -> Found:
    """Time without the promoted factors, in its order."""
    for link, ratio in _rings(facts):
        if not ratio:
            continue
        before, layouts = link.before.time, link.place.layouts
        found = layouts.inner(before)
        keep = np.ones(found.kind.shape, dtype=np.bool_)
        for digit in _promoted(link, ratio):
            for axis in axis_names(digit.base):
                keep &= found.index[axis] // digit.stride % digit.size == 0
        if not same_order(layouts, link.place.stage.time, before, keep):
            yield link.place.broken("Time behind the reducer is another one", link.place.stage.time, before)


def inter_slice_padding(facts: Facts) -> Found:
    """Padding among folded slices holds what a reduction of the same axis and operation leaves."""
    for link, ratio in _rings(facts):
        if ratio and not _neutral(link) and _mixed(link, ratio):
            message = "padding in the reduced slices is folded with the data"
            yield link.place.broken(message, link.before.slice, "an intra_slice_reduce of the axis before it")


def _mixed(link: Link, ratio: int) -> bool:
    """Whether live slices and padding are folded into each other at some step."""
    before = link.before
    kind = link.place.layouts.identity(spatial(before), (before.time, before.packet)).kind
    if not kind.any() or kind.shape[0] == 1:
        return False
    live = (kind == LIVE).reshape(-1, ratio, *kind.shape[1:])
    return bool((live.any(axis=1) & ~live.all(axis=1)).any())


def _neutral(link: Link) -> bool:
    done = [d for d in link.done if d.name not in _LAYOUT_ONLY - {"stash"}]
    if not done or done[-1].name != INTRA:
        return False
    same = _op(done[-1]) == _op(link) or {_op(done[-1]), _op(link)} <= _SUMS
    return same and _axis(done[-1]) in axis_names(link.place.layouts.mapping(link.before.slice))


CHECKS: dict[str, Callable[[Facts], Found]] = {
    "op_not_supported": op_not_supported,
    "reduce_axis_remains": reduce_axis_remains,
    "reduce_axis_missing": reduce_axis_missing,
    "reduce_time_mismatch": reduce_time_mismatch,
    "reduce_packet_mismatch": reduce_packet_mismatch,
    "too_many_slots": too_many_slots,
    "identity_padding": identity_padding,
    "identity_behind_transform": identity_behind_transform,
    "inter_slice_ratio": inter_slice_ratio,
    "inter_slice_slot": inter_slice_slot,
    "inter_slice_time_mismatch": inter_slice_time_mismatch,
    "inter_slice_padding": inter_slice_padding,
}
