"""The law of transfers against the vendor's schedules, the closed estimates and figures worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from models.kernel import Tile
from models.layout import TensorLayout
from models.parse import parse
from models.presets.load import load_hardware
from planner.engines.base import Ground, Outcome
from planner.engines.dma import law

HARDWARE = load_hardware()
VENDOR = YAML(typ="safe").load(Path("tests/data/vendor_cycles.yaml").read_text(encoding="utf-8"))["kernels"]
PADDED = {"L": 15360, "H": 64}


def place(memory, axes, element, slice="1 # 256", cluster="1 # 2", dtype="bf16", chip="1"):
    on_chip = {"cluster": parse(cluster, axes), "slice": parse(slice, axes)} if memory == "dm" else {}
    return TensorLayout(memory, memory, dtype, parse(element, axes), parse(chip, axes), **on_chip)


def transfer(direction, axes, hbm, dm, dtype="bf16", hardware=HARDWARE, **tiles) -> Outcome:
    """`dm` is (element, slice, cluster), the latter two by default."""
    ends = place("hbm", axes, hbm, dtype=dtype), place("dm", axes, *dm, dtype=dtype)
    source, destination = ends if direction == "load" else ends[::-1]
    return law(Ground(hardware, axes, "dma"), source, destination, **tiles)


def vendor_transfers():
    for name, kernel in VENDOR.items():
        for step in kernel["instructions"]:
            if step["kind"].startswith("dma"):
                yield pytest.param(kernel["axes"], step, id=f"{name}-{step['id']}")


@pytest.mark.parametrize(("axes", "step"), list(vendor_transfers()))
def test_vendor_schedules(axes, step):
    def end(of):
        return place(
            of["memory"], axes, of["element"], of.get("slice", "1"), of.get("cluster", "1"), step["dtype"], of["chip"]
        )

    found = law(Ground(HARDWARE, axes, "dma"), end(step["source"]), end(step["destination"]))
    assert found.ok
    error = abs(found.steps - step["cycles"]) / step["cycles"]
    assert round(100 * error, 1) <= (4.0 if step["kind"] == "dma_load" else 3.0)
    assert found.settings["ideal_cycles"] == step["ideal_cycles"]
    assert found.settings["direction"] == step["kind"].removeprefix("dma_")


@pytest.mark.parametrize(
    ("axes", "hbm", "dm", "requests", "apart"),
    [
        ({"S": 256, "H": 1024}, "S, H", ("H", "S"), 2048, 16),
        ({"I": 512, "K": 64}, "I, K", ("I % 32, K", "I / 32, 16"), 4096, 16),
        ({"H": 1024}, "H", ("H", "256"), 2048, 4),
    ],
)
def test_closed_estimate_of_loads(axes, hbm, dm, requests, apart):
    found = transfer("load", axes, hbm, dm)
    assert found.settings["requests"] == requests
    assert found.steps == pytest.approx(540 + 9.6 * requests / apart, rel=0.04)


def test_closed_estimate_of_a_store_of_whole_blocks():
    found = transfer("store", {"S": 256, "H": 1024}, "S, H", ("H", "S"))
    assert found.settings["full_blocks"] == 2048
    assert found.settings["partial_writes"] == 0
    assert found.steps == pytest.approx(380 + 9.6 * 2048 / 16, rel=0.03)


def test_partial_writes_by_hand():
    # 16 slices of 32 bytes meet in two blocks, 8 writes each: R = 2 x 8 x 8 on the one engine
    found = transfer("store", {"A": 256}, "A", ("A % 16", "A / 16 # 64"))
    assert found.steps == round(300 + 200 + 8.6 * 2 * 8 * 8)
    assert found.settings["partial_writes"] == 16
    assert found.settings["partial_blocks"] == 2


def test_tiny_pieces_weigh_more():
    # 64 slices of 4 bytes in one block
    found = transfer("store", {"A": 128}, "A", ("A % 2", "A / 2"))
    assert found.steps == round(300 + 200 + 11.7 * 64 * 64)


def test_writes_to_one_block_are_capped():
    # 128 slices of one element in one block: 128 x min(128, 64), on both engines alike, two groups
    found = transfer("store", {"A": 128}, "A", ("1", "A"))
    assert found.steps == round(300 + 80 + 200 + 11.7 * 128 * 64)


def test_one_slice_loads_by_its_own_law():
    found = transfer("load", {"A": 2048}, "A", ("A",))
    assert found.steps == 443 + 16 * 3.5
    assert found.settings["slices"] == found.settings["engines"] == 1


def test_a_live_cluster_digit_doubles_the_engines():
    axes = {"A": 2**17}
    one = transfer("load", axes, "A", ("A % 512", "A / 512"))
    two = transfer("load", axes, "A", ("A % 256", "A / 256 % 256", "A / 65536"))
    assert (one.settings["engines"], two.settings["engines"]) == (4, 8)
    assert one.settings["bytes"] == two.settings["bytes"] == 2**18


@pytest.mark.parametrize("rows", ["L % 60", "[L # 16384] % 64"])
def test_rows_of_a_padded_axis(rows):
    slices = rows.replace("%", "/")
    load = transfer("load", PADDED, "L, H", (f"{rows}, H", slices))
    store = transfer("store", PADDED, "L, H", (f"{rows}, H", slices))
    assert load.settings["bytes"] == store.settings["bytes"] == 15360 * 64 * 2
    assert load.settings["slices"] == (256 if "60" in rows else 240)
    assert store.settings["partial_writes"] == 0
    assert load.settings["requests"] == 15360 * 128 // 256


def test_the_last_block_may_be_partial():
    # 2003 elements over slices of 8: 250 whole slices and one of 3 elements, in 4006 bytes = 16 blocks
    found = transfer("store", {"A": 2003}, "A", ("[A # 2048] % 8", "[A # 2048] / 8"))
    assert found.settings["slices"] == 251
    assert found.settings["partial_writes"] == 251
    assert found.settings["partial_blocks"] == 16


def test_padding_that_both_sides_have_travels_along():
    axes = {"A": 64, "H": 60}
    along = transfer("store", axes, "A, H # 128", ("H # 128", "A"))
    assert (along.settings["full_blocks"], along.settings["partial_writes"]) == (64, 0)
    left = transfer("store", axes, "A, H", ("H # 128", "A"))
    assert left.settings["bytes"] == 64 * 60 * 2
    assert left.settings["partial_writes"] > 64


def test_bottom_padding_is_not_touched():
    found = transfer("store", {"A": 64, "H": 60}, "A, H #{!} 128", ("H #{!} 128", "A"))
    assert found.settings["bytes"] == 64 * 60 * 2


def test_slices_that_read_the_same_bytes_wait_for_one_another():
    axes = {"H": 1024}
    same = transfer("load", axes, "H", ("H", "256"))
    other = transfer("load", axes | {"S": 256}, "S, H", ("H", "S"))
    assert same.settings["shared"]
    assert same.steps > 3 * other.steps


def test_packets_of_large_slices_are_scaled():
    axes = {"A": 2**24, "B": 2}
    once = transfer("load", axes, "A", ("A % 65536", "A / 65536"))
    assert once.settings["simulated_requests"] == 256 * 16
    twice = transfer("load", axes, "A, B", ("A % 65536, B", "A / 65536"))
    assert twice.settings["queue_cycles"] == pytest.approx(2 * once.settings["queue_cycles"], abs=0.1)


@pytest.mark.parametrize(("slices", "error"), [(64, 0.0005), (256, 0.25)])
def test_a_long_queue_is_carried_on(slices, error):
    # all slices read the same 1024 blocks: m of each are simulated, and m / 2; engines that drift apart are faster
    axes, most = {"A": 2**17}, 2**15 // slices
    found = transfer("load", axes, "A", ("A", str(slices)))
    assert found.settings["simulated_requests"] == 2**15
    first, half = (
        transfer("load", {"A": 128 * n}, "A", ("A", str(slices))).settings["queue_cycles"] for n in (most, most // 2)
    )
    carried = first + (1024 - most) * (first - half) / (most // 2)
    assert found.settings["queue_cycles"] == pytest.approx(carried, abs=0.06)
    roomy = load_hardware(overrides={"dma.queue_requests": 2**18})
    whole = transfer("load", axes, "A", ("A", str(slices)), hardware=roomy)
    assert whole.settings["simulated_requests"] == 1024 * slices
    assert whole.steps * (1 - error) <= found.steps <= whole.steps * (1 + error)


def test_partial_writes_of_a_large_store_are_scaled_exactly():
    # every block of 256 bytes gets one 4-byte piece of each of 64 slices
    axes = {"A": 2**20, "B": 128}
    found = transfer("store", axes, "A, B", ("A, B % 2", "B / 2"), hardware=_roomy())
    assert found.settings["partial_writes"] == 2**20 * 64
    assert found.settings["partial_cycles"] == pytest.approx(11.7 * 64 * 64 * 2**20)


def _roomy():
    return load_hardware(overrides={"dm.bytes_per_slice": 2**24})


def test_a_tile_takes_part_of_a_tensor():
    tile = Tile(tensor="hbm", tile="L % 60", length=4, start="4 * i")
    dm = ("L % 60 = 4, H", "L / 60")
    load = transfer("load", PADDED, "L, H", dm, read_tile=tile)
    store = transfer("store", PADDED, "L, H", dm, write_tile=tile)
    assert load.settings["bytes"] == store.settings["bytes"] == 256 * 4 * 128
    assert store.settings["full_blocks"] == 512
    assert load.stream is not None
    assert load.stream.packet.size == 4 * 64


def test_a_copy_inside_hbm_as_in_the_book():
    axes = {"A": 8, "B": 8, "C": 256}
    ends = place("hbm", axes, "A, B, C", dtype="i8"), place("hbm", axes, "B, A, C", dtype="i8")
    assert law(Ground(HARDWARE, axes, "dma"), *ends).steps == 628


def test_a_copy_between_slices():
    # 256 slices of 2048 bytes, 64 to an engine: 512 blocks read, 512 written
    axes = {"A": 256, "B": 1024}
    ends = place("dm", axes, "B", "A"), place("dm", axes, "B", "A % 2, A / 2")
    found = law(Ground(HARDWARE, axes, "dma"), *ends)
    assert found.settings["direction"] == "copy"
    assert found.steps == 500 + 512 + 512


def test_a_copy_that_broadcasts_reads_from_one_engine():
    axes = {"B": 1024}
    ends = place("dm", axes, "B"), place("dm", axes, "B", "256")
    assert law(Ground(HARDWARE, axes, "dma"), *ends).steps == 500 + 256 * 8 + 64 * 8
