"""What every converter of the kernel reader shares: the faults so far, positions, names and mapping text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from models.faults import Fault
from models.kernel import SourcePath
from planner.program.operations import Node as ProgramNode
from planner.readers.nodes import Node
from planner.readers.texts import Texts

MAX_SUGGESTIONS = 100
MAX_SUGGESTION_NAMES = 2_000
MAX_LISTED = 30
MAX_SHOWN = 80


class Bad:
    """The one value that stands for a field whose fault is already reported."""


BAD = Bad()


@dataclass(slots=True)
class Context:
    """Collects faults, and the place of every value, while nodes become records.

    `op` and `step` name where the reader is, for the faults. `at` maps model paths to (line, column).
    """

    file: str
    texts: Texts
    faults: list[Fault] = field(default_factory=list)
    at: dict[SourcePath, tuple[int, int]] = field(default_factory=dict)
    op: str = ""
    step: str = ""
    program: tuple[ProgramNode, ...] = ()

    def place(self, path: SourcePath, node: Node) -> None:
        """Remembers where the value at a path stands."""
        self.at[path] = (node.line, node.column)

    def fault(
        self,
        rule: str,
        node: Node | tuple[int, int],
        message: str,
        found: str = "",
        wanted: str = "",
        nearest: str = "",
        severity: Literal["error", "warning"] = "error",
    ) -> Bad:
        """Reports a fault at a node or a (line, column); returns BAD so that a converter may return it."""
        line, column = (node.line, node.column) if isinstance(node, Node) else node
        self.faults.append(
            Fault(
                rule=rule,
                severity=severity,
                file=self.file,
                line=line,
                column=column,
                op=self.op,
                step=self.step,
                found=shown(found),
                wanted=wanted,
                nearest=nearest,
                message=message,
            )
        )
        return BAD

    def unknown(self, rule: str, node: Node | tuple[int, int], what: str, name: str, known: Collection[str]) -> Bad:
        """Reports a name that is not among the known ones, with the nearest spelling."""
        # Sorting and spelling cost time in proportion to names x faults: bounded, a file may hold thousands of both.
        few = len(known) <= MAX_SUGGESTION_NAMES and len(self.faults) <= MAX_SUGGESTIONS
        listed = few and len(known) <= MAX_LISTED
        return self.fault(
            rule,
            node,
            f"{what} `{shown(name)}` is not known",
            name,
            "a declaration" if not known else f"one of {', '.join(sorted(known)) if listed else f'{len(known)} names'}",
            nearest(name, sorted(known)) if few and len(name) <= MAX_SHOWN else "",
        )


def nearest(name: str, names: Iterable[str]) -> str:
    """The nearest spelling among names, regardless of case; empty when none is near."""
    lower = {n.lower(): n for n in names}
    close = get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    return lower[close[0]] if close else ""


def shown(value: str) -> str:
    """A value as a message shows it: one line, not longer than MAX_SHOWN."""
    line = re.sub(r"\s+", " ", value[: MAX_SHOWN + 1]).strip()
    return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 3] + "..."


def describe(node: Node) -> str:
    """What a node holds, for `found`."""
    if node.kind != "scalar":
        return f"a {node.kind}"
    return shown(node.text) if node.text else "nothing" if node.plain else "an empty text"


Converted = Any
"""What a converter returns: the field's value, or BAD."""
