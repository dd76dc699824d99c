##@ Releases

RELEASE = cd tools && GOWORK=off go run ./release

.PHONY: affected
affected: ## list the modules that the changes since BASE (origin/main) can break, with reasons (NAMES=1: paths only)
	@$(RELEASE) affected -base "$(or $(BASE),origin/main)" $(if $(NAMES),-names)

.PHONY: release-prep
release-prep: ## check a release of MOD as VERSION and print its commands (WRITE=1 to write)
	$(if $(MOD),,$(error MOD is missing: make release-prep MOD=libs/bus VERSION=v0.1.0))
	$(if $(VERSION),,$(error VERSION is missing: make release-prep MOD=$(MOD) VERSION=v0.1.0))
	@$(RELEASE) prep -module "$(MOD)" -version "$(VERSION)" $(if $(WRITE),-write)
