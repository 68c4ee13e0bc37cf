# What a developer and CI run; both run it in the same way. `make` alone lists it.
# Plain make 3.81 (macOS has no newer one), a POSIX shell, Python and its pip; Node.js
# and npm for the plugin, which is left out with a word where they are missing.

PYTHON ?= python3
BIN := .venv/bin
PY := $(BIN)/python
STAMP := .venv/.stamp
PLUGIN := obsidian-plugin
NODES := $(PLUGIN)/node_modules
NPM := npm --prefix $(PLUGIN) --loglevel=error
PIP := -m pip --disable-pip-version-check -qq

TESTS = HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-ci} "$(PY)" -m pytest \
	-n auto --dist worksteal
PROOFS := tests/proofs tests/real
SUBJECTS := model markdown privacy notes storage links sync facts indexing recall context_packs graph \
	index_files operations memory_files daemon
comma := ,
empty :=
PURE := $(subst $(empty) $(empty),$(comma),$(SUBJECTS:%=vaultsync/%/*))

export PIP_NO_INPUT := 1
export PIP_ROOT_USER_ACTION := ignore

# A tree that was moved or copied has an environment that still runs the old place.
MOVED := $(if $(filter $(CURDIR),$(shell cat $(STAMP) 2>/dev/null)),,moved)

.DEFAULT_GOAL := help
.SUFFIXES:
.DELETE_ON_ERROR:
.PHONY: help setup demo demo-qdrant fmt lint types imports test gates test-all check bench eval \
	golden mutants docs docs-check package plugin plugin-setup plugin-test \
	lock clean moved

help: ## List the targets
	@echo "usage: make TARGET [PYTHON=python3.x]"
	@awk -F ' ## ' '/^[a-z-]+:.* ## / { sub(/:.*/, "", $$1); \
		printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) plugin-setup ## Make or renew .venv with all that development needs
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
	@$(TESTS) $(if $(COVER),--cov --cov-report= $(addprefix --ignore=,$(PROOFS)))
	@$(if $(COVER),$(TESTS) $(PROOFS))
	@$(if $(COVER),$(MAKE) --no-print-directory gates)

# Coverage is decided per layer: what does no I/O whole, the backends but for what only
# another platform or a broken disk reaches. Measuring it makes a test twice as long, so
# the proofs, which try everything in every order, are run without.
gates:
	@echo "gates: coverage below the backends, which must be whole"
	@"$(PY)" -m coverage report --fail-under=100 --include="$(PURE)"
	@echo "gates: coverage of the backends, which must be 85 % or more"
	@"$(PY)" -m coverage report --fail-under=85 --include="vaultsync/backends/*"

test-all: $(STAMP) ## Run all tests, the slow ones and many more examples too
	@HYPOTHESIS_PROFILE=thorough "$(PY)" -m pytest -n auto --dist worksteal \
		-m "not bench" --timeout=1800 --durations=10

check: COVER := 1
check: lint types imports test plugin-test docs-check package ## All that must hold; what CI runs
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

# What hinders the plugin here, in words; nothing when it can be built. 20.19 is what its
# tools need (vitest, eslint).
define hindrance
$$(if ! command -v node >/dev/null || ! command -v npm >/dev/null; then \
	echo "there is no Node.js with npm"; \
elif ! node -e 'const [a, b] = process.versions.node.split("."); \
		process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'; then \
	echo "Node.js is $$(node --version), but 20.19 or newer is needed"; \
elif [ "$(1)" ] && [ ! -e "$(NODES)/.stamp" ]; then \
	echo "npm could not install its packages (make setup)"; fi)
endef

plugin-setup:
	@why="$(call hindrance)"; if [ "$$why" ]; then \
		echo "setup: the plugin is SKIPPED, for $$why"; \
	elif ! cmp -s "$(PLUGIN)/package-lock.json" "$(NODES)/.stamp"; then \
		echo "setup: installing into $(NODES)"; \
		rm -rf "$(NODES)"; \
		if $(NPM) ci --no-audit --no-fund >&2; then \
			cp "$(PLUGIN)/package-lock.json" "$(NODES)/.stamp"; \
		else echo "setup: the plugin is SKIPPED, for npm could not install its packages"; \
		fi; \
	fi

plugin: plugin-setup ## Build the plugin for Obsidian: what `vaultsync plugin install` copies
	@why="$(call hindrance,packages)"; if [ "$$why" ]; then \
		echo "plugin: SKIPPED, for $$why"; \
	else $(NPM) run --silent build && echo "plugin: built into vaultsync/obsidian"; fi

plugin-test: $(STAMP) plugin ## Check and test the plugin, in a browser too
	@why="$(call hindrance,packages)"; if [ "$$why" ]; then \
		echo "plugin-test: SKIPPED, for $$why"; \
	else $(NPM) run --silent lint && $(NPM) run --silent test && $(NPM) run --silent browser; fi

package: $(STAMP) plugin ## Build the wheel and try it alone, with newest and oldest dependencies
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
	@rm -rf build .coverage .coverage.* .*_cache .hypothesis vaultsync/obsidian
	@rm -rf $(NODES)/.vite $(NODES)/.vite-temp
	@find . -name __pycache__ -not -path "./.venv/*" -not -path "./$(NODES)/*" -prune -exec rm -rf {} +
	@echo "clean: done; 'rm -r .venv $(NODES)' removes what setup made"
