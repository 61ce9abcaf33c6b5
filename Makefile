# Every target calls build_llama.py or a tool of the virtual environment; nothing is decided here.
PYTHON ?= python3
BIN = $(or $(VIRTUAL_ENV),.venv)/bin
SETUP = @$(PYTHON) build_llama.py

.PHONY: setup demo test chat check native-tests peers tools lint types format clean
.DEFAULT_GOAL := setup

setup: ## build and install everything
	$(SETUP) setup $(FLAGS)
demo: ## set up, then show a conversation that resumes from disk
	$(SETUP) demo $(FLAGS)
test: ## set up, then the native tests and pytest (ARGS="-k name" goes to pytest; with -n 0 all in one process)
	$(SETUP) test $(FLAGS) $(if $(ARGS),-- $(ARGS))
chat: ## set up, then chat
	$(SETUP) chat $(FLAGS) $(if $(ARGS),-- $(ARGS))
check: ## say what is there and what a set-up would do
	$(SETUP) check $(FLAGS)
native-tests: ## build and run the patches' C++ tests
	$(SETUP) --native-tests $(FLAGS)
peers: ## build the stock llama-server and llama-bench that skippy-chat bench compares with
	$(SETUP) peers $(FLAGS)
tools: ## what lint and types need, without llama.cpp
	$(SETUP) tools
lint: tools ## ruff and the import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports
types: tools ## mypy
	$(BIN)/mypy
format: tools ## rewrite the sources in the project's format
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
clean: ## remove .venv and what was built; downloads stay
	$(SETUP) clean
