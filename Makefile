# Atrium: everything a developer does, each by one word. `make help` lists them.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
PORT ?= 8000
FRESH ?=
Q ?=

# Any Python from 3.11 on that can make environments; 3.11 first, because Lambda runs it.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$python -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin

.venv/installed: requirements-dev.txt
	$(call install,.venv,$<)

.venv-emulator/installed: requirements-emulator.txt
	$(call install,.venv-emulator,$<)

define install
$(if $(PYTHON),,$(error Python 3.11 or later with its venv module is needed; name one with make PYTHON=...))
@echo "Installing $(1) from $(2)"
@$(PYTHON) -m venv --clear $(1)
@$(1)/bin/python -m pip --disable-pip-version-check install --quiet --require-hashes --requirement $(2)
@touch $@
endef

# `make lock` keeps the pins that still fit; `make lock UPGRADE=--upgrade` takes the newest.
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-emit-index-url --no-header $(UPGRADE)

.PHONY: lock
lock: .venv/installed ## pin every requirement anew (UPGRADE=--upgrade for the newest)
	$(LOCK) requirements.in --output-file requirements.txt
	$(LOCK) requirements-dev.in --output-file requirements-dev.txt
	$(LOCK) requirements-emulator.in --output-file requirements-emulator.txt
