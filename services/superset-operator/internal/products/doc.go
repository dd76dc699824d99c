// Package products runs what the operator renders in the real Superset: each release of which
// test/e2e/images/superset has a lock file, on PostgreSQL and on MySQL. It holds only tests, with the build tag
// products, since they take minutes: make test-products.
package products
