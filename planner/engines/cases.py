"""What the case functions of all engines share: reading mappings of a case, and its verdict as a result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from models.dtypes import DTYPES
from models.faults import Finding, rules
from models.graph import MAIN, SUB
from models.hardware import Hardware
from models.mapping import Mapping, MappingError
from models.parse import parse
from planner.engines.base import Ground, Outcome

Case = dict[str, Any]
CaseFunction = Callable[[Case, Hardware], Case]


class CaseError(ValueError):
    """A case lacks a field or names an unknown type; the runner reports it at the case."""


def mapping(case: Case, name: str) -> Mapping:
    """The mapping of a field of the case.

    Raises:
        CaseError: the field is missing.
        MappingError: it does not parse.

    """
    if name not in case:
        raise CaseError(f"case {case.get('id', '?')} lacks `{name}`")
    return parse(str(case[name]), case.get("axes", {}))


def optional(case: Case, name: str) -> Mapping | None:
    """The mapping of a field that may be left out."""
    return mapping(case, name) if name in case else None


def stream_dtype(case: Case, name: str = "dtype") -> str:
    """The element type of a case.

    Raises:
        CaseError: it is missing or unknown.

    """
    value = case.get(name)
    if value not in DTYPES:
        raise CaseError(f"case {case.get('id', '?')}: `{name}` is {value}, must be one of {', '.join(DTYPES)}")
    return str(value)


def ground_of(case: Case, hardware: Hardware) -> Ground:
    """The ground of a case: its axes, and its context where it names one.

    Raises:
        CaseError: the context is neither main nor sub.

    """
    context = case.get("context", MAIN)
    if context not in (MAIN, SUB):
        raise CaseError(f"case {case.get('id', '?')}: `context` is {context}, must be {MAIN} or {SUB}")
    return Ground(hardware, case.get("axes", {}), str(context))


@cache
def _order() -> dict[str, int]:
    return {rule: i for i, rule in enumerate(rules())}


def broken(findings: Iterable[Finding]) -> list[str]:
    """Ids of broken rules, each once, in the order of `tuplan rules`."""
    order = _order()
    return sorted({f.rule for f in findings}, key=lambda rule: order.get(rule, len(order)))


def judged(outcome: Outcome, fields: Case) -> Case:
    """The result of a case: verdict, rules, warnings and the engine's own fields."""
    return {
        "ok": outcome.ok,
        "rules": broken(outcome.findings),
        "warnings": broken(outcome.warnings),
        **fields,
    }


def run(functions: dict[str, CaseFunction], case: Case, hardware: Hardware) -> Case:
    """The result of a case by the function of its engine; a mapping that cannot be built is a verdict too."""
    try:
        return functions[case["engine"]](case, hardware)
    except MappingError as fault:
        return {"ok": False, "rules": [fault.rule], "warnings": []}
