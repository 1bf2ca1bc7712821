"""Rules of the transpose engine (seed 003; domain: section 9)."""

from __future__ import annotations

from models.faults import Rule

_TABLE = "seed 003, table of parameters"
_STEPS = "seed 003, the five steps; domain section 9"

RULES: tuple[Rule, ...] = (
    Rule("transpose_type", "A transpose moves elements of 4, 8, 16 or 32 bits; i5 and i9 are staged only.", _TABLE),
    Rule("packet_not_one_flit", "The packets before and behind a transpose are exactly one flit.", _STEPS),
    Rule(
        "packet_beyond_valid_size",
        "A flit holds at most valid_size live elements in front, 16 with dual packing, and padding alone behind them.",
        "seed 003, unpack: 4- and 32-bit elements have no dual packing",
    ),
    Rule("too_many_rows", "The matrix has at most 16, 8, 4, 2 rows for 4, 8, 16, 32 bits.", _TABLE),
    Rule(
        "transpose_in_cols",
        "A row of the matrix has 8, 16 or 32 columns (16 or 32 for 4 bits): packets_per_col x valid_size.",
        _TABLE,
        solver=True,
    ),
    Rule("transpose_out_rows", "Trim keeps at most as many rows as the transposed matrix has.", _STEPS),
    Rule(
        "transpose_padding_rows",
        "Trim drops rows from the end alone: padding between live rows stays in out Time, as `E # 8`.",
        _STEPS,
    ),
    Rule(
        "transpose_packet_mismatch",
        "The packet behind a transpose holds the rows, padded to one flit: the time steps right outside of those that"
        " make a row.",
        _STEPS,
        solver=True,
    ),
    Rule(
        "transpose_time_mismatch",
        "Time behind a transpose is the outer Time, then the packets of a row, then the elements of a packet.",
        _STEPS,
        solver=True,
    ),
    Rule(
        "transpose_drops_live",
        "Trim is meant for padding rows; one that drops live rows is a selection.",
        "seed 003, trim: it removes padding rows",
        warning=True,
    ),
)
