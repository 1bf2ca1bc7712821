"""Options that several commands take, and how their texts are read."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Kernel = Annotated[Path, typer.Argument(metavar="KERNEL", help="Kernel file.", show_default=False)]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="hardware.PATH=VALUE", help="Another number of the hardware; repeatable."),
]
Axis = Annotated[
    list[str] | None,
    typer.Option("--axis", "--axes", metavar="NAME=SIZE", help="Another size of an axis; repeatable."),
]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where the output goes.")]
Force = Annotated[bool, typer.Option("-f", "--force", help="Overwrite FILE whatever it is.")]
Fix = Annotated[
    list[str] | None, typer.Option("--fix", metavar="OP.FIELD=VALUE", help="Decide a choice yourself; repeatable.")
]
Forbid = Annotated[
    list[str] | None, typer.Option("--forbid", metavar="OP.FIELD=VALUE", help="Rule a value out; repeatable.")
]
TimeLimit = Annotated[float, typer.Option("--time-limit", min=0.0, metavar="SECONDS", help="Limit of each solve.")]
Workers = Annotated[
    int, typer.Option("--workers", min=1, max=256, help="Solver threads; 1 gives the same bytes each time.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**31 - 1, help="Seed of everything drawn.")]

Sample = Annotated[
    str | None,
    typer.Option(
        "--sample", metavar="FRACTION|COUNT", help="Compute and compare a random part of the outputs, drawn by --seed."
    ),
]

Alternatives = Annotated[bool, typer.Option("--alternatives/--no-alternatives", help="Price the values not chosen.")]
Why = Annotated[bool, typer.Option("--why", help="Price what would have to give for a shorter plan.")]
Verify = Annotated[bool, typer.Option("--verify/--no-verify", help="Execute the plan in the simulator.")]
Random = Annotated[bool, typer.Option("--random", help="Verify on real numbers instead of small integers.")]
EmitKernel = Annotated[
    Path | None,
    typer.Option("--emit-kernel", metavar="FILE", help="Write the kernel with all layouts chosen, as operations."),
]
Timings = Annotated[Path | None, typer.Option("--timings", metavar="FILE", help="Write the wall time of each phase.")]


class Objective(StrEnum):
    """What shall be least."""

    makespan = "makespan"


Least = Annotated[Objective, typer.Option("--objective", help="What shall be least.")]

_HARDWARE = "hardware."


def settings(texts: Iterable[str] | None) -> dict[str, int]:
    """Reads `hardware.trf.rows_per_bank=64` as {"trf.rows_per_bank": 64}.

    Raises:
        typer.BadParameter: not of that form.

    """
    out = {}
    for text in texts or ():
        path, value = _pair(text, "--set", "hardware.PATH=VALUE")
        if not path.startswith(_HARDWARE):
            raise typer.BadParameter(f"--set {text}: the path starts with `{_HARDWARE}`")
        out[path.removeprefix(_HARDWARE)] = _number(value, f"--set {text}")
    return out


def axes(texts: Iterable[str] | None) -> dict[str, int]:
    """Reads `K=128` and `A=256,B=64` as sizes by axis name.

    Raises:
        typer.BadParameter: not of that form.

    """
    out = {}
    for text in (part for whole in texts or () for part in whole.split(",")):
        name, value = _pair(text, "--axis", "NAME=SIZE")
        out[name] = _number(value, f"--axis {text}")
    return out


def choices(texts: Iterable[str] | None, option: str) -> list[tuple[str, str]]:
    """Reads `store_b.context=sub` as ("store_b.context", "sub").

    Raises:
        typer.BadParameter: not of that form.

    """
    out = []
    for text in texts or ():
        field, value = _pair(text, option, "OP.FIELD=VALUE")
        if "." not in field:
            raise typer.BadParameter(f"{option} {text}: wanted OP.FIELD=VALUE, as store_b.context=sub")
        out.append((field, value))
    return out


def sample(text: str | None) -> float | None:
    """Reads `4096` as a count of elements, `0.01` and `1%` as a fraction of them.

    Raises:
        typer.BadParameter: neither a whole number from 1 up nor a fraction above 0 and up to 1.

    """
    if text is None:
        return None
    try:
        if text.strip().isdecimal():
            part: float = int(text)
        else:
            part = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        part = 0
    if not part > 0 or (isinstance(part, float) and part > 1):
        raise typer.BadParameter(f"--sample {text}: wanted a count of elements, as 4096, or a fraction, as 0.01 or 1%")
    return part


def _pair(text: str, option: str, wanted: str) -> tuple[str, str]:
    left, sign, right = (part.strip() for part in text.partition("="))
    if not (left and sign and right):
        raise typer.BadParameter(f"{option} {text}: wanted {wanted}")
    return left, right


def _number(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{where}: `{text}` is no whole number") from None
