"""A switch left open is as good as the best one fixed by hand; bitmaps are shared; the cheapest ring may lose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import planner
from models.faults import FaultError
from models.kernel import SwitchConfig
from models.layout import Stream
from models.mapping import ONE, text
from models.parse import parse
from models.plan import Plan
from models.presets.load import load_hardware
from planner.engines.base import Ground
from planner.engines.switch import law
from planner.engines.switch_shapes import TAKES
from planner.options import PlanOptions, Request
from planner.switch_calculator import calculate
from simulator import simulate
from tests.planner.switch_kernels import Case, bitmap_kernel, repeated_kernel, written

QUICK = PlanOptions(alternatives=False)
AXES = {"A": 256, "B": 4, "C": 32}
LEFT_OPEN: dict[str, Case] = {
    "relayout": {"out_slice": "A / 4, A % 2, A / 2 % 2", "out_time": "B", "in_slice": "A"},
    "gathered": {"out_slice": "A / 4, 2, 2", "out_time": "B, A % 4", "in_slice": "A"},
    "from_time": {"out_slice": "A / 2, B / 2", "out_time": "B % 2, A % 2", "in_slice": "A"},
}


def case_of(name: str) -> Case:
    return {"axes": AXES, "dtype": "i8", "in_time": "B", "packet": "C", **LEFT_OPEN[name]}


def powers(most: int) -> list[int]:
    return [1 << k for k in range(most.bit_length())]


def configurations() -> Iterator[SwitchConfig]:
    """Every configuration over 256 slices and four time steps, legal or not."""
    for kind, takes in TAKES.items():
        if kind == "Forwarding":
            yield SwitchConfig(kind=kind)
        elif kind == "CustomBroadcast":
            yield from (SwitchConfig(kind=kind, ring_size=n) for n in powers(256))
        else:
            times = (1, 2, 4) if "time0" in takes else (None,)
            for slice1 in powers(256):
                for slice0 in powers(256 // slice1):
                    yield from (SwitchConfig(kind=kind, slice1=slice1, slice0=slice0, time0=t) for t in times)


def by_hand(directory: Path, case: Case) -> dict[str, int]:
    """The makespan of every variant with a configuration and its Time written into the kernel file."""
    stream = Stream("i8", ONE, ONE, *(parse(case[n], AXES) for n in ("in_slice", "in_time", "packet")))
    ground, wanted = Ground(load_hardware(), AXES), parse(case["out_slice"], AXES)
    found: dict[str, int] = {}
    for config in configurations():
        made = law(ground, stream, wanted, None, config)
        if not made.ok or made.stream is None:
            continue
        fixed = config.model_dump(exclude_none=True)
        given = ", ".join(f"{n}: {v}" for n, v in fixed.items())
        step = f'{{slice: "{case["out_slice"]}", time: "{text(made.stream.time)}", config: {{{given}}}}}'
        try:
            plan = planner.plan(written(directory, case, step), options=QUICK)
        except FaultError:
            continue  # the commit cannot make what it states of that Time
        assert plan.makespan_cycles is not None
        found[given] = plan.makespan_cycles
    return found


@pytest.mark.parametrize("name", LEFT_OPEN)
def test_left_open_it_is_as_good_as_the_best_by_hand(tmp_path: Path, name: str) -> None:
    case = case_of(name)
    left = f'{{slice: "{case["out_slice"]}", time: auto, config: auto}}'
    plan = planner.plan(written(tmp_path, case, left), options=QUICK)
    assert plan.verification is not None
    assert plan.verification.ok
    fixed = by_hand(tmp_path, case)
    assert len({given.partition(",")[0] for given in fixed}) > 1 or name == "from_time"
    assert plan.makespan_cycles == min(fixed.values())


# Bitmap loads -----------------------------------------------------------------------------------------------


def plan_of(directory: Path, source: str, request: Request | None = None) -> Plan:
    path = directory / "kernel.yaml"
    path.write_text(source)
    plan = planner.plan(path, request or Request(), QUICK)
    assert plan.verification is not None
    assert plan.verification.violations == ()
    assert plan.verification.ok
    return plan


@pytest.mark.parametrize(("second", "loads"), [("A % 16, A / 16", 1), ("A % 4, A / 4 % 4, A / 16", 2)])
def test_passes_that_share_a_bitmap_load_it_once(tmp_path: Path, second: str, loads: int) -> None:
    plan = plan_of(tmp_path, bitmap_kernel("A % 16, A / 16", second))
    found = [o for o in plan.ops if o.kind == "bitmap_load"]
    assert len(found) == loads
    assert all(set(o.contexts) == {"dma", "sub"} for o in found)
    for move in (o for o in plan.ops if o.kind == "pass"):
        before = [o for o in found if o.end <= move.start]
        assert max(before, key=lambda o: o.end).bitmap == move.bitmap


def test_the_simulator_misses_a_load_that_is_not_there(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, bitmap_kernel("A % 16, A / 16"))
    without = plan.model_copy(update={"ops": tuple(o for o in plan.ops if o.kind != "bitmap_load")})
    assert "bitmap_load_missing" in {v.rule for v in simulate(without).violations}


def test_the_cheapest_ring_loses_where_its_bitmap_costs_more_than_it_saves(tmp_path: Path) -> None:
    axes = {"A": 4, "D": 32, "B": 2, "C": 32}
    options = calculate(axes, "i8", "A, 2, D", "B", "C", "A, D, 2")["options"]
    rings = {o["kind"]: o["pass_cycles"] for o in options}
    assert rings["CustomBroadcast"] < rings["Transpose"]
    once, often = (plan_of(tmp_path, repeated_kernel(times)) for times in (1, 8))
    assert chosen(once) == {"Transpose"}
    assert chosen(often) == {"CustomBroadcast"}
    assert sum(o.kind == "bitmap_load" for o in often.ops) == 1
    custom = plan_of(tmp_path, repeated_kernel(1), Request(fixed={"move.switch": "CustomBroadcast"}))
    assert (custom.makespan_cycles or 0) > (once.makespan_cycles or 0)


def chosen(plan: Plan) -> set[str]:
    return {o.decisions["switch"].chosen.partition("(")[0] for o in plan.ops if o.kind == "pass"}


# Two passes in place of one -----------------------------------------------------------------------------------

EXAMPLE = Path(__file__).parents[2] / "examples" / "switch_composition.yaml"


def test_two_passes_do_what_no_single_configuration_does() -> None:
    plan = planner.plan(EXAMPLE, options=QUICK)
    assert plan.verification is not None
    assert plan.verification.violations == ()
    assert plan.verification.ok
    passes = {o.name: o for o in plan.ops if o.kind == "pass"}
    assert set(passes) == {"move.first", "move"}
    assert chosen(plan) == {"InterTranspose", "Composition"}
    first, last = passes["move.first"], passes["move"]
    assert (set(first.uses), set(last.uses)) == ({"x_dm", "move.between"}, {"move.between", "y_dm"})
    lives = {e.tensor: (e.start, e.end) for e in plan.memory}
    assert lives["move.between"] == (first.start, last.end)
    assert lives["x_dm"][1] == first.end


def test_a_composition_can_be_forbidden() -> None:
    with pytest.raises(FaultError) as caught:
        planner.plan(EXAMPLE, Request(forbidden=(("move.switch", "Composition"),)), QUICK)
    assert {f.op for f in caught.value.faults} == {"move"}


def test_each_iteration_has_a_buffer_between_of_its_own(tmp_path: Path) -> None:
    tile = 'tile: "C / 8", length: 1, start: "i"'
    source = EXAMPLE.read_text()
    body = source[source.index("  - pass: move") : source.index("  - {dma: store")]
    body = "".join(f"    {line}\n" for line in body.splitlines())
    body = body.replace("read: x_dm", f"read: {{tensor: x_dm, {tile}}}").replace(
        'packet: "C"', 'packet: "C / 8 = 1, C % 8"'
    )
    body = body.replace("write: y_dm", f"write: {{tensor: y_dm, {tile}}}")
    looped = source.replace(
        source[source.index("  - pass: move") : source.index("  - {dma: store")],
        f"  - loop: i\n    count: 4\n    ops:\n{body}",
    )
    path = tmp_path / "looped.yaml"
    path.write_text(looped)
    plan = planner.plan(path, options=QUICK)
    assert plan.verification is not None
    assert plan.verification.violations == ()
    assert plan.verification.ok
    assert {e.tensor for e in plan.memory} >= {f"move.between[{i}]" for i in range(4)}
