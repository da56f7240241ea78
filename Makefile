# Two commands are enough: `make demo` shows hush, `make test` checks it.
# Stamps remember what is installed, so a second run starts at once.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip --disable-pip-version-check --quiet
# One more than two cores: tests also wait, for disks and servers.
JOBS   ?= 3

.PHONY: demo test test-slow check docs pages changelog bench setup clean

demo: $(VENV)/.core
	$(BIN)/hush demo

test: $(VENV)/.test
	$(BIN)/pytest -n $(JOBS) --dist loadgroup

test-slow: $(VENV)/.test
	HYPOTHESIS_PROFILE=slow $(BIN)/pytest -m "slow or not slow" -n $(JOBS) --dist loadgroup

check: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest tests/structure
	$(BIN)/pytest -m "not slow" --doctest-modules src --doctest-glob="*.md" --ignore-glob="docs/*.py" docs README.md

docs: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

pages: $(VENV)/.test
	$(BIN)/python docs/pages/write.py

changelog:
	$(PYTHON) changes/assemble.py "$(VERSION)"

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py

setup: $(VENV)/.test

clean:
	rm -rf $(VENV) .bench build dist demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/pip:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hush needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/pip requirements/core.txt pyproject.toml
	$(PIP) install -r requirements/core.txt
	$(PIP) install --no-deps -e .
	@touch $@

$(VENV)/.test: $(VENV)/.core requirements/test.txt requirements/docs.txt
	$(PIP) install -r requirements/test.txt
	@touch $@
