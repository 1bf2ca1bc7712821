"""Element types of the chip and how many bits each takes (domain: geometry, register files)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: `bits` in memory and in packets, `trf_bits` in a TRF row."""

    name: str
    bits: int
    trf_bits: int
    is_float: bool

    def size_bytes(self, elements: int) -> int:
        """Bytes that `elements` packed elements take, rounded up to whole bytes."""
        return -(-elements * self.bits // 8)


# Only integers widen on a store into the TRF: i4 to 5 bits, i8 to 9 (seed 000).
DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        DType("i4", 4, 5, False),
        DType("i5", 5, 5, False),
        DType("i8", 8, 9, False),
        DType("i9", 9, 9, False),
        DType("i16", 16, 16, False),
        DType("i32", 32, 32, False),
        DType("f8e4m3", 8, 8, True),
        DType("f8e5m2", 8, 8, True),
        DType("bf16", 16, 16, True),
        DType("f32", 32, 32, True),
        DType("f4e2m1", 4, 4, True),
    )
}

STAGED_ONLY = frozenset({"i5", "i9"})
"""Types that exist only as staged contraction operands, never in memory."""
