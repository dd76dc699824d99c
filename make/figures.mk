##@ Long suites and figures

.PHONY: test-long
test-long: ## state machines, mutants, faults on real servers; seconds of each (SUITES="..." for some)
	@hack/stage tools $(MAKE) tools
	@hack/stage long hack/test-long.sh $(SUITES)

.PHONY: verify-engine
verify-engine: ## every state of the engine's state machine, and every mutant of it
	@hack/stage verify-engine hack/verify-engine.sh

.PHONY: bench
bench: ## the figures that the budgets name, one BENCH line each (SCENARIOS="models" for some)
	@hack/bench.sh stack $(SCENARIOS)

.PHONY: bench-superset bench-engine bench-ingester bench-status
bench-superset: ## what the Superset operator costs (SCENARIOS="small large" for some)
bench-engine: ## what the engine operator costs (SCENARIOS="compute small" for some)
bench-ingester: ## what the ingester costs (SCENARIOS="sync objects=1000" for some)
bench-status: ## what conditions cost from operator to resource (SCENARIOS="offer load" for some)
bench-superset bench-engine bench-ingester bench-status: bench-%:
	@hack/bench.sh $* $(SCENARIOS)
