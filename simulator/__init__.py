"""Runs a plan on real data and re-checks it: a second opinion that shares no law with the planner."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from models.faults import Fault, FaultError
from models.mapping import MappingError
from models.plan import Cycles, Plan, Values, Verification
from simulator.bench import UNFIT, Bench, Report
from simulator.bounds import too_large
from simulator.checks import run_checks
from simulator.comparison import compare_output
from simulator.facts import makespan_of
from simulator.inputs import make_inputs, named_axes
from simulator.layouts import Layouts, find_units
from simulator.loading import fill_hbm
from simulator.machine import execute
from simulator.memories import ByteMemory, Memories, TensorRegisters
from simulator.reference import reference_outputs
from simulator.sampling import draw

__all__ = ["prepare_bench", "simulate"]


def simulate(
    plan: Plan,
    *,
    inputs: dict[str, NDArray[Any]] | None = None,
    seed: int = 0,
    random: bool = False,
    sample: float | None = None,
) -> Verification:
    """Executes a plan and says what holds of it.

    Args:
        plan: a self-contained plan; nothing else is read.
        inputs: values by tensor name, one dimension per axis in the order in which the element mapping names them.
        seed: seeds the inputs that are made here.
        random: real numbers in place of those that make every sum exact; compared within n x 2^-24 x sum |a b|.
        sample: how much of the outputs is computed and compared: a count of elements as an int, a fraction up to 1 as
            a float, drawn by `seed`; None for all. Cycles and rules are always checked whole.

    Raises:
        FaultError: inputs that do not fit, a plan whose mappings do not parse, or one too large to be executed.

    """
    if beyond := too_large(plan):
        raise FaultError(beyond)
    try:
        values = make_inputs(plan.kernel, inputs, seed, random=random)
        bench = prepare_bench(plan)
        bench.sample = None if sample is None else draw(bench, sample, seed)
        fill_hbm(bench, values)
        counted = execute(bench)
        outputs = _compare(bench, values, bounded=random or inputs is not None)
        run_checks(bench, counted)
    except MappingError as error:
        message = f"a mapping of the plan does not parse: {error}"
        raise FaultError([Fault(rule=error.rule, found=error.found, message=message)]) from error
    simulated = makespan_of(plan)
    planned = plan.makespan_cycles or 0
    violations = tuple(bench.report.violations)
    wrong = {"makespan_mismatch", "cycles_mismatch", "times_disagree"} & {v.rule for v in violations}
    verdict = Cycles(planned=planned, simulated=simulated, ok=not wrong)
    return Verification(values=outputs, cycles=verdict, violations=violations)


def prepare_bench(plan: Plan) -> Bench:
    """A machine for a plan: its layouts, and memories up to the plan's high-water marks, with nothing written."""
    levels = [(e.chip, e.cluster) for e in plan.memory]
    levels += [(s.chip, s.cluster) for stages in plan.programs.values() for s in stages]
    geometry, trf = plan.hardware.geometry, plan.hardware.trf
    units = find_units(plan.kernel.axes, levels, geometry.slices_per_cluster)
    top = {"dm": 0, "vrf": 0, "trf": 0}
    for entry in plan.memory:
        end = (entry.row or 0) + (entry.rows or 0) if entry.file == "trf" else (entry.address or 0) + entry.bytes
        top[entry.file] = max(top[entry.file], end)
    limits = {"dm": plan.hardware.dm.bytes_per_slice, "vrf": plan.hardware.vrf.bytes_per_slice}
    sizes = {file: min(-(-top[file] // 64) * 64, limit) for file, limit in limits.items()}
    slices = geometry.slices_per_cluster
    memories = Memories(
        dm=ByteMemory(units.groups, slices, sizes["dm"], limits["dm"]),
        vrf=ByteMemory(units.groups, slices, sizes["vrf"], limits["vrf"]),
        trf=TensorRegisters(
            units.groups * slices, geometry.lanes_per_slice, trf.banks, max(1, min(top["trf"], trf.rows_per_bank))
        ),
    )
    return Bench(plan, Layouts(plan.kernel.axes, units), memories, Report())


def _compare(bench: Bench, values: dict[str, Any], *, bounded: bool) -> dict[str, Values]:
    """Every output against what the kernel means. Given inputs are compared like random ones: their sums may round."""
    kernel = bench.plan.kernel
    axes = {name: named_axes(t, kernel.axes) for name, t in kernel.tensors.items()}
    try:
        wanted = reference_outputs(kernel, values, axes, bounded=bounded, sample=bench.sample)
    except (LookupError, *UNFIT) as error:
        bench.report.add("unknown_reference", f"the kernel has no meaning in the reference: {error}")
        wanted = {}
    return {
        name: compare_output(bench, name, wanted.get(name)) for name, t in kernel.tensors.items() if t.role == "output"
    }
