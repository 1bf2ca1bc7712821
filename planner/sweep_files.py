"""Rows of a sweep as JSON Lines: written as they come, read again when a stopped sweep goes on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner.files import OutputError, check_output, is_own_output, write_atomic
from planner.whatif_rows import Row


def identity(*parts: Any) -> str:  # noqa: ANN401  # anything that JSON can hold
    """A name for a sweep: equal for equal kernel, variants and options."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(slots=True)
class RowsFile:
    """A file with a head line that says which sweep it holds, then one row a line."""

    path: Path
    head: dict[str, Any]
    rows: dict[int, Row] = field(default_factory=dict)

    @classmethod
    def opened(cls, path: Path, head: dict[str, Any], *, force: bool) -> RowsFile:
        """Starts a file, or goes on with the one that holds the same sweep; a last line that was cut off is dropped.

        Raises:
            OutputError: it holds another sweep, or is another program's file, and `force` is not set.

        """
        check_output(path, "sweep", force=force)
        file = cls(path, head)
        if path.is_file() and is_own_output(path, "sweep"):
            lines = path.read_text(encoding="utf-8").split("\n")[:-1]
            if lines and json.loads(lines[0]) == file._headline():
                file.rows = {row.id: row for line in lines[1:] if (row := _row(line)) is not None}
            elif not force:
                raise OutputError(f"{path} holds another sweep; -f overwrites it")
        file._write()
        return file

    def append(self, row: Row) -> None:
        """Adds a row at the end; it is on the disk when this returns."""
        self.rows[row.id] = row
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(row.model_dump_json() + "\n")
            stream.flush()
            os.fsync(stream.fileno())

    def finish(self) -> None:
        """Puts the rows in the order of their variants."""
        self._write()

    def _headline(self) -> dict[str, Any]:
        return {"tool": "tuplan", "sweep": self.head}

    def _write(self) -> None:
        write_atomic(self.path, text_of(self._headline(), (self.rows[i] for i in sorted(self.rows))))


def text_of(headline: dict[str, Any], rows: Iterable[Row]) -> str:
    """The whole file."""
    return "".join(f"{line}\n" for line in (json.dumps(headline), *(row.model_dump_json() for row in rows)))


def _row(line: str) -> Row | None:
    try:
        return Row.model_validate_json(line)
    except ValidationError:
        return None
