##@ Checks

.PHONY: presubmit
presubmit: verify lint test vuln ## what CI runs before the real node (make e2e), in its order

.PHONY: verify
verify: ## generated files, formatting, go.mod, licenses
	@hack/stage verify hack/verify.sh

.PHONY: lint
lint: ## golangci-lint, import rules, size caps, wording
	@hack/stage lint hack/lint.sh

.PHONY: wording
wording: ## count the expressions that the glossary replaces, in all prose
	@cd tools && GOWORK=off go run ./wording -root .. -counts

# Programs that the tests start, and those from Debian: nothing is downloaded otherwise.
.PHONY: setup
setup:
	@hack/stage tools $(MAKE) tools
	@hack/ensure python3 gcc:build-essential nginx:nginx-light busybox curl debootstrap chromium shellcheck
	@command -v mysqldump > /dev/null || hack/ensure mariadb-dump:mariadb-client

.PHONY: test
test: setup ## all tests of all modules, each module alone; sets up what it needs (FRESH=1: also what passed before)
	@hack/stage unit hack/test.sh

.PHONY: test/%
test/%: setup ## tests of one module, for example make test/libs/bus
	@hack/test.sh $*

.PHONY: vuln
vuln: ## known vulnerabilities that our code reaches; one line where the database is out of reach
	@hack/stage vuln hack/vuln.sh
