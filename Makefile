# What a developer and CI run; both run it in the same way. `make` alone lists it.
# Plain make 3.81 (macOS has no newer one), a POSIX shell, Python and its pip.

PYTHON ?= python3
BIN := .venv/bin
PY := $(BIN)/python
STAMP := .venv/.stamp
PIP := -m pip --disable-pip-version-check -qq

export PIP_NO_INPUT := 1
export PIP_ROOT_USER_ACTION := ignore

# A tree that was moved or copied has an environment that still runs the old place.
MOVED := $(if $(filter $(CURDIR),$(shell cat $(STAMP) 2>/dev/null)),,moved)

.DEFAULT_GOAL := help
.SUFFIXES:
.DELETE_ON_ERROR:
.PHONY: help setup demo demo-qdrant fmt lint types imports test gates test-all check bench eval \
	golden mutants docs docs-check package lock clean moved

help: ## List the targets
	@echo "usage: make TARGET [PYTHON=python3.x]"
	@awk -F ' ## ' '/^[a-z-]+:.* ## / { sub(/:.*/, "", $$1); \
		printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## Make or renew .venv with all that development needs
	@echo "setup: .venv is up to date"

$(STAMP): pyproject.toml constraints.txt $(MOVED)
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "setup: there is no $(PYTHON); name one by PYTHON=…" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
		"setup: $(PYTHON) is Python " + sys.version.split()[0] + ", but vaultsync" \
		+ " needs 3.11 or newer; name one by PYTHON=…")'
	@echo "setup: installing into .venv (two minutes or less)"
	@$(if $(MOVED),false,"$(PY)" -c "" 2>/dev/null) || { \
		rm -rf .venv && "$(PYTHON)" -m venv .venv; }
	@"$(PY)" $(PIP) install --constraint constraints.txt pip
	@"$(PY)" $(PIP) install --constraint constraints.txt --group dev
	@"$(PY)" $(PIP) install --constraint constraints.txt --no-build-isolation --editable ".[all]"
	@echo "$(CURDIR)" > $@

moved: ;

demo: $(STAMP) ## Show the main job on a copy of sample-vault
	@"$(PY)" -m tests.demo

demo-qdrant: $(STAMP) ## Show the same job on a store in Qdrant, without a server
	@"$(PY)" -m tests.demo --store qdrant+local:../store

fmt: $(STAMP) ## Format, and mend what can be mended without a thought
	@"$(PY)" -m ruff check --quiet --fix-only .
	@"$(PY)" -m ruff format .

lint: $(STAMP) ## Check style, format and spelling
	@"$(PY)" -m ruff check .
	@"$(PY)" -m ruff format --check .
	@"$(BIN)/codespell"
	@echo "lint: style, format and spelling are right"

types: $(STAMP) ## Check the types, strictly
	@"$(PY)" -m mypy

imports: $(STAMP) ## Check who imports whom
	@"$(BIN)/lint-imports"

test: $(STAMP) ## Run the tests but the slow ones; with COVER=1, the coverage gates too
	@HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-ci} "$(PY)" -m pytest \
		-n auto --dist worksteal $(if $(COVER),--cov --cov-report=)
	@$(if $(COVER),$(MAKE) --no-print-directory gates)

# Coverage is decided per layer: the pure layers whole, the adapters but for what only
# another platform or a broken disk reaches. Measuring it makes the tests twice as long.
gates:
	@echo "gates: coverage of core and engine, which must be whole"
	@"$(PY)" -m coverage report --fail-under=100 \
		--include="vaultsync/core/*,vaultsync/engine/*"
	@echo "gates: coverage of the adapters, which must be 85 % or more"
	@"$(PY)" -m coverage report --fail-under=85 --include="vaultsync/adapters/*"

test-all: $(STAMP) ## Run all tests, the slow ones and many more examples too
	@HYPOTHESIS_PROFILE=thorough "$(PY)" -m pytest -n auto --dist worksteal \
		-m "not bench" --timeout=1800 --durations=10

check: COVER := 1
check: lint types imports test docs-check package ## All that must hold; what CI runs
	@echo "check: all is well"

bench: $(STAMP) ## Measure speed, as ratios within one run
	@"$(PY)" -m tests.bench

eval: $(STAMP) ## Ask graded questions in all ways, and print how good recall is
	@"$(PY)" -m tests.eval

golden: $(STAMP) ## Rewrite the expected texts in golden/; read the diff before you commit
	@VAULTSYNC_UPDATE_GOLDEN=1 "$(PY)" -m pytest -q -k golden
	@git --no-pager diff --stat golden/
	@git status --short --untracked-files=all golden/

mutants: $(STAMP) ## Seed known bugs one by one and name the test that catches each
	@"$(PY)" -m tests.mutants

docs: $(STAMP) ## Rewrite the generated pages of docs/
	@"$(PY)" docs/generate.py

docs-check: $(STAMP) ## Check that the generated pages are those of this code
	@"$(PY)" docs/generate.py --check

package: $(STAMP) ## Build the wheel and try it alone, with newest and oldest dependencies
	@"$(PY)" -m tests.wheel

lock: ## Renew constraints.txt from a fresh resolution
	@rm -rf build/lock && "$(PYTHON)" -m venv build/lock
	@build/lock/bin/python $(PIP) install --upgrade pip
	@build/lock/bin/python $(PIP) install --group dev ".[all]" torch==2.13.0
	@{ echo "# The versions that development and CI use. Written by 'make lock'."; \
		build/lock/bin/python -m pip freeze --all \
			--exclude setuptools --exclude vaultsync | sed 's/+cpu$$//'; \
		} > build/constraints.txt
	@mv build/constraints.txt constraints.txt
	@rm -rf build/lock
	@echo "lock: constraints.txt holds $$(grep -c == constraints.txt) versions"

clean: ## Remove all that these targets made, but for .venv
	@rm -rf build .coverage .coverage.* .*_cache .hypothesis
	@find . -name __pycache__ -not -path "./.venv/*" -prune -exec rm -rf {} +
	@echo "clean: done; 'rm -r .venv' removes the environment too"
