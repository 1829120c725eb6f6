# Everything from a fresh clone: `make test` and `make bench` set themselves up first.
PYTHON ?= python3
PYTEST := .venv/bin/pytest

.DEFAULT_GOAL := help
.PHONY: help setup test bench bench-driver bench-spark faults fuzz lint types check clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Make .venv, find Java, build tidb-server and bento once into the cache
	@$(PYTHON) -m bench.setup

test: setup ## Run every test on embedded services, at smoke size
	@$(PYTEST) -q --infra=local --profile=smoke --retry-invalid=2 -m "not bench"

bench: setup ## Measure: a short matrix on embedded services, a table and an HTML report
	@$(PYTEST) -q --infra=local --profile=short --matrix

bench-driver: ## Measure the driver itself against nats bench (builds the nats CLI once)
	@$(PYTHON) -m bench.setup --with nats
	@.venv/bin/python -m bench.driverbench $(DRIVER_ARGS)

bench-spark: setup ## Measure Spark: over files, through JetStream, and what it sustains
	@.venv/bin/python -m bench.sparkbench $(SPARK_ARGS)

faults: setup ## Hurt every part of every case and measure its recovery: the whole matrix, an hour
	@$(PYTEST) -q --infra=local --profile=smoke -m faults --all-faults $(FAULT_ARGS)

fuzz: setup ## Throw bytes at everything that parses them, for minutes (FUZZ_EXAMPLES=20000)
	@JETLAG_FUZZ_EXAMPLES=$(or $(FUZZ_EXAMPLES),20000) $(PYTEST) -q -m fuzz

lint: ## Check the style (ruff)
	@.venv/bin/ruff check --quiet .

types: ## Check the types (mypy --strict)
	@.venv/bin/mypy --no-error-summary

check: lint types ## Style and types

clean: ## Remove .venv and tool caches; reports and the user's cache folder stay
	@rm -rf .venv .mypy_cache .ruff_cache .hypothesis *.egg-info bench/wire/native/*.so
