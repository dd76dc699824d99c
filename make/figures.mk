##@ Long suites and figures

.PHONY: test-long
test-long: ## state machines, mutants, faults on real servers; seconds of each (SUITES="..." for some)
	@hack/stage tools $(MAKE) tools
	@hack/stage long hack/test-long.sh $(SUITES)

.PHONY: verify-engine
verify-engine: ## every state of the engine's state machine, and every mutant of it
	@hack/stage verify-engine hack/verify-engine.sh

.PHONY: bench
bench: ## the figures that the budgets name, one BENCH line each
	@hack/bench.sh

.PHONY: bench-superset
bench-superset: ## what the Superset operator costs (SCENARIOS="small large" for some)
	@hack/bench-superset.sh $(SCENARIOS)

.PHONY: bench-engine
bench-engine: ## what the engine operator costs (SCENARIOS="compute small" for some)
	@hack/bench-engine.sh $(SCENARIOS)

.PHONY: bench-ingester
bench-ingester: ## what the ingester costs (SCENARIOS="sync adopt" for some)
	@hack/bench-ingester.sh $(SCENARIOS)

.PHONY: bench-status
bench-status: ## what conditions cost from operator to resource (SCENARIOS="offer load" for some)
	@hack/bench-status.sh $(SCENARIOS)
