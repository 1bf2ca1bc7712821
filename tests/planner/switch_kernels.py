"""Kernels made from cases of the switch: load, one pass with the switch, store, copies along new axes too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from models.mapping import axis_names
from models.parse import parse

Case = dict[str, Any]


def switch_kernel(case: Case, switch: str | None = None) -> str:
    """The text of a kernel whose pass does what a case of a case file states; `switch` replaces the step's mapping."""
    axes: dict[str, int] = case["axes"]
    held = [n for n in axes if n in _names(axes, case["in_slice"], case["in_time"], case["packet"])]
    new = [n for n in axes if n in _names(axes, case["out_slice"]) - set(held)]
    whole, copies = ", ".join(held), ", ".join([*new, *held])
    step = switch or _step(case)
    return "\n".join(
        [
            "kernel: moved",
            f"axes: {{{', '.join(f'{n}: {s}' for n, s in axes.items())}}}",
            "tensors:",
            f'  x: {{dtype: {case["dtype"]}, element: "{whole}"}}',
            f'  y: {{dtype: {case["dtype"]}, element: "{copies}", role: output}}',
            "ops:",
            f'  - {{dma: load, read: x, write: x_dm, slice: "{case["in_slice"]}",'
            f' element: "[{case["in_time"]}], [{case["packet"]}]"}}',
            "  - pass: move",
            "    read: x_dm",
            "    steps:",
            f'      - fetch: {{time: "{case["in_time"]}", packet: "{case["packet"]}"}}',
            f"      - switch: {step}",
            "      - collect",
            f'      - commit: {{write: y_dm, slice: "{case["out_slice"]}",'
            f' element: "[{case["out_time"]}], [{case["packet"]}]"}}',
            "  - {dma: store, read: y_dm, write: y}",
            "",
        ]
    )


def written(directory: Path, case: Case, switch: str | None = None) -> Path:
    """The same as a file."""
    path = directory / "kernel.yaml"
    path.write_text(switch_kernel(case, switch))
    return path


def _step(case: Case) -> str:
    config = ", ".join(f"{name}: {value}" for name, value in case["config"].items())
    return f'{{slice: "{case["out_slice"]}", time: "{case["out_time"]}", config: {{{config}}}}}'


def _names(axes: dict[str, int], *texts: str) -> frozenset[str]:
    return frozenset[str]().union(*(axis_names(parse(t, axes)) for t in texts))


def lifting_kernel(level: str) -> str:
    """A kernel whose units hold copies along a level; each of them fetches a part of its own."""
    copies, part, rest = {"slice": ("A / 4, 4", "A / 4, B % 4", "B / 4")}.get(level, ("2", "B / 32", "B % 32"))
    rows = "A / 4" if level == "slice" else "A"
    held = f'{level}: "{copies}"' + ("" if level == "slice" else ', slice: "A"')
    on_chip = (', chip: "2"', ', chip: "B / 32"') if level == "chip" else ("", "")
    whole = "B % 32" if level == "chip" else "B"
    return f"""
kernel: lifting
axes: {{A: 256, B: 64, C: 32}}
tensors:
  x: {{dtype: i8, element: "{rows}, B, C"{on_chip[0]}}}
  y: {{dtype: i8, element: "{rows}, {whole}, C"{on_chip[1]}, role: output}}
ops:
  - {{dma: load, read: x, write: x_dm, {held}, element: "B, C"}}
  - pass: spread
    read: x_dm
    steps:
      - fetch: {{time: "{rest}", packet: "C", {level}: "{part}"}}
      - collect
      - commit: {{write: y_dm, slice: "{part if level == "slice" else "A"}", element: "{rest}, C"}}
  - {{dma: store, read: y_dm, write: y}}
"""


def bitmap_kernel(*wanted: str) -> str:
    """Passes over one tensor that each take it into a Slice by a custom configuration over all 256 slices."""
    each = range(len(wanted))
    tensors = [f'  y{i}: {{dtype: i8, element: "A, B, C", role: output}}' for i in each]
    loads = [
        f"""
  - pass: move{i}
    read: x_dm
    steps:
      - fetch: {{time: "B", packet: "C"}}
      - switch: {{slice: "{slice_}", time: auto, config: {{kind: CustomBroadcast, ring_size: 256}}}}
      - collect
      - commit: {{write: y{i}_dm, slice: "{slice_}", element: "B, C"}}"""
        for i, slice_ in enumerate(wanted)
    ]
    stores = [f"  - {{dma: store{i}, read: y{i}_dm, write: y{i}}}" for i in each]
    head = [
        "kernel: bitmaps",
        "axes: {A: 256, B: 4, C: 32}",
        "tensors:",
        '  x: {dtype: i8, element: "A, B, C"}',
        *tensors,
        "ops:",
        '  - {dma: load, read: x, write: x_dm, slice: "A", element: "B, C"}',
    ]
    return "\n".join([*head, *(part.lstrip("\n") for part in loads), *stores, ""])


def repeated_kernel(times: int) -> str:
    """Slices that hold copies change places, tile by tile: a custom ring of 32 slices, or a Transpose over 64."""
    tile = 'tile: "B", length: 2, start: "2 * i"'
    return f"""
kernel: repeated
axes: {{A: 4, D: 32, B: {2 * times}, C: 32}}
tensors:
  x: {{dtype: i8, element: "A, D, B, C"}}
  y: {{dtype: i8, element: "A, D, B, C", role: output}}
ops:
  - {{dma: load, read: x, write: x_dm, slice: "A, 2, D", element: "B, C"}}
  - loop: i
    count: {times}
    ops:
      - pass: move
        read: {{tensor: x_dm, {tile}}}
        steps:
          - fetch: {{time: "B = 2", packet: "C"}}
          - switch: {{slice: "A, D, 2", time: auto, config: auto}}
          - collect
          - commit: {{write: {{tensor: y_dm, {tile}}}, slice: "A, D, 2", element: "B, C"}}
  - {{dma: store, read: y_dm, write: y}}
"""
