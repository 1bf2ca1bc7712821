"""Guard literals: each constraint knows the rule and the place it stands for, so that a no can name both."""

from __future__ import annotations

from dataclasses import replace

from ortools.sat.python import cp_model

from solver.solution import Guard

Literal = cp_model.IntVar

CHOICE_RULE = "choice_fixed"
"""Stands for a value that was fixed or forbidden by hand."""


class Guards:
    """Gives a literal per rule and place while explaining, and nothing at all otherwise."""

    def __init__(self, model: cp_model.CpModel, *, on: bool) -> None:
        self.on = on
        self._model = model
        self._literals: dict[Guard, Literal] = {}
        self._said: dict[Guard, Guard] = {}

    def __call__(self, guard: Guard) -> list[Literal]:
        """Enforcement literals for a constraint; empty when the constraint always holds."""
        if not self.on:
            return []
        # Places are what tells guards apart, except for choices by hand: those of one operation differ in words only.
        key = guard if guard.rule == CHOICE_RULE else replace(guard, message="")
        if key not in self._literals:
            self._literals[key] = self._model.new_bool_var(guard.rule)
            self._said[key] = guard
        return [self._literals[key]]

    def all(self) -> dict[Guard, Literal]:
        """Every guard that was asked for, in the words it was asked for first, with its literal."""
        return {self._said[key]: literal for key, literal in self._literals.items()}
