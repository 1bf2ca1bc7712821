"""What is varied: single changes, sweeps and their grid, as requests to the planner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from models.faults import Fault, FaultError
from planner.options import Request

HARDWARE = "hardware."
MOST_VARIANTS = 100_000


@dataclass(frozen=True, slots=True)
class Variant:
    """Changes by path, as the user wrote them, and the request they come to."""

    id: int
    changes: dict[str, str]
    request: Request


@dataclass(frozen=True, slots=True)
class Sweep:
    """Values for one path: `hardware.PATH`, an axis, or `op.field`."""

    path: str
    values: tuple[str, ...]


def parse_sweep(text: str) -> Sweep:
    """Reads `hardware.trf.rows_per_bank=64,128`; commas in brackets belong to a value.

    Raises:
        ValueError: not of that form; the message says what is.

    """
    path, sign, rest = (part.strip() for part in text.partition("="))
    values = tuple(v for v in _split(rest) if v)
    if not (path and sign and values):
        raise ValueError(f"{text}: wanted PATH=V1,V2,... as hardware.trf.rows_per_bank=64,128")
    return Sweep(path, tuple(dict.fromkeys(values)))


def _split(text: str) -> Iterable[str]:
    depth, start = 0, 0
    for i, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            yield text[start:i].strip()
            start = i + 1
    yield text[start:].strip()


def variants(common: Request, sweeps: Sequence[Sweep] = ()) -> tuple[Variant, ...]:
    """Every point of the grid with the changes common to all; without sweeps the common changes alone.

    Variants are numbered from 1, the last sweep runs fastest; 0 is the kernel as it is.

    Raises:
        FaultError: bad_variant (a value that is no number where one is wanted, or too many variants).

    """
    total = 1
    for sweep in sweeps:
        total *= len(sweep.values)
    if total > MOST_VARIANTS:
        raise FaultError([_fault(f"{total:,} variants", f"at most {MOST_VARIANTS:,}")])
    if not sweeps and not described(common):
        return ()
    points = product(*([(s.path, v) for v in s.values] for s in sweeps))
    return tuple(
        Variant(i, described(common) | dict(point), changed(common, dict(point))) for i, point in enumerate(points, 1)
    )


def described(request: Request) -> dict[str, str]:
    """The changes of a request by path, in the words of the command line."""
    out = {f"{HARDWARE}{path}": str(value) for path, value in request.settings.items()}
    out |= {name: str(size) for name, size in request.axes.items()}
    out |= dict(request.fixed)
    for path, value in request.forbidden:
        out[f"not {path}"] = value
    return out


def changed(request: Request, changes: dict[str, str]) -> Request:
    """The request with further changes.

    Raises:
        FaultError: bad_variant, where a size or a hardware number is no whole number.

    """
    axes, settings, fixed = dict(request.axes), dict(request.settings), dict(request.fixed)
    for path, value in changes.items():
        if path.startswith(HARDWARE):
            settings[path.removeprefix(HARDWARE)] = _number(path, value)
        elif "." in path:
            fixed[path] = value
        else:
            axes[path] = _number(path, value)
    return replace(request, axes=axes, settings=settings, fixed=fixed)


def _number(path: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise FaultError([_fault(f"{path}={value}", "a whole number")]) from None


def _fault(found: str, wanted: str) -> Fault:
    return Fault(rule="bad_variant", found=found, wanted=wanted, message=f"{found}: wanted {wanted}")
