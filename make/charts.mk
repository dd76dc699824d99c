##@ Helm charts

# The helm of the control plane tools; `make tools` builds it.
.PHONY: charts
charts: ## lint and package the Helm charts; bytes and seconds of each
	@cd test/charts && GOWORK=off go test -count=1 -v -run TestLintAndPackage . | grep -vE '^ *(=== |--- PASS|PASS)'

.PHONY: charts-golden
charts-golden: ## write the golden renders of the charts anew, after an intended change
	@cd test/charts && GOWORK=off go test -count=1 -run Golden . -update
