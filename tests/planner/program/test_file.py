"""Programs in kernel files: faults with places, what check shows, stated layouts, and kernels that plan alike."""

import json

import pytest
from typer.testing import CliRunner

import planner
from cli.app import app
from models.faults import FaultError
from planner import PlanOptions
from planner.export import write_kernel
from planner.readers.yaml_kernel import read_kernel_text
from planner.schema import kernel_schema

HEAD = """kernel: p
axes: {R: 32, C: 64}
tensors:
  x: {dtype: bf16, element: "R, C"}
  w: {dtype: bf16, element: "C"}
  y: {dtype: bf16, element: "R", role: output}
"""
QUICK = PlanOptions(time_limit_seconds=2, alternatives=False)


def faults(text):
    with pytest.raises(FaultError) as error:
        read_kernel_text(HEAD + text)
    return [(f.rule, f.line, f.column) for f in error.value.faults]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("program:\n  - y = einsum(x, w -> [R]", [("program_syntax", 8, 27)]),
        ('program:\n  - "y = einsum(x, q -> [R])"', [("program_name", 8, 20)]),
        ("program:\n  - y = fold(x, w)", [("program_function", 8, 9)]),
        ("program:\n  - y = sum(x, w -> [R])", [("program_argument", 8, 9)]),
        ("program:\n  - y = sum(x -> [C])", [("program_axes", 8, 9)]),
        ("program:\n  - z = sum(x -> [R])", [("output_never_written", 8, 3)]),
        ("program: []", [("wrong_length", 7, 10)]),
        ("program: 3", [("wrong_type", 7, 10)]),
        ("program:\n  - [1, 2]", [("wrong_type", 8, 5)]),
        ("program:\n  - {slice: R}", [("missing_field", 8, 5)]),
        ("program:\n  - y = sum(x -> [R])\nops: []", [("conflicting_fields", 8, 3)]),
        ("description: nothing to do", [("missing_field", 1, 1)]),
    ],
)
def test_faults_of_programs_stand_at_their_tokens(text, wanted):
    found = faults(text)
    assert [f[0] for f in found][:1] == [wanted[0][0]]
    if wanted[0][0].startswith("program_"):
        assert found == wanted


def test_all_statements_are_read_in_one_run():
    assert [f[0] for f in faults("program:\n  - a = fold(x)\n  - b = exp(q)\n  - y = sum(x -> [R])")] == [
        "program_function",
        "program_name",
    ]


@pytest.fixture
def write(tmp_path):
    def written(text, name="kernel.yaml"):
        path = tmp_path / name
        path.write_text(HEAD + text)
        return path

    return written


def test_check_shows_the_expansion_without_a_search(write):
    checked = planner.check(write("program:\n  - n = softmax(x, C)\n  - y = einsum(n, w -> [R])"))
    assert checked.ok
    assert [line.partition(" = ")[0] for line in checked.expansion] == ["n_1", "n_2", "n", "y"]


def test_the_emitted_kernel_plans_to_the_same_makespan(write, tmp_path):
    plan = planner.plan(write("program:\n  - y = einsum(x[R, C], w[C] -> [R])"), options=QUICK)
    assert plan.verification.ok
    assert plan.notes[0].topic == "layout_search"
    emitted = tmp_path / "emitted.yaml"
    write_kernel(emitted, plan)
    again = planner.plan(emitted, options=QUICK)
    assert again.makespan_cycles == plan.makespan_cycles
    assert again.kernel == plan.kernel


def test_operations_that_feed_each_other_are_chosen_together(write):
    plan = planner.plan(write("program:\n  - n = softmax(x, C)\n  - y = einsum(n, w -> [R])"), options=QUICK)
    assert plan.verification.values["y"].ok
    assert {op.base for op in plan.ops} >= {"rows_n", "contract_y", "store_y"}


def test_a_stated_layout_is_kept(write):
    text = 'program:\n  - {do: "y = sum(x -> [R])", slice: "R / 4 # 256", element: "R % 4"}'
    plan = planner.plan(write(text.replace("R / 4 # 256", "1 # 32, R / 4")), options=QUICK)
    buffer = next(m for m in plan.memory if m.tensor == "y_dm")
    assert (buffer.slice, buffer.element) == ("1 # 32, R / 4", "R % 4")


def test_what_fits_in_no_slice_is_refused_with_numbers(tmp_path):
    path = tmp_path / "large.yaml"
    path.write_text("""kernel: large
axes: {K: 67108864}
tensors:
  x: {dtype: bf16, element: "K"}
  y: {dtype: bf16, element: "K"}
  d: {dtype: f32, element: "1 # 2", role: output}
program:
  - d = einsum(x[K], y[K] -> [])
""")
    with pytest.raises(FaultError) as error:
        planner.plan(path, options=QUICK)
    fault = error.value.faults[0]
    # a 256th of both operands and 8 bytes of the result, of which 4 are the value; a slice has 512 KB
    assert (fault.rule, fault.op, fault.line) == ("program_does_not_fit", "d", 8)
    assert fault.found == f"{2 * 2 * 67108864 // 256 + 4:,} bytes"
    assert fault.wanted == f"at most {512 * 1024:,} bytes"
    # 32 K elements take 64 KB, all data of the TRF, in each of 256 slices
    assert fault.nearest == "axis K in 8 tiles of 8,388,608"


def test_an_operation_without_a_legal_layout_says_what_stops_it(tmp_path):
    path = tmp_path / "odd.yaml"
    path.write_text("""kernel: odd
axes: {R: 3, C: 8}
tensors:
  x: {dtype: bf16, element: "C, R"}
  y: {dtype: bf16, element: "R", role: output}
program:
  - {do: "y = sum(x -> [R])", slice: "R # 256"}
""")
    with pytest.raises(FaultError) as error:
        planner.plan(path, options=QUICK)
    fault = error.value.faults[0]
    assert fault.rule == "program_no_layout"
    assert fault.found


def test_the_schema_knows_programs():
    schema = kernel_schema()
    assert "ops" not in schema["required"]
    assert schema["properties"]["program"]["minItems"] == 1


def test_the_command_line_checks_and_emits(write, tmp_path):
    path, emitted = write("program:\n  - y = einsum(x[R, C], w[C] -> [R])"), tmp_path / "emitted.yaml"
    runner = CliRunner()
    checked = runner.invoke(app, ["check", str(path)], catch_exceptions=False)
    assert checked.exit_code == 0
    assert "y = einsum(x[R, C], w[C] -> bf16[R])" in checked.stdout
    options = ["--no-alternatives", "--no-verify", "--time-limit", "5", "--emit-kernel", str(emitted)]
    planned = runner.invoke(app, ["plan", str(path), "--json", *options], catch_exceptions=False)
    again = runner.invoke(app, ["plan", str(emitted), "--json", *options[:-2]], catch_exceptions=False)
    assert planned.exit_code == again.exit_code == 0
    first, second = json.loads(planned.stdout), json.loads(again.stdout)
    assert (first["kernel"], first["makespan_cycles"]) == (second["kernel"], second["makespan_cycles"])
    # its own earlier output is overwritten, another file is not
    emitted.write_text("kernel: mine\n")
    refused = runner.invoke(app, ["plan", str(path), *options])
    assert refused.exit_code == 2
