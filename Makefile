# Each target works on a fresh clone: it makes the virtual environment, installs what it needs, runs.
PYTHON ?= python3
VENV   ?= .venv
PY     := $(VENV)/bin/python

NEEDS_demo  := -e .
NEEDS_test  := -e . --group test
NEEDS_lint  := -e . --group test --group lint
NEEDS_docs  := -e '.[cluster,tables]' --group docs
NEEDS_dev   := -e '.[cluster,tables]' --group dev
ALSO_dev    := test lint docs
NEEDS_bench := -e '.[bench]'

# Where Python is told to keep no bytecode, each of the many programs that tests start would compile
# all that it imports, which takes three times as long as to import it.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help ready demo test test-older-processor coverage lint docs bench stub lock clean
.PRECIOUS: $(VENV)/for-%
.DELETE_ON_ERROR:

help:  ## say what there is
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

demo: $(VENV)/for-demo  ## learn from a bundled table: a leaderboard, a model, a page that explains it
	$(VENV)/bin/tenfold learn breast_cancer --minutes 1 --output demo-output

# The same order every time, so that a change is judged by itself; pytest alone draws a new one.
PYTEST := $(PY) -m pytest -n 2 --dist worksteal --randomly-seed=1

test: $(VENV)/for-test  ## all tests and all examples in docstrings
	$(PYTEST)

# Tests whose numbers depend on how products are summed: kernels, solvers, statistics.
SENSITIVE := tests/optim tests/inference tests/linear tests/kernel tests/svm tests/gaussian_process tests/sequence tests/math tests/_compiled tests/cluster/test_kmeans.py \
	tests/decomposition tests/neural/test_fused_mlp.py tests/neural/test_layers.py tests/teaching
# Among them, those of signals and caches while numba compiles have no products.
INSENSITIVE := $(wildcard tests/_compiled/test_c*.py) tests/_compiled/test_inner_functions.py
OLDER = OPENBLAS_CORETYPE=Haswell NPY_DISABLE_CPU_FEATURES="$$($(PY) tests/wide_features.py)"

# Examples in docstrings print sums of BLAS and NumPy; our kernels, which the line before compiles for
# the older processor, are taken there as `make test` has left them.
test-older-processor: $(VENV)/for-test  ## the numerically sensitive tests as a processor with AVX2 alone
	$(OLDER) NUMBA_CPU_NAME=haswell NUMBA_CACHE_DIR=$(CURDIR)/.cache/numba-haswell \
		$(PYTEST) -q -p no:cacheprovider -m "not slow" $(SENSITIVE) $(INSENSITIVE:%=--ignore=%)
	$(OLDER) $(PYTEST) -q -p no:cacheprovider src/tenfold

coverage: $(VENV)/for-test  ## the share of lines and branches that the tests reach
	$(PYTEST) -q -m "not slow" --cov=tenfold --cov-branch --cov-report=term:skip-covered

lint: $(VENV)/for-lint  ## style, format, types, direction of imports
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m pyright --pythonpath $(PY)
	$(VENV)/bin/lint-imports --no-logo

docs: $(VENV)/for-docs  ## the manual, in docs/_build/html
	$(PY) -m sphinx -W --keep-going docs docs/_build/html

ready: $(VENV)/for-dev  ## install what tests, linters and the manual need

bench: $(VENV)/for-bench  ## side by side with peers; writes benchmarks/RESULTS.md
	$(PY) -m benchmarks

stub: $(VENV)/for-test  ## tell type checkers the public names
	$(PY) tests/test_import.py

lock: $(PY)  ## pin the newest versions of everything in constraints.txt
	$(PY) -m pip install --quiet uv
	$(PY) -m uv pip compile pyproject.toml --all-extras --group dev --python-version 3.11 \
		--upgrade --no-header --no-annotate --quiet --output-file constraints.txt

clean:  ## remove all that was made, the virtual environment too
	rm -rf $(VENV) build dist docs/_build docs/gallery docs/api/generated demo-output examples/demo-output
	rm -rf .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(PY):
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade 'pip>=25.1'  # the first that knows --group

# Python compiles what is imported, which is less than half of what pip would compile.
$(VENV)/for-%: pyproject.toml constraints.txt | $(PY)
	$(PY) -m pip install --quiet --no-compile --constraint constraints.txt $(NEEDS_$*)
	@touch $@ $(patsubst %,$(VENV)/for-%,$(ALSO_$*))
