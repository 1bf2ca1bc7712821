"""The passes that a split vector chain becomes: what each reads, narrows, runs, widens and stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from models.kernel import Collect, Commit, Fetch, PassOp, Step, ToVrf, Vector
from models.layout import Stream
from models.mapping import Mapping, pair, text
from models.vector_ops import VectorOp
from planner.engines.base import Ground
from planner.engines.shapes import cut, padded
from planner.engines.vector_operands import STASH

_REDUCTIONS = frozenset({"intra_slice_reduce"})


@dataclass(frozen=True, slots=True)
class Segment:
    """Ops `start` to `end` of a chain run in one pass; `why` the chain was cut before them.

    `kept`: they begin with a stash whose value the VRF keeps.
    """

    start: int
    end: int
    why: str
    kept: bool


@dataclass(frozen=True, slots=True)
class Between:
    """How a value crosses a cut: its 8-way Time and packet, the ops that widen it and those that narrow it again."""

    time: Mapping
    packet: Mapping
    widen: tuple[VectorOp, ...]
    narrow: tuple[VectorOp, ...]

    @property
    def element(self) -> str:
        """The layout in memory."""
        return text(pair(self.time, self.packet))

    @property
    def start(self) -> tuple[Step, ...]:
        """The steps that bring it back."""
        return (Fetch(time=text(self.time), packet=text(self.packet)), Collect())


def passes_of(
    op: PassOp, at: int, segments: Sequence[Segment], streams: Sequence[Stream], ground: Ground, taken: frozenset[str]
) -> tuple[PassOp, ...]:
    """The passes in order; the last one keeps the name and all steps behind the chain.

    `streams[i]` is the stream before op i of the chain at step `at`; `taken` are names in use.
    """
    step = op.steps[at]
    assert isinstance(step, Vector)
    chain = step.ops
    crossings = [_between(ground, chain, s.start, streams[s.start]) for s in segments[1:]]
    out: list[PassOp] = []
    register: str | None = None
    for i, segment in enumerate(segments):
        last = i == len(segments) - 1
        ops = [o for o in chain[segment.start : segment.end] if not (segment.kept and o.name == STASH)]
        name = op.name if last else _free(f"{op.name}_{i + 1}", taken)
        if i and segment.kept:
            store = out[-1]
            register = _free(f"{store.name}_vrf", taken)
            out.append(_staged(store, register, crossings[i - 1]))
        elif any(o.name == STASH for o in ops):
            register = None
        ops = [_reading(o, register) for o in ops]
        before = crossings[i - 1] if i else None
        behind = None if last else crossings[i]
        body = [*(before.narrow if before else ()), *ops, *(behind.widen if behind else ())]
        first = before.start if before else op.steps[:at]
        source = _written(out) if i else op.read
        steps = [*first, *([Vector(ops=tuple(body))] if body else [])]
        steps += op.steps[at + 1 :] if last else [_commit(op, at, f"{name}_dm", streams[segment.end], crossings[i])]
        interleave = None if i else op.interleave
        out.append(
            op.model_copy(update={"name": name, "read": source, "interleave": interleave, "steps": tuple(steps)})
        )
    return tuple(out)


def _between(ground: Ground, chain: Sequence[VectorOp], at: int, stream: Stream) -> Between:
    """Widens what stands on 4 ways: halves side by side again, or with padding behind a trim or a reduction."""
    unit = ground.hardware.vector
    if stream.packet.size != unit.ways_narrow:
        return Between(stream.time, stream.packet, (), ())
    narrowed = max(i for i in range(at) if chain[i].name.startswith("narrow_"))
    reduced = any(o.name in _REDUCTIONS for o in chain[narrowed:at])
    time, packet = text(stream.time), text(stream.packet)
    if chain[narrowed].name == "narrow_split" and not reduced:
        outer, half = cut(stream.time, unit.ways_wide // unit.ways_narrow)
        wide = pair(half, stream.packet)
        joined = VectorOp(name="widen_concat", time=text(outer), packet=text(wide))
        return Between(outer, wide, (joined,), (VectorOp(name="narrow_split", time=time, packet=packet),))
    wide = padded(stream.packet, unit.ways_wide)
    back = VectorOp(name="narrow_trim", value=packet)
    return Between(stream.time, wide, (VectorOp(name="widen_pad", value=text(wide)),), (back,))


def _commit(op: PassOp, at: int, name: str, stream: Stream, crossing: Between) -> Commit:
    """Stores a value; Slice is stated where the pass has moved it."""
    moved = any(s.step == "switch" or getattr(s, "slice", None) for s in op.steps[:at])
    return Commit(write=name, element=crossing.element, slice=text(stream.slice) if moved else None)


def _staged(store: PassOp, register: str, crossing: Between) -> PassOp:
    """Loads a value that a pass has stored into the VRF."""
    last = store.steps[-1]
    assert isinstance(last, Commit)
    steps = (*crossing.start, ToVrf(write=register, element=crossing.element))
    return PassOp(name=f"{store.name}_keep", read=last.write, steps=steps)


def _reading(op: VectorOp, register: str | None) -> VectorOp:
    """An op with the VRF tensor in place of the stash."""
    if register is None:
        return op
    listed = None if op.operands is None else tuple(register if o == STASH else o for o in op.operands)
    return op.model_copy(update={"operand": register if op.operand == STASH else op.operand, "operands": listed})


def _written(out: Sequence[PassOp]) -> str:
    """What the last pass that stores into data memory has stored."""
    stores = [p.steps[-1] for p in out if isinstance(p.steps[-1], Commit)]
    assert isinstance(stores[-1], Commit)
    return str(stores[-1].write)


def _free(name: str, taken: frozenset[str]) -> str:
    """A name that nobody has."""
    while name in taken or f"{name}_dm" in taken:
        name += "_"
    return name
