"""Results of case files as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.render import styled, verdict_style

if TYPE_CHECKING:
    from planner.cases import Report


def results(report: Report) -> str:
    """One line with the totals, before it each case that failed and why."""
    lines = []
    for case in report.cases:
        if not case.passed:
            lines.append(f"failed: {case.id} ({case.engine})")
            lines += [f"  {mismatch}" for mismatch in case.mismatches]
    text = f"{report.passed} of {len(report.cases)} cases pass"
    return "\n".join([*lines, styled(text, verdict_style(report.failed == 0))])
