##@ Helm charts

# Uses helm from the control plane tools, which `make tools` builds.
.PHONY: charts
charts: ## lint and package the Helm charts; print bytes and seconds of each
	@cd test/charts && GOWORK=off go test -count=1 -v -run TestLintAndPackage . | grep -vE '^ *(=== |--- PASS|PASS)'

.PHONY: charts-golden
charts-golden: ## update the golden files of the charts after an intended change
	@cd test/charts && GOWORK=off go test -count=1 -run Golden . -update
