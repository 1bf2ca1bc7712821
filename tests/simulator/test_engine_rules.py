"""Every rule of an engine against the simulator alone: a legal plan, one broken by one change, a legal one beside it.

Cases are those of the case files, put before the simulator as whole plans (case_plans), so that its checks answer the
questions that the planner's laws answer; and triples of rules that no case file holds (rule_cases).
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from models.faults import rules
from models.plan import Plan
from simulator import prepare_bench, simulate
from simulator.checks import CHECKS, EXECUTED
from simulator.facts import Facts
from tests.simulator.case_plans import Case, case_plan
from tests.simulator.edits import EDITS, memory, stage_fields
from tests.simulator.plans import gemm_plan
from tests.simulator.rule_cases import NOT_EXECUTED, TRIPLES

TESTS = Path(__file__).parents[1]
PARTS = ("feasible", "broken", "beside")
DUE = [r.id for r in rules().values() if r.kind == "engine" and not r.warning]


def file_cases(folder: str) -> list[Case]:
    yaml = YAML(typ="safe", pure=True)
    files = sorted((TESTS / folder).glob("*.yaml"))
    return [case for file in files for case in yaml.load(file.read_text(encoding="utf-8"))["cases"]]


def tripled() -> dict[str, Case]:
    """Cases by id, of case files and of triples."""
    found = {c["id"]: c for c in file_cases("rules") if c["id"].partition(".")[0] in DUE and "." in c["id"]}
    return found | {f"{r}.{part}": c for r, triple in TRIPLES.items() for part, c in zip(PARTS, triple, strict=True)}


CASES = tripled()


def named(rule: str, plan: Plan) -> set[str]:
    """Rules that the simulator names; of plans that are too large to run, whether the rule's own check does."""
    if rule in NOT_EXECUTED:
        facts = Facts(prepare_bench(plan), {}, {}, {})
        return {rule for broken in CHECKS[rule](facts) if broken.rule in ("", rule)}
    return {v.rule for v in simulate(plan).violations}


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    rule, _, part = case.rpartition(".")
    assert (rule in named(rule, case_plan(CASES[case]))) is (part == "broken")


def test_every_rule_of_an_engine_is_broken_by_some_plan() -> None:
    broken = {case.rpartition(".")[0] for case in CASES if case.endswith(".broken")}
    assert sorted(set(DUE) - broken - EDITS.keys()) == []


def test_every_rule_of_an_engine_has_a_check() -> None:
    assert sorted(set(DUE) - CHECKS.keys() - EXECUTED.keys()) == []


# Published cases ------------------------------------------------------------------------------------------

OWN: dict[str, str] = {
    "switch": "checks_switch checks_switch_custom",
    "collect": "checks_stores",
    "transpose": "checks_transpose",
    "intra_slice_reduce": "checks_reduce",
}
PUBLISHED: dict[str, Case] = {c["id"]: c for c in file_cases("golden") if c["engine"] in OWN}


def own_rules(engine: str) -> set[str]:
    modules: list[Any] = [import_module(f"simulator.{name}") for name in OWN[engine].split()]
    found = {rule for module in modules for rule in module.CHECKS}
    return {r for r in found if r.startswith(("collect", "output_not"))} if engine == "collect" else found


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_case(case: str) -> None:
    """The engine's checks agree with what is published of it: legal ones break nothing, bad ones their rule."""
    stated = PUBLISHED[case]
    found = {v.rule for v in simulate(case_plan(stated)).violations}
    wanted, own = stated["expect"].get("rule"), found & own_rules(stated["engine"])
    if stated["expect"]["ok"]:
        assert own == set()
    else:
        assert own if wanted is None else wanted in found


# Claims ---------------------------------------------------------------------------------------------------

TURNED = {
    "time": "J / 8 % 4, I % 32",
    "slice": "J / 32, I / 32",
    "packet": "J / 8 % 8",
    "cluster": "1",
    "chip": "1 # 2",
}


@pytest.mark.parametrize(
    ("program", "step", "level", "other"),
    [
        *(("load_a", "dma", level, {"packet": "K, I % 32", "time": "2"}.get(level, TURNED[level])) for level in TURNED),
        *(
            ("store_c", "dma", level, {"packet": "J % 32, I % 32", "time": "2"}.get(level, TURNED[level]))
            for level in TURNED
        ),
        *(
            ("store_b", "to_trf", level, {"time": "J / 8 % 4, J % 8, K / 16"}.get(level, TURNED[level]))
            for level in TURNED
        ),
        *(("matmul", "commit", level, TURNED[level]) for level in TURNED),
        *(("matmul", "cast", level, TURNED[level]) for level in TURNED),
    ],
)
def test_no_level_of_a_stage_may_be_stated_otherwise(program: str, step: str, level: str, other: str) -> None:
    plan = gemm_plan()
    assert any(getattr(s, level) != other for s in plan.programs[program] if s.step == step)
    assert simulate(stage_fields(program, step, **{level: other})(plan)).violations


def test_full_mode_and_halves_in_the_register_file() -> None:
    """What lies beside a tensor in mode full is named wherever it lies; two halves live side by side."""
    found = {
        (mine, other): {v.rule for v in simulate(beside(mine, other)).violations} & {"region_overlap"}
        for mine in REGIONS
        for other in REGIONS
    }
    apart = {("first_half", "second_half"), ("second_half", "first_half")}
    assert {pair for pair, named in found.items() if not named} == apart


REGIONS = {"full": 16, "first_half": 0, "second_half": 64}


def beside(mine: str, other: str) -> Plan:
    """Gemm's weights in one mode and a twin, 16 rows further on where both have the same half, in another."""
    plan = memory("b_trf", region=mine, row=REGIONS[mine])(gemm_plan())
    held = next(e for e in plan.memory if e.tensor == "b_trf")
    row = REGIONS[other] + (4 if mine == other else 0)
    twin = held.model_copy(update={"tensor": "twin", "region": other, "row": row})
    return plan.model_copy(update={"memory": (*plan.memory, twin)})
