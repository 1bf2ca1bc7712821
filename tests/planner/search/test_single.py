"""The search of one contraction: its bounds hold, its answer is the best of all, and the named targets are met."""

from itertools import product

import pytest

from models.kernel import Kernel, Tensor
from models.presets.load import load_hardware
from planner.search.contraction import tilings
from planner.search.contraction_passes import results, spreads
from planner.search.kernels import judge
from planner.search.moves import moves
from planner.search.single import SingleSearch, _Candidate
from planner.search.spec import Contraction, Named
from solver import Options

HARDWARE = load_hardware("rngd", {})


def search(left, right, out, sizes):
    spec = Contraction("e", Named(*left), Named(*right), Named(*out), sizes)
    tensors = {
        o.name: Tensor(dtype=o.dtype, element=o.element(sizes), role="output" if o is spec.out else "input")
        for o in (spec.left, spec.right, spec.out)
    }
    return SingleSearch(spec, HARDWARE, Kernel(kernel="e", axes=sizes, tensors=tensors, ops=()), Options(5, 1, 0))


def every_kernel(one):
    """All candidates, by plain loops."""
    spec = one.spec
    for tiling in tilings(spec, HARDWARE):
        ways = product(spreads(tiling, tiling.held, HARDWARE), spreads(tiling, tiling.stream, HARDWARE))
        for (mode, gives), pair in product(list(results(spec, tiling, HARDWARE)), list(ways)):
            bits = 8 * spec.out.bytes_per_element
            source = f"{spec.out.name}_e_dm"
            for move in (None, *moves(HARDWARE, bits, gives, spec.out.axes, source, f"{spec.out.name}_moved")):
                yield one.kernel_of(_Candidate(tiling, mode, gives, move, 0, pair))


def test_exhaustive_search_confirms_the_optimum():
    shapes = ("x", "bf16", ("I", "K")), ("w", "bf16", ("K",)), ("y", "f32", ("I",)), {"I": 2, "K": 32}
    found = search(*shapes).run(60)
    judged = [judge(kernel, HARDWARE, Options(5, 1, 0)) for kernel in every_kernel(search(*shapes))]
    assert found.proved
    assert found.judged.makespan == min(j.makespan for j in judged if j is not None)


@pytest.mark.parametrize("sizes", [{"I": 16, "J": 16, "K": 32}, {"I": 8, "J": 24, "K": 48}])
def test_bounds_are_never_above_the_plan(sizes):
    one = search(("a", "bf16", ("I", "K")), ("b", "bf16", ("J", "K")), ("c", "bf16", ("I", "J")), sizes)
    found = one.run(30)
    assert found.judged is not None
    assert found.bound <= found.judged.makespan


def test_a_matrix_vector_product_gathers_before_its_store():
    one = search(("a", "bf16", ("I", "J")), ("x", "bf16", ("J",)), ("y", "bf16", ("I",)), {"I": 256, "J": 2048})
    found = one.run(60)
    # a twelfth of the 111,037 cycles of examples/matrix_vector_scattered.yaml
    assert found.proved
    assert found.judged.makespan <= 9_253


@pytest.mark.long
def test_gemm_is_as_short_as_the_layout_found_by_hand():
    one = search(
        ("a", "bf16", ("I", "K")),
        ("b", "bf16", ("J", "K")),
        ("c", "bf16", ("I", "J")),
        {"I": 512, "J": 512, "K": 64},
    )
    found = one.run(120)
    # an eighth of 81,449 is the target of the issue, 5,630 the figure that was worked out by hand
    assert found.judged.makespan <= 5_630


@pytest.mark.parametrize(("left", "right"), [("K, I", "J, K"), ("I, K", "K, J"), ("K, I", "K, J")])
def test_an_operand_whose_sum_is_not_innermost_may_be_turned(left, right):
    sizes = {"I": 64, "J": 64, "K": 128}
    axes = [tuple(t.split(", ")) for t in (left, right)]
    one = search(("a", "bf16", axes[0]), ("b", "bf16", axes[1]), ("c", "bf16", ("I", "J")), sizes)
    turned = [t for t in tilings(one.spec, HARDWARE) if t.held.lies or t.stream.lies]
    assert turned
    assert one.run(10).judged is not None
