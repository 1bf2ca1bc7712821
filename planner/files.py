"""Files: bounded reading, atomic writing, and who may be overwritten (command line: output files)."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from models.faults import Fault, FaultError
from models.plan import SCHEMA_VERSION, Plan

MAX_PLAN_BYTES = 256_000_000
"""A plan over this size is refused unread; the plan of a loop of 10,000 operations has about 20 MB."""
MAX_CASES_BYTES = 4_000_000
"""The same bound as for kernel files."""

MOST_FAULTS = 20
"""So many wrong fields of one plan file are reported."""

_MOST_FOUND = 80
_HEAD_BYTES = 256
_OWN_HEADS: dict[str, re.Pattern[bytes]] = {
    "plan": re.compile(rb'\s*\{\s*"schema_version":\s*\d+,\s*"tool":\s*"tuplan"'),
    "timings": re.compile(rb'\s*\{\s*"tool":\s*"tuplan",\s*"timings"'),
    "dot": re.compile(rb"// tuplan: "),
    "kernel": re.compile(rb"# tuplan: kernel"),
    "sweep": re.compile(rb'\{"tool": "tuplan", "sweep": '),
}
"""How the tool's own output of each kind begins."""


class OutputError(OSError):
    """An output file that must not or cannot be written; the message is one sentence for the user."""


def read_bounded(path: Path, limit_bytes: int) -> str:
    """Reads a UTF-8 text file that may be at most `limit_bytes` long.

    Raises:
        FaultError: unreadable_file (missing, a directory, no permission), file_too_large or file_not_text.

    """
    try:
        with path.open("rb") as handle:
            raw = handle.read(limit_bytes + 1)
        if len(raw) > limit_bytes:
            raise FaultError([_too_large(path, limit_bytes)])
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise FaultError([_unreadable(path, error.strerror or str(error))]) from None
    except UnicodeDecodeError as error:
        message = f"the file is not UTF-8 text: byte {error.start} is none"
        raise FaultError([Fault(rule="file_not_text", file=str(path), message=message)]) from None


def _too_large(path: Path, limit_bytes: int) -> Fault:
    return Fault(
        rule="file_too_large",
        file=str(path),
        message=f"the file has over {limit_bytes} bytes",
        wanted=f"at most {limit_bytes} bytes",
    )


def _unreadable(path: Path, reason: str) -> Fault:
    return Fault(rule="unreadable_file", file=str(path), message=f"cannot read the file: {reason}")


def read_plan(path: str | Path) -> Plan:
    """Reads a plan file: bounded in size, and every field of the right form.

    Raises:
        FaultError: unreadable_file, file_too_large, plan_form (one fault per wrong field, at most MOST_FAULTS).

    """
    path = Path(path)
    text = read_bounded(path, MAX_PLAN_BYTES)
    try:
        plan = Plan.model_validate_json(text)
    except ValidationError as error:
        raise FaultError([_plan_form(path, dict(e)) for e in error.errors()[:MOST_FAULTS]]) from None
    if plan.schema_version != SCHEMA_VERSION:
        found = str(plan.schema_version)
        message = f"a plan of form {found}; this version reads form {SCHEMA_VERSION}"
        raise FaultError(
            [Fault(rule="plan_form", file=str(path), message=message, found=found, wanted=str(SCHEMA_VERSION))]
        )
    return plan


def _plan_form(path: Path, error: dict[str, Any]) -> Fault:
    place = ".".join(str(part) for part in error["loc"])
    return Fault(
        rule="plan_form",
        file=str(path),
        step=place,
        found=str(error["input"])[:_MOST_FOUND],
        message=f"the file is no plan of tuplan: {error['msg']}",
    )


def check_output(path: Path, kind: str, *, force: bool) -> None:
    """Refuses early what could not be written later, so that no long run ends without its result.

    Args:
        path: where the output shall go; a device or a pipe is written in place.
        kind: `plan`, `timings` or `dot`; an existing file of the tool's own of this kind may be replaced.
        force: an existing regular file may be replaced whatever it is.

    Raises:
        OutputError: with one sentence that says why.

    """
    folder = path.parent
    if path.is_dir():
        raise OutputError(f"{path} is a directory; give a file name")
    if not folder.is_dir():
        raise OutputError(f"{folder} is no directory; nothing can be written to {path}")
    if path.is_file() and not force and not is_own_output(path, kind):
        raise OutputError(f"{path} exists and is no earlier {kind} of tuplan; -f overwrites it")
    target = folder if path.is_file() or not path.exists() else path
    if not os.access(target, os.W_OK):
        raise OutputError(f"{target} is not writable; nothing can be written to {path}")


def is_own_output(path: Path, kind: str) -> bool:
    """Tells whether an existing file begins like the tool's own output of that kind."""
    try:
        with path.open("rb") as handle:
            return _OWN_HEADS[kind].match(handle.read(_HEAD_BYTES)) is not None
    except OSError:
        return False


def write_atomic(path: Path, text: str) -> None:
    """Writes a whole file or nothing: a reader sees the old content or the new one, also after a full disk.

    A symbolic link keeps pointing where it did, permissions of an old file are kept.

    Raises:
        OutputError: with one sentence; the old file is intact.

    """
    data = text.encode("utf-8", "surrogateescape")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write {path}: {reason}; an earlier file is unchanged") from None


def _replace(target: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}.", suffix=".part")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(_mode_for(target))
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _mode_for(target: Path) -> int:
    """The mode of the old file, else what the umask leaves of 0666 (mkstemp alone would give 0600)."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
