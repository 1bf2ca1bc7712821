"""`tuplan rules`: every rule with its id, what it says and where that is written."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from cli.talk import DONE, Talk


def rules(
    talk: Talk,
    only: Annotated[list[str] | None, typer.Argument(metavar="[RULE]...", help="Only these rules.")] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="Only file, engine or schedule rules.")
    ] = None,
) -> int:
    """List the rules; the ids are those of faults, of case files and of the simulator's verdict."""
    import planner

    known = planner.rules()
    unknown = [name for name in only or () if name not in known]
    if unknown:
        raise typer.BadParameter(f"no rule is called {', '.join(unknown)}; `tuplan rules` lists all")
    found = [r for r in known.values() if (not only or r.id in only) and kind in (None, r.kind)]
    if talk.json:
        talk.document({"rules": [asdict(r) for r in found]})
    else:
        from cli.render import table

        talk.data(table(("rule", "kind", "sentence", "source"), [(r.id, r.kind, r.sentence, r.source) for r in found]))
    return DONE
