"""Mapping text and named layouts: `{Name}` is replaced by `[text]`, so that a kernel needs no layouts."""

from __future__ import annotations

import re
from collections.abc import Mapping as Dict
from graphlib import CycleError, TopologicalSorter

from models.mapping import Mapping, MappingError
from models.parse import Scope, parse

MAX_EXPANDED_CHARACTERS = 400_000
_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OPERATORS = ("/", "%", "=", "#", "#{*}", "#{0}", "#{!}")


class Texts:
    """Reads mapping text in the scope of a file's axes and layouts; each text is read once.

    Layouts are added with `declare` in an order in which every layout follows those it uses. `broken` holds
    names of layouts whose own fault is reported, `broken_axes` axes without a legal size; what follows from them
    is no fault of the text that uses them.
    """

    def __init__(self, axes: Dict[str, int]) -> None:
        self.scope = Scope(axes=dict(axes), layouts={}, constants={})
        self.expansions: dict[str, str] = {}
        self.broken: set[str] = set()
        self.broken_axes: set[str] = set()
        self.characters = 0
        self._cache: dict[str, tuple[str, Mapping] | MappingError] = {}

    def declare(self, name: str, text: str) -> None:
        """Adds a layout; one that is only a number is a constant too.

        Raises:
            MappingError: its text is no mapping in this scope.

        """
        expanded, mapping = self.read(text)
        self.expansions[name] = expanded
        if expanded.strip().isdecimal():
            self.scope.constants[name] = mapping.size  # type: ignore[index]
        else:
            self.scope.layouts[name] = mapping  # type: ignore[index]

    def read(self, text: str) -> tuple[str, Mapping]:
        """The text with its layouts written out, and what it means.

        Raises:
            MappingError: with the broken rule and the column in the text as written.

        """
        if text not in self._cache:
            try:
                self._cache[text] = self._read(text)
            except MappingError as error:
                self._cache[text] = error
        found = self._cache[text]
        if isinstance(found, MappingError):
            raise found
        return found

    def _read(self, text: str) -> tuple[str, Mapping]:
        mapping = parse(text, self.scope)
        if "{" not in text:
            return text, mapping
        expanded = self._expand(text)
        self.characters += len(expanded)
        if self.characters > MAX_EXPANDED_CHARACTERS:
            raise MappingError(
                "layout_too_large",
                f"layouts written out take over {MAX_EXPANDED_CHARACTERS:,} characters",
                1,
                wanted=f"at most {MAX_EXPANDED_CHARACTERS:,}",
            )
        # Brackets of layouts count in the depth, so the text is judged once more as written out.
        parse(expanded, Scope(axes=self.scope.axes))
        return expanded, mapping

    def _expand(self, text: str) -> str:
        def written_out(match: re.Match[str]) -> str:
            inner = self.expansions[match[1]]
            before = text[: match.start()].rstrip()
            number = match[1] in self.scope.constants
            return inner.strip() if number and before.endswith(_OPERATORS) else f"[{inner}]"

        return _NAME.sub(written_out, text)


def layout_order(layouts: Dict[str, str]) -> tuple[list[str], list[str]]:
    """An order in which each layout follows those it uses, and the names of a cycle (empty when there is none)."""
    uses = {name: [n for n in _NAME.findall(text) if n in layouts] for name, text in layouts.items()}
    try:
        return list(TopologicalSorter(uses).static_order()), []
    except CycleError as error:
        return [], list(error.args[1])
