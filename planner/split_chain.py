"""Vector chains that one pass cannot run: split into passes with data memory, or the VRF, in between (section 8).

A chain is cut where the next op needs an ALU that is in use, a stage that has been passed, or a second stash. The value
goes through data memory, 8 ways wide. A stashed value that is read behind a cut, or twice, goes to the VRF instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from models.graph import MAIN
from models.hardware import Hardware
from models.kernel import Commit, Kernel, LoopOp, Op, PassOp, Place, SourceMap, Tile, ToTrf, ToVrf, Vector
from models.layout import Stream
from models.mapping import MappingError
from models.vector_ops import VectorOp
from planner.build import Tensors, layouts
from planner.engines import vector
from planner.engines.base import Ground
from planner.engines.vector_alu import assign
from planner.engines.vector_operands import STASH, named
from planner.engines.vector_table import OPS, STAGES
from planner.pass_steps import advance
from planner.pass_trail import PassContext, Trail
from planner.readers.source import KernelSource
from planner.split_passes import Segment, passes_of

_SINGLE = frozenset({"narrow", "widen", "fxp_to_fp", "fp_to_fxp", "fp_div"})
_BARRED = frozenset({"unzip", "filter"})


def split(source: KernelSource, hardware: Hardware) -> KernelSource:
    """The kernel with every chain split that needs it and can be; others stay, with their faults.

    Passes in loops and passes over tiles stay as they are, and so do pairs and tags that a cut would lose.
    """
    notes: list[str] = []
    for op in [o for o in source.kernel.ops if isinstance(o, PassOp) and _candidate(o)]:
        found = _split(source.kernel, op, hardware, layouts(source, hardware))
        if found is None:
            continue
        new, note = found
        at = source.kernel.ops.index(op)
        ops = (*source.kernel.ops[:at], *new, *source.kernel.ops[at + 1 :])
        kernel = source.kernel.model_copy(update={"ops": ops})
        source = replace(source, kernel=kernel, positions=_moved(source.positions, at, len(new) - 1))
        notes.append(note)
    return replace(source, splits=tuple(notes)) if notes else source


def _candidate(op: PassOp) -> bool:
    """Whether a pass has a chain that no single pass runs, whatever its type is."""
    places = op.read if isinstance(op.read, tuple) else (op.read,)
    if any(isinstance(p, Tile) for p in (*places, _target(op))):
        return False
    chain = [o for s in op.steps if isinstance(s, Vector) for o in s.ops]
    if any(o.name in _BARRED or o.guards for o in chain):
        return False
    return any(len(_segments(chain, [dtype] * len(chain), frozenset())) > 1 for dtype in ("f32", "i32"))


def _split(kernel: Kernel, op: PassOp, hardware: Hardware, tensors: Tensors) -> tuple[tuple[PassOp, ...], str] | None:
    """The passes in place of one, and where and why it was cut; None where its stream cannot be told."""
    at = next(i for i, s in enumerate(op.steps) if isinstance(s, Vector))
    ground = Ground(hardware, kernel.axes, MAIN)
    try:
        stream = _entering(op, at, ground, tensors)
    except MappingError:
        return None
    step = op.steps[at]
    if stream is None or not isinstance(step, Vector):
        return None
    chain = list(step.ops)
    streams = [stream, *(o.stream or stream for o in vector.chain(ground, stream, chain, tensors))]
    segments = _segments(chain, [s.dtype for s in streams[:-1]], frozenset())
    made = passes_of(op, at, segments, streams, ground, _names(kernel))
    where = "; ".join(f"before {_label(chain[s.start])}: {s.why}" for s in segments[1:])
    stored = ", ".join(dict.fromkeys(w for p in made[:-1] if isinstance(w := _target(p), str)))
    return made, f"{op.name} runs as {len(made)} passes, with {stored} in between; cut {where}"


def _target(op: PassOp) -> Place | None:
    last = op.steps[-1]
    return last.write if isinstance(last, Commit | ToTrf | ToVrf) else None


def _entering(op: PassOp, at: int, ground: Ground, tensors: Tensors) -> Stream | None:
    """The stream that enters the chain, on the first legal way through the steps before it."""
    context = PassContext(op, ground, tensors)
    trails = [Trail().decided("context", MAIN)]
    for index in range(at):
        trails = [after for trail in trails for after in advance(context, trail, index)]
    return next((t.stream for t in trails if not t.findings), None)


# Where to cut -----------------------------------------------------------------------------------------------


def _segments(chain: Sequence[VectorOp], dtypes: Sequence[str], kept: frozenset[int]) -> list[Segment]:
    """The longest runs of ops that one pass has; a stash whose value must outlive its run is cut out.

    `kept` are the stashes that are known to do so: a run ends there, and their value goes to the VRF.
    """
    out: list[Segment] = []
    start, why = 0, ""
    while start < len(chain):
        end, reason = start + 1, ""
        while end < len(chain):
            reason = _refused(chain, start, end, dtypes[start], kept)
            if reason:
                break
            end += 1
        out.append(Segment(start, end, why, start in kept))
        start, why = end, reason
    lost = next(_outlived(chain, out), None)
    return out if lost is None else _segments(chain, dtypes, kept | {lost})


def _refused(chain: Sequence[VectorOp], start: int, end: int, dtype: str, kept: frozenset[int]) -> str:
    """Why op `end` cannot follow the run from `start`; empty where it can."""
    run = [*_narrowed(chain, start), *chain[start:end]]
    op = chain[end]
    if end in kept:
        return "the value is read more than once, or behind a cut, so the VRF keeps it"
    if op.name == STASH:
        return "the stash is taken" if any(o.name == STASH for o in run) else ""
    found = [f for f in assign([*run, op], dtype)[-1].findings if f.rule == "alu_used_twice"]
    found = found or [f for a in assign([*run, op], dtype) for f in a.findings if f.rule == "alu_used_twice"]
    if found:
        return found[0].message
    stages = [OPS[o.name].stage for o in run if o.name in OPS]
    own = OPS[op.name].stage if op.name in OPS else ""
    if not own or not stages:
        return ""
    if STAGES.index(own) < STAGES.index(stages[-1]) or (own == stages[-1] and own in _SINGLE):
        return f"stage {own} has been passed"
    return ""


def _narrowed(chain: Sequence[VectorOp], start: int) -> list[VectorOp]:
    """The narrowing that a run begins with when it starts on 4 ways."""
    before = [o for o in chain[:start] if o.name in OPS and OPS[o.name].stage in ("narrow", "widen")]
    return [before[-1]] if before and OPS[before[-1].name].stage == "narrow" else []


def _outlived(chain: Sequence[VectorOp], segments: list[Segment]) -> Iterator[int]:
    """Stashes that are read twice, or behind the run that writes them, and are not in the VRF yet."""
    written: int | None = None
    reads: list[int] = []
    for at in range(len(chain) + 1):
        ends = at == len(chain) or chain[at].name == STASH
        if ends and written is not None:
            home = next(s for s in segments if s.start <= written < s.end)
            if not home.kept and (len(reads) > 1 or any(not home.start <= r < home.end for r in reads)):
                yield written
        if ends:
            written, reads = at, []
        elif STASH in list(named(chain[at])):
            reads.append(at)


# Names and places -------------------------------------------------------------------------------------------


def _label(op: VectorOp) -> str:
    return str(op.op or op.value or op.name)


def _names(kernel: Kernel) -> frozenset[str]:
    """Everything that has a name already."""
    found = set(kernel.tensors)

    def walk(ops: tuple[Op, ...]) -> None:
        for op in ops:
            found.add(op.name)
            if isinstance(op, LoopOp):
                walk(op.ops)

    walk(kernel.ops)
    return frozenset(found)


def _moved(positions: SourceMap, at: int, more: int) -> SourceMap:
    """Places in the file once an operation has become several, all of them where it stands."""
    out: dict[tuple[str | int, ...], tuple[int, int]] = {}
    for path, place in positions.at.items():
        later = path[:1] == ("ops",) and len(path) > 1 and isinstance(path[1], int) and path[1] > at
        out[("ops", path[1] + more, *path[2:]) if later else path] = place
    for i in range(at, at + more + 1):
        out = {p: v for p, v in out.items() if p[:2] != ("ops", i)} | {("ops", i): positions.position(("ops", at))}
    return positions.model_copy(update={"at": out})
