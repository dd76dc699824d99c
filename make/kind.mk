##@ kind (needs Docker, kind and a registry)

.PHONY: kind-up
kind-up: ## create a kind cluster and run NATS, MySQL and the services beside it by Compose
	@hack/kind.sh up

.PHONY: kind-down
kind-down: ## remove both with their data
	@hack/kind.sh down
