"""A scheduling problem without open modes for PyJobShop: machines, edges, and memories as renewable resources."""

from __future__ import annotations

from pyjobshop import Model

from models.graph import RESOURCES, Problem


def model(problem: Problem) -> Model:
    """The same instance: a buffer is a task that may last, from its first writer's start to its last user's end.

    TRF tensors are halves, so that two of them at a time are exact; DM and VRF are counted in bytes.
    """
    out, hardware = Model(), problem.hardware
    machines = {name: out.add_machine(name=name) for name in RESOURCES}
    memories = {
        "dm": out.add_renewable(hardware.dm.bytes_per_slice, name="dm"),
        "vrf": out.add_renewable(hardware.vrf.bytes_per_slice, name="vrf"),
        "trf": out.add_renewable(2, name="trf"),
    }
    tasks = {}
    for op in problem.operations:
        tasks[op.name] = out.add_task(earliest_start=hardware.kernel.first_start_cycles, name=op.name)
        mode = op.modes[0]
        out.add_mode(tasks[op.name], [machines[r] for r in sorted(mode.holds)], mode.cycles)
    for edge in problem.edges:
        out.add_end_before_start(tasks[edge.before], tasks[edge.after], edge.lag_cycles)
    for buffer in problem.buffers:
        life = out.add_task(allow_idle=True, name=buffer.name)
        out.add_mode(life, [memories[buffer.file]], 1, [1 if buffer.file == "trf" else buffer.bytes])
        for writer in buffer.writers:
            out.add_start_before_start(life, tasks[writer])
        for user in (*buffer.writers, *buffer.readers):
            out.add_end_before_end(tasks[user], life)
    return out


def makespan(problem: Problem, limit_seconds: float, workers: int) -> int | None:
    """The best makespan in cycles, the final sync included; None when no plan was found."""
    found = model(problem).solve("ortools", time_limit=limit_seconds, display=False, num_workers=workers)
    if not found.best.tasks:
        return None
    ends = [task.end for task in found.best.tasks[: len(problem.operations)]]
    return max(ends) + problem.hardware.kernel.final_sync_cycles
