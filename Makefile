# setup       make .venv with what the product needs
# demo        run the whole job on examples/traces, twice, with no key and no network
# climb-demo  three rounds of a hill climb, offline
# serve       Prefect server, gate and worker on this machine, flows registered; Ctrl-C ends it.
#             Other ports: make serve SERVE_OPTIONS="--prefect-port 4300 --gate-port 8400"
# test        run the tests but the slow ones (sets up by itself)
# test-all    run all tests
# check       lint, format, types, import contracts
# screenshots make the pictures of the documentation anew
# bench       print speed ratios against parsing the same bytes

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := whileai_core tasks flows deployments tests benchmarks

.PHONY: setup demo climb-demo serve test test-all check screenshots bench constraints clean

setup: $(VENV)/.installed

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --upgrade "pip>=25.1"
	$(PIP) install --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install --constraint constraints.txt --editable ".[datasets,parquet,redaction,postgres,dask,s3]" --group dev
	touch $@

demo: setup
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

climb-demo: setup
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/climb-demo.sh

serve: setup
	@exec $(BIN)/whileai-pipelines serve $(SERVE_OPTIONS)

test: SELECTED := -m "not slow"
# Every test process loads the same modules; let the first keep them compiled for the others.
test test-all: export PYTHONDONTWRITEBYTECODE :=
test test-all: $(VENV)/.installed-dev
	@sh .ci/programs
	@PYTHON=$(BIN)/python sh .ci/sdk $(VENV)/sdk
	@if [ -e $(VENV)/sdk/.installed ]; then \
		export WHILEAI_TEST_SDK_PYTHON="$${WHILEAI_TEST_SDK_PYTHON:-$(CURDIR)/$(VENV)/sdk/bin/python}"; \
	fi; \
	$(BIN)/python -m pytest --numprocesses 3 --dist loadgroup --no-loadscope-reorder \
		$(SELECTED)

check: $(VENV)/.installed-dev
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

screenshots: $(VENV)/.installed-dev
	@sh .ci/programs
	WHILEAI_SCREENSHOTS=$(CURDIR)/docs/images $(BIN)/python -m pytest --numprocesses 0 tests/flows/test_ui.py

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks

constraints:
	$(BIN)/python -m pip freeze --exclude-editable --exclude pip --exclude setuptools | grep -v '@' > constraints.txt

clean:
	rm -rf $(VENV) .demo .demo-climb build dist
