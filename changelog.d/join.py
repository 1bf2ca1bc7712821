"""Puts the fragments of this folder under a version's heading at the top of CHANGELOG (README.md says how)."""

from __future__ import annotations

import sys
from pathlib import Path

KINDS = ("added", "changed", "fixed", "removed")
HERE = Path(__file__).parent


def section(version: str, fragments: list[Path]) -> str:
    """The section of one version; fragments are called `NAME.KIND.md`."""
    lines = [f"## {version}", ""]
    for kind in KINDS:
        texts = [f.read_text(encoding="utf-8").strip() for f in fragments if f.suffixes[-2] == f".{kind}"]
        lines += [f"### {kind.capitalize()}", "", *(f"- {text}" for text in texts), ""] if texts else []
    return "\n".join(lines)


def main(version: str) -> None:
    """Joins and removes the fragments."""
    fragments = sorted(f for f in HERE.glob("*.md") if len(f.suffixes) > 1)
    changelog = HERE.parent / "CHANGELOG"
    head, mark, old = changelog.read_text(encoding="utf-8").partition("\n## ")
    changelog.write_text(f"{head.rstrip()}\n\n{section(version, fragments)}{mark}{old}", encoding="utf-8")
    for fragment in fragments:
        fragment.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
