"""Guard literals: each constraint knows the rule and the place it stands for, so that a no can name both."""

from __future__ import annotations

from dataclasses import replace

from ortools.sat.python import cp_model

from solver.solution import Guard

Literal = cp_model.IntVar


class Guards:
    """Gives a literal per rule and place while explaining, and nothing at all otherwise."""

    def __init__(self, model: cp_model.CpModel, *, on: bool) -> None:
        self.on = on
        self._model = model
        self._literals: dict[Guard, Literal] = {}

    def __call__(self, guard: Guard) -> list[Literal]:
        """Enforcement literals for a constraint; empty when the constraint always holds."""
        if not self.on:
            return []
        key = replace(guard, message="")
        if key not in self._literals:
            self._literals[key] = self._model.new_bool_var(guard.rule)
        return [self._literals[key]]

    def all(self) -> dict[Guard, Literal]:
        """Every guard that was asked for, with its literal."""
        return dict(self._literals)
