# Flotilla. `make` alone lists the targets.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# One variant of each package in Go's build cache, for every checkout: the tests, by cgo and the race detector, are the
# only other one.
export GOFLAGS ?= -trimpath
export CGO_ENABLED ?= 0

##@ General

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z0-9_\/%-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo

# In the order of the list above; files without a place in it come last.
PLACED := $(addprefix make/,dev.mk check.mk figures.mk stack.mk images.mk charts.mk kind.mk release.mk)
include $(wildcard $(PLACED)) $(filter-out $(PLACED),$(wildcard make/*.mk))
