# Everything a person types. `make` alone prints this list.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

PLAN ?= quick
REPORT ?= report.html
ARGS ?=

# Last, so that the system's own come first: CMake, Ninja and MPI from PyPI where there are no others.
export PATH := $(PATH):$(CURDIR)/.venv/bin

python := .venv/bin/python
tests := $(python) -m tests

.PHONY: help run test test-full lint tidy bench clean

help: ## this list
	@echo "Kiviat: evaluates the interconnect of a parallel machine"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  YES=1          install missing system packages without asking"
	@echo "  PLAN=standard  another plan for \`make run\`: quick (default), standard, full, or a file"
	@echo "  ARGS='...'     further arguments: of \`kiviat run\`, of pytest, of the benchmarks"

run: ## set up, measure this machine with the quick plan, write report.html
	@tools/setup run
	@.venv/bin/kiviat run $(PLAN) $(ARGS) --report $(REPORT) || [ $$? -eq 1 ] # 1: a case failed, and was named

test: ## set up and run all tests (minutes)
	@tools/setup test
	@$(tests) -m "not full" $(ARGS)

test-full: ## the tests and their long matrices
	@tools/setup test
	@$(tests) $(ARGS)

lint: ## ruff, clang-format, mypy, the import contract, where clocks and <mpi.h> may stand
	@tools/setup lint
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@git ls-files '*.cpp' '*.hpp' | xargs -r .venv/bin/clang-format --dry-run --Werror
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@tools/check-sources

tidy: ## clang-tidy over the native program (minutes)
	@tools/setup test
	@tools/tidy

bench: ## our speed and accuracy beside a peer's (OSU_DIR=, IMB_DIR=, HPCC_DIR=, NPB_DIR=, HPCCG_DIR=, LAMMPS_DIR=, LOGGOPSIM_DIR=)
	@tools/setup test
	@$(python) -m benchmarks $(ARGS)

clean: ## remove .venv, build/ and caches; runs and reports stay
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
