"""Rules of the Switch Engine."""

from __future__ import annotations

from models.faults import Rule

_SIZES = "seed 001, interface: a switch keeps the number of slices; domain section 2"
_REGULAR = "seed 001, regular configurations; domain section 5"
_CUSTOM = "seed 001, custom configuration, constraints; domain section 5"

RULES: tuple[Rule, ...] = (
    Rule(
        "slice_size_mismatch", "Input and output Slice of a switch have the same number of slices.", _SIZES, solver=True
    ),
    Rule("switch_slice_count", "A ring spans 64, 128 or 256 slices.", _SIZES),
    Rule(
        "switch_parameters",
        "A switch configuration is one of seven kinds and has exactly the parameters of its kind.",
        _REGULAR,
    ),
    Rule(
        "switch_parameter_not_power_of_two",
        "slice1 and slice0 of a switch configuration are powers of two.",
        _REGULAR,
        solver=True,
    ),
    Rule(
        "switch_groups_exceed_slice",
        "slice1 x slice0 of a switch configuration divides the number of slices.",
        _REGULAR,
        solver=True,
    ),
    Rule(
        "switch_time_split",
        "time0 is at least 1, and the input Time divides by time0 (InterTranspose: by slice1 x time0).",
        _REGULAR,
        solver=True,
    ),
    Rule(
        "inter_transpose_needs_all_slices",
        "The Slice of an InterTranspose spans all 256 slices.",
        "seed 001, InterTranspose: size constraints; domain section 5",
        solver=True,
    ),
    Rule(
        "switch_slice_shape",
        "The output Slice of a regular configuration is the one it makes of the input, slots filled by broadcasts.",
        _REGULAR,
        solver=True,
    ),
    Rule(
        "switch_time_shape",
        "The output Time of a regular configuration is the one it makes of the input.",
        _REGULAR,
        solver=True,
    ),
    Rule(
        "transpose_keeps_time",
        "Transpose and Forwarding leave Time as it is.",
        "seed 001, Transpose: input and output Time agree; domain section 5",
        solver=True,
    ),
    Rule(
        "broadcast_not_new",
        "What fills a broadcast slot is new: the input carries it in no Slice, Time, Packet, Chip or Cluster.",
        _CUSTOM,
        solver=True,
    ),
    Rule(
        "broadcast_used_more_than_once",
        "Every digit stands in the output Slice of a switch once.",
        _CUSTOM,
        solver=True,
    ),
    Rule("broadcast_padded", "A named broadcast axis is not padded.", _CUSTOM, solver=True),
    Rule(
        "slot_promises_zeros",
        "Padding in a broadcast slot promises no zeros: its slices listen to nothing.",
        "domain section 5: the padding positions of `1 # n` listen to nothing",
    ),
    Rule(
        "moved_order_not_preserved",
        "Digits that a custom configuration moves from Slice to Time keep their order.",
        _CUSTOM,
        solver=True,
    ),
    Rule(
        "moved_not_innermost",
        "Digits that a custom configuration moves from Slice to Time stand innermost there.",
        _CUSTOM,
        solver=True,
    ),
    Rule(
        "custom_time_not_kept",
        "A custom configuration carries the input Time through unchanged.",
        "domain section 5: in Time is carried through unchanged",
        solver=True,
    ),
    Rule("dropped_live_values", "A value that a custom configuration drops is padding.", _CUSTOM, solver=True),
    Rule(
        "output_not_held",
        "The output of a switch needs only values that the input holds and that leave their place.",
        _CUSTOM,
        solver=True,
    ),
    Rule("ring_size_not_power_of_two", "The ring size is a power of two.", _CUSTOM, solver=True),
    Rule(
        "ring_size_mismatch",
        "The ring size is the smallest in which every slice finds its sources in its own aligned block.",
        _CUSTOM,
        solver=True,
    ),
)
