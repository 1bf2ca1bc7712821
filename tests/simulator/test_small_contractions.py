"""Streams of one step against many rows of the register file, whole kernels: nothing but the broadcast makes Time."""

from __future__ import annotations

import pytest

from tests.simulator.planned import holds, stages

KERNEL = """
kernel: small
axes: {{P: 64, M: {m}, K: {k}, R: {r}}}
tensors:
  a: {{dtype: {dtype}, element: "P, R, {K}", pad: "0"}}
  x: {{dtype: {dtype}, element: "P, M, {K}", pad: "0"}}
  y: {{dtype: {out}, element: "P, M, R / {lanes}, R % {lanes} # 8", role: output}}
ops:
  - {{dma: load_a, read: a, write: a_dm, slice: "P", element: "R % {lanes}, R / {lanes}, {K}"}}
  - {{dma: load_x, read: x, write: x_dm, slice: "P", element: "M, {K}"}}
  - pass: store_a
    read: a_dm
    steps:
      - fetch: {{time: "R % {lanes}, R / {lanes}", packet: "{K}"}}
      - collect
      - to_trf: {{write: a_trf, lane: "R % {lanes}", element: "R / {lanes}, {K}"}}
  - pass: multiply
    read: x_dm
    steps:
      - fetch: {{time: "M", packet: "{K}"}}
      - collect
      - contract_outer: {{with: a_trf, time: "M, R / {lanes}", packet: "{K}"}}
      - contract_packet: {{packet: "1"}}
      - contract_time: {{time: "M, R / {lanes}"}}
      - contract_lane: {{mode: interleaved}}
      - commit: {{write: y_dm, element: "M, R / {lanes}, R % {lanes} # 8"}}
  - {{dma: store_y, read: y_dm, write: y}}
"""


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize(("r", "lanes"), [(8, 8), (64, 8), (6, 2), (4, 1)])
@pytest.mark.parametrize(("dtype", "out", "k", "flit"), [("bf16", "f32", 16, 16), ("i8", "i32", 32, 32)])
@pytest.mark.parametrize("short", [0, 3])
def test_a_stream_meets_every_row(m, r, lanes, dtype, out, k, flit, short, tmp_path):
    whole = f"K # {flit}" if short else "K"
    text = KERNEL.format(m=m, k=k - short, r=r, lanes=lanes, dtype=dtype, out=out, K=whole)
    plan = holds(text.replace(f"R % {lanes} # 8", "R % 8") if lanes == 8 else text, tmp_path)
    (outer,) = stages(plan, "contract_outer")
    assert outer.steps_cycles == m * r // lanes
