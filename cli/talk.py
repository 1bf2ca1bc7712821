"""What a command says and where: data to standard output, talk to standard error; and the exit statuses."""

from __future__ import annotations

import json as json_module
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from models.faults import Fault

DONE, INVALID, UNUSABLE, UNDECIDED, DEFECT, INTERRUPTED = 0, 1, 2, 3, 70, 130
"""Exit statuses: done; kernel, plan or case is wrong or infeasible; usage or file; no answer within the limit;
a defect of ours; interrupted."""


@dataclass(slots=True)
class Talk:
    """How a command speaks. `json`: standard output carries one JSON document only; `quiet`: no summary.

    `answered`: something was written to standard output, or tried to be.
    """

    json: bool = False
    quiet: bool = False
    answered: bool = False

    def data(self, text: str) -> None:
        """Writes to standard output what the user asked for."""
        self.answered = True
        _write(sys.stdout, text if text.endswith("\n") else text + "\n")

    def document(self, value: Mapping[str, Any]) -> None:
        """Writes a JSON document to standard output."""
        self.data(json_text(value))

    def show(self, text: str) -> None:
        """Writes something for people to read to standard output, unless they asked for JSON or for silence."""
        if not self.json and not self.quiet and text:
            self.data(text)

    def say(self, text: str) -> None:
        """Remarks on standard error; silent with --quiet."""
        if not self.quiet:
            self.error(text)

    def error(self, text: str) -> None:
        """Tells what went wrong, on standard error, whatever the options."""
        try:
            _write(sys.stderr, text + "\n")
        except OSError:
            return  # nobody can be told that nobody can be told

    def faults(self, faults: Iterable[Fault]) -> None:
        """Lists faults on standard error, each with its place."""
        for fault in faults:
            self.error(str(fault))

    def fault_document(self, faults: Iterable[Fault], more: Mapping[str, Any] | None = None) -> None:
        """With --json, the document in place of the one that could not be made; `more` stands behind the faults."""
        if self.json and not self.answered:
            self.document({"ok": False, "faults": [f.model_dump() for f in faults], **(more or {})})

    def close(self) -> None:
        """Flushes standard output, so that a full disk is an error and not a remark of the interpreter."""
        _write(sys.stdout, "")


def json_text(value: Mapping[str, Any]) -> str:
    """JSON as this program prints it: two spaces, insertion order, text as it is."""
    return json_module.dumps(value, indent=2, ensure_ascii=False) + "\n"


def can_print(text: str, stream: TextIO | None = None) -> bool:
    """Tells whether a stream's encoding has these characters."""
    stream = stream or sys.stdout
    try:
        text.encode(getattr(stream, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _write(stream: TextIO | None, text: str) -> None:
    """Writes and flushes. A reader who has seen enough (`| head`) is no error; the rest goes nowhere.

    Raises:
        OSError: the stream cannot be written, for example because the disk is full.

    """
    if stream is None:
        return
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        _silence(stream)
    except OSError as error:
        _silence(stream)
        raise OSError(f"cannot write to {stream.name}: {error.strerror or error}") from None


def _silence(stream: TextIO) -> None:
    """Points the stream's descriptor nowhere, so that the flush at exit does not fail once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
