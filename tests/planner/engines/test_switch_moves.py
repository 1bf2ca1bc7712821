"""Candidates: everything that is legal is found, everything that is found is legal."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from models.kernel import Switch, SwitchConfig
from models.layout import Stream
from models.mapping import ONE, text
from models.parse import parse
from models.presets.load import load_hardware
from planner.engines.base import Ground
from planner.engines.switch_bits import same
from planner.engines.switch_moves import candidates, moves, reasons, undominated
from planner.engines.switch_shapes import TAKES
from tests.planner.engines.switch_oracle import sources
from tests.planner.engines.switch_pairs import SwitchPair
from tests.strategies import switch_pairs

AXES = {"A": 256, "B": 64, "C": 64, "X": 2, "Y": 2, "D": 3}
GROUND = Ground(load_hardware(), AXES)


def stream_of(pair: SwitchPair) -> Stream:
    return Stream("i8", ONE, ONE, pair.in_slice, pair.in_time, pair.packet)


def stream(in_slice: str = "A", in_time: str = "B") -> Stream:
    return Stream("i8", ONE, parse("1 # 2", AXES), parse(in_slice, AXES), parse(in_time, AXES), parse("C", AXES))


@settings(max_examples=150)
@given(switch_pairs())
def test_the_configuration_that_made_an_output_is_among_the_candidates(pair: SwitchPair) -> None:
    stated = moves(GROUND, stream_of(pair), pair.out_slice, pair.out_time)
    still_open = moves(GROUND, stream_of(pair), pair.out_slice, None)
    if pair.config.kind == "CustomBroadcast":
        assert "CustomBroadcast" in {c.config.kind for c in stated}
        assert "CustomBroadcast" in {c.config.kind for c in still_open}
        return
    assert pair.config in [c.config for c in stated]
    found = [c for c in still_open if c.config == pair.config]
    assert [same(c.out.time, pair.out_time) for c in found] == [True]


@settings(max_examples=60)
@given(switch_pairs(mutate=True))
def test_what_is_found_for_a_mutated_output_is_legal_by_enumeration(pair: SwitchPair) -> None:
    for found in moves(GROUND, stream_of(pair), pair.out_slice, pair.out_time):
        made = SwitchPair(
            pair.in_slice, pair.in_time, pair.packet, found.out.slice, found.out.time, found.config, mutated=True
        )
        assert sources(made) is not None, found.label


def test_the_relayout_example() -> None:
    found = candidates(GROUND, stream(), Switch(slice="A / 64, A % 2, A / 2 % 32"))
    assert [c.label for c in found] == ["Transpose(slice1=32, slice0=2)", "CustomBroadcast(ring_size=64)"]
    assert [c.outcome.settings["ring_size"] for c in found] == [64, 64]
    assert [text(c.out.time) for c in found] == ["B", "B"]


def test_an_open_time_lists_every_time0() -> None:
    found = candidates(GROUND, stream(in_time="B % 8"), Switch(slice="A / 4, X, Y"))
    times = {c.config.time0: text(c.out.time) for c in found if (c.config.slice1, c.config.slice0) == (2, 2)}
    assert times == {
        1: "B % 8, A % 4",
        2: "B / 2 % 4, A / 2 % 2, B % 2, A % 2",
        4: "B / 4 % 2, A / 2 % 2, B % 4, A % 2",
        8: "A / 2 % 2, B % 8, A % 2",
    }


def test_padding_that_moves_is_cut_off_or_comes_along() -> None:
    found = candidates(GROUND, stream("A / 4, D # 4"), Switch(slice="A / 4, 4"))
    assert [text(c.out.time) for c in found if c.config.kind == "CustomBroadcast"] == ["B, D", "B, D # 4"]


def test_a_stated_configuration_leaves_nothing_else() -> None:
    fixed = SwitchConfig(kind="Broadcast01", slice1=2, slice0=2)
    found = candidates(GROUND, stream(), Switch(slice="A / 4, X, Y", config=fixed))
    assert {(c.config.kind, c.config.slice1, c.config.slice0) for c in found} == {("Broadcast01", 2, 2)}
    assert [c.config.time0 for c in found] == [1, 2, 4, 8, 16, 32, 64]
    exact = fixed.model_copy(update={"time0": 4})
    assert [c.config for c in candidates(GROUND, stream(), Switch(slice="A / 4, X, Y", config=exact))] == [exact]


def test_switch_auto_forwards_or_reaches_the_wanted_slice() -> None:
    assert [c.label for c in undominated(candidates(GROUND, stream(), Switch()))] == ["Forwarding"]
    wanted = parse("A % 2, A / 2", AXES)
    found = candidates(GROUND, stream(), Switch(), wanted)
    assert {c.config.kind for c in found} == {"Transpose", "CustomBroadcast"}


def test_undominated_keeps_the_cheapest_of_each_output() -> None:
    found = candidates(GROUND, stream(), Switch(slice="A"))
    assert len(found) > 20
    assert [c.label for c in undominated(found)] == ["Forwarding"]


def test_every_kind_that_fails_has_its_reason() -> None:
    wanted = parse("A / 64, A % 2, A / 2 % 32", AXES)
    found = reasons(GROUND, stream(), wanted, None)
    assert set(found) == set(TAKES) - {"Transpose", "CustomBroadcast"}
    assert found["Forwarding"].nearest == "Slice `A`, Time `B`"
    assert all(f.message and f.rule and f.nearest for f in found.values())


@pytest.mark.parametrize(("slice0", "rule"), [(3, "switch_parameter_not_power_of_two"), (2, "switch_slice_shape")])
def test_a_stated_configuration_is_refused_by_its_own_rule(slice0: int, rule: str) -> None:
    fixed = SwitchConfig(kind="Transpose", slice1=16, slice0=slice0)
    found = reasons(GROUND, stream(), parse("A / 64, A % 2, A / 2 % 32", AXES), None, fixed=fixed)
    assert {k: f.rule for k, f in found.items()} == {"Transpose": rule}


def test_large_axes_cost_no_more_cells() -> None:
    axes = AXES | {"H": 2**30}
    huge = Stream("i8", ONE, ONE, parse("A", axes), parse("H", axes), ONE)
    found = moves(Ground(GROUND.hardware, axes), huge, parse("A / 4, X, Y", axes), None)
    assert max(c.config.time0 or 0 for c in found) == 2**30
