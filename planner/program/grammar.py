"""The grammar of programs: `name = function(arguments -> dtype[axes])`, nothing else, and nothing is evaluated.

statement  := NAME "=" call
call       := NAME "(" expression ("," expression)* ["->" [NAME] axes] ")"
expression := NUMBER | NAME [axes] | call
axes       := "[" [NAME ("," NAME)*] "]"
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.program.tree import Call, Expression, Number, Ref, Statement

MAX_DEPTH = 32
MAX_CHARACTERS = 4_000
_TOKEN = re.compile(
    r"\s*(?:(?P<arrow>->)|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>[=(),\[\]]))"
)


class GrammarError(ValueError):
    """Text that is no statement; `column` counts from 1 in the text."""

    def __init__(self, message: str, column: int, found: str, wanted: str) -> None:
        super().__init__(message)
        self.message, self.column, self.found, self.wanted = message, column, found, wanted


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


def parse_statement(text: str) -> Statement:
    """Reads one statement.

    Raises:
        GrammarError: with the column of the first token that does not fit.

    """
    if len(text) > MAX_CHARACTERS:
        raise GrammarError(f"a statement has over {MAX_CHARACTERS} characters", 1, str(len(text)), "a shorter one")
    parser = _Parser(_tokens(text))
    name = parser.take("name", "the name of the result")
    parser.take("=", "`=`")
    first = parser.peek()
    expression = parser.expression(0)
    if parser.peek().kind != "end":
        raise parser.error("the end of the statement")
    if not isinstance(expression, Call):
        raise GrammarError("a statement computes something", first.column, first.text, "a function with its arguments")
    return Statement(name.text, expression, text)


def _tokens(text: str) -> list[_Token]:
    out, at = [], 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise GrammarError(
                "this is no part of a statement", start + 1, text[start], "names, numbers, = ( ) , [ ] ->"
            )
        kind = match.lastgroup or ""
        found = match[kind]
        out.append(_Token(found if kind == "sign" else kind, found, match.start(kind) + 1))
        at = match.end()
    return [*out, _Token("end", "the end", len(text) + 1)]


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens, self.at = tokens, 0

    def peek(self) -> _Token:
        return self.tokens[self.at]

    def error(self, wanted: str) -> GrammarError:
        token = self.peek()
        return GrammarError(f"`{token.text}` stands where {wanted} is wanted", token.column, token.text, wanted)

    def take(self, kind: str, wanted: str) -> _Token:
        if self.peek().kind != kind:
            raise self.error(wanted)
        self.at += 1
        return self.tokens[self.at - 1]

    def expression(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise self.error(f"an expression of at most {MAX_DEPTH} levels")
        if self.peek().kind == "number":
            token = self.take("number", "a number")
            return Number(float(token.text), token.column)
        name = self.take("name", "a tensor, a number or a function")
        if self.peek().kind == "(":
            return self._call(name, depth)
        return Ref(name.text, self._axes() if self.peek().kind == "[" else None, name.column)

    def _call(self, name: _Token, depth: int) -> Call:
        self.take("(", "`(`")
        arguments = [self.expression(depth + 1)]
        while self.peek().kind == ",":
            self.at += 1
            arguments.append(self.expression(depth + 1))
        axes, dtype = None, None
        if self.peek().kind == "arrow":
            self.at += 1
            if self.peek().kind == "name":
                dtype = self.take("name", "a type").text
            axes = self._axes()
        self.take(")", "`,`, `->` or `)`")
        return Call(name.text, tuple(arguments), axes, dtype, name.column)

    def _axes(self) -> tuple[str, ...]:
        self.take("[", "`[`")
        out: list[str] = []
        while self.peek().kind != "]":
            if out:
                self.take(",", "`,` or `]`")
            out.append(self.take("name", "an axis").text)
        self.take("]", "`]`")
        return tuple(out)
