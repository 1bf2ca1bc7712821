"""Contraction: how many multipliers are busy, packing, reads of the TRF, the reducers' room."""

from __future__ import annotations

import pytest

from models.faults import FaultError
from models.layout import Stream, TensorLayout
from models.mapping import ONE
from models.parse import parse
from models.presets.load import load_hardware
from planner.engines import contraction_outer
from planner.engines.base import Ground
from planner.engines.contraction_outer import OuterConfig
from tests.planner.registers.kernels import planned, stage

HARDWARE = load_hardware()


@pytest.mark.parametrize(
    ("name", "used", "percent"),
    [
        # the book: K in Time keeps 1 of 32 columns busy; M and V in Time keep all of them
        ("bmatmul_k_in_time", 8, 3.1),
        ("bmatmul_m_in_time", 256, 100.0),
        ("bmatmul_v_in_time", 256, 100.0),
        ("dot_product", 32, 12.5),
        ("matrix_vector", 256, 100.0),
    ],
)
def test_multipliers_in_use(name, used, percent):
    plan = planned(name, verify=False)
    outer = next(s for stages in plan.programs.values() for s in stages if s.step == "contract_outer")
    settings = outer.settings
    assert (settings["multipliers"], settings["multipliers_used"]) == (8 * 32, used)
    assert settings["utilisation_percent"] == percent


def outer(axes: dict[str, int], dtype: str, **texts: str):
    m = {name: parse(text, axes) for name, text in texts.items()}
    trf = TensorLayout("w", "trf", dtype, m["element"], lane=m["lane"])
    stream = Stream(dtype, ONE, ONE, ONE, m["time"], m["packet"])
    return contraction_outer.law(Ground(HARDWARE, axes), stream, trf, OuterConfig(m["out_time"], m["out_packet"]))


@pytest.mark.parametrize(
    ("dtype", "flit", "per_flit"), [("bf16", 16, 32), ("i8", 32, 64), ("f8e4m3", 32, 64), ("i4", 64, 128)]
)
@pytest.mark.parametrize("pack", [1, 2])
def test_packing_one_flit_or_two(dtype, flit, per_flit, pack):
    axes = {"M": 4, "N": 8, "K": per_flit}
    out = (f"M, K / {flit}", f"K % {flit}") if pack == 1 else ("M", "K")
    found = outer(
        axes,
        dtype,
        element="K",
        lane="N",
        time=f"M, K / {flit}",
        packet=f"K % {flit}",
        out_time=out[0],
        out_packet=out[1],
    )
    assert found.ok, found.findings
    assert found.settings["pack_size"] == pack
    assert found.settings["read_elements"] == flit * pack
    assert found.settings["utilisation_percent"] == 50.0 * pack
    assert found.settings["trf_reads"]["wide"] == (pack == 2)
    assert found.steps == 4 * 2 // pack


def test_padding_behind_a_read_is_multiplied_by_anything():
    axes = {"K": 32, "N": 8}
    found = outer(axes, "bf16", element="K", lane="N", time="K", packet="1 # 16", out_time="K", out_packet="1 # 16")
    assert found.ok, found.findings
    assert found.settings["trf_time_entries"] == [[32, 1]]
    assert found.settings["trf_packet_entries"] == [[16, 0]]


def test_time_broadcast_saves_the_fetch():
    """J is broadcast inside of contract_outer: the stream is fetched once, not 16 times."""
    plan = planned("tiled_matmul")
    fetched, multiplied = stage(plan, "matmul[0]", "fetch"), stage(plan, "matmul[0]", "contract_outer")
    assert fetched.steps_cycles == 64 * 4
    assert multiplied.steps_cycles == 64 * 2 * 16
    assert multiplied.settings["trf_time_entries"] == [[64, 0], [2, 32], [16, 64]]
    assert stage(plan, "matmul[0]", "contract_time").settings["inner_time"] == 16


@pytest.mark.parametrize(("columns", "ok"), [(16, True), (32, False)])
def test_sums_side_by_side_have_128_slots(columns, ok):
    """8 rows of A by J / 8 wait for the second half of K: 128 sums have room, 256 have not (domain section 7)."""

    def summed(text: str) -> str:
        for old, new in (
            ("J: 640, K: 64", f"J: {40 * columns}, K: 32"),
            ("J / 128", f"J / {8 * columns}"),
            ("J / 8 % 16", f"J / 8 % {columns}"),
            ("I: 256", "I: 32"),
            ("I / 64 #", "I / 8 #"),
            ("I % 64", "I % 8"),
            ('fetch: {time: "I % 8", packet: "K"}', 'fetch: {time: "K / 16, I % 8", packet: "K % 16"}'),
            (f'time: "I % 8, K / 32, J / 8 % {columns}"', f'time: "K / 16, I % 8, J / 8 % {columns}"'),
            ("K % 32", "K % 16"),
        ):
            assert old in text
            text = text.replace(old, new)
        return text

    if ok:
        timed = stage(planned("tiled_matmul", summed, verify=False), "matmul[0]", "contract_time")
        assert timed.settings["inner_time"] == 8 * columns
        return
    with pytest.raises(FaultError) as error:
        planned("tiled_matmul", summed, verify=False)
    assert "slot_capacity" in {f.rule for f in error.value.faults}
