"""Whether a switch is legal, by enumerating every cell of input and output: the definition, without algebra.

An output slice takes packets from input slices. For the regular kinds the domain page's table says which; a custom
one may take, per input step, the packets of any slices in ascending order. Legal is what gives every output cell
the value it names, drops nothing alive, and fills slots with what is new.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from models.cells import LIVE, all_cells, cells
from models.kernel import SwitchConfig
from models.mapping import Mapping, Pad, axis_names, nodes
from tests.planner.engines.switch_pairs import SwitchPair

Ints = np.ndarray


def held_names(pair: SwitchPair) -> list[str]:
    return sorted(axis_names(pair.in_slice) | axis_names(pair.in_time) | axis_names(pair.packet))


def codes(names: list[str], slice_: Mapping, time: Mapping, packet: Mapping) -> Ints:
    """One number per cell [slice, time, packet]: equal numbers are equal cells along `names`; below 0 is padding."""
    found = all_cells(slice_, time, packet)
    shape = (slice_.size, time.size, packet.size)
    kind = np.broadcast_to(found.kind, shape).astype(np.int64)
    code = np.zeros(shape, dtype=np.int64)
    for name in names:
        code = code * 1024 + found.index.get(name, np.int64(0))
    return np.where(kind == LIVE, code, -kind)


def legal(pair: SwitchPair) -> bool:
    return sources(pair) is not None


def sources(pair: SwitchPair) -> list[list[int]] | None:
    """The slices that each output slice takes packets from, ascending; None where the switch is illegal."""
    if pair.out_slice.size != pair.in_slice.size or not _slots_are_sound(pair):
        return None
    names = held_names(pair)
    before = codes(names, pair.in_slice, pair.in_time, pair.packet)
    after = codes(names, pair.out_slice, pair.out_time, pair.packet)
    if not (axis_names(pair.out_time) <= set(names)):
        return None
    judge = _custom if pair.config.kind == "CustomBroadcast" else _regular
    return judge(pair, before, after)


def _silent(pair: SwitchPair, after: Ints) -> Ints:
    """Output slices that are padding through and through because of Slice alone."""
    at = np.arange(pair.out_slice.size, dtype=np.int64)
    alone = np.broadcast_to(cells(pair.out_slice, at).kind, at.shape) != LIVE
    return alone & (after < 0).all(axis=(1, 2))


def _slots_are_sound(pair: SwitchPair) -> bool:
    """Rules 2 and 3: every new digit once, no new axis padded."""
    known = set(held_names(pair))
    for node in nodes(pair.out_slice):
        if isinstance(node, Pad) and axis_names(node) and not axis_names(node) & known:
            return False
    offsets: Counter[tuple[str, int]] = Counter()
    for bit in range(pair.out_slice.size.bit_length() - 1):
        cell = cells(pair.out_slice, np.array([1 << bit], dtype=np.int64))
        offsets.update((n, int(v.ravel()[0])) for n, v in cell.index.items() if n not in known and v.ravel()[0] > 0)
    return all(n == 1 for n in offsets.values())


def regular_sources(config: SwitchConfig, slices: int, time: int) -> tuple[Ints, Ints, Ints] | None:
    """Source slice and source step of every output position [slice, time], and which slices stand in slots."""
    s1, s0, t0 = config.slice1 or 1, config.slice0 or 1, config.time0 or 1
    r = np.arange(slices)
    s2, x, y = r // (s1 * s0), r // s0 % s1, r % s0
    moved = {"Broadcast01": s1 * s0, "Broadcast1": s1, "TransposedBroadcast1": s0}.get(config.kind, 1)
    u = np.arange(time * moved)
    if config.kind == "Broadcast01":
        u, c0 = np.divmod(u, s0)
        u, b0 = np.divmod(u, t0)
        b1, c1 = np.divmod(u, s1)
        source = (s2[:, None] * s1 + c1) * s0 + c0
        return source, np.broadcast_to(b1 * t0 + b0, source.shape), (x > 0) | (y > 0)
    if config.kind == "Broadcast1":
        t, c1 = np.divmod(u, s1)
        source = (s2[:, None] * s1 + c1) * s0 + y[:, None]
        return source, np.broadcast_to(t, source.shape), x > 0
    if config.kind == "TransposedBroadcast1":
        y2, c1 = r // s1 % s0, r % s1
        t, c0 = np.divmod(u, s0)
        source = (s2[:, None] * s1 + c1[:, None]) * s0 + c0
        return source, np.broadcast_to(t, source.shape), y2 > 0
    still = np.zeros(slices, dtype=bool)
    if config.kind == "InterTranspose":
        u, c1 = np.divmod(u, s1)
        b2, b0 = np.divmod(u, t0)
        source = (s2[:, None] * s1 + c1) * s0 + y[:, None]
        return source, (b2 * s1 + x[:, None]) * t0 + b0, still
    source = r if config.kind == "Forwarding" else (s2 * s1 + r % s1) * s0 + r // s1 % s0
    return np.broadcast_to(source[:, None], (slices, time)), np.broadcast_to(u, (slices, time)), still


def _regular(pair: SwitchPair, before: Ints, after: Ints) -> list[list[int]] | None:
    found = regular_sources(pair.config, before.shape[0], before.shape[1])
    source, step, in_slot = found
    if source.shape != after.shape[:2]:
        return None
    if _names_what_stays(pair, in_slot):
        return None
    same = (before[source, step] == after).all(axis=(1, 2))
    silent = in_slot & _silent(pair, after)
    if not (same | silent).all():
        return None
    return [[] if silent[r] else sorted(set(source[r].tolist())) for r in range(len(source))]


def _names_what_stays(pair: SwitchPair, in_slot: Ints) -> bool:
    """Whether a new axis stands where no slot is."""
    known = set(held_names(pair))
    stays = np.array([r for r in (1 << b for b in range(len(in_slot).bit_length() - 1)) if not in_slot[r]])
    if not len(stays):
        return False
    index = cells(pair.out_slice, stays).index
    return any(np.broadcast_to(v, stays.shape).any() for name, v in index.items() if name not in known)


def _custom(pair: SwitchPair, before: Ints, after: Ints) -> list[list[int]] | None:
    slices, time, _ = before.shape
    steps, rest = divmod(after.shape[1], time)
    if rest:
        return None
    wanted = after.reshape(slices, time, steps, -1)
    silent = _silent(pair, after)
    rows: list[list[int]] = []
    for r in range(slices):
        row: list[int] = []
        for j in range(0 if silent[r] else steps):
            fits = np.flatnonzero((before == wanted[r, :, j][None]).all(axis=(1, 2)))
            later = fits[fits > (row[-1] if row else -1)]
            if not later.size:
                return None
            row.append(int(later[0]))
        rows.append(row)
    values, times = np.unique(after[after >= 0], return_counts=True)
    everything = np.array_equal(values, np.unique(before[before >= 0]))
    # a digit that stands twice makes some values come more often than others
    return rows if everything and len(set(times.tolist())) <= 1 else None
