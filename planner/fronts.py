"""Least makespan against least peak memory: plans that no other one beats in all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from models.hardware import Hardware
from models.presets.load import load_hardware
from planner.levers import number
from planner.options import PlanOptions, Request
from planner.readers.yaml_kernel import read_kernel
from planner.sweep import Tally
from planner.whatif_plans import Answer
from planner.whatif_rows import FILES, Row
from planner.whatif_run import Job, run
from planner.whatif_variants import HARDWARE, Variant, changed, described

MOST_STEPS = 50
"""So often each file is made smaller, at most."""
PATHS = {"dm": "dm.bytes_per_slice", "vrf": "vrf.bytes_per_slice", "trf": "trf.rows_per_bank"}


def front(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Rows that no other one beats: not slower, no more of any file, and better in one; the quickest first.

    Of equal ones the first counts.
    """
    planned = {_point(r): r for r in sorted((r for r in rows if r.planned), key=lambda r: -r.id)}
    best = [r for p, r in planned.items() if not any(_beats(q, p) for q in planned)]
    return tuple(sorted(best, key=lambda r: (_point(r), r.id)))


def _point(row: Row) -> tuple[int, ...]:
    return row.makespan_cycles or 0, *(row.peak_bytes.get(file, 0) for file in FILES)


def _beats(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return a != b and all(x <= y for x, y in zip(a, b, strict=True))


def pareto(
    path: str | Path,
    common: Request = Request(),  # noqa: B008  # frozen, holds no state
    options: PlanOptions = PlanOptions(),  # noqa: B008  # frozen, holds no state
    *,
    on_tally: Callable[[Tally], None] | None = None,
) -> Answer:
    """The front over makespan and peak memory, found by giving each file less than the last plan took.

    The rows of the answer are the front; where the limit stopped a solve, a row's status says so.

    Raises:
        FaultError: the kernel or a common change cannot be read.

    """
    source = read_kernel(path, axes=common.axes)
    options = replace(options, alternatives=False)
    text = Path(path).read_text(encoding="utf-8-sig")
    job = Job(Path(path).name, text, Variant(0, described(common), common), options)
    base = run(job)
    found, failed = [base], 0
    template = replace(job, keep=base.hint, base=base.model_copy(update={"hint": None}))
    room = load_hardware(source.kernel.hardware, common.settings)
    for file in FILES:
        for row in _walk(template, base, file, room, len(found)):
            if row.planned:
                found.append(row)
            else:
                failed += 1
            if on_tally is not None:
                on_tally(Tally(len(found), failed, 0))
    return Answer(source.kernel.kernel, base, front(found))


def _walk(template: Job, base: Row, file: str, hardware: Hardware, number_from: int) -> Iterator[Row]:
    """Plans with less and less of one file, until there is none."""
    last, common = base, template.variant.request
    room = number(hardware, PATHS[file])
    step_bytes = 0 if file == "trf" else number(hardware, f"{file}.alignment_bytes")
    for step in range(MOST_STEPS):
        room = _less(last, file, room, step_bytes)
        if room <= 0 or not last.planned or not last.peak_bytes.get(file):
            return
        changes = {HARDWARE + PATHS[file]: str(room)}
        variant = Variant(number_from + step, described(common) | changes, changed(common, changes))
        last = run(replace(template, variant=variant, hint=last.hint))
        yield last


def _less(row: Row, file: str, room: int, step_bytes: int) -> int:
    """Less than a plan took; the TRF is halved, since its address modes are halves."""
    return room // 2 if file == "trf" else min(room, row.peak_bytes.get(file, 0)) - step_bytes
