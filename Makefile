# make demo     installs what is missing, builds, runs every example against NumPy, shows a table and a timeline
# make test     the whole suite: C++, command line, Python, then once more under ASan and UBSan, then the fuzzers
# make bench    speed and memory against their targets; build/bench.json
# make wheel    dist/glia-*.whl, which stands alone: pip install it anywhere with Python
# make build | venv | packages | lint | format | clean
# make venv-torch   an optional environment, .venv-torch, with torch and torch_xla (large)
# make test-torch   the tests that need it: test/pytorch
#
# Tests of one kind, after `make build`:  build/bin/glia-tests   lit -v test   .venv/bin/python -m pytest test

JOBS ?= $(shell nproc)
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python

# clang-22 where it is, else the machine's own compiler. Asked for late: `packages` may just have installed it.
CMAKE_COMPILER = $(if $(shell command -v clang++-22),,-DCMAKE_CXX_COMPILER=g++)
CMAKE_PYTHON = -DGLIA_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(PY)

# On a terminal ninja shows its progress; in a log one line is enough.
QUIET := $(if $(MAKE_TERMOUT),,--quiet)

.PHONY: demo test test-torch bench wheel build tool module configure build-asan venv venv-torch packages lint format clean

# Only what it shows: the tool, the Python module and the platform of JAX. Python's packages come while the tool is compiled.
demo: SECTION := build
demo: packages
	@$(MAKE) --no-print-directory venv SECTION=build & venv=$$!; \
	  $(MAKE) --no-print-directory tool SECTION=build; tool=$$?; wait $$venv && exit $$tool
	@$(MAKE) --no-print-directory module SECTION=build
	@$(PY) examples/demo.py

# What needs no Python.
tool: packages
	@cmake --preset release $(CMAKE_COMPILER) >build-configure.log || { cat build-configure.log; exit 1; }
	@mv build-configure.log build/configure.log
	@echo "build: compiling into build/ (several minutes the first time)"
	@ninja -C build -j$(JOBS) $(QUIET) glia glia_pjrt

module: configure
	@ninja -C build -j$(JOBS) $(QUIET) glia _glia glia_pjrt

test: build build-asan
	@.ci/suite

bench: build
	@cmake --preset release $(CMAKE_COMPILER) $(CMAKE_PYTHON) -DGLIA_BENCH=ON >/dev/null
	@ninja -C build -j$(JOBS) $(QUIET)
	@$(PY) bench/run.py

wheel: module
	@.ci/make-wheel

# The tool, the C++ tests and the Python module, which .venv finds in build/python: after a change in C++ `ninja -C build`
# is all it takes.
build: configure
	@echo "build: compiling into build/ (several minutes the first time)"
	@ninja -C build -j$(JOBS) $(QUIET)

configure: venv
	@cmake --preset release $(CMAKE_COMPILER) $(CMAKE_PYTHON) >build-configure.log || { cat build-configure.log; exit 1; }
	@mv build-configure.log build/configure.log
	@ln -sf $(CURDIR)/build/bin/glia $(VENV)/bin/glia

build-asan: venv
	@cmake --preset asan $(CMAKE_COMPILER) $(CMAKE_PYTHON) >build-configure.log || { cat build-configure.log; exit 1; }
	@mv build-configure.log build-asan/configure.log
	@echo "build: compiling into build-asan/ with ASan and UBSan"
	@ninja -C build-asan -j$(JOBS) $(QUIET)

venv: $(VENV)/.stamp

$(VENV)/.stamp: requirements.txt | packages
	@echo "venv: installing requirements.txt into $(VENV)"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install -q --disable-pip-version-check -r requirements.txt
	@echo "$(CURDIR)/build/python" > "$$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/glia-dev.pth"
	@touch $@

# The default torch brings gigabytes for GPUs. `make venv-torch TORCH_INDEX=URL` adds an index of packages; the one with builds for
# the CPU alone saves most of it.
TORCH_INDEX ?=

venv-torch: .venv-torch/.stamp

.venv-torch/.stamp: requirements-torch.txt requirements.txt
	@echo "venv-torch: installing requirements-torch.txt into .venv-torch (several minutes)"
	@test -x .venv-torch/bin/python || $(PYTHON) -m venv .venv-torch
	@.venv-torch/bin/python -m pip install -q --disable-pip-version-check $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -r requirements-torch.txt
	@echo "$(CURDIR)/build/python" > "$$(.venv-torch/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/glia-dev.pth"
	@touch $@

# A process for each file: a device of torch_xla changes what torch.compile takes 16-bit integers for.
test-torch: build venv-torch
	@status=0; for file in test/pytorch/test_*.py; do .venv-torch/bin/python -m pytest -q $$file || status=1; done; exit $$status

# SECTION=build: only what it takes to build and run.
SECTION ?=

packages:
	@.ci/install-packages $(SECTION)

lint: build
	@clang-format-22 --dry-run -Werror $$(git ls-files '*.h' '*.cpp')
	@$(PY) -m ruff check -q .
	@$(PY) -m ruff format -q --check .
	@run-clang-tidy-22 -quiet -p build -j $(JOBS) '^$(CURDIR)/(lib|tools|python)/.*\.cpp$$' 2>/dev/null

format:
	@clang-format-22 -i $$(git ls-files '*.h' '*.cpp')
	@$(PY) -m ruff format -q .

clean:
	rm -rf build build-asan build-debug dist $(VENV) .venv-torch
