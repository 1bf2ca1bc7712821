"""The command line with a planner that is slow on purpose; run as a program by the tests of interrupts.

The first argument says how it behaves: `obedient` ends when it is asked to stop, `deaf` never hears that,
`hopeless` is stopped before it has any plan, `silent` is deaf and has none either, `stubborn` is deaf and would be
waited for very long.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import cli.interrupt
import cli.plan
import planner
from cli.app import app
from models.plan import Plan
from tests.cli.samples import a_plan

BEHAVIOUR = sys.argv.pop(1)


def plan(*_: Any, progress: Any, on_plan: Any, stop: threading.Event) -> Plan:
    progress("solving", None)
    if BEHAVIOUR not in ("hopeless", "silent"):
        on_plan(a_plan(status="feasible", stopped_by="time_limit", makespan_cycles=5000))
    sys.stderr.write("working\n")
    sys.stderr.flush()
    (stop if BEHAVIOUR in ("obedient", "hopeless") else threading.Event()).wait()
    if BEHAVIOUR == "hopeless":
        return a_plan(status="unknown", stopped_by="interrupt", makespan_cycles=None, ops=())
    return a_plan(status="feasible", stopped_by="interrupt", makespan_cycles=4500)


if __name__ == "__main__":
    cli.plan.GRACE_SECONDS = 0.2 if BEHAVIOUR in ("deaf", "silent") else 60.0
    cli.interrupt.AGAIN_SECONDS = 0.0 if BEHAVIOUR == "stubborn" else 60.0
    vars(planner)["plan"] = plan
    app()
