"""Faults, and the registry of rules: one id, one sentence, one source, the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from pydantic import BaseModel, ConfigDict

ROOMS = (
    "mapping",
    "kernel_file",
    "pipeline",
    "fetch",
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
    "dma",
    "schedule",
    "request",
    "program",
)
"""Rooms of rules in the order in which `tuplan rules` lists them; each is a module of models/rules."""

Kind = Literal["file", "engine", "schedule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its id, what it says and where that is written.

    `kind`: what tests and checks it needs: `file` (a kernel file or mapping text breaks it, there is no plan),
    `engine` (a stage of a pass breaks it), `schedule` (times, contexts, memory of a plan break it).
    `solver`: whether it constrains a choice of the solver. `warning`: it never stops a plan.
    """

    id: str
    sentence: str
    source: str
    kind: Kind = "engine"
    solver: bool = False
    warning: bool = False


def rules() -> dict[str, Rule]:
    """All rules by id, in listing order."""
    out: dict[str, Rule] = {}
    for room in ROOMS:
        for rule in import_module(f"models.rules.{room}").RULES:
            if rule.id in out:
                raise ValueError(f"rule {rule.id} is listed twice")
            out[rule.id] = rule
    return out


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule as an engine's law sees it: numbers, but no place yet.

    `found` and `wanted` carry the numbers or mappings; `nearest` is the nearest thing that would be legal.
    """

    rule: str
    message: str
    found: str = ""
    wanted: str = ""
    nearest: str = ""


class Fault(BaseModel):
    """A broken rule with its place; the fields are those of the pinned JSON. Lines and columns count from 1."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rule: str
    severity: Literal["error", "warning"] = "error"
    file: str = ""
    line: int = 0
    column: int = 0
    op: str = ""
    step: str = ""
    found: str = ""
    wanted: str = ""
    nearest: str = ""
    message: str = ""

    def __str__(self) -> str:
        place = ":".join(str(x) for x in (self.file, self.line, self.column) if x)
        where = " ".join(x for x in (self.op, self.step) if x)
        head = f"{place}: " if place else ""
        tail = "".join(
            f"\n  {label}: {value}"
            for label, value in (
                ("found", self.found),
                ("wanted", self.wanted),
                ("nearest legal", self.nearest),
            )
            if value
        )
        return f"{head}{self.severity}: {self.rule}: {where + ': ' if where else ''}{self.message}{tail}"


class FaultError(Exception):
    """Stops work on a kernel, a plan or a case; carries every fault that was found."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(f) for f in self.faults))
