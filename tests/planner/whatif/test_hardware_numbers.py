"""Every number of the preset is read: changing it changes some result, or it is marked documentary and changes none."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import planner
from models.faults import FaultError
from models.parse import Scope, parse
from models.presets.load import load_hardware
from planner import PlanOptions, Request
from planner.cases import run_cases
from planner.differences import numbers
from planner.engines import valid_count
from planner.search.bounds import transfer_floor

RNGD = load_hardware("rngd")
NUMBERS = {path: int(value) for path, value in numbers(RNGD)}
DOCUMENTARY = {path for path, p in RNGD.provenance.items() if p.documentary}
QUICK = PlanOptions(alternatives=False, verify=False, corrections=False)
Settings = dict[str, int]

FENCED = """
kernel: fenced
axes: {L: 256, H: 64}
tensors:
  x: {dtype: i8, element: "L, H"}
  t: {dtype: i8, element: "L, H", role: output}
  y: {dtype: i8, element: "L, H", role: output}
ops:
  - {dma: in, read: x, write: x_dm, slice: "L", element: "H"}
  - {dma: out, read: x_dm, write: t}
  - {dma: again, read: t, write: t_dm, slice: "L", element: "H"}
  - {dma: last, read: t_dm, write: y}
"""
COPIED = """
kernel: copied
axes: {L: 256, H: 64}
tensors:
  x: {dtype: i8, element: "L, H"}
  y: {dtype: i8, element: "L, H", role: output}
ops:
  - {dma: copy, read: x, write: y}
"""
ONE_SLICE = """
kernel: one_slice
axes: {H: 2048}
tensors:
  x: {dtype: i8, element: "H"}
  y: {dtype: i8, element: "H", role: output}
ops:
  - {dma: in, read: x, write: x_dm, element: "H"}
  - {dma: out, read: x_dm, write: y}
"""
TEXTS = {"fenced": FENCED, "copied": COPIED, "one_slice": ONE_SLICE}


# What a result is: the verdict and numbers of each way to ask -----------------------------------------------


def built(path: str | Path, settings: Settings) -> str:
    """Modes, cycles, settings of every stage, edges, buffers; or the faults."""
    try:
        p = planner.prepare(path, Request(settings=settings)).built.problem
    except FaultError as error:
        return str(error)
    held = [(m.id, sorted(m.holds), m.cycles, m.bitmap) for o in p.operations for m in (*o.modes, *o.dominated)]
    illegal = [o.illegal for o in p.operations]
    return repr((held, illegal, p.edges, p.buffers, sorted(p.programs.items())))


def example(name: str) -> Callable[[Settings, Path], str]:
    return lambda settings, _: built(f"examples/{name}.yaml", settings)


def text(name: str) -> Callable[[Settings, Path], str]:
    def ask(settings: Settings, folder: Path) -> str:
        path = folder / f"{name}.yaml"
        path.write_text(TEXTS[name], encoding="utf-8")
        return built(path, settings)

    return ask


def cases(name: str) -> Callable[[Settings, Path], str]:
    return lambda settings, _: repr(run_cases([Path("tests") / name], settings).document())


def makespan(settings: Settings, _: Path) -> str:
    fixed = {"move.switch": "CustomBroadcast(ring_size=64)"}
    return str(planner.plan("examples/relayout.yaml", Request(settings=settings, fixed=fixed), QUICK).makespan_cycles)


def padded_axes(settings: Settings, _: Path) -> str:
    """Two padded axes in Time take a filter of the valid count generator each."""
    scope = Scope(axes={"A": 3, "B": 5})
    mappings = (parse(t, scope) for t in ("1 # 256", "A # 4, B # 8", "1 # 8"))
    return repr(valid_count.derive(load_hardware("rngd", settings), *mappings, "A"))


def floor(settings: Settings, _: Path) -> str:
    """The lower bound by which a layout search orders transfers."""
    return str(transfer_floor(load_hardware("rngd", settings), 1 << 24, 0))


def contended(settings: Settings, folder: Path) -> str:
    return example("bmatmul_clusters")({"trf.contention": 1, **settings}, folder)


PROBES: dict[str, tuple[Callable[[Settings, Path], str], int | None]] = {
    "geometry.clusters_per_chip": (example("bmatmul_clusters"), 1),
    "geometry.slices_per_cluster": (cases("rules/switch.yaml"), 512),
    "dm.bytes_per_slice": (example("gemm"), 1024),
    "dm.banks": (example("switch_lifting"), None),
    "dm.starvation_accesses": (example("bmatmul_clusters"), 1),
    "dma.packet_bytes": (example("tiled_matmul"), None),
    "dma.queue_requests": (example("gemm"), 1024),
    "dma.partial_cap_writes": (example("matrix_vector_scattered"), None),
    "dma.partial_tiny_bytes": (example("row_max"), 4),
    "dma.partial_tiny_weight_tenths": (example("matrix_vector_scattered"), None),
    "geometry.min_slices": (example("bmatmul_clusters"), None),
    "passes.short_store_base_cycles": (example("bmatmul_clusters"), None),
    "transpose.bits4_dual_valid_size": (cases("rules/transpose.yaml"), 32),
    "dma.engines_per_chip": (floor, 1),
    "transpose.bits8_max_in_rows": (cases("golden/transpose.yaml"), 16),
    "transpose.bits32_max_in_rows": (cases("golden/transpose.yaml"), 1),
    "transpose.bits4_max_in_rows": (cases("golden/transpose.yaml"), 8),
    "transpose.max_in_cols": (cases("rules/transpose.yaml"), 16),
    "trf.rows_per_bank": (example("gemm"), 8),
    "trf.row_bits": (example("gemm"), 160),
    "trf.row_data_bytes": (example("gemm"), 16),
    "trf.cache_rows": (contended, 1),
    "trf.contention": (example("bmatmul_clusters"), 1),
    "vrf.bytes_per_slice": (cases("golden/registers.yaml"), None),
    "vrf.alignment_bytes": (example("rmsnorm"), 64),
    "sequencer.entries": (cases("rules/pipeline.yaml"), None),
    "sequencer.max_entry_size": (cases("rules/pipeline.yaml"), None),
    "fetch.max_read_bytes_main": (example("gemm"), 16),
    "fetch.packet_alignment_bytes": (cases("golden/collect.yaml"), None),
    "fetch.table_lookup_tenths_per_flit": (example("decoded_weight"), None),
    "switch.pass_extra_steps": (example("relayout"), None),
    "switch.ring_tenths_per_flit": (example("relayout"), None),
    "switch.bitmap_load_cycles": (makespan, None),
    "contraction.accumulator_cells": (example("tiled_matmul"), None),
    "contraction.accumulator_columns": (example("tiled_matmul"), None),
    "contraction.sequential_slots": (example("tiled_matmul"), None),
    "vector.time_slots": (cases("golden/intra_slice_reduce.yaml"), None),
    "vector.inter_slice_pass_base_cycles": (example("sum_all_slices"), None),
    "vector.inter_slice_cycles_per_step": (example("sum_all_slices"), None),
    "vector.inter_slice_offset_cycles": (example("sum_all_slices"), None),
    "vector.vcg_time_filters": (padded_axes, 1),
    "vector.vcg_filter_entries": (cases("rules/intra_slice_reduce.yaml"), 1),
    "passes.commit_base_cycles": (example("gelu"), None),
    "passes.vector_base_cycles": (example("gelu"), None),
    "vector.ways_wide": (example("gelu"), None),
    "vector.ways_narrow": (example("gelu"), None),
    "kernel.first_start_cycles": (makespan, None),
    "kernel.final_sync_cycles": (makespan, None),
    "kernel.fence_cycles": (text("fenced"), None),
    "dma.hbm_bytes": (example("gemm"), 1),
    "dma.copy_base_cycles": (text("copied"), None),
    "dma.single_slice_base_cycles": (text("one_slice"), None),
    "dma.single_slice_request_tenths": (text("one_slice"), None),
}
"""How a number is made to show, and its other value; the others show in the matrix product, doubled."""


def probe(path: str) -> tuple[Callable[[Settings, Path], str], int]:
    table = cases("rules/transpose.yaml") if path.startswith("transpose.") else example("gemm")
    ask, value = PROBES.get(path, (table, None))
    return ask, NUMBERS[path] * 2 if value is None else value


@pytest.mark.parametrize("path", sorted(set(NUMBERS) - DOCUMENTARY))
def test_a_changed_number_changes_a_result(path, tmp_path):
    ask, value = probe(path)
    assert value != NUMBERS[path]
    assert ask({path: value}, tmp_path) != ask({}, tmp_path)


@pytest.mark.parametrize("path", sorted(DOCUMENTARY))
def test_a_documentary_number_changes_nothing(path, tmp_path):
    folder = tmp_path
    for ask in (example("gemm"), example("tiled_scale"), cases("golden/switch.yaml"), makespan):
        assert ask({path: NUMBERS[path] * 2 + 1}, folder) == ask({}, folder)


def test_every_number_says_where_it_is_from():
    assert set(RNGD.provenance) == set(NUMBERS)
    assert all(p.source and p.unit for p in RNGD.provenance.values())


@cache
def _sources() -> str:
    rooms = ("planner", "simulator", "solver")
    return "\n".join(f.read_text(encoding="utf-8") for room in rooms for f in Path(room).rglob("*.py"))


@pytest.mark.parametrize("path", sorted(DOCUMENTARY))
def test_no_code_reads_a_documentary_number(path):
    group, _, leaf = path.partition(".")
    assert f"{group}.{leaf}" not in _sources()
