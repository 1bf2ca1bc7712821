"""A mapping as people read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli.render import table


def description(found: Mapping[str, Any]) -> str:
    """Size and normal form, a table of cells, and the verdicts of the comparisons."""
    head = f"{found['expr']}: {found['size']:,} positions, normal form {found['normal_form']}"
    cells = table(("position", "cell"), [(f"{p:,}", _cell(cell)) for p, cell in found["cells"].items()], (0,))
    verdicts = [f"{answer}: {other}" for other, answer in found["equivalence"].items()]
    return "\n".join([head, cells, *verdicts])


def _cell(cell: Mapping[str, int] | str) -> str:
    if isinstance(cell, str):
        return cell.replace("_", " ")
    return ", ".join(f"{axis} = {index}" for axis, index in cell.items()) or "live, without an index"
