"""Which ALU of the vector engine every op of a pass runs on; each works at most once per pass (domain: section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from models.faults import Finding
from models.vector_ops import VectorOp
from planner.engines.vector_table import OPERATIONS, OPS, alu_name, alus, operation, row_of


@dataclass(frozen=True, slots=True)
class Assigned:
    """The operation and ALU of one op (empty where it has none), and what is wrong with them."""

    operation: str = ""
    alu: str = ""
    choices: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def assign(ops: Sequence[VectorOp], dtype: str) -> list[Assigned]:
    """An ALU for each op: stated ones and those without a choice first, the others take what is left, in order."""
    wanted = _wanted(ops, dtype)
    taken: dict[str, int] = {}
    out = list(wanted)
    for i in sorted(range(len(out)), key=lambda i: (len(out[i].choices) != 1, i)):
        choices = out[i].choices
        if not choices:
            continue
        free = next((a for a in choices if a not in taken), None)
        if free is None:
            out[i] = replace(out[i], alu=choices[0], findings=(*out[i].findings, _taken(ops, taken, out[i])))
            continue
        taken[free] = i
        out[i] = replace(out[i], alu=free)
    return out


def _taken(ops: Sequence[VectorOp], taken: dict[str, int], assigned: Assigned) -> Finding:
    first = assigned.choices[0]
    by = ops[taken[first]]
    user = str(by.op or by.value or by.name)
    return Finding(
        "alu_used_twice",
        f"{assigned.operation} needs {' or '.join(assigned.choices)}, which {user} uses already",
        f"{user} and {assigned.operation}",
        "each ALU once per pass",
        "a second pass" if len(assigned.choices) == 1 else "",
    )


def _wanted(ops: Sequence[VectorOp], dtype: str) -> list[Assigned]:
    out = []
    for op in ops:
        out.append(_one(op, dtype))
        form = OPS.get(op.name)
        dtype = form.gives or dtype if form else dtype
    return out


def _one(op: VectorOp, dtype: str) -> Assigned:
    name = row_of(op.name)
    known = {row for row, _ in OPERATIONS}
    if name not in known or (name, dtype) not in OPERATIONS:
        return Assigned()
    written = "DivF" if name == "fp_div" else str(op.op or op.value or "")
    found = operation(name, dtype, written)
    if found is None:
        legal = ", ".join(OPERATIONS[name, dtype])
        return Assigned(
            written,
            findings=(
                Finding("vector_operation", f"{op.name} on {dtype} has no `{written}`", written, f"one of {legal}"),
            ),
        )
    choices = alus(name, dtype, found)
    if op.alu is None or op.alu == "auto":
        return Assigned(found, "", choices)
    stated = alu_name(op.alu, choices)
    if stated is None:
        wanted = " or ".join(choices)
        finding = Finding("alu_choice", f"{found} runs on {wanted}, not on {op.alu}", op.alu, wanted, choices[0])
        return Assigned(found, "", choices, (finding,))
    return Assigned(found, "", (stated,))
