"""What the chip's memories hold: bytes or elements, and which of them nobody wrote (poison).

Poison is kept beside the data: in byte memories two bits per byte, one per nibble, so that 4-bit elements know
their own. Memories are allocated up to the plan's high-water mark only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from models.dtypes import DTYPES
from simulator.values import CONTAINER, Bits, Raw

Ints = NDArray[np.int64]
Walk = tuple[tuple[int, int], ...]
"""Sequencer entries (size, stride in elements), outermost first."""

_UNWRITTEN = 0xA5  # unlikely to pass for data when a mask is forgotten
_POISON_BYTE = 0x03


@dataclass(slots=True)
class Block:
    """Elements read from a memory: bit patterns, and where they are poison (None: nowhere)."""

    raw: Raw
    poison: Bits | None = None


def walk_offsets(walk: Walk) -> NDArray[np.int64]:
    """Every offset of a walk in order, in elements."""
    out = np.zeros(1, dtype=np.int64)
    for size, stride in walk:
        out = (out[:, None] + np.arange(size, dtype=np.int64) * stride).reshape(-1)
    return out


def walk_end(walk: Walk) -> int:
    """The element after the last that a walk touches."""
    return sum((size - 1) * stride for size, stride in walk) + 1


class ByteMemory:
    """A byte-addressed memory per unit (data memory, vector registers): shape [groups, slices, bytes]."""

    def __init__(self, groups: int, slices: int, size_bytes: int) -> None:
        self.data = np.full((groups, slices, size_bytes), _UNWRITTEN, dtype=np.uint8)
        self.poison = np.full((groups, slices, size_bytes), _POISON_BYTE, dtype=np.uint8)

    def read(self, address: int, dtype: str, slices: int, walk: Walk) -> Block:
        """Reads a walk in the first `slices` slices of every group: [units, steps of the walk]."""
        if DTYPES[dtype].bits == 4:
            return self._read_nibbles(address, slices, walk)
        raw = self._strided(False, address, dtype, slices, walk)
        mask = self._strided(True, address, dtype, slices, walk)
        units, steps = raw.shape[0] * raw.shape[1], prod(raw.shape[2:])
        width = DTYPES[dtype].bits // 8
        end = address + walk_end(walk) * width
        clean = not self.poison[:, :slices, address:end].any()
        poison = None if clean else (mask != 0).reshape(units, steps)
        return Block(raw.reshape(units, steps), poison)

    def write(self, address: int, dtype: str, slices: int, walk: Walk, block: Block) -> None:
        """Writes [units, steps of the walk] along a walk."""
        if DTYPES[dtype].bits == 4:
            self._write_nibbles(address, slices, walk, block)
            return
        raw = self._strided(False, address, dtype, slices, walk)
        mask = self._strided(True, address, dtype, slices, walk)
        raw[...] = block.raw.reshape(raw.shape)
        if block.poison is None:
            mask[...] = 0
        else:
            mask[...] = np.where(block.poison, _poison_of(dtype), 0).reshape(mask.shape)

    def _grow(self, end: int) -> None:
        """Makes room for what a walk touches beyond the high-water mark: nobody wrote it."""
        more = end - self.data.shape[2]
        if more > 0:
            pads = ((0, 0), (0, 0), (0, more))
            self.data = np.pad(self.data, pads, constant_values=_UNWRITTEN)
            self.poison = np.pad(self.poison, pads, constant_values=_POISON_BYTE)

    def _strided(self, poison: bool, address: int, dtype: str, slices: int, walk: Walk) -> NDArray[Any]:
        """A view of the walk: no copy, whatever it repeats."""
        width = DTYPES[dtype].bits // 8
        self._grow(address + walk_end(walk) * width)
        array = self.poison if poison else self.data
        sizes = [size for size, _ in walk]
        strides = [stride * width for _, stride in walk]
        base = array[:, :slices, address : address + width].view(CONTAINER[dtype])
        return as_strided(base, (*base.shape[:2], *sizes), (*base.strides[:2], *strides))

    def _nibbles(self, array: NDArray[np.uint8], address: int, slices: int, end: int) -> NDArray[np.uint8]:
        taken = array[:, :slices, address:end]
        halves = np.stack([taken & 0x0F, taken >> 4], axis=-1)
        return halves.reshape(-1, 2 * taken.shape[2])

    def _read_nibbles(self, address: int, slices: int, walk: Walk) -> Block:
        end = address + -(-walk_end(walk) // 2)
        self._grow(end)
        offsets = walk_offsets(walk)
        taken = self.poison[:, :slices, address:end]
        mask = np.stack([taken & 1, taken >> 1], axis=-1).reshape(-1, 2 * taken.shape[2])[:, offsets] != 0
        raw = self._nibbles(self.data, address, slices, end)[:, offsets]
        return Block(raw, mask if mask.any() else None)

    def _write_nibbles(self, address: int, slices: int, walk: Walk, block: Block) -> None:
        end = address + -(-walk_end(walk) // 2)
        self._grow(end)
        offsets = walk_offsets(walk)
        raw = self._nibbles(self.data, address, slices, end)
        raw[:, offsets] = block.raw & 0x0F
        taken = self.poison[:, :slices, address:end]
        mask = np.stack([taken & 1, taken >> 1], axis=-1).reshape(raw.shape)
        mask[:, offsets] = 0 if block.poison is None else block.poison
        shape = taken.shape
        self.data[:, :slices, address:end] = (raw[:, 0::2] | (raw[:, 1::2] << 4)).reshape(shape)
        self.poison[:, :slices, address:end] = (mask[:, 0::2] | (mask[:, 1::2] << 1)).reshape(shape)


def _poison_of(dtype: str) -> np.generic:
    width = DTYPES[dtype].bits // 8
    return CONTAINER[dtype](int.from_bytes(bytes([_POISON_BYTE]) * width, "little"))


_ROW_ELEMENTS = 64
_ROW_CONTAINER: dict[int, type[np.generic]] = {1: np.uint8, 2: np.uint16, 4: np.uint32}


class TensorRegisters:
    """The tensor register file: [units, lanes, banks, rows, a row's elements in their containers].

    A row's 320 bits are held as 64 bytes of wider checked integers, since 5- and 9-bit elements have no numpy type;
    element k of a flit stands in container k. With fewer active lanes a lane sees the rows of its neighbours.
    """

    def __init__(self, units: int, lanes: int, banks: int, rows: int) -> None:
        self.lanes, self.banks, self.rows = lanes, banks, rows
        self.data = np.full((units, lanes, banks, rows, _ROW_ELEMENTS), _UNWRITTEN, dtype=np.uint8)
        self.poison = np.ones((units, lanes, banks, rows, _ROW_ELEMENTS), dtype=np.bool_)

    def store(self, row: int, lanes: int, block: Block) -> None:
        """Places flits [units, lanes, flits, elements]: flit f in bank f % 2, logical row f // 2 from `row` on."""
        units, _, flits, elements = block.raw.shape
        lane, bank, line = self._place(row, lanes, flits)
        width = block.raw.dtype.itemsize
        data, poison = self.data.view(_ROW_CONTAINER[width]), self.poison[..., ::width]
        data[:units, lane, bank, line, :elements] = block.raw.view(_ROW_CONTAINER[width])
        poison[:units, lane, bank, line, :elements] = False if block.poison is None else block.poison

    def load(self, row: int, lanes: int, flits: int, elements: int, container: type[np.generic], units: int) -> Block:
        """Reads the flits of every lane back: [units, lanes, flits, elements]."""
        lane, bank, line = self._place(row, lanes, flits)
        width = np.dtype(container).itemsize
        data, poison = self.data.view(_ROW_CONTAINER[width]), self.poison[..., ::width]
        raw = data[:units, lane, bank, line, :elements].view(container)
        mask = poison[:units, lane, bank, line, :elements]
        return Block(raw, mask if mask.any() else None)

    def _place(self, row: int, lanes: int, flits: int) -> tuple[Ints, Ints, Ints]:
        """Physical lane, bank and row of every [lane, flit]."""
        share = self.lanes // lanes
        lane, flit = np.arange(lanes)[:, None], np.arange(flits)[None, :]
        logical = flit // self.banks
        physical_row = (row + logical // share) % self.rows
        return lane * share + logical % share, flit % self.banks + 0 * lane, physical_row + 0 * lane


@dataclass(slots=True)
class HbmTensor:
    """A tensor in HBM: elements [chip positions, element positions] with their poison."""

    dtype: str
    raw: Raw
    poison: Bits


@dataclass(slots=True)
class Memories:
    """All memories of the machine; HBM by tensor."""

    dm: ByteMemory
    vrf: ByteMemory
    trf: TensorRegisters
    hbm: dict[str, HbmTensor] = field(default_factory=dict)
