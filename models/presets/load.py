"""Reads hardware presets: packaged ones by name, others by path, with overrides by dotted path."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from reprlib import repr as short
from typing import Any

import yaml
from pydantic import ValidationError

from models.faults import Fault, FaultError
from models.hardware import Hardware

MAX_PRESET_BYTES = 1_000_000
_MOST_SHOWN = 200
_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
"""A preset holds numbers and words that YAML 1.1 and 1.2 read alike; libyaml reads it ten times as fast."""


def load_hardware(name_or_path: str = "rngd", overrides: Mapping[str, int] | None = None) -> Hardware:
    """Loads a preset (`rngd`, or the path of a YAML file) and replaces single numbers.

    Args:
        name_or_path: a packaged preset or a file in its form.
        overrides: new values by dotted path without the leading `hardware.`, as `trf.rows_per_bank`.

    Raises:
        FaultError: unreadable_preset, unknown_hardware_path or hardware_out_of_range.

    """
    values, provenance = _read(name_or_path)
    values = {k: dict(v) if isinstance(v, dict) else v for k, v in values.items()}
    for path, number in (overrides or {}).items():
        group, _, leaf = path.partition(".")
        if not isinstance(values.get(group), dict) or leaf not in values[group]:
            known = ", ".join(sorted(provenance))
            raise FaultError(
                [
                    _fault(
                        "unknown_hardware_path",
                        f"`{path}` is no number of the hardware",
                        path,
                        f"one of {known}",
                    )
                ]
            )
        if values[group][leaf] == number:
            continue  # the same number changes nothing, not even where it says it comes from
        values[group][leaf] = number
        provenance = provenance | {
            path: provenance[path] | {"source": f"set by the user, was: {provenance[path]['source']}"}
        }
    return _validated(values, provenance, name_or_path)


def _validated(values: dict[str, Any], provenance: dict[str, Any], origin: str) -> Hardware:
    try:
        return Hardware.model_validate(values | {"provenance": provenance})
    except ValidationError as error:
        faults = [
            _fault(
                "hardware_out_of_range",
                f"{'.'.join(map(str, e['loc']))}: {e['msg']}",
                short(e.get("input")),
                "",
                origin,
            )
            for e in error.errors()
        ]
        raise FaultError(faults) from None


@cache
def _read(name_or_path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        path = _path(name_or_path)
        with path.open("rb") as handle:
            data = handle.read(MAX_PRESET_BYTES + 1)
        if len(data) > MAX_PRESET_BYTES:
            raise FaultError([_fault("unreadable_preset", f"{path} is over {MAX_PRESET_BYTES} bytes", file=str(path))])
        raw = yaml.load(data.decode("utf-8"), Loader=_LOADER)
    except (OSError, yaml.YAMLError, ValueError, RecursionError) as error:
        name = name_or_path[:_MOST_SHOWN]
        message = f"{name}: {str(error)[:_MOST_SHOWN]}"
        raise FaultError([_fault("unreadable_preset", message, name, "a preset or a path", name)]) from None
    if not isinstance(raw, dict):
        raise FaultError([_fault("unreadable_preset", f"{path} is no mapping", file=str(path))])
    return _split(raw)


def _path(name_or_path: str) -> Path:
    """The packaged preset of that name, else the file of that path."""
    if name_or_path.isidentifier():
        packaged = Path(__file__).with_name(f"{name_or_path}.yaml")
        if packaged.exists():
            return packaged
    return Path(name_or_path)


def _split(raw: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    values: dict[str, Any] = {}
    provenance: dict[str, Any] = {}
    for group, rows in raw.items():
        if not isinstance(rows, dict):
            values[group] = rows
            continue
        values[group] = {}
        for leaf, row in rows.items():
            entry = dict(row) if isinstance(row, dict) else {"value": row}
            values[group][leaf] = entry.pop("value", None)
            provenance[f"{group}.{leaf}"] = {"unit": "", "source": ""} | entry
    return values, provenance


def _fault(rule: str, message: str, found: str = "", wanted: str = "", file: str = "") -> Fault:
    return Fault(rule=rule, message=message, found=found, wanted=wanted, file=file)
