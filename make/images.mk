##@ Images

.PHONY: images
images: ## build the images of the services by their Dockerfile; requires Docker and a registry (SERVICES="ingester" for some)
	@hack/images.sh registry $(SERVICES)

.PHONY: offline-images
offline-images: ## build the images of services, NATS and MySQL without a registry; as root on Debian also without Docker
	@hack/docker run hack/images.sh offline $(SERVICES)

.PHONY: e2e-images
e2e-images: ## build the other images of a real node, without a registry (IMAGES="engine postgres" for some)
	@hack/docker run hack/images.sh e2e $(IMAGES)
