"""JSON Schema: a small validator of the used keywords accepts the examples and refuses the broken forms."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from planner.schema import SCHEMA_KINDS, json_schema, schema

ROOT = Path(__file__).parents[2]
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}


def load(path):
    return YAML(typ="safe", pure=True).load(path.read_text())


def fits(value, rule, root) -> bool:
    if rule is True:
        return True
    if "$ref" in rule:
        return fits(value, root["$defs"][rule["$ref"].removeprefix("#/$defs/")], root)
    checks = [
        "anyOf" not in rule or any(fits(value, r, root) for r in rule["anyOf"]),
        "oneOf" not in rule or sum(fits(value, r, root) for r in rule["oneOf"]) == 1,
        "enum" not in rule or value in rule["enum"],
        "const" not in rule or value == rule["const"],
        "type" not in rule
        or any(is_type(value, t) for t in ([rule["type"]] if isinstance(rule["type"], str) else rule["type"])),
        "pattern" not in rule or not isinstance(value, str) or re.search(rule["pattern"], value) is not None,
        not isinstance(value, dict) or object_fits(value, rule, root),
        not isinstance(value, list) or all(fits(v, rule.get("items", True), root) for v in value),
        not isinstance(value, int) or rule.get("minimum", value) <= value <= rule.get("maximum", value),
    ]
    return all(checks)


def is_type(value, name) -> bool:
    if name == "null":
        return value is None
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def object_fits(value, rule, root) -> bool:
    rows, patterns = rule.get("properties", {}), rule.get("patternProperties", {})
    for key, inner in value.items():
        rules = [rows[key]] if key in rows else [r for p, r in patterns.items() if re.search(p, key)]
        if not rules and rule.get("additionalProperties") is False:
            return False
        if not all(fits(inner, r, root) for r in rules):
            return False
    return set(rule.get("required", ())) <= set(value)


@pytest.mark.parametrize("kind", SCHEMA_KINDS)
def test_every_kind_has_a_schema(kind):
    assert json_schema(kind) == schema(kind)
    assert json_schema(kind)["type"] == "object"


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda p: p.stem)
def test_examples_fit_the_kernel_schema(path):
    rule = schema("kernel")
    assert fits(load(path), rule, rule)


@pytest.mark.parametrize(
    "name",
    [
        "unknown_field",
        "unknown_step",
        "unknown_vector_op",
        "unknown_operation",
        "unknown_dtype",
        "axis_size",
        "bad_name",
    ],
)
def test_broken_files_do_not_fit_it(name):
    rule = schema("kernel")
    assert not fits(load(ROOT / "tests" / "broken" / f"{name}.yaml"), rule, rule)


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "golden").glob("*.yaml")), ids=lambda p: p.stem)
def test_golden_cases_fit_the_cases_schema(path):
    rule = schema("cases")
    document = load(path)
    assert fits(document, rule, rule), [c["id"] for c in document["cases"] if not fits({"cases": [c]}, rule, rule)]
    document["cases"][0]["no_such_key"] = 1
    assert not fits(document, rule, rule)
