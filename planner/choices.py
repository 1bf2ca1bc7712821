"""Values of choices that the user fixed or forbade, by `op.field` or `tensor.field`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from models.faults import Fault
from models.graph import Buffer, Edge, Operation
from planner.buffers import Buffers

REGION, BUFFERS = "region", "buffers"
_SOLVER_FIELDS = frozenset({REGION, BUFFERS})


@dataclass(frozen=True, slots=True)
class Choices:
    """`fixed` maps `op.field` to a value, `forbidden` lists (`op.field`, value)."""

    fixed: dict[str, str] = field(default_factory=dict)
    forbidden: tuple[tuple[str, str], ...] = ()

    def of(self, op: str) -> tuple[dict[str, str], frozenset[tuple[str, str]]]:
        """Fixed values by field, and forbidden (field, value), of one operation's own choices."""
        fixed = {k: v for o, k, v in _split(self.fixed.items()) if o == op and k not in _SOLVER_FIELDS}
        forbidden = {(k, v) for o, k, v in _split(self.forbidden) if o == op and k not in _SOLVER_FIELDS}
        return fixed, frozenset(forbidden)

    def regions(self, buffers: tuple[Buffer, ...]) -> tuple[Buffer, ...]:
        """Buffers with the address modes that are left; named by the storing operation or by the tensor."""
        return tuple(replace(b, regions=self._left(b)) if b.regions else b for b in buffers)

    def _left(self, buffer: Buffer) -> tuple[str, ...]:
        names = {buffer.tensor, *(w.partition("[")[0] for w in buffer.writers)}
        only = {v for o, k, v in _split(self.fixed.items()) if k == REGION and o in names}
        never = {v for o, k, v in _split(self.forbidden) if k == REGION and o in names}
        return tuple(r for r in buffer.regions if (not only or r in only) and r not in never)

    def places(self, tensor: str) -> int | None:
        """In how many places the instances of a tensor take turns; None when that is open."""
        for name, key, value in _split(self.fixed.items()):
            if name == tensor and key == BUFFERS and value.isdecimal() and int(value) > 0:
                return int(value)
        return None

    def unknown(self, operations: Iterable[Operation], buffers: Buffers) -> Iterator[Fault]:
        """Faults for names, fields and numbers that do not exist."""
        fields = {f"{op.base}.{f}" for op in operations for m in op.modes for f in m.decisions}
        fields |= {f"{op.base}.{i.decision}" for op in operations for i in op.illegal}
        for draft in buffers:
            fields.add(f"{draft.layout.name}.{BUFFERS}")
            if draft.regions:
                fields |= {f"{w.partition('[')[0]}.{REGION}" for w in draft.writers} | {f"{draft.layout.name}.{REGION}"}
        for path in [*self.fixed, *(p for p, _ in self.forbidden)]:
            if path not in fields:
                near = get_close_matches(path, sorted(fields), 1)
                yield Fault(
                    rule="unknown_choice",
                    message=f"`{path}` is no choice of this kernel",
                    found=path,
                    wanted="one of " + ", ".join(sorted(fields)),
                    nearest=near[0] if near else "",
                )


def in_place_edges(buffers: Iterable[Buffer], choices: Choices) -> Iterator[Edge]:
    """When instances of a tensor take turns in n places, instance i + n is stored after the last use of instance i."""
    by_tensor: dict[str, list[Buffer]] = {}
    for buffer in buffers:
        by_tensor.setdefault(buffer.tensor, []).append(buffer)
    for tensor, instances in by_tensor.items():
        places = choices.places(tensor)
        if places is None:
            continue
        for old, new in zip(instances, instances[places:], strict=False):
            for user in dict.fromkeys((*old.readers, *old.writers)):
                yield from (Edge(user, writer, "war", new.name) for writer in new.writers)


def _split(items: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    for path, value in items:
        name, _, key = path.rpartition(".")
        yield name, key, value
