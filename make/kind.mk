##@ kind (requires Docker, kind and a registry)

.PHONY: kind-up
kind-up: ## create a kind cluster and run NATS, MySQL and the services with Compose
	@hack/kind.sh up

.PHONY: kind-down
kind-down: ## remove both with their data
	@hack/kind.sh down
