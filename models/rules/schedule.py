"""Rules of a schedule: times, contexts, memory, and what a plan says about itself (domain section 3; cycles page)."""

from __future__ import annotations

from models.faults import Rule

_CONTEXTS = "book, scheduling; domain section 3"
_CYCLES = "vendor schedules; cycles page, a kernel's frame"
_MEMORY = "book, memory; domain sections 2 and 6"
_PLAN = "project: a plan must agree with itself"

_SOLVER: tuple[tuple[str, str, str], ...] = (
    ("context_overlap", "Operations of one context run one at a time.", _CONTEXTS),
    (
        "vector_engine_overlap",
        "The Vector Engine serves one pass at a time; a cast occupies it too.",
        _CONTEXTS,
    ),
    (
        "vrf_store_holds_main_and_sub",
        "A store into the VRF from Main holds both Main and Sub for the whole operation.",
        _CONTEXTS,
    ),
    (
        "bitmap_load_missing",
        "A custom snoop bitmap is loaded, and loaded whole, before the pass that needs it.",
        _CONTEXTS,
    ),
    ("bitmap_load_contexts", "Loading a custom snoop bitmap holds DMA and Sub.", _CONTEXTS),
    ("data_hazard_raw", "A reader starts after the last writer of what it reads has ended.", _CONTEXTS),
    ("data_hazard_war", "A writer starts after the readers of what it overwrites have ended.", _CONTEXTS),
    ("data_hazard_waw", "A writer starts after the earlier writer of the same cells has ended.", _CONTEXTS),
    ("fence_missing", "An HBM tensor written in the kernel is read only after a fence.", _CYCLES),
    ("starts_too_early", "No operation starts before the kernel's start-up is over.", _CYCLES),
    ("region_overlap", "TRF tensors that are alive together share no row; one in mode full takes all rows.", _MEMORY),
    ("region_out_of_bounds", "A TRF tensor lies within the rows of its address mode.", _MEMORY),
    ("vrf_capacity", "A VRF tensor lies within the bytes of a slice's VRF.", _MEMORY),
    ("dm_capacity", "A DM tensor lies within the bytes of a slice's data memory.", _MEMORY),
    ("address_overlap", "DM or VRF tensors that are alive together share no byte.", _MEMORY),
)

_PLAN_ONLY: tuple[tuple[str, str, str], ...] = (
    ("times_disagree", "An operation's end is its start plus its cycles.", _PLAN),
    ("cycles_mismatch", "An operation takes the cycles that its stages take.", "cycles page"),
    ("wrong_contexts", "An operation holds exactly the contexts that its steps need.", _CONTEXTS),
    (
        "lifetime_mismatch",
        "A tensor is alive from the start of its first writer to the end of its last user.",
        "domain section 3: a register stays taken until its last reader is done",
    ),
    (
        "bank_wait_reserved",
        "Where contention is counted, a TRF store sets aside at least the cycles that it waits for banks.",
        "seed 000, double buffering; domain section 6",
    ),
    ("size_mismatch", "A memory entry has the bytes and rows that its mapping takes.", _MEMORY),
    ("address_alignment", "Addresses are multiples of the memory's alignment.", _MEMORY),
    (
        "makespan_mismatch",
        "The makespan is the end of the last operation plus the final sync.",
        _CYCLES,
    ),
    (
        "bound_exceeds_makespan",
        "A lower bound is not above the makespan, and the gap says how far below.",
        _PLAN,
    ),
    ("unknown_reference", "Programs, instances and operations that a plan names are in the plan.", _PLAN),
    ("operation_missing", "Every operation of the kernel is in the plan, once per iteration.", _PLAN),
    ("settings_mismatch", "What a stage says it derived is what its walk and mappings give.", _PLAN),
    (
        "snoop_bitmap_mismatch",
        "A snoop bitmap names the slices whose cells the output takes.",
        "seed 001; domain section 5",
    ),
    (
        "claim_mismatch",
        "Where a stage's mappings put a live cell, that cell stands; levels that an engine does not touch stay.",
        "domain sections 1 and 3",
    ),
    ("unwritten_output", "Every live cell of an output is written, with defined data.", _PLAN),
    ("write_conflict", "Units that write the same cell write the same value.", "domain section 4"),
)

RULES: tuple[Rule, ...] = tuple(
    Rule(id, sentence, source, kind="schedule", solver=True) for id, sentence, source in _SOLVER
) + tuple(Rule(id, sentence, source, kind="schedule") for id, sentence, source in _PLAN_ONLY)
