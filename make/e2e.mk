##@ Real pods

.PHONY: e2e
e2e: ## play the scenarios on real pods and write a report (ARGS="--only NAME"; CLUSTER=kind where Docker and kind are)
	@hack/stage e2e hack/e2e.sh $(ARGS)
