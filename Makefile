# The commands of development and deployment. `make help` lists them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
PORT ?= 8000
FRESH ?=
SEED ?=
Q ?=

# Any Python from 3.11 on with venv and pip. 3.11 comes first because it is the oldest version that Lambda runs.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$python -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
# The environment that runs and deploys the service, and the one that checks and tests it.
BIN := .venv/bin
DEV := .venv-dev/bin
# Folders whose tests need Node packages.
NODE := clients/typescript tests/clients tests/security/analyser tests/docs/receiver tests/issuer tests/rendering console
# The folder of the load generator, a Node package.
LOAD := benchmarks/performance
# What the tests need. Documented commands run in .venv.
TESTED := .venv/installed .venv-dev/installed .venv-emulator/installed tools
PYTEST := $(DEV)/python -m pytest --numprocesses auto --dist loadgroup
COVERAGE :=
# Folders with Python code, without the tests.
OURS := chalicelib infrastructure local benchmarks

.PHONY: help
help: ## list all commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: .venv/installed .venv-emulator/installed ## start the service on this machine (PORT=8000; FRESH=1 starts empty; SEED=1 adds a sample company)
	@exec $(BIN)/python -m local run --port $(PORT) $(if $(filter-out 0,$(FRESH)),--fresh) $(if $(filter-out 0,$(SEED)),--seed)

.PHONY: test
test: ## check style and types, and run the tests (25 minutes on two cores)
	@$(MAKE) --no-print-directory --jobs=2 lint types
	@$(MAKE) --no-print-directory pytest COVERAGE='$(COVERAGE)'

.PHONY: test-all
test-all: COVERAGE := --cov --cov-report= --cov-fail-under=0
test-all: test ## run all checks, as CI does: those of `make test`, then the exhaustive tests, with coverage (50 minutes)
	$(PYTEST) -m exhaustive --cov --cov-append --cov-report=term

.PHONY: test-changed
test-changed: $(TESTED) ## run the tests that depend on what changed since the last run (seconds; the first run takes 21 minutes)
	@$(DEV)/python -m local.test_selection

.PHONY: lint
lint: .venv-dev/installed ## check style, format, architecture and insecure patterns
	$(DEV)/ruff check
	$(DEV)/ruff format --check
	$(DEV)/lint-imports --no-logo
	$(DEV)/bandit --quiet --configfile pyproject.toml --recursive app.py $(OURS)

.PHONY: audit
audit: .venv-dev/installed ## report pinned libraries with known vulnerabilities; fails if PyPI does not answer
	@$(DEV)/python -m local.tools.audit_dependencies

.PHONY: types
types: .venv-dev/installed clients/typescript/node_modules/installed console/node_modules/installed ## check static types
	$(DEV)/mypy
	@$(DEV)/python -m local.tools.node_script clients/typescript types
	$(CONSOLE) types

.PHONY: tools
tools: .venv-dev/installed $(NODE:%=%/node_modules/installed) ## download Node and Chromium to .tools, if the machine has none
	@$(DEV)/python -m local.tools.node
	@$(DEV)/python -m local.tools.chromium

.PHONY: pytest
pytest: $(TESTED)
	$(PYTEST) -m 'not exhaustive' $(COVERAGE)

MINUTES ?= 10
.PHONY: explore
explore: .venv-dev/installed ## try random examples of properties once, then random stories until one fails (MINUTES=10)
	EXPLORE_MINUTES=0 $(PYTEST) --no-cov -q --show-capture=no tests -m 'hypothesis and not exhaustive'
	EXPLORE_MINUTES=$(MINUTES) $(DEV)/python -m pytest --no-cov -q --show-capture=no tests/model/test_model.py -m 'not exhaustive' -k matches_the_model

.PHONY: measure
measure: .venv-dev/installed ## count the AWS calls of each operation as a tenant grows (3 minutes)
	$(DEV)/python -m benchmarks.performance.operations

.PHONY: bench
bench: .venv-dev/installed .venv-peers/installed ## compare the speed with other stacks (5 minutes)
	@$(DEV)/python -m benchmarks.performance.peers

.PHONY: mutants
mutants: .venv-dev/installed .venv-mutation/installed ## choose the mutants that `make mutation` measures (SEED=24)
	@PYTHONPATH=. .venv-mutation/bin/python -m benchmarks.mutation.sample $(SEED)

.PHONY: mutation
mutation: $(TESTED) ## measure which small changes of the code the tests detect (2 hours)
	@$(DEV)/python -m benchmarks.mutation.measure

.PHONY: fuzz
fuzz: .venv-dev/installed ## fuzz the API with Schemathesis (MINUTES=10; SEED= repeats a run)
	@$(DEV)/python -m tests.security.fuzz --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

.PHONY: format
format: .venv-dev/installed ## format the code and apply safe lint fixes
	$(DEV)/ruff check --fix
	$(DEV)/ruff format

.PHONY: routes
routes: .venv/installed ## find operations: method, path, file:line (Q=/spaces)
	@$(BIN)/python -m local routes '$(Q)'

.PHONY: generate
generate: openapi ## regenerate routes, openapi.json and reference documents
	$(DEV)/python -m local.generators.generate
	$(DEV)/ruff format --quiet chalicelib/entrypoints/routes.py chalicelib/entrypoints/kinds.py \
		chalicelib/features/declarations.py
	$(DEV)/python -m tests.docs.access_patterns > /dev/null
	$(DEV)/python -m tests.faults.call_sequences > /dev/null

.PHONY: openapi
openapi: .venv-dev/installed ## regenerate openapi.json
	$(DEV)/python -m chalicelib.entrypoints.openapi > openapi.json.new
	mv openapi.json.new openapi.json

.PHONY: clients
clients: openapi clients/typescript/node_modules/installed ## regenerate openapi.json and the clients in clients
	$(DEV)/python -m local.generators.clients

# Runs a script of the console's package.
CONSOLE = @$(DEV)/python -m local.tools.node_script console

.PHONY: console
console: console/node_modules/installed ## build the console into the folder from which the service serves it
	$(CONSOLE) build

.PHONY: console-dev
console-dev: console/node_modules/installed ## serve the console from its sources, for a running service (ATRIUM_URL=http://127.0.0.1:8000)
	$(CONSOLE) dev

.PHONY: docs-assets
docs-assets: .venv-dev/installed ## download the pinned library that searches the documentation
	$(DEV)/python -m local.generators.docs_assets

.PHONY: reference-data
reference-data: .venv-dev/installed ## regenerate the reference data from the pinned packages
	$(DEV)/python -m local.generators.reference_data

.PHONY: lock
lock: .venv-dev/installed ## pin all requirements (UPGRADE=--upgrade takes the newest versions)
	$(LOCK) requirements.in --output-file requirements.txt
	$(LOCK) requirements-local.in --output-file requirements-local.txt
	$(LOCK) requirements-dev.in --output-file requirements-dev.txt
	$(LOCK) requirements-emulator.in --output-file requirements-emulator.txt
	$(LOCK) requirements-node.in --output-file requirements-node.txt
	$(LOCK) tests/infrastructure/requirements-runtime.in --output-file tests/infrastructure/requirements-runtime.txt
	$(LOCK) benchmarks/peers/requirements.in --output-file benchmarks/peers/requirements.txt
	$(LOCK) benchmarks/mutation/requirements.in --output-file benchmarks/mutation/requirements.txt

LOCK = $(DEV)/uv pip compile --quiet --universal --no-strip-extras --python-version 3.11 --generate-hashes \
	--no-annotate --no-emit-index-url --no-header $(UPGRADE)

.PHONY: package
package: .venv/installed ## build the deployment package in build/package (PYTHON_VERSION=3.13 selects another Python)
	@$(BIN)/python -m infrastructure package $(if $(PYTHON_VERSION),--python '$(PYTHON_VERSION)')

.PHONY: release
release: .venv/installed ## tag the commit with its version, and build its archives with checksums in build/release
	@$(BIN)/python -m infrastructure release

STAGED = --stage '$(or $(STAGE),$(error Name the stage: make $@ STAGE=prod))'

.PHONY: bootstrap
bootstrap: .venv/installed ## create or update a stage's AWS resources and settings (STAGE=prod ISSUER= AUDIENCE= DOMAIN= ...)
	@$(BIN)/python -m infrastructure bootstrap $(STAGED) --issuer '$(ISSUER)' --audience '$(AUDIENCE)' \
		--domain '$(DOMAIN)' --mail-from '$(MAIL_FROM)' --alarms-to '$(ALARMS_TO)' --public-url '$(PUBLIC_URL)' \
		--jwks '$(JWKS)' --table '$(TABLE)' --anchors '$(ANCHORS)' --capacity '$(CAPACITY)' \
		--waf-limit '$(WAF_LIMIT)' --budget '$(BUDGET)' --backup-vault '$(BACKUP_VAULT)' $(foreach setting,$(SET),--set '$(setting)')

.PHONY: doctor
doctor: .venv/installed ## check the issuer and a token from stdin: what is accepted, what is missing and why (STAGE=prod; default: a run)
	@$(BIN)/python -m local doctor $(if $(STAGE),--stage '$(STAGE)')

.PHONY: smoke
smoke: .venv/installed ## check a stage from outside, with a token from stdin and one organization that is then deleted (STAGE=prod; default: a run)
	@$(BIN)/python -m local smoke $(if $(STAGE),--stage '$(STAGE)')

.PHONY: deploy
deploy: .venv/installed ## deploy a stage's functions and API (STAGE=prod)
	@$(BIN)/python -m infrastructure deploy $(STAGED)

.PHONY: deployer-policy
deployer-policy: .venv/installed ## print the IAM policies of those who run bootstrap, deploy and delete (STAGE=prod)
	@$(BIN)/python -m infrastructure deployer-policy $(STAGED)

.PHONY: template
template: .venv/installed ## write a CloudFormation template of a stage's functions and API (STAGE=prod)
	@$(BIN)/python -m infrastructure template $(STAGED)

.PHONY: pause
pause: .venv/installed ## stop the API, the schedules and the queues of a stage (STAGE=prod)
	@$(BIN)/python -m infrastructure pause $(STAGED)

.PHONY: resume
resume: .venv/installed ## start what `make pause` has stopped (STAGE=prod)
	@$(BIN)/python -m infrastructure resume $(STAGED)

.PHONY: trail
trail: .venv/installed ## record and report writers to a stage's data that are not its functions (STAGE=prod SECONDARY=prod-green)
	@$(BIN)/python -m infrastructure trail $(STAGED) $(foreach stage,$(SECONDARY),--secondary '$(stage)')

.PHONY: delete
delete: .venv/installed ## remove a stage's functions, roles and API, but not its data (STAGE=prod)
	@$(BIN)/python -m infrastructure delete $(STAGED)

.PHONY: edge
edge: .venv/installed ## create or update CloudFront in front of a stage's API, for its sites (STAGE=prod HOSTS= CERTIFICATE= CUSTOM_DOMAINS=1)
	@$(BIN)/python -m infrastructure edge $(STAGED) --hosts '$(HOSTS)' --certificate '$(CERTIFICATE)' \
		$(if $(CUSTOM_DOMAINS),$(if $(filter-out 0,$(CUSTOM_DOMAINS)),--custom-domains,--no-custom-domains))

.PHONY: edge-secret
edge-secret: .venv/installed ## print the secret that an edge of your own sends to a stage's API (STAGE=prod)
	@$(BIN)/python -m infrastructure edge-secret $(STAGED)

.PHONY: audit-records
audit-records: .venv/installed ## compare all records with the logs (STAGE=prod, default: a local run; RENEW=1 adds missing MACs, ACCEPT='ORG TYPE ID' accepts a finding)
	@$(BIN)/python -m local audit-records $(if $(STAGE),$(STAGED)) $(if $(RENEW),--renew) $(if $(ACCEPT),--accept $(ACCEPT))

.PHONY: renew-seals
renew-seals: .venv/installed ## replace the seals of log entries after a rotation of SEAL_KEY (STAGE=prod)
	@$(BIN)/python -m local renew-seals $(STAGED)

.PHONY: load
load: .venv-dev/installed .venv-emulator/installed $(LOAD)/node_modules/installed ## measure the running service and its application events under load (5 minutes)
	@$(DEV)/python -m benchmarks.performance.load
	@$(DEV)/python -m benchmarks.performance.event_load

.PHONY: soak
soak: .venv-dev/installed .venv-emulator/installed ## load the service while its processes are killed, then check it (MINUTES=30; SEED= repeats a run)
	@$(DEV)/python -m benchmarks.soak --minutes $(or $(MINUTES),30) $(if $(SEED),--seed $(SEED))

.PHONY: clean
clean: ## remove everything that make created or downloaded, including the local stage's data
	rm -rf .venv .venv-dev .venv-emulator .venv-peers .venv-mutation .tools .test_dependencies.* $(NODE:%=%/node_modules) $(LOAD)/node_modules .local build .coverage .coverage.* .*_cache .hypothesis

.venv/installed: requirements-local.txt
	$(call install,.venv,$<,170 MB)

.venv-dev/installed: requirements-dev.txt
	$(call install,.venv-dev,$<,1 GB)

.venv-emulator/installed: requirements-emulator.txt
	$(call install,.venv-emulator,$<,110 MB)

.venv-mutation/installed: benchmarks/mutation/requirements.txt
	$(call install,.venv-mutation,$<)

.venv-peers/installed: benchmarks/peers/requirements.txt
	$(call install,.venv-peers,$<)

%/node_modules/installed: %/package-lock.json | .venv-dev/installed
	@echo "Installing $(@D) from $<"
	@$(DEV)/python -m local.tools.node $*
	@touch $@

# Creates the environment again when its requirements change, so that it contains exactly those.
define install
$(if $(PYTHON),,$(error Python 3.11 or later with its venv module is needed; name one with make PYTHON=...))
@echo "Installing $(1) from $(2)$(if $(3), ($(3)))"
@$(PYTHON) -m venv --clear $(1)
@$(1)/bin/python -m pip --disable-pip-version-check install --quiet --quiet --require-hashes --requirement $(2)
@touch $@
endef
