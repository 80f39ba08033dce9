# The one front door for chores. CI calls the same (.ci/run).
PYTHON ?= python3
PY := .venv/bin/python

.PHONY: demo up test lint unit thorough road bench docs setup setup-dev clean

demo: setup          ## the panel with a job that trains; ARGS=--exit ends with the job
	@$(PY) manage.py up --demo $(ARGS)

up: setup            ## the panel and a host on this machine
	@$(PY) manage.py up $(ARGS)

test: setup-dev lint unit thorough road   ## everything that CI checks

lint: setup-dev      ## style, types, floors, generated files
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports
	$(PY) manage.py makemigrations --check --dry-run
	$(PY) manage.py draw_docs --check

unit: setup-dev      ## quick tests, on all cores
	$(PY) -m pytest -n auto -m "not thorough and not road and not browser" $(ARGS)

road: setup-dev      ## tests with real processes and a real browser
	$(PY) -m pytest -n 2 --dist loadfile -m "road or browser" $(ARGS)

thorough: setup-dev  ## tests with a real server, or very many examples
	$(PY) -m pytest -n auto -m "thorough" $(ARGS)

bench: setup-dev     ## figures, as JSON with the ratio to a baseline of the same run
	@for name in launch metrics firehose idle log_search lists bulk; do $(PY) -m benchmarks.$$name || exit 1; done

docs: setup-dev      ## draw what is generated
	$(PY) manage.py draw_docs

setup:
	@$(PYTHON) controlpanel/install.py

setup-dev:
	@$(PYTHON) controlpanel/install.py --dev

clean:               ## what can be made again; var/ stays
	rm -rf .venv node_modules
