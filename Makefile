PYTHON ?= python3
PY := .venv/bin/python
PORT ?= 8000
PIP := -m pip install --quiet --disable-pip-version-check -r

.PHONY: help book serve notebooks test test-browser mutants colab-check labs bench clean

help: ## what can be made (this list)
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

book: .venv/done ## the site, in _build/html, from the committed notebooks
	$(PY) -m book.build

serve: book ## the site on http://localhost:8000 (PORT=...)
	$(PY) -m http.server --bind localhost --directory _build/html $(PORT)

notebooks: .venv/done ## chapters/*.md, exercises/*.md and intro.md -> .ipynb, what has changed
	$(PY) -m book.notebooks

test: .venv/done ## everything that needs no browser: every cell, every number, every formula
	$(PY) -m pytest

test-browser: .venv/done ## the built pages in Chromium
	$(PY) -m pytest tests/browser

mutants: .venv/done ## move every number and every given; nothing may survive
	$(PY) -m verify.mutants

colab-check: .venv/done ## the committed notebooks as Colab runs them
	$(PY) -m book.colab

labs: ## the labs that need torch or jax, with both installed in .venv-labs
	@labs=$$(grep -lE '"needs-(torch|jax)"' chapters/*.ipynb exercises/*.ipynb 2>/dev/null); \
	if [ -z "$$labs" ]; then echo "no chapter has a lab that needs torch or jax"; \
	else $(MAKE) .venv-labs/done && .venv-labs/bin/python -m pytest $$labs; fi

bench: .venv/done ## how fast imports, formulas, the book and the tests are
	$(PY) tests/bench.py

clean: ## remove what was built; .venv stays
	rm -rf _build .pytest_cache .hypothesis
	find . -path './.venv*' -prune -o -name __pycache__ -type d -exec rm -rf {} +

.venv/done: requirements.txt constraints.txt lib/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; try make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(PY) $(PIP) requirements.txt
	@touch $@

.venv-labs/done: requirements-labs.txt requirements.txt constraints.txt lib/pyproject.toml
	$(PYTHON) -m venv .venv-labs
	.venv-labs/bin/python $(PIP) requirements-labs.txt
	@touch $@
