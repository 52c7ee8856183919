# The developer's commands; `make help` lists them. They need Python >= 3.11.5, git and make. They
# create the virtual environment if it is missing, and again when requirements change.

VENV ?= .venv
PYTHON ?= python3
# Two tests a core: most tests wait for a process or a disk half of the time.
JOBS ?= $(shell expr 2 \* $$(nproc))
ALL_TESTS := -n $(JOBS) --dist worksteal

# Stories that a campaign repeats on a cluster: those whose implementers exist on a worker, too.
# The others replace an agent within the test's own process, or are about the machine itself.
CLUSTER_STORIES := $(patsubst %,tests/stories/test_%.py,tasks_built tasks_readings tasks_landed \
  trial_run states_begin unverified verify ship reviews reviews_answered \
  regressions regressions_answered regressions_contracts regressions_early regressions_meanwhile \
  rewritten_commits tasks_demo \
  task_types tests_frozen tests_notice swallowed_exits said_at_once grades_of_done kept_apart \
  default_gates evidence declared_secrets \
  plan_meanwhile plan_phases staged_by_hand what_was_said trust_of_agents coverage_again \
  manual_commit landing_on_a_moved_branch early_cutoff clone_made_anew \
  scans_behind everywhere)

# If it is set, each process of each test compiles the product again: twice the time of a clean clone.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := build/demo
DEMO_VENV := build/demo-venv

.DEFAULT_GOAL := help
.PHONY: help setup sandbox check lint types types-here types-macos floors house reference messages words recordings test changed all nightly long-tests release site vscode mutants pictures bench golden campaign demo demo-clean lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Create the virtual environment (VENV=.venv, PYTHON=python3) with the versions of requirements.lock

$(READY): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 5))' || { \
	  echo "error: Python >= 3.11.5 is needed, and $(PYTHON) is $$($(PYTHON) --version 2>&1)"; \
	  echo "hint: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { \
	  echo "error: $(PYTHON) cannot make a virtual environment"; \
	  echo "hint: on Debian and Ubuntu, apt-get install python3-venv"; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[dev]'
	@touch $@

sandbox: # bubblewrap is the sandbox of tasks' commands; without it they run without one, and the runner says so
	@command -v bwrap > /dev/null || { test "$$(id -u)" = 0 && command -v apt-get > /dev/null \
	  && { apt-get install -qq -y bubblewrap || { apt-get update -qq && apt-get install -qq -y bubblewrap; }; } \
	  > /dev/null 2>&1; } || echo "note: bubblewrap is not installed, so commands run without a sandbox"

check: $(READY) ## Run lint, types and import layers in parallel
	@$(MAKE) --no-print-directory -j 4 lint types-here types-macos floors

reference: $(READY) ## Generate docs/reference/ and docs/rooms.md from the code
	$(BIN)/python tests/reference.py

lint: $(READY) ## Run ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: types-here types-macos ## Run mypy --strict on runner/, for Linux and for macOS

types-here: $(READY) # each takes one core for most of a minute if nothing is cached
	$(BIN)/mypy

types-macos: $(READY)
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin

floors: $(READY) ## Run import-linter: every import points down
	$(BIN)/lint-imports

house: $(READY) ## Show lines, statements, files and private words, with their bounds (tests/house_bounds.toml)
	$(BIN)/python tests/house.py

# With worksteal a worker keeps the tests of a file, so their shared fixtures are made once.
test: check sandbox ## Run check and all tests except the nightly ones
	@$(BIN)/python tests/long_tests.py --estimate
	tests/in_memory.sh $(BIN)/python -m pytest $(ALL_TESTS) -m "not nightly"

changed: $(READY) sandbox ## Run the tests that runner impact selects for the changes since HEAD, and show why
	tests/in_memory.sh $(BIN)/python tests/changed.py $(ALL_TESTS) -m "not nightly"

all: check sandbox ## Run check and all tests
	tests/in_memory.sh $(BIN)/python -m pytest $(ALL_TESTS)

nightly: $(READY) sandbox ## Run all tests, require 90 % coverage of runner/, then run mutants
	tests/in_memory.sh $(BIN)/python -m pytest $(ALL_TESTS) --cov=runner --cov-report=term:skip-covered --cov-fail-under=90
	$(MAKE) --no-print-directory mutants

long-tests: $(READY) sandbox ## Run all tests and write those that take over 0.5 s of processor time to tests/long_tests.tsv
	rm -rf build/test_seconds && mkdir -p build/test_seconds
	TESTS_MEASURED="$(abspath build/test_seconds)" tests/in_memory.sh $(BIN)/python -m pytest $(ALL_TESTS)
	$(BIN)/python tests/long_tests.py build/test_seconds

release: $(READY) ## Build wheel and source archive into dist/ twice, try them offline, write bill of materials and provenance
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[release]'
	TAG=$(TAG) $(BIN)/python tests/release.py

site: $(READY) ## Build the documents as a site, build/site/index.html; a dead link is an error
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[docs]'
	$(BIN)/python tests/reference.py
	$(BIN)/sphinx-build -q -W --keep-going -n -b html -d build/site.trees -c docs/site . build/site
	cp build/site/README.html build/site/index.html

vscode: $(READY) ## Check, test and package the VS Code extension into editors/vscode/dist/ (needs npm)
	npm ci --prefix editors/vscode --ignore-scripts --no-fund --no-audit
	RUNNER="$(abspath $(BIN))/runner" npm test --prefix editors/vscode
	npm run package --prefix editors/vscode

recordings: $(READY) ## Record terminal sessions as docs/pictures/demo.svg and review.svg
	$(BIN)/python docs/site/record.py

messages: $(READY) ## List every message of the product, with file and line
	@$(BIN)/python tests/messages.py

words: $(READY) ## Show words and sentence lengths of the documents, with their bounds
	$(BIN)/python tests/words.py

mutants: $(READY) sandbox ## Put 60 small faults into copies of the product and count those that unit tests notice; MUTANTS=60 MUTANTS_IN=runner/run
	$(BIN)/python tests/mutants.py

golden: $(READY) ## Update the expected texts in tests/golden/; read the diff before you commit it
	UPDATE_GOLDEN=1 $(BIN)/python -m pytest tests -k golden
	git diff --stat -- tests/golden

pictures: $(READY) sandbox ## Take the screenshots in docs/pictures with Chromium
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python tests/serve/pictures.py

bench: $(READY) ## Run the quick benchmarks against other tools; benchmarks/README.md has the long ones
	$(BIN)/python benchmarks/peers/run.py --quick

campaign: $(READY) sandbox ## Run random tests for an hour, which must find planted bugs; CAMPAIGN="--seconds 600 --part 1/2 --seed 7"; then real agent programs, stories on a cluster and 200 mutants
	$(BIN)/python tests/campaigns.py $(CAMPAIGN)
	CAMPAIGN_SECONDS=$${CAMPAIGN_SECONDS:-600} $(BIN)/python -m pytest tests/stories tests/plan tests/implementers/agents tests/extensions/cluster tests/extensions/team tests/extensions/bridge -k campaign
	STORIES_ON_CLUSTER=1 $(BIN)/python -m pytest $(CLUSTER_STORIES)
	MUTANTS=$${MUTANTS:-200} $(BIN)/python tests/mutants.py
	$(BIN)/python tests/changed.py --planted

demo: $(DEMO_VENV)/.ready sandbox ## Build examples/bookings in build/demo; continue an interrupted demo, restart a finished one
	@echo "demo: building examples/bookings in twelve tasks"
	PATH="$(abspath $(DEMO_VENV)/bin):$$PATH" examples/demo examples/bookings $(DEMO)

$(DEMO_VENV)/.ready: pyproject.toml requirements.lock
	@echo "demo: making a virtual environment in $(DEMO_VENV)"
	@test -x $(DEMO_VENV)/bin/python || $(PYTHON) -m venv $(DEMO_VENV)
	@echo "demo: installing the runner, and what proves API contracts"
	@$(DEMO_VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[contracts]'
	@touch $@

demo-clean: ## Delete build/demo
	rm -rf $(DEMO)

lock: $(READY) ## Update requirements.lock from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --extra dev --extra docs --extra release --universal --python-version 3.11 --upgrade \
	  --no-header --no-emit-index-url --no-annotate --quiet --output-file requirements.lock

clean: demo-clean ## Delete everything that was built, including the virtual environment
	rm -rf build dist *.egg-info .coverage .coverage.* .mypy_cache .ruff_cache .hypothesis
	rm -rf .import_linter_cache
	test ! -e $(READY) || rm -rf $(VENV)
