"""Sentences on transfers: their numbers come from the law, their advice is a store that the law prices alike."""

from __future__ import annotations

from models.presets.load import load_hardware
from planner.engines.base import Ground, Outcome
from planner.engines.dma import law
from planner.engines.dma_explain import explain, whole_block_cycles
from tests.planner.engines.test_dma_law import place, transfer

HARDWARE = load_hardware()
GEMM = {"I": 512, "J": 512}


def said(axes, source, destination) -> str:
    ground = Ground(HARDWARE, axes, "dma")
    return " ".join(explain(ground, law(ground, source, destination), destination))


def test_a_store_of_small_pieces():
    text = said(GEMM, place("dm", GEMM, "I % 32, J % 32", "I / 32, J / 32"), place("hbm", GEMM, "I, J"))
    assert "8,192 of the writes are partial, into 2,048 blocks of 256 bytes, up to 4 into one" in text
    assert "128 neighbouring elements of `I, J`" in text
    best = transfer("store", GEMM, "I, J", ("I % 2, J", "I / 2")).steps
    assert f"about {best:,} cycles" in text


def test_the_advice_is_what_whole_blocks_cost():
    store = transfer("store", {"S": 256, "H": 1024}, "S, H", ("H", "S"))
    assert whole_block_cycles(256 * 2048, 256, HARDWARE) == store.steps


def test_a_store_of_whole_blocks_needs_no_advice():
    axes = {"S": 256, "H": 1024}
    text = said(axes, place("dm", axes, "H", "S"), place("hbm", axes, "S, H"))
    assert "2,048 writes" in text
    assert "partial" not in text


def test_a_shared_load():
    axes = {"H": 1024}
    assert "read the same bytes" in said(axes, place("hbm", axes, "H"), place("dm", axes, "H", "256"))


def test_one_scalar_has_no_better_layout():
    axes = {"A": 64}
    text = said(axes, place("dm", axes, "1 # 8"), place("hbm", axes, "1"))
    assert "1 of the writes" in text
    assert "would take" not in text


def test_an_illegal_transfer_is_not_explained():
    destination = place("hbm", GEMM, "I, J")
    assert explain(Ground(HARDWARE, GEMM, "dma"), Outcome(findings=("x",)), destination) == ()  # type: ignore[arg-type]
