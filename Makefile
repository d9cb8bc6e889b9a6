# A thin front of Meson: see README.md.  BUILD is the release build; the sanitized ones stand beside it.
BUILD := build/release
BIN := build/bin
VENV := .venv/bin
export PATH := $(CURDIR)/$(VENV):$(PATH)
# Without these ccache keeps nothing that was compiled with src/base/pch.
export CCACHE_SLOPPINESS := pch_defines,time_macros

.PHONY: build check demo test test-frameworks fuzz soak bench lint format install clean cluster cluster-down setup-build setup-check setup-test setup-frameworks setup-bench

build: setup-build
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) >/dev/null
	@if test -t 1; then ninja -C $(BUILD) programs; else ninja -C $(BUILD) --quiet programs; fi
	@t/link-programs $(BUILD) $(BIN)

setup-build:
	@deploy/setup build
setup-check:
	@deploy/setup build test
setup-test:
	@deploy/setup build test kube
setup-frameworks:
	@deploy/setup build frameworks kube
setup-bench:
	@deploy/setup build bench kube

demo: build
	@examples/demo

test: setup-test
	@t/run

check: setup-check
	@t/run --check

test-frameworks: setup-frameworks build
	@t/kube/build
	@PADDLE_BIN=$(BIN) $(VENV)/python -m pytest t/frameworks -q -s --timeout 1800

# Random inputs for each of the decoders, or for TARGETS: doc/internals/testing.md.
FUZZ_SECONDS ?= 60
fuzz: setup-test
	@fuzz/run --random $(FUZZ_SECONDS) $(TARGETS)

soak: setup-test
	@PADDLE_SOAK=1 t/run

bench: setup-bench build
	@bench/run

# A Kubernetes cluster to play with, of the tier TIER: doc/internals/testing.md.
TIER := c
cluster: setup-test
	@t/kube/build
	@cd t && $(CURDIR)/$(VENV)/python -m kube.cluster up $(TIER)

cluster-down:
	@cd t && $(CURDIR)/$(VENV)/python -m kube.cluster down

lint: setup-test
	@t/lint

format: setup-test
	clang-format -i $$(git ls-files '*.c' '*.h')
	$(VENV)/ruff format python t examples bench fuzz/run
	$(VENV)/ruff check --fix python t examples bench fuzz/run

install: build
	meson install -C $(BUILD)

clean:
	rm -rf build .venv
