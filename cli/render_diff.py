"""The comparison of two plans as people read it."""

from __future__ import annotations

from collections.abc import Sequence

from cli.render import styled, table
from planner import Alone, Diff

MOST_ROWS = 30


def differences(diff: Diff, first: str, second: str) -> str:
    """Makespan, inputs, decisions, order, cycles by resource, and what explains the difference."""
    a, b = diff.makespan
    if diff.same:
        return styled(f"{first} and {second} are the same plan: {_cycles(a)}", "bold")
    parts = (
        styled(f"{first}: {_cycles(a)}; {second}: {_cycles(b)}{_more(a, b)}", "bold"),
        _changes("input", [(c.what, c.before, c.after) for c in diff.inputs], first, second),
        _changes("decision", [(c.what, c.before, c.after) for c in diff.decisions], first, second),
        _changes("only in one", [(c.what, c.before, c.after) for c in diff.missing], first, second),
        _order(diff),
        _resources(diff, first, second),
        _parts(diff, first, second),
        _alone(diff),
    )
    return "\n\n".join(part for part in parts if part)


def _cycles(number: int | None) -> str:
    return "no plan" if number is None else f"{number:,} cycles"


def _more(a: int | None, b: int | None) -> str:
    return "" if a is None or b is None else f" ({b - a:+,})"


def _changes(title: str, rows: list[tuple[str, str, str]], first: str, second: str) -> str:
    return _cut((title, first, second), rows) if rows else ""


def _order(diff: Diff) -> str:
    lines = [f"{s.resource}: {s.first} before {s.second}, now after it" for s in diff.order[:MOST_ROWS]]
    more = len(diff.order) - len(lines)
    return "\n".join(["order:", *(f"  {x}" for x in lines), *([f"  and {more} more"] if more else [])]) if lines else ""


def _resources(diff: Diff, first: str, second: str) -> str:
    rows = [
        (f"{r} {kind}", f"{x:,}", f"{y:,}", f"{y - x:+,}")
        for r in diff.busy
        for kind, (x, y) in (("busy", diff.busy[r]), ("idle", diff.idle[r]))
    ]
    rows += [(f"peak {f} bytes", f"{x:,}", f"{y:,}", f"{y - x:+,}") for f, (x, y) in diff.peak_bytes.items()]
    return table(("resource", first, second, "change"), rows, (1, 2, 3))


def _parts(diff: Diff, first: str, second: str) -> str:
    """Where the chain spends other cycles; the last column adds up to the difference."""
    if not diff.parts:
        return ""
    rows = [(p.what, f"{p.before:,}", f"{p.after:,}", f"{p.cycles:+,}", "; ".join(p.because)) for p in diff.parts]
    total = sum(p.cycles for p in diff.parts)
    rows.append(("together", "", "", f"{total:+,}", ""))
    return table(("on the chain", first, second, "change", "because of"), rows, (1, 2, 3))


def _alone(diff: Diff) -> str:
    rows = [(a.what, *_effect(a, diff.makespan[0])) for a in diff.alone]
    return _cut(("alone in the first plan", "makespan", "change"), rows, (1, 2)) if rows else ""


def _effect(alone: Alone, before: int | None) -> tuple[str, str]:
    if alone.makespan_cycles is None:
        return f"{alone.status} {alone.reason}".strip(), ""
    return (
        f"{alone.makespan_cycles:,} ({alone.status})",
        "" if before is None else f"{alone.makespan_cycles - before:+,}",
    )


def _cut(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()) -> str:
    more = len(rows) - MOST_ROWS
    return table(head, rows[:MOST_ROWS], right) + (f"\n... and {more:,} more" if more > 0 else "")
