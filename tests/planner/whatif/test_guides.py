"""Every command in the guides prints what the guide says."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.guides import BLOCK, GUIDES, desk, matches, steps


def test_there_is_a_guide_for_each_question():
    questions = {g.stem.removeprefix("guide-") for g in GUIDES}
    assert {"why-not", "why-not-faster", "what-if", "diff", "sweeps"} <= questions


@pytest.mark.parametrize("guide", GUIDES, ids=lambda g: g.stem)
def test_commands_print_what_the_guide_says(guide, tmp_path):
    blocks = BLOCK.findall(guide.read_text(encoding="utf-8"))
    assert blocks
    with ExitStack() as stack:
        at = desk(tmp_path, stack)
        for block in blocks:
            for step in steps(block):
                got = at.run(step.command)
                assert matches(step.output, got), f"$ {step.command}\n{got}"
