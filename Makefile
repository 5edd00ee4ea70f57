# make run            set up, build, open the prompt (or run the tour)
# make run FILE=x.kal set up, build, run a program
# make test           set up, run every check
# make columns-bench  functions over columns beside C, NumPy, Polars and others
# make bench          compare with peers, write benches/RESULTS.md
# make shipping-bench images, executables, libraries for C and sessions beside what they are to take
# make robustness     the tests of docs/robustness.md at full size
# make soak TIME=60   half an hour (or that many seconds) of random use
# make storm TIME=60  64 threads on one engine, ten minutes (or that many seconds) in each mode
# make runtime        build what executables are linked with: target/runtime/libkal_runtime.a
# make c              build the C library: target/c/prefix, see docs/c.md
# make c-install DEST=/usr/local   put it elsewhere
# make c-test         its tests: with gcc, clang, valgrind, Go and Node
# make c-bench        what a call from C takes
# make features       what the features promise, also where there is no LLVM
# make hosts          a host that uses LLVM by itself, beside Kal
# make loom           the lock-free parts, in every order of events
# make mathematics    a million arguments of each function, compared with MPFR
# make mathematics-worst  CORE-MATH's own collection of worst cases; CORE_MATH=folder
# make fuzz TIME=60   each fuzz target for ten minutes (or that many seconds)
# make check-costs    what the checks in compiled code cost
# make python         build the Python package: target/wheels/kal_lang-….whl
# make python-test    install it into a new environment, run its tests and its documentation
# make python-bench   compare it with NumPy, numexpr and numba
# make cluster        build SQL with functions in Kal: bindings/datafusion
# make cluster-test   its tests, on processes of this machine
# make cluster-robustness  the tests that have a size, at full size
# make cluster-bench  what functions cost in SQL; ROWS=1000000 for fewer rows
# make setup          install what the build needs (Debian packages)
# make test-setup     install what the tests need besides

SHELL := /bin/bash
CARGO := cargo
PREFIX := $(or $(LLVM_SYS_221_PREFIX),/usr/lib/llvm-22)
KAL := $(or $(CARGO_TARGET_DIR),target)/release/kal

.PHONY: run runtime test features bench columns-bench shipping-bench peers robustness soak storm hosts loom mathematics mathematics-worst fuzz check-costs setup test-setup build format lint docs unit clean
.PHONY: c c-install c-test c-bench c-test-setup
.PHONY: python python-test python-bench python-tools
.PHONY: cluster cluster-test cluster-robustness cluster-bench

run: build
ifdef FILE
	@$(KAL) $(ARGS) "$(FILE)"
else
	@if [ -t 0 ] && [ -t 1 ]; then exec $(KAL) $(ARGS); else exec $(KAL) $(ARGS) examples/tour.kal; fi
endif

build: setup
	@$(CARGO) build --release --locked

# What `kal build` links executables and libraries with: Kal without its compiler.
# Without the flags of .cargo/config.toml, by which loops are aligned: what is linked is small.
runtime: setup
	@RUSTFLAGS= $(CARGO) build --locked -p kal-runtime --profile runtime

# The C library, with pkg-config files, in a folder that may be moved.
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
C_PREFIX := $(TARGET)/c/prefix

c: setup
	bindings/c/install $(C_PREFIX)

c-install: setup
	bindings/c/install $(or $(DEST),/usr/local)

c-test: c-test-setup c build runtime
	cd bindings/c && $(CARGO) fmt --all --check
	cd bindings/c && $(CARGO) clippy --locked --release --target-dir $(TARGET)/c --workspace --all-targets -- --deny warnings
	cd bindings/c && $(CARGO) test --locked --release --target-dir $(TARGET)/c --package kal-c
	cd bindings/c && KAL_PREFIX=$(C_PREFIX) KAL_NODE=$(TARGET)/c/node GOCACHE=$(TARGET)/c/go \
	  KAL_COMMAND=$(abspath $(KAL)) KAL_RUNTIME=$(TARGET)/runtime/libkal_runtime.a \
	  $(CARGO) test --locked --target-dir $(TARGET)/c --package kal-c-tests

c-bench: c
	$${CC:-cc} -std=c11 -O2 bindings/c/tests/c/call.c -o $(TARGET)/c/call \
	  $$(PKG_CONFIG_PATH=$(C_PREFIX)/lib/pkgconfig pkg-config --cflags --libs kal)
	LD_LIBRARY_PATH=$(C_PREFIX)/lib $(TARGET)/c/call

test: test-setup format lint docs unit

format:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --locked --workspace --all-targets -- --deny warnings

docs:
	RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --locked --workspace --no-deps --document-private-items

unit:
	$(CARGO) test --locked --workspace

# Which crates each feature needs, and the interpreter where there is no LLVM.
features: test-setup
	tests/features

# Installs Debian packages.
INSTALL := root=$$([ "$$(id -u)" = 0 ] || echo sudo); $$root apt-get update -qq && \
  $$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends

# LLVM 22 with its static libraries, and a C++ compiler for the shims. Does
# nothing when all is there.
PACKAGES := llvm-22-dev zlib1g-dev libzstd-dev g++

setup:
	@if ! $(PREFIX)/bin/llvm-config --link-static --libs orcjit orcdebugging passes all-targets mcjit >/dev/null 2>&1 \
	    || ! command -v c++ >/dev/null || ! [ -e /usr/include/zlib.h ] || ! [ -e /usr/include/zstd.h ]; then \
	  command -v apt-get >/dev/null || { echo "Install LLVM 22 with its static libraries, zlib, zstd and a C++ compiler."; exit 1; }; \
	  $(INSTALL) $(PACKAGES); \
	fi
	@command -v $(CARGO) >/dev/null || { echo "Install Rust first: https://rustup.rs"; exit 1; }

# What only the checks need, and Rust's formatter and linter.
TEST_PACKAGES := valgrind gdb m4 python3

test-setup: setup
	@if ! command -v valgrind >/dev/null || ! command -v gdb >/dev/null || ! command -v m4 >/dev/null \
	    || ! command -v python3 >/dev/null; then \
	  command -v apt-get >/dev/null || { echo "Install valgrind, gdb, m4 and python3."; exit 1; }; \
	  $(INSTALL) $(TEST_PACKAGES); \
	fi
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 \
	  || rustup component add rustfmt clippy

# What the tests of the C library need besides: compilers, another LLVM, Go, Node, and koffi in
# a folder of its own.
C_TEST_PACKAGES := gcc clang valgrind pkg-config golang-go libllvm22

c-test-setup: setup
	@if ! command -v gcc >/dev/null || ! command -v clang >/dev/null || ! command -v valgrind >/dev/null \
	    || ! command -v pkg-config >/dev/null || ! command -v go >/dev/null || ! ldconfig -p | grep -q libLLVM.so.22; then \
	  command -v apt-get >/dev/null || { echo "Install $(C_TEST_PACKAGES)."; exit 1; }; \
	  $(INSTALL) $(C_TEST_PACKAGES); \
	fi
	@if ! command -v node >/dev/null; then $(INSTALL) nodejs; fi
	@if ! command -v npm >/dev/null; then $(INSTALL) npm; fi
	@mkdir -p $(TARGET)/c/node
	@cp bindings/c/examples/node/package.json bindings/c/examples/node/package-lock.json $(TARGET)/c/node
	@cd $(TARGET)/c/node && { [ -d node_modules/koffi ] || npm ci --ignore-scripts --no-audit --no-fund --silent; }
	@$(CARGO) fmt --version >/dev/null 2>&1 && $(CARGO) clippy --version >/dev/null 2>&1 \
	  || rustup component add rustfmt clippy

# Peers that cannot be installed are left out, with the reason in the results.
PEERS := luajit:luajit clang-22:clang-22 gcc:gcc node:nodejs

bench: build peers
	$(CARGO) bench --locked --bench peers -- $(ARGS)
	$(CARGO) bench --locked --bench micro

# Functions over columns beside C, crates of Rust and packages of Python, which are installed in
# a folder of their own, at each number of rows.
COLUMNS_PYTHON := target/columns-python
COLUMN_ROWS := 1000 1000000 100000000

columns-bench: setup peers
	@[ -x $(COLUMNS_PYTHON)/bin/python ] || { $(PYTHON) -m venv $(COLUMNS_PYTHON) && \
	  $(COLUMNS_PYTHON)/bin/pip install --quiet --disable-pip-version-check -r benches/columns/requirements.txt; }
	for rows in $(COLUMN_ROWS); do for threads in 1 2; do \
	  KAL_ROWS=$$rows KAL_THREADS=$$threads KAL_PEERS=$(abspath $(COLUMNS_PYTHON))/bin/python \
	    $(CARGO) bench --locked --bench columns || exit 1; \
	done; done
	$(CARGO) run --release --locked --manifest-path benches/columns/formulas/Cargo.toml --target-dir target/formulas

shipping-bench: build runtime
	KAL_RUNTIME=$(TARGET)/runtime/libkal_runtime.a $(CARGO) bench --locked --bench shipping -- $(ARGS)

peers:
	@for peer in $(PEERS); do \
	  command -v $${peer%%:*} >/dev/null || { $(INSTALL) $${peer##*:}; } || true; \
	done

# The suite's own tests, with more of everything. Times are as promised on a
# machine that does nothing else.
robustness:
	KAL_PROGRAMS=20000 KAL_RECURSIONS=10000 KAL_REDEFINITIONS=100000 KAL_HUGE=100000 \
	  KAL_HUGE_SECONDS=10 KAL_INTERRUPTS=200 KAL_INTERRUPT_MS=200 KAL_EXITS=1000 KAL_FORKS=200 \
	  KAL_EDITS=3000 KAL_CHANGES=500 KAL_KILLS=1000 KAL_IMAGES=100000 KAL_SESSIONS=100000 \
	  KAL_PACK_MUTATIONS=1000000 KAL_EXECUTABLE_MUTATIONS=100000 \
	  $(CARGO) test --release --locked --test all -- --nocapture --test-threads 1 \
	  differential:: robustness:: signals:: forking:: exiting:: caching:: \
	  images:: resuming:: executables:: damaged_packs::

soak:
	KAL_SOAK=$(or $(TIME),1800) $(CARGO) test --release --locked --test all -- --nocapture soak::

storm:
	KAL_STORM=$(or $(TIME),600) KAL_STORM_THREADS=64 $(CARGO) test --release --locked --test all -- --nocapture storm::

hosts:
	$(CARGO) run --locked --manifest-path tests/hosts/inkwell/Cargo.toml --target-dir target/hosts

# Every order in which threads may see what the lock-free parts do.
loom:
	RUSTFLAGS="--cfg loom" $(CARGO) test --release --manifest-path tests/loom/Cargo.toml

# Compiles MPFR, which takes minutes. The second part says what calls cost.
MATHEMATICS := $(CARGO) run --release --locked --manifest-path tests/mathematics/Cargo.toml \
  --target-dir target/mathematics --

mathematics: test-setup
	$(MATHEMATICS) $(ARGS)
	$(MATHEMATICS) --cost

# The hard cases that CORE-MATH's authors have collected, of a copy of their repository.
CORE_MATH := target/core-math

mathematics-worst: test-setup
	@[ -d $(CORE_MATH) ] || git clone --quiet --depth 1 https://gitlab.inria.fr/core-math/core-math.git $(CORE_MATH)
	$(MATHEMATICS) --worst $(abspath $(CORE_MATH)) $(ARGS)

# Any toolchain does: the sanitizer's flags are let through. LLVM's libraries are
# not instrumented, so what its headers poison in our C++ parts stays poisoned.
# A thread that is about to end looks like a leak.
FUZZ := RUSTC_BOOTSTRAP=1 ASAN_OPTIONS=allow_user_poisoning=0:detect_odr_violation=0 \
  LSAN_OPTIONS=suppressions=$(CURDIR)/fuzz/leaks.supp $(CARGO) fuzz
TARGETS := text programs redefinitions api columns tapes packs
TEXTS := tests/programs tests/sessions examples benches/workloads

fuzz:
	@$(CARGO) fuzz --version >/dev/null 2>&1 || $(CARGO) install --locked cargo-fuzz
	$(FUZZ) build
	@for target in $(TARGETS); do \
	  mkdir -p fuzz/corpus/$$target; \
	  texts=$$([ $$target != text ] || echo $(TEXTS)); \
	  $(FUZZ) run $$target fuzz/corpus/$$target fuzz/seeds/$$target $$texts -- \
	    -max_total_time=$(or $(TIME),600) -timeout=30 -rss_limit_mb=4096 -print_final_stats=1 || exit 1; \
	done

# The wheel is for CPython 3.10 and later. What builds and tests it is in folders below target/.
PYTHON := python3
PYTHON_TARGET := target/python
MATURIN := $(PYTHON_TARGET)/tools/bin/maturin

python-tools: setup
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { $(INSTALL) python3-venv; }
	@[ -x $(MATURIN) ] || { $(PYTHON) -m venv $(PYTHON_TARGET)/tools && \
	  $(PYTHON_TARGET)/tools/bin/pip install --quiet --disable-pip-version-check -r bindings/python/requirements-build.txt; }

# The wheel names no folder of the machine that builds it. These flags replace those of
# .cargo/config.toml, so the alignment of loops is among them.
python python-test: export RUSTFLAGS += -Cllvm-args=-align-loops=64 --remap-path-prefix=$(CURDIR)=kal --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=cargo

python: python-tools
	@rm -f target/wheels/kal_lang-*.whl
	$(MATURIN) build --release --locked --manifest-path bindings/python/Cargo.toml \
	  --target-dir $(PYTHON_TARGET) --auditwheel skip --out target/wheels

# A new environment each time, so that nothing but the wheel is tested. What the tests need
# besides comes from pip's cache after the first time.
PYTHON_TEST := $(PYTHON_TARGET)/test

python-test: python
	cd bindings/python && $(CARGO) fmt --check && \
	  $(CARGO) clippy --release --locked --target-dir ../../$(PYTHON_TARGET) -- --deny warnings
	rm -rf $(PYTHON_TEST) && $(PYTHON) -m venv $(PYTHON_TEST)
	$(PYTHON_TEST)/bin/pip install --quiet --disable-pip-version-check \
	  -r bindings/python/requirements-test.txt target/wheels/kal_lang-*.whl
	$(PYTHON_TEST)/bin/python -m pytest -q bindings/python $(ARGS)

python-bench:
	@[ -x $(PYTHON_TEST)/bin/python ] || { echo "Run make python-test first."; exit 1; }
	$(PYTHON_TEST)/bin/python bindings/python/benches/compare.py

# SQL. All of a workspace at once: parts of it would have other features, and be compiled again.
SQL := bindings/datafusion
SQL_PYTHON := $(SQL)/target/python

cluster: setup
	cd $(SQL) && $(CARGO) build --release --locked --workspace

# The first time takes a quarter of an hour. `kal` is compared with.
cluster-test: test-setup build
	cd $(SQL) && $(CARGO) fmt --all --check
	cd $(SQL) && $(CARGO) clippy --locked --workspace --all-targets -- --deny warnings
	cd $(SQL) && RUSTDOCFLAGS="--deny warnings" $(CARGO) doc --locked --workspace --no-deps
	cd $(SQL) && KAL=$(abspath $(KAL)) $(CARGO) test --locked --workspace

# The tests that have a size, at full size.
cluster-robustness: build
	cd $(SQL) && KAL=$(abspath $(KAL)) KAL_ROWS=100000000 KAL_BAD=1000 \
	  $(CARGO) test --release --locked --workspace --test cluster -- --nocapture --test-threads 1 bad:: killed::

# DuckDB is a package of Python, in a folder of its own.
cluster-bench: setup
	@[ -x $(SQL_PYTHON)/bin/python ] || { python3 -m venv $(SQL_PYTHON) && $(SQL_PYTHON)/bin/pip install --quiet duckdb==2.0.0; }
	cd $(SQL) && KAL_ROWS=$(or $(ROWS),100000000) KAL_DATA=$(abspath $(SQL)/target) \
	  KAL_PYTHON=$(abspath $(SQL_PYTHON))/bin/python $(CARGO) bench --locked --workspace --bench cluster | tee target/results.md
	cp $(SQL)/target/results.md $(SQL)/RESULTS.md

check-costs:
	$(CARGO) build --release --locked
	$(CARGO) build --release --locked --features unchecked --target-dir target/unchecked
	$(CARGO) bench --locked --bench checks -- $(KAL) target/unchecked/release/kal

clean:
	$(CARGO) clean
