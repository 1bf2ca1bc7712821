"""What a kernel means: its operations on named axes, without any mapping.

Of a mapping's text only the axis names count, never positions: a transfer copies, a contraction sums over the axes
that are not in what the pass writes, the vector engine works elementwise with named broadcasting, and a tile takes
the part of an axis whose digit lies in a range.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from models.kernel import DmaOp, Kernel, LoopOp, Op, PassOp, Place, ReshapeOp, Step, Tile
from simulator.linear import digit_of, evaluate
from simulator.named import Named, cast, contract, from_raw
from simulator.reference_fold import fold, slice_part
from simulator.reference_vector import run_chain
from simulator.sampling import Sample
from simulator.values import Raw

Texts = tuple[str, ...]
"""Chip, Cluster and Slice."""
_NOWHERE: Texts = ("", "", "")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass
class Reference:
    """The kernel's meaning, computed in program order; `tensors` holds the latest instance of every name."""

    kernel: Kernel
    bounded: bool
    tensors: dict[str, Named] = field(default_factory=dict)
    spread: dict[str, Texts] = field(default_factory=dict)
    """Chip, Cluster and Slice of every on-chip tensor: a pass keeps their axes without naming them."""
    lanes: dict[str, str] = field(default_factory=dict)
    """Lanes of every TRF tensor."""
    sample: Sample | None = None
    """What is computed; None: all."""

    def run(self) -> None:
        """Computes everything.

        Raises:
            LookupError: a step without a meaning here, or a tensor that is read before it is written.

        """
        for op, variables in unrolled(self.kernel.ops):
            if isinstance(op, DmaOp):
                self._dma(op, variables)
            elif isinstance(op, PassOp):
                self._pass(op, variables)
            elif isinstance(op, ReshapeOp):
                self._reshape(op)

    def _read(self, place: Place, variables: Mapping[str, int]) -> Named:
        if isinstance(place, str):
            return self.tensors[place]
        return self.tensors[place.tensor].tile(place.tile, evaluate(place.start, variables), place.length)

    def _thinned(self, value: Named, op: str) -> Named:
        """What an operation needs of a tensor that may be there whole."""
        for axis, indices in (self.sample.of_op(op) if self.sample is not None else {}).items():
            if axis in value.axes and value.values.shape[value.axes.index(axis)] == self.kernel.axes[axis]:
                value = replace(value.taken(axis, indices), picks=value.picks)
        return value

    def _write(self, place: Place, value: Named, variables: Mapping[str, int]) -> None:
        if isinstance(place, str):
            self.tensors[place] = replace(value, picks={})
            return
        self._write_tile(place, value, evaluate(place.start, variables))

    def _write_tile(self, place: Tile, value: Named, start: int) -> None:
        """Puts a part of an axis where it belongs; what no tile has written yet is not a number."""
        digit = digit_of(place.tile)
        whole = self.tensors.get(place.tensor)
        if digit.axis not in value.axes:
            raise LookupError(f"`{place.tensor}`: the tile's axis {digit.axis} is not in what is written")
        at, size = value.axes.index(digit.axis), self.kernel.axes[digit.axis]
        if whole is None:
            shape = (*value.values.shape[:at], size, *value.values.shape[at + 1 :])
            error = None if value.error is None else np.zeros(shape)
            whole = replace(value, values=np.zeros(shape, value.values.dtype), picks={}, error=error)
        number = digit.value(np.arange(size))
        into = np.flatnonzero((number >= start) & (number < start + place.length))
        value, at = value.aligned(whole.axes), whole.axes.index(digit.axis)
        np.moveaxis(whole.values, at, 0)[into] = np.moveaxis(value.values, at, 0)
        if whole.error is not None and value.error is not None:
            np.moveaxis(whole.error, at, 0)[into] = np.moveaxis(value.error, at, 0)
        self.tensors[place.tensor] = whole

    def _dma(self, op: DmaOp, variables: Mapping[str, int]) -> None:
        self._write(op.write, self._thinned(self._read(op.read, variables), op.name), variables)
        self.spread[_tensor(op.write)] = _texts(op.chip, op.cluster, op.slice)

    def _reshape(self, op: ReshapeOp) -> None:
        self.tensors[op.name] = self.tensors[op.of]
        stated = _texts(op.chip, op.cluster, op.slice)
        self.spread[op.name] = stated if any(stated) else self.spread.get(op.of, _NOWHERE)

    def _pass(self, op: PassOp, variables: Mapping[str, int]) -> None:
        places = op.read if isinstance(op.read, tuple) else (op.read,)
        found = [self._thinned(self._read(place, variables), op.name) for place in places]
        value = found[0] if op.interleave is None else _interleaved(found, op.interleave)
        spread = self._spread_of(op, places[0])
        kept = _names(*spread) | _written(op.steps[-1])
        for step in op.steps:
            if step.step == "contract_outer":
                weights = self._thinned(self.tensors[step.with_], op.name)
                value = self._partly_summed(op, contract(value, weights, kept, bounded=self.bounded), spread)
            elif step.step == "vector":
                value, spread = run_chain(step.ops, value, partial(self._operand, op.name), self.kernel.axes, spread)
            else:
                value = _step(step, value)
        last = op.steps[-1]
        if last.step == "commit":
            self._write(last.write, value, variables)
            self.spread[_tensor(last.write)] = spread
        elif last.step in ("to_trf", "to_vrf"):
            self.tensors[last.write] = value
            self.spread[last.write] = spread
            self.lanes[last.write] = getattr(last, "lane", "")

    def _operand(self, op: str, tensor: str) -> Named:
        return self._thinned(self.tensors[tensor], op)

    def _spread_of(self, op: PassOp, place: Place) -> Texts:
        """Chip, Cluster and Slice behind the switch: as the last step says that states some, else the source's.

        A commit states those behind a switch that is left to the planner, unless slices are reduced in between.
        """
        chip, cluster, slice_ = self.spread.get(_tensor(place), _NOWHERE)
        reduced = any(o.name == "inter_slice_reduce" for s in op.steps if s.step == "vector" for o in s.ops)
        for step in op.steps:
            if step.step == "fetch":
                chip, cluster = step.chip or chip, step.cluster or cluster
            if step.step in ("fetch", "switch") or (step.step == "commit" and not reduced):
                slice_ = getattr(step, "slice", None) or slice_
        return chip, cluster, slice_

    def _partly_summed(self, op: PassOp, value: Named, spread: Texts) -> Named:
        """What a contraction sums inside of each unit although units split the axis: it is named nowhere behind."""
        behind = [s.time for s in op.steps if s.step == "contract_time"]
        behind += [s.packet for s in op.steps if s.step == "contract_packet"]
        lanes = [self.lanes.get(s.with_, "") for s in op.steps if s.step == "contract_outer"]
        for axis in sorted((_names(*spread) & set(value.axes)) - _names(*behind, *lanes)):
            part = slice_part(spread, axis, self.kernel.axes)
            if (part != np.arange(len(part))).any():
                value = fold(value, axis, part, "add")
        return value


def _step(step: Step, value: Named) -> Named:
    """A step that works element by element."""
    if step.step in ("fetch_cast", "fetch_table_lookup", "cast"):
        return cast(value, step.dtype)
    if step.step == "fetch_zero_point_sub":
        return replace(value, values=value.values - step.zero_point, dtype=step.dtype)
    if step.step == "commit" and step.cast is not None:
        kept_sign = np.maximum(value.values, 0.0) if step.relu else value.values
        return cast(replace(value, values=kept_sign), step.cast)
    return value


def _interleaved(found: list[Named], axis: str) -> Named:
    first, second = found[0], found[1].aligned(found[0].axes)
    return replace(first, axes=(axis, *first.axes), values=np.stack([first.values, second.values]))


def _written(step: Step) -> frozenset[str]:
    texts = [getattr(step, name, None) for name in ("element", "lane")]
    return _names(*texts)


def _texts(*texts: str | None) -> Texts:
    return tuple(text or "" for text in texts)


def _names(*texts: str | None) -> frozenset[str]:
    return frozenset(name for text in texts if text for name in _NAME.findall(text))


def _tensor(place: Place) -> str:
    return place if isinstance(place, str) else place.tensor


def unrolled(ops: tuple[Op, ...], variables: dict[str, int] | None = None) -> Iterator[tuple[Op, dict[str, int]]]:
    """Operations in program order with their loop variables."""
    known = variables or {}
    for op in ops:
        if isinstance(op, LoopOp):
            for i in range(op.count):
                yield from unrolled(op.ops, {**known, op.name: i})
        else:
            yield op, known


def reference_outputs(
    kernel: Kernel,
    inputs: dict[str, Raw],
    axes: dict[str, tuple[str, ...]],
    *,
    bounded: bool,
    sample: Sample | None = None,
) -> dict[str, Named]:
    """Every output tensor on its named axes (in the order `axes` gives), from the bit patterns of the inputs.

    Of a sample, the outputs have the indices that are in it.
    """
    reference = Reference(kernel, bounded, sample=sample)
    for name, raw in inputs.items():
        reference.tensors[name] = from_raw(raw, kernel.tensors[name].dtype, axes[name])
    reference.run()
    return {n: reference.tensors[n] for n, t in kernel.tensors.items() if t.role == "output" and n in reference.tensors}
