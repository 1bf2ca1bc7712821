"""Rules of the fetch engine and its adapter (domain: section 4)."""

from __future__ import annotations

from models.faults import Rule

_FETCH = "book, fetch engine; domain section 4"
_ADAPTER = "book, fetch adapter; domain section 4"

RULES: tuple[Rule, ...] = (
    Rule(
        "fetch_placement",
        "Fetch keeps Chip, Cluster and Slice; axis lifting replaces broadcast slots alone, by digits the buffer holds.",
        "book, fetch engine, axis lifting; domain section 4",
    ),
    Rule("fetch_not_addressable", "Time and Packet name digits of the buffer, or axes that it lacks.", _FETCH),
    Rule(
        "fetch_padding_kind",
        "A stream promises zero padding only where the buffer holds it.",
        "domain section 1: strictness bottom < zero < top",
    ),
    Rule("live_cell_unread", "A fetch reads every live cell of its view.", _FETCH),
    Rule(
        "tile_digit",
        "A tile is taken along one digit of the buffer, at most as long as it.",
        "kernel-file page, tiles",
        kind="file",
    ),
    Rule("tile_overrun", "A stream of a tile stays inside of it.", "kernel-file page, tiles"),
    Rule("interleave", "An interleave reads two tensors of equal mappings by an axis of size 2 in Time.", _FETCH),
    Rule(
        "packet_alignment",
        "A packet that enters Switch or Collect is a multiple of 8 bytes, measured after the fetch cast.",
        _FETCH,
    ),
    Rule(
        "read_size",
        "A read takes whole bytes on Main and 8 bytes on Sub out of each contiguous run of the packet.",
        _FETCH,
        solver=True,
    ),
    Rule("fetch_cast_over_flit", "What a fetch cast makes of one read fits one flit.", _ADAPTER, solver=True),
    Rule(
        "fetch_cast_types",
        "Fetch casts: i4, i8, i16 to i32; f8e4m3, f8e5m2, bf16 to f32; f32 to bf16; to the same type.",
        _ADAPTER,
    ),
    Rule("fetch_table_types", "Tables: f4e2m1 to f8e4m3 or f8e5m2; f8e4m3 and f8e5m2 to bf16.", _ADAPTER),
    Rule("zero_point_types", "Zero-point subtraction makes i5 of i4 and i9 of i8.", _ADAPTER),
    Rule("zero_point_range", "A zero point is a value of the source type.", _ADAPTER),
)
