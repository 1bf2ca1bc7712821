"""From here to there: compositions, axis lifting and transfers beside the single configurations."""

from __future__ import annotations

import pytest
from ruamel.yaml import YAML

from models.layout import Stream
from models.mapping import ONE, Mapping, axis_names, text
from models.parse import parse
from models.presets.load import load_hardware
from planner.engines.base import Ground
from planner.engines.switch_bits import same
from planner.engines.switch_options import Option
from planner.engines.switch_synthesis import Synthesis, synthesise
from tests.planner.engines.switch_oracle import sources
from tests.planner.engines.switch_pairs import SwitchPair
from tests.planner.engines.test_switch_law import GOLDEN

AXES = {"A": 256, "B": 64, "C": 64, "D": 16, "X": 4, "Y": 2}


def ask(
    in_slice: str, in_time: str, out_slice: str, out_time: str | None = None, packet: str = "C", dtype: str = "i8"
) -> tuple[Stream, Synthesis]:
    def read(source: str) -> Mapping:
        return parse(source, AXES)

    stream = Stream(dtype, ONE, parse("1 # 2", AXES), read(in_slice), read(in_time), read(packet))
    ground = Ground(load_hardware(), AXES)
    return stream, synthesise(ground, stream, read(out_slice), None if out_time is None else read(out_time))


def assert_steps_are_legal(option: Option, stream: Stream) -> None:
    """Each pass of a composition by enumeration, from the Slice that the pass before has left."""
    before = stream.slice
    for step in option.passes:
        assert step.candidate is not None
        assert step.in_time is not None
        pair = SwitchPair(before, step.in_time, ONE, step.out_slice, step.out_time, step.candidate.config)
        assert sources(pair) is not None, step.label
        before = step.out_slice


def test_a_digit_of_time_far_out_in_slice_takes_two_passes() -> None:
    stream, found = ask("A", "B", "B % 4, A / 4")
    pairs = [o for o in found.options if o.kind == "Composition"]
    assert pairs[0].label == "InterTranspose(slice1=4, slice0=1, time0=1) then Transpose(slice1=64, slice0=4)"
    assert pairs[0].pass_cycles == 264 + 4 * (64 * 2 + 2) + 264 + 256 * (64 * 2 + 2)
    for option in pairs:
        assert_steps_are_legal(option, stream)
    assert {k: f.rule for k, f in found.reasons.items()}["CustomBroadcast"] == "broadcast_not_new"


def test_two_cheap_rings_beat_one_of_256() -> None:
    """A Broadcast01 over all slices moves what two small rings may move apart when the order of Time allows."""
    stream, found = ask("A", "D", "A / 16, A % 4, A / 4 % 4", "D % 4, D / 4")
    pairs = [o for o in found.options if o.kind == "Composition"]
    assert pairs, "the ring keeps Time, so a second fetch must reorder it"
    for option in pairs:
        assert same(option.out_time, parse("D % 4, D / 4", AXES))
        assert_steps_are_legal(option, stream)


def test_compositions_are_offered_only_where_they_win() -> None:
    _, found = ask("A", "B", "A / 64, A % 2, A / 2 % 32")
    assert [o.kind for o in found.options] == ["Dma", "Transpose", "CustomBroadcast"]


def test_axis_lifting_stands_before_the_inter_transpose_it_replaces() -> None:
    _, found = ask("A / 4, 4", "B", "A / 4, B % 4")
    kinds = [o.kind for o in found.options]
    assert kinds[0] == "AxisLifting"
    assert "InterTranspose" in kinds
    lifted = found.options[0]
    assert text(lifted.out_time) == "B / 4"
    assert lifted.pass_cycles == 264 + 16 * 2


@pytest.mark.parametrize("in_slice", ["A / 4, 1 # 4", "A", "A / 4, X"])
def test_axis_lifting_needs_copies_in_every_slice(in_slice: str) -> None:
    _, found = ask(in_slice, "B", "A / 4, B % 4")
    assert "AxisLifting" not in {o.kind for o in found.options}


def test_options_are_ranked_by_cycles_then_by_contexts() -> None:
    _, found = ask("A", "B", "A / 64, A % 2, A / 2 % 32")
    ranks = [(o.pass_cycles, len(o.holds)) for o in found.options]
    assert ranks == sorted(ranks)
    assert [len(o.holds) for o in found.options if o.pass_cycles == 264 + 64 * (64 * 2 + 2)] == [1, 3]


def test_nothing_legal_leaves_a_reason_for_every_kind() -> None:
    _, found = ask("A", "B", "A / 2")
    assert found.options == ()
    assert {f.rule for f in found.reasons.values()} == {"slice_size_mismatch"}
    assert len(found.reasons) == 7


def test_an_output_that_the_input_does_not_hold_has_no_way() -> None:
    _, found = ask("A", "B", "A", "B, D")
    assert found.options == ()
    assert all(f.message for f in found.reasons.values())


def _accepted() -> list[dict[str, object]]:
    cases = YAML(typ="safe", pure=True).load(GOLDEN)["cases"]
    return [c for c in cases if c["expect"]["ok"]]


@pytest.mark.parametrize("case", _accepted(), ids=lambda c: c["id"])
def test_every_published_configuration_is_listed(case: dict[str, object]) -> None:
    axes = case["axes"]
    assert isinstance(axes, dict)
    parsed = {n: parse(str(case[n]), axes) for n in ("in_slice", "in_time", "packet", "out_slice", "out_time")}
    stream = Stream(str(case["dtype"]), ONE, ONE, parsed["in_slice"], parsed["in_time"], parsed["packet"])
    found = synthesise(Ground(load_hardware(), axes), stream, parsed["out_slice"], parsed["out_time"])
    configs = [o.candidate.config.model_dump(exclude_none=True) for o in found.options if o.candidate is not None]
    assert case["config"] in configs
    assert axis_names(parsed["out_time"]) <= set(axes)
