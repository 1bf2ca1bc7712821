"""Passes made of any steps in a legal order, with any mappings: a verdict, never a traceback."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from planner.engines.pipeline import NEXT
from tests.planner.pass_cases import evaluated, layout, tensors

TEXTS = [
    *("A", "B", "M", "K", "N", "B % 8", "B / 8", "M, B / 8", "1 # 8", "B # 32", "M = 2", "[M, B] # 100", "A / 2"),
    *("[M, B] / 8 % 4", "1", "2", "M, I", "M #{0} 6", "B #{!} 32", "[M, B] = 20", "B = 8 # 16", "Q, M", "K / 16"),
]
SLICES = ["A", "A / 2, A % 2", "A % 16, A / 16", "A / 2, I", "A % 2, A / 2"]


class Maker:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def text(self) -> str:
        return ", ".join(self.random.sample(TEXTS, self.random.choice([1, 1, 2])))

    def names(self) -> list[str]:
        names = ["fetch"]
        while NEXT[names[-1]]:
            names.append(self.random.choice(NEXT[names[-1]]))
        return names

    def step(self, name: str) -> dict[str, Any]:
        fields = {
            "fetch_cast": lambda: {"dtype": self.random.choice(["f32", "i32", "bf16"])},
            "fetch_table_lookup": lambda: {"dtype": "bf16"},
            "fetch_zero_point_sub": lambda: {"dtype": "i9", "zero_point": self.random.randint(-200, 200)},
            "switch": lambda: {"slice": self.random.choice(SLICES)},
            "collect": lambda: self.random.choice([{}, {"time": self.text()}]),
            "to_trf": lambda: {"write": "out", "lane": self.text(), "element": self.text()},
            "to_vrf": lambda: {"write": "out", "element": self.text()},
            "contract_outer": lambda: {"with": "w", "time": self.text(), "packet": self.text()},
            "contract_packet": lambda: {"packet": self.text()},
            "contract_time": lambda: {"time": self.text()},
            "contract_lane": dict,
            "vector": lambda: {"ops": [self.op() for _ in range(self.random.randint(1, 4))]},
            "cast": lambda: {"dtype": self.random.choice(["bf16", "i8"])},
            "commit": lambda: {"write": "out", "element": self.text()},
        }
        stated = fields.get(name, lambda: {"time": self.text(), "packet": self.text()})()
        return {"step": name, **stated}

    def op(self) -> dict[str, Any]:
        both = {"time": self.text(), "packet": self.text()}
        return self.random.choice(
            [
                {"name": "tag", "value": "zero"},
                {"name": "narrow_split", **both},
                {"name": "narrow_trim", "value": self.text()},
                {"name": "fp_unary", "value": "exp"},
                {"name": "clip", "op": "Max", "operand": self.random.choice(["v", 1.0, "stash"])},
                {"name": "stash"},
                {"name": "unzip", "axis": "I"},
                {"name": "clip_zip", "op": "Add"},
                {"name": "widen_concat", **both},
                {"name": "widen_pad", "value": self.text()},
                {"name": "intra_slice_reduce", "axis": "M", "op": "Add", **both},
                {"name": "inter_slice_reduce", "op": "Add", "slice": "1 # 256", "time": self.text()},
            ]
        )


@pytest.mark.parametrize("seed", range(60))
def test_a_pass_gets_a_verdict(seed: int):
    maker = Maker(seed)
    dtype = maker.random.choice(["bf16", "i8", "f32", "i4", "f8e4m3", "i32"])
    held = tensors(x=layout("x", "dm", dtype, maker.random.choice(["M, B", maker.text()])))
    found = evaluated([maker.step(name) for name in maker.names()], held)
    assert bool(found.modes) != bool(found.findings)
    assert {m.program for m in found.modes} <= found.programs.keys()
