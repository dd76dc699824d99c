##@ Development

.PHONY: build
build: ## compile each module outside the workspace (GOWORK=off)
	@hack/each-module build go build ./...

.PHONY: generate
generate: ## write generated code: deepcopy, CRDs, descriptors
	@hack/generate.sh

.PHONY: new-service
new-service: ## write a service with its chart, image and dashboard: make new-service NAME=widget-operator KIND=Widget
	@cd tools && GOWORK=off go run ./newservice -root .. -name "$(NAME)" -kind "$(KIND)" -group "$(GROUP)"
	@hack/workspace > go.work
	@hack/generate.sh "$(NAME)"
	@for module in services/$(NAME)/api services/$(NAME); do GOWORK=off go -C "$$module" mod tidy; done
	@echo "new-service: next, follow docs/adding-a-service.md from step 2"

.PHONY: fix
fix: fmt ## format all Go files, and apply the fixes of the linter
	@for module in $$(hack/modules); do GOWORK=$(CURDIR)/go.work hack/tool golangci-lint run --fix "./$$module/..." || failed=yes; done; [ -z "$$failed" ]

.PHONY: fmt
fmt: ## format all Go files
	@git ls-files -co --exclude-standard '*.go' | grep -v zz_generated | xargs hack/tool gofumpt -w

.PHONY: tidy
tidy: ## tidy every go.mod and write go.work
	@hack/each-module tidy go mod tidy
	@hack/workspace > go.work

.PHONY: licenses
licenses: ## write docs/licenses.md, the licenses of the modules in the binaries
	@page=$$(GOWORK=off go -C tools run ./licenses) && echo "$$page" > docs/licenses.md
