##@ Checks

.PHONY: presubmit
presubmit: verify lint test vuln ## run the checks of CI that precede the real node (make e2e)

.PHONY: verify
verify: ## check generated files, formatting, go.mod, licenses
	@hack/stage verify hack/verify.sh

.PHONY: lint
lint: ## run golangci-lint, check import rules, size limits, wording
	@hack/stage lint hack/lint.sh

# Builds and installs the programs that the tests run, from Go modules and Debian packages.
.PHONY: setup
setup:
	@hack/stage tools $(MAKE) tools
	@hack/ensure python3 gcc:build-essential nginx:nginx-light busybox curl debootstrap chromium shellcheck
	@command -v mysqldump > /dev/null || hack/ensure mariadb-dump:mariadb-client

.PHONY: test
test: setup ## test all modules, each separately; installs prerequisites (FRESH=1: rerun passed tests)
	@hack/stage unit hack/test.sh

.PHONY: test/%
test/%: setup ## test one module, for example make test/libs/bus
	@hack/test.sh $*

.PHONY: vuln
vuln: ## check for known vulnerabilities in reachable code; prints one line if the database is unreachable
	@hack/stage vuln hack/vuln.sh
