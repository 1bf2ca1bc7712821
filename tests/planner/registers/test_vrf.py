"""The VRF: where stores come from, what they hold, room and lifetimes, and operands that do not fit the stream."""

from __future__ import annotations

import pytest

from models.faults import FaultError
from tests.planner.registers.kernels import op, planned


def ok(plan) -> bool:
    return plan.verification is not None and plan.verification.ok


@pytest.mark.parametrize(("context", "held"), [("main", ("main", "sub")), ("sub", ("sub",))])
def test_a_store_from_collect(context, held):
    plan = planned("reshape_operand", fixed={"stage.context": context})
    assert op(plan, "stage").contexts == held
    assert ok(plan)


@pytest.mark.parametrize(("context", "held"), [("main", ("main", "sub")), ("sub", ("sub", "vector"))])
def test_a_store_from_the_vector_engine(context, held):
    plan = planned("vrf_from_vector", fixed={"root.context": context})
    assert op(plan, "root").contexts == held
    assert ok(plan)


@pytest.mark.parametrize("via", ["short", "pipeline"])
def test_a_store_straight_from_dm(via):
    """b is read from its first byte to its last: StoVRF is legal, and taken on the tie."""
    plan = planned("reshape_operand", fixed={"stage.via": via})
    assert op(plan, "stage").decisions["via"].chosen == via
    assert ok(plan)
    free = planned("reshape_operand", alternatives=True)
    assert op(free, "stage").decisions["via"].chosen == "short"
    assert [n.text for n in free.notes if n.topic == "short"] == [
        "stage goes straight from DM into the registers, the short form, on a tie with the pipeline"
    ]


def test_a_computed_value_has_no_short_form():
    with pytest.raises(FaultError) as error:
        planned("vrf_from_vector", lambda t: t.replace("write: roots,", "write: roots, via: short,"))
    assert {f.rule for f in error.value.faults} == {"short_not_contiguous"}


def test_a_walk_with_gaps_has_no_short_form():
    def turned(text: str) -> str:
        return text.replace('time: "H / 8", packet', 'time: "H / 8 % 4, H / 32", packet').replace(
            'write: b_all, element: "H"', 'write: b_all, element: "H / 8 % 4, H / 32, H % 8", via: short'
        )

    with pytest.raises(FaultError) as error:
        planned("reshape_operand", turned)
    assert {f.rule for f in error.value.faults} == {"short_not_contiguous"}


def test_a_shorter_short_store_pays_when_the_hardware_says_so():
    plan = planned("reshape_operand", settings={"passes.short_store_base_cycles": 100}, alternatives=True)
    assert op(plan, "stage").cycles == 100 + 256 // 8
    assert op(plan, "stage").decisions["via"].chosen == "short"


def test_eight_kilobytes_a_slice():
    def long(text: str) -> str:
        return text.replace("H: 64", "H: 4096")

    with pytest.raises(FaultError) as error:
        planned("reshape_operand", long)
    assert "exceeds_capacity" in {f.rule for f in error.value.faults}


def test_tensors_alive_together_have_their_own_bytes():
    """15 stores of 1 KB take turns in the 8 KB of a slice."""
    plan = planned("tiled_scale")
    held = [e for e in plan.memory if e.file == "vrf"]
    assert len(held) == 15
    for one in held:
        assert one.address is not None
        assert one.address + one.bytes <= 8192
        for other in held:
            if one is not other and one.start < other.end and other.start < one.end:
                assert other.address is not None
                assert one.address + one.bytes <= other.address or other.address + other.bytes <= one.address
    assert ok(plan)


@pytest.mark.parametrize(
    ("level", "edit"),
    [
        ("Slice", lambda t: t.replace('slice: "{Rows}", element: "H"}', 'slice: "L % 256", element: "H"}')),
        (
            "Cluster",
            lambda t: t.replace("of: b_all, ", 'of: b_all, cluster: "1 # 2", ').replace(
                "write: b_dm, slice", 'write: b_dm, cluster: "2", slice'
            ),
        ),
    ],
)
def test_an_operand_of_another_split_is_refused(level, edit):
    with pytest.raises(FaultError) as error:
        planned("reshape_operand", edit)
    rules = {f.rule for f in error.value.faults}
    assert rules & {"operand_split", "reshape_cells_differ"}, rules
    assert level.lower() in str(error.value).lower()


@pytest.mark.parametrize("level", ["slice", "cluster"])
def test_a_trf_operand_of_another_split_is_refused(level):
    other = {
        "slice": ('slice: "{Rows}", element: "I % 8, K"', 'slice: "I % 256", element: "I / 256, K"'),
        "cluster": ("write: a_dm, slice", 'write: a_dm, cluster: "I / 1024", slice'),
    }[level]

    def edit(text: str) -> str:
        text = text.replace(*other)
        if level == "slice":
            return text.replace('time: "I % 8", packet', 'time: "I / 256", packet').replace(
                'lane: "I % 8"', 'lane: "I / 256"'
            )
        return text

    with pytest.raises(FaultError) as error:
        planned("matrix_vector", edit)
    assert "operand_split" in {f.rule for f in error.value.faults}
