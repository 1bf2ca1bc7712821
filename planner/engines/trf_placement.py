"""Where each element of a TRF tensor lies, and what a layout takes of the file (domain: section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.dtypes import DTYPES
from models.graph import REGION_ROWS, region_rows
from models.hardware import Hardware
from planner.engines.shapes import elements_in

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cell:
    """Places of elements, arrays of one shape: lane and bank, the row as its lane sees it, the first bit of the row."""

    lane: Ints
    bank: Ints
    row: Ints
    bit: Ints


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a lane's elements take: flits and rows per bank as the lane sees them, `rows` the physical ones of the file.

    `regions` are the address modes they fit in; `in_half` how many such tensors lie in one half side by side.
    """

    lanes: int
    flits_per_lane: int
    rows_per_bank: int
    rows: int
    banks: int
    total_bytes: int
    regions: tuple[str, ...]
    in_half: int


def elements_per_row(hardware: Hardware, dtype: str) -> int:
    """Elements of a row: what its bits hold at the stored width, of at most its data bytes at the own one."""
    trf = hardware.trf
    return min(trf.row_bits // DTYPES[dtype].trf_bits, elements_in(dtype, trf.row_data_bytes))


def place(hardware: Hardware, dtype: str, lane: Ints, position: Ints, start_row: int = 0) -> Cell:
    """The place of element `position` of `lane`, for a tensor whose first row is `start_row` as its lanes see it.

    Flit f of a lane, a row's worth, lies in bank f % 2, row start + f // 2; element k of it at bit k x stored width.
    """
    lane, position = np.broadcast_arrays(np.asarray(lane, np.int64), np.asarray(position, np.int64))
    flit, k = np.divmod(position, elements_per_row(hardware, dtype))
    banks = hardware.trf.banks
    return Cell(lane, flit % banks, start_row + flit // banks, k * DTYPES[dtype].trf_bits)


def logical_rows(hardware: Hardware, lanes: int) -> int:
    """Rows per bank that each of so many active lanes sees: fewer lanes see the rows of the others."""
    return hardware.trf.rows_per_bank * hardware.geometry.lanes_per_slice // lanes


def footprint(hardware: Hardware, dtype: str, lanes: int, flits: int) -> Footprint:
    """What `flits` of a type in each of `lanes` lanes take."""
    banks = hardware.trf.banks
    per_flit = -(-elements_in(dtype, hardware.geometry.flit_bytes) // elements_per_row(hardware, dtype))
    logical = -(-flits * per_flit // banks)
    rows = -(-logical * lanes // hardware.geometry.lanes_per_slice)
    room = {r: high - low for r in REGION_ROWS for low, high in [region_rows(r, hardware.trf.rows_per_bank)]}
    return Footprint(
        lanes,
        flits,
        logical,
        rows,
        min(flits * per_flit, banks),
        lanes * flits * hardware.geometry.flit_bytes,
        tuple(r for r, limit in room.items() if rows <= limit),
        room["first_half"] // rows if rows else 0,
    )


def settings(found: Footprint) -> dict[str, Any]:
    """The footprint by the names of the case files."""
    return {
        "lanes": found.lanes,
        "flits_per_lane": found.flits_per_lane,
        "rows_per_bank": found.rows_per_bank,
        "rows": found.rows,
        "total_bytes": found.total_bytes,
        "fits_half": found.in_half > 0,
    }
