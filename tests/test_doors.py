"""The doors between the rooms: import-linter's contracts, and that they say what the architecture says."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("models", "solver", "simulator", "planner", "cli")
FORBIDDEN = {
    "models": {"solver", "simulator", "planner", "cli"},
    "solver": {"simulator", "planner", "cli"},
    "simulator": {"solver", "planner", "cli", "models.factors"},
    "planner": {"cli"},
    "cli": {"solver", "simulator"},
}


def test_contracts_hold():
    script = Path(sys.executable).parent / "lint-imports"
    plain = os.environ | {"NO_COLOR": "1"}
    result = subprocess.run([script, "--no-cache"], cwd=ROOT, capture_output=True, text=True, env=plain, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_contracts_forbid_what_the_architecture_forbids():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    assert sorted(config["root_packages"]) == sorted(ROOMS)
    forbidden = {c["source_modules"][0]: set(c["forbidden_modules"]) for c in config["contracts"]}
    assert {room: forbidden[room] & FORBIDDEN[room] for room in ROOMS} == FORBIDDEN


@pytest.mark.parametrize("file", sorted(ROOT.joinpath("simulator").rglob("*.py")), ids=lambda f: f.stem)
def test_the_simulator_imports_nothing_that_it_checks(file: Path):
    """The same once more without import-linter, which does not see imports by name at run time."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    modules = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module} | {f"{node.module}.{a.name}" for a in node.names}
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    assert {m for m in modules if _is_within(m, FORBIDDEN["simulator"])} == set()
    assert texts & FORBIDDEN["simulator"] == set()


def _is_within(module: str, packages: set[str]) -> bool:
    return any(module == p or module.startswith(f"{p}.") for p in packages)
