"""What the calculators of one engine's question share: how they ask, and how they answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

import typer

from cli.talk import DONE, INVALID, Talk

if TYPE_CHECKING:
    from collections.abc import Sequence

Axes = Annotated[
    list[str], typer.Option("--axes", "--axis", metavar="NAME=SIZE,...", help="Axes and their sizes; repeatable.")
]
Dtype = Annotated[str, typer.Option("--dtype", metavar="TYPE", help="Element type.", show_default=False)]


class Document(Protocol):
    """An answer: options, cheapest first, and a JSON form."""

    @property
    def options(self) -> Sequence[Any]:
        """Legal answers."""

    def document(self) -> dict[str, Any]:
        """Plain JSON."""


Answered = TypeVar("Answered", bound=Document)


def mapping(name: str, words: str) -> Any:  # noqa: ANN401 - what typer itself says of it
    """An option that takes a mapping expression."""
    return typer.Option(name, metavar="MAPPING", help=words, show_default=False)


def tell(talk: Talk, found: Answered, read: Callable[[Answered], str]) -> int:
    """Prints an answer as JSON or as text, and gives the exit status: 1 where nothing is legal."""
    if talk.json:
        talk.document(found.document())
    else:
        talk.data(read(found))
    return DONE if found.options else INVALID
