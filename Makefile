# Everything from a fresh clone: `make test` and `make bench` set themselves up first.
PYTHON ?= python3
PYTEST := .venv/bin/pytest

.DEFAULT_GOAL := help
.PHONY: help setup test bench lint types check clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Make .venv, find Java, build tidb-server once into the cache
	@$(PYTHON) -m bench.setup

test: setup ## Run every test on embedded services, at smoke size
	@$(PYTEST) -q --infra=local --profile=smoke -m "not bench"

bench: setup ## Measure cases A and B on embedded services
	@$(PYTEST) --infra=local --profile=short -m "caseA or caseB"

lint: ## Check the style (ruff)
	@.venv/bin/ruff check --quiet .

types: ## Check the types (mypy --strict)
	@.venv/bin/mypy --no-error-summary

check: lint types ## Style and types

clean: ## Remove .venv and tool caches; reports and the user's cache folder stay
	@rm -rf .venv .mypy_cache .ruff_cache .hypothesis *.egg-info
