"""Every rule is whole: one id, one sentence, one source, and the tests and checks that its kind asks for."""

from __future__ import annotations

import ast
import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from ruamel.yaml import YAML

import simulator.checks
from models.faults import ROOMS, Rule, rules

THREE = ("feasible", "broken", "beside")
"""What is tested of a rule: a legal example, the same made illegal by one change, a legal one right beside it."""
TRIPLES = {
    "tests.planner.readers.changes": "CHANGES",
    "tests.planner.readers.test_rules": "CONTENTS",
    "tests.simulator.edits": "EDITS",
    "tests.simulator.rule_cases": "TRIPLES",
}
"""Tables that give all three of a rule under its id alone: changes of a kernel file, edits of a plan."""
OUTSIDE_TABLES = {"unreadable_file", "unwritten_output", "write_conflict"}
"""Rules that no table can hold, tested where they show: no content makes a file unreadable, the others are named while
a plan is executed."""


def known() -> list[Rule]:
    return [r for room in ROOMS for r in import_module(f"models.rules.{room}").RULES]


def ids_in_tables() -> set[str]:
    """Ids `<rule>.<one of THREE>` of case files in tests/rules and of `RULE_CASES` in test modules, and all triples."""
    folder = Path(__file__).parent
    yaml = YAML(typ="safe", pure=True)
    found = {case["id"] for file in sorted((folder / "rules").glob("*.yaml")) for case in yaml.load(file)["cases"]}
    for file in sorted(folder.rglob("test_*.py")):
        if re.search(r"^RULE_CASES\b", file.read_text(encoding="utf-8"), re.MULTILINE):
            module = ".".join(file.relative_to(folder.parent).with_suffix("").parts)
            found |= set(import_module(module).RULE_CASES)
    for module, table in TRIPLES.items():
        found |= {f"{rule}.{part}" for rule in getattr(import_module(module), table) for part in THREE}
    return found


def test_ids_are_unique_and_snake_case():
    ids = [r.id for r in known()]
    assert [i for i, n in Counter(ids).items() if n > 1] == []
    assert [i for i in ids if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", i)] == []
    assert list(rules()) == ids


def test_every_module_of_rules_is_a_room():
    folder = Path(import_module("models.rules").__path__[0])
    assert sorted(m.name for m in iter_modules([str(folder)])) == sorted(ROOMS)


@pytest.mark.parametrize("rule", known(), ids=lambda r: r.id)
def test_sentence_and_source(rule: Rule):
    assert rule.sentence.endswith("."), rule.sentence
    assert "\n" not in rule.sentence
    assert rule.source.strip(), "a rule without a source is an opinion"


def test_every_rule_has_its_three_tests():
    tested = ids_in_tables()
    due = [r.id for r in known() if not r.warning and r.id not in OUTSIDE_TABLES]
    lacking = {rule: [part for part in THREE if f"{rule}.{part}" not in tested] for rule in due}
    lines = [f"{rule}: {', '.join(parts)}" for rule, parts in lacking.items() if parts]
    assert lines == [], "rules without tests:\n" + "\n".join(lines)


@pytest.mark.parametrize("rule", sorted(OUTSIDE_TABLES))
def test_rules_outside_the_tables_are_tested(rule):
    files = [f for f in Path(__file__).parent.rglob("test_*.py") if f != Path(__file__)]
    assert any(rule in file.read_text(encoding="utf-8") for file in files)


def test_every_tested_rule_is_registered():
    unknown = {name.rpartition(".")[0] for name in ids_in_tables() if name.endswith(THREE)} - set(rules())
    assert unknown == set()


def checked() -> set[str]:
    """Rules that the simulator checks: from the plan, or where it executes it."""
    return set(simulator.checks.CHECKS) | set(simulator.checks.EXECUTED)


def test_the_simulator_checks_every_rule_of_an_engine_or_a_schedule():
    wanted = {r.id for r in known() if r.kind in ("engine", "schedule") and not r.warning}
    lacking = sorted(wanted - checked())
    assert lacking == [], "rules without a check of the plan:\n" + "\n".join(lacking)


def test_what_is_named_while_a_plan_runs_stands_in_the_simulator():
    """A rule of EXECUTED is a text of the module that is said to name it, or of one that it works with."""
    folder = Path(simulator.checks.__file__).parent
    trees = [ast.parse(f.read_text(encoding="utf-8")) for f in sorted(folder.rglob("*.py")) if f.name != "checks.py"]
    texts = {n.value for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    assert set(simulator.checks.EXECUTED) - texts == set()


def test_the_simulator_checks_only_registered_rules():
    assert sorted(checked() - set(rules())) == []
