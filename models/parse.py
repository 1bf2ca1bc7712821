"""Reads mapping text, the part inside `m![ ]`, into a tree (grammar: domain, section 1)."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Mapping as Dict
from dataclasses import dataclass, field

from models.mapping import Axis, Broadcast, Mapping, MappingError, Modulo, Pad, Padding, Pair, Resize, Stride

MAX_DEPTH = 64
MAX_TERMS = 256
MAX_TEXT = 65_536
MAX_SIZE = 2**63 - 1
_TOKEN = re.compile(
    r"\s*(?:(?P<pad>#\{[*0!]\}|#)|(?P<num>[0-9]+)|(?P<axis>[A-Za-z_][A-Za-z0-9_]*)|(?P<name>\{[A-Za-z_][A-Za-z0-9_]*\})|(?P<sign>[/%=,\[\]()]))"
)
_PADS = {"#": Padding.TOP, "#{*}": Padding.TOP, "#{0}": Padding.ZERO, "#{!}": Padding.BOTTOM}
_CLOSING = {"[": "]", "(": ")"}
_OPERATORS: Dict[str, Callable[[Mapping, int], Mapping]] = {"/": Stride, "%": Modulo, "=": Resize}


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean: axis sizes, layouts (`{Name}` as an atom) and constants (`{NAME}` as a number)."""

    axes: Dict[str, int] = field(default_factory=dict)
    layouts: Dict[str, Mapping] = field(default_factory=dict)
    constants: Dict[str, int] = field(default_factory=dict)


def parse(source: str, scope: Scope | Dict[str, int]) -> Mapping:
    """Parses mapping text; `scope` gives the axis sizes.

    Raises:
        MappingError: with the broken rule and the column, counted from 1.

    """
    if not isinstance(scope, Scope):
        scope = Scope(axes=scope)
    if len(source) > MAX_TEXT:
        raise MappingError("mapping_too_long", f"mapping text of {len(source)} characters, at most {MAX_TEXT}", 1)
    out = _Parser(source, scope).mapping_to_end()
    _check_extent(out)
    return out


def _check_extent(e: Mapping) -> None:
    """Bounds a tree with its inserted layouts: what follows walks trees by recursion."""
    leaves, stack = 0, [(e, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise MappingError("mapping_too_deep", f"nested over {MAX_DEPTH} deep", 1)
        if isinstance(node, Pair):
            stack += [(node.left, depth), (node.right, depth)]
        elif not isinstance(node, Axis | Broadcast):
            stack.append((node.inner, depth + 1))
        else:
            leaves += 1
        if leaves > MAX_TERMS:
            raise MappingError("mapping_too_long", f"a mapping of over {MAX_TERMS} terms", 1)


def _tokens(source: str) -> list[tuple[str, str, int]]:
    out, at, end = [], 0, len(source.rstrip())
    while at < end:
        m = _TOKEN.match(source, at)
        if m is None:
            column = end - len(source[at:end].lstrip()) + 1
            found = source[column - 1]
            wanted = "an axis, a number, an operator or a bracket"
            raise MappingError("mapping_syntax", f"unexpected `{found}`", column, found, wanted)
        kind = m.lastgroup or ""
        out.append((kind, m.group(kind), m.start(kind) + 1))
        at = m.end()
    return out


class _Parser:
    def __init__(self, source: str, scope: Scope) -> None:
        self.tokens = [*_tokens(source), ("end", "the end", len(source) + 1)]
        self.at, self.depth, self.scope = 0, 0, scope

    def mapping_to_end(self) -> Mapping:
        out = self.mapping(("end",))
        kind, found, column = self.tokens[self.at]
        if kind != "end":
            raise MappingError("mapping_syntax", f"unexpected `{found}`", column, found, "`,` or an operator")
        return out

    def mapping(self, closers: tuple[str, ...]) -> Mapping:
        parts = [self.term()]
        while self.tokens[self.at][1] == ",":
            self.at += 1
            kind, value, _ = self.tokens[self.at]
            if kind in closers or value in closers:
                break
            parts.append(self.term())
        out = parts[-1]
        for part in reversed(parts[:-1]):
            out = self.pair(part, out)
        return out

    def pair(self, left: Mapping, right: Mapping) -> Mapping:
        out = Pair(left, right)
        if out.size > MAX_SIZE:
            _, _, column = self.tokens[self.at]
            raise MappingError(
                "mapping_too_large",
                f"a mapping of {out.size} positions",
                column,
                str(out.size),
                f"at most {MAX_SIZE}",
            )
        return out

    def term(self) -> Mapping:
        out, postfixes = self.atom(), 0
        while (sign := self.tokens[self.at])[1] in "/%=" or sign[0] == "pad":
            self.at += 1
            postfixes += 1
            if postfixes + self.depth > MAX_DEPTH:
                raise MappingError("mapping_too_deep", f"nested over {MAX_DEPTH} deep", sign[2])
            out = self.postfix(out, sign[1], sign[2])
        return out

    def postfix(self, inner: Mapping, sign: str, column: int) -> Mapping:
        n = self.number(sign)
        try:
            if sign in _PADS:
                return Pad(inner, n, _PADS[sign])
            return _OPERATORS[sign](inner, n)
        except MappingError as fault:
            fault.column = column
            raise

    def number(self, sign: str) -> int:
        kind, value, column = self.tokens[self.at]
        self.at += 1
        if kind == "num":
            return self.bounded(value, column)
        if kind == "name" and value[1:-1] in self.scope.constants:
            return self.bounded(str(self.scope.constants[value[1:-1]]), column)
        raise MappingError(
            "mapping_syntax",
            f"`{sign}` needs a number, found `{value}`",
            column,
            value,
            "a number or a constant",
        )

    @staticmethod
    def bounded(value: str, column: int) -> int:
        if len(value) > len(str(MAX_SIZE)) or not 1 <= int(value) <= MAX_SIZE:
            raise MappingError(
                "size_out_of_range", f"`{value[:24]}` is not a size", column, value[:24], f"1 to {MAX_SIZE}"
            )
        return int(value)

    def atom(self) -> Mapping:
        kind, value, column = self.tokens[self.at]
        self.at += 1
        if kind == "axis":
            return self.axis(value, column)
        if kind == "num":
            return Broadcast(self.bounded(value, column))
        if kind == "name":
            return self.layout(value[1:-1], column)
        if value in _CLOSING:
            return self.bracket(_CLOSING[value], column)
        raise MappingError("mapping_syntax", f"unexpected `{value}`", column, value, "an axis, a number or a bracket")

    def bracket(self, closing: str, column: int) -> Mapping:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise MappingError("mapping_too_deep", f"nested over {MAX_DEPTH} deep", column)
        out = self.mapping((closing,))
        if self.tokens[self.at][1] != closing:
            raise MappingError(
                "mapping_syntax",
                f"`{closing}` is missing",
                self.tokens[self.at][2],
                self.tokens[self.at][1],
                closing,
            )
        self.at += 1
        self.depth -= 1
        return out

    def axis(self, name: str, column: int) -> Mapping:
        if name not in self.scope.axes:
            raise MappingError("unknown_axis", f"axis `{name}` is not declared", column, name, _listed(self.scope.axes))
        return Axis(name, self.bounded(str(self.scope.axes[name]), column))

    def layout(self, name: str, column: int) -> Mapping:
        if name in self.scope.layouts:
            return self.scope.layouts[name]
        if name in self.scope.constants:
            return Broadcast(self.bounded(str(self.scope.constants[name]), column))
        raise MappingError(
            "unknown_layout", f"layout `{name}` is not declared", column, name, _listed(self.scope.layouts)
        )


def _listed(names: Dict[str, object]) -> str:
    return "one of " + ", ".join(sorted(names)) if names else "a declaration"
