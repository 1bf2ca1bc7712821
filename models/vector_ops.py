"""The vector engine's ops as they stand in a kernel file (kernel-file page, section Steps).

One record for all: the table of legal ops, their ALUs and types belongs to the vector engine's law.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Operand = float | int | str
"""A constant, the name of a VRF tensor, or `stash`."""


class Guard(BaseModel):
    """One branch of a guarded operand: four bits of the tag to match, and an immediate or a register."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    when: tuple[str, str, str, str]
    imm: float | int | None = None
    rf: str | None = None


class VectorOp(BaseModel):
    """One op of the chain.

    `name` is the key of the kernel file (`tag`, `fp_binary`, `clip_zip`, `stash`, ...); the other fields hold
    what that key takes: `op` an operation name as written, `operand` a constant, VRF tensor or `stash`, `operands`
    several of them (None: no operand for this group), `guards` a guarded operand, `value` the bare argument
    of ops that take one (`fxp_to_fp: 31`, `narrow_trim: PACKET`, `fp_unary: exp`, `tag: zero`), `comparisons` those
    of a tag.

    The reader writes op names in vISA's spelling (`MulF`, also for `mul`) and leaves `alu` and `mode` None where the
    file does. `unzip: I` is `axis`, `clip_zip: Add` is `op`; a tag's `True` and `False` have the constant None.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    op: str | None = None
    value: str | int | None = None
    operand: Operand | None = None
    operands: tuple[Operand | None, ...] | None = None
    guards: tuple[Guard, ...] | None = None
    mode: str | None = None
    alu: str | None = None
    axis: str | None = None
    time: str | None = None
    packet: str | None = None
    slice: str | None = None
    tile_time: str | None = None
    split_time: str | None = None
    comparisons: tuple[dict[str, Any], ...] = Field(default=())
