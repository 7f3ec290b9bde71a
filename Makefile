# One word per chore. `make` alone lists them. Settings live in pyproject.toml, versions in requirements.lock.

STAMP := .venv/.drover-setup
BIN := .venv/bin
# The stamp holds the directory it was made in: an editable install in a moved or copied tree points at the old place.
ifneq ($(shell test -x $(BIN)/python && cat $(STAMP) 2>/dev/null),$(CURDIR))
STALE := stale
endif
# CI runs everything; a person waits only for what is quick.
SELECT := $(if $(filter-out false 0,$(CI)),,-m "not slow")
# Tests of one file stay in one worker: they share its Spark session and its fixtures. Three workers on two cores took
# 11:27 where two took 9:53. JOBS=0 runs all in one process.
PYTEST := $(BIN)/python -m pytest -n $(or $(JOBS),2) --dist loadfile --no-loadscope-reorder

# Every worker of Spark imports drover anew: compiled code that may be kept saves a fifth of that time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup check format test test-all chaos fuzz simulate-faults mutants demo bench experiments docs wheels lock clean stale

help: ## list the chores
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## build .venv from the lock (every chore does this when it is missing or stale)

$(STAMP): pyproject.toml src/drover_lab/pyproject.toml requirements.lock scripts/setup.sh $(STALE)
	@PYTHON="$(PYTHON)" sh scripts/setup.sh

check: $(STAMP) ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m mypy

format: $(STAMP) ## rewrite the sources as `make check` wants them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: $(STAMP) ## the tests that are not slow; all of them if CI is set. ARGS="-k word" goes to pytest
	$(PYTEST) $(SELECT) $(ARGS)

test-all: $(STAMP) ## every test
	$(PYTEST) $(ARGS)

chaos: $(STAMP) ## kill processes of a run KILLS=100 times, as SEED=11 says, on ENGINE=shuffle, and look for lost or doubled rows
	KILLS=$(or $(KILLS),100) SEED=$(or $(SEED),11) ENGINE=$(or $(ENGINE),shuffle) \
		$(BIN)/python -m pytest -s -o faulthandler_timeout=0 tests/spark/test_chaos.py $(ARGS)

fuzz: $(STAMP) ## feed CASES=1000000 damaged inputs to drover and look for tracebacks; ARGS="--target networks --seed 7"
	$(BIN)/python -m tests.fuzz --cases $(or $(CASES),1000000) $(ARGS)

simulate-faults: $(STAMP) ## play whole runs with crashes and disk faults, without Java; SEEDS=0-999, or one seed with ARGS=--story
	$(BIN)/python -m tests.simulation $(or $(SEEDS),0-99) $(ARGS)

demo: $(STAMP) ## a network of queries on this machine, moving while it runs
	$(BIN)/drover demo $(ARGS)

mutants: $(STAMP) ## change the code in small ways and report what no test notices; ARGS="control/reassignment" names modules
	$(BIN)/python scripts/mutants.py $(ARGS)

bench: $(STAMP) ## drover against plain Spark; ARGS="join --quick" names one, without it they are listed
	$(BIN)/python -m benchmarks $(ARGS)

experiments: $(STAMP) ## run what the texts measured and write docs/experiments; ARGS="B-fig1 --quick --out build/pages" takes seconds
	$(BIN)/drover experiment pages $(ARGS)

docs: $(STAMP) ## build the documentation site into build/site; any warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheels: $(STAMP) ## build the distributions drover and drover-lab into dist, from the lock alone
	for project in . src/drover_lab; do \
		$(BIN)/uv build --offline --no-build-isolation --python $(BIN)/python --out-dir dist $$project || exit 1; done

lock: ## resolve the newest versions pyproject.toml allows into requirements.lock
	@test -x $(BIN)/uv || $(MAKE) setup # not by the stamp: that would install from the very lock that is out of date
	$(BIN)/uv pip compile --universal --upgrade --python-version 3.11 --extra dev --quiet \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml

clean: ## remove everything that can be made again
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis spark-warehouse metastore_db derby.log
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
