##@ Development

.PHONY: build
build: ## compile every module on its own (GOWORK=off)
	@hack/each-module build go build ./...

.PHONY: generate
generate: ## write generated code: deepcopy, resource definitions, descriptors
	@hack/generate.sh

.PHONY: fmt
fmt: ## format all Go files
	@git ls-files -co --exclude-standard '*.go' | grep -v zz_generated | xargs hack/tool gofumpt -w

.PHONY: tidy
tidy: ## tidy every go.mod and write go.work
	@hack/each-module tidy go mod tidy
	@hack/workspace > go.work

##@ Checks (what CI runs: verify lint test)

.PHONY: verify
verify: ## generated files, formatting, go.mod and go.work are up to date; every module builds alone
	@hack/stage verify hack/verify.sh

.PHONY: lint
lint: ## golangci-lint, import rules, size caps
	@hack/stage lint hack/lint.sh

.PHONY: test
test: ## all tests of all modules; sets up what it needs
	@hack/stage tools $(MAKE) tools
	@hack/ensure python3 gcc:build-essential nginx:nginx-light busybox
	@command -v mysqldump > /dev/null || hack/ensure mariadb-dump:mariadb-client
	@hack/stage unit hack/test.sh
	@hack/stage stack hack/test-stack.sh

.PHONY: test/%
test/%: ## tests of one module, for example make test/libs/bus
	@hack/test.sh $*

.PHONY: bench
bench: ## the figures that the budgets name, one BENCH line each
	@hack/bench.sh

.PHONY: bench-superset
bench-superset: ## what the Superset operator costs, one BENCH line each (SCENARIOS="small large" for some)
	@hack/bench-superset.sh $(SCENARIOS)

.PHONY: presubmit
presubmit: verify lint test ## what CI runs
