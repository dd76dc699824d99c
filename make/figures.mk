##@ Long suites and figures

.PHONY: test-long
test-long: ## state machines, mutants, faults on real servers; seconds of each (SUITES="..." for some)
	@hack/stage tools $(MAKE) tools
	@hack/stage long hack/test-long.sh $(SUITES)

.PHONY: verify-engine
verify-engine: ## every state of the engine's state machine, and every mutant of it
	@hack/stage verify-engine hack/verify-engine.sh

# The program takes the shell's place, so that Ctrl-C and SIGTERM reach it.
BENCH = mkdir -p $(LOCAL)/bin && cd test && GOWORK=off go build -o $(abspath $(LOCAL))/bin/bench ./stack/bench && \
	exec $(abspath $(LOCAL))/bin/bench

.PHONY: bench
bench: ## the figures that the budgets name, one BENCH line each (SCENARIOS="models" for some)
	@$(BENCH) stack $(SCENARIOS)

.PHONY: bench-superset bench-engine bench-ingester bench-status
bench-superset: ## what the Superset operator costs (SCENARIOS="small large" for some)
bench-engine: ## what the engine operator costs (SCENARIOS="compute small" for some)
bench-ingester: ## what the ingester costs (SCENARIOS="sync objects=1000" for some)
bench-status: ## what conditions cost from operator to resource (SCENARIOS="offer load" for some)
bench-superset bench-engine bench-ingester bench-status: bench-%:
	@$(BENCH) $* $(SCENARIOS)

.PHONY: bench-compare bench-record
bench-compare: ## SUBJECT=superset against its last recorded run, by benchstat (RUNS=4 SCENARIOS="create")
	@hack/bench-compare.sh compare $(SUBJECT) $(SCENARIOS)
bench-record: ## SUBJECT=superset: a new recorded run, after a change that is meant (RUNS=4 SCENARIOS="create")
	@hack/bench-compare.sh record $(SUBJECT) $(SCENARIOS)
