# `make plan` and `make test` set up everything they need in .venv; nothing else is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
ROOMS := models solver simulator planner cli
JOBS ?= auto

.PHONY: plan test test-long bench bench-scale lint types doors check changelog clean

plan: $(RUN)
	$(BIN)/tuplan plan examples/gemm.yaml -o gemm.plan.json -f

test: $(DEV)
	$(BIN)/python -m pytest -n $(JOBS) -m "not long"

test-long: $(DEV)
	$(BIN)/python -m pytest -m long -s

bench: $(DEV)
	$(BIN)/python -m pytest benchmarks --benchmark-enable --benchmark-only

bench-scale: $(DEV)
	$(PIP) -e '.[bench]'
	$(BIN)/python -m pytest benchmarks/test_scale.py -m long -s

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)
	$(BIN)/mypy

doors: $(DEV)
	$(BIN)/lint-imports

check: lint types doors test

changelog:
	$(PYTHON) changelog.d/join.py $(VERSION)

$(RUN): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	$(BIN)/python -m compileall -q $(ROOMS)
	touch $@

$(DEV): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[dev]'
	$(BIN)/python -m compileall -q $(ROOMS)
	touch $(RUN) $@

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
