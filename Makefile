# Every target does its own set-up; what was set up once is reused (.cache/).
PYTHON ?= python3
CACHE := .cache
VENV := $(CACHE)/venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Test files run in so many processes; each that needs a world has one of its own. With four on two cores a run
# takes two thirds of the time, and what waits for the real clock may miss it on a busy machine.
WORKERS ?= 2

export EDGETENANTS_CACHE := $(CURDIR)/$(CACHE)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test histories fuzz mutants test-unit test-world golden test-alone test-controlplane lint generate bench lock clean
.DEFAULT_GOAL := help

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(READY) ## Watch a claim become a live tenant, change, drift, be repaired, get a certificate, be deleted
	@$(BIN)/edgetenants demo $(DEMO_FLAGS)

test: $(READY) ## All tests: units, contracts, and the whole on a real control plane
	@$(BIN)/python -m sandbox.build --cache $(CACHE) --cli --crossplane-v1
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_FLAGS)

test-unit: $(READY) ## The tests that need no control plane
	@$(BIN)/python -m pytest -m "not world" $(PYTEST_FLAGS)

test-world: $(READY) ## The tests on a real control plane
	@$(BIN)/python -m pytest -m world $(PYTEST_FLAGS)

golden: $(READY) ## Write what the examples become (examples/*/expected*.yaml) anew; look at the difference before you commit it
	@$(BIN)/python -m sandbox.build --cache $(CACHE) --cli
	@EDGETENANTS_GOLDEN=write $(BIN)/python -m pytest tests/integration/test_golden.py $(PYTEST_FLAGS)

test-alone: ## Install runtime/ and emulator/ each alone in a clean environment and test them there
	@$(PYTHON) tests/alone.py $(CACHE)/alone runtime emulator

test-controlplane: $(READY) ## The tests of the sandbox's own control plane, in Go
	@$(BIN)/python -m sandbox.build --cache $(CACHE) --test

histories: $(READY) ## Play 10,000 histories of managed resources against the runtime (HISTORIES_FLAGS="--count N --seed N")
	@$(BIN)/python -m edgetenants_runtime.histories --count 10000 --workers $(WORKERS) $(HISTORIES_FLAGS)

fuzz: $(READY) ## Send requests by chance to the emulator (FUZZ_FLAGS="--count N --seed N"; 5,000 of them in each make test)
	@$(BIN)/python -m edgetenants_emulator.fuzz $(FUZZ_FLAGS)

mutants: $(READY) ## Break the code in named ways, one at a time: a test must notice each
	@$(BIN)/python -m tests.mutants $(MUTANTS_FLAGS)

lint: $(READY) ## Style, strict types, import rules, no clock but ours, generated files fresh
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m apis.generate --check
	@$(BIN)/python -m provider.iampage --check
	@$(BIN)/python -m pytest -q tests/unit/mutants

generate: $(READY) ## Write CRDs, XRDs, Composition and reference docs from apis/, docs/iam.md from the calls
	@$(BIN)/python -m apis.generate
	@$(BIN)/python -m provider.iampage

bench: $(READY) ## Measure against named rivals (BENCH=cold-start for one of them); figures in .cache/bench/report.json
	@$(BIN)/python -m tests.bench $(BENCH)

lock: ## Resolve the locks anew (needs uv)
	@requirements/lock.sh

clean: ## Take down every sandbox and forget all that was built
	@[ ! -x $(BIN)/edgetenants ] || $(BIN)/edgetenants sandbox down --all
	rm -rf $(CACHE) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(READY): requirements/dev.lock pyproject.toml runtime/pyproject.toml emulator/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "edgetenants needs Python 3.11 or newer; PYTHON=%s is %s" % (sys.executable, sys.version.split()[0]))'
	@[ -x $(BIN)/python ] || { echo "setting up: Python environment in $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@cmp -s requirements/dev.lock $(VENV)/.lock || { echo "setting up: third parties from requirements/dev.lock (once, about two minutes)"; \
	  $(BIN)/pip install --quiet --require-hashes -r requirements/dev.lock && cp requirements/dev.lock $(VENV)/.lock; }
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation -e runtime -e emulator -e .
	@touch $@
