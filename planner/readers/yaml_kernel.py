"""Reads kernel files: YAML 1.2 text to records, with every fault of the file at once (kernel-file page)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from models.faults import Fault, FaultError
from models.kernel import Kernel, SourceMap
from planner.readers.context import Context, describe, shown
from planner.readers.document import document
from planner.readers.nodes import CONTROL, Node, NodeError, compose
from planner.readers.source import KernelSource
from planner.readers.texts import Texts

MAX_FILE_BYTES = 4_000_000
MAX_LINE = 10_000
NO_AXES: Mapping[str, int] = MappingProxyType({})
_MAPPING_FIELDS = (
    *("time", "packet", "element", "slice", "cluster", "chip", "lane", "tile"),
    *("narrow_trim", "widen_pad", "tile_time", "split_time"),
)
_SWALLOWED = re.compile(
    rf"(?:^|[\s{{,])(?:{'|'.join(_MAPPING_FIELDS)})\s*:\s+([^\s\"'#][^\"'#]*?)[ \t]+(#\s*[0-9{{].*)"
)


class UnfinishedError(FaultError):
    """Faults of a file whose operations were read all the same: `source` has them, None where it does not."""

    def __init__(self, faults: Iterable[Fault], source: KernelSource | None) -> None:
        super().__init__(faults)
        self.source = source


def read_kernel(path: Path | str, *, axes: Mapping[str, int] = NO_AXES) -> KernelSource:
    """Reads a kernel file; `axes` override declared sizes.

    Raises:
        FaultError: with every fault of the file, each with its place.

    """
    file = str(path)
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FaultError([_fault("unreadable_file", file, f"{file}: {reason}", reason, "a readable file")]) from None
    if len(content) > MAX_FILE_BYTES:
        message = f"the file has over {MAX_FILE_BYTES:,} bytes"
        raise FaultError([_fault("file_too_large", file, message, "", f"at most {MAX_FILE_BYTES:,} bytes")])
    return _read(content, file, axes)


def read_kernel_text(text: str, file: str = "<text>", *, axes: Mapping[str, int] = NO_AXES) -> KernelSource:
    """Reads kernel-file text as `read_kernel` does a file; `file` stands in its faults.

    Raises:
        FaultError: with every fault of the text.

    """
    content = text.encode("utf-8", errors="surrogatepass")
    if len(content) > MAX_FILE_BYTES:
        message = f"the text has over {MAX_FILE_BYTES:,} bytes"
        raise FaultError([_fault("file_too_large", file, message, "", f"at most {MAX_FILE_BYTES:,} bytes")])
    return _read(content, file, axes)


def _read(content: bytes, file: str, axes: Mapping[str, int]) -> KernelSource:
    text = _decoded(content, file)
    root, faults = _composed(text, file)
    ctx = Context(file, Texts({}), faults)
    kernel = document(ctx, root, axes)
    if kernel is None or any(f.severity == "error" for f in ctx.faults):
        faults = sorted(dict.fromkeys(ctx.faults), key=lambda f: (f.line, f.column))
        raise UnfinishedError(faults, None if kernel is None else _source(kernel, ctx, content))
    return _source(kernel, ctx, content)


def _source(kernel: Kernel, ctx: Context, content: bytes) -> KernelSource:
    positions = SourceMap(file=ctx.file, at=ctx.at)
    digest = hashlib.sha256(content).hexdigest()
    return KernelSource(kernel, positions, ctx.file, digest, tuple(ctx.faults), ctx.program)


def _decoded(content: bytes, file: str) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        found = f"byte 0x{content[error.start]:02x}"
        raise FaultError([_at_end("file_not_text", file, before, "the file is not UTF-8", found)]) from None
    # Some editors write a byte order mark before UTF-8; YAML allows it there and nowhere else.
    text = text.removeprefix("\ufeff")
    control = CONTROL.search(text)
    if control:
        found = f"U+{ord(control[0]):04X}"
        raise FaultError([_at_end("file_not_text", file, text[: control.start()], "a control character", found)])
    return text


def _at_end(rule: str, file: str, before: str, message: str, found: str) -> Fault:
    lines = before.split("\n")
    return _fault(rule, file, message, found, "UTF-8 text", (len(lines), len(lines[-1]) + 1))


def _composed(text: str, file: str) -> tuple[Node, list[Fault]]:
    try:
        root, errors = compose(text)
    except NodeError as error:
        raise FaultError(_swallowed(text, file, error.line) or [_of(error, file)]) from None
    if root is None or root.kind != "mapping":
        found = describe(root) if root is not None else "nothing"
        fault = _fault(
            "empty_file", file, "the file holds no mapping of fields", found, "kernel: NAME, axes: ...", (1, 1)
        )
        raise FaultError([fault])
    return root, [_of(error, file) for error in errors]


def _swallowed(text: str, file: str, last: int) -> list[Fault]:
    """Padding that YAML took for a comment, closing brackets included, which is why the text is no YAML."""
    out = []
    for number, line in enumerate(text.split("\n")[:last], 1):
        match = _SWALLOWED.search(line) if len(line) < MAX_LINE else None
        if match:
            message = f"YAML takes `{shown(match[2])}` for a comment, closing brackets included"
            near = f'"{re.split("[],}]", match[1] + " " + match[2])[0].strip()}"'
            place = (number, match.start(1) + 1)
            out.append(
                _fault("unquoted_padding", file, message, shown(match[0].strip()), "quoted mapping text", place, near)
            )
    return out


def _of(error: NodeError, file: str) -> Fault:
    return _fault(error.rule, file, error.message, error.found, error.wanted, (error.line, error.column))


def _fault(
    rule: str,
    file: str,
    message: str,
    found: str = "",
    wanted: str = "",
    place: tuple[int, int] = (1, 1),
    nearest: str = "",
) -> Fault:
    return Fault(
        rule=rule,
        file=file,
        line=place[0],
        column=place[1],
        message=message,
        found=shown(found),
        wanted=wanted,
        nearest=nearest,
    )
