"""Fetch casts, table look-ups, the Cast Engine and the commit cast, from a kernel's text to every code of its types."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.dtypes import DTYPES
from simulator import simulate
from simulator.values import CONTAINER, decode, integer_range
from tests.simulator.planned import holds

ELEMENTS = 65536


def kernel(dtype: str, out: str, steps: str, commit: str = "", packet: int = 8, lanes: int = 8) -> str:
    return f"""
kernel: converted
axes: {{A: {ELEMENTS}}}
tensors:
  x: {{dtype: {dtype}, element: A}}
  y: {{dtype: {out}, element: A, role: output}}
ops:
  - {{dma: load, read: x, write: x_dm, slice: "A / 256", element: "A % 256"}}
  - pass: convert
    read: x_dm
    steps:
      - fetch: {{time: "A % 256 / {packet}", packet: "A % {packet}"}}
{steps}      - commit: {{write: y_dm, element: "A % 256", packet: "A % {lanes}"{commit}}}
  - {{dma: store, read: y_dm, write: y}}
"""


def every_code(dtype: str) -> np.ndarray:
    """All values of a type in no order, repeated up to the tensor's size; of f32 all borders of bf16 among them."""
    rng = np.random.default_rng(5)
    bits = DTYPES[dtype].bits
    if bits == 32:
        raw = rng.integers(0, 1 << 32, ELEMENTS, dtype=np.uint64).astype(np.uint32)
        halves = rng.choice(np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32), ELEMENTS)
        raw = np.where(rng.random(ELEMENTS) < 0.7, raw & np.uint32(0xFFFF0000) | halves, raw)
    else:
        raw = rng.permutation(ELEMENTS) % (1 << bits)
    return decode(raw.astype(CONTAINER[dtype]), dtype)


def run(text: str, folder: Path, dtype: str) -> None:
    found = simulate(holds(text, folder), inputs={"x": every_code(dtype)})
    assert found.ok, f"{text}\n{found}"


COLLECT = "      - collect\n"


@pytest.mark.parametrize(
    ("dtype", "out", "packet"),
    [
        ("i4", "i32", 8),
        ("i8", "i32", 8),
        ("i16", "i32", 8),
        ("f8e4m3", "f32", 8),
        ("f8e5m2", "f32", 8),
        ("bf16", "f32", 8),
    ],
)
def test_fetch_casts_of_every_code(dtype, out, packet, tmp_path):
    run(kernel(dtype, out, f"      - fetch_cast: {out}\n{COLLECT}", packet=packet), tmp_path, dtype)


def test_a_fetch_cast_that_narrows(tmp_path):
    run(kernel("f32", "bf16", f"      - fetch_cast: bf16\n{COLLECT}", packet=16, lanes=16), tmp_path, "f32")


@pytest.mark.parametrize(
    ("dtype", "out", "packet", "lanes"),
    [
        ("f4e2m1", "f8e4m3", 32, 32),
        ("f4e2m1", "f8e5m2", 32, 32),
        ("f8e4m3", "bf16", 16, 16),
        ("f8e5m2", "bf16", 16, 16),
    ],
)
def test_table_look_ups_of_every_code(dtype, out, packet, lanes, tmp_path):
    text = kernel(dtype, out, f"      - fetch_table_lookup: {out}\n{COLLECT}", packet=packet, lanes=lanes)
    run(text, tmp_path, dtype)


@pytest.mark.parametrize(
    ("dtype", "out"),
    [("i32", "i8"), ("i32", "i16"), ("f32", "f8e4m3"), ("f32", "f8e5m2"), ("f32", "bf16")],
)
def test_the_cast_engine(dtype, out, tmp_path):
    run(kernel(dtype, out, f"{COLLECT}      - cast: {out}\n"), tmp_path, dtype)


@pytest.mark.parametrize("relu", ["", ", relu: true"])
def test_the_commit_cast(relu, tmp_path):
    run(kernel("f32", "bf16", COLLECT, f", cast: bf16{relu}"), tmp_path, "f32")


def test_every_code_is_there():
    assert len(np.unique(every_code("i16"))) == 1 << 16
    assert (every_code("i4").min(), every_code("i4").max()) == integer_range("i4")
