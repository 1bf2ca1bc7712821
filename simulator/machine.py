"""The machine: an event loop over planned starts and ends, and a trip through the engines for each operation.

A store becomes visible when its operation ends, a read takes what the memory holds when its operation starts; so
a schedule in an illegal order really computes with wrong data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from models.mapping import MappingError
from models.plan import Plan, PlannedOp, Stage
from simulator import claims
from simulator.bench import UNFIT, Bench, Run, spatial
from simulator.engines import contraction
from simulator.engines.cast import cast
from simulator.engines.collect import collect
from simulator.engines.commit import commit
from simulator.engines.contraction import Products, Sums
from simulator.engines.dma import dma
from simulator.engines.fetch import adapt, fetch, subtract_zero_point
from simulator.engines.register_files import to_trf, to_vrf
from simulator.engines.switch import order_fault, switch
from simulator.engines.transpose import transpose
from simulator.engines.vector import Chain, vector
from simulator.streams import Flow
from simulator.timeline import pass_cycles, transfer


@dataclass
class Counted:
    """The simulator's timeline: cycles by operation; steps of every stage, and counts of a transfer, by program."""

    cycles: dict[str, int] = field(default_factory=dict)
    stages: dict[str, tuple[int, ...]] = field(default_factory=dict)
    transfers: dict[str, dict[str, float]] = field(default_factory=dict)


def execute(bench: Bench) -> Counted:
    """Runs every operation at its planned time; gives what each one takes on the simulator's timeline."""
    counted = Counted()
    pending: dict[str, Run] = {}
    for op, starts in _events(bench.plan):
        if starts:
            run = Run(bench, op)
            _attempt(run, partial(_run, run, counted))
            pending[op.name] = run
            continue
        run = pending.pop(op.name)
        _attempt(run, partial(_finish, run))
    return counted


def _events(plan: Plan) -> list[tuple[PlannedOp, bool]]:
    """(operation, starts) in time order, ends before starts at one time; an operation never ends before it starts."""
    events: list[tuple[int, int, int, PlannedOp, bool]] = []
    for i, op in enumerate(plan.ops):
        events.append((op.start, 1, i, op, True))
        events.append((max(op.end, op.start), 0 if op.end > op.start else 2, i, op, False))
    return [(op, starts) for _, _, _, op, starts in sorted(events, key=lambda e: e[:3])]


def _attempt(run: Run, work: Callable[[], None]) -> None:
    """Does what a plan says; where it names nothing real or its numbers do not fit together, that is a violation.

    Settings are free JSON, so a wrong type there is the plan's fault too.
    """
    known = len(run.bench.report.violations)
    try:
        work()
    except MappingError as error:
        run.fail(error.rule, f"the operation cannot run: {error}")
    except LookupError as error:
        run.fail("unknown_reference", f"the operation cannot run: {error}")
    except UNFIT as error:
        if len(run.bench.report.violations) == known:
            run.fail("settings_mismatch", f"the operation cannot run: {error}")
    else:
        return
    run.effects.clear()


def _finish(run: Run) -> None:
    """Makes visible what an operation wrote."""
    for effect in run.effects:
        effect()


def _run(run: Run, counted: Counted) -> None:
    plan, op = run.bench.plan, run.op
    if op.kind == "bitmap_load":
        counted.cycles[op.name] = plan.hardware.switch.bitmap_load_cycles
        return
    stages = plan.programs[op.program]
    if op.kind == "dma":
        found = transfer(dma(run, stages[0]), str(stages[0].settings["direction"]), plan.hardware)
        counted.cycles[op.name], steps = found.cycles, [found.cycles]
        counted.transfers[op.program] = found.counts
    else:
        trip = Trip(run)
        for stage in stages:
            trip.step(stage)
        steps = trip.steps
        counted.cycles[op.name] = pass_cycles(stages, steps, plan.hardware, main=run.main, ring=trip.chain.ring)
    counted.stages[op.program] = tuple(steps)


@dataclass
class Trip:
    """One trip of a stream through the Tensor Unit."""

    run: Run
    steps: list[int] = field(default_factory=list)
    chain: Chain = field(default_factory=Chain)
    stream: Flow | None = None
    sums: Products | Sums | None = None
    before: Stage | None = None

    def step(self, stage: Stage) -> None:
        """Runs one engine and checks what its stage claims."""
        if stage.step.startswith("contract_"):
            self._contract(stage)
        elif stage.step == "fetch":
            tile = self.run.tile(str(stage.settings["reads"][0]))
            self.stream = claims.confirmed_tile(self.run, stage, fetch(self.run, stage), tile)
            self.steps.append(self.stream.steps)
        else:
            self._pass_on(stage)
        self.before = stage

    def _pass_on(self, stage: Stage) -> None:
        flow = self.stream
        if flow is None:
            raise LookupError(f"`{stage.step}` has no stream to work on")
        if stage.step == "vector":
            self.chain.before = self.before
            flow = vector(self.run, stage, flow, self.chain)
        elif stage.step in _ENGINES:
            flow = _ENGINES[stage.step](self.run, stage, flow)
        else:
            raise LookupError(f"no engine is called `{stage.step}`")
        self.steps.append(flow.steps)
        ends = stage.step in ("commit", "to_trf", "to_vrf")
        kept = self.stream is not None and flow.raw.shape == self.stream.raw.shape
        same = kept and self.before is not None and _layout(self.before) == _layout(stage)
        self.stream = flow if ends or same else claims.confirmed(self.run, stage, flow, self._explain(stage))

    def _explain(self, stage: Stage) -> claims.Explain | None:
        """What may be wrong with the order of a custom switch's output."""
        if stage.step != "switch" or self.before is None or stage.settings["config"]["kind"] != "CustomBroadcast":
            return None
        packets = max(1, self.run.layouts.size(stage.time) // self.run.layouts.size(self.before.time))
        return partial(order_fault, self.run, packets=packets)

    def _contract(self, stage: Stage) -> None:
        run, sums = self.run, self.sums
        if stage.step == "contract_outer":
            if self.stream is None:
                raise LookupError("contract_outer has no stream to work on")
            self.sums = contraction.contract_outer(run, stage, self.stream)
            self.lane = _lane_of(run, stage)
        elif stage.step == "contract_packet" and isinstance(sums, Products):
            self.sums = self._confirmed(stage, contraction.contract_packet(run, stage, sums))
        elif stage.step == "contract_time" and isinstance(sums, Sums) and self.before is not None:
            self.sums = self._confirmed(stage, contraction.contract_time(run, stage, sums, self.before))
        elif stage.step == "contract_lane" and isinstance(sums, Sums):
            flow = contraction.contract_lane(run, stage, sums)
            self.stream, self.sums = claims.confirmed(run, stage, flow), None
            self.steps.append(flow.steps)
            return
        else:
            raise LookupError(f"`{stage.step}` has nothing to work on")
        self.steps.append(self.sums.steps)

    def _confirmed(self, stage: Stage, sums: Sums) -> Sums:
        inner = (self.lane, stage.time, stage.packet)
        claimed = self.run.layouts.identity(spatial(stage), inner).only(sums.cells.index)
        claims.compare(self.run, stage.step, sums.cells, claimed)
        return replace(sums, cells=claimed)

    lane: str = "1"


def _lane_of(run: Run, stage: Stage) -> str:
    entry = run.entry(str(stage.settings["with"]))
    return entry.lane if entry else "1"


def _layout(stage: Stage) -> tuple[str, ...]:
    return (stage.chip, stage.cluster, stage.slice, stage.time, stage.packet)


_ENGINES = {
    "fetch_table_lookup": adapt,
    "fetch_cast": adapt,
    "fetch_zero_point_sub": subtract_zero_point,
    "switch": switch,
    "collect": collect,
    "to_trf": to_trf,
    "to_vrf": to_vrf,
    "cast": cast,
    "transpose": transpose,
    "commit": commit,
}
