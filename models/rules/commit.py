"""Rules of the commit adapter and the commit engine (domain: section 4)."""

from __future__ import annotations

from models.faults import Rule

_ADAPTER = "book, commit adapter; domain section 4"
_COMMIT = "book, commit engine; domain section 4"

RULES: tuple[Rule, ...] = (
    Rule("commit_trim_width", "A trim keeps 8, 16, 24 or 32 bytes of a flit.", _ADAPTER),
    Rule("commit_trim_mismatch", "A trim keeps the leading elements of a flit.", _ADAPTER),
    Rule("commit_cast_types", "The commit cast makes bf16 of f32.", _ADAPTER),
    Rule("commit_cast_width", "The commit cast takes a trimmed packet of 16 or 32 bytes.", _ADAPTER),
    Rule("relu_needs_cast", "ReLU belongs to the commit cast.", _ADAPTER, kind="file"),
    Rule("commit_slice_mismatch", "A commit writes the Slice that the stream has.", _COMMIT),
    Rule("commit_not_addressable", "Time and Packet name digits that the destination holds.", _COMMIT),
    Rule(
        "commit_padding_kind",
        "A destination promises zero padding only where the stream has it.",
        "domain section 1: strictness bottom < zero < top",
    ),
    Rule("commit_stride", "The strides of a commit are multiples of 8 bytes.", _COMMIT, solver=True),
    Rule("live_cell_unwritten", "A commit writes every live cell of its destination view.", _COMMIT, solver=True),
    Rule("cell_written_twice", "A commit writes a cell once.", _COMMIT, solver=True),
    Rule("commit_past_end", "A commit writes inside of its destination.", _COMMIT, solver=True),
    Rule("tile_layout", "All tiles of a tensor state one layout.", "kernel-file page, tiles", kind="file"),
)
