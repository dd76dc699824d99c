##@ Long suites and benchmarks

.PHONY: test-long
test-long: ## run state machines, mutants, faults on real servers; prints seconds of each (SUITES="..." for some)
	@hack/stage tools $(MAKE) tools
	@hack/stage long hack/test-long.sh $(SUITES)

.PHONY: verify-engine
verify-engine: ## check all states and all mutants of the engine's state machine
	@hack/stage verify-engine hack/verify-engine.sh

# exec replaces the shell, so that Ctrl-C and SIGTERM reach the program.
BENCH = mkdir -p $(LOCAL)/bin && cd test && GOWORK=off go build -o $(abspath $(LOCAL))/bin/bench ./stack/bench && \
	exec $(abspath $(LOCAL))/bin/bench

.PHONY: bench-superset bench-engine bench-ingester bench-status
bench-superset: ## benchmark the Superset operator (SCENARIOS="small large" for some)
bench-engine: ## benchmark the engine operator (SCENARIOS="compute small" for some)
bench-ingester: ## benchmark the ingester (SCENARIOS="sync objects=1000" for some)
bench-status: ## benchmark conditions from operator to resource (SCENARIOS="offer load" for some)
bench-superset bench-engine bench-ingester bench-status: bench-%:
	@$(BENCH) $* $(SCENARIOS)

.PHONY: bench-compare bench-record
bench-compare: ## compare SUBJECT=superset with its last recorded run, by benchstat (RUNS=4 SCENARIOS="create")
	@hack/bench-compare.sh compare $(SUBJECT) $(SCENARIOS)
bench-record: ## record a new run of SUBJECT=superset after an intended change (RUNS=4 SCENARIOS="create")
	@hack/bench-compare.sh record $(SUBJECT) $(SCENARIOS)
