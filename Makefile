# Atrium: everything a developer does, each by one word. `make help` lists them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
PORT ?= 8000
FRESH ?=
SEED ?=
Q ?=

# Any Python from 3.11 on that can make environments; 3.11 first, because Lambda runs it.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$python -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
# Folders whose tests need packages of Node's.
NODE := tests/security/analyser tests/docs/receiver tests/issuer tests/rendering
# The one whose package makes load.
LOAD := benchmarks/performance
# Folders with programs, tests aside.
OURS := chalicelib infrastructure local benchmarks

.PHONY: help
help: ## list what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: .venv/installed .venv-emulator/installed ## run everything on this machine (PORT=8000, FRESH=1 from nothing, SEED=1 with a company)
	@exec $(BIN)/python -m local run --port $(PORT) $(if $(filter-out 0,$(FRESH)),--fresh) $(if $(filter-out 0,$(SEED)),--seed)

.PHONY: test
test: lint types pytest ## check everything, as CI does

.PHONY: lint
lint: .venv/installed ## style, format, architecture and habits that are holes
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo
	$(BIN)/bandit --quiet --configfile pyproject.toml --recursive app.py $(OURS)

.PHONY: audit
audit: .venv/installed ## ask PyPI which pinned libraries are known to be vulnerable; no answer is a failure
	@$(BIN)/python -m local.tools.audit_dependencies

.PHONY: types
types: .venv/installed ## static types
	$(BIN)/mypy

.PHONY: pytest
pytest: .venv/installed .venv-emulator/installed $(NODE:%=%/node_modules/installed) ## the tests, with coverage
	$(BIN)/python -m pytest --numprocesses auto --dist loadgroup --cov --cov-report term

MINUTES ?= 10
.PHONY: explore
explore: .venv/installed ## tell the service random stories against its model (MINUTES=10), until one goes wrong
	EXPLORE_MINUTES=$(MINUTES) $(BIN)/python -m pytest --no-cov -q --show-capture=no tests/model/test_stories.py -k model_says

.PHONY: measure
measure: .venv/installed ## write anew what each operation asks of AWS beside 10 to 10,000 neighbours, in three minutes
	$(BIN)/python -m benchmarks.performance.operations

.PHONY: bench
bench: .venv/installed .venv-peers/installed ## time Atrium beside other stacks, in some five minutes: docs/reference/performance.md
	@$(BIN)/python -m benchmarks.performance.peers

.PHONY: fuzz
fuzz: .venv/installed ## let Schemathesis look for holes, at random (MINUTES=10, SEED= for the same again)
	@$(BIN)/python -m tests.security.fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

.PHONY: format
format: .venv/installed ## put the code into its format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: routes
routes: .venv/installed ## find an operation: method, path, file:line (Q=/spaces)
	@$(BIN)/python -m local routes '$(Q)'

.PHONY: generate
generate: openapi ## write what is made from operations and entities anew
	$(BIN)/python -m local.generators.generate
	$(BIN)/ruff format --quiet chalicelib/entrypoints/routes.py chalicelib/entrypoints/kinds.py \
		chalicelib/features/declarations.py
	$(BIN)/python -m tests.docs.access_patterns > /dev/null

.PHONY: openapi
openapi: .venv/installed ## write openapi.json anew
	$(BIN)/python -m chalicelib.entrypoints.openapi > openapi.json.new
	mv openapi.json.new openapi.json

.PHONY: docs-assets
docs-assets: .venv/installed ## fetch the documentation page's library anew, as pinned
	$(BIN)/python -m local.generators.docs_assets

.PHONY: reference-data
reference-data: .venv/installed ## make the file of reference data anew, from the packages as pinned
	$(BIN)/python -m local.generators.reference_data

.PHONY: lock
lock: .venv/installed ## pin every requirement anew (UPGRADE=--upgrade for the newest)
	$(LOCK) requirements.in --output-file requirements.txt
	$(LOCK) requirements-dev.in --output-file requirements-dev.txt
	$(LOCK) requirements-emulator.in --output-file requirements-emulator.txt
	$(LOCK) tests/infrastructure/requirements-runtime.in --output-file tests/infrastructure/requirements-runtime.txt
	$(LOCK) benchmarks/peers/requirements.in --output-file benchmarks/peers/requirements.txt

LOCK = $(BIN)/uv pip compile --quiet --universal --no-strip-extras --python-version 3.11 --generate-hashes \
	--no-annotate --no-emit-index-url --no-header $(UPGRADE)

.PHONY: package
package: .venv/installed ## build the zip that is deployed, in build/package (PYTHON_VERSION=3.13 for another Python)
	@$(BIN)/python -m infrastructure package $(if $(PYTHON_VERSION),--python '$(PYTHON_VERSION)')

STAGED = --stage '$(or $(STAGE),$(error Name the stage: make $@ STAGE=prod))'

.PHONY: bootstrap
bootstrap: .venv/installed ## make what a stage on AWS keeps its data in (STAGE=prod ISSUER= AUDIENCE= DOMAIN= ...)
	@$(BIN)/python -m infrastructure bootstrap $(STAGED) --issuer '$(ISSUER)' --audience '$(AUDIENCE)' \
		--domain '$(DOMAIN)' --mail-from '$(MAIL_FROM)' --alarms-to '$(ALARMS_TO)' --public-url '$(PUBLIC_URL)' \
		--jwks '$(JWKS)' --table '$(TABLE)' --anchors '$(ANCHORS)'

.PHONY: deploy
deploy: .venv/installed ## bring a stage's functions and API up to date (STAGE=prod)
	@$(BIN)/python -m infrastructure deploy $(STAGED)

.PHONY: template
template: .venv/installed ## write a stage's functions and API as a template of CloudFormation (STAGE=prod)
	@$(BIN)/python -m infrastructure template $(STAGED)

.PHONY: delete
delete: .venv/installed ## take functions, roles and API of a stage away; its data stay (STAGE=prod)
	@$(BIN)/python -m infrastructure delete $(STAGED)

.PHONY: renew-seals
renew-seals: .venv/installed ## make anew the entries' seals that another SEAL_KEY of a stage has made (STAGE=prod)
	@$(BIN)/python -m local renew-seals $(STAGED)

.PHONY: load
load: .venv/installed .venv-emulator/installed $(LOAD)/node_modules/installed ## measure the running service under load, in five minutes
	@$(BIN)/python -m benchmarks.performance.load

.PHONY: soak
soak: .venv/installed .venv-emulator/installed ## load while processes are killed, and what holds afterwards (MINUTES=30 SEED=)
	@$(BIN)/python -m benchmarks.soak --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

.PHONY: clean
clean: ## remove what make has made, the local stage's state included
	rm -rf .venv .venv-emulator .venv-peers $(NODE:%=%/node_modules) $(LOAD)/node_modules .local build .coverage .coverage.* .*_cache .hypothesis

.venv/installed: requirements-dev.txt
	$(call install,.venv,$<)

.venv-emulator/installed: requirements-emulator.txt
	$(call install,.venv-emulator,$<)

.venv-peers/installed: benchmarks/peers/requirements.txt
	$(call install,.venv-peers,$<)

%/node_modules/installed: %/package-lock.json
	@command -v npm > /dev/null || { echo 'Node 18 or later with npm is needed for some of the tests.' >&2; exit 1; }
	@echo "Installing $(@D) from $<"
	@cd $* && npm ci --loglevel=error > /dev/null
	@touch $@

# Made anew when its list changes, so that an environment holds what its list says and no more.
define install
$(if $(PYTHON),,$(error Python 3.11 or later with its venv module is needed; name one with make PYTHON=...))
@echo "Installing $(1) from $(2)"
@$(PYTHON) -m venv --clear $(1)
@$(1)/bin/python -m pip --disable-pip-version-check install --quiet --quiet --require-hashes --requirement $(2)
@touch $@
endef
