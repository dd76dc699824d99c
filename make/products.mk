##@ Real products

.PHONY: test-products
test-products: ## test the output of the Superset operator in Superset 6.0 and 6.1 on PostgreSQL and MySQL (20 minutes; ARGS="-run NAME")
	@hack/ensure gcc pkg-config mariadb_config:libmariadb-dev redis-server redis-cli:redis-tools
	@hack/stage products hack/test-products.sh $(ARGS)
