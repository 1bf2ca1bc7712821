"""What a program expands into: contractions, and groups of passes over rows (docs/programs.md)."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.program.tree import Statement

Operand = float | str
"""A constant or the name of a tensor."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor of the program: its type and its axes, outermost first."""

    name: str
    dtype: str
    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VectorStep:
    """One operation of the vector engine's chain: its key in a kernel file, operation, operand and mode.

    An operand of None is the stream itself, by way of the stash.
    """

    key: str
    op: str
    operand: Operand | None = None
    unary: bool = False
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class RowPass:
    """One trip of a tensor through the vector engine: steps before a reduction, the reduction, steps behind it."""

    source: Value
    before: tuple[VectorStep, ...]
    reduced: str | None
    reduction: str
    behind: tuple[VectorStep, ...]
    out: Value
    moves: str = ""
    """A pass without the vector engine: `transpose` or `lookup`."""

    @property
    def operands(self) -> tuple[str, ...]:
        """Names of the tensors that it reads beside its source."""
        names = (s.operand for s in (*self.before, *self.behind))
        return tuple(dict.fromkeys(n for n in names if isinstance(n, str)))

    def __str__(self) -> str:
        steps = [*map(_step, self.before)]
        if self.reduced is not None:
            steps.append(f"{self.reduction} over {self.reduced}")
        steps += [*map(_step, self.behind), *([self.moves] if self.moves else [])]
        shape = f"{self.out.dtype}[{', '.join(self.out.axes)}]"
        return f"{self.out.name} = {self.source.name}: {'; '.join(steps) or 'copy'} -> {shape}"


def _step(step: VectorStep) -> str:
    operand = "" if step.unary else f" {'itself' if step.operand is None else step.operand}"
    return f"{step.op}{operand}{' (reversed)' if step.mode == '10' else ''}"


@dataclass(frozen=True, slots=True)
class Einsum:
    """A contraction of two tensors."""

    left: Value
    right: Value
    out: Value
    statement: Statement

    def __str__(self) -> str:
        sides = ", ".join(f"{v.name}[{', '.join(v.axes)}]" for v in (self.left, self.right))
        return f"{self.out.name} = einsum({sides} -> {self.out.dtype}[{', '.join(self.out.axes)}])"

    @property
    def reads(self) -> tuple[Value, ...]:
        """The tensors that it reads."""
        return (self.left, self.right)


@dataclass(frozen=True, slots=True)
class Rows:
    """Passes over rows that share one layout; values between them stay in their slice."""

    passes: tuple[RowPass, ...]
    out: Value
    statement: Statement
    values: dict[str, Value] = field(default_factory=dict)

    @property
    def reads(self) -> tuple[Value, ...]:
        """The tensors that it reads and does not make itself."""
        made = {p.out.name for p in self.passes}
        names = [n for p in self.passes for n in (p.source.name, *p.operands)]
        return tuple(self.values[n] for n in dict.fromkeys(names) if n not in made)

    def __str__(self) -> str:
        return "\n".join(str(p) for p in self.passes)


Node = Einsum | Rows
