"""Three plans of every rule that no case file of an engine holds: legal, broken by one change, legal beside it."""

from __future__ import annotations

from typing import Any

from tests.simulator.case_plans import Case, stage
from tests.simulator.plans import entry

Op = dict[str, Any]
Triple = tuple[Case, Case, Case]
AXES = {"A": 64, "B": 16, "I": 2, "M": 4, "N": 8, "Q": 4, "R": 13, "V": 2, "X": 2}

# Fetch and stores -----------------------------------------------------------------------------------------

_COPY: Case = {
    "engine": "fetch", "axes": AXES, "dtype": "bf16", "element": "M, B", "out_time": "M", "out_packet": "B",
    "slice": "A",
}  # fmt: skip
_TWO = _COPY | {"reads": ["x_dm", "y_dm"], "interleave": "I", "out_time": "M, I", "others": {"y_dm": "M, B"}}
_TILE = {"tensor": "x_dm", "tile": "M", "length": 2, "start": "0"}
_HALF = _COPY | {"read": _TILE, "out_time": "M = 2", "base": {"start": "0", "stride": 16}}
_LIFTED = _COPY | {"element": "I, M, B", "held_slice": "A / 2, 2", "slice": "A / 2, I"}
_SHORT: Case = {
    "engine": "to_trf", "axes": AXES, "dtype": "bf16", "time": "M", "packet": "B", "lane": "M", "element": "B",
    "via": "short",
}  # fmt: skip
_COMMIT: Case = {"engine": "commit", "axes": AXES, "dtype": "bf16", "time": "M", "packet": "B", "element": "M, B"}
_TURNED = {"time_entries": [[2, 16], [2, 32]], "packet_entries": [[16, 1]]}
_PRODUCT: Case = {
    "engine": "contract_outer", "axes": AXES, "dtype": "bf16", "time": "M", "packet": "B", "lane": "N",
    "trf_element": "B",
}  # fmt: skip

MOVES: dict[str, Triple] = {
    "fetch_placement": (_COPY, _COPY | {"held_slice": "A % 8, A / 8"}, _LIFTED),
    "interleave": (_TWO, _TWO | {"others": {"y_dm": "B, M"}}, _TWO | {"others": {"y_dm": "M / 2, M % 2, B"}}),
    "tile_overrun": (_HALF, _HALF | {"out_time": "M"}, _HALF | {"out_time": "M", "read": _TILE | {"length": 4}}),
    "short_not_contiguous": (_SHORT, _SHORT | {"walk": _TURNED}, _SHORT | {"walk": _TURNED, "via": "pipeline"}),
    "commit_slice_mismatch": (
        _COMMIT | {"out_slice": "1 # 64"},
        _COMMIT | {"out_slice": "A"},
        _COMMIT | {"out_slice": "1 # 64 / 8, 1 # 8"},
    ),
    "operand_split": (
        _PRODUCT,
        _PRODUCT | {"weight_slice": "A"},
        _PRODUCT | {"weight_slice": "[1 # 64] / 8, [1 # 64] % 8"},
    ),
}

# Chains ---------------------------------------------------------------------------------------------------


def _vrf(name: str, dtype: str, element: str) -> Any:
    return entry(name, "vrf", dtype, "A", element, 0, (0, 0), address=0)


_VRF = [
    _vrf("v", "f32", "M, B"),
    _vrf("row", "f32", "B"),
    _vrf("turned", "f32", "B, M"),
    _vrf("words", "i32", "M, B"),
    _vrf("more", "f32", "Q, M, B"),
]
_SPLIT: Op = {"name": "narrow_split", "time": "M, B / 4", "packet": "B % 4"}
_CONCAT: Op = {"name": "widen_concat", "time": "M, B / 8", "packet": "B % 8"}
_STASH: Op = {"name": "stash"}
_ADD: Op = {"name": "fxp", "op": "AddFxp", "operand": 1, "alu": "FxpAdd"}
_TO_FLOAT: Op = {"name": "fxp_to_fp", "value": 31}
_ZERO: Op = {"name": "tag", "value": "zero"}
_INTER: Op = {"name": "inter_slice_reduce", "op": "Add", "slice": "A / 4, 1 # 4", "ratio": 4}
_ZIP: Op = {"name": "clip_zip", "op": "Add"}


def chain(*ops: Op, dtype: str = "f32", time: str = "M, B / 8", packet: str = "B % 8", **more: Any) -> Case:
    slices = more.pop("slice", "A")
    given = {"time": time, "packet": packet, "slice": slices}
    return {"engine": "chain", "axes": AXES, "dtype": dtype, "given": given, "ops": list(ops), "memory": _VRF} | more


def floats(*ops: Op) -> Case:
    return chain(_SPLIT, *ops, _CONCAT)


def clip(op: str, operand: Any = 1.0) -> Op:
    return {"name": "clip", "op": op, "operand": operand, "alu": f"Clip{op}"}


def mul(operand: Any = 2.0, alu: str = "FpMul0") -> Op:
    return {"name": "fp_binary", "op": "MulF", "operand": operand, "alu": alu}


def unary(op: str, alu: str) -> Op:
    return {"name": "fp_unary", "value": op, "alu": alu}


def unzipped(*ops: Op, axis: str = "I", time: str = "M, B / 8, I", left: str = "M, B / 8", **more: Any) -> Case:
    return chain({"name": "unzip", "axis": axis, "time": left, **more}, *ops, time=time)


def paired(*operands: Any) -> Case:
    op = {"name": "fp_binary", "op": "MulF", "operands": list(operands), "alu": "FpMul0"}
    return unzipped(_SPLIT, op, {"name": "fp_zip", "op": "AddF"}, _CONCAT)


_EXP = unary("exp", "FpExp")

CHAINS: dict[str, Triple] = {
    "vector_type": (
        floats(_EXP),
        chain(_SPLIT, _EXP, _CONCAT, dtype="i32"),
        chain(_TO_FLOAT, _SPLIT, _EXP, _CONCAT, dtype="i32"),
    ),
    "vector_stage_order": (
        chain(_ADD, _TO_FLOAT, clip("Max"), dtype="i32"),
        chain(clip("Max", 1), _ADD, dtype="i32"),
        chain(_ADD, clip("Max", 1), clip("Min", 9), dtype="i32"),
    ),
    "vector_end": (floats(_EXP), chain(_SPLIT, _EXP), chain(clip("Max"))),
    "inter_slice_place": (chain(clip("Max"), _INTER), chain(_ZERO, _INTER), chain(_INTER, clip("Max"))),
    "alu_used_twice": (
        floats(unary("tanh", "FpFpu"), _EXP),
        floats(unary("sqrt", "FpFpu"), unary("tanh", "FpFpu")),
        floats(mul(), mul(alu="FpMul1")),
    ),
    "operand_type": (
        chain(clip("Max", "v")),
        chain(clip("Max", "words")),
        chain(clip("Max", "words"), dtype="i32"),
    ),
    "operand_axes": (chain(clip("Max", "v")), chain(clip("Max", "more")), chain(clip("Max", "row"))),
    "operand_packet": (chain(clip("Max", "v")), chain(clip("Max", "turned")), chain(clip("Max", "row"))),
    "stash": (
        floats(_STASH, mul("stash")),
        floats(_STASH, mul("stash"), mul("stash", "FpMul1")),
        chain(_STASH, _SPLIT, _EXP, _CONCAT, clip("Max", "stash")),
    ),
    "pair_mode_op": (unzipped(_ZIP), unzipped(_STASH, _ZIP), paired(2.0, 3.0)),
    "pair_operands": (paired(2.0, 3.0), paired(2.0, 3.0, 4.0), paired(2.0, None)),
    "unzip_axis": (
        unzipped(_ZIP, time="I, M, B / 8"),
        unzipped(_ZIP, axis="M", left="B / 8, I"),
        unzipped(_ZIP, time="M, I, B / 8"),
    ),
    "unzip_time": (
        unzipped(_ZIP, split_time="M, B / 8", tile_time="M, B / 8, 1 # 2"),
        unzipped(_ZIP, split_time="M", tile_time="M, B / 8, 1 # 2"),
        unzipped(_ZIP, split_time="M / 2, M % 2, B / 8"),
    ),
}

# Reductions -----------------------------------------------------------------------------------------------

_TRIM: Op = {"name": "narrow_trim", "value": "1 # 4", "packet": "1 # 4"}
_WIDEN: Op = {"name": "widen_pad", "value": "1 # 8", "packet": "1 # 8"}


def reduction(op: str, *before: Op, pad: str = "poison", time: str = "R # 16", mask: str = "identity") -> Case:
    fold = {"name": "intra_slice_reduce", "axis": "R", "op": op, "time": "1", "packet": "1 # 4", "mask": mask}
    return chain(_TRIM, *before, fold, _WIDEN, time=time, packet="1 # 8", pad=pad)


def among(*before: Op, slice: str = "A / 4, R # 32 / 8 # 4", time: str = "R # 32 % 8") -> Case:
    fold = {"name": "inter_slice_reduce", "op": "Add", "slice": f"{slice.rpartition(', ')[0]}, 1 # 4", "ratio": 4}
    return chain(*before, fold, time=time, packet="1 # 8", slice=slice)


def inside(op: str) -> Op:
    return {"name": "intra_slice_reduce", "axis": "R", "op": op, "time": "1", "packet": "1 # 4", "mask": "vcg"}


_SPREAD = "A / 4, R # 32 / 8"

REDUCTIONS: dict[str, Triple] = {
    "identity_padding": (
        reduction("Add", pad="0"),
        reduction("Add", pad="poison"),
        reduction("Add", time="R #{0} 16"),
    ),
    "identity_behind_transform": (
        reduction("Max", pad="-inf"),
        reduction("Add", _EXP, pad="-inf"),
        reduction("Add", _EXP, pad="-inf", mask="vcg"),
    ),
    "inter_slice_padding": (
        among(_TRIM, inside("Add"), _WIDEN, slice=_SPREAD),
        among(_TRIM, inside("Max"), _WIDEN, slice=_SPREAD),
        among(slice="A / 4, Q", time="1"),
    ),
}

# Transfers ------------------------------------------------------------------------------------------------

_SIZES = {"A": 256, "B": 64, "C": 24, "Chips": 2, "Huge": 2**35, "Wide": 2**18 + 1}


def hbm(element: str, **more: Any) -> Case:
    return {"memory": "hbm", "element": element, **more}


def dm(element: str, slice: str = "A", **more: Any) -> Case:
    return {"memory": "dm", "element": element, "slice": slice, **more}


def transfer(source: Case, target: Case, **more: Any) -> Case:
    return {"engine": "dma", "axes": _SIZES, "source": source, "target": target, **more}


_HBM, _DM = hbm("A, B"), dm("B")
_LOAD = transfer(_HBM, _DM)
_NARROW = "1 # 64"

TRANSFERS: dict[str, Triple] = {
    "dma_memory": (_LOAD, transfer(_HBM, _DM | {"memory": "vrf"}), transfer(_DM, dm("B", "A % 2, A / 2"))),
    "dma_dtype": (
        _LOAD,
        transfer(_HBM, dm("B", dtype="f32")),
        transfer(hbm("A, B", dtype="f32"), dm("B", dtype="f32")),
    ),
    "dma_chip": (
        _LOAD,
        transfer(_HBM, dm("B", chip="Chips")),
        transfer(hbm("A, B", chip="Chips"), dm("B", chip="Chips")),
    ),
    "dma_units": (_LOAD, transfer(hbm("B, A"), dm("A", "B # 96")), transfer(hbm("B, A"), dm("A", "B # 128"))),
    "dma_hbm_size": (
        transfer(hbm("Huge / 4"), dm("Huge / 4 = 64", _NARROW)),
        transfer(hbm("Huge"), dm("Huge = 64", _NARROW)),
        transfer(hbm("Huge", dtype="i8"), dm("Huge = 64", _NARROW, dtype="i8")),
    ),
    "dma_dm_size": (
        transfer(hbm("Wide"), dm("Wide = 64", _NARROW)),
        transfer(hbm("Wide"), dm("Wide", _NARROW)),
        transfer(hbm("Wide"), dm("Wide = 262144", _NARROW)),
    ),
    "dma_cells_missing": (
        transfer(hbm("A, B = 48"), dm("B = 48")),
        transfer(hbm("A, B = 48"), dm("B")),
        transfer(hbm("A, B = 48"), dm("C, B = 48")),
    ),
    "dma_cells_unwritten": (
        transfer(_DM, _HBM),
        transfer(dm("B = 48"), _HBM),
        transfer(dm("B = 48"), _HBM, tile=("B", 48)),
    ),
    "dma_axis_dropped": (transfer(_DM, _HBM), transfer(_DM, hbm("B")), transfer(dm("B", "256"), hbm("B"))),
    "dma_whole_bytes": (
        transfer(hbm("A, B", dtype="i4"), dm("B", dtype="i4")),
        transfer(hbm("B, A", dtype="i4"), dm("B", dtype="i4")),
        transfer(hbm("B / 16, A, B % 16", dtype="i4"), dm("B", dtype="i4")),
    ),
    "dma_dm_alignment": (_LOAD, transfer(hbm("B, A"), _DM), transfer(hbm("B / 4, A, B % 4"), _DM)),
}

TRIPLES: dict[str, Triple] = {**MOVES, **CHAINS, **REDUCTIONS, **TRANSFERS}
"""By rule: cases in the form of a case file, with the fields that `case_plans` adds to it."""

NOT_EXECUTED = frozenset({"dma_hbm_size", "dma_dm_size", "sequencer_entry_size", "exceeds_capacity"})
"""Rules whose cases are too large to run; their checks look at the plan alone."""

__all__ = ["NOT_EXECUTED", "TRIPLES", "stage"]
