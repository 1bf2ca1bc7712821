"""Exports of kernels and plans to other programs' formats."""

from __future__ import annotations

from pathlib import Path

from models.kernel import SourceMap
from models.plan import Plan
from planner.build import build
from planner.choices import Choices
from planner.facade import prepare
from planner.files import is_own_output, read_plan, write_atomic
from planner.readers.source import KernelSource
from planner.writers.dot import dot
from planner.writers.kernel_yaml import kernel_text


def export_dot(path: str | Path) -> str:
    """The stage graph of a kernel file, or that of a plan file with its times and the values chosen.

    Raises:
        FaultError: the file is neither, or the kernel breaks a rule.

    """
    path = Path(path)
    if not is_own_output(path, "plan"):
        prepared = prepare(path)
        return dot(prepared.source.kernel.kernel, prepared.built.problem)
    plan = read_plan(path)
    source = KernelSource(plan.kernel, SourceMap(file=str(path)), str(path), sha256="")
    return dot(plan.kernel.kernel, build(source, plan.hardware, Choices()).problem, plan)


def write_kernel(path: Path, plan: Plan) -> None:
    """Writes a plan's kernel, with every layout that was searched, as a kernel file with `ops:`."""
    write_atomic(path, f"# tuplan: kernel of a plan of {plan.makespan_cycles} cycles\n" + kernel_text(plan.kernel))
