"""From a scheduling problem to decisions: CP-SAT with one rule per file, bounds, addresses, explanations."""

from solver.explain import Core, core, explain
from solver.layouts_search import choose
from solver.solution import BitmapLoad, Guard, Options, Solution, Stats
from solver.solve import solve
from solver.validate import Violation, validate

__all__ = [
    "BitmapLoad",
    "Core",
    "Guard",
    "Options",
    "Solution",
    "Stats",
    "Violation",
    "choose",
    "core",
    "explain",
    "solve",
    "validate",
]
