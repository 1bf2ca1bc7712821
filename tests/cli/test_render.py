from __future__ import annotations

from cli.render import table
from cli.render_timeline import ASCII, timeline
from models.plan import Values
from tests.cli.samples import RIGHT, a_plan, op


def test_the_timeline_is_to_scale():
    ops = (op("load", 1000, 2000, "dma"), op("mul", 2000, 3000, "main", "vector"), op("s", 3000, 3100, "sub"))
    plan = a_plan(ops=ops, makespan_cycles=4000)
    rows = {row[:7].strip(): row[7:] for row in timeline(plan, 7 + 40, ASCII).splitlines()[:4]}
    assert rows["main"] == rows["vector"]
    assert {name: (row.index("#"), row.rindex("#") + 1) for name, row in rows.items()} == {
        "main": (20, 30),
        "vector": (20, 30),
        "dma": (10, 20),
        "sub": (30, 31),
    }
    assert all(len(row) == 40 for row in rows.values())
    assert " load " in rows["dma"]
    assert " mul " in rows["main"]


def test_neighbours_have_different_fills_and_nothing_is_lost():
    plan = a_plan(ops=tuple(op(f"o[{i}]", i, i + 1, "sub") for i in range(8)), makespan_cycles=8)
    assert timeline(plan, 7 + 16, ASCII).splitlines()[1] == "sub    " + "##==" * 4


def test_an_operation_of_no_width_is_still_seen():
    plan = a_plan(ops=(op("o", 999_999, 1_000_000, "dma"),), makespan_cycles=1_000_000)
    assert timeline(plan, 60, ASCII).splitlines()[2] == "dma    " + "." * 52 + "#"


def test_the_axis_ends_with_the_makespan():
    last = timeline(a_plan(), 60, ASCII).splitlines()[-1]
    assert last.startswith("       0 ")
    assert last.endswith(" 4,000 cycles")
    assert len(last) == 60


def test_mapping_text_is_no_markup():
    assert table(("mapping",), [("[A, B] % 4",), ("[red]A[/red]",)]).splitlines()[1:] == ["[A, B] % 4", "[red]A[/red]"]


def test_piped_tables_are_not_folded():
    wide = "x" * 500
    assert wide in table(("a", "b"), [(wide, wide)]).splitlines()[1]


def test_long_tables_are_cut_with_a_word():
    from cli.render_plan import MOST_ROWS, operations

    lines = operations(a_plan(ops=tuple(op(f"o[{i}]", i, i + 1, "sub") for i in range(MOST_ROWS + 5)))).splitlines()
    assert len(lines) == 1 + MOST_ROWS + 1
    assert lines[-1] == "... and 5 more; the plan file has all"


def test_a_wrong_output_is_named():
    from cli.render_plan import verdict

    wrong = RIGHT.model_copy(update={"values": {"y": Values(ok=False, max_abs_error=2.5, elements=64)}})
    shown = verdict(wrong)
    assert "values wrong" in shown
    assert "wrong: y: largest error 2.5 among 64 elements" in shown


def test_of_one_topic_only_so_many_notes_are_shown():
    from cli.render_plan import MOST_NOTES, notes
    from models.plan import Note

    many = tuple(Note(topic="overlap", text=f"a overlaps b{k}") for k in range(MOST_NOTES + 7))
    few = (Note(topic="dominant", text="c takes all"), Note(topic="choice", text="shown in a table"))
    lines = notes(a_plan(notes=(*many, *few))).splitlines()
    assert lines[: MOST_NOTES + 1] == [
        *(f"note: a overlaps b{k}" for k in range(MOST_NOTES)),
        "... and 7 more of overlap; the plan file has all",
    ]
    assert lines[MOST_NOTES + 1 :] == ["note: c takes all"]
