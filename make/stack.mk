##@ Local stack

# Builds the program; exec replaces the shell, so that Ctrl-C and SIGTERM reach the program.
# FLOTILLA_LOCAL sets the directory of the stack, so that a second stack can run at the same time.
LOCAL = $(or $(FLOTILLA_LOCAL),.local)
STACK = mkdir -p $(LOCAL)/bin && (cd tools && GOWORK=off go build -o $(abspath $(LOCAL))/bin/stack ./stack) && exec $(LOCAL)/bin/stack

.PHONY: up
up: ## start control plane, NATS, MySQL and services, apply the samples (SERVICES=a,b for some); NODE=real: real pods
	@$(STACK) up $(if $(SERVICES),--services '$(SERVICES)') $(if $(NODE),--node $(NODE)) $(NODE_FLAGS)

.PHONY: down
down: ## stop the stack and remove its data
	@$(STACK) down

.PHONY: status
status: ## show the components of the stack and the sample resources
	@$(STACK) status

.PHONY: logs
logs: ## show the log of one component: make logs S=superset-operator
	@$(STACK) logs $(S)

.PHONY: mysql
mysql: ## open the database of the stack; Q="SELECT name FROM model" runs one statement
	@$(STACK) mysql $(if $(Q),-- --execute='$(subst ','\'',$(Q))')

.PHONY: tools
tools: ## build the control plane tools into the cache directory (minutes, once)
	@$(STACK) tools $(if $(NODE),--node $(NODE))

.PHONY: stack
stack: ## run a command of the stack program: make stack ARGS="restart nats"
	@$(STACK) $(ARGS)

.PHONY: e2e-node
e2e-node: ## test only the real node: pods, names, volumes, an outage, complete removal; as root on Linux
	@CGO_ENABLED=1 hack/stage node env GOWORK=off go -C test/node test -race -exec 'env CGO_ENABLED=0' -count=1 -v -timeout 15m ./...
