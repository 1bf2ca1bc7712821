"""Every rule is whole: one id, one sentence, one source, and the tests and checks that its kind asks for."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
import simulator.checks
from ruamel.yaml import YAML

from models.faults import ROOMS, Rule, rules

THREE = ("feasible", "broken", "beside")
"""What is tested of a rule: a legal example, the same made illegal by one change, a legal one right beside it."""
CHECKED_FROM_THE_PLAN = ("engine", "schedule")


def known() -> list[Rule]:
    return [r for room in ROOMS for r in import_module(f"models.rules.{room}").RULES]


def ids_in_tables() -> set[str]:
    """Ids `<rule>.<one of THREE>` of all tables: case files in tests/rules and `RULE_CASES` of test modules."""
    folder = Path(__file__).parent
    yaml = YAML(typ="safe", pure=True)
    found = {case["id"] for file in sorted((folder / "rules").glob("*.yaml")) for case in yaml.load(file)["cases"]}
    for file in sorted(folder.rglob("test_*.py")):
        if re.search(r"^RULE_CASES\b", file.read_text(encoding="utf-8"), re.MULTILINE):
            module = ".".join(file.relative_to(folder.parent).with_suffix("").parts)
            found |= set(import_module(module).RULE_CASES)
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
    lacking = {r.id: [part for part in THREE if f"{r.id}.{part}" not in tested] for r in known() if not r.warning}
    lines = [f"{rule}: {', '.join(parts)}" for rule, parts in lacking.items() if parts]
    assert lines == [], "rules without tests:\n" + "\n".join(lines)


def test_every_tested_rule_is_registered():
    unknown = {name.rpartition(".")[0] for name in ids_in_tables() if name.endswith(THREE)} - set(rules())
    assert unknown == set()


def test_the_simulator_checks_every_rule_of_a_plan():
    wanted = {r.id for r in known() if r.kind in CHECKED_FROM_THE_PLAN and not r.warning}
    lacking = sorted(wanted - set(simulator.checks.CHECKS))
    assert lacking == [], "rules without a check of the plan:\n" + "\n".join(lacking)


def test_the_simulator_checks_only_registered_rules():
    assert sorted(set(simulator.checks.CHECKS) - set(rules())) == []
