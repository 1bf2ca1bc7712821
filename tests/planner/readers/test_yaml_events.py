"""The fast reader of YAML against the library of YAML 1.2, and texts that only the latter may read."""

from __future__ import annotations

import random

import pytest

from planner.readers import nodes
from planner.readers.nodes import NodeError, compose, walk
from planner.readers.yaml_events import NotAlike, exact, fast
from tests.planner.readers.test_yaml_kernel import BROKEN, EXAMPLES, mutated


def read(text: str) -> list | str:
    """Every value with its place, or the rule that stops the reading; an empty value has no place of its own."""
    try:
        root, faults = compose(text)
    except NodeError as error:
        return error.rule
    values = [] if root is None else list(walk(root))
    places = [(v.line, v.column, v.plain, v.exact, v.comment) if v.text else None for _, v in values]
    return [*((name, v.kind, v.text) for name, v in values), *places, *(f.rule for f in faults)]


def exactly(text: str, monkeypatch: pytest.MonkeyPatch) -> list | str:
    def refuse(_text: str):
        raise NotAlike

    with monkeypatch.context() as patch:
        patch.setattr(nodes, "fast", refuse)
        return read(text)


def test_both_readers_give_the_same_values_at_the_same_places(monkeypatch):
    random_ = random.Random(4)
    contents = [p.read_bytes() for p in EXAMPLES + BROKEN]
    texts = [c.decode(errors="replace") for c in contents]
    texts += [mutated(random_.choice(contents), random_).decode(errors="replace") for _ in range(300)]
    for text in texts:
        assert read(text) == exactly(text, monkeypatch), text


@pytest.mark.parametrize("text", ["a:\t1", "a: &x 1", "%YAML 1.2\n---\na: 1", "a: b\x85c: d", "a: [", "a: 'b\rc'"])
def test_what_may_be_read_in_two_ways_is_not_read_fast(text):
    with pytest.raises(NotAlike):
        list(fast(text))


def test_events_have_the_same_names():
    text = "a: [1, {b: 'c'}]"
    assert [type(e).__name__ for e in fast(text)] == [type(e).__name__ for e in exact(text)]
