"""A kernel as it was read: the records, where each value stands, and which file it was."""

from __future__ import annotations

from dataclasses import dataclass

from models.faults import Fault
from models.kernel import Kernel, SourceMap
from planner.program.operations import Node


@dataclass(frozen=True, slots=True)
class KernelSource:
    """A kernel file that has no error.

    `positions` maps model paths to (line, column); `sha256` is of the file's bytes; `faults` holds warnings only.
    """

    kernel: Kernel
    positions: SourceMap
    path: str
    sha256: str
    faults: tuple[Fault, ...] = ()
    program: tuple[Node, ...] = ()
    """The operations of a `program:`, whose layouts are still to be searched; the kernel has none then."""
    notes: tuple[str, ...] = ()
    """What a search for layouts found, for the plan's notes."""
    splits: tuple[str, ...] = ()
    """Where and why vector chains were split over passes, for the plan's notes."""
