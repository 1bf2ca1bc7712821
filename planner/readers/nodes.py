"""YAML text to nodes with positions, built from the parser's events without recursion and within bounds.

The composer of the library recurses, keeps no bound on nodes and resolves types before the reader knows what a
field wants; here every scalar stays text with its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from planner.readers.yaml_events import NotAlike, exact, fast

MAX_NODES = 200_000
MAX_YAML_DEPTH = 64
CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\ufeff")
"""Characters that no kernel file holds, not even by an escape: they could not be written out again."""
_COMMENT = re.compile(r"[ \t]+(#.*)")
Event = Any
"""An event of either library: both call the classes and their fields alike."""


class NodeError(Exception):
    """YAML that cannot become nodes; `line` and `column` count from 1."""

    def __init__(self, rule: str, message: str, line: int, column: int, found: str = "", wanted: str = "") -> None:
        super().__init__(message)
        self.rule, self.message, self.line, self.column = rule, message, line, column
        self.found, self.wanted = found, wanted


@dataclass(slots=True)
class Node:
    """A scalar (text), a sequence (items) or a mapping (pairs), with line and column from 1.

    `plain`: the scalar is unquoted. `exact`: column of its text plus an offset is the column in the file.
    `count`: nodes below and including this one, aliases written out.
    """

    kind: Literal["scalar", "list", "mapping"]
    line: int
    column: int
    text: str = ""
    plain: bool = False
    exact: bool = False
    comment: str = ""
    items: list[Node] = field(default_factory=list)
    pairs: list[tuple[Node, Node]] = field(default_factory=list)
    count: int = 1
    open: bool = False


def compose(text: str) -> tuple[Node | None, list[NodeError]]:
    """The document of a YAML text, and the faults that do not stop reading; None when there is no document.

    Raises:
        NodeError: syntax, several documents, a tag, an alias bomb, nesting over MAX_YAML_DEPTH.

    """
    try:
        composer = _composed(text, fast(text))
    except NotAlike:
        composer = _exactly(text)
    return composer.root, composer.faults


def _composed(text: str, events: Iterable[Event]) -> _Composer:
    composer = _Composer(text)
    for event in events:
        composer.feed(event)
    return composer


def _exactly(text: str) -> _Composer:
    from ruamel.yaml.error import YAMLError  # dear to import, and of use for odd texts alone

    try:
        return _composed(text, exact(text))
    # what the library's scanner raises on odd input beside its own errors (an escape beyond the last character, ...)
    except (YAMLError, ValueError, OverflowError, IndexError, AttributeError, TypeError, AssertionError) as error:
        raise _syntax(error, text) from None


class _Composer:
    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.root: Node | None = None
        self.stack: list[Node] = []
        self.keys: list[Node | None] = []
        self.seen: list[set[str]] = []
        self.anchors: dict[str, Node] = {}
        self.faults: list[NodeError] = []
        self.documents = 0

    def feed(self, event: Event) -> None:
        take = _TAKES.get(type(event).__name__)
        if take is not None:
            take(self, event)

    def _document(self, event: Event) -> None:
        self.documents += 1
        if self.documents > 1:
            raise self._error("several_documents", "a second document begins here", event)

    def _leaf(self, event: Event) -> None:
        self._add(self._scalar(event), event)

    def _reference(self, event: Event) -> None:
        self._add(self._alias(event), event)

    def _list(self, event: Event) -> None:
        self._begin(event, "list")

    def _mapping(self, event: Event) -> None:
        self._begin(event, "mapping")

    def _begin(self, event: Event, kind: Literal["list", "mapping"]) -> None:
        if len(self.stack) >= MAX_YAML_DEPTH:
            raise self._error("file_too_deep", f"nested over {MAX_YAML_DEPTH} deep", event)
        line, column = _place(event)
        node = Node(kind, line, column, open=True)
        self._add(node, event)
        self.stack.append(node)
        self.keys.append(None)
        self.seen.append(set())

    def _end(self, _event: Event) -> None:
        node = self.stack.pop()
        self.keys.pop()
        self.seen.pop()
        node.open = False
        if self.stack:
            self.stack[-1].count += node.count

    def _add(self, node: Node, event: Event) -> None:
        anchor = getattr(event, "anchor", None)
        if anchor is not None and type(event).__name__ != "AliasEvent":
            self.anchors[str(anchor)] = node
        if (tag := getattr(event, "tag", None)) is not None:
            raise self._error("explicit_tag", f"the tag `{str(tag)[:80]}`", event, str(tag), "no tag")
        if not self.stack:
            self.root = node
            return
        parent = self.stack[-1]
        # An open child adds its count when it ends.
        parent.count += 0 if node.open else node.count
        if sum(n.count for n in self.stack) > MAX_NODES:
            raise self._error("alias_bomb", f"over {MAX_NODES:,} values", event, "", f"at most {MAX_NODES:,}")
        if parent.kind == "list":
            parent.items.append(node)
        elif (key := self.keys[-1]) is None:
            self.keys[-1] = self._key(node, event)
        else:
            parent.pairs.append((key, node))
            self.keys[-1] = None

    def _key(self, node: Node, event: Event) -> Node:
        if node.kind != "scalar":
            raise self._error("wrong_type", "a field's name is text", event, f"a {node.kind}", "text")
        if node.plain and node.text == "<<":
            raise self._error("merge_key", "a merge key", event, "<<", "the fields written out")
        if node.text in self.seen[-1]:
            name = node.text[:80]
            self.faults.append(
                self._error("duplicate_key", f"`{name}` stands twice in its mapping", event, name, "once")
            )
        self.seen[-1].add(node.text)
        return node

    def _scalar(self, event: Event) -> Node:
        line, column = _place(event)
        if control := CONTROL.search(event.value):
            found = f"U+{ord(control[0]):04X}"
            raise self._error("file_not_text", "an escape of a control character", event, found, "text")
        plain = event.style is None or event.style == ""
        one_line = event.start_mark.line == event.end_mark.line
        width = event.end_mark.column - event.start_mark.column - (0 if plain else 2)
        node = Node("scalar", line, column, event.value, plain=plain)
        node.exact = one_line and event.style in (None, "", '"', "'") and width == len(event.value)
        if plain and event.end_mark.line < len(self.lines):
            node.comment = _comment(self.lines[event.end_mark.line][event.end_mark.column :])
        return node

    def _alias(self, event: Event) -> Node:
        node = self.anchors.get(str(event.anchor))
        if node is None:
            raise self._error("yaml_syntax", f"no anchor `{event.anchor}` stands before", event, str(event.anchor))
        if node.open:
            raise self._error("alias_loop", f"`{event.anchor}` contains itself", event, str(event.anchor))
        return node

    @staticmethod
    def _error(rule: str, message: str, event: Event, found: str = "", wanted: str = "") -> NodeError:
        return NodeError(rule, message, *_place(event), found, wanted)


_TAKES: dict[str, Callable[[_Composer, Event], None]] = {
    "DocumentStartEvent": _Composer._document,
    "ScalarEvent": _Composer._leaf,
    "AliasEvent": _Composer._reference,
    "SequenceStartEvent": _Composer._list,
    "MappingStartEvent": _Composer._mapping,
    "SequenceEndEvent": _Composer._end,
    "MappingEndEvent": _Composer._end,
}


def _place(event: Event) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _comment(rest: str) -> str:
    match = _COMMENT.match(rest) if "#" in rest else None
    return match[1] if match else ""


def _syntax(error: Exception, text: str) -> NodeError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        return NodeError("yaml_syntax", f"no YAML: {str(error)[:200] or type(error).__name__}", 1, 1)
    parts = (getattr(error, "context", None), getattr(error, "problem", None))
    message = ", ".join(str(p)[:200] for p in parts if p) or "no YAML"
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    tab = "\t" in line[: mark.column + 1] and not line[: mark.column].strip()
    return NodeError("yaml_tab" if tab else "yaml_syntax", message, mark.line + 1, mark.column + 1)


def walk(node: Node) -> Iterator[tuple[str, Node]]:
    """Every mapping value below a node with the name of its field, in file order."""
    stack = [("", node)]
    while stack:
        name, top = stack.pop()
        yield name, top
        stack += [(name, item) for item in reversed(top.items)]
        stack += [(key.text, value) for key, value in reversed(top.pairs)]
