# Every target installs what it needs into .cache/ and reuses it.
PYTHON ?= python3
CACHE := .cache
VENV := $(CACHE)/venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Number of test processes: one for what needs a core, at a low priority, the others with a sandbox each, as
# most of their tests wait.
WORKERS ?= 4
# The branch or commit that `make test-affected` compares with.
SINCE ?= main
# How much memory the API servers of the tests take before they collect garbage, in percent of what is in use. The
# default of Go, 100, costs a sixth of their processor time.
GOGC ?= 400

export EDGETENANTS_CACHE := $(CURDIR)/$(CACHE)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Set in many container images. Here, each of some hundred processes would compile all that it imports again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo packages setup programs python-version test histories fuzz mutants test-unit test-affected test-world golden test-alone test-controlplane lint generate bench audit lock clean
.DEFAULT_GOAL := help

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: setup ## Run the demo: a claim becomes a live tenant, changes, drifts, is repaired, gets a certificate, is deleted (PACKAGES=1: install the packages)
	@$(BIN)/edgetenants demo $(if $(PACKAGES),--packages) $(DEMO_FLAGS)

packages: $(READY) ## Build the Crossplane packages into packages/ (PACKAGES_FLAGS="--output DIR")
	@$(BIN)/python -m xpkg build $(PACKAGES_FLAGS)

setup: ## Install the Python environment, and build the control plane if Go is on the PATH
	@$(MAKE) --no-print-directory -j2 $(READY) programs

# Go builds while pip installs. Without Go on PATH, the demo installs it later, with the environment's own pip.
programs: python-version
	@$(PYTHON) -m sandbox.build --cache $(CACHE) --kubectl-on-path --only-with-go > /dev/null

test: $(READY) ## Run all tests: unit, contract, and integration tests on a real control plane
	@$(BIN)/python -m sandbox.build --cache $(CACHE) --cli --crossplane-v1
	@GOGC=$(GOGC) $(BIN)/python -m pytest -p tests.lanes -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_FLAGS)

# Some of these tests wait, so there is a process more than cores.
test-unit: $(READY) ## Run the tests that need no control plane
	@$(BIN)/python -m pytest -m "not world" -n $$(($$(getconf _NPROCESSORS_ONLN) + 1)) --dist loadfile --no-loadscope-reorder $(PYTEST_FLAGS)

test-affected: $(READY) ## Run the tests that a change can affect, and of those on a control plane the main job (SINCE=BRANCH, default main)
	@$(BIN)/python -m tests.affected --since $(SINCE) > $(CACHE)/affected
	@[ ! -s $(CACHE)/affected ] || { $(BIN)/python -m sandbox.build --cache $(CACHE) --cli && \
	  GOGC=$(GOGC) $(BIN)/python -m pytest -p tests.lanes -n 2 --dist loadfile --no-loadscope-reorder $$(cat $(CACHE)/affected) $(PYTEST_FLAGS); }

test-world: $(READY) ## Run the tests on a real control plane
	@$(BIN)/python -m pytest -m world $(PYTEST_FLAGS)

golden: $(READY) ## Rewrite the expected output of the examples (examples/*/expected*.yaml); review the diff before you commit
	@$(BIN)/python -m sandbox.build --cache $(CACHE) --cli
	@EDGETENANTS_GOLDEN=write $(BIN)/python -m pytest tests/integration/test_golden.py $(PYTEST_FLAGS)

test-alone: ## Test runtime/ and emulator/, each installed alone in a clean environment
	@$(PYTHON) tests/alone.py $(CACHE)/alone runtime emulator

test-controlplane: $(READY) ## Run the Go tests of the sandbox's control plane
	@$(BIN)/python -m sandbox.build --cache $(CACHE) --test

histories: $(READY) ## Play 10,000 random histories of managed resources against the runtime (HISTORIES_FLAGS="--count N --seed N")
	@$(BIN)/python -m edgetenants_runtime.histories --count 10000 --workers 2 $(HISTORIES_FLAGS)

fuzz: $(READY) ## Send random requests to the emulator (FUZZ_FLAGS="--count N --seed N"; make test sends 5,000)
	@$(BIN)/python -m edgetenants_emulator.fuzz $(FUZZ_FLAGS)

mutants: $(READY) ## Break the code in named ways, one at a time; a test must catch each
	@$(BIN)/python -m tests.mutants $(MUTANTS_FLAGS)

lint: $(READY) ## Check style, strict types, import rules, the clock rule, and that generated files are up to date
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m apis.generate --check
	@$(BIN)/python -m provider.iam_page --check
	@$(BIN)/python -m pytest -q tests/unit/mutants

generate: $(READY) ## Generate CRDs, XRDs, Composition and reference docs from apis/, and docs/iam.md from the AWS calls
	@$(BIN)/python -m sandbox.build --cache $(CACHE) --openapi
	@$(BIN)/python -m apis.generate
	@$(BIN)/python -m provider.iam_page

bench: $(READY) ## Run the benchmarks (BENCH=cold-start runs one); results are in .cache/bench/report.json
	@$(BIN)/python -m tests.bench $(BENCH)

audit: $(READY) ## Look for advisories and licences of the locked wheels (Error 1: found some; Error 3: advisories unreachable)
	@$(BIN)/python -m xpkg --cache $(CACHE) audit $(AUDIT_FLAGS)

lock: ## Update the lock files (needs uv)
	@requirements/lock.sh

clean: ## Remove every sandbox and all build output
	@[ ! -x $(BIN)/edgetenants ] || $(BIN)/edgetenants sandbox down --all
	rm -rf $(CACHE) .mypy_cache .ruff_cache .pytest_cache .hypothesis

python-version:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "edgetenants needs Python 3.11 or newer; PYTHON=%s is %s" % (sys.executable, sys.version.split()[0]))'

# The lock names every package, so pip need not resolve them. Python compiles a module when it first imports it.
$(READY): requirements/dev.lock pyproject.toml runtime/pyproject.toml emulator/pyproject.toml | python-version
	@[ -x $(BIN)/python ] || { echo "setting up: Python environment in $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@cmp -s requirements/dev.lock $(VENV)/.lock || { echo "setting up: dependencies from requirements/dev.lock (once, about a minute)"; \
	  $(BIN)/pip install --quiet --no-deps --no-compile --require-hashes -r requirements/dev.lock && cp requirements/dev.lock $(VENV)/.lock; }
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation -e runtime -e emulator -e .
	@touch $@
