"""Kernels without a plan, from a few templates, each with the rules that forbid one.

Most break a rule only jointly: every tensor fits its file, every operation is legal, but lifetimes that the data force
upon each other, or choices that are fixed, leave no room.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from planner import Request


@dataclass(frozen=True)
class Case:
    """`rules`: the ids that the minimal set must have, no more and no fewer; `joint`: no single check finds it."""

    name: str
    text: str
    rules: frozenset[str]
    joint: bool = True
    request: Request = field(default_factory=Request)

    def __str__(self) -> str:
        return self.name


def cases() -> list[Case]:
    return [*_vrf_at_once(), *_vrf_sandwich(), *_trf(), *_trf_fixed(), *_dm(), *_contexts(), *_single()]


# A pass that scales by register tensors, one after the other ------------------------------------------------


def scaling(uses: str, width: int, rows: int = 4, extra: str = "") -> str:
    """`y1 = x * w<uses[0]>`, `y2 = y1 * w<uses[1]>`, ...; each w takes rows * width * 4 bytes of VRF."""
    names = sorted(set(uses))
    lines = [
        f"kernel: scaling_{uses}",
        f"axes: {{L: {256 * rows}, H: {width}}}",
        f'layouts: {{Rows: "L / {rows}"}}',
        "tensors:",
        '  x: {dtype: f32, element: "L, H"}',
        *(f'  w{n}: {{dtype: f32, element: "L, H"}}' for n in names),
        '  y: {dtype: f32, element: "L, H", role: output}',
        "ops:",
        *_load("x", rows),
        *(line for n in names for line in (*_load(f"w{n}", rows), *_stage(n, rows, extra))),
    ]
    source = "x_dm"
    for i, n in enumerate(uses):
        lines += _scale(f"scale_{i}", source, [n], f"y{i}_dm", rows)
        source = f"y{i}_dm"
    return "\n".join([*lines, f"  - {{dma: store, read: {source}, write: y}}", ""])


def _load(name: str, rows: int) -> list[str]:
    return [f'  - {{dma: load_{name}, read: {name}, write: {name}_dm, slice: "{{Rows}}", element: "L % {rows}, H"}}']


def _stage(n: str, rows: int, extra: str = "") -> list[str]:
    return [
        f"  - pass: stage_{n}",
        f"    read: w{n}_dm",
        "    steps:",
        f'      - fetch: {{time: "L % {rows}, H / 8", packet: "H % 8"}}',
        "      - collect",
        f'      - to_vrf: {{write: w{n}_vrf, element: "L % {rows}, H"{extra}}}',
    ]


def _scale(name: str, read: str, operands: list[str], write: str, rows: int) -> list[str]:
    operations = zip(("mul", "add"), operands, strict=False)
    return [
        f"  - pass: {name}",
        f"    read: {read}",
        "    steps:",
        f'      - fetch: {{time: "L % {rows}, H / 8", packet: "H % 8"}}',
        "      - collect",
        "      - vector:",
        "          - {tag: zero}",
        f'          - {{narrow_split: {{time: "L % {rows}, H / 4", packet: "H % 4"}}}}',
        *(f"          - {{fp_binary: {{op: {op}, operand: w{n}_vrf}}}}" for op, n in operations),
        f'          - {{widen_concat: {{time: "L % {rows}, H / 8", packet: "H % 8"}}}}',
        f'      - commit: {{write: {write}, element: "L % {rows}, H", slice: "{{Rows}}"}}',
    ]


def _vrf_at_once() -> Iterator[Case]:
    """One pass multiplies by one register tensor and adds another; both together are more than the file."""
    for rows, width in ((4, 264), (8, 136), (2, 520), (16, 72)):
        head = scaling("12", width, rows).partition("  - pass: scale_0")[0]
        text = "\n".join(
            [*head.rstrip().split("\n"), *_scale("both", "x_dm", ["1", "2"], "y_dm", rows),
             "  - {dma: store, read: y_dm, write: y}", ""]
        )  # fmt: skip
        yield Case(f"vrf_at_once_{rows}x{width}", text, frozenset({"vrf_capacity"}))


def _vrf_sandwich() -> Iterator[Case]:
    """The first tensor is needed again after the others were used, which the data put in between."""
    rules = frozenset({"vrf_capacity", "data_hazard_raw"})
    for uses, width in (
        ("121", 264), ("121", 480), ("1221", 320), ("12321", 176), ("12321", 200), ("123123", 176), ("1213", 264),
        ("1231", 264),
    ):  # fmt: skip
        yield Case(f"vrf_sandwich_{uses}_{width}", scaling(uses, width), rules)
    small = Request(settings={"vrf.bytes_per_slice": 1536})
    for uses in ("121", "1221", "12131"):
        yield Case(f"vrf_small_{uses}", scaling(uses, 64), rules, request=small)


# A chain of contractions: odd ones sum over K, even ones over J ------------------------------------------------


def chain(uses: str, size: int = 32, region: str = "auto", context: str = "auto") -> str:
    """`c1 = a . b<uses[0]>`, `c2 = c1 . b<uses[1]>`, ... on size x size weights in the TRF."""
    lines = [
        f"kernel: chain_{uses}",
        f"axes: {{I: 2048, J: {size}, K: {size}}}",
        'layouts: {Rows: "I / 8"}',
        "tensors:",
        '  a: {dtype: bf16, element: "I, K"}',
    ]
    odd = {n for n in uses if uses.index(n) % 2 == 0}
    lines += [f'  b{n}: {{dtype: bf16, element: "{"J, K" if n in odd else "K, J"}"}}' for n in sorted(set(uses))]
    out = "J" if len(uses) % 2 else "K"
    lines += [f'  c: {{dtype: bf16, element: "I, {out}", role: output}}', "ops:"]
    lines.append('  - {dma: load_a, read: a, write: a_dm, slice: "{Rows}", element: "I % 8, K"}')
    for n in sorted(set(uses)):
        kept, summed = ("J", "K") if n in odd else ("K", "J")
        lines += _weights(n, kept, summed, region)
    source = "a_dm"
    for i, n in enumerate(uses):
        kept, summed = ("J", "K") if n in odd else ("K", "J")
        lines += _product(i, n, source, kept, summed, context)
        source = f"c{i}_dm"
    return "\n".join([*lines, f"  - {{dma: store, read: {source}, write: c}}", ""])


def _weights(n: str, kept: str, summed: str, region: str) -> list[str]:
    return [
        f'  - {{dma: load_b{n}, read: b{n}, write: b{n}_dm, slice: "{{Rows}}", element: "{kept}, {summed}"}}',
        f"  - pass: store_{n}",
        f"    read: b{n}_dm",
        "    steps:",
        f'      - fetch: {{time: "{kept} % 8, {kept} / 8, {summed} / 16", packet: "{summed} % 16"}}',
        "      - collect",
        f'      - to_trf: {{write: b{n}_trf, lane: "{kept} % 8", element: "{kept} / 8, {summed}", region: {region}}}',
    ]


def _product(i: int, n: str, read: str, kept: str, summed: str, context: str) -> list[str]:
    return [
        f"  - pass: product_{i}",
        f"    read: {read}",
        f"    context: {context}",
        "    steps:",
        f'      - fetch: {{time: "I % 8, {kept} / 8, {summed} / 16", packet: "{summed} % 16"}}',
        "      - collect",
        f"      - contract_outer: {{with: b{n}_trf, "
        f'time: "I % 8, {kept} / 8, {summed} / 32", packet: "{summed} % 32"}}',
        '      - contract_packet: {packet: "1"}',
        f'      - contract_time: {{time: "I % 8, {kept} / 8"}}',
        "      - contract_lane: {mode: auto}",
        "      - cast: bf16",
        f'      - commit: {{write: c{i}_dm, element: "I % 8, {kept}", slice: "{{Rows}}"}}',
    ]


def _rows(count: int) -> Request:
    return Request(settings={"trf.rows_per_bank": count})


def _trf() -> Iterator[Case]:
    """Weights of size 32 take 4 rows per bank, of 64 they take 16, of 96 they take 36."""
    rules = frozenset({"region_overlap", "data_hazard_raw"})
    yield Case("trf_full_121", chain("121", region="full"), rules)
    yield Case("trf_full_12321", chain("12321", region="full"), rules)
    yield Case("trf_full_64", chain("121", 64, region="full"), rules)
    yield Case("trf_full_1214", chain("1214", region="full"), rules)
    for rows in (4, 6):
        yield Case(f"trf_more_than_half_{rows}", chain("121"), rules, request=_rows(rows))
    for rows in (16, 20, 30):
        yield Case(f"trf_more_than_half_64_{rows}", chain("121", 64), rules, request=_rows(rows))
    for rows in (8, 10, 14):
        yield Case(f"trf_three_in_two_halves_{rows}", chain("12321"), rules, request=_rows(rows))
    yield Case("trf_one_half_only", chain("121", region="first_half"), rules, request=_rows(8))


def _trf_fixed() -> Iterator[Case]:
    """Both fit as halves; a choice by hand takes the file away from the other one, or puts both into one half."""
    rules = frozenset({"region_overlap", "data_hazard_raw", "choice_fixed"})
    for name, fixed in (
        ("first_full", {"store_1.region": "full"}),
        ("second_full", {"store_2.region": "full"}),
        ("both_full", {"store_1.region": "full", "store_2.region": "full"}),
    ):
        yield Case(f"fixed_{name}", chain("121"), rules, request=Request(fixed=fixed))
    same = {"store_1.region": "second_half", "store_2.region": "second_half"}
    yield Case("fixed_same_half", chain("121"), rules, request=Request(fixed=same, settings={"trf.rows_per_bank": 8}))
    never = (("store_1.region", "first_half"), ("store_2.region", "first_half"))
    yield Case(
        "forbidden_half", chain("121"), rules, request=Request(forbidden=never, settings={"trf.rows_per_bank": 8})
    )


def _dm() -> Iterator[Case]:
    """A pass reads one tensor and writes another of 1,024 bytes, and what is needed later lies beside them."""
    for room in (1024, 1536, 2040):
        yield Case(f"dm_in_and_out_{room}", scaling("1", 64), frozenset({"dm_capacity"}), request=_dm_room(room))


def _dm_room(room: int) -> Request:
    return Request(settings={"dm.bytes_per_slice": room})


def _contexts() -> Iterator[Case]:
    """A contraction runs in Main only; a choice by hand sends it elsewhere."""
    rules = frozenset({"sub_context_step", "choice_fixed"})
    yield Case("fixed_sub", chain("1"), rules, request=Request(fixed={"product_0.context": "sub"}))
    yield Case("fixed_sub_later", chain("12"), rules, request=Request(fixed={"product_1.context": "sub"}))
    yield Case("no_main", chain("1"), rules, request=Request(forbidden=(("product_0.context", "main"),)))
    rules = frozenset({"short_not_contiguous", "choice_fixed"})
    yield Case("fixed_short", chain("1"), rules, request=Request(fixed={"store_1.via": "short"}))
    yield Case("no_pipeline", chain("1"), rules, request=Request(forbidden=(("store_1.via", "pipeline"),)))


def _single() -> Iterator[Case]:
    """One rule, one place."""
    for width in (520, 1040):
        yield Case(f"vrf_too_large_{width}", scaling("1", width), frozenset({"exceeds_capacity"}), joint=False)
    small = Request(settings={"vrf.bytes_per_slice": 960})
    yield Case("vrf_small", scaling("1", 64), frozenset({"exceeds_capacity"}), joint=False, request=small)
    for rows in (2, 3):
        yield Case(f"trf_small_{rows}", chain("1"), frozenset({"exceeds_capacity"}), joint=False, request=_rows(rows))
    half = chain("1", region="second_half")
    yield Case("trf_half_too_small", half, frozenset({"exceeds_capacity"}), joint=False, request=_rows(6))
    yield Case("trf_192", chain("1", 192), frozenset({"exceeds_capacity"}), joint=False)
    yield Case("dm_small", scaling("1", 64), frozenset({"dma_dm_size"}), joint=False, request=_dm_room(1016))
    wrong = frozenset({"sub_context_step"})
    yield Case("context_in_the_file", chain("1", context="sub"), wrong, joint=False)
    yield Case("contexts_in_the_file", chain("12", context="sub"), wrong, joint=False)
    via = chain("1").replace("region: auto", "region: auto, via: short")
    yield Case("short_in_the_file", via, frozenset({"short_not_contiguous"}), joint=False)
    lanes = Request(settings={"geometry.lanes_per_slice": 4})
    yield Case("four_lanes", chain("1"), frozenset({"lane_size"}), joint=False, request=lanes)
