"""A choice of layouts in which every tensor can be brought to where it is read, whatever it costs."""

from __future__ import annotations

from collections.abc import Mapping

from ortools.sat.python import cp_model

from solver.engine import run
from solver.layouts import Candidate, LayoutProblem
from solver.solution import Options

SECONDS = 2.0
"""Limit; a choice is found in a fraction of it, the rest makes it cheaper."""


def fitting(problem: LayoutProblem, start: Mapping[str, int]) -> dict[str, int] | None:
    """Candidates that fit together, cheap ones by their own cycles, those of `start` among equals; None where none do.

    Contexts, order and memory are left out.
    """
    cp = cp_model.CpModel()
    chosen = {
        op.name: [cp.new_bool_var(f"{op.name} {i}") for i in range(len(op.candidates))] for op in problem.operations
    }
    gives = {op.name: [c.gives for c in op.candidates] for op in problem.operations}
    terms: list[cp_model.LinearExpr] = []
    for op in problem.operations:
        cp.add_exactly_one(chosen[op.name])
        for i, (candidate, literal) in enumerate(zip(op.candidates, chosen[op.name], strict=True)):
            terms.append((2 * _cycles(candidate) + (start.get(op.name, i) != i)) * literal)
            for tensor, place in candidate.reads:
                if tensor in problem.given:
                    possible = [literal] if problem.between(tensor, problem.given[tensor], place) else []
                else:
                    made = zip(gives[tensor], chosen[tensor], strict=True)
                    possible = [maker for source, maker in made if problem.between(tensor, source, place)]
                cp.add_bool_or([literal.negated(), *possible])
    cp.minimize(cp_model.LinearExpr.sum(terms))
    found = run(cp, Options(SECONDS))
    if not found.found:
        return None
    return {name: next(i for i, v in enumerate(vs) if found.solver.boolean_value(v)) for name, vs in chosen.items()}


def _cycles(candidate: Candidate) -> int:
    """All steps one after the other by their shortest routes, and the shortest ending."""
    steps = sum(min((r.cycles for r in s.routes), default=0) for s in candidate.steps)
    return steps + min((r.cycles for r in candidate.endings), default=0)
