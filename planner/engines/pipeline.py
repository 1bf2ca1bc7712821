"""The pipeline as a whole: which step may follow which, in which context, and what a pass holds (domain: section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from models.faults import Finding
from models.graph import DMA, MAIN, SUB, VECTOR
from models.hardware import Hardware
from models.layout import TensorLayout
from models.mapping import Mapping, text

STORES = ("to_trf", "to_vrf", "commit")
_AFTER_COLLECT = ("to_trf", "to_vrf", "contract_outer", "cast", "transpose", "vector", "commit")

NEXT: dict[str, tuple[str, ...]] = {
    "fetch": ("fetch_table_lookup", "fetch_cast", "fetch_zero_point_sub", "switch", "collect"),
    "fetch_table_lookup": ("fetch_cast", "fetch_zero_point_sub", "switch", "collect"),
    "fetch_cast": ("fetch_zero_point_sub", "switch", "collect"),
    "fetch_zero_point_sub": ("switch", "collect"),
    "switch": ("collect",),
    "collect": _AFTER_COLLECT,
    "contract_outer": ("contract_packet",),
    "contract_packet": ("contract_time",),
    "contract_time": ("contract_lane",),
    "contract_lane": ("cast", "transpose", "vector", "commit"),
    "vector": ("cast", "transpose", "to_vrf", "commit"),
    "cast": ("transpose", "commit"),
    "transpose": ("commit",),
    "to_trf": (),
    "to_vrf": (),
    "commit": (),
}
"""Steps that may follow each step; nothing else is legal."""

MAIN_ONLY = frozenset({"fetch_table_lookup", "contract_outer", "contract_packet", "contract_time", "contract_lane"})
"""Steps of the main context; the commit cast is one more (`sub_commit_cast`)."""


def order(steps: Sequence[str]) -> list[tuple[int, Finding]]:
    """Steps that stand where they must not, with their index."""
    out: list[tuple[int, Finding]] = []
    if steps and steps[0] != "fetch":
        out.append((0, _illegal("the start of a pass", steps[0], ("fetch",))))
    for i, (before, after) in enumerate(pairwise(steps)):
        if after not in NEXT[before]:
            out.append((i + 1, _illegal(before, after, NEXT[before])))
    if not steps or steps[-1] not in STORES:
        last = steps[-1] if steps else "nothing"
        wanted = " or ".join(STORES)
        message = f"the pass ends in {last}, its result is stored nowhere"
        out.append((max(len(steps) - 1, 0), Finding("pass_without_store", message, last, wanted, "commit")))
    return out + _zero_points(steps)


def _illegal(before: str, after: str, legal: Sequence[str]) -> Finding:
    wanted = ", ".join(legal) or "nothing: the pass ends there"
    return Finding("illegal_next_step", f"{after} cannot follow {before}", after, wanted, legal[-1] if legal else "")


def _zero_points(steps: Sequence[str]) -> list[tuple[int, Finding]]:
    """Behind a zero-point subtraction only a contraction may follow the collect."""
    if "fetch_zero_point_sub" not in steps or "contract_outer" in steps:
        return []
    i = list(steps).index("fetch_zero_point_sub")
    after = [s for s in steps[i + 1 :] if s not in ("switch", "collect")]
    found = after[0] if after else "nothing"
    message = f"i5 and i9 exist only as operands of a contraction, {found} follows the zero-point subtraction"
    return [(i, Finding("zero_point_without_contraction", message, found, "contract_outer", "contract_outer"))]


def in_context(context: str, step: str, *, commit_cast: bool = False) -> Finding | None:
    """What the sub context cannot do."""
    if context == MAIN:
        return None
    if step in MAIN_ONLY:
        return Finding("sub_context_step", f"{step} runs in the main context only", context, MAIN, MAIN)
    if commit_cast:
        return Finding("sub_commit_cast", "a commit cast runs in the main context only", context, MAIN, "cast")
    return None


def holds(context: str, steps: Sequence[str]) -> frozenset[str]:
    """The resources a pass occupies: its context, the Vector Engine, Sub for a VRF store from Main."""
    uses_vector = "vector" in steps or "cast" in steps
    if "to_vrf" in steps:
        if context == MAIN:
            # nothing of Main or Sub can run beside it, and compiled schedules do not list the Vector Engine here
            return frozenset({MAIN, SUB})
        return frozenset({SUB, VECTOR}) if uses_vector else frozenset({SUB})
    return frozenset({context, VECTOR}) if uses_vector else frozenset({context})


def starved(hardware: Hardware, *bank_runs: int) -> frozenset[str]:
    """DMA as well, where a sequencer hits one DM bank too often in a row."""
    return frozenset({DMA}) if max(bank_runs, default=0) >= hardware.dm.starvation_accesses else frozenset()


def geometry(hardware: Hardware, tensor: TensorLayout) -> list[Finding]:
    """Slice has 64, 128 or 256 positions, Cluster 1 or 2."""
    unit = hardware.geometry
    slices = [n for n in range(unit.min_slices, unit.slices_per_cluster + 1) if unit.slices_per_cluster % n == 0]
    clusters = list(range(1, unit.clusters_per_chip + 1))
    return [
        *_sized("slice_count", "Slice", tensor.slice, slices),
        *_sized("cluster_count", "Cluster", tensor.cluster, clusters),
    ]


def _sized(rule: str, level: str, e: Mapping, legal: Sequence[int]) -> list[Finding]:
    if e.size in legal:
        return []
    wanted = ", ".join(map(str, legal))
    near = next((n for n in legal if n > e.size), None)
    return [
        Finding(
            rule,
            f"{level} `{text(e)}` has size {e.size}, must be one of {wanted}",
            str(e.size),
            f"one of {wanted}",
            f"`{text(e)} # {near}`" if near else "",
        )
    ]
