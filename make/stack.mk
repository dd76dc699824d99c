##@ Local stack

# The program is built and then takes the shell's place, so that Ctrl-C and SIGTERM reach it.
STACK = mkdir -p .local/bin && go build -o .local/bin/stack ./tools/stack && exec .local/bin/stack

.PHONY: up
up: ## start control plane, NATS, MySQL and services, apply the samples (SERVICES=a,b for some)
	@$(STACK) up $(if $(SERVICES),--services $(SERVICES))

.PHONY: down
down: ## stop all of it and remove its data
	@$(STACK) down

.PHONY: status
status: ## show the parts of the stack and the sample resources
	@$(STACK) status

.PHONY: logs
logs: ## show the log of one part: make logs S=superset-operator
	@$(STACK) logs $(S)

.PHONY: tools
tools: ## build the control plane tools into the cache folder (minutes, once)
	@$(STACK) tools
