"""Operations that are alike but for the names of their tensors: searched once, as in layers that repeat."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from models.kernel import PassOp, ReshapeOp
from planner.program.operations import Einsum, Node, RowPass, Rows, Value, VectorStep
from planner.program.tree import Call, Statement
from planner.search.fragment import Fragment
from planner.search.laws import Place
from planner.search.options import Finder, Option

Op = TypeVar("Op", PassOp, ReshapeOp)
_MARK = re.compile(r"Tensor(\d+)OfAlike")
"""A tensor's stand-in: a name that no file's own name is made of."""


@dataclass(frozen=True, slots=True)
class Bare:
    """Operations with stand-ins for their tensors, where these lie in HBM, and which of them are stored there.

    `names` are the tensors' own, in the order of their stand-ins.
    """

    nodes: tuple[Node, ...]
    names: tuple[str, ...]
    hbm: dict[str, Place]
    outputs: frozenset[str]

    @property
    def key(self) -> str:
        """The same for all operations that are alike."""
        return repr((self.nodes, sorted(self.hbm.items(), key=lambda entry: entry[0]), sorted(self.outputs)))


def bare(nodes: Sequence[Node], hbm: Mapping[str, Place], outputs: frozenset[str]) -> Bare:
    """Takes the names of tensors away."""
    names = tuple(dict.fromkeys(name for node in nodes for name in _names(node)))
    marks = {name: f"Tensor{i}OfAlike" for i, name in enumerate(names)}
    placed = {marks[n]: place for n, place in hbm.items() if n in marks}
    stored = frozenset(marks[n] for n in outputs & marks.keys())
    return Bare(tuple(_renamed_node(n, marks) for n in nodes), names, placed, stored)


@dataclass(slots=True)
class Alike:
    """Asks a finder for the options of an operation without the names of its tensors, and puts the names back."""

    finder: Finder
    known: dict[str, list[Option]] = field(default_factory=dict)

    def options(self, node: Node) -> list[Option]:
        """What the finder says of the operation, found once for all that are alike."""
        one = bare((node,), self.finder.hbm, self.finder.outputs)
        if one.key not in self.known:
            self.known[one.key] = replace(self.finder, hbm=one.hbm, outputs=one.outputs).options(one.nodes[0])
        return [_named(option, one.names) for option in self.known[one.key]]


def _names(node: Node) -> list[str]:
    """Its tensors in the order in which they stand there."""
    own = [v.name for v in node.reads]
    if isinstance(node, Rows):
        own += [p.out.name for p in node.passes]
    return [*own, node.out.name]


# Names away -------------------------------------------------------------------------------------------------


def _renamed_node(node: Node, names: Mapping[str, str]) -> Node:
    if isinstance(node, Einsum):
        left, right, out = (_value(v, names) for v in (node.left, node.right, node.out))
        return Einsum(left, right, out, _bare(node.statement, names))
    passes = tuple(_row_pass(p, names) for p in node.passes)
    # It knows every tensor so far, whether it reads it or not.
    values = {names[n]: _value(node.values[n], names) for n in _names(node)}
    return Rows(passes, _value(node.out, names), _bare(node.statement, names), values)


def _bare(statement: Statement, names: Mapping[str, str]) -> Statement:
    """What a statement states of its result, without its place in the file."""
    nothing = Call("", (), None, None, 1)
    return replace(statement, name=names[statement.name], expression=nothing, text="", line=1, column=1)


def _value(value: Value, names: Mapping[str, str]) -> Value:
    return replace(value, name=names[value.name])


def _row_pass(one: RowPass, names: Mapping[str, str]) -> RowPass:
    def steps(of: tuple[VectorStep, ...]) -> tuple[VectorStep, ...]:
        return tuple(replace(s, operand=names[s.operand] if isinstance(s.operand, str) else s.operand) for s in of)

    return replace(
        one,
        source=_value(one.source, names),
        before=steps(one.before),
        behind=steps(one.behind),
        out=_value(one.out, names),
    )


# Names back -------------------------------------------------------------------------------------------------


def _named(option: Option, names: Sequence[str]) -> Option:
    """An option with the names of tensors for their stand-ins, in all names that were made of them."""

    def text(value: str) -> str:
        return _MARK.sub(lambda m: names[int(m[1])], value)

    made = option.fragment
    fragment = Fragment(
        label=text(made.label),
        needs=tuple(replace(n, tensor=text(n.tensor), buffer=text(n.buffer)) for n in made.needs),
        passes=tuple(_op(op, text) for op in made.passes),
        out=text(made.out),
        dtype=made.dtype,
        gives=made.gives,
        buffer=text(made.buffer),
        views=tuple(_op(v, text) for v in made.views),
    )
    endings = tuple(
        replace(e, move=None if e.move is None else _op(e.move, text), buffer=text(e.buffer)) for e in option.endings
    )
    loads = {text(name): cycles for name, cycles in option.loads.items()}
    return replace(option, fragment=fragment, loads=loads, endings=endings)


def _op(op: Op, text: Callable[[str], str]) -> Op:
    def walk(value: object) -> object:
        if isinstance(value, dict):
            return {k: walk(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [walk(v) for v in value]
        return text(value) if isinstance(value, str) else value

    return type(op).model_validate(walk(op.model_dump(by_alias=True)))
