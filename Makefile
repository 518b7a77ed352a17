# `make rehearse` and `make test` do all set-up themselves; `make help` lists the rest.
SHELL := /bin/sh
RECORD := scenarios/records/2004-06-25-geneva-pasadena.yaml
PYTHON := .venv/bin/python
C_SOURCES = $(shell git ls-files '*.c' '*.h' '*.cc')

.PHONY: help setup setup-test rehearse test fuzz lint format bench bench-engine bench-sim shell doctor picture lock clean lab lab-down bench-records record-book fresh

help:  ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup:  ## packages, Python environment, engine, virtual-time kernel; each only when missing
	@setup/setup.sh

setup-test:
	@setup/setup.sh test

rehearse: setup  ## rehearse the record of 25 June 2004 in virtual time
	@.venv/bin/landspeed run $(RECORD)

test: setup-test  ## the tests
	@$(PYTHON) -m pytest

fuzz: setup-test  ## libFuzzer on everything that comes from strangers, 60 s each at once
	@engine/fuzz/run.sh $(or $(SECONDS),60)

lint: setup-test  ## ruff, pyright, clang-format, clang-tidy, shellcheck
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/pyright
	@clang-format --dry-run --Werror $(C_SOURCES)
	@clang-tidy --quiet -p engine/build $$(git ls-files 'engine/src/*.c') 2>/dev/null
	@clang-tidy --quiet -p emu/linkwatch/build $$(git ls-files 'emu/linkwatch/*.c') 2>/dev/null
	@if [ -f sim/build/compile_commands.json ]; then git ls-files 'sim/src/*.cc' 'sim/mend/*.cc' ':!sim/mend/tests' | xargs -P 2 -n 4 clang-tidy --quiet -p sim/build --extra-arg=-Wno-sign-conversion 2>/dev/null; fi
	@shellcheck $$(git ls-files '*.sh') .ci/run emu/guest/init tests/lab/shaper-init
	@cd playbooks && PATH="$(CURDIR)/.venv/bin:$$PATH" ansible-lint -q --offline

format: setup-test  ## let the formatters write
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .
	@clang-format -i $(C_SOURCES)

bench: setup  ## the figures the project promises, measured
	@$(PYTHON) tests/bench.py

fresh:  ## `make rehearse` by a stranger on a new Debian in a folder (SUITE=trixie for another one; needs root)
	@setup/fresh.sh $(or $(SUITE),bookworm)

lab: setup-test  ## three Debian servers to try `landspeed real` on (needs root)
	@$(PYTHON) tests/lab/lab.py up

lab-down:  ## remove them
	@$(PYTHON) tests/lab/lab.py down

bench-engine: setup-test  ## the engine against iperf3 and nuttcp, in turns (root: it makes namespaces)
	@$(PYTHON) tests/bench_engine.py

bench-records: setup  ## the figures promised for the records: traceroutes, forty hops, goodput of the six
	@$(PYTHON) tests/bench_records.py

record-book: setup  ## rehearse every record that is not rehearsed yet, and write docs/record-book.html and .md
	@.venv/bin/landspeed record-book --basis documents

bench-sim: setup  ## what simulating costs, and whether it is right, measured; writes docs/sim-cost.md
	@$(PYTHON) tests/bench_sim.py
	@$(PYTHON) tests/bench_sim_tcp.py

picture: setup-test  ## docs/report.png anew, from the newest full rehearsal of the record
	@docs/picture.sh

doctor: setup  ## look whether this host can run everything
	@.venv/bin/landspeed doctor

lock:  ## pin the requirements anew, with hashes
	@$(PYTHON) -m pip -q install pip-tools
	@.venv/bin/pip-compile -q --upgrade --generate-hashes --allow-unsafe --strip-extras --no-header --no-emit-index-url --no-emit-trusted-host -o requirements.txt requirements.in
	@.venv/bin/pip-compile -q --upgrade --generate-hashes --allow-unsafe --strip-extras --no-header --no-emit-index-url --no-emit-trusted-host -o requirements-dev.txt requirements-dev.in

clean:  ## remove what was built here (the kernel stays in the cache)
	@rm -rf .venv build engine/build* emu/linkwatch/build* sim/build* .pytest_cache .ruff_cache .hypothesis
