"""Runs case files: each case through its engine's law, verdict and derived numbers against what is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from models.faults import Fault, FaultError
from models.hardware import Hardware
from models.presets.load import load_hardware
from planner import mapping_cases
from planner.case_file import PlacedCase, read_cases
from planner.engines.cases import CaseError, CaseFunction, run

_LAWS = (
    "fetch",
    "fetch_adapter",
    "switch",
    "collect",
    "register_files",
    "contraction",
    "vector",
    "intra_slice_reduce",
    "inter_slice_reduce",
    "cast",
    "transpose",
    "commit",
)
"""Modules of planner/engines that say in a table `CASES` which engines of the case-file page they are the law of."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one case; `mismatches` say what was expected and what came out."""

    id: str
    engine: str
    result: dict[str, Any]
    mismatches: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Everything expected came out."""
        return not self.mismatches


@dataclass(frozen=True, slots=True)
class Report:
    """What became of all cases, in their order."""

    cases: tuple[CaseResult, ...]

    @property
    def passed(self) -> int:
        """How many cases pass."""
        return sum(case.passed for case in self.cases)

    @property
    def failed(self) -> int:
        """How many do not."""
        return len(self.cases) - self.passed

    def document(self) -> dict[str, Any]:
        """The pinned JSON (command line page)."""
        return {
            "total": len(self.cases),
            "passed": self.passed,
            "failed": self.failed,
            "cases": [
                {
                    "id": case.id,
                    "engine": case.engine,
                    "passed": case.passed,
                    "result": case.result,
                    "mismatches": list(case.mismatches),
                }
                for case in self.cases
            ],
        }


def run_cases(paths: Iterable[str | Path], settings: Mapping[str, int] | None = None) -> Report:
    """Runs all cases of the files on the preset, with single numbers of the hardware replaced by `settings`.

    Raises:
        FaultError: a file or a case is malformed, or names an engine that does not exist; all such faults at once.

    """
    hardware = load_hardware("rngd", settings)
    placed: list[PlacedCase] = []
    faults: list[Fault] = []
    results = []
    for path in paths:
        try:
            placed += read_cases(path)
        except FaultError as error:
            faults += error.faults
    for case in placed:
        try:
            results.append(run_case(case, hardware))
        except FaultError as error:
            faults += error.faults
    if faults:
        raise FaultError(faults)
    return Report(tuple(results))


def run_case(placed: PlacedCase, hardware: Hardware) -> CaseResult:
    """Runs one case.

    Raises:
        FaultError: unknown_engine, case_form (a field of the engine is missing or of the wrong form).

    """
    case = placed.case
    functions = case_functions()
    if case.engine not in functions:
        known = ", ".join(functions)
        raise FaultError([_fault(placed, "unknown_engine", f"no engine is called `{case.engine}`", wanted=known)])
    try:
        result = run(functions, placed.fields, hardware)
    except CaseError as error:
        raise FaultError([_fault(placed, "case_form", str(error))]) from None
    return CaseResult(case.id, case.engine, result, tuple(_mismatches(placed.fields["expect"], result)))


@cache
def case_functions() -> dict[str, CaseFunction]:
    """Every engine of the case-file page with the function that judges its cases."""
    out: dict[str, CaseFunction] = {"mapping": lambda case, _hardware: mapping_cases.run(case)}
    for law in _LAWS:
        if find_spec(home := f"planner.engines.{law}") is not None:
            out |= import_module(home).CASES
    return out


def _fault(placed: PlacedCase, rule: str, message: str, wanted: str = "") -> Fault:
    case = placed.case
    return Fault(
        rule=rule,
        file=placed.file,
        line=placed.line,
        op=case.id,
        step=case.engine,
        found=case.engine if rule == "unknown_engine" else "",
        wanted=wanted,
        message=message,
    )


def _mismatches(expect: dict[str, Any], result: dict[str, Any]) -> Iterable[str]:
    for key, wanted in expect.items():
        if key == "rule":
            if wanted not in result["rules"]:
                yield f"rule: wanted {wanted}, found {', '.join(result['rules']) or 'none broken'}"
        elif key not in result:
            yield f"{key}: wanted {wanted}, the result has no such field"
        elif key in _BY_POSITION:
            yield from _positions(key, wanted, result[key])
        elif not _same(wanted, result[key]):
            yield f"{key}: wanted {wanted}, found {result[key]}"


def _positions(key: str, wanted: Any, found: Any) -> Iterable[str]:  # noqa: ANN401 - from a file
    """Compares the listed positions only."""
    if not isinstance(wanted, dict):
        yield f"{key}: wanted is no table by position"
        return
    at = {str(k): v for k, v in (found.items() if isinstance(found, dict) else enumerate(found or ()))}
    for position, value in wanted.items():
        if str(position) not in at:
            yield f"{key}[{position}]: wanted {value}, not in the result"
        elif not _BY_POSITION[key](value, at[str(position)]):
            yield f"{key}[{position}]: wanted {value}, found {at[str(position)]}"


def _same(wanted: Any, found: Any) -> bool:  # noqa: ANN401 - from a file
    """Equal, where a list of the file may be a tuple here, and true is not 1."""
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, list) and isinstance(found, list | tuple):
        return len(wanted) == len(found) and all(map(_same, wanted, found))
    if isinstance(wanted, dict) and isinstance(found, dict):
        return wanted.keys() == found.keys() and all(_same(v, found[k]) for k, v in wanted.items())
    return bool(wanted == found)


def _same_cell(wanted: Any, found: Any) -> bool:  # noqa: ANN401 - from a file
    """Equal as cells: an axis that is left out stands at 0."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(wanted.get(axis, 0) == found.get(axis, 0) for axis in wanted.keys() | found.keys())
    return bool(wanted == found)


_BY_POSITION: dict[str, Callable[[Any, Any], bool]] = {"bitmap": _same, "cells": _same_cell, "live": _same}
"""Fields compared at the listed positions only, and how."""
