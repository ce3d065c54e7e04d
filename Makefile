# Everything runs from a bare checkout: an environment in .venv is made and filled first.
PYTHON ?= python3
TEST_WORKERS ?= 2
MINUTES ?= 10
# A run that learned all ten robot tasks.
TRAINED := recall-cw10-seed401

BIN := .venv/bin
INSTALLED := .venv/.installed
# Compiled functions are kept between runs of the tests.
export JAX_COMPILATION_CACHE_DIR ?= $(CURDIR)/.cache/jax

.PHONY: help install demo robots methods test coverage test-slow soak check format format-check lint types layers docs policies pages clients lock release-check clean

help:  ## show what there is
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1 - \2/'

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "recall needs Python 3.11 or later; choose one with PYTHON=...")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

install: $(INSTALLED)  ## make the environment in .venv; `. .venv/bin/activate` puts recall on the path

demo: $(INSTALLED)  ## see the package at work, in about three minutes
	$(BIN)/python -m recall demo

robots: $(INSTALLED)  ## learn two robot tasks and film them, within minutes on two cores
	$(BIN)/python -m recall demo --robots

methods: $(INSTALLED)  ## train every method on pointworld and compare them, in half an hour
	$(BIN)/python -m recall demo --methods --normalise-targets
	$(BIN)/python -m recall demo --methods

PYTEST := $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal --ignore=tests/examples

test: $(INSTALLED)  ## run the tests, except the slow ones
	$(PYTEST) -m "not slow"

coverage: $(INSTALLED)  ## run the quick tests and show which lines of the package they do not reach
	$(PYTEST) -m "not slow" --cov=recall --cov-report=term-missing:skip-covered

test-slow: $(INSTALLED)  ## run the others: learning from start to end, processes and clusters that are started and killed
	$(PYTEST) -m slow

soak: $(INSTALLED)  ## kill fleets at random moments for MINUTES=10, and compare what they leave
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

check: format-check lint types layers test test-slow  ## everything that must hold before a commit

format: $(INSTALLED)  ## write the code the one way
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

format-check: $(INSTALLED)
	$(BIN)/ruff format --check

lint: $(INSTALLED)
	$(BIN)/ruff check

types: $(INSTALLED)
	$(BIN)/mypy

layers: $(INSTALLED)
	$(BIN)/lint-imports

policies: $(INSTALLED)  ## write the trained policies that come with the package again from results/
	rm -rf recall/policies/trained
	$(BIN)/python -m recall archive results/cw10-n-step/recall recall/policies/trained --policies-at final --policies $(TRAINED)

pages: $(INSTALLED)  ## write the tables of the pages from the records in results/
	$(BIN)/python -m tests.pages

# The pages link to each other as on a code host, so they are built in the same places.
docs: $(INSTALLED)  ## build the documentation site in .cache/site
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	rm -rf .cache/docs && mkdir -p .cache/docs
	cp -r README.md CONTRIBUTING.md CHANGELOG.md LICENSE CITATION.cff Dockerfile recall.def docs examples .cache/docs
	mkdir .cache/docs/results && cp results/README.md .cache/docs/results
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

clients: $(INSTALLED)  ## run the examples, and try environments and policies with other people's packages
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[clients,notebook]'
	$(BIN)/python -m pytest tests/clients tests/policies tests/examples

lock: $(INSTALLED)  ## write the versions that fit pyproject.toml to constraints.txt; LOCK=--upgrade takes the newest
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile pyproject.toml --universal --all-extras --python-version 3.11 --no-annotate --custom-compile-command "make lock" --quiet $(LOCK) -o constraints.txt

release-check: $(INSTALLED)  ## build what PyPI would get, and try it in fresh environments of every Python that is there
	$(BIN)/python -m pip install --quiet --disable-pip-version-check build twine
	$(BIN)/python -m tests.release_check

clean:  ## remove the environment and the caches
	rm -rf .venv .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
