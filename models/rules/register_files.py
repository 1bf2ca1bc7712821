"""Rules of the register files: stores into TRF and VRF (domain: section 6, seed 000)."""

from __future__ import annotations

from models.faults import Rule

_TRF = "seed 000, from the collect engine; domain section 6"
_VRF = "seed 000, vector register file; domain section 6"

RULES: tuple[Rule, ...] = (
    Rule("lane_size", "Lane has size 1, 2, 4 or 8.", _TRF),
    Rule("lane_mismatch", "Lane is the outer part of Time, Time / FlitsPerLane.", _TRF),
    Rule(
        "element_mismatch", "Element is [Time % FlitsPerLane, Packet] in the TRF and [Time, Packet] in the VRF.", _TRF
    ),
    Rule(
        "register_padding_kind",
        "A register promises zero padding only where the stream has it.",
        "domain section 1: strictness bottom < zero < top",
    ),
    Rule("trf_dtype", "The TRF holds i4, i5, i8, i9, f8e4m3, f8e5m2 and bf16.", "seed 000; domain section 2"),
    Rule("vrf_dtype", "The VRF holds i32 and f32.", _VRF),
    Rule(
        "exceeds_capacity",
        "A tensor fits its memory: 128 rows per bank of the TRF (64 in a half), 8 KB of VRF, 512 KB of DM per slice.",
        "seed 000, architecture; domain section 2",
    ),
    Rule(
        "short_not_contiguous",
        "A short store wants a fully contiguous access and nothing but fetch and collect before it.",
        "seed 000, from data memory; domain section 6",
        solver=True,
    ),
    Rule(
        "reshape_size_mismatch",
        "A relabelled tensor has as many positions at every level as before.",
        "seed 000, reshape; domain section 6",
    ),
    Rule(
        "reshape_cells_differ",
        "Position by position a relabelled tensor holds the old cell, or names what the old one broadcasts.",
        "seed 000, reshape; domain section 6",
    ),
)
