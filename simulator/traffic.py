"""Which tensors an operation reads and writes, from its program alone."""

from __future__ import annotations

from dataclasses import dataclass

from models.plan import Plan, PlannedOp, Stage


@dataclass(frozen=True, slots=True)
class Traffic:
    """Tensor names of an operation, as the program has them; `operands` are its TRF and VRF readings."""

    reads: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def used(self, op: PlannedOp) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Instances read (operands too) and instances written."""
        reads = tuple(dict.fromkeys(op.uses.get(n, n) for n in (*self.reads, *self.operands)))
        return reads, tuple(op.uses.get(n, n) for n in self.writes)


def traffic_of(plan: Plan, op: PlannedOp) -> Traffic:
    """The traffic of a planned operation; a bitmap load has none."""
    stages = plan.programs.get(op.program, ())
    reads: list[str] = []
    operands: list[str] = []
    writes: list[str] = []
    for stage in stages:
        settings = stage.settings
        if stage.step == "dma":
            reads.append(str(settings["read"]))
        reads += [str(n) for n in settings.get("reads", ())]
        if "with" in settings:
            operands.append(str(settings["with"]))
        if "write" in settings:
            writes.append(str(settings["write"]))
        operands += _vector_operands(stage, op)
    return Traffic(tuple(reads), tuple(operands), tuple(writes))


def _vector_operands(stage: Stage, op: PlannedOp) -> list[str]:
    """Tensor names among the operands of a vector op: those that the operation maps to an instance."""
    if stage.step != "vector":
        return []
    settings = stage.settings
    guards = settings.get("guards") or ()
    found = [settings.get("operand"), *(settings.get("operands") or ()), *(g.get("rf") for g in guards)]
    return [name for name in found if isinstance(name, str) and name in op.uses]
