"""Kernels of contractions c[S, H] = sum over K of a[S, K] * b[H, K] for every placement of digits (see placements)."""

from itertools import product

from tests.planner.search.placements import count, endings, placements, slice_forms, text

LEVELS = {
    "streamed": ("cluster", "slice", "time", "packet"),
    "held": ("cluster", "slice", "lane", "time"),
    "summed": ("slice", "time", "packet"),
}
MOST_ELEMENTS = 32
"""Two flits of bf16."""


class Problem:
    """Operand names, their digits in HBM order by class, those of the result, and the bytes of its values."""

    def __init__(self, streamed, held, summed, result, out):
        self.digits = {"streamed": streamed[1], "held": held[1], "summed": summed}
        self.stream, self.hold, self.result, self.out = streamed[0], held[0], result, out
        every = [*streamed[1], *held[1], *summed]
        self.sizes = {axis: count(d for d in every if d[0] == axis) for axis in dict.fromkeys(d[0] for d in every)}


def products(problem):
    """Every kernel with this operand in the TRF."""
    ways = (placements(problem.digits[c], LEVELS[c]) for c in LEVELS)
    for streamed, held, summed in product(*map(list, ways)):
        cluster = [*streamed["cluster"], *held["cluster"]]
        packet = [*streamed["packet"], *summed["packet"]]
        if count(cluster) not in (1, 2) or count(held["lane"]) not in (1, 2, 4, 8) or count(packet) > MOST_ELEMENTS:
            continue
        at = {"slice": [*streamed["slice"], *held["slice"], *summed["slice"]]}
        for where in slice_forms(at, {d[0] for d in problem.digits["summed"]}):
            modes = ("interleaved", "sequential") if streamed["packet"] else ("interleaved",)
            for mode, outer in product(modes, (False, True) if held["time"] and summed["time"] else (False,)):
                yield from _kernel(problem, (streamed, held, summed), (cluster, where), mode, outer)


def _kernel(problem, at, units, mode, rows_outside):
    streamed, held, summed = at
    cluster, where = units
    sizes = problem.sizes
    own = {c: [d for d in problem.digits[c] if d in at[i]["time"]] for i, c in enumerate(LEVELS)}
    load = {"cluster": text(cluster, sizes) if cluster else "1 # 2", "slice": where.before(sizes)}
    a_digits = [d for d in problem.digits["streamed"] if d in streamed["time"] or d in streamed["packet"]]
    b_digits = [d for d in problem.digits["held"] if d in held["time"] or d in held["lane"]]
    k_digits = [d for d in problem.digits["summed"] if d in summed["time"] or d in summed["packet"]]
    loads = [
        {"dma": f"load_{n}", "read": n, "write": f"{n}_dm", "element": text([*own_digits, *k_digits], sizes), **load}
        for n, own_digits in ((problem.stream, a_digits), (problem.hold, b_digits))
    ]
    left = [*own["streamed"], *own["held"]]
    steps = [*_matrix(problem, own, at, rows_outside, left), {"contract_lane": {"mode": mode}}]
    lanes, columns = held["lane"], streamed["packet"]
    time, live = ([*left, *columns], lanes) if mode == "interleaved" else ([*left, *lanes], columns)
    if where.folded:
        fold = {"op": "Add", "slice": where.after(sizes), "time": text(time, sizes)}
        steps.append({"vector": [{"inter_slice_reduce": fold}]})
    steps += [{"cast": "bf16"}] if problem.out[1] == 2 else []
    hold = {"pass": "hold", "read": f"{problem.hold}_dm", "steps": _hold(problem, own, at)}
    if live:
        element = [*(d for d in problem.result if d in time), *live]
        made = [*steps, {"commit": {"write": "out_dm", "element": text(element, sizes)}}]
        store = {"dma": "store", "read": "out_dm", "write": problem.out[0]}
        yield [*loads, hold, {"pass": "contract", "read": f"{problem.stream}_dm", "steps": made}, store]
        return
    for made, after in endings(sizes, where, steps, time, problem.result, problem.out):
        yield [*loads, hold, {"pass": "contract", "read": f"{problem.stream}_dm", "steps": made}, *after]


def _hold(problem, own, at):
    _, held, summed = at
    sizes = problem.sizes
    rest, packet = [*own["held"], *own["summed"]], summed["packet"]
    if not packet:
        # One row after the other, as many neighbours as there are.
        rest, packet = [], rest
    to_trf = {"write": "held_trf", "lane": text(held["lane"], sizes), "element": text([*rest, *packet], sizes)}
    fetch = {"time": text([*held["lane"], *rest], sizes), "packet": text(packet, sizes)}
    return [{"fetch": fetch}, "collect", {"to_trf": to_trf}]


def _matrix(problem, own, at, rows_outside, left):
    streamed, _, summed = at
    sizes = problem.sizes
    outer, inner = (own["held"], []) if rows_outside else ([], own["held"])
    fetched = [*own["streamed"], *outer, *own["summed"]]
    packet = text([*streamed["packet"], *summed["packet"]], sizes)
    return [
        {"fetch": {"time": text(fetched, sizes), "packet": packet}},
        "collect",
        {"contract_outer": {"with": "held_trf", "time": text([*fetched, *inner], sizes), "packet": packet}},
        {"contract_packet": {"packet": text(streamed["packet"], sizes)}},
        {"contract_time": {"time": text(left, sizes)}},
    ]
