"""What if: the kernel as it is beside variants of it, each planned and simulated anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from planner.levers import levers
from planner.options import PlanOptions, Request
from planner.readers.source import KernelSource
from planner.readers.yaml_kernel import read_kernel
from planner.sweep import Place, Tally, local, sweep
from planner.sweep_cluster import cluster
from planner.sweep_files import RowsFile, identity
from planner.whatif_rows import Row
from planner.whatif_run import Job, run
from planner.whatif_variants import Sweep, Variant, described, variants

OnTally = Callable[[Tally], None]


@dataclass(frozen=True, slots=True)
class Where:
    """Where variants are planned and where their rows go.

    `processes`: at most so many on this machine, None: as many as cores allow; `cluster`: address of a Dask scheduler
    instead; `output`: JSON Lines that rows are written to as they come, and with which a stopped sweep goes on;
    `force`: an existing file of another sweep is overwritten.
    """

    processes: int | None = None
    cluster: str = ""
    output: Path | None = None
    force: bool = False

    def place(self, workers: int, count: int) -> AbstractContextManager[Place]:
        """What runs the variants."""
        return cluster(self.cluster) if self.cluster else local(self.processes, workers, count)


@dataclass(frozen=True, slots=True)
class Answer:
    """The kernel as it is, and its variants in the order of their numbers."""

    kernel: str
    base: Row
    rows: tuple[Row, ...]

    def document(self) -> dict[str, Any]:
        """As JSON; what neighbours start from is left out."""
        return {
            "kernel": self.kernel,
            "base": self.base.model_dump(exclude={"hint"}),
            "variants": [row.model_dump(exclude={"hint"}) for row in self.rows],
        }


def whatif(
    path: str | Path,
    common: Request = Request(),  # noqa: B008  # frozen, holds no state
    sweeps: Sequence[Sweep] = (),
    options: PlanOptions = PlanOptions(),  # noqa: B008  # frozen, holds no state
    *,
    where: Where = Where(),  # frozen, holds no state
    on_tally: OnTally | None = None,
) -> Answer:
    """Plans a kernel as it is, and every variant of it.

    Args:
        path: the kernel file.
        common: changes that all variants have; without sweeps they are the one variant.
        sweeps: paths with the values each shall take; several make a grid.
        options: limits, seed, whether to simulate.
        where: local processes or a cluster, and a file that rows are written to as they come.
        on_tally: called with how far it is.

    Raises:
        FaultError: the kernel cannot be read, or a value is no number where one is wanted.
        OSError: the output cannot be written, or the cluster cannot be used.

    """
    source = read_kernel(path)
    return _answer(path, source, Request(), variants(common, sweeps), options, where, on_tally)


def sensitivity(
    path: str | Path,
    common: Request = Request(),  # noqa: B008  # frozen, holds no state
    options: PlanOptions = PlanOptions(),  # noqa: B008  # frozen, holds no state
    *,
    where: Where = Where(),  # frozen, holds no state
    on_tally: OnTally | None = None,
) -> Answer:
    """Each lever of the hardware and the kernel's tiles one step up and down, from the kernel with the common changes.

    Raises:
        FaultError: the kernel or a common change cannot be read.
        OSError: the output cannot be written, or the cluster cannot be used.

    """
    source = read_kernel(path, axes=common.axes)
    return _answer(path, source, common, levers(source.kernel, common), options, where, on_tally)


def _answer(
    path: str | Path,
    source: KernelSource,
    start: Request,
    wanted: tuple[Variant, ...],
    options: PlanOptions,
    where: Where,
    on_tally: OnTally | None,
) -> Answer:
    text = Path(path).read_text(encoding="utf-8-sig")
    options = replace(options, alternatives=False)
    base_job = Job(Path(path).name, text, Variant(0, {}, start), options)
    file = _rows_file(where, source, start, wanted, options)
    known = dict(file.rows) if file else {}
    base = known.get(0) or run(base_job)
    if file and 0 not in known:
        file.append(base)
    template = replace(base_job, hint=base.hint, keep=base.hint, base=base.model_copy(update={"hint": None}))
    with where.place(options.workers, len(wanted)) as place:
        rows = sweep(
            template,
            wanted,
            place,
            known=known,
            on_row=file.append if file else _nothing,
            on_tally=on_tally or _nothing,
        )
    if file:
        file.finish()
    return Answer(source.kernel.kernel, base, rows)


def _rows_file(
    where: Where, source: KernelSource, start: Request, wanted: tuple[Variant, ...], options: PlanOptions
) -> RowsFile | None:
    if where.output is None:
        return None
    changes = [v.changes for v in wanted]
    name = identity(source.sha256, described(start), changes, asdict(options), version("tuplan"))
    head = {"kernel": source.kernel.kernel, "sha256": source.sha256, "identity": name, "variants": len(wanted)}
    return RowsFile.opened(where.output, head, force=where.force)


def _nothing(_: object) -> None:
    """Nobody listens."""
