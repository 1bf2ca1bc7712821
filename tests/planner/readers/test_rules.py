"""Every rule of kernel files: a legal file, the same broken by one change, and a legal one beside it."""

import re
from pathlib import Path

import pytest

from models.faults import FaultError
from models.rules import kernel_file, mapping
from planner.readers.source import KernelSource
from planner.readers.yaml_kernel import MAX_FILE_BYTES, read_kernel
from tests.planner.readers.changes import CHANGES

ROOT = Path(__file__).parents[3]
BROKEN = ROOT / "tests" / "broken"
GEMM = (ROOT / "examples" / "gemm.yaml").read_text()
RULES = {rule.id: rule for rule in kernel_file.RULES}
FULL = GEMM + "#" * (MAX_FILE_BYTES - len(GEMM))
# 24,000 characters: 17 uses of it take over 400,000, 10 do not.
LONG = ", ".join(["1" + " / 1" * 59] * 100)


def layouts(uses: int) -> str:
    more = "".join(f', N{i}: "{{L}}, {i + 1}"' for i in range(uses))
    return GEMM.replace("layouts: {", f'layouts: {{L: "{LONG}"{more}, ')


# What no file with a header can show: (broken, legal, legal beside it), each the bytes of a file.
CONTENTS = {
    "file_too_large": ((FULL + "#").encode(), GEMM.encode(), FULL.encode()),
    "file_not_text": (GEMM.replace("sum", "\x07").encode(), GEMM.encode(), GEMM.replace("sum", "합").encode()),
    "empty_file": (b"# nothing but a comment\n", GEMM.encode(), b"# a comment\n" + GEMM.encode()),
    "layout_too_large": (layouts(17).encode(), layouts(0).encode(), layouts(10).encode()),
}


def read(path: Path) -> tuple[KernelSource | None, list]:
    try:
        source = read_kernel(path)
    except FaultError as error:
        return None, list(error.faults)
    return source, list(source.faults)


def legal(path: Path, rule: str) -> None:
    source, faults = read(path)
    assert source is not None, [str(f) for f in faults]
    assert rule not in {f.rule for f in faults}


def test_every_rule_has_its_three_tests():
    assert set(RULES) == set(CHANGES) | set(CONTENTS) | {"unreadable_file"}
    assert {p.stem for p in BROKEN.glob("*.yaml")} == set(CHANGES)


@pytest.mark.parametrize("rule", CHANGES)
def test_a_broken_file_gives_its_rule_file_and_line(rule):
    path = BROKEN / f"{rule}.yaml"
    line = int(re.search(r"in line (\d+)", path.read_text())[1])
    source, faults = read(path)
    assert (source is None) != RULES[rule].warning
    found = [f for f in faults if f.rule == rule]
    assert [(f.file, f.line) for f in found][:1] == [(str(path), line)], [str(f) for f in faults]
    assert all(f.column >= 1 and f.message for f in faults)
    assert all((f.severity == "warning") == RULES[f.rule].warning for f in faults if f.rule in RULES)


@pytest.mark.parametrize("rule", CHANGES)
@pytest.mark.parametrize("which", [1, 2], ids=["feasible", "beside"])
def test_one_change_makes_it_legal(rule, which, tmp_path):
    broken = CHANGES[rule][0]
    text = (BROKEN / f"{rule}.yaml").read_text()
    assert text.count(broken) == 1
    path = tmp_path / "kernel.yaml"
    path.write_text(text.replace(broken, CHANGES[rule][which]))
    legal(path, rule)


@pytest.mark.parametrize("rule", CONTENTS)
def test_whole_contents(rule, tmp_path):
    path = tmp_path / "kernel.yaml"
    broken, *rest = CONTENTS[rule]
    path.write_bytes(broken)
    source, faults = read(path)
    assert source is None
    assert {f.rule for f in faults} == {rule}
    assert {f.file for f in faults} == {str(path)}
    for content in rest:
        path.write_bytes(content)
        legal(path, rule)


def test_unreadable_file(tmp_path):
    path = tmp_path / "a kernel.yaml"
    for unreadable in (path, tmp_path, tmp_path / "x\0y"):
        assert [f.rule for f in read(unreadable)[1]] == ["unreadable_file"]
    path.write_text(GEMM)
    legal(path, "unreadable_file")
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    legal(link, "unreadable_file")


TEXTS = {
    "mapping_syntax": ("I / ", 5),
    "mapping_too_long": ("I, " * 30_000 + "I", 1),
    "mapping_too_deep": ("[" * 65 + "I" + "]" * 65, 65),
    "mapping_too_large": ("I, I, I, I, I, I, I, I", None),
    "unknown_axis": ("I, Q", 4),
    "unknown_layout": ("I, {Nothing}", 4),
    "size_out_of_range": ("I % 0", 5),
    "stride_must_divide": ("I / 3", 3),
    "modulo_must_divide": ("I % 3", 3),
    "padding_must_grow": ("I # 3", 3),
    "resize_must_shrink": ("I = 1024", 3),
}


def test_every_mapping_rule_is_tested_here():
    assert {rule.id for rule in mapping.RULES} == set(TEXTS)


@pytest.mark.parametrize("rule", TEXTS)
@pytest.mark.parametrize("quote", ['"', "'"])
def test_mapping_rules_with_their_column(rule, quote, tmp_path):
    text, column = TEXTS[rule]
    path = tmp_path / "kernel.yaml"
    path.write_text(
        GEMM.replace('a: {dtype: bf16, element: "I, K"}', f"a: {{dtype: bf16, element: {quote}{text}{quote}}}")
    )
    fault = next(f for f in read(path)[1] if f.rule == rule)
    opening = "  a: {dtype: bf16, element: "
    assert fault.line == 6
    assert column is None or fault.column == len(opening) + 1 + column
