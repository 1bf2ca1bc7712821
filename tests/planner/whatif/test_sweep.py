"""Sweeps: the same rows wherever they are planned, none lost, none repeated."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from itertools import pairwise
from pathlib import Path

import pytest
from distributed import LocalCluster

import planner
from planner import PlanOptions, Request, Row, Sweep, Tally, Where
from planner.files import OutputError
from planner.sweep import CHAIN, Place, cores, local, sweep
from planner.sweep_cluster import ClusterError
from planner.whatif_plans import _rows_file
from planner.whatif_run import Job
from planner.whatif_variants import variants
from tests.infeasible.kernels import scaling

QUICK = PlanOptions(verify=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "k.yaml"
    file.write_text(scaling("12", 64), encoding="utf-8")
    return file


def grid(count: int) -> list[Sweep]:
    """Every other variant has no plan: 2,048 bytes of registers are needed."""
    bases = tuple(str(n) for n in range(400, 400 + 10 * (count // 2), 10))
    return [Sweep("hardware.dma.load_base_cycles", bases), Sweep("hardware.vrf.bytes_per_slice", ("8192", "960"))]


class StoppedError(Exception):
    """Somebody pulled the plug."""


def stop_after(count: int):
    def hear(tally: Tally) -> None:
        if tally.done + tally.failed == count:
            raise StoppedError

    return hear


def ids(file: Path) -> list[int]:
    return [json.loads(line)["id"] for line in file.read_text(encoding="utf-8").splitlines()[1:]]


# Executors that misbehave ------------------------------------------------------------------------------------


class Unreliable(Executor):
    """Runs at once; the process dies under some variants."""

    def __init__(self, deaths: Counter[int], fatal: set[int]) -> None:
        self.deaths, self.fatal = deaths, fatal

    def submit(self, fn, job):
        future: Future[Row] = Future()
        if job.variant.id in self.fatal:
            self.deaths[job.variant.id] += 1
            future.set_exception(BrokenProcessPool("gone"))
        elif job.variant.id % 5 == 0:
            future.set_exception(MemoryError("too large"))
        else:
            future.set_result(Row(id=job.variant.id, changes=job.variant.changes, status="optimal"))
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        pass


def test_a_process_that_dies_costs_its_variant_only():
    deaths: Counter[int] = Counter()
    wanted = variants(Request(), [Sweep("A", tuple(map(str, range(1, 21))))])
    place = Place(lambda: Unreliable(deaths, {7, 12}), 3)
    told: list[Tally] = []
    job = Job("k", "", wanted[0], QUICK)
    rows = sweep(job, wanted, place, known={}, on_row=lambda _: None, on_tally=told.append)
    assert [r.id for r in rows] == list(range(1, 21))
    assert {r.id for r in rows if r.status == "failed"} == {5, 10, 15, 20, 7, 12}
    assert deaths == {7: 2, 12: 2}
    assert rows[6].reason == "its process died, twice"
    assert rows[4].reason == "MemoryError: too large"
    assert (told[-1].done, told[-1].failed, told[-1].left) == (14, 6, 0)
    assert all(a.left >= b.left for a, b in pairwise(told))


def test_neighbours_start_from_one_another_and_chains_from_the_base():
    seen: dict[int, int | None] = {}
    hints = {n: planner.Hint(starts={"o": n}, modes={"o": "m"}) for n in range(40)}

    class Recording(Unreliable):
        def submit(self, fn, job):
            seen[job.variant.id] = job.hint.starts["o"] if job.hint else None
            future: Future[Row] = Future()
            future.set_result(Row(id=job.variant.id, changes={}, status="optimal", hint=hints[job.variant.id]))
            return future

    wanted = variants(Request(), [Sweep("A", tuple(map(str, range(1, 21))))])
    job = Job("k", "", wanted[0], QUICK, hint=hints[0])
    for width in (1, 4):
        place = Place(lambda: Recording(Counter(), set()), width)
        sweep(job, wanted, place, known={}, on_row=lambda _: None, on_tally=lambda _: None)
        assert seen == {n: 0 if (n - 1) % CHAIN == 0 else n - 1 for n in range(1, 21)}


def test_processes_times_workers_never_exceed_the_cores():
    for workers in (1, 2, 64):
        with local(None, workers, 100) as place:
            assert place.width * workers <= max(cores(), workers)
    with local(50, 1, 100) as place:
        assert place.width <= cores()


# Files -------------------------------------------------------------------------------------------------------


def test_a_stopped_sweep_goes_on_where_it_was(path, tmp_path):
    file, whole = tmp_path / "rows.jsonl", tmp_path / "whole.jsonl"
    once = Where(processes=1)
    with pytest.raises(StoppedError):
        planner.whatif(path, Request(), grid(6), QUICK, where=Where(1, "", file), on_tally=stop_after(3))
    before = ids(file)
    assert len(before) == 4
    kept = file.read_text(encoding="utf-8")
    # The power went while the next row was written.
    file.write_text(kept + '{"id":5,"changes":{"hard', encoding="utf-8")
    told: list[Tally] = []
    again = planner.whatif(path, Request(), grid(6), QUICK, where=Where(1, "", file), on_tally=told.append)
    assert told[0].left == 3
    assert sorted(ids(file)) == list(range(7))
    assert again == planner.whatif(path, Request(), grid(6), QUICK, where=once)
    planner.whatif(path, Request(), grid(6), QUICK, where=Where(1, "", whole))
    assert whole.read_bytes() == file.read_bytes()


def test_rows_of_another_sweep_are_not_touched(path, tmp_path):
    file = tmp_path / "rows.jsonl"
    small = [Sweep("hardware.trf.rows_per_bank", ("64",))]
    planner.whatif(path, Request(), small, QUICK, where=Where(1, "", file))
    kept = file.read_bytes()
    with pytest.raises(OutputError, match="another sweep"):
        planner.whatif(path, Request(), grid(2), QUICK, where=Where(1, "", file))
    assert file.read_bytes() == kept
    file.write_text("mine\n", encoding="utf-8")
    with pytest.raises(OutputError, match="no earlier sweep"):
        planner.whatif(path, Request(), small, QUICK, where=Where(1, "", file))
    planner.whatif(path, Request(), small, QUICK, where=Where(1, "", file, force=True))
    assert ids(file) == [0, 1]


# Clusters ----------------------------------------------------------------------------------------------------


def test_no_cluster_is_one_sentence(path):
    with pytest.raises(ClusterError, match="no cluster answers at not-an-address"):
        planner.whatif(path, Request(), grid(2), QUICK, where=Where(cluster="not-an-address:0:1"))


def test_a_cluster_returns_the_rows_of_the_local_run(path, tmp_path):
    here = planner.whatif(path, Request(), grid(4), QUICK, where=Where(1))
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        file = tmp_path / "rows.jsonl"
        there = planner.whatif(path, Request(), grid(4), QUICK, where=Where(None, cluster.scheduler_address, file))
    assert there == here
    assert {r.status for r in here.rows} == {"optimal", "infeasible"}
    assert ids(file) == [0, 1, 2, 3, 4]


@pytest.mark.long
def test_two_processes_return_the_rows_of_one(path):
    one = planner.whatif(path, Request(), grid(20), QUICK, where=Where(1))
    assert planner.whatif(path, Request(), grid(20), QUICK, where=Where(2)) == one


@pytest.mark.long
def test_200_variants_survive_the_loss_of_a_worker_and_a_stop(path, tmp_path):
    here = planner.whatif(path, Request(), grid(200), QUICK, where=Where(1))
    assert len(here.rows) == 200
    file = tmp_path / "rows.jsonl"
    lost: list[int] = []
    new: list[int] = []
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:

        def lose_one(tally: Tally) -> None:
            if tally.done + tally.failed == 30 and not lost:
                lost.append(next(iter(cluster.workers.values())).pid)
                os.kill(lost[0], signal.SIGKILL)
            if tally.done + tally.failed == 100:
                raise StoppedError

        where = Where(None, cluster.scheduler_address, file)
        with pytest.raises(StoppedError):
            planner.whatif(path, Request(), grid(200), QUICK, where=where, on_tally=lose_one)
        assert lost
        before = set(ids(file))
        assert len(before) == 101

        def count(tally: Tally) -> None:
            new.append(tally.left)

        there = planner.whatif(path, Request(), grid(200), QUICK, where=where, on_tally=count)
    assert new[0] == 100
    assert len(new) == 101
    assert there.rows == here.rows
    assert sorted(ids(file)) == list(range(201))


def test_the_head_of_a_file_names_the_sweep(path, tmp_path):
    from planner.readers.yaml_kernel import read_kernel

    source, wanted = read_kernel(path), variants(Request(), grid(2))
    names = set()
    for n, options in enumerate((QUICK, PlanOptions(verify=False, seed=1), PlanOptions(verify=True))):
        file = _rows_file(Where(output=tmp_path / f"{n}.jsonl"), source, Request(), wanted, options)
        names.add(file.head["identity"])
    assert len(names) == 3
