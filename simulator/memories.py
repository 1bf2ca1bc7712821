"""What the chip's memories hold: bytes or elements, and which of them nobody wrote (poison).

What is defined is kept beside the data: in byte memories two bits per byte, one per nibble, so that 4-bit elements
know their own. Memories are allocated up to the plan's high-water mark only.
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

_BOTH_NIBBLES = 0x03


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
    """A byte-addressed memory per unit (data memory, vector registers): shape [groups, slices, bytes].

    `defined` has two bits per byte, one for each nibble. Both arrays start as untouched zero pages, so that a high
    mark costs no time until something is written there.
    """

    def __init__(self, groups: int, slices: int, size_bytes: int, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.data = np.zeros((groups, slices, size_bytes), dtype=np.uint8)
        self.defined = np.zeros((groups, slices, size_bytes), dtype=np.uint8)

    def read(self, address: int, dtype: str, slices: int, walk: Walk) -> Block:
        """Reads a walk in the first `slices` slices of every group: [units, steps of the walk]."""
        if DTYPES[dtype].bits == 4:
            return self._read_nibbles(address, slices, walk)
        raw, defined = self._strided(address, dtype, slices, walk)
        units, steps = raw.shape[0] * raw.shape[1], prod(raw.shape[2:])
        end = address + walk_end(walk) * DTYPES[dtype].bits // 8
        clean = bool((self.defined[:, :slices, address:end] == _BOTH_NIBBLES).all())
        poison = None if clean else (defined != _all_defined(dtype)).reshape(units, steps)
        return Block(raw.reshape(units, steps), poison)

    def write(self, address: int, dtype: str, slices: int, walk: Walk, block: Block) -> None:
        """Writes [units, steps of the walk] along a walk."""
        if DTYPES[dtype].bits == 4:
            self._write_nibbles(address, slices, walk, block)
            return
        raw, defined = self._strided(address, dtype, slices, walk)
        raw[...] = block.raw.reshape(raw.shape)
        if block.poison is None:
            defined[...] = _all_defined(dtype)
        else:
            defined[...] = np.where(block.poison, 0, _all_defined(dtype)).reshape(defined.shape)

    def _grow(self, address: int, end: int) -> None:
        """Makes room for what a walk touches beyond the high-water mark: nobody wrote it.

        Raises:
            ValueError: the walk leaves the memory.

        """
        if address < 0 or end > self.limit_bytes:
            raise ValueError(f"the walk goes from byte {address} to {end} of {self.limit_bytes} in a slice")
        more = end - self.data.shape[2]
        if more > 0:
            pads = ((0, 0), (0, 0), (0, more))
            self.data, self.defined = np.pad(self.data, pads), np.pad(self.defined, pads)

    def _strided(self, address: int, dtype: str, slices: int, walk: Walk) -> tuple[NDArray[Any], NDArray[Any]]:
        """Views of the walk in the data and in what is defined: no copy, whatever it repeats."""
        width = DTYPES[dtype].bits // 8
        self._grow(address, address + walk_end(walk) * width)
        sizes = [size for size, _ in walk]
        strides = [stride * width for _, stride in walk]
        views = []
        for array in (self.data, self.defined):
            base = array[:, :slices, address : address + width].view(CONTAINER[dtype])
            shape, steps = (*base.shape[:2], *sizes), (*base.strides[:2], *strides)
            views.append(as_strided(base, shape, steps))
        return views[0], views[1]

    @staticmethod
    def _halves(taken: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
        """[units, 2 x bytes]: the low part of every byte, then the high part, `bits` each."""
        low = (1 << bits) - 1
        return np.stack([taken & low, taken >> bits], axis=-1).reshape(-1, 2 * taken.shape[2])

    def _nibbles(self, address: int, slices: int, walk: Walk) -> tuple[Any, NDArray[np.int64]]:
        """The bytes that a walk of 4-bit elements touches, and its offsets in nibbles."""
        end = address + -(-walk_end(walk) // 2)
        self._grow(address, end)
        return (slice(None), slice(0, slices), slice(address, end)), walk_offsets(walk)

    def _read_nibbles(self, address: int, slices: int, walk: Walk) -> Block:
        where, offsets = self._nibbles(address, slices, walk)
        mask = self._halves(self.defined[where], 1)[:, offsets] == 0
        return Block(self._halves(self.data[where], 4)[:, offsets], mask if mask.any() else None)

    def _write_nibbles(self, address: int, slices: int, walk: Walk, block: Block) -> None:
        where, offsets = self._nibbles(address, slices, walk)
        raw, mask = self._halves(self.data[where], 4), self._halves(self.defined[where], 1)
        raw[:, offsets] = block.raw & 0x0F
        mask[:, offsets] = 1 if block.poison is None else ~block.poison
        shape = self.data[where].shape
        self.data[where] = (raw[:, 0::2] | (raw[:, 1::2] << 4)).reshape(shape)
        self.defined[where] = (mask[:, 0::2] | (mask[:, 1::2] << 1)).reshape(shape)


def _all_defined(dtype: str) -> np.generic:
    width = DTYPES[dtype].bits // 8
    return CONTAINER[dtype](int.from_bytes(bytes([_BOTH_NIBBLES]) * width, "little"))


_ROW_ELEMENTS = 64
_ROW_CONTAINER: dict[int, type[np.generic]] = {1: np.uint8, 2: np.uint16, 4: np.uint32}


class TensorRegisters:
    """The tensor register file: [units, lanes, banks, rows, a row's elements in their containers].

    A row's 320 bits are held as 64 bytes of wider checked integers, since 5- and 9-bit elements have no numpy type;
    element k of a flit stands in container k. With fewer active lanes a lane sees the rows of its neighbours.
    """

    def __init__(self, units: int, lanes: int, banks: int, rows: int) -> None:
        self.lanes, self.banks, self.rows = lanes, banks, rows
        self.data = np.zeros((units, lanes, banks, rows, _ROW_ELEMENTS), dtype=np.uint8)
        self.defined = np.zeros((units, lanes, banks, rows, _ROW_ELEMENTS), dtype=np.bool_)

    def store(self, row: int, lanes: int, block: Block) -> None:
        """Places flits [units, lanes, flits, elements]: flit f in bank f % 2, logical row f // 2 from `row` on."""
        units, _, flits, elements = block.raw.shape
        lane, bank, line = self._place(row, lanes, flits)
        width = block.raw.dtype.itemsize
        data, defined = self.data.view(_ROW_CONTAINER[width]), self.defined[..., ::width]
        data[:units, lane, bank, line, :elements] = block.raw.view(_ROW_CONTAINER[width])
        defined[:units, lane, bank, line, :elements] = True if block.poison is None else ~block.poison

    def load(self, row: int, lanes: int, flits: int, elements: int, container: type[np.generic], units: int) -> Block:
        """Reads the flits of every lane back: [units, lanes, flits, elements]."""
        lane, bank, line = self._place(row, lanes, flits)
        width = np.dtype(container).itemsize
        data, defined = self.data.view(_ROW_CONTAINER[width]), self.defined[..., ::width]
        raw = data[:units, lane, bank, line, :elements].view(container)
        mask = ~defined[:units, lane, bank, line, :elements]
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
