"""The regular configurations: which parameters they take, which bits they move, what leaves them (seed 001).

Slice is [slice2, slice1, slice0]. The five moving kinds differ in three things only, and stand as a table: the
output Slice, what moves to Time, and how Time is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from models.faults import Finding
from models.hardware import Hardware
from models.kernel import SwitchConfig
from models.layout import Stream
from models.mapping import Broadcast, Mapping, text
from planner.engines.switch_bits import joined, log2, window
from planner.engines.switch_routing import Moved

TAKES: dict[str, tuple[str, ...]] = {
    "Forwarding": (),
    "Broadcast01": ("slice1", "slice0", "time0"),
    "Broadcast1": ("slice1", "slice0"),
    "Transpose": ("slice1", "slice0"),
    "InterTranspose": ("slice1", "slice0", "time0"),
    "TransposedBroadcast1": ("slice1", "slice0"),
    "CustomBroadcast": ("ring_size",),
}
"""Parameters by kind."""
REGULAR = tuple(kind for kind in TAKES if kind != "CustomBroadcast")


Sources = tuple[int | None, ...]
"""The input bit that feeds each output bit, lowest first; None for a broadcast slot or a bit filled from Time."""

_LOW: dict[str, Callable[[int, int], Sources]] = {
    "Forwarding": lambda k1, k0: tuple(range(k0 + k1)),
    "Broadcast01": lambda k1, k0: (None,) * (k0 + k1),
    "Broadcast1": lambda k1, k0: (*range(k0), *(None,) * k1),
    "Transpose": lambda k1, k0: (*range(k0, k0 + k1), *range(k0)),
    "InterTranspose": lambda k1, k0: (*range(k0), *(None,) * k1),
    "TransposedBroadcast1": lambda k1, k0: (*range(k0, k0 + k1), *(None,) * k0),
}
"""Sources inside a sub-ring of 2^(k1 + k0) slices; the bits above are slice2 and stay."""


@lru_cache(maxsize=2048)
def sources(kind: str, k1: int, k0: int, bits: int) -> Sources:
    """Sources of all output bits of a regular configuration with slice1 = 2^k1 and slice0 = 2^k0."""
    return (*_LOW[kind](k1, k0), *range(k0 + k1, bits))


@dataclass(frozen=True, slots=True)
class Shape:
    """What a regular configuration makes of an input; `out_slice` shows slots as numbers, `from_time` is what
    Time gives to Slice.
    """

    sources: Sources
    moved: tuple[Moved, ...]
    out_slice: Mapping
    out_time: Mapping
    from_time: Mapping | None = None
    settings: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The parts of an input for one configuration; `k1` and `k0` are bits of slice1 and slice0."""

    stream: Stream
    k1: int
    k0: int
    time0: int

    @property
    def slice2(self) -> Mapping:
        return window(self.stream.slice, self.ring, self.stream.slice.size // self.ring)

    @property
    def slice1(self) -> Mapping:
        return window(self.stream.slice, 1 << self.k0, 1 << self.k1)

    @property
    def slice0(self) -> Mapping:
        return window(self.stream.slice, 1, 1 << self.k0)

    @property
    def ring(self) -> int:
        return 1 << self.k0 + self.k1

    @property
    def bits(self) -> int:
        return self.stream.slice.size.bit_length() - 1

    def time(self, below: int, size: int) -> Mapping:
        return window(self.stream.time, below, size)

    def moved1(self) -> Moved:
        return Moved(tuple(reversed(range(self.k0, self.k0 + self.k1))), 1 << self.k1)

    def moved0(self) -> Moved:
        return Moved(tuple(reversed(range(self.k0))), 1 << self.k0)

    def sources(self, kind: str) -> Sources:
        return sources(kind, self.k1, self.k0, self.bits)


def _forwarding(cut: _Cut) -> Shape:
    return Shape(cut.sources("Forwarding"), (), cut.stream.slice, cut.stream.time)


def _broadcast01(cut: _Cut) -> Shape:
    time1 = cut.stream.time.size // cut.time0
    out_time = joined(cut.time(cut.time0, time1), cut.slice1, cut.time(1, cut.time0), cut.slice0)
    out_slice = joined(cut.slice2, Broadcast(1 << cut.k1), Broadcast(1 << cut.k0))
    moved = (cut.moved1(), cut.moved0())
    return Shape(cut.sources("Broadcast01"), moved, out_slice, out_time, settings={"time1": time1})


def _broadcast1(cut: _Cut) -> Shape:
    out_slice = joined(cut.slice2, Broadcast(1 << cut.k1), cut.slice0)
    out_time = joined(cut.stream.time, cut.slice1)
    return Shape(cut.sources("Broadcast1"), (cut.moved1(),), out_slice, out_time)


def _transpose(cut: _Cut) -> Shape:
    out_slice = joined(cut.slice2, cut.slice0, cut.slice1)
    return Shape(cut.sources("Transpose"), (), out_slice, cut.stream.time)


def _inter_transpose(cut: _Cut) -> Shape:
    slice1 = 1 << cut.k1
    time1, time2 = cut.time(cut.time0, slice1), cut.stream.time.size // (slice1 * cut.time0)
    out_time = joined(cut.time(cut.time0 * slice1, time2), cut.time(1, cut.time0), cut.slice1)
    out_slice = joined(cut.slice2, time1, cut.slice0)
    settings = {"time1": slice1, "time2": time2}
    return Shape(cut.sources("InterTranspose"), (cut.moved1(),), out_slice, out_time, time1, settings)


def _transposed_broadcast1(cut: _Cut) -> Shape:
    out_slice = joined(cut.slice2, Broadcast(1 << cut.k0), cut.slice1)
    out_time = joined(cut.stream.time, cut.slice0)
    return Shape(cut.sources("TransposedBroadcast1"), (cut.moved0(),), out_slice, out_time)


_MAKE: dict[str, Callable[[_Cut], Shape]] = {
    "Forwarding": _forwarding,
    "Broadcast01": _broadcast01,
    "Broadcast1": _broadcast1,
    "Transpose": _transpose,
    "InterTranspose": _inter_transpose,
    "TransposedBroadcast1": _transposed_broadcast1,
}


def shape(config: SwitchConfig, stream: Stream) -> Shape:
    """What a regular configuration makes of an input; `parameter_findings` has accepted its parameters."""
    k1, k0 = (config.slice1 or 1).bit_length() - 1, (config.slice0 or 1).bit_length() - 1
    return _MAKE[config.kind](_Cut(stream, k1, k0, config.time0 or 1))


def parameter_findings(config: SwitchConfig, stream: Stream, hardware: Hardware) -> list[Finding]:
    """Broken rules about the parameters alone, before any mapping is looked at."""
    given = {n: getattr(config, n) for n in ("slice1", "slice0", "time0", "ring_size")}
    takes = TAKES[config.kind]
    wrong = [n for n, v in given.items() if (v is None) == (n in takes)]
    if wrong:
        return [
            Finding(
                "switch_parameters",
                f"{config.kind} takes {_listed(takes)}; wrong: {_listed(wrong)}",
                _listed([n for n, v in given.items() if v is not None]),
                _listed(takes),
            )
        ]
    if config.kind == "CustomBroadcast":
        return []
    return _group_findings(config, stream) or _time_findings(config, stream, hardware)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "no parameters"


def _group_findings(config: SwitchConfig, stream: Stream) -> list[Finding]:
    out = [
        Finding(
            "switch_parameter_not_power_of_two",
            f"{config.kind}: {name} is {value}, the ring is cut at powers of two",
            str(value),
            "a power of two",
            str(_nearest_power(value, stream.slice.size)),
        )
        for name in ("slice1", "slice0")
        if (value := getattr(config, name)) is not None and log2(value) is None
    ]
    ring = (config.slice1 or 1) * (config.slice0 or 1)
    if not out and stream.slice.size % ring:
        out.append(
            Finding(
                "switch_groups_exceed_slice",
                f"{config.kind}: slice1 * slice0 = {ring} does not divide the {stream.slice.size} slices",
                str(ring),
                f"a divisor of {stream.slice.size}",
                str(stream.slice.size),
            )
        )
    return out


def _nearest_power(value: int, most: int) -> int:
    return min(1 << max(value, 1).bit_length() - 1, most)


def _time_findings(config: SwitchConfig, stream: Stream, hardware: Hardware) -> list[Finding]:
    out: list[Finding] = []
    every = hardware.geometry.slices_per_cluster
    if config.kind == "InterTranspose" and stream.slice.size != every:
        out.append(
            Finding(
                "inter_transpose_needs_all_slices",
                f"InterTranspose spans all {every} slices, `{text(stream.slice)}` has {stream.slice.size}",
                str(stream.slice.size),
                str(every),
            )
        )
    if config.time0 is None:
        return out
    step = config.time0 * (config.slice1 or 1 if config.kind == "InterTranspose" else 1)
    if config.time0 < 1 or stream.time.size % step:
        what = "slice1 * time0" if config.kind == "InterTranspose" else "time0"
        out.append(
            Finding(
                "switch_time_split",
                f"{config.kind}: {what} = {step} does not divide the {stream.time.size} time steps",
                str(step),
                f"a divisor of {stream.time.size}",
                "1",
            )
        )
    return out
