"""Rules of the reduction inside a slice (seed 004; domain: section 8)."""

from __future__ import annotations

from models.faults import Rule

_REDUCE = "seed 004, parameters of the call"
_PADDING = "seed 004, padding of the reduced axis"

RULES: tuple[Rule, ...] = (
    Rule(
        "op_not_supported",
        "A slice reduces i32 with AddSat, Max, Min and f32 with Add, Max, Min; slices among each other i32 with Add,"
        " AddSat, Max, Min and f32 with Add, Max, Min, Mul.",
        "seed 004, operations; book, inter-slice reducer; domain section 8",
    ),
    Rule("reduce_axis_remains", "Every factor of the reduced axis leaves Time and Packet.", _REDUCE),
    Rule("reduce_axis_missing", "The reduced axis stands in Time or Packet.", _REDUCE),
    Rule(
        "reduce_time_mismatch",
        "Time behind a reduction is Time without the factors of the reduced axis, and nothing else is left out.",
        _REDUCE,
    ),
    Rule(
        "reduce_packet_mismatch",
        "The packet stays as it is, or holds nothing but the reduced axis and a tree leaves `1 # 4`.",
        "seed 004, reduction in Packet",
    ),
    Rule(
        "too_many_slots",
        "The factors inner to the outermost reduced one take a slot each, at most 8.",
        "seed 004, reduction in Time: InnerTime::SIZE <= 8",
    ),
    Rule(
        "identity_padding",
        "Padding that is relied on holds the identity of the reduction: `#{0}`, or what the tensor's `pad` says.",
        _PADDING + "; kernel-file page, `pad`",
    ),
    Rule(
        "identity_behind_transform",
        "No transform that cannot be inverted stands between identity padding and the reduction.",
        _PADDING + ": no p has exp(p) = 0",
    ),
    Rule(
        "vcg_not_expressible",
        "The valid count generator has three time filters and one packet clipper, and not every placement is a setting"
        " of them.",
        "book, valid count generator; domain section 8 and known contradictions",
        warning=True,
    ),
)
