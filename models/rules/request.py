"""Rules of what is handed over beside a kernel: hardware, choices, plan files, case files and inputs."""

from __future__ import annotations

from models.faults import Rule

_CLI = "command line page"
_CASES = "case-file page"

RULES: tuple[Rule, ...] = tuple(
    Rule(id, sentence, source, kind="file")
    for id, sentence, source in (
        ("unreadable_preset", "The hardware is a packaged preset or a file in its form.", "kernel-file page"),
        ("unknown_hardware_path", "A number that is set is a number of the hardware.", _CLI),
        ("hardware_out_of_range", "A number of the hardware is whole and in its range.", _CLI),
        ("unknown_choice", "A choice that is fixed or forbidden is a choice of the kernel.", _CLI),
        ("tile_not_covered", "Tiles cover a tensor before it is read.", "kernel-file page, operations"),
        ("choice_fixed", "A choice that is fixed or forbidden by hand leaves a plan.", _CLI),
        ("bad_variant", "A value that is varied is one that its path can take.", _CLI),
        ("infeasible", "Under the rules, the hardware and the choices that are fixed, a plan exists.", _CLI),
        ("plan_form", "A plan file has the form that `tuplan schema plan` prints.", _CLI),
        (
            "plan_too_large",
            "A plan that is executed has at most 2^30 elements in a tensor, a buffer, a stage or a register file.",
            "project: one array of them takes up to 8 GB",
        ),
        ("case_form", "A case file has the form that `tuplan schema cases` prints.", _CASES),
        ("unknown_engine", "The engine of a case is one of the table.", _CASES),
        ("unreadable_inputs", "Inputs are a file in the .npz or the safetensors format.", _CLI),
        ("input_unknown", "Values are given for inputs of the kernel alone.", _CLI),
        ("input_missing", "Where values are given, every input of the kernel has some.", _CLI),
        (
            "input_shape",
            "The values of an input have one dimension per axis that its mappings name, in that order.",
            _CLI,
        ),
        ("inputs_mismatch", "The inputs hold one array for each input of the kernel, by its name.", _CLI),
    )
)
