"""Random legal kernels: transposes of all element sizes, reductions of a padded axis over Slice, Time and Packet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SLICES = 64
DTYPES = {"i4": 4, "i8": 8, "f8e4m3": 8, "f8e5m2": 8, "i16": 16, "bf16": 16, "i32": 32, "f32": 32}
VALID = {4: (16,), 8: (8, 16), 16: (8, 16), 32: (8,)}
MOST_ROWS = {4: 16, 8: 8, 16: 4, 32: 2}
COLUMNS = {4: (16, 32), 8: (8, 16, 32), 16: (8, 16, 32), 32: (8, 16, 32)}


@dataclass(frozen=True)
class Turned:
    """A transpose of [B, C, D] x E into [B, D, E] x C, with E elements of a packet live."""

    text: str
    valid: int
    rows: int
    columns: int
    out_rows: int
    iterations: int
    packets: int


@dataclass(frozen=True)
class Turn:
    """A pass that turns [B, C, D] x E round, as mapping texts; `commit` is what its last step says besides."""

    outer: tuple[str, str, str]
    fetched: str
    collected: str
    behind: str
    packet: str
    column: str
    commit: str = ""

    def kernel(self, dtype: str, axes: str) -> str:
        """The kernel file: 64 slices, one pass between a load and a store."""
        b, c, d = self.outer
        read, turned = f"{b}, {c}, {d}", f"{b}, {d}, {self.behind}"
        return f"""
kernel: turned
axes: {{P: {SLICES}, {axes}}}
tensors:
  x: {{dtype: {dtype}, element: "P, {read}, {self.fetched}"}}
  y: {{dtype: {dtype}, element: "P, {turned}, {self.column}", role: output}}
ops:
  - {{dma: load, read: x, write: x_dm, slice: P, element: "{read}, {self.fetched}"}}
  - pass: turn
    read: x_dm
    steps:
      - fetch: {{time: "{read}", packet: "{self.fetched}"}}
      - collect: {{packet: "{self.collected}"}}
      - transpose: {{time: "{turned}", packet: "{self.packet}"}}
      - commit: {{write: y_dm, element: "{turned}, {self.column}"{self.commit}}}
  - {{dma: store, read: y_dm, write: y}}
"""


def transpose_kernel(rng: np.random.Generator) -> Turned:
    """Any matrix of the table: live elements of a packet, packets of a row, rows, matrices."""
    dtype = str(rng.choice(list(DTYPES)))
    bits = DTYPES[dtype]
    valid = int(rng.choice(VALID[bits]))
    single = valid == min(VALID[bits])
    live = int(rng.integers(2 if single else valid // 2 + 1, valid + 1))
    packets = int(rng.choice([c // valid for c in COLUMNS[bits] if c >= valid and c % valid == 0]))
    rows, iterations = int(rng.integers(1, MOST_ROWS[bits] + 1)), int(rng.integers(1, 5))
    flit = 256 // bits
    source = f"E # {valid}" if live < valid else "E"
    padded = f"{source} # {flit}" if valid < flit else source
    behind = source if packets > 1 else "E"
    out_rows = valid * packets if packets > 1 else live
    stored = max(8 * 8 // bits, 1)
    wide = -(-rows // stored) * stored
    column = f"C # {wide}" if wide > rows else "C"
    packet = f"C # {flit}" if rows < flit else "C"
    axes = f"B: {iterations}, C: {rows}, D: {packets}, E: {live}"
    moved = Turn(("B", "C", "D"), source, padded, behind, packet, column, f', packet: "{column}"')
    text = moved.kernel(dtype, axes)
    return Turned(text, valid, rows, valid * packets, out_rows, iterations, packets)


def padded_transpose_kernel(rng: np.random.Generator) -> str:
    """A transpose of [B, C, D] x E with padding in every axis, down to axes of one element; the trim is left out."""
    dtype = str(rng.choice(["i4", "i8", "bf16", "f32"]))
    bits = DTYPES[dtype]
    flit, valid, stored = 256 // bits, VALID[bits][0], 64 // bits
    matrices, _ = _padded(rng, "B", int(rng.integers(1, 4)), (0, 1, 2))
    column, rows = _padded(rng, "C", int(rng.integers(1, 3)), (0, 1) if MOST_ROWS[bits] > 2 else (0,))
    packets, _ = _padded(rng, "D", 1, (0, 1) if bits > 4 else (0,))
    live = int(rng.choice([1, 1, 2, valid]))
    source = "E" if live == valid else f"E # {valid}"
    (b, b_size), (c, c_size), (d, d_size) = matrices, column, packets
    wide = -(-rows // stored) * stored
    kept = c if wide == rows else f"{c} # {wide}"
    axes = f"B: {b_size}, C: {c_size}, D: {d_size}, E: {live}"
    collected = source if valid == flit else f"{source} # {flit}"
    return Turn((b, c, d), source, collected, source, f"{c} # {flit}", kept).kernel(dtype, axes)


def _padded(rng: np.random.Generator, name: str, size: int, more: tuple[int, ...]) -> tuple[tuple[str, int], int]:
    """An axis with a few positions of padding: its text and size, and its positions."""
    padded = size + int(rng.choice(more))
    return (name if padded == size else f"{name} # {padded}", size), padded


@dataclass(frozen=True)
class Reduced:
    """A reduction of R, `size` of `padded` positions live; digits are (level, stride, size)."""

    text: str
    size: int
    padded: int
    digits: tuple[tuple[str, int, int], ...]


OPS = {"i32": ("AddSat", "Max", "Min"), "f32": ("Add", "Max", "Min")}


def pad_of(op: str, dtype: str) -> str:
    """What the host writes so that padding changes nothing."""
    if op in ("Add", "AddSat"):
        return "0"
    if dtype == "i32":
        return "min" if op == "Max" else "max"
    return "-inf" if op == "Max" else "+inf"


def reduce_kernel(rng: np.random.Generator, *, identity: bool = False, sparse: bool = False) -> Reduced:
    """R in up to one digit of Slice, two of Time, one of Packet, in any order of strides; A beside it in Time.

    With `identity` the host fills padding so that it changes nothing; else nobody knows what padding holds. With
    `sparse` most of R is padding, so that whole digits hold nothing, down to an R of one element.
    """
    dtype = str(rng.choice(list(OPS)))
    op = str(rng.choice(OPS[dtype]))
    lanes = int(rng.choice([1, 1, 4, 4, 8] if identity else [1, 1, 2, 4, 8]))  # collect pads 2 lanes with nothing known
    digits = [("packet", 1, lanes)] if lanes > 1 else []
    stride = lanes
    rest = [("time", int(rng.integers(2, 6))), ("slice", int(rng.choice([1, 2, 4, 8, 64])))]
    rest.append(("time", int(rng.integers(1, 4))))
    for i in rng.permutation(len(rest)):
        level, size = rest[int(i)]
        if size > 1:
            digits.append((level, stride, size))
            stride *= size
    padded = stride
    size = int(rng.integers(padded // 2 + 1, padded + (not identity)))
    if sparse:
        size = min(padded, int(rng.choice([1, 1, 2, 3, max(1, padded // 4), max(1, padded // 2)])))
    pad = pad_of(op, dtype) if identity else "poison"
    return Reduced(_reduce_text(rng, (dtype, op, pad), size, padded, digits), size, padded, tuple(digits))


def _reduce_text(
    rng: np.random.Generator, what: tuple[str, str, str], size: int, padded: int, digits: list[tuple[str, int, int]]
) -> str:
    dtype, op, pad = what
    whole = "R" if size == padded else f"R # {padded}"

    def term(stride: int, count: int) -> str:
        text = whole if stride == 1 else f"{whole} / {stride}"
        return text if stride * count == padded else f"{text} % {count}"

    ordered = sorted(digits, key=lambda d: -d[1])
    slices = [term(n, count) for level, n, count in ordered if level == "slice"]
    units = int(np.prod([count for level, _, count in digits if level == "slice"], initial=1))
    slices += [f"P # {SLICES // units}"] if units < SLICES else []
    time = [term(n, count) for level, n, count in ordered if level == "time"]
    held = ", ".join(["A", *time])
    rng.shuffle(time)
    time.insert(int(rng.integers(0, len(time) + 1)), "A")
    lanes = next((count for level, _, count in digits if level == "packet"), 0)
    packet, ops, tail = _ways(rng, op, lanes, term(1, lanes) if lanes else "", ", ".join(time), padded)
    kept, stored = ", ".join(slices), f"A, {tail}"
    return f"""
kernel: reduced
axes: {{R: {size}, A: 3, Q: {8 if "Q / 4" in ops else 4}, P: 3}}
tensors:
  x: {{dtype: {dtype}, element: "{kept}, {held}, {packet}", pad: "{pad}"}}
  s: {{dtype: {dtype}, element: "{kept}, {stored}", role: output}}
ops:
  - {{dma: load, read: x, write: x_dm, slice: "{kept}", element: "{held}, {packet}"}}
  - pass: fold
    read: x_dm
    steps:
      - fetch: {{time: "{", ".join(time)}", packet: "{packet}"}}
      - collect
      - vector:
          - {{tag: zero}}
{ops}
      - commit: {{write: s_dm, element: "{stored}"}}
  - {{dma: store, read: s_dm, write: s}}
"""


def _ways(rng: np.random.Generator, op: str, lanes: int, digit: str, time: str, padded: int) -> tuple[str, str, str]:
    """The packet, the ops from narrow to widen, what a result's packet is."""
    reduce = f"intra_slice_reduce: {{axis: R, op: {op}"
    if lanes == 8:
        inner = digit.removesuffix(" % 8")
        upper = f"{inner} / 4 % 2" if padded > 8 else f"{inner} / 4"
        split = f'{{narrow_split: {{time: "{time}, {upper}", packet: "{inner} % 4"}}}}'
        lines = [split, f'{{{reduce}, time: "A", packet: "1 # 4"}}}}', '{widen_pad: "1 # 8"}']
        packet, tail = digit, "1 # 2"
    elif lanes:
        narrow = digit if lanes == 4 else f"{digit} # 4"
        lines = [f'{{narrow_trim: "{narrow}"}}', f'{{{reduce}, time: "A", packet: "1 # 4"}}}}', '{widen_pad: "1 # 8"}']
        packet, tail = digit, "1 # 2"
    elif rng.random() < 0.5:
        split = f'{{narrow_split: {{time: "{time}, Q / 4", packet: "Q % 4"}}}}'
        joined = '{widen_concat: {time: "A", packet: "Q"}}'
        lines = [split, f'{{{reduce}, time: "A, Q / 4", packet: "Q % 4"}}}}', joined]
        packet, tail = "Q", "Q"
    else:
        lines = ['{narrow_trim: "Q"}', f'{{{reduce}, time: "A", packet: "Q"}}}}', '{widen_pad: "Q # 8"}']
        packet, tail = "Q", "Q"
    return packet, "\n".join(f"          - {line}" for line in lines), tail
