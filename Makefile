# `make plan` and `make test` set up everything they need in .venv; nothing else is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
JOBS ?= auto

.PHONY: plan test test-long bench lint types doors check clean

plan: $(STAMP)
	$(BIN)/tuplan plan examples/gemm.yaml -o gemm.plan.json -f

test: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) -m "not long"

test-long: $(STAMP)
	$(BIN)/python -m pytest -m long -s

bench: $(STAMP)
	$(BIN)/python -m pytest benchmarks --benchmark-enable --benchmark-only

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

doors: $(STAMP)
	$(BIN)/lint-imports

check: lint types doors test

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
