"""One window as a model of its own: its items are free, and the block behind it is to move as early as it can."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ortools.sat.python import cp_model

from models.graph import RESOURCES
from solver.variables import Expr
from solver.windows.frame import Stretch


@dataclass(slots=True)
class Window:
    """Items in positions [low, high) of an order; `shift` (at most 0) is how far the block behind moves."""

    at: Stretch
    low: int
    high: int
    cp: cp_model.CpModel = field(default_factory=cp_model.CpModel)
    starts: dict[int, cp_model.IntVar] = field(default_factory=dict)
    ends: dict[int, Expr] = field(default_factory=dict)
    chosen: dict[int, list[cp_model.IntVar]] = field(default_factory=dict)
    on: list[list[cp_model.IntervalVar]] = field(default_factory=lambda: [[] for _ in RESOURCES])
    heads: dict[int, int] = field(default_factory=dict)
    deadlines: dict[int, int] = field(default_factory=dict)

    @property
    def items(self) -> list[int]:
        """The items of the window in the order they have."""
        return self.at.order[self.low : self.high]

    def least_shift(self) -> int:
        """A bound from every resource alone: it serves its items one after the other; 0 means nothing can be won."""
        heads, tails = self.at.resource_heads(), self.at.resource_tails(self.high)
        out = heads[0] - self.at.last
        for resource in range(len(RESOURCES)):
            mine = [i for i in self.items if all(resource in w.holds for w in self.at.board.ways[i])]
            if mine:
                work = sum(min(w.cycles for w in self.at.board.ways[i]) for i in mine)
                start = max(heads[resource], min(self.at.head(i, self.low) for i in mine))
                stop = min(tails[resource], max(self.at.deadline(i, self.high) for i in mine))
                out = max(out, start + work - stop)
        return min(out, 0)


def build(window: Window, least: int) -> cp_model.IntVar:
    """Fills the model of a window; returns the variable of the shift, from `least` to 0."""
    shift = window.cp.new_int_var(least, 0, "shift")
    heads, tails = window.at.resource_heads(), window.at.resource_tails(window.high)
    for item in window.items:
        _item(window, item, shift, heads, tails)
    for item in window.items:
        for other, lag in window.at.board.after[item]:
            if other in window.starts:
                window.cp.add(window.ends[item] + lag <= window.starts[other])
    for intervals in window.on:
        window.cp.add_no_overlap(intervals)
    _memories(window, shift, least)
    window.cp.minimize(shift)
    return shift


def _item(window: Window, item: int, shift: cp_model.IntVar, heads: list[int], tails: list[int]) -> None:
    at, cp = window.at, window.cp
    ways = at.board.ways[item]
    head, deadline = at.head(item, window.low), at.deadline(item, window.high)
    head = max(head, min(max((heads[r] for r in w.holds), default=0) for w in ways))
    deadline = min(deadline, max(min((tails[r] for r in w.holds), default=at.last) for w in ways))
    window.heads[item], window.deadlines[item] = head, deadline
    start = cp.new_int_var(head, max(head, deadline - min(w.cycles for w in ways)), "")
    window.starts[item] = start
    cp.add_hint(start, at.starts[item])
    window.chosen[item], window.ends[item] = [], start + ways[0].cycles
    if len(ways) > 1:
        _choice(window, item, shift, heads, tails)
    else:
        for r in ways[0].holds:
            window.on[r].append(cp.new_interval_var(start, ways[0].cycles, start + ways[0].cycles, ""))
    cp.add(window.ends[item] <= deadline + shift)


def _choice(window: Window, item: int, shift: cp_model.IntVar, heads: list[int], tails: list[int]) -> None:
    """One of several ways: an end of its own, and resources that only the chosen way holds."""
    at, cp, start = window.at, window.cp, window.starts[item]
    ways, now = at.board.ways[item], at.chosen[item]
    longest = max(w.cycles for w in ways)
    end = cp.new_int_var(window.heads[item], window.deadlines[item] + longest, "")
    cp.add_hint(end, at.ends[item])
    literals = [cp.new_bool_var("") for _ in ways]
    cp.add_exactly_one(literals)
    for k, (way, literal) in enumerate(zip(ways, literals, strict=True)):
        cp.add_hint(literal, int(k == now))
        cp.add(end == start + way.cycles).only_enforce_if(literal)
        for r in way.holds:
            window.on[r].append(cp.new_optional_interval_var(start, way.cycles, start + way.cycles, literal, ""))
            cp.add(start >= heads[r]).only_enforce_if(literal)
            cp.add(start + way.cycles <= tails[r] + shift).only_enforce_if(literal)
    window.chosen[item], window.ends[item] = literals, end


def _memories(window: Window, shift: cp_model.IntVar, least: int) -> None:
    room = window.at.board.room
    lives: list[list[tuple[cp_model.IntervalVar, int]]] = [[] for _ in room]
    opens = min(window.heads.values())
    closes = max(window.deadlines.values()) - least
    for place in window.at.places(window.items, opens, closes):
        interval = _life(window, place, opens, shift)
        for counter, amount in window.at.board.demands[place]:
            lives[counter].append((interval, amount))
    for capacity, mine in zip(room, lives, strict=True):
        if sum(amount for _, amount in mine) > capacity:
            window.cp.add_cumulative([i for i, _ in mine], [a for _, a in mine], capacity)


def _life(window: Window, place: int, opens: int, shift: cp_model.IntVar) -> cp_model.IntervalVar:
    """From the first user's start to the last one's end, each before, in or behind the window."""
    at, cp, users = window.at, window.cp, window.at.board.users[place]
    inside = [u for u in users if u in window.starts]
    before = [u for u in users if at.position[u] < window.low]
    behind = [u for u in users if at.position[u] >= window.high]
    if len(before) == len(users):
        return cp.new_fixed_size_interval_var(opens, max(at.ends[u] for u in before) - opens, "")
    birth: Expr = opens
    born = opens if before else min([*(at.starts[u] for u in inside), *(at.late_start(u) for u in behind)])
    if not before:
        birth = _least(window, inside) if inside else min(at.late_start(u) for u in behind) + shift
    ends: list[Expr] = [window.ends[u] for u in _ending(window, inside)]
    if behind:
        ends.append(max(at.late_end(u) for u in behind) + shift)
    dead = max([*(at.ends[u] for u in inside), *(at.late_end(u) for u in behind)])
    death = ends[0]
    if len(ends) > 1:
        death = cp.new_int_var(opens, at.last, "")
        cp.add_hint(death, dead)
        for some in ends:
            cp.add(death >= some)
    size = cp.new_int_var(0, at.last - opens, "")
    cp.add_hint(size, dead - born)
    return cp.new_interval_var(birth, size, death, "")


def _least(window: Window, inside: list[int]) -> Expr:
    """The start of whichever of the users that none of them precedes starts first."""
    begin = [u for u in inside if not any(o in inside for o, _ in window.at.board.before[u])]
    if len(begin) == 1:
        return window.starts[begin[0]]
    birth = window.cp.new_int_var(0, window.at.last, "")
    window.cp.add_hint(birth, min(window.at.starts[u] for u in begin))
    for user in begin:
        window.cp.add(birth <= window.starts[user])
    return birth


def _ending(window: Window, inside: Iterable[int]) -> list[int]:
    """Users that no other one follows."""
    inside = list(inside)
    return [u for u in inside if not any(o in inside for o, _ in window.at.board.after[u])]
