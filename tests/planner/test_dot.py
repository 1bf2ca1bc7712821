from __future__ import annotations

import re

import pytest

from models.graph import Edge, Mode, Operation, Problem
from models.plan import Decision, Stage
from models.presets.load import load_hardware
from planner.writers.dot import dot
from tests.cli.samples import a_plan, op


def stage(step: str) -> Stage:
    return Stage(step=step, dtype="i8", chip="1", cluster="1 # 2", slice="A", time="1", packet="B", steps_cycles=1234)


@pytest.fixture
def problem() -> Problem:
    def way(context: str) -> Mode:
        return Mode(context, {"context": context}, frozenset({context}), 2000, program="move")

    load = Operation("load", "load", "dma", (Mode("dma", {}, frozenset({"dma"}), 1000),))
    move = Operation('mo"ve', "move", "pass", (way("main"), way("sub")))
    edges = (Edge("load", 'mo"ve', "data", "x_dm"), Edge('mo"ve', "load", "war", "x_dm", lag_cycles=79))
    return Problem((load, move), edges, (), load_hardware(), {"move": (stage("fetch"), stage("commit"))})


def test_operations_stages_and_edges_are_drawn(problem):
    lines = dot("k", problem).splitlines()
    assert lines[0] == "// tuplan: stage graph of k"
    assert lines[1] == 'digraph "k" {'
    assert lines[-1] == "}"
    text = "\n".join(lines)
    assert text.count("subgraph cluster_") == 2
    assert r'label="mo\"ve\nholds main, sub\ncontext: main | sub";' in text
    assert r'"mo\"ve/fetch" [label="fetch\n1,234 cycles"];' in text
    assert r'"mo\"ve/fetch" -> "mo\"ve/commit" [weight=4];' in text
    assert r'"load" -> "mo\"ve/fetch" [color=black, label="x_dm"];' in text
    assert r'"mo\"ve/commit" -> "load" [color=orange, style=dashed, label="war x_dm +79"];' in text


def test_of_a_plan_the_times_and_the_values_chosen_are_shown(problem):
    planned = op('mo"ve', 2000, 4000, "sub", context=Decision(chosen="sub"))
    text = dot("k", problem, a_plan(ops=(planned,)))
    assert r'label="mo\"ve\n2,000 to 4,000 on sub\ncontext = sub";' in text


def test_a_name_of_several_lines_stays_a_remark(problem):
    assert dot("k\ndigraph {", problem).splitlines()[:2] == [
        "// tuplan: stage graph of k digraph {",
        r'digraph "k\ndigraph {" {',
    ]


def test_quotes_are_balanced(problem):
    for line in dot("k", problem).splitlines():
        assert len(re.findall(r'(?<!\\)"', line)) % 2 == 0, line
