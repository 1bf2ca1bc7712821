"""The kernel file as data: tensors, operations and the steps of each pass; mapping text stays text here.

Field names follow vISA's method names. Anything set to `auto` is the planner's to choose.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from models.vector_ops import VectorOp

AUTO = "auto"
DEFAULT_CHIP, DEFAULT_CLUSTER, DEFAULT_SLICE = "1", "1 # 2", "1 # 256"

MappingText = str
"""What stands inside `m![ ]`; named layouts are already replaced by their text in brackets."""


class Record(BaseModel):
    """A frozen border model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Tensor(Record):
    """A tensor that lives in HBM before and after the kernel; `pad` is what the host writes into `#` cells."""

    dtype: str
    element: MappingText
    role: Literal["input", "output"] = "input"
    chip: MappingText = DEFAULT_CHIP
    pad: Literal["poison", "0", "-inf", "+inf", "min", "max"] = "poison"


class Tile(Record):
    """A part of a tensor along one digit: positions `start` to `start + length` of `tile`."""

    tensor: str
    tile: MappingText
    length: int = Field(ge=1)
    start: str = "0"
    """A linear expression of loop variables, such as `4 * i`."""


Place = str | Tile


class Fetch(Record):
    """Reads a DM tensor into a stream; slice, cluster or chip are given only for axis lifting."""

    step: Literal["fetch"] = "fetch"
    time: MappingText
    packet: MappingText
    chip: MappingText | None = None
    cluster: MappingText | None = None
    slice: MappingText | None = None


class FetchTableLookup(Record):
    """Decodes by the fixed table of its types."""

    step: Literal["fetch_table_lookup"] = "fetch_table_lookup"
    dtype: str


class FetchCast(Record):
    """Converts each element as it is fetched."""

    step: Literal["fetch_cast"] = "fetch_cast"
    dtype: str


class FetchZeroPointSub(Record):
    """Subtracts a zero point and widens to i5 or i9."""

    step: Literal["fetch_zero_point_sub"] = "fetch_zero_point_sub"
    dtype: str
    zero_point: int


class SwitchConfig(Record):
    """One configuration of the ring; parameters that its kind does not take stay None."""

    kind: Literal[
        "Forwarding",
        "Broadcast01",
        "Broadcast1",
        "Transpose",
        "InterTranspose",
        "TransposedBroadcast1",
        "CustomBroadcast",
    ]
    slice1: int | None = None
    slice0: int | None = None
    time0: int | None = None
    ring_size: int | None = None


class Switch(Record):
    """Moves data between slices. `slice` is None for `switch: auto` (the planner inserts or leaves it out)."""

    step: Literal["switch"] = "switch"
    slice: MappingText | None = None
    time: MappingText = AUTO
    config: SwitchConfig | Literal["auto"] = "auto"


class Collect(Record):
    """Normalises packets to flits; time and packet only state what is expected."""

    step: Literal["collect"] = "collect"
    time: MappingText | None = None
    packet: MappingText | None = None


class ToTrf(Record):
    """Stores the stream into the tensor register file; ends a pass."""

    step: Literal["to_trf"] = "to_trf"
    write: str
    lane: MappingText
    element: MappingText
    region: Literal["auto", "full", "first_half", "second_half"] = "auto"
    via: Literal["auto", "pipeline", "short"] = "auto"


class ToVrf(Record):
    """Stores the stream into the vector register file; ends a pass."""

    step: Literal["to_vrf"] = "to_vrf"
    write: str
    element: MappingText
    via: Literal["auto", "pipeline", "short"] = "auto"


class ContractOuter(Record):
    """Multiplies the stream with a TRF tensor; `operands` with `with: auto` leaves the choice open."""

    step: Literal["contract_outer"] = "contract_outer"
    with_: str = Field(alias="with")
    time: MappingText
    packet: MappingText
    operands: tuple[str, ...] | None = None


class ContractPacket(Record):
    """Sums over the innermost elements of the packet."""

    step: Literal["contract_packet"] = "contract_packet"
    packet: MappingText


class ContractTime(Record):
    """Sums over time; `time` is what survives."""

    step: Literal["contract_time"] = "contract_time"
    time: MappingText


class ContractLane(Record):
    """Folds the lanes into time and packet."""

    step: Literal["contract_lane"] = "contract_lane"
    mode: Literal["auto", "interleaved", "sequential"] = "auto"
    time: MappingText | None = None
    packet: MappingText | None = None


class Vector(Record):
    """The vector engine's chain of ops, in order."""

    step: Literal["vector"] = "vector"
    ops: tuple[VectorOp, ...]


class Cast(Record):
    """Narrows the element type on the Cast Engine; the packet is repadded to one flit."""

    step: Literal["cast"] = "cast"
    dtype: str


class Transpose(Record):
    """Swaps Time and Packet inside a slice."""

    step: Literal["transpose"] = "transpose"
    time: MappingText
    packet: MappingText


class Commit(Record):
    """Trims flits and writes them to DM; ends a pass."""

    step: Literal["commit"] = "commit"
    write: Place
    element: MappingText
    slice: MappingText | None = None
    packet: MappingText | None = None
    cast: str | None = None
    relu: bool = False


Step = Annotated[
    Fetch
    | FetchTableLookup
    | FetchCast
    | FetchZeroPointSub
    | Switch
    | Collect
    | ToTrf
    | ToVrf
    | ContractOuter
    | ContractPacket
    | ContractTime
    | ContractLane
    | Vector
    | Cast
    | Transpose
    | Commit,
    Field(discriminator="step"),
]


class DmaOp(Record):
    """A transfer of the DMA engine. With `element` (cluster, slice) it creates its DM destination."""

    kind: Literal["dma"] = "dma"
    name: str
    read: Place
    write: Place
    chip: MappingText | None = None
    cluster: MappingText | None = None
    slice: MappingText | None = None
    element: MappingText | None = None
    passes: Literal["auto"] | None = None


class ReshapeOp(Record):
    """A relabelling of the same cells; nothing moves and it takes no time. `name` is the new tensor."""

    kind: Literal["reshape"] = "reshape"
    name: str
    of: str
    chip: MappingText | None = None
    cluster: MappingText | None = None
    slice: MappingText | None = None
    lane: MappingText | None = None
    element: MappingText | None = None


class PassOp(Record):
    """One trip through the Tensor Unit."""

    kind: Literal["pass"] = "pass"
    name: str
    read: Place | tuple[Place, ...]
    interleave: str | None = None
    context: Literal["auto", "main", "sub"] = "auto"
    steps: tuple[Step, ...]


class LoopOp(Record):
    """Repeats its operations; `name` is the loop variable, from 0 to count - 1."""

    kind: Literal["loop"] = "loop"
    name: str
    count: int = Field(ge=1)
    ops: tuple[Op, ...]


Op = Annotated[DmaOp | ReshapeOp | PassOp | LoopOp, Field(discriminator="kind")]


class Kernel(Record):
    """A whole kernel, self-contained: every named layout is replaced by its text."""

    kernel: str
    description: str = ""
    hardware: str = "rngd"
    axes: dict[str, int]
    tensors: dict[str, Tensor]
    ops: tuple[Op, ...]


SourcePath = tuple[str | int, ...]


class SourceMap(BaseModel):
    """Where every value of a kernel file stands: path in the model (`("ops", 3, "steps", 0, "time")`) to
    (line, column), both counted from 1; `file` is the path as the user gave it.
    """

    model_config = ConfigDict(frozen=True)

    file: str = ""
    at: dict[Any, tuple[int, int]] = Field(default_factory=dict)

    def position(self, path: SourcePath) -> tuple[int, int]:
        """The place of the value at a path, or of its nearest parent; (0, 0) when nothing is known."""
        for n in range(len(path), -1, -1):
            if path[:n] in self.at:
                return self.at[path[:n]]
        return (0, 0)


LoopOp.model_rebuild()
Kernel.model_rebuild()
