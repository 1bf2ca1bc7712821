from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from models.faults import FaultError
from planner.files import OutputError, check_output, is_own_output, read_bounded, write_atomic


def test_a_file_is_written_whole(tmp_path):
    file = tmp_path / "p.json"
    write_atomic(file, "ü\n")
    assert file.read_bytes() == "ü\n".encode()
    assert list(tmp_path.iterdir()) == [file]


def test_modes_are_those_of_the_old_file_or_of_the_umask(tmp_path):
    file = tmp_path / "p.json"
    old = os.umask(0o027)
    try:
        write_atomic(file, "a")
    finally:
        os.umask(old)
    assert file.stat().st_mode & 0o777 == 0o640
    file.chmod(0o604)
    write_atomic(file, "b")
    assert file.stat().st_mode & 0o777 == 0o604


def test_a_link_keeps_pointing(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    write_atomic(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = tmp_path / "p.json"
    file.write_text("old", encoding="utf-8")
    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), full)
    with pytest.raises(OutputError, match=r"cannot write .*: No space left on device; an earlier file is unchanged"):
        write_atomic(file, "new")
    assert file.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_device_is_written_in_place():
    write_atomic(Path(os.devnull), "anything")
    assert not Path(os.devnull).is_file()
    check_output(Path(os.devnull), "plan", force=False)


@pytest.mark.parametrize(
    ("text", "kind", "own"),
    [
        ('{\n  "schema_version": 1,\n  "tool": "tuplan",\n', "plan", True),
        ('{"schema_version":1,"tool":"tuplan"}', "plan", True),
        ('{"schema_version": 1, "tool": "other"}', "plan", False),
        ('{"tool": "tuplan", "timings": {}}', "plan", False),
        ('{"tool": "tuplan", "timings": {}}', "timings", True),
        ("// tuplan: stage graph of gemm\n", "dot", True),
        ("digraph {}", "dot", False),
        ("", "plan", False),
    ],
)
def test_own_output_is_known_by_its_head(tmp_path, text, kind, own):
    file = tmp_path / "f"
    file.write_text(text, encoding="utf-8")
    assert is_own_output(file, kind) is own


@pytest.mark.parametrize(
    ("content", "rule"), [(None, "unreadable_file"), (b"\xff\xfe", "file_not_text"), (b"12345", "file_too_large")]
)
def test_what_cannot_be_read_is_a_fault(tmp_path, content, rule):
    file = tmp_path / "f"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(FaultError) as caught:
        read_bounded(file, 4)
    assert [(f.rule, f.file) for f in caught.value.faults] == [(rule, str(file))]


def test_an_endless_file_is_not_read_to_its_end():
    with pytest.raises(FaultError) as caught:
        read_bounded(Path("/dev/zero"), 1000)
    assert caught.value.faults[0].rule == "file_too_large"
