# Every command of the project. `make help` lists them; docs/design/0007-build.md says why it is so.
#
# Nothing but GNU make and Python 3.11 (with venv) is needed: the environment in .venv is made from
# requirements/*.lock, and Node comes from there too. A target is made again only when what it is
# made from has changed.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV ?= .venv
BIN := $(CURDIR)/$(VENV)/bin
PYTHON := $(BIN)/python
EXTENSION := labextension
NODE_MODULES := $(EXTENSION)/node_modules/.installed
FRONT := $(EXTENSION)/dist/.built
FRONT_SOURCES := $(shell find $(EXTENSION)/src $(EXTENSION)/style $(EXTENSION)/schema -type f 2>/dev/null) \
	$(wildcard $(EXTENSION)/tsconfig*.json) $(wildcard $(EXTENSION)/vite.*.mts) $(EXTENSION)/builder.config.cjs $(EXTENSION)/package.json
TESTS_COMPILED := $(VENV)/.tests-compiled
PYTEST_ARGS ?=
# What a run means: vitest and a built front end where nothing or the front end is named, pytest unless
# only labextension is, and processes for more than one file: twice as many as cores, since tests wait for kernels and pages half of the
# time (TEST_PROCESSES=6 for others).
MEANS_FRONT := $(if $(PYTEST_ARGS),$(filter labextension% tests/e2e% tests/packaging% tests/servers%,$(PYTEST_ARGS)),all)
PYTEST_MEANT := $(filter-out labextension%,$(PYTEST_ARGS))
ONE_FILE := $(and $(filter 1,$(words $(filter tests%,$(PYTEST_MEANT)))),$(findstring .py,$(PYTEST_MEANT)))
TEST_PROCESSES ?= $(shell $(PYTHON) -c 'import os; print(2 * os.cpu_count())' 2>/dev/null || echo 4)
BESIDE = $(if $(ONE_FILE),,-n $(TEST_PROCESSES) --no-loadscope-reorder)

# The environment's own Node and tools come first, whatever else is on the machine.
export PATH := $(BIN):$(PATH)
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help lab test check fix bench soak hosts picture screens demo wheel protocol front env tests-compiled lock clean

help: ## Say what can be done here
	@echo "Palimpsest: make <target>"
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  \1\t\2/' | expand -t 14

lab: $(VENV)/.installed $(FRONT) ## Open JupyterLab on notebooks/00-start.ipynb (LAB_ARGS="--port 9999" are passed on)
	@$(PYTHON) scripts/lab.py $(LAB_ARGS)

test: $(VENV)/.installed ## Run all tests that take seconds: pytest, and vitest beside it
	$(if $(MEANS_FRONT),@$(MAKE) -s -j2 $(FRONT) $(if $(PYTEST_ARGS),,$(TESTS_COMPILED)))
ifeq ($(MEANS_FRONT),all)
	@log=$$(mktemp); untested=$$(mktemp); (cd $(EXTENSION) && exec jlpm test) >"$$log" 2>&1 & front=$$!; \
	failed=0; PALIMPSEST_UNTESTED="$$untested" $(PYTHON) -m pytest $(BESIDE) $(PYTEST_MEANT) || failed=$$?; \
	wait $$front && tail -n 6 "$$log" || { cat "$$log"; failed=1; }; cat "$$untested"; rm "$$log" "$$untested"; exit $$failed
else
	$(if $(MEANS_FRONT),@cd $(EXTENSION) && jlpm test)
	$(if $(PYTEST_MEANT),@$(PYTHON) -m pytest $(BESIDE) $(PYTEST_MEANT))
endif

check: $(VENV)/.installed $(NODE_MODULES) ## Format, lint, types, layers, spelling, pages, protocol; changes nothing
	@bash scripts/check.sh

fix: $(VENV)/.installed $(NODE_MODULES) ## Format, and mend what the linters can mend
	ruff format .
	ruff check --fix .
	python scripts/wrap_pages.py
	cd $(EXTENSION) && jlpm fix

bench: $(VENV)/.installed $(FRONT) ## Measure the promised figures and print them beside their targets
	@$(PYTHON) -m tests.bench

soak: $(VENV)/.installed $(FRONT) ## Run all tests with all they could try, which takes about an hour
	@cd $(EXTENSION) && jlpm test
	@PALIMPSEST_SOAK=1 $(PYTHON) -m pytest $(BESIDE) -m "" --timeout 0 $(PYTEST_ARGS)

hosts: $(VENV)/.installed $(FRONT) ## Test the built wheel in older releases of JupyterLab and Notebook
	@$(PYTHON) -m pytest -m soak --timeout 0 tests/packaging/test_older_hosts.py $(PYTEST_ARGS)

picture: $(VENV)/.installed $(FRONT) ## Photograph the pictures of README and docs anew, in a browser
	@$(PYTHON) -m scripts.picture
	@$(PYTHON) -m scripts.picture_context
	@$(PYTHON) -m scripts.picture_notebook
	@$(PYTHON) -m scripts.picture_inspector

screens: $(VENV)/.installed $(FRONT) ## Photograph 00-start and the inspector in a browser at three widths and in all themes, to be looked at
	@$(PYTHON) -m scripts.screens
	@$(PYTHON) -m scripts.screens_inspector

demo: $(VENV)/.installed ## Run 00-start through a real kernel, without a browser, into build/
	@$(PYTHON) scripts/demo.py

wheel: $(VENV)/.installed $(FRONT) ## Build dist/*.whl and dist/*.tar.gz with the front end inside
	@$(PYTHON) scripts/wheel.py

protocol: $(VENV)/.installed $(NODE_MODULES) ## Write the TypeScript types anew from the pydantic values
	@$(PYTHON) scripts/protocol.py

front: $(VENV)/.installed $(FRONT) ## Build the front end

env: $(VENV)/.installed ## Make or refresh the environment in .venv

tests-compiled: $(TESTS_COMPILED)

lock: $(VENV)/.installed ## Resolve requirements/*.lock anew (the one target that looks for newer versions)
	@bash scripts/lock.sh

clean: ## Remove whatever was built, the environment too
	rm -rf $(VENV) build dist $(EXTENSION)/node_modules $(EXTENSION)/dist $(EXTENSION)/lib $(EXTENSION)/.yarn
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find kernel_ext tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.installed: requirements/bootstrap.lock requirements/dev.lock pyproject.toml hatch_build.py scripts/setup.sh
	@bash scripts/setup.sh "$(VENV)"
	@touch $@

# Beside the front end's build: else each process of the tests would compile all of them when they begin.
$(TESTS_COMPILED): | $(VENV)/.installed
	@$(PYTHON) -m pytest --collect-only -qq -p no:cacheprovider >/dev/null 2>&1 || true
	@touch $@

$(NODE_MODULES): $(EXTENSION)/package.json $(EXTENSION)/yarn.lock $(EXTENSION)/.yarnrc.yml | $(VENV)/.installed
	@echo 'Installing the front end'\''s packages'
	@cd $(EXTENSION) && jlpm install --immutable | { grep -vE 'YN00(13|19|00|02|07|66)' || true; }
	@touch $@

$(FRONT): $(FRONT_SOURCES) $(NODE_MODULES) | $(VENV)/.installed
	@cd $(EXTENSION) && jlpm build
	@touch $@
	@echo "The front end takes $$(du -sk --apparent-size $(EXTENSION)/dist | cut -f1) kB."
