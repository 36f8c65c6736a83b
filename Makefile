# Each target makes .venv itself; Python >= 3.11, pip and make are all it needs.
# TORCH: the CPU build is enough everywhere; name another (TORCH=torch) for a GPU.
PYTHON ?= python3
TORCH ?= torch==2.13.0
VENV ?= .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS ?= 1

.PHONY: demo readme-picture test test-long check format benchmarks clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet '$(TORCH)'
	$(BIN)/python -m pip install --quiet --editable '.[hf,data,text]'
	touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet '$(TORCH)'
	$(BIN)/python -m pip install --quiet --editable '.[dev,hf]' 'transformers[serving]'
	touch $@

demo: $(VENV)/.demo  ## examine the embedded model on the embedded pictures and memes; leaves two reports
	$(BIN)/eyetest demo --out demo

readme-picture: demo  ## the first screen of the demo's report, as the README shows it (needs chromium)
	mkdir -p docs/images
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --disable-background-networking \
	  --user-data-dir=$$(mktemp -d) --window-size=1280,1180 --screenshot=$(CURDIR)/docs/images/report.png \
	  file://$(CURDIR)/demo/eyechart/report.html

test: $(VENV)/.dev  ## all tests but the long simulations
	$(BIN)/python -m pytest -n 2 -m 'not long'

test-long: $(VENV)/.dev  ## simulations that take minutes
	$(BIN)/python -m pytest -n 2 -m long

check: $(VENV)/.dev  ## lint, format, types, layers, docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 0 tests/test_docs.py

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmarks: $(VENV)/.dev  ## speed and memory, printed beside the peers' figures
	$(BIN)/python benchmarks/overhead.py
	$(BIN)/python benchmarks/metrics.py
	$(BIN)/python benchmarks/stats.py
	$(BIN)/python benchmarks/api.py
	$(BIN)/python benchmarks/audit.py

clean:
	rm -rf $(VENV) demo build dist
