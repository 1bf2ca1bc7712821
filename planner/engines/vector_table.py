"""The vector engine as tables: stages, ops with types and ways, operations with their ALUs (domain: section 8)."""

from __future__ import annotations

from dataclasses import dataclass

STAGES = (
    "tag",
    "logic",
    "fxp",
    "fxp_to_fp",
    "narrow",
    "float",
    "intra_slice_reduce",
    "fp_div",
    "widen",
    "fp_to_fxp",
    "clip",
    "filter",
)
"""Stages of the chain in order; none is revisited."""

STASH_STAGES = frozenset({"tag", "logic", "fxp", "narrow", "float", "fp_div", "clip"})
TO_INTER_SLICE = frozenset({"logic", "fxp", "fxp_to_fp", "widen", "fp_to_fxp", "clip"})
NOT_IN_PAIRS = frozenset({"narrow_trim", "widen_pad", "intra_slice_reduce", "stash", "filter"})
BOTH = ("i32", "f32")
INTEGER, FLOAT = ("i32",), ("f32",)
WIDE, NARROW = "wide", "narrow"


@dataclass(frozen=True, slots=True)
class OpForm:
    """An op of the kernel file: its stage, the types it takes, the type it gives (empty: the same), its ways
    before and after (8 are wide, 4 are narrow).
    """

    stage: str
    takes: tuple[str, ...] = BOTH
    gives: str = ""
    ways: str = WIDE
    out_ways: str = WIDE


OPS: dict[str, OpForm] = {
    "tag": OpForm("tag"),
    "unzip": OpForm("tag"),
    "logic": OpForm("logic"),
    "logic_zip": OpForm("logic"),
    "fxp": OpForm("fxp", INTEGER),
    "fxp_zip": OpForm("fxp", INTEGER),
    "fxp_to_fp": OpForm("fxp_to_fp", INTEGER, "f32"),
    "narrow_split": OpForm("narrow", out_ways=NARROW),
    "narrow_trim": OpForm("narrow", out_ways=NARROW),
    "fp_unary": OpForm("float", FLOAT, "", NARROW, NARROW),
    "fp_binary": OpForm("float", FLOAT, "", NARROW, NARROW),
    "fp_zip": OpForm("float", FLOAT, "", NARROW, NARROW),
    "fp_ternary": OpForm("float", FLOAT, "", NARROW, NARROW),
    "intra_slice_reduce": OpForm("intra_slice_reduce", BOTH, "", NARROW, NARROW),
    "fp_div": OpForm("fp_div", FLOAT, "", NARROW, NARROW),
    "widen_concat": OpForm("widen", BOTH, "", NARROW, WIDE),
    "widen_pad": OpForm("widen", BOTH, "", NARROW, WIDE),
    "fp_to_fxp": OpForm("fp_to_fxp", FLOAT, "i32"),
    "clip": OpForm("clip"),
    "clip_zip": OpForm("clip"),
    "filter": OpForm("filter"),
}
"""By name; `stash` and `inter_slice_reduce` stand beside the stages."""

Choices = tuple[str, ...]
_FPU, _FMA, _EXP = ("FpFpu",), ("FpFma",), ("FpExp",)
_BITS: dict[str, Choices] = {"BitAnd": ("LogicAnd",), "BitOr": ("LogicOr",), "BitXor": ("LogicXor",)}
_SHIFTS: dict[str, Choices] = {
    "LeftShift": ("LogicLshift",),
    "LogicRightShift": ("LogicRshift",),
    "ArithRightShift": ("LogicRshift",),
}
_FXP: dict[str, Choices] = {
    **dict.fromkeys(("AddFxp", "AddFxpSat", "SubFxp", "SubFxpSat"), ("FxpAdd",)),
    **dict.fromkeys(("LeftShift", "LeftShiftSat"), ("FxpLshift",)),
    **dict.fromkeys(("MulFxp", "MulInt"), ("FxpMul",)),
    **dict.fromkeys(("LogicRightShift", "ArithRightShift", "ArithRightShiftRound"), ("FxpRshift",)),
}
_UNARY: dict[str, Choices] = {
    **dict.fromkeys(("Exp", "NegExp"), _EXP),
    **dict.fromkeys(("Sqrt", "Tanh", "Sigmoid", "Erf", "Log", "Sin", "Cos"), _FPU),
}
_BINARY: dict[str, Choices] = {
    "DivF": _FPU,
    "AddF": _FMA,
    "SubF": _FMA,
    "MulF": ("FpMul0", "FpMul1", "FpFma"),
}
_TERNARY: dict[str, Choices] = {"FmaF": _FMA}
_DIV: dict[str, Choices] = {"DivF": ("FpDiv",)}
_CLIP: dict[str, Choices] = {
    **dict.fromkeys(("Min", "AbsMin"), ("ClipMin",)),
    **dict.fromkeys(("Max", "AbsMax"), ("ClipMax",)),
}

OPERATIONS: dict[tuple[str, str], dict[str, Choices]] = {
    ("logic", "i32"): _BITS | _SHIFTS,
    ("logic", "f32"): _BITS,
    ("fxp", "i32"): _FXP,
    ("fp_unary", "f32"): _UNARY,
    ("fp_binary", "f32"): _BINARY,
    ("fp", "f32"): _BINARY,
    ("fp_ternary", "f32"): _TERNARY,
    ("fp_div", "f32"): _DIV,
    ("clip", "i32"): _CLIP | dict.fromkeys(("AddFxp", "AddFxpSat"), ("ClipAdd",)),
    ("clip", "f32"): _CLIP | {"Add": ("ClipAdd",)},
}
"""Operations of an op by its row (`row_of`) and type, each with the ALUs it may run on."""

OPERANDS = {"logic": 1, "fxp": 1, "fp_binary": 1, "fp_ternary": 2, "fp_div": 1, "clip": 1}
"""Operands of an op beside the stream; for pairs, those of each group."""

BINARY_MODES = ("00", "01", "10", "11")
TERNARY_MODES = ("012", "002", "102", "112", "020", "021", "120")
COMPARISONS = ("Equal", "Less", "Greater", "LessUnsigned", "GreaterUnsigned", "True", "False")
COMPARISONS_PER_TAG = 4
MOST_IMMEDIATES = 3


def row_of(name: str) -> str:
    """The op whose operations an op runs: a zip op runs those of the op it is the zip of."""
    return "fp_binary" if name == "fp_zip" else name.removesuffix("_zip")


def operation(name: str, dtype: str, written: str) -> str | None:
    """The operation as vISA writes it: matched without case, the F of float operations may be left out."""
    table = OPERATIONS.get((row_of(name), dtype), {})
    lower = {key.lower(): key for key in table}
    wanted = written.lower()
    return lower.get(wanted) or (lower.get(wanted + "f") if dtype == "f32" else None)


def alus(name: str, dtype: str, operation_name: str) -> Choices:
    """The ALUs that an operation may run on."""
    return OPERATIONS[row_of(name), dtype][operation_name]


def alu_name(written: str, choices: Choices) -> str | None:
    """An ALU as written (`Mul0` or `FpMul0`, any case) among the choices."""
    wanted = written.lower()
    return next((a for a in choices if a.lower() in (wanted, "fp" + wanted)), None)
