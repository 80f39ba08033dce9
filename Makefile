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

bench: setup-dev     ## all benchmarks in a small setting; in full: docs/benchmarks.md
	@for run in "launch --rounds 10" "metrics" "firehose --lines 20000 --floods 1 --seconds 5" "idle --seconds 5" \
	  "followers --followers 50 --seconds 5" "pages --looks 3" "lists --jobs 5000 --looks 3" \
	  "bulk --jobs 2000 --waiting 1000 --rounds 1" "log_search --lines 200000 --looks 5" \
	  "log_viewer --lines 200000 --looks 3 --seconds 5"; do \
	  echo "== $$run"; $(PY) -m benchmarks.$$run || exit 1; done

docs: setup-dev      ## draw what is generated
	$(PY) manage.py draw_docs

setup:
	@$(PYTHON) controlpanel/install.py

setup-dev:
	@$(PYTHON) controlpanel/install.py --dev

clean:               ## what can be made again; var/ stays
	rm -rf .venv node_modules
