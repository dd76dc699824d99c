##@ Real pods

.PHONY: e2e
e2e: ## run the scenarios on real pods and write a report (ARGS="--only NAME"; CLUSTER=kind with Docker and kind)
	@hack/stage e2e hack/e2e.sh $(ARGS)
