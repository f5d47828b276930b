# Every target sets up what it needs. `make help` lists the targets.

# The first Python >= 3.11 that works (the shim of a version manager may not).
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
VENV ?= .venv
BENCH_VENV ?= .venv-bench
FOREIGN_VENV ?= .venv-foreign
BIN := $(VENV)/bin
URL ?=
ARGS ?=
export PIP_DISABLE_PIP_VERSION_CHECK = 1
unexport PYTHONDONTWRITEBYTECODE  # byte code halves a cold start

.DEFAULT_GOAL := help
.PHONY: help run test outputs mutants torture soak foreign coverage check policies pages wheels lint types layers dead docs docs-site bench lock clean

help:  ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-9s %s\n", $$1, $$2}' Makefile

URL ?=
override URL := $(value URL)
export URL  # by the environment: URLs contain shell metacharacters
run: $(VENV)/.run  ## Fetch URL=https://… as Markdown; without URL, a short tour
	@if [ -n "$$URL" ]; then $(BIN)/spaniel fetch "$$URL"; else $(BIN)/spaniel demo; fi

# Many tests wait for a process or a server, so more processes than cores are used. With ARGS, the chosen tests run in one
# process: `make test ARGS="tests/net -k redirect"`.
TEST_PROCESSES ?= $(shell expr 1 + 2 \* $$(nproc 2>/dev/null || echo 2))
test: $(VENV)/.dev $(VENV)/.inspector $(VENV)/.gallery $(VENV)/.js_clients  ## Run all tests (ARGS="tests/net -k name" to choose some)
	@FORGE_TEST_CHROMIUM_PATH="$${FORGE_TEST_CHROMIUM_PATH:-$$(tools/chromium)}" $(BIN)/python -m pytest $(if $(COVERAGE),--cov --cov-report=) \
	  $(if $(ARGS),$(ARGS),-q -p no:cacheprovider -n $(TEST_PROCESSES) --dist loadfile)
	@$(if $(COVERAGE),$(BIN)/python tools/coverage_by_package.py $(filter --gaps,$(COVERAGE)),true)

outputs: $(VENV)/.dev  ## Update the stored outputs of all commands (tests/outputs); read the diff
	@WRITE_OUTPUTS=1 $(BIN)/python -m pytest -q tests/outputs

# The packages whose coverage is gated, without a browser; CI measures the run of all tests instead (COVERAGE=1).
coverage:  ## Run the tests of some packages, and fail if they miss more than 5 % of a package's lines or branches
	$(MAKE) --no-print-directory test COVERAGE=--gaps ARGS="-q $(addprefix tests/,url net robots cache pipeline app tool)"

mutants: $(VENV)/.dev  ## Mutation tests (ARGS="net/guard.py --sample 0", ARGS="--ids --seed 7 --count 100")
	@FORGE_TEST_CHROMIUM_PATH="$${FORGE_TEST_CHROMIUM_PATH:-$$(tools/chromium)}" $(BIN)/python tools/mutants.py $(ARGS)

torture: $(VENV)/.dev  ## Run the long forms of some tests (minutes)
	@FORGE_TEST_CHROMIUM_PATH="$${FORGE_TEST_CHROMIUM_PATH:-$$(tools/chromium)}" $(BIN)/python -m pytest -m torture -s tests/torture $(ARGS)

soak: $(VENV)/.dev  ## Run a mixed load on the service for half an hour, through 20 kills (ARGS="--minutes 5 --kills 4")
	@$(BIN)/python -m tests.torture.soak $(ARGS)

foreign: $(VENV)/.dev $(FOREIGN_VENV)/.foreign  ## Test with clients and readers of other projects (minutes)
	@for session in langchain_agent genai_schema fastmcp_session; do echo "$$session"; \
	  $(FOREIGN_VENV)/bin/python tests/mcp/foreign/$$session.py $(abspath $(BIN)/python) || exit 1; done
	@for session in langchain_loaders llama_reader request_forms; do echo "$$session"; \
	  $(FOREIGN_VENV)/bin/python tests/api/foreign/$$session.py $(abspath $(BIN)/python) || exit 1; done
	@echo datatrove_readers; $(FOREIGN_VENV)/bin/python tests/batch/foreign/datatrove_readers.py $(abspath $(BIN)/python) 2>/dev/null

check: lint types layers dead  ## Lint, types, layering, dependencies, dead code

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/deptry src

types: $(VENV)/.dev
	$(BIN)/mypy

layers: $(VENV)/.dev
	$(BIN)/lint-imports

dead: $(VENV)/.dev
	$(BIN)/vulture

docs: $(VENV)/.dev  ## Update the pages, transcripts and pictures that are generated from the code
	$(BIN)/python docs/make.py
	$(BIN)/python docs/transcripts.py
	$(BIN)/python docs/make_pictures.py

docs-site: $(VENV)/.dev  ## Build the documentation as a site with a search, in site/ (no network is needed)
	@$(BIN)/python docs/make_site.py

policies: $(VENV)/.dev  ## Update the compiled shipped policies
	$(BIN)/python tools/compile_policies.py

pages: $(VENV)/.dev  ## Write the golden pages and their Markdown side by side to dist/pages.html
	@$(BIN)/python tools/golden_pages.py dist/pages.html

wheels: $(VENV)/.dev  ## Build the wheel with its extension into dist/, and test it without a compiler
	@$(BIN)/python tools/wheels.py dist

bench: $(BENCH_VENV)/.bench $(BENCH_VENV)/.link_checkers  ## Benchmarks against other tools (ARGS="canon" to choose)
	$(BENCH_VENV)/bin/python -m bench $(ARGS)

lock: $(VENV)/.dev  ## Update the pinned dependencies (with hashes)
	$(BIN)/python -m pip install --quiet uv
	@for set in run:--extra=mcp,--extra=serve dev:--extra=dev bench:--extra=bench; do \
	  $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	    pyproject.toml requirements/build.in $$(echo $${set#*:} | tr , " ") -o requirements/$${set%%:*}.txt; done
	@for set in foreign pip; do $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	  --no-header --no-annotate requirements/$$set.in -o requirements/$$set.txt; done

clean:  ## Remove environments, caches and build results
	rm -f src/spaniel/reading/*/native*.so
	rm -rf $(VENV) $(BENCH_VENV) $(FOREIGN_VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .cache dist site

# A stamp marks an environment with exactly its requirements file and the compiled extension.
BUILT := pyproject.toml hatch_build.py $(wildcard src/spaniel/reading/*/native*.p[xy]*) $(addprefix src/spaniel/reading/judge/,trees.py columns.py)
$(VENV)/.run: requirements/run.txt $(BUILT)
	$(call environment,$(VENV),run)

$(VENV)/.dev: requirements/dev.txt $(BUILT)
	$(call environment,$(VENV),dev)
	@touch $(VENV)/.run

$(BENCH_VENV)/.bench: requirements/bench.txt $(BUILT)
	$(call environment,$(BENCH_VENV),bench)

# Two link checkers for Node, for `make bench ARGS=links`. Skipped without npm.
CHECKERS := bench/link_checkers/package.json bench/link_checkers/package-lock.json
$(BENCH_VENV)/.link_checkers: $(CHECKERS) | $(BENCH_VENV)/.bench
	@mkdir -p $(BENCH_VENV)/link_checkers && cp $(CHECKERS) $(BENCH_VENV)/link_checkers/
	@if cd $(BENCH_VENV)/link_checkers && npm install --fetch-retries=5 --no-save --ignore-scripts --no-audit --no-fund --loglevel=error; \
	then touch ../.link_checkers; else echo "Node's link checkers could not be set up with npm: they are left out." >&2; fi

# Clients of other projects run in their own environment, without Spaniel: they connect to a server of ours.
$(FOREIGN_VENV)/.foreign: requirements/foreign.txt
	@test -x $(FOREIGN_VENV)/bin/pip || { echo "Setting up $(FOREIGN_VENV) ..."; $(PYTHON) -m venv $(FOREIGN_VENV); }
	@$(call packages,$(FOREIGN_VENV),foreign)
	@touch $@

# The MCP Inspector, a second client for tests/mcp. Without npm its tests are skipped, which is a failure in CI.
INSPECTOR := tests/mcp/inspector/package.json tests/mcp/inspector/package-lock.json
$(VENV)/.inspector: $(INSPECTOR) | $(VENV)/.dev
	@mkdir -p $(VENV)/inspector && cp $(INSPECTOR) $(VENV)/inspector/
	@if cd $(VENV)/inspector && npm install --fetch-retries=5 --no-save --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error; \
	then touch ../.inspector; else echo "The MCP Inspector could not be set up with npm: its tests are skipped." >&2; fi

# Clients of the service that run on Node, for tests/api. Without npm their tests are skipped, which CI takes for a failure.
JS_CLIENTS := tests/api/js/package.json tests/api/js/package-lock.json
$(VENV)/.js_clients: $(JS_CLIENTS) | $(VENV)/.dev
	@mkdir -p $(VENV)/js_clients && cp $(JS_CLIENTS) $(VENV)/js_clients/
	@if cd $(VENV)/js_clients && npm install --fetch-retries=5 --no-save --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error; \
	then touch ../.js_clients; else echo "The service's clients on Node could not be set up with npm: their tests are skipped." >&2; fi

# Frameworks for tests/browser/gallery, pinned by hash. Without npm and node its tests are skipped.
GALLERY := $(wildcard tests/browser/gallery/*.json tests/browser/gallery/*.mjs tests/browser/gallery/bundled/*)
$(VENV)/.gallery: $(GALLERY) | $(VENV)/.dev
	@if $(BIN)/python tests/browser/gallery/set_up.py $(VENV)/gallery; \
	then touch $@; else echo "The gallery could not be set up with npm: its tests are skipped." >&2; fi

define environment
	@test -n "$(PYTHON)" || { echo "Spaniel needs Python 3.11 or newer; none was found (set PYTHON=/path/to/python3)." >&2; exit 1; }
	@test -x $(1)/bin/pip || { echo "Setting up $(1): packages are downloaded, which takes a minute or more ..."; rm -rf $(1); $(PYTHON) -m venv $(1) || { \
	  echo "'$(PYTHON) -m venv' failed; on Debian: apt install python3-venv" >&2; exit 1; }; }
	@$(call packages,$(1),$(2))
	@$(1)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@
endef

# pip fails when a download is interrupted, but keeps complete files, so a retry on a bad connection needs less. Older
# versions of pip cache truncated indexes: so pip is updated first, without its cache.
define packages
pip() { $(1)/bin/python -m pip install --quiet --require-hashes --no-deps --no-cache-dir -r requirements/pip.txt; }; \
	all() { $(1)/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements/$(2).txt; }; \
	for part in pip all; do for try in 1 2 3 4 5 6 7 8; do \
	  $$part && break; \
	  test $$try = 8 || { echo "Download failed. Trying again ..." >&2; sleep $$try; continue; }; \
	  test $$part = pip || { echo "Run make again when the connection is better: downloads are cached." >&2; exit 1; }; \
	done; done
endef
