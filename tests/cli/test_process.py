"""The command as a process: signals, pipes, encodings, and files that are not what they should be."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from models.plan import Plan
from tests.cli.samples import a_plan

ROOT = Path(__file__).parent.parent.parent


def tuplan(*arguments: str | Path, code: str = "from cli.app import main; main()", **settings):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": ROOT, "timeout": 120} | settings
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], check=False, **options)


def start(behaviour: str, *arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.cli.slow_tuplan", behaviour, "plan", "k.yaml", *map(str, arguments)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "working" not in process.stderr.readline():
        assert process.poll() is None
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("behaviour", "makespan"), [("obedient", 4500), ("deaf", 5000)])
def test_an_interrupt_leaves_the_best_plan_so_far(tmp_path, number, behaviour, makespan):
    file = tmp_path / "p.json"
    process = start(behaviour, "-o", file)
    process.send_signal(number)
    process.send_signal(number)  # as `timeout` does; it is not a second wish
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    found = Plan.model_validate_json(file.read_text(encoding="utf-8"))
    assert (found.makespan_cycles, found.stopped_by) == (makespan, "interrupt")
    assert "Traceback" not in error
    assert list(tmp_path.iterdir()) == [file]


def test_an_interrupt_of_a_layout_search_leaves_a_plan(tmp_path):
    """Statements whose layouts are being chosen: each one's own best so far makes a kernel, which is planned."""
    kernel, file = ROOT / "examples" / "programs" / "attention_head.yaml", tmp_path / "p.json"
    command = [sys.executable, "-c", "from cli.app import main; main()", "plan", kernel, "-o", file]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "choosing layouts" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=100)
    assert process.returncode == 130
    found = Plan.model_validate_json(file.read_text(encoding="utf-8"))
    # The kernel's own schedule may well be proved at once; the choice of the kernel is not, and the note says so.
    (note,) = [n.text for n in found.notes if n.topic == "layout_search"]
    assert found.makespan_cycles
    assert "no choice of these is below" in note or "stopped before any choice" in note
    assert "Traceback" not in error
    assert list(tmp_path.iterdir()) == [file]


def test_a_second_interrupt_ends_at_once(tmp_path):
    process = start("stubborn", "-o", tmp_path / "p.json")
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    while "once more ends at once" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130


def test_an_interrupt_before_any_plan_writes_nothing(tmp_path):
    process = start("hopeless", "-o", tmp_path / "p.json", "--json")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads(out)["status"] == "unknown"
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_that_is_not_heard_before_any_plan_is_still_a_document(tmp_path):
    process = start("silent", "-o", tmp_path / "p.json", "--json")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads(out)["status"] == "unknown"
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_with_json_prints_the_best_plan(tmp_path):
    process = start("deaf", "--json")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert Plan.model_validate_json(out).stopped_by == "interrupt"


def test_version_and_help_do_not_load_the_solver():
    big = "('ortools', 'networkx', 'numpy', 'pydantic', 'rich')"
    run = "import sys; from cli.app import app\ntry: app(sys.argv[1:])\n"
    code = f"{run}finally: print([m for m in {big} if m in sys.modules])"
    assert tuplan("--help", code=code, text=True).stdout.endswith("[]\n")
    assert tuplan("--version", code=code, text=True).stdout.splitlines()[0].startswith("tuplan ")


@pytest.mark.parametrize("arguments", [["rules"], ["rules", "--json"], ["--help"]])
def test_a_reader_who_has_seen_enough_is_no_error(arguments):
    read, write = os.pipe()
    os.close(read)
    result = tuplan(*arguments, stdout=write)
    os.close(write)
    assert b"Traceback" not in result.stderr
    assert b"Exception ignored" not in result.stderr
    assert arguments == ["--help"] or (result.returncode, result.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_sentence():
    with Path("/dev/full").open("w") as full:
        result = tuplan("rules", stdout=full, text=True)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "No space left on device" in result.stderr


def test_closed_output_is_no_traceback():
    code = "import sys; sys.stdout = None\nfrom cli.app import main; main()"
    result = tuplan("rules", code=code, text=True)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_the_program_loads_says_nothing(number):
    """The command is held up where it imports what it is built on."""
    code = f"""
import os, sys
from importlib.abc import MetaPathFinder

class Finder(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "typer":
            os.kill(os.getpid(), {int(number)})

sys.meta_path.insert(0, Finder())
from cli.start import main
main()
"""
    result = tuplan("rules", code=code, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


@pytest.mark.parametrize("arguments", [["rules", "--json"], ["rules"]])
def test_an_interrupt_that_native_code_turns_into_an_error_is_no_defect(arguments):
    code = """
import os, signal
import cli.app, planner

def rules():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()
    except KeyboardInterrupt:
        raise ImportError("initialization failed") from None

vars(planner)["rules"] = rules
cli.app.main()
"""
    result = tuplan(*arguments, code=code, text=True)
    assert result.returncode == 130, result.stderr
    assert "defect" not in result.stderr
    if "--json" in arguments:
        assert json.loads(result.stdout)["stopped_by"] == "interrupt"


def test_a_file_that_cannot_be_written_is_a_document_too(tmp_path):
    result = tuplan("plan", "examples/gemm.yaml", "-o", tmp_path / "none" / "p.json", "--json", text=True)
    assert result.returncode == 2
    assert "is no directory" in json.loads(result.stdout)["error"]


SHOW = "from tests.cli.samples import a_plan; from cli.render_plan import summary; from cli.talk import Talk; "


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_piped_output_has_no_control_codes(environment):
    result = tuplan(code=SHOW + "Talk().show(summary(a_plan()))", env=os.environ | environment)
    assert result.returncode == 0
    assert b"\x1b" not in result.stdout
    assert "█" in result.stdout.decode("utf-8")


def test_an_encoding_without_blocks_gets_plain_characters():
    code = SHOW + "Talk().show(summary(a_plan(warnings=('3 × 4',))))"
    result = tuplan(code=code, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0
    text = result.stdout.decode("ascii")
    assert "## load ##" in text
    assert "3 ? 4" in text


def on_a_terminal(environment: dict[str, str]) -> bytes:
    """What a terminal gets to see."""
    pty = pytest.importorskip("pty")
    main, child = pty.openpty()
    result = tuplan(code=SHOW + "Talk().show(summary(a_plan()))", stdout=child, env=os.environ | environment)
    os.close(child)
    assert result.returncode == 0
    seen = os.read(main, 1 << 20)
    os.close(main)
    return seen


def test_no_color_is_honoured_on_a_terminal():
    colour = b"\x1b[32m"
    assert colour in on_a_terminal({"TERM": "xterm", "NO_COLOR": ""})
    assert colour not in on_a_terminal({"TERM": "xterm", "NO_COLOR": "1"})


@pytest.fixture
def bad_file(request, tmp_path) -> Path:
    file = tmp_path / "file.yaml"
    if request.param == "directory":
        return tmp_path
    if request.param == "binary":
        file.write_bytes(bytes(range(256)) * 8)
    if request.param == "empty":
        file.touch()
    return file


@pytest.mark.parametrize("bad_file", ["missing", "directory", "binary", "empty"], indirect=True)
@pytest.mark.parametrize("command", ["plan", "check", "simulate", "cases", "export"])
def test_wrong_files_get_a_sentence(command, bad_file):
    result = tuplan(command, bad_file, *(["--to", "dot"] if command == "export" else []), "--json", text=True)
    exists_as_file = bad_file.is_file()
    assert result.returncode == (1 if exists_as_file else 2), result.stderr
    assert str(bad_file) in result.stderr
    assert "Traceback" not in result.stderr
    assert "defect" not in result.stderr
    assert json.loads(result.stdout)


def test_faults_of_the_file_and_of_its_operations_come_in_one_run(tmp_path):
    kernel = (ROOT / "examples" / "gemm.yaml").read_text(encoding="utf-8")
    file = tmp_path / "two.yaml"
    text = kernel.replace('lane: "J % 8"', 'lane: "J % 4"').replace("  - {dma: store_c, read: c_dm, write: c}\n", "")
    file.write_text(text, encoding="utf-8")
    result = tuplan("check", file, "--json", text=True)
    faults = json.loads(result.stdout)["kernels"][0]["faults"]
    assert result.returncode == 1
    assert {"output_never_written", "lane_mismatch"} <= {f["rule"] for f in faults}


def test_a_plan_written_by_hand_is_read_with_its_faults(tmp_path):
    file = tmp_path / "p.json"
    for change, words in (
        ({"status": "perfect"}, "status"),
        ({"schema_version": 99}, "form 99"),
        ({"surprise": 1}, "surprise"),
    ):
        file.write_text(json.dumps(json.loads(a_plan().model_dump_json(by_alias=True)) | change), encoding="utf-8")
        result = tuplan("simulate", file, text=True)
        assert result.returncode == 1
        assert "plan_form" in result.stderr
        assert words in result.stderr
