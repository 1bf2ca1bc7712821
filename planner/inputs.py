"""Input arrays for a simulation from .npz and .safetensors files."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from models.faults import Fault, FaultError
from models.plan import Plan

Arrays = dict[str, NDArray[Any]]

_SAFETENSORS_TYPES: dict[str, np.dtype[Any]] = {
    "I8": np.dtype(np.int8),
    "U8": np.dtype(np.uint8),
    "I16": np.dtype(np.int16),
    "I32": np.dtype(np.int32),
    "I64": np.dtype(np.int64),
    "F16": np.dtype(np.float16),
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
}
"""Number types by the names of the safetensors format; numpy alone knows no bf16 and no fp8."""


def read_inputs(path: str | Path, plan: Plan) -> Arrays:
    """Reads one array for each input tensor of a plan's kernel, by name.

    Raises:
        FaultError: unreadable_inputs (no such file, or neither format), inputs_mismatch (a tensor that the kernel
            lacks or that the file lacks).

    """
    path = Path(path)
    reader = {".npz": _read_npz, ".safetensors": _read_safetensors}.get(path.suffix)
    if reader is None:
        raise _unreadable(path, f"`{path.suffix}` is neither .npz nor .safetensors")
    arrays = reader(path)
    wanted = {name for name, tensor in plan.kernel.tensors.items() if tensor.role == "input"}
    faults = [_mismatch(path, name, "is no input of the kernel") for name in sorted(arrays.keys() - wanted)]
    faults += [_mismatch(path, name, "is missing in the file") for name in sorted(wanted - arrays.keys())]
    if faults:
        raise FaultError(faults)
    return arrays


def _read_npz(path: Path) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise _unreadable(path, "not an .npz archive")
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _unreadable(path, str(error)) from None


def _read_safetensors(path: Path) -> Arrays:
    from safetensors import SafetensorError, deserialize

    try:
        entries = deserialize(path.read_bytes())  # type: ignore[no-untyped-call]
    except (OSError, SafetensorError) as error:
        raise _unreadable(path, str(error)) from None
    out = {}
    for name, entry in entries:
        kind = _SAFETENSORS_TYPES.get(entry["dtype"])
        if kind is None:
            raise _unreadable(path, f"tensor `{name}` has the type {entry['dtype']}, which is not read")
        out[name] = np.frombuffer(entry["data"], dtype=kind).reshape(entry["shape"])
    return out


def _unreadable(path: Path, reason: str) -> FaultError:
    return FaultError([Fault(rule="unreadable_inputs", file=str(path), message=f"cannot read the inputs: {reason}")])


def _mismatch(path: Path, name: str, what: str) -> Fault:
    return Fault(rule="inputs_mismatch", file=str(path), found=name, message=f"tensor `{name}` {what}")
