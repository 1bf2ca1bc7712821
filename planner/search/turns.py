"""A pass that brings an operand's summed digits innermost where they lie further out in HBM."""

from __future__ import annotations

from models.hardware import Hardware
from models.kernel import Collect, Commit, Fetch, PassOp, Transpose
from planner.engines.shapes import elements_in
from planner.pass_cycles import Steps, pass_cycles
from planner.search.parts import Parts, size_of, take_minor, without, written
from planner.search.spec import bytes_of, padded_text

WRITE_BYTES = 8
"""DM is written in whole multiples of this (domain: section 4)."""


def turn(hardware: Hardware, dtype: str, held: tuple[Parts, Parts], names: tuple[str, str]) -> PassOp | None:
    """From the first order of digits to the second; None where no whole packets or writes can be cut.

    Neighbours of the wanted order stand in Time until the transpose engine packs them for one write.
    """
    (before, after), (source, target) = held, names
    columns = take_minor(before, hardware.contraction.out_columns)
    group = take_minor(after, WRITE_BYTES // bytes_of(dtype))
    if columns is None or group is None or {p.axis for p in columns[1]} & {p.axis for p in group[1]}:
        return None
    rest = without(columns[0], group[1])
    flit = elements_in(dtype, hardware.geometry.flit_bytes)
    return PassOp(
        name=f"turn_{source}",
        read=source,
        steps=(
            Fetch(time=written((*rest, *group[1])), packet=written(columns[1])),
            Collect(),
            Transpose(time=written((*rest, *columns[1])), packet=padded_text(group[1], flit)),
            Commit(write=target, element=written(after)),
        ),
    )


def turn_floor(hardware: Hardware, dtype: str, held: Parts) -> int:
    """A lower bound of that pass: a step for each write."""
    writes = max(1, size_of(held) * bytes_of(dtype) // WRITE_BYTES)
    return pass_cycles(hardware, Steps("main", (("transpose", writes), ("commit", writes))))
