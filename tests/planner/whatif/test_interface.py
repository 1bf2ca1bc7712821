"""The public names are pinned, the pasted example runs, and a stranger's package of the same name is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import planner

EXPORTED = """
Alone Answer Checked Correction Diff Fault FaultError Hint InfeasibleError Plan PlanOptions Request Row Rule Sweep Tally
Verification Where check diff front hint_of json_schema pareto parse_sweep plan prepare read_inputs read_plan rules
sensitivity simulate whatif with_alone write_atomic
"""


def test_exported_names_are_pinned():
    assert sorted(planner.__all__) == sorted(EXPORTED.split())
    for name in planner.__all__:
        assert (getattr(planner, name).__doc__ or "").strip(), name


def test_a_name_is_the_same_whatever_was_imported_before():
    code = (
        "import planner.whatif_plans, planner.fronts, planner.differences, planner\n"
        "assert all(callable(getattr(planner, n)) for n in planner.__all__ if n[0].islower())"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_module_hides_an_exported_name():
    modules = {p.stem for p in Path(planner.__file__).parent.iterdir() if p.suffix == ".py" or p.is_dir()}
    assert modules & set(planner.__all__) <= {"simulate"}


def test_the_example_of_the_interface_runs(capsys):
    lines = [line for line in planner.__doc__.splitlines()[2:] if line]
    exec(compile("\n".join(lines), "example", "exec"), {})  # it is ours
    out = capsys.readouterr().out
    assert out.startswith("optimal ")
    assert "first_half is no longer possible" in out


@pytest.mark.parametrize("room", ["models", "solver", "simulator", "cli"])
def test_another_package_of_that_name_is_refused_in_one_sentence(room, tmp_path):
    stranger = tmp_path / room
    stranger.mkdir()
    (stranger / "__init__.py").write_text("", encoding="utf-8")
    home = str(Path(planner.__file__).parent.parent)
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {home!r}]\nimport planner"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: the package `{room}` at {stranger}")
    assert str(Path(home) / room) in last
