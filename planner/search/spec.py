"""What a search is asked: tensors on named axes, and one contraction of two of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from models.dtypes import DTYPES
from planner.program.operations import Einsum
from planner.search.laws import Place
from planner.search.parts import Part, Parts, whole_axis, written


def bytes_of(dtype: str) -> int:
    """Whole bytes of an element, at least one."""
    return max(1, DTYPES[dtype].bits // 8)


@dataclass(frozen=True, slots=True)
class Named:
    """A tensor on named axes, outermost first as passes read it; `place` is where it lies in HBM.

    `lies` are its axes as they lie in HBM where that is another order: a pass turns it round before it is read.
    """

    name: str
    dtype: str
    axes: tuple[str, ...]
    place: Place | None = None
    lies: tuple[str, ...] | None = None

    @property
    def loaded_axes(self) -> tuple[str, ...]:
        """Its axes as they lie in HBM, and in DM before it is turned round."""
        return self.axes if self.lies is None else self.lies

    @property
    def bytes_per_element(self) -> int:
        """Whole bytes of an element, at least one."""
        return bytes_of(self.dtype)

    def element(self, sizes: dict[str, int]) -> str:
        """The mapping text of all its axes side by side."""
        return written(whole_axis(a, sizes[a]) for a in self.loaded_axes)


@dataclass(frozen=True, slots=True)
class Contraction:
    """`out = einsum(left, right)`: axes of both operands that `out` lacks are summed."""

    name: str
    left: Named
    right: Named
    out: Named
    sizes: dict[str, int] = field(default_factory=dict)

    def batch(self) -> tuple[str, ...]:
        """Axes of both operands and the result."""
        return tuple(a for a in self.out.axes if a in self.left.axes and a in self.right.axes)

    def own(self, operand: Named) -> tuple[str, ...]:
        """Axes of the result that only this operand has."""
        other = self.right if operand.name == self.left.name else self.left
        return tuple(a for a in self.out.axes if a in operand.axes and a not in other.axes)

    def orders(self, operand: Named) -> tuple[Named, ...]:
        """An operand as it lies and, where its summed axes are not innermost, turned so that they are."""
        inner = tuple(a for a in operand.axes if a not in self.out.axes)
        turned = (*(a for a in operand.axes if a not in inner), *inner)
        if turned == operand.axes:
            return (operand,)
        return operand, replace(operand, axes=turned, lies=operand.axes)

    def summed(self) -> tuple[str, ...]:
        """Axes that are summed, in the left operand's order."""
        return tuple(a for a in self.left.axes if a not in self.out.axes)


@dataclass(frozen=True, slots=True)
class DmPlace:
    """A tensor's place in DM as digits; `element` may end in `1 # n` where each value fills a whole write."""

    cluster: Parts
    slice: Parts
    element: Parts

    def place(self) -> Place:
        """The same as mapping text."""
        return Place(written(self.element), written(self.slice), written(self.cluster))


def padded_text(parts: Parts, pad_to: int) -> str:
    """Digits side by side, the innermost one padded to `pad_to` positions."""
    *outer, last = parts or (Part(None, 1, 1, 1),)
    # Merging must not swallow the digit that is padded.
    head = [written(outer)] if outer else []
    tail = str(last) if last.size == pad_to else f"{last} # {pad_to}" if last.size > 1 else f"1 # {pad_to}"
    return ", ".join([*head, tail])


def contraction_of(node: Einsum, sizes: dict[str, int], hbm: dict[str, Place]) -> Contraction:
    """An einsum as the search knows it."""
    left, right, out = (Named(v.name, v.dtype, v.axes, hbm.get(v.name)) for v in (node.left, node.right, node.out))
    return Contraction(node.out.name, left, right, out, sizes)
