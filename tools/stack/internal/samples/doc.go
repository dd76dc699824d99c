// Package samples knows the example resources under services/*/config/samples and what it means for each kind to be
// healthy: a Superset is Running and Available, a FireboltEngine stable and Available, an instance Ready, and a
// Michelangelo object stored in MySQL. Any other object only has to be there.
package samples
