"""From starts and modes to a plan: rows, addresses, and every rule checked once more."""

from __future__ import annotations

from solver.addresses import NoRowsError, with_places
from solver.index import Index
from solver.shift import left_shift
from solver.solution import Options, Solution
from solver.validate import validate


def placed(index: Index, solution: Solution, options: Options, *, shift: bool = True) -> Solution | None:
    """The solution with places and, if wanted, the earliest starts; None when it is not a plan of this problem."""
    try:
        found, placement = with_places(index, solution, options)
    except NoRowsError:
        return None
    if placement.conflict:
        return None
    found = left_shift(index, found) if shift else found
    return None if validate(index.problem, found) else found
