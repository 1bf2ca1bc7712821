from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import planner
from cli.app import app
from models.faults import Fault, FaultError
from models.plan import Alternative, Cycles, Decision, Plan, Verification, Violation
from tests.cli.samples import RIGHT, a_plan, op


class Fake:
    """Stands for `planner.plan`: remembers what it was asked, gives a plan or raises."""

    def __init__(self) -> None:
        self.result: Plan | Exception = a_plan()
        self.asked: dict[str, Any] = {}

    def __call__(self, path: Path, request: Any, options: Any, *, progress: Any, on_plan: Any, stop: Any) -> Plan:
        self.asked = {"path": path, "request": request, "options": options}
        progress("solving", None)
        progress("simulating", 0.5)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    out = Fake()
    monkeypatch.setitem(vars(planner), "plan", out)  # without loading the real one
    return out


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(a) for a in ("plan", *arguments)], catch_exceptions=False)


def test_the_summary_has_all_that_a_person_wants_to_know(fake):
    shown = run("k.yaml").stdout
    for text in (
        "sample: optimal, bound = makespan = 4,000 cycles (proved; seed 0, 1 worker)",
        "move[0]    sub    2,000  3,000   1,000  context sub",
        "move.context  sub     main     4,500 cycles (+500; optimal)",
        "move.context  sub     vector   illegal: no_such_way: it is [not]",
        "x_dm    dm  address 0           64  1,000  3,400  A",
        "note: load overlaps nothing",
        "values exact, cycles planned 4,000 = simulated 4,000, no violations",
    ):
        assert text in shown
    assert "not shown twice" not in shown
    assert shown.count("4,500 cycles") == 1, "a choice of all iterations is shown once"


def test_a_choice_that_differs_between_iterations_shows_all_values(fake):
    ops = tuple(
        op(f"move[{i}]", i, i + 1, chosen, context=Decision(chosen=chosen, alternatives=(MAIN,)))
        for i, chosen in enumerate(("sub", "main", "sub"))
    )
    fake.result = a_plan(ops=ops)
    assert "move.context  sub and main  main     4,100 cycles (+100; feasible)" in run("k.yaml").stdout


def test_json_is_one_document_and_the_same_as_the_file(fake, tmp_path):
    result = run("k.yaml", "--json", "-o", tmp_path / "p.json")
    assert json.loads(result.stdout)["makespan_cycles"] == 4000
    assert (tmp_path / "p.json").read_text(encoding="utf-8") == result.stdout
    assert Plan.model_validate_json(result.stdout) == a_plan()


def test_quiet_says_nothing(fake):
    result = run("k.yaml", "--quiet")
    assert (result.stdout, result.stderr, result.exit_code) == ("", "", 0)


MAIN = Alternative(value="main", makespan_cycles=4100, status="feasible")
WRONG = RIGHT.model_copy(update={"violations": (Violation(rule="dm_capacity", op="load", message="too much"),)})
SLOW = Verification(cycles=Cycles(planned=4000, simulated=4010, ok=False))


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"status": "optimal"}, 0),
        ({"status": "feasible", "stopped_by": "time_limit", "lower_bound_cycles": 3900, "gap": 0.025}, 0),
        ({"status": "feasible", "stopped_by": "local_optimum", "lower_bound_cycles": 3900, "gap": 0.025}, 0),
        ({"status": "infeasible", "makespan_cycles": None, "ops": ()}, 1),
        ({"status": "unknown", "stopped_by": "time_limit", "makespan_cycles": None, "ops": ()}, 3),
        ({"verification": WRONG}, 1),
        ({"verification": SLOW}, 1),
        ({"verification": None}, 0),
    ],
)
def test_exit_status(fake, changes, status):
    fake.result = a_plan(**changes)
    assert run("k.yaml").exit_code == status


def test_a_gap_is_not_called_optimal(fake):
    fake.result = a_plan(status="feasible", stopped_by="time_limit", lower_bound_cycles=3900, gap=0.025)
    first = run("k.yaml").stdout.splitlines()[0]
    assert first == (
        "sample: feasible, makespan 4,000 cycles, bound 3,900, gap 2.50% (stopped by the time limit; seed 0, 1 worker)"
    )


def test_violations_are_named_with_their_operation(fake):
    fake.result = a_plan(verification=WRONG)
    assert "violated: dm_capacity: load: too much" in run("k.yaml").stdout


def test_what_is_asked_reaches_the_planner(fake):
    result = run(
        *("k.yaml", "--set", "hardware.trf.rows_per_bank=64", "--axis", "K=128,J=4", "--fix", "store_b.context=sub"),
        *("--forbid", "a.region=full", "--forbid", "b.region=full", "--time-limit", "2.5", "--workers", "2"),
        *("--seed", "9", "--no-alternatives", "--no-verify", "--random", "--objective", "makespan"),
    )
    assert result.exit_code == 0
    request, options = fake.asked["request"], fake.asked["options"]
    assert fake.asked["path"] == Path("k.yaml")
    assert request.settings == {"trf.rows_per_bank": 64}
    assert request.axes == {"K": 128, "J": 4}
    assert request.fixed == {"store_b.context": "sub"}
    assert request.forbidden == (("a.region", "full"), ("b.region", "full"))
    assert (options.time_limit_seconds, options.workers, options.seed) == (2.5, 2, 9)
    assert (options.alternatives, options.verify, options.random) == (False, False, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--set", "trf.rows_per_bank=64"],
        ["--set", "hardware.trf.rows_per_bank"],
        ["--set", "hardware.trf.rows_per_bank=many"],
        ["--axis", "K"],
        ["--axis", "K="],
        ["--axis", "K=1.5"],
        ["--fix", "context=sub"],
        ["--forbid", "store_b.context"],
        ["--workers", "0"],
        ["--time-limit", "-1"],
        ["--objective", "beauty"],
        ["--no-such-option"],
    ],
)
def test_wrong_usage_is_status_2_and_plans_nothing(fake, arguments):
    result = run("k.yaml", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert fake.asked == {}


def test_faults_are_status_1_with_place_and_rule(fake):
    fake.result = FaultError([Fault(rule="lane_size", file="k.yaml", line=3, column=7, message="3 lanes")])
    result = run("k.yaml")
    assert result.exit_code == 1
    assert "k.yaml:3:7: error: lane_size: 3 lanes" in result.stderr
    assert result.stdout == ""
    document = json.loads(run("k.yaml", "--json").stdout)
    assert document["ok"] is False
    assert document["faults"][0]["rule"] == "lane_size"


def test_what_nobody_foresaw_is_a_defect_of_ours(fake):
    fake.result = RuntimeError("two\nlines")
    result = run("k.yaml")
    assert result.exit_code == 70
    assert "this is a defect of tuplan, please report it: RuntimeError: two lines" in result.stderr
    assert "Traceback" not in result.output
    assert "Traceback" in run("k.yaml", "--debug").stderr


def test_a_foreign_file_is_kept_and_said_so_before_any_work(fake, tmp_path):
    file = tmp_path / "notes.json"
    file.write_text('{"mine": 1}', encoding="utf-8")
    result = run("k.yaml", "-o", file)
    assert result.exit_code == 2
    assert "-f overwrites it" in result.stderr
    assert file.read_text(encoding="utf-8") == '{"mine": 1}'
    assert fake.asked == {}
    assert run("k.yaml", "-o", file, "-f").exit_code == 0
    assert Plan.model_validate_json(file.read_text(encoding="utf-8")) == a_plan()


def test_an_earlier_plan_is_replaced_but_not_by_timings(fake, tmp_path):
    file = tmp_path / "p.json"
    assert run("k.yaml", "-o", file).exit_code == 0
    fake.result = a_plan(makespan_cycles=4001)
    assert run("k.yaml", "-o", file).exit_code == 0
    assert json.loads(file.read_text(encoding="utf-8"))["makespan_cycles"] == 4001
    assert run("k.yaml", "--timings", file).exit_code == 2


def test_timings_go_to_their_file_and_never_into_the_plan(fake, tmp_path):
    file = tmp_path / "t.json"
    for _ in range(2):
        assert run("k.yaml", "--timings", file).exit_code == 0
    timings = json.loads(file.read_text(encoding="utf-8"))["timings"]
    assert list(timings) == ["solving", "simulating"]
    assert all(seconds >= 0 for seconds in timings.values())


@pytest.mark.parametrize("name", ["", "missing/p.json"])
def test_an_impossible_output_is_refused_before_any_work(fake, tmp_path, name):
    result = run("k.yaml", "-o", tmp_path / name)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert fake.asked == {}


def test_no_plan_no_file(fake, tmp_path):
    fake.result = a_plan(status="unknown", stopped_by="time_limit", makespan_cycles=None, ops=())
    assert run("k.yaml", "-o", tmp_path / "p.json").exit_code == 3
    assert list(tmp_path.iterdir()) == []
