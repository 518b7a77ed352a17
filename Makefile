# `make rehearse` and `make test` do all set-up themselves; `make help` lists the rest.
SHELL := /bin/sh
RECORD := scenarios/records/2004-06-25-geneva-pasadena.yaml
PYTHON := .venv/bin/python
# More than there are cores: for half of its time a test waits for a clock, a server that boots, another program.
JOBS ?= $(shell echo $$((2 * $$(nproc) + 1)))
# With a sanitizer, and where lines are counted, they compute.
COMPUTING ?= $(shell echo $$(($$(nproc) + 1)))
UPGRADE ?= --upgrade
AGAIN ?= 1
WHAT ?=
NAMES ?=
OPTIONS ?=
# Where Python is told to keep no bytecode, each worker would rewrite hypothesis' assertions anew.
export PYTHONDONTWRITEBYTECODE :=
PARALLEL = -n $(JOBS) --dist loadgroup --max-worker-restart 0
C_SOURCES = $(shell git ls-files ':!tests/scenario/map_inputs' '*.c' '*.h' '*.cc' '*.inc')

.PHONY: help setup setup-run setup-test wheel wheel-twice fresh-wheel image rehearse test test-fast test-known test-changed coverage coverage-engine course course-hand mutation sanitize test-loaded fuzz fuzz-python fuzz-readers fuzz-engine lint format bench bench-against bench-engine bench-sim shell doctor docs figures lock clean lab lab-fleet lab-down bench-records record-book fresh profile profile-start kernel-trace truth random-paths bench-plugin bench-course probe-cases workflow course-twice published

help:  ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup:  ## packages, Python environment, engine, virtual-time kernel; each only when missing
	@setup/setup.sh

setup-run:
	@setup/setup.sh run

setup-test:
	@setup/setup.sh test

rehearse: setup-run  ## rehearse the record of 25 June 2004 in virtual time
	@.venv/bin/landspeed run $(RECORD)

test: setup-test  ## the tests, twice as many at once as there are cores, and one (JOBS=1: one after the other; AGAIN=0: no second try)
	@$(PYTHON) -m pytest $(PARALLEL) --reruns $(AGAIN) --rerun-show-tracebacks --tb=short -r fER --durations 20

test-known: export LANDSPEED_TESTS_OF = $(or $(COMMIT),5dae4f8)
test-known: test  ## of the tests those that a commit had, by their names: how long these take now (COMMIT=5dae4f8)

test-fast: setup-test  ## the tests that need neither guest nor root nor lab and are quick
	@$(PYTHON) -m pytest $(PARALLEL) -m "not (guest or root or lab or slow)"

fuzz: setup-test  ## libFuzzer on all input from other hosts, 60 s each, all at once
	@engine/fuzz/run.sh $(or $(SECONDS),60)

fuzz-python: setup-test  ## the property tests of Python, each with 2000 examples that nobody has tried (EXAMPLES=…)
	@LANDSPEED_EXAMPLES=$(or $(EXAMPLES),2000) $(PYTHON) -m pytest $(PARALLEL) --timeout 3600 -m fuzz

fuzz-readers: setup-test  ## every reader of measurements and maps until it has had 300 s (SECONDS=…); goes on where it ended
	@$(PYTHON) -m tests.bench.fuzz_readers --seconds $(or $(SECONDS),300)

fuzz-engine: setup-test  ## the engine's states: generated sessions, and crashes of the receiver's host (SECONDS=600 CRASHES=1000)
	@LANDSPEED_CRASHES=$(or $(CRASHES),1000) LANDSPEED_STATES=$(or $(SECONDS),600) \
		$(PYTHON) -m pytest $(PARALLEL) --timeout 7200 tests/engine/files/test_crash.py tests/engine/sessions/test_states.py

test-changed: setup-test  ## the tests that import what differs from origin/main, or are of its room (OPTIONS='-m "not guest"': some)
	@files=$$($(PYTHON) -m tests.support.changed) && if [ -n "$$files" ]; then $(PYTHON) -m pytest $(PARALLEL) $(OPTIONS) $$files; else echo "no test is concerned"; fi

coverage: setup-test  ## lines of Python that the tests run, commands and guests counted; fails below 90 %
	@$(PYTHON) -m tests.bench.coverage_run $(PARALLEL) $(ONLY)

mutation: setup-test  ## check that the tests notice a changed line of physics, queueing or judge; fails below 85 %
	@$(PYTHON) -m tests.bench.mutation

sanitize: setup-test  ## the engine under ASan, UBSan and TSan by all tests that drive it, the simulator under ASan and UBSan
	@tests/bench/sanitize.sh $(COMPUTING)

coverage-engine: setup-test  ## lines of the engine's C that its tests run, at least 85 %
	@tests/bench/coverage_engine.sh 85 $(COMPUTING)

test-loaded: setup-test  ## the tests beside a build of the guest's kernel at nice 19, five times (TIMES=1 for one)
	@tests/bench/loaded.sh $(or $(TIMES),5)

lint: setup-test  ## ruff, pyright, what each room may import, the engine's rooms, clang-format, clang-tidy, shellcheck
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/pyright
	@.venv/bin/python setup/import_contracts.py
	@.venv/bin/lint-imports --no-cache --config build/importlinter.ini >build/stamps/imports.log || { cat build/stamps/imports.log; exit 1; }
	@.venv/bin/python engine/check_includes.py
	@clang-format --dry-run --Werror $(C_SOURCES)
	@clang-tidy --quiet -p engine/build $$(git ls-files 'engine/src/*.c') 2>/dev/null
	@clang-tidy --quiet -p emu/linkwatch/build $$(git ls-files 'emu/linkwatch/*.c') 2>/dev/null
	@clang-tidy --quiet -p emu/launch/build $$(git ls-files 'emu/launch/*.c') 2>/dev/null
	@# the simulator is built nine files at once: clang-tidy wants the command of each
	@if [ -f sim/build/compile_commands.json ]; then rm -rf sim/build-lint && meson setup -Dunity=off sim/build-lint sim >/dev/null && git ls-files 'sim/src/*.cc' 'sim/mend/*.cc' ':!sim/mend/tests' | xargs -P 2 -n 4 clang-tidy --quiet -p sim/build-lint --extra-arg=-Wno-sign-conversion 2>/dev/null; fi
	@shellcheck $$(git ls-files '*.sh') .ci/run tests/lab/shaper-init
	@# the syntax check has no inventory, which is an error for a play
	@cd playbooks && ANSIBLE_INVENTORY_UNPARSED_FAILED=false PATH="$(CURDIR)/.venv/bin:$$PATH" ansible-lint -q --offline

format: setup-test  ## let the formatters write, and the rooms' maps
	@.venv/bin/python setup/room_maps.py
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .
	@clang-format -i $(C_SOURCES)

probe-cases: setup-test  ## programs with known windows and round trips, and what `landspeed probe` finds (NAMES=SSH: some)
	@$(PYTHON) -m tests.bench.probe_cases $(NAMES)

bench: setup  ## measure the figures that the project promises
	@$(PYTHON) -m tests.bench.bench

profile: setup  ## profile the wall time of a guest by perf (OPTIONS=--every-hop: every router passed; package linux-perf)
	@$(PYTHON) -m tests.bench.profile_guest $(OPTIONS)

kernel-trace: setup  ## what the guest's kernel is compiled of, by folder and option, from its build's log (OPTIONS=--objects)
	@$(PYTHON) setup/kernel_trace.py $(OPTIONS)

profile-start: setup  ## profile the wall time of a small run, part by part
	@$(PYTHON) -m tests.bench.profile_start

fresh:  ## test the set-up: install Debian into a folder, run `make rehearse` there as a new user (SUITE=trixie; needs root)
	@setup/fresh.sh $(or $(SUITE),bookworm)

wheel: setup-test  ## build/wheel/landspeed-….whl, all that a run needs, and the simulated world as another one
	@setup/wheel.sh

wheel-twice: setup-test  ## two clones make the wheels, each with a kernel of its own: the same bytes?
	@setup/wheel-twice.sh

image:  ## the image of a class (docs/how-to/classroom), built by buildah on a new Debian in a folder; a lesson in it (needs root)
	@setup/image.sh

fresh-wheel:  ## the wheel, by an ordinary user on a new Debian in a folder (SUITE=trixie, noble; needs root)
	@setup/fresh-wheel.sh $(or $(SUITE),bookworm)

workflow: setup-test  ## the `run` steps of docs/how-to/ci/*.yml on a new Ubuntu in a folder: seconds to the first green test (root)
	@setup/workflow.sh $(or $(SUITE),noble)

lab: setup-test  ## three Debian servers to try `landspeed real` on (needs root)
	@$(PYTHON) -m tests.lab.lab up

lab-fleet: setup-test  ## a fleet of eight servers in the lab, rolled out, run and put back (needs root)
	@LANDSPEED_FLEET=4 $(PYTHON) -m pytest -n 0 -v tests/real/test_fleet_lab.py

lab-down:  ## remove these three servers
	@$(PYTHON) -m tests.lab.lab down

truth: setup-test  ## compare the network with theory, at each rate, in both worlds (WHAT="--rates 10M": some of it)
	@$(PYTHON) -m tests.bench.truth $(WHAT)

random-paths: setup-test  ## compare both worlds on random scenarios (FIRST=0 TIMES=200 SEED=1)
	@$(PYTHON) -m tests.bench.random_paths --first $(or $(FIRST),0) --times $(or $(TIMES),200) --seed $(or $(SEED),1)

published: setup-test  ## run what others measured, and write docs/explanation/what-others-measured.md (QUICK=1: an hour)
	@$(PYTHON) -m tests.bench.published $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY))

bench-against: setup  ## this tree beside an older commit, in turns (COMMIT=5dae4f8 NAMES='pairs-48 lan'); the first time minutes
	@$(PYTHON) -m tests.bench.bench_against $(or $(COMMIT),5dae4f8) $(NAMES)

bench-engine: setup-test  ## the engine against iperf3 and nuttcp, in turns (root: it makes namespaces)
	@$(PYTHON) -m tests.bench.engine.bench_engine

bench-plugin: setup-test  ## a hundred tests on a path by two workers (RUNS=10: so often)
	@$(PYTHON) -m tests.bench.bench_plugin $(RUNS)

bench-records: setup  ## the figures promised for the records: traceroutes, forty hops, goodput of the six
	@$(PYTHON) -m tests.bench.bench_records

record-book: setup  ## rehearse every record that is not rehearsed yet, the later ones for 300 s; write the book
	@.venv/bin/landspeed record-book --basis documents
	@.venv/bin/landspeed record-book --at-most 300
	@cp build/record-book/record-book.json docs/

bench-sim: setup  ## measure the cost and the accuracy of simulating; writes docs/explanation/sim-cost.md
	@$(PYTHON) -m tests.bench.sim.bench_sim
	@$(PYTHON) -m tests.bench.sim.bench_sim_tcp

course: setup  ## the course as a site in build/course, with the explore page; fails where a promised figure is missed
	@.venv/bin/landspeed explore --quiet --out build/course/explore.html
	@.venv/bin/landspeed lesson --all --out build/course

bench-course: setup  ## the course from nothing: how near to theory each lesson is, and what it costs; some minutes
	@$(PYTHON) -m tests.bench.bench_course

course-twice: setup-test  ## two clones, one of them on one core: the same grades of twenty students, the same pages? (LESSONS="window delay": only those)
	@$(PYTHON) -m tests.bench.course_twice $(LESSONS)

course-hand: setup-test  ## the commands of the lessons' parts "by hand", run; fails where what they print has changed
	@$(PYTHON) -m docs.figures --check lessons/*/lesson.md

docs: setup-test  ## these documents as a site in build/docs; a warning is an error
	@$(PYTHON) -m sphinx -W --keep-going -q -b html docs build/docs
	@echo build/docs/index.html

figures: setup-test  ## every figure and picture of the documents anew (KIND=quick, slow or measured: only those)
	@$(PYTHON) -m docs.figures $(if $(KIND),--kind $(KIND)) $(FILES)

doctor: setup  ## look whether this host can run everything
	@.venv/bin/landspeed doctor

lock:  ## pin the requirements anew, with the hashes for x86-64 Linux (UPGRADE= keeps the present versions)
	@$(PYTHON) -m pip -q install pip-tools
	@for list in run more dev installer; do \
		.venv/bin/pip-compile -q $(UPGRADE) --generate-hashes --allow-unsafe --strip-extras --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host -o setup/requirements/$$list.txt setup/requirements/$$list.in || exit 1; \
	done
	@$(PYTHON) -m setup.lock_hashes setup/requirements/run.txt setup/requirements/more.txt setup/requirements/dev.txt setup/requirements/installer.txt

clean:  ## remove what was built here (the kernel stays in the cache)
	@rm -rf .venv build engine/build* emu/launch/build* emu/linkwatch/build* sim/build* .pytest_cache .ruff_cache .hypothesis
