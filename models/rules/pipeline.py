"""Rules of the pipeline as a whole: order of steps, contexts, geometry, sequencers (domain: sections 2 and 3)."""

from __future__ import annotations

from models.faults import Rule

_ORDER = "book, computing tensors; domain section 3, legal next steps"
_CONTEXT = "book, computing tensors, execution contexts; domain section 3"
_GEOMETRY = "book, tensor unit; domain section 2"
_SEQUENCER = "book, sequencer; domain section 2"

RULES: tuple[Rule, ...] = (
    Rule("illegal_next_step", "The steps of a pass follow each other as the pipeline's engines do.", _ORDER),
    Rule("pass_without_store", "A pass ends in to_trf, to_vrf or commit.", _ORDER),
    Rule(
        "zero_point_without_contraction",
        "Behind a zero-point subtraction only a contraction may follow the collect.",
        "domain section 3: zero_point_sub -> switch, collect (then only contract_outer)",
    ),
    Rule(
        "sub_context_step",
        "Contraction and fetch table look-up run in the main context only.",
        _CONTEXT,
        solver=True,
    ),
    Rule("sub_commit_cast", "A commit cast runs in the main context only.", _CONTEXT, solver=True),
    Rule("slice_count", "A Slice mapping has size 64, 128 or 256.", _GEOMETRY),
    Rule("cluster_count", "A Cluster mapping has size 1 or 2.", _GEOMETRY),
    Rule("sequencer_entries", "An access takes at most 8 sequencer entries, Time and Packet together.", _SEQUENCER),
    Rule(
        "sequencer_entry_size",
        "A sequencer entry counts at most 65,536 steps; a larger one is split into factors of at most that.",
        _SEQUENCER,
    ),
    Rule("innermost_stride", "The innermost stride is 0 or 1 unless the packet is one element.", _SEQUENCER),
    Rule(
        "bottom_padding_touched",
        "Bottom padding, `#{!}`, is neither read nor written.",
        "domain section 1: bottom padding must not be touched",
    ),
    Rule(
        "equivalence_not_decided",
        "Whether two mappings are equivalent can be told from their factors, or from at most 2^20 cells.",
        'domain section 1: beyond that the answer is "not decided", never a guess',
        kind="file",
    ),
    Rule(
        "no_mode_left",
        "The fixed and forbidden choices leave a pass at least one legal way.",
        "project: options --fix and --forbid",
        kind="file",
    ),
)
