# The tasks of development and CI; `make` without a target lists them.
# Needs make 3.81 (macOS has no newer one), a POSIX shell, Python and pip; the plugin also
# needs Node.js and npm, and is skipped with a message where they are missing.

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
SUBJECTS := model markdown privacy notes storage links sync facts indexing recall context_packs graph \
	index_files operations memory_files proposals observations exchange hosts modules repos daemon
comma := ,
empty :=
PURE := $(subst $(empty) $(empty),$(comma),$(SUBJECTS:%=vaultsync/%/*))
COVERING := $(SUBJECTS:%=tests/%) tests/backends tests/api \
	$(addprefix tests/contracts/test_,entries.py remote.py watcher.py) \
	$(addprefix tests/surfaces/test_,change_note.py cli_commands.py cli_memory_file.py \
		list_columns.py modules.py observations.py proposed_writes.py python_api.py repositories.py) \
	$(addprefix tests/surfaces/attacks/test_,forged_content.py secret_attacks.py)

export PIP_NO_INPUT := 1
export PIP_ROOT_USER_ACTION := ignore

# The environment of a tree that was moved or copied still runs the code at its old path.
MOVED := $(if $(filter $(CURDIR),$(shell cat $(STAMP) 2>/dev/null)),,moved)

.DEFAULT_GOAL := help
.SUFFIXES:
.DELETE_ON_ERROR:
.PHONY: help setup demo demo-qdrant fmt lint types imports test gates test-all check beside bench eval gate \
	golden mcp-versions mutants docs docs-check package plugin plugin-setup plugin-test \
	lock clean moved

help: ## List the targets
	@echo "usage: make TARGET [PYTHON=python3.x]"
	@awk -F ' ## ' '/^[a-z-]+:.* ## / { sub(/:.*/, "", $$1); \
		printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) plugin-setup ## Create or update .venv with everything for development
	@echo "setup: .venv is up to date"

$(STAMP): pyproject.toml constraints.txt $(MOVED)
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "setup: $(PYTHON) not found; name another with PYTHON=…" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
		"setup: $(PYTHON) is Python " + sys.version.split()[0] + ", but vaultsync" \
		+ " needs 3.11 or newer; name another with PYTHON=…")'
	@echo "setup: installing into .venv (up to two minutes)"
	@$(if $(MOVED),false,"$(PY)" -c "" 2>/dev/null) || { \
		rm -rf .venv && "$(PYTHON)" -m venv .venv; }
	@"$(PY)" $(PIP) install --constraint constraints.txt pip
	@"$(PY)" $(PIP) install --constraint constraints.txt --group dev
	@"$(PY)" $(PIP) install --constraint constraints.txt --no-build-isolation --editable ".[all]"
	@echo "$(CURDIR)" > $@

moved: ;

demo: $(STAMP) ## Demonstrate a sync on a copy of sample-vault
	@"$(PY)" -m tests.demo

demo-qdrant: $(STAMP) ## Demonstrate the same with a Qdrant store, without a server
	@"$(PY)" -m tests.demo --store qdrant+local:../store

fmt: $(STAMP) ## Format the code, and apply the safe fixes of the linter
	@"$(PY)" -m ruff check --quiet --fix-only .
	@"$(PY)" -m ruff format .

lint: $(STAMP) ## Check style, format, spelling, words and subjects of commits
	@"$(PY)" -m ruff check .
	@"$(PY)" -m ruff format --check .
	@"$(BIN)/codespell"
	@"$(PY)" -m tests.test_words
	@"$(PY)" -m tests.test_commits
	@echo "lint: no problems found"

types: $(STAMP) ## Check types with mypy, in strict mode
	@"$(PY)" -m mypy

imports: $(STAMP) ## Check the import contracts
	@"$(BIN)/lint-imports"

test: $(STAMP) ## Run the tests, the long ones in short; FULL=1: in full; COVER=1: with coverage gates
	@$(if $(COVER),$(TESTS) --cov --cov-report= $(COVERING))
	@$(TESTS) $(if $(COVER),$(addprefix --ignore=,$(COVERING)),$(if $(FULL),,--short))
	@$(if $(COVER),$(MAKE) --no-print-directory gates)

# Code without I/O must be covered completely; backends have branches that only another
# platform or a broken disk reaches. Coverage doubles the time of a test, so only those run with
# it that the two gates need. If a line is missing here, add a test of its package.
gates:
	@echo "gates: coverage below the backends, which must be 100 %"
	@"$(PY)" -m coverage report --fail-under=100 --include="$(PURE)"
	@echo "gates: coverage of the backends, which must be at least 85 %"
	@"$(PY)" -m coverage report --fail-under=85 --include="vaultsync/backends/*"

test-all: $(STAMP) ## Run all tests, with the slow ones and many more examples
	@HYPOTHESIS_PROFILE=thorough "$(PY)" -m pytest -n auto --dist worksteal \
		-m "not bench" --timeout=1800 --durations=10

check: COVER := 1
check: lint imports docs-check beside plugin-test test gate ## Run everything that CI runs
	@echo "check: everything passed"

# The types use one core, and the package mostly waits for the network and the disk. The tests
# in a browser run alone: beside others, what should take a moment takes longer.
beside:
	@$(MAKE) --no-print-directory -j 2 types package

bench: $(STAMP) ## Run the benchmarks, as ratios within one run
	@"$(PY)" -m tests.bench

eval: $(STAMP) ## Evaluate recall on graded questions
	@"$(PY)" -m tests.eval

# Alone and without coverage, which would be measured too.
gate: $(STAMP) ## Compare recall, its time and its tokens with golden/baseline.json
	@"$(PY)" -m tests.eval.gate

golden: $(STAMP) ## Rewrite the expected texts in golden/; read the diff before you commit
	@VAULTSYNC_UPDATE_GOLDEN=1 "$(PY)" -m pytest -q -k golden
	@git --no-pager diff --stat golden/
	@git status --short --untracked-files=all golden/

mcp-versions: $(STAMP) ## Run the MCP server on version 2 of its SDK, too; needs a network
	@"$(PY)" -m pip install --quiet --upgrade --target .venv/mcp-2 "mcp>=2.2,<3"
	@MCP_SDK_FOLDERS="$(CURDIR)/.venv/mcp-2" "$(PY)" -m pytest -q tests/surfaces/test_mcp_versions.py

mutants: $(STAMP) ## Seed known bugs one by one, and name the test that catches each
	@"$(PY)" -m tests.mutants

docs: $(STAMP) ## Regenerate the generated pages of docs/
	@"$(PY)" docs/generate.py

docs-check: $(STAMP) ## Check that the generated pages are up to date
	@"$(PY)" docs/generate.py --check

# Prints why the plugin cannot be built here, or nothing. vitest and eslint need Node.js 20.19.
define hindrance
$$(if ! command -v node >/dev/null || ! command -v npm >/dev/null; then \
	echo "Node.js with npm is not installed"; \
elif ! node -e 'const [a, b] = process.versions.node.split("."); \
		process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)'; then \
	echo "Node.js is $$(node --version), but 20.19 or newer is needed"; \
elif [ "$(1)" ] && [ ! -e "$(NODES)/.stamp" ]; then \
	echo "npm could not install its packages (make setup)"; fi)
endef

plugin-setup:
	@why="$(call hindrance)"; if [ "$$why" ]; then \
		echo "setup: the plugin is SKIPPED: $$why"; \
	elif ! cmp -s "$(PLUGIN)/package-lock.json" "$(NODES)/.stamp"; then \
		echo "setup: installing into $(NODES)"; \
		rm -rf "$(NODES)"; \
		if $(NPM) ci --no-audit --no-fund >&2; then \
			cp "$(PLUGIN)/package-lock.json" "$(NODES)/.stamp"; \
		else echo "setup: the plugin is SKIPPED: npm could not install its packages"; \
		fi; \
	fi

plugin: plugin-setup ## Build the Obsidian plugin, which `vaultsync plugin install` copies
	@why="$(call hindrance,packages)"; if [ "$$why" ]; then \
		echo "plugin: SKIPPED: $$why"; \
	else $(NPM) run --silent build && echo "plugin: built into vaultsync/obsidian"; fi

plugin-test: $(STAMP) plugin ## Lint and test the plugin, also in a browser
	@why="$(call hindrance,packages)"; if [ "$$why" ]; then \
		echo "plugin-test: SKIPPED: $$why"; \
	else $(NPM) run --silent lint && $(NPM) run --silent test && $(NPM) run --silent browser; fi

package: $(STAMP) plugin ## Build the wheel, and test it with newest and oldest dependencies
	@"$(PY)" -m tests.wheel

lock: ## Update constraints.txt from a fresh resolution
	@rm -rf build/lock && "$(PYTHON)" -m venv build/lock
	@build/lock/bin/python $(PIP) install --upgrade pip
	@build/lock/bin/python $(PIP) install --group dev ".[all]" torch==2.13.0
	@{ echo "# The versions that development and CI use. Written by 'make lock'."; \
		build/lock/bin/python -m pip freeze --all \
			--exclude setuptools --exclude vaultsync | sed 's/+cpu$$//'; \
		} > build/constraints.txt
	@mv build/constraints.txt constraints.txt
	@rm -rf build/lock
	@echo "lock: constraints.txt lists $$(grep -c == constraints.txt) versions"

clean: ## Remove everything these targets created, except .venv
	@rm -rf build .coverage .coverage.* .*_cache .hypothesis vaultsync/obsidian
	@rm -rf $(NODES)/.vite $(NODES)/.vite-temp
	@find . -name __pycache__ -not -path "./.venv/*" -not -path "./$(NODES)/*" -prune -exec rm -rf {} +
	@echo "clean: done; 'rm -r .venv $(NODES)' removes what setup installed"
