"""Runs the commands of the guides: `$ tuplan ...` in a block ```console, with what it prints below.

`...` stands for anything. Remarks on progress and wall time are left out of both sides. To write the guides' output
anew after a change: `python -m tests.guides`.
"""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.testing import CliRunner

HOME = Path(__file__).parent.parent
GUIDES = sorted((HOME / "docs").glob("guide-*.md"))
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
REMARK = re.compile(r"^(wall time .* s|.* \.\.\.|\d+ done, \d+ failed, \d+ left, \d+ s)$")
SCHEDULER = "tcp://scheduler:8786"
"""Stands for a cluster; a local one of two processes takes its place."""


@dataclass(frozen=True)
class Step:
    command: str
    output: str


def steps(block: str) -> Iterator[Step]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        while command.endswith("\\"):
            more, _, output = output.partition("\n")
            command = command[:-1] + more
        yield Step(command, output)


@dataclass
class Desk:
    """A folder with the examples in it, where a guide's commands run one after the other."""

    folder: Path
    stack: ExitStack
    address: str = ""

    def run(self, command: str) -> str:
        from cli.app import app

        if SCHEDULER in command:
            command = command.replace(SCHEDULER, self._cluster())
        name, *arguments = shlex.split(command)
        assert name == "tuplan", command
        with chdir(self.folder):
            lines = CliRunner().invoke(app, arguments).output.splitlines()
        return "".join(f"{line.rstrip()}\n" for line in lines if not REMARK.match(line))

    def _cluster(self) -> str:
        if not self.address:
            from distributed import LocalCluster

            local = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
            self.address = self.stack.enter_context(local).scheduler_address
        return self.address


def desk(folder: Path, stack: ExitStack) -> Desk:
    for name in ("examples", "docs/kernels"):
        shutil.copytree(HOME / name, folder / name)
    return Desk(folder, stack)


def matches(wanted: str, got: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted.strip() + "\n", got.strip() + "\n", flags)


def rewritten(text: str, at: Desk) -> str:
    def anew(match: re.Match[str]) -> str:
        parts = []
        for step in steps(match[1]):
            got = at.run(step.command)
            kept = step.output if step.output.strip() and matches(step.output, got) else got
            parts.append(f"$ {step.command}\n{kept.strip()}".rstrip())
        return "```console\n" + "\n".join(parts) + "\n```"

    return BLOCK.sub(anew, text)


def main() -> None:
    for guide in GUIDES:
        with TemporaryDirectory() as folder, ExitStack() as stack:
            new = rewritten(guide.read_text(encoding="utf-8"), desk(Path(folder), stack))
            guide.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
