"""Rules of programs: statements of named-axis operations, and what the layout search needs of them."""

from __future__ import annotations

from models.faults import Rule

_PAGE = "docs/programs.md"

RULES: tuple[Rule, ...] = tuple(
    Rule(id, sentence, source, kind="file")
    for id, sentence, source in (
        ("program_syntax", "A statement is `name = function(arguments -> dtype[axes])`.", _PAGE),
        ("program_name", "A statement reads tensors that are there and writes a new one.", _PAGE),
        ("program_function", "A function is one of the list.", _PAGE),
        ("program_argument", "A function gets the arguments that it takes.", _PAGE),
        ("program_axes", "Axes of operands and results agree by name.", _PAGE),
        ("program_does_not_fit", "Some layout holds each operation in the memories of a slice.", "domain: section 2"),
        ("program_no_layout", "Some layout of each operation is legal under all rules of its passes.", _PAGE),
        ("passes_auto", "The tensor of a store with `passes: auto` lies in DM as digits of axes.", "kernel-file page"),
    )
)
