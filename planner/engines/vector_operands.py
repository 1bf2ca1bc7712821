"""What an op of the vector engine may take beside its stream: constants, VRF tensors, the stash (domain: section 8)."""

from __future__ import annotations

from collections.abc import Iterator

from models.factors import contiguous_walk, equivalent
from models.faults import Finding
from models.layout import Stream, TensorLayout
from models.mapping import Mapping, text
from models.vector_ops import Operand, VectorOp
from planner.engines.addresses import touched
from planner.engines.shapes import show
from planner.engines.vector_table import BINARY_MODES, MOST_IMMEDIATES, TERNARY_MODES

STASH = "stash"
_TERNARY, _PAIRED_TERNARY = 2, 4
_BINARY = ("logic", "fxp", "fp_binary", "fp_div", "clip")


def named(op: VectorOp) -> Iterator[Operand]:
    """Every operand of an op: constants, names of VRF tensors, `stash`."""
    if op.operand is not None:
        yield op.operand
    yield from (o for o in op.operands or () if o is not None)
    for guard in op.guards or ():
        if guard.rf is not None:
            yield guard.rf
        elif guard.imm is not None:
            yield guard.imm


def vrf_names(op: VectorOp) -> list[str]:
    """The VRF tensors that an op reads."""
    return [o for o in named(op) if isinstance(o, str) and o != STASH]


def findings(op: VectorOp, stream: Stream, tensors: dict[str, TensorLayout]) -> Iterator[Finding]:
    """What is wrong with an op's operands, mode and guards; the stash is the chain's business."""
    yield from _mode(op)
    yield from _guards(op)
    yield from _present(op)
    for operand in named(op):
        if isinstance(operand, str):
            if operand != STASH:
                yield from _register(operand, stream, tensors)
        elif stream.dtype == "i32" and not float(operand).is_integer():
            yield Finding(
                "operand_type", f"constant {operand} is no i32", str(operand), "an integer", str(round(operand))
            )


def _mode(op: VectorOp) -> Iterator[Finding]:
    if op.mode is None:
        return
    legal = TERNARY_MODES if op.name.startswith("fp_ternary") else BINARY_MODES
    if op.mode not in legal:
        wanted = ", ".join(legal)
        yield Finding("argument_mode", f"{op.name} has no mode {op.mode}", op.mode, f"one of {wanted}", legal[0])


def _present(op: VectorOp) -> Iterator[Finding]:
    """Binary ops take one operand, ternary ones two, for pairs two a group; modes that never look at it need none."""
    count = len(list(named(op)))
    if op.name == "fp_ternary" and count != _TERNARY and len(op.operands or ()) != _PAIRED_TERNARY:
        yield Finding("operand_count", f"{op.op} takes 2 operands, not {count}", str(count), "2")
    elif op.name in _BINARY and count == 0 and op.mode != "00":
        yield Finding(
            "operand_count", f"{op.name} {op.op or ''} lacks its operand", "0", "a constant, a VRF tensor or stash"
        )


def _guards(op: VectorOp) -> Iterator[Finding]:
    guards = op.guards or ()
    registers = [i for i, g in enumerate(guards) if g.rf is not None]
    immediates = len(guards) - len(registers)
    if immediates > MOST_IMMEDIATES or len(registers) > 1 or registers not in ([], [len(guards) - 1]):
        yield Finding(
            "guarded_operand",
            f"a guarded operand has {immediates} immediates and {len(registers)} register reads",
            f"{immediates} immediates, {len(registers)} registers",
            f"up to {MOST_IMMEDIATES} immediates, then at most one register",
        )


def _register(name: str, stream: Stream, tensors: dict[str, TensorLayout]) -> Iterator[Finding]:
    tensor = tensors.get(name)
    if tensor is None or tensor.memory != "vrf":
        held = [t.name for t in tensors.values() if t.memory == "vrf"]
        yield Finding(
            "wrong_memory", f"{name} is no VRF tensor", name, "one of " + ", ".join(held) if held else "a VRF tensor"
        )
        return
    if tensor.dtype != stream.dtype:
        yield Finding(
            "operand_type", f"{name} is {tensor.dtype}, the stream {stream.dtype}", tensor.dtype, stream.dtype
        )
    for level in ("chip", "cluster", "slice"):
        held_split, wanted = getattr(tensor, level), getattr(stream, level)
        if not equivalent(held_split, wanted):
            yield Finding(
                "operand_split",
                f"{name} is split over {level.capitalize()} `{text(held_split)}`, the stream over `{text(wanted)}`",
                text(held_split),
                text(wanted),
                text(wanted),
            )
    yield from axis_reads(name, tensor.element, stream)


def axis_reads(name: str, element: Mapping, stream: Stream) -> Iterator[Finding]:
    """Digits of the stream that the operand lacks are broadcast; digits that only it has are refused."""
    time, packet = contiguous_walk([stream.time], element), contiguous_walk([stream.packet], element)
    whole = contiguous_walk([stream.time, stream.packet], element)
    if time is None or packet is None or whole is None or touched(whole, element).missed:
        yield Finding(
            "operand_axes",
            f"{name} `{text(element)}` has digits that the stream `{show(stream.time)}, {show(stream.packet)}` lacks",
            text(element),
            "digits of the stream, all of them read",
        )
    elif any(stride for _, stride in packet) and [stride for _, stride in packet] != [1]:
        yield Finding(
            "operand_packet",
            f"the packet `{show(stream.packet)}` reads neither neighbours nor one cell of {name} `{text(element)}`",
            text(element),
            f"`{show(stream.packet)}` innermost in the operand, or not at all",
        )
