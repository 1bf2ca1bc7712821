"""Ten compiled passes of the vendor: cycles and contexts exactly as scheduled."""

from __future__ import annotations

import pytest

from models.presets.load import load_hardware
from planner import passes
from planner.engines.base import Ground
from tests.planner.vendor_passes import VendorPass, vendor_passes

ALL = vendor_passes()


def test_there_are_ten():
    assert len(ALL) == 10


@pytest.mark.parametrize("vendor", ALL, ids=lambda v: v.name)
def test_cycles_and_contexts_of_a_compiled_pass(vendor: VendorPass):
    ground = Ground(load_hardware(), vendor.axes)
    result = passes.evaluate(vendor.op, vendor.tensors, ground, {"context": vendor.context}, ())
    assert not result.findings
    found = {(m.cycles, m.holds) for m in (*result.modes, *result.dominated)}
    assert (vendor.cycles, vendor.holds) in found
