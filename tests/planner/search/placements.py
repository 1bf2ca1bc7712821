"""Kernels from templates for every placement of the digits of small problems; nothing here comes from the planner.

A digit is (axis, stride, size). Kernels are lists of operations as a kernel file has them; many break a rule.
"""

from itertools import permutations, product

SLICES, FLIT_BYTES, WRITE_BYTES = 256, 32, 8


def digits(axis, *sizes):
    """An axis cut into digits, outermost first."""
    out, stride = [], 1
    for size in reversed(sizes):
        out.append((axis, stride, size))
        stride *= size
    return out[::-1]


def text(listed, sizes):
    """Mapping text of digits; neighbours that read on are one."""
    runs = []
    for axis, stride, size in listed:
        if runs and runs[-1][0] == axis and runs[-1][1] == stride * size:
            runs[-1] = (axis, stride, runs[-1][2] * size)
        else:
            runs.append((axis, stride, size))
    return ", ".join(_digit(*run, sizes) for run in runs) or "1"


def _digit(axis, stride, size, sizes):
    out = axis if stride == 1 else f"{axis} / {stride}"
    return out if stride * size == sizes[axis] else f"{out} % {size}"


def together(*texts):
    """Mappings side by side, those of one position left out."""
    return ", ".join(t for t in texts if t not in ("1", "1 # 1")) or "1"


def count(listed):
    """Positions of some digits."""
    out = 1
    for _, _, size in listed:
        out *= size
    return out


def inner_of(listed, size):
    """The innermost digits that have exactly `size` positions, None where no cut does."""
    n = len(listed)
    while n >= 0 and count(listed[n:]) < size:
        n -= 1
    return listed[n:] if n >= 0 and count(listed[n:]) == size else None


def placements(every, levels):
    """Each way to give every digit a level, as digits by level."""
    for chosen in product(levels, repeat=len(every)):
        yield {level: [d for d, c in zip(every, chosen, strict=True) if c == level] for level in levels}


def slice_forms(at, folded_axes):
    """Orders of the digits in Slice with those of folded axes innermost, and the side on which empty slices stand."""
    kept = [d for d in at["slice"] if d[0] not in folded_axes]
    folded = [d for d in at["slice"] if d[0] in folded_axes]
    if count(kept) * count(folded) <= SLICES:
        for order, outside in product(permutations(kept), (True, False)):
            yield Slices(list(order), folded, outside)


class Slices:
    """A Slice: digits that stay, digits that the ring folds, empty positions outside of the former or inside."""

    def __init__(self, kept, folded, outside):
        self.kept, self.folded, self.outside = kept, folded, outside
        self.empty = f"1 # {SLICES // count(kept) // count(folded)}"

    def written(self, sizes, kept, folded):
        around = (self.empty, kept) if self.outside else (kept, self.empty)
        return together(*around, folded or text(self.folded, sizes))

    def before(self, sizes):
        return self.written(sizes, text(self.kept, sizes), None)

    def after(self, sizes):
        """Behind a fold: the sum stands in the first slice of each group."""
        return self.written(sizes, text(self.kept, sizes), f"1 # {count(self.folded)}")

    def gathered(self, sizes, stay, moved):
        """With the innermost digits that stay moved to Time."""
        return self.written(sizes, together(text(stay, sizes), f"1 # {count(moved)}"), f"1 # {count(self.folded)}")


def endings(sizes, where, steps, result, element, out):
    """A pass that leaves `result` (digits in Time) as single values, with every way to store it.

    `element` is the order of the result's digits in HBM; `out` names the tensor and gives the bytes of a value.
    """
    name, size_bytes = out
    group = WRITE_BYTES // size_bytes
    ordered = [d for d in element if d in result]
    store = {"dma": "store", "read": "out_dm", "write": name}
    single = {"commit": {"write": "out_dm", "element": together(text(ordered, sizes), f"1 # {group}")}}
    yield [*steps, single], [store]
    inner = inner_of(result, group)
    if inner and ordered[-len(inner) :] == inner:
        commit = {"commit": {"write": "out_dm", "element": text(ordered, sizes)}}
        yield [*steps, _packed(sizes, result, inner, size_bytes), commit], [store]
    for n in range(1, len(where.kept) + 1):
        stay, moved = where.kept[:-n], where.kept[-n:]
        inner = inner_of(moved, group)
        whole = [d for d in element if d in result or d in moved]
        if inner and whole[-len(inner) :] == inner:
            yield [*steps, single], _gather(sizes, where, (stay, moved, inner), (ordered, whole), out)


def _packed(sizes, time, inner, size_bytes):
    left = text(time[: len(time) - len(inner)], sizes)
    return {"transpose": {"time": left, "packet": f"{text(inner, sizes)} # {FLIT_BYTES // size_bytes}"}}


def _gather(sizes, where, cut, orders, out):
    (stay, moved, inner), (ordered, whole), (name, size_bytes) = cut, orders, out
    slice_ = where.gathered(sizes, stay, moved)
    time = [*ordered, *moved]
    steps = [
        {"fetch": {"time": text(ordered, sizes), "packet": f"1 # {WRITE_BYTES // size_bytes}"}},
        {"switch": {"slice": slice_, "time": text(time, sizes)}},
        "collect",
        _packed(sizes, time, inner, size_bytes),
        {"commit": {"write": "moved", "slice": slice_, "element": text(whole, sizes)}},
    ]
    return [{"pass": "move", "read": "out_dm", "steps": steps}, {"dma": "store", "read": "moved", "write": name}]


# Problems ---------------------------------------------------------------------------------------------------


def sums(rows, columns, size_bytes):
    """Kernels for s[R] = sum over C of x[R, C]."""
    every = [*rows, *columns]
    sizes = {"R": count(rows), "C": count(columns)}
    for at in placements(every, ("cluster", "slice", "time", "packet")):
        if any(d[0] == "C" for d in at["cluster"]) or count(at["cluster"]) not in (1, 2) or count(at["packet"]) != 4:
            continue
        for where in slice_forms(at, {"C"}):
            yield from _sum(sizes, every, at, where, size_bytes)


def _sum(sizes, every, at, where, size_bytes):
    cluster = text(at["cluster"], sizes) if at["cluster"] else "1 # 2"
    held = [d for d in every if d in at["time"] or d in at["packet"]]
    rows = [d for d in at["time"] if d[0] == "R"]
    columns = [d for d in at["time"] if d[0] == "C"]
    packet = text(at["packet"], sizes)
    inside = any(d[0] == "C" for d in at["packet"])
    ends = "1 # 4" if inside else packet
    vector = [{"tag": "zero"}, {"narrow_trim": packet}]
    if inside or columns:
        vector.append({"intra_slice_reduce": {"axis": "C", "op": "Add", "time": text(rows, sizes), "packet": ends}})
    vector.append({"widen_pad": "1 # 8" if inside else f"{ends} # 8"})
    if where.folded:
        fold = {"op": "Add", "slice": where.after(sizes), "time": text(rows, sizes)}
        vector.append({"inter_slice_reduce": fold})
    steps = [
        {"fetch": {"time": text([*rows, *columns], sizes), "packet": packet}},
        {"fetch_cast": "f32"},
        "collect",
        {"vector": vector},
        *([{"cast": "bf16"}] if size_bytes == 2 else []),
    ]
    load = {"dma": "load", "read": "x", "write": "x_dm", "cluster": cluster}
    load |= {"slice": where.before(sizes), "element": text(held, sizes)}
    if inside:
        for made, after in endings(sizes, where, steps, rows, [d for d in every if d[0] == "R"], ("s", size_bytes)):
            yield [load, {"pass": "sum", "read": "x_dm", "steps": made}, *after]
    else:
        element = text([d for d in held if d[0] == "R"], sizes)
        made = [*steps, {"commit": {"write": "out_dm", "element": element}}]
        yield [load, {"pass": "sum", "read": "x_dm", "steps": made}, {"dma": "store", "read": "out_dm", "write": "s"}]
