##@ Images

.PHONY: images
images: ## build the services' images by their Dockerfile; needs Docker and a registry (SERVICES="ingester" for some)
	@hack/images.sh registry $(SERVICES)

.PHONY: offline-images
offline-images: ## the same, NATS and MySQL without a registry; as root on Debian also without Docker
	@hack/docker run hack/images.sh offline $(SERVICES)

.PHONY: e2e-images
e2e-images: ## what a real node runs beside the services, without a registry (IMAGES="engine postgres" for some)
	@hack/docker run hack/images.sh e2e $(IMAGES)

.PHONY: try-images
try-images: ## run them with a read-only root: databases, clones, the maintenance page, an engine behind its gateway
	@hack/docker run hack/images/try.sh
