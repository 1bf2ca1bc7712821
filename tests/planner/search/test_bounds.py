"""The cheap lower bounds of a search against the laws that they bound, over random candidates."""

import random

import pytest

from models.presets.load import load_hardware
from planner.search import bounds
from planner.search.contraction import tilings
from planner.search.contraction_passes import place_of, results, spreads
from planner.search.laws import Laws, Place
from planner.search.parts import size_of
from planner.search.spec import Contraction, Named

HARDWARE = load_hardware("rngd", {})
SPECS = {
    "gemm": ("I, K", "J, K", "I, J", {"I": 64, "J": 96, "K": 128}),
    "matrix_vector": ("I, K", "K", "I", {"I": 96, "K": 1024}),
    "dot": ("K", "K", "", {"K": 8192}),
    "batched": ("V, M, K", "V, N, K", "V, M, N", {"V": 8, "M": 16, "N": 24, "K": 64}),
}


def spec_of(left, right, out, sizes):
    names = (tuple(a.strip() for a in text.split(",") if a) for text in (left, right, out))
    return Contraction("e", *(Named(n, "bf16", axes) for n, axes in zip("abc", names, strict=True)), sizes)


@pytest.mark.parametrize("name", SPECS)
def test_no_bound_is_above_its_law(name):
    spec, rng = spec_of(*SPECS[name]), random.Random(7)
    laws = Laws(HARDWARE, spec.sizes)
    everything = list(tilings(spec, HARDWARE))
    asked = 0
    for tiling in rng.sample(everything, min(60, len(everything))):
        for operand in (tiling.held, tiling.stream):
            floor = bounds.load_floor(HARDWARE, tiling, operand, spec.sizes)
            for spread in spreads(tiling, operand, HARDWARE):
                place = place_of(tiling, operand, spread).place()
                outcome = laws.load(operand.dtype, Place(operand.element(spec.sizes)), place)
                asked += outcome.ok
                assert not outcome.ok or floor <= outcome.steps
        clusters = size_of(tiling.cluster[1]) if tiling.cluster[0] else 1
        for _, gives in results(spec, tiling, HARDWARE):
            engines = bounds.engines_of(HARDWARE, gives.slice, clusters)
            outcome = laws.store("bf16", gives.place(), Place(spec.out.element(spec.sizes)))
            floor = bounds.store_floor(HARDWARE, spec.out, spec.sizes, gives.element, engines)
            assert not outcome.ok or floor <= outcome.steps
    assert asked > 30
