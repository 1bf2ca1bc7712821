"""Rules of schedule: times, contexts, hazards, register regions and addresses of a plan (domain: sections 3 and 6)."""

from __future__ import annotations

from models.faults import Rule

_CONTEXTS = "book, scheduling; domain section 3"
_FRAME = "cycles: a kernel's frame"
_MEMORY = "seed 000, register files; domain sections 2 and 6"
_PLAN = "project: a plan states each number once, and states it right"

RULES: tuple[Rule, ...] = tuple(
    Rule(id, sentence, source, kind="schedule", solver=solver)
    for id, sentence, source, solver in (
        ("times_disagree", "The end of an operation is its start plus its cycles.", _PLAN, False),
        ("cycles_mismatch", "An operation takes the cycles that its stages give.", _PLAN, False),
        ("context_overlap", "A context does one operation at a time.", _CONTEXTS, True),
        ("vector_engine_overlap", "The Vector Engine serves one pass at a time.", _CONTEXTS, True),
        ("wrong_contexts", "An operation holds exactly the contexts that its stages need.", _CONTEXTS, False),
        (
            "vrf_store_holds_main_and_sub",
            "A store into the VRF from Main holds Main and Sub.",
            _CONTEXTS,
            False,
        ),
        (
            "bitmap_load_missing",
            "A pass with a custom snoop bitmap starts after the bitmap was loaded and before another one is.",
            _CONTEXTS,
            True,
        ),
        ("bitmap_load_contexts", "The load of a snoop bitmap holds DMA and Sub.", _CONTEXTS, True),
        ("data_hazard_raw", "A reader starts after the writers of what it reads have ended.", _CONTEXTS, True),
        ("data_hazard_war", "A writer starts after the earlier readers of the place have ended.", _CONTEXTS, True),
        ("data_hazard_waw", "A writer starts after the earlier writers of the place have ended.", _CONTEXTS, True),
        ("fence_missing", "An HBM tensor is read a fence after it was written.", _FRAME, True),
        ("starts_too_early", "No operation starts before the kernel's start-up is over.", _FRAME, True),
        ("region_overlap", "Tensors whose TRF rows overlap are not alive together.", _MEMORY, True),
        ("region_out_of_bounds", "A tensor's TRF rows lie within its address mode.", _MEMORY, True),
        (
            "lifetime_mismatch",
            "A place is taken from the start of its first writer to the end of its last user.",
            _MEMORY,
            False,
        ),
        ("vrf_capacity", "Tensors alive together fit into the VRF.", _MEMORY, True),
        ("dm_capacity", "Tensors alive together fit into the DM of a slice.", _MEMORY, True),
        ("address_overlap", "Tensors whose addresses overlap are not alive together.", _MEMORY, True),
        ("address_alignment", "An address is a multiple of the alignment and lies within the memory.", _MEMORY, True),
        (
            "makespan_mismatch",
            "The makespan is the end of the last operation plus the final sync.",
            _FRAME,
            False,
        ),
        (
            "bound_exceeds_makespan",
            "A lower bound is at most the makespan; they meet when it is optimal.",
            _PLAN,
            False,
        ),
    )
)
