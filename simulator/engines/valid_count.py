"""The valid count generator: how many elements of every flit are data, from its settings (domain: section 8)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.hardware import Hardware
from simulator.memories import walk_offsets

Ints = NDArray[np.int64]
_TIME_MAJOR = "time_major"
MODES = ("time_only", "slice_major", _TIME_MAJOR)


def valid_counts(settings: dict[str, Any], slices: int, flits: int) -> Ints:
    """[slices, flits]: what the packet clipper says where every time filter says valid, else 0.

    Raises:
        ValueError: a sequencer that does not walk the flits.

    """
    clipper = settings["clipper"]
    left = int(clipper["axis_size"]) - _index(clipper["entries"], flits)
    counts = np.clip(left, 0, int(clipper["span"]))
    valid = np.ones((slices, flits), dtype=np.bool_)
    for one in settings["filters"]:
        valid &= _passes(one, slices, flits)
    return np.where(valid, counts, 0)


def beyond(settings: dict[str, Any], hardware: Hardware) -> tuple[str, object, object] | None:
    """What the generator does not have: what, found, wanted; None where it has all that the settings ask for."""
    unit = hardware.vector
    filters, clipper = settings["filters"], settings["clipper"]
    if len(filters) > unit.vcg_time_filters:
        return "time filters", len(filters), f"at most {unit.vcg_time_filters}"
    longest = max(len(one["entries"]) for one in (*filters, clipper))
    if longest > unit.vcg_filter_entries:
        return "entries of a sequencer", longest, f"at most {unit.vcg_filter_entries}"
    if not 0 <= int(clipper["span"]) <= unit.ways_wide:
        return "a span of the clipper", clipper["span"], f"at most {unit.ways_wide}"
    unknown = next((one["mode"] for one in filters if one["mode"] not in MODES), None)
    return None if unknown is None else ("a mode of a time filter", unknown, ", ".join(MODES))


def _passes(settings: dict[str, Any], slices: int, flits: int) -> NDArray[np.bool_]:
    """A time filter: slices below the threshold pass; the one on it, and in TimeMajor all above, by the index."""
    masked = (np.arange(slices, dtype=np.int64) & int(settings["slice_mask"]))[:, None]
    threshold = int(settings["slice_thres"])
    early = (_index(settings["entries"], flits) < int(settings["time_thres"]))[None, :]
    maybe = masked >= threshold if settings["mode"] == _TIME_MAJOR else masked == threshold
    return np.asarray((masked < threshold) | (maybe & early))


def _index(entries: list[str], flits: int) -> Ints:
    """The index that a sequencer rebuilds at every flit; entries are `size:stride`, outermost first."""
    if not entries:
        return np.zeros(flits, dtype=np.int64)
    walk = tuple((int(size), int(stride)) for size, stride in (e.split(":") for e in entries))
    if int(np.prod([size for size, _ in walk])) != flits:
        raise ValueError(f"the valid count generator's sequencer {entries} does not walk {flits} flits")
    return walk_offsets(walk)


def on_four_ways(settings: dict[str, Any], ways: int, slices: int, flits: int, narrow: int) -> Ints:
    """[slices, flits]: the counts of flits of `narrow` elements, where the generator saw `ways` of them at once.

    A split gives min(v, 4) to the first half and the rest to the second; a trim keeps the first four.
    """
    halves = max(1, ways // narrow)
    counts = valid_counts(settings, slices, flits // halves)
    firsts = np.arange(halves, dtype=np.int64) * narrow
    return np.asarray(np.clip(counts[:, :, None] - firsts, 0, narrow).reshape(slices, -1))
