"""Rules of the reduction among slices (domain: section 8)."""

from __future__ import annotations

from models.faults import Rule

_RULES = "book, inter-slice reducer, constraints; domain section 8"

RULES: tuple[Rule, ...] = (
    Rule(
        "inter_slice_ratio", "The innermost, contiguous Slice factors are reduced, those outside of them stay.", _RULES
    ),
    Rule(
        "inter_slice_slot",
        "A freed slot becomes padding `1 # n`, a new broadcast axis, or an axis promoted from Time.",
        _RULES,
    ),
    Rule(
        "inter_slice_time_mismatch",
        "Time behind the reducer is Time without the promoted factors, the others in their order.",
        _RULES,
    ),
    Rule(
        "inter_slice_padding",
        "Padding in the reduced slices is folded with the rest: it must hold the identity, as a reduction inside the"
        " slices of the same axis and operation leaves it.",
        "project: no valid count generator stands before the inter-slice reducer",
    ),
    Rule(
        "inter_slice_padding_unknown",
        "Padding in the reduced slices is folded with the rest; whether it holds the identity cannot be told here.",
        "project: no valid count generator stands before the inter-slice reducer",
        warning=True,
    ),
    Rule(
        "inter_slice_cycles_guess",
        "The cycles of an inter-slice reduction are a law that was fitted at one point.",
        "cycles page, passes: 281 + max(N, 9 r t - 3)",
        warning=True,
    ),
)
