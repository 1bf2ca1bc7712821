"""Variants as people read them: a table, then a sentence for each difference."""

from __future__ import annotations

from collections.abc import Iterator

from cli.render import styled, table
from planner import Answer, Row

_HEAD = ("variant", "status", "makespan", "change", "bound", "peak dm", "peak vrf", "peak trf", "decisions changed")
_RIGHT = (2, 3, 4, 5, 6, 7)
_FILES = ("dm", "vrf", "trf")
AS_IT_IS = "as it is"


def comparison(answer: Answer) -> str:
    """The kernel as it is and every variant, then what differs and why."""
    rows = [_cells(answer.base, answer.base), *(_cells(r, answer.base) for r in answer.rows)]
    parts = [
        styled(f"{answer.kernel}: {len(answer.rows)} variant{'s' * (len(answer.rows) != 1)}", "bold"),
        table(_HEAD, rows, _RIGHT),
    ]
    parts += [_differences(row) for row in (answer.base, *answer.rows) if row.sentences or row.reason]
    unchanged = [_name(r) for r in answer.rows if r.planned and not r.sentences]
    if unchanged:
        parts.append(f"nothing changes with {'; '.join(unchanged)}")
    return "\n\n".join(parts)


def _cells(row: Row, base: Row) -> tuple[str, ...]:
    numbers = (row.makespan_cycles, row.lower_bound_cycles if row.makespan_cycles is not None else None)
    makespan, bound = ("" if n is None else f"{n:,}" for n in numbers)
    peaks = (f"{row.peak_bytes[f]:,}" if row.peak_bytes else "" for f in _FILES)
    changed = ", ".join(f"{field} {old or 'none'} -> {new or 'none'}" for field, (old, new) in row.changed.items())
    return (_name(row), row.status, makespan, _change(row, base), bound, *peaks, changed)


def _name(row: Row) -> str:
    return ", ".join(f"{path} = {value}" for path, value in row.changes.items()) or AS_IT_IS


def _change(row: Row, base: Row) -> str:
    if row is base or row.makespan_cycles is None or base.makespan_cycles is None:
        return ""
    return f"{row.makespan_cycles - base.makespan_cycles:+,}"


def _differences(row: Row) -> str:
    lines = [f"{_name(row)}:", *(f"  {s}" for s in row.sentences)]
    if row.reason:
        lines.append(f"  {'no plan: ' if row.makespan_cycles is None else ''}{row.reason}")
    return "\n".join(lines)


def levers(answer: Answer) -> str:
    """Levers by what they buy, and what binds then."""
    base = answer.base
    ranked = sorted(answer.rows, key=lambda r: (r.makespan_cycles is None, r.makespan_cycles or 0, r.id))
    now = "none" if base.makespan_cycles is None else f"{base.makespan_cycles:,} cycles"
    title = f"{answer.kernel}: {now}, {base.binds} binds" if base.binds else f"{answer.kernel}: {now}"
    rows = [(_name(r), r.status, _cells(r, base)[2], _change(r, base), r.binds or r.reason) for r in ranked]
    shown = table(("lever", "status", "makespan", "change", "binds then"), rows, (2, 3))
    return "\n\n".join((styled(title, "bold"), shown, *_decided(ranked)))


def _decided(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        told = [s for s in row.sentences if any(s.startswith(f"{field}:") for field in row.changed)]
        if told:
            yield "\n".join((f"{_name(row)}:", *(f"  {s}" for s in told)))


def front(answer: Answer) -> str:
    """Plans that no other beats in makespan and in the peak of every file."""
    rows = [
        (_cells(r, answer.base)[2], f"{r.total_peak_bytes or 0:,}", *_cells(r, answer.base)[5:8], r.status, _name(r))
        for r in answer.rows
    ]
    title = f"{answer.kernel}: {len(rows)} plan{'s' * (len(rows) != 1)} that no other beats in makespan and peak memory"
    head = ("makespan", "peak bytes/slice", "dm", "vrf", "trf", "status", "variant")
    return "\n\n".join((styled(title, "bold"), table(head, rows, (0, 1, 2, 3, 4))))
