"""Edits of a kernel that may make it fit: choices of the file set free or set otherwise, smaller tiles, other lanes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from models.kernel import AUTO, ContractOuter, DmaOp, Kernel, LoopOp, Op, PassOp, ReshapeOp, SourcePath, Tile, ToTrf
from planner.passes import target

_LANE_COUNTS = (8, 4, 2, 1)
_DIGIT = re.compile(r"^\(?(?P<axis>[A-Za-z_]\w*) % (?P<size>\d+)\)?$")


@dataclass(frozen=True, slots=True)
class Edit:
    """Another value at a path of the kernel: `("ops", 2, "steps", 1, "region")`."""

    path: SourcePath
    old: Any
    new: Any


def edited(kernel: Kernel, edits: tuple[Edit, ...]) -> Kernel:
    """The kernel with other values at these paths.

    Raises:
        ValueError: a value that the kernel's form does not allow (`pydantic.ValidationError`).

    """
    document = kernel.model_dump(by_alias=True, mode="json")
    for edit in edits:
        node: Any = document
        for part in edit.path[:-1]:
            node = node[part]
        node[edit.path[-1]] = edit.new
    return Kernel.model_validate(document)


def shown_edit(kernel: Kernel, edit: Edit, line: int) -> str:
    """`region: first_half instead of full in `store_b`, line 17`."""
    names = [op.name for path, op in _walk(kernel.ops, ()) if edit.path[: len(path)] == path]
    where = f" in `{names[-1]}`" if names else ""
    place = f", line {line}" if line else ""
    return f"{edit.path[-1]}: {edit.new} instead of {edit.old}{where}{place}"


def passes(kernel: Kernel) -> Iterator[tuple[SourcePath, PassOp]]:
    """Every pass of the file with its path."""
    for path, op in _walk(kernel.ops, ()):
        if isinstance(op, PassOp):
            yield path, op


def written_tensors(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """(operation, tensor it writes) for every operation of the file."""
    for _, op in _walk(kernel.ops, ()):
        if isinstance(op, LoopOp):
            continue
        place = op.name if isinstance(op, ReshapeOp) else op.write if isinstance(op, DmaOp) else target(op)
        yield op.name, place.tensor if isinstance(place, Tile) else place


def open_fields(path: SourcePath, op: PassOp) -> Iterator[tuple[Edit, ...]]:
    """Each choice that the file makes for a pass, made otherwise or left to the planner."""
    if op.context != AUTO:
        other = {"main": "sub", "sub": "main"}[op.context]
        yield (Edit((*path, "context"), op.context, other),)
    for i, step in enumerate(op.steps):
        for name in ("region", "via", "mode"):
            old = getattr(step, name, AUTO)
            if old == AUTO or not isinstance(old, str):
                continue
            at = (*path, "steps", i, name)
            if name == "region":
                yield from ((Edit(at, old, r),) for r in ("first_half", "second_half", "full") if r != old)
            yield (Edit(at, old, AUTO),)


def smaller_tiles(kernel: Kernel, names: set[str]) -> Iterator[tuple[Edit, ...]]:
    """Loops with an operation of these names: half the tile's length in twice as many iterations."""
    for path, op in _walk(kernel.ops, ()):
        if isinstance(op, LoopOp) and names & {o.name for _, o in _walk(op.ops, ())}:
            for length in sorted(_lengths(op), reverse=True):
                for part in (2, 4, 8):
                    if length % part == 0:
                        yield _halved(path, op, length, part)


def _lengths(loop: LoopOp) -> set[int]:
    return {node["length"] for _, node in _nodes(loop.model_dump(by_alias=True, mode="json"), ()) if "length" in node}


def _halved(path: SourcePath, loop: LoopOp, length: int, part: int) -> tuple[Edit, ...]:
    """Lengths, starts and windows of one tile length, and the count; the first edit names the change."""
    less, edits = length // part, []
    for at, node in _nodes(loop.model_dump(by_alias=True, mode="json"), path):
        if node.get("length") == length and "start" in node:
            edits.append(Edit((*at, "length"), length, less))
            start = re.sub(rf"\b{length}\b", str(less), node["start"])
            edits.append(Edit((*at, "start"), node["start"], start))
        edits += [
            Edit((*at, key), value, re.sub(rf"= {length}\b", f"= {less}", value))
            for key, value in node.items()
            if isinstance(value, str) and re.search(rf"= {length}\b", value)
        ]
    return (*edits, Edit((*path, "count"), loop.count, loop.count * part))


def lanes(kernel: Kernel, names: set[str]) -> Iterator[tuple[Edit, ...]]:
    """TRF stores of these names with another lane count; Time of the store and of its readers follows."""
    for path, op in passes(kernel):
        last = op.steps[-1]
        if not isinstance(last, ToTrf) or op.name not in names:
            continue
        digit = _DIGIT.match(last.lane)
        for count in _LANE_COUNTS if digit else ():
            if digit and count != int(digit["size"]):
                lane = Edit((*path, "steps", len(op.steps) - 1, "lane"), last.lane, f"{digit['axis']} % {count}")
                rest = _relaned(kernel, last.write, path, digit["axis"], int(digit["size"]), count)
                yield (lane, *(e for e in rest if e.path != lane.path))


def _relaned(kernel: Kernel, tensor: str, store: SourcePath, axis: str, old: int, new: int) -> Iterator[Edit]:
    for path, op in passes(kernel):
        reads = any(isinstance(s, ContractOuter) and s.with_ == tensor for s in op.steps)
        if path != store and not reads:
            continue
        for at, node in _nodes(op.model_dump(by_alias=True, mode="json"), path):
            for key, value in node.items():
                if isinstance(value, str) and (text := _moved(value, axis, old, new)) != value:
                    yield Edit((*at, key), value, text)


def _moved(text: str, axis: str, old: int, new: int) -> str:
    """Digits of an axis, parted at another place: `J % 8, J / 8 % 4` becomes `J % 4, J / 4 % 8`."""

    def upper(match: re.Match[str]) -> str:
        return f"{axis} / {new} % {int(match[1]) * old // new}"

    text = re.sub(rf"\b{axis} / {old} % (\d+)\b", upper, text)
    text = re.sub(rf"\b{axis} / {old}\b(?! %)", f"{axis} / {new}", text)
    return re.sub(rf"\b{axis} % {old}\b", f"{axis} % {new}", text)


def tile_axes(kernel: Kernel, tensors: tuple[str, ...]) -> tuple[str, ...]:
    """Axes in the elements of these on-chip tensors, in the order of their declaration."""
    texts = []
    for _, op in _walk(kernel.ops, ()):
        if isinstance(op, LoopOp):
            continue
        for _, node in _nodes(op.model_dump(by_alias=True, mode="json"), ()):
            write = node.get("write", node.get("name"))
            name = write.get("tensor") if isinstance(write, dict) else write
            if name in tensors and isinstance(node.get("element"), str):
                texts.append(node["element"])
    used = {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}
    return tuple(axis for axis in kernel.axes if axis in used)


def _walk(ops: tuple[Op, ...], path: SourcePath) -> Iterator[tuple[SourcePath, Op]]:
    for i, op in enumerate(ops):
        here = (*path, "ops", i)
        yield here, op
        if isinstance(op, LoopOp):
            yield from _walk(op.ops, here)


def _nodes(node: Any, path: SourcePath) -> Iterator[tuple[SourcePath, dict[str, Any]]]:  # noqa: ANN401  # JSON
    """Every object of a document with its path."""
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            yield from _nodes(value, (*path, key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from _nodes(value, (*path, i))
