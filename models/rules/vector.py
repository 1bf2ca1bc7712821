"""Rules of the vector engine's chain (domain: section 8); its reducers have rooms of their own."""

from __future__ import annotations

from models.faults import Rule

_CHAIN = "book, intra-slice chain; domain section 8"
_OPERANDS = "book, intra-slice chain, operands; domain section 8"
_SHAPE = "book, intra-slice chain, narrow and widen; domain section 8"

RULES: tuple[Rule, ...] = (
    Rule("vector_type", "The vector engine takes i32 or f32, each op the type of its stage.", _CHAIN),
    Rule("vector_stage_order", "The stages of a chain come in order, none is revisited.", _CHAIN),
    Rule("vector_ways", "Float ops work on 4 ways, all others on 8.", _CHAIN),
    Rule("vector_end", "A chain ends on 8 ways.", _CHAIN),
    Rule("inter_slice_place", "The inter-slice reducer runs before or after the chain, on 8 ways.", _CHAIN),
    Rule("vector_operation", "An op runs an operation that its stage has for its type.", _CHAIN, kind="file"),
    Rule("alu_choice", "An operation runs on an ALU that can do it.", _CHAIN, kind="file"),
    Rule("alu_used_twice", "Each ALU works at most once per pass.", _CHAIN),
    Rule(
        "argument_mode",
        "Modes are 00, 01, 10, 11, and 012, 002, 102, 112, 020, 021, 120 for ternary ops.",
        _OPERANDS,
        kind="file",
    ),
    Rule("operand_count", "Binary ops take one operand, ternary ones two.", _OPERANDS, kind="file"),
    Rule("operand_type", "An operand has the stream's type.", _OPERANDS),
    Rule("operand_axes", "An operand has no live digit that the stream lacks.", "domain section 6"),
    Rule("operand_packet", "One access reads neighbouring cells of an operand, or one cell for all.", _OPERANDS),
    Rule(
        "guarded_operand",
        "A guarded operand is up to three immediates, then at most one register read.",
        _CHAIN,
        kind="file",
    ),
    Rule("tag_comparisons", "A tag is zero or four comparisons with constants.", _CHAIN, kind="file"),
    Rule("stash", "The stash is written once, at a stage that can, and read once at the same type.", _OPERANDS),
    Rule(
        "pair_mode_op",
        "Pairs begin with unzip, end with a zip op, and know no trim, pad, reduce, stash or filter.",
        _CHAIN,
    ),
    Rule(
        "pair_operands",
        "On pairs an op lists its operands per group, null for a group that it leaves; one stream takes `operand`.",
        "book, intra-slice chain, pair mode; kernel-file page, pair operands",
    ),
    Rule("unzip_axis", "An unzip splits an axis of size 2 that stands in Time.", _CHAIN),
    Rule("unzip_time", "The Time of pairs is Time without the unzipped axis.", _CHAIN),
    Rule("narrow_split_mismatch", "Narrowing by split gives Time = [Time, Packet / 4] and Packet % 4.", _SHAPE),
    Rule("narrow_trim_live", "Narrowing by trim drops padding alone.", _SHAPE),
    Rule("narrow_trim_mismatch", "Narrowing by trim keeps the first four elements.", _SHAPE),
    Rule("widen_concat_mismatch", "Widening by concatenation gives Time / 2 and Packet = [Time % 2, Packet].", _SHAPE),
    Rule("widen_pad_mismatch", "Widening by padding gives Packet # 8.", _SHAPE),
)
