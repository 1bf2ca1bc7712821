"""The transpose engine: five steps against arrays, two real buffers against the latency formula of seed 003."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.plan import Plan
from simulator import simulate
from simulator.engines.transpose import Matrix, run_buffers
from tests.simulator.planned import holds, stages
from tests.simulator.random_kernels import padded_transpose_kernel, transpose_kernel

SEED_003 = [
    (16, 16, 2, 16, 48),
    (4, 2, 1, 8, 6),
    (32, 32, 2, 32, 128),
    (4, 8, 8, 8, 68),
    (16, 16, 4, 16, 80),
    (2, 8, 4, 8, 34),
]
"""in_flits, out_rows, iterations, in_cols, cycles: the worked examples of the chapter."""


def formula(in_flits: int, out_rows: int, iterations: int, columns: int) -> int:
    if columns <= 16:
        return in_flits + (iterations - 1) * max(in_flits, out_rows) + out_rows
    return iterations * (in_flits + out_rows)


def flits(matrix: Matrix, iterations: int) -> np.ndarray:
    count = matrix.flits * iterations
    return np.arange(count * matrix.valid, dtype=np.int64).reshape(count, matrix.valid)


@pytest.mark.parametrize(("in_flits", "out_rows", "iterations", "columns", "cycles"), SEED_003)
def test_the_chapters_examples_take_their_cycles(in_flits, out_rows, iterations, columns, cycles):
    packets = max(1, columns // 8)
    matrix = Matrix(columns // packets, packets, in_flits // packets, out_rows, 2 if columns <= 16 else 1)
    assert run_buffers(matrix, flits(matrix, iterations))[1] == cycles
    assert formula(in_flits, out_rows, iterations, columns) == cycles


@pytest.mark.parametrize("packets", [1, 2, 4])
@pytest.mark.parametrize("rows", [1, 2, 3, 8])
@pytest.mark.parametrize("out_rows", [1, 5, 8])
@pytest.mark.parametrize("iterations", [1, 2, 5])
def test_buffers_filled_and_drained_take_what_the_formula_says(packets, rows, out_rows, iterations):
    columns = 8 * packets
    matrix = Matrix(8, packets, rows, out_rows, 2 if columns <= 16 else 1)
    stream = flits(matrix, iterations)
    turned, cycles = run_buffers(matrix, stream)
    assert cycles == formula(matrix.flits, out_rows, iterations, columns)
    wanted = stream.reshape(iterations, rows, columns).swapaxes(1, 2)[:, :out_rows].reshape(-1, rows)
    assert np.array_equal(turned, wanted)


def test_one_buffer_instead_of_two_takes_other_cycles_for_the_same_rows():
    double, single = Matrix(8, 2, 8, 16, 2), Matrix(8, 2, 8, 16, 1)
    twice, once = (run_buffers(m, flits(m, 3)) for m in (double, single))
    assert np.array_equal(twice[0], once[0])
    assert (twice[1], once[1]) == (16 + 2 * 16 + 16, 3 * (16 + 16))


def check_random_transpose(seed: int, folder: Path) -> Plan:
    drawn = transpose_kernel(np.random.default_rng(seed))
    plan = holds(drawn.text, folder)
    (stage,) = stages(plan, "transpose")
    settings = stage.settings
    flits_in = settings["in_rows"] * settings["packets_per_col"]
    assert settings["valid_size"] == drawn.valid
    assert stage.steps_cycles == formula(flits_in, settings["out_rows"], settings["iterations"], settings["in_cols"])
    return plan


@pytest.mark.parametrize("seed", range(24))
def test_random_transposes_equal_the_reference(seed, tmp_path):
    check_random_transpose(seed, tmp_path)


@pytest.mark.parametrize("seed", range(24))
def test_padding_beside_padding_is_trimmed_where_the_packet_ends(seed, tmp_path):
    holds(padded_transpose_kernel(np.random.default_rng(seed)), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("block", range(40))
def test_thousands_of_random_transposes(block, tmp_path):
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        check_random_transpose(seed, tmp_path)


@pytest.mark.parametrize(
    ("key", "change"),
    [("in_rows", 2), ("out_rows", 1), ("packets_per_col", 2), ("in_flits", 99), ("buffering", "none"), ("cycles", 1)],
)
def test_an_engine_set_otherwise_is_noticed(key, change, tmp_path):
    text = transpose_kernel(np.random.default_rng(3)).text
    plan = holds(text, tmp_path)
    programs = {
        name: tuple(
            s.model_copy(update={"settings": s.settings | {key: change}}) if s.step == "transpose" else s
            for s in program
        )
        for name, program in plan.programs.items()
    }
    assert programs != plan.programs
    assert not simulate(plan.model_copy(update={"programs": programs})).ok
