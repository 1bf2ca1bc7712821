"""The reader: the examples, several faults at once, positions, layouts, types of YAML, junk."""

import hashlib
import random
from pathlib import Path

import pytest

from models.faults import FaultError
from models.kernel import Commit, LoopOp, PassOp, Tile, Vector
from planner.readers.source import KernelSource
from planner.readers.yaml_kernel import read_kernel, read_kernel_text
from planner.writers.kernel_yaml import kernel_text

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
BROKEN = sorted((ROOT / "tests" / "broken").glob("*.yaml"))
TINY = """\
kernel: tiny
axes: {{A: 256, B: 64, C: 64}}
layouts: {layouts}
tensors:
  x: {{dtype: i8, element: "A, B, C"}}
  y: {{dtype: i8, element: "A, B, C", role: output}}
ops:
  - {{dma: load, read: x, write: x_dm, slice: {slice}, element: "B, C"}}
  - pass: move
    read: x_dm
    steps:
      - fetch: {{time: "B", packet: {packet}}}
{steps}
      - commit: {{write: y_dm, element: "B, C"}}
  - {{dma: store, read: y_dm, write: y}}
"""


WEIGHTS = """\
  - pass: weights
    read: x_dm
    context: sub
    steps:
      - fetch: {time: "B", packet: "C"}
      - collect
      - to_trf: {write: x_trf, lane: "1", element: "C"}
"""


def tiny(layouts="{}", slice='"A"', packet='"C"', steps="      - collect"):
    return TINY.format(layouts=layouts, slice=slice, packet=packet, steps=steps)


def faults(text, **more):
    with pytest.raises(FaultError) as caught:
        read_kernel_text(text, **more)
    return caught.value.faults


def rules(text, **more):
    return [f.rule for f in faults(text, **more)]


def vector(*ops):
    text = tiny(steps="      - collect\n      - vector:\n" + "".join(f"          - {op}\n" for op in ops))
    (op,) = (op for op in read_kernel_text(text).kernel.ops if isinstance(op, PassOp))
    (step,) = (s for s in op.steps if isinstance(s, Vector))
    return step.ops


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_read_without_a_warning(path):
    source = read_kernel(path)
    assert source.kernel.kernel == path.stem
    assert source.faults == ()
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert source.path == str(path)


def test_gemm_as_records():
    kernel = read_kernel(ROOT / "examples" / "gemm.yaml").kernel
    assert kernel.axes == {"I": 512, "J": 512, "K": 64}
    load = kernel.ops[0]
    assert (load.slice, load.chip, load.cluster) == ("[I / 32, J / 32]", "1", "1 # 2")
    outer = kernel.ops[3].steps[2]
    assert (outer.with_, outer.time) == ("b_trf", "I % 32, J / 8 % 4, K / 32")
    assert kernel.tensors["c"].role == "output"


def test_tiled_scale_as_records():
    loop = read_kernel(ROOT / "examples" / "tiled_scale.yaml").kernel.ops[2]
    assert isinstance(loop, LoopOp)
    assert (loop.name, loop.count) == ("i", 15)
    tile = Tile(tensor="x_dm", tile="L % 60", length=4, start="4 * i")
    assert loop.ops[1].read == tile
    assert [op.name for op in loop.ops[1].steps[3].ops] == ["tag", "narrow_split", "fp_binary", "widen_concat"]
    assert loop.ops[1].steps[3].ops[2].op == "MulF"
    assert isinstance(loop.ops[1].steps[-1], Commit)


def test_several_faults_in_one_run():
    text = (ROOT / "examples" / "gemm.yaml").read_text()
    for old, new in (
        ('dtype: bf16, element: "I, K"', 'dtype: bf61, element: "I, Q"'),
        ("region: auto", "regoin: auto"),
        ("read: b_dm\n", "read: b_dn\n"),
        ('context: auto\n    steps:\n      - fetch: {time: "I', 'context: mian\n    steps:\n      - fetch: {time: "I'),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    found = {(f.rule, f.line, f.op, f.step) for f in faults(text, file="k.yaml")}
    assert {
        ("unknown_dtype", 6, "", ""),
        ("unknown_axis", 6, "", ""),
        ("unknown_field", 18, "store_b", "to_trf"),
        ("wrong_choice", 21, "matmul", ""),
    } <= found


def test_the_nearest_spelling_is_named():
    text = (ROOT / "examples" / "gemm.yaml").read_text()
    (fault,) = faults(text.replace("read: a_dm\n", "read: a_dmm\n"))
    assert (fault.rule, fault.nearest, fault.op, fault.line, fault.column) == (
        *("unknown_tensor", "a_dm", "matmul"),
        *(20, 11),
    )
    (fault,) = faults(tiny(packet='"C % 60"'))
    assert (fault.rule, fault.found, fault.nearest) == ("modulo_must_divide", "60", "64")


def test_faults_of_one_operation_cause_no_others():
    # x_dm is made by the operation at fault, so nobody may call it unknown.
    assert rules(tiny(slice='"A / 3"')) == ["stride_must_divide"]
    assert rules(tiny().replace("A: 256", "A: 0")) == ["axis_size"]
    assert rules(tiny('{S: "A / 3"}', '"{S}"')) == ["stride_must_divide"]


def test_layouts_become_text():
    text = tiny('{Last: "{First}, 1", First: "A / {N}, A % {N}", N: 16}', '"{Last}"', '"C / {N}, C % {N}, {One}"')
    text = text.replace("N: 16}", 'N: 16, One: "1"}')
    kernel = read_kernel_text(text).kernel
    assert kernel.ops[0].slice == "[[A / 16, A % 16], 1]"
    assert kernel.ops[1].steps[0].packet == "C / 16, C % 16, [1]"


def test_axes_are_overridden():
    assert read_kernel_text(tiny(), axes={"A": 64}).kernel.axes["A"] == 64
    assert rules(tiny(), axes={"Q": 64}) == ["unknown_axis"]
    assert rules(tiny(), axes={"A": 0}) == ["axis_size"]
    assert rules(tiny(packet='"C / 32, C % 32"'), axes={"C": 48}) == ["stride_must_divide"]


@pytest.mark.parametrize("word", ["no", "true", "Off", "null", "~", "", "2024-01-01", ".nan"])
def test_words_that_other_readers_take_for_something_else(word):
    assert "wrong_type" in rules(tiny().replace("kernel: tiny", f"kernel: tiny\ndescription: {word}"))
    read_kernel_text(tiny().replace("kernel: tiny", f'kernel: tiny\ndescription: "{word}"'))


def test_an_unquoted_layout_is_told():
    (fault,) = faults(tiny('{Grid: "A"}', "{Grid}"))
    assert (fault.rule, fault.nearest) == ("wrong_type", '"{Grid}"')


@pytest.mark.parametrize("padding", ["# 64", "#{0} 64", "# {N}"])
def test_padding_that_closes_a_bracket_away(padding):
    found = faults(tiny(packet=f"C {padding}"))
    assert {(f.rule, f.line) for f in found} == {("unquoted_padding", 12)}


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 30, "-1", "0x" + "f" * 40, "2147483649"])
def test_huge_numbers(number):
    assert rules(tiny().replace("A: 256", f"A: {number}")) == ["axis_size"]


@pytest.mark.parametrize("number", [".inf", ".nan", "1e999", "9" * 5000])
def test_constants_are_finite(number):
    text = tiny(steps=f"      - collect\n      - vector: [{{clip: {{op: max, operand: {number}}}}}]")
    assert rules(text) == ["number_out_of_range"]


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path):
    path = tmp_path / "kernel.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + tiny().replace("\n", "\r\n").encode())
    assert read_kernel(path).kernel == read_kernel_text(tiny()).kernel
    path.write_bytes(tiny().encode("utf-16"))
    with pytest.raises(FaultError) as caught:
        read_kernel(path)
    assert [f.rule for f in caught.value.faults] == ["file_not_text"]


def test_an_alias_is_its_value():
    text = tiny().replace("  y: {dtype: i8", "  y: {dtype: *type").replace("  x: {dtype: i8", "  x: {dtype: &type i8")
    assert read_kernel_text(text).kernel == read_kernel_text(tiny()).kernel


def test_vector_ops_in_all_forms():
    ops = vector(
        "tag: [{less: 0}, {Greater: 1.5}, 'True', {False: null}]",
        "logic: {op: bitand, operand: 255, alu: LogicAnd}",
        "fp_unary: {op: exp, alu: FpExp}",
        "fp_binary: {op: mul, operand: [{when: [one, zero, ignore, ignore], imm: 3}, "
        "{when: [ignore, one, ignore, ignore], rf: stash}]}",
        'fp_binary: {op: Add, operands: [1.0, null], mode: "01"}',
        "fp_binary: {op: mul, mode: 00}",
        "stash",
        "fp_to_fxp: 31",
        "unzip: B",
        "clip_zip: addfxp",
    )
    assert [c for op in ops for c in op.comparisons] == [{"Less": 0}, {"Greater": 1.5}, {"True": None}, {"False": None}]
    assert (ops[1].op, ops[1].operand, ops[1].alu) == ("BitAnd", 255, "LogicAnd")
    assert (ops[2].value, ops[2].alu) == ("Exp", "FpExp")
    assert [(g.imm, g.rf) for g in ops[3].guards] == [(3, None), (None, "stash")]
    assert (ops[4].op, ops[4].operands, ops[4].mode) == ("AddF", (1.0, None), "01")
    assert (ops[5].mode, ops[6].name, ops[7].value, ops[8].axis, ops[9].op) == ("00", "stash", 31, "B", "AddFxp")


@pytest.mark.parametrize(
    ("op", "rule"),
    [
        ("fp_binary: {op: mul}", "missing_field"),
        ("fxp: {op: mul, operand: 3}", "unknown_op_name"),
        ("tag: [{Less: x}]", "wrong_type"),
        ("tag: [Less]", "missing_field"),
        ("fp_binary: {op: mul, operand: [{when: [one], imm: 3}]}", "wrong_length"),
        ("fp_binary: {op: mul, operand: [{when: [one, one, one, one]}]}", "missing_field"),
        ("fp_binary: {op: mul, operand: w_vrf}", "unknown_tensor"),
        ("fp_binary: {op: mul, operand: x_dm}", "wrong_memory"),
        ("narrow_trim: {packet: B}", "wrong_type"),
        ("[1]", "wrong_type"),
    ],
)
def test_broken_vector_ops(op, rule):
    found = faults(tiny(steps=f"      - collect\n      - vector:\n          - {op}"))
    assert [(f.rule, f.op, f.step) for f in found] == [(rule, "move", "vector")]


def test_interleave_needs_two_tensors_and_an_axis():
    text = tiny().replace("read: x_dm\n", "read: [x_dm, x_dm]\n    interleave: C\n")
    assert read_kernel_text(text).kernel.ops[1].read == ("x_dm", "x_dm")
    assert rules(text.replace("interleave: C", "interleave: Q")) == ["unknown_axis"]
    assert rules(text.replace("    interleave: C\n", "")) == ["missing_field"]
    assert rules(tiny().replace("read: x_dm\n", "read: x_dm\n    interleave: C\n")) == ["conflicting_fields"]


def test_positions_of_values():
    source = read_kernel(ROOT / "examples" / "tiled_scale.yaml")
    assert source.positions.position(("ops", 2, "ops", 1, "steps", 3, "ops", 2, "operand")) == (31, 48)
    assert source.positions.position(("ops", 0, "slice", "x")) == (10, 48)
    assert source.positions.position(("axes", "H")) == (3, 21)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_written_kernels_read_back_equal(path):
    kernel = read_kernel(path).kernel
    assert read_kernel_text(kernel_text(kernel)).kernel == kernel


def test_every_form_is_written_and_read_back():
    steps = """\
      - switch: auto
      - switch: {slice: "A", config: {kind: Transpose, slice1: 32, slice0: 2}}
      - collect: {time: "B"}
      - contract_outer: {with: auto, operands: [x_trf], time: "B", packet: "C"}
      - contract_lane
      - vector:
          - tag: [{less: 0}, {Greater: 1.5}, 'True']
          - fp_unary: {op: exp, alu: FpExp}
          - fp_binary: {op: mul, operand: [{when: [one, zero, ignore, ignore], imm: 3}]}
          - fp_binary: {op: Add, operands: [1.0, null], mode: "01"}
          - {fp_ternary: {op: fma, operands: [2, stash], mode: "120"}}
          - stash
          - narrow_trim: "C # 64"
          - unzip: {axis: B, tile_time: "1", split_time: "1"}
          - intra_slice_reduce: {axis: B, op: add, time: "1", packet: "C"}
          - logic_zip: BitOr
      - cast: i8"""
    text = tiny(steps=steps).replace(
        "kernel: tiny", 'kernel: tiny\ndescription: "합 \\u2028 \\u0085 \\U0001F600 \\" # x"'
    )
    text = text.replace(
        "  - pass: move",
        f"{WEIGHTS}  - pass: move",
    )
    kernel = read_kernel_text(text).kernel
    assert read_kernel_text(kernel_text(kernel)).kernel == kernel


SIGNS = (
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"#",
    b"-",
    b'"',
    b"'",
    b"\t",
    b"\n",
    b"&a ",
    b"*a ",
    b"!!t ",
    b"|",
    b"%",
    b"\x00",
)
TOKENS = (
    b"0",
    b"-1",
    b"9" * 40,
    b"1e999",
    b"auto",
    b"null",
    b"{Grid}",
    b"# 64",
    b"I",
    b"[" * 80,
    b"{a: ",
    b"stash",
    b"\xff",
)


def mutated(content: bytes, random_: random.Random) -> bytes:
    lines = content.split(b"\n")
    for _ in range(random_.randint(1, 2)):
        kind, at = random_.randrange(6), random_.randrange(len(lines))
        line = lines[at]
        cut = random_.randrange(len(line) + 1)
        if kind == 0:
            lines[at] = line[:cut] + random_.choice(SIGNS) + line[cut:]
        elif kind == 1:
            lines[at] = line[:cut] + line[cut + 1 :]
        elif kind == 2:
            words = line.split(b" ")
            words[random_.randrange(len(words))] = random_.choice(TOKENS)
            lines[at] = b" ".join(words)
        elif kind == 3:
            lines.insert(at, lines[random_.randrange(len(lines))])
        elif kind == 4 and len(lines) > 1:
            del lines[at]
        else:
            lines[at] = b" " * random_.randrange(4) + line
    return b"\n".join(lines)


def outcome(path: Path) -> KernelSource | tuple:
    try:
        return read_kernel(path)
    except FaultError as error:
        str(error).encode()
        return error.faults


def test_mutated_files_give_a_kernel_or_faults(tmp_path, capfd):
    random_ = random.Random(20_260)
    contents = [p.read_bytes() for p in EXAMPLES * 16 + BROKEN]
    path = tmp_path / "kernel.yaml"
    kernels = 0
    for _ in range(2_000):
        path.write_bytes(mutated(random_.choice(contents), random_))
        found = outcome(path)
        if isinstance(found, KernelSource):
            assert read_kernel_text(kernel_text(found.kernel)).kernel == found.kernel
            kernels += 1
        else:
            assert all(f.rule and f.file == str(path) and f.line >= 1 and f.column >= 1 for f in found)
            assert any(f.severity == "error" for f in found)
    assert 20 < kernels < 1_980
    assert capfd.readouterr() == ("", "")
