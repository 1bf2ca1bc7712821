"""Verifying one configuration: under 2 ms. Synthesis for 256 slices: under 100 ms at any axis size."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from models.factors import clear_caches
from models.kernel import SwitchConfig
from models.layout import Stream
from models.mapping import ONE
from models.parse import parse
from models.presets.load import load_hardware
from planner.engines.base import Ground
from planner.engines.switch import law
from planner.engines.switch_synthesis import forget, synthesise

AXES = {"A": 256, "C": 64, "X": 2, "Y": 2}
CONFIGS = [
    (SwitchConfig(kind="Broadcast01", slice1=2, slice0=2, time0=4), "A / 4, X, Y", "B / 4, A / 2 % 2, B % 4, A % 2"),
    (SwitchConfig(kind="Transpose", slice1=32, slice0=2), "A / 64, A % 2, A / 2 % 32", "B"),
    (
        SwitchConfig(kind="InterTranspose", slice1=2, slice0=16, time0=2),
        "A / 32, B / 2 % 2, A % 16",
        "B / 4, B % 2, A / 16 % 2",
    ),
    (SwitchConfig(kind="CustomBroadcast", ring_size=256), "A % 16, A / 16", "B"),
]


def stream(axes: dict[str, int]) -> Stream:
    return Stream("i8", ONE, ONE, parse("A", axes), parse("B", axes), parse("C", axes))


@pytest.mark.parametrize("time", [64, 2**30])
@pytest.mark.parametrize(("config", "out_slice", "out_time"), CONFIGS, ids=lambda c: getattr(c, "kind", None))
def test_verify(benchmark: BenchmarkFixture, config: SwitchConfig, out_slice: str, out_time: str, time: int) -> None:
    axes = AXES | {"B": time}
    ground, given = Ground(load_hardware(), axes), stream(axes)
    wanted, then = parse(out_slice, axes), parse(out_time, axes)

    def cold() -> bool:
        clear_caches()
        forget()
        return law(ground, given, wanted, then, config).ok

    assert benchmark(cold)


@pytest.mark.parametrize("time", [64, 2**30])
@pytest.mark.parametrize("out_slice", ["A / 64, A % 2, A / 2 % 32", "A / 4, X, Y", "B % 4, A / 4", "A / 2, B % 2"])
def test_synthesis(benchmark: BenchmarkFixture, out_slice: str, time: int) -> None:
    axes = AXES | {"B": time}
    ground, given, wanted = Ground(load_hardware(), axes), stream(axes), parse(out_slice, axes)

    def cold() -> bool:
        clear_caches()
        forget()
        return bool(synthesise(ground, given, wanted).options)

    assert benchmark(cold)
