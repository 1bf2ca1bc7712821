"""What is said beside the faults of an infeasible kernel: how sure they are, and what would make it fit."""

from __future__ import annotations

from typing import Any

from cli.talk import Talk


def ways_out(error: Exception, talk: Talk) -> dict[str, Any]:
    """Tells the corrections on standard error; returns them for JSON, nothing where the error is of another kind."""
    from planner import InfeasibleError

    if not isinstance(error, InfeasibleError):
        return {}
    sure = "confirmed by solving with these rules alone" if error.confirmed else "not confirmed within the limit"
    least = "leaving any one out allows a plan" if error.minimal else "perhaps not the smallest set"
    talk.error(f"no plan exists: the rules above forbid one together ({sure}; {least})")
    if error.corrections:
        talk.error("any one of these makes it fit:")
    for correction in error.corrections:
        talk.error(f"  - {correction.text} (a plan of {correction.makespan_cycles:,} cycles)")
    return {
        "minimal": error.minimal,
        "confirmed": error.confirmed,
        "corrections": [c.document() for c in error.corrections],
    }
