// Package samples loads the example resources in services/*/config/samples and checks their health: a Superset must be
// Running and Available, a FireboltEngine stable and Available, an instance Ready, and a Michelangelo object stored in
// MySQL. Any other object only has to exist.
package samples
